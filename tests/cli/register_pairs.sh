# register --pairs: each line is what the pair alone gives, in the order of the list, and what is wrong says where.
. "${0%/*}/lib.sh"
walls 30 0.2 0 > t.bin
for DX in 1 2 3 4; do walls 30 0.2 0.0$DX > s$DX.bin; done
cp s1.bin 'a b.bin'
cloud 5 > few.bin
awk 'BEGIN { for (i = 0; i < 400; i++) print i % 20 * 0.1, int(i / 20) * 0.1, 0, 0 }' | floats > plane.bin
# A target too wide for its cells: the library refuses it, after it was read.
{ cat t.bin; echo 3e8 0 0 0 | floats; } > wide.bin
TUNE='--voxel-size 0.2'

# alone SOURCE TARGET FORMAT: the transform by the command for one pair, as one line.
alone() {
    pcgpu register $TUNE "$1" "$2" --set transform-format="$3" 2> /dev/null < /dev/null | tr '\n' ' ' | sed 's/ $//'
    echo
}
# All formats and methods, more pairs than threads and fewer, a shared target, a shared source, a pair as it was.
printf 's1.bin t.bin\n s2.bin  t.bin \ns3.bin\tt.bin\r\nt.bin s3.bin\ns1.bin s2.bin\n' > list
for FORMAT in matrix kitti tum; do
    { alone s1.bin t.bin $FORMAT; alone s2.bin t.bin $FORMAT; alone s3.bin t.bin $FORMAT
      alone t.bin s3.bin $FORMAT; alone s1.bin s2.bin $FORMAT; } > ../expected
    [ "$(awk 'NF >= 8' ../expected | wc -l)" -eq 5 ] || die "the pairs alone gave $(cat ../expected)"
    [ $FORMAT = kitti ] && TEAMS='1 2 16' || TEAMS=2
    for THREADS in $TEAMS; do
        expect 0 pcgpu register $TUNE --threads $THREADS --pairs list --set transform-format=$FORMAT
        stderr_is_one '^pcgpu: 5 pairs: 5 done, 0 skipped, 0 failed, '
        same "$OUT" ../expected
    done
done
for METHOD in plane point gicp; do
    into ../expected pcgpu register $TUNE --method $METHOD s2.bin t.bin --set transform-format=kitti
    expect 0 pcgpu register $TUNE --method $METHOD --threads 2 --pairs list --set transform-format=kitti
    sed -n 2p "$OUT" > ../line
    same ../line ../expected
done
# With a search for the start the lines are those of the pairs alone, too.
for PAIR in 's1.bin t.bin' 's2.bin t.bin' 's3.bin t.bin' 't.bin s3.bin' 's1.bin s2.bin'; do
    pcgpu register $TUNE --init auto $PAIR --set transform-format=kitti < /dev/null 2> /dev/null
done > ../expected
gives ../expected pcgpu register $TUNE --init auto --threads 2 --pairs list --set transform-format=kitti
into ../lines pcgpu register $TUNE --pairs list --set transform-format=kitti
pcgpu register $TUNE --pairs - --set transform-format=kitti < list > "$OUT" 2> "$ERR"
expected 0 $?
same "$OUT" ../lines
# Many pairs, with all of them to the same target.
awk 'BEGIN { for (i = 0; i < 70; i++) print "s" i % 4 + 1 ".bin t.bin" }' > many
expect 0 pcgpu register $TUNE --pairs many --set transform-format=kitti
[ "$(wc -l < "$OUT")" -eq 70 ] || die 'not a line a pair'
for K in 1 2 3 4; do
    alone s$K.bin t.bin kitti > ../expected
    awk -v k=$K 'NR % 4 == k % 4' "$OUT" | sort -u > ../line
    same ../line ../expected
done

# A pipe is read once, and the pairs of a list may be read in any order.
mkfifo pipe.bin
printf 's1.bin t.bin\ns2.bin pipe.bin\n' > piped
expect 2 pcgpu register $TUNE --pairs piped --set transform-format=kitti
stderr_has 'piped:2: pipe\.bin is a pipe; give files'
rm pipe.bin piped

# Names with blanks, comments and empty lines, and a start for all.
printf '# pairs\n\na b.bin\tt.bin\n  # and\n \t\ns2.bin t.bin' > blanks
expect 0 pcgpu register $TUNE --pairs blanks --set transform-format=kitti
sed -n 1,2p ../lines > ../expected
same "$OUT" ../expected
sed -n 1p ../lines > start
pcgpu register $TUNE s2.bin t.bin --init start --set transform-format=kitti > ../expected 2> "$ERR"
expect 0 pcgpu register $TUNE --pairs blanks --init start --set transform-format=kitti
sed -n 2p "$OUT" > ../line
same ../line ../expected

# What fails or does not converge gives nan, and a message with its line; the others are not touched by it.
printf 's1.bin t.bin\nmissing.bin t.bin\nplane.bin plane.bin\n\nfew.bin t.bin\ns2.bin wide.bin\ns2.bin t.bin\n' > mixed
NAN='nan nan nan nan nan nan nan nan nan nan nan nan'
{ sed -n 1p ../lines; echo "$NAN"; echo "$NAN"; echo "$NAN"; echo "$NAN"; sed -n 2p ../lines; } > ../expected
expect 1 pcgpu register $TUNE --pairs mixed --set transform-format=kitti --json report --transform T
same "$OUT" ../expected
same T ../expected
stderr_has '^pcgpu: mixed:2: missing\.bin: '
stderr_has '^pcgpu: mixed:3: plane\.bin: did not converge: '
stderr_has '^pcgpu: mixed:5: few\.bin: did not converge: .*usable points'
stderr_has '^pcgpu: mixed:6: s2\.bin: the target spans '
[ "$(grep -vc ': warning: ' "$ERR")" -eq 5 ] || die 'not one message for each of four, and the summary'
[ "$(sed 's/.*"line": \([0-9]*\).*"exit_code": \([0-9]\).*/\1:\2/' report | tr '\n' ' ')" = '1:0 2:1 3:4 5:4 6:1 7:0 ' ] ||
    die "the report is $(cat report)"
sed -n 1p report | grep -q '"source": "s1.bin", "target": "t.bin".*"outputs": {"transform": "T"}' || die 'no pair in --json'
sed -n 3p report | grep -q '"T_target_source": \[1, 0' || die 'the transform of a pair that did not converge is missing'
printf 'plane.bin plane.bin\ns1.bin t.bin\n' > open
expect 4 pcgpu register $TUNE --pairs open --set transform-format=tum
[ "$(sed -n 1p "$OUT")" = 'nan nan nan nan nan nan nan nan' ] || die 'an open direction is not told'
expect 4 pcgpu register $TUNE --pairs open
[ "$(sed -n 1p "$OUT")" = "$NAN nan nan nan nan" ] || die 'an open direction is not told'
rm report T

# Aligned sources in a folder; the report on standard output instead of the lines.
mkdir out
printf 's1.bin t.bin\nmissing.bin t.bin\ns2.bin t.bin\n' > three
expect 1 pcgpu register $TUNE --pairs three -o out/ --json -
[ "$(grep -c '^{.*}$' "$OUT")" -eq 3 ] && [ "$(wc -l < "$OUT")" -eq 3 ] || die 'not three objects'
[ "$(ls -A out | tr '\n' ' ')" = 's1.bin s2.bin ' ] || die "out holds $(ls -A out)"
makes out/s2.bin single.bin pcgpu register $TUNE s2.bin t.bin -o single.bin
# There are files of these names by now.
expect 1 pcgpu register $TUNE --pairs three -o out/ --set transform-format=kitti
stdout_is ''
stderr_is 'pcgpu: 2 of 3 outputs exist already; -f replaces them, --skip-existing does the others'
rm -r out single.bin

# A run that was ended goes on: pairs that are done have their transforms, from the lines of --json or once more.
printf 's1.bin t.bin\ns2.bin t.bin\nplane.bin plane.bin\n' > three
expect 4 pcgpu register $TUNE --pairs three -o out/ --set transform-format=kitti --transform T --json j
cp "$OUT" ../expected
cp -R out ../out
for DONE in 's1.bin' 's2.bin' 's1.bin s2.bin plane.bin' ''; do
    for JSON in '' '--json j'; do
        rm -r out && mkdir out
        [ -z "$DONE" ] || (cd ../out && cp $DONE "$WORK/here/out")
        rm -f T
        expect 4 pcgpu register $TUNE --pairs three -o out/ --skip-existing --set transform-format=kitti --transform T $JSON
        same "$OUT" ../expected
        same T ../expected
        diff -r out ../out || die 'other outputs'
    done
    [ "$(sed 's/.*"line": \([0-9]*\).*"exit_code": \([0-9]\).*/\1:\2/' j | tr '\n' ' ')" = '1:0 2:0 3:4 ' ] || die "the report is $(cat j)"
done
stderr_has '^pcgpu: 3 pairs: 3 done, of which 1 did not converge, 0 skipped'
expect 4 pcgpu register $TUNE --pairs three -o out/ --skip-existing --set transform-format=kitti --json j
stderr_has '^pcgpu: 3 pairs: 1 done, of which 1 did not converge, 2 skipped'
same "$OUT" ../expected
echo other > out/s1.bin
expect 1 pcgpu register $TUNE --pairs three -o out/ --skip-existing
stderr_has '^pcgpu: three:1: out/s1\.bin: exists, and its content differs from that of this run'
rm -r out T j
printf 's1.bin t.bin\nmissing.bin t.bin\ns2.bin t.bin\n' > three

# A file that is missing and has a name without a format.
printf 's1.bin t.what\n' > wrong
expect 1 pcgpu register --pairs wrong
stderr_has '^pcgpu: wrong:1: t\.what: No such file or directory; '
# --dry-run looks at every cloud of the list.
says '^ *pairs: "?list"?$' pcgpu register --pairs list --dry-run
finish
