#!/bin/sh
# installed.sh BUILD CUDA_FOLDER: other programs find what `meson install` installs, also after the folder has moved: by
# pkg-config and by CMake, linked to the shared and to the static library, in C and in C++. CUDA_FOLDER: that of
# libcudart_static.a, "" in a build without CUDA; with it examples/device_arrays.c is compiled, too.
set -u
command -v pkg-config >/dev/null || { echo 'skipped: no pkg-config' && exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAIL: $1" >&2
    exit 1
}
DESTDIR=$work/dest ${MESON:-meson} install -C "$1" --no-rebuild --tags devel,library,runtime >"$work/log" 2>&1 || { cat "$work/log" && fail 'meson install'; }
pc=$(find "$work/dest" -name pcgpu.pc)
old=$(sed -n 's/^prefix=//p' "$pc")
mv "$work/dest$old" "$work/moved" || exit 1
prefix=$work/moved
pc=$(find "$prefix" -name pcgpu.pc)
lib=$(dirname "$(find "$prefix" -name libpcgpu.so)")

# The prefix is the only path.
bad=$(grep -v '^prefix=' "$pc" | grep -nE "(^|[ =:L])/")
[ -z "$bad" ] || fail "pcgpu.pc has a path of the machine: $bad"
bad=$(grep -rlF -e "$PCGPU_SOURCE" -e "$1" "$prefix/include" "$lib/pkgconfig" "$lib/cmake")
[ -z "$bad" ] || fail "these files name the folder of the source: $bad"
[ "$(readelf -dW "$lib/libpcgpu.so" | grep -cE 'RPATH|RUNPATH')" -eq 0 ] || fail 'libpcgpu.so has a run path'

# README's commands by the program that was installed, and by a copy of it alone.
mkdir "$work/alone" && cp "$prefix/bin/pcgpu" "$work/alone" || exit 1
for program in "$prefix/bin/pcgpu" "$work/alone/pcgpu"; do
    LD_LIBRARY_PATH= PCGPU=$program sh "$PCGPU_SOURCE/tests/cli/man_examples.sh" "$PCGPU_SOURCE/README.md" >"$work/log" 2>&1 ||
        { cat "$work/log" && fail "README by $program"; }
done

# The examples, as they were installed.
examples=$prefix/share/doc/pcgpu/examples
cd "$work" && cp "$examples/sample.c" example.c && cp "${PCGPU_SOURCE:?}/testdata/street.bin" scan.bin || exit 1
export PKG_CONFIG_PATH="$(dirname "$pc")${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
known="pkg-config --define-variable=prefix=$prefix"
"${PCGPU:?}" sample -q -m 4096 scan.bin --indices i.bin -o o.bin || fail 'pcgpu sample'
expected="4096 points, the second is record $(od -An -td4 -j4 -N4 i.bin | tr -d ' ')"
check() { # check WHAT PROGRAM
    text=$("$2") || fail "$1: the example does not run"
    [ "$text" = "$expected" ] || fail "$1: the example printed '$text', not '$expected'"
}
# shellcheck disable=SC2046 # words
${CC:-cc} -Wall -Wextra -Wpedantic -Werror example.c $($known --cflags --libs pcgpu) -o shared || fail 'shared, by pkg-config'
LD_LIBRARY_PATH=$lib check shared ./shared
# shellcheck disable=SC2046
${CC:-cc} example.c $($known --cflags pcgpu) -L"$lib" ${2:+-L"$2"} $($known --static --libs pcgpu | sed 's/-lpcgpu/-l:libpcgpu.a/') -o static ||
    fail 'static, by pkg-config'
check static ./static

# example NAME EXPECTED ARGUMENT...: what the last line of the example is.
example() {
    name=$1 wanted=$2
    shift 2
    [ "$(wc -l <"$examples/$name.c")" -lt 40 ] || fail "$name.c has 40 lines or more"
    # shellcheck disable=SC2046
    ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror "$examples/$name.c" $($known --cflags --libs pcgpu) -o "$name" || fail "$name.c"
    text=$(LD_LIBRARY_PATH=$lib "./$name" "$@" | tail -n 1)
    [ "$text" = "$wanted" ] || fail "$name printed '$text', not '$wanted'"
}
data=$PCGPU_SOURCE/testdata
example voxelize '5714 pillars of 32 x 10 values; the first is at x 120, y 304 with 2 points' scan.bin
example register 'moved by 0.800 0.100 0.020 m, score 0.92' "$data/street_moved.bin" scan.bin
cp "$data/street_moved.bin" moved.bin && cp "$data/room/frame-000001.png" near.png || exit 1
example odometry 'moved.bin at 0.800 0.100 0.020 m' scan.bin moved.bin
example depth 'near.png at 0.024 -0.003 -0.011 m' "$data/room/frame-000000.png" near.png

# The example of arrays in GPU memory; tests/gpu/run runs it on a GPU.
if [ -n "$2" ]; then
    # shellcheck disable=SC2046
    ${CC:-cc} -std=c11 -Wall -Wextra -Werror "$PCGPU_SOURCE/examples/device_arrays.c" $($known --cflags --libs pcgpu) -I"$2/../include" -L"$2" \
        -lcudart -o device_arrays || fail 'examples/device_arrays.c'
    LD_LIBRARY_PATH=$lib:$2 ./device_arrays >log 2>&1
    code=$?
    [ "$code" -eq 0 ] || [ "$code" -eq 77 ] || { cat log && fail 'device_arrays'; }
fi

# Each header alone, in C and in C++.
for header in "$prefix"/include/pcgpu/*.h; do
    name=$(basename "$header")
    echo "#include <pcgpu/$name>" >one.c && cp one.c one.cpp
    ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$prefix/include" -c one.c -o one.o || fail "$name in C"
    ! command -v c++ >/dev/null || c++ -Wall -Wextra -Werror -I"$prefix/include" -c one.cpp -o one.o || fail "$name in C++"
done

if command -v cmake >/dev/null; then
    ${2:+env LIBRARY_PATH="$2"} cmake -S "$PCGPU_SOURCE/tests/abi/cmake" -B cmake -DCMAKE_PREFIX_PATH="$prefix" -DEXAMPLE="$work/example.c" \
        -DCMAKE_LIBRARY_ARCHITECTURE="$(${CC:-cc} -print-multiarch)" >log 2>&1 || { cat log && fail 'cmake does not find pcgpu'; }
    ${2:+env LIBRARY_PATH="$2"} cmake --build cmake >log 2>&1 || { cat log && fail 'cmake --build'; }
    check 'cmake, shared' cmake/with_pcgpu
    check 'cmake, static' cmake/with_static
else
    echo 'cmake is not here: find_package was not tried'
fi
