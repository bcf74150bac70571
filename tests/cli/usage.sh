# Help, version, options before the command and words that are inputs.
. "${0%/*}/lib.sh"

says '^Usage: pcgpu' "$PCGPU" --help
COMMANDS=$(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' "$OUT" | grep -vx -e completion -e help)
for COMMAND in ${COMMANDS:?}; do
    present "$PCGPU_SOURCE/man/pcgpu-$COMMAND.1"
done
stderr_is ''
cp "$OUT" ../help
gives ../help "$PCGPU" -h
gives ../help "$PCGPU" help

for COMMAND in $COMMANDS; do
    says "^Usage: pcgpu $COMMAND" "$PCGPU" help "$COMMAND"
    case $COMMAND in evaluate | bench) ;; *) stdout_has '--threads' ;; esac
    cp "$OUT" ../help
    gives ../help "$PCGPU" "$COMMAND" --help
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

says '^pcgpu [0-9]+\.[0-9]+\.[0-9]+' "$PCGPU" --version
cp "$OUT" ../version
gives ../version "$PCGPU" -V
says cpu "$PCGPU" --version -v
for FORMAT in bin ply pcd npy npz; do
    stdout_has "(^|[^a-z])$FORMAT([^a-z]|\$)"
done

cloud 20 > a.bin
tells '\(.*, 1 thread\): ' "$PCGPU" sample -v --cpu --threads 1 -m 3 a.bin
# Options may stand before the command, with their values.
into ../info "$PCGPU" info a.bin --verbose
for BEFORE in --verbose -v '--threads 2 -v' '--fields=4' '-F bin' '-Fbin' '-vF bin'; do
    gives ../info "$PCGPU" $BEFORE info a.bin
done
into ../three "$PCGPU" sample -m 3 a.bin
for BEFORE in '-m 3' '-m3' '--count 3' '--count=3' '--cpu --threads 1 -m 3'; do
    gives ../three "$PCGPU" $BEFORE sample a.bin
done
says '"command": "info"' "$PCGPU" --json - info a.bin
says '^Usage: pcgpu sample' "$PCGPU" --help sample

# Of two devices the last one counts.
gives ../three "$PCGPU" sample --cuda --cpu -m 3 a.bin

# A word behind -- is an input, whatever it looks like; options may stand behind inputs.
cp a.bin ./-m
sized b.bin 32 "$PCGPU" sample -m 2 -F bin -o b.bin -- -m
makes b.bin c.bin "$PCGPU" sample a.bin -o c.bin -m2
makes b.bin d.bin "$PCGPU" sample a.bin --output=d.bin --count=2

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
finish
