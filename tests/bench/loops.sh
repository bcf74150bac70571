#!/bin/sh
# loops.sh DRIVE PCGPU POSES [STEPS [RUNS [DEVICE...]]]: odometry --loops along a path of KITTI (POSES, such as 00.txt) through a
# generated town, whose scanner has beams that are off by 0.205 degree and 2 cm of noise: the absolute trajectory error without and
# with loops, how far the loops are from the truth, seconds, memory; then RUNS runs (default 20) on each DEVICE (cpu, cuda; default
# cpu), with 1, 2, ... 16 threads in turns, which have to write the same bytes. STEPS: firings of each beam in a scan (default 900).
# FRAMES in the environment: only so many scans. The scans of all of 00.txt are 4 GB in TMPDIR.
set -eu
drive=$1 pcgpu=$2 poses=$3 steps=${4:-900} runs=${5:-20}
shift "$(($# < 5 ? $# : 5))"
[ $# -gt 0 ] || set -- cpu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
mkdir "$folder/scans"
frames=${FRAMES:-$(wc -l < "$poses")}
"$drive" --path "$poses" --frames "$frames" --steps "$steps" --beams-off 0.205 "$folder/scans"
cd "$folder"
# /usr/bin/time prints user seconds, wall seconds and KiB.
run() {
    name=$1
    shift
    /usr/bin/time -o "$name.time" -f '%U %e %M' "$pcgpu" odometry scans/*.bin --beam-correction 0.205 --trajectory "$name.txt" -f "$@"
}
ate() { "$pcgpu" evaluate "$1.txt" --ground-truth scans/poses.txt | awk '/^ *RMSE/ { print $2; exit }'; }
segments() { "$pcgpu" evaluate "$1.txt" --ground-truth scans/poses.txt | awk '$1 == "all" { print $2, $3 ", " $4, $5; exit }'; }
run odometry --cpu -q
run loops --cpu --loops --json loops.json -q
echo "$frames scans of $poses, $steps firings, on the CPU"
for name in odometry loops; do
    read -r user wall kib < $name.time
    echo "$name: ATE $(ate $name) m, segments $(segments $name), $user s user, $wall s, $((kib / 1024)) MiB"
done
# The error of each loop against the truth, along the ground and in height.
grep loop_closure loops.json | grep -o '"places.*"refused": [0-9]*'
grep loop_closure loops.json | tr '{' '\n' | grep '"from"' | sed 's/[^-+0-9.eE ]/ /g; s/ [eE] / /g' > loops.list
awk 'NR == FNR { for (k = 1; k <= 12; k++) P[FNR - 1, k] = $k; next }
     { n = 0; for (i = 1; i <= NF; i++) if ($i ~ /^-?[0-9.]+([eE][-+]?[0-9]+)?$/) v[++n] = $i
       a = v[1]; b = v[2]; square = 0 # v[3] to v[18] are T_from_to
       for (k = 1; k <= 3; k++) {
           t = 0
           for (m = 1; m <= 3; m++) t += P[a, 4 * (m - 1) + k] * (P[b, 4 * m] - P[a, 4 * m])
           square += (t - v[2 + 4 * k]) ^ 2
       }
       off = sqrt(square); count++; wrong += off > 0.5; if (off > most) most = off }
     END { printf "%d loops, the worst %.3f m from the truth, %d wrong (above 0.5 m)\n", count, most, wrong; exit wrong > 0 }' \
    scans/poses.txt loops.list
wanted=$(sha256sum < loops.txt)
for device; do
    i=0
    while [ $i -lt "$runs" ]; do
        threads=$((i % 16 + 1))
        run again --device "$device" --threads $threads --loops -q
        [ "$(sha256sum < again.txt)" = "$wanted" ] || { echo "FAIL: $device with $threads threads: other bytes"; exit 1; }
        i=$((i + 1))
    done
    echo "$runs runs on $device, 1 to $((runs < 16 ? runs : 16)) threads: ${wanted%% *}"
done
