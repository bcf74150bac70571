# register --symmetric: exchanged inputs give the inverse, and what does not go together is told.
. "${0%/*}/lib.sh"
STREET=$PCGPU_SOURCE/testdata/street.bin
MOVED=$PCGPU_SOURCE/testdata/street_moved.bin

# inverse A B LIMIT: two lines of 12 numbers whose product is the identity within LIMIT.
inverse() {
    cat "$1" "$2" | awk -v limit="$3" '{ for (i = 1; i <= 12; i++) T[NR, i] = $i; n = NF }
        END { worst = n == 12 && NR == 2 ? 0 : 9
            for (r = 0; r < 3; r++) for (c = 1; c <= 4; c++) {
                sum = c == 4 ? T[1, 4 * r + 4] : 0
                for (k = 0; k < 3; k++) sum += T[1, 4 * r + k + 1] * T[2, 4 * k + c]
                d = sum - (c == r + 1); worst = d > worst ? d : -d > worst ? -d : worst }
            if (worst > limit) { print "off by " worst; exit 1 } }' || die "$1 and $2 are not inverse to each other"
    checked
}
for METHOD in ndt plane gicp; do
    TUNE="--method $METHOD --transform-format kitti"
    expect 0 pcgpu register $TUNE "$MOVED" "$STREET"
    cp "$OUT" one_way
    expect 0 pcgpu register $TUNE --symmetric "$MOVED" "$STREET"
    cp "$OUT" there
    ! cmp -s one_way there || die "$METHOD: both ways are one way"
    for THREADS in 1 16; do
        expect 0 pcgpu register $TUNE --symmetric --threads $THREADS "$STREET" "$MOVED"
        inverse there "$OUT" 1e-12
    done
done

# It is said how far the ways are apart, and what the time went into.
expect 0 pcgpu register --symmetric "$MOVED" "$STREET" --json report -v --transform T
stderr_has 'inverse-consistency error [0-9.]+ mm at the target.s centroid, 0\.0[0-9]+ degree'
stderr_has ': back [0-9.]+ s$'
grep -Eq '"apart": \[0\.0[0-9]+, [0-9.e-]+\], "center": \[' report || die 'not in --json'
grep -q '"symmetric": true' report || die 'not among the parameters'
expect 0 pcgpu register "$MOVED" "$STREET" --json plain
! grep -q '"apart"' plain || die 'one way has no distance'
grep -q '"symmetric": false' plain || die 'not among the parameters'
# From a configuration, and from a start.
printf 'register:\n  symmetric: true\n  transform_format: kitti\n' > both.yaml
expect 0 pcgpu register --config both.yaml --init T "$MOVED" "$STREET"
cp "$OUT" there
expect 0 pcgpu register --symmetric --init auto --transform-format kitti "$STREET" "$MOVED"
inverse there "$OUT" 1e-3

# A part of the street lies on the street, but the street not on its part.
pcgpu voxelize --voxel-size 0.05 --range -60,-60,-5,-5,60,20 "$STREET" -o part.ply
expect 0 pcgpu register part.ply "$STREET" --min-score 0.55
expect 4 pcgpu register part.ply "$STREET" --min-score 0.55 --symmetric
stderr_has '^pcgpu: part\.ply: did not converge: source and target exchanged: the surfaces do not agree: '

# Lists of pairs, each as alone; a pair that fails only on its way back.
expect 0 pcgpu register --symmetric --transform-format kitti "$MOVED" "$STREET"
cp "$OUT" there
expect 0 pcgpu register --symmetric --transform-format kitti "$STREET" "$MOVED"
cat there "$OUT" > ../expected
printf '%s\t%s\n' "$MOVED" "$STREET" "$STREET" "$MOVED" > list
for THREADS in 1 2 3; do
    expect 0 pcgpu register --symmetric --threads $THREADS --pairs list --transform-format kitti
    same "$OUT" ../expected
done
{ cat "$MOVED"; echo 3e8 0 0 0 | floats; } > wide.bin
expect 1 pcgpu register --symmetric wide.bin "$STREET"
stderr_has '^pcgpu: wide\.bin: source and target exchanged: the target spans '
stdout_is ''

# Depth images.
ROOM=$PCGPU_SOURCE/testdata/room
IMAGES="--config $ROOM/camera.yaml --transform-format kitti"
expect 0 pcgpu register $IMAGES --symmetric "$ROOM/frame-000001.png" "$ROOM/frame-000000.png" -v
stderr_has 'inverse-consistency error 0\.[0-9]+ mm'
cp "$OUT" there
expect 0 pcgpu register $IMAGES "$ROOM/frame-000001.png" "$ROOM/frame-000000.png"
! cmp -s there "$OUT" || die 'both ways of depth images are one way'
expect 0 pcgpu register $IMAGES --symmetric "$ROOM/frame-000000.png" "$ROOM/frame-000001.png"
inverse there "$OUT" 1e-12

# Sequences are registered one way.
expect 2 pcgpu odometry --symmetric --trajectory poses "$MOVED" "$STREET"
stderr_has 'symmetric is not an option of odometry but of register'
absent poses
finish
