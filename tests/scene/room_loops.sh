#!/bin/sh
# room_loops.sh ROOM PROGRAM [--cuda]: odometry --loops of a depth camera that goes around a room twice, 60 frames of 160 x 120 pixels with noise
# as of a Kinect: from image to image, the loops nearly halve the error of the trajectory. A path that does not return, and a model
# that is as good as the loops, keep their bytes. Threads and the model of corrected poses.
# With --cuda, that back end's bytes are those of the CPU.
. "$(dirname "$0")/begin.sh"
"$room" --path around --loop 30 --frames 60 --noise 1 --width 160 --format pgm .
head -n 1 poses_kitti.txt > first.txt
run() { "$pcgpu" odometry --cpu --config camera.yaml --init first.txt "$@"; }
ate() { sed -n 's/^  RMSE \([0-9.e-]*\) m,.*/\1/p' "$1"; }

run -q --reference previous frame-*.pgm --trajectory odometry.txt --ground-truth poses_kitti.txt > odometry.table
run --reference previous frame-*.pgm --trajectory loops.txt --ground-truth poses_kitti.txt --loops --json loops.json -v \
    > loops.table 2> messages
echo "ATE of the odometry $(ate odometry.table) m, with loops $(ate loops.table) m; $(grep ' loops among ' messages)"
awk -v a="$(ate odometry.table)" -v b="$(ate loops.table)" 'BEGIN { exit !(b > 0 && b < 0.7 * a) }' || fail 'loops do not help'
grep -q '"loop_closure": {"frames": 60, .*"converged": true, .*"T_from_to"' loops.json || fail 'the object of the loops'

# The same bytes from other threads, and as a stream.
run -q --reference previous frame-*.pgm --loops --threads 3 > stream.txt
cmp stream.txt loops.txt

# What is not seen again, and an odometry that is as good as the loops.
run --reference previous frame-00000*.pgm --loops --trajectory part.txt -v 2> messages
grep -q ' 0 loops among ' messages || fail 'a loop on a path that does not return'
head -n 10 odometry.txt | cmp - part.txt
run -q frame-0000[0-3]*.pgm --trajectory model.txt -o model.ply --map-voxel 0.05
run frame-0000[0-3]*.pgm --trajectory same.txt -o same.ply --map-voxel 0.05 --loops -v 2> messages
grep -q ' [1-9][0-9]* loops among .* moved by up to 0.000 m' messages || fail 'the loops of a good odometry'
cmp same.txt model.txt
cmp same.ply model.ply

# Corrected poses make another model: that of fuse. A model of large voxels drifts.
run -q frame-*.pgm --trajectory poor.txt -o poor.ply --map-voxel 0.16
run frame-*.pgm --trajectory better.txt -o better.ply --map-voxel 0.16 --loops --ground-truth poses_kitti.txt -v > better.table 2> messages
echo "a poor model: ATE with loops $(ate better.table) m; $(grep ' loops among ' messages)"
awk -v b="$(ate better.table)" 'BEGIN { exit !(b > 0 && b < 0.018) }' || fail 'loops do not help a poor model'
"$pcgpu" fuse -q --cpu --config camera.yaml --poses better.txt frame-*.pgm -o fused.ply --voxel-size 0.16
cmp fused.ply better.ply
! cmp -s poor.ply better.ply || fail 'the model has the poses before the loops'

if [ "${3:-}" ]; then
    "$pcgpu" odometry -q "$3" --config camera.yaml --init first.txt --reference previous frame-*.pgm --trajectory device.txt --loops
    cmp device.txt loops.txt
    "$pcgpu" odometry -q "$3" --config camera.yaml --init first.txt frame-*.pgm --trajectory poor_device.txt -o device.ply --map-voxel 0.16 --loops
    cmp poor_device.txt better.txt
    cmp device.ply better.ply
fi
