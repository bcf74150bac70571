# What the scripts here share; each begins with `. "${0%/*}/lib.sh"`. A script works in a folder of its own, which is
# removed at the end, and stops at the first difference, which it prints.
#
#   expect CODE COMMAND...   runs it, stdin empty; stops unless it exits with CODE. Leaves stdout and stderr in $OUT, $ERR
#   These expect 0 of COMMAND... and more: says PATTERN COMMAND... (on stdout), tells PATTERN (on stderr), warns PATTERN (the one
#   line there), quiet (nothing there), gives FILE (its bytes on stdout), into FILE (keeps stdout there), makes FILE OTHER (the
#   same bytes), sized FILE BYTES
#   stdout_is TEXT, stderr_is TEXT, stdout_has PATTERN, stderr_has PATTERN (extended regular expressions)
#   same A B, absent FILE..., present FILE..., size_is FILE BYTES, only NAME... (what the folder holds)
#   cloud N > x.bin          N points of 4 float32: a spiral, so that no two distances are equal; also rings and walls
#   has_sanitizer, skip_part WHAT WHY, finish (exit 77 when everything was skipped)
#
# The GPU suite sets PCGPU_DEVICE; `pcgpu` then runs every operation there.
set -u
export LC_ALL=C
umask 022
: "${PCGPU:?the path of the program}" "${PCGPU_SOURCE:?the path of the sources}"
command -v "$PCGPU" > /dev/null || { echo "$PCGPU cannot be run; build it" >&2; exit 2; }
unset NO_COLOR
WORK=$(mktemp -d "${TMPDIR:-/tmp}/pcgpu-cli.XXXXXX") || exit 99
OUT=$WORK/stdout ERR=$WORK/stderr
mkdir "$WORK/here" && cd "$WORK/here" || exit 99
trap 'cd /; rm -rf "$WORK"' EXIT
trap 'exit 130' INT TERM
LAST='' CHECKS=0 SKIPPED=''

pcgpu() {
    case ${PCGPU_DEVICE:+${1:-}} in
        sample | voxelize | register | odometry | fuse) OPERATION=$1; shift; "$PCGPU" "$OPERATION" --device "$PCGPU_DEVICE" "$@" ;;
        *) "$PCGPU" "$@" ;;
    esac
}

die() {
    printf 'FAIL: %s\n' "$1" >&2
    [ -z "$LAST" ] || printf '  after: %s\n' "$LAST" >&2
    printf '  stderr was:\n' >&2
    sed 's/^/    /; 20q' "$ERR" >&2
    exit 1
}

checked() { CHECKS=$((CHECKS + 1)); }

expect() {
    WANTED=$1
    shift
    LAST=$*
    "$@" < /dev/null > "$OUT" 2> "$ERR"
    expected "$WANTED" $?
}

# expected CODE GOT: for a command run otherwise, with its output in $OUT and $ERR.
expected() {
    [ "$1" -eq "$2" ] || die "exit code $2, expected $1"
    ! grep -Eq 'AddressSanitizer|LeakSanitizer|runtime error:' "$ERR" || die 'a sanitizer reported an error'
    checked
}

is_text() {
    printf '%s' "$2${2:+
}" > "$WORK/wanted"
    diff "$WORK/wanted" "$1" > "$WORK/diff" || { cat "$WORK/diff" >&2; die "${1##*/} differs, see above"; }
    checked
}
stdout_is() { is_text "$OUT" "$1"; }
stderr_is() { is_text "$ERR" "$1"; }
stdout_has() { grep -Eq -e "$1" "$OUT" || die "stdout does not have: $1"; checked; }
stderr_has() { grep -Eq -e "$1" "$ERR" || die "stderr does not have: $1"; checked; }
stderr_lacks() { ! grep -Eq -e "$1" "$ERR" || die "stderr has: $1"; checked; }
says() { ASKED=$1 && shift && expect 0 "$@" && stdout_has "$ASKED"; }
tells() { ASKED=$1 && shift && expect 0 "$@" && stderr_has "$ASKED"; }
quiet() { expect 0 "$@" && stderr_is ''; }
warns() { ASKED=$1 && shift && expect 0 "$@" && stderr_is_one "$ASKED"; }
# One line, which matches.
stderr_is_one() { [ "$(wc -l < "$ERR")" -eq 1 ] || die 'not one line on stderr'; stderr_has "$1"; }

same() { cmp -s "$1" "$2" || die "$1 and $2 differ"; checked; }
into() { ASKED=$1 && shift && expect 0 "$@" && cp "$OUT" "$ASKED"; }
gives() { ASKED=$1 && shift && expect 0 "$@" && same "$OUT" "$ASKED"; }
makes() { ASKED=$1 OTHER=$2 && shift 2 && expect 0 "$@" && same "$ASKED" "$OTHER"; }
sized() { ASKED=$1 BYTES=$2 && shift 2 && expect 0 "$@" && size_is "$ASKED" "$BYTES"; }
differ() { ! cmp -s "$1" "$2" || die "$1 and $2 are the same"; checked; }
absent() { for FILE; do [ ! -e "$FILE" ] || die "$FILE exists"; checked; done; }
present() { for FILE; do [ -s "$FILE" ] || die "$FILE is missing or empty"; checked; done; }
size_is() {
    SIZE=$(wc -c < "$1") || die "$1 is missing"
    [ "$SIZE" -eq "$2" ] || die "$1 has $SIZE bytes, expected $2"
    checked
}
# The working folder holds these names and nothing else: no temporary file is left.
only() {
    WANTED=$(printf '%s\n' "$@" | sort)
    HELD=$(ls -A | sort)
    [ "$WANTED" = "$HELD" ] || die "the folder holds: $(echo $HELD), expected: $(echo $WANTED)"
    checked
}

# float32 values, one or more a line on stdin, as bytes. nan, inf and -inf are words.
floats() {
    awk '
    function emit(v,    sign, exponent, mantissa, bits, k) {
        if (v == "nan") bits = 2143289344
        else if (v == "inf") bits = 2139095040
        else if (v == "-inf") bits = 4286578688
        else {
            v += 0; sign = v < 0; if (sign) v = -v
            exponent = 127
            if (v == 0) bits = 0
            else {
                while (v >= 2) { v /= 2; exponent++ }
                while (v < 1) { v *= 2; exponent-- }
                mantissa = int((v - 1) * 8388608 + 0.5)
                bits = exponent * 8388608 + mantissa
            }
            if (sign) bits += 2147483648
        }
        for (k = 0; k < 4; k++) { printf "\\0%03o", bits % 256; bits = int(bits / 256) }
    }
    { for (i = 1; i <= NF; i++) emit($i); print "" }' | while IFS= read -r LINE; do printf '%b' "$LINE"; done
}

cloud() {
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) {
        r = 1 + i * 0.01; printf "%.6f %.6f %.6f %d\n", r * cos(i * 0.7), r * sin(i * 0.7), i % 17 * 0.1, i } }' | floats
}

# thin NAME N: every Nth point of testdata/NAME.bin
thin() { records "$PCGPU_SOURCE/testdata/$1.bin" | awk -v n="$2" 'NR % n == 0' | floats; }

# rings N: N points of 5 float32, as a spinning sensor has them with its rings. walls N STEP DX: three walls of N x N points
# each at STEP metres, seen from DX metres away along x.
rings() {
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) { r = 4 + i * 0.02; x = i * 0.61
        printf "%.6f %.6f %.6f %d %d\n", r * cos(x), r * sin(x), i % 29 * 0.07 - 1, i % 256, i % 32 } }' | floats
}
walls() {
    awk -v n="$1" -v step="$2" -v dx="$3" 'BEGIN { for (i = 0; i < n; i++) for (j = 0; j < n; j++) {
        u = i * step + 0.013 * j % 0.1; v = j * step + 0.017 * i % 0.1
        print u + dx, v, 0.05 * sin(u), 1; print u + dx, 0.05 * sin(v), v + 0.5, 2; print dx, u, v + 0.5, 3 } }' | floats
}

# depths WIDTH HEIGHT FORMULA: a depth image as .pgm, whose pixel i has the value of a formula of awk.
depths() {
    printf 'P5\n%d %d\n65535\n' "$1" "$2"
    printf "$(awk "BEGIN { for (i = 0; i < $1 * $2; i++) { d = $3; printf \"\\\\%03o\\\\%03o\", d / 256, d % 256 } }")"
}

# Records of 4 float32 as text, one a line.
records() { od -An -v -t f4 -w16 "$1" | awk '{ $1 = $1; print }'; }
# int32 values, one a line.
integers() { od -An -v -t d4 -w4 "$1" | awk '{ print $1 }'; }

have_cuda() {
    cloud 1 > "$WORK/one.bin"
    "$PCGPU" sample --cuda -m 1 "$WORK/one.bin" > /dev/null 2>&1
}

# A sanitizer needs more address space than a limit leaves.
has_sanitizer() { grep -q __asan_init "$PCGPU"; }

skip_part() { printf 'skipped: %s: %s\n' "$1" "$2"; SKIPPED="$SKIPPED $1"; }
skip_all() { printf 'skipped: %s\n' "$1"; exit 77; }
finish() {
    if [ "$CHECKS" -eq 0 ]; then
        [ -n "$SKIPPED" ] && exit 77
        die 'nothing was checked'
    fi
    printf '%d checks passed%s\n' "$CHECKS" "${SKIPPED:+, skipped:$SKIPPED}"
    exit 0
}
