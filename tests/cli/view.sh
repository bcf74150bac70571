# Pictures: what is in them, every kind of input, and inputs that have nothing to show. Costs 6 s of CPU time.
. "${0%/*}/lib.sh"
T=$PCGPU_SOURCE/testdata
command -v python3 > /dev/null || skip_all 'python3 reads the pictures'
case $0 in /*) HERE=${0%/*} ;; *) HERE=$OLDPWD/${0%/*} ;; esac
shows() { python3 -S "$HERE/picture.py" "$@" || die "$1 cannot be read"; }
# The width and height of a large picture, by its header.
ORANGE=ffb000 BLUE=2aa5f5

# A point of an axis in each file: right, left, up and down of the picture are as the manual says.
point() { for I in 1 2 3 4 5 6 7 8; do echo "$1 $2 $3 0"; done | floats; }
point 0 0 0 > o.bin # records without a return: left out
point 5 0 0.1 > x.bin
point 0 5 0.1 > y.bin
point 0.1 0 5 > z.bin
# place VIEW A B: the columns and rows of the points of two files, in a picture that is too small for a legend
place() {
    expect 0 pcgpu view --from "$1" --size 200x150 --color file "$2" "$3" -f -o place.png
    set -- $(shows place.png $ORANGE $BLUE)
    [ "$1" -gt 0 ] && [ "$4" -gt 0 ] || die "points are missing: $*"
    AX=$2 AY=$3 BX=$5 BY=$6
    checked
}
place top x.bin y.bin
[ "$AX" -gt "$BX" ] && [ "$AY" -gt "$BY" ] || die "top: x at $AX,$AY and y at $BX,$BY"
place front x.bin z.bin
[ "$AX" -gt "$BX" ] && [ "$AY" -gt "$BY" ] || die "front: x at $AX,$AY and z at $BX,$BY"
place side y.bin z.bin
[ "$AX" -gt "$BX" ] && [ "$AY" -gt "$BY" ] || die "side: y at $AX,$AY and z at $BX,$BY"
place iso x.bin y.bin
[ "$AX" -gt "$BX" ] || die "iso: x at $AX,$AY and y at $BX,$BY"
place iso x.bin z.bin
[ "$AY" -gt "$BY" ] || die "iso: x at $AX,$AY and z at $BX,$BY"
place sensor x.bin y.bin # the azimuth of y is on the left
[ "$AX" -gt "$BX" ] || die "sensor: x at $AX and y at $BX"

# The nearer point hides the farther one, whatever the order of the files.
point 1 1 1 > low.bin
point 1 1 2 > high.bin
expect 0 pcgpu view --from top --size 200x150 --color file low.bin high.bin -o depth.png
set -- $(shows depth.png $BLUE $ORANGE)
[ "$1" -gt "$4" ] || die "the higher point has $1 pixels and the lower one $4"
expect 0 pcgpu view --from top --size 200x150 --color file high.bin low.bin -f -o depth.png
set -- $(shows depth.png $ORANGE $BLUE)
[ "$1" -gt "$4" ] || die "the higher point has $1 pixels and the lower one $4"

# An outlier does not make the scene a dot.
cloud 3000 > a.bin
expect 0 pcgpu view a.bin --size 400x300 -o a.png
{ cat a.bin; point 1e6 -1e6 1e6; } > far.bin
expect 0 pcgpu view far.bin --size 400x300 -o far.png
set -- $(shows a.png) $(shows far.png)
[ "$1 $2 $4 $5" = '400 300 400 300' ] || die "sizes are $*"
[ "$6" -lt $((115000)) ] || die "with an outlier only $((120000 - $6)) of 120000 pixels are drawn, without $((120000 - $3))"

# Standard input, standard output, a folder.
expect 0 pcgpu view a.bin -o a1.png
"$PCGPU" view - -o - < a.bin > stdin.png || die 'no picture from standard input'
size_is stdin.png "$(wc -c < stdin.png)"
[ "$(head -c 4 stdin.png | od -An -c | tr -d ' ')" = '211PNG' ] || die 'standard output is not a picture'
"$PCGPU" view "$T/room/poses_kitti.txt" --size 200x150 -o named.png # other kinds are known by their first bytes, too
cat "$T/room/poses_kitti.txt" | "$PCGPU" view - --size 200x150 -o piped.png || die 'no trajectory from standard input'
same named.png piped.png
"$PCGPU" view "$T/room/frame-000000.png" --size 200x150 -f -o named.png
"$PCGPU" view - --size 200x150 -f -o piped.png < "$T/room/frame-000000.png" || die 'no depth image from standard input'
same named.png piped.png
mkdir in && cp a.bin far.bin in
expect 0 pcgpu view in -o out/
present out/a.png out/far.png
same out/a.png a1.png
tells '2 skipped' pcgpu view in -o out/ --skip-existing
expect 0 pcgpu view in -o half/ --shard 2/2
[ "$(ls half)" = far.png ] || die "the shard has $(ls half)"
expect 0 pcgpu view in -o one.png --json r.jsonl
grep -q '"layers": 2, "points": 6008, "color": "file"' r.jsonl || die "the report is $(cat r.jsonl)"

printf 'ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0 0 255 0\n1 0 0 0 255 0\n1 1 0 0 255 0\n0 1 0 0 255 0\n4 0 1 2 3\n' > square.ply
says '"color": "rgb"' pcgpu view --from top --size 200x200 square.ply -o square.png --json - # a face of four corners, with its colour
set -- $(shows square.png 00ff00)
[ "$1" -gt 15000 ] || die "the square has $1 pixels"
# A mesh of fuse, also from standard input.
sed 1q "$T/room/poses_kitti.txt" > pose.txt
expect 0 pcgpu fuse --config "$T/room/camera.yaml" --poses pose.txt "$T/room/frame-000000.png" --voxel-size 0.04 --mesh m.ply
expect 0 pcgpu view --up -y --size 200x150 m.ply -o m.png
cat m.ply | "$PCGPU" view - --up -y --size 200x150 -f -o piped.png || die 'no mesh from standard input'
same piped.png m.png
# What is up is the cameras' -y: a comment of .ply, which every command keeps and view reads. tests/oracle has the node of .glb.
turned() { # AXIS: the pose with z, which is up, as AXIS
    awk -v up="$1" 'function row(i, sign,  k) { for (k = 4 * i + 1; k < 4 * i + 5; k++) printf "%s ", sign * $k }
        up == "x" { row(2, 1); row(0, 1); row(1, 1) }
        up == "y" { row(1, 1); row(2, 1); row(0, 1) }
        up == "z" { row(0, 1); row(1, 1); row(2, 1) }
        up == "-x" { row(2, -1); row(1, 1); row(0, 1) }
        up == "-y" { row(0, 1); row(2, -1); row(1, 1) }
        up == "-z" { row(0, 1); row(1, -1); row(2, -1) }' pose.txt
}
for UP in x y z -x -y -z; do
    turned $UP > turned.txt
    expect 0 pcgpu fuse -f --config "$T/room/camera.yaml" --poses turned.txt "$T/room/frame-000000.png" --voxel-size 0.04 --mesh up.ply -o cloud.ply
    for MADE in up.ply cloud.ply; do head -n 3 $MADE | grep -aqx "comment up $UP" || die "$MADE is not $UP up"; done
    expect 0 pcgpu view -f --size 200x150 up.ply -o up.png
    makes up.png other.png pcgpu view -f --up=$UP --size 200x150 up.ply -o other.png
    expect 0 pcgpu sample -f -m 500 cloud.ply -o few.ply
    head -n 3 few.ply | grep -aqx "comment up $UP" || die 'sample forgets what is up'
    expect 0 pcgpu convert -f --transform "$PCGPU_SOURCE/testdata/street_T.txt" cloud.ply -o few.ply
    ! head -n 3 few.ply | grep -aq comment || die 'convert --transform keeps what was up'
done
# One looks through the back of a red ceiling at the green floor below it, and sees the ceiling alone from below and from above, dark.
room() {
    printf 'ply\nformat ascii 1.0\nelement vertex %s\nproperty float x\nproperty float y\nproperty float z\n' $((4 * $#))
    printf 'property float n%s\n' x y z && printf 'property uchar %s\n' red green blue
    printf 'element face %s\nproperty list uchar int vertex_indices\nend_header\n' $#
    for Z; do
        [ $Z = 0 ] && REST='0 0 1 0 255 0' || REST='0 0 -1 255 0 0'
        for XY in '0 0' '1 0' '1 1' '0 1'; do echo "$XY $Z $REST"; done
    done
    for Z; do [ $Z = 0 ] && echo 4 0 1 2 3 || echo 4 $((4 * $# - 1)) $((4 * $# - 2)) $((4 * $# - 3)) $((4 * $# - 4)); done
}
room 0 1 > both.ply && room 1 > ceiling.ply
colored() { # COLOR FILE OPTION...: the pixels of this colour
    NAMED=$1 && shift
    expect 0 pcgpu view -f --from top --size 200x200 "$@" -o room.png
    set -- $(shows room.png $NAMED)
    echo $1
}
[ "$(colored 00ff00 both.ply)" -gt 15000 ] || die 'the ceiling hides the floor'
[ "$(colored ff0000 ceiling.ply)" -gt 15000 ] || die 'the back of the ceiling is not seen'
[ "$(colored ff0000 --up -z both.ply)" -gt 15000 ] || die 'the ceiling is not seen from below'

# Voxels are boxes of the given size; bytes.list has their pictures. Pillars from above: a layer of boxes whose tops are nearer
# than their centres. An empty picture of this size has 1 KB.
expect 0 pcgpu voxelize --range -20,-20,-3,20,20,3 --voxel-size 0.5 "$T/street.bin" -o v.npz
says '"color": "count"' pcgpu view v.npz --size 300x200 -o v.png --json -
says '"limits": \[-[0-9.]*[27]5, [0-9.]*[27]5\]' pcgpu view --voxel-size 0.5 --range -20,-20,-3,20,20,3 --color height v.npz --size 300x200 -f -o v.png --json -
expect 0 pcgpu voxelize --range -20,-20,-3,20,20,3 --voxel-size 0.5,0.5,6 "$T/street.bin" -o pillars.npz
expect 0 pcgpu view --from top --voxel-size 0.5,0.5,6 --range -20,-20,-3,20,20,3 pillars.npz --size 300x200 -o pillars.png
[ "$(wc -c < pillars.png)" -gt 5000 ] || die "no pillars in $(wc -c < pillars.png) bytes"

# What the other commands write: source and target afterwards.
expect 0 pcgpu register "$T/street_moved.bin" "$T/street.bin" -o registered.ply
expect 0 pcgpu view registered.ply "$T/street.bin" -o after.png
set -- $(shows after.png $ORANGE $BLUE)
[ "$1" -gt 5000 ] && [ "$4" -gt 5000 ] || die "source and target have $1 and $4 pixels"
# A path with its truth: the colours are those of the errors, 0 to 0.3 m, and the cloud is grey.
awk 'BEGIN { for (i = 0; i < 40; i++) print 1, 0, 0, i, 0, 1, 0, 0, 0, 0, 1, 0 }' > true.txt
awk 'BEGIN { for (i = 0; i < 40; i++) print 1, 0, 0, i, 0, 1, 0, 0.3 * (i % 4 == 0), 0, 0, 1, 0 }' > found.txt
expect 0 pcgpu view --from top "$T/street.bin" found.txt --ground-truth true.txt -o error.png -v --json error.json
stderr_has 'colours by error from 0\.0[5-8][0-9]* to 0\.2[2-4][0-9]* m'
grep -q '"evaluation": {"poses": 40, ' error.json || die 'the errors are not in --json'
# Values that float32 squares do not hold, and clouds of one place.
printf 'nan 0 0 0\n0 inf 0 0\n' | floats > nan.bin
point 1e30 -1e30 3e38 > huge.bin
{ cat nan.bin huge.bin a.bin; } > mixed.bin
tells 'warning: 2 of 3010 points are not finite' pcgpu view mixed.bin -o mixed.png
point 7 7 7 > same.bin
head -c 16 same.bin > one.bin
awk 'BEGIN { for (i = 0; i < 500; i++) print i * 1e-5, 0, 0, "nan" }' | floats > line.bin
for NAME in same one line; do
    for FROM in iso top side front sensor; do
        expect 0 pcgpu view --from $FROM --size 200x200 $NAME.bin -f -o tiny.png
        set -- $(shows tiny.png)
        [ "$3" -lt 40000 ] || die "$NAME from $FROM: the picture is empty"
    done
done
[ ! -w /dev/full ] || { "$PCGPU" view a.bin -o - > /dev/full 2> "$ERR"; expected 1 $?; stderr_has '^pcgpu: standard output: '; }

# Names: letters of Latin-1 have their accents, and others a hash.
PICTURES=
for NAMED in u.bin '\303\274.bin' '\303\234.bin' '\346\211\253.bin' '\346\217\217.bin'; do
    NAMED=$(printf "$NAMED") && cp a.bin "$NAMED"
    expect 0 pcgpu view --size 400x300 "$NAMED" -o named.png -f
    PICTURES="$PICTURES $(cksum < named.png)"
done
[ "$(printf '%s %s\n' $PICTURES | sort -u | wc -l)" -eq 5 ] || die 'names that look the same'

# The terminal: 24-bit colours, two pixels per character, and a line with the name; not where there are no colours.
if python3 -c 'import pty' 2> /dev/null; then
    export TERM=xterm
    tells "$(printf '\033')\\[38;2;[0-9]+;[0-9]+;[0-9]+;48;2;" python3 "$HERE/on_terminal.py" 1 "$PCGPU" view a.bin
    stderr_has 'a\.bin  3,000 points   height 0 .* 1\.6 m'
    # With the lines of the command and of the prompt it fills 24 lines; the captions fit into one.
    LONG=a_$(printf %070d 1).bin && cp a.bin "$LONG"
    for NAMED in a.bin "$LONG o.bin x.bin y.bin z.bin" "$LONG a.bin --color height"; do
        expect 0 python3 "$HERE/on_terminal.py" 12 "$PCGPU" view $NAMED
        [ "$(wc -l < "$ERR")" -eq 22 ] || die "$(wc -l < "$ERR") lines"
        [ "$(tail -n 1 "$ERR" | tr -d '\r\n' | sed "s/$(printf '\033')[^m]*m//g" | LC_ALL=C.UTF-8 wc -m)" -le 80 ] || die 'a wide caption'
    done
    # Classes have names and numbers of points, as far as they fit.
    printf 'x,y,z,cluster,class\n0,0,1,-1,7\n1,0,0,-1,7\n2,0,0,-1,7\n0,1,0,4,2\n1,1,1,4,2\n2,2,2,11,19\n' > classes.csv
    for NAMED in 'cluster:noise 3   cluster 4 2   cluster 11 1' 'class:noise 3   ground 2   overhead structure 1'; do
        expect 0 python3 "$HERE/on_terminal.py" 12 "$PCGPU" view classes.csv --color "${NAMED%%:*}"
        [ "$(tail -n 1 "$ERR" | tr -d '\r\n' | sed "s/$(printf '\033')[^m]*m//g; s/$(printf '\342\226\210')*//g; s/    */   /g")" = "classes.csv  6 points   ${NAMED#*:}" ] || die "the classes of $NAMED"
    done
    # Values beyond the limits of the scale, which are percentiles, are said to be there.
    tells 'street\.bin  60,000 points   height <= -[0-9.]+ .* >= [0-9.]+ m' python3 "$HERE/on_terminal.py" 1 "$PCGPU" view "$T/street.bin"
    TERM=xterm-kitty expect 0 python3 "$HERE/on_terminal.py" 1 "$PCGPU" view a.bin # which has pictures
    tr -d '\r\n' < "$ERR" | sed "s/$(printf '\033')_G[a-zA-Z0-9=,]*;//g; s/$(printf '\033')[\\]//g" | base64 -d > kitty.png || die 'not a picture'
    set -- $(shows kitty.png)
    [ "$1 $2" = '640 336' ] || die "the picture of the terminal is $*"
    TERM=dumb expect 2 python3 "$HERE/on_terminal.py" 12 "$PCGPU" view a.bin
    expect 2 python3 "$HERE/on_terminal.py" 12 "$PCGPU" view a.bin -o -
    stderr_has 'terminal'
fi

# Colours that are all 0 are none.
printf 'ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z
property uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n0 0 0 0 0 0\n1 0 1 0 0 0\n0 1 2 0 0 0\n' > black.ply
expect 0 pcgpu view black.ply -o black.png -f
stderr_has '^pcgpu: black\.ply: warning: all colours are 0, so it is drawn by height; --color rgb draws them$'
makes black.png height.png pcgpu view black.ply -o height.png -f --color height
tells 'all colours are 0' pcgpu view black.ply -o black.html -f
sed 's/^0 1 2 0 0 0/0 1 2 0 0 9/' black.ply > dark.ply
expect 0 pcgpu view dark.ply -o dark.png -f
stderr_lacks 'all colours'
finish
