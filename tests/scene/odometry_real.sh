#!/bin/sh
# odometry_real.sh DRIVE PROGRAM: real sequences against their poses: of 7-Scenes that were lost for ever, of a stereo camera, of nuScenes and
# of KITTI; and places apart, which must not be found. The short form of tests/bench/real.py, with tests/oracle/test_overlap.py (pairs of rooms)
# and test_register.py (pairs of KITTI). Exit code 77 without $PCGPU_DATA.
. "$(dirname "$0")/begin.sh"
[ -d "${PCGPU_DATA:-/nonexistent}/depth_7scenes_lost" ] || { echo 'skipped: no data'; exit 77; }
config=${PCGPU_SOURCE:?}/configs/7scenes.yaml
# KinectFusion's poses are good to some centimetres over such a way.
for case in 'lost previous 26 0.25' 'lost keyframe 26 0.25' 'lost model 26 0.25' 'path previous 36 0.12'; do
    set -- $case
    for file in $(ls "$PCGPU_DATA/depth_7scenes_$1"/*.pose.txt | head -n "$3"); do
        awk 'NR < 4 { printf "%s ", $0 } END { print "" }' "$file"
    done > truth.txt
    head -n 1 truth.txt > first.txt
    "$pcgpu" odometry -q --cpu --config "$config" --init first.txt --reference $2 $(ls "$PCGPU_DATA/depth_7scenes_$1"/*.depth.png | head -n "$3") \
        --trajectory trajectory.txt -f
    check "depth_7scenes_$1, $2" "$3" 0 "$4" truth.txt
done
# Every second image of a stereo camera, whose background has metres of noise. There is no truth: small_gicp, from image to image, ends 0.04 m from here.
realsense() { "$pcgpu" odometry -q --cpu --camera 385,385,320,240 "$@" --trajectory trajectory.txt -f; }
realsense --reference previous "$PCGPU_DATA/depth_realsense"/*[13579].png
awk 'function off(a, b) { return a > b ? a - b : b - a }
    /nan/ { lost++ }
    END { good = NR == 12 && !lost && off($4, -0.08) < 0.02 && off($8, -0.04) < 0.02 && off($12, 0.148) < 0.02
          print "depth_realsense, previous: " lost + 0 " of " NR " lost, ends at", $4, $8, $12; exit !good }' trajectory.txt || fail 'depth_realsense'
head -n 6 trajectory.txt > previous.txt
realsense --map-voxel 0.03 $(ls "$PCGPU_DATA/depth_realsense"/*[13579].png | head -n 6)
check "depth_realsense, model" 6 0 0.02 previous.txt
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
# 113 m of a road of KITTI, with the times of its scans: about 1 % of 100 m, as the poses jitter.
mkdir -p packed/road
ln -s "$PCGPU_DATA/drives/unpack.py" packed && ln -s "$PCGPU_DATA"/drives/road/0[0246]0.xz packed/road
"$(command -v /usr/bin/python3 || command -v python3)" packed/unpack.py road road
for name in times poses; do head -n 76 "$PCGPU_DATA/drives/road/$name.txt" > $name.txt; done
"$pcgpu" odometry -q --cpu --fields 4 --timestamps times.txt $(ls road/*.bin | head -n 76) --trajectory trajectory.txt -f
check "road of KITTI" 76 0 1.8 poses.txt # not aligned
"$pcgpu" evaluate -q trajectory.txt --ground-truth poses.txt --json - | sed 's/.*"ate_rmse": \([0-9.e-]*\),.*"segment_translation": \([0-9.e-]*\),.*/\1 \2/' |
    awk '{ printf "road of KITTI: ATE %.3f m, %.2f %% of 100 m\n", $1, 100 * $2; exit !(NF == 2 && $1 < 0.25 && $2 < 0.0125) }' || fail 'the road'
