# Files that are larger than the memory, in pieces. The bytes of hostile values are compared by tests/oracle/test_pieces.py.
. "${0%/*}/lib.sh"
T=$PCGPU_SOURCE/testdata/street.bin
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do cat "$T"; done > big.bin # 11.5 MB: 81 MB as a whole
VOXELIZE='pcgpu voxelize --voxel-size 0.5'

expect 0 $VOXELIZE big.bin -o whole.ply
makes pieces.ply whole.ply $VOXELIZE --cpu --set memory=4M big.bin -o pieces.ply --json log
grep -q '"memory": 4194304' log || die "the log is $(cat log)"
grep -q '"reason": "the file is read in pieces"' log || die "the log is $(cat log)"
# A file that fits is read whole.
makes small.ply whole.ply $VOXELIZE --set memory=1G big.bin -o small.ply --json log -f
grep -q 'in pieces' log && die 'a file that fits is read in pieces'
# Many inputs, each in its pieces or not.
mkdir in && cp big.bin in/a.bin && cp "$T" in/b.bin
makes out/a.ply whole.ply $VOXELIZE --cpu --set memory=4M in -o out/ --output-format ply
makes out/b.ply b.ply $VOXELIZE "$T" -o b.ply
rm -r in out small.ply b.ply

# Where a run on the whole file lacks the memory, one in pieces has it.
if has_sanitizer; then
    skip_part 'a limit of memory' 'a sanitizer needs terabytes of address space'
else
    LOADED=4000
    until (ulimit -v $LOADED && exec "$PCGPU" --version) > "$OUT" 2>&1; do
        LOADED=$((LOADED + 800))
        [ $LOADED -lt 1000000 ] || die 'it cannot be loaded'
    done
    LAST='voxelize with 24 MB'
    (ulimit -v $((LOADED + 24000)) && exec "$PCGPU" voxelize --cpu --threads 1 --voxel-size 0.5 --set memory=1T big.bin -o x.ply) 2> "$ERR"
    expected 1 $?
    stderr_has 'out of memory|memory'
    absent x.ply
    for MEMORY in '--set memory=6M' ''; do # without a size what the limit leaves
        (ulimit -v $((LOADED + 24000)) && exec "$PCGPU" voxelize --cpu --threads 1 --voxel-size 0.5 $MEMORY big.bin -o x.ply) 2> "$ERR"
        expected 0 $?
        same x.ply whole.ply
        rm x.ply
    done
fi

# Random sampling: the same picks; of all points where the memory holds them.
expect 0 pcgpu sample --method random -m 4096 big.bin -o whole.bin --indices whole.npy
makes pieces.bin whole.bin pcgpu sample --method random -m 4096 --set memory=4M big.bin -o pieces.bin --indices pieces.npy --json log -f
same pieces.npy whole.npy
grep -q '"reason": "the file is read in pieces"' log || die "the log is $(cat log)"
# Farthest point sampling, with its points in temporary files.
mkdir tmp
for HOW in '--min-distance 0.7' '-m 900 --start random --seed 3'; do
    expect 0 pcgpu sample --cpu $HOW big.bin -o whole.bin --indices whole.npy --distances whole.txt -f
    TMPDIR=$PWD/tmp expect 0 pcgpu sample --cpu $HOW --set memory=4M big.bin -o x.bin --indices x.npy --distances x.txt --json log -f
    same x.bin whole.bin
    same x.npy whole.npy
    same x.txt whole.txt
    grep -q '"reason": "the file is read in pieces"' log || die "the log is $(cat log)"
    rm x.bin x.npy x.txt
done
[ -z "$(ls -A tmp)" ] || die "these temporary files remain: $(ls -A tmp)"
TMPDIR=$PWD/nowhere expect 1 pcgpu sample --cpu --min-distance 0.7 --set memory=4M big.bin -o x.bin
stderr_has '^pcgpu: big\.bin: .*/nowhere: a temporary file cannot be written: '
rmdir tmp

# Filters in tiles; what needs all points at a time is an error that says so. Each point has neighbors of its own scan alone.
mkdir tmp && "$PCGPU" sample --method random -m 30000 "$T" -o thin.bin
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    echo "1 0 0 $((i * 300)) 0 1 0 0 0 0 1 0" > moved.txt
    "$PCGPU" convert -q --transform moved.txt thin.bin -o - --output-format bin
done > apart.bin
HOW='--radius 0.3,20 --clusters 0.4,9 --set core-points=10 --normals 9 --set normal-radius=0.4'
expect 0 pcgpu filter $HOW --cluster-list whole.csv apart.bin -o whole.ply -f
TMPDIR=$PWD/tmp expect 0 pcgpu filter $HOW --set memory=6M --cluster-list x.csv apart.bin -o x.ply --json log -f
same x.ply whole.ply
same x.csv whole.csv
grep -q '"reason": "the file is read in pieces"' log || die "the log is $(cat log)"
if ! has_sanitizer; then
    (ulimit -d 24000 && exec "$PCGPU" filter --cpu --threads 1 $HOW --set memory=1T apart.bin -o y.ply) 2> "$ERR"
    expected 1 $?
    stderr_has 'out of memory|memory'
    for MEMORY in '--set memory=6M' ''; do
        (ulimit -d 24000 && exec "$PCGPU" filter --cpu --threads 1 $HOW $MEMORY apart.bin -o x.ply -f) 2> "$ERR"
        expected 0 $?
        same x.ply whole.ply
    done
fi
[ -z "$(ls -A tmp)" ] || die "these temporary files remain: $(ls -A tmp)"
TMPDIR=$PWD/nowhere expect 1 pcgpu filter $HOW --set memory=6M big.bin -o y.ply
stderr_has '^pcgpu: big\.bin: .*/nowhere: a temporary file cannot be written: '
rm -r tmp x.ply x.csv
for HOW in '--outliers 20,2:--outliers, which compares all points' '--ground:--ground' \
    '--normals 9:--normals without --set normal-radius'; do
    expect 1 pcgpu filter ${HOW%%:*} --set memory=6M big.bin -o x.ply
    stderr_has "^pcgpu: big\.bin: needs more than 0\.006291 GB of memory, and a file in pieces has no ${HOW#*:}; leave it out, downsample"
done

# More voxels than the memory holds: several passes, and the result in temporary files, of which nothing remains, even where a
# signal ends the run.
mkdir tmp
TMPDIR=$PWD/tmp
export TMPDIR
for FEATURES in mean first; do
    expect 0 pcgpu voxelize --cpu --features $FEATURES --voxel-size 0.05 big.bin -o whole.npz --set point-voxel=whole.npy -f
    expect 0 pcgpu voxelize --cpu --features $FEATURES --voxel-size 0.05 --set memory=1M big.bin -o x.npz --set point-voxel=x.npy
    same x.npz whole.npz
    same x.npy whole.npy
    rm x.npz x.npy
done
{
    "$PCGPU" voxelize --cpu --voxel-size 0.02 --set memory=1M big.bin -o x.ply &
    sleep 0.3
    kill -TERM $!
    wait $!
} 2> "$ERR"
[ -z "$(ls -A tmp)" ] || die "these temporary files remain: $(ls -A tmp)"
rm -f x.ply
TMPDIR=$PWD/nowhere
expect 1 pcgpu voxelize --cpu --voxel-size 0.05 --set memory=1M big.bin -o x.ply
stderr_has '^pcgpu: big\.bin: .*/nowhere: a temporary file cannot be written: No such file or directory; choose another folder by TMPDIR'
unset TMPDIR
# What is not possible is an error that says so, and writes nothing.
"$PCGPU" convert big.bin -o big.pcd
expect 1 $VOXELIZE --cpu --set memory=4M big.pcd -o x.ply
stderr_has '^pcgpu: big\.pcd: \.pcd is not read in pieces; '
head -c 11519999 big.bin > cut.bin
expect 1 $VOXELIZE --cpu --set memory=4M cut.bin -o x.ply
stderr_has '^pcgpu: cut\.bin: 11519999 bytes are not whole records of 4 float32 '
"$PCGPU" convert big.bin -o big.las
head -c 9000000 big.las > cut.las
expect 1 $VOXELIZE --cpu --set memory=4M cut.las -o x.ply
stderr_has '^pcgpu: cut\.las: file ends after [0-9]+ of 720000 points'
expect 0 $VOXELIZE --cpu --set memory=4M big.las -o las.ply
makes las.ply las_whole.ply $VOXELIZE big.las -o las_whole.ply
# A file of gzip is not read in pieces, whatever format is given for what it holds: its compressed bytes are no points.
if gzip -c big.bin > packed.bin.gz 2> /dev/null; then
    head -c $((16 - $(wc -c < packed.bin.gz) % 16)) /dev/zero >> packed.bin.gz # whole records
    expect 1 $VOXELIZE --cpu --set memory=1M -F bin packed.bin.gz -o x.ply
    stderr_has '^pcgpu: packed\.bin\.gz: is compressed by gzip, and such a file is not read in pieces; give more memory, or expand it'
    absent x.ply
else
    skip_part gzip 'it is not there'
fi
absent x.ply x.npz
finish
