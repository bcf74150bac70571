#!/bin/sh
# The OPTIONS section of each man page is what the program's table of options makes of it. --update rewrites the pages.
set -u
: "${PCGPU:?the path of the program}" "${PCGPU_SOURCE:?the path of the sources}"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
bad=0
for page in "$PCGPU_SOURCE"/man/pcgpu-*.1; do
    command=${page##*/pcgpu-} command=${command%.1}
    "$PCGPU" help --man "$command" > "$scratch/options" || exit 1
    [ -s "$scratch/options" ] || { echo "FAIL: no options of $command"; exit 1; }
    awk -v made="$scratch/options" '
        /^\.\\" options end/ { while ((getline line < made) > 0) print line; inside = 0 }
        !inside { print }
        /^\.\\" options begin/ { inside = 1 }' "$page" > "$scratch/page"
    if [ "${1:-}" = --update ]; then
        cat "$scratch/page" > "$page"
    elif ! diff -u "$page" "$scratch/page"; then
        echo "FAIL: $page is not what the program says; run PCGPU=... PCGPU_SOURCE=... $0 --update"
        bad=1
    fi
done
# Pages are installed as they are.
if grep -n '@[A-Z]*@\|DATADIR' "$PCGPU_SOURCE"/man/*.[17]; then
    echo 'FAIL: a page has a word that nothing replaces'
    bad=1
fi
exit "$bad"
