#!/bin/sh
# verdict.sh BENCH_VERDICT: of a hundred generated pairs one at most is of two places or mirrored and converges; tables are the
# same from one thread and from two.
set -eu
"$1" --pairs 100 --seed 11 --assert --threads 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" --pairs 60 --kind spin16 --threads 1 > "$folder/one"
"$1" --pairs 60 --kind spin16 --threads 2 > "$folder/two"
cmp "$folder/one" "$folder/two"
