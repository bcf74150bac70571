# What sample promises beyond the numbers, which tests/oracle checks; answers.list has counts, starts, padding and coordinates of maps.
. "${0%/*}/lib.sh"
cloud 1000 > a.bin

# --method random: the seed decides, threads do not.
expect 0 pcgpu sample --method random -m 400 --seed 5 --threads 1 a.bin -o r1.bin
makes r1.bin r2.bin pcgpu sample --method random -m 400 --seed 5 --threads 2 a.bin -o r2.bin
expect 0 pcgpu sample --method random -m 400 a.bin -o r4.bin # without a seed: a fixed one
makes r4.bin r5.bin pcgpu sample --method random -m 400 a.bin -o r5.bin

# -v says what was done and why there; -q nothing.
tells 'cpu|CPU|cuda|CUDA' pcgpu sample -v -m 10 a.bin -f -o x.bin
quiet pcgpu sample -q -m 10 a.bin -f -o x.bin
# The arrays take their format from their names; an .npz is a zip archive.
expect 0 pcgpu sample -m 10 a.bin -f -o out.bin --indices i.npz
[ "$(head -c 2 i.npz)" = PK ] || die 'i.npz is no archive'
# Coordinates of a map that float32 cannot hold: a warning about the output, with the size of the rounding.
printf 'ply\nformat ascii 1.0\nelement vertex 2\nproperty double x\nproperty double y\nproperty double z\nend_header\n414000.123 5412345.678 1\n414001.123 5412346.678 2\n' > utm.ply
tells '^pcgpu: out\.bin: warning: .*rounded.* by up to 0\.1' pcgpu sample -m 2 utm.ply -f -o out.bin
finish
