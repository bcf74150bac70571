#!/bin/sh
# man_examples.sh [DOCUMENT...]: runs every example of the man pages and of README.md: the lines that start with "$ " in .EX
# blocks of man/*.[17] and in fenced blocks of README.md. The examples of one document run in order, in one scratch folder that holds copies of
# testdata/ and configs/ and with `pcgpu` on PATH. An example must exit with 0, or with a status named by the next line:
#     $ pcgpu register a.bin b.bin
#     # exit status 4
# A trailing backslash continues an example on the next line; "exit status 0 or 3" allows both. Examples in Python are left
# out where NumPy is not installed. Other lines below an example of README.md are what it prints, but for times.
set -u
source=${PCGPU_SOURCE:?}
PATH=$(dirname "${PCGPU:?}"):/usr/bin:/bin:$PATH
export PATH
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
run=0
failures=0

# Prints "STATUSES<tab>COMMAND" for every example of a document.
extract() {
    awk '
        function flush() {
            if (command != "") print statuses "\t" command "\t" output
            command = output = ""
            statuses = "0"
        }
        function plain(line) { # roff escapes of a man page
            if (!man) return line
            gsub(/\\-/, "-", line); gsub(/\\&/, "", line); gsub(/\\\(aq|\\\[aq\]/, "\047", line)
            gsub(/\\\(dq|\\\[dq\]/, "\"", line); gsub(/\\\(ti|\\\[ti\]/, "~", line); gsub(/\\\(ha|\\\[ha\]/, "^", line)
            gsub(/\\(e|\(rs|\[rs\]|\\)/, "\\", line)
            return line
        }
        BEGIN { man = ARGV[1] ~ /\.[0-9]$/; statuses = "0" }
        man && /^\.EX/ { inside = 1; next }
        man && /^\.EE/ { flush(); inside = 0; next }
        !man && /^```/ { flush(); inside = !inside; next }
        !inside { next }
        {
            line = plain($0)
            if (continued) {
                command = command " " line
            } else if (line ~ /^\$ /) {
                flush()
                command = substr(line, 3)
            } else {
                if (line ~ /^# exit status [0-9]/) {
                    statuses = line
                    sub(/^# exit status /, "", statuses)
                } else if (!man && command != "") {
                    output = output line "\001"
                }
                next
            }
            continued = sub(/\\$/, "", command)
        }
        END { flush() }' "$1"
}

without_times() { sed -E 's/[0-9.]+ (ms|s)( |$)/TIME\2/g'; }

run_document() {
    extract "$1" >"$scratch/examples"
    rm -rf "$scratch/here" && mkdir "$scratch/here" || exit 1
    cp -R "$source/testdata" "$source/configs" "$scratch/here"
    while IFS="$(printf '\t')" read -r statuses command output; do
        run=$((run + 1))
        case $command in python3*) python3 -c 'import numpy' 2>/dev/null || continue ;; esac
        (cd "$scratch/here" && exec bash -o pipefail -c "$command") </dev/null >"$scratch/output" 2>&1
        status=$?
        case " $statuses " in
        *" $status "*) ;;
        *)
            failures=$((failures + 1))
            echo "FAIL: $1: exit status $status, not $statuses: $command"
            sed 's/^/    /' "$scratch/output" | tail -n 20
            ;;
        esac
        [ -n "$output" ] || continue
        printf %s "$output" | tr '\001' '\n' | without_times >"$scratch/expected"
        without_times <"$scratch/output" | diff "$scratch/expected" - >"$scratch/difference" || {
            failures=$((failures + 1))
            echo "FAIL: $1 shows another output of: $command"
            cat "$scratch/difference"
        }
    done <"$scratch/examples"
}

[ $# -gt 0 ] || set -- "$source"/man/*.[17] "$source/README.md"
for document; do
    [ -e "$document" ] || continue
    before=$run
    run_document "$document"
    [ "$run" -gt "$before" ] || { echo "FAIL: $document has no example" && failures=$((failures + 1)); }
done
echo "$run examples, $failures failures"
[ "$failures" -eq 0 ] && [ "$run" -ge 5 ]
