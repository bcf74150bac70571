#!/bin/sh
# Names, values and lines that hold what steers terminals: control characters, those of C1 (in UTF-8 and as bytes) and bytes
# that are not UTF-8, and characters that turn the direction of the text around them, are shown as \xNN in messages and by info, and as JSON has it in --json.
. "${0%/*}/lib.sh"
export OMP_WAIT_POLICY=passive # threads of several tests share few cores

# Nothing but lines of printable ASCII and the e with an acute accent, which is UTF-8 that may be shown.
printable() {
    ODD=$(sed "s/$(printf '\303\251')//g" "$1" | tr -d '\n\040-\176' | od -An -c)
    [ -z "$ODD" ] || die "${1##*/} has $ODD"
    checked
}

ESCAPE=$(printf '\033') ACUTE=$(printf '\303\251')
for name in "$(printf 'x\033[31my')" "$(printf 'x\ny')" "$(printf 'x\302\2332Jy')" "$(printf 'x\233y\377')" "$(printf 'x\177y')" \
    "$(printf 'x\342\200\256y')" "$(printf 'x\342\201\246y')" "$(printf 'x\330\234y')" "$(printf 'x\342\200\250y')"; do
    expect 1 pcgpu sample -m 1 "$ACUTE$name.bin" -o out.bin --json out.jsonl
    printable "$ERR"
    stderr_has "^pcgpu: ${ACUTE}x\\\\x[0-9a-f][0-9a-f].*\.bin: No such file"
    printable out.jsonl
    rm out.jsonl
    expect 2 pcgpu sample -m "$name" a.bin
    printable "$ERR"
    expect 2 pcgpu sample "--$name" a.bin
    printable "$ERR"
    expect 2 pcgpu "$name"
    printable "$ERR"
    expect 2 pcgpu sample --config "$name.yaml" a.bin
    printable "$ERR"
    cloud 30 > "$name.bin"
    expect 0 pcgpu sample --cpu -v -m 10 "$name.bin" -o - --json out.jsonl
    printable "$ERR"
    printable out.jsonl
    expect 0 pcgpu info "$name.bin"
    printable "$OUT"
    expect 0 pcgpu voxelize --dry-run --voxel-size 0.2 "$name.bin" -o "$name.ply"
    printable "$OUT"
    cloud 30 > a.bin
    expect 1 pcgpu odometry a.bin "$name.bin" --trajectory "nowhere/$name"
    printable "$ERR"
    printf '%s.bin a.bin' "missing$name" | tr '\n' '_' > "$name.txt"
    expect 1 pcgpu register --cpu --pairs "$name.txt"
    printable "$ERR"
    printf 'sample:\n  count: "%s"\n' "$(printf %s "$name" | sed 's/\x1b/\\e/g; s/\x7f/\\x7f/g')" > "$name.yaml"
    expect 2 pcgpu sample --config "$name.yaml" a.bin
    printable "$ERR"
    rm -- *.bin *.txt *.yaml out.jsonl
done
printf 'ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nproperty float %s\nend_header\n1 2 3 4\n' \
    "a${ESCAPE}[31mb$(printf '\302\233')c" > columns.ply
expect 0 pcgpu info columns.ply
printable "$OUT"
expect 0 pcgpu info columns.ply --json columns.jsonl
printable columns.jsonl
finish
