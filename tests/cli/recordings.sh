# Recordings as inputs: a recording stands for its clouds. tests/oracle/test_recordings.py has their values. testdata/recordings
# has clouds on two topics: four of /front/points, 0.1 s from one to the next, and two of /rear/points.
. "${0%/*}/lib.sh"
cp "$PCGPU_SOURCE"/testdata/recordings/two.* .
cp two.mcap no_name

# Several topics: one is named. The names of outputs are the numbers of the clouds.
case $("$PCGPU" --version -v) in *sqlite*) DB3=two.db3 ;; *) DB3= ;; esac
for FILE in two.mcap two.bag $DB3 no_name; do
    expect 2 pcgpu convert $FILE -o x/
    stderr_is "pcgpu: $FILE: has clouds on several topics; give --topic NAME, one of: /front/points, /rear/points"
    expect 2 pcgpu convert $FILE -o x/ --topic /nowhere
    stderr_is "pcgpu: $FILE: has no clouds on /nowhere; give --topic NAME, one of: /front/points, /rear/points"
    expect 0 pcgpu convert $FILE --topic /front/points -o $FILE.out/
    stderr_has '4 inputs: 4 done'
    [ "$(ls $FILE.out)" = "$(printf '00000%d.ply\n' 0 1 2 3)" ] || die "the names of $FILE: $(ls $FILE.out)"
done
for I in 0 1 2 3; do
    same two.mcap.out/00000$I.ply two.bag.out/00000$I.ply
    same two.mcap.out/00000$I.ply no_name.out/00000$I.ply
    [ -z "$DB3" ] || same two.mcap.out/00000$I.ply $DB3.out/00000$I.ply
    makes one.ply two.bag.out/00000$I.ply pcgpu convert --topic /front/points two.mcap/./00000$I -f -o one.ply
    quiet pcgpu convert --topic /front/points -f -o one.csv two.bag/./00000$I
    [ "$(head -n 2 one.csv | tail -n 1)" = "$(awk -v i=$I 'BEGIN { printf "%g,%g,%g,0,0,0", i, 0 - i / 4, i / 2 }')" ] || die "cloud $I: $(head -n 2 one.csv)"
    checked
done

# On standard input; a folder, whose recordings have folders of their own; a folder of ROS 2; a list of names; a batch; odometry.
for FILE in two.mcap two.bag $DB3; do
    pcgpu convert --topic /rear/points - -o in/ -f < $FILE > "$OUT" 2> "$ERR"
    expected 0 $?
    only_two=$(ls in)
    [ "$only_two" = "$(printf '00000%d.ply\n' 0 1)" ] || die "standard input: $only_two"
    pcgpu sample -m 2 --topic /rear/points --at-most -o in.ply < $FILE -f > "$OUT" 2> "$ERR"
    expected 2 $?
    stderr_has '2 inputs and one output'
done
mkdir -p all/deep ros && cp two.mcap all && cp two.bag all/deep && cp two.mcap ros/ros_0.mcap
expect 0 pcgpu convert -r all --topic /rear/points -o out/
same out/two.mcap/000001.ply out/deep/two.bag/000001.ply
: > ros/metadata.yaml
expect 0 pcgpu convert ros --topic /rear/points -o ros_out/
same ros_out/000001.ply out/two.mcap/000001.ply
printf 'two.mcap/./000001\ntwo.bag/./000001\n' > list
expect 0 pcgpu convert --files-from list --topic /front/points --merge -o merged.ply
pcgpu convert two.mcap.out/000001.ply two.bag.out/000001.ply --merge -o wanted.ply
same merged.ply wanted.ply
expect 0 pcgpu sample --batch -m 8 --topic /front/points two.bag -o batch.npy
expect 0 pcgpu convert --topic /front/points two.mcap --shard 2/2 -o shard/
[ "$(ls shard)" = "$(printf '00000%d.ply\n' 1 3)" ] || die "a shard: $(ls shard)"
expect 0 pcgpu view --topic /front/points two.mcap -o x.png
expect 0 pcgpu convert --dry-run --topic /front/points two.mcap -o dry/
absent dry

# Times, and one of so many.
taken() { NAMES=$1; shift; rm -rf part; expect 0 pcgpu convert two.mcap --topic /front/points -o part/ "$@"; [ "$(ls part | tr -d "\n")" = "$NAMES" ] || die "$*: $(ls part)"; }
taken 000001.ply000002.ply000003.ply --set from-time=0.05
taken 000000.ply000001.ply --set to-time=0.1
taken 000000.ply000003.ply --set every=3
taken 000001.ply000003.ply --set from-time=0.1 --set to-time=9 --set every=2

# What is refused: options without a recording, a cloud that is not there, an output that is the recording.
expect 2 pcgpu convert one.csv --topic /front/points -o x.ply
stderr_is 'pcgpu: --topic is for recordings, and no input is one; leave it out'
expect 2 pcgpu convert one.csv --set every=2 -o x.ply
stderr_is 'pcgpu: --set every is for recordings, and no input is one; leave it out'
expect 2 pcgpu convert two.mcap -F bin --topic /front/points -o x/
stderr_is 'pcgpu: --format is for files, and recordings say what is in them; leave it out'
expect 1 pcgpu convert two.mcap/./000004 --topic /front/points -o x.ply
stderr_is 'pcgpu: two.mcap/./000004: the recording has 4 clouds, numbered from 0; give one of them'
expect 2 pcgpu convert two.mcap --topic /front/points --set from-time=5 -o x/
stderr_is 'pcgpu: two.mcap: from-time and to-time leave none of its clouds, from 0 to 0.300 s; give others'
expect 1 pcgpu register two.mcap two.bag
stderr_is 'pcgpu: two.mcap: is a recording of 6 clouds; give it to a command that takes many inputs, or name one of them, such as REC.mcap/./000012'
expect 1 pcgpu convert --topic /front/points two.mcap --merge -f -o two.mcap --output-format ply
stderr_has 'is an input'
same two.mcap no_name

# info.
expect 0 pcgpu info two.bag
stdout_has '^two.bag: recording, bag, 6 messages, 0.300 s from 2023-11-14 22:13:20 UTC'
stdout_has '^  /front/points +sensor_msgs/PointCloud2 +4 +10 +0.000 +0.300$'
stdout_has '^  first cloud, on /front/points: 12 points, x y z intensity t ring; stamped 0.04 s before the log$'
says '"name": "/rear/points", "type": "sensor_msgs/msg/PointCloud2", "clouds": true, "poses": false, "messages": 2, "rate": 10' pcgpu info two.mcap --json -
stdout_has '"stamp_delay": 0.04, "points": 12, "columns": \["x", "y", "z", "intensity", "t", "ring"\], "odd": null'

# Damage. A byte of the points: a checksum of MCAP finds it, and the other clouds are read. An empty file, text, and files that
# are cut at every 97th byte: what is whole is read with a warning, else the exit code is 1 and nothing is written.
cp two.mcap bad.mcap && printf 'X' | dd of=bad.mcap bs=1 seek=700 conv=notrunc 2> /dev/null
expect 1 pcgpu convert bad.mcap --topic /front/points -o bad/
stderr_has 'bad.mcap/./00000[0-9]: the checksum of the chunk at byte [0-9]+ is wrong; the recording is damaged, so copy it again'
printf 'SQLite format 3\0' > short.db3 && printf '(\265/\375 and so on' > bad.db3.zstd
expect 1 pcgpu convert short.db3 -o x.ply
stderr_has '^pcgpu: short.db3: (ends at byte 16, in the middle; copy the recording again|is a database of SQLite, which this build does not read; build pcgpu with libsqlite3-dev)$'
expect 1 pcgpu convert bad.db3.zstd -o x.ply
stderr_has '^pcgpu: bad.db3.zstd: (its zstd data are damaged or cut short; copy the recording again|is compressed by zstd, which this build does not expand; build pcgpu with libzstd-dev)$'
: > empty.mcap && printf '#ROSBAG V1.2\n and so on' > old.bag && cp two.bag locked.bag
expect 1 pcgpu convert empty.mcap -o x.ply
stderr_is 'pcgpu: empty.mcap: is empty; give a file with points'
expect 1 pcgpu convert old.bag -o x.ply
stderr_is 'pcgpu: old.bag: holds a ROS bag of version 1, which is not read; convert it first: rosbag fix FILE new.bag'
absent x.ply
for FILE in two.mcap two.bag $DB3; do
    SIZE=$(wc -c < $FILE)
    for AT in $(seq 1 97 "$SIZE"); do
        rm -rf cut && head -c "$AT" $FILE > cut.${FILE#*.}
        "$PCGPU" convert cut.${FILE#*.} --topic /front/points -o cut/ > "$OUT" 2> "$ERR"
        CODE=$?
        [ -s "$ERR" ] || die "$FILE cut at byte $AT: no message"
        if [ $CODE -eq 0 ]; then
            for CLOUD in cut/*; do same "$CLOUD" "$FILE.out/${CLOUD#cut/}"; done
        else
            [ $CODE -le 2 ] || die "$FILE cut at byte $AT: exit code $CODE"
            [ -z "$(ls cut 2> /dev/null)" ] || die "$FILE cut at byte $AT: an output"
        fi
    done
done
finish
