# The job array of examples/slurm on a real Slurm of one node, whose daemons are processes of this test: a task that is
# cancelled, one that goes back to the queue, and the array submitted again give together what one run gives. Then the
# line for GNU parallel. Nothing is installed here, and a part without its programs is skipped; on Debian and Ubuntu:
#
#   apt-get install slurmctld slurmd slurm-client munge parallel
#
# The services that these packages start are neither needed nor used. No rights are needed either: all runs as this user.
. "${0%/*}/lib.sh"
PATH=$PATH:/usr/sbin:/sbin
EXAMPLE=$PCGPU_SOURCE/examples/slurm/array.sbatch
S=$WORK/slurm LIMIT=${SLURM_TEST_LIMIT:-280}

# The program of the example, which also says how many threads it was given. With SLOW, tasks 1 and 2 are stopped most of
# the time, so that they are in the middle of their share for seconds. (TERM is for the program.)
mkdir -p ../bin "$S/state" "$S/spool" in/a in/b/c
cat > ../bin/pcgpu << 'END_OF_FILE'
#!/bin/sh
echo "OMP_NUM_THREADS=$OMP_NUM_THREADS" >&2
case ${SLOW:-no}$SLURM_ARRAY_TASK_ID$SLURM_RESTART_COUNT in
    yes[12])
        (trap '' TERM; while sleep 0.01 && kill -s STOP $$; do sleep 0.2; kill -s CONT $$; done) > /dev/null 2>&1 &
        ;;
esac
exec "$PCGPU" "$@"
END_OF_FILE
chmod +x ../bin/pcgpu

# 200 scans; input I, from 0 on, is of task I % 4. One run of one process is the reference.
cloud 4400 > all.bin
I=0
while [ $I -lt 200 ]; do
    FOLDER=in/a
    [ $I -lt 100 ] || FOLDER=in/b/c
    tail -c $((16 * (4200 + I))) all.bin > "$(printf '%s/%03d.bin' $FOLDER $I)"
    I=$((I + 1))
done
(cd in && find . -name '*.bin' | sort) > names
expect 0 "$PCGPU" sample -m 4096 -r in -o reference/
[ "$(find reference -type f | wc -l)" -eq 200 ] || die "$(find reference)"

# missing FOLDER, temporary FOLDER
missing() { while read -r NAME; do [ -e "$1/$NAME" ] || echo "$NAME"; done < names | wc -l; }
temporary() { find "$1" -name '.*.pcgpu-*' 2> /dev/null; }
# No output is partial, and no temporary file is left.
whole() {
    diff -rq reference "$1" | grep -v '^Only in reference' > diff
    [ ! -s diff ] || die "$(cat diff)"
    checked
}

# ---- Slurm -----------------------------------------------------------------------------------------------------------

# Only these commands get the configuration, so that the environment of a process says that it is one of this Slurm.
slurm() { SLURM_CONF=$S/slurm.conf "$@" 2>> "$S/client.log" < /dev/null; }

# Processes of jobs have sessions of their own, and are found by their environment; ended tasks have none.
ours() {
    for FOLDER in /proc/[0-9]*; do
        ! grep -qzxF "SLURM_CONF=$S/slurm.conf" "$FOLDER/environ" 2> /dev/null || echo "${FOLDER#/proc/}"
    done
}

DAEMONS=''
stop_slurm() {
    trap '' INT TERM HUP
    [ -n "$DAEMONS" ] || return 0
    PATIENCE=100
    while [ $PATIENCE -gt 0 ] && { LEFT=$(ours); [ -n "$LEFT" ]; }; do
        [ $((PATIENCE % 10)) -ne 0 ] || kill -s "$([ $PATIENCE -gt 50 ] && echo TERM || echo KILL)" $LEFT 2> /dev/null
        sleep 0.1
        PATIENCE=$((PATIENCE - 1))
    done
    kill -s KILL $DAEMONS 2> /dev/null
    wait $DAEMONS 2> /dev/null
    DAEMONS=''
}
trap 'stop_slurm; cd /; rm -rf "$WORK"' EXIT
trap 'exit 130' INT TERM HUP

# A daemon in the foreground. It ends at the latest when the test must have ended, also after a SIGKILL to the test. munged
# gets the variable only to be found.
daemon() {
    NAME=$1
    shift
    SLURM_CONF=$S/slurm.conf timeout --foreground -k 5 "$LIMIT" "$NAME" "$@" > "$S/$NAME.out" 2>&1 < /dev/null &
    DAEMONS="$DAEMONS $!"
}

# until SECONDS COMMAND...: whether the command succeeds in time.
until_done() {
    PATIENCE=$((5 * $1))
    shift
    while ! "$@"; do
        PATIENCE=$((PATIENCE - 1))
        [ $PATIENCE -gt 0 ] || return 1
        sleep 0.2
    done
}

# A port of 10000 to 29998 on which no one listens, and neither on the next one.
free_port() {
    PORT=$((10000 + $$ * 2 % 20000))
    while grep -qiE ":($(printf '%04X|%04X' $PORT $((PORT + 1)))) " /proc/net/tcp /proc/net/tcp6 2> /dev/null; do
        PORT=$(((PORT - 10000 + 2) % 20000 + 10000))
    done
    echo "$PORT"
}

configure_slurm() {
    HOST=$(hostname -s) USER_NAME=$(id -un) PORT=$(free_port)
    head -c 128 /dev/urandom > "$S/munge.key"
    chmod 400 "$S/munge.key"
    cat > "$S/slurm.conf" << END_OF_FILE
ClusterName=pcgpu
SlurmctldHost=$HOST(127.0.0.1)
SlurmctldPort=$PORT
SlurmdPort=$((PORT + 1))
SlurmUser=$USER_NAME
SlurmdUser=$USER_NAME
AuthType=auth/munge
AuthInfo=socket=$S/munge.socket
CredType=cred/munge
StateSaveLocation=$S/state
SlurmdSpoolDir=$S/spool
SlurmctldPidFile=$S/slurmctld.pid
SlurmdPidFile=$S/slurmd.pid
SlurmctldLogFile=$S/slurmctld.log
SlurmdLogFile=$S/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
SwitchType=switch/none
MpiDefault=none
KillWait=5
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=$HOST NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END_OF_FILE
}

is_idle() { [ "$(slurm sinfo -h -o %t)" = idle ]; }

# Newer versions do without control groups; older ones have a plugin that does nothing while nothing is limited.
start_slurm() {
    configure_slurm
    daemon munged --foreground --force --socket="$S/munge.socket" --key-file="$S/munge.key" --log-file="$S/munged.log" \
        --pid-file="$S/munged.pid" --seed-file="$S/munged.seed"
    until_done 10 test -S "$S/munge.socket" || return 1
    echo CgroupPlugin=disabled > "$S/cgroup.conf"
    daemon slurmctld -D
    daemon slurmd -D
    until_done 2 is_idle && return 0
    for PLUGIN in disabled cgroup/v1 cgroup/v2; do
        kill -0 "${DAEMONS##* }" 2> /dev/null || {
            echo "CgroupPlugin=$PLUGIN" > "$S/cgroup.conf"
            daemon slurmd -D
        }
        until_done 10 slurmd_decided && is_idle && return 0
    done
    return 1
}
slurmd_decided() { is_idle || ! kill -0 "${DAEMONS##* }" 2> /dev/null; }

# submit TASKS LOG [yes]: the example; yes is SLOW.
submit() {
    JOB=$(PATH="$WORK/bin:$PATH" SLOW=${3:-no} && export PATH SLOW && slurm sbatch --parsable --array="$1" --cpus-per-task=1 -o "log.$2.%a" \
        --export="ALL,SCANS=$PWD/in,OUT=$PWD/out" "$EXAMPLE") || die "sbatch: $(cat "$S/client.log")"
    LAST="sbatch --array=$1 ($2)"
}
# task STATES ID: whether the task is in one of the states.
task() { slurm scontrol show job "${JOB}_$2" | grep -qE "JobState=($1) "; }
ended() { [ -z "$(slurm squeue -h -j "$JOB")" ]; }
# begun ID: whether the task has written three outputs.
begun() {
    awk -v id="$1" '(NR - 1) % 4 == id' names > "names.$1"
    N=0
    while read -r NAME; do
        [ ! -e "out/$NAME" ] || N=$((N + 1))
    done < "names.$1"
    [ $N -ge 3 ]
}
# counted COLUMN LOG...: the sum of a column of "200 inputs: 199 done, 0 skipped, 1 failed, 5.9 s".
counted() {
    COLUMN=$1
    shift
    sed -n 's/^pcgpu: \([0-9]*\) inputs: \([0-9]*\) done, \([0-9]*\) skipped, \([0-9]*\) failed.*/\1 \2 \3 \4/p' "$@" |
        awk -v column="$COLUMN" '{ n += $column } END { print n + 0 }'
}

slurm_part() {
    start_slurm || die "Slurm does not start: $(tail -n 3 "$S"/*.out "$S"/*.log)"

    # Four tasks at the same time. One is cancelled; one gets what Slurm sends before the time limit.
    submit 0-3 first yes
    until_done 60 begun 1 || die "task 1: $(cat log.first.* "$S/client.log")"
    slurm scancel "${JOB}_1"
    until_done 60 begun 2 || die 'task 2 does not begin'
    slurm scancel --batch --signal=USR1 "${JOB}_2"
    until_done 20 task CANCELLED 1 || die "task 1 was not cancelled: $(slurm scontrol show job "${JOB}_1")"
    until_done 20 task PENDING 2 || die "task 2 is not in the queue again: $(slurm scontrol show job "${JOB}_2")"
    grep -q 'SIGTERM: interrupted; finished outputs are complete' log.first.1 || die "$(cat log.first.1)"
    grep -q 'SIGTERM: interrupted; finished outputs are complete' log.first.2 || die "$(cat log.first.2)"
    until_done 60 task COMPLETED 0 && until_done 60 task COMPLETED 3 || die "$(slurm squeue)"
    MISSING=$(missing out)
    [ "$MISSING" -gt 1 ] && [ "$MISSING" -lt 97 ] || die "$MISSING outputs are missing"
    whole out

    # Slurm starts a task again after two minutes, since a node refuses a job that was ended in the same second; here after
    # three seconds. The task completes its share.
    slurm scontrol update JobId="${JOB}_2" StartTime=now+3
    until_done 60 ended || die "$(slurm squeue)"
    task COMPLETED 2 || die "$(cat log.first.2)"
    [ "$(grep -c . log.first.2)" -gt 2 ] && [ "$(counted 1 log.first.2)" -eq 50 ] || die "$(cat log.first.2)"
    MISSING=$(missing out)
    [ "$MISSING" -gt 0 ] && [ "$MISSING" -lt 48 ] || die "$MISSING outputs of 50 are missing"
    whole out

    # The same array again writes what is missing, and only that.
    submit 0-3 second
    until_done 60 ended || die "$(slurm squeue)"
    [ "$(counted 1 log.second.*) $(counted 2 log.second.*) $(counted 4 log.second.*)" = "200 $MISSING 0" ] ||
        die "$(cat log.second.*)"
    diff -r reference out > diff || die "$(cat diff)"
    [ "$(grep -h OMP log.* | sort -u)" = OMP_NUM_THREADS=1 ] || die "$(grep OMP log.*)"
    checked

    # Other numbers of tasks, and steps, do nothing any more; an array with gaps is refused.
    submit 5-9:2 third
    until_done 60 ended || die "$(slurm squeue)"
    [ "$(counted 1 log.third.*) $(counted 3 log.third.*)" = '200 200' ] || die "$(cat log.third.*)"
    submit 1-2,4 fourth
    until_done 60 ended || die "$(slurm squeue)"
    [ "$(grep -lE 'shard slurm: the array of 3 tasks from 1 to 4 has gaps' log.fourth.* | wc -l)" -eq 3 ] || die "$(cat log.fourth.*)"
    task FAILED 1 || die 'a refused task did not fail'
    checked
    printf 'Slurm: %s, of 200 outputs %s were missing when the array was submitted again\n' "$(slurm sinfo -V)" "$MISSING"
}

MISSES=''
for NAME in munged slurmctld slurmd sbatch scontrol timeout hostname; do
    command -v "$NAME" > /dev/null || MISSES="$MISSES $NAME"
done
if [ -n "$MISSES" ]; then
    skip_part Slurm "no$MISSES; install slurmctld, slurmd, slurm-client and munge"
else
    slurm_part
    stop_slurm
    [ -z "$(ours)" ] || die "processes are left: $(ours)"
fi

# ---- GNU parallel ----------------------------------------------------------------------------------------------------

# Not the program of the same name of moreutils.
if ! parallel --version 2> /dev/null < /dev/null | grep -q '^GNU parallel'; then
    skip_part 'GNU parallel' 'not installed; install parallel'
else
    sed -n 's|^#  *\(parallel .*\)|\1|p' "$EXAMPLE" | sed 's|/data/scans|in|; s|/data/thin|thin|' > line
    [ "$(wc -l < line)" -eq 1 ] || die 'the example has not one line for GNU parallel'
    LAST=$(cat line)
    HOME=$WORK PATH="$WORK/bin:$PATH" sh line > "$OUT" 2> "$ERR" < /dev/null
    expected 0 $?
    [ "$(counted 2 "$ERR")" -eq 200 ] || die 'not 200 done'
    diff -r reference thin > diff || die "$(cat diff)"
    rm thin/a/00*.bin
    HOME=$WORK PATH="$WORK/bin:$PATH" sh line > "$OUT" 2> "$ERR" < /dev/null
    expected 0 $?
    [ "$(counted 2 "$ERR") $(counted 3 "$ERR")" = '10 190' ] || die 'not 10 done'
    diff -r reference thin > diff || die "$(cat diff)"
fi
# What is checked without them is only the reference.
[ -z "$SKIPPED" ] || [ "$SKIPPED" != ' Slurm GNU parallel' ] || exit 77
finish
