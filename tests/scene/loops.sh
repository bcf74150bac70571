#!/bin/sh
# loops.sh DRIVE: odometry --loops along two rounds of a block and on one street: the places of the second round are found,
# and the errors get smaller. maps_equal.sh has other numbers of threads.
. "$(dirname "$0")/begin.sh"

# Beams that are off by a degree make an odometry that drifts; a local map of 20 m does not see the first round again.
mkdir scans
"$drive" --frames 130 --step 3 --steps 200 --seed 5 --beams-off 1 scans
run() { "$pcgpu" odometry --cpu --set model-range=20 scans/*.bin "$@"; }
run --trajectory odometry.txt --ground-truth scans/poses.txt -o odometry.ply > odometry.table
run --trajectory loops.txt --ground-truth scans/poses.txt -o map.ply --loops --json loops.json -v > loops.table 2> messages
ate() { awk '$1 == "RMSE" { sub(",", "", $2); print $2; exit }' "$1"; }
echo "ATE of the odometry $(ate odometry.table) m, with loops $(ate loops.table) m; $(grep ' loops among ' messages)"
awk -v a="$(ate odometry.table)" -v b="$(ate loops.table)" 'BEGIN { exit !(b > 0 && b < 0.8 * a) }' || fail 'loops do not help'

# An object of --json lists them. Every pair is a round apart, and lies where the truth says, to the error that the beams make.
grep loop_closure loops.json | tr '{' '\n' | awk -F'[:,]' '/"from"/ { n++; print $2 + 0, $4 + 0 }' > pairs
[ "$(wc -l < pairs)" -ge 10 ] || fail "only $(wc -l < pairs) loops"
[ "$(wc -l < pairs)" -eq "$(grep -c 'sees the place of' messages)" ] || fail '-v and --json count differently'
awk 'NR == FNR { x[FNR - 1] = $4; y[FNR - 1] = $8; next }
     { d = sqrt((x[$1] - x[$2]) ^ 2 + (y[$1] - y[$2]) ^ 2); if (d > 25 || $2 - $1 < 60) { print "FAIL: wrong pair", $0, d; bad = 1 } }
     END { exit bad }' scans/poses.txt pairs

# The map is made of the corrected poses, with any memory; nothing is written before the end.
grep -q 'map.ply: .* points of 130 scans' messages || fail 'the map lacks scans'
run --loops --threads 3 -o one.ply --set memory=2M > stream.txt
cmp stream.txt loops.txt
cmp map.ply one.ply
! cmp -s map.ply odometry.ply || fail 'the map has the poses before the loops'

# Without a loop the bytes are those of the odometry.
"$pcgpu" odometry --cpu --set model-range=20 scans/0000[0-5]*.bin --trajectory part.txt --loops -v 2> messages
grep -q ' 0 loops among ' messages
head -n 60 odometry.txt | cmp - part.txt
