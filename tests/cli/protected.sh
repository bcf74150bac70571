# No output replaces what a run reads: the file of each option that is an input, what lists, folders and tables name, and
# what is found beside them; by any name, through links, and in a dry run.
. "${0%/*}/lib.sh"
ROOM=$PCGPU_SOURCE/testdata/room
cloud 300 > a.bin
cloud 300 > b.bin
mkdir frames colors kitti kitti/velodyne nu nu/v1.0-mini nu/samples nu/sweeps cfgs poses
cp "$ROOM/frame-000000.png" "$ROOM/frame-000001.png" frames
cp "$ROOM/frame-000000.png" colors/frame-000000.png
cp "$ROOM/frame-000001.png" colors/frame-000001.png
cp "$ROOM/frame-000000.png" colors/other.png
cp a.bin kitti/velodyne/000000.bin
cp b.bin kitti/velodyne/000001.bin
printf '1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 1 0 1 0 0 0 0 1 0\n' > poses.txt
cp poses.txt kitti/poses.txt
printf '0\n0.1\n' > times.txt
echo 0 0 0 9 9 9 0 > boxes.txt
cp times.txt kitti
printf 'P2: 718 0 607 0 0 718 185 0 0 0 1 0\nTr: 1 0 0 0 0 1 0 0 0 0 1 0\n' > kitti/calib.txt
cp kitti/calib.txt calib.txt
sed 1q poses.txt > T.txt
printf '525 0 319.5\n0 525 239.5\n0 0 1\n' > cam.txt
cp cam.txt cam2.txt
printf '1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n' | tee poses/frame-000000.pose.txt > poses/frame-000001.pose.txt
printf 'frame-000000.png\nframe-000001.png\n' > colors/list.txt
printf 'a.bin 0\nb.bin 0.1\n' > scans.txt
printf '0 0 0 0\n0.1 1 0 0\n0.2 2 1 0\n' > at.txt && printf '0\n0.1\n0.2\n' > three.txt
mkdir lab && head -c 1200 a.bin | tee lab/a.label > lab/b.label
printf 'a.bin b.bin\nb.bin a.bin\n' > pairs.txt
printf 'a.bin\nb.bin\n' > names.txt
printf '0\n5\n' > seeds.txt
printf 'sample:\n  count: 3\n' > sample.yaml
printf 'voxelize:\n  voxel_size: 1\n' > voxelize.yaml
printf 'CLASS_NAMES: [Car]\nDATA_CONFIG:\n  _BASE_CONFIG_: cfgs/data.yaml\n' > cfgs/model.yaml
cp "$PCGPU_SOURCE/tests/cli/openpcdet/cfgs/dataset_configs/kitti_dataset.yaml" cfgs/data.yaml
cp a.bin nu/samples/x.pcd.bin
cp b.bin nu/sweeps/y.pcd.bin
cp b.bin nu/sweeps/z.pcd.bin
ROW='"ego_pose_token": "e", "calibrated_sensor_token": "s", "timestamp"'
printf '[{"token": "t", "prev": "u", "filename": "samples/x.pcd.bin", %s: 3000000}, {"token": "u", "prev": "v", "filename": "sweeps/y.pcd.bin", %s: 2000000},
 {"token": "v", "prev": "", "filename": "sweeps/z.pcd.bin", %s: 1000000}]' "$ROW" "$ROW" "$ROW" > nu/v1.0-mini/sample_data.json
for NAME in ego_pose:e calibrated_sensor:s; do
    printf '[{"token": "%s", "rotation": [1, 0, 0, 0], "translation": [0, 0, 0]}]' "${NAME#*:}" > "nu/v1.0-mini/${NAME%:*}.json"
done

# The options, a line for each row of the table: OPTION:COMMANDS FILE COMMAND...
cat > ../rows << END
seeds:FOR_SAMPLE seeds.txt sample -m 3 --seeds seeds.txt a.bin
nuscenes:FOR_SWEEPS nu/v1.0-mini/sample_data.json sample -m 3 --set sweeps=2 --set nuscenes=nu --fields 4 nu/samples/x.pcd.bin
scans:FOR_SWEEPS scans.txt sample -m 3 --set sweeps=2 --set scans=scans.txt --set poses=poses.txt b.bin
poses:FOR_SWEEPS poses.txt sample -m 3 --set sweeps=2 --set scans=scans.txt --set poses=poses.txt b.bin
poses:FOR_FILTER T.txt filter --normals 5 --set poses=T.txt a.bin
target-camera:FOR_REGISTER cam2.txt register --camera cam.txt --set target-camera=cam2.txt,depth_scale=0.001 frames/frame-000001.png frames/frame-000000.png
camera:FOR_READERS cam.txt info --camera cam.txt frames/frame-000000.png
init:FOR_REGISTER T.txt register --init T.txt a.bin b.bin
init:FOR_ODOMETRY T.txt odometry --init T.txt a.bin b.bin
map:FOR_ODOMETRY a.bin odometry --map a.bin b.bin
into:FOR_ODOMETRY a.bin odometry --into a.bin b.bin
guess:FOR_ODOMETRY poses.txt odometry --guess poses.txt a.bin b.bin
prior:FOR_ODOMETRY at.txt odometry --prior at.txt --timestamps three.txt a.bin b.bin ./a.bin
pairs:FOR_REGISTER pairs.txt register --pairs pairs.txt
timestamps:FOR_TRAJECTORY times.txt odometry --timestamps times.txt a.bin b.bin
ground-truth:FOR_TRAJECTORY poses.txt odometry --ground-truth poses.txt a.bin b.bin
ground-truth:FOR_VIEW poses.txt view poses.txt --ground-truth poses.txt -o m.png
calibration:FOR_TRAJECTORY calib.txt odometry --ground-truth poses.txt --set calibration=calib.txt a.bin b.bin
poses:FOR_FUSE poses.txt fuse --camera cam.txt --poses poses.txt frames/ -o m.ply
color:FOR_MODEL colors/list.txt fuse --camera cam.txt --poses poses.txt --color colors/list.txt frames/ -o m.ply
labels:FOR_LABELS lab/a.label convert --labels lab/a.label a.bin -o m.ply
boxes:FOR_CONVERT boxes.txt convert --boxes boxes.txt a.bin -o m.ply
transform:FOR_CONVERT T.txt convert --transform T.txt a.bin -o m.ply
files-from:FOR_FOLDERS names.txt info --files-from names.txt
config:FOR_ALL sample.yaml sample --config sample.yaml a.bin -o m.bin
END
# What is read besides.
cat > ../found << END
list colors/frame-000001.png fuse --camera cam.txt --poses poses.txt --color colors/list.txt frames/ -o m.ply
folder colors/frame-000001.png fuse --camera cam.txt --poses poses.txt --color colors frames/ -o m.ply
folder colors/frame-000001.png odometry --camera cam.txt --reference model --color colors frames/ -o m.ply
labels lab/b.label convert --labels lab a.bin b.bin -o out/ --output-format ply
pose poses/frame-000001.pose.txt fuse --camera cam.txt --poses poses frames/ -o m.ply
truth poses/frame-000001.pose.txt odometry --ground-truth poses a.bin b.bin
truth poses/frame-000001.pose.txt evaluate --ground-truth poses poses.txt
sweep nu/sweeps/y.pcd.bin sample -m 3 --set sweeps=3 --set nuscenes=nu --fields 4 nu/samples/x.pcd.bin
earlier nu/sweeps/z.pcd.bin sample -m 3 --set sweeps=3 --set nuscenes=nu --fields 4 nu/samples/x.pcd.bin
table nu/v1.0-mini/ego_pose.json sample -m 3 --set sweeps=2 --set nuscenes=nu --fields 4 nu/samples/x.pcd.bin
scan a.bin sample -m 3 --set sweeps=2 --set scans=scans.txt --set poses=poses.txt b.bin
times kitti/times.txt odometry kitti
truth kitti/poses.txt odometry kitti
calibration kitti/calib.txt odometry kitti
calibration kitti/calib.txt odometry --ground-truth poses.txt kitti
base cfgs/data.yaml voxelize --config cfgs/model.yaml --voxel-size 1 --max-points 5 --max-voxels 9 a.bin -o m.npz
base cfgs/data.yaml voxelize --config cfgs/model.yaml --voxel-size 1 --range=-9,-9,-9,9,9,9 --max-points 5 --max-voxels 9 a.bin -o m.npz
first sample.yaml sample --config sample.yaml --config voxelize.yaml -m 3 a.bin -o m.bin
camera cam.txt view --camera cam.txt frames/frame-000000.png -o m.png
shard b.bin sample -m 3 --shard 1/2 --files-from names.txt -o out/
shard b.bin register --pairs pairs.txt --shard 1/2
name b.bin info --files-from names.txt
input poses.txt evaluate --ground-truth kitti/poses.txt poses.txt
END

# Each row with the flag has a line above, and each option that takes the name of a file has the flag or is known here.
# The commands are 0 in the table of a command.
(cd "$PCGPU_SOURCE/cmd" && for FILE in */options.c */*_options.c fuse/fuse.c view/view_command.c; do
    tr '\n' ' ' < "$FILE" | sed 's/ {"/\n{"/g' | sed -n 's/^{"\([a-z-]*\)", \(.*\)/\1 \2/p' |
        sed "s/^\([a-z-]* [^,]*,\) *0,/\1 FOR_$(echo "${FILE%%/*}" | tr a-z A-Z),/"
done) > ../table
FLAGGED=$(awk '/OPTION_INPUT/ { sub(",", "", $3); print $1 ":" $3 }' ../table | sort)
[ "$FLAGGED" = "$(cut -d ' ' -f 1 ../rows | sort)" ] || die "options that are inputs: $(echo $FLAGGED)"
OTHERS=$(awk '/type_path/ && !/OPTION_INPUT/ && !/OPTION_OUTPUT/ { print $1 }' ../table | sort -u | tr '\n' ' ')
[ "$OTHERS" = 'color columns json keep remove shard temporary-folder topic ' ] || die "options that are neither inputs nor outputs: $OTHERS"

# unharmed FILE COMMAND...: by its name, a symbolic and a hard link, for real and in a dry run.
unharmed() {
    KEPT=$1
    shift
    cp "$KEPT" ../kept
    ln -s "$KEPT" soft.link
    ln "$KEPT" hard.link
    for NAME in "$KEPT" "./$KEPT" "$PWD/$KEPT" soft.link hard.link; do
        expect 1 pcgpu "$@" -f --json "$NAME"
        stderr_has ': is an input of this run; give another name for the output$'
        same "$KEPT" ../kept
    done
    expect 1 pcgpu "$@" -f --json hard.link --dry-run
    stderr_has ': is an input of this run; give another name for the output$'
    rm -f soft.link hard.link
    absent m.ply m.npz m.bin m.png
}
cat ../rows ../found > ../all
while read -r WHAT FILE COMMAND; do
    unharmed "$FILE" $COMMAND < /dev/null
    absent out/b.bin
    rm -rf out
done < ../all

# Other outputs than --json.
cp cam2.txt ../kept
expect 1 pcgpu register --camera cam.txt --set target-camera=cam2.txt frames/frame-000001.png frames/frame-000000.png -f --transform cam2.txt
same cam2.txt ../kept
expect 1 pcgpu fuse --camera cam.txt --poses poses.txt --color colors frames/ -f --output-format ply -o colors/frame-000001.png
expect 1 pcgpu sample -m 3 --set sweeps=3 --set nuscenes=nu --fields 4 nu/samples/x.pcd.bin -f -o nu/sweeps/y.pcd.bin
same b.bin nu/sweeps/y.pcd.bin
# A folder of inputs may have outputs of earlier runs, too.
expect 0 pcgpu fuse --voxel-size 0.1 --camera cam.txt --poses poses.txt --color colors frames/ -o colors/m.ply
expect 0 pcgpu fuse --voxel-size 0.1 --camera cam.txt --poses poses.txt --color colors frames/ -f -o colors/m.ply

# A dry run looks at each of them, too.
while read -r WHAT FILE COMMAND; do
    mv "$FILE" ../away
    pcgpu $COMMAND --dry-run < /dev/null > "$OUT" 2> "$ERR"
    case $? in 1 | 2) checked ;; *) LAST="$COMMAND --dry-run"; die "$FILE is not there" ;; esac
    mv ../away "$FILE"
    pcgpu $COMMAND --dry-run < /dev/null > "$OUT" 2> "$ERR" || die "a dry run of $COMMAND"
done < ../rows

finish
