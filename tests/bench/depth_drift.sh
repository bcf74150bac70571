#!/bin/sh
# depth_drift.sh PROGRAM [FOLDER]: the drift of a depth camera on real images by the three references, with what `evaluate` says about it:
# 60 images of 7-Scenes that are 8 apart (3.5 m), 20 consecutive ones, and the first 5 of a noise-free living room. The truth of 7-Scenes
# is KinectFusion's: joint registration of all pairs of the 60 images that overlap is 28.6 mm from it, so that no reference can be expected
# to be nearer. Fails when the model is not better than three fifths of the previous image there, or when loops do not help it to
# 0.9 of its error. 40 s of one core.
set -eu
program=$(cd "${1%/*}" && pwd)/${1##*/}
data=${PCGPU_DATA:?}
[ -d "$data/depth_7scenes_path" ] || { echo 'skipped: no real images'; exit 77; }
folder=${2:-} # keeps NAME.REFERENCE, the ATE, and NAME.REFERENCE.txt, the trajectory
[ -n "$folder" ] || { folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT; }

# drift NAME CAMERA TRUTH IMAGE...: a line per reference, without and with --loops, and into NAME.REFERENCE[.loops] the ATE.
drift() {
    name=$1 camera=$2 truth=$3
    shift 3
    for run in previous keyframe model previous.loops keyframe.loops model.loops; do
        loops=
        [ "$run" = "${run%.loops}" ] || loops=--loops
        # shellcheck disable=SC2086 # no word, or one
        "$program" odometry -q --cpu --camera "$camera" --reference ${run%.loops} $loops "$@" --trajectory "$folder/$name.$run.txt"
        "$program" evaluate "$folder/$name.$run.txt" --ground-truth "$truth" > "$folder/table"
        sed -n 's/^  RMSE \([0-9.e-]*\) m,.*/\1/p' "$folder/table" > "$folder/$name.$run"
        printf '%s, %d images, %s: ATE %s m, per step %s m\n' "$name" $# $run "$(cat "$folder/$name.$run")" \
            "$(sed -n 's/^  from pose to pose .* pairs  *\([0-9.e-]*\) m .*/\1/p' "$folder/table")"
    done
}

kinect=585,585,320,240
drift path $kinect "$data/depth_7scenes_path" "$data"/depth_7scenes_path/*.depth.png
drift consecutive $kinect "$data/depth_7scenes" "$data"/depth_7scenes/*.depth.png
drift livingroom 525,525,319.5,239.5 "$data/depth_livingroom/gt_trajectory_frames0-4.log" "$data"/depth_livingroom/0000[0-4].png
paste "$folder/path.model" "$folder/path.previous" | awk '{ exit !($1 > 0 && $1 <= 0.6 * $2) }' || {
    echo 'FAIL: the model drifts more than three fifths as far as the previous image'
    exit 1
}
paste "$folder/path.model.loops" "$folder/path.model" | awk '{ exit !($1 > 0 && $1 <= 0.9 * $2) }' || {
    echo 'FAIL: loops do not help the model'
    exit 1
}
