#!/bin/sh
# odometry_room.sh ROOM PROGRAM: the poses of a depth camera that goes around a furnished room and comes back, 60 frames
# with noise as of a Kinect. With a model the last pose is within 5 mm and 0.1 degree of the truth.
. "$(dirname "$0")/begin.sh"
"$room" --loop 60 --noise 1 --width 160 --format pgm .
head -n 1 poses_kitti.txt > first.txt
"$pcgpu" odometry -q --cpu --config camera.yaml --init first.txt --reference model frame-*.pgm --trajectory model.txt
off model.txt poses_kitti.txt | tail -n 1 | awk '{ print "the last pose is off by (metres, degrees, of a way of metres)", $0; exit !($1 < 0.005 && $2 < 0.1) }' || fail 'the model drifts'
