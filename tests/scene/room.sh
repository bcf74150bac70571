#!/bin/sh
# room.sh ROOM CHECK_ROOM: sequences made by the generator ROOM are what they say: 60 frames on a closed path whose points
# lie on the room, noise as of a Kinect, other rooms; the same in every run and frame by frame.
. "$(dirname "$0")/begin.sh"
make() { # make NAME OPTION...
    mkdir "$folder/$1"
    name=$1
    shift
    "$room" "$@" "$folder/$name"
}

# The whole path, and one frame more, which is the first again.
make sway --width 160 --loop 60 --frames 61
"$check" "$folder/sway" 1
cmp "$folder/sway/frame-000000.png" "$folder/sway/frame-000060.png" || fail 'the path does not end where it began'
[ "$(sed -n 1p "$folder/sway/poses_kitti.txt")" = "$(sed -n 61p "$folder/sway/poses_kitti.txt")" ] || fail 'pose 60'

make around --width 160 --path around --loop 180 --first 40 --frames 6
"$check" "$folder/around" 1
make other --width 160 --path around --frames 2 --layout 7 --depth-scale 5000
"$check" "$folder/other" 7
if "$check" "$folder/other" 1 2> "$folder/differences"; then
    fail 'rooms of two seeds are the same, or the check finds no difference'
fi

make noisy --width 320 --loop 8 --noise 1
make clean --width 320 --loop 8
"$check" "$folder/noisy" 1 "$folder/clean"

# A frame by itself, and as .pgm, is the frame of the sequence; another seed has other noise.
make alone --width 320 --loop 8 --first 5 --frames 1 --noise 1
cmp "$folder/alone/frame-000005.png" "$folder/noisy/frame-000005.png" || fail 'a frame depends on those before it'
make pgm --width 320 --loop 8 --first 5 --frames 1 --noise 1 --format pgm
"$check" --same "$folder/pgm/frame-000005.pgm" "$folder/noisy/frame-000005.png"
make seed --width 320 --loop 8 --first 5 --frames 1 --noise 1 --seed 2
if "$check" --same "$folder/seed/frame-000005.png" "$folder/noisy/frame-000005.png" 2> "$folder/differences"; then
    fail 'another seed gives the same noise'
fi

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
