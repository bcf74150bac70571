#!/bin/sh
# aarch64.sh [PATTERN]: a cross build of the CPU program for aarch64 against the libraries of Debian 12, whose tests run under qemu-user:
# every command of tests/cli/bytes.list, which has to write the bytes that it writes on x86-64, and the suites unit and kernels. 30
# minutes on two cores, most of it the suites; with a PATTERN only the commands that it matches.
#
#   sudo sh tests/packages/aarch64.sh
. "${0%/*}/packages.sh"
machine=aarch64-linux-gnu
for tool in $machine-gcc:gcc-aarch64-linux-gnu qemu-aarch64-static:qemu-user-static meson:meson ninja:ninja-build; do need "${tool%:*}" "${tool#*:}"; done
meson=meson
[ ! -x /usr/bin/meson ] || meson=/usr/bin/meson # one on PATH may be a shim
sysroot bookworm arm64
emulator="qemu-aarch64-static -L $work/sysroot"
cat >"$work/cross.ini" <<END
[binaries]
c = ['$machine-gcc', '--sysroot=$work/sysroot']
cpp = ['$machine-g++', '--sysroot=$work/sysroot']
ar = '$machine-ar'
strip = '$machine-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-aarch64-static', '-L', '$work/sysroot']
[properties]
sys_root = '$work/sysroot'
pkg_config_libdir = '$work/sysroot/usr/lib/$machine/pkgconfig'
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'armv8-a'
endian = 'little'
END
sources "$work/src"
say "building for $machine"
unset CC CXX CFLAGS LDFLAGS
quietly setup "$meson" setup "$work/build" "$work/src" --cross-file "$work/cross.ini" --buildtype=release -Dcuda=disabled -Dwerror=true
quietly build ninja -j "${JOBS:-2}" -C "$work/build"
file "$work/build/cmd/pcgpu" 2>/dev/null || :
say 'the commands of bytes.list'
printf '#!/bin/sh\nexec %s %s/build/cmd/pcgpu "$@"\n' "$emulator" "$work" >"$work/pcgpu"
chmod +x "$work/pcgpu"
PCGPU=$work/pcgpu PCGPU_SOURCE=$PCGPU_SOURCE PCGPU_BYTES_THREADS=2 sh "$PCGPU_SOURCE/tests/cli/bytes.sh" ${1:+"$1"} || die 'the bytes differ from bytes.list'
say 'the suites unit and kernels'
"$meson" test -C "$work/build" --no-rebuild --num-processes "${JOBS:-2}" --suite unit --suite kernels -t 20 >"$work/tests.log" 2>&1 ||
    { grep -E 'FAIL|TIMEOUT' "$work/tests.log" && tail -n 40 "$work/tests.log" && die 'a test on aarch64'; }
grep -E '^(Ok|Expected Fail|Fail|Unexpected Pass|Skipped|Timeout):' "$work/tests.log"
say 'passed: aarch64'
