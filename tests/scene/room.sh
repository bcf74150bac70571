#!/bin/sh
# room.sh ROOM: the generator ROOM writes what it wrote when its frames were measured against the room itself without a ray
# cast: points within the rounding of their depth from a surface and in sight, a return of every pixel, 85 % of the points in
# the frame before, noise and missing pixels as of a Kinect, both files of poses alike.
. "$(dirname "$0")/begin.sh"
# Two paths, two rooms, noise of two seeds.
while read -r hash options; do
    rm -rf frames
    mkdir frames
    # shellcheck disable=SC2086 # a list of words
    "$room" --format pgm $options frames
    [ "$(cat frames/* | sha256sum | cut -c 1-16)" = "$hash" ] || fail "room $options: $(cat frames/* | sha256sum | cut -c 1-16)"
done << 'END'
68ed900c545c1d31 --width 160 --loop 60 --frames 61
423611bbcd78d9ab --width 160 --path around --loop 180 --first 40 --frames 6
ba4fbb4a7081b808 --width 160 --path around --frames 2 --layout 7 --depth-scale 5000
9a07cbef1307a89c --width 320 --loop 8
b102f045ca98be71 --width 320 --loop 8 --noise 1
ecea8df5833fd337 --width 320 --loop 8 --first 5 --frames 1 --noise 1 --seed 2
END

# The path ends where it began. A frame by itself is the frame of the sequence, and as .png it has the same pixels.
mkdir path noisy alone png
"$room" --width 160 --loop 60 --first 0 --frames 1 --format pgm path
"$room" --width 160 --loop 60 --first 60 --frames 1 --format pgm path
cmp path/frame-000000.pgm path/frame-000060.pgm || fail 'the path does not end where it began'
"$room" --width 320 --loop 8 --frames 6 --noise 1 --format pgm noisy
"$room" --width 320 --loop 8 --first 5 --frames 1 --noise 1 --format pgm alone
cmp alone/frame-000005.pgm noisy/frame-000005.pgm || fail 'a frame depends on those before it'
"$room" --width 320 --loop 8 --first 5 --frames 1 --noise 1 png
"$check" --same alone/frame-000005.pgm png/frame-000005.png

# Bad arguments.
for arguments in '' '--width 100' '--width 0' '--loop 0' '--noise 2' '--path up' '--format jpg' '--frames x' '--depth-scale 0'; do
    code=0
    # shellcheck disable=SC2086 # a list of words
    "$room" $arguments ${arguments:+"$folder"} 2> "$folder/message" || code=$?
    [ "$code" -eq 2 ] || fail "room $arguments: exit code $code"
done
code=0
"$room" "$folder/missing" 2> "$folder/message" || code=$?
[ "$code" -eq 1 ] || fail "a missing folder: exit code $code"
