# convert: formats, columns, crop, transform and merge. The arithmetic is checked by tests/oracle/test_convert.py.
. "${0%/*}/lib.sh"
cloud 500 > a.bin
{ echo '1 2 3 4'; echo 'nan 0 0 1'; echo '0 0 0 2'; echo '-1 -2 -3 3'; echo '0.7 0 0 4'; echo '7 inf 0 5'; } | floats > odd.bin

# Every format that is written, there and back: order and values stay.
FORMATS=$("$PCGPU" convert -F bin a.bin -o x.none --output-format none 2>&1 | sed 's/.*give one of//')
[ "$(echo $FORMATS | wc -w)" -ge 8 ] || die "formats are: $FORMATS"
for FORMAT in $FORMATS; do
    [ "$FORMAT" = npz ] && continue
    expect 0 "$PCGPU" convert a.bin -o "there.$FORMAT" --output-format "$FORMAT"
    stdout_is ''
    stderr_is ''
    [ "$FORMAT" = las ] && continue # whose coordinates are multiples of a micrometre
    case $FORMAT in ply-ascii) READ=ply ;; *) READ=$FORMAT ;; esac
    expect 0 "$PCGPU" convert -F "$READ" "there.$FORMAT" -o back.bin -f
    same back.bin a.bin
    # Through a pipe, which has no names.
    "$PCGPU" convert a.bin -o - --output-format "$FORMAT" > pipe 2> "$ERR" || die "$FORMAT into a pipe"
    same pipe "there.$FORMAT"
    "$PCGPU" convert -F "$READ" - < pipe > back.bin 2> "$ERR" || die "$FORMAT from a pipe"
    same back.bin a.bin
done
expect 0 "$PCGPU" convert there.las -o one.las
expect 0 "$PCGPU" convert one.las -o two.las
same one.las two.las
rm -f there.* back.bin pipe one.las two.las

# What the output cannot hold is named.
printf 'ply\nformat ascii 1.0\nelement vertex 2\nproperty double x\nproperty double y\nproperty double z\nproperty uchar red
property uchar label\nelement face 0\nproperty list uchar int vertex_indices\nend_header\n500000.125 5400000.25 3 7 1\n500001 5400001 4 8 2\n' > utm.ply
expect 0 "$PCGPU" convert utm.ply -o names.bin
stderr_has '^pcgpu: names\.bin: warning: \.bin has no names of columns: red, label will be read as intensity, c4; write \.ply to keep them$'
stderr_has '^pcgpu: names\.bin: warning: a \.bin does not hold the number of its columns, here 5; read it with --fields 5$'
stderr_has '^pcgpu: names\.bin: warning: coordinates were rounded to float32 '
expect 0 "$PCGPU" convert utm.ply -o names.npy
stderr_is_one '^pcgpu: names\.npy: warning: \.npy has no names of columns: red, label '
for NAME in utm.las utm.pcd utm.csv utm.xyz; do
    expect 0 "$PCGPU" convert utm.ply -o $NAME
    stderr_is ''
    expect 0 "$PCGPU" convert --columns x,y,z,red,label $NAME -o back.csv -f
    [ "$(tail -n 2 back.csv)" = '500000.125,5400000.25,3,7,1
500001,5400001,4,8,2' ] || die "$NAME has $(tail -n 2 back.csv)"
done
expect 0 "$PCGPU" convert utm.ply # five columns and an offset: not .bin
cp "$OUT" stream.ply
expect 0 "$PCGPU" convert stream.ply -o back.csv -f
[ "$(head -n 2 back.csv)" = 'x,y,z,red,label
500000.125,5400000.25,3,7,1' ] || die "the stream has $(head -n 2 back.csv)"
awk 'BEGIN { for (k = 0; k < 18; k++) printf "%s%s", k < 3 ? substr("xyz", k + 1, 1) : "k" k, k < 17 ? "," : "\n"
    for (k = 0; k < 18; k++) printf "%d%s", k, k < 17 ? "," : "\n" }' > wide.csv
expect 0 "$PCGPU" convert wide.csv -o wide.bin
stderr_has 'wide\.bin: warning: a record of \.bin holds at most 16 columns; left out: k16, k17; write \.ply'
size_is wide.bin 64
expect 0 "$PCGPU" convert odd.bin -o odd.las
stderr_is_one 'odd\.las: warning: 2 points without finite coordinates were left out'
# float32 far from 0 has no offset; that of .las is near the middle, so that no value is rounded.
printf 'x,y,z\n512050.25,5403060.5,247\n513150.75,5404100.5,-0.125\n' > far.csv
expect 0 "$PCGPU" convert far.csv -o far.las
stderr_is ''
expect 0 "$PCGPU" convert --columns x,y,z far.las -o back.csv -f
same back.csv far.csv
rm -f far.las far.csv names.* utm.las utm.pcd utm.csv utm.xyz back.csv stream.ply wide.* odd.las

# Columns: order, names, what does not exist.
expect 0 "$PCGPU" convert --columns 'x,y,z,i=intensity' odd.bin -o - --output-format csv
[ "$(head -n 2 "$OUT")" = 'x,y,z,i
1,2,3,4' ] || die "the columns are $(head -n 2 "$OUT")"
expect 0 "$PCGPU" convert --columns x,y,z,label,red utm.ply -o - --output-format csv
[ "$(tail -n 1 "$OUT")" = '500001,5400001,4,2,8' ] || die "the row is $(tail -n 1 "$OUT")"
expect 0 "$PCGPU" convert --columns x=y,y=x,z,height=z utm.ply -o - --output-format csv
[ "$(tail -n 1 "$OUT")" = '5400001,500001,4,4' ] || die "the row is $(tail -n 1 "$OUT")"
expect 1 "$PCGPU" convert --columns x,y,z,ring utm.ply -o x.ply
stderr_is "pcgpu: utm.ply: no column 'ring'; it has x, y, z, red, label"
absent x.ply
for BAD in x,y '' x,z,y x,y,z,, x,y,z,red,red 'x,y,z,=red' x,y,z,red= x,y,z,abcdefghijklmnopqrstuvwxyz0123456789; do
    expect 2 "$PCGPU" convert --columns "$BAD" utm.ply -o x.ply
    stderr_has '^pcgpu: (--)?columns: .*; give '
    absent x.ply
done

# Crop: half open, in float32; what is not finite goes with a warning, and stays without it.
expect 0 "$PCGPU" convert --crop=0.7,-5,-5,1,5,5 odd.bin
records "$OUT" > got
[ "$(cat got)" = '0.7 0 0 4' ] || die "the box holds $(cat got)"
stderr_is_one '^pcgpu: odd\.bin: warning: 2 of 6 points are not finite and were dropped$'
expect 0 "$PCGPU" convert --crop=500000.125,0,0,500001,1e7,10 utm.ply -o - --output-format csv
[ "$(tail -n +2 "$OUT")" = '500000.125,5400000.25,3,7,1' ] || die "the box holds $(cat "$OUT")"
expect 0 "$PCGPU" convert odd.bin
same "$OUT" odd.bin
expect 0 "$PCGPU" convert --drop-origin odd.bin
size_is "$OUT" $((5 * 16))
expect 0 "$PCGPU" convert --crop 50,50,50,51,51,51 odd.bin -o none.ply
stderr_has 'odd\.bin: warning: none of 6 points is in the box; check --crop'
expect 0 "$PCGPU" info none.ply
for BAD in 1,2,3 1,2,3,0,5,6 auto 0,0,0,1,1,nan; do
    expect 2 "$PCGPU" convert --crop "$BAD" odd.bin -o x.ply
    stderr_has '^pcgpu: (--)?crop: '
done

# Transform, before the crop: a quarter turn about z and 10 m up, from every format of a pose and from a pipe.
printf '0 -1 0 0\n1 0 0 0\n0 0 1 10\n0 0 0 1\n' > turn.txt
echo '0 -1 0 0 1 0 0 0 0 0 1 10' > turn_kitti.txt
expect 0 "$PCGPU" convert --transform turn.txt --drop-origin odd.bin
cp "$OUT" turned.bin
[ "$(records turned.bin | head -n 1)" = '-2 1 13 4' ] || die "moved to $(records turned.bin | head -n 1)"
stderr_is ''
expect 0 "$PCGPU" convert --transform turn_kitti.txt --drop-origin odd.bin
same "$OUT" turned.bin
"$PCGPU" convert --transform - --drop-origin odd.bin < turn.txt > got 2> "$ERR" || die 'a transform on standard input'
same got turned.bin
expect 0 "$PCGPU" convert --transform turn.txt odd.bin
stderr_is_one '^pcgpu: odd\.bin: warning: 1 records at \(0,0,0\), .* give --drop-origin '
expect 0 "$PCGPU" convert --transform turn.txt --keep-origin odd.bin
stderr_is ''
expect 0 "$PCGPU" convert --transform turn.txt --drop-origin --crop=-5,-5,12,5,5,14 odd.bin
[ "$(records "$OUT")" = '-2 1 13 4' ] || die "moved and cropped to $(records "$OUT")"
# A scan that is moved to UTM keeps millimetres, and a stream of it is .ply.
printf '1 0 0 500000\n0 1 0 5400000\n0 0 1 0\n0 0 0 1\n' > utm.txt
expect 0 "$PCGPU" convert --transform utm.txt a.bin
cp "$OUT" far.ply
sed 's/ 500000$/ -500000/; s/ 5400000$/ -5400000/' utm.txt > back.txt
expect 0 "$PCGPU" convert --transform back.txt far.ply
records "$OUT" > got
records a.bin | paste -d' ' - got | awk '{ for (k = 1; k < 4; k++) if (($k - $(k + 4))^2 > 1e-10) bad = 1 } END { exit bad || NR != 500 }' ||
    die 'there and back are not the same points'
printf '2 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n' > scale.txt
expect 1 "$PCGPU" convert --transform scale.txt a.bin -o x.ply
stderr_has '^pcgpu: scale\.txt: not a rigid transform'
expect 1 "$PCGPU" convert --transform a.bin a.bin -o x.ply
stderr_has '^pcgpu: a\.bin: '
expect 1 "$PCGPU" convert --transform missing.txt a.bin -o x.ply
stderr_has '^pcgpu: missing\.txt: '
expect 1 "$PCGPU" convert --transform turn.txt a.bin -o turn.txt -f --output-format bin
stderr_has 'turn\.txt: is an input of this run'
expect 2 "$PCGPU" convert --transform - -
stderr_has 'standard input is given 2 times'
absent x.ply

# The same transform as register writes with -o; --merge of register is convert --merge of both.
T=$PCGPU_SOURCE/testdata
expect 0 pcgpu register "$T/street_moved.bin" "$T/street.bin" --transform t.txt -o aligned.bin
expect 0 "$PCGPU" convert --transform t.txt "$T/street_moved.bin" -o moved.bin
same moved.bin aligned.bin
expect 0 "$PCGPU" convert --merge moved.bin "$T/street.bin" -o merged.ply
expect 0 pcgpu register "$T/street_moved.bin" "$T/street.bin" --merge -o both.ply
same both.ply merged.ply
expect 2 "$PCGPU" register --merge "$T/street_moved.bin" "$T/street.bin"
stderr_has 'merge is for the clouds of --output'

# Merge: one after the other, with the index of the input; common columns, common types, merged twice.
expect 0 "$PCGPU" convert --merge odd.bin utm.ply odd.bin -o m.csv --json log
stderr_has '^pcgpu: m\.csv: warning: columns that not all inputs have are left out: intensity, red, label$'
[ "$(sed -n '1p; 2p; 8p; 10p' m.csv)" = 'x,y,z,source
1,2,3,0
500000.125,5400000.25,3,1
1,2,3,2' ] || die "merged to $(cat m.csv)"
grep -q '"inputs": \["odd.bin", "utm.ply", "odd.bin"\].*"points_in": 14, "points_out": 14.*"columns": \["x", "y", "z", "source"\]' log ||
    die "the log is $(cat log)"
expect 0 "$PCGPU" convert --merge utm.ply utm.ply -o once.ply
expect 0 "$PCGPU" convert --merge once.ply once.ply -o - --output-format csv
[ "$(sed -n '1p; 5p; 9p' "$OUT")" = 'x,y,z,red,label,source_2,source
500001,5400001,4,8,2,1,0
500001,5400001,4,8,2,1,1' ] || die "merged twice to $(cat "$OUT")"
grep -aq 'property uchar red' once.ply || die 'a type is lost'
grep -aq 'property uchar source' once.ply || die 'the type of source'
expect 0 "$PCGPU" convert --merge a.bin -o alone.ply
expect 1 "$PCGPU" convert --merge a.bin missing.bin -o x.ply --json log -f
stderr_has '^pcgpu: missing\.bin: '
grep -q '"failed": true, "error": "' log || die "the log is $(cat log)"
echo short > short.bin
expect 1 "$PCGPU" convert --merge a.bin short.bin -o x.ply
stderr_has '^pcgpu: short\.bin: '
expect 2 "$PCGPU" convert --merge a.bin odd.bin -o d/
stderr_has 'a merge is one file; give --output FILE'
expect 2 "$PCGPU" convert --merge --skip-existing a.bin odd.bin -o x.ply
stderr_has 'a merge is one output; leave --skip-existing or --merge out'
expect 2 "$PCGPU" convert --merge --shard 1/2 a.bin odd.bin -o x.ply
stderr_has 'leave --shard or --merge out'
absent x.ply d

# Folders: the format of each input, or one for all; sub-folders, lists, shards, what is there already.
mkdir -p in/sub && cp a.bin in/1.bin && cp utm.ply in/2.ply && cp odd.bin in/sub/3.bin
records a.bin | awk '{ print $0, NR % 32 }' | floats > in/4.pcd.bin
expect 0 "$PCGPU" convert -r in -o same/
for NAME in 1.bin 2.ply sub/3.bin; do
    present "same/$NAME"
done
same same/1.bin in/1.bin
expect 0 "$PCGPU" convert -r in -o ply/ --output-format ply --threads 2
expect 0 "$PCGPU" convert -r in -o ply1/ --output-format ply --threads 1
diff -r ply ply1 || die 'threads change the outputs'
for SHARD in 1/2 2/2; do
    expect 0 "$PCGPU" convert -r in -o shards/ --output-format ply --shard $SHARD
done
diff -r ply shards || die 'shards change the outputs'
rm ply/1.ply
expect 0 "$PCGPU" convert -r in -o ply/ --output-format ply --skip-existing
stderr_has '4 inputs: 1 done, 3 skipped, 0 failed'
diff -r ply ply1 || die 'a run that was continued differs'
printf 'in/1.bin\nin/2.ply\n' > list
expect 0 "$PCGPU" convert --files-from list --merge -o list.ply
expect 0 "$PCGPU" convert --merge in/1.bin in/2.ply -o wanted.ply
same list.ply wanted.ply
# Four columns are no longer a scan of nuScenes, whose name says five.
expect 0 "$PCGPU" convert --columns x,y,z,intensity in/4.pcd.bin -o four/
present four/4.bin
absent four/4.pcd.bin

# What is refused.
expect 2 "$PCGPU" convert a.bin new.ply
stderr_is 'pcgpu: new.ply does not exist; if it is the output, give -o new.ply'
expect 2 "$PCGPU" convert a.bin -o x.foo
stderr_has 'x\.foo: the name has no known format'
expect 2 "$PCGPU" convert a.bin -o x.npz
stderr_has 'npz cannot hold a cloud'
expect 2 "$PCGPU" convert a.bin -o x.laz
stderr_is 'pcgpu: laz is read and not written; give another --output-format, such as ply'
expect 2 "$PCGPU" convert a.bin odd.bin -o x.ply
stderr_has '2 inputs and one --output'
expect 2 "$PCGPU" convert --cuda a.bin -o x.ply
stderr_has '--cuda is not an option of convert'
expect 1 "$PCGPU" convert a.bin -o a.bin -f
stderr_has 'a\.bin: is an input of this run'
expect 0 "$PCGPU" convert --crop 0,0,0,1,1,1 --columns x,y,z --transform turn.txt a.bin -o x.ply --dry-run
stdout_has '^  crop: \[0, 0, 0, 1, 1, 1\]$'
cp "$OUT" effect.yaml
absent x.ply
expect 0 "$PCGPU" convert --crop 0,0,0,1,1,1 --columns x,y,z --transform turn.txt a.bin -o x.ply
expect 0 "$PCGPU" convert --config effect.yaml a.bin -o y.ply -f
same x.ply y.ply

# --merge looks at names, not at the bytes after them, and once at each column: of clouds with the same columns in another order, too.
if command -v valgrind > /dev/null && ! has_sanitizer; then
    cloud 9 > v1.bin && cp v1.bin v2.bin
    expect 0 valgrind -q --error-exitcode=9 "$PCGPU" convert --merge v1.bin v2.bin -o v.ply
else
    skip_part valgrind 'it is absent, or a sanitizer is in its place'
fi
mkdir order
for I in 1 2 3 4; do
    NAMES='u v' && [ $((I % 2)) -eq 0 ] || NAMES='v u'
    { printf 'ply\nformat ascii 1.0\nelement vertex 1\n' && printf 'property float %s\n' x y z $NAMES only$I &&
        printf 'end_header\n1 2 3 4 5 6\n'; } > order/$I.ply
done
expect 0 pcgpu convert --merge order -o order.ply
stderr_is 'pcgpu: order.ply: warning: columns that not all inputs have are left out: only1, only2, only3, only4'
sed -n 's/^property [a-z0-9]* //p' order.ply | tr '\n' ' ' > columns
[ "$(cat columns)" = 'x y z v u source ' ] || die "$(cat columns)"
finish
