#!/bin/sh
# drive.sh DRIVE: odometry around a block, whose poses are known: how far the end is off, in percent of the way; scans whose
# beams are off, and scans of a sensor that moves meanwhile. odometry_real.sh has all references, on real scans.
. "$(dirname "$0")/begin.sh"

# drift POSES TRUTH NAME: the way, how far the poses are off, and the last one in percent of the way.
drift() {
    off "$1" "$2" | awk -v name="$3" -v count="$(wc -l < "$2")" '
        { off = $1; way = $3; if (off > worst) worst = off }
        END {
            printf "%s: %d poses, %.1f m, at most %.1f mm off, at the end %.4f %%\n", name, NR, way, 1000 * worst, 100 * off / way
            exit !(NR == count && way > 50 && worst < way / 1000) # also false for nan
        }'
}

# 30 m/s, and 13 degrees from scan to scan at the corners.
mkdir fast
"$drive" --frames 75 --step 3 --steps 250 --seed 9 fast
"$pcgpu" odometry --cpu fast/*.bin --trajectory fast.txt
drift fast.txt fast/poses.txt fast
# The angle of beams that are off comes from the first scans: within 0.03 degree of the truth, and none where it is none.
for angle in 0 0.205; do
    mkdir "off$angle"
    "$drive" --frames 30 --step 2 --steps 300 --beams-off $angle --seed 12 "off$angle"
    "$pcgpu" odometry --cpu "off$angle"/*.bin --trajectory off.txt -f 2>&1 > found.txt |
        awk -v angle=$angle '/beams corrected by/ { sub(".*corrected by ", ""); found = $1 + 0 }
            { print } END { d = found - angle; exit !(d < 0.03 && d > -0.03) }'
done
# The times of the points from their directions; town.sh has a column of times.
mkdir moving
"$drive" --frames 30 --step 2 --steps 250 --moving 1 --seed 7 moving
"$pcgpu" odometry --cpu --fields 5 --deskew counterclockwise moving/*.bin --trajectory moving.txt
drift moving.txt moving/poses.txt 'deskew counterclockwise'
