#!/bin/sh
# The static analyzers: gcc -fanalyzer, clang-tidy and cppcheck over cmd and lib, each file as it is compiled without CUDA. What they find must
# be what accepted.list accepts, no more and no less. A few minutes per core: `meson compile -C build analyze`.
set -eu
source=$(cd "${1:?usage: analyze.sh SOURCE}" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
jobs=$(nproc)

# Checks that are off, and why:
# - What a loop fills is uninitialized to gcc 12, clang 14 and cppcheck 2.10 when the loop might not run, and a structure that owns memory leaks
#   it to gcc: thousands of findings, none true. MemorySanitizer's and LeakSanitizer's subject: valgrind and ASan run the suite.
# - clang 14 does not know va_start of its own headers (valist), and wants functions of Annex K, which glibc does not have (insecureAPI).
# - Padding, exchangeable parameters, magic narrowing and widening of small indices, and integer division in floor() are how numeric code in C
#   looks; -Wconversion is on in the build.
# - Headers of files are bytes without a zero at the end (not-null-terminated), and types cannot be in parentheses (macro-parentheses).
# - Branches with equal results are told apart by their conditions (branch-clone); yaml and zlib take pointers without const (int-to-ptr).
gcc_off='-Wno-analyzer-use-of-uninitialized-value -Wno-analyzer-malloc-leak'
tidy='-*,clang-analyzer-*,bugprone-*,cert-err34-c,misc-redundant-expression,performance-*,portability-*'
for check in clang-analyzer-core.uninitialized.* clang-analyzer-core.UndefinedBinaryOperatorResult clang-analyzer-core.CallAndMessage \
    clang-analyzer-valist.Uninitialized clang-analyzer-security.insecureAPI.* clang-analyzer-optin.performance.Padding \
    bugprone-easily-swappable-parameters bugprone-narrowing-conversions bugprone-implicit-widening-of-multiplication-result \
    bugprone-integer-division bugprone-not-null-terminated-result bugprone-macro-parentheses bugprone-branch-clone \
    bugprone-reserved-identifier performance-no-int-to-ptr; do
    tidy="$tidy,-$check"
done

CC=gcc meson setup build "$source" -Dcuda=disabled -Dtests=false --buildtype=debugoptimized "-Dc_args=-fanalyzer $gcc_off" > setup.log
ninja -k0 -C build > gcc.log 2>&1
# gcc's path through the code of each finding is long; the sentences are enough for a list.
sed -nE 's#^[^: ]*/((cmd|lib)/[^:]*):[0-9:]* warning: .*\[-W(analyzer-)?([a-z-]*)\]$#gcc \4 \1#p' gcc.log > found

sed -i 's/"command": "gcc /"command": "cc /; s/-fanalyzer//g; s/-Wno-analyzer-[a-z-]*//g' build/compile_commands.json
find "$source/cmd" "$source/lib" -name '*.c' -not -path '*/page/*' | sort |
    xargs -P "$jobs" -n 8 clang-tidy -p build --quiet --header-filter="$source/(cmd|lib)/.*" "--checks=$tidy" > tidy.log 2> tidy.err
sed -nE 's#^[^ ]*/((cmd|lib)/[^:]*):[0-9:]* (warning|error): .*\[([A-Za-z.,0-9-]*)\]$#clang-tidy \4 \1#p' tidy.log >> found

cppcheck -j "$jobs" --project=build/compile_commands.json --enable=warning,portability,performance --quiet \
    --suppress=uninitvar --suppress=memleak --suppress=leakReturnValNotUsed --suppress=preprocessorErrorDirective:*/png*.h \
    --template='cppcheck {id} {file}' > cppcheck.log 2>&1
grep -E '^cppcheck ' cppcheck.log | sed -E 's# [^ ]*/((cmd|lib)/)# \1#' >> found

sort -u found > findings
grep -vE '^(#|$)' "$source/tests/analyze/accepted.list" | awk '{ print $1, $2, $3 }' | sort -u > accepted
new=$(comm -23 findings accepted)
old=$(comm -13 findings accepted)
[ -z "$new" ] || printf 'found, and not accepted:\n%s\n' "$new"
[ -z "$old" ] || printf 'accepted, and not found:\n%s\n' "$old"
if [ -n "$new" ]; then
    grep -hE 'warning: |error: ' gcc.log tidy.log | sort -u
    cat cppcheck.log
fi
echo "$(wc -l < findings) findings of $(gcc -dumpversion), $(clang-tidy --version | sed -nE 's/.*version ([0-9.]*).*/\1/p'), $(cppcheck --version), $(wc -l < accepted) accepted"
[ -z "$new$old" ]
