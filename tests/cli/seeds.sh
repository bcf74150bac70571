# --seeds: sampling goes on after picks that are given, and the report says how far the rest is.
. "${0%/*}/lib.sh"
cloud 1000 > a.bin

# In two steps as in one: whatever --indices writes, --seeds reads.
for METHOD in fps random; do
    for NAME in i.txt i.npy i i.bin; do
        expect 0 pcgpu sample --method $METHOD -m 400 a.bin -f -o all.bin --indices "all-$NAME"
        expect 0 pcgpu sample --method $METHOD -m 100 a.bin -f -o first.bin --indices "$NAME"
        quiet pcgpu sample --method $METHOD -m 300 --seeds "$NAME" a.bin -f -o then.bin --indices "then-$NAME"
        cat first.bin then.bin > both.bin
        same both.bin all.bin
        cat "$NAME" | pcgpu sample --method $METHOD -m 300 --seeds - a.bin -f -o other.bin || die "a pipe of $NAME"
        same other.bin then.bin
    done
    cat i.txt then-i.txt > both.txt
    same both.txt all-i.txt
    cat i then-i > both
    same both all-i
    integers all-i > wanted
    same all-i.txt wanted
done
expect 0 pcgpu sample -m 400 a.bin -f -o all.bin --distances all.txt
expect 0 pcgpu sample -m 100 a.bin -f -o first.bin --indices i.txt --distances first.txt
expect 0 pcgpu sample -m 300 --seeds i.txt a.bin -f -o then.bin --distances then.txt
cat first.txt then.txt > both.txt
same both.txt all.txt
[ "$(head -n 1 all.txt)" = inf ] || die "the first distance is $(head -n 1 all.txt)"

# Lists made by hand: text on standard input, other line ends, no last one, the order does not matter; nothing at all.
expect 0 pcgpu sample -m 300 --seeds i.txt a.bin -f -o then.bin
sort -rn i.txt | pcgpu sample -m 300 --seeds - a.bin -f -o other.bin || die 'seeds on standard input'
same other.bin then.bin
sed "s/\$/ $(printf '\r')/" i.txt > dos.txt
makes other.bin then.bin pcgpu sample -m 300 --seeds dos.txt a.bin -f -o other.bin
printf '%s' "$(cat i.txt)" > cut.csv
makes other.bin then.bin pcgpu sample -m 300 --seeds cut.csv a.bin -f -o other.bin
: > nothing.txt
makes other.bin all.bin pcgpu sample -m 400 --seeds nothing.txt a.bin -f -o other.bin
expect 0 pcgpu sample -m 900 --seeds i.txt a.bin -f -o rest.bin # all that are left, each once
records a.bin | sort > wanted
{ records first.bin; records rest.bin; } | sort > got
same got wanted
expect 0 pcgpu sample --method random -m 900 --seeds i.txt a.bin -f -o rest.bin
{ records first.bin; records rest.bin; } | sort > got
same got wanted

# A spacing that the seeds have already: an output without points is an answer.
awk 'BEGIN { for (i = 0; i < 65; i++) print i, 0, 0, 0 }' | floats > line.bin
printf '0\n64\n32\n' > ends.txt
expect 0 pcgpu sample --min-distance 4 --seeds ends.txt line.bin -f -o x.bin
size_is x.bin 224 # 16 and 48, then 8, 24, 40, 56; then those of 4 m: 8 more
sized x.bin 0 pcgpu sample --min-distance 17 --seeds ends.txt line.bin -f -o x.bin --indices none.txt --distances none.npy
size_is none.txt 0
expect 0 pcgpu sample --min-distance 0.5 -m 3 --seeds ends.txt line.bin -f -o x.bin --indices x.txt
[ "$(tr '\n' ' ' < x.txt)" = '16 48 8 ' ] || die "indices are $(tr '\n' ' ' < x.txt)"

# In place of a start; the command line wins.
printf 'start: center\n' > start.yaml
expect 0 pcgpu sample --config start.yaml -m 3 --seeds ends.txt line.bin -f -o y.bin --indices y.txt
[ "$(tr '\n' ' ' < y.txt)" = '16 48 8 ' ] || die "the command line does not win: $(tr '\n' ' ' < y.txt)"
printf 'seeds: ends.txt\n' > seeds.yaml
expect 0 pcgpu sample --config seeds.yaml -m 3 --start 1 line.bin -f -o y.bin --indices y.txt
[ "$(tr '\n' ' ' < y.txt)" = '1 64 32 ' ] || die "the command line does not win: $(tr '\n' ' ' < y.txt)"

# Coverage: the largest distance of a point to seeds and picks. On the line it is known.
coverage() { # coverage WANTED OPTION...
    WANTED_COVERAGE=$1
    shift
    says "\"coverage\": $WANTED_COVERAGE[,}]" pcgpu sample "$@" line.bin -f -o x.bin --json -
    tells "^pcgpu: line\\.bin: coverage $WANTED_COVERAGE m" pcgpu sample "$@" line.bin -f -o x.bin -v
}
coverage 64 -m 1
coverage 32 -m 2
coverage 16 -m 3
coverage 0 -m 65
coverage 16 --min-distance 17
coverage 8 -m 2 --seeds ends.txt
coverage 16 --min-distance 17 --seeds ends.txt
coverage 0 --method random -m 65
coverage 0 --method random -m 62 --seeds ends.txt
expect 0 pcgpu sample --method random -m 5 line.bin -f -o x.bin --indices x.txt
FARTHEST=$(sort -n x.txt | awk '{ if (NR == 1) far = $1; else { gap = int(($1 - last) / 2); if (gap > far) far = gap }; last = $1 }
    END { if (64 - last > far) far = 64 - last; print far }')
coverage "$FARTHEST" --method random -m 5
makes y.bin x.bin pcgpu sample --method random -m 5 line.bin -f -o y.bin # the same sample, looked at or not
finish
