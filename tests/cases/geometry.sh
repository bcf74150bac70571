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
