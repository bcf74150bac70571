# What voxelize promises beyond the numbers, which tests/oracle checks.
. "${0%/*}/lib.sh"
{ echo '0.5 0.5 0.5 1'; echo '0.6 0.5 0.5 3'; echo '2.5 0.5 0.5 5'; echo '0.5 1.5 2.5 7'; echo '9 9 9 9'; } |
    floats > a.bin
GRID='--range 0,0,0,4,4,4 --voxel-size 1'

expect 0 pcgpu voxelize $GRID a.bin -o v.bin --set coords=c --set counts=n --set point-voxel=p
stdout_is ''
[ "$(records v.bin)" = '0.55 0.5 0.5 2
2.5 0.5 0.5 5
0.5 1.5 2.5 7' ] || die "means are: $(records v.bin)"
[ "$(integers c | tr '\n' ' ')" = '0 0 0 0 0 0 0 2 0 2 1 0 ' ] || die "coords are $(integers c | tr '\n' ' ')"
[ "$(integers n | tr '\n' ' ')" = '2 1 1 ' ] || die "counts are $(integers n | tr '\n' ' ')"
[ "$(integers p | tr '\n' ' ')" = '0 0 1 2 -1 ' ] || die "point-voxel is $(integers p | tr '\n' ' ')"

# stdout is the feature array; shapes of the other features; float16 halves them.
gives v.bin pcgpu voxelize $GRID a.bin
sized "$OUT" $((3 * 5 * 4 * 4)) pcgpu voxelize $GRID --features points --max-points 5 a.bin
sized "$OUT" $((3 * 5 * 10 * 4)) pcgpu voxelize $GRID --features pillar --max-points 5 a.bin
sized "$OUT" $((3 * 2 * 10 * 4)) pcgpu voxelize $GRID --features pillar a.bin # no limit: as many as the fullest voxel has
sized "$OUT" $((3 * 4 * 2)) pcgpu voxelize $GRID --dtype float16 a.bin
sized "$OUT" 16 pcgpu voxelize $GRID --max-voxels 1 --max-points 1 a.bin

# --set strict: what the limits drop fails the input and writes nothing of it. The others of several inputs are written.
for I in 1 2 3; do echo '0.5 0.5 0.5 1'; done | floats > drops.bin
expect 1 pcgpu voxelize $GRID --set strict --max-points 2 drops.bin -o x.bin --set coords=xc --set counts=xn --set point-voxel=xp --json x.json
grep -q '"exit_code": 1, "failed": true, "error": ".*strict' x.json || die 'x.json does not say why'
absent x.bin xc xn xp
mkdir strict
expect 1 pcgpu voxelize $GRID --set strict --max-points 2 drops.bin a.bin -o strict/
present strict/a.npz
absent strict/drops.npz

# Nothing in range, or no usable point: empty arrays, no error.
sized none.bin 0 pcgpu voxelize --range 100,100,100,104,104,104 --voxel-size 1 a.bin -o none.bin --set counts=none
size_is none 0
expect 0 pcgpu voxelize --range 100,100,100,104,104,104 --voxel-size 1 a.bin -o none.npz
present none.npz

: > empty.bin
echo 'nan nan nan nan' | floats > nothing.bin
for NAME in empty.bin nothing.bin; do
    expect 0 pcgpu voxelize --voxel-size 1 "$NAME" -f -o x.npz
    expect 0 pcgpu voxelize --range 0,0,0,4,4,4 --voxel-size 1 --batch a.bin "$NAME" a.bin -f -o x.npz
    expect 0 "$PCGPU" info "$NAME"
done

# The cell alone decides, as in spconv 2.3.8: a point at the end of PV-RCNN's range for Waymo is in its last voxel.
printf '75.2 0 1\n0 75.2 1\n1 1 1\n75.3 0 1\n' > edge.xyz
expect 0 pcgpu voxelize --range -75.2,-75.2,-2,75.2,75.2,4 --voxel-size 0.1,0.1,0.15 edge.xyz -o x.npz -f --set coords=edge.txt
stderr_lacks warning
[ "$(cut -d' ' -f2- edge.txt | tr '\n' ' ')" = '20 751 1503 20 1503 751 20 761 761 ' ] || die 'the voxels of the edge'

# --shuffle moves records, and the voxel of each record is that of the input's order.
for SHUFFLE in '' --shuffle; do
    quiet pcgpu voxelize --voxel-size 1 $SHUFFLE a.bin -o x.npz -f --set coords=c.txt --set point-voxel=p.txt
    awk 'NR == FNR { cell[NR - 1] = $0; next } { print cell[$1] }' c.txt p.txt > "cells$SHUFFLE"
done
cmp cells cells--shuffle || die 'the voxels of records after --shuffle'

# Voxels of a .pcd have its viewpoint, and are no rows of an image.
printf 'VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 2\nHEIGHT 2\nVIEWPOINT 10 20 30 1 0 0 0\nPOINTS 4\nDATA ascii\n1 0 0\n3 0 0\n0 1 0\n2 2 2\n' > rows.pcd
for FEATURES in mean nearest; do
    expect 0 pcgpu voxelize --voxel-size 0.5 --features $FEATURES rows.pcd -f -o kept.pcd
    [ "$(sed -n 7,9p kept.pcd)" = 'WIDTH 4
HEIGHT 1
VIEWPOINT 10 20 30 1 0 0 0' ] || die "the header is $(sed -n 7,9p kept.pcd)"
done

# Into a folder: .npz, whatever the input is; a cloud or .bin where it is asked for. The folder is made, and those above.
expect 0 pcgpu voxelize $GRID --max-points 2 a.bin -o a.npz
expect 0 pcgpu sample --method random --ratio 1 a.bin -o as.ply
makes new/folder/a.npz a.npz pcgpu voxelize $GRID --max-points 2 a.bin as.ply -o new/folder/
present new/folder/as.npz
[ "$(ls new/folder)" = 'a.npz
as.npz' ] || die "new/folder holds $(ls new/folder)"
expect 0 pcgpu voxelize $GRID --max-points 2 a.bin -o new/bin/ --output-format bin
present new/bin/a.bin
expect 0 pcgpu voxelize $GRID --max-points 2 a.bin -o new/ply/ --output-format ply
present new/ply/a.ply

into default.bin pcgpu voxelize --voxel-size 1 a.bin # the range is auto then
gives default.bin pcgpu voxelize --voxel-size 1 --range auto a.bin
# A side array whose name ends in .txt is text: a line for each voxel, or record.
expect 0 pcgpu voxelize --voxel-size 1 a.bin -f -o v.npy --set coords=c --set counts=n --set point-voxel=p
expect 0 pcgpu voxelize --voxel-size 1 a.bin -f -o v.npy --set coords=c.txt --set counts=n.txt --set point-voxel=p.txt
od -An -v -t d4 -w16 c | awk '{ $1 = $1; print }' > wanted
same c.txt wanted
integers n > wanted
same n.txt wanted
integers p > wanted
same p.txt wanted
# The origin is that of the file: far from it a point is none because its rest of the coordinates is 0, and (0,0,0) is one.
{ printf 'ply\nformat ascii 1.0\nelement vertex 5\nproperty double x\nproperty double y\nproperty double z\nend_header\n'
  printf '%s\n' '499990.1 5399990.1 -1' '500009.9 5400009.9 1' '500000 5400000 0' '500003.3 5400001.3 0.5' 'nan 0 0'; } > utm5.ply
for LAYOUT in pcgpu 'openpcdet --set voxelization=hard' 'openpcdet --set voxelization=dynamic' 'mmdet3d --set voxelization=hard' 'mmdet3d --set voxelization=dynamic'; do
    case $LAYOUT in pcgpu) SIZE='--max-points 5' ;; *hard) SIZE='--max-points 5 --max-voxels 9' ;; *) SIZE='' ;; esac
    for ORIGIN in --drop-origin --keep-origin; do
        expect 0 pcgpu voxelize --layout $LAYOUT $SIZE $ORIGIN --voxel-size 1 --range=499900,5399900,-5,500100,5400100,5 utm5.ply --compression 0 -o u.npz -f
        grep -aq "'shape': (4, " u.npz && ! grep -aq "'shape': (3, " u.npz || die "--layout $LAYOUT $ORIGIN: not four points"
    done
done
finish
