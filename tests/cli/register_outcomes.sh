# What register says of inputs that have no answer, or a trivial one: OUTCOMES of the manual, for every method.
. "${0%/*}/lib.sh"
# made SCENE SEED N: N random points of a scene with a centimetre of noise, seen from within.
made() {
    awk -v scene="$1" -v seed="$2" -v n="$3" 'BEGIN {
        srand(seed)
        for (i = 0; i < n; i++) {
            u = 2 * rand() - 1; v = 2 * rand() - 1; w = 2 * rand() - 1; which = i % 3
            noise = 0.01 * (rand() + rand() - 1)
            if (scene == "plane") print 8 * u, 8 * v, noise - 1.7, 0
            if (scene == "corridor") {
                if (which == 0) print 10 * u, 2 * v, noise, 0
                else print 10 * u, (which == 1 ? 2 : -2) + noise, 1.5 + 1.5 * v, 0
            }
            if (scene == "sphere") {
                while (u * u + v * v + w * w > 1 || u * u + v * v + w * w < 0.01) { u = 2 * rand() - 1; v = 2 * rand() - 1; w = 2 * rand() - 1 }
                r = (5 + noise) / sqrt(u * u + v * v + w * w); print r * u, r * v, r * w, 0
            }
        } }' | floats
}
for SCENE in plane corridor sphere; do
    made $SCENE 1 15000 > $SCENE.1.bin
    made $SCENE 2 15000 > $SCENE.2.bin
done
STREET=$PCGPU_SOURCE/testdata/street.bin
rows() { od -An -v -t f4 -w16 "$STREET" | awk "$1" | floats; }
rows '{ print $1 + 500, $2, $3, $4 }' > disjoint.bin
rows '{ print $1, -$2, $3, $4 }' > mirrored.bin
rows 'NR == 5' > single.bin
rows 'NR <= 9' > nine.bin
: > empty.bin
awk 'BEGIN { for (i = 0; i < 3000; i++) print 1, 2, 3, 4 }' | floats > same.bin

printf '1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n' > identity
# outcome CODE PATTERN SOURCE TARGET: without a search the exit code, a reason, and T and the aligned source in any case.
outcome() {
    rm -f T moved.bin
    expect "$1" pcgpu register --method "$METHOD" --init identity "$3" "$4" --transform T -o moved.bin --json -
    [ -z "$2" ] || stderr_has "$2"
    [ -n "$2" ] || [ "$(sed 's/.* -> .*: moved .*/moved/' "$ERR")" = moved ] || die 'not the one line of an answer'
    [ "$(awk 'NF == 4' T | wc -l)" -eq 4 ] || die 'no matrix was written'
    ! grep -q nan T || die "the matrix is $(cat T)"
    size_is moved.bin "$(wc -c < "$3")"
    grep -q "\"converged\": *$([ "$1" -eq 0 ] && echo true || echo false)" "$OUT" || die 'converged is not as the exit code'
}
for METHOD in ndt plane gicp point; do
    expect 4 pcgpu register --method $METHOD --init auto mirrored.bin "$STREET"
    outcome 4 'a direction open: translation along x, translation along y, rotation about z' plane.1.bin plane.2.bin
    outcome 4 'a direction open: translation along x$' corridor.1.bin corridor.2.bin
    outcome 4 'a direction open: rotation about x, rotation about y, rotation about z' sphere.1.bin sphere.2.bin
    outcome 4 ': no overlap: ' disjoint.bin "$STREET"
    outcome 0 '' "$STREET" "$STREET"
    [ "$(tr '\n' ' ' < T)" = '1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1 ' ] || die "a scan and itself: $(cat T)"
    same moved.bin "$STREET"
    outcome 4 'did not converge: ' mirrored.bin "$STREET"
    outcome 4 ': the source has 1 usable points; at least 10 are needed' single.bin "$STREET"
    outcome 4 ': the target has 1 usable points; at least 10 are needed' "$STREET" single.bin
    outcome 4 ': the source has 9 usable points; ' nine.bin nine.bin
    outcome 4 ': the source has 0 usable points; ' empty.bin "$STREET"
    outcome 4 'did not converge: ' same.bin same.bin
    outcome 4 'did not converge: ' same.bin "$STREET"
    # What has no answer has none with a search for the start either; a disjoint pair has one then.
    for SCENE in plane corridor sphere; do
        expect 4 pcgpu register --method $METHOD --init auto $SCENE.1.bin $SCENE.2.bin
        stderr_has 'a direction open: '
    done
    expect 4 pcgpu register --method $METHOD --init auto single.bin "$STREET"
    expect 0 pcgpu register --method $METHOD --init auto disjoint.bin "$STREET"
    [ "$(awk 'NR == 1 { printf "%.2f", $4 }' "$OUT")" = -500.00 ] || die "500 m away: $(cat "$OUT")"
done
finish
