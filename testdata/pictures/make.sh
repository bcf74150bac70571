#!/bin/sh
# Makes the pictures of README from testdata and the generators of drives and rooms: make.sh, with pcgpu, build/tests/scene/drive and
# build/tests/scene/room on PATH, and chromium for page.png. But for page.png the bytes are the same every time.
set -e
cd "${0%/*}/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=testdata/pictures
# draw NAME OPTION... INPUT...: a picture for repack.py, which puts some side by side.
draw() {
    name=$1
    shift
    pcgpu view "$@" -o "$work/$name.png"
}
pcgpu sample -m 4096 testdata/street.bin -o "$work/picks.bin"
pcgpu sample -m 4096 --method random testdata/street.bin -o "$work/random.bin"
for name in picks random; do # the same box, so that both are seen from one place
    pcgpu convert --crop=-30,-20,-3,30,20,4 "$work/$name.bin" -o "$work/$name.ply"
    draw $name --size 960x720 "$work/$name.ply"
done
python3 $here/repack.py $here/sample.png "$work/picks.png" "$work/random.png"
pcgpu voxelize --config pillar testdata/street.bin -o "$work/pillars.npz"
draw pillars --colormap turbo --size 900x560 "$work/pillars.npz"
python3 $here/repack.py $here/pillars.png "$work/pillars.png"
pcgpu register -q testdata/street_moved.bin testdata/street.bin -o "$work/registered.ply"
draw before --size 960x720 testdata/street_moved.bin testdata/street.bin
draw after --size 960x720 "$work/registered.ply" testdata/street.bin
python3 $here/repack.py $here/register.png "$work/before.png" "$work/after.png"
drive --frames 240 --steps 500 "$work"
pcgpu odometry -q "$work"/0*.bin --trajectory "$work/path.txt" -o "$work/map.ply"
draw drive --from top --colormap turbo "$work/map.ply" "$work/path.txt" --ground-truth "$work/poses.txt"
python3 $here/repack.py $here/drive.png "$work/drive.png"
mkdir "$work/frames"
room --path around --loop 180 --noise 1 "$work/frames"
pcgpu odometry -q --config "$work/frames/camera.yaml" "$work"/frames/*.png --trajectory "$work/camera.txt" --mesh "$work/room.ply"
draw room --size 900x560 "$work/room.ply" "$work/camera.txt"
python3 $here/repack.py $here/room.png "$work/room.png"
draw range --from sensor --size 1280x320 testdata/street.bin
python3 $here/repack.py $here/range.png "$work/range.png"
pcgpu view testdata/street_moved.bin testdata/street.bin -o "$work/page.html"
! command -v chromium > /dev/null || chromium --headless --no-sandbox --enable-unsafe-swiftshader --virtual-time-budget=9000 \
    --screenshot=$here/page.png --window-size=900,560 "file://$work/page.html"
python3 tests/bench/chart.py BENCHMARKS.md > $here/peers.svg
