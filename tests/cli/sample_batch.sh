# sample for learning: fewer points than --count, batches, and records without a return.
. "${0%/*}/lib.sh"
cloud 10 > a.bin
cloud 4 > b.bin
{ echo '0 0 0 9'; cloud 3 | od -An -v -t f4 -w16; echo '0 0 0 8'; } | floats > zeros.bin

# Fewer points than --count.
for METHOD in fps random; do
    expect 0 pcgpu sample --method $METHOD -m 4 b.bin -o whole.bin -f --indices whole -f
    makes most.bin whole.bin pcgpu sample --method $METHOD -m 8 --at-most b.bin -o most.bin -f --indices most
    same most whole
    expect 0 pcgpu sample --method $METHOD -m 6 --at-most a.bin -o six.bin -f
    makes six.bin exact.bin pcgpu sample --method $METHOD -m 6 a.bin -o exact.bin -f # nothing changes where there are enough
    for PAD in repeat zero none; do
        makes six.bin exact.bin pcgpu sample --method $METHOD -m 6 --pad $PAD a.bin -o six.bin -f
    done
    # The picks once more in their order, or zeros; the indices say which.
    expect 0 pcgpu sample --method $METHOD -m 10 --pad repeat b.bin -o pad.bin -f --indices pad --json log
    { cat whole.bin whole.bin; head -c 32 whole.bin; } > wanted
    same pad.bin wanted
    { cat whole whole; head -c 8 whole; } > wanted
    same pad wanted
    grep -q '"padded": 6' log || die "the result is $(cat log)"
    expect 0 pcgpu sample --method $METHOD -m 6 --pad zero b.bin -o pad.bin -f --indices pad
    { cat whole.bin; head -c 32 /dev/zero; } > wanted
    same pad.bin wanted
    [ "$(integers pad | tail -n 2 | tr '\n' ' ')" = '-1 -1 ' ] || die "indices are $(integers pad | tr '\n' ' ')"
done
# A repeated point is at the distance 0 of the picks; a minimum distance makes --count an upper bound, which --pad fills.
expect 0 pcgpu sample -m 6 --pad repeat b.bin -o pad.bin -f --distances d
[ "$(od -An -v -t f4 -w4 d | tail -n 2 | tr -d ' ' | tr '\n' ' ')" = '0 0 ' ] || die 'distances of padding'
sized pad.bin 144 pcgpu sample -m 9 --min-distance 1 --pad zero a.bin -o pad.bin -f --indices pad
[ "$(integers pad | grep -c '^-1$')" -gt 0 ] || die 'a minimum distance leaves nothing to pad'
# In the coordinates of the file.
printf 'ply\nformat ascii 1.0\nelement vertex 1\nproperty double x\nproperty double y\nproperty double z\nend_header\n500000.5 5400000.25 7\n' > utm.ply
expect 0 pcgpu sample -m 2 --pad zero utm.ply --output-format ply-ascii -o -
[ "$(tail -n 2 "$OUT" | tr '\n' '|')" = '500000.5 5400000.25 7|0 0 0|' ] || die "UTM: $(tail -n 2 "$OUT")"
printf '0\n1\n2\n3\n' > all.txt # all are seeds: nothing to repeat
sized x.bin 32 pcgpu sample -m 2 --pad zero --seeds all.txt b.bin -o x.bin
rm x.bin
# Of a cloud without a usable point no point is picked, and zeros fill up.
: > empty.bin
printf 'nan nan nan 0\n' | floats > nan.bin
for METHOD in fps random; do
    for NAME in empty.bin nan.bin; do
        expect 0 pcgpu sample --method $METHOD -m 3 --at-most $NAME -o x.bin --indices x
        stderr_has "^pcgpu: $NAME: warning: 0 usable points among [01] records, so 0 picks$"
        size_is x.bin 0
        sized x.bin 48 pcgpu sample --method $METHOD -m 3 --pad zero $NAME -o x.bin --indices x -f
        [ "$(integers x | tr '\n' ' ')" = '-1 -1 -1 ' ] || die "indices are $(integers x | tr '\n' ' ')"
        rm x.bin x
    done
done

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

# Records without a return are kept with a warning, which either option takes away; one may be a point.
expect 0 pcgpu sample -m 3 zeros.bin -f -o x.bin
stderr_is 'pcgpu: zeros.bin: warning: 2 of 5 records at (0,0,0), which some sensors write for no return, are kept; give --drop-origin, or --keep-origin to keep them without this warning'
tells '2 of 5 records at \(0,0,0\).*--drop-origin' pcgpu voxelize --voxel-size 1 zeros.bin -f -o x.bin
for OPTION in --drop-origin --keep-origin; do
    quiet pcgpu sample -m 3 $OPTION zeros.bin -f -o x.bin
done
echo '0 0 0 1' | floats | cat - b.bin > one.bin
quiet pcgpu sample -m 3 one.bin -f -o x.bin
finish
