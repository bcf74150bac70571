# info: of clouds, depth images, poses and configurations, and of the build and machine.
. "${0%/*}/lib.sh"
# answers.list has what is said of each kind of file.
cloud 5 > a.bin
expect 0 "$PCGPU" info a.bin a.bin
expect 1 "$PCGPU" info a.bin missing.bin
stdout_has 'a\.bin'
stderr_has '^pcgpu: missing\.bin: '
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

# Two scans in one file, a micrometre apart.
awk 'BEGIN { for (i = 0; i < 800; i++) { x = i % 40 * 0.5; y = int(i / 40) * 0.5; print x, y, 0; print x + 1e-4, y, 1e-4 }
    for (i = 0; i < 2500; i++) print 30 + i % 40 * 0.5, int(i / 40) * 0.5, 0 }' > twice.xyz
says 'near-duplicates, such as of two scans' "$PCGPU" info twice.xyz

# Encodings.
cloud 3 > m.bin
expect 0 pcgpu sample -m 2 m.bin -o binary.ply
says '^  encoding: binary, little endian$' "$PCGPU" info binary.ply
expect 0 pcgpu sample -m 2 m.bin -o a.npy
says '^  encoding: <f4 \(2, 4\)$' "$PCGPU" info a.npy
expect 0 pcgpu sample -m 2 m.bin -o a.las
says '^  encoding: LAS 1\.2, point format 0, steps of ' "$PCGPU" info a.las

# Configurations: for which commands, what the keys mean.
expect 0 "$PCGPU" info "$PCGPU_SOURCE/configs/pillar.yaml"
stdout_has 'a configuration that these commands can read: sample, voxelize, filter, register, odometry, .*info$'
stdout_has '^    voxel_size: \[0\.16, 0\.16, 4\]   # Size of a voxel in metres$'
stdout_has '^    features: "points"   # the points themselves, padded with zeros$'
stdout_has '^  the grid has 432 x 496 x 1 cells$'
expect 0 "$PCGPU" info --json - "$PCGPU_SOURCE/configs/kinect.yaml"
stdout_has '"kind": "configuration", "commands": \{.*"register": \{.*"voxel_size": 0\.05'
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
