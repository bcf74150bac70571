# --sweeps: its options, lists and tables. The points are checked by tests/oracle.
. "${0%/*}/lib.sh"
{ echo '5 0 0 1'; echo '0.5 0.5 0 2'; echo '0 0 0 3'; } | floats > a.bin
{ echo '6 1 0 4'; echo '0.9 -0.9 0 5'; echo '0.9 -1 0 6'; } | floats > b.bin
{ echo '7 0 1 7'; } | floats > 'c d.bin'
printf '# a drive\n\na.bin 10\n  b.bin\t10.5 \nc d.bin 11.25\n' > scans.txt
# 1 m ahead in x, then 2 m and turned by 90 degrees
printf '1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 1 0 1 0 0 0 0 1 0\n0 -1 0 3 1 0 0 0 0 0 1 0\n' > poses.txt
LIST='--set scans=scans.txt --set poses=poses.txt'
all() { "$PCGPU" sample --ratio 1 --start 0 "$@" --output-format bin --keep-origin | od -An -v -t f4 -w20 | awk '{ $1 = $1; print }' | sort; }

# The car stays in the scan itself, and goes from those before; points are moved into its frame; the age is the last column.
[ "$(all --set sweeps=2 $LIST b.bin)" = '0.9 -0.9 0 5 0
0.9 -1 0 6 0
4 0 0 1 0.5
6 1 0 4 0' ] || die "two sweeps: $(all --set sweeps=2 $LIST b.bin)"
[ "$(all --set sweeps=3 $LIST 'c d.bin')" = '-1 1.1 0 6 0.75
0 -2 0 1 1.25
1 -4 0 4 0.75
7 0 1 7 0' ] || die "three sweeps: $(all --set sweeps=3 $LIST 'c d.bin')"
# At the beginning of a drive: the scan itself without the car, or the earliest once more.
[ "$(all --set sweeps=3 $LIST a.bin | grep -c '^5 0 0 1 0$')" -eq 3 ] || die 'the first scan three times'
[ "$(all --set sweeps=3 $LIST b.bin | grep -c '^4 0 0 1 0.5$')" -eq 2 ] || die 'the earliest scan twice'
# One sweep is the scan with a column of zeros; other spellings of a name; the columns' names.
[ "$(all --set sweeps=1 $LIST "$PWD/./a.bin")" = '0 0 0 3 0
0.5 0.5 0 2 0
5 0 0 1 0' ] || die 'one sweep'
expect 0 pcgpu sample --set sweeps=2 $LIST -m 2 b.bin -o b.ply
head -n 9 b.ply > "$OUT"
stdout_has 'property float intensity'
stdout_has 'property float time'
# voxelize, a folder, threads; --dry-run.
mkdir scans && cp a.bin b.bin scans/ && sed 's/^ *\([ab]\)/scans\/\1/; /^c/d' scans.txt > in.txt && sed 3d poses.txt > in_poses.txt
for THREADS in 1 3; do
    expect 0 pcgpu voxelize --sweeps 2 --set scans=in.txt --set poses=in_poses.txt --voxel-size 1 --threads $THREADS scans/ -o out$THREADS/
done
same out1/a.npz out3/a.npz
same out1/b.npz out3/b.npz
says '^  sweeps: 2$' pcgpu sample --set sweeps=2 $LIST -m 2 b.bin --dry-run
stdout_has '^  scans: "scans.txt"$'
expect 0 pcgpu sample -m 2 b.bin --dry-run
! grep -q sweeps "$OUT" || die 'sweeps are not in effect'
rm -r out1 out3 scans in.txt in_poses.txt b.ply

# The tables of nuScenes.
mkdir -p n/v1.0-mini n/samples
cp a.bin n/samples/x.pcd.bin
echo '[{"token": "t", "prev": "", "ego_pose_token": "e", "calibrated_sensor_token": "s", "filename": "samples/x.pcd.bin", "timestamp": 1}]' \
    > n/v1.0-mini/sample_data.json
for NAME in ego_pose:e calibrated_sensor:s; do
    echo "[{\"token\": \"${NAME#*:}\", \"rotation\": [1, 0, 0, 0], \"translation\": [0, 0, 0]}]" > "n/v1.0-mini/${NAME%:*}.json"
done
for ROOT in n n/ n/v1.0-mini; do
    [ "$(all --set sweeps=2 --set nuscenes=$ROOT --fields 4 n/samples/x.pcd.bin | grep -c '^5 0 0 1 0$')" -eq 2 ] || die "root $ROOT"
done
finish
