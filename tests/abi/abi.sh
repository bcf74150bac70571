#!/bin/sh
# abi.sh [--update] LIBRARY STRUCTS: what programs that were linked to the shared library rely on, against abi.list: its
# SONAME, its symbols and the sizes of the public structs (the output of STRUCTS). After a change that breaks programs:
# another pcgpu_soversion in lib/meson.build, a line in NEWS.md, and --update.
set -u
command -v nm >/dev/null && command -v readelf >/dev/null || { echo 'skipped: no nm or readelf' && exit 77; }
update=
[ "$1" != --update ] || { update=yes && shift; }
list=${PCGPU_SOURCE:?}/tests/abi/abi.list
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
{
    readelf -dW "$1" | sed -n 's/.*SONAME.*\[\(.*\)\]$/soname \1/p'
    nm -D --defined-only "$1" | awk '$2 != "A" { print "symbol", $3 }' | LC_ALL=C sort
    "$2" >"$work/structs" && LC_ALL=C sort "$work/structs"
} >"$work/now" || exit 1
# A struct that structs.c leaves out would change unseen.
for name in $(sed -n 's/^} \(pcgpu_[a-z_]*\);$/\1/p' "$PCGPU_SOURCE"/lib/pcgpu*.h); do
    grep -q "^} $name;" "$PCGPU_SOURCE"/lib/pcgpu*.h && ! grep -qE "^typedef enum $name( |$)" "$PCGPU_SOURCE"/lib/pcgpu*.h &&
        ! grep -q "^struct $name " "$work/now" && { echo "FAIL: structs.c lacks $name" >&2 && exit 1; }
done
# Each function of the headers is exported, and nothing else is.
functions=$(sed -n 's/^[a-z][a-z_0-9 *]*[ *]\(pcgpu_[a-z_0-9]*\)(.*/\1/p' "$PCGPU_SOURCE"/lib/pcgpu*.h | LC_ALL=C sort)
exported=$(sed -n 's/^symbol \([^@]*\).*/\1/p' "$work/now")
[ "$functions" = "$exported" ] || {
    echo "FAIL: the functions of the headers and the symbols of the library differ:" >&2
    printf '%s\n' "$functions" >"$work/functions" && printf '%s\n' "$exported" | diff "$work/functions" - >&2
    exit 1
}
[ -z "$update" ] || { cp "$work/now" "$list" && exit; }
diff "$list" "$work/now" || { echo "FAIL: programs that were built before break or find new symbols; see tests/abi/abi.sh" >&2 && exit 1; }
