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

# The order does not matter. Lists made by hand, spacings, configurations and coverage: answers.list.
expect 0 pcgpu sample -m 300 --seeds i.txt a.bin -f -o then.bin
sort -rn i.txt | pcgpu sample -m 300 --seeds - a.bin -f -o other.bin || die 'seeds on standard input'
same other.bin then.bin
expect 0 pcgpu sample -m 900 --seeds i.txt a.bin -f -o rest.bin # all that are left, each once
records a.bin | sort > wanted
{ records first.bin; records rest.bin; } | sort > got
same got wanted
expect 0 pcgpu sample --method random -m 900 --seeds i.txt a.bin -f -o rest.bin
{ records first.bin; records rest.bin; } | sort > got
same got wanted
finish
