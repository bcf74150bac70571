# The cases of field: see LIST.md there. Trajectories of other lengths and sets of scans are wishes.
expect 1 "$PCGPU" sample -m 16 "$C/vbr_29_bytes.bin" -o x.ply
stderr_is_one 'coordinates such as -1\.08634e\+17 are not possible; .*; to read it as it is, give --fields or -f$'
absent x.ply
expect 0 "$PCGPU" sample -m 16 --fields 4 "$C/vbr_29_bytes.bin" -o x.ply
stderr_has 'warning: coordinates such as'
expect 0 "$PCGPU" sample -m 16 -f "$C/vbr_29_bytes.bin" -o x.ply
stderr_has 'warning: coordinates such as'
expect 0 "$PCGPU" info "$C/vbr_29_bytes.bin"
stdout_has 'looks wrong: coordinates such as'
"$PCGPU" info "$C/small.laz" < /dev/null > "$OUT" 2> "$ERR"
if [ $? -eq 0 ]; then
    stdout_has ': laz, 1600 points'
else
    stderr_is_one "pip install 'laspy\[lazrs\]'"
fi
expect 0 "$PCGPU" convert "$C/est4.txt" -o est4.tum
is 'lines of TUM' "$(awk 'NF == 8' est4.tum | wc -l)" 4
is 'the first pose' "$(head -n 1 est4.tum | cut -d ' ' -f 1)" 0
expect 0 "$PCGPU" convert est4.tum -o est4.kitti
is 'lines of KITTI' "$(awk 'NF == 12' est4.kitti | wc -l)" 4
is 'the last pose' "$(paste -d ' ' "$C/est4.txt" est4.kitti | awk 'function abs(v) { return v < 0 ? -v : v }
    { for (k = 1; k <= 12; k++) if (abs($k - $(k + 12)) > 1e-6) bad++ } END { print bad + 0 }')" 0
expect 0 "$PCGPU" convert --rate 20 "$C/est4.txt" -o est4.tum -f
is 'the time of pose 3' "$(tail -n 1 est4.tum | cut -d ' ' -f 1)" 0.15
printf '5\n6\n7\n9.5\n' > times.txt
expect 0 "$PCGPU" convert --timestamps times.txt "$C/est4.txt" -o est4.tum -f
is 'the time of pose 3' "$(tail -n 1 est4.tum | cut -d ' ' -f 1)" 9.5
