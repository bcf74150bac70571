# Little memory: small runs get by with little address space, and what does not is an error, never other bytes.
. "${0%/*}/lib.sh"
has_sanitizer && skip_all 'a sanitizer needs terabytes of address space'
cp "$PCGPU_SOURCE/testdata/street.bin" a.bin
expect 0 pcgpu sample -m 50 a.bin -o sample.bin
expect 0 pcgpu voxelize --voxel-size 0.5 --features points a.bin -o voxels.npz
expect 0 pcgpu register a.bin a.bin --transform T.txt

# limited KILOBYTES COMMAND...: with no more address space than that.
limited() {
    SPACE=$1
    shift
    LAST="(ulimit -v $SPACE) $*"
    (ulimit -v "$SPACE" && exec "$PCGPU" "$@") < /dev/null > "$OUT" 2> "$ERR"
}

# The program with its libraries and its kernels, which differ from build to build.
LOADED=4000
until limited "$LOADED" --version 2> /dev/null; do
    LOADED=$((LOADED + 800))
    [ "$LOADED" -lt 1000000 ] || die 'it cannot be loaded'
done

# 64 MB had to be free before anything.
ENOUGH=$((LOADED + 52000))
limited $ENOUGH sample --cpu --threads 1 -m 50 a.bin -o x.bin
expected 0 $?
same x.bin sample.bin
limited $ENOUGH voxelize --cpu --threads 1 --voxel-size 0.5 --features points a.bin -o x.npz
expected 0 $?
same x.npz voxels.npz
limited $ENOUGH register --cpu --threads 1 a.bin a.bin --transform x.txt
expected 0 $?
same x.txt T.txt

# From little to enough: the same bytes, or an error with a message and without an output. The command line is read first,
# and an error there is one of usage.
SPACE=$((LOADED + 800))
while [ "$SPACE" -lt $((LOADED + 33000)) ]; do
    rm -f x.npz
    limited "$SPACE" voxelize --cpu --threads 1 --voxel-size 0.5 --features points a.bin -o x.npz
    CODE=$?
    if [ "$CODE" -eq 0 ]; then
        same x.npz voxels.npz
    else
        expected 1 "$CODE"
        stderr_has '^pcgpu: .*memory'
        absent x.npz
    fi
    SPACE=$((SPACE + 800))
done
only a.bin sample.bin voxels.npz T.txt x.bin x.txt x.npz
finish
