# What register puts on standard output and says to a person: the transform of what converged and nothing else, and one
# line with the motion, its certainty and the time.
. "${0%/*}/lib.sh"
cp "$PCGPU_SOURCE/testdata/street.bin" t.bin
cp "$PCGPU_SOURCE/testdata/street_moved.bin" s.bin
cloud 3000 > near.bin
printf '1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n' > I
records near.bin | awk '{ $1 += 500; print }' | floats > far.bin

# One line for a person, in every method, also where nobody watches; not with -q.
NUMBERS='score 0\.[0-9]+, \+- [0-9.]+ mm, [0-9.]+ degree; [0-9.]+ m?s$'
for METHOD in ndt plane gicp point; do
    expect 0 pcgpu register --method $METHOD s.bin t.bin
    [ "$(wc -l < "$ERR")" -eq 1 ] || die 'not one line'
    stderr_has "^pcgpu: s\\.bin -> t\\.bin: moved 0\\.(80|78)[0-9] m, turned 2\\.5[0-9]+ degree; $NUMBERS"
    [ "$(awk 'NF == 4' "$OUT" | wc -l)" -eq 4 ] || die 'no matrix'
done
quiet pcgpu register -q s.bin t.bin
tells '^pcgpu: T\.txt: warning: holds the points of the source, not the transform; that is written by --transform$' \
    pcgpu register s.bin t.bin -o T.txt
quiet pcgpu register -q s.bin t.bin -f -o T.txt --transform U.txt
tells "^pcgpu: s\\.bin -> t\\.bin: moved 0\\.80[0-9] m, turned " pcgpu register s.bin t.bin
# The angle is that of the transform.
sed 's/.*turned \([0-9.]*\) degree.*/\1/' "$ERR" | cat - "$PCGPU_SOURCE/testdata/street_T.txt" | awk '
    NR == 1 { said = $1 } NR > 1 && NR < 5 { t += $(NR - 1) }
    END { c = (t - 1) / 2; d = said - atan2(sqrt(1 - c * c), c) * 57.29577951308232; exit !(d < 0.01 && d > -0.01) }' || die 'another angle'
checked
tells '^pcgpu: t\.bin -> t\.bin: moved 0 mm, turned 0 degree; score 0\.[0-9]+, ' pcgpu register t.bin t.bin
# Millimetres are named, and register as metres do.
for NAME in s t; do
    records $NAME.bin | awk 'NR % 4 == 0 { print 1000 * $1, 1000 * $2, 1000 * $3, $4 }' | floats > mm_$NAME.bin
done
expect 0 pcgpu register mm_s.bin mm_t.bin
stderr_has '^pcgpu: mm_s\.bin: warning: the spacing of the points asks for voxels of (128|256) m; if the coordinates are millimetres, '
stderr_has ': moved 80[0-9]\.[0-9]+ m, '
# In the coordinates of a map the motion is that of a point there, not of the origin far away.
for NAME in s t; do
    records $NAME.bin | awk -v n=5000 'BEGIN { print "ply\nformat ascii 1.0\nelement vertex " n "\nproperty double x\nproperty double y\nproperty double z\nend_header" }
        NR <= 12 * n && NR % 12 == 0 { printf "%.6f %.6f %.6f\n", $1 + 500000, $2 + 5000000, $3 }' > $NAME.ply
done
tells '^pcgpu: s\.ply -> t\.ply: moved [01]\.[0-9]+ m, ' pcgpu register s.ply t.ply

# No answer: standard output stays empty, whatever would go there; files and --json have the last estimate.
expect 4 pcgpu register --init I near.bin far.bin
stdout_is ''
stderr_has '^pcgpu: near\.bin: did not converge: '
stderr_has '^pcgpu: see why: pcgpu view near\.bin far\.bin -o both\.html; then try --init FILE with a guess, another --voxel-size$'
[ "$(wc -l < "$ERR")" -eq 2 ] || die 'not two lines'
expect 0 "$PCGPU" view near.bin far.bin -o both.html
expect 4 pcgpu register near.bin far.bin
for FORMAT in matrix kitti tum; do
    expect 4 pcgpu register --init I near.bin far.bin --set transform-format=$FORMAT
    stdout_is ''
    expect 4 pcgpu register --init I near.bin far.bin --set transform-format=$FORMAT --transform -
    stdout_is ''
done
expect 4 pcgpu register --init I near.bin far.bin -o -
stdout_is ''
expect 4 pcgpu register --init I near.bin far.bin -o - --json j
stdout_is ''
grep -q '"exit_code": 4' j || die 'the exit code is not in --json'
expect 4 pcgpu register --init I near.bin far.bin --transform T -o moved.bin --json - # a report, which says it
stdout_has '"exit_code": 4, .*"T_target_source": \[1, 0, .*"converged": false, "reason": "no overlap'
[ "$(awk 'NF == 4' T | wc -l)" -eq 4 ] || die 'no last estimate in the file'
size_is moved.bin 48000
# What converges still gets there.
expect 0 pcgpu register -q s.bin t.bin --transform -
[ "$(awk 'NF == 4' "$OUT" | wc -l)" -eq 4 ] || die 'no matrix'
expect 0 pcgpu register -q s.bin t.bin -o -
size_is "$OUT" "$(wc -c < s.bin)"

# A list keeps its lines in step: nan is no transform.
printf 's.bin t.bin\nnear.bin far.bin\n' > list
expect 4 pcgpu register --init I --pairs list --set transform-format=kitti
[ "$(sed -n 2p "$OUT")" = 'nan nan nan nan nan nan nan nan nan nan nan nan' ] || die 'the line of what did not converge'
[ "$(wc -l < "$ERR")" -eq 2 ] || die 'a list has a line for each pair on standard output alone'
printf 's.bin t.bin\n' > one
tells '^pcgpu: one:1: s\.bin -> t\.bin: moved 0\.80[0-9] m, turned .* degree$' pcgpu register --pairs one -v
finish
