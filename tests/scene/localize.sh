#!/bin/sh
# localize.sh DRIVE: a map of 240 m around a block from scans at their true poses, and later drives localized in it: how far
# the poses are off; the start anywhere in the map; a sensor that moves during a sweep; another block. maps_equal.sh has other
# numbers of threads.
. "$(dirname "$0")/begin.sh"

# errors NAME POSES TRUTH FEWEST: at least so many poses, and all within 2 cm and 0.05 degree of the truth.
errors() {
    off "$2" "$3" | awk -v name="$1" -v fewest="$4" '
        $1 == "nan" { lost++; next }
        { sum += $1; n++; if ($1 > worst) worst = $1; if ($2 > most) most = $2 }
        END {
            printf "%s: %d poses, %d lost, %.2f mm off, at most %.2f mm and %.4f degree\n", name, n, lost, 1000 * sum / n,
                1000 * worst, most
            exit !(n >= fewest && worst < 0.02 && most < 0.05)
        }'
}

mkdir mapping later moving elsewhere
"$drive" --frames 40 --step 6 --steps 500 mapping
"$drive" --frames 60 --step 3.7 --steps 500 --seed 4711 later
"$drive" --frames 20 --step 0.7 --steps 500 --seed 815 --moving 1 moving
"$drive" --frames 3 --step 20 --steps 500 --layout 9 elsewhere
k=0
while read -r pose; do
    k=$((k + 1))
    echo "$pose" > pose.txt
    "$pcgpu" convert mapping/"$(printf %06d $((k - 1)))".bin --transform pose.txt -o at_"$(printf %02d $k)".bin
done < mapping/poses.txt
"$pcgpu" convert --merge at_*.bin -o all.ply
"$pcgpu" voxelize --features mean --voxel-size 0.1 --range auto --max-voxels 0 all.ply -o map.ply

"$pcgpu" odometry --cpu --map map.ply later/0000[0-2]*.bin --trajectory auto.txt
head -n 30 later/poses.txt > later.txt
errors 'later' auto.txt later.txt 30

# Each of these is searched in the whole map.
k=0
for scan in later/*0.bin; do
    "$pcgpu" odometry --cpu --map map.ply "$scan" --trajectory - >> starts.txt
    sed -n "$((10 * k + 1))p" later/poses.txt >> starts_truth.txt
    k=$((k + 1))
done
errors 'starts' starts.txt starts_truth.txt 6

# The first one is not deskewed, since no motion is known.
"$pcgpu" odometry --cpu --fields 5 --deskew time --map map.ply moving/*.bin --trajectory moving.txt
tail -n +2 moving.txt > without_first.txt
tail -n +2 moving/poses.txt > truth.txt
errors 'deskewed' without_first.txt truth.txt 19

# Another block has no place in the map.
status=0
"$pcgpu" odometry --cpu --map map.ply elsewhere/*.bin --trajectory elsewhere.txt 2> why || status=$?
cat why
[ $status -eq 4 ] && [ "$(grep -c nan elsewhere.txt)" -eq 3 ]
