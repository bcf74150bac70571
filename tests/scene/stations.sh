#!/bin/sh
# stations.sh DRIVE: 12 scans along a street, 8 m apart and each turned by its own angle, as a set in another order: all have a
# pose, within 10 mm.
. "$(dirname "$0")/begin.sh"
mkdir drive stations
"$drive" --frames 12 --step 8 --steps 600 drive
for k in 0 1 2 3 4 5 6 7 8 9 10 11; do
    scan=$((k * 5 % 12)) # another order
    awk -v a=$((k * 77 + 30)) 'BEGIN { a *= atan2(0, -1) / 180; print cos(a), -sin(a), 0, 0, sin(a), cos(a), 0, 0, 0, 0, 1, 0 }' > turn
    "$pcgpu" convert -q --transform turn "drive/$(printf %06d $scan).bin" -o "stations/$(printf %02d $k).bin"
    sed -n "$((scan + 1))p" drive/poses.txt >> truth.txt
done
"$pcgpu" register --all --cpu stations -o poses
"$pcgpu" evaluate poses --ground-truth truth.txt | tee table
awk '/largest/ { sub(".*largest ", ""); exit !($1 < 0.01) }' table
