# sample --batch, and records without a return. Fewer points than --count: answers.list and tests/oracle/test_sample.py.
. "${0%/*}/lib.sh"
cloud 10 > a.bin
cloud 4 > b.bin
: > empty.bin
printf 'nan nan nan 0\n' | floats > nan.bin
{ echo '0 0 0 9'; cloud 3 | od -An -v -t f4 -w16; echo '0 0 0 8'; } | floats > zeros.bin
# A repeated point is at the distance 0 of the picks; a minimum distance makes --count an upper bound, which --pad fills.
expect 0 pcgpu sample -m 6 --pad repeat b.bin -o pad.bin --indices pad --distances d --json log
[ "$(od -An -v -t f4 -w4 d | tail -n 2 | tr -d ' ' | tr '\n' ' ')" = '0 0 ' ] || die 'distances of padding'
grep -q '"padded": 2' log || die "the result is $(cat log)"
sized pad.bin 144 pcgpu sample -m 9 --min-distance 1 --pad zero a.bin -f -o pad.bin --indices pad
[ "$(integers pad | grep -c '^-1$')" -gt 0 ] || die 'a minimum distance leaves nothing to pad'

# --batch: the samples of the inputs one after the other, whatever the format, the threads and the group.
expect 0 pcgpu sample -m 3 a.bin -o a3.bin --indices a3
expect 0 pcgpu sample -m 3 b.bin -o b3.bin --indices b3
cat a3.bin b3.bin > wanted
cat a3 b3 > indices
for THREADS in 1 3; do
    makes batch.bin wanted pcgpu sample -m 3 --batch a.bin b.bin -o batch.bin -f --indices got --threads $THREADS
    same got indices
done
gives wanted pcgpu sample -m 3 --batch a.bin b.bin # to standard output
expect 0 pcgpu sample -m 3 --batch a.bin b.bin -o batch.npy
tail -c 96 batch.npy > got
same got wanted
expect 0 pcgpu sample -m 6 --batch --pad zero a.bin b.bin -o batch.bin -f --json log
{ pcgpu sample -m 6 a.bin; pcgpu sample -m 4 b.bin; head -c 32 /dev/zero; } > wanted
same batch.bin wanted
[ "$(grep -c '"batch": ' log)" -eq 2 ] || die "the log is $(cat log)"
{ head -c 48 /dev/zero; cat a3.bin; head -c 96 /dev/zero; } > wanted
expect 0 pcgpu sample -m 3 --batch --pad zero empty.bin a.bin nan.bin empty.bin -o batch.bin -f --indices got
stderr_has '^pcgpu: empty\.bin: warning: 0 usable points among 0 records, so 0 picks$'
same batch.bin wanted
[ "$(integers got | tr '\n' ' ')" = "-1 -1 -1 $(integers a3 | tr '\n' ' ')-1 -1 -1 -1 -1 -1 " ] || die "indices are $(integers got)"
sized batch.bin 48 pcgpu sample -m 3 --batch --pad zero empty.bin -o batch.bin -f
for i in $(seq 150); do printf 'a.bin\nb.bin\n'; done > many.txt
expect 0 pcgpu sample -m 3 --batch --files-from many.txt -o batch.bin -f --keep-origin
cat a3.bin b3.bin > two
for i in $(seq 150); do cat two; done > wanted
same batch.bin wanted
# All or nothing; the input is named.
rm batch.* wanted got indices
cloud 3 > ok.bin
printf 'ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nend_header\n1 1 1\n2 2 2\n3 3 3\n' > t.ply
bad() {
    expect 1 pcgpu sample -m 3 --batch --pad "${4:-none}" --json log "$2" "$3" -o batch.npz -f
    stderr_has "$1"
    [ "$(grep -c '"failed": true' log)" -eq "$(wc -l < log)" ] || die "the log is $(cat log)"
    absent batch.npz
}
cloud 2 > two.bin
bad '^pcgpu: two\.bin: 2 picks, and the batch has 3 of each input; give a smaller --count, or --pad' a.bin two.bin
bad '^pcgpu: nan\.bin: .*0 usable points' a.bin nan.bin
bad '^pcgpu: empty\.bin: 0 usable points among 0 records; leave the input out, or give --pad zero$' a.bin empty.bin
bad '^pcgpu: empty\.bin: no pick that could be repeated; give --pad zero$' a.bin empty.bin repeat
bad '^pcgpu: t\.ply: 3 columns, and a\.bin has 4' a.bin t.ply
bad '^pcgpu: missing\.bin: No such file' a.bin missing.bin

# Records without a return are kept with a warning, which either option takes away.
tells '2 of 5 records at \(0,0,0\).*--drop-origin' pcgpu sample -m 3 zeros.bin -f -o x.bin
for OPTION in --drop-origin --keep-origin; do
    quiet pcgpu sample -m 3 $OPTION zeros.bin -f -o x.bin
done
finish
