#!/bin/sh
# town.sh DRIVE: odometry along paths through a town, with all that a real drive has, and around a block; odometry_real.sh has real scans.
. "$(dirname "$0")/begin.sh"

# A round of 376 frames of 1 m over two hills and half of another round; x right, y down, z forward of the camera.
awk 'BEGIN { for (i = 0; i < 560; i++) { a = 6.283185307179586 * i / 376; R = 376 / 6.283185307179586
    printf "%.4f %.12g 0 %.12g %.12g 0 1 0 %.12g %.12g 0 %.12g %.12g\n", i / 10, cos(a), -sin(a), -R * (1 - cos(a)),
        -1.5 * sin(2 * a), sin(a), cos(a), R * sin(a) } }' > path.txt

mkdir moving faster block
# Odometry through it, with all that a real drive has.
"$drive" --path path.txt --first 130 --frames 110 --steps 300 --moving 1 --moving-cars 1 --labels 1 --beams-off 0.205 moving
"$pcgpu" odometry --cpu --fields 5 --deskew time --beam-correction 0.205 moving/*.bin --trajectory t.txt --ground-truth moving/poses.txt |
    awk '$1 == 100 && $2 == "m" { print "with all of it:", $5, "%"; found = $5 < 0.05 } END { exit !found }'

# A car that speeds up at 2 m/s^2 in a curve: its motion in a sweep is predicted, so that few scans are registered again.
awk 'BEGIN { for (i = 0; i < 40; i++) { s = 0.5 * i + 0.01 * i * i; a = s / 60
    printf "%.4f %.12g 0 %.12g %.12g 0 1 0 0 %.12g 0 %.12g %.12g\n", i / 10, cos(a), sin(a), 60 * (1 - cos(a)),
        -sin(a), cos(a), 60 * sin(a) } }' > faster.txt
"$drive" --path faster.txt --frames 26 --steps 250 --moving 1 faster
"$pcgpu" odometry --cpu --fields 5 --deskew time faster/*.bin --trajectory t.txt -f --json frames.jsonl 2> said
! grep 'beams corrected' said || fail 'beams are corrected that are right'
sed -n 's/.*"attempts": *\([0-9]*\).*/\1/p' frames.jsonl |
    awk 'NR > 2 { attempts += $1 } END { print attempts, "registrations of 24 scans"; exit !(NR == 26 && attempts <= 37) }'

# Around a block: the times of the points from their directions, and the angle of beams that are off from the first scans.
"$drive" --frames 30 --step 2 --steps 300 --moving 1 --beams-off 0.205 --seed 12 block
"$pcgpu" odometry --cpu --fields 5 --deskew counterclockwise block/*.bin --trajectory block.txt --ground-truth block/poses.txt > table 2> said
sed -n 's/.*beams corrected by \([0-9.]*\) degree.*/\1/p' said | awk '{ print "beams off by 0.205:", $1; found = $1 > 0.175 && $1 < 0.235 } END { exit !found }'
awk '/absolute/, /relative/ { if (sub(".*largest ", "")) { print "deskew counterclockwise:", $1, "m of 58 m"; found = $1 < 0.058 } } END { exit !found }' table
