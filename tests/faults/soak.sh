#!/bin/sh
# soak.sh SOAK DRIVE [commands]: runs that are long: $PCGPU_SOAK seconds in all (default 300; 7200 before a release). Half of it is SOAK (soak.c), a
# process that uses the library, unless "commands" is given. The other half are commands over thousands of inputs, in turns, each with a limit of its address
# space: while one runs, its resident memory and open files are read ten times a second, and the most of the last third must not exceed
# the most of the second third (by more than 4 MiB, and 2 files). Trajectories grow by a pose for each scan, which these 4 MiB hold.
. "$PCGPU_SOURCE/tests/cli/lib.sh"
SOAK=$1 DRIVE=$2 SECONDS_ALL=${PCGPU_SOAK:-300}
ulimit -c 0
ulimit -v 2500000
[ "${3:-}" = commands ] || "$SOAK" $((SECONDS_ALL / 2)) 2 "$PCGPU_SOURCE/testdata" || die 'the library'

mkdir scans
"$DRIVE" --frames 12 --steps 250 scans > /dev/null 2>&1 || die 'no scans'
mkdir many path images
I=0 # to and fro along the drive, so that a sequence has no end
while [ $I -lt 4000 ]; do
    K=$((I % 22))
    [ $K -lt 12 ] || K=$((22 - K))
    NAME=$(printf '%06d' $I)
    ln -s "../scans/$(printf '%06d' $K).bin" "path/$NAME.bin"
    ln -s "../scans/$(printf '%06d' $((I % 12))).bin" "many/$NAME.bin"
    K=$((I % 6))
    [ $K -lt 4 ] || K=$((6 - K))
    ln -s "$PCGPU_SOURCE/testdata/room/frame-00000$K.png" "images/$NAME.png"
    sed -n $((K + 1))p "$PCGPU_SOURCE/testdata/room/poses_kitti.txt" >> poses.txt
    I=$((I + 1))
done
ls path | sed 's|^|path/|' | awk 'NR > 1 { print before, $0 } { before = $0 }' > pairs.txt
"$PCGPU" odometry -q --cpu scans -o map.ply --trajectory /dev/null -f || die 'no map'
ROOM=$PCGPU_SOURCE/testdata/room/camera.yaml

# watch COMMAND...: runs it for a share of the time, unless it ends before, and compares what it uses.
watch() {
    LAST=$*
    "$PCGPU" "$@" -q -f > "$OUT" 2> "$ERR" < /dev/null &
    CHILD=$!
    trap 'kill $CHILD 2> /dev/null; cd /; rm -rf "$WORK"' EXIT
    BEGAN=$(date +%s)
    : > samples
    while kill -0 $CHILD 2> /dev/null && [ $(($(date +%s) - BEGAN)) -lt "$SHARE" ]; do
        RESIDENT=$(awk '/^VmRSS/ { print $2 }' /proc/$CHILD/status 2> /dev/null)
        FILES=$(ls /proc/$CHILD/fd 2> /dev/null | wc -l)
        [ -z "$RESIDENT" ] || [ "$FILES" -eq 0 ] || echo "$RESIDENT $FILES" >> samples
        sleep 0.1
    done
    if kill -INT $CHILD 2> /dev/null; then wait $CHILD; else wait $CHILD || die 'it failed'; fi
    awk -v command="$1" '{ m[NR] = $1; f[NR] = $2 }
        END { if (NR < 12) { print "too short: " command; exit }
            for (i = int(NR / 3) + 1; i <= NR; i++) { t = i > 2 * NR / 3; if (m[i] > M[t]) M[t] = m[i]; if (f[i] > F[t]) F[t] = f[i] }
            printf "%-10s %4d samples: at most %d KiB, %d files in the second third, %d KiB, %d files in the last\n",
                command, NR, M[0], F[0], M[1], F[1]
            exit M[1] > M[0] + 4096 || F[1] > F[0] + 2 }' samples || die 'memory or files grew'
    checked
}
ROUNDS=0 END=$(($(date +%s) + SECONDS_ALL / 2)) SHARE=$((SECONDS_ALL / 2 / 9))
[ $SHARE -lt 60 ] || SHARE=60
while [ "$(date +%s)" -lt $END ]; do
    mkdir out
    watch sample -m 2000 many -o out/ --cpu
    watch voxelize --voxel-size 0.5 many -o out/ --output-format ply --cpu
    watch register --pairs pairs.txt --transform out.txt --cpu
    watch odometry path --trajectory out.txt --cpu
    watch odometry path --trajectory out.txt -o out.ply --set memory=64M --cpu
    watch odometry --map map.ply path --trajectory out.txt --cpu
    watch fuse --config "$ROOM" --poses poses.txt images -o out.ply --cpu
    watch odometry --config "$ROOM" images --trajectory out.txt --cpu
    watch convert many -o out/ --output-format las
    rm -rf out out.*
    ROUNDS=$((ROUNDS + 1))
done
echo "$ROUNDS rounds of 9 commands"
finish
