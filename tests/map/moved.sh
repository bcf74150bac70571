#!/bin/sh
# moved.sh DRIVE MAP_TRUTH: maps of a drive through a town, with cars that drive ahead, behind and towards the sensor: the
# precision and recall of what is left out, the static points that stay, and the same bytes with any memory and threads, at
# the true poses; and how much the map of odometry leaves out, whose poses stay as they are. Costs 10 s.
set -eu
drive=$(cd "${1%/*}" && pwd)/${1##*/} truth=$(cd "${2%/*}" && pwd)/${2##*/}
pcgpu=${PCGPU:?}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# 70 m with a bend, as KITTI's camera: x right, y down, z forward.
awk 'BEGIN { for (i = 0; i < 110; i++) { a = i < 35 ? 0 : (i - 35) / 60; x += sin(a); z += cos(a)
    printf "%.4f %.12g 0 %.12g %.12g 0 1 0 0 %.12g 0 %.12g %.12g\n", i / 10, cos(a), sin(a), x, -sin(a), cos(a), z } }' > path.txt
mkdir scans
"$drive" --path path.txt --first 10 --frames 70 --steps 1000 --moving-cars 1 --labels 1 scans
"$truth" scans 0.1 0.9 0.99 0.9995
# The map of odometry leaves out a like number.
"$pcgpu" odometry --cpu scans/*.bin --trajectory t.txt -o map.ply --json map.jsonl
"$pcgpu" odometry --cpu scans/*.bin --trajectory kept.txt -o kept.ply --set keep-moving
cmp t.txt kept.txt
tail -n 1 map.jsonl | sed 's/.*"voxels": \([0-9]*\), "moved": \([0-9]*\),.*/\1 \2/' |
    awk '{ printf "odometry: %d of %d voxels left out\n", $2, $1; exit !($2 > 0.01 * $1 && $2 < 0.2 * $1) }'
