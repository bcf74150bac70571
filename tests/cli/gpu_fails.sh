# A GPU that fails after its start, or for which there are no kernels: without --cuda the CPU goes on, with it that is an
# error. The program has the emulator in place of a GPU, which lets allocations on the device fail.
. "${0%/*}/lib.sh"

# Work that repays a GPU by the estimate.
for i in 1 2 3 4 5; do
    printf '%s\t%s\n' "$PCGPU_SOURCE/testdata/street_moved.bin" "$PCGPU_SOURCE/testdata/street.bin"
done >list
register() {
    expect "$1" pcgpu register --method point --voxel-size 1 --set levels=1 --threads 1 --pairs list --device "$2"
}
register 0 cpu
cp "$OUT" cpu

export EMULATED_ALLOCATIONS=0 # nothing fits the device
register 0 auto
same "$OUT" cpu
stderr_has "the CPU continues without the GPU: the GPU's memory is exhausted"
[ "$(grep -c 'continues without the GPU' "$ERR")" = 1 ] || die 'the warning is not given once'
register 1 cuda
stderr_has "the GPU's memory is exhausted"
# Several threads meet the failure, and it is told once.
for i in 1 2 3 4 5 6; do cat list; done > long
expect 0 pcgpu register --method point --voxel-size 1 --set levels=1 --threads 2 --pairs long --device auto
[ "$(grep -c "warning: the CPU continues without the GPU" "$ERR")" = 1 ] || die "the warning is not given once"
unset EMULATED_ALLOCATIONS

export EMULATED_CAPABILITY=61
register 0 auto
same "$OUT" cpu
register 3 cuda
stderr_has 'compute capability 6.1, and 7.5 or higher is needed'
unset EMULATED_CAPABILITY

# No GPU, and a list of some.
for DEVICE in cuda:3 cuda:3,1; do
    EMULATED_DEVICES=0 expect 3 pcgpu sample -m 5 "$PCGPU_SOURCE/testdata/street.bin" -o x.bin --device $DEVICE
    stderr_is 'pcgpu: CUDA is not usable: no CUDA device; use --cpu'
done
finish
