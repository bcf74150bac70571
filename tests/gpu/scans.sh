#!/bin/sh
# Sampling of real scans gives the same bytes on the CPU with 1, 2 and 16 threads and, unless the first argument is `cpu`,
# on CUDA: sh tests/gpu/scans.sh [cpu], with PCGPU and PCGPU_DATA set. Exit code 77 when no scan is there.
set -u
PROGRAM=${PCGPU:?} SCANS=${PCGPU_DATA:?}
DEVICES='--cpu --cuda'
[ "${1:-}" = cpu ] && DEVICES=--cpu
WORK=$(mktemp -d /tmp/pcgpu-scans.XXXXXX) || exit 2
trap 'rm -rf "$WORK"' EXIT
trap 'exit 130' INT TERM
compared=0 failed=0

# sampled FOLDER DEVICE THREADS FILE OPTION...: everything that a run leaves behind, in FOLDER
sampled() {
    folder=$1 device=$2 threads=$3 file=$4
    shift 4
    mkdir -p "$folder"
    "$PROGRAM" sample "$device" --threads "$threads" "$file" "$@" -o "$folder/out.bin" --indices "$folder/indices" \
        --distances "$folder/distances" 2> "$folder.errors"
    code=$?
    [ "$code" -eq 0 ] || echo "exit code $code: $(tail -n 1 "$folder.errors")"
    return "$code"
}

# compare NAME OPTION...
compare() {
    name=$1
    shift
    if ! [ -f "$SCANS/$name" ]; then
        echo "skipped: $name: it is not there"
        return
    fi
    rm -rf "$WORK/want"
    if ! sampled "$WORK/want" --cpu 1 "$SCANS/$name" "$@" || ! [ -s "$WORK/want/indices" ]; then
        echo "FAIL: $name $*: no answer to compare with"
        failed=$((failed + 1))
        return
    fi
    runs=0 before=$failed
    for device in $DEVICES; do
        for threads in 1 2 16; do
            rm -rf "$WORK/got"
            if ! sampled "$WORK/got" "$device" "$threads" "$SCANS/$name" "$@" || ! diff -rq "$WORK/want" "$WORK/got"; then
                echo "FAIL: $name $*: $device --threads $threads differs from --cpu --threads 1"
                failed=$((failed + 1))
            fi
            runs=$((runs + 1))
        done
    done
    compared=$((compared + runs))
    [ "$failed" -gt "$before" ] || echo "ok: $name $*: $runs runs equal, $(($(wc -c < "$WORK/want/indices") / 4)) picks"
}

for picks in 1024 16384; do
    compare kitti/000001.bin -m "$picks"
    compare kitti00/velodyne/000000.bin -m "$picks"
    compare nuscenes/n015.pcd.bin -m "$picks" --fields 5
    compare clouds/pcldata_CSite1_red1-utm.pcd -m "$picks" # 522,674 points, coordinates of millions
    compare clouds/pcl_office1.pcd -m "$picks" --start center # 52,744 of 307,200 points are not finite
done
compare kitti/000000.bin --min-distance 0.5 --start center
compare clouds/pcldata_CSite1_red1-utm.pcd --min-distance 2
compare clouds/bun_zipper_res3.ply --ratio 1 # every point once
compare clouds/pcu_bunny_duplicates.ply --ratio 1
compare nuscenes/n015.pcd.bin --ratio 1 --fields 5

if [ "$failed" -gt 0 ]; then
    echo "$failed of $compared runs failed"
    exit 1
fi
[ "$compared" -gt 0 ] || { echo 'no scan is there: nothing was compared'; exit 77; }
echo "$compared runs equal"
