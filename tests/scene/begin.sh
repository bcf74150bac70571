# Sourced by the scripts of this folder: the generators, beside the first argument, the program, and a folder of their own.
set -eu
drive=$(cd "${1%/*}" && pwd)/drive room=${drive%drive}room check=${drive%drive}check_room
pcgpu=${PCGPU:?}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() { echo "FAIL: $1" >&2; exit 1; }
# runs OPTIONS: whether the program runs with these, such as --cuda, on a scan of one point, one.bin.
runs() {
    printf '\000\000\200?\000\000\200?\000\000\200?\000\000\000\000' > one.bin
    "$pcgpu" sample "$@" -m 1 one.bin -o first.bin 2> why || { tail -n 1 why; return 1; }
}
# off TRAJECTORY TRUTH: of each pose, metres and degrees that it is off, and the way so far in metres; nan where there is no pose.
off() {
    paste -d ' ' "$1" "$2" | awk '
        function metres(a, b, c) { return sqrt(($16 - a) ^ 2 + ($20 - b) ^ 2 + ($24 - c) ^ 2) }
        { way += NR > 1 ? metres(x, y, z) : 0; x = $16; y = $20; z = $24; chord = 0
          for (k = 1; k <= 12; k++) chord += k % 4 ? ($k - $(k + 12)) ^ 2 / 8 : 0 # the square of the sine of half the angle
          if ($1 == "nan") print "nan"
          else print metres($4, $8, $12), 360 / 3.14159265 * atan2(sqrt(chord), sqrt(1 - chord)), way }'
}
# check NAME COUNT LOST METRES TRUTH: trajectory.txt has COUNT lines, LOST of them without a pose, the others so near to the truth.
check() {
    off trajectory.txt "$5" | awk -v name="$1" -v count="$2" -v lost="$3" -v most="$4" '
        $1 == "nan" { none++; next }
        $1 > worst { worst = $1 }
        END { printf "%s: %d of %d lost, at most %.1f mm off\n", name, none, NR, 1000 * worst
              exit !(NR == count && none + 0 == lost && worst < most) }' || fail "$1"
}
