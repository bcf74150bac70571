#!/bin/sh
# Plants faults, one at a time, and checks that the tests find each:
#   tests/mutants.sh [-k PATTERN] [TREE]
# A line of tests/mutants.list is FILE :: SED :: TESTS: what to change, and the tests of which one or more must fail. The
# faults are planted in a copy of the tree below TREE (default: a temporary folder, removed at the end; a given folder
# is kept, so that the next run builds only what changed). First all the tests must pass without a fault. -k: only the
# lines with PATTERN. The last line is "N faults: N found, N not found"; the exit status is 0 when all were found.
set -u
source=$(cd "$(dirname "$0")/.." && pwd) || exit 2
pattern=.
[ "${1:-}" != -k ] || { pattern=$2; shift 2; }
if [ $# -gt 0 ]; then
    mkdir -p "$1" && work=$(cd "$1" && pwd) || exit 2
else
    work=$(mktemp -d) || exit 2
    trap 'rm -rf "$work"' EXIT
fi
meson=/usr/bin/meson
[ -x "$meson" ] || meson=meson
tree=$work/tree
log=$work/log

(cd "$source" && git ls-files -z | tar -c --null -T - --ignore-failed-read) > "$work/tree.tar" || exit 2
mkdir -p "$tree/before" && tar -x -f "$work/tree.tar" -C "$tree/before" || exit 2
(cd "$tree/before" && find . -type f) | while read -r file; do # the times of equal files stay: only changes are built
    cmp -s "$tree/before/$file" "$tree/$file" || { mkdir -p "$tree/${file%/*}" && cp "$tree/before/$file" "$tree/$file"; }
done
rm -rf "$tree/before"
[ ! -d "$source/../shared" ] || [ -e "$work/shared" ] || ln -s "$(cd "$source/../shared" && pwd)" "$work/shared"
[ -d "$tree/build" ] || "$meson" setup "$tree/build" "$tree" -Dcuda=disabled > "$log" 2>&1 || { cat "$log"; exit 2; }

# Runs tests, whose names are separated by commas, after building what they need. 125: it does not build.
run_tests() {
    (
        IFS=,
        # shellcheck disable=SC2086 # a list of names
        set -- $1
        cd "$tree" && "$meson" test -C build "$@" > "$log" 2>&1
    )
    result=$?
    if grep -q '^FAILED: \|ninja: build stopped\|ninja: error\|^No suitable tests\|does not match' "$log"; then
        return 125
    fi
    return $result
}

grep -v '^#' "$source/tests/mutants.list" | grep -e "$pattern" > "$work/list"
all=$(awk -F ' :: ' '{ n = split($3, t, ","); for (i = 1; i <= n; i++) if (!seen[t[i]]++) printf "%s%s", c++ ? "," : "", t[i] }' \
    "$work/list")
run_tests "$all" || { tail -30 "$log"; echo "the tests fail without a fault"; exit 2; }

count=0 missed=0
while IFS= read -r line; do
    file=${line%% :: *} rest=${line#* :: }
    edit=${rest%% :: *} tests=${rest#* :: }
    count=$((count + 1))
    cp -p "$tree/$file" "$work/original" && sed "$edit" "$work/original" > "$tree/$file" || exit 2
    if [ "$(diff "$work/original" "$tree/$file" | grep -c '^>')" -ne 1 ]; then
        verdict="NOT PLANTED: the edit must change one line"
    else
        run_tests "$tests"
        case $? in
        0) verdict="NOT FOUND" ;;
        125) verdict="NOT PLANTED: it does not build, or a test is unknown" ;;
        *) verdict=found ;;
        esac
    fi
    [ "$verdict" = found ] || missed=$((missed + 1))
    printf '%-12s %s  %s\n' "$verdict" "$file" "$edit"
    cp "$work/original" "$tree/$file" # with a new time, so that it is built again
done < "$work/list"
echo "$count faults: $((count - missed)) found, $missed not found"
[ "$missed" -eq 0 ]
