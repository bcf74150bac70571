# Ctrl-C, a polite kill, and what batch systems, limits and timers send: the program says how to go on, dies of the signal
# and leaves no partial file.
. "${0%/*}/lib.sh"
ulimit -c 0
# Three million different points, all of them to be picked: seconds of work on any machine.
head -c 48000000 /dev/urandom > a.bin
cp a.bin ../a.bin

# stop SIGNAL WORD...: starts a run that would take long and signals it.
stop() {
    SIGNAL=$1
    shift
    LAST="$SIGNAL while: $*"
    # A shell starts background jobs with SIGINT ignored, nohup all with SIGHUP, and ignored stays ignored: env puts it back.
    $RESTORE "$PCGPU" "$@" > "$OUT" 2> "$ERR" < /dev/null &
    CHILD=$!
    sleep 0.3
    kill -0 "$CHILD" 2> /dev/null || { wait "$CHILD"; die "it ended by itself with exit code $?"; }
    kill -s "$SIGNAL" "$CHILD"
    wait "$CHILD"
    CODE=$?
    [ $CODE -gt 128 ] && [ "$(kill -l $CODE)" = "$SIGNAL" ] || die "exit code $CODE, expected that of SIG$SIGNAL"
    sed -i '/warning: coordinates such as/d' "$ERR"
    stderr_has "^pcgpu: SIG$SIGNAL: interrupted; finished outputs are complete, run again (for the others|with --skip-existing to continue)\$"
    [ "$(wc -l < "$ERR")" -eq 1 ] || die 'more than one line'
}

NAMES='USR1 USR2 ALRM VTALRM PROF XCPU'
if env --default-signal=INT,HUP,QUIT true 2> /dev/null; then
    RESTORE='env --default-signal=INT,HUP,QUIT' NAMES="INT HUP QUIT $NAMES"
else
    RESTORE=''
    skip_part 'SIGINT, SIGHUP and SIGQUIT' 'env cannot restore the signals'
fi
LONG='--cpu --threads 1 --ratio 1 --start random --fields 4' # random bytes are an error without --fields
stop TERM sample $LONG a.bin -o out.bin --indices i --json j
only a.bin
stop TERM sample $LONG a.bin
size_is "$OUT" 0
# What was there stays as it was.
echo old > out.bin
stop TERM sample $LONG a.bin -f -o out.bin
[ "$(cat out.bin)" = old ] || die 'the old output is gone'
only a.bin out.bin
rm out.bin
# Several at once, with all their outputs begun, and every signal.
cp a.bin ../b.bin
for NAME in TERM $NAMES; do
    mkdir d
    stop "$NAME" sample $LONG a.bin ../b.bin -o d/ --indices d/ --distances d/ --json j
    rmdir d || die "the folder holds $(ls -A d)"
    only a.bin
done
same a.bin ../a.bin

# A limit for the size of files: an error like a full disk.
(ulimit -f 20; exec "$PCGPU" sample --cpu --ratio 1 --method random --fields 4 a.bin -o out.bin) > "$OUT" 2> "$ERR"
expected 1 $?
stderr_has '^pcgpu: out\.bin: cannot be written: File too large'
only a.bin

# Interrupted while it waits for stdin.
mkfifo pipe
$RESTORE "$PCGPU" sample -m 10 - -o out.bin < pipe > "$OUT" 2> "$ERR" &
CHILD=$!
exec 3> pipe
head -c 100 a.bin >&3
sleep 0.3
kill -s TERM "$CHILD"
wait "$CHILD"
expected 143 $?
exec 3>&-
only a.bin pipe
finish
