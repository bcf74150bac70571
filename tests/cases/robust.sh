# The cases of robust: see LIST.md there.

# A list reaches nothing outside of -o.
mkdir -p data home/out && cloud 10 > data/x.bin
expect 2 pcgpu sample -m 3 --output-format ply --files-from "$C/traversal_list.txt" -o home/out/
absent home/data home/out/x.ply

# A chart with a pose at 1e20 m is drawn within a second.
expect 0 timeout 10 "$PCGPU" evaluate "$C/evaluate_hang.txt" --ground-truth "$C/evaluate_hang_truth.txt" --plot p.png
present p.png

# Characters that turn the text reach no terminal.
cloud 10 > a.bin
expect 1 pcgpu odometry --init "$C/bidi_transform.txt" a.bin a.bin
stderr_has '\\xe2\\x80\\xae31mX'
! grep -q "$(printf '\342\200\256')" "$ERR" || die 'a character that turns the text'

# Threads with stacks of 128 KiB, as musl makes them.
if command -v cc > /dev/null && ! has_sanitizer && cc -shared -fPIC "$C/smallstack.c" -o small.so -ldl 2> /dev/null; then
    printf '%s\n' "$PCGPU_SOURCE/testdata/street.bin $PCGPU_SOURCE/testdata/street_moved.bin" > pairs && cat pairs pairs > LIST
    expect 0 env STK=131072 LD_PRELOAD=./small.so "$PCGPU" register --cpu --threads 2 --init auto --pairs LIST
    for I in 1 2 3; do cp "$PCGPU_SOURCE/testdata/street.bin" $I.bin; done
    expect 0 env STK=131072 LD_PRELOAD=./small.so "$PCGPU" view --from sensor 1.bin 2.bin 3.bin -o views/ --threads 2
else
    skip_part 'small stacks' 'a compiler is absent, or a sanitizer is there'
fi
