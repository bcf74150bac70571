# bench: the kinds of runs, their outputs, and what is refused.
. "${0%/*}/lib.sh"
mkdir in tmp
cloud 400 > in/a.bin
cloud 500 > in/b.bin
TMPDIR=$PWD/tmp
export TMPDIR

says '^pcgpu sample: 2 inputs, 900 points, best of 1 runs each$' "$PCGPU" bench --rounds 1 sample -m 50 in
stdout_has '^1 thread +[0-9.]+ +[0-9.]+ +1\.00 +read [0-9.]+ select'
stdout_has '^all threads +[0-9.]+ +[0-9.]+ +[0-9.]+ +read '
stdout_has '^1 thread +cpu, '
stdout_has '^The outputs have the same bytes\.$'
stderr_is ''
expect 0 "$PCGPU" bench --rounds 2 --json - voxelize --voxel-size 1 in
stdout_has '"of": "voxelize", "rounds": 2, "same_bytes": true, .*"inputs": 2, "points": 900, '
[ "$(wc -l < "$OUT")" -eq 1 ] || die 'not one object'
expect 0 "$PCGPU" bench --json j --rounds 1 info in
grep -q '"of": "info"' j || die 'no --json'
stdout_has '^pcgpu info: 2 inputs'

# A registration that does not converge has its time, too; a run that fails shows its messages.
expect 0 "$PCGPU" bench --rounds 1 register in/a.bin in/b.bin
expect 1 "$PCGPU" bench sample -m 9999 in/a.bin
stderr_has '^pcgpu: in/a\.bin: --count 9999 exceeds the 400 usable points'
stderr_has '^pcgpu: a run ended with exit status 1'

says '^Usage: pcgpu bench ' "$PCGPU" bench --help
expect 0 "$PCGPU" help bench

# A signal leaves nothing behind.
head -c 48000000 /dev/urandom > big.bin
"$PCGPU" bench sample --method fps --ratio 1 --start random --fields 4 big.bin > "$OUT" 2> "$ERR" < /dev/null &
CHILD=$!
sleep 0.5
kill -TERM "$CHILD"
wait "$CHILD"
expected 1 $?
stderr_has '^pcgpu: a run ended with signal 15'
[ -z "$(ls tmp)" ] || die "the folder holds $(ls tmp)"
finish
