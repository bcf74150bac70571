# Output files: never half written, never over an input, never replaced unasked.
. "${0%/*}/lib.sh"
cloud 300 > a.bin
cloud 500 > b.bin
cp a.bin ../a.bin

expect 0 pcgpu sample -m 10 a.bin -o out.bin
cp out.bin ../ten.bin
expect 1 pcgpu sample -m 20 a.bin -o out.bin
stderr_has '^pcgpu: out\.bin: .*(-f|--force)'
same out.bin ../ten.bin
expect 0 pcgpu sample -m 20 a.bin -o out.bin -f
size_is out.bin 320
only a.bin b.bin out.bin
# The other outputs are guarded alike, and before anything is written.
echo keep > i
expect 1 pcgpu sample -m 10 a.bin -o new.bin --indices i
stderr_has '^pcgpu: i: '
[ "$(cat i)" = keep ] || die 'i was replaced'
rm i
only a.bin b.bin out.bin

# The file that --json leaves at a signal is no other output, whatever leads there.
echo old > j.partial
ln -s j.partial leads
for NAME in j.partial ./j.partial "$PWD/j.partial" leads; do
    expect 2 pcgpu sample -m 10 a.bin -f --json j --output-format bin -o "$NAME"
    stderr_has 'two outputs go to '
done
rm j.partial leads

# A file that is replaced keeps who may read and write it, and no more.
chmod 6750 out.bin
expect 0 pcgpu sample -m 20 a.bin -o out.bin -f
case $(ls -l out.bin) in -rwxr-x---*) checked ;; *) die "mode of out.bin: $(ls -l out.bin)" ;; esac
chmod 644 out.bin

# A file mode as any program leaves it.
case $(ls -l out.bin) in -rw-r--r--*) checked ;; *) die "mode of out.bin: $(ls -l out.bin)" ;; esac

# An input is never overwritten, by whatever name.
ln -s a.bin link.bin
ln a.bin hard.bin
mkdir d
for NAME in a.bin ./a.bin d/../a.bin link.bin hard.bin; do
    expect 1 pcgpu sample -m 10 a.bin -f -o "$NAME"
    stderr_has '^pcgpu: .*input'
    same a.bin ../a.bin
    expect 1 pcgpu sample -m 10 a.bin -f -o x.bin --indices "$NAME"
    same a.bin ../a.bin
    absent x.bin
done
expect 1 pcgpu sample -m 10 a.bin b.bin -f -o ./
same a.bin ../a.bin
expect 1 pcgpu register b.bin a.bin -f -o a.bin
same a.bin ../a.bin
rm -r link.bin hard.bin d
# Nor is a configuration, be it the first of two or one that another inherits from.
printf 'sample:\n  count: 5\n' > first.yaml
printf 'sample:\n  seed: 1\n' > second.yaml
for NAME in first.yaml second.yaml; do
    cp $NAME ../kept
    expect 1 pcgpu sample --config first.yaml --config second.yaml a.bin -f -o out.bin --json $NAME
    stderr_has "^pcgpu: $NAME: is an input of this run"
    same $NAME ../kept
done
rm first.yaml second.yaml
cp -R "$PCGPU_SOURCE/tests/cli/openpcdet/cfgs" .
for NAME in cfgs/kitti_models/second.yaml cfgs/dataset_configs/kitti_dataset.yaml; do
    cp $NAME ../kept
    expect 1 pcgpu voxelize --config cfgs/kitti_models/second.yaml a.bin -f -o out.npz --json $NAME
    stderr_has "^pcgpu: $NAME: is an input of this run"
    same $NAME ../kept
done
rm -r cfgs
# Nor by standard output.
for APPEND in 'sample -m 10 a.bin' 'sample -m 10 - -o -' 'info a.bin' 'sample -m 10 --dry-run a.bin -o x.bin'; do
    pcgpu $APPEND < a.bin >> a.bin 2> "$ERR"
    expected 1 $?
    stderr_is 'pcgpu: standard output: is an input of this run; give it another file'
    same a.bin ../a.bin
done
# A folder that is not there is made, with those above it; a dry run makes none.
expect 0 pcgpu sample -m 10 a.bin b.bin --dry-run -o made/here/ --indices made/i/
absent made
expect 0 pcgpu sample -m 10 a.bin b.bin -o made/here/ --indices made/i/
size_is made/here/a.bin 160
size_is made/i/b.indices.bin 40
expect 0 pcgpu sample -m 10 a.bin b.bin -f -o made/here//
rm -r made
expect 1 pcgpu sample -m 10 a.bin b.bin -o a.bin/sub/ # one message
[ "$(wc -l < "$ERR")" -eq 1 ] || die 'more than one message'
stderr_has '^pcgpu: a\.bin/sub/: .*[Nn]ot a directory'
expect 2 pcgpu sample -m 0 a.bin -o made/
absent made
# A link to nothing is not replaced unasked.
ln -s nowhere dead.bin
expect 1 pcgpu sample -m 10 a.bin -o dead.bin
stderr_has '^pcgpu: dead\.bin: .*link.*-f'
expect 1 pcgpu sample --dry-run -m 10 a.bin -o dead.bin
[ -h dead.bin ] || die 'the link is gone'
expect 0 pcgpu sample -m 10 a.bin -f -o dead.bin
size_is dead.bin 160
absent nowhere
rm dead.bin

# Two outputs with one name.
expect 2 pcgpu sample -m 10 a.bin -o x.bin --indices x.bin
# ... or with two names for one place.
for NAME in ./x.bin "$PWD/x.bin" "../here/x.bin"; do
    expect 2 pcgpu sample -m 10 a.bin -o x.bin --indices "$NAME"
    stderr_has 'two outputs'
done
expect 2 pcgpu sample -m 10 a.bin -o x.bin --json ./x.bin
stderr_has 'two outputs'
only a.bin b.bin out.bin

# Where nothing can be written.
expect 1 pcgpu sample -m 10 a.bin -o nowhere/deeper/x.bin
stderr_has '^pcgpu: nowhere/deeper/x\.bin: '
absent nowhere
expect 1 pcgpu sample -m 10 a.bin -o a.bin/x.bin
if [ "$(id -u)" -ne 0 ]; then
    mkdir locked && chmod 555 locked
    expect 1 pcgpu sample -m 10 a.bin -o locked/x.bin
    stderr_has 'locked/x\.bin: .*[Pp]ermission'
    rmdir locked
else
    skip_part 'a folder without permission' 'root may write everywhere'
fi
# A second output that fails takes the first one with it.
expect 1 pcgpu sample -m 10 a.bin -o x.bin --indices nowhere/deeper/i
only a.bin b.bin out.bin

# A file that appears while its data is made is not replaced either. The input is a pipe, so that there is time.
mkfifo pipe.bin
LAST='sample while x.bin appears'
pcgpu sample -m 10 pipe.bin -o x.bin > "$OUT" 2> "$ERR" &
exec 3> pipe.bin
for i in 1 2 3 4 5 6 7 8 9 10; do
    ls .x.bin.pcgpu-* > /dev/null 2>&1 && break
    sleep 0.1
done
echo keep > x.bin
cat a.bin >&3
exec 3>&-
wait $!
expected 1 $?
stderr_has '^pcgpu: x\.bin: .*-f'
[ "$(cat x.bin)" = keep ] || die 'x.bin was replaced'
rm x.bin pipe.bin
only a.bin b.bin out.bin

# Several inputs: one file each, named after the input; formats by name.
mkdir d
expect 0 pcgpu sample -m 10 a.bin b.bin -o d/
size_is d/a.bin 160
size_is d/b.bin 160
same d/a.bin ../ten.bin
expect 0 pcgpu sample -m 10 a.bin -o d --output-format ply # a folder needs no slash
present d/a.ply
[ "$(ls -A d | wc -l)" -eq 3 ] || die "d holds $(ls -A d)"
expect 1 pcgpu sample -m 10 a.bin b.bin -o d/
stderr_has '2 of 2 outputs exist already; -f replaces them, --skip-existing does the others'
expect 0 pcgpu sample -m 20 a.bin b.bin -f -o d/
size_is d/a.bin 320
rm -r d
# Two inputs with one name would write one file.
mkdir d e
cp a.bin e/a.bin
expect 2 pcgpu sample -m 10 a.bin e/a.bin -o d/
stderr_has 'e/a\.bin'
expect 2 pcgpu sample -m 10 a.bin e/a.bin -f -o d/ # -f is not meant for this run's own files
[ -z "$(ls -A d)" ] || die "d holds $(ls -A d)"
rm -r e
# nuScenes' double extension: the stem goes without it.
cp a.bin scan.pcd.bin
expect 0 pcgpu sample -m 10 --fields 4 scan.pcd.bin -o d/ --output-format ply
present d/scan.ply
rm scan.pcd.bin d/scan.ply

# Several inputs need a folder.
expect 2 pcgpu sample -m 10 a.bin b.bin -o x.bin
expect 2 pcgpu sample -m 10 a.bin b.bin
stdout_is ''
only a.bin b.bin d out.bin

# A bad input among good ones: it is named, the others are written, the exit code is 1.
printf 'x%.0s' 1 2 3 4 5 > bad.bin
expect 1 pcgpu sample -m 10 a.bin bad.bin missing.bin b.bin -o d/
stderr_has '^pcgpu: bad\.bin: '
stderr_has '^pcgpu: missing\.bin: '
[ "$(grep -c '^pcgpu: [ab]\.bin: ' "$ERR")" -eq 0 ] || die 'a good input is complained about'
same d/a.bin ../ten.bin
size_is d/b.bin 160
absent d/bad.bin d/missing.bin
# One with too few points is a bad input, too.
expect 1 pcgpu sample -m 400 a.bin b.bin -f -o d/
stderr_has '^pcgpu: a\.bin: .*400.*300'
size_is d/b.bin 6400
same d/a.bin ../ten.bin

# Unknown extensions ask for a format.
expect 2 pcgpu sample -m 10 a.bin -o out.xyz123
stderr_has 'out\.xyz123.*(format|--output-format)'
expect 0 pcgpu sample -m 10 a.bin -o out.xyz123 --output-format bin
same out.xyz123 ../ten.bin
finish
