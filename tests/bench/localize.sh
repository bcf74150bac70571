#!/bin/sh
# localize.sh BENCH DRIVE [FRAMES]: localization along the path of KITTI 00 through a rendered town: a map of every second
# scan of one drive, and another drive on the lane beside it, with 20 % of the parked cars exchanged and moving cars. Prints
# the speed and the errors of tracking, and starts anywhere in the map. PCGPU_CUDA=1: the same on CUDA, with the same bytes.
# Exit code 77 without the paths. FRAMES (default 1300, 930 m) take some minutes to render, and 3 MB of disk each.
set -eu
bench=$1 drive=$2 frames=${3:-1300}
path=${PCGPU_DATA:-../shared/data}/kitti_poses/00.txt
[ -f "$path" ] || { echo "skipped: no $path"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/mapping" "$folder/later"
"$drive" --path "$path" --frames "$frames" --steps 900 --seed 5 "$folder/mapping"
"$drive" --path "$path" --frames "$frames" --steps 1800 --lane 3.4 --exchange 0.2 --moving-cars 1 --seed 900005 --origin 0 \
    "$folder/later"
k=0
while read -r pose; do
    if [ $((k % 2)) -eq 0 ]; then
        echo "$pose" > "$folder/pose.txt"
        "$PCGPU" convert "$folder/mapping/$(printf %06d $k).bin" --transform "$folder/pose.txt" -o "$folder/at_$(printf %06d $k).bin"
    fi
    k=$((k + 1))
done < "$folder/mapping/poses.txt"
"$PCGPU" convert --merge "$folder"/at_*.bin -o "$folder/all.ply"
"$PCGPU" voxelize --features mean --voxel-size 0.1 --range auto --max-voxels 0 "$folder/all.ply" -o "$folder/map.ply"
"$bench" ${PCGPU_CUDA:+--cuda} "$folder/map.ply" "$folder/later" "$frames" 1 50
