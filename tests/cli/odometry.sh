#!/bin/sh
# odometry and evaluate: sequences of two scans of a street that take turns.
. "${0%/*}/lib.sh"
DATA=$PCGPU_SOURCE/testdata
a=$WORK/street.bin b=$WORK/street_moved.bin # of fewer points
thin street 4 > "$a" && thin street_moved 4 > "$b" || exit 99
for i in 0 2 4 6; do cp "$a" "s$i.bin"; done
for i in 1 3 5; do cp "$b" "s$i.bin"; done
lines() { [ "$(wc -l < "$1")" -eq "$2" ] || die "$1 has $(wc -l < "$1") lines, expected $2"; checked; }
line() { sed -n "$2p" "$1"; }

# Each reference finds the motion; the pose of the first scan is the identity.
for reference in previous keyframe model; do
    expect 0 pcgpu odometry --cpu --reference $reference s?.bin --trajectory $reference.txt
    stdout_is ''
    stderr_is_one '^pcgpu: .*: 7 scans in [0-9.]+ s, [0-9.]+ per second; 0 lost, 0 not read$'
    lines $reference.txt 7
    [ "$(line $reference.txt 1)" = '1 0 0 0 0 1 0 0 0 0 1 0' ] || die 'the first pose is not the identity'
    line $reference.txt 2 | awk '{ if (NF != 12 || $4 < 0.798 || $4 > 0.803 || $8 < 0.098 || $8 > 0.102) exit 1 }' ||
        die "$reference: the second pose is off: $(line $reference.txt 2)"
    awk 'NR % 2 { if ($4 > 0.003 || $4 < -0.003 || $8 > 0.003 || $8 < -0.003) exit 1 }' $reference.txt ||
        die "$reference: the way back is off"
    gives $reference.txt pcgpu odometry --cpu --threads 1 --reference $reference s?.bin --trajectory -
done

# Without --trajectory it goes to standard output, which messages call by that name.
gives model.txt pcgpu odometry --cpu -v s?.bin
stderr_has '^pcgpu: standard output: 7 scans in '

# The formats say the same.
expect 0 pcgpu odometry --cpu s?.bin --trajectory matrix.txt --trajectory-format matrix
awk 'NF != 16 || $16 != 1 { exit 1 }' matrix.txt || die 'a matrix has not 16 numbers'
cut -d' ' -f1-12 matrix.txt > upper.txt
same upper.txt model.txt
expect 0 pcgpu odometry --cpu s?.bin --trajectory tum.txt --trajectory-format tum --rate 4
awk 'NF != 8 || $1 != (NR - 1) / 4 { exit 1 }' tum.txt || die 'the times of --rate 4 are off'
printf '1.5\n1.75\n# a comment\n2\n3\n4\n5\n6\n' > times.txt
expect 0 pcgpu odometry --cpu s?.bin --trajectory tum2.txt --trajectory-format tum --timestamps times.txt
awk 'NR == 3 && $1 != 2 { exit 1 }' tum2.txt || die 'the times of --timestamps are off'

# --init is the pose of the first scan.
printf '1 0 0 10  0 1 0 20  0 0 1 30  0 0 0 1\n' > init.txt
expect 0 pcgpu odometry --cpu --init init.txt s?.bin --trajectory moved.txt
[ "$(line moved.txt 1)" = '1 0 0 10 0 1 0 20 0 0 1 30' ] || die 'the first pose is not that of --init'

# A trajectory that exists is replaced only with -f, and keeps its permissions.
expect 0 pcgpu odometry --cpu s[0-3].bin --trajectory r.txt
chmod 600 r.txt
makes r.txt model.txt pcgpu odometry --cpu s?.bin --trajectory r.txt -f
case $(ls -l r.txt) in -rw-------*) checked ;; *) die "mode of r.txt: $(ls -l r.txt)" ;; esac
# started FILE OPTION...: a run that has written two poses to FILE and waits for its third scan.
mkfifo pipe.bin
mkdir cut
started() {
    FILE=$1
    shift
    "$PCGPU" odometry --cpu s0.bin s1.bin pipe.bin "$@" > poses.out 2> "$ERR" &
    PID=$!
    while ! [ "$(cat $FILE 2> /dev/null | wc -l)" -eq 2 ]; do
        kill -0 $PID 2> /dev/null || die 'the run has ended'
        sleep 0.05
    done
}
# Standard output has each pose at once. A signal leaves no file, and what was there stays.
started poses.out
kill -TERM $PID
wait $PID 2> /dev/null
stderr_is 'pcgpu: SIGTERM: interrupted; finished outputs are complete, run again for the others'
echo old > cut/old.txt
for SIGNAL in INT TERM; do
    [ $SIGNAL != INT ] || env --default-signal=INT true 2> /dev/null || continue
    env --default-signal=INT "$PCGPU" odometry --cpu s0.bin s1.bin pipe.bin --trajectory cut/old.txt -f -o cut/map.ply --set memory=1M 2> "$ERR" &
    PID=$!
    while ! [ "$(cat cut/.old.txt.pcgpu-* 2> /dev/null | wc -l)" -eq 2 ]; do sleep 0.05; done
    kill -$SIGNAL $PID
    wait $PID 2> /dev/null
    [ "$(ls -A cut)" = old.txt ] && [ "$(cat cut/old.txt)" = old ] || die "SIG$SIGNAL leaves: $(ls -A cut)"
    checked
done
# A name that is taken meanwhile is not replaced without -f; with it, the last run that ends has the name.
started 'cut/.new.txt.pcgpu-*' --trajectory cut/new.txt
expect 0 pcgpu odometry --cpu s?.bin --trajectory cut/new.txt
cat s2.bin > pipe.bin
wait $PID
expected 1 $?
same cut/new.txt model.txt
started 'cut/.new.txt.pcgpu-*' --trajectory cut/new.txt -f
cat s2.bin > pipe.bin
wait $PID
expected 0 $?
head -n 3 model.txt > three.txt
same cut/new.txt three.txt
[ "$(ls -A cut | paste -sd' ')" = 'new.txt old.txt' ] || die "left: $(ls -A cut)"
rm pipe.bin
# A limit for the size of files is an error, and nothing is left.
(ulimit -f 1; exec "$PCGPU" odometry --cpu s?.bin s?.bin --trajectory cut/full.txt) > "$OUT" 2> "$ERR"
expected 1 $?
stderr_has '^pcgpu: cut/full\.txt: cannot be written: File too large'
[ "$(ls -A cut | paste -sd' ')" = 'new.txt old.txt' ] || die "left: $(ls -A cut)"

# A scan that is missing, one that is broken, one that shows nothing.
cp s3.bin kept.bin
rm s3.bin
head -c 24 "$a" > s4.bin
expect 1 pcgpu odometry --cpu s0.bin s1.bin s2.bin s3.bin s4.bin s5.bin s6.bin --trajectory gaps.txt --json gaps.jsonl
stderr_has '^pcgpu: s3.bin: No such file'
stderr_has '^pcgpu: s4.bin: 24 bytes are not whole records'
stderr_has 'gaps.txt: 2 of 7 scans have no pose: 0 lost, 2 not read'
expect 1 pcgpu odometry --loops missing.bin
stdout_is ''
expect 1 pcgpu odometry missing.bin
stdout_is ''
stderr_has 'standard output: 1 of 1 scans have no pose: 0 lost, 1 not read; the trajectory is not written$'
lines gaps.txt 7
[ "$(line gaps.txt 4)" = 'nan nan nan nan nan nan nan nan nan nan nan nan' ] || die 'a gap is not nan'
line gaps.txt 6 | awk '{ if ($4 < 0.795 || $4 > 0.805) exit 1 }' || die 'the scan after the gap is off'
grep -q '"inputs": \["s3.bin"\], "exit_code": 1, "failed": true, "error": "No such file' gaps.jsonl || die 'no error in --json'
lines gaps.jsonl 7
cloud 300 > s3.bin
cp "$a" s4.bin
expect 4 pcgpu odometry --cpu s?.bin --trajectory lost.txt --trajectory-format tum --json lost.jsonl
stderr_has '^pcgpu: s3.bin: lost after . attempts: '
[ "$(line lost.txt 4)" = '# lost 0.3' ] || die "the lost scan is: $(line lost.txt 4)"
lines lost.txt 7
grep -q '"frame": 3, "time": 0.3[0-9]*, "lost": true' lost.jsonl || die 'no lost scan in --json'
grep -q '"frame": 4, .*"relocalized": true' lost.jsonl || die 'not found again'
cp kept.bin s3.bin
: > empty.bin
expect 4 pcgpu odometry --cpu empty.bin s0.bin s1.bin --trajectory late.txt
[ "$(line late.txt 2)" = '1 0 0 0 0 1 0 0 0 0 1 0' ] || die 'the world does not begin with the first good scan'

# The folder of a KITTI sequence: its scans, times, calibration and truth, which is the camera's; scan 3 is missing.
mkdir -p kitti/sequences/07/velodyne kitti/poses
for i in 0 1 2 4; do cp s$i.bin kitti/sequences/07/velodyne/00000$i.bin; done
printf '5\n6.5\n7\n7.5\n8\n9\n10\n' > kitti/sequences/07/times.txt
echo 'Tr: 0 -1 0 0 0 0 -1 0 1 0 0 0' > kitti/sequences/07/calib.txt
paste -sd' ' "$DATA/street_T.txt" | awk '{ for (i = 0; i < 7; i++) if (i % 2) # as C T C^-1 with C = Tr
    print $6, $7, -$5, -$8, $10, $11, -$9, -$12, -$2, -$3, $1, $4; else print 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0 }' > kitti/poses/07.txt
says '^4 poses compared, 0 missing, 1.6' pcgpu odometry --cpu kitti/sequences/07 --trajectory k.txt --trajectory-format tum
awk '$1 == "RMSE" && $2 < 0.005 { good = 1 } END { exit !good }' "$OUT" || die 'the truth is not that of the scans'
[ "$(cut -d' ' -f1 k.txt | paste -sd' ')" = '5 6.5 7 8' ] || die "the times are $(cut -d' ' -f1 k.txt | paste -sd' ')"
expect 0 pcgpu odometry --cpu kitti/sequences/07/ --trajectory k2.txt --rate 2 --trajectory-format tum
[ "$(cut -d' ' -f1 k2.txt | paste -sd' ')" = '0 0.5 1 2' ] || die "with --rate: $(cut -d' ' -f1 k2.txt | paste -sd' ')"
ln -s sequences/07 kitti/link
for how in 'kitti/sequences/07 .' 'kitti/sequences/07/velodyne ..' 'kitti link'; do
    says 'ground_truth: ".*/kitti/sequences/07/../../poses/07.txt"' env -C "${how% *}" "$PCGPU" odometry --cpu "${how#* }" --dry-run
done
# Scans alone have the lines of the numbers in their names, too.
expect 0 pcgpu odometry --cpu kitti/sequences/07/velodyne/*.bin --timestamps kitti/sequences/07/times.txt --trajectory k6.txt --trajectory-format tum
same k6.txt k.txt
mv kitti/poses/07.txt kitti/sequences/07/poses.txt
says 'ground_truth: "kitti/sequences/07/poses.txt"' pcgpu odometry --cpu kitti/sequences/07/ --dry-run
stdout_has 'calibration: "kitti/sequences/07/calib.txt"'
says '^  RMSE 0.000000 m' pcgpu odometry --cpu kitti/sequences/07/ --ground-truth k.txt --trajectory k3.txt
# The scanner of KITTI is known by the cameras; other sequences in such folders are not corrected.
for camera in 'P0: 707.0912 0 601.8873 0 0 707.0912 183.1104 0 0 0 1 0' 'P0: 500 0 320 0 0 500 240 0 0 0 1 0'; do
    { echo "$camera"; cat kitti/sequences/07/calib.txt; } > kitti/calib.txt
    mkdir -p "kitti/${camera%% 0*}"
    cp -r kitti/sequences/07/* "kitti/${camera%% 0*}"
    cp kitti/calib.txt "kitti/${camera%% 0*}"
done
says 'beam_correction: 0.205$' pcgpu odometry --cpu 'kitti/P0: 707.0912' --dry-run
stderr_has "KITTI's scanner: its beams are corrected by 0.205 degree"
says 'beam_correction: 0$' pcgpu odometry --cpu 'kitti/P0: 707.0912' --dry-run --beam-correction 0
stderr_is ''
expect 0 pcgpu odometry --cpu 'kitti/P0: 500' --dry-run
! grep -q beam_correction "$OUT" || die 'the angle is known before the scans are read'
stderr_is ''
head -n 2 kitti/sequences/07/poses.txt > few.txt
mv few.txt kitti/sequences/07/poses.txt
tells 'poses.txt: .*2 poses for 4 scans; no errors will be printed' pcgpu odometry --cpu kitti/sequences/07/ --trajectory k4.txt
stdout_is ''
head -n 2 kitti/sequences/07/times.txt > few.txt
mv few.txt kitti/sequences/07/times.txt
expect 1 pcgpu odometry --cpu kitti/sequences/07/ --trajectory k5.txt
stderr_has 'times.txt: 2 times for 4 scans; give one line per scan'
absent k5.txt
# Neither one line per scan nor one per number.
printf '0\n1\n2\n' > kitti/sequences/07/times.txt
mv kitti/sequences/07/velodyne/000001.bin kitti/one.bin
mv kitti/sequences/07/velodyne/000002.bin kitti/two.bin
expect 1 pcgpu odometry --cpu kitti/sequences/07/ --trajectory k5.txt
stderr_has 'times.txt: 3 times for 2 scans; give one line per scan'

# The evaluation.
says '^7 poses compared, 0 missing, 4.8' pcgpu evaluate model.txt --ground-truth model.txt
stdout_has 'RMSE 0.000000 m, mean 0.000000 m'
stdout_has 'shorter than the 100 m'
expect 0 pcgpu evaluate tum.txt --ground-truth matrix.txt --json e.jsonl
grep -q '"evaluation": {"poses": 7, "missing": 0, ' e.jsonl || die 'no evaluation in --json'
expect 0 pcgpu evaluate tum.txt --ground-truth matrix.txt
mv "$OUT" table.txt
gives table.txt pcgpu evaluate tum.txt --ground-truth matrix.txt --plot errors.png # the charts are in tests/oracle/test_view.py
[ "$(head -c 4 errors.png | od -An -c | tr -d ' ')" = '211PNG' ] || die 'the charts are not a picture'
makes plots/tum.png errors.png pcgpu evaluate tum.txt --ground-truth matrix.txt --plot plots/
says '^7 poses compared, 0 missing' pcgpu odometry --cpu s?.bin --trajectory t1.txt --ground-truth model.txt
gives model.txt pcgpu odometry --cpu s?.bin --ground-truth model.txt
stderr_has '^7 poses compared, 0 missing'
printf 'Tr: 1 0 0 1 0 1 0 2 0 0 1 3\n' > calib.txt
expect 0 pcgpu evaluate model.txt --ground-truth model.txt --calibration calib.txt

# Times are found by the name of their column, and since 1970 they are not one.
for NAME in GpsTime stamp Time timestamps; do
    { echo "x,y,z,a,b,$NAME"; awk 'BEGIN { for (i = 0; i < 3000; i++) { a = i * 2.39996; r = 5 + i % 7
        printf "%.4f,%.4f,%.4f,0,0,%.6f\n", r * cos(a), r * sin(a), i % 50 / 10, 1665398765.2 + i / 3e4 } }'; } > t.csv
    expect 0 "$PCGPU" convert t.csv -o t.las -f
    expect 0 pcgpu odometry t.csv --trajectory t.txt --deskew time -f
    [ $NAME != GpsTime ] || expect 0 pcgpu odometry t.las --trajectory t.txt --deskew time -f
done
rm t.csv t.las t.txt
# Without --deskew: by a column that follows the azimuth, either way, or has the name of a time; not by intensities or rings.
for TURN in 1 -1; do
    for FILE in s0 s1; do
        records $FILE.bin | awk -v turn=$TURN 'NR % 3 == 0 { t = turn * atan2($2, $1) / 6.283185307 + 0.3; $4 = t - (t < 0 ? -1 : int(t)); print }' |
            floats > turn_$FILE.bin
    done
    tells "deskewed by column 'intensity', which has" pcgpu odometry --cpu turn_s?.bin --trajectory turn.txt -v -f
    stderr_has "turn_s1.bin: deskewed by the times in column 'intensity' \(float32, whole sweeps\)"
    makes turn.txt time.txt pcgpu odometry --cpu turn_s?.bin --trajectory time.txt --deskew time --set time-column=3 -f
    expect 0 pcgpu odometry --cpu turn_s?.bin --trajectory none.txt --deskew none -f
    differ turn.txt none.txt
    expect 0 pcgpu odometry --cpu turn_s?.bin --trajectory time.txt -o turn.ply -f
    makes turn.ply time.ply pcgpu odometry --cpu turn_s?.bin --trajectory time.txt --deskew time --set time-column=3 -o time.ply -f
done
expect 0 pcgpu odometry --cpu s0.bin s1.bin s2.bin --trajectory turn.txt -f
stderr_lacks 'deskewed|beams'
makes turn.txt none.txt pcgpu odometry --cpu s0.bin s1.bin s2.bin --trajectory none.txt --deskew none -f
rm turn* time.ply none.txt
expect 0 pcgpu evaluate model.txt --ground-truth model.txt --dry-run
expect 0 pcgpu odometry s0.bin s1.bin s2.bin --trajectory n.txt --dry-run
stdout_has 'trajectory: "?n.txt'
# --loops: without a loop the bytes are the same, whatever the format.
makes loops.txt model.txt pcgpu odometry --cpu s?.bin --trajectory loops.txt --loops --json loops.jsonl -v
stderr_has '^pcgpu: loops.txt: 0 loops among [0-9]+ places? '
lines loops.jsonl 8
tail -n 1 loops.jsonl | grep -q '"exit_code": 0, "loop_closure": {"frames": 7, .*"converged": true, "moved": 0, "loops": \[\]}}$' ||
    die 'the object of the loops is another'
gives tum2.txt pcgpu odometry --cpu s?.bin --loops --trajectory-format tum --timestamps times.txt
finish
