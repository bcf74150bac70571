# voxelize with several inputs: into a folder, or with --batch into one file, all or nothing. The numbers are checked by
# tests/oracle.
. "${0%/*}/lib.sh"
{ echo '0.5 0.5 0.5 1'; echo '0.6 0.5 0.5 3'; echo '2.5 0.5 0.5 5'; } | floats > a.bin
{ echo '2.5 0.5 0.5 7'; echo '9 9 9 9'; echo '0.5 1.5 2.5 7'; } | floats > b.bin
GRID='--range 0,0,0,4,4,4 --voxel-size 1'

# A folder: each input as it is alone.
mkdir d
expect 0 pcgpu voxelize $GRID a.bin b.bin -o d/ --set coords=d/ --json d/log
for NAME in a b; do
    makes d/$NAME.npz alone.npz pcgpu voxelize $GRID $NAME.bin -o alone.npz -f --set coords=alone.coords
    same d/$NAME.coords.bin alone.coords
done
expect 0 pcgpu voxelize $GRID a.bin b.bin -o d/ --output-format bin
present d/a.bin d/b.bin
rm -r d alone.npz alone.coords

# --batch: the same features one after the other; the number of the input before z, y, x.
expect 0 pcgpu voxelize $GRID --batch a.bin b.bin -o v.bin --set coords=c --set counts=n --set point-voxel=p
stdout_is ''
stderr_is ''
[ "$(records v.bin)" = '0.55 0.5 0.5 2
2.5 0.5 0.5 5
2.5 0.5 0.5 7
0.5 1.5 2.5 7' ] || die "means are: $(records v.bin)"
[ "$(integers c | tr '\n' ' ')" = '0 0 0 0 0 0 0 2 1 0 0 2 1 2 1 0 ' ] || die "coords are $(integers c | tr '\n' ' ')"
[ "$(integers n | tr '\n' ' ')" = '2 1 1 1 ' ] || die "counts are $(integers n | tr '\n' ' ')"
[ "$(integers p | tr '\n' ' ')" = '0 0 1 2 -1 3 ' ] || die "point-voxel is $(integers p | tr '\n' ' ')"
gives v.bin pcgpu voxelize $GRID --batch a.bin b.bin # to standard output
expect 0 pcgpu voxelize $GRID --batch a.bin b.bin -o v.npy
expect 0 pcgpu voxelize $GRID --batch a.bin -o one.bin # of one input it is that
makes one.bin alone.bin pcgpu voxelize $GRID a.bin -o alone.bin
expect 0 pcgpu voxelize $GRID --batch a.bin a.bin -o twice.bin
cat one.bin one.bin > wanted
same twice.bin wanted
# Without a limit all are padded for the fullest voxel; the limits hold for each input.
sized "$OUT" $((4 * 2 * 4 * 4)) pcgpu voxelize $GRID --batch --features points b.bin a.bin
sized "$OUT" $((2 * 16)) pcgpu voxelize $GRID --batch --max-voxels 1 b.bin a.bin
expect 0 pcgpu voxelize --range 50,50,50,51,51,51 --voxel-size 1 --batch a.bin b.bin -o none.npz # nothing in range
present none.npz
rm -f v.npy v.bin c n p one.bin alone.bin twice.bin wanted none.npz

# All or nothing: a bad input, other columns, --set strict, an output that is there already.
echo short > bad.bin
for INPUTS in 'a.bin bad.bin b.bin' 'bad.bin a.bin' 'a.bin missing.bin'; do
    expect 1 pcgpu voxelize $GRID --batch $INPUTS -o x.npz --set coords=x.coords --json ../log -f
    stderr_has '^pcgpu: (bad|missing)\.bin: '
    [ "$(grep -c '"failed": true, "error": "' ../log)" -eq "$(wc -l < ../log)" ] || die "../log is $(cat ../log)"
    only a.bin b.bin bad.bin
done
expect 1 pcgpu voxelize $GRID --batch a.bin bad.bin -o x.npz --json -
stdout_has '"inputs": \["a\.bin"\], .*"error": "another part of the batch failed"'
stdout_has '"inputs": \["bad\.bin"\], .*"error": ".*whole records'
printf 'ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nend_header\n1 1 1\n' > t.ply
expect 0 pcgpu voxelize $GRID --batch --features pillar a.bin t.ply -o x.npz # ten values of whatever
rm x.npz
rm bad.bin
expect 1 pcgpu voxelize $GRID --batch a.bin b.bin -o /dev/full
stderr_has '/dev/full'

finish
