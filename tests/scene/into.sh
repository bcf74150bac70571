#!/bin/sh
# into.sh DRIVE: a session begins in the map of an earlier one, leaves it, and extends it; what has changed where other cars are
# parked; the same bytes from one thread and from several, in memory and on disk.
. "$(dirname "$0")/begin.sh"

awk 'BEGIN { for (i = 0; i < 100; i++) { a = i < 60 ? 0 : (i - 60) / 50; s = a > 0 ? 50 * sin(a) : 0
    printf "%.4f %.12g 0 %.12g %.12g 0 1 0 0 %.12g 0 %.12g %.12g\n", i / 10, cos(a), sin(a), 50 * (1 - cos(a)), -sin(a), cos(a),
        i < 60 ? i : 60 + s } }' > path.txt
mkdir mapping same changed
"$drive" --path path.txt --frames 45 --steps 150 mapping
"$drive" --path path.txt --first 20 --origin 0 --frames 45 --steps 150 --seed 7 same
"$drive" --path path.txt --first 10 --origin 0 --frames 35 --steps 150 --seed 7 --exchange 0.4 changed
"$pcgpu" odometry -q --cpu mapping/*.bin --trajectory mapping.txt -o map.ply
cp map.ply before.ply

# count NAME KEY: of the map, the last object of --json.
count() { tail -n 1 "$1.jsonl" | sed -n "s/.*\"$2\": \([0-9]*\).*/\1/p"; }
# rows FILE: the bytes behind the header of a .ply.
rows() { sed '1,/^end_header/d' "$1"; }
# into SCANS NAME OPTIONS: a session, of the scans of a folder.
into() {
    scans=$1 name=$2 && shift 2
    "$pcgpu" odometry -q --cpu --into map.ply $scans/*.bin --trajectory $name.txt -o $name.ply --changes $name.changes.ply \
        --json $name.jsonl "$@"
    off $name.txt $scans/poses.txt | awk -v name=$name '$1 == "nan" { exit 1 } $1 > worst { worst = $1 }
        END { printf "%s: %d poses, at most %.1f mm off\n", name, NR, 1000 * worst; exit !(NR >= 35 && worst < 0.03) }'
    cmp map.ply before.ply
    echo "$name: $(count $name kept) + $(count $name added) points, $(count $name appeared) appeared, $(count $name disappeared) disappeared"
}
into same same
into changed changed --threads 1
into changed again --threads 3 --set memory=1M
for name in txt ply changes.ply; do cmp changed.$name again.$name; done

# The points of the map are the first ones, as they were, and the others are new.
bytes=$(rows map.ply | wc -c)
rows map.ply > old
rows same.ply | head -c "$bytes" | cmp - old
[ "$(count same points)" -eq $(($(count same kept) + $(count same added))) ] && [ "$(count same kept)" -eq $((bytes / 32)) ] ||
    fail 'the counts of the map'
[ "$(count same added)" -gt 50000 ] || fail 'the map was not extended'
# Where cars are parked elsewhere there are many changes, else few.
[ "$(count changed appeared)" -gt $((4 * $(count same appeared) + 400)) ] || fail 'what has appeared'
[ "$(count changed disappeared)" -gt $((4 * $(count same disappeared) + 2000)) ] || fail 'what has disappeared'
[ "$(rows changed.changes.ply | wc -c)" -eq $((13 * ($(count changed appeared) + $(count changed disappeared)))) ]
# In the map, the poses are those that --map finds, and no voxel has disappeared in which the session has a point.
"$pcgpu" odometry -q --cpu --map map.ply changed/*.bin --trajectory in_map.txt -o session.ply
cmp changed.txt in_map.txt
"$pcgpu" convert -q session.ply --columns x,y,z -o session.csv
"$pcgpu" convert -q changed.changes.ply -o changed.changes.csv
awk -F, 'function cell(v) { v /= 0.1; return v < int(v) ? int(v) - 1 : int(v) }
    FNR > 1 { key = cell($1) " " cell($2) " " cell($3) }
    FNR > 1 && NR == FNR { has[key] = 1 }
    FNR > 1 && NR > FNR && $4 == 2 { gone++; both += key in has }
    END { print gone, "disappeared,", both + 0, "are there"; exit !(gone > 0 && both == 0) }' session.csv changed.changes.csv
