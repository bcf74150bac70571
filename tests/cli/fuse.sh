# fuse: depth images with known poses become a model, points or triangles; and what does not fit is refused.
. "${0%/*}/lib.sh"
ROOM=$PCGPU_SOURCE/testdata/room
CONFIG="--config $ROOM/camera.yaml"
FRAMES="$ROOM/frame-000000.png $ROOM/frame-000001.png $ROOM/frame-000002.png $ROOM/frame-000003.png"
FUSE="pcgpu fuse $CONFIG --voxel-size 0.04"

# number NAME FILE: of the header of a .ply
number() { sed -n "s/^element $1 //p; /^end_header/q" "$2"; }

# The same from both kinds of poses to the last digits of the file, from any number of threads to the last bit.
expect 0 $FUSE --poses "$ROOM/poses_kitti.txt" $FRAMES -o model.ply --mesh mesh.ply --json result.json -v
stderr_has '^pcgpu: .*/frame-000003\.png: 307200 of 307200 pixels have a depth; [0-9]+ new blocks, [0-9]+ updated$'
stderr_has ': 4 images fused at 0\.04 m: [0-9]+ blocks, [0-9.]+ MB; [0-9]+ surface points, [0-9]+ triangles$'
present model.ply mesh.ply
VERTICES=$(number vertex model.ply)
[ "$VERTICES" -gt 5000 ] && [ "$VERTICES" -lt 50000 ] || die "$VERTICES surface points"
[ "$VERTICES" = "$(number vertex mesh.ply)" ] || die 'the mesh has other vertices than the model'
FACES=$(number face mesh.ply)
grep -q "\"frames\": 4, \"left_out\": 0, .*\"vertices\": $VERTICES, \"triangles\": $FACES" result.json || die 'the result of --json'
grep -q '"inputs": \[".*/frame-000000.png", ".*/frame-000003.png"\]' result.json || die 'the inputs of --json'
grep -q '"depth": {"pixels": 1228800, "no_return": 0, "out_of_range": 0}' result.json || die 'the pixels of --json'
HEADER=$(sed '/^end_header/q' mesh.ply | wc -c)
size_is mesh.ply $((HEADER + 24 * VERTICES + 13 * FACES))
for THREADS in 1 16; do
    expect 0 $FUSE --threads $THREADS --poses "$ROOM/poses_kitti.txt" $FRAMES -o model$THREADS.ply --mesh mesh$THREADS.ply
    stderr_is_one '^pcgpu: .*: 4 images fused at '
    same model.ply model$THREADS.ply
    same mesh.ply mesh$THREADS.ply
done
expect 0 $FUSE --poses "$ROOM/poses_tum.txt" $FRAMES -o tum.ply
[ "$VERTICES" = "$(number vertex tum.ply)" ] || die "TUM poses give $(number vertex tum.ply) points"
says "^mesh\.ply: ply, $VERTICES points, 6 columns$" pcgpu info mesh.ply # what was written is a cloud, too

# Standard output, a folder, and other formats of points; only one of both outputs.
into ../stdout.ply $FUSE --poses "$ROOM/poses_kitti.txt" $FRAMES --mesh - -f
same ../stdout.ply mesh.ply
mkdir folder
makes folder/frame-000000.ply model.ply $FUSE --poses "$ROOM/poses_kitti.txt" $FRAMES -o folder/ --mesh folder/ --output-format ply
same folder/frame-000000.mesh.ply mesh.ply
sized model.bin $((24 * VERTICES)) $FUSE --poses "$ROOM/poses_kitti.txt" $FRAMES -o model.bin

# An image without a pose is left out; comments and empty lines are no poses.
{ echo '# comment'; sed -n 1p "$ROOM/poses_kitti.txt"; echo; sed -n 2p "$ROOM/poses_kitti.txt"
  echo 'nan nan nan nan nan nan nan nan nan nan nan nan'; sed -n 4p "$ROOM/poses_kitti.txt"; } > gap.txt
tells "^pcgpu: .*frame-000002.png: warning: has no pose and is left out: line 5 of gap.txt$" $FUSE --poses gap.txt $FRAMES -o gap.ply
stderr_has "^pcgpu: .*: 3 images fused at "
sed -n '1,2p;4p' "$ROOM/poses_kitti.txt" > three.txt
set -- $FRAMES
makes gap.ply three.ply $FUSE --poses three.txt "$1" "$2" "$4" -o three.ply
pcgpu fuse $CONFIG --voxel-size 0.04 --poses - "$1" "$2" "$4" -o stdin.ply < three.txt > "$OUT" 2> "$ERR" || die 'poses on standard input'
same stdin.ply three.ply

# Other parameters, also in a configuration; those of models do not matter to a pair.
printf 'fuse:\n  voxel_size: 0.08\n  truncation: 0.4\n' > model.yaml
expect 0 pcgpu fuse $CONFIG --config model.yaml --poses "$ROOM/poses_kitti.txt" $FRAMES -o coarse.ply --json - -f
stdout_has '"voxel_size": 0.08, "truncation": 0.4, "blocks"'
[ "$(number vertex coarse.ply)" -lt $((VERTICES / 2)) ] || die 'larger voxels give more points'
expect 0 pcgpu register --dry-run $CONFIG --config model.yaml "$1" "$2" # read past

# Nothing to see.
printf 'P5\n2 2\n65535\n\0\0\0\0\0\0\0\0' > none.pgm
echo '1 0 0 0 0 1 0 0 0 0 1 0' > one.txt
expect 0 pcgpu fuse --camera 1,1,0,0 --poses one.txt none.pgm -o empty.ply --mesh empty_mesh.ply
stderr_has '^pcgpu: empty\.ply: warning: the model has no surface; check the camera, the poses and the size of the voxels$'
[ "$(number vertex empty.ply)" = 0 ] && [ "$(number face empty_mesh.ply)" = 0 ] || die 'an empty model'

# No pose at all: no model, and one that is there stays.
cp three.ply stays.ply
expect 4 pcgpu odometry --cpu --camera 1,1,0,0 none.pgm --trajectory lost.out -o stays.ply -f
stderr_has 'stays.ply: no image has a pose, so there is no model, and nothing is written'
same stays.ply three.ply

# Images named by numbers have no times; those named by times have the pose nearest in time, in any order of the lines.
awk '{ print $0 }' "$ROOM/poses_tum.txt" | grep -v '^#' > tum.txt
mkdir numbers times
N=0
for frame in $FRAMES; do
    cp "$frame" "numbers/00000$N.png"
    cp "$frame" "times/$(sed -n $((N + 1))p tum.txt | awk '{ printf "%.6f", 1305031000 + $1 }').png"
    N=$((N + 1))
done
cat tum.txt tum.txt | awk '{ $1 = NR - 1; print }' > longer.txt
expect 1 $FUSE --poses longer.txt numbers/*.png -o numbers.ply
stderr_has 'longer.txt: 8 poses for 4 images'
awk '{ $1 = sprintf("%.6f", 1305031000 + $1); print } END { $1 = "1305030000.000000"; print }' tum.txt | tac > backwards.txt
expect 0 $FUSE --poses backwards.txt times/*.png -o times.ply
makes times.ply frames.ply $FUSE --poses tum.txt $FRAMES -o frames.ply
# A mesh is a .ply, .obj or .glb by its name. tests/oracle reads all three.
expect 0 $FUSE --poses "$ROOM/poses_kitti.txt" $FRAMES --mesh mesh.obj
[ "$(grep -c '^v ' mesh.obj)" = "$VERTICES" ] && [ "$(grep -c '^f ' mesh.obj)" = "$FACES" ] || die 'another mesh as .obj'
expect 0 $FUSE --poses "$ROOM/poses_kitti.txt" $FRAMES --mesh mesh.GLB
[ "$(head -c 4 mesh.GLB)" = glTF ] || die 'no .glb'
[ "$(od -An -t u4 -j 8 -N 4 mesh.GLB | tr -d ' ')" = "$(wc -c < mesh.GLB)" ] || die 'a .glb of another length than it says'
expect 0 pcgpu fuse --camera 1,1,0,0 --poses one.txt none.pgm --mesh none.glb
sized none.obj 0 pcgpu fuse --camera 1,1,0,0 --poses one.txt none.pgm --mesh none.obj

# Colours: images with the names of the depth images in a folder, or a list; the surface stays as it is. Flat colours, so that every
# vertex has them: what room --color writes is in tests/scene.
cat > rgb.awk <<'END'
BEGIN { printf "P6\n640 480\n255\n"; for (i = 0; i < 640 * 480; i++) printf "%s", "d2(" }
END
awk -f rgb.awk > rgb.ppm
if command -v python3 >/dev/null; then
    python3 - rgb.ppm rgb.png <<'END'
import struct, sys, zlib
pixels = open(sys.argv[1], 'rb').read()[-640 * 480 * 3:]
def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
rows = b''.join(b'\0' + pixels[1920 * i:1920 * (i + 1)] for i in range(480))
open(sys.argv[2], 'wb').write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 640, 480, 8, 2, 0, 0, 0)) +
                              chunk(b'IDAT', zlib.compress(rows, 1)) + chunk(b'IEND', b''))
END
    mkdir colors
    for i in 0 1 2 3; do cp rgb.png colors/frame-00000$i.png; echo colors/frame-00000$i.png; done > colors.txt
    expect 0 $FUSE --poses "$ROOM/poses_kitti.txt" $FRAMES --color colors -o colored.ply --mesh colored.obj
    makes colored.ply listed.ply $FUSE --poses "$ROOM/poses_kitti.txt" $FRAMES --color colors.txt -o listed.ply --mesh colored.glb
    grep -aq '^property uchar blue$' colored.ply || die 'no colours in .ply'
    expect 0 pcgpu convert colored.ply --columns x,y,z,red,green,blue -o colored.txt --output-format xyz
    # d2( are 100, 50 and 40
    awk '$4 != 100 || $5 != 50 || $6 != 40 { n++ } END { exit !(NR > 5000 && n < NR / 50) }' colored.txt || die 'other colours'
    makes without.ply model.ply pcgpu convert colored.ply --columns x,y,z,nx,ny,nz -o without.ply
    head -n 1 colored.obj | grep -Eq '^v( -?[0-9.e-]+){3} 0\.39215[0-9]* 0\.19607[0-9]* 0\.15686[0-9]*$' || die 'no colours in .obj'
    grep -aq '"COLOR_0":3' colored.glb || die 'no colours in .glb'
    expect 0 pcgpu view colored.ply -o colored.png

    # TUM RGB-D: by times, some of which are missing.
    mkdir tum && mkdir tum/depth tum/rgb
    for i in 0 1 2 3; do cp "$ROOM/frame-00000$i.png" tum/depth/10.$i.png && cp rgb.png tum/rgb/10.${i}01.png; done
    printf '# color images\n10.001 rgb/10.001.png\n10.101 rgb/10.101.png\n10.201 rgb/10.201.png\n' > tum/rgb.txt
    expect 0 $FUSE --poses "$ROOM/poses_kitti.txt" tum/depth/*.png --color tum/rgb.txt -o tum_colored.ply
    stderr_has 'rgb\.txt: warning: 1 of 4 depth images have no colour image within 0\.02 s; they add shape only$'
    printf '20.001 rgb/10.001.png\n' > tum/late.txt
    expect 1 $FUSE --poses "$ROOM/poses_kitti.txt" tum/depth/*.png --color tum/late.txt -o no.ply
    stderr_is_one 'late\.txt: no colour image is within 0\.02 s of a depth image; give the list that belongs to them$'
    # 7-Scenes: depth and colour side by side.
    mkdir scenes
    for i in 0 1 2 3; do cp "$ROOM/frame-00000$i.png" scenes/f$i.depth.png && cp rgb.png scenes/f$i.color.png; done
    makes scenes.ply colored.ply $FUSE --poses "$ROOM/poses_kitti.txt" scenes/*.depth.png --color scenes -o scenes.ply
    # The model of odometry.
    head -n 1 "$ROOM/poses_kitti.txt" > first.txt
    expect 0 pcgpu odometry $CONFIG --map-voxel 0.04 --init first.txt $FRAMES --color colors --trajectory t.txt -o map.ply
    grep -aq '^property uchar blue$' map.ply || die 'no colours in the model of odometry'

    # What does not fit.
    rm colors/frame-000002.png
    expect 1 $FUSE --poses "$ROOM/poses_kitti.txt" $FRAMES --color colors -o no.ply
    stderr_is_one 'colors: no colour image for .*frame-000002\.png; it has the name of the depth image, or color or rgb in place of depth'
    printf '\377\330\377\340jpeg' > colors/frame-000002.jpg
    expect 1 $FUSE --poses "$ROOM/poses_kitti.txt" $FRAMES --color colors -o no.ply
    stderr_has 'frame-000002\.jpg: is a JPEG image, and colour images are read as \.png; convert them: magick mogrify -format png \*\.jpg$'
    head -n 3 colors.txt > three_colors.txt
    expect 1 $FUSE --poses "$ROOM/poses_kitti.txt" $FRAMES --color three_colors.txt -o no.ply
    stderr_is_one 'three_colors\.txt: 3 colour images for 4 depth images; give one per line, in the order of the depth images$'
    cp "$PCGPU_SOURCE/testdata/pictures/room.png" colors/frame-000002.png
    expect 1 $FUSE --poses "$ROOM/poses_kitti.txt" $FRAMES --color colors -o no.ply
    stderr_has 'frame-000002\.png: has [0-9]+ x [0-9]+ pixels and the depth image 640 x 480; give colour images that are registered'
    absent no.ply
fi

# Images that are named by their times get the pose that is nearest in time, within 0.02 s.
mkdir timed
cp "$ROOM/frame-000000.png" timed/10.00.png
cp "$ROOM/frame-000001.png" timed/20.00.png
printf '10.001 0 0 0 0 0 0 1\n20.5 0 0 0 0 0 0 1\n30 0 0 0 0 0 0 1\n' > timed.tum
expect 0 $FUSE --poses timed.tum timed -o timed.ply
stderr_has '^pcgpu: timed/20\.00\.png: warning: has no pose and is left out: line 2 of timed\.tum$'
stderr_has '^pcgpu: timed\.ply: 1 image fused at '
finish
