# register with scans by projective association: range images, their options, and what goes wrong.
. "${0%/*}/lib.sh"
A=$PCGPU_SOURCE/testdata/street_moved.bin
B=$PCGPU_SOURCE/testdata/street.bin
PROJECTIVE='--association projective'

# Within 2 mm and 0.0002 of the truth, said so, and the same from any number of threads.
expect 0 pcgpu register $PROJECTIVE "$A" "$B" -v --json r.json
stderr_has 'converged after [0-9]+ iterations, associated by projection: [0-9]+ of [0-9]+ pixels matched'
stderr_has ': maps [0-9.]+ s$'
stderr_has ': level 3 [0-9.]+ s$'
cp "$OUT" auto.txt
LAST='the transform of the street'
paste "$PCGPU_SOURCE/testdata/street_T.txt" auto.txt | awk '{
    for (k = 1; k <= 4; k++) { d = $k - $(k + 4); if (d < 0) d = -d; if (!(d < (k == 4 ? 0.002 : 0.0002))) bad = 1 } }
    END { exit bad || NR != 4 }' || die 'off the truth'
LAST='the JSON of a projective registration of scans'
grep -q '"association": "projective", "T_target_source"' r.json || die 'no association in the result'
grep -q '"range_image": \[0, 0\]' r.json || die 'no range image among the parameters'
grep -Eq '"points_in": 120000' r.json || die 'no points_in'
expect 0 pcgpu register $PROJECTIVE "$A" "$B" -q --threads 1
same "$OUT" auto.txt
expect 0 pcgpu register "$A" "$B" --json r.json -f
grep -q '"association": "nearest"' r.json || die 'the association of clouds'

# What the image says: in a configuration as on the command line.
expect 0 pcgpu register $PROJECTIVE --range-image 64,512 "$A" "$B"
same "$OUT" auto.txt
expect 0 pcgpu register $PROJECTIVE --range-image 32,256,-24.8,2 "$A" "$B"
cp "$OUT" given.txt
! cmp -s given.txt auto.txt || die 'the range image does nothing'
printf 'register: {association: projective, range_image: [32, 256, -24.8, 2]}\n' > c.yaml
expect 0 pcgpu register --config c.yaml "$A" "$B"
same "$OUT" given.txt
expect 0 pcgpu register --config c.yaml --dry-run "$A" "$B"
stdout_has '^  range_image: \[32, 256, -24\.8, 2\]$'
stdout_has '^  level_iterations: \[15, 15, 30\]$'
stdout_has '^  min_score: 0\.2$'
cp "$OUT" effect.yaml
expect 0 pcgpu register --config effect.yaml --dry-run "$A" "$B"
same "$OUT" effect.yaml
expect 0 pcgpu register --config effect.yaml "$A" "$B" --json r.json -f
same "$OUT" given.txt
grep -q '"method": null, "association": "projective", "level_iterations": \[15, 15, 30\]' r.json || die 'the parameters in effect'
expect 0 pcgpu register $PROJECTIVE --levels 1 --level-iterations 40 "$A" "$B" --init auto.txt
expect 0 pcgpu register $PROJECTIVE --levels 6 "$A" "$B"
expect 0 pcgpu register $PROJECTIVE --level-iterations 10,20 "$A" "$B" --json r.json -f
grep -Eq '"iterations": [0-9]+, "level_iterations": \[[0-9]+, [0-9]+\]' r.json || die 'two levels'
expect 4 pcgpu register $PROJECTIVE --level-iterations 0,0,1 "$A" "$B"
stderr_has 'did not converge: '

# A moved source, a scan and itself, a list.
expect 0 pcgpu register $PROJECTIVE "$A" "$B" -o moved.bin
expect 0 pcgpu register $PROJECTIVE moved.bin "$B"
awk 'NR < 4 && !($4 < 0.002 && $4 > -0.002) { exit 1 }' "$OUT" || die 'the moved source is elsewhere'
expect 0 pcgpu register $PROJECTIVE "$B" "$B"
stdout_is '1 0 0 0
0 1 0 0
0 0 1 0
0 0 0 1'
printf '%s\t%s\n' "$A" "$B" "$B" "$B" > list.txt
expect 0 pcgpu register $PROJECTIVE --pairs list.txt --json pairs.json
head -n 1 "$OUT" | tr ' ' '\n' > got.txt
tr ' ' '\n' < auto.txt > wanted.txt
same got.txt wanted.txt
[ "$(grep -c '"association": "projective", "T_target_source"' pairs.json)" -eq 2 ] || die 'the associations of a list'
[ "$(grep -c '"method": null, .*"min_score": 0\.2,' pairs.json)" -eq 2 ] || die 'the parameters of a list'
LAST='a scan on standard input'
pcgpu register $PROJECTIVE - "$B" < "$A" > "$OUT" 2> "$ERR"
expected 0 $?
same "$OUT" auto.txt

# Wrong usage: exit 2, nothing on standard output.
refused() { # refused PATTERN ARGUMENT...
    PATTERN=$1
    shift
    expect 2 pcgpu register $PROJECTIVE "$@"
    stderr_has "$PATTERN"
    stdout_is ''
}
for METHOD in plane gicp point cells; do
    refused 'method is for association nearest' --method $METHOD "$A" "$B"
done
refused 'init: auto looks for a start of association nearest' --init auto "$A" "$B"
refused 'association projective of a sequence is for depth images' "$A" "$B" --trajectory poses.txt
absent poses.txt
refused '7 levels of projective association; give 1 to 6' --levels 7 "$A" "$B"
for IMAGE in '' 64 64,1000 64,1024,3 64,1024,2,-24 64,1024,-91,2 64.5,1024 -1,1024 1025,1024 64,32768 64,1024,1,2,3 a,b; do
    refused 'is not a range image; give up to 1024 rows and a multiple of 32 columns' "--range-image=$IMAGE" "$A" "$B"
done
printf 'register: {range_image: [64, 1000]}\n' > wrong.yaml
refused 'wrong\.yaml:1:25: range_image: "64,1000" is not a range image' --config wrong.yaml "$A" "$B"
DEPTH=$PCGPU_SOURCE/testdata/room/frame-000001.png
refused 'street\.bin: not a depth image, and projective association is for two of them, or for two scans' \
    --config "$PCGPU_SOURCE/testdata/room/camera.yaml" "$DEPTH" "$B"

# Scans that cannot be registered: exit 4 with the reason, the start as the transform.
printf '' > empty.bin
head -c 16 "$B" > point.bin
head -c 16000 /dev/zero > origin.bin
for BAD in empty point origin; do
    expect 4 pcgpu register $PROJECTIVE $BAD.bin "$B" -f --transform T
    stderr_has 'did not converge: the source has 0 pixels that show a surface; at least 10 are needed'
    stdout_is ''
    is_text T '1 0 0 0
0 1 0 0
0 0 1 0
0 0 0 1'
    expect 4 pcgpu register $PROJECTIVE "$B" $BAD.bin
    stderr_has 'the target has 0 pixels'
done
printf '1 0 0 500\n0 1 0 0\n0 0 1 0\n0 0 0 1\n' > far.txt
expect 4 pcgpu register $PROJECTIVE "$A" "$B" --init far.txt
stderr_has 'did not converge: no overlap: '
expect 4 pcgpu register $PROJECTIVE "$A" "$B" --min-score 0.99
stderr_has 'did not converge: (too little overlap|the surfaces do not agree): '
expect 1 pcgpu register $PROJECTIVE "$A" missing.bin
finish
