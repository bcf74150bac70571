# Files that are not what they should be: named, placed, with the remedy; never a crash, never an output.
. "${0%/*}/lib.sh"
cloud 100 > a.bin

# bad FILE PATTERN OPTION...: exit 1, one message with the file's name and PATTERN, no output.
bad() {
    BAD=$1 PATTERN=$2
    shift 2
    expect 1 pcgpu sample -m 1 "$@" "$BAD" -o out.bin
    stdout_is ''
    stderr_has "^pcgpu: $BAD: .*$PATTERN"
    absent out.bin
    expect 1 "$PCGPU" info "$@" "$BAD"
    stderr_has "^pcgpu: $BAD: .*$PATTERN"
}

# .bin: the size says whether --fields can be right.
head -c 1590 a.bin > cut.bin
bad cut.bin '1590.*--fields'
{ cat a.bin; head -c 4 a.bin; } > five.bin # 1604 bytes: no whole number of records of 16 bytes
bad five.bin '--fields'
: > empty.bin # a cloud of no points: nothing to sample, but no broken file
expect 1 pcgpu sample -m 1 empty.bin -o out.bin
stderr_has '^pcgpu: empty\.bin: .*0 usable points'
absent out.bin
# 5 columns are kept through the program.
head -c 1000 a.bin > c5.bin
expect 0 pcgpu sample --fields 5 -m 50 --method random c5.bin -o out.bin
size_is out.bin 1000
rm out.bin

# Text formats cut short, broken or lying.
ply() { printf 'ply\nformat %s 1.0\n%belement vertex %s\nproperty float x\nproperty float y\nproperty float z\nend_header\n' \
    "$1" "$3" "$2"; }
{ ply ascii 2 ''; printf '1 2 3\n4 5 6\n'; } > good.ply
expect 0 pcgpu sample -m 2 good.ply --output-format ply-ascii -o -
stdout_has '^1 2 3$'
stdout_has '^4 5 6$'
{ ply ascii 3 ''; printf '1 2 3\n4 5 6\n'; } > short.ply
bad short.ply '(ends|2 of|short|truncated|line)'
{ ply binary_little_endian 3 ''; head -c 30 a.bin; } > cut.ply
bad cut.ply '(ends|short|truncated|bytes|byte)'
{ ply ascii 2 ''; printf '1 2 3\n4 x 6\n'; } > word.ply
bad word.ply 'x'
printf 'ply\nformat ascii 1.0\nelement vertex 3\n' > header.ply
bad header.ply 'end_header|header|ends'
printf 'ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nend_header\n1 2\n' > flat.ply
bad flat.ply 'z'
{ ply nonsense 1 ''; printf '1 2 3\n'; } > format.ply
bad format.ply 'nonsense|format'
{ ply ascii 99999999999999999 ''; printf '1 2 3\n'; } > huge.ply
bad huge.ply ''
{ ply binary_little_endian 4000000000000000000 ''; head -c 30 a.bin; } > huge2.ply
bad huge2.ply ''
{ ply ascii -3 ''; printf '1 2 3\n'; } > negative.ply
bad negative.ply ''
printf 'not a ply' > no.ply
bad no.ply 'ply'
: > empty.ply
bad empty.ply ''
head -c 3000 /dev/urandom > noise.ply
bad noise.ply ''
printf '\223NUMPY\001\000\166\000{' > cut.npy
bad cut.npy ''
: > empty.npy
bad empty.npy ''
printf 'VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 3\nHEIGHT 1\nPOINTS 3\nDATA ascii\n1 2 3\n' > short.pcd
bad short.pcd ''
cp a.bin file.nonsense
expect 2 pcgpu sample -m 1 file.nonsense -o out.bin
stderr_has 'file\.nonsense.*(-F|--format)'
expect 0 pcgpu sample -m 1 -F bin file.nonsense -o out.bin
rm out.bin
mkfifo fifo.bin
cat a.bin > fifo.bin & # an input need not seek
expect 0 pcgpu sample -m 10 fifo.bin -o out.bin
wait
size_is out.bin 160
rm out.bin

# Columns keep their names; lists, other elements and comments are read past.
printf 'ply\nformat ascii 1.0\ncomment hello\nelement camera 1\nproperty double f\nelement vertex 3\nproperty uchar red\nproperty double z\nproperty float y\nproperty list uchar int parts\nproperty float x\nproperty ushort ring\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n0.5\n255 3 2 2 7 8 1 65535\n0 6 5 0 4 1\n9 0 0 1 3 1.5 2\n3 0 1 2\n' > rich.ply
expect 0 pcgpu sample -m 2 rich.ply --output-format ply-ascii -o -
stdout_has '^property uchar red$'
stdout_has '^property ushort ring$'
stdout_has '^1 2 3 255 65535$'
stdout_has '^4 5 6 0 1$'
stderr_is ''

# Points that are not finite: dropped with a warning that counts them; indices are those of the file.
{ echo 'nan 0 0 1'; echo '5 0 0 2'; echo '0 inf 0 3'; echo '1 0 0 4'; echo '0 0 -inf 5'; echo '2 0 0 nan'; } |
    floats > holes.bin
expect 0 pcgpu sample -m 3 --start 1 holes.bin -o out.bin --indices i
stderr_has '^pcgpu: holes\.bin: warning: .*3'
[ "$(integers i | tr '\n' ' ')" = '1 3 5 ' ] || die "indices are $(integers i | tr '\n' ' ')"
rm out.bin i
expect 0 pcgpu sample -q -m 3 --start 1 holes.bin -o out.bin
stderr_is ''
rm out.bin
expect 1 pcgpu sample -m 4 --start 1 holes.bin -o out.bin # only 3 can be used
stderr_has '^pcgpu: holes\.bin: .*4.*3'
# The first pick is the first record that can be one, of each input; one that is asked for must be able to.
expect 0 pcgpu sample -m 3 --start 1 holes.bin -o wanted.bin --indices wanted
expect 0 pcgpu sample -m 3 holes.bin -o out.bin --indices i
same out.bin wanted.bin
same i wanted
expect 0 pcgpu sample -m 3 --start first holes.bin -f -o out.bin
same out.bin wanted.bin
mkdir both
expect 0 pcgpu sample -m 3 holes.bin a.bin -o both/
same both/holes.bin wanted.bin
expect 0 pcgpu sample -m 3 --start 0 a.bin -f -o out.bin
same both/a.bin out.bin
expect 0 pcgpu sample -m 3 --dry-run holes.bin
sed '/device/d; s/: *first/: 1/' "$OUT" > start.yaml
stdout_has 'start: "first"'
expect 0 pcgpu sample --config start.yaml holes.bin -f -o out.bin
same out.bin wanted.bin
rm -r both start.yaml wanted wanted.bin out.bin i
expect 1 pcgpu sample -m 1 --start 0 holes.bin -o out.bin # record 0 cannot
stderr_has '^pcgpu: holes\.bin: .*0'
expect 1 pcgpu sample -m 1 --start 6 holes.bin -o out.bin
stderr_has '^pcgpu: holes\.bin: .*6'
echo 'nan nan nan nan' | floats > none.bin
expect 1 pcgpu sample -m 1 none.bin -o out.bin
expect 1 pcgpu sample --min-distance 1 none.bin -o out.bin
absent out.bin
expect 0 pcgpu voxelize --range=-9,-9,-9,9,9,9 --voxel-size 1 holes.bin -o v.bin --set point-voxel=pv
stderr_has 'warning: .*3'
[ "$(integers pv | tr '\n' ' ')" = '-1 0 -1 1 -1 2 ' ] || die "point-voxel is $(integers pv | tr '\n' ' ')"
# The sub-folder that an output keeps is below -o, whoever made the list.
mkdir -p data home
cp a.bin data/x.bin
for NAME in data/./../data/x.bin data/./../../here/data/x.bin data/.//x.bin data/././../data/x.bin; do
    echo "$NAME" > list
    printf '%s %s\n' "$NAME" a.bin > pairs
    for COMMAND in 'sample -m 3 --files-from list -o home/out/' "sample -m 3 $NAME -o home/out/ --indices i" \
        "sample -m 3 a.bin $NAME -o home/out/" "sample -m 3 $NAME -o x.bin --indices home/out/" "convert $NAME -o home/out/" \
        'register --pairs pairs -o home/out/' "view $NAME -o home/out/"; do
        expect 2 pcgpu $COMMAND
        stderr_is "pcgpu: $NAME: what follows /./ is the name of the output, and this one is not below -o; leave /./ or .. out"
    done
    expect 0 pcgpu sample -m 3 "$NAME" -o home/x.bin # no folder
    rm home/x.bin
done
[ "$(ls data home)" = 'data:
x.bin

home:' ] || die "data and home hold $(ls data home)"
expect 0 pcgpu sample -m 3 ./data/./x.bin -o home/out/
present home/out/x.bin
# A name that the sentence happens to begin with is said all the same.
cp a.bin 4
expect 1 pcgpu sample -F bin -m 400 4 -o out.bin
stderr_has '^pcgpu: 4: 400 '
finish
