#!/bin/sh
# drive_cuda.sh DRIVE [FRAMES [STEPS [REFERENCE...]]]: odometry along a generated drive on the CPU and on CUDA: the same trajectory, to the
# last byte, for each reference; with scans that are missing, empty or of another place, and for a sensor that moves meanwhile.
# Maps, loops and localization are in maps_equal.sh. Exit code 77 without CUDA.
. "$(dirname "$0")/begin.sh"
frames=${2:-120} steps=${3:-500}
[ $# -lt 3 ] && set -- || shift 3
references=${*:-previous keyframe model}

runs --cuda || exit 77

mkdir still moving
"$drive" --frames "$frames" --steps "$steps" still
"$drive" --frames "$frames" --steps "$steps" --moving 1 --seed 7 moving

# Code 4: some scans are lost, which is meant.
track() { # track FILE OPTION... SCAN...
    file=$1
    shift
    "$pcgpu" odometry "$@" --trajectory "$file" -f 2> "$file.errors" || [ $? -eq 4 ] || { cat "$file.errors"; return 1; }
}

compared=0
compare() { # compare NAME OPTION... SCAN...
    name=$1
    shift
    track cpu.txt --cpu "$@"
    track cuda.txt --cuda "$@"
    [ -s cpu.txt ] || { echo "FAIL: $name: no poses"; exit 1; }
    cmp cpu.txt cuda.txt || { echo "FAIL: $name: CUDA differs from the CPU"; exit 1; }
    compared=$((compared + 1))
    echo "ok: $name: $(wc -l < cpu.txt) poses"
}

for reference in $references; do
    compare "$reference" --reference $reference still/*.bin
    compare "$reference, deskewed" --reference $reference --fields 5 --deskew time moving/*.bin
done
compare 'a small model, full cells' --set model-range=15 still/*.bin

# From here on some scans are gone, one shows a single point, and the drive jumps to where it was long before.
k=0
set --
for scan in still/*.bin; do
    k=$((k + 1))
    case $k in
        7 | 8 | 9) ;;
        12) set -- "$@" one.bin ;;
        *) set -- "$@" "$scan" ;;
    esac
done
set -- "$@" still/000002.bin still/000003.bin still/000004.bin
for reference in $references; do
    compare "$reference, gaps and a jump" --reference $reference "$@"
done

echo "$compared trajectories are equal"
