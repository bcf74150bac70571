#!/bin/sh
# regenerate.sh STREET [FOLDER]: writes testdata/ anew with the generator STREET, into FOLDER when one is given; without
# one into a temporary folder, to compare every byte with testdata/.
set -eu
street=$1
folder=${2:-$(mktemp -d)}
[ $# -gt 1 ] || trap 'rm -rf "$folder"' EXIT

"$street" --seed 1 "$folder/street.bin"
"$street" --seed 2 --phase 0.37 --pose 0.8,0.1,0.02,0.999755,-0.0026,0.0035,0.0218 \
    --transform "$folder/street_T.txt" "$folder/street_moved.bin"

[ $# -eq 1 ] || exit 0
for name in street.bin street_moved.bin street_T.txt; do
    if ! cmp "$folder/$name" "${PCGPU_SOURCE:?}/testdata/$name"; then
        echo "testdata/$name is not what the generator writes; run: sh tests/scene/regenerate.sh $street testdata" >&2
        exit 1
    fi
done
