#!/bin/sh
# The formats have one table, in lib/io: README.md and pcgpu-formats(7) list what `pcgpu --version -v` prints. --update
# rewrites both.
set -u
: "${PCGPU:?the path of the program}" "${PCGPU_SOURCE:?the path of the sources}"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
"$PCGPU" --version -v | sed -n '/^formats:/,/^[A-Z]/p' | sed '/^  [a-z]/!d' > "$scratch/formats"
[ "$(wc -l < "$scratch/formats")" -ge 14 ] || { echo 'FAIL: --version -v prints no formats'; exit 1; }

# Columns of fixed width: name, extension, read, write, description.
awk 'BEGIN { print "| format | name | reads | writes | |"; print "|---|---|---|---|---|" }
    { name = substr($0, 3, 9); sub(/ +$/, "", name); read = substr($0, 20, 4) ~ /read/; write = substr($0, 25, 5) ~ /write/
      printf "| `%s` | %s | %s | %s | %s |\n", $2, name, read ? "yes" : "", write ? "yes" : "", substr($0, 32) }' \
    "$scratch/formats" > "$scratch/README.md"
awk '{ name = substr($0, 3, 9); sub(/ +$/, "", name); read = substr($0, 20, 4) ~ /read/; write = substr($0, 25, 5) ~ /write/
      text = substr($0, 32); gsub(/-/, "\\-", text); gsub(/-/, "\\-", name)
      printf ".TP\n\\fB%s\\fR (%s, %s)\n%s.\n", $2, name, read && write ? "read and written" : read ? "read" : "written",
          toupper(substr(text, 1, 1)) substr(text, 2) }' "$scratch/formats" > "$scratch/pcgpu-formats.7"
bad=0
for file in README.md man/pcgpu-formats.7; do
    awk -v made="$scratch/${file##*/}" '
        /formats end/ { while ((getline line < made) > 0) print line; inside = 0 }
        !inside { print }
        /formats begin/ { inside = 1 }' "$PCGPU_SOURCE/$file" > "$scratch/page"
    if [ "${1:-}" = --update ]; then
        cat "$scratch/page" > "$PCGPU_SOURCE/$file"
    elif ! diff -u "$PCGPU_SOURCE/$file" "$scratch/page"; then
        echo "FAIL: $file lists other formats than the program; run PCGPU=... PCGPU_SOURCE=... $0 --update"
        bad=1
    fi
done
exit "$bad"
