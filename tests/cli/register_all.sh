# pcgpu register --all: a pose for each cloud of a set.
. "${0%/*}/lib.sh"
ROOM=$PCGPU_SOURCE/testdata/room CAMERA=$PCGPU_SOURCE/testdata/room/camera.yaml
mkdir set
for I in 0 1 2; do
    pcgpu convert -q --config "$CAMERA" "$ROOM/frame-00000$I.png" -o set/$((2 - I)).ply || die 'the frames cannot be read'
done
cp "$PCGPU_SOURCE/testdata/street.bin" set/street.bin

# poses FILE: how many numbers are in each line, nan lines marked.
poses() { awk '{ printf "%s%d ", ($1 == "nan" ? "n" : ""), NF }' "$1"; }

# One line for each input, by name; the street fits none, is named, and has no pose.
expect 4 pcgpu register --all set --transform poses.txt -o map.ply --merge --json all.json
stderr_has '^pcgpu: set/street\.bin: not placed: it fits no other cloud'
stderr_has '^pcgpu: poses\.txt: 3 of 4 clouds placed by'
[ "$(poses poses.txt)" = '12 12 12 n12 ' ] || die "the poses are $(cat poses.txt)"
[ "$(head -n 1 poses.txt)" = '1 0 0 0 0 1 0 0 0 0 1 0' ] || die 'the first cloud is not the identity'
pcgpu info map.ply > ../info
grep -q ' source ' ../info || die 'the map has no column source'
[ "$(wc -l < all.json)" -eq 5 ] || die "--json has $(wc -l < all.json) lines"
grep -q '"inputs": \["set/0.ply"\], "cloud": 0, "placed": true,.*"covariance": \[0, .*"registered_with": \["set/1.ply"' all.json ||
    die "--json does not have the first cloud: $(head -n 1 all.json)"
grep -q '"set/street.bin"\], "cloud": 3, "placed": false, "group": 1,.*"registered_with": \[\]' all.json || die 'nor the street'
grep -q '"exit_code": 4, "outputs": {"transform": "poses.txt", "output": "map.ply"},' all.json || die 'nor the outputs'
cp poses.txt ../poses && cp map.ply ../map

# The same bytes with any number of threads, and when the poses go to standard output; files and a folder, other formats.
expect 4 pcgpu register --all --threads 1 set
same "$OUT" ../poses
expect 0 pcgpu register --all --threads 3 set/0.ply set/1.ply set/2.ply -o three.ply --merge
head -n 3 ../poses > ../three
same "$OUT" ../three
cp "$OUT" ../out && expect 0 pcgpu evaluate ../out --ground-truth ../three
printf 'set/0.ply\nset/street.bin\nset/1.ply\n' > list
expect 4 pcgpu register --all --files-from list --set transform-format=tum -o tum.txt
[ "$(cut -d ' ' -f 1-2 tum.txt | tail -n 2 | head -n 1)" = '# lost' ] || die "TUM is $(cat tum.txt)"
expect 0 pcgpu register --all --config "$CAMERA" "$ROOM"/frame-00000[012].png -o depth.txt
[ "$(poses depth.txt)" = '12 12 12 ' ] || die 'depth images are not clouds'
expect 0 pcgpu register --all set/0.ply set/1.ply --transform t.txt --merge -o two.ply
expect 0 pcgpu register --all set/0.ply set/1.ply -o u.txt --dry-run
grep -q '^  all: true' "$OUT" && grep -q 'transform: "u.txt"' "$OUT" || die "the configuration is $(cat "$OUT")"
[ ! -e u.txt ] || die 'a dry run wrote the poses'

# Two groups: the larger one has poses, and the other one is named.
cp "$PCGPU_SOURCE/testdata/street_moved.bin" set/street_moved.bin
expect 4 pcgpu register --all set -f -o poses.txt
[ "$(poses poses.txt)" = '12 12 12 n12 n12 ' ] || die "with two streets the poses are $(cat poses.txt)"
stderr_has '^pcgpu: set/street\.bin: not placed: it fits set/street_moved\.bin, but not the clouds that are placed'
finish
