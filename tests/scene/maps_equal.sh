#!/bin/sh
# maps_equal.sh DRIVE A B [FRAMES [STEPS]]: whole commands with options A and with options B, such as --cpu and --cuda, which have
# to write the same bytes, B with little memory for maps: odometry with loops and their map, with a map deskewed, and localization
# in the first map from a start anywhere in it and from a guess, with scans that are missing, empty or of another place. The default
# drive is two rounds of a block. Exit code 77 when B needs CUDA and there is none.
. "$(dirname "$0")/begin.sh"
a=$2 b=$3 frames=${4:-90} steps=${5:-250}

# shellcheck disable=SC2086
runs $b || exit 77

# Beams that are off by a degree make an odometry that drifts; a local map of 20 m does not see the first round again.
mkdir round moving
"$drive" --frames "$frames" --step 3 --steps "$steps" --seed 5 --beams-off 1 round
"$drive" --frames $((frames / 6)) --steps "$steps" --seed 7 --moving 1 moving

# run SIDE OPTIONS ARGUMENT...: into SIDE.txt, and SIDE.ply where ARGUMENT is -o. Code 4: some scans are lost, which is meant.
run() {
    side=$1 options=$2
    shift 2
    # shellcheck disable=SC2086
    "$pcgpu" odometry $options "$@" -v --trajectory "$side.txt" -f 2> "$side.messages" || [ $? -eq 4 ] || {
        cat "$side.messages"
        return 1
    }
}

compared=0
# compare NAME MAP|- ARGUMENT...: MAP is what the map is kept as.
compare() {
    name=$1 map=$2
    shift 2
    rm -f a.* b.*
    if [ "$map" = - ]; then
        run a "$a" "$@"
        run b "$b" "$@"
    else
        run a "$a" "$@" -o a.ply
        run b "$b" "$@" -o b.ply --set memory=1M
        [ "$(wc -c < a.ply)" -gt 100000 ] || fail "$name: the map is empty"
        cmp a.ply b.ply || fail "$name: maps differ"
        cp b.ply "$map"
    fi
    [ "$(grep -vc nan a.txt)" -ge $((frames / 12)) ] || fail "$name: poses are missing"
    cmp a.txt b.txt || fail "$name: poses differ"
    compared=$((compared + 1))
    echo "ok: $name: $(wc -l < a.txt) poses$([ "$map" = - ] || echo ", a map of $(wc -c < a.ply) bytes")"
}

compare 'odometry --loops -o' loops.ply --set model-range=20 --loops round/*.bin
grep -q ' [1-9][0-9]* loops among ' b.messages || fail 'no loops'
grep -q "b.ply: .* points of $frames scans" b.messages || fail 'the map lacks scans'
compare 'odometry -o, deskewed, all points' moving.ply --fields 5 --deskew time --set keep-moving moving/*.bin

# Some scans are gone, one shows a single point, and then the drive jumps to where it was long before.
k=0
for scan in round/*.bin; do
    k=$((k + 1))
    case $k in
        1) set -- ;;
        3 | 4 | 5) ;;
        8) set -- "$@" one.bin ;;
        *) [ $k -gt $((frames / 3)) ] || set -- "$@" "$scan" ;;
    esac
done
set -- "$@" round/000001.bin round/000002.bin
compare 'odometry --map --init auto' - --map loops.ply --init auto "$@"
echo '1 0 0 2 0 1 0 0.1 0 0 1 0' > guess.txt
compare 'odometry --map --init FILE, deskewed' - --map loops.ply --init guess.txt --set model-range=30 --fields 5 --deskew time moving/*.bin
echo "$compared commands with $a and with $b write the same bytes"
