# Files that are read though they are odd: columns, pipes, points that are not finite, names with /./.
. "${0%/*}/lib.sh"
cloud 100 > a.bin

# 5 columns are kept through the program.
head -c 1000 a.bin > c5.bin
sized out.bin 1000 pcgpu sample --fields 5 -m 50 --method random c5.bin -o out.bin
rm out.bin

mkfifo fifo.bin
cat a.bin > fifo.bin & # an input need not seek
expect 0 pcgpu sample -m 10 fifo.bin -o out.bin
wait
size_is out.bin 160
rm out.bin

# Points that are not finite are dropped (answers.list); indices are those of the file. Each input has its own first pick.
{ echo 'nan 0 0 1'; echo '5 0 0 2'; echo '0 inf 0 3'; echo '1 0 0 4'; echo '0 0 -inf 5'; echo '2 0 0 nan'; } |
    floats > holes.bin
expect 0 pcgpu sample -m 3 --start 1 holes.bin -o wanted.bin --indices wanted
[ "$(integers wanted | tr '\n' ' ')" = '1 3 5 ' ] || die "indices are $(integers wanted | tr '\n' ' ')"
makes out.bin wanted.bin pcgpu sample -m 3 holes.bin -o out.bin --indices i
same i wanted
mkdir both
makes both/holes.bin wanted.bin pcgpu sample -m 3 holes.bin a.bin -o both/
makes both/a.bin out.bin pcgpu sample -m 3 --start 0 a.bin -f -o out.bin
rm -r both wanted wanted.bin out.bin i
tells 'warning: .*3' pcgpu voxelize --range=-9,-9,-9,9,9,9 --voxel-size 1 holes.bin -o v.bin --set point-voxel=pv
[ "$(integers pv | tr '\n' ' ')" = '-1 0 -1 1 -1 2 ' ] || die "point-voxel is $(integers pv | tr '\n' ' ')"
# The sub-folder that an output keeps is below -o, whoever made the list.
mkdir -p data home
cp a.bin data/x.bin
for NAME in data/./../data/x.bin data/./../../here/data/x.bin data/.//x.bin data/././../data/x.bin; do
    expect 0 pcgpu sample -m 3 "$NAME" -o home/x.bin # no folder
    rm home/x.bin
done
[ "$(ls data home)" = 'data:
x.bin

home:' ] || die "data and home hold $(ls data home)"
expect 0 pcgpu sample -m 3 ./data/./x.bin -o home/out/
present home/out/x.bin
finish
