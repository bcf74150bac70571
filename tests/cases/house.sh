# The cases of house: see LIST.md there.
ROOM=$PCGPU_SOURCE/testdata/room
cp "$C/cam.txt" cam.txt && cp cam.txt cam2.txt && cp "$C/poses.txt" .

# A camera of the run is no output.
expect 1 pcgpu register --cpu --camera cam.txt --set target-camera=cam2.txt "$ROOM/frame-000001.png" "$ROOM/frame-000000.png" -f --transform cam2.txt
stderr_is 'pcgpu: cam2.txt: is an input of this run; give another name for the output'
same cam2.txt "$C/cam.txt"

# A dry run looks at the files of all options.
for OPTION in --timestamps --ground-truth; do
    expect 1 pcgpu odometry --cpu --dry-run $OPTION missing.txt "$PCGPU_SOURCE/testdata/street.bin" "$PCGPU_SOURCE/testdata/street_moved.bin" --trajectory t.txt
done
expect 1 pcgpu fuse --dry-run --config "$ROOM/camera.yaml" --poses "$ROOM/poses_kitti.txt" --color missing.txt "$ROOM"/*.png -o m.ply

# Standard input is read once.
expect 2 pcgpu evaluate --ground-truth - -
stderr_is 'pcgpu: standard input is given 2 times; it can be read once'

# A real point is not at the origin of the file where the offset of the coordinates is.
expect 0 pcgpu voxelize --cpu --layout openpcdet --set voxelization=dynamic --drop-origin --voxel-size 1 --range=499900,5399900,-5,500100,5400100,5 \
    "$C/utm1.ply" --compression 0 -o f.npz
is 'the shape of points' "$(grep -ao "'shape': ([0-9, ]*)" f.npz)" "'shape': (4, 4)"
