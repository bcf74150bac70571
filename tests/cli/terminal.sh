# What changes when a stream is a terminal: binary data is refused, progress is drawn, stdin is not read unasked.
. "${0%/*}/lib.sh"
command -v python3 > /dev/null || skip_all 'python3 makes the terminal'
python3 -c 'import pty' 2> /dev/null || skip_all 'python3 has no pty'
TERMINAL="${0%/*}/on_terminal.py"
case $TERMINAL in /*) ;; *) TERMINAL=$OLDPWD/$TERMINAL ;; esac
export TERM=xterm
cloud 300 > a.bin

on() { STREAMS=$1; shift; python3 "$TERMINAL" "$STREAMS" "$@"; }

# A terminal as stdout: nothing binary without -f, text always.
expect 2 on 12 "$PCGPU" sample -m 10 a.bin
stderr_has 'terminal'
stderr_has '(-o|--output|-f|--force)'
[ "$(wc -c < "$ERR")" -lt 400 ] || die 'data went to the terminal'
for FORMAT in ply npy pcd; do
    expect 2 on 12 "$PCGPU" sample -m 10 a.bin --output-format "$FORMAT"
    stderr_has 'terminal'
done
expect 2 on 12 "$PCGPU" sample -m 10 a.bin -o -
stderr_has 'terminal'
expect 2 on 12 "$PCGPU" voxelize --range auto --voxel-size 1 a.bin
stderr_has 'terminal'
expect 0 on 12 "$PCGPU" sample -m 10 a.bin --force
[ "$(wc -c < "$ERR")" -ge 160 ] || die '-f did not write to the terminal'
tells 'element vertex 10' on 12 "$PCGPU" sample -m 10 a.bin --output-format ply-ascii
tells 'Usage' on 12 "$PCGPU" --help

# The help of a narrow terminal is as wide as that.
expect 0 env COLUMNS_OF_TERMINAL=60 python3 "$TERMINAL" 1 "$PCGPU" sample --help
[ "$(tr -d '\r' < "$ERR" | awk 'length > 60' | grep -vc pcgpu )" -eq 0 ] || die 'the help is wider than the terminal'

# A command alone shows its short help; info has an answer.
expect 0 on 012 "$PCGPU" info
stderr_has '^back ends: '
expect 2 on 012 "$PCGPU" sample
stderr_has 'Main options:'

# stdin is a terminal and no input is named: usage, not a program that waits.
expect 2 on 0 "$PCGPU" sample -m 10 -o x.bin
stderr_has 'input|INPUT'
absent x.bin

# Data in a file and messages on a terminal: no data there, no escape sequences with NO_COLOR or a dumb terminal.
sized b.bin 160 on 2 "$PCGPU" sample -m 10 a.bin -o b.bin
ESCAPE=$(printf '\033')
mkfifo slow.bin
# An input that takes over a second to arrive, whatever the machine's speed.
late() { (sleep 1.2 && cat a.bin) > slow.bin & }
late
expect 0 on 2 "$PCGPU" sample --cpu -m 10 slow.bin -o x.bin
stderr_has "$ESCAPE" # over half a second: a progress line was drawn and erased
late
expect 0 on 2 "$PCGPU" sample --cpu --progress off -m 10 slow.bin -f -o x.bin
stderr_lacks "$ESCAPE"
late
quiet on 2 "$PCGPU" sample --cpu -q -m 10 slow.bin -f -o x.bin
export NO_COLOR=1
late
expect 0 on 2 "$PCGPU" sample --cpu -m 10 slow.bin -f -o x.bin
stderr_lacks "$ESCAPE"
unset NO_COLOR
export TERM=dumb
late
expect 0 on 2 "$PCGPU" sample --cpu -m 10 slow.bin -f -o x.bin
stderr_lacks "$ESCAPE"
# Not a terminal: no progress.
late
quiet "$PCGPU" sample --cpu -m 10 slow.bin -f -o x.bin
# But where it is asked for: a line every five seconds of a run of many inputs. Costs 6 s of waiting.
(sleep 6 && cat a.bin) > slow.bin &
tells '^pcgpu: [01]/2' "$PCGPU" odometry --cpu --progress on a.bin slow.bin --trajectory t
stderr_lacks "$ESCAPE"

# `help COMMAND` on a terminal is the manual page beside the program; the text of --help elsewhere, and without `man`.
mkdir fake && printf '#!/bin/sh\necho "page $*" && head -n 1 "$1"\n' > fake/man && chmod +x fake/man
for COMMAND in sample bench; do
    expect 0 on 1 env PATH="$PWD/fake:$PATH" "$PCGPU" help $COMMAND
    stderr_has "^page /.*/pcgpu-$COMMAND\\.1" && stderr_has '^\.TH PCGPU'
    says "^Usage: pcgpu $COMMAND" env PATH="$PWD/fake:$PATH" "$PCGPU" help $COMMAND
done
expect 0 on 1 env PATH="$PWD" "$PCGPU" help sample
stderr_has '^Usage: pcgpu sample'
finish
