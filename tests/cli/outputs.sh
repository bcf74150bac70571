# Output files: never half written, never over an input, never replaced unasked.
. "${0%/*}/lib.sh"
cloud 300 > a.bin
cloud 500 > b.bin
cp a.bin ../a.bin

expect 0 pcgpu sample -m 10 a.bin -o out.bin
cp out.bin ../ten.bin
sized out.bin 320 pcgpu sample -m 20 a.bin -o out.bin -f
only a.bin b.bin out.bin
# A file that is replaced keeps who may read and write it, and no more.
chmod 6750 out.bin
expect 0 pcgpu sample -m 20 a.bin -o out.bin -f
case $(ls -l out.bin) in -rwxr-x---*) checked ;; *) die "mode of out.bin: $(ls -l out.bin)" ;; esac
chmod 644 out.bin

# A file mode as any program leaves it.
case $(ls -l out.bin) in -rw-r--r--*) checked ;; *) die "mode of out.bin: $(ls -l out.bin)" ;; esac

# An input is not overwritten by standard output; by other names, see refusals.list.
for APPEND in 'sample -m 10 a.bin' 'sample -m 10 - -o -' 'info a.bin' 'sample -m 10 --dry-run a.bin -o x.bin'; do
    pcgpu $APPEND < a.bin >> a.bin 2> "$ERR"
    expected 1 $?
    stderr_is 'pcgpu: standard output: is an input of this run; give it another file'
    same a.bin ../a.bin
done
# A folder that is not there is made, with those above it; a dry run makes none.
expect 0 pcgpu sample -m 10 a.bin b.bin --dry-run -o made/here/ --indices made/i/
absent made
sized made/here/a.bin 160 pcgpu sample -m 10 a.bin b.bin -o made/here/ --indices made/i/
size_is made/i/b.indices.bin 40
expect 0 pcgpu sample -m 10 a.bin b.bin -f -o made/here//
rm -r made
# A link to nothing is not replaced unasked.
ln -s nowhere dead.bin
sized dead.bin 160 pcgpu sample -m 10 a.bin -f -o dead.bin
absent nowhere
rm dead.bin

if [ "$(id -u)" -ne 0 ]; then
    mkdir locked && chmod 555 locked
    expect 1 pcgpu sample -m 10 a.bin -o locked/x.bin
    stderr_has 'locked/x\.bin: .*[Pp]ermission'
    rmdir locked
else
    skip_part 'a folder without permission' 'root may write everywhere'
fi
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
sized d/a.bin 160 pcgpu sample -m 10 a.bin b.bin -o d/
size_is d/b.bin 160
same d/a.bin ../ten.bin
expect 0 pcgpu sample -m 10 a.bin -o d --output-format ply # a folder needs no slash
present d/a.ply
[ "$(ls -A d | wc -l)" -eq 3 ] || die "d holds $(ls -A d)"
sized d/a.bin 320 pcgpu sample -m 20 a.bin b.bin -f -o d/
rm -r d
# nuScenes' double extension: the stem goes without it.
cp a.bin scan.pcd.bin
expect 0 pcgpu sample -m 10 --fields 4 scan.pcd.bin -o d/ --output-format ply
present d/scan.ply
rm scan.pcd.bin d/scan.ply

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
size_is d/b.bin 6400
same d/a.bin ../ten.bin

# An unknown extension with a format.
makes out.xyz123 ../ten.bin pcgpu sample -m 10 a.bin -o out.xyz123 --output-format bin
finish
