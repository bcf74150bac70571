#!/bin/sh
# register --trajectory FILE writes FILE.partial until it is complete: a name that may be taken, by another run or by a file
# that is not pcgpu's.
. "${0%/*}/lib.sh"
export OMP_WAIT_POLICY=passive # threads of several tests share few cores
DATA=$PCGPU_SOURCE/testdata
cp "$DATA/street.bin" s0.bin
cp "$DATA/street_moved.bin" s1.bin
RUN='pcgpu odometry --cpu --reference previous'
mode_is() { [ "$(ls -l "$1" | cut -c 1-10)" = "$2" ] || die "$1 has the mode $(ls -l "$1" | cut -c 1-10), expected $2"; checked; }

expect 0 $RUN s0.bin s1.bin s0.bin --trajectory whole.txt
! grep -q '#' whole.txt || die 'the trajectory has lines of the partial file'
mode_is whole.txt -rw-r--r--

# An input of that name.
cp s1.bin in.partial
expect 1 $RUN --format bin s0.bin in.partial --trajectory in -f
stderr_has '^pcgpu: in\.partial: is an input of this run'
same in.partial s1.bin
absent in
rm in.partial

# A file that is not pcgpu's, a link to one and one with a second name: neither written to nor removed.
echo precious > kept
cp kept t.txt.partial
for how in -f --resume ''; do
    expect 1 $RUN s0.bin s1.bin --trajectory t.txt $how
    stderr_has '^pcgpu: t\.txt\.partial: is not a trajectory of pcgpu; give another --trajectory, or rename it'
    same t.txt.partial kept
done
for link in 'ln -s' ln 'ln -s /nowhere'; do
    rm -f t.txt.partial
    [ "$link" = 'ln -s /nowhere' ] && $link t.txt.partial || $link kept t.txt.partial
    for how in -f --resume; do
        expect 1 $RUN s0.bin s1.bin --trajectory t.txt $how
        stderr_has '^pcgpu: t\.txt\.partial: is (a link|not a regular file with one name); give another --trajectory, or remove'
    done
    [ "$(cat kept)" = precious ] || die "what $link t.txt.partial leads to was written"
done
rm t.txt.partial
mkfifo t.txt.partial
expect 1 $RUN s0.bin s1.bin --trajectory t.txt -f
stderr_has '^pcgpu: t\.txt\.partial: is not a regular file'
rm t.txt.partial
absent t.txt
expect 2 $RUN s0.bin s1.bin --trajectory t.txt --json t.txt.partial
stderr_has 'two outputs go to t\.txt\.partial'
mkdir here
echo old > z.txt.partial
ln -s z.txt.partial leads
ln -s ../z.txt.partial here/leads
for NAME in z.txt.partial ./z.txt.partial here/../z.txt.partial "$PWD/z.txt.partial" leads here/leads; do
    for OUTPUT in '-o z.ply --picture' -o --json; do # a map has any name
        expect 2 $RUN s0.bin s1.bin --trajectory z.txt -f --output-format ply $OUTPUT "$NAME"
        stderr_has 'two outputs go to |a picture is written as'
    done
done
rm -r z.txt.partial leads here
expect 2 $RUN s0.bin s1.bin --trajectory y.txt.partial --json y.txt
expect 2 pcgpu sample -m 3 s0.bin --json j -o j.partial --output-format bin

# A second run while the first one waits for its last scan: it is refused, and the first has its bytes.
mkfifo pipe.bin
echo old > t.txt
chmod 600 t.txt
$RUN s0.bin s1.bin pipe.bin --trajectory t.txt -f > "$OUT" 2> "$WORK/first" &
CHILD=$!
while ! [ -s t.txt.partial ] || [ "$(grep -vc '^#' t.txt.partial)" -ne 2 ]; do
    kill -0 $CHILD 2> /dev/null || die 'the first run has ended'
    sleep 0.05
done
mode_is t.txt.partial -rw-------
cp t.txt.partial before
for how in -f --resume '-f --resume'; do
    expect 1 $RUN s0.bin s1.bin s0.bin --trajectory t.txt $how
    stderr_has '^pcgpu: t\.txt\.partial: is being written by another run; wait for its end, or give another --trajectory'
    same t.txt.partial before
done
rm t.txt # so that nothing but the partial file is in the way
expect 1 $RUN s0.bin s1.bin s0.bin --trajectory t.txt
stderr_has 'is being written by another run'
echo old > t.txt
chmod 600 t.txt
cat s0.bin > pipe.bin
wait $CHILD
expected 0 $?
rm pipe.bin
same t.txt whole.txt
mode_is t.txt -rw-------
absent t.txt.partial

# One that ended early, which -f begins anew and --resume goes on with; a name that was taken meanwhile is not replaced.
{ echo '#pcgpu trajectory'; head -n 2 whole.txt; } > u.txt.partial
expect 1 $RUN s0.bin s1.bin s0.bin --trajectory u.txt
stderr_has 'u\.txt\.partial: is from an interrupted run; give --resume to continue it, or -f to start again'
cp u.txt.partial v.txt.partial
expect 0 $RUN s0.bin s1.bin s0.bin --trajectory u.txt -f
same u.txt whole.txt
expect 0 $RUN s0.bin s1.bin s0.bin --trajectory v.txt --resume
same v.txt whole.txt
expect 1 $RUN s0.bin s1.bin s0.bin --trajectory u.txt
absent u.txt.partial v.txt.partial
mkfifo pipe.bin
$RUN s0.bin s1.bin pipe.bin --trajectory w.txt > "$OUT" 2> "$ERR" &
CHILD=$!
while ! [ -s w.txt.partial ]; do sleep 0.05; done
echo other > w.txt
cat s0.bin > pipe.bin
wait $CHILD
expected 1 $?
stderr_has '^pcgpu: w\.txt: exists already'
stderr_has '^pcgpu: w\.txt\.partial: has the poses so far; give --resume to continue'
[ "$(cat w.txt)" = other ] || die 'a file that has appeared was replaced'
rm pipe.bin w.txt
expect 0 $RUN s0.bin s1.bin s0.bin --trajectory w.txt --resume
same w.txt whole.txt

# A limit for the size of files leaves what was done.
(ulimit -f 1; exec "$PCGPU" odometry --cpu --reference previous s0.bin s1.bin s0.bin s1.bin s0.bin s1.bin s0.bin --trajectory y.txt) \
    > "$OUT" 2> "$ERR"
expected 1 $?
stderr_has '^pcgpu: y\.txt\.partial: cannot be written: File too large'
stderr_has '^pcgpu: y\.txt\.partial: has the poses so far; give --resume to continue'
expect 0 $RUN s0.bin s1.bin s0.bin s1.bin s0.bin s1.bin s0.bin --trajectory y.txt --resume
expect 0 $RUN s0.bin s1.bin s0.bin s1.bin s0.bin s1.bin s0.bin --trajectory z.txt
same y.txt z.txt

# Times that differ from those it was begun with, in every format.
$RUN s0.bin s1.bin missing.bin --trajectory t2.txt > "$OUT" 2> "$ERR"
{ echo '#pcgpu trajectory'; echo '#pcgpu 0 0 1 0 0 0 0 1 0 0 0 0 1 0'; head -n 1 whole.txt; echo '#pcgpu 0.1 0.1 1 0 0 0 0 1 0 0 0 0 1 0'
  sed -n 2p whole.txt; } > x.txt.partial
expect 1 $RUN s0.bin s1.bin s0.bin --trajectory x.txt --resume --rate 5
stderr_has 'pose 2 has the time 0\.1'

# What it was made with: other parameters or scans are refused, the same ones under other names and with more scans go on.
mkfifo pipe.bin
"$PCGPU" odometry --cpu --reference previous s0.bin s1.bin pipe.bin --trajectory m.txt > "$OUT" 2> "$ERR" &
CHILD=$!
while ! [ -s m.txt.partial ] || [ "$(grep -vc '^#' m.txt.partial)" -ne 2 ]; do sleep 0.05; done
kill -TERM $CHILD
wait $CHILD
cp m.txt.partial kept
mkdir other && cp s1.bin other/s0.bin && cp s0.bin other/s1.bin
for OPTIONS in '--method plane' '--voxel-size 0.7' '--min-score 0.1' '--fields 8' '--keep-origin' '--model-range 50 --reference model'; do
    expect 1 $RUN s0.bin s1.bin s0.bin --trajectory m.txt --resume $OPTIONS
    stderr_is 'pcgpu: m.txt.partial: was made with other parameters; give those of the interrupted run to --resume, or -f to start again'
    same m.txt.partial kept
done
expect 1 $RUN other/s0.bin other/s1.bin s0.bin --trajectory m.txt --resume
stderr_is 'pcgpu: m.txt.partial: pose 1 is that of another scan than other/s0.bin; give the scans of the interrupted run to --resume, or -f to start again'
expect 1 $RUN s0.bin s0.bin s0.bin --trajectory m.txt --resume
stderr_has 'pose 2 is that of another scan than s0\.bin'
same m.txt.partial kept
expect 0 $RUN ./s0.bin other/s0.bin s0.bin --trajectory m.txt --resume --threads 1 --json j -v
same m.txt whole.txt
finish
