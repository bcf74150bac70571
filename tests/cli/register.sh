# What register promises beyond the accuracy, which tests/oracle checks.
. "${0%/*}/lib.sh"
# Seen from two places 0.1 m apart.
walls 40 0.1 0 > target.bin
walls 40 0.1 0.1 > source.bin
TUNE='--voxel-size 0.1'

# numbers FILE: all numbers in one line, rounded to centimetres.
numbers() { tr ',' ' ' < "$1" | awk '{ for (i = 1; i <= NF; i++) printf "%.2f ", $i + 0 }' | sed 's/-0\.00/0.00/g'; }

into ../matrix pcgpu register $TUNE source.bin target.bin
[ "$(numbers ../matrix)" = '1.00 0.00 0.00 -0.10 0.00 1.00 0.00 0.00 0.00 0.00 1.00 0.00 0.00 0.00 0.00 1.00 ' ] ||
    die "the matrix is $(cat ../matrix)"
[ "$(awk 'NF == 4' ../matrix | wc -l)" -eq 4 ] || die 'not four rows of four numbers'
stderr_has '^pcgpu: source\.bin -> target\.bin: moved 0\.100 m, '

makes T ../matrix pcgpu register $TUNE source.bin target.bin --transform T
expect 0 pcgpu register $TUNE source.bin target.bin --set transform-format=kitti -f --transform K
[ "$(awk 'NF == 12' K | wc -l)" -eq 1 ] || die 'kitti is not one line of 12 numbers'
expect 0 pcgpu register $TUNE source.bin target.bin --set transform-format=tum -f --transform Q
[ "$(grep -v '^#' Q | awk 'NF == 8' | wc -l)" -eq 1 ] || die 'tum is not one line of 8 numbers'
[ "$(numbers Q)" = '0.00 -0.10 0.00 0.00 0.00 0.00 0.00 1.00 ' ] || die "tum is $(cat Q)"

# --init takes every format that is written; without iterations to go the result stays there.
for INIT in T K Q; do
    expect 0 pcgpu register $TUNE source.bin target.bin --init $INIT
    [ "$(numbers "$OUT")" = "$(numbers ../matrix)" ] || die "--init $INIT leads elsewhere"
done

# --init auto looks for a start: here for a quarter turn, which no method finds alone. The default looks when the identity
# is none. A file of that name has a folder.
STREET=$PCGPU_SOURCE/testdata/street.bin
printf '0 -1 0 2\n1 0 0 -1\n0 0 1 0.3\n0 0 0 1\n' > turn
"$PCGPU" convert --transform turn "$STREET" -o turned.bin
printf '1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n' > identity
for METHOD in ndt plane; do
    expect 4 pcgpu register --method $METHOD --init identity turned.bin "$STREET"
    expect 0 pcgpu register --method $METHOD turned.bin "$STREET"
    expect 0 pcgpu register --method $METHOD --init auto --threads 1 turned.bin "$STREET" -f --json found.json
    [ "$(numbers "$OUT")" = '0.00 1.00 0.00 1.00 -1.00 0.00 0.00 2.00 0.00 0.00 1.00 -0.30 0.00 0.00 0.00 1.00 ' ] ||
        die "--init auto found $(cat "$OUT")"
    grep -q '"starts": *[1-5],' found.json || die 'the starts that were tried are not in --json'
    cp "$OUT" ../found
    gives ../found pcgpu register --method $METHOD --init auto --threads 3 turned.bin "$STREET" -f --json found.json
done
expect 0 pcgpu register --init auto --dry-run turned.bin "$STREET"
stdout_has '^ *init: "?auto'
cp T auto
expect 0 pcgpu register $TUNE source.bin target.bin --init ./auto
[ "$(numbers "$OUT")" = "$(numbers ../matrix)" ] || die '--init ./auto is not the file'

# The aligned source keeps its records, names and format.
expect 0 pcgpu register $TUNE source.bin target.bin -o moved.ply
says 4800 "$PCGPU" info moved.ply
stdout_has intensity
sized "$OUT" 76800 pcgpu register $TUNE source.bin target.bin -o - # then the cloud is on stdout, not the matrix

finish
