#!/bin/sh
# Makes the pictures of README from testdata and the generator of drives, but room.png, which tests/scene/picture_model.py makes: make.sh,
# with pcgpu and build/tests/scene/drive on PATH. The same bytes every time.
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
draw pillars --from top --voxel-size 0.16,0.16,4 --range 0,-39.68,-3,69.12,39.68,1 --size 900x560 "$work/pillars.npz"
python3 $here/repack.py $here/pillars.png "$work/pillars.png"
pcgpu register -q testdata/street_moved.bin testdata/street.bin -o "$work/registered.ply"
draw before --size 960x720 testdata/street_moved.bin testdata/street.bin
draw after --size 960x720 "$work/registered.ply" testdata/street.bin
python3 $here/repack.py $here/register.png "$work/before.png" "$work/after.png"
drive --frames 240 --steps 500 "$work"
pcgpu odometry -q "$work"/0*.bin --trajectory "$work/path.txt" -o "$work/map.ply"
draw drive --from top --colormap turbo "$work/map.ply" "$work/path.txt" --ground-truth "$work/poses.txt"
python3 $here/repack.py $here/drive.png "$work/drive.png"
python3 tests/bench/chart.py BENCHMARKS.md > $here/peers.svg
