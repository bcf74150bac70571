#!/bin/sh
# rings.sh DRIVE PROGRAM: rings of a sensor with few beams on open ground do not pull a registration towards "no motion". Seven
# generated pairs of scans of 32 beams between trees, 1 m and 0.5 degree apart, without an initial transform. Without the normals of
# parents (pc_ndt_finish) each is 158 to 236 mm off, with them 29 to 37.
. "$(dirname "$0")/begin.sh"
awk 'BEGIN { for (i = 0; i < 80; i++) { x += sin(a); z += cos(a); a += 0.5 / 57.29578
    printf "%g %.9f 0 %.9f %.9f 0 1 0 0 %.9f 0 %.9f %.9f\n", i / 10, cos(a), sin(a), x, -sin(a), cos(a), z } }' > path.txt
for layout in 1 2 3 4 5 6 7; do
    mkdir $layout
    "$drive" --path path.txt --bare 1 --first 40 --frames 2 --every 2 --steps 1084 --layout $layout $layout
    code=0
    "$pcgpu" register -q --cpu $layout/000001.bin $layout/000000.bin --transform T.txt -f > /dev/null 2> messages.txt || code=$?
    [ $code -eq 0 ] || [ $code -eq 4 ] || { cat messages.txt; exit 1; }
    awk 'NR == FNR { at[NR] = $4; next } FNR == 2 { print 1000 * sqrt((at[1] - $4) ^ 2 + (at[2] - $8) ^ 2 + (at[3] - $12) ^ 2) }' \
        T.txt $layout/poses.txt >> errors.txt
done
sort -g errors.txt | awk '{ off[NR] = $1; print $1 " mm" } END { exit !(NR == 7 && off[4] <= 40 && off[7] <= 100) }'
