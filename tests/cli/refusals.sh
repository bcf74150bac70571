#!/bin/sh
# What is refused: refusals.list has a line "STATUS :: TEXT :: COMMAND" for each. The command exits with STATUS, standard error
# is TEXT, standard output is empty, and no file is made, changed or left. And what is printed: answers.list.
#
#   refusals.sh [--update] [PATTERN]   only lines that have PATTERN, an extended regular expression
#   answers.sh [--update] [PATTERN]    the same of answers.list, whose lines have a field "> TEXT", standard output
#
# TEXT is a pattern of the shell for all of standard error, without the "pcgpu: " of its lines and with "no pcgpu: " before others;
# " // " stands between two lines, and "nothing" is no line. A line goes on with " :: FILE BYTES" for each file of these bytes (of
# printf) beside the inputs made below. --update writes the STATUS and TEXT of lines that differ: look at the difference before you commit it.
. "${0%/*}/lib.sh"
[ "${1:-}" != --update ] || { UPDATE=yes && shift; }
export OMP_WAIT_POLICY=passive
NAME=${0##*/}
LIST=$PCGPU_SOURCE/tests/cli/${NAME%.sh}.list WORKERS=$(getconf _NPROCESSORS_ONLN)
[ "$WORKERS" -le 4 ] || WORKERS=4
grep ' :: ' "$LIST" | grep -E -e "${1:-.}" > "$WORK/rows"
! have_cuda || sed -i '/^3 /{/=900/!d}' "$WORK/rows" # those of a machine without CUDA
command -v python3 > "$OUT" || sed -i '/ :: config\.py /d' "$WORK/rows"

# The inputs, in a folder "here"; T has the files of testdata.
ln -s "$PCGPU_SOURCE/testdata" T
mkdir d empty linked colors n n/samples n/v1.0-mini n/v1.0-test
cloud 300 > a.bin && cloud 500 > b.bin && cp b.bin d
for FILE in d/a.bin n/samples/x.pcd.bin linked/a.bin old.bin old.png; do cp a.bin $FILE; done
ln -s a.bin linked/link.bin && ln -s a.bin link.bin && ln -s nowhere dead.bin && ln -s j.partial leads && ln a.bin hard.bin
for FILE in 1590:cut 64:four 144:few; do head -c ${FILE%:*} a.bin > ${FILE#*:}.bin; done
awk 'BEGIN { for (i = 0; i < 65; i++) print i, 0, 0, 0 }' | floats > line.bin
printf 'nan 0 0 1\n5 0 0 2\n0 inf 0 3\n1 0 0 4\n0 0 -inf 5\n2 0 0 nan\n' | floats > holes.bin
printf 'nan nan nan 0\n' | floats > nan.bin && printf '0 0 0 9\n1 0 0 1\n0 0 0 8\n0 2 0 2\n' | floats > zeros.bin
rings 2000 > five.bin && head -c 39980 five.bin > five_cut.bin
printf "$(awk 'BEGIN { s = 3; for (i = 0; i < 16000; i++) { s = (s * 75 + 74) % 65537; printf "\\%03o", int(s / 8) % 256 } }')" > noise.bin
printf '1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 1 0 1 0 0 0 0 1 0\n' | tee poses.txt | head -n 1 > one.txt
printf 'a.bin b.bin\nb.bin a.bin\n' > pairs && printf 'a.bin 0\nb.bin 0.1\n' > scans.txt
printf '2 0 1\n0 4 0.5\n0 0 1\n' > camera.txt && printf '0 0 0 0 0 0 0 1\n0.1 1 0 0 0 0 0 1\n' > true.tum && printf '0\n64\n32\n' > ends.txt
printf 'P5\n3 2\n65535\n\000\000\003\350\007\320\001\364\000\000\017\240' > a.pgm
depths 64 48 '800 + i * 7 % 1500' > ramp.pgm
{ printf '%s\n' '1 2 3 4' 'nan 0 0 1' '0 0 0 2' '-1 -2 -3 3' '0.7 0 0 4' '7 inf 0 5'; } | floats > odd.bin
printf 'ply\nformat ascii 1.0\nelement vertex 2\nproperty double x\nproperty double y\nproperty double z\nproperty uchar red
property uchar label\nend_header\n500000.125 5400000.25 3 7 1\n500001 5400001 4 8 2\n' > utm.ply
printf '0 -1 0 0\n1 0 0 0\n0 0 1 10\n0 0 0 1\n' > turn.txt
for i in $(seq 99); do echo 1 2 3 4; done | floats > equal.bin && "$PCGPU" sample -m 6000 --method random T/street_moved.bin -o thin.bin
"$PCGPU" sample -m 3000 --method random T/street.bin | "$PCGPU" convert --columns x=y,y=x,z,intensity -o mirrored.bin
head -c 60 T/room/frame-000000.png > short.png && cp -R "$PCGPU_SOURCE/tests/cli/openpcdet/cfgs" .
"$PCGPU" voxelize --voxel-size 2 a.bin -o v.npz && "$PCGPU" voxelize --voxel-size 2 --dtype float16 a.bin -o half.npz &&
    "$PCGPU" voxelize --voxel-size 2 --features points --max-points 3 a.bin -o p.npz || die 'the inputs cannot be made'

# state: every name here, and of each file what changes when it is written.
state() { find . -type d -printf '%p\n' -o -printf '%p %s %i %C@\n'; }

# The program, or the converter of configurations of mmdetection3d.
run() { case ${1:-} in config.py) shift && python3 -S -B "$PCGPU_SOURCE/python/pcgpu/config.py" "$@" ;; *) pcgpu "$@" ;; esac; }

# refused ROW: runs it; GOT is its status and standard error as the row has them, or what else is wrong.
refused() {
    REST=${1#* :: } FILES='' PRINTED=''
    REST=${REST#* :: }
    COMMAND=${REST%% :: *}
    while [ "$REST" != "${REST#* :: }" ]; do
        REST=${REST#* :: }
        FILE=${REST%% :: *}
        case $FILE in '> '*) PRINTED=${FILE#> } && continue ;; esac
        FILES="$FILES ${FILE%% *}"
        case $FILE in *' '*) printf -- "${FILE#* }" ;; esac > "${FILE%% *}"
    done
    BEFORE=${FILES:+$(state)}
    eval "run $COMMAND" < /dev/null > ../stdout 2> ../stderr
    GOT=$? BETWEEN=' :: '
    while IFS= read -r LINE || [ -n "$LINE" ]; do
        case $LINE in 'pcgpu: '*) LINE=${LINE#pcgpu: } ;; *) LINE="no pcgpu: $LINE" ;; esac
        GOT=$GOT$BETWEEN$LINE BETWEEN=' // '
    done < ../stderr
    [ -s ../stderr ] || GOT="$GOT :: nothing"
    HAS=''
    [ ! -s ../stdout ] || HAS=$(awk '{ printf "%s%s", (NR > 1 ? " // " : ""), $0 }' ../stdout)
    case $HAS in $PRINTED) ;; *) GOT="standard output has: $HAS" ;; esac
    [ "${BEFORE:-$WHOLE}" = "$(state)" ] || GOT="files differ: $(state | grep -vxF "${BEFORE:-$WHOLE}")"
    [ -z "$FILES" ] || rm -f $FILES
}

afresh() {
    rm -rf "$WORK/$1/here" && cp -a "$WORK/here" "$WORK/$1" && cd "$WORK/$1/here" && WHOLE=$(state) || exit 99
}

# worker K: each row whose number has the rest K, in a folder of its own.
worker() {
    mkdir "$WORK/$1" && afresh "$1"
    awk -v n="$WORKERS" -v k="$1" 'NR % n == k' "$WORK/rows" | while IFS= read -r ROW; do
        refused "$ROW"
        WANTED=${ROW#* :: }
        WANTED="${ROW%% :: *} :: ${WANTED%% :: *}"
        case $GOT in $WANTED) continue ;; esac
        printf '%s\n%s\n' "$ROW" "$GOT"
        afresh "$1"
    done > "$WORK/wrong.$1"
}
for K in $(seq 0 $((WORKERS - 1))); do
    worker "$K" &
    WORKING="${WORKING:-} $!"
done
for K in $WORKING; do wait "$K" || die 'not all lines were run'; done
cat "$WORK"/wrong.* > "$WORK/wrong"
if [ -n "${UPDATE:-}" ]; then
    # What a pattern of the shell takes for other than itself becomes ?, which is any character.
    awk 'NR == FNR { if (FNR % 2) row = $0; else if ($0 ~ /^[0-9]* :: /) { gsub(/[][*\\]/, "?"); new[row] = $0; row = "" } else print row "\n  " $0 > "/dev/stderr"; next }
        { split($0, part, " :: "); print $0 in new ? new[$0] substr($0, length(part[1] part[2]) + 5) : $0 }' "$WORK/wrong" "$LIST" > "$WORK/new" && cp "$WORK/new" "$LIST"
    exit 0
fi
sed 'n; s/^/  is: /' "$WORK/wrong" >&2
CHECKS=$(wc -l < "$WORK/rows")
[ ! -s "$WORK/wrong" ] || { echo "FAIL: $(($(wc -l < "$WORK/wrong") / 2)) of $CHECKS lines of ${LIST##*/} differ" >&2; exit 1; }
finish
