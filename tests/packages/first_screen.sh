#!/bin/sh
# first_screen.sh [SUITE...]: what a new user types. In a root of each SUITE (default bookworm noble, which are Debian 12 and Ubuntu 24.04) that
# has nothing but its base, the lines of README's Install run as they stand, in a clone, on a terminal; the last one draws the picture.
#
#   sudo sh tests/packages/first_screen.sh; 5 minutes of two cores for each
. "${0%/*}/packages.sh"
BOUND=/dev/pts # for a terminal
[ $# -gt 0 ] || set -- bookworm noble
for suite; do
    root "$suite" "$suite" "ca-certificates,apt$([ "$suite" != noble ] || echo ,ubuntu-keyring)"
    sed -i 's/ *\[signed-by=[^]]*\]//' "$work/$suite"/etc/apt/sources.list* 2>/dev/null || : # a key of this machine
    sed -i '/^Signed-By:/d' "$work/$suite"/etc/apt/sources.list.d/* 2>/dev/null || :
    sources "$work/$suite/home/pcgpu"
    sed -n '/^## Install/,/^## /{/^```/,/^```/{/^```/!p}}' "$work/$suite/home/pcgpu/README.md" >"$work/$suite/home/lines.sh"
    [ "$(wc -l <"$work/$suite/home/lines.sh")" -ge 3 ] || die "README's Install has no lines"
    say "$suite: $(tr '\n' ';' <"$work/$suite/home/lines.sh" | tr -s ' ')"
    inside "$suite" 'cd /home/pcgpu && TERM=xterm-256color script -qec "sh -e ../lines.sh" /dev/null' >"$work/$suite.log" 2>&1 </dev/null ||
        { tail -n 40 "$work/$suite.log" && die "$suite: the lines of README"; }
    grep -q 'sample\.ply  4,096 points' "$work/$suite.log" || { tail -n 40 "$work/$suite.log" && die "$suite: no picture"; }
    say "passed: $suite, $(grep -c '▀' "$work/$suite.log") lines of a picture"
    rm -rf "${work:?}/$suite"
done
