# Disks that are full, in bytes or in files (as a quota is), two runs with one output, links and names. 5 s; file systems of a size
# need root and namespaces, else that part is skipped.
. "${0%/*}/../cli/lib.sh"
cloud 300 > a.bin
cloud 280 > b.bin
cp "$PCGPU_SOURCE/testdata/street.bin" s.bin

# ---- a full disk: the outputs are all there, as without a limit, or none is, and what was there before stays -----------------
COMMANDS='sample --cpu -m 290 ../a.bin -f -o out.bin --indices i.txt
sample --cpu -m 9 ../a.bin ../b.bin -f -o d/ --indices d/
voxelize --cpu --voxel-size 0.1 ../a.bin -f -o out.npz
voxelize --cpu --voxel-size 0.1 ../a.bin -f -o out.ply --set coords=c.npy
register --cpu --method point ../a.bin ../b.bin -f -o moved.ply --transform T.txt
convert ../s.bin -f -o out.ply
convert ../a.bin -f -o out.pcd
view --size 200x200 ../a.bin -f -o out.png
view ../a.bin -f -o out.html
odometry --cpu --reference previous --method plane ../s.bin ../s.bin -f --trajectory out.txt'
if unshare --mount sh -c 'mount -t tmpfs -o size=8k none "$1"' sh "$WORK" 2> /dev/null; then
    FULL=0 FITTED=0
    echo "$COMMANDS" | while read -r COMMAND; do
        rm -rf whole
        mkdir -p whole/d disk
        (cd whole && "$PCGPU" $COMMAND) > "$OUT" 2> "$ERR" < /dev/null || die "it fails with all its disk: $COMMAND"
        for LIMIT in size=4k size=8k size=12k size=20k size=40k size=100k size=4m nr_inodes=2 nr_inodes=3 nr_inodes=4; do
            LAST="with $LIMIT: $COMMAND"
            # What the disk held at the end is copied out of the namespace.
            rm -rf ended
            unshare --mount sh -c 'limit=$1 ended=$2 program=$3; shift 3
                mount -t tmpfs -o "$limit" none disk && cd disk || exit 99
                mkdir d 2> /dev/null
                [ -d d ] && echo old > out.bin 2> /dev/null
                "$program" "$@"
                code=$?
                cp -R . "$ended"
                exit $code' sh "$LIMIT" "$WORK/here/ended" "$PCGPU" $COMMAND > "$OUT" 2> "$ERR" < /dev/null
            CODE=$?
            [ -z "$(find ended -name '.*pcgpu-*')" ] || die 'a temporary file is left'
            case $CODE in
            0)
                (cd whole && find . -type f) | while read -r FILE; do same "ended/$FILE" "whole/$FILE"; done || exit 1
                echo fitted >> ../counts
                ;;
            1)
                [ -s "$ERR" ] || die 'no message'
                # With two inputs, what was finished before stays.
                find ended -type f -size +0 | while read -r FILE; do
                    cmp -s "$FILE" "whole${FILE#ended}" || [ "$(cat "$FILE")" = old ] || die "a part of $FILE is there"
                done || exit 1
                echo full >> ../counts
                ;;
            *) die "exit code $CODE" ;;
            esac
        done
    done || exit 1
    FULL=$(grep -c full ../counts) FITTED=$(grep -c fitted ../counts)
    [ "$FULL" -gt 20 ] && [ "$FITTED" -gt 10 ] || die "$FULL full and $FITTED fitted: the limits are no test"
    CHECKS=$((CHECKS + FULL + FITTED))
    rm -rf whole disk ended
else
    skip_part 'full disks' 'no file system can be mounted'
fi

# ---- two runs with one output: each has an end of its own, and the file is that of one of them, whole --------------------------
"$PCGPU" sample --cpu -q -m 100 a.bin -o one.bin && "$PCGPU" sample --cpu -q -m 101 a.bin -o two.bin || die 'sample'
I=0
while [ $I -lt 40 ]; do
    FORCE=''
    [ $((I % 2)) -eq 0 ] || FORCE=-f
    LAST="two runs at once with one output $FORCE"
    rm -f both.bin
    "$PCGPU" sample --cpu -q $FORCE -m 100 a.bin -o both.bin 2> "$ERR" < /dev/null &
    FIRST=$!
    "$PCGPU" sample --cpu -q $FORCE -m 101 a.bin -o both.bin 2> "$WORK/second" < /dev/null
    SECOND=$?
    wait "$FIRST"
    FIRST=$?
    case $FORCE$FIRST$SECOND in
    -f00 | 00 | 01 | 10) ;;
    *) die "exit codes $FIRST and $SECOND" ;;
    esac
    cmp -s both.bin one.bin || cmp -s both.bin two.bin || die 'the output is that of neither'
    [ "$FORCE$FIRST" != 1 ] || same both.bin two.bin
    [ "$FORCE$SECOND" != 1 ] || same both.bin one.bin
    checked
    I=$((I + 1))
done
[ -z "$(find . -name '.*pcgpu-*')" ] || die 'a temporary file is left'

# ---- links and names ---------------------------------------------------------------------------------------------------------
echo kept > kept
ln kept hard.bin
expect 0 pcgpu sample --cpu -q -f -m 100 a.bin -o hard.bin
same hard.bin one.bin
[ "$(cat kept)" = kept ] || die 'the other name of the file was written'
mkdir real
ln -s real folder
expect 0 pcgpu sample --cpu -q -m 100 a.bin -o folder/x.bin
same real/x.bin one.bin
expect 1 pcgpu sample --cpu -q -f -m 100 a.bin -o a.bin/x.bin
ln -s loop loop
expect 1 pcgpu sample --cpu -q -m 100 loop -o x.bin
absent x.bin
LONG=$(head -c 251 /dev/zero | tr '\0' n)
for NAME in 'with blanks.bin' '-dash.bin' "new
line.bin" 'ünïcode.bin' "$(printf 'not\377utf8.bin')" "q'uo\"te.bin" '$HOME.bin' '%s%n.bin' "$LONG.bin"; do
    LAST="the name $NAME"
    "$PCGPU" sample --cpu -q -m 100 a.bin -o "./$NAME" > "$OUT" 2> "$ERR" < /dev/null
    CODE=$?
    if [ "$NAME" = "$LONG.bin" ] && [ $CODE -eq 1 ]; then # a temporary name is longer than 255 bytes
        stderr_has 'too long'
        continue
    fi
    expected 0 $CODE
    same "./$NAME" one.bin
    cp a.bin "./$NAME"
    expect 0 pcgpu sample --cpu -q -f -m 100 "./$NAME" -o again.bin
    same again.bin one.bin
    expect 0 pcgpu info "./$NAME"
    ! LC_ALL=C grep -q "$(printf '\033')" "$OUT" || die 'the name steers the terminal'
done
expect 1 pcgpu sample --cpu -q -m 100 a.bin -o "./x$LONG.bin"
finish
