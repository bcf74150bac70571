# Trajectories, cameras and lists as they come: each format gives the same as the others; what is said of each: answers.list.
. "${0%/*}/lib.sh"
ROOM=$PCGPU_SOURCE/testdata/room
CAMERA=525,525,319.5,239.5,depth_scale=1000 # of camera.yaml there
FRAMES="$ROOM/frame-000000.png $ROOM/frame-000001.png $ROOM/frame-000002.png $ROOM/frame-000003.png"
FUSE="pcgpu fuse --camera $CAMERA --voxel-size 0.05"

# The poses of the room, 12 numbers per line, as others write them.
cp "$ROOM/poses_kitti.txt" kitti.txt
POSES=$(grep -vc '^#' kitti.txt)
rows='{ for (r = 0; r < 3; r++) print $(4*r+1), $(4*r+2), $(4*r+3), $(4*r+4); print "0 0 0 1" }'
awk "{ print NR - 1, NR - 1, NR } $rows" kitti.txt > open3d.log
awk "$rows" kitti.txt > matrices.txt
mkdir folder
awk "{ file = sprintf(\"folder/frame-%06d.pose.txt\", NR - 1) } { for (r = 0; r < 3; r++) print \$(4*r+1), \$(4*r+2), \$(4*r+3), \$(4*r+4) > file; print \"0 0 0 1\" > file }" kitti.txt
: > folder/frame-000000.depth.png # what is no pose is left
awk '{ printf "%d ", NR; print }' kitti.txt > timed.txt
# JSON has the inverse, by columns; here of exact rotations, so that inverting loses nothing.
printf '1 0 0 0.5 0 1 0 -2 0 0 1 3\n0 -1 0 1 1 0 0 2 0 0 1 3\n0 0 1 0.25 1 0 0 0.5 0 1 0 -1\n' > exact.txt
awk 'BEGIN { print "{ \"class_name\": \"PinholeCameraTrajectory\", \"version_major\": 1, \"parameters\": [" }
{ x = -($1*$4 + $5*$8 + $9*$12); y = -($2*$4 + $6*$8 + $10*$12); z = -($3*$4 + $7*$8 + $11*$12)
  if (NR > 1) print ","
  printf "{ \"extrinsic\": [%s, %s, %s, 0, %s, %s, %s, 0, %s, %s, %s, 0, %s, %s, %s, 1],\n", $1, $2, $3, $5, $6, $7, $9, $10, $11, x, y, z
  print "  \"intrinsic\": { \"height\": 480, \"intrinsic_matrix\": [525, 0, 0, 0, 526, 0, 319.5, 239.5, 1], \"width\": 640 } }" }
END { print "] }" }' exact.txt > trajectory.json

expect 0 $FUSE --poses kitti.txt $FRAMES -o wanted.ply
for FILE in open3d.log matrices.txt folder timed.txt; do
    makes got.ply wanted.ply $FUSE --poses $FILE $FRAMES -o got.ply -f
    expect 0 $FUSE --poses $FILE $FRAMES -o dry.ply --dry-run
    says "(^|[^0-9])$POSES( |$)" pcgpu evaluate $FILE --ground-truth kitti.txt
done
says '"ate_rmse": 0, ' pcgpu evaluate exact.txt --ground-truth trajectory.json --json -

# A frame that was lost: nan, inf, or as the C library of Windows writes it.
for WORD in nan inf -1.#IND; do
    { for ROW in 1 2 3; do echo "$WORD $WORD $WORD $WORD"; done; echo 0 0 0 1; } > folder/frame-000001.pose.txt
    tells 'frame-000001\.png: warning: has no pose and is left out: line 2 of folder$' $FUSE --poses folder $FRAMES -o lost.ply -f
done

# Times since 1970 in nanoseconds, as ORB-SLAM3 writes them, micro- and milliseconds; EuRoC, with w first in its quaternions,
# with and without velocity and biases.
awk '!/^#/ { $1 = sprintf("%.1f", 1403636579 + n++ * 0.5); print }' "$ROOM/poses_tum.txt" > s.txt
for UNIT in 1e9 1e6 1e3; do
    awk -v unit=$UNIT '{ $1 = sprintf("%.6f", $1 * unit); print }' s.txt > unit$UNIT.txt
done
awk 'BEGIN { OFS = ","; print "#timestamp, p_RS_R_x [m], p_RS_R_y [m], p_RS_R_z [m], q_RS_w [], q_RS_x [], q_RS_y [], q_RS_z [], v_RS_R_x [m s^-1]" }
    { print sprintf("%.0f", $1 * 1e9), $2, $3, $4, $8, $5, $6, $7, 1, 2, 3, 4, 5, 6, 7, 8, 9 }' s.txt > euroc.csv
cut -d, -f1-8 euroc.csv > short.csv
sed 1d euroc.csv > data.csv
expect 0 pcgpu evaluate s.txt --ground-truth s.txt --json -
cut -d, -f5- "$OUT" > wanted.json
for FILE in unit1e9.txt unit1e6.txt unit1e3.txt euroc.csv short.csv data.csv; do
    expect 0 pcgpu evaluate $FILE --ground-truth s.txt --json -
    cut -d, -f5- "$OUT" > got.json
    same got.json wanted.json
    expect 0 pcgpu evaluate s.txt --ground-truth $FILE --json -
    cut -d, -f5- "$OUT" > got.json
    same got.json wanted.json
done
quiet "$PCGPU" view euroc.csv -o path.png
sed 2d s.txt > gap.txt
says '^3 poses compared, 0 missing' pcgpu evaluate s.txt --ground-truth gap.txt
stderr_is 'pcgpu: s.txt: warning: 1 of 4 poses are left out: gap.txt has no pose within 0.02 s, or another pose is nearer to it'
# A path of ten poses per second against one of a hundred, either way: each true pose has one estimate, the nearest.
awk 'BEGIN { for (i = 0; i < 300; i++) printf "%.2f %.9f 0 0 0 0 0 1\n", i / 100, i / 10 }' > fast.txt
awk 'NR % 10 == 1' fast.txt > slow.txt
cat slow.txt slow.txt | sort -g > twice.txt
for pair in 'fast slow' 'slow fast' 'twice slow'; do
    says '^30 poses compared, 0 missing, 29.000 m' pcgpu evaluate ${pair% *}.txt --ground-truth ${pair#* }.txt
    stdout_has 'RMSE 0.000000 m, mean 0.000000 m'
done
# Of two lines at one time the first counts, in both files.
{ cat slow.txt; awk 'NR == 7 { $2 += 5; print }' slow.txt; } | sort -s -g -k1,1 > repeated.txt
says '^30 poses compared' pcgpu evaluate repeated.txt --ground-truth repeated.txt
stdout_has 'RMSE 0.000000 m, mean 0.000000 m'


# The times of --timestamps, for lines that have none.
awk '{ print 1, 0, 0, $2, 0, 1, 0, 0, 0, 0, 1, 0 }' slow.txt > slow.kitti
cut -d' ' -f1 slow.txt > slow.times
says '^30 poses compared, 0 missing' pcgpu evaluate slow.kitti --timestamps slow.times --ground-truth fast.txt
stdout_has 'RMSE 0.000000 m, mean 0.000000 m'
# A gap: the path is the true one, and nothing is measured across it. A circle of 100 m, and 1 % more.
for scale in 100 101; do
    awk -v r=$scale 'BEGIN { for (i = 0; i < 629; i++) { a = i / 100; c = cos(a); s = sin(a)
        printf "%.9f %.9f 0 %.9f %.9f %.9f 0 %.9f 0 0 1 0\n", c, -s, r * c, s, c, r * s } }' > circle$scale.txt
done
awk 'NR > 100 && NR < 400 { $0 = "nan nan nan nan nan nan nan nan nan nan nan nan" } { print }' circle101.txt > circle_gap.txt
says '^629 poses compared, 0 missing, 627.997 m' pcgpu evaluate circle101.txt --ground-truth circle100.txt
stdout_has 'from pose to pose +628 pairs +0.010000 m'
stdout_has ' 5 m +623 pieces +1.1998 %'
says '^330 poses compared, 299 missing, 627.997 m' pcgpu evaluate circle_gap.txt --ground-truth circle100.txt
stdout_has 'from pose to pose +328 pairs +0.010000 m'
stdout_has ' 5 m +318 pieces +1.1998 %'
# Standard input without a name.
mv "$OUT" gap.table
"$PCGPU" evaluate --ground-truth circle100.txt < circle_gap.txt > "$OUT" 2> "$ERR"
expected 0 $?
same "$OUT" gap.table
quiet pcgpu evaluate gap.txt --ground-truth s.txt

# Text of Windows: a mark of UTF-8 before the first line, and lines that end in \r\n.
windows() { printf '\357\273\277'; sed "s/\$/$(printf '\r')/" "$@"; }
windows kitti.txt > windows.txt
ls $FRAMES | windows > list.txt
printf '1 0 0 1\n0 1 0 2\n0 0 1 3\n0 0 0 1\n' > T.txt
windows T.txt > wT.txt
makes got.ply wanted.ply $FUSE --poses windows.txt --files-from list.txt -o got.ply -f
expect 0 pcgpu convert --transform T.txt "$PCGPU_SOURCE/testdata/street.bin" -o T.bin
makes wT.bin T.bin pcgpu convert --transform wT.txt "$PCGPU_SOURCE/testdata/street.bin" -o wT.bin

# A camera beside the others of a configuration, and that of a trajectory.
printf '{ "width": 3, "height": 2, "intrinsic_matrix": [ 2, 0, 0, 0, 4, 0, 1, 0.5, 1 ] }\n' > camera.json
printf 'P5 3 2 65535\n\003\350\003\350\003\350\003\350\003\350\007\320' > d.pgm
echo 'camera: ./camera.json' > c.yaml
expect 0 pcgpu sample -m 3 --config c.yaml d.pgm -o plain.bin
expect 0 pcgpu sample -m 3 --camera trajectory.json,width=3,height=2 d.pgm -o got.bin

# TUM RGB-D: depth.txt and associations as lists, names relative to them; images named by their times get the nearest pose.
mkdir -p tum/depth tum/rgb
I=0
for FRAME in $FRAMES; do
    cp "$FRAME" tum/depth/1305031102.$((160407 + I * 33000)).png
    I=$((I + 1))
done
(cd tum && echo '# depth maps' && for F in depth/*; do N=${F#depth/}; echo "${N%.png} $F"; done) > tum/depth.txt
(cd tum && for F in depth/*; do N=${F#depth/}; echo "${N%.png} rgb/$N ${N%.png} $F"; done) > tum/associations.txt
makes got.ply wanted.ply $FUSE --poses kitti.txt --files-from tum/depth.txt -o got.ply -f
makes got.ply wanted.ply $FUSE --poses kitti.txt --files-from tum/associations.txt -o got.ply -f
# The truth has more poses than there are images, and other times.
grep -v '^#' "$ROOM/poses_tum.txt" | awk '{ t = 1305031102.160407 + (NR - 1) * 0.033
    for (k = -1; k <= 1; k++) { printf "%.6f", t + k * 0.011; print (k == 0 ? "" : " 9 9 9 0 0 0 1") (k == 0 ? substr($0, length($1) + 1) : "") } }' > truth.txt
expect 0 $FUSE --poses "$ROOM/poses_tum.txt" $FRAMES -o wanted_tum.ply
makes got.ply wanted_tum.ply $FUSE --poses truth.txt --files-from tum/depth.txt -o got.ply -f
sed 4,6d truth.txt > gap.txt # the second image has none within 0.02 s
tells '1305031102\.193407\.png: warning: has no pose and is left out' $FUSE --poses gap.txt --files-from tum/depth.txt -o got.ply -f
for LIST in depth associations; do
    expect 0 pcgpu odometry --camera "$CAMERA" --files-from tum/$LIST.txt --timestamps tum/$LIST.txt --trajectory - --trajectory-format tum
    stdout_has '^1305031102\.160407 0 0 0'
    stdout_has '^1305031102\.193407 '
done

awk 'BEGIN { for (i = 0; i < 10; i++) printf "%d.%d %g 0 0 0 0 0 1\n", 1700000000, i, i * i }' > seconds.tum
printf '%s 0 0 0 0 0 0 1\n' 0 1 2 > seconds3.tum
# The order of the lines changes no match; of the estimate it is said, since neighbours are compared.
expect 0 pcgpu evaluate seconds.tum --ground-truth seconds.tum
mv "$OUT" ordered
sort -rg seconds.tum > back.tum
{ tail -n 4 seconds.tum; head -n 6 seconds.tum; } > halves.tum
for TRUTH in back.tum halves.tum; do
    gives ordered pcgpu evaluate seconds.tum --ground-truth $TRUTH
    stderr_is ''
    says '^10 poses compared, 0 missing' pcgpu evaluate $TRUTH --ground-truth seconds.tum
    stderr_is_one "^pcgpu: $TRUTH: warning: the time of pose .* sort its lines by time"
done
# However far away a pose is, a chart ends.
for FAR in 1e13 99999999999999999999 1e150 1e300 1.7e308; do
    printf '0 1 0 0 0 0 1 0 0 0 0 1 0\n1 1 0 0 0 0 1 0 0 0 0 1 %s\n2 1 0 0 0 0 1 0 0 0 0 1 0\n' $FAR > far.txt
    expect 0 timeout 10 "$PCGPU" evaluate far.txt --ground-truth seconds3.tum --plot far.png -f
    present far.png
    expect 0 timeout 10 "$PCGPU" view far.txt -o far.png -f
done
finish
