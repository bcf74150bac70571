# Many inputs: each answers as it does alone, whatever the others do and however many threads work on them.
. "${0%/*}/lib.sh"
mkdir alone out i d
cloud 700 > all.bin
for N in $(seq 1 70); do
    head -c $((16 * (N * 9 + 60))) all.bin > "c$N.bin"
done
NAMES=$(seq 1 70 | sed 's/.*/c&.bin/')

for METHOD in random fps; do
    for NAME in $NAMES; do
        "$PCGPU" sample --cpu --method $METHOD -m 50 "$NAME" -f -o "alone/$NAME" --indices alone/i || die "$NAME alone"
        mv alone/i "alone/${NAME%.bin}.indices.bin"
    done
    expect 0 pcgpu sample --method $METHOD -m 50 $NAMES -f -o out/ --indices i/ --json "$METHOD.json"
    stderr_is_one '^pcgpu: 70 inputs: 70 done, 0 skipped, 0 failed, [0-9.]+ s$'
    for NAME in $NAMES; do
        same "out/$NAME" "alone/$NAME"
        same "i/${NAME%.bin}.indices.bin" "alone/${NAME%.bin}.indices.bin"
    done
    # One line an input, in order.
    printf '%s\n' $NAMES > wanted
    sed 's/.*"inputs": \["\([^"]*\)"\].*/\1/' "$METHOD.json" > got
    same got wanted
done

# Where few files may be open, fewer are taken at a time.
rm -r out/* i/*
(
    ulimit -n 24
    "$PCGPU" sample --cpu -m 50 $NAMES -o out/ --indices i/ > "$OUT" 2> "$ERR"
)
expected 0 $?
for NAME in $NAMES; do
    same "i/${NAME%.bin}.indices.bin" "alone/${NAME%.bin}.indices.bin"
done

# Outputs that exist are counted before any work.
rm -r out/* i/*
mkdir out/c40.bin
echo mine > out/c50.bin
expect 1 pcgpu sample -m 150 $NAMES -o out/ --json bad.json
stderr_is 'pcgpu: 2 of 70 outputs exist already; -f replaces them, --skip-existing does the others'
[ "$(cat out/c50.bin)" = mine ] && [ "$(ls -A out | wc -l)" -eq 2 ] || die "the folder holds $(ls -A out)"
rm -r out/c40.bin out/c50.bin

# Bad ones among them: too few points, not a cloud, not there.
echo short > c5.bin
rm c30.bin
expect 1 pcgpu sample -m 150 $NAMES -o out/ --json bad.json
[ "$(grep -c '^pcgpu: c[1235]\.bin: ' "$ERR")" -eq 4 ] || die "the messages are $(cat "$ERR")" # five more are like those of 1 to 3
stderr_has '^pcgpu: 5 more of these errors; '
stderr_has '^pcgpu: 70 inputs: [0-9]+ done, 0 skipped, [0-9]+ failed \(c1\.bin, c2\.bin, c3\.bin, \.\.\.\), '
stderr_has '^pcgpu: c30\.bin: '
[ "$(wc -l < bad.json)" -eq 70 ] || die "$(wc -l < bad.json) lines of JSON"
makes out/c11.bin alone/150.bin "$PCGPU" sample --cpu -m 150 c11.bin -o alone/150.bin
for N in $(seq 1 70); do
    LINE=$(sed -n "${N}p" bad.json)
    case $N in
    5) WHY='"error": "[^"]*6 bytes are not whole records' ;;
    [1-9]) WHY='"error": "--count 150 exceeds the '$((N * 9 + 60))' usable points' ;;
    30) WHY='"error": "No such file' ;;
    *) WHY='"exit_code": 0, "outputs": {"output": "out/c'$N'.bin"}' ;;
    esac
    printf '%s\n' "$LINE" | grep -q -e "$WHY" || die "line $N of bad.json is $LINE"
    checked
    case $N in
    [1-9] | 30) absent "out/c$N.bin" ;;
    *) size_is "out/c$N.bin" 2400 ;;
    esac
done
[ "$(ls -A out | wc -l)" -eq 60 ] || die "the folder holds $(ls -A out)" # no temporary file stays

# Pipes take turns: the second is only fed when the first has been answered.
mkfifo p1.bin p2.bin
mkdir turns
(
    cat c11.bin > p1.bin
    WAITED=0
    while [ ! -e turns/p1.bin ] && [ $WAITED -lt 200 ]; do
        sleep 0.05
        WAITED=$((WAITED + 1))
    done
    [ -e turns/p1.bin ] && cat c12.bin > p2.bin || : > p2.bin
) &
expect 0 pcgpu sample --cpu -m 20 p1.bin p2.bin -o turns/
wait
size_is turns/p1.bin 320
size_is turns/p2.bin 320
finish
