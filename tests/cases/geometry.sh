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
