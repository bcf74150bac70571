#!/bin/sh
# odometry --map: scans of a street in a map, which is another scan of it. 2 s.
. "${0%/*}/lib.sh"
DATA=$PCGPU_SOURCE/testdata
a=$DATA/street.bin b=$DATA/street_moved.bin
# near NAME POSE_FILE LINE X Y METRES: the pose of a line is within METRES of X, Y.
near() {
    sed -n "$2p" "$1" | awk -v x="$3" -v y="$4" -v most="$5" '
        { exit !(NF == 12 && ($4 - x) ^ 2 + ($8 - y) ^ 2 < most ^ 2) }' || die "$1: pose $2 is off: $(sed -n "$2p" "$1")"
    checked
}

# Anywhere in the map, which is the default, and from a guess; poses are in the coordinates of the map, whatever its format.
expect 0 pcgpu odometry --map "$a" "$b" "$a" --trajectory auto.txt
stderr_is_one '^pcgpu: auto.txt: 2 scans in [0-9.]+ s, [0-9.]+ per second; 0 lost, 0 not read$'
near auto.txt 1 0.8 0.1 0.002
near auto.txt 2 0 0 0.002
makes same.txt auto.txt pcgpu odometry --map "$a" --init auto "$b" "$a" --trajectory same.txt --threads 1
echo '1 0 0 0.5 0 1 0 0 0 0 1 0' > guess.txt
expect 0 pcgpu odometry --map "$a" --init guess.txt "$b" "$a" --trajectory guess.out
near guess.out 1 0.8 0.1 0.002
echo '1 0 0 1000 0 1 0 2000 0 0 1 0' > moved.txt
expect 0 pcgpu convert "$a" --transform moved.txt -o map.ply
expect 0 pcgpu odometry --map map.ply "$b" "$a" --trajectory moved.out --json j.jsonl -v
near moved.out 1 1000.8 2000.1 0.01
near moved.out 2 1000 2000 0.01
stderr_has 'score 0\.[89]'
grep -q '"keyframe": false' j.jsonl && grep -q '"score": 0\.[89]' j.jsonl || die 'the agreement is not in --json'
# A guess that is far off is no obstacle.
expect 0 pcgpu odometry --map map.ply --init guess.txt "$b" --trajectory far.out
near far.out 1 1000.8 2000.1 0.01

# A .bin map has more columns than the scans: those that fit.
expect 0 pcgpu odometry "$a" --trajectory one.txt -o wide.bin
expect 0 pcgpu odometry --map wide.bin "$b" "$a" --trajectory wide.txt
near wide.txt 1 0.8 0.1 0.01
expect 1 pcgpu info wide.bin
stderr_has 'wide.bin: the values repeat every 8 columns and not every 4; give --fields 8'

# A scan of another place is lost, and leaves no pose.
expect 0 pcgpu convert --config "$DATA/room/camera.yaml" "$DATA"/room/frame-000000.png -o room.ply
expect 4 pcgpu odometry --map "$a" room.ply
stdout_is 'nan nan nan nan nan nan nan nan nan nan nan nan'
expect 4 pcgpu odometry --map "$a" "$b" room.ply "$a" --trajectory some.txt
near some.txt 1 0.8 0.1 0.002
[ "$(sed -n 2p some.txt)" = 'nan nan nan nan nan nan nan nan nan nan nan nan' ] || die 'a lost scan has a pose'
near some.txt 3 0 0 0.002
stderr_has 'room.ply: lost after [0-9]+ attempts: '
# Where all are lost, the poses of an earlier run stay no more.
cp same.txt stale.txt
expect 4 pcgpu odometry --map "$a" room.ply room.ply --trajectory stale.txt -f
stderr_lacks 'not written'
printf 'nan nan nan nan nan nan nan nan nan nan nan nan\n%.0s' 1 2 > nothing.txt
same stale.txt nothing.txt
expect 4 pcgpu odometry --map "$a" room.ply --trajectory new.txt --trajectory-format tum
[ "$(cat new.txt)" = '# lost 0' ] || die "$(cat new.txt)"
expect 1 pcgpu odometry --map "$a" missing.bin --trajectory stale.txt -f # nothing was read
same stale.txt nothing.txt
head -n 1 same.txt > true.txt # nothing to compare it with
expect 4 pcgpu odometry --map "$a" room.ply --ground-truth true.txt
stderr_lacks 'true.txt'

finish
