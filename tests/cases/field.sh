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
