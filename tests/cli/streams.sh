# stdin and stdout: data, pipes, errors of writing.
. "${0%/*}/lib.sh"
cloud 1000 > a.bin
expect 0 pcgpu sample -m 50 a.bin -o ref.bin

# A single input and no -o: data on stdout, nothing else anywhere.
gives ref.bin pcgpu sample -m 50 a.bin
stderr_is ''
gives ref.bin pcgpu sample -m 50 a.bin -o -

# stdin: named, and implied when it is not a terminal; as a file and as a pipe.
for INPUT in - ''; do
    pcgpu sample -m 50 $INPUT < a.bin > "$OUT" 2> "$ERR"
    expected 0 $?
    same "$OUT" ref.bin
    cat a.bin | pcgpu sample -m 50 $INPUT > "$OUT" 2> "$ERR"
    expected 0 $?
    same "$OUT" ref.bin
    stderr_is ''
done
# By their names of the file system: the same streams, whatever they are.
pcgpu sample -m 50 /dev/stdin -o /dev/stdout < a.bin > "$OUT" 2> "$ERR"
expected 0 $?
same "$OUT" ref.bin
cat a.bin | pcgpu sample -m 50 /dev/stdin -o /dev/stdout 2> "$ERR" | cat > "$OUT"
same "$OUT" ref.bin
# Slowly and in odd pieces.
{ head -c 7 a.bin; sleep 0.2; tail -c +8 a.bin; } | pcgpu sample -m 50 - > "$OUT" 2> "$ERR"
expected 0 $?
same "$OUT" ref.bin
# Other formats through pipes.
for FORMAT in ply ply-ascii pcd npy; do
    pcgpu sample --method random --ratio 1 a.bin --output-format "$FORMAT" -o - > whole."$FORMAT" 2> "$ERR"
    expected 0 $?
    READ=${FORMAT%-ascii}
    cat whole."$FORMAT" | pcgpu sample -m 1000 --method random -F "$READ" - --output-format bin > "$OUT" 2> "$ERR"
    expected 0 $?
    size_is "$OUT" 16000
    records "$OUT" | sort > got.txt
    records a.bin | sort > wanted.txt
    same got.txt wanted.txt
done

# A pipe of pcgpu loses no column: a cloud of other than four columns, or with an offset, is .ply on standard output.
awk 'BEGIN { for (i = 0; i < 300; i++) print i * 0.1, i * i % 17, i % 5 * 0.3, i % 200, i % 32 }' | floats > five.pcd.bin
expect 0 pcgpu sample -m 100 five.pcd.bin -o wanted.npy
pcgpu sample --ratio 1 five.pcd.bin 2> "$ERR" | pcgpu sample -m 100 - -o got.npy 2>> "$ERR"
stderr_is ''
same got.npy wanted.npy
{
    printf 'ply\nformat ascii 1.0\nelement vertex 50\nproperty double x\nproperty double y\nproperty float z\nend_header\n'
    awk 'BEGIN { for (i = 0; i < 50; i++) printf "%.3f %.3f %.3f\n", 500000.125 + i * 0.35, 5400000.5 + i * i % 97 * 0.21, i }'
} > utm.ply
pcgpu sample --ratio 1 utm.ply 2> "$ERR" | "$PCGPU" info - > "$OUT" 2>> "$ERR"
stderr_is ''
stdout_has 'offset: 500009 54000[0-9]* 0'
sized "$OUT" 600 pcgpu sample --ratio 1 utm.ply --output-format bin # as it is wanted
rm five.pcd.bin wanted.npy got.npy utm.ply

only a.bin ref.bin got.txt wanted.txt whole.ply whole.ply-ascii whole.pcd whole.npy

# A full disk.
if [ -c /dev/full ]; then
    pcgpu sample -m 50 a.bin > /dev/full 2> "$ERR" < /dev/null
    expected 1 $?
    stderr_has '^pcgpu: .*[Nn]o space left'
    [ "$(wc -l < "$ERR")" -eq 1 ] || die 'it is said more than once'
    expect 1 pcgpu sample -m 50 a.bin -o /dev/full --indices i # all outputs or none
    absent i
    expect 1 pcgpu voxelize --voxel-size 0.1 a.bin -o /dev/full --output-format npz
    stderr_has '^pcgpu: /dev/full: '
    expect 1 pcgpu sample -m 50 a.bin -o /dev/full
    stderr_has "^pcgpu: /dev/full: "
    [ -c /dev/full ] || die '/dev/full was replaced by a file'
    "$PCGPU" info a.bin > /dev/full 2> "$ERR" < /dev/null
    expected 1 $?
    "$PCGPU" --help > /dev/full 2> "$ERR" < /dev/null
    expected 1 $?
else
    skip_part /dev/full 'it is not there'
fi
# A closed stdout.
LAST='sample with stdout closed'
pcgpu sample -m 50 a.bin 2> "$ERR" < /dev/null >&-
expected 1 $?

# A closed stream: what belongs there must not end up in a file that takes over its number.
{ cloud 50; echo 'nan 0 0 1' | floats; } > holes.bin
LAST='sample with stderr closed'
pcgpu sample -m 5 holes.bin -o five.bin --json j < /dev/null 2>&- > "$OUT"
expected 0 $?
size_is five.bin 80
case $(cat j) in '{"command"'*) checked ;; *) die "j holds: $(cat j)" ;; esac
LAST='sample of 1000 points with stdout closed'
pcgpu sample --method random --ratio 1 a.bin --json j -f < /dev/null 2> "$ERR" >&-
expected 1 $?
size_is a.bin 16000
case $(cat j) in '{"command"'*'"failed": true, "error": '*'}') checked ;; *) die "j holds: $(cat j)" ;; esac
[ "$(wc -l < j)" -eq 1 ] || die "j is not one line: $(cat j)"
LAST='sample with stdin closed'
pcgpu sample -m 1 - -o one.bin --json j -f <&- 2> "$ERR" > "$OUT"
expected 1 $?
stderr_has '^pcgpu: standard input: '
absent one.bin
rm holes.bin five.bin j

# A reader that stops early is not an error worth a message.
for i in 1 2 3 4 5 6 7 8 9 10; do cat a.bin a.bin a.bin a.bin a.bin a.bin a.bin a.bin a.bin a.bin; done > big.bin
pcgpu sample --method random --ratio 1 big.bin 2> "$ERR" < /dev/null | head -c 100 > head.bin
size_is head.bin 100
stderr_is ''
pcgpu info big.bin 2> "$ERR" < /dev/null | true
stderr_is ''
finish
