#!/bin/sh
# Runs every libFuzzer target for a while: nightly.sh MUTATE TARGET..., as `meson compile -C build-fuzz fuzz` does. A line for each target:
# inputs that ran, edges of the program that they reached, inputs in its corpus, and what crashed it; exit 1 when one crashed.
#
#   PCGPU_FUZZ_SECONDS  of each target (30)
#   PCGPU_FUZZ_JOBS     targets that run at the same time (the processors)
#   PCGPU_FUZZ_FOLDER   holds the corpora, which grow from night to night, crashes and logs (build-fuzz/tests/fuzz/nightly)
set -u
here=$(cd "${0%/*}" && pwd)
seconds=${PCGPU_FUZZ_SECONDS:-30}

# $1: a target. What it finds is CRASHES/TARGET-crash-HASH, or -timeout-, -oom-, -leak-.
run_target() {
    name=${1##*/fuzz_}
    log=$folder/logs/$name
    mkdir -p "$folder/corpus/$name" "$folder/tmp"
    dictionary=$(sh "$here/dict/of.sh" "$name" "$folder/tmp/$name.dict")
    TMPDIR=$folder/tmp "$1" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 ${dictionary:+"-dict=$dictionary"} \
        -artifact_prefix="$folder/crashes/$name-" "$folder/corpus/$name" "$folder/seeds/$name" < /dev/null > "$log" 2>&1
    code=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    found=$(find "$folder/crashes" -name "$name-*" -newer "$folder/begun" | tr '\n' ' ')
    printf '%-9s %8s inputs, %5s edges, %4s in its corpus%s\n' "$name" "${runs:-?}" "${edges:-?}" "$(ls "$folder/corpus/$name" | wc -l)" \
        "${found:+; FOUND $found}"
    [ $code -eq 0 ] && [ -z "$found" ] || { echo "$name: exit $code, see $log" >> "$folder/failed"; tail -n 40 "$log" >&2; }
}

if [ "$1" = --run ]; then
    folder=$2
    run_target "$3"
    exit 0
fi
mutate=$1
shift
folder=${PCGPU_FUZZ_FOLDER:-$(dirname "$mutate")/nightly}
mkdir -p "$folder/crashes" "$folder/logs" && folder=$(cd "$folder" && pwd) || exit 2
rm -rf "$folder/seeds" "$folder/failed" "$folder/tmp"
: > "$folder/begun"
"$mutate" --write "$folder/seeds" || exit 2
printf '%s\n' "$@" | xargs -P "${PCGPU_FUZZ_JOBS:-$(nproc)}" -I '{}' sh "$0" --run "$folder" '{}'
rm -rf "$folder/tmp"
[ ! -e "$folder/failed" ] || { cat "$folder/failed"; exit 1; }
echo "$# targets, nothing found"
