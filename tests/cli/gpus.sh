# Several GPUs: they share the inputs, and a GPU that fails loses none. The emulator has as many as it is asked for; a
# machine with one GPU skips the test.
. "${0%/*}/lib.sh"

export EMULATED_DEVICES=3
pcgpu info >devices 2>&1
[ "$(grep -c '^  *[0-9]: ' devices)" -ge 2 ] || { echo 'fewer than two GPUs'; exit 77; }

# Enough inputs that each GPU takes several.
mkdir in
for i in 1 2 3 4 5 6; do
    pcgpu sample --cpu --method random --seed "$i" -m 600 "$PCGPU_SOURCE/testdata/street.bin" -o "in/$i.bin" || die 'no inputs'
    for k in a b; do
        cp "in/$i.bin" "in/$i$k.bin"
    done
done
# all NAME DEVICE: each command on the inputs, into folders NAME.*
all() {
    expect 0 pcgpu sample -m 50 --threads 4 in/ -o "$1.sample/" --device "$2" --json "$1.json"
    expect 0 pcgpu voxelize --range=-50,-50,-5,50,50,10 --voxel-size 1 --max-points 4 --threads 2 in/ -o "$1.voxels/" --device "$2"
}
all cpu cpu
for LIST in cuda:all cuda:0,1 cuda:1,0; do
    all gpus "$LIST"
    for FILE in cpu.sample/* cpu.voxels/*; do
        same "$FILE" "gpus.${FILE#cpu.}"
    done
    rm -r gpus.*
done

# More GPUs than threads: each has a worker.
makes one/6.bin cpu.sample/6.bin pcgpu sample -m 50 --threads 1 in/ -o one/ --device cuda:0,1 -v

# Wrong lists.
expect 2 pcgpu sample -m 50 in/ -o x/ --device cuda:0,0
stderr_has 'has a device twice'
expect 2 pcgpu sample -m 50 in/ -o x/ --device cuda:0,
expect 2 pcgpu sample -m 50 in/ -o x/ --cuda=1,x
expect 3 pcgpu sample -m 50 in/ -o x/ --cuda=0,77
stderr_has 'CUDA device 77 does not exist; this machine has 0 to'
expect 2 pcgpu voxelize --range=-50,-50,-5,50,50,10 --voxel-size 1 --batch in/ -o x.npz --cuda=0,1
stderr_has 'give one, such as --device cuda:0'
expect 2 pcgpu odometry in/ --trajectory x.txt --cuda=all
[ ! -e x ] && [ ! -e x.npz ] && [ ! -e x.txt ] || die 'a refused run wrote something'
expect 0 pcgpu sample -m 50 in/ -o x/ --cuda=0,1 --dry-run
grep -q '"cuda:0,1"' "$OUT" || die 'the dry run has not the devices'

# The emulator only: GPU 1 fails in the middle, at once, and as the first one. Nothing is lost and nothing is different.
grep -q emulator devices || finish
for LOST in 1:0 1:2 0:3; do
    export EMULATED_LOST=$LOST
    expect 0 pcgpu sample -m 50 --threads 2 in/ -o lost/ --device cuda:0,1
    unset EMULATED_LOST
    [ "$(grep -c 'the other GPUs take the inputs of GPU' "$ERR")" = 1 ] || die "not one warning with $LOST"
    for FILE in cpu.sample/*; do
        same "$FILE" "lost/${FILE#cpu.sample/}"
    done
    rm -r lost
done
# No GPU is left.
export EMULATED_ALLOCATIONS=0
expect 1 pcgpu sample -m 50 --threads 2 in/ -o lost/ --cuda=0,1
stderr_has "the GPU's memory is exhausted"
finish
