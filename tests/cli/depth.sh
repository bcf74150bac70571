# Depth images as clouds. Their records, cameras in configurations and what info says are in answers.list, what is refused in
# refusals.list.
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

mkdir folder # an output folder: depth images are not written, so .bin
sized folder/a.bin 24 pcgpu sample --camera $CAMERA -m 2 a.png -o folder/
expect 4 pcgpu register --camera $CAMERA a.png a.pgm # both were read; so few points cannot be registered
stderr_has 'the source has 0 pixels that show a surface'
expect 4 pcgpu register --camera $CAMERA --set association=nearest a.png a.pgm
stderr_has 'the source has 3 usable points' # 65535 is none

expect 0 pcgpu info --camera $CAMERA a.png "$PCGPU_SOURCE/testdata/street.bin" # a camera does not matter to clouds
stderr_is_one '^pcgpu: 2 inputs: 2 done, '

# What --dry-run prints is a configuration.
into again.yaml pcgpu sample --dry-run --camera $CAMERA,width=3,max_depth=2.5 -m 1 a.png
gives again.yaml pcgpu sample --config again.yaml --dry-run a.png

# Units that look like those of a known data set, and a camera that looks like that of a larger image: one line a run.
# Pixels of 0.8 to 2.3 m, in so many units per millimetre.
RAMP='(800 + i * 7 % 1500)'
mkdir eight five
depths 64 48 "8 * $RAMP" | tee eight/0.pgm > eight/1.pgm
depths 64 48 "5 * $RAMP" | tee five/0.pgm > five/1.pgm
WIDE=60,60,31.5,23.5
expect 0 pcgpu voxelize --voxel-size 1 --camera $WIDE eight/0.pgm -f -o x.npz
stderr_is_one '^pcgpu: eight/0\.pgm: warning: nearly all depths are multiples of 8, as those of SUN RGB-D, .* depth_scale=8000$'
quiet pcgpu voxelize --voxel-size 1 --camera $WIDE,depth_scale=8000 eight/0.pgm -f -o x.npz
pcgpu odometry --camera $WIDE five/ --trajectory x.txt -f > "$OUT" 2> "$ERR"
[ "$(grep -c 'multiples of 5, as those of TUM RGB-D; .* depth_scale=5000' "$ERR")" -eq 1 ] || die 'not one hint'
printf '1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 0 0 1 0 0 0 0 1 0\n' > still.txt
expect 0 pcgpu fuse --camera $WIDE --poses still.txt five/ -f -o x.ply
[ "$(grep -c 'multiples of 5' "$ERR")" -eq 1 ] || die 'not one hint'
depths 64 48 "6 * $RAMP" > far.pgm
tells 'half of the depths are beyond 5 m; give the camera the depth_scale of the images' pcgpu info --camera $WIDE far.pgm

# An array of depths is no cloud.
for DESCR in '<f4 (48, 64)' '<u2 (48, 128)' '<f8 (48, 128)'; do
    { printf '\223NUMPY\001\000\166\000'
        printf "%-117s\n" "{'descr': '${DESCR% (*}', 'fortran_order': False, 'shape': (${DESCR#*(}, }"
        head -c 50000 /dev/zero; } > depth.npy
    pcgpu info --camera $WIDE depth.npy > "$OUT" 2> "$ERR"
    stderr_has '; if it is a depth image, save it as a 16-bit \.png of millimetres$'
done
finish
