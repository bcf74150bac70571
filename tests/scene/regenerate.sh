#!/bin/sh
# regenerate.sh BUILD/tests/scene [FOLDER]: writes testdata/ anew with the generators, into FOLDER when one is given; without
# one into a temporary folder, to compare with testdata/: every byte, of images every pixel.
set -eu
generators=$1
folder=${2:-$(mktemp -d)}
[ $# -gt 1 ] || trap 'rm -rf "$folder"' EXIT

"$generators/street" --seed 1 "$folder/street.bin"
"$generators/street" --seed 2 --phase 0.37 --pose 0.8,0.1,0.02,0.999755,-0.0026,0.0035,0.0218 \
    --transform "$folder/street_T.txt" "$folder/street_moved.bin"
mkdir -p "$folder/room" "$folder/room_kinect"
"$generators/room" --frames 4 "$folder/room"
"$generators/room" --frames 2 --noise 1 "$folder/room_kinect"

[ $# -eq 1 ] || exit 0
differs() {
    echo "testdata/$1 is not what the generator writes; run: sh tests/scene/regenerate.sh $generators testdata" >&2
    exit 1
}
cd "$folder"
for name in street.bin street_moved.bin street_T.txt room*/*.txt room*/*.yaml; do
    cmp "$name" "${PCGPU_SOURCE:?}/testdata/$name" || differs "$name"
done
for name in room*/*.png; do # how well zlib packs them is its own affair
    "$generators/check_room" --same "$name" "$PCGPU_SOURCE/testdata/$name" || differs "$name"
done
