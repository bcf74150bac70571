# What an input is, its first bytes say, whatever its name is and also through a pipe; what is not read is named.
. "${0%/*}/lib.sh"
cloud 110 > a.bin # 1760 bytes: as .ply and as other files its size allows several --fields
expect 0 pcgpu sample -m 7 a.bin -o wanted.bin

# Formats that are read: on standard input, under a name without an extension, under that of another format.
for FORMAT in ply ply-ascii pcd npy; do
    expect 0 pcgpu sample --method random --ratio 1 a.bin --output-format "$FORMAT" -o whole
    pcgpu sample -m 7 - --output-format bin < whole > "$OUT" 2> "$ERR"
    expected 0 $?
    PICKS=$("$PCGPU" sample -m 7 --output-format bin -F "${FORMAT%-ascii}" whole | od -An -v -t f4)
    [ "$(od -An -v -t f4 "$OUT")" = "$PICKS" ] || die "$FORMAT on standard input is something else"
    cat whole | pcgpu sample -m 7 --output-format bin > "$OUT" 2> "$ERR"
    expected 0 $?
    [ "$(od -An -v -t f4 "$OUT")" = "$PICKS" ] || die "$FORMAT through a pipe is something else"
    for NAME in whole.bin whole.png whole.PLY whole.pcd whole.npy; do
        cp whole "$NAME"
        expect 0 pcgpu sample -m 7 "$NAME" --output-format bin -o -
        [ "$(od -An -v -t f4 "$OUT")" = "$PICKS" ] || die "$FORMAT as $NAME is something else"
    done
    expect 0 pcgpu sample -m 7 whole --output-format bin -o -
    [ "$(od -An -v -t f4 "$OUT")" = "$PICKS" ] || die "$FORMAT without a name is something else"
    expect 0 "$PCGPU" info whole.bin --json -
    stdout_has "\"format\": \"${FORMAT%-ascii}\", \"points\": 110,"
    rm whole*
done
# --format is believed.
expect 0 pcgpu sample --method random --ratio 1 a.bin -o a.ply
expect 1 pcgpu sample -m 1 -F npy a.ply
stderr_has 'a\.ply: does not begin as a \.npy file'

# Depth images: a cloud through a camera, under any name; without a camera the message asks for one.
printf 'P5\n4 4\n65535\n' > d.pgm
head -c 32 a.bin >> d.pgm
cp d.pgm d.bin
cp d.pgm d
expect 0 pcgpu sample --camera 5,5,2,2 -m 2 d.pgm -o wanted.ply
for NAME in d.bin d; do
    expect 0 pcgpu sample --camera 5,5,2,2 -m 2 "$NAME" -f -o got.ply
    same got.ply wanted.ply
done
pcgpu sample --camera 5,5,2,2 -m 2 - -f -o got.ply < d 2> "$ERR" > "$OUT"
expected 0 $?
same got.ply wanted.ply
expect 1 pcgpu sample -m 1 d.bin
stderr_has '^pcgpu: d\.bin: a depth image becomes points through a camera; give --camera'
pcgpu sample -m 1 - < d 2> "$ERR" > "$OUT"
expected 1 $?
stderr_has '^pcgpu: standard input: a depth image becomes points through a camera; give --camera'

# Formats that are not read: named, with what makes them readable; never taken for .bin.
refused() { # BYTES PATTERN
    { printf "$1"; head -c 1600 a.bin; } | head -c 1600 > other.bin # whole records of 16 bytes
    expect 1 pcgpu sample -m 1 other.bin
    stderr_has "^pcgpu: other\\.bin: $2"
    stdout_is ''
    pcgpu sample -m 1 - < other.bin 2> "$ERR" > "$OUT"
    expected 1 $?
    stderr_has "^pcgpu: standard input: $2"
    cp other.bin other
    expect 2 "$PCGPU" info other
    stderr_has "^pcgpu: other: $2"
}
refused '\3757zXZ\000' 'holds data compressed by xz, .*xz -dc'
refused '\050\265\057\375' 'holds data compressed by zstd, .*zstd -dc'
refused 'ASTM-E57' 'holds E57, .*pdal translate'
refused '\377\330\377\340' 'holds JPEG, .*16 bits'
refused '\211HDF\r\n\032\n' 'holds HDF5, .*numpy\.save'
refused '#ROSBAG V2.0\n' 'holds a ROS bag, .*bag_to_pcd'
refused '\211MCAP0\r\n' 'holds MCAP, .*\.pcd'
refused '\241\262\303\324' 'holds captured packets \(pcap\), .*\.pcd'
refused 'solid ' 'holds STL, .*assimp export'
refused 'version https://git-lfs.github.com/spec/v1\n' 'holds a pointer of Git LFS .*git lfs pull'
refused '<!DOCTYPE html>' 'holds a web page'

# By their names, what has no first bytes of its own; and a name that says nothing never becomes .bin by itself.
for NAME in scan.obj scan.stl scan.e57 scan.ptx scan.bag scan.mcap scan.pcap scan.h5; do
    tail -c 1600 a.bin > "$NAME"
    expect 2 pcgpu sample -m 1 "$NAME"
    stderr_is_one "^pcgpu: $NAME: is .* by its name, which is not read; (convert it first, such as by: |export |save )"
    rm "$NAME"
done
for NAME in scan.dat scan scan.velodyne; do
    tail -c 1600 a.bin > "$NAME"
    expect 2 pcgpu sample -m 1 "$NAME"
    stderr_is_one "^pcgpu: $NAME: neither its first bytes nor its name have a known format; give --format NAME .*--format bin --fields 4"
    expect 0 pcgpu sample -m 1 -F bin "$NAME"
done

# A .bin with another number of columns than 4 is refused; with --fields it is a warning, and info says why. .pcd.bin of
# nuScenes has 5 columns.
awk 'BEGIN { for (i = 0; i < 2000; i++) { r = 4 + i * 0.02; x = i * 0.61
    printf "%.6f %.6f %.6f %d %d\n", r * cos(x), r * sin(x), i % 29 * 0.07 - 1, i % 256, i % 32 } }' | floats > five.bin
WARNED='five.bin: warning: the values repeat every 5 columns and not every 4; give --fields 5$'
expect 0 pcgpu sample -m 5 --fields 4 five.bin
stderr_is_one "^pcgpu: $WARNED"
expect 0 pcgpu sample -m 5 --fields 5 five.bin
stderr_is ''
REFUSED='the values repeat every 5 columns and not every 4; give --fields 5, or --fields 4 to read it as it is$'
expect 1 pcgpu sample -m 5 five.bin
stderr_is_one "^pcgpu: five.bin: $REFUSED"
expect 1 sh -c '"$PCGPU" sample -m 5 < five.bin'
stderr_is_one "^pcgpu: .*: $REFUSED"
expect 1 pcgpu voxelize --voxel-size 1 --set memory=1M five.bin -o five.npz
stderr_is_one "^pcgpu: five.bin: $REFUSED"
absent five.npz
expect 1 "$PCGPU" info five.bin
stderr_is_one "^pcgpu: five.bin: $REFUSED"
expect 0 "$PCGPU" info --fields 4 five.bin
stderr_has "$WARNED"
stdout_has '^  looks wrong: the values repeat every 5 columns'
expect 0 "$PCGPU" info --fields 4 five.bin --json -
stdout_has '"looks_wrong": "the values repeat every 5 columns'
# Of many inputs with the same warning the first three are named, from any number of threads; with -v all of them.
for i in 1 2 3 4 5; do cp five.bin five_$i.bin; done
for threads in 1 3; do
    for verbose in '' -v; do
        expect 0 "$PCGPU" sample --threads $threads $verbose -m 5 --fields 4 five_?.bin -o five.d/ -f
        stderr_has "five_3\.bin: warning: the values repeat every 5 columns"
        [ -n "$verbose" ] || stderr_lacks 'five_[45]\.bin: warning'
        [ -n "$verbose" ] || stderr_has '^pcgpu: warning: 2 more of these warnings; -v prints all$'
        [ -z "$verbose" ] || stderr_has 'five_5\.bin: warning'
        [ -z "$verbose" ] || stderr_lacks 'more of these warnings'
    done
done
head -c 39980 five.bin > cut.bin # 1999 records of 5, not whole ones of 4
expect 1 pcgpu sample -m 5 cut.bin
stderr_is_one '^pcgpu: cut.bin: 39980 bytes are not whole records of 4 float32 .* every 5 columns, so give --fields 5$'
cp five.bin five.pcd.bin
expect 0 "$PCGPU" info five.pcd.bin
stderr_is ''
stdout_has 'five\.pcd\.bin: bin, 2000 points, 5 columns'
expect 0 pcgpu sample -m 5 five.pcd.bin -o got.ply -f
expect 0 pcgpu sample -m 5 --fields 5 five.bin -o wanted.ply -f
same got.ply wanted.ply
records five.bin | awk '{ print $1 * 1000, $2 * 1000, $3 * 4000, $4 }' | floats > mm.bin
expect 0 "$PCGPU" info mm.bin
stderr_has 'mm.bin: warning: the coordinates look like millimetres; lengths are metres: divide'

# Text is no .bin, whatever it is called; a name that says what is not read is believed.
awk 'BEGIN { for (i = 0; i < 40; i++) print i, 2.5, "1.5e0", 0 }' > text.bin
for NAME in text.bin text.txt text.asc text; do
    [ "$NAME" = text.bin ] || cp text.bin "$NAME"
    expect 0 "$PCGPU" info "$NAME"
    stdout_has "^$NAME: xyz, 40 points, 4 columns"
    stderr_is ''
done
cat text | "$PCGPU" info - > "$OUT" 2> "$ERR"
expected 0 $?
stdout_has 'standard input: xyz, 40 points'
expect 1 pcgpu sample -m 1 -F bin text.bin
stderr_has '^pcgpu: text\.bin: begins as text, .*leave --format out'
cp text text.obj
expect 2 pcgpu sample -m 1 text.obj
stderr_has 'text.obj: is Wavefront OBJ'
printf 'x,y,z,t\n1,2,3,4\n5,6,seven,8\n' > t.csv
expect 1 pcgpu sample -m 1 t.csv
stderr_is_one "^pcgpu: t.csv: line 3: 'seven' is not a number; give numbers with a decimal point"

# gzip of any of them, under any name and on standard input; damage is an error.
for FILE in five.pcd.bin text.txt t.npy; do
    [ -e "$FILE" ] || expect 0 pcgpu sample --ratio 1 five.pcd.bin -o "$FILE"
    expect 0 pcgpu sample -m 30 "$FILE" -o wanted.ply -f
    gzip -c "$FILE" > "$FILE.gz" 2> /dev/null || { skip_part gzip 'it is not there'; break; }
    expect 0 pcgpu sample -m 30 "$FILE.gz" -o got.ply -f
    same got.ply wanted.ply
    rm "$FILE.gz"
done
if gzip -c five.pcd.bin > packed.pcd.bin.gz 2> /dev/null; then
    mkdir folder && cp packed.pcd.bin.gz t.npy folder
    expect 0 pcgpu sample -m 30 folder -o out/
    (cd out && only packed.pcd.bin t.npy)
    gzip -c t.npy > folder/b.npy.gz && gzip -c t.npy > folder/c.gz && rm folder/t.npy folder/packed.pcd.bin.gz
    gzip -c text.txt > folder/text.csv.gz && cp text.txt folder/z.csv
    expect 0 pcgpu sample -m 30 folder -o out2/
    (cd out2 && only b.npy c.ply text.csv z.csv)
    same out2/text.csv out2/z.csv
    same out2/b.npy out/t.npy
    cat packed.pcd.bin.gz | pcgpu sample -F gzip --fields 5 -m 30 - -o got.npy -f 2> "$ERR"
    expected 0 $?
    same got.npy out/t.npy
    head -c 3000 packed.pcd.bin.gz > cut.gz
    expect 1 pcgpu sample -m 30 cut.gz
    stderr_has '^pcgpu: cut\.gz: its compressed data is damaged or cut short after [0-9]+ expanded bytes; copy it again'
fi

# A cloud that begins at x = 8.533965 m has the first bytes of gzip, and one at 31.98092 m those of JPEG; the next byte decides.
for BYTES in '\037\213\010A' '\377\330\377A'; do
    { printf "$BYTES"; tail -c +5 a.bin; } > like.bin
    expect 0 pcgpu sample --ratio 1 --start first like.bin -o x.bin --indices x.txt -f
    size_is x.bin 1760
    cmp -n 4 x.bin like.bin || die 'the first point is another'
done
rm like.bin x.bin x.txt

# In a folder it keeps the name that says how many columns it has.
expect 0 pcgpu sample -m 30 five.pcd.bin -o five/
(cd five && only five.pcd.bin)
size_is five/five.pcd.bin 600
expect 0 pcgpu sample -m 30 --fields 4 five.pcd.bin -o four/
(cd four && only five.bin)

# LAS: by name, by content, through a pipe and in a folder; LAZ names what reads it.
expect 0 pcgpu sample --ratio 1 five.pcd.bin -o whole.las
expect 0 "$PCGPU" info whole.las
stdout_has '^whole.las: las, 2000 points, 7 columns'
cp whole.las whole.dat
expect 0 pcgpu sample -m 40 whole.dat -o wanted.las
cat whole.las | pcgpu sample -m 40 - --output-format las > got.las 2> "$ERR"
expected 0 $?
same got.las wanted.las
mkdir las && cp whole.las las
expect 0 pcgpu sample -m 40 las -o lasout/
same lasout/whole.las wanted.las
{ head -c 104 whole.las; printf '\200'; tail -c +106 whole.las; } > whole.laz
expect 1 pcgpu sample -m 40 whole.laz
stderr_is_one '^pcgpu: whole.laz: (holds LAZ, which is read where the library LASzip .*laspy\[lazrs\]|LASzip stops )'
head -c 1000 whole.las > cut.las
expect 1 pcgpu sample -m 40 cut.las
stderr_is_one '^pcgpu: cut.las: file ends after [0-9]+ of 2000 points; it is cut short'

# .npz: the only array, the only one that can be a cloud, or npz:NAME.
expect 0 pcgpu voxelize --voxel-size 2 a.bin -o v.npz
expect 0 "$PCGPU" info v.npz
stdout_has '^v.npz: npz, [0-9]+ points, 4 columns'
expect 0 "$PCGPU" info -F npz:voxels v.npz
expect 1 "$PCGPU" info -F npz:coords v.npz
stderr_has "^pcgpu: v.npz: array 'coords': holds values of type '<i4'"
expect 1 "$PCGPU" info -F npz:points v.npz
stderr_has "^pcgpu: v.npz: has no array 'points', only: voxels \\([0-9]+, 4\\) <f4, coords .*; give one of them"
expect 1 "$PCGPU" info -F npz:points a.bin
stderr_has 'a.bin: does not begin as a .npz file'
expect 2 pcgpu sample -m 1 a.bin --output-format npz:points -o x.npz
stderr_has '"npz:points" is not a format that can be written'
expect 0 pcgpu voxelize --voxel-size 2 --features points --max-points 3 a.bin -o p.npz
expect 1 pcgpu sample -m 1 p.npz
stderr_has '^pcgpu: p.npz: holds voxels .*; give --format npz:NAME, of points x columns'
mkdir mixed && cp a.bin v.npz mixed # in a folder, .npz are outputs, unless they are asked for
expect 0 "$PCGPU" info mixed
stdout_has 'a.bin: bin' && ! grep -q npz "$OUT" || die 'a folder stands for its .npz files'
expect 0 "$PCGPU" info -F npz mixed/v.npz

# Text out, and in again: names, every bit of the values.
expect 0 pcgpu sample --ratio 1 five.pcd.bin -o whole.ply
for FORMAT in xyz csv; do
    expect 0 pcgpu sample --ratio 1 five.pcd.bin -o "whole.$FORMAT"
    expect 0 pcgpu sample -m 100 "whole.$FORMAT" -o got.ply -f
    expect 0 pcgpu sample -m 100 whole.ply -o wanted.ply -f
    same got.ply wanted.ply
done
[ "$(head -n 1 whole.xyz)" = '# x y z intensity c4' ] && [ "$(head -n 1 whole.csv)" = 'x,y,z,intensity,c4' ] || die 'no names'
finish
