# register with depth images: projective association, its options, and what goes wrong.
. "${0%/*}/lib.sh"
ROOM=$PCGPU_SOURCE/testdata/room
CAMERA=$ROOM/camera.yaml
A=$ROOM/frame-000001.png
B=$ROOM/frame-000000.png

# Two depth images: projective, and said so.
expect 0 pcgpu register --config "$CAMERA" "$A" "$B" -v
stderr_has 'converged after [0-9]+ iterations, associated by projection: [0-9]+ of [0-9]+ pixels matched'
stderr_has ': maps [0-9.]+ s$'
stderr_has ': level 3 [0-9.]+ s$'
cp "$OUT" auto.txt
gives auto.txt pcgpu register --config "$CAMERA" "$A" "$B" --set association=projective --json r.json
LAST='the JSON of a projective registration'
grep -q '"association": "projective", "T_target_source"' r.json || die 'no association in the result'
grep -q '"level_iterations": \[4, 5, 10\]' r.json || die 'no level_iterations among the parameters'
grep -Eq '"source_points": [0-9]{6}, "target_points": [0-9]{6}' r.json || die 'no pixels in the result'
grep -Eq '"points_in": [0-9]{6}' r.json || die 'no points_in'
gives auto.txt pcgpu register --config "$CAMERA" "$A" "$B" -q --threads 1

# As clouds: asked for, by a method, or with a cloud.
tells 'points matched' pcgpu register --config "$CAMERA" "$A" "$B" --set association=nearest --json r.json -f -v
grep -q '"association": "nearest"' r.json || die 'the association of clouds'
cp "$OUT" nearest.txt
gives nearest.txt pcgpu register --config "$CAMERA" "$A" "$B" --method ndt
expect 0 pcgpu voxelize --config "$CAMERA" --voxel-size 0.02 "$B" -o b.ply
tells 'points matched' pcgpu register --config "$CAMERA" "$A" b.ply -v

# Options that are its own.
gives auto.txt pcgpu register --config "$CAMERA" "$A" "$B" --set level-iterations=4,5,10 --set levels=3
gives auto.txt pcgpu register --config "$CAMERA" "$A" "$B" --set target-camera=525,525,319.5,239.5
expect 0 pcgpu register --config "$CAMERA" "$A" "$B" --set level-iterations=0,3 --json r.json -f
grep -q '"level_iterations": \[0, ' r.json || die 'a level without iterations'
expect 0 pcgpu register --config "$CAMERA" "$A" "$B" --set levels=1 --json r.json -f
grep -Eq '"iterations": [1-9][0-9]*, "level_iterations": \[[1-9][0-9]*\]' r.json || die 'one level'
expect 0 pcgpu register --config "$CAMERA" "$A" "$B" --set levels=6
expect 0 pcgpu register --config "$CAMERA" "$A" "$B" --set bilateral=0.03
! cmp -s "$OUT" auto.txt || die 'the bilateral filter does nothing'
printf 'camera: [525, 525, 319.5, 239.5]\nregister: {level_iterations: [4, 5, 10], association: projective, target_camera: {fx: 525, fy: 525, cx: 319.5, cy: 239.5}}\n' > c.yaml
gives auto.txt pcgpu register --config c.yaml "$A" "$B"
says '^  level_iterations: \[4, 5, 10\]$' pcgpu register --config c.yaml --dry-run "$A" "$B"
stdout_has '^  association: "?projective"?$'

# The configuration in effect gives the same again, whatever was left to the inputs.
for WORDS in '' '--set levels=2' '--set max-distance=0.2 --min-score 0.5'; do
    into wanted.txt pcgpu register --config "$CAMERA" $WORDS "$A" "$B"
    into effect.yaml pcgpu register --config "$CAMERA" $WORDS --dry-run "$A" "$B"
    stdout_has '^  association: "projective"$'
    ! grep -q '^  method:' effect.yaml || die 'a method of clouds is in effect'
    gives effect.yaml pcgpu register --config effect.yaml --dry-run "$A" "$B"
    gives wanted.txt pcgpu register --config effect.yaml "$A" "$B"
done
says '^  method: "ndt"$' pcgpu register --config "$CAMERA" --method ndt --dry-run "$A" "$B"
printf '%s\t%s\n' "$A" "$B" > effect_pairs.txt
into wanted.txt pcgpu register --config "$CAMERA" --pairs effect_pairs.txt
into effect.yaml pcgpu register --config "$CAMERA" --pairs effect_pairs.txt --dry-run
gives wanted.txt pcgpu register --config effect.yaml --pairs effect_pairs.txt
# Each pair of a list tells its own.
expect 0 pcgpu voxelize --config "$CAMERA" --voxel-size 0.02 "$B" -o effect.ply
printf '%s\t%s\n' "$A" effect.ply >> effect_pairs.txt
expect 0 pcgpu register --config "$CAMERA" --pairs effect_pairs.txt --json effect.json
LAST='the JSON of a list of images and clouds'
[ "$(grep -c '"method": null, "association": "projective", "level_iterations": \[4, 5, 10\].* "min_score": 0\.2,' effect.json)" -eq 1 ] ||
    die 'the parameters of the images'
[ "$(grep -c '"method": "ndt", "association": "auto".* "min_score": 0\.35,' effect.json)" -eq 1 ] ||
    die 'the parameters of the clouds'

# A start, a moved source, and a list of pairs.
expect 0 pcgpu register --config "$CAMERA" "$A" "$B" --init auto.txt --transform again.txt
expect 0 pcgpu register --config "$CAMERA" "$A" "$B" -o moved.ply
says '^moved\.ply: ply, [0-9]+ points, 3 columns$' pcgpu info moved.ply
expect 0 pcgpu register --config "$CAMERA" "$A" "$A"
stdout_is '1 0 0 0
0 1 0 0
0 0 1 0
0 0 0 1'
printf '%s\t%s\n' "$A" "$B" "$ROOM/frame-000002.png" "$A" "$A" b.ply > list.txt
expect 0 pcgpu register --config "$CAMERA" --pairs list.txt --json pairs.json
head -n 1 "$OUT" | tr ' ' '\n' > got.txt
tr ' ' '\n' < auto.txt > wanted.txt
same got.txt wanted.txt
[ "$(grep -c '"association": "projective"' pairs.json)" -eq 2 ] || die 'the associations of a list'

# An image that is a target and then a source, or the reverse, is seen through the camera of its role.
for ASSOCIATION in nearest projective; do
    printf '%s\t%s\n' "$A" "$B" "$ROOM/frame-000002.png" "$A" > list.txt
    expect 4 pcgpu register --set association=$ASSOCIATION --config "$CAMERA" --set target-camera=400,400,319.5,239.5 --pairs list.txt --json pairs.json -f
    expect 4 pcgpu register --set association=$ASSOCIATION --config "$CAMERA" --set target-camera=400,400,319.5,239.5 "$ROOM/frame-000002.png" "$A" \
        --json one.json -f
    sed -n 's/.*"T_target_source": \[\([^]]*\).*/\1/p' one.json > wanted.txt
    sed -n '2s/.*"T_target_source": \[\([^]]*\).*/\1/p' pairs.json > got.txt
    same got.txt wanted.txt
done

# Images that cannot be registered: without a surface or overlap 4 with the reason.
depths 64 48 '1000 + 5 * (i % 64) + 3 * int(i / 64)' > flat.pgm
depths 64 48 0 > zero.pgm
expect 4 pcgpu register --camera 60,60,31.5,23.5 flat.pgm zero.pgm --transform T
stderr_has 'did not converge: the target has 0 pixels that show a surface; at least 10 are needed'
stdout_is ''
is_text T '1 0 0 0
0 1 0 0
0 0 1 0
0 0 0 1'
expect 4 pcgpu register --camera 60,60,31.5,23.5 zero.pgm flat.pgm
stderr_has 'the source has 0 pixels'
expect 4 pcgpu register --camera 60,60,31.5,23.5 flat.pgm flat.pgm
stderr_has 'did not converge: the scene leaves a direction open: '
stderr_has 'a direction is unconstrained: '
printf '1 0 0 50\n0 1 0 0\n0 0 1 0\n0 0 0 1\n' > far.txt
expect 4 pcgpu register --config "$CAMERA" "$A" "$B" --init far.txt
stderr_has 'did not converge: no overlap: '
expect 4 pcgpu register --config "$CAMERA" "$A" "$B" --min-score 0.999
stderr_has 'did not converge: (too little overlap|the surfaces do not agree): '
finish
