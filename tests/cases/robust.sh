# The cases of robust: see LIST.md there.

# A list reaches nothing outside of -o.
mkdir -p data home/out && cloud 10 > data/x.bin
expect 2 pcgpu sample -m 3 --output-format ply --files-from "$C/traversal_list.txt" -o home/out/
absent home/data home/out/x.ply

# A chart with a pose at 1e20 m is drawn within a second.
expect 0 timeout 10 "$PCGPU" evaluate "$C/evaluate_hang.txt" --ground-truth "$C/evaluate_hang_truth.txt" --plot p.png
present p.png

# A number beyond the integers is no type of component; characters that turn the text reach no terminal.
expect 1 "$PCGPU" view --size 64x48 "$C/glb_componentType_overflow.glb" -o o.png
absent o.png
cloud 10 > a.bin
expect 1 pcgpu odometry --init "$C/bidi_transform.txt" a.bin a.bin
stderr_has '\\xe2\\x80\\xae31mX'
! grep -q "$(printf '\342\200\256')" "$ERR" || die 'a character that turns the text'
