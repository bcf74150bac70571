# Many inputs: folders, sub-folders, lists of names, outputs that exist, shards, and what the end of a run says.
. "${0%/*}/lib.sh"
mkdir -p in/a/b in/.hidden in/empty
cloud 300 > all.bin
N=0
for NAME in in/2 in/10 in/1 in/a/1 in/a/b/7 in/.hidden/9; do
    N=$((N + 1))
    tail -c $((16 * (100 + N))) all.bin > $NAME.bin
done
echo notes > in/readme.txt

# A folder stands for its files, by name, and -r for those of its sub-folders, which outputs keep.
expect 0 pcgpu sample -m 50 in -o out/ --json j
[ "$(sed 's/.*"inputs": \["\([^"]*\)"\].*/\1/' j | tr '\n' ' ')" = 'in/1.bin in/10.bin in/2.bin ' ] || die "$(cat j)"
stderr_has '^pcgpu: 3 inputs: 3 done, 0 skipped, 0 failed, [0-9.]+ s$'
[ "$(ls out | tr '\n' ' ')" = '1.bin 10.bin 2.bin ' ] || die "$(ls out)"
expect 0 pcgpu sample -m 50 -r in -o deep/
[ "$(cd deep && find . -type f | sort | tr '\n' ' ')" = './1.bin ./10.bin ./2.bin ./a/1.bin ./a/b/7.bin ' ] || die "$(find deep)"
makes deep/a/b/7.bin alone.bin pcgpu sample -m 50 in/a/b/7.bin -o alone.bin
expect 0 pcgpu voxelize --voxel-size 1 -r in/ -o v/ --set coords=v/
[ -s v/a/b/7.npz ] && [ -s v/a/b/7.coords.bin ] || die "$(find v)"
expect 0 pcgpu info in
[ "$(grep -c ' points, 4 columns$' "$OUT")" -eq 3 ] || die 'info of a folder'
expect 4 pcgpu odometry --cpu --trajectory t in
[ "$(wc -l < t)" -eq 3 ] || die 'odometry of a folder'
stderr_has '^pcgpu: t: [12] of 3 scans have no pose: [12] lost, 0 not read$'

# Clouds of many sizes at the same time: on CUDA, whose limits of a kernel are those of the process, workers launch other shapes.
mkdir sizes
for N in $(seq 1 90); do
    head -c $((16 * (N % 9 * 1100 + N * 90))) "$PCGPU_SOURCE/testdata/street.bin" > sizes/$N.bin
done
expect 0 pcgpu sample -m 64 sizes -o picked/
expect 0 pcgpu sample --cpu --threads 1 -m 64 sizes -o alone/
diff -r picked alone || die 'the picks of clouds of many sizes differ'

# Links to files are followed, links to folders with --set follow; no loop, each folder once, and a dead link is a failed input.
mkdir -p links/in/sub links/out
cp in/1.bin links/in/a.bin && cp in/2.bin links/in/sub/b.bin && cp in/10.bin links/out/c.bin
ln -s a.bin links/in/file.bin
ln -s .. links/in/up
ln -s ../out links/in/other
ln -s other links/in/same
ln -s sub links/in/sub2
ln -s . links/in/sub/dot
names() { sed 's/.*"inputs": \["\([^"]*\)"\].*/\1/' j | tr '\n' ' '; }
took() { [ "$(names)" = "$1" ] || die "the inputs are $(names)"; checked; }
rm j
expect 0 pcgpu info -r links/in --json j
took 'links/in/a.bin links/in/file.bin links/in/./sub/b.bin '
expect 0 pcgpu info -r --set follow links/in --json j -f
took 'links/in/a.bin links/in/file.bin links/in/./other/c.bin links/in/./sub/b.bin '
ln -s links/in top
expect 0 pcgpu info -r top --json j -f # what is named is taken
took 'top/a.bin top/file.bin top/./sub/b.bin '
ln -s gone.bin links/in/dead.bin
ln -s round.bin links/in/round.bin
ln -s gone links/in/lost
ln -s gone.html links/in/dead.html
for FOLLOW in '' '--set follow'; do
    for FOLDERS in '' -r; do
        [ -n "$FOLDERS" ] || [ -z "$FOLLOW" ] || continue
        expect 1 pcgpu sample -m 50 $FOLDERS $FOLLOW links/in -o linked$FOLDERS${FOLLOW:+f}/
        stderr_has '^pcgpu: links/in/dead\.bin: No such file or directory; give a file that can be read$'
        stderr_has '^pcgpu: links/in/lost: No such file or directory; give a file that can be read$'
        stderr_has '^pcgpu: links/in/round\.bin: Too many levels of symbolic links; '
        stderr_has '^pcgpu: [5-7] inputs: [2-4] done, 0 skipped, 3 failed '
    done
done
[ "$(cd linked-r && find . -type f | sort | tr '\n' ' ')" = './a.bin ./file.bin ./sub/b.bin ' ] || die "$(find linked-r)"
rm j top

# What an earlier run put below -o is no input, be it found with -r or named by the shell.
mkdir -p own/b && cp in/1.bin own/a.bin && cp in/2.bin own/b/b.bin
cd own || exit 99
for RUN in 1 2; do
    expect 0 pcgpu sample -m 50 -r . -o od/ --indices ./od/x/ -f
    [ "$(find od -type f | sort | tr '\n' ' ')" = 'od/a.bin od/b/b.bin od/x/a.indices.bin od/x/b/b.indices.bin ' ] || die "$(find od)"
done
expect 0 pcgpu convert od --output-format ply -o od/ # it is what is meant
present od/a.ply
rm -r od
for RUN in 1 2; do
    expect 0 pcgpu sample -m 50 * -o od/ -f
    only a.bin b od
    [ "$(ls od | tr '\n' ' ')" = 'a.bin b.bin ' ] || die "$(ls od)"
done
ls -d * > ../list
expect 0 pcgpu sample -m 50 --files-from ../list -o od/ -f
cd .. || exit 99

# Lists of names: a file, standard input, names that end with zero bytes; folders in a list.
printf 'in/2.bin\n\nin/a\n' > list
expect 0 pcgpu sample -m 50 in/10.bin --files-from list -o listed/
[ "$(ls listed | tr '\n' ' ')" = '1.bin 10.bin 2.bin ' ] || die "$(ls listed)"
find in/a -name '*.bin' -print0 | "$PCGPU" sample --cpu -m 50 --files-from - -0 -o zero/ > "$OUT" 2> "$ERR"
expected 0 $?
[ "$(ls zero | tr '\n' ' ')" = '1.bin 7.bin ' ] || die "$(ls zero)"
# A list of Windows has line ends of two characters.
printf 'in/10.bin\r\n\r\n' > windows
makes crlf/10.bin listed/10.bin pcgpu sample -m 50 --files-from windows -o crlf/

# Shards: together what one run gives, each input once.
for I in 1 2 3 4; do
    expect 0 pcgpu sample -m 50 -r in -o shards/ --shard $I/4
done
diff -r shards deep > diff || die "$(cat diff)"
(
    SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_MIN=5 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_STEP=2
    export SLURM_ARRAY_TASK_ID SLURM_ARRAY_TASK_MIN SLURM_ARRAY_TASK_COUNT SLURM_ARRAY_TASK_STEP
    "$PCGPU" sample --cpu -m 50 -r in -o slurm/ --shard slurm > "$OUT" 2> "$ERR"
)
expected 0 $?
[ "$(ls slurm)" = 2.bin ] || die "the third of three has $(ls slurm)" # 1 10 2 a/1 a/b/7
# What Slurm 22.05 sets for --array=1-3,9: no task takes a share, since the fourth cannot know that it is the fourth.
for ID in 1 9; do
    expect 2 env SLURM_ARRAY_TASK_ID=$ID SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=9 SLURM_ARRAY_TASK_COUNT=4 \
        SLURM_ARRAY_TASK_STEP=1 "$PCGPU" sample --cpu -m 50 -r in -o gaps/ --shard slurm
    stderr_is 'pcgpu: shard slurm: the array of 4 tasks from 1 to 9 has gaps; submit the whole array, such as 0-7, and give --skip-existing to complete an earlier one'
    [ ! -e gaps ] || die 'a folder was made'
done
expect 0 pcgpu sample -m 50 in -o none/ --shard 9/9
stderr_is 'pcgpu: 0 inputs: 0 done, 0 skipped, 0 failed, 0.0 s'
printf 'in/1.bin in/1.bin\nin/2.bin in/2.bin\nin/10.bin in/10.bin\n' > pairs
expect 0 pcgpu register --pairs pairs --shard 2/2 -f --json j --method point
[ "$(sed 's/.*"line": \([0-9]*\).*/\1/' j)" = 2 ] || die "$(cat j)"

# Outputs that exist are kept, and what is missing is done.
rm deep/10.bin deep/a/1.bin
echo mine > deep/2.bin
expect 1 pcgpu sample -m 50 -r in -o deep/
stderr_is 'pcgpu: 3 of 5 outputs exist already; -f replaces them, --skip-existing does the others'
absent deep/10.bin
expect 0 pcgpu sample -m 50 -r in -o deep/ --skip-existing --json j
stderr_has '^pcgpu: 5 inputs: 2 done, 3 skipped, 0 failed, '
[ "$(grep -c '"skipped": true' j)" -eq 3 ] || die "$(cat j)"
[ "$(cat deep/2.bin)" = mine ] || die 'an output was replaced'
same deep/a/1.bin shards/a/1.bin
# An input counts as done when all of its outputs exist.
# A run may end between the outputs of an input: what is missing is written, and what exists is compared and stays.
expect 1 pcgpu sample -m 50 -r in -o deep/ --indices deep/ --skip-existing
stderr_has '^pcgpu: deep/2\.bin: exists, and its content differs from that of this run; remove it, or give -f in place of --skip-existing$'
stderr_has '^pcgpu: 5 inputs: 4 done, 0 skipped, 1 failed \(in/2\.bin\), '
[ "$(cat deep/2.bin)" = mine ] || die 'an output was replaced'
cp shards/2.bin deep/2.bin
expect 0 pcgpu sample -m 50 -r in -o deep/ --indices deep/ --skip-existing
rm deep/1.bin deep/a/1.indices.bin
tells '^pcgpu: 5 inputs: 2 done, 3 skipped, 0 failed, ' pcgpu sample -m 50 -r in -o deep/ --indices deep/ --skip-existing
expect 0 pcgpu sample -m 50 -r in -o both/ --indices both/
diff -r deep both > diff || die "$(cat diff)"
expect 0 pcgpu sample -m 50 -r in -o deep2/ --skip-existing --dry-run
[ ! -e deep2 ] || die 'a dry run made a folder'

# The lines of --json stay: those of inputs that are skipped, and those of other shards, which may have one file.
inputs() { sed 's/.*"inputs": \["\([^"]*\)"\].*/\1/' "$1" | sort | tr '\n' ' '; }
ALL='in/./a/1.bin in/./a/b/7.bin in/1.bin in/10.bin in/2.bin '
rm -rf deep j
expect 0 pcgpu sample -m 50 -r in -o deep/ --json j
cp j whole
rm deep/10.bin
expect 0 pcgpu sample -m 50 -r in -o deep/ --json j --skip-existing
[ "$(inputs j)" = "$ALL" ] && [ "$(grep -c '"points_out": 50' j)" -eq 5 ] && ! grep -q '"skipped"' j || die "$(cat j)"
sed '/in.10.bin/d' whole > ../left && sed '/in.10.bin/d' j > ../right && same ../left ../right
rm -r deep
for RUN in '' --skip-existing; do
    rm -f j
    for I in 3 1 2; do
        expect 0 pcgpu sample -m 50 -r in -o deep/ --json j --shard $I/3 $RUN
    done
    [ "$(inputs j)" = "$ALL" ] || die "shards: $(cat j)"
done
expect 1 pcgpu sample -m 50 -r in -o other/ --json j --shard 1/3 # its lines are there
stderr_has '^pcgpu: j: exists already; give -f'
rmdir other
expect 0 pcgpu sample -m 49 -r in -o deep/ --json j --shard 1/3 -f
[ "$(inputs j)" = "$ALL" ] && [ "$(grep -c '"points_out": 49' j)" -eq 2 ] || die "one shard once more: $(cat j)"
rm -r deep
echo mine > mine
expect 1 pcgpu sample -m 50 -r in -o deep/ --json mine --shard 1/3
[ "$(cat mine)" = mine ] || die 'a file of someone else'
for I in 1 2 3 4 5; do # at the same time
    "$PCGPU" sample --cpu -m 50 -r in -o deep/ --json together --shard $I/5 2> /dev/null &
done
wait
[ "$(inputs together)" = "$ALL" ] || die "shards at the same time: $(cat together)"
# A signal leaves the lines so far.
rm -r deep
mkfifo slow.bin
printf '%s\n' in/1.bin in/2.bin slow.bin > list
"$PCGPU" sample --cpu -m 50 --files-from list -o deep/ --json k > /dev/null 2>&1 &
sleep 1
kill -TERM $!
wait $!
[ "$(inputs k.partial)" = 'in/1.bin in/2.bin ' ] || die "$(ls -a; cat k.partial)"
absent k
cp in/10.bin ./10.bin
printf '%s\n' in/1.bin in/2.bin 10.bin > list
tells '^pcgpu: 3 inputs: 1 done, 2 skipped' pcgpu sample -m 50 --files-from list -o deep/ --json k --skip-existing
[ "$(grep -c '"points_out": 50' k)" -eq 3 ] || die "$(cat k)"
absent k.partial

# 10,000 files, three of them bad, with few descriptors and little memory. Costs 2 s.
mkdir ten
cloud 20 > twenty.bin
awk 'BEGIN { for (i = 0; i < 10000; i++) print "twenty.bin" }' | xargs cat | split -b 320 -a 4 --additional-suffix=.bin - ten/
for NAME in aaab abcd aots; do
    [ -s ten/$NAME.bin ] || die "no $NAME"
    echo bad > ten/$NAME.bin
done
(
    ulimit -n 64
    has_sanitizer || ulimit -v 400000
    "$PCGPU" sample --cpu --threads 4 -m 3 ten -o thin/ > "$OUT" 2> "$ERR"
)
expected 1 $?
stderr_has '^pcgpu: 10000 inputs: 9997 done, 0 skipped, 3 failed \(ten/aaab\.bin, ten/abcd\.bin, ten/aots\.bin\), '
[ "$(wc -l < "$ERR")" -eq 4 ] || die "$(head -n 9 "$ERR")"
[ "$(ls thin | wc -l)" -eq 9997 ] || die "$(ls thin | wc -l) outputs"

# Ten thousand are merged in a time that grows with their number.
(
    has_sanitizer || ulimit -t 3
    "$PCGPU" convert --merge thin -o merged.ply > "$OUT" 2> "$ERR"
)
expected 0 $?

# A reader that has seen enough ends the run, without a message.
for I in 1 2 3 4 5; do
    { "$PCGPU" info --threads 4 in in/a 2> "$ERR"; echo $? > status; } | head -n 1 > first
    grep -q '^in/1\.bin: bin, ' first || die "$(cat first)"
done
(PIPED=$("$PCGPU" info ten --threads 4 2> "$ERR" | head -c 10) && [ "$PIPED" = 'ten/aaaa.b' ]) || die 'info of many files'
stderr_lacks 'cannot write|inputs:'

# Messages and outputs do not depend on the number of threads.
echo bad > in/3.bin
for THREADS in 1 2 7; do
    expect 1 pcgpu sample -m 103 -r in -o t$THREADS/ --threads $THREADS -v
    sed 's/[0-9.]* s\b//; s/ on cpu//; s/(.*threads\{0,1\}).*//' "$ERR" | grep -v ' read \| write \| sample \| select ' > e$THREADS
    same e$THREADS e1
    diff -r t$THREADS t1 > diff || die "$(cat diff)"
done

# The input that ends a run is the last one that is named, whatever other threads have done by then.
echo '0 1 2 3 0 0 0 1' > poses.txt
for AGAIN in 1 2 3 4 5; do
    expect 2 pcgpu view --threads 4 in/10.bin in/2.bin in/1.bin -o ended/ --ground-truth poses.txt
    [ "$(wc -l < "$ERR")" -eq 2 ] || die 'another input is named, too'
    stderr_has '3 inputs: 0 done, 0 skipped, 1 failed \(in/10.bin\)'
done
finish
