# info: of clouds, depth images, poses and configurations, and of the build and machine.
. "${0%/*}/lib.sh"
{ echo '0 0 0 1'; echo '1 2 3 4'; echo '1 2 3 4'; echo 'nan 0 0 0'; echo '-5 6 7 8'; } | floats > a.bin

says 'a\.bin' "$PCGPU" info a.bin
stdout_has '(^|[^0-9])5([^0-9]|$)'
stdout_has 'intensity'
stdout_has '-5'
stdout_has '^  odd: 1 of 5 points have NaN or infinity in x, y or z'
stdout_has '^  odd: 1 points are at \(0,0,0\)'
stdout_has '^  odd: 1 points are exact duplicates'
stderr_is ''
expect 0 "$PCGPU" info a.bin a.bin
expect 1 "$PCGPU" info a.bin missing.bin
stdout_has 'a\.bin'
stderr_has '^pcgpu: missing\.bin: '
cat a.bin | "$PCGPU" info - > "$OUT" 2> "$ERR"
expected 0 $?
stdout_has 'intensity'

VERSION=$("$PCGPU" --version | awk '{ print $2; exit }')
says "$VERSION" "$PCGPU" info
stdout_has '[Cc][Uu][Dd][Aa]'

# A grid of 0.5 m, 40 x 20 points in one plane, with a point 1 km away: extent, spacing, density, outlier, constant columns.
awk 'BEGIN { for (i = 0; i < 800; i++) print i % 40 * 0.5, int(i / 40) * 0.5, 1.25; print 1000, 0, 1.25 }' > plane.xyz
says '^  encoding: text, columns separated by blanks$' "$PCGPU" info plane.xyz
stdout_has '^  extent: 1000 x 9\.5 x 0 m$'
stdout_has '^  spacing: 0\.5 m to the nearest other point in the median; 0\.5 to 0\.5 m for eight of ten points$'
stdout_has '^  odd: 1 points, such as record 800, lie more than 10 times'
stdout_has '^  odd: column z is 1\.25 everywhere$'
says '"kind": "cloud", "format": "xyz", "points": 801, ' "$PCGPU" info --json - plane.xyz
stdout_has '"spacing": \[0\.5, 0\.5, 0\.5\], "density": [0-9.]+, .*"outliers": 1, .*"odd": \["1 points'

# The digits read back as the same values, also with an offset, and no exponent for UTM.
printf '512345.678 5403210.123 0.1\n512346.25 5403211.5 16777217\n' > utm.xyz
says '^  x +float64 +512345\.678 +512346\.25 ' "$PCGPU" info utm.xyz
stdout_has '^  y +float64 +5403210\.123 +5403211\.5 '
stdout_has '^  offset: 512346 5403211 '
says '"min": 512345\.678, "max": 512346\.25,' "$PCGPU" info utm.xyz --json -
echo '0.1 123456.79 1e-7 16777216' | floats > digits.bin
says '"min": 0\.1, .*"min": 123456\.79, .*"min": 1e-07, .*"min": 16777216,' "$PCGPU" info digits.bin --json -

# Two scans in one file, a micrometre apart.
awk 'BEGIN { for (i = 0; i < 800; i++) { x = i % 40 * 0.5; y = int(i / 40) * 0.5; print x, y, 0; print x + 1e-4, y, 1e-4 }
    for (i = 0; i < 2500; i++) print 30 + i % 40 * 0.5, int(i / 40) * 0.5, 0 }' > twice.xyz
says 'near-duplicates, such as of two scans' "$PCGPU" info twice.xyz

# What a file says besides its points: encoding, organized size, faces.
HEAD='VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\n'
printf "${HEAD}WIDTH 2\nHEIGHT 2\nPOINTS 4\nDATA ascii\n1 2 3\n4 5 6\n7 8 9\nnan nan nan\n" > o.pcd
says '^  encoding: ascii$' "$PCGPU" info o.pcd
stdout_has '^  organized: 2 x 2$'
says '"encoding": "ascii", "width": 2, "height": 2,' "$PCGPU" info --json - o.pcd
XYZ='property float x\nproperty float y\nproperty float z\n'
printf "ply\nformat ascii 1.0\nelement vertex 3\n${XYZ}element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 1\n1 0 0\n0 1 0\n3 0 1 2\n" > m.ply
says '^  mesh: 1 faces$' "$PCGPU" info m.ply
says '"faces": 1,' "$PCGPU" info --json - m.ply
expect 0 pcgpu sample -m 2 m.ply -o binary.ply
says '^  encoding: binary, little endian$' "$PCGPU" info binary.ply
expect 0 pcgpu sample -m 2 m.ply -o a.npy
says '^  encoding: <f4 \(2, 3\)$' "$PCGPU" info a.npy
expect 0 pcgpu sample -m 2 m.ply -o a.las
says '^  encoding: LAS 1\.2, point format 0, steps of ' "$PCGPU" info a.las

# Depth images without a camera: 65535 is no depth, either; pictures.
printf 'P5 2 3 65535\n\000\000\003\350\007\320\000\000\377\377\013\270' > d.pgm
says '^d\.pgm: pgm, 2 x 3 pixels, 16-bit, a depth image$' "$PCGPU" info d.pgm
stdout_has '^  depth: 1000 to 3000 units; where a unit is a millimetre, 1 to 3 m$'
stdout_has '^  without depth: 3 pixels, 50\.0 %, of which 1 are saturated'
expect 0 "$PCGPU" info --json - d.pgm
stdout_has '"kind": "depth image", "format": "pgm", "width": 2, "height": 3, "bits": 16, "channels": 1, "min": 1000, "max": 3000, "without_depth": 0\.5, '
says '8-bit, in colour: a picture and no depth' "$PCGPU" info "$PCGPU_SOURCE/testdata/pictures/sample.png"
printf 'P5 2 2 255\nabcd' > grey.pgm
says '^grey\.pgm: pgm, 2 x 2 pixels, 8-bit, greyscale: a picture' "$PCGPU" info grey.pgm

# Poses, whatever their format: by content.
printf '# t x y z q\n10 0 0 0 0 0 0 1\n10.5 3 4 0 0 0 0 1\n11 3 4 12 0 0 0.70710678 0.70710678\n# lost 11.5\n' > tum.txt
says '^tum\.txt: poses, TUM, 4 poses, 1 of them missing$' "$PCGPU" info tum.txt
stdout_has '^  path: 17 m and 90 degree in all, 13 m from the first to the last, at most 12 m in a step$'
stdout_has '^  times: 10 to 11\.5, 1\.5 s, 2 poses per second$'
expect 0 "$PCGPU" info tum.txt --json -
stdout_has '"kind": "poses", "format": "TUM", "poses": 4, "missing": 1, "length": 17, .*"first_to_last": 13, .*"duration": 1\.5'
cat tum.txt | "$PCGPU" info - > "$OUT" 2> "$ERR"
expected 0 $?
stdout_has '^standard input: poses, TUM, 4 poses'
says 'poses, KITTI, 4 poses$' "$PCGPU" info "$PCGPU_SOURCE/testdata/room/poses_kitti.txt"
printf '0 0 1\n1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n1 1 2\n1 0 0 2\n0 1 0 0\n0 0 1 0\n0 0 0 1\n' > two.log
says '^two\.log: poses, Open3D \.log, 2 poses$' "$PCGPU" info two.log
# Twelve columns that are no rotation are points.
printf '1 2 3 4 5 6 7 8 9 10 11 12\n2 3 4 5 6 7 8 9 10 11 12 13\n' > twelve.txt
says '^twelve\.txt: xyz, 2 points, 12 columns$' "$PCGPU" info twelve.txt

# Configurations: for which commands, what the keys mean.
expect 0 "$PCGPU" info "$PCGPU_SOURCE/configs/pillar.yaml"
stdout_has 'a configuration that these commands can read: sample, voxelize, filter, register, odometry, .*info$'
stdout_has '^    voxel_size: \[0\.16, 0\.16, 4\]   # Size of a voxel in metres$'
stdout_has '^    features: "points"   # the points themselves, padded with zeros$'
stdout_has '^  the grid has 432 x 496 x 1 cells$'
expect 0 "$PCGPU" info --json - "$PCGPU_SOURCE/configs/kinect.yaml"
stdout_has '"kind": "configuration", "commands": \{.*"register": \{.*"voxel_size": 0\.05'
echo 'count: 10' > text
says '^text: a configuration that these commands can read: sample$' "$PCGPU" info text
for CONFIG in "$PCGPU_SOURCE"/configs/*.yaml "$PCGPU_SOURCE"/tests/cli/openpcdet/cfgs/*/*.yaml; do
    says ': a configuration' "$PCGPU" info "$CONFIG"
done

# What pcgpu writes besides clouds: the arrays of an .npz, the meshes of a .glb; and the first records of a cloud.
cloud 30 > r.bin
expect 0 pcgpu voxelize --voxel-size 1 --range 0,-9,-3,9,9,3 --max-points 4 --features points r.bin -o v.npz
says '^  voxels \([0-9]+, 4, 4\) <f4, coords \([0-9]+, 4\) <i4, num_points \([0-9]+,\) <i4$' pcgpu info v.npz
cat v.npz | pcgpu info > piped 2> "$ERR" && grep -q '^  voxels ' piped || die 'other arrays from a pipe'
# A cloud in an .npz is one, from a pipe, too.
if command -v python3 > "$OUT"; then
    python3 - << 'END'
import zipfile
head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (50, 4), }"
head += b' ' * (117 - len(head)) + b'\n'
zipfile.ZipFile('cloud.npz', 'w').writestr('points.npy', b'\x93NUMPY\x01\x00' + len(head).to_bytes(2, 'little') + head + bytes(800))
END
    says ': npz, 50 points, 4 columns$' pcgpu info cloud.npz
    cat cloud.npz | pcgpu info > piped 2> "$ERR" || die 'no cloud from a pipe'
    grep -q '^standard input: npz, 50 points, 4 columns$' piped || die "from a pipe it is $(head -n 1 piped)"
fi
says '"kind": "arrays", "arrays": "voxels \([0-9]+, 4, 4\) <f4, ' pcgpu info v.npz --json -
expect 0 pcgpu fuse --config "$PCGPU_SOURCE/testdata/room/camera.yaml" --poses "$PCGPU_SOURCE/testdata/room/poses_kitti.txt" \
    "$PCGPU_SOURCE"/testdata/room/*.png --voxel-size 0.05 --mesh g.ply
expect 0 pcgpu fuse --config "$PCGPU_SOURCE/testdata/room/camera.yaml" --poses "$PCGPU_SOURCE/testdata/room/poses_kitti.txt" \
    "$PCGPU_SOURCE"/testdata/room/*.png --voxel-size 0.05 --mesh g.glb
COUNTS=$("$PCGPU" info g.ply --json - | sed 's/.*"points": \([0-9]*\).*"faces": \([0-9]*\).*/\1 vertices, \2 triangles/')
says "^g\.glb: glTF 2\.0, 1 mesh, $COUNTS\$" pcgpu info g.glb
says '"kind": "model", "meshes": 1, "vertices": [0-9]+, "triangles": [0-9]+' pcgpu info g.glb --json -
head -c 300 g.glb > cut.glb && expect 1 pcgpu info cut.glb && stderr_has '^pcgpu: cut\.glb: is cut short$'
head -c 15 g.glb > cut.glb && expect 1 pcgpu info cut.glb && stderr_has '^pcgpu: cut\.glb: is a damaged or very large glTF model; export it again$'
expect 0 pcgpu info --rows 3 r.bin
[ "$(sed -n 's/^  row: //p' "$OUT")" = "$(records r.bin | head -n 3 | awk '{ print $1, $2, $3, $4 }')" ] || die 'other first records'
says '"rows": \[\[[0-9.e-]+, [0-9.e-]+, [0-9.e-]+, [0-9.e-]+\], \[[^]]*\]\], ' pcgpu info --rows 2 r.bin --json -
[ "$("$PCGPU" info --rows 100 r.bin | grep -c '^  row: ')" -eq 30 ] || die 'not all records'

# A file or a pipe on standard input is the input; without one the build is described.
cloud 30 > c.bin
pcgpu info < c.bin > "$OUT" 2> "$ERR" || die 'info of a file on standard input'
stdout_has '^standard input: bin, 30 points, 4 columns$'
pcgpu info - < c.bin > expected || die 'info -'
same "$OUT" expected
cat c.bin | pcgpu info > "$OUT" 2> "$ERR" || die 'info of a pipe'
same "$OUT" expected
expect 0 pcgpu info
stdout_has '^back ends: '
finish
