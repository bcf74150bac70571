# convert: formats, columns, crop, transform and merge. The arithmetic is checked by tests/oracle/test_convert.py.
. "${0%/*}/lib.sh"
cloud 500 > a.bin
{ echo '1 2 3 4'; echo 'nan 0 0 1'; echo '0 0 0 2'; echo '-1 -2 -3 3'; echo '0.7 0 0 4'; echo '7 inf 0 5'; } | floats > odd.bin

# Every format that is written, there and back: order and values stay.
FORMATS=$("$PCGPU" convert -F bin a.bin -o x.none --output-format none 2>&1 | sed 's/.*give one of//')
[ "$(echo $FORMATS | wc -w)" -ge 8 ] || die "formats are: $FORMATS"
for FORMAT in $FORMATS; do
    case $FORMAT in npz|label) continue ;; esac # which hold no clouds
    expect 0 "$PCGPU" convert a.bin -o "there.$FORMAT" --output-format "$FORMAT"
    stdout_is ''
    stderr_is ''
    [ "$FORMAT" = las ] && continue # whose coordinates are multiples of a micrometre
    case $FORMAT in ply-ascii) READ=ply ;; *) READ=$FORMAT ;; esac
    makes back.bin a.bin "$PCGPU" convert -F "$READ" "there.$FORMAT" -o back.bin -f
    # Through a pipe, which has no names.
    "$PCGPU" convert a.bin -o - --output-format "$FORMAT" > pipe 2> "$ERR" || die "$FORMAT into a pipe"
    same pipe "there.$FORMAT"
    "$PCGPU" convert -F "$READ" - < pipe > back.bin 2> "$ERR" || die "$FORMAT from a pipe"
    same back.bin a.bin
done
expect 0 "$PCGPU" convert there.las -o one.las
makes one.las two.las "$PCGPU" convert one.las -o two.las
rm -f there.* back.bin pipe one.las two.las

# What the output cannot hold is named.
printf 'ply\nformat ascii 1.0\nelement vertex 2\nproperty double x\nproperty double y\nproperty double z\nproperty uchar red
property uchar label\nelement face 0\nproperty list uchar int vertex_indices\nend_header\n500000.125 5400000.25 3 7 1\n500001 5400001 4 8 2\n' > utm.ply
expect 0 "$PCGPU" convert utm.ply -o names.bin
stderr_has '^pcgpu: names\.bin: warning: \.bin has no names of columns: red, label will be read as intensity, c4; write \.ply to keep them$'
stderr_has '^pcgpu: names\.bin: warning: a \.bin does not hold the number of its columns, here 5; read it with --fields 5$'
stderr_has '^pcgpu: names\.bin: warning: coordinates were rounded to float32 '
warns '^pcgpu: names\.npy: warning: \.npy has no names of columns: red, label ' "$PCGPU" convert utm.ply -o names.npy
for NAME in utm.las utm.pcd utm.csv utm.xyz; do
    quiet "$PCGPU" convert utm.ply -o $NAME
    expect 0 "$PCGPU" convert --columns x,y,z,red,label $NAME -o back.csv -f
    [ "$(tail -n 2 back.csv)" = '500000.125,5400000.25,3,7,1
500001,5400001,4,8,2' ] || die "$NAME has $(tail -n 2 back.csv)"
done
into stream.ply "$PCGPU" convert utm.ply # five columns and an offset: not .bin
expect 0 "$PCGPU" convert stream.ply -o back.csv -f
[ "$(head -n 2 back.csv)" = 'x,y,z,red,label
500000.125,5400000.25,3,7,1' ] || die "the stream has $(head -n 2 back.csv)"
awk 'BEGIN { for (k = 0; k < 18; k++) printf "%s%s", k < 3 ? substr("xyz", k + 1, 1) : "k" k, k < 17 ? "," : "\n"
    for (k = 0; k < 18; k++) printf "%d%s", k, k < 17 ? "," : "\n" }' > wide.csv
expect 0 "$PCGPU" convert wide.csv -o wide.bin
stderr_has 'wide\.bin: warning: a record of \.bin holds at most 16 columns; left out: k16, k17; write \.ply'
size_is wide.bin 64
warns 'odd\.las: warning: 2 points without finite coordinates were left out' "$PCGPU" convert odd.bin -o odd.las
# float32 far from 0 has no offset; that of .las is near the middle, so that no value is rounded.
printf 'x,y,z\n512050.25,5403060.5,247\n513150.75,5404100.5,-0.125\n' > far.csv
quiet "$PCGPU" convert far.csv -o far.las
makes back.csv far.csv "$PCGPU" convert --columns x,y,z far.las -o back.csv -f
rm -f far.las far.csv names.* utm.las utm.pcd utm.csv utm.xyz back.csv stream.ply wide.* odd.las

# answers.list has columns, crops, transforms, merged clouds and odd text. Oriented boxes: of standard input and a folder.
gives odd.bin "$PCGPU" convert odd.bin
sized "$OUT" $((5 * 16)) "$PCGPU" convert --drop-origin odd.bin
printf '1 2 3 2 4 6 0 Car\n\n# turned by 90 degrees: 4 m along y\n-1,-2,0,4,1,6.5,1.5707963\n' > boxes.txt
into held.bin "$PCGPU" convert --boxes boxes.txt odd.bin
"$PCGPU" convert --boxes - odd.bin < boxes.txt > got 2> "$ERR" || die 'boxes on standard input'
same got held.bin
"$PCGPU" convert --boxes boxes.txt - < odd.bin > got 2> "$ERR" || die 'points on standard input'
same got held.bin
mkdir boxes && cp boxes.txt boxes/odd.txt && : > boxes/a.txt
expect 0 "$PCGPU" convert --boxes boxes a.bin odd.bin -o held/
same held/odd.bin held.bin
size_is held/a.bin 0
expect 0 "$PCGPU" convert --boxes boxes --merge a.bin odd.bin -o held.ply
[ "$(wc -c < held/odd.bin)" -gt 0 ] || die 'no point in a box'
expect 0 "$PCGPU" convert --boxes boxes.txt --set outside odd.bin -o - --json json.json
[ "$(records "$OUT" | wc -l)" = $((4 - $(records held.bin | wc -l))) ] || die "outside are $(records "$OUT")"
grep -q "\"outside\": $(records held.bin | wc -l)," json.json || die "JSON has $(cat json.json)"
rm -r boxes held held.*
# A scan that is moved to UTM keeps millimetres, and a stream of it is .ply.
printf '1 0 0 500000\n0 1 0 5400000\n0 0 1 0\n0 0 0 1\n' > utm.txt
into far.ply "$PCGPU" convert --transform utm.txt a.bin
sed 's/ 500000$/ -500000/; s/ 5400000$/ -5400000/' utm.txt > back.txt
expect 0 "$PCGPU" convert --transform back.txt far.ply
records "$OUT" > got
records a.bin | paste -d' ' - got | awk '{ for (k = 1; k < 4; k++) if (($k - $(k + 4))^2 > 1e-10) bad = 1 } END { exit bad || NR != 500 }' ||
    die 'there and back are not the same points'
# The same transform as register writes with -o; --merge of register is convert --merge of both.
T=$PCGPU_SOURCE/testdata
expect 0 pcgpu register "$T/street_moved.bin" "$T/street.bin" --transform t.txt -o aligned.bin
makes moved.bin aligned.bin "$PCGPU" convert --transform t.txt "$T/street_moved.bin" -o moved.bin
expect 0 "$PCGPU" convert --merge moved.bin "$T/street.bin" -o merged.ply
makes both.ply merged.ply pcgpu register "$T/street_moved.bin" "$T/street.bin" --merge -o both.ply

# Merge: what --json says of it; merged twice.
expect 0 "$PCGPU" convert --merge odd.bin utm.ply odd.bin -o m.csv --json log
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
tells '4 inputs: 1 done, 3 skipped, 0 failed' "$PCGPU" convert -r in -o ply/ --output-format ply --skip-existing
diff -r ply ply1 || die 'a run that was continued differs'
printf 'in/1.bin\nin/2.ply\n' > list
expect 0 "$PCGPU" convert --files-from list --merge -o list.ply
makes list.ply wanted.ply "$PCGPU" convert --merge in/1.bin in/2.ply -o wanted.ply
# Four columns are no longer a scan of nuScenes, whose name says five.
expect 0 "$PCGPU" convert --columns x,y,z,intensity in/4.pcd.bin -o four/
present four/4.bin
absent four/4.pcd.bin

# Names of columns as PDAL and CloudCompare write them, in every format and case.
printf '//X,Y,Z,R,G,B\n1,2,3,255,0,0\n4,5,6,0,255,0\n' > names.csv
printf 'X Y Z INTENSITY ReturnNumber Number_Of_Returns Classification GpsTime Red Green Blue PointSourceId\n' > pdal.txt
printf '1 2 3 7 1 2 64 245380.780 1 2 3 9\n4 5 6 8 2 2 5 245381.452 4 5 6 10\n' >> pdal.txt
expect 0 "$PCGPU" view --color rgb --size 64x48 names.csv -o names.png
# All of a .las, with the version and the times that its values need.
quiet "$PCGPU" convert pdal.txt -o pdal.las
[ "$(od -An -t u1 -j 25 -N 1 pdal.las)" -eq 4 ] || die 'class 64 is not LAS 1.4'
expect 0 "$PCGPU" convert pdal.las -o - --output-format csv
stdout_is 'x,y,z,intensity,return_number,classification,gps_time,red,green,blue,number_of_returns,point_source_id
1,2,3,7,1,64,245380.78,1,2,3,2,9
4,5,6,8,2,5,245381.452,4,5,6,2,10'
tells 'left out: number_of_returns, point_source_id; write \.las' "$PCGPU" convert pdal.las -o pdal.bin -f
stderr_has "column 'gps_time' begins at 245380.78, which was subtracted"
# Times that float32 makes one stay apart in all formats, also of files whose times are days apart.
awk 'BEGIN { print "x,y,z,Time"; for (i = 0; i < 1000; i++) printf "%d,0,0,%.6f\n", i, 1665398765.123456 + (i > 500) * 86400 + i / 1e5 }' > times.csv
awk 'BEGIN { print "x,y,z,GPS_time"; for (i = 0; i < 1000; i++) printf "%d,0,0,%.6f\n", i, i * 3.600001 }' > hours.csv
for NAME in ply pcd las npy csv xyz; do
    for FROM in times hours; do
        expect 0 "$PCGPU" convert $FROM.csv -o in.$NAME -f
        stderr_lacks 'rounded|subtracted'
        expect 0 "$PCGPU" convert in.$NAME -o back.csv -f
        DISTINCT=$(tail -n +2 back.csv | cut -d , -f $([ $NAME = las ] && head -n 1 back.csv | tr , '\n' | grep -n -i time | cut -d : -f 1 || echo 4) | sort -u | wc -l)
        [ "$DISTINCT" -eq 1000 ] || die "$DISTINCT of 1000 times of $FROM are distinct by .$NAME"
        checked
    done
done
for COLUMN in T times Time_Stamp timeOffset OffsetTime STAMP; do # names of times, in any case
    awk -v "name=$COLUMN" 'BEGIN { print "x,y,z," name; for (i = 0; i < 1000; i++) printf "%d,0,0,%.6f\n", i, 7200 + i / 1e5 + (i > 500) * 7200 }' > named.csv
    quiet "$PCGPU" convert named.csv -o named.pcd -f
    quiet "$PCGPU" convert named.pcd -o back.csv -f
    [ "$(tail -n +2 back.csv | cut -d , -f 4 | sort -u | wc -l)" -eq 1000 ] || die "$COLUMN: times became one"
done
expect 0 "$PCGPU" convert --merge times.csv times.csv -o back.csv -f
[ "$(tail -n +2 back.csv | cut -d , -f 4 | sort -u | wc -l)" -eq 1000 ] || die 'times of merged files'
printf 'x,y,z,a\n1,2,3,16777217.5\n1,2,3,0\n' > a.csv
tells "column 'a' is float64; 1 of 2 values were rounded to float32, by up to 0\.5$" "$PCGPU" convert a.csv -o a.ply -f
# A .pcd keeps its viewpoint, and its rows while no point is left out.
printf 'VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE f f f\nCOUNT 1 1 1\nWIDTH 2\nHEIGHT 2\nVIEWPOINT 10 20 30 0.7071068 0 0 0.7071068\nPOINTS 4\nDATA ascii\n1 0 0\nnan nan nan\n0 1 0\n2 2 2\n' > rows.pcd
expect 0 "$PCGPU" convert rows.pcd -o kept.pcd
[ "$(sed -n 7,9p kept.pcd)" = 'WIDTH 2
HEIGHT 2
VIEWPOINT 10 20 30 0.7071068 0 0 0.7071068' ] || die "the header is $(sed -n 7,9p kept.pcd)"
expect 0 "$PCGPU" convert --crop=-9,-9,-9,9,9,9 rows.pcd -o kept.pcd -f
[ "$(sed -n 7,8p kept.pcd)" = 'WIDTH 3
HEIGHT 1' ] || die "the header is $(sed -n 7,8p kept.pcd)"
printf 'x,y,z,nx,ny,nz\n1,2,3,0,0,1\n' > mm.csv # names of text
for NAME in txt asc TXT; do
    expect 0 "$PCGPU" convert mm.csv -o "mm.$NAME" -f
    [ "$(head -n 1 "mm.$NAME")" = '# x y z nx ny nz' ] || die "mm.$NAME begins with $(head -n 1 "mm.$NAME")"
    rm "mm.$NAME"
done
# Poses, between the formats of KITTI and TUM.
printf '1 0 0 1 0 1 0 2 0 0 1 3\n0 -1 0 4 1 0 0 5 0 0 1 6\n' > poses.txt
expect 0 "$PCGPU" convert --rate 20 poses.txt -o poses.tum
[ "$(head -n 1 poses.tum)" = '0 1 2 3 0 0 0 1' ] || die "the first pose is $(head -n 1 poses.tum)"
expect 0 "$PCGPU" convert poses.tum -o back.kitti
[ "$(head -n 1 back.kitti)" = "$(head -n 1 poses.txt)" ] || die "the first pose is $(head -n 1 back.kitti)"
printf '5\n6\n' > two.txt
expect 0 "$PCGPU" convert --timestamps two.txt poses.txt -o poses.tum -f
[ "$(cut -d ' ' -f 1 poses.tum | tr '\n' ' ')" = '5 6 ' ] || die "the times are $(cut -d ' ' -f 1 poses.tum)"
# A .bin of records of other types.
printf "$(awk 'BEGIN { srand(3); for (i = 0; i < 16000; i++) printf "\\%03o", int(rand() * 256) }')" > noise.bin
expect 0 "$PCGPU" convert --fields 4 noise.bin -o noise.ply
rm noise.bin noise.ply

printf '0 -1 0 0\n1 0 0 0\n0 0 1 10\n0 0 0 1\n' > turn.txt
says '^  crop: \[0, 0, 0, 1, 1, 1\]$' "$PCGPU" convert --crop 0,0,0,1,1,1 --columns x,y,z --transform turn.txt a.bin -o x.ply --dry-run
cp "$OUT" effect.yaml
absent x.ply
expect 0 "$PCGPU" convert --crop 0,0,0,1,1,1 --columns x,y,z --transform turn.txt a.bin -o x.ply
makes x.ply y.ply "$PCGPU" convert --config effect.yaml a.bin -o y.ply -f

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
