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
# What is installed names the folder of the configurations.
if grep -n DATADIR "$(dirname "$PCGPU")"/../man/*.1 || ! grep -q '^\.I /.*/pcgpu/configs/' "$(dirname "$PCGPU")"/../man/pcgpu-info.1; then
    echo 'FAIL: a page that is installed does not name the folder of the configurations'
    bad=1
fi
exit "$bad"
