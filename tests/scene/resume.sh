#!/bin/sh
# resume.sh DRIVE: --trajectory that is ended after each scan and gone on with by --resume has the bytes of one run, to each
# reference, in each format, with scans that are lost and with points that were taken while the sensor moved.
set -eu
drive=$(cd "${1%/*}" && pwd)/${1##*/}
pcgpu=${PCGPU:?}
export OMP_WAIT_POLICY=passive
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir still moving
"$drive" --frames 12 --steps 200 still
"$drive" --frames 12 --steps 200 --moving 1 --seed 7 moving
for kind in still moving; do # nothing to be seen: they are lost, and the keyframe changes
    head -c 12000 /dev/zero > $kind/000004.bin
    cp $kind/000004.bin $kind/000008.bin
done

checked=0
# each NAME PLACES SCANS OPTION...: ends after the poses PLACES of a run of all scans but the last, which a pipe stands for.
each() {
    name=$1 places=$2 scans=$3
    shift 3
    "$pcgpu" odometry --cpu "$@" $scans/*.bin --trajectory whole.txt -f 2> errors || [ $? -eq 4 ] || { cat errors; exit 1; }
    mkfifo pipe.bin
    "$pcgpu" odometry --cpu "$@" $scans/00000*.bin $scans/000010.bin pipe.bin --trajectory ended.txt -f 2> errors &
    child=$!
    while [ "$(tail -n 1 ended.txt.partial 2> errors | cut -d ' ' -f 1-12)" != "$(sed -n 11p whole.txt | cut -d ' ' -f 1-12)" ]; do
        kill -0 $child || { cat errors; exit 1; }
        sleep 0.05
    done
    kill -TERM $child
    wait $child 2> /dev/null || :
    rm pipe.bin
    for poses in $places; do
        awk -v poses="$poses" '{ print } !/^#pcgpu/ && ++n == poses { exit }' ended.txt.partial > again.txt.partial
        # What an interrupt may leave behind the last line.
        sed -n "$((2 * poses + 2))p" ended.txt.partial | cut -c 1-40 | tr -d '\n' >> again.txt.partial
        "$pcgpu" odometry --cpu "$@" $scans/*.bin --trajectory again.txt --resume 2> errors || [ $? -eq 4 ] || { cat errors; exit 1; }
        cmp again.txt whole.txt || { echo "FAIL: $name: other bytes after $poses poses"; exit 1; }
        [ ! -e again.txt.partial ] || { echo "FAIL: $name: again.txt.partial is left"; exit 1; }
        rm again.txt
        checked=$((checked + 1))
    done
    rm ended.txt.partial
}
all='1 2 3 4 5 6 7 8 9 10 11'
each keyframe "$all" still --reference keyframe
grep -q '^nan' whole.txt || { echo 'FAIL: no scan is lost'; exit 1; }
each 'keyframe, tum' '3 6 10' still --reference keyframe --trajectory-format tum
each 'keyframe, deskewed' "$all" moving --reference keyframe --fields 5 --deskew time
each 'previous, deskewed' "$all" moving --reference previous --fields 5 --deskew time
each 'model, matrix' '2 6' still --reference model --trajectory-format matrix
echo "$checked trajectories gone on with"
