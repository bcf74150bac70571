#!/bin/sh
# The bytes of every command: bytes.list has a line "HASH STATUS COMMAND" for each, and what the program writes has that
# sha256 (its first 16 digits) on every back end, with any number of threads. A change of bytes is a change of behaviour: it is
# announced in NEWS.md, and `bytes.sh --update` writes the new list, with 1 thread.
#
#   bytes.sh [--update] [PATTERN]   only commands that have PATTERN, an extended regular expression
#   PCGPU_BYTES_THREADS             thread counts; by default 3, and also 1 for every fourth line
#
# A command has a folder of its own. Hashed are its standard output and all files; not standard error, and of JSON not
# times, threads and back end.
. "${0%/*}/lib.sh"
UPDATE=''
[ "${1:-}" = --update ] && { UPDATE=yes; shift; }
PATTERN=${1:-.}
LIST=$PCGPU_SOURCE/tests/cli/bytes.list
ln -s "$PCGPU_SOURCE/testdata" "$WORK/testdata"
ln -s "$PCGPU_SOURCE/configs" "$WORK/configs"
mkdir "$WORK/prepared"
T=../testdata C=../configs P=../prepared S=../prepared/seq D=''
[ -d "${PCGPU_DATA:-}" ] && { ln -s "$PCGPU_DATA" "$WORK/data"; D=../data; }

# The inputs that are not in testdata: few points, several columns and formats, records without a position, drives.
(
    cd "$WORK/prepared" || exit 99
    cloud 2000 > small.bin
    { cloud 120; printf 'nan 1 2 3\ninf 0 0 0\n1 -inf 2 0\n' | floats; cloud 80; } > h.bin
    { printf 'nan nan nan 0\n' | floats; cat h.bin; } > holes.bin && rm h.bin
    { printf '0 0 0 0\n0 0 0 1\n' | floats; cloud 150; printf '0 0 0 2\n' | floats; } > zeros.bin
    awk 'BEGIN { for (i = 0; i < 100; i++) print 1.5, -2.25, 0.5, i }' | floats > same.bin
    awk 'BEGIN { for (i = 0; i < 100; i++) print i / 8, 0, 0, i }' | floats > line.bin
    rings 1500 > five.bin
    head -c 1001 small.bin > cut.bin
    # 75.2 in float32 is in the last cell of 0.1 m from -75.2 on, by rounding.
    awk 'BEGIN { for (i = 0; i < 90; i++) print i % 3 ? 75.2 : -75.2, i % 7 * 25.1 - 75.2, i % 5 - 2, i }' > edge.xyz
    printf '0\n1999\n1000\n' > seeds.txt
    {
        printf 'ply\nformat ascii 1.0\nelement vertex 400\nproperty double x\nproperty double y\nproperty double z\nend_header\n'
        awk 'BEGIN { for (i = 0; i < 400; i++) printf "%.3f %.3f %.3f\n", 500000.125 + i * 0.35, 5400000.5 + i * i % 97 * 0.21, i % 13 * 0.4 }'
    } > utm.ply
    for KIND in ply pcd npy; do
        "$PCGPU" sample --cpu --fields 5 --ratio 1 --method random five.bin -o five.$KIND || exit 99
    done
    "$PCGPU" sample --cpu -m 6000 --method random ../testdata/street.bin -o thin.bin || exit 99
    "$PCGPU" sample --cpu -m 6000 --method random --seed 3 ../testdata/street_moved.bin -o thin_moved.bin || exit 99
    # Turned by exactly 90 degrees, x y to -y x, which no rounding touches.
    records thin_moved.bin | awk '{ print -$2, $1, $3, $4 }' | floats > turned.bin
    mkdir seq
    for i in 0 2 4; do ln -s ../../testdata/street.bin seq/s$i.bin; done
    for i in 1 3; do ln -s ../../testdata/street_moved.bin seq/s$i.bin; done
    awk 'BEGIN { for (i = 0; i < 120; i++) print 1, 0, 0, i * 1.5, 0, 1, 0, i % 7 * 0.1, 0, 0, 1, 0 }' > seq/truth.txt
    awk 'BEGIN { for (i = 0; i < 120; i++) print 1, 0, 0, i * 1.51, 0, 1, 0, i % 5 * 0.1, 0, 0, 1, i * 0.01 }' > seq/poses.txt
    head -n 5 seq/truth.txt > seq/five.txt
    awk 'BEGIN { print "time,x,y,z"; for (i = 0; i < 5; i++) print i ",", 500000 + i % 2 * 0.8 ",", 5400000 + (i == 3) * 9 ",", 100 }' > seq/prior.csv
    printf '0\n1\n2\n3\n4\n' > seq/times.txt
    awk 'BEGIN { for (i = 0; i < 9; i++) printf "%d.%d %d %d 0 0 0 0 1\n", 1700000000, i, i, i % 3 }' > late.tum
    printf '1 0 0 0.02\n0 1 0 -0.01\n0 0 1 0.01\n0 0 0 1\n' > near.txt
    printf '5 1 0 8 4 3 0.3 Car\n-4,3,0,6,6,4,-2\n' > boxes.txt && mkdir boxes && cp boxes.txt boxes/street.txt && : > boxes/street_moved.txt
    { sed -n 1,2p ../testdata/room/poses_kitti.txt; echo 'nan nan nan nan nan nan nan nan nan nan nan nan'
      sed -n 4p ../testdata/room/poses_kitti.txt; } > gap.txt
    for i in 0 1; do depths 64 48 "1500 - 20 * $i + i % 64 * 4 + int(i / 64) * 3" > depth$i.pgm; done
    printf '1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 0.01 0 1 0 0 0 0 1 0.02\n' > two.txt
    printf '../prepared/%s ../prepared/%s\n' thin_moved.bin thin.bin five.ply five.ply thin.bin thin_moved.bin > pairs.txt
    printf '%s\n' '../testdata/room/frame-000001.png ../testdata/room/frame-000000.png' \
        '../testdata/room/frame-000003.png ../testdata/room/frame-000002.png' > depth_pairs.txt
    printf '%s\n' '../data/kitti00/velodyne/000001.bin ../data/kitti00/velodyne/000000.bin' \
        '../data/kitti00/velodyne/000015.bin ../data/kitti00/velodyne/000014.bin' \
        '../data/kitti00/velodyne/000003.bin ../data/kitti00/velodyne/000002.bin' > kitti_pairs.txt
) || die 'the inputs could not be made'

# What does not follow from the input alone goes out of JSON.
same_everywhere() { sed -E 's/, "(seconds|run)": \{[^}]*\}//g; s/"version": "[^"]*", //; s/, "(threads|backend|device|reason)": ("[^"]*"|[0-9]+)//g'; }

# hash COMMAND: GOT is 16 digits, and its exit status. Few processes: there are hundreds of commands.
hash() {
    rm -rf "$RUN" && mkdir "$RUN" && cd "$RUN" || exit 99
    eval "pcgpu $1" < /dev/null > "$OUT" 2> "$ERR"
    STATUS=$?
    [ ! -s "$ERR" ] || ! grep -Eq 'AddressSanitizer|LeakSanitizer|runtime error:' "$ERR" || die "a sanitizer reported an error: $1"
    GOT=$({
        case $1 in *' --json -'* | info*) same_everywhere < "$OUT" ;; *) cat "$OUT" ;; esac
        [ "$(echo * .[!.]*)" = '* .[!.]*' ] || find . -type f | sort | while IFS= read -r NAME; do
            printf '%s\n' "$NAME"
            cat "$NAME"
        done
    } | sha256sum)
    GOT="${GOT%"${GOT#????????????????}"} $STATUS"
}

COUNTS=${PCGPU_BYTES_THREADS:-} JOBS=${PCGPU_JOBS:-$(nproc)}
[ -z "$UPDATE" ] || COUNTS=1
# The lines to run, with their numbers.
sed 's/^[^ ]* [^ ]* //' "$LIST" | grep -En -e "$PATTERN" | awk -F: -v data="$D" '
    NR == FNR { chosen[$1]; next }
    FNR in chosen && /^[0-9a-f]+ [0-9]+ / && (data != "" || !/[$]D\/|kitti_pairs/) { print FNR, $0 }' - "$LIST" > "$WORK/chosen"
[ -s "$WORK/chosen" ] || { echo "FAIL: no command of bytes.list has $PATTERN" >&2; exit 1; }

# part K: the chosen lines K, K + JOBS, ...: "LINE HASH STATUS" of each into $WORK/got.K, and what differs to standard output.
part() {
    trap - EXIT
    RUN=$WORK/run.$1 OUT=$OUT.$1 ERR=$ERR.$1
    awk -v k="$1" -v jobs="$JOBS" 'NR % jobs == k' "$WORK/chosen" | while read -r LINE HASH WANTED COMMAND; do
        for OMP_NUM_THREADS in ${COUNTS:-3 $([ $((LINE % 4)) -ne 0 ] || echo 1)}; do
            export OMP_NUM_THREADS
            hash "$COMMAND"
            echo "$LINE $GOT" >> "$WORK/got.$1"
            [ "$GOT" != "$HASH $WANTED" ] || continue
            printf '%s in place of %s, %s threads: pcgpu %s\n' "$GOT" "$HASH $WANTED" "$OMP_NUM_THREADS" "$COMMAND"
            [ "${GOT#* }" = 0 ] || sed 's/^/    /; 3q' "$ERR"
        done
    done
}

K=0 PARTS=''
while [ "$K" -lt "$JOBS" ]; do
    part "$K" > "$WORK/different.$K" &
    PARTS="$PARTS $!" K=$((K + 1))
done
for K in $PARTS; do
    wait "$K" || exit 1
done
cat "$WORK"/different.*
DIFFERENT=$(cat "$WORK"/different.* | grep -c ' in place of ')
if [ -n "$UPDATE" ]; then
    cat "$WORK"/got.* | awk 'NR == FNR { new[$1] = $2 " " $3; next } FNR in new { sub(/^[^ ]+ [^ ]+/, new[FNR]) } { print }' - "$LIST" > "$WORK/new"
    cp "$WORK/new" "$LIST"
    echo "$DIFFERENT lines of bytes.list are new"
    exit 0
fi
CHECKS=$(cat "$WORK"/got.* | wc -l)
[ -n "$D" ] || skip_part 'real data' 'PCGPU_DATA is no folder'
[ "$DIFFERENT" -eq 0 ] || { echo "FAIL: $DIFFERENT of $CHECKS commands wrote other bytes" >&2; exit 1; }
finish
