# Help, version, and what the command line refuses.
. "${0%/*}/lib.sh"

expect 0 "$PCGPU" --help
stdout_has '^Usage: pcgpu'
COMMANDS=$(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' "$OUT" | grep -vx -e completion -e help)
for COMMAND in ${COMMANDS:?}; do
    present "$PCGPU_SOURCE/man/pcgpu-$COMMAND.1"
done
stderr_is ''
cp "$OUT" ../help
expect 0 "$PCGPU" -h
same "$OUT" ../help
expect 0 "$PCGPU" help
same "$OUT" ../help

for COMMAND in $COMMANDS; do
    expect 0 "$PCGPU" help "$COMMAND"
    stdout_has "^Usage: pcgpu $COMMAND"
    case $COMMAND in evaluate | bench) ;; *) stdout_has '--threads' ;; esac
    cp "$OUT" ../help
    expect 0 "$PCGPU" "$COMMAND" --help
    same "$OUT" ../help
    stderr_is ''
    expect 0 "$PCGPU" "$COMMAND" -h
    stdout_has "^Usage: pcgpu $COMMAND"
    [ "$(wc -l < "$OUT")" -le 40 ] || die "-h of $COMMAND has more than 40 lines"
    [ "$(awk 'length > 82' "$OUT" | wc -l)" -eq 0 ] || die "a line of -h of $COMMAND is too long"
    sed -n 's/^ *\(-[a-zA-Z0], \)*\(--[a-z-]*\).*/\2/p' "$OUT" | while read -r NAME; do
        grep -q -e " $NAME\>" ../help || die "-h of $COMMAND has $NAME, which --help has not"
    done || exit 1
    [ "$(awk 'length > 100' ../help | wc -l)" -eq 0 ] || die "a line of the help of $COMMAND is too long for a terminal"
done
expect 2 "$PCGPU" help nonsense
stdout_is ''
stderr_has nonsense

expect 0 "$PCGPU" --version
stdout_has '^pcgpu [0-9]+\.[0-9]+\.[0-9]+'
cp "$OUT" ../version
expect 0 "$PCGPU" -V
same "$OUT" ../version
expect 0 "$PCGPU" --version -v
stdout_has cpu
for FORMAT in bin ply pcd npy npz; do
    stdout_has "(^|[^a-z])$FORMAT([^a-z]|\$)"
done

# No command, an unknown one, one almost right.
expect 2 "$PCGPU"
stdout_is ''
stderr_has 'help|COMMAND|command'
expect 2 "$PCGPU" nonsense
stdout_is ''
stderr_has '^pcgpu: .*nonsense'
expect 2 "$PCGPU" sampel x.bin
stderr_has 'did you mean sample'

cloud 20 > a.bin
refuse() { # refuse PATTERN WORD...: exit 2, a message with PATTERN, nothing on stdout, nothing written
    PATTERN=$1
    shift
    expect 2 "$PCGPU" "$@"
    stdout_is ''
    stderr_has "^pcgpu: .*$PATTERN"
    only a.bin
}
refuse '--nonsense' sample --nonsense a.bin
refuse 'did you mean --ratio' sample --ratoi 0.5 a.bin
refuse '-Z' sample -Z a.bin
refuse '--count' sample --count
refuse 'm' sample a.bin -m
# Keys of --set are no options of the line, whose others are no keys.
refuse '--max-distance is a key of --set: --set max-distance=0.5$' register --max-distance 0.5 a.bin a.bin
refuse '--max-distance is a key of --set: --set max-distance=0.5$' register --max-distance=0.5 a.bin a.bin
refuse '--strict is a key of --set: --set strict$' voxelize --strict a.bin
refuse 'min-score is no key of --set but an option: --min-score' register --set min-score=1 a.bin a.bin
refuse 'unknown option --set max-distanc; did you mean --set max-distance' register --set max-distanc=1 a.bin a.bin
refuse 'unknown option --max-distanc; did you mean --set max-distance' register --max-distanc=1 a.bin a.bin
refuse 'max-distance needs a value; give --set max-distance=D' register --set max-distance a.bin a.bin
refuse '--set max-distance: "x" is not a number' register --set max_distance=x a.bin a.bin
refuse 'value' sample -m 3 --force=yes a.bin
refuse '--voxel-size' sample -m 3 --voxel-size 1 a.bin
for BAD in 0 -1 1.5 x '' 3x 99999999999999999999; do
    refuse count sample -m "$BAD" a.bin
done
for BAD in 0 -0.5 1.01 nan inf x; do
    refuse ratio sample --ratio "$BAD" a.bin
done
for BAD in -1 0 nan x; do
    refuse min-distance sample --min-distance "$BAD" a.bin
done
refuse 'how many|count' sample a.bin
refuse 'ratio' sample -m 3 --ratio 0.5 a.bin
refuse method sample -m 3 --method nonsense a.bin
refuse 'fps' sample -m 3 --method random --min-distance 1 a.bin
refuse start sample -m 3 --start nonsense a.bin
refuse start sample -m 3 --start -1 a.bin
refuse fields sample -m 3 --fields 2 a.bin
refuse fields sample -m 3 --fields 17 a.bin
refuse threads sample -m 3 --threads -1 a.bin
refuse device sample -m 3 --device gpu a.bin
refuse format sample -m 3 -F nonsense a.bin
refuse output-format sample -m 3 --output-format nonsense a.bin -o b.x
refuse range voxelize --range 0,0,0,1,1 --voxel-size 1 a.bin
refuse size voxelize --range auto --voxel-size 1,1 a.bin
refuse size voxelize --range auto --voxel-size 0 a.bin
refuse size voxelize --range auto --voxel-size -1,1,1 a.bin
refuse features voxelize --range auto --voxel-size 1 --features nonsense a.bin
refuse dtype voxelize --range auto --voxel-size 1 --dtype float8 a.bin
refuse max-points voxelize --range auto --voxel-size 1 --max-points -1 a.bin
refuse levels register --set levels=9 a.bin a.bin
refuse method register --method nonsense a.bin a.bin
refuse 'transform-format' register --set transform-format=nonsense a.bin a.bin
refuse 'SOURCE|TARGET|two' register a.bin
refuse 'config|nowhere' sample -m 3 --config nowhere.yaml a.bin

# What is no number is not out of range.
for BAD in 4k 1e3 0x10 '4 000' x; do
    refuse "--count: \"$BAD\" is not a whole number; give digits only, 1 or more" sample -m "$BAD" a.bin
done
refuse '--count: "0" is not a whole number in range; give 1 or more' sample -m 0 a.bin
refuse '--ratio: "half" is not a number; give above 0 to 1' sample --ratio half a.bin
expect 0 "$PCGPU" sample -v --cpu --threads 1 -m 3 a.bin
stderr_has '\(.*, 1 thread\): '
# A GPU is asked for by --cuda.
refuse 'unknown option --gpu; did you mean --cuda' sample -m 3 --gpu a.bin
refuse 'unknown option --gpu; did you mean --cuda' sample -m 3 --gpu=1 a.bin
# What is proposed is never the opposite, neither on the command line nor for a key.
for PAIR in gpus:cuda no-cuda:cpu no-gpu:cpu no-drop-origin:keep-origin overwrite:force keep_origin:keep-origin; do
    refuse "unknown option --${PAIR%:*}; did you mean --${PAIR#*:}\\?" sample -m 3 --${PAIR%:*} a.bin
done
for WRONG in no-progress max-distance gpx-cpu input no-force; do
    refuse "unknown option --$WRONG; see pcgpu sample --help|--$WRONG is not an option of sample" sample -m 3 --$WRONG a.bin
done
for WRONG in min-points min-voxels; do
    refuse "unknown option --$WRONG; see pcgpu voxelize --help" voxelize --$WRONG 3 a.bin
done
refuse 'unknown option --max-score; see pcgpu register --help' register --max-score 3 a.bin a.bin
echo 'gpu: true' > ../gpu.yaml
refuse 'unknown key gpu; did you mean cuda\?' sample -m 3 --config ../gpu.yaml a.bin

# Options may stand before the command, with their values.
expect 0 "$PCGPU" info a.bin --verbose
cp "$OUT" ../info
for BEFORE in --verbose -v '--threads 2 -v' '--fields=4' '-F bin' '-Fbin' '-vF bin'; do
    expect 0 "$PCGPU" $BEFORE info a.bin
    same "$OUT" ../info
done
expect 0 "$PCGPU" sample -m 3 a.bin
cp "$OUT" ../three
for BEFORE in '-m 3' '-m3' '--count 3' '--count=3' '--cpu --threads 1 -m 3'; do
    expect 0 "$PCGPU" $BEFORE sample a.bin
    same "$OUT" ../three
done
refuse 'seed is for --method random and --start random; give one of them, or leave --seed out' sample -m 3 --seed 1 a.bin
expect 0 "$PCGPU" --json - info a.bin
stdout_has '"command": "info"'
expect 0 "$PCGPU" --help sample
stdout_has '^Usage: pcgpu sample'
refuse '--voxel-size is not an option of info but of voxelize' --voxel-size 1 info a.bin
refuse 'unknown command sampel; did you mean sample' -v sampel a.bin
refuse 'no command' --verbose
refuse 'no command' -m 3
refuse 'unknown option --nonsense' --nonsense info a.bin
refuse 'unknown option -Z' -Z info a.bin

# A word behind -- is an input, whatever it looks like; options may stand behind inputs.
cp a.bin ./-m
expect 0 "$PCGPU" sample -m 2 -F bin -o b.bin -- -m
size_is b.bin 32
expect 0 "$PCGPU" sample a.bin -o c.bin -m2
same b.bin c.bin
expect 0 "$PCGPU" sample a.bin --output=d.bin --count=2
same b.bin d.bin
# The bound that was crossed is the one that is told.
expect 2 pcgpu sample -m 2147483648 a.bin
stderr_has 'give 2147483647 or less'
expect 2 pcgpu sample -m 99999999999999999999 a.bin
stderr_has 'give 2147483647 or less'
expect 2 pcgpu sample -m 0 a.bin
stderr_has 'give 1 or more'

# The examples of --help do what they say.
mkdir help help/scans help/depth
for NAME in scan scan1 scans/1; do cp "$PCGPU_SOURCE/testdata/street.bin" "help/$NAME.bin"; done
for NAME in scan2 scans/2; do cp "$PCGPU_SOURCE/testdata/street_moved.bin" "help/$NAME.bin"; done
cp "$PCGPU_SOURCE"/testdata/room/*.png help/depth
cp "$PCGPU_SOURCE/testdata/room/camera.yaml" help
cp "$PCGPU_SOURCE/testdata/room/poses_kitti.txt" help/truth.txt
cd help || exit 1
"$PCGPU" sample -q -m 9000 scan.bin -o scan.pcd
echo scan1.bin scan2.bin > pairs.txt
for COMMAND in sample voxelize register fuse evaluate convert view info odometry; do
    cp truth.txt poses.txt
    "$PCGPU" "$COMMAND" --help | sed -n '/^Examples:/,/^$/s/^  pcgpu //p' > examples
    [ "$(grep -c . examples)" -eq 2 ] || die "help of $COMMAND has not two examples"
    while read -r WORDS; do
        rm -f sampled.ply points.ply
        [ "$COMMAND" != odometry ] || rm -f poses.txt
        # shellcheck disable=SC2086 # words
        expect 0 "$PCGPU" $WORDS < /dev/null
    done < examples
done
cd ..
expect 2 pcgpu sample --method
stderr_has "^pcgpu: --method needs a value; give --method fps or random$"
expect 2 pcgpu odometry a.bin --deskew
stderr_has '^pcgpu: --deskew needs a value; give --deskew none, time, counterclockwise, clockwise or auto$'
finish
