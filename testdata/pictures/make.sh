#!/bin/sh
# Makes the pictures of README from testdata and the generator of drives, but room.png, which tests/scene/picture_model.py makes: make.sh,
# with pcgpu and build/tests/scene/drive on PATH. The same bytes every time.
set -e
cd "${0%/*}/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=testdata/pictures
pcgpu sample -m 4096 testdata/street.bin -o "$work/sampled.ply" --picture $here/sample.png -f
pcgpu voxelize --config pillar testdata/street.bin -o "$work/pillars.npz"
pcgpu view --from top --voxel-size 0.16,0.16,4 --range 0,-39.68,-3,69.12,39.68,1 --size 900x560 "$work/pillars.npz" -o $here/pillars.png -f
pcgpu register -q testdata/street_moved.bin testdata/street.bin -o "$work/moved.ply" --picture $here/register.png -f
drive --frames 240 --steps 500 "$work"
pcgpu odometry -q "$work"/*.bin --trajectory "$work/found.txt" --ground-truth "$work/poses.txt" --picture $here/drive.png -f > /dev/null
python3 $here/repack.py $here/sample.png $here/pillars.png $here/register.png $here/drive.png
python3 tests/bench/chart.py BENCHMARKS.md > $here/peers.svg
