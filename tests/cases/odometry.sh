# Sequences and pairs of scans of real sensors: lost scans, "no motion", returns of the carrier.
track() { WANTED_CODE=$1; shift; expect "$WANTED_CODE" pcgpu odometry --cpu --trajectory t.txt -f "$@"; }
lost() { grep -c nan t.txt; }
x_of() { sed -n "$1p" t.txt | cut -d' ' -f4; }

# Five beams, a car at 0.84 m per scan: motion, or lost. Not "no motion" with exit 0.
for OPTIONS in '' '--voxel-size 0.25' '--voxel-size 0.5' '--voxel-size 1' '--reference keyframe' '--reference previous'; do
    "$PCGPU" odometry --cpu --fields 3 $OPTIONS "$C/ouster5beams/"*.bin --trajectory t.txt -f > "$OUT" 2> "$ERR"
    CODE=$? LAST="odometry $OPTIONS ouster5beams"
    [ "$CODE" -eq 4 ] || { expected 0 "$CODE"; near "x of scan 8 ($OPTIONS)" "$(x_of 9)" -6.7 0.7; }
    checked
done

# A sensor at rest on a desk, seen by a few points outside.
expect 0 pcgpu register --cpu --fields 3 "$C/os0desk/2.bin" "$C/os0desk/1.bin" --transform t.txt -f
stderr_has 'points are near the sensor in both scans and were dropped as returns of its carrier; give --set keep-carrier'
near 'x of the desk' "$(sed -n 1p t.txt | cut -d' ' -f4)" 0 0.002
near 'y of the desk' "$(sed -n 2p t.txt | cut -d' ' -f4)" 0 0.002
expect 0 pcgpu register --cpu --fields 3 --set keep-carrier "$C/os0desk/2.bin" "$C/os0desk/1.bin" --transform t.txt -f
stderr_lacks carrier
near 'x of the desk, with all points' "$(sed -n 1p t.txt | cut -d' ' -f4)" 0 0.002

# No pose of an earlier run stays in the trajectory.
cp "$C/ouster5beams/000000.bin" here.bin
expect 0 pcgpu odometry --cpu --fields 3 here.bin --trajectory t.txt -f
if [ -d "$DATA/drives" ] && /usr/bin/python3 -c 'import numpy' 2> /dev/null; then
    # Of the road the two parts that have scans 55 to 75 alone, which are then 15 to 35.
    mkdir some some/road && ln -s "$DATA/drives/unpack.py" "$DATA/drives/street32" some && ln -s "$DATA"/drives/road/0[46]0.xz some/road
    for DRIVE in road street32; do
        /usr/bin/python3 some/unpack.py $DRIVE $DRIVE > /dev/null || die "unpack.py $DRIVE"
    done
    # Intervals of 0.110 and 0.090 s at a constant speed; then scans that are missing, of which nothing is known.
    track 0 --fields 4 --timestamps "$C/raw0027_times_55_75.txt" road/00001[5-9].bin road/00002?.bin road/00003[0-5].bin
    is 'scans of the road without a pose' "$(lost)" 0
    for REFERENCE in model keyframe previous; do
        track 0 --reference $REFERENCE street32
        is "scans of the street without a pose ($REFERENCE)" "$(lost)" 0
    done
    # Wide voxels: no step may jump.
    track 0 --voxel-size 1.5 street32
    JUMP=$(awk '{ d = ($4 - x) ^ 2 + ($8 - y) ^ 2; if (NR > 1 && d > far) far = d; x = $4; y = $8 } END { print sqrt(far) }' t.txt)
    near 'the longest step of the street' "$JUMP" 1.5 1.5
else
    skip_part drives 'no data, or no numpy'
fi
