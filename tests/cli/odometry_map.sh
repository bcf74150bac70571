# odometry -o: the map of scans.
. "${0%/*}/lib.sh"
thin street 4 > s0.bin && cp s0.bin s2.bin
thin street_moved 4 > s1.bin && cp s1.bin s3.bin
points() { "$PCGPU" info "$1" | sed -n '1s/.* \([0-9]*\) points.*/\1/p'; }

expect 0 pcgpu odometry --cpu s?.bin --trajectory t.txt
makes with.txt t.txt pcgpu odometry --cpu s?.bin --trajectory with.txt -o map.ply --json map.jsonl # a map changes no pose
stderr_has '^pcgpu: map.ply: [0-9]+ points of 4 scans at 0.1 m; [0-9]+ of [0-9]+ voxels removed as moving objects$'
[ "$(wc -l < map.jsonl)" -eq 5 ] || die 'the map is not the last object of --json'
tail -n 1 map.jsonl | grep -q '"outputs": {"output": "map.ply"}.*"map_voxel": 0.1,.*"scans": 4, "panoramas": 1,.*"points": ' ||
    die 'the object of the map in --json'
expect 0 pcgpu info map.ply
for name in x y z intensity nx ny nz seen; do stdout_has "^  $name  *(float|uint)32 "; done
stdout_has '^  seen +uint32 +1 +4 '
COUNT=$(points map.ply)
[ "$COUNT" -gt 1000 ] || die "$COUNT points"

# Any number of threads, any memory, any folder for the rest, a second run: the same bytes.
mkdir tmp
for how in '--threads 1' '--threads 3 --set memory=1M' '--set memory=1M --set temporary-folder=tmp' '--device auto'; do
    makes other.ply map.ply pcgpu odometry --cpu $how s?.bin --trajectory t.txt -o other.ply -f
done
[ -z "$(ls -A tmp)" ] || die 'a temporary file is left'

# With --loops it is made of the corrected poses in another pass; here there is nothing to correct.
makes looped.txt t.txt pcgpu odometry --cpu --loops s?.bin --trajectory looped.txt -o looped.ply
same looped.ply map.ply
# When it cannot be written, neither is the trajectory.
for how in '' --loops; do
    expect 1 pcgpu odometry --cpu $how s?.bin --trajectory full.txt -o /dev/full --output-format ply
    absent full.txt
done

# At the coordinates of a map of a country, in fine voxels.
printf '1 0 0 448262.123 0 1 0 5411932.678 0 0 1 312.5\n' > utm.txt
expect 0 pcgpu odometry --cpu s?.bin --trajectory utm.tum -o utm.ply --init utm.txt --map-voxel 0.04
expect 0 pcgpu odometry --cpu s?.bin --trajectory fine.tum -o fine.ply --map-voxel 0.04
U=$(points utm.ply) F=$(points fine.ply)
[ "$U" -gt $((F * 99 / 100)) ] && [ "$U" -lt $((F * 101 / 100)) ] || die "$U points at UTM coordinates, $F without"
# Without a pose there is no map, and one that is there stays.
: > none.bin
cp fine.ply stays.ply
expect 4 pcgpu odometry --cpu none.bin --trajectory none.txt -o stays.ply -f
stderr_has 'stays.ply: no scan has a pose, so there is no map, and nothing is written'
same stays.ply fine.ply

# Every format has all points and columns.
for name in map.pcd map.las map.npy map.bin map.csv; do
    expect 0 pcgpu odometry --cpu s?.bin --trajectory t.txt -o "$name" -f
    [ "$name" = map.bin ] || [ "$(points "$name")" -eq "$COUNT" ] || die "$name has $(points "$name") points, not $COUNT"
done
size_is map.bin $((COUNT * 32))
gives map.ply pcgpu odometry --cpu s?.bin --trajectory t.txt -o - --output-format ply -f
# A map is a cloud: a scan is registered to it.
expect 0 pcgpu register --cpu s1.bin map.ply
awk 'NR == 1 && ($4 < 0.79 || $4 > 0.81) { exit 1 }' "$OUT" || die "registered to the map: $(cat "$OUT")"

# Larger voxels are fewer; other voxels, what is kept, deskewing, and a configuration.
expect 0 pcgpu odometry --cpu s?.bin --trajectory t.txt -f -o coarse.ply --map-voxel 0.5
[ "$(points coarse.ply)" -lt $((COUNT / 3)) ] || die 'voxels of 0.5 m are not fewer'
expect 0 pcgpu odometry --cpu s?.bin --trajectory t.txt -f -o kept.ply --set keep-moving
stderr_has '; 0 of [0-9]+ voxels removed'
printf 'odometry:\n  map_voxel: 0.5\n  keep_moving: false\n  memory: 8M\n' > map.yaml
makes other.ply coarse.ply pcgpu odometry --cpu --config map.yaml s?.bin --trajectory t.txt -f -o other.ply
expect 0 pcgpu odometry --cpu --config map.yaml s?.bin --trajectory t.txt -f
says 'map_voxel: 0.1$' pcgpu odometry --dry-run s?.bin -o map.las -f
expect 0 pcgpu odometry --cpu --deskew clockwise s?.bin --trajectory d.txt -o deskewed.ply
differ deskewed.ply map.ply
expect 0 pcgpu odometry --cpu --beam-correction 0.2 s?.bin --trajectory d.txt -f -o raised.ply
differ raised.ply map.ply
expect 0 pcgpu odometry --cpu --deskew clockwise s0.bin --trajectory d.txt -f -o one.ply # whose motion is not known
[ "$(points one.ply)" -gt 500 ] || die 'the map of one scan'

# A lost scan is not in the map; one that cannot be read fails it.
cloud 300 > s5.bin
expect 4 pcgpu odometry --cpu s?.bin --trajectory lost.txt -o lost.ply
same lost.ply map.ply
head -c 24 s0.bin > s5.bin
expect 1 pcgpu odometry --cpu s?.bin --trajectory lost.txt -f -o broken.ply
absent broken.ply
rm s5.bin

finish
