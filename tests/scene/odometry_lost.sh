#!/bin/sh
# odometry_lost.sh ROOM DRIVE PROGRAM: sequences with frames that show nothing. Ten depth images covered by a hand while the
# camera goes on by 40 degrees, ten covered scans of a street: all others have poses, right ones at once. A fast bare
# road, whose first motion no scene determines well: no scan is lost, and the errors stay small. With
# $PCGPU_DATA, sequences of 7-Scenes that were lost for ever; and places apart, which must not be found.
. "$(dirname "$0")/begin.sh"
config=${PCGPU_SOURCE:?}/configs/7scenes.yaml
mkdir room street road
"$room" --path around --loop 120 --noise 1 --width 160 --frames 60 --format pgm room
"$drive" --frames 45 --steps 500 --seed 9 street
awk 'BEGIN { for (i = 0; i < 90; i++) { x += 3 * sin(a); z += 3 * cos(a); a = 0.1 * sin(0.04 * i)
    printf "%g %.9f 0 %.9f %.9f 0 1 0 0 %.9f 0 %.9f %.9f\n", i / 10, cos(a), sin(a), x, -sin(a), cos(a), z } }' > path.txt
"$drive" --path path.txt --bare 2 --first 20 --frames 50 --steps 400 --moving 1 --moving-cars 1 road

# check NAME COUNT LOST METRES: as many lines are without a pose, the others so near to the truth.
check() {
    off trajectory.txt "$5" | awk -v name="$1" -v count="$2" -v lost="$3" -v most="$4" '
        $1 == "nan" { none++; next }
        $1 > worst { worst = $1 }
        END { printf "%s: %d of %d lost, at most %.1f mm off\n", name, none, NR, 1000 * worst
              exit !(NR == count && none + 0 == lost && worst < most) }' || fail "$1"
}

# A surface 0.26 m away that fills the image; a few points around the sensor, and no scan at all.
printf 'P5\n160 120\n65535\n' > covered.pgm
head -c 38400 /dev/zero | tr '\0' '\001' >> covered.pgm
for i in 0 1 2 3 4 5 6 7 8 9; do
    cp covered.pgm room/frame-00002$i.pgm
    head -c 3200 street/000000.bin > covered.bin
    mv covered.bin street/0000$((25 + i)).bin
done
: > street/000030.bin
head -n 1 room/poses_kitti.txt > first.txt
for reference in previous keyframe model; do
    code=0
    "$pcgpu" odometry -q --cpu --config room/camera.yaml --init first.txt --reference $reference room/*.pgm \
        --trajectory trajectory.txt -f 2> messages.txt || code=$?
    [ $code -eq 4 ] || { cat messages.txt; exit 1; }
    check "room, $reference" 60 10 0.03 room/poses_kitti.txt
    code=0
    "$pcgpu" odometry -q --cpu --reference $reference street/*.bin --trajectory trajectory.txt -f 2> messages.txt || code=$?
    [ $code -eq 4 ] || { cat messages.txt; exit 1; }
    check "street, $reference" 45 10 0.02 street/poses.txt
done
# 150 m at 30 m/s, deskewed by the times of the points. To the scan before it, errors add up.
for case in 'previous 3' 'keyframe 3' 'model 0.5'; do
    set -- $case
    "$pcgpu" odometry -q --cpu --fields 5 --reference $1 road/*.bin --trajectory trajectory.txt -f
    check "road, $1" 50 0 $2 road/poses.txt
done

[ -d "${PCGPU_DATA:-/nonexistent}/depth_7scenes_lost" ] || { echo 'skipped: 7-Scenes'; exit 0; }
# KinectFusion's poses are good to some centimetres over such a way.
for case in 'depth_7scenes_lost previous 26' 'depth_7scenes_lost keyframe 26' 'depth_7scenes_lost model 26' \
    'depth_7scenes_path previous 60'; do
    set -- $case
    for file in "$PCGPU_DATA/$1"/*.pose.txt; do
        awk 'NR < 4 { printf "%s ", $0 } END { print "" }' "$file"
    done > truth.txt
    head -n 1 truth.txt > first.txt
    "$pcgpu" odometry -q --cpu --config "$config" --init first.txt --reference $2 "$PCGPU_DATA/$1"/*.depth.png \
        --trajectory trajectory.txt -f
    check "$1, $2" "$3" 0 0.25 truth.txt
done
# A stereo camera, whose background has metres of noise. There is no truth: small_gicp, from image to image, ends 0.04 m from here.
for reference in '--reference previous' '--reference keyframe' '--map-voxel 0.03'; do
    "$pcgpu" odometry -q --cpu --camera 385,385,320,240 $reference "$PCGPU_DATA/depth_realsense"/*.png \
        --trajectory trajectory.txt -f
    awk -v what="depth_realsense, $reference" '
        function off(a, b) { return a > b ? a - b : b - a }
        /nan/ { lost++ }
        END { good = NR == 24 && !lost && off($4, -0.08) < 0.02 && off($8, -0.04) < 0.02 && off($12, 0.148) < 0.02
              print what ": " lost + 0 " of " NR " lost, ends at", $4, $8, $12; exit !good }' trajectory.txt
done
# Scans 2 to 4 m apart, of a car whose own returns and rings repeat from scan to scan; the true poses are flat, so that slopes
# count as errors.
for reference in previous keyframe model; do
    "$pcgpu" odometry -q --cpu --fields 5 --reference $reference "$PCGPU_DATA/nuscenes_sequence"/*.bin --trajectory trajectory.txt -f
    check "nuscenes_sequence, $reference" 12 0 2 "$PCGPU_DATA/nuscenes_sequence/poses.txt"
done
# No pose where two views have next to nothing, or nothing, in common; that of the last pair, along a wall, was off by 0.2 m.
for pair in '000000 000304' '000400 000104' '000464 000200' '000256 000472' '000272 000248'; do
    set -- $pair
    code=0
    "$pcgpu" register -q --cpu --config "$config" "$PCGPU_DATA/depth_7scenes_path/frame-$1.depth.png" \
        "$PCGPU_DATA/depth_7scenes_path/frame-$2.depth.png" > /dev/null 2>&1 || code=$?
    [ $code -eq 4 ] || fail "$1 onto $2 has exit code $code"
    code=0
    "$pcgpu" register -q --cpu --config "$config" --set target-camera=525,525,319.5,239.5 \
        "$PCGPU_DATA/depth_7scenes_path/frame-$1.depth.png" "$PCGPU_DATA/depth_livingroom/00000.png" > /dev/null 2>&1 || code=$?
    [ $code -eq 4 ] || fail "$1 onto another place has exit code $code"
done
