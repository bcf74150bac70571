# The cases of geometry: see LIST.md there.

# Two scans of a room that share half of each: not 5.5 m and 93 degrees away, from the identity or the truth.
for OPTIONS in '' "--init $C/overlap_T.txt" '--method plane'; do
    "$PCGPU" register --cpu $OPTIONS "$C/overlap_source.ply" "$C/overlap_target.ply" --json r.json -f > "$OUT" 2> "$ERR"
    CODE=$? LAST="register $OPTIONS overlap_source.ply overlap_target.ply"
    [ "$CODE" -eq 0 ] || [ "$CODE" -eq 4 ] || die "exit code $CODE"
    sed 's/.*"T_target_source": \[\([^]]*\)\].*/\1/' r.json | tr , ' ' > T.txt
    near "x ($OPTIONS)" "$(awk '{ print $4 }' T.txt)" 0.15 0.005
    near "y ($OPTIONS)" "$(awk '{ print $8 }' T.txt)" -0.12 0.005
    near "the cosine ($OPTIONS)" "$(awk '{ print $1 }' T.txt)" 0.99779 0.0002
done
# Trajectories as other programs write them.
for NAME in est_vins.csv est_header.csv est_prec2.tum; do
    expect 0 pcgpu evaluate "$C/$NAME" --ground-truth "$C/gt.tum"
    stdout_has '^10 poses compared, 0 missing'
    near "the ATE of $NAME" "$(sed -n 's/^  RMSE \([0-9.]*\) m.*/\1/p' "$OUT")" 0.028 0.001
done
expect 1 pcgpu evaluate "$C/est_off05.tum" --ground-truth "$C/gt.tum"
expect 0 pcgpu evaluate "$C/est_off05.tum" --ground-truth "$C/gt.tum" --time-offset -0.05
near 'the ATE with an offset' "$(sed -n 's/^  RMSE \([0-9.]*\) m.*/\1/p' "$OUT")" 0.0282 0.0001
# The cases of geometry: see LIST.md there. Here are those of formats; times of sweeps, overlaps and trajectories are elsewhere.

# column FILE NAME: the values of a column, as pcgpu writes them.
column() {
    expect 0 "$PCGPU" convert "$1" -o column.csv -f
    AT=$(head -n 1 column.csv | tr , '\n' | grep -nx "$2" | cut -d : -f 1)
    [ -n "$AT" ] || die "$1 has no column $2, only $(head -n 1 column.csv)"
    tail -n +2 column.csv | cut -d , -f "$AT"
}
distinct() { column "$1" "$2" | sort -u | wc -l; }
# bytes FILE AT SIZE: a little-endian number of the file.
bytes() { od -An -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '; }

expect 0 "$PCGPU" convert "$C/class64.las" -o class.las
is 'points of class 64' "$(column class.las classification | grep -cx 64)" 1
is 'points of class 2' "$(column class.las classification | grep -cx 2)" 99
is 'version of class 64' "$(bytes class.las 25 1)" 4
expect 0 "$PCGPU" convert "$C/vector_extra.las" -o vector.las
stderr_is ''
is 'columns of a vector' "$(column vector.las 'sigma\[2\]' > /dev/null; head -n 1 column.csv | tr , '\n' | grep -c '^sigma\[[012]\]$')" 3
is 'description of a vector' "$(od -An -c -j 285 -N 5 vector.las | tr -d ' ')" sigma
is 'type of a vector' "$(bytes vector.las 283 1)" 29
is 'values of a vector' "$(column vector.las 'sigma\[1\]' | sort -u | wc -l)" "$(distinct "$C/vector_extra.las" 'sigma\[1\]')"
for NAME in las npy ply pcd csv xyz; do
    expect 0 "$PCGPU" convert "$C/pdal_utm17.las" -o "utm17.$NAME"
done
for NAME in las ply pcd csv xyz; do
    is "distinct times by .$NAME" "$(distinct "utm17.$NAME" gps_time)" 10
done
expect 0 "$PCGPU" info "$C/pdal_utm17.las"
stdout_has ' gps_time .* 499450\.8'
! grep -q 'gps_time is' "$OUT" || die 'info calls times of a line the same'
for NAME in mm.xyz mm.pts; do
    is "x of $NAME" "$(column "$C/$NAME" x | tr '\n' ' ')" '5403059503.25 5403059504.25 '
done
expect 0 "$PCGPU" convert "$C/pdal2789.pcd" -o pdal.las
is 'point format of columns of PDAL' "$(bytes pdal.las 104 1)" 3
is 'intensities' "$(column pdal.las intensity | tr '\n' ' ')" '143 18 118 '
is 'classes' "$(column pdal.las classification | tr '\n' ' ')" '2 1 2 '
is 'reds' "$(column pdal.las red | tr '\n' ' ')" '68 54 112 '
is 'times' "$(column pdal.las gps_time | tr '\n' ' ')" '245380.78 245381.452 245382.139 '
expect 0 "$PCGPU" view --color rgb --size 64x48 "$C/cc.csv" -o cc.png
expect 0 "$PCGPU" convert "$C/cc.csv" -o cc.las
is 'point format of colours of CloudCompare' "$(bytes cc.las 104 1)" 2
is 'green of x y z r g b' "$(column "$C/xyzrgb.txt" green | tr '\n' ' ')" '182 184 198 176 '
expect 0 "$PCGPU" convert "$C/recX.npy" -o rec.csv
expect 0 "$PCGPU" convert "$C/waymo.pcd" -o waymo.ply
expect 0 "$PCGPU" convert "$C/viewpoint.pcd" -o viewpoint.pcd
is viewpoint "$(grep -a VIEWPOINT viewpoint.pcd)" 'VIEWPOINT 10 20 30 0.7071068 0 0 0.7071068'
expect 0 "$PCGPU" convert "$C/nanorg.pcd" -o nanorg.pcd
is 'rows of a cloud' "$(grep -aE 'WIDTH|HEIGHT' nanorg.pcd | tr '\n' ' ')" 'WIDTH 5 HEIGHT 2 '
expect 1 "$PCGPU" info "$C/ilvis.txt"
stderr_has "points have no 'x', only: LVIS_LFID SHOTNUMBER"
expect 0 "$PCGPU" info "$C/diamond.npz"
stdout_has ': npz, 6 points, 10 columns'
for NAME in bom.ply cr_ascii.ply; do
    expect 0 "$PCGPU" info "$C/$NAME"
    stdout_has "$NAME: ply, 2 points"
done
# Pictures, cameras and depths.
for COMMAND in 'register' info; do
    expect 1 pcgpu $COMMAND --camera 525,525,319.5,239.5 "$C/half_0.png" "$C/half_1.png"
    stderr_has 'cx, cy of the camera are 319\.5, 239\.5, at the edge of the image of 320 x 240 pixels; .*scale fx, fy, cx and cy alike'
done
expect 0 pcgpu register --camera 262.5,262.5,159.5,119.5 "$C/half_0.png" "$C/half_1.png"
stderr_has 'moved 0\.02[0-9]* m'
expect 0 pcgpu info --camera 525,525,319.5,239.5 "$C/depth_metres.npy"
stderr_has 'its shape is \(48, 64\), read as points x columns; if it is a depth image, save it as a 16-bit \.png of millimetres'
expect 0 pcgpu info --camera 262.5,262.5,159.5,119.5,depth_scale=1 "$C/half_0.png"
stdout_has 'looks wrong: depths of .* m; the camera.s depth_scale is the units per metre'
