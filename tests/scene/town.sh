#!/bin/sh
# town.sh DRIVE: scans along a path through a town: the same bytes twice; one world where the path repeats itself, whichever
# cars are parked or drive; lanes, labels, and errors of a bad path.
. "$(dirname "$0")/begin.sh"

# A round of 376 frames of 1 m over two hills and half of another round; x right, y down, z forward of the camera.
awk 'BEGIN { for (i = 0; i < 560; i++) { a = 6.283185307179586 * i / 376; R = 376 / 6.283185307179586
    printf "%.4f %.12g 0 %.12g %.12g 0 1 0 %.12g %.12g 0 %.12g %.12g\n", i / 10, cos(a), -sin(a), -R * (1 - cos(a)),
        -1.5 * sin(2 * a), sin(a), cos(a), R * sin(a) } }' > path.txt

# 000000.bin of the folders, and how far the second moved against what its poses say: less than so many metres.
apart() {
    "$pcgpu" register --cpu "$2/000000.bin" "$1/000000.bin" | paste -d' ' - "$4" | awk -v most="$3" -v names="$1 $2" '
        NR <= 3 { off += ($4 - $8) ^ 2 }
        END { printf "%s: %.4f m off\n", names, sqrt(off); exit !(NR >= 3 && sqrt(off) < most) }'
}
# A pose of poses.txt as three lines.
pose() { head -n 1 "$1/poses.txt" | awk '{ print $1, $2, $3, $4; print $5, $6, $7, $8; print $9, $10, $11, $12; print 0, 0, 0, 1 }'; }

mkdir a again round cars lane all moving
"$drive" --path path.txt --first 30 --frames 1 a
"$drive" --path path.txt --first 30 --frames 1 again
cmp a/000000.bin again/000000.bin
cmp a/poses.txt again/poses.txt
# A round and a metre later, from another seed of the noise; other cars at the kerb and on the road; on the other lane.
"$drive" --path path.txt --first 407 --origin 30 --frames 1 round
pose round > round.txt
apart a round 0.02 round.txt
"$drive" --path path.txt --first 407 --origin 30 --exchange 0.5 --moving-cars 1 --frames 1 cars
apart a cars 0.02 round.txt
"$drive" --path path.txt --first 31 --origin 30 --lane 3.4 --frames 1 lane
pose lane > lane.txt
apart a lane 0.06 lane.txt
awk 'NR == 2 { exit !($4 > 3.3 && $4 < 3.5) }' lane.txt || fail 'the lane is not 3.4 m left'

# All cars at the kerb differ, or none is there in one: the scans differ.
"$drive" --path path.txt --first 407 --origin 30 --exchange 1 --frames 1 all
! cmp -s all/000000.bin round/000000.bin || fail 'no car was exchanged'

# Odometry through it, with all that a real drive has.
"$drive" --path path.txt --first 130 --frames 110 --steps 300 --moving 1 --moving-cars 1 --labels 1 --beams-off 0.205 moving
"$pcgpu" odometry --cpu --fields 5 --deskew time --beam-correction 0.205 moving/*.bin --trajectory t.txt --ground-truth moving/poses.txt |
    awk '$1 == 100 && $2 == "m" { print "with all of it:", $5, "%"; found = $5 < 0.05 } END { exit !found }'

# A car that speeds up at 2 m/s^2 in a curve: its motion in a sweep is predicted, so that few scans are registered again.
awk 'BEGIN { for (i = 0; i < 40; i++) { s = 0.5 * i + 0.01 * i * i; a = s / 60
    printf "%.4f %.12g 0 %.12g %.12g 0 1 0 0 %.12g 0 %.12g %.12g\n", i / 10, cos(a), sin(a), 60 * (1 - cos(a)),
        -sin(a), cos(a), 60 * sin(a) } }' > faster.txt
mkdir faster
"$drive" --path faster.txt --frames 26 --steps 250 --moving 1 faster
"$pcgpu" odometry -q --cpu --fields 5 --deskew time faster/*.bin --trajectory t.txt -f --json frames.jsonl
sed -n 's/.*"attempts": *\([0-9]*\).*/\1/p' frames.jsonl |
    awk 'NR > 2 { attempts += $1 } END { print attempts, "registrations of 24 scans"; exit !(NR == 26 && attempts <= 37) }'

# A label per point; some are of moving cars.
points=$(($(wc -c < moving/000100.bin) / 20))
[ "$(wc -c < moving/000100.label)" -eq $((4 * points)) ] || fail "labels are not $points"
on_cars=$(od -An -v -tu4 -w4 moving/000100.label | awk '$1 == 252 { on++ } $1 != 252 && $1 != 0 { exit 1 } END { print on + 0 }')
[ "$on_cars" -gt 100 ] && [ "$on_cars" -lt $((points / 4)) ] || fail "$on_cars of $points points are on moving cars"
# Bad paths.
head -n 10 path.txt > short.txt
{ cat path.txt; echo 1 2 3; } > torn.txt
for bad in none.txt short.txt torn.txt; do
    if "$drive" --path $bad --frames 1 a 2> message.txt; then
        fail "$bad was taken"
    fi
    grep -q "^drive: $bad: " message.txt || fail "$bad: $(cat message.txt)"
done
