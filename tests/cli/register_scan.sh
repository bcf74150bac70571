# register --set min-range and beam-correction: what they leave out and turn, in lists and sequences, too, and where they
# have no effect.
. "${0%/*}/lib.sh"
export OMP_WAIT_POLICY=passive
DATA=$PCGPU_SOURCE/testdata
# The street with the vehicle that carries the scanner: a box within 1.4 m, the same in both scans.
vehicle() {
    awk 'BEGIN { srand(5); for (i = 0; i < 4000; i++) {
        u = 2 * rand() - 1; v = 2 * rand() - 1; k = i % 3
        print k == 0 ? 1 : u, k == 1 ? 0.8 : 0.8 * v, k == 2 ? -0.3 : -0.4 + 0.2 * u, 0.5 } }' | floats
}
vehicle > vehicle.bin
cat "$DATA/street.bin" vehicle.bin > a.bin
cat "$DATA/street_moved.bin" vehicle.bin > b.bin
# The street has no point that near, so that without the vehicle it is the scan as it was.
into ../wanted pcgpu register -q --voxel-size 0.5 "$DATA/street_moved.bin" "$DATA/street.bin"
gives ../wanted pcgpu register -q --voxel-size 0.5 --set min-range=2 b.bin a.bin --json r.json
grep -q '"points_in": 128000, "dropped": {"non_finite": 0, "at_origin": 0, "too_near": 8000, "on_carrier": 0}' r.json || die "the counts: $(cat r.json)"
grep -q '"min_range": 2, "beam_correction": 0,' r.json || die 'the parameters are not in --json'
expect 0 pcgpu register -q --voxel-size 0.5 b.bin a.bin
differ "$OUT" ../wanted
tells '0 records at the origin and 8000 nearer than min-range dropped' pcgpu register b.bin a.bin --set min-range=2 -v

# A list and -o: what is written is what was registered, moved.
printf 'b.bin a.bin\na.bin b.bin\nb.bin a.bin\n' > list
into ../wanted pcgpu register -q --set min-range=2 --set beam-correction=0.205 b.bin a.bin -o moved.bin --set transform-format=kitti
size_is moved.bin 960000
expect 0 pcgpu register -q --threads 2 --set min-range=2 --set beam-correction=0.205 --pairs list --set transform-format=kitti
sed -n 3p "$OUT" > ../line
same ../line ../wanted
printf 'register: {min_range: 2, beam_correction: 0.205}\n' > c.yaml
gives ../wanted pcgpu register -q --config c.yaml b.bin a.bin --set transform-format=kitti

# 12 m ahead and 1 m up: the elevation rises by the angle, the range stays.
awk 'BEGIN { for (i = 0; i < 40; i++) for (j = 0; j < 40; j++) print 12, (i - 20) * 0.2, (j - 20) * 0.1, 7; print 12, 0, 1, 9 }' |
    floats > wall.bin
expect 4 pcgpu register -q wall.bin wall.bin --set beam-correction=10 -o up.bin
records up.bin | tail -n 1 | awk '{ r = sqrt($1 ^ 2 + $3 ^ 2); e = atan2($3, $1) * 57.29577951308232
    exit !(r > sqrt(145) - 1e-4 && r < sqrt(145) + 1e-4 && e > 14.7635 && e < 14.7637 && $2 == 0 && $4 == 9) }' ||
    die "the point is at $(records up.bin | tail -n 1)"
checked
expect 4 pcgpu register -q wall.bin wall.bin --set beam-correction=-10 -o down.bin
records down.bin | tail -n 1 | awk '{ e = atan2($3, $1) * 57.29577951308232; exit !(e > -5.2365 && e < -5.2363) }' ||
    die "the point is at $(records down.bin | tail -n 1)"
checked

# Sequences: the poses are those of the scans without the vehicle, with the counts of each scan.
for i in 0 2 4; do cp a.bin s$i.bin && cp "$DATA/street.bin" t$i.bin; done
for i in 1 3; do cp b.bin s$i.bin && cp "$DATA/street_moved.bin" t$i.bin; done
into ../wanted pcgpu odometry -q t?.bin --trajectory -
gives ../wanted pcgpu odometry -q --set min-range=2 s?.bin --trajectory - --json j
[ "$(grep -c '"points_in": 64000, "dropped": {"non_finite": 0, "at_origin": 0, "too_near": 4000, "on_carrier": 0}' j)" -eq 5 ] || die "the counts: $(cat j)"
expect 0 pcgpu odometry -q --beam-correction 0.205 --set min-range=2 s?.bin --trajectory whole.txt

# Where they have no effect.
ROOM=$DATA/room
CAMERA="--config $ROOM/camera.yaml"
expect 0 pcgpu evaluate --config c.yaml whole.txt --ground-truth whole.txt
expect 0 pcgpu register -q $CAMERA $ROOM/frame-000001.png $ROOM/frame-000000.png --set association=nearest --set min-range=2 --json r.json -f
grep -Eq '"too_near": [1-9]' r.json || die 'nothing of a depth image was left out'
expect 0 pcgpu register -q $CAMERA $ROOM/frame-000001.png $ROOM/frame-000000.png --json r.json -f
grep -q '"min_range": null, "beam_correction": null' r.json || die 'parameters without effect are in --json'

# Each cloud is named for its own points; clouds far apart are said to be.
cp "$PCGPU_SOURCE/testdata/street.bin" nan_s.bin
{ cat "$PCGPU_SOURCE/testdata/street_moved.bin"; printf 'nan 0 0 1\n0 inf 0 1\n' | floats; } > nan_t.bin
expect 0 pcgpu register --cpu nan_s.bin nan_t.bin
stderr_has "^pcgpu: nan_t\.bin: warning: 2 of $(($(wc -c < nan_t.bin) / 16)) points are not finite and were dropped$"
stderr_lacks 'nan_s\.bin: warning'
tells '^pcgpu: nan_t\.bin: warning: 2 of ' pcgpu register --cpu nan_t.bin nan_s.bin
printf '1 0 0 500000\n0 1 0 5400000\n0 0 1 0\n0 0 0 1\n' > utm.txt
expect 0 pcgpu convert --drop-origin --transform utm.txt nan_s.bin -o utm.ply
# From the identity; the search of the default finds them.
printf '1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n' > identity.txt
expect 4 pcgpu register --cpu --init identity.txt nan_s.bin utm.ply
stderr_has '^pcgpu: nan_s\.bin: did not converge: the clouds lie 54230[0-9][0-9] m apart, as UTM and local coordinates do; give both in the same coordinates'
expect 0 pcgpu register --cpu nan_s.bin utm.ply
[ "$(awk 'NR < 3 { printf "%d ", $4 + 0.5 }' "$OUT")" = '500000 5400000 ' ] || die "UTM: $(cat "$OUT")"
finish
