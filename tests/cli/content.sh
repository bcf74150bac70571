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
    says "\"format\": \"${FORMAT%-ascii}\", \"points\": 110," "$PCGPU" info whole.bin --json -
    rm whole*
done

# Depth images: a cloud through a camera, under any name; without a camera the message asks for one.
printf 'P5\n4 4\n65535\n' > d.pgm
head -c 32 a.bin >> d.pgm
cp d.pgm d.bin
cp d.pgm d
expect 0 pcgpu sample --camera 5,5,2,2 -m 2 d.pgm -o wanted.ply
for NAME in d.bin d; do
    makes got.ply wanted.ply pcgpu sample --camera 5,5,2,2 -m 2 "$NAME" -f -o got.ply
done
pcgpu sample --camera 5,5,2,2 -m 2 - -f -o got.ply < d 2> "$ERR" > "$OUT"
expected 0 $?
same got.ply wanted.ply

# A .bin with another number of columns than 4 is refused; with --fields it is a warning, and info says why. .pcd.bin of
# nuScenes has 5 columns.
rings 2000 > five.bin
WARNED='five.bin: warning: the values repeat every 5 columns and not every 4; give --fields 5$'
warns "^pcgpu: $WARNED" pcgpu sample -m 5 --fields 4 five.bin
quiet pcgpu sample -m 5 --fields 5 five.bin
tells "$WARNED" "$PCGPU" info --fields 4 five.bin
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
# So are equal errors, and --json has each.
for i in a b c d e; do : > none_$i.bin; done
for threads in 1 3; do
    for verbose in '' -v; do
        expect 1 "$PCGPU" sample --threads $threads $verbose -m 5 none_?.bin five.bin --fields 5 -o five.d/ -f --json all.json
        [ "$(grep -c '^pcgpu: none_[abc]\.bin: no usable points among 0' "$ERR")" = 3 ] || die "the first three errors are not named"
        [ "$(grep -c '^pcgpu: none_[de]\.bin: no usable' "$ERR")" = $((${#verbose})) ] || die "the other errors are wrong"
        [ -n "$verbose" ] || stderr_has '^pcgpu: 2 more of these errors; -v prints all, --json has the one of each input$'
        [ "$(grep -c '"error": "no usable points among 0' all.json)" = 5 ] || die "all.json has not all errors"
    done
done
cp five.bin five.pcd.bin
quiet "$PCGPU" info five.pcd.bin
stdout_has 'five\.pcd\.bin: bin, 2000 points, 5 columns'
expect 0 pcgpu sample -m 5 five.pcd.bin -o got.ply -f
makes got.ply wanted.ply pcgpu sample -m 5 --fields 5 five.bin -o wanted.ply -f
records five.bin | awk '{ print $1 * 1000, $2 * 1000, $3 * 4000, $4 }' | floats > mm.bin
tells 'mm.bin: warning: the coordinates look like millimetres; lengths are metres: divide' "$PCGPU" info mm.bin

# Text is no .bin, whatever it is called; a name that says what is not read is believed.
awk 'BEGIN { for (i = 0; i < 40; i++) print i, 2.5, "1.5e0", 0 }' > text.bin
for NAME in text.bin text.txt text.asc text; do
    [ "$NAME" = text.bin ] || cp text.bin "$NAME"
    says "^$NAME: xyz, 40 points, 4 columns" "$PCGPU" info "$NAME"
    stderr_is ''
done
cat text | "$PCGPU" info - > "$OUT" 2> "$ERR"
expected 0 $?
stdout_has 'standard input: xyz, 40 points'

# gzip of any of them, under any name and on standard input; damage is an error.
for FILE in five.pcd.bin text.txt t.npy; do
    [ -e "$FILE" ] || expect 0 pcgpu sample --ratio 1 five.pcd.bin -o "$FILE"
    expect 0 pcgpu sample -m 30 "$FILE" -o wanted.ply -f
    gzip -c "$FILE" > "$FILE.gz" 2> /dev/null || { skip_part gzip 'it is not there'; break; }
    makes got.ply wanted.ply pcgpu sample -m 30 "$FILE.gz" -o got.ply -f
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
    sized x.bin 1760 pcgpu sample --ratio 1 --start first like.bin -o x.bin --indices x.txt -f
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
says '^whole.las: las, 2000 points, 7 columns' "$PCGPU" info whole.las
cp whole.las whole.dat
expect 0 pcgpu sample -m 40 whole.dat -o wanted.las
cat whole.las | pcgpu sample -m 40 - --output-format las > got.las 2> "$ERR"
expected 0 $?
same got.las wanted.las
mkdir las && cp whole.las las
makes lasout/whole.las wanted.las pcgpu sample -m 40 las -o lasout/
{ head -c 104 whole.las; printf '\200'; tail -c +106 whole.las; } > whole.laz
expect 1 pcgpu sample -m 40 whole.laz
stderr_is_one '^pcgpu: whole.laz: (holds LAZ, which is read where the library LASzip .*laspy\[lazrs\]|LASzip stops )'
head -c 1000 whole.las > cut.las
expect 1 pcgpu sample -m 40 cut.las
stderr_is_one '^pcgpu: cut.las: file ends after [0-9]+ of 2000 points; it is cut short'

# .npz: the only array, the only one that can be a cloud, or npz:NAME.
expect 0 pcgpu voxelize --voxel-size 2 a.bin -o v.npz
says '^v.npz: npz, [0-9]+ points, 4 columns' "$PCGPU" info v.npz
expect 0 "$PCGPU" info -F npz:voxels v.npz
mkdir mixed && cp a.bin v.npz mixed # in a folder, .npz are outputs, unless they are asked for
expect 0 "$PCGPU" info mixed
stdout_has 'a.bin: bin' && ! grep -q npz "$OUT" || die 'a folder stands for its .npz files'
expect 0 "$PCGPU" info -F npz mixed/v.npz

# Text out, and in again: names, every bit of the values.
expect 0 pcgpu sample --ratio 1 five.pcd.bin -o whole.ply
for FORMAT in xyz csv; do
    expect 0 pcgpu sample --ratio 1 five.pcd.bin -o "whole.$FORMAT"
    expect 0 pcgpu sample -m 100 "whole.$FORMAT" -o got.ply -f
    makes got.ply wanted.ply pcgpu sample -m 100 whole.ply -o wanted.ply -f
done
[ "$(head -n 1 whole.xyz)" = '# x y z intensity c4' ] && [ "$(head -n 1 whole.csv)" = 'x,y,z,intensity,c4' ] || die 'no names'
finish
