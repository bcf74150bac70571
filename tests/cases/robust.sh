# The cases of robust: see LIST.md there.

# A list reaches nothing outside of -o.
mkdir -p data home/out && cloud 10 > data/x.bin
expect 2 pcgpu sample -m 3 --output-format ply --files-from "$C/traversal_list.txt" -o home/out/
absent home/data home/out/x.ply
