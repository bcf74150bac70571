# The cases of ux: see LIST.md there.

# A task of an array keeps the lines of the others.
mkdir in && for I in 1 2 3 4 5 6 7 8; do cloud 200 > in/$I.bin; done
SLURM='env SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=3 SLURM_ARRAY_TASK_COUNT=4'
expect 0 $SLURM SLURM_ARRAY_TASK_ID=1 "$PCGPU" sample -m 100 in/ -o out/ --shard slurm --json r.jsonl
expect 0 $SLURM SLURM_ARRAY_TASK_ID=2 "$PCGPU" sample -m 100 in/ -o out/ --shard slurm --json r.jsonl --skip-existing
is 'inputs of r.jsonl' "$(sed 's/.*"inputs": \["\([^"]*\)"\].*/\1/' r.jsonl | sort | tr '\n' ' ')" 'in/2.bin in/3.bin in/6.bin in/7.bin '

# The target is named for its points; a section is suggested for a section.
expect 0 pcgpu register --cpu "$C/src.bin" "$C/tgt_nan.bin"
stderr_has 'tgt_nan\.bin: warning: 500 of 3500 points are not finite'
stderr_lacks 'src\.bin: warning'
expect 2 pcgpu voxelize --config "$C/y6.yaml" in/1.bin -o v.npz
stderr_has 'unknown key voxelise; did you mean voxelize\?'
expect 0 "$PCGPU" info "$C/rs.json"
stdout_has 'a camera, JSON: fx 585, fy 585, cx 320, cy 240 pixels, 640 x 480$'
expect 0 "$PCGPU" info "$C/ost.yaml"
stdout_has 'a camera, YAML of ROS: fx 585, fy 585, cx 320, cy 240 pixels, 640 x 480$'
if [ -d "$DATA/depth_7scenes" ]; then
    expect 0 pcgpu odometry --cpu --camera 585,585,320,240 "$DATA"/depth_7scenes/frame-00000[0-2].depth.png --trajectory path.txt
    expect 0 pcgpu odometry --cpu --camera "$C/ost.yaml" "$DATA"/depth_7scenes/frame-00000[0-2].depth.png --trajectory yaml.txt
    same path.txt yaml.txt
fi
expect 0 "$PCGPU" convert "$C/src.bin" -o a.txt
expect 0 "$PCGPU" convert "$C/src.bin" -o a.xyz
same a.txt a.xyz
expect 0 "$PCGPU" convert "$C/src.bin" -o a.asc
same a.asc a.xyz
