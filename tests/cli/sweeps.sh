# --sweeps: its options, lists and tables, and what is said of those that are wrong. The points are checked by tests/oracle.
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
expect 0 pcgpu sample --set sweeps=2 $LIST -m 2 b.bin --dry-run
stdout_has '^  sweeps: 2$'
stdout_has '^  scans: "scans.txt"$'
expect 0 pcgpu sample -m 2 b.bin --dry-run
! grep -q sweeps "$OUT" || die 'sweeps are not in effect'
rm -r out1 out3 scans in.txt in_poses.txt b.ply

# fails CODE PATTERN OPTION...: what is wrong, and no output.
fails() {
    CODE=$1 PATTERN=$2
    shift 2
    expect "$CODE" pcgpu sample -m 1 "$@" -o x.bin
    stderr_has "$PATTERN"
    absent x.bin
}
fails 2 'sweeps need times and poses; give the keys scans and poses, or nuscenes' --set sweeps=2 a.bin
fails 2 'sweeps need times and poses' --set sweeps=2 --set scans=scans.txt a.bin
fails 2 'scans is for sweeps; give sweeps' --set scans=scans.txt --set poses=poses.txt a.bin
fails 2 'poses is for sweeps' --set poses=poses.txt a.bin
fails 2 'nuscenes is for sweeps' --set nuscenes=. a.bin
fails 2 'leave scans and poses out' --set sweeps=2 --set nuscenes=. $LIST a.bin
fails 2 'sweeps: "0" is not a whole number in range' --set sweeps=0 $LIST a.bin
cp a.bin e.bin
fails 2 'e\.bin: not among the scans of scans\.txt; add a line' --set sweeps=2 $LIST e.bin
fails 2 'gone\.txt: No such file' --set sweeps=2 --set scans=gone.txt --set poses=poses.txt a.bin
# list PATTERN LINES: a bad list.
list() {
    printf "$2" > bad.txt
    fails 2 "^pcgpu: bad\.txt$1" --set sweeps=2 --set scans=bad.txt --set poses=poses.txt a.bin
}
list ':1: no time at its end; give one line FILE TIME' 'a.bin\n'
list ':2: no time at its end' 'a.bin 1\nb.bin x\n'
list ':1: no time at its end' '12\n'
list ':2: a time that is not after that of the line before' 'a.bin 1\nb.bin 1\n'
list ':1: a zero byte' 'a.bin\000 1\n'
list ': no scan' '# nothing\n'
printf 'a.bin 1\n' > short.txt
fails 2 'poses\.txt: 3 poses for the 1 scans of the list' --set sweeps=2 --set scans=short.txt --set poses=poses.txt a.bin
sed '1s/.*/nan nan nan nan nan nan nan nan nan nan nan nan/' poses.txt > nan.txt
fails 2 'a\.bin: its pose is not known' --set sweeps=2 --set scans=scans.txt --set poses=nan.txt a.bin
# A scan before the input that cannot be read, or has other columns.
printf 'gone.bin 1\na.bin 2\nb.bin 3\n' > gone.txt
fails 1 '^pcgpu: gone\.bin: No such file' --set sweeps=2 --set scans=gone.txt --set poses=poses.txt a.bin
printf 'ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nend_header\n1 1 1\n' > t.ply
printf 't.ply 1\na.bin 2\nb.bin 3\n' > mixed.txt
fails 1 '^pcgpu: a\.bin: the scan before it, t\.ply, has 3 columns' --set sweeps=2 --set scans=mixed.txt --set poses=poses.txt a.bin
# The list is an input, and so are its scans.
cp scans.txt kept.txt
expect 1 pcgpu sample -m 1 --set sweeps=2 $LIST b.bin -f --output-format bin -o scans.txt
expect 1 pcgpu sample -m 1 --set sweeps=2 $LIST b.bin -f -o a.bin
stderr_has 'a\.bin: is an input of this run'
same scans.txt kept.txt

# The tables of nuScenes.
mkdir -p n/v1.0-mini n/samples
cp a.bin n/samples/x.pcd.bin
SCAN='{"token": "t", "prev": "", "ego_pose_token": "e", "calibrated_sensor_token": "s", "filename": "samples/x.pcd.bin", "timestamp": 1}'
POSE='{"token": "%s", "rotation": [1, 0, 0, 0], "translation": [0, 0, 0]}'
tables() {
    printf '[%s]' "${1-$SCAN}" > n/v1.0-mini/sample_data.json
    printf "[${2-$POSE}]" e > n/v1.0-mini/ego_pose.json
    printf "[${3-$POSE}]" s > n/v1.0-mini/calibrated_sensor.json
}
nuscenes() { fails 2 "$1" --set sweeps=2 --set nuscenes=n --fields 4 "${2:-n/samples/x.pcd.bin}"; }
tables
for ROOT in n n/ n/v1.0-mini; do
    [ "$(all --set sweeps=2 --set nuscenes=$ROOT --fields 4 n/samples/x.pcd.bin | grep -c '^5 0 0 1 0$')" -eq 2 ] || die "root $ROOT"
done
for NAME in .. "$PWD/a.bin" samples/../../a.bin samples/..; do # no table reaches files outside of its folder
    tables "{\"token\": \"t\", \"prev\": \"\", \"ego_pose_token\": \"e\", \"calibrated_sensor_token\": \"s\", \"filename\": \"$NAME/y.bin\", \"timestamp\": 0}, $SCAN"
    nuscenes "sample_data\.json: the scan t is $NAME/y\.bin, which is not below the folder of nuScenes; give names as samples/LIDAR_TOP/\.\.\."
done
tables
nuscenes '^pcgpu: a\.bin: not among the scans of n/v1\.0-mini/sample_data\.json' a.bin
fails 2 'gone: No such file or directory; give the folder of nuScenes' --set sweeps=2 --set nuscenes=gone a.bin
fails 2 'no folder in it has sample_data\.json' --set sweeps=2 --set nuscenes=n/samples a.bin
cp -r n/v1.0-mini n/v1.0-test
nuscenes 'tables in several folders; give one of them, such as n/v1\.0-mini'
rm -r n/v1.0-test
tables '{"token": "t"'
nuscenes '^pcgpu: n/v1\.0-mini/sample_data\.json:1:15: a comma or the end of the object is expected here'
tables '{"token": 3}'
nuscenes 'sample_data\.json:1:12: a string is expected here'
tables '{"token": "t"}'
nuscenes 'sample_data\.json:1:15: the object that ends here has no "prev"'
tables "$SCAN" '{"token": "%s", "rotation": [1, 0, 0], "translation": [0, 0, 0]}'
nuscenes 'ego_pose\.json:1:37: another number of a list is expected here'
tables "$SCAN" '{"token": "%s", "rotation": [0, 0, 0, 0], "translation": [0, 0, 0]}'
nuscenes 'ego_pose\.json: the rotation of e is not a unit quaternion'
tables "$SCAN" ''
nuscenes 'ego_pose\.json: no pose e, which n/samples/x\.pcd\.bin has'
tables "$SCAN" "$POSE" ''
nuscenes 'calibrated_sensor\.json: no sensor s'
tables "$(printf '%s' "$SCAN" | sed 's/"prev": ""/"prev": "u"/')"
nuscenes 'the scan t has "prev" u, which is not there'
tables
rm n/v1.0-mini/ego_pose.json
nuscenes 'ego_pose\.json: No such file'
finish
