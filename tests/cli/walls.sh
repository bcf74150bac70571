#!/bin/sh
# The walls of the source tree (CONTRIBUTING.md): who may include whom, what the library may call, how long a file may be.
set -u
cd "${PCGPU_SOURCE:?}" || exit 1
failures=0

fail() {
    echo "FAIL: $1" >&2
    failures=$((failures + 1))
}

# Quoted includes only; system headers are free. Prints "FILE:LINE: header".
includes() {
    awk '/^[ \t]*#[ \t]*include[ \t]*"/ { split($0, part, "\""); print FILENAME ":" FNR ": " part[2] }' "$@"
}

# wall NAME ALLOWED FILE...: every quoted include of the files matches the extended regular expression ALLOWED.
wall() {
    name=$1
    allowed=$2
    shift 2
    [ -e "$1" ] || { fail "$name: no such file: $1" && return; }
    bad=$(includes "$@" | grep -vE ": ($allowed)\$")
    [ -z "$bad" ] || fail "$name may include only ($allowed):
$bad"
}

cmd_headers=
for header in cmd/*.h; do
    header=${header#cmd/}
    [ "$header" = '*.h' ] || cmd_headers="$cmd_headers${header%.h}\\.h|"
done
wall "cmd/" "${cmd_headers}pcgpu\.h" cmd/*.[ch]
wall "cuda/" 'backend\.h|geometry\.h|(common|ptx|warp|chain)\.cuh|(sample|voxelize|register|volume)[a-z_]*\.cuh|cuda_(sample|voxelize|register|volume)\.h|(icp|voxel|volume)[a-z_]*\.h' cuda/*.c cuda/*.cu cuda/*.cuh
wall "lib/io*" 'io[a-z_]*\.h' lib/io_*.c lib/io.c
wall "lib/cpu_*" 'backend\.h|geometry\.h|(cpu|icp|voxel|volume)[a-z_]*\.h' lib/cpu_*.c
wall "lib/OPERATION*.c" '(backend|geometry|depth|cpu_team|(icp|voxel|sample|register|solve|volume)[a-z_]*)\.h' lib/sample*.c lib/voxelize*.c \
    lib/register*.c lib/volume*.c lib/depth.c
wall "lib/odometry*.c" '(backend|geometry|depth|pcgpu_odometry|(icp|register|odometry|solve|volume)[a-z_]*)\.h' lib/odometry*.[ch] lib/trajectory.c
wall "lib/pcgpu.h" 'pcgpu_[a-z_]*\.h' lib/pcgpu.h
wall "lib/pcgpu_*.h" 'pcgpu\.h' lib/pcgpu_[e-z]*.h
wall "lib/pcgpu_depth.h" 'none' lib/pcgpu_depth.h

# The library speaks through error sentences and the log callback, and takes its settings as arguments.
speech='(^|[^a-zA-Z0-9_])(printf|puts|putchar|perror|vprintf|exit|_exit|_Exit|quick_exit|abort|getenv|secure_getenv|setenv|system|popen|signal|sigaction)[ ]*\('
streams='(^|[^a-zA-Z0-9_])(stdout|stderr|stdin)([^a-zA-Z0-9_]|$)'
for file in lib/*.[ch] cuda/*.c cuda/*.cu cuda/*.cuh; do
    # Comments and strings may say these words.
    bad=$(awk -v file="$file" '{
            line = $0
            gsub(/\\"/, "", line)
            gsub(/"[^"]*"/, "", line)
            code = ""
            while (line != "") {
                mark = index(line, inside ? "*/" : "/*")
                if (mark == 0) {
                    if (!inside) code = code line
                    break
                }
                if (!inside) code = code substr(line, 1, mark - 1) " "
                line = substr(line, mark + 2)
                inside = !inside
            }
            sub(/\/\/.*/, "", code)
            print file ":" FNR ": " code }' "$file" | grep -E -e "$speech" -e "$streams" | grep -v 'format(printf')
    [ -z "$bad" ] || fail "the library must not print, exit or read the environment:
$bad"
done

# No call site chooses a back end by preprocessor: link the stub.
bad=$(grep -nE '^[ ]*#[ ]*if.*(HAVE_CUDA|WITH_CUDA|USE_CUDA)' lib/*.[ch] cmd/*.[ch])
[ -z "$bad" ] || fail "no #ifdef of CUDA:
$bad"

for file in lib/*.[ch] cmd/*.[ch] cuda/*.c cuda/*.cu cuda/*.cuh; do
    lines=$(wc -l <"$file")
    [ "$lines" -le 400 ] || fail "$file has $lines lines, more than 400; split it by subject"
done

bad=$(grep -nEw 'TODO|FIXME|XXX|HACK' lib/*.[ch] cmd/*.[ch] cuda/*.c cuda/*.cu cuda/*.cuh)
[ -z "$bad" ] || fail "unfinished work is an issue, not a mark:
$bad"

[ "$failures" -eq 0 ] || { echo "$failures broken" >&2 && exit 1; }
