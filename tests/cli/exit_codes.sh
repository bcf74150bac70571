# The five exit codes, and what each leaves behind.
. "${0%/*}/lib.sh"
cloud 200 > a.bin

expect 0 pcgpu sample -m 10 a.bin -o out.bin
size_is out.bin 160

if have_cuda; then
    skip_part 'exit code 3' 'this machine has a CUDA device'
else
    for DEVICE in --cuda --cuda=0 '--device=cuda' '--device=cuda:0'; do
        expect 3 "$PCGPU" sample "$DEVICE" -m 10 a.bin -o x.bin
        stdout_is ''
        stderr_has '^pcgpu: .*[Cc][Uu][Dd][Aa]'
    done
    expect 3 "$PCGPU" voxelize --cuda --range auto --voxel-size 1 a.bin -o x.bin
    expect 3 "$PCGPU" register --cuda a.bin a.bin
    expect 3 "$PCGPU" sample --cuda -m 10 a.bin
    stdout_is ''
    expect 0 "$PCGPU" sample --cuda --cpu -m 10 a.bin -o y.bin # the last one counts
    same y.bin out.bin
    rm y.bin
fi
expect 3 "$PCGPU" sample --cuda=900 -m 10 a.bin -o x.bin # no machine has that many
absent x.bin

# Two clouds that do not overlap: 4, and the outputs are written nevertheless.
cloud 3000 > near.bin
records near.bin | awk '{ $1 += 500; print }' | floats > far.bin
expect 4 pcgpu register near.bin far.bin --transform T.txt -o moved.bin
stderr_has '^pcgpu: .+'
present T.txt
size_is moved.bin 48000
[ "$(awk 'NF == 4' T.txt | wc -l)" -eq 4 ] || die 'T.txt is not a 4x4 matrix'
finish
