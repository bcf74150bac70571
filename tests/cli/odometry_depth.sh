#!/bin/sh
# register --trajectory with depth images: four frames of a room with known poses.
. "${0%/*}/lib.sh"
ROOM=$PCGPU_SOURCE/testdata/room
for i in 0 1 2 3; do cp "$ROOM/frame-00000$i.png" f$i.png; done
cp "$ROOM/camera.yaml" "$ROOM/poses_kitti.txt" .
head -n 1 poses_kitti.txt > first.txt
lines() { [ "$(wc -l < "$1")" -eq "$2" ] || die "$1 has $(wc -l < "$1") lines, expected $2"; checked; }
printf 'odometry:\n  map_voxel: 0.02\n' > model.yaml
RUN='pcgpu odometry --config camera.yaml --config model.yaml --init first.txt'

# Each reference finds the poses, from the first one's on; the number of threads does not matter.
for reference in previous keyframe model; do
    expect 0 $RUN --cpu --reference $reference f?.png --trajectory $reference.txt --json $reference.jsonl
    stdout_is ''
    stderr_is_one '^pcgpu: .*: 4 images in [0-9.]+ s, [0-9.]+ per second; 0 lost, 0 not read$'
    lines $reference.txt 4
    paste -d ' ' $reference.txt poses_kitti.txt | awk '{
        for (k = 4; k <= 12; k += 4) if ($k - $(k + 12) > 0.002 || $(k + 12) - $k > 0.002) bad = 1
        for (k = 1; k <= 12; k++) if (k % 4 && ($k - $(k + 12) > 0.001 || $(k + 12) - $k > 0.001)) bad = 1
    } END { exit bad }' || die "$reference: a pose is off"
    gives $reference.txt $RUN --cpu --threads 1 --reference $reference f?.png --trajectory -
    makes auto.txt $reference.txt $RUN --reference $reference f?.png --trajectory auto.txt
    rm auto.txt
done
differ previous.txt model.txt
grep -q '"lost": false.*"T_world_frame"' model.jsonl || die 'a line of --json has no pose'
says 'absolute trajectory error' $RUN f?.png --trajectory scored.txt --ground-truth poses_kitti.txt

# The model is written, too: its surface, and triangles.
makes t.txt model.txt $RUN --cpu f?.png --trajectory t.txt -o model.ply --mesh mesh.ply --json model2.jsonl
present model.ply mesh.ply
lines model2.jsonl 5
[ "$(tail -n 1 model2.jsonl | grep -c '"frames": 4, "left_out": 0')" = 1 ] || die 'the last line of --json is not the model'

# What is not read is said of the model, too.
expect 1 $RUN --cpu f?.png missing.png --trajectory unread.txt -o unread.ply
stderr_has 'unread.txt: 1 inputs could not be read, so no map or model is written'
absent unread.ply
# --loops: four images that return nowhere keep their bytes, and so does their model; tests/scene/room_loops.sh has loops.
makes loops.txt model.txt $RUN --cpu f?.png --trajectory loops.txt -o loops.ply --loops --json loops.jsonl -v
same loops.ply model.ply
stderr_has '^pcgpu: loops.txt: 0 loops among [0-9]+ places? '
grep -q '"loop_closure": {"frames": 4, .*"converged": true, "moved": 0, "loops": \[\]}}$' loops.jsonl || die 'the object of the loops is another'

# An image without any depth, one that is missing and one of another size leave a gap; the rest goes on.
printf 'P5\n640 480\n65535\n' > dark.pgm
head -c $((2 * 640 * 480)) /dev/zero >> dark.pgm
expect 4 $RUN --cpu f0.png f1.png dark.pgm f2.png f3.png --trajectory gap.txt
stderr_has '^pcgpu: dark\.pgm: lost after [0-9]+ attempts: the source has 0 pixels that show a surface'
lines gap.txt 5
sed -n 3p gap.txt | grep -q nan || die 'a lost image has a pose'
expect 1 $RUN --cpu f0.png missing.png f1.png --trajectory gap2.txt
stderr_has '^pcgpu: missing\.png: '
lines gap2.txt 3
printf 'P5\n32 24\n65535\n' > small.pgm
head -c 1536 /dev/zero >> small.pgm
expect 1 $RUN --cpu f0.png small.pgm f1.png --trajectory gap3.txt
stderr_has '^pcgpu: small\.pgm: .*32 x 24 pixels and the camera'

# As clouds, when a method or the association says so.
expect 0 pcgpu odometry --cpu --config camera.yaml --set association=nearest --reference previous --voxel-size 0.05 f0.png f1.png \
    --trajectory clouds.txt
lines clouds.txt 2
finish
