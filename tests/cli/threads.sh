# Threads: how many by default, and what happens where the system refuses them.
. "${0%/*}/lib.sh"

threads_are() {
    grep -q "\"threads\": $1[,}]" x.json || die "threads are not $1 in $(cat x.json)"
    checked
}

STREET=$PCGPU_SOURCE/testdata/street.bin
register() { expect 0 pcgpu register --cpu "$PCGPU_SOURCE/testdata/street_moved.bin" "$STREET" -f "$@"; }

register --threads 1 --transform one.txt
OMP_NUM_THREADS=3 register --json x.json && threads_are 3
OMP_NUM_THREADS=5,2 register --json x.json && threads_are 5
OMP_NUM_THREADS=5 register --threads 2 --json x.json && threads_are 2
OMP_NUM_THREADS=many register --json x.json
if command -v taskset >/dev/null; then
    expect 0 taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" "$PCGPU" register --cpu -f --json x.json \
        "$PCGPU_SOURCE/testdata/street_moved.bin" "$STREET"
    threads_are 1
fi

# Little memory for stacks, so that few of many threads start; the rest is done by these.
case $(ldd "$PCGPU") in
*libasan* | *libubsan* | *libtsan* | *clang_rt*) skip_part "threads that are refused" "sanitizers have their own" ;;
*)
    for most in 0 1 3; do
        LD_PRELOAD=$PCGPU_REFUSE REFUSE_THREADS=$most register --threads 4096 -v --transform few.txt
        same few.txt one.txt
        [ $most = 0 ] || stderr_has 'the system refuses more than [0-9]+ of 4096 threads; going on with these'
        LD_PRELOAD=$PCGPU_REFUSE REFUSE_THREADS=$most expect 0 pcgpu odometry --cpu -q -f --trajectory few.txt --threads 64 \
            "$STREET" "$PCGPU_SOURCE/testdata/street_moved.bin"
        makes few.txt all.txt pcgpu odometry --cpu -q -f --trajectory all.txt "$STREET" "$PCGPU_SOURCE/testdata/street_moved.bin"
    done
    (ulimit -v 1000000 && register --threads 4096 --transform few.txt) || exit 1
    same few.txt one.txt
    # Nothing unfinished stays where memory is short: each of the first allocations that grow fails in turn.
    rm -rf ./*.txt x.json
    for fails in $(seq 1 40); do
        LD_PRELOAD=$PCGPU_REFUSE REFUSE_MEMORY=$fails "$PCGPU" sample --cpu -q -m 16 -f "$STREET" -o x.bin --indices x.npy \
            2>"$ERR" >"$OUT"
        for left in ./* ./.[!.]*; do
            case $left in
            ./x.bin | ./x.npy | './*' | './.[!.]*') ;;
            *) die "$left stays after reallocation $fails failed" ;;
            esac
        done
        checked
    done
    ;;
esac
# A small stack of the main thread: no function takes much of it.
if ! has_sanitizer; then
    for COMMAND in "view --from sensor $PCGPU_SOURCE/testdata/street.bin -o small.png" "info $PCGPU_SOURCE/testdata/street.bin" \
        "register --cpu --init auto $PCGPU_SOURCE/testdata/street.bin $PCGPU_SOURCE/testdata/street_moved.bin" \
        "voxelize --cpu --voxel-size 1 $PCGPU_SOURCE/testdata/street.bin -o small.npz"; do
        (ulimit -s 150 && "$PCGPU" $COMMAND > "$OUT" 2> "$ERR")
        LAST=$COMMAND
        expected 0 $?
    done
fi
finish
