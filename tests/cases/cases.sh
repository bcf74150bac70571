#!/bin/sh
# Small inputs that went wrong, each with the right value from an independent oracle (LIST.md in each folder of cases):
# every case gives that value. Skipped where the inputs are absent.
#
#   cases.sh [FOLDER...]   the folders of cases, default all; NAME.sh beside this file has the checks of a folder
. "$PCGPU_SOURCE/tests/cli/lib.sh"
CASES=${PCGPU_CASES:-$PCGPU_SOURCE/../shared/cases}
DATA=${PCGPU_DATA:-$PCGPU_SOURCE/../shared/data}
[ -d "$CASES" ] || skip_all "$CASES is absent"

# is WHAT GOT WANTED: two texts are equal.
is() { [ "$2" = "$3" ] || die "$1 is $2, expected $3"; checked; }
# near WHAT GOT WANTED TOLERANCE: two numbers.
near() {
    awk -v a="$2" -v b="$3" -v t="$4" 'BEGIN { d = a - b; exit !(d <= t && -d <= t) }' || die "$1 is $2, expected $3 +- $4"
    checked
}

[ $# -gt 0 ] || set -- field geometry house learning odometry robust ux
FAILED=''
for FOLDER; do
    mkdir "$WORK/$FOLDER" && cd "$WORK/$FOLDER" || exit 99
    C=$CASES/$FOLDER
    (trap - EXIT; . "$PCGPU_SOURCE/tests/cases/$FOLDER.sh"; finish) || [ $? -eq 77 ] || FAILED="$FAILED $FOLDER"
done
[ -z "$FAILED" ] || { echo "cases that fail:$FAILED" >&2; exit 1; }
