#!/bin/sh
# tarball.sh [cuda]: pcgpu-VERSION-linux-x86_64.tar.xz, which runs with glibc 2.28 or later and needs no other library: the program,
# manual pages, completions, configurations, licenses, the list of what is in it (SPDX). Built against the C library of Debian 11, with
# CUDA also its C++ library, and the symbols are compared with 2.28 afterwards. Tried in roots of Debian 11 and 12 that have nothing but the
# base. With "cuda" the kernels for $GPU_ARCHS (default: as meson_options.txt) are in it, and the driver is found at run time.
#
#   sudo PCGPU=build/cmd/pcgpu sh tests/packages/tarball.sh
. "${0%/*}/packages.sh"
with=${1:-cpu} oldest=2.28
for tool in gcc:gcc meson:meson ninja:ninja-build objdump:binutils xz:xz-utils; do need "${tool%:*}" "${tool#*:}"; done
meson=meson
[ ! -x /usr/bin/meson ] || meson=/usr/bin/meson # one on PATH may be a shim
name=pcgpu-$version-linux-x86_64
cuda=disabled
[ "$with" != cuda ] || { cuda=enabled && name=$name-cuda; }
toolchain "$([ "$with" != cuda ] || echo c++)"
rm "$lib"/libz.so "$lib"/libpng*.so "$lib"/libyaml.so # what is left is static
cat >"$work/native.ini" <<END
[binaries]
c = '$work/cc'
[built-in options]
c_link_args = ['$work/old_math.o', '-Wl,--wrap=pow', '-Wl,--wrap=log2', '-lm']
END
sources "$work/src"
say "building $name"
unset CC CFLAGS LDFLAGS
PKG_CONFIG_SYSROOT_DIR=$work/sysroot PKG_CONFIG_LIBDIR=$lib/pkgconfig \
    quietly setup "$meson" setup "$work/build" "$work/src" --native-file "$work/native.ini" --buildtype=release --prefix=/usr/local \
    -Dtests=false -Dcuda=$cuda ${GPU_ARCHS:+-Dgpu_archs="$GPU_ARCHS"} $([ "$cuda" = disabled ] || echo "-Dnvcc_ccbin=$work/c++")
quietly build ninja -j "${JOBS:-2}" -C "$work/build" cmd/pcgpu cmd/pcgpu.spdx.json pages
DESTDIR=$work/dest quietly install "$meson" install -C "$work/build" --no-rebuild --strip --tags runtime,man
mkdir "$work/$name"
cp -R "$work/dest/usr/local/." "$work/$name/"
cp "$work/src/LICENSE" "$work/src/NEWS.md" "$work/$name/"
licenses "$work/$name/licenses"
newer=$(objdump -T "$work/$name/bin/pcgpu" | grep -oE 'GLIBC_[0-9.]+' | sort -u -V | tail -n 1)
[ "$(printf '%s\n' "GLIBC_$oldest" "$newer" | sort -V | tail -n 1)" = "GLIBC_$oldest" ] || die "it needs $newer, newer than $oldest"
say "the newest symbol is of $newer"
readelf -dW "$work/$name/bin/pcgpu" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort >"$work/needed"
! grep -vE '^(lib(c|m|pthread|dl|rt)\.so\.[0-9]+|ld-linux-x86-64\.so\.2)$' "$work/needed" || die 'it needs these libraries'
tar -c --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --format=gnu -C "$work" "$name" | xz -6 >"$packages/$name.tar.xz"
ls -l "$packages/$name.tar.xz"
rm -rf "$work/build" "$work/src" "$work/dest"

for suite in bullseye bookworm; do
    root "bare-$suite" $suite ''
    tar -x -f "$packages/$name.tar.xz" -C "$work/bare-$suite/opt"
    runs "bare-$suite" "/opt/$name/bin/pcgpu"
    say "ran on Debian's base of $suite, $(inside "bare-$suite" "ldd --version | head -n 1")"
done
quietly man inside bare-bookworm "apt-get update && apt-get install -y --no-install-recommends man-db"
inside bare-bookworm "PATH=/opt/$name/bin:\$PATH man pcgpu | head -n 4" >"$work/man" || die 'man pcgpu'
grep -q '^PCGPU(1)' "$work/man" || die 'man pcgpu shows no page'
if [ -n "${PCGPU:-}" ]; then # every command of the list, on this machine
    say 'the commands of bytes.list'
    tar -x -f "$packages/$name.tar.xz" -C "$work"
    PCGPU=$work/$name/bin/pcgpu PCGPU_SOURCE=$PCGPU_SOURCE sh "$PCGPU_SOURCE/tests/cli/bytes.sh" || die 'the bytes differ from bytes.list'
fi
say "passed: $name"
