#!/bin/sh
# The program needs no shared library but those of README's table, and so starts without any CUDA library or driver.
set -u
command -v ldd >/dev/null || exit 77
needed=$(ldd "${PCGPU:?}") || exit 1
case $needed in *libasan* | *libubsan* | *libtsan* | *clang_rt*) exit 77 ;; esac

status=0
for library in $(echo "$needed" | awk '/^[ \t]*lib/ { print $1 }'); do
    if ! grep -qF "\`$library\`" "${PCGPU_SOURCE:?}/README.md"; then
        echo "the program needs $library, which README does not list" >&2
        status=1
    fi
done
[ -n "$needed" ] && exit "$status"
