#!/bin/sh
# odometry_lost.sh ROOM DRIVE PROGRAM: sequences with frames that show nothing. Ten depth images covered by a hand while the
# camera goes on by 40 degrees, ten covered scans of a street: all others have poses, right ones at once.
. "$(dirname "$0")/begin.sh"
mkdir room street
"$room" --path around --loop 120 --noise 1 --width 160 --frames 44 --format pgm room
"$drive" --frames 34 --steps 300 --seed 9 street

# A surface 0.26 m away that fills the image; a few points around the sensor, and no scan at all.
printf 'P5\n160 120\n65535\n' > covered.pgm
head -c 38400 /dev/zero | tr '\0' '\001' >> covered.pgm
for i in 0 1 2 3 4 5 6 7 8 9; do
    cp covered.pgm room/frame-00001$i.pgm
    head -c 3200 street/000000.bin > covered.bin
    mv covered.bin street/0000$((15 + i)).bin
done
: > street/000020.bin
head -n 1 room/poses_kitti.txt > first.txt
for reference in previous keyframe model; do
    code=0
    "$pcgpu" odometry -q --cpu --config room/camera.yaml --init first.txt --reference $reference room/*.pgm \
        --trajectory trajectory.txt -f 2> messages.txt || code=$?
    [ $code -eq 4 ] || { cat messages.txt; exit 1; }
    check "room, $reference" 44 10 0.03 room/poses_kitti.txt
done
code=0
"$pcgpu" odometry -q --cpu street/*.bin --trajectory trajectory.txt -f 2> messages.txt || code=$?
[ $code -eq 4 ] || { cat messages.txt; exit 1; }
check street 34 10 0.02 street/poses.txt
