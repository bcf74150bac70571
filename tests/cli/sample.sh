# What sample promises beyond the numbers, which tests/oracle checks.
. "${0%/*}/lib.sh"
cloud 1000 > a.bin

sized x.bin 16000 pcgpu sample -m 1000 a.bin -o x.bin

# A whole cloud is a permutation; picks are the records of the input.
records a.bin | sort > wanted
records x.bin | sort > got
same got wanted

sized x.bin 16 pcgpu sample --ratio 0.0001 a.bin -f -o x.bin # never less than one
head -c 16 a.bin > first.bin
same x.bin first.bin # and the first pick is record 0
sized x.bin 16000 pcgpu sample --ratio 1 a.bin -f -o x.bin
sized x.bin 240 pcgpu sample --ratio 0.0159 a.bin -f -o x.bin

# --min-distance: points on a line one metre apart.
awk 'BEGIN { for (i = 0; i < 65; i++) print i, 0, 0, 0 }' | floats > line.bin
sized x.bin 272 pcgpu sample --min-distance 4 line.bin -f -o x.bin --distances d # picks halve the gaps: 64, 32, 16, 8, 4
[ "$(od -An -v -t f4 -w4 d | awk 'NR > 1 && $1 < 4' | wc -l)" -eq 0 ] || die 'a pick is nearer than 4 m'
sized x.bin 144 pcgpu sample --min-distance 4.001 line.bin -f -o x.bin
sized x.bin 80 pcgpu sample --min-distance 4 -m 5 line.bin -f -o x.bin
sized x.bin 272 pcgpu sample --min-distance 4 -m 50 line.bin -f -o x.bin

# --start, --indices, --distances.
expect 0 pcgpu sample -m 3 --start 10 line.bin -f -o x.bin --indices i --distances d
[ "$(integers i | tr '\n' ' ')" = '10 64 37 ' ] || die "indices are $(integers i | tr '\n' ' ')"
[ "$(od -An -v -t f4 -w4 d | tr -d ' ' | tr '\n' ' ')" = 'inf 54 27 ' ] || die "distances are $(od -An -t f4 d)"
expect 0 pcgpu sample -m 2 --start center line.bin -f -o x.bin --indices i -f # both ends are as far: the lower index
[ "$(integers i | tr '\n' ' ')" = '0 64 ' ] || die "indices are $(integers i | tr '\n' ' ')"

# --method random: the seed decides, threads do not; no record comes twice.
expect 0 pcgpu sample --method random -m 400 --seed 5 --threads 1 a.bin -o r1.bin --indices r1
expect 0 pcgpu sample --method random -m 400 --seed 5 --threads 2 a.bin -o r2.bin
makes r1.bin r2.bin pcgpu sample --method random -m 400 --seed 6 a.bin -o r3.bin
differ r1.bin r3.bin
[ "$(integers r1 | sort -n | uniq | wc -l)" -eq 400 ] || die 'random: a record came twice'
[ "$(integers r1 | awk '$1 < 0 || $1 > 999' | wc -l)" -eq 0 ] || die 'random: not a record'
expect 0 pcgpu sample --method random -m 400 a.bin -o r4.bin # without a seed: a fixed one
makes r4.bin r5.bin pcgpu sample --method random -m 400 a.bin -o r5.bin

# Records at the origin: kept unless asked.
{ echo '0 0 0 9'; echo '1 0 0 1'; echo '0 0 0 8'; echo '0 2 0 2'; } | floats > zeros.bin
expect 0 pcgpu sample -m 4 zeros.bin -f -o x.bin --indices i
[ "$(integers i | sort -n | tr '\n' ' ')" = '0 1 2 3 ' ] || die 'records at the origin are missing'
expect 0 pcgpu sample -m 2 --start 1 --drop-origin zeros.bin -f -o x.bin --indices i
[ "$(integers i | tr '\n' ' ')" = '1 3 ' ] || die "indices are $(integers i | tr '\n' ' ')"

# -v says what was done and why there; -q nothing.
tells 'cpu|CPU|cuda|CUDA' pcgpu sample -v -m 10 a.bin -f -o x.bin
quiet pcgpu sample -q -m 10 a.bin -f -o x.bin
# The arrays take their format from their names; an .npz is a zip archive.
expect 0 pcgpu sample -m 10 a.bin -f -o out.bin --indices i.npz
[ "$(head -c 2 i.npz)" = PK ] || die 'i.npz is no archive'
# Coordinates of a map that float32 cannot hold: a warning about the output, with the size of the rounding.
printf 'ply\nformat ascii 1.0\nelement vertex 2\nproperty double x\nproperty double y\nproperty double z\nend_header\n414000.123 5412345.678 1\n414001.123 5412346.678 2\n' > utm.ply
tells '^pcgpu: out\.bin: warning: .*rounded.* by up to 0\.1' pcgpu sample -m 2 utm.ply -f -o out.bin
says '^414000\.123[0-9]* 5412345\.678[0-9]* 1$' pcgpu sample -m 2 utm.ply -o - --output-format ply-ascii
# A record without a return among them neither spoils the others nor escapes --drop-origin; a far outlier is told of.
sed 's/vertex 2/vertex 3/' utm.ply > zero.ply
cp zero.ply far.ply
echo '0 0 0' >> zero.ply
echo '9 9 9' >> far.ply
quiet pcgpu sample -m 2 --drop-origin zero.ply -o - --output-format ply-ascii
stdout_has '^414000\.123[0-9]* 5412345\.678[0-9]* 1$'
says '^0 0 0$' pcgpu sample -m 3 zero.ply -o - --output-format ply-ascii
tells '^pcgpu: far\.ply: warning: .*rounded by up to 0\.[0-9]+ m; remove' pcgpu sample -m 3 far.ply -o - --output-format ply-ascii
finish
