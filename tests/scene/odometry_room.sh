#!/bin/sh
# odometry_room.sh ROOM PROGRAM: the poses of a depth camera that goes around a furnished room and comes back, 120 frames
# with noise as of a Kinect. With a model the last pose is within 5 mm and 0.1 degree of the truth; what the other
# references make of it is printed beside it.
. "$(dirname "$0")/begin.sh"
"$room" --loop 120 --noise 1 --width 320 --format pgm . # to compress them took longer than all the rest
head -n 1 poses_kitti.txt > first.txt
for reference in previous keyframe model; do
    "$pcgpu" odometry -q --cpu --config camera.yaml --init first.txt --reference $reference frame-*.pgm --trajectory $reference.txt
    echo "$reference: the last pose is off by (metres, degrees, of a way of metres) $(off $reference.txt poses_kitti.txt | tail -n 1)"
done
off model.txt poses_kitti.txt | tail -n 1 | awk '{ exit !($1 < 0.005 && $2 < 0.1) }' || fail 'the model drifts'
