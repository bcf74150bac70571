#!/bin/sh
# odometry_room.sh ROOM PROGRAM: the poses of a depth camera that goes around a furnished room and comes back, 120 frames
# with noise as of a Kinect. With a model the last pose is within 5 mm and 0.1 degree of the truth; what the other
# references make of it is printed beside it.
set -eu
room=$1
program=$(cd "${2%/*}" && pwd)/${2##*/}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$room" --loop 120 --noise 1 --format pgm "$folder" # to compress them took longer than all the rest
cd "$folder"
head -n 1 poses_kitti.txt > first.txt

# Metres and degrees between the last poses of two trajectories.
last() {
    paste -d ' ' "$1" poses_kitti.txt | tail -n 1 | awk '{
        for (k = 1; k <= 12; k++) if (k % 4) trace += $k * $(k + 12)
        way = sqrt(($4 - $16) ^ 2 + ($8 - $20) ^ 2 + ($12 - $24) ^ 2)
        chord = 6 - 2 * trace # twice the squared chord of the turn
        printf "%.6f %.5f", way, 57.29578 * sqrt(chord > 0 ? chord / 2 : 0) }'
}

for reference in previous keyframe model; do
    "$program" odometry -q --cpu --config camera.yaml --init first.txt --reference $reference \
        frame-*.pgm --trajectory $reference.txt
    printf '%s: the last pose is off by %s (metres, degrees)\n' $reference "$(last $reference.txt)"
done
last model.txt | awk '{ exit !($1 < 0.005 && $2 < 0.1) }' || { echo 'FAIL: the model drifts'; exit 1; }
