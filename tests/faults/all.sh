#!/bin/sh
# all.sh PCGPU FAIL_MEMORY FAIL_CALLS [PCGPU_EMULATED]: the long form of the tests here: every moment of every command, 1,000 signals, and
# a round of disks and limits. Prints the table of counts of SECURITY.md; half an hour on two cores.
#
#   meson compile -C build faults
set -u
PCGPU=$1
export PCGPU PCGPU_SOURCE
here=$PCGPU_SOURCE/tests status=0
count() { # count NAME COMMAND
    name=$1
    shift
    line=$("$@" 2>&1) || { printf '%s\n' "$line" && status=1; }
    printf '%s: %s\n' "$name" "$(printf '%s\n' "$line" | tail -n 1)"
}
count allocations python3 "$here/faults/faults.py" memory "$2"
count 'system calls' python3 "$here/faults/faults.py" calls "$3"
count limits python3 "$here/faults/faults.py" limits --threads 1
[ -z "${4:-}" ] || count 'CUDA calls' env PCGPU="$4" python3 "$here/faults/faults.py" cuda
restart=$(PCGPU_SIGNALS=${PCGPU_SIGNALS:-1000} sh "$here/cli/restart.sh" 2>&1) || { printf '%s\n' "$restart" && status=1; }
printf 'signals: %s\n' "$(printf '%s\n' "$restart" | grep signals | tail -n 1)"
for test in space interrupt outputs; do count "$test" sh "$here/cli/$test.sh"; done
count disk sh "$here/faults/disk.sh"
exit $status
