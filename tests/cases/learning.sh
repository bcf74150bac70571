# The cases of learning: see LIST.md there. tests/python has those of Python.
expect 0 pcgpu voxelize --config "$C/grid_half.yaml" "$C/grid_half.bin" -o half.npz
stderr_is_one '312\.5 voxels in x, and the grid 313; the grid_size of OpenPCDet is 312, and the last voxels are outside of it'
# What spconv 2.3.8 makes of the points that OpenPCDet's mask of x and y keeps.
expect 0 pcgpu voxelize --config "$C/nonwhole.yaml" "$C/nonwhole.bin" -o nonwhole.npz --set coords=coords.txt --set counts=counts.txt --json -
stderr_is_one '13\.56667 voxels in z, and the grid 14'
is 'the number of voxels' "$(wc -l < coords.txt)" 243
is 'the sums of the coordinates' "$(awk '{ z += $2; y += $3; x += $4 } END { print z, y, x }' coords.txt)" '2997 41173 35353'
is 'the points kept' "$(awk '{ n += $1 } END { print n }' counts.txt)" 479
stdout_has '"out_of_range": 45,'
# The range of PV-RCNN on Waymo: edge752.py.
printf '75.2 0 1\n0 75.2 1\n1 1 1\n' > edge.xyz
expect 0 pcgpu voxelize --range -75.2,-75.2,-2,75.2,75.2,4 --voxel-size 0.1,0.1,0.15 edge.xyz -o edge.npz --set coords=coords.txt -f
is 'the voxels of the edge' "$(cut -d' ' -f2- coords.txt | tr '\n' ' ')" '20 751 1503 20 1503 751 20 761 761 '

expect 0 pcgpu voxelize --voxel-size 1 "$C/labels.ply" -o labels.ply
stderr_is ''
is 'the classes' "$(pcgpu info labels.ply --json - | grep -o '"name": "label", "type": "uint16"')" '"name": "label", "type": "uint16"'
expect 0 pcgpu voxelize --voxel-size 1 "$C/labels.ply" --features nearest -o labels.ply -f
stderr_is ''

expect 0 pcgpu voxelize --voxel-size 1 "$C/empty.bin" -o empty.npz --json -
stdout_has '"voxels": 0,'
expect 0 pcgpu sample -m 5 --batch --pad zero "$C/empty.bin" "$C/grid_half.bin" -o batch.npz --indices empty.txt
is 'the picks of empty.bin' "$(head -n 1 empty.txt)" '-1 -1 -1 -1 -1'
expect 1 pcgpu sample -m 5 --batch --pad repeat "$C/empty.bin" "$C/grid_half.bin" -o repeat.npz
stderr_has 'empty\.bin: no pick that could be repeated; give --pad zero'

PYTHON=${PCGPU_PYTHON:-python3}
if "$PYTHON" -c 'import numpy, pcgpu' 2> /dev/null; then
    expect 0 "$PYTHON" "$C/masked.py"
    expect 0 "$PYTHON" "$C/structured.py"
    stdout_is '<pcgpu.Cloud of 100 points: x y z intensity ring t>'
    expect 0 "$PYTHON" "$C/batch_short.py"
    stdout_has "get 7 to 32 picks; give a list of clouds, or pad='repeat' or 'zero'"
    is 'the last line' "$(tail -n 1 "$OUT")" '[]'
else
    skip_part 'masked.py, structured.py and batch_short.py' 'no pcgpu in Python; tests/python has them'
fi
