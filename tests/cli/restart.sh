# Kill and start again: runs over 200 files get signals at random moments (INT, TERM, HUP, KILL, by a seed) and are started
# again with --skip-existing until one ends by itself. No partial file is ever visible under a final name, nothing but
# SIGKILL leaves a temporary file, and the outputs are those of one run without signals.
#
# PCGPU_SIGNALS=N: at least N signals in all; default 24. PCGPU_SEED=N: other signals and moments.
. "${0%/*}/lib.sh"
ulimit -c 0
SIGNALS=${PCGPU_SIGNALS:-24} SEED=${PCGPU_SEED:-1}
SEEN='' # the process that compares what is visible
trap '[ -z "$SEEN" ] || kill "$SEEN" 2> /dev/null; cd /; rm -rf "$WORK"' EXIT

# A shell starts background jobs with SIGINT ignored, and ignored stays ignored: env puts it back.
if env --default-signal=INT,HUP true 2> /dev/null; then
    RESTORE='env --default-signal=INT,HUP' NAMES='INT TERM HUP KILL'
else
    RESTORE='' NAMES='TERM KILL'
    skip_part 'SIGINT and SIGHUP' 'env cannot restore the signals'
fi

mkdir -p in/a in/b/c
cloud 900 > all.bin
I=0
while [ $I -lt 200 ]; do
    FOLDER=in/a
    [ $I -lt 100 ] || FOLDER=in/b/c
    tail -c $((16 * (600 + I))) all.bin > $FOLDER/$I.bin
    I=$((I + 1))
done

# run COMMAND FOLDER: in the background, its process in CHILD. Each has two outputs per input.
run() {
    case $1 in
        sample) set -- sample -m 400 -r in -o "$2/" --indices "$2/" ;;
        voxelize) set -- voxelize --voxel-size 0.5 -r in -o "$2/" --set coords="$2/" ;;
    esac
    LAST="$*"
    : > "$OUT" # the child may be killed before it opens them
    : > "$ERR"
    $RESTORE "$PCGPU" "$@" --cpu --skip-existing > "$OUT" 2> "$ERR" < /dev/null &
    CHILD=$!
}

temporary() { find out -name '.*.pcgpu-*' 2> /dev/null | sort; }

# Compares what is visible in out, again and again, until it differs or is stopped; counts.
watch() {
    while diff -rq out "$1" 2> /dev/null | grep -v '^Only in' >> differs; [ ! -s differs ] && [ ! -e stop ]; do
        echo >> passes
        sleep 0.005
    done
}

# The signals and their moments: in the start-up, and up to twice the time of a short run.
awk -v seed="$SEED" -v names="$NAMES" -v n="$((20 * SIGNALS + 100))" 'BEGIN {
    srand(seed); count = split(names, name, " ")
    for (i = 0; i < n; i++) printf "%s %.3f\n", name[int(count * rand()) + 1], 0.08 * rand() * rand() }' > ../moments
exec 3< ../moments

# Starts the command again and again until it ends by itself; counts what ended it otherwise.
SENT=0 RUNS=0 LEFT_BY_KILL=0 FOLDERS=0
until_it_ends() {
    HERE=0
    while :; do
        RUNS=$((RUNS + 1))
        temporary > before
        run "$1" out
        read -r NAME MOMENT <&3 || { wait "$CHILD"; die 'no moment is left; the runs end before their signals come'; }
        if [ $HERE -lt 12 ]; then # enough for one folder
            sleep "$MOMENT"
            kill -s "$NAME" "$CHILD" 2> /dev/null
        fi
        wait "$CHILD" 2> /dev/null
        CODE=$?
        [ ! -s differs ] || die "a partial output was visible: $(cat differs)"
        if [ $CODE -le 128 ]; then
            expected 0 $CODE
            stderr_has '^pcgpu: 200 inputs: [0-9]+ done, [0-9]+ skipped, 0 failed, '
            return
        fi
        [ "$(kill -l $CODE)" = "$NAME" ] || die "exit code $CODE after SIG$NAME"
        SENT=$((SENT + 1)) HERE=$((HERE + 1))
        eval "SENT_$NAME=\$((\${SENT_$NAME:-0} + 1))"
        # A signal before the program's first step, or after its last one, finds no handler.
        ! grep -v "^pcgpu: SIG$NAME: interrupted; finished outputs are complete, run again with --skip-existing to continue\$" "$ERR" |
            grep -qv '^pcgpu: 200 inputs: [0-9]* done, [0-9]* skipped, 0 failed, ' || die "after SIG$NAME: $(cat "$ERR")"
        temporary > after
        if [ "$NAME" = KILL ]; then
            LEFT_BY_KILL=$((LEFT_BY_KILL + $(wc -l < after) - $(wc -l < before)))
        else
            cmp -s before after || die "SIG$NAME left $(cat after)"
        fi
    done
}

for COMMAND in sample voxelize; do
    run $COMMAND whole-$COMMAND
    wait "$CHILD"
    expected 0 $?
done
[ "$(find whole-sample whole-voxelize -type f | wc -l)" -eq 800 ] || die 'not two outputs per input'

while [ $SENT -lt "$SIGNALS" ]; do
    for COMMAND in sample voxelize; do
        FOLDERS=$((FOLDERS + 1))
        mkdir out
        : > differs
        watch whole-$COMMAND &
        SEEN=$!
        until_it_ends $COMMAND
        : > stop
        wait "$SEEN"
        SEEN=''
        rm stop
        [ ! -s differs ] || die "a partial output was visible: $(cat differs)"
        # What SIGKILL left has a name that no run takes as an input or an output, and no later run removes it.
        temporary > left
        while read -r FILE; do rm "$FILE"; done < left
        diff -r out whole-$COMMAND > diff || die "$(cat diff)"
        checked
        rm -r out
    done
done
printf '%d signals (INT %d, TERM %d, HUP %d, KILL %d) in %d runs over %d folders, which were compared %d times; SIGKILL left %d temporary files\n' $SENT \
    "${SENT_INT:-0}" "${SENT_TERM:-0}" "${SENT_HUP:-0}" "${SENT_KILL:-0}" \
    $RUNS $FOLDERS "$(wc -l < passes)" $LEFT_BY_KILL
finish
