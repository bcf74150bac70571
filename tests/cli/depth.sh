# Depth images as clouds: the camera on the command line and in a configuration, and what goes wrong.
. "${0%/*}/lib.sh"
CAMERA=2,4,1,0

# 3 x 2 pixels, 0 1000 2000 in the first row and 500 0 4000 in the second, as .pgm and as .png.
{
    printf 'P5\n# depth\n3 2\n65535\n'
    printf '\000\000\003\350\007\320\001\364\000\000\017\240'
} > a.pgm
for BYTES in \
    '\211\120\116\107\015\012\032\012\000\000\000\015\111\110\104\122\000\000\000\003\000\000\000\002\020\000\000' \
    '\000\000\350\217\345\205\000\000\000\026\111\104\101\124\170\234\143\140\140\140\176\301\176\201\201\361\013' \
    '\003\003\377\002\000\025\206\003\147\236\145\035\222\000\000\000\000\111\105\116\104\256\102\140\202'; do
    printf "$BYTES"
done > a.png

# The records: pixels with a return, row by row; x = (u - 1) / 2 z, y = v / 4 z.
for IMAGE in a.pgm a.png; do
    expect 0 pcgpu sample --camera $CAMERA -m 4 $IMAGE -f -o four.ply --indices i.txt
    sized one.bin 12 pcgpu sample -m 1 four.ply -f -o one.bin # what was written is a cloud of x y z
    expect 0 pcgpu voxelize --camera $CAMERA --voxel-size 100 --range=-100,-100,-100,100,100,100 --features points $IMAGE \
        -f -o points.bin
    od -An -v -t f4 -w12 points.bin | awk '$3 != 0 { $1 = $1; print }' | sort > got.txt
    printf '%s\n' '-0.25 0.125 0.5' '0 0 1' '1 0 2' '2 1 4' | sort > wanted.txt
    same got.txt wanted.txt
done
expect 0 pcgpu sample --camera $CAMERA -m 1 --start 1 a.png -f -o one.bin
[ "$(od -An -t f4 -w12 one.bin | awk '{ $1 = $1; print }')" = '1 0 2' ] || die 'record 1 is not the third pixel'
pcgpu sample --camera $CAMERA --format png -m 4 - --output-format bin < a.png > stdin.bin 2> "$ERR" || die 'standard input as .png'
pcgpu sample --camera $CAMERA -F pgm -m 4 --output-format bin < a.pgm > stdin2.bin 2> "$ERR" || die 'standard input as .pgm'
same stdin.bin stdin2.bin
size_is stdin.bin 48
mkdir folder # an output folder: depth images are not written, so .bin
sized folder/a.bin 24 pcgpu sample --camera $CAMERA -m 2 a.png -o folder/
expect 4 pcgpu register --camera $CAMERA a.png a.pgm # both were read; so few points cannot be registered
stderr_has 'the source has 0 pixels that show a surface'
expect 4 pcgpu register --camera $CAMERA --set association=nearest a.png a.pgm
stderr_has 'the source has 3 usable points' # 65535 is none

# How many pixels were left out: -v, info, --json.
expect 0 pcgpu sample -v --camera $CAMERA,min_depth=0.5,max_depth=2 -m 1 a.png -f -o one.bin
stderr_has '^pcgpu: a\.png: 3 of 6 pixels are points; 2 have no return and 1 are out of the camera.s range$'
says '^a\.png: png, 2 points, 3 columns$' pcgpu info --camera $CAMERA,min_depth=0.501,max_depth=3.999 a.png
stdout_has '^  pixels: 6, without a return: 2, out of the camera.s range: 2$'
says '"depth": \{"pixels": 6, "no_return": 2, "out_of_range": 0\}' pcgpu info --camera $CAMERA --json - a.png a.pgm
stdout_has '"camera": \{"fx": 2, "fy": 4, "cx": 1, "cy": 0, "depth_scale": 1000, "min_depth": 0, "max_depth": 0\}'
quiet pcgpu info --camera $CAMERA,depth_scale=1e6 a.png # micrometres: nothing is wrong with that
says ' 0 points' pcgpu info --camera $CAMERA,depth_scale=1e6,min_depth=0.1 a.png
stderr_has '^pcgpu: a\.png: warning: 0 of 6 pixels are points; .*; check its depth_scale, min_depth and max_depth$'
expect 0 pcgpu info --camera $CAMERA a.png "$PCGPU_SOURCE/testdata/street.bin" # a camera does not matter to clouds
stderr_is_one '^pcgpu: 2 inputs: 2 done, '

expect 0 pcgpu info --camera $CAMERA,width=3,height=2 a.png

# The configuration: a mapping, a list or a string; the command line changes single values.
expect 0 pcgpu sample --camera $CAMERA,max_depth=3 -m 3 a.png -o wanted.bin
works() {
    printf '%b\n' "$1" > c.yaml
    shift
    makes got.bin wanted.bin pcgpu sample --config c.yaml -m 3 a.png -f -o got.bin "$@"
}
works 'camera: {width: 3, height: 2, fx: 2, fy: 4, cx: 1, cy: 0, depth_scale: 1000, min_depth: 0, max_depth: 3}'
works 'camera:\n  fx: 2.0\n  fy: 4\n  cx: 1\n  cy: 0\n  max_depth: 3'
works 'sample:\n  camera: {fx: 2, fy: 4, cx: 1, cy: 0, max_depth: 3}'
works 'camera: "2,4,1,0,max_depth=3"'
works 'camera: " 2, 4 ,1,\t0 , max_depth=3 "'
works 'camera: [2, 4, 1, 0]' --camera max_depth=3
works 'camera: {fx: 2, fy: 4, cx: 1, cy: 0, max_depth: 1}' --camera max_depth=3
works 'camera: {fx: 9, fy: 9, cx: 9, cy: 9, max_depth: 3}' --camera $CAMERA
expect 0 pcgpu sample --dry-run --camera $CAMERA,width=3,max_depth=2.5 -m 1 a.png
stdout_has '^  camera: \{"width": 3, "fx": 2, "fy": 4, "cx": 1, "cy": 0, "depth_scale": 1000, "min_depth": 0, "max_depth": 2\.5\}$'
cp "$OUT" again.yaml
gives again.yaml pcgpu sample --config again.yaml --dry-run a.png

# Units that look like those of a known data set, and a camera that looks like that of a larger image: one line a run.
# depths FACTOR: 64 x 48 pixels of 0.8 to 2.3 m, in FACTOR per millimetre.
depths() {
    printf 'P5\n64 48\n65535\n'
    printf '%b' "$(awk -v f="$1" 'BEGIN { for (i = 0; i < 3072; i++) { v = f * (800 + i * 7 % 1500)
        printf "\\0%03o\\0%03o", int(v / 256), v % 256 } }')"
}
mkdir eight five one
depths 1 > one/0.pgm && depths 8 > eight/0.pgm && depths 5 > five/0.pgm
cp eight/0.pgm eight/1.pgm && cp five/0.pgm five/1.pgm
WIDE=60,60,31.5,23.5
quiet pcgpu info --camera $WIDE one/0.pgm
expect 0 pcgpu voxelize --voxel-size 1 --camera $WIDE eight/0.pgm -f -o x.npz
stderr_is_one '^pcgpu: eight/0\.pgm: warning: nearly all depths are multiples of 8, as those of SUN RGB-D, .* depth_scale=8000$'
quiet pcgpu voxelize --voxel-size 1 --camera $WIDE,depth_scale=8000 eight/0.pgm -f -o x.npz
pcgpu odometry --camera $WIDE five/ --trajectory x.txt -f > "$OUT" 2> "$ERR"
[ "$(grep -c 'multiples of 5, as those of TUM RGB-D; .* depth_scale=5000' "$ERR")" -eq 1 ] || die 'not one hint'
printf '1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 0 0 1 0 0 0 0 1 0\n' > still.txt
expect 0 pcgpu fuse --camera $WIDE --poses still.txt five/ -f -o x.ply
[ "$(grep -c 'multiples of 5' "$ERR")" -eq 1 ] || die 'not one hint'
depths 6 > far.pgm
tells 'half of the depths are beyond 5 m; give the camera the depth_scale of the images' pcgpu info --camera $WIDE far.pgm
into units pcgpu info --camera $WIDE one/0.pgm
gives units pcgpu info --camera $WIDE,depth_scale=0.001 one/0.pgm # metres per unit, as of librealsense
expect 0 pcgpu info --camera $WIDE,depth_scale=1 one/0.pgm
stdout_has 'looks wrong: depths of .* m; the camera.s depth_scale is the units per metre, 1000 for millimetres$'

# An array of depths is no cloud.
for DESCR in '<f4 (48, 64)' '<u2 (48, 128)' '<f8 (48, 128)'; do
    { printf '\223NUMPY\001\000\166\000'
        printf "%-117s\n" "{'descr': '${DESCR% (*}', 'fortran_order': False, 'shape': (${DESCR#*(}, }"
        head -c 50000 /dev/zero; } > depth.npy
    pcgpu info --camera $WIDE depth.npy > "$OUT" 2> "$ERR"
    stderr_has '; if it is a depth image, save it as a 16-bit \.png of millimetres$'
done
finish
