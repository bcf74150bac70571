#!/bin/sh
# distributions.sh [NAME...]: builds of the CPU program in roots of distributions, warnings being errors, and in each the suites unit and
# kernels and every command of tests/cli/bytes.list. Prints a line for each. Names, default all:
#
#   debian12 debian12-clang debian12-meson   GCC 12 and Clang 14 with Meson 1.0; the newest Meson of PyPI
#   debian13 ubuntu24.04 ubuntu24.04-clang   GCC 14, GCC 13, Clang 18
#   musl                                     the C library of Alpine, by musl-gcc of Debian 13, with zlib, libpng and libyaml of Debian's
#                                            sources, those static; without the suite unit, which needs cmocka
#
#   sudo sh tests/packages/distributions.sh; 4 minutes of two cores for each
. "${0%/*}/packages.sh"
[ $# -gt 0 ] || set -- debian12 debian12-clang debian12-meson debian13 ubuntu24.04 ubuntu24.04-clang musl
libraries=libyaml-dev,zlib1g-dev,libpng-dev,libcmocka-dev
status=0

# Static libraries for musl, from Debian's sources, in /musl of the root.
musl_libraries() {
    # shellcheck disable=SC2016 # for the shell within
    quietly musl inside musl 'set -e; mkdir -p /musl/src && cd /musl/src
        sed -i "s/^Types: deb$/& deb-src/; s/^deb \(.*\)/&\ndeb-src \1/" /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || :
        apt-get update && apt-get source --tar-only zlib libpng1.6 libyaml
        for archive in *.orig.tar.*; do tar -x -f "$archive"; done
        export CC=musl-gcc CFLAGS="-O2 -fPIC" CPPFLAGS=-I/musl/include LDFLAGS=-L/musl/lib
        (cd zlib*/ && ./configure --prefix=/musl --static && make install)
        for folder in libpng*/ *yaml*/; do
            (cd "$folder" && { [ -x configure ] || autoreconf -i; } && ./configure --prefix=/musl --disable-shared --host=x86_64-linux-musl && make install)
        done'
}

try() { # try NAME SUITE PACKAGES [COMMAND-BEFORE]
    name=$1 before=${4:-:} suites='--suite unit --suite kernels' options='-Dwerror=true' environment=''
    (
        root "$name" "$2" "$3"
        case $name in
            *-clang) environment='CC=clang' ;;
            musl)
                musl_libraries
                environment='CC=musl-gcc PKG_CONFIG_LIBDIR=/musl/lib/pkgconfig C_INCLUDE_PATH=/musl/include LIBRARY_PATH=/musl/lib'
                suites='--suite kernels' options="$options -Dprefer_static=true" ;;
        esac
        sources "$work/$name/src"
        quietly before inside "$name" "$before"
        quietly build inside "$name" "cd /src && export $environment LC_ALL=C.UTF-8 && meson setup build -Dcuda=disabled --buildtype=release $options &&
            ninja -j ${JOBS:-2} -C build"
        inside "$name" "cd /src && meson test -C build --no-rebuild --num-processes ${JOBS:-2} $suites -t 5" >"$work/$name.tests" 2>&1 ||
            { grep -E ' (FAIL|TIMEOUT|ERROR) ' "$work/$name.tests"; tail -n 30 "$work/$name.tests"; die "$name: a test"; }
        inside "$name" 'PCGPU=/src/build/cmd/pcgpu PCGPU_SOURCE=/src PCGPU_BYTES_THREADS=2 sh /src/tests/cli/bytes.sh' >"$work/$name.bytes" 2>&1 ||
            { tail -n 20 "$work/$name.bytes"; die "$name: bytes"; }
        printf '%-18s %-42s Meson %-7s %s ok, %s skipped; bytes.list: %s\n' "$name" \
            "$(inside "$name" "${environment%% *}${environment:+;} \${CC:-gcc} --version | head -n 1")" \
            "$(inside "$name" 'PATH=/venv/bin:$PATH meson --version')" "$(sed -n 's/^Ok: *//p' "$work/$name.tests")" \
            "$(sed -n 's/^Skipped: *//p' "$work/$name.tests")" "$(tail -n 1 "$work/$name.bytes")"
    ) || [ $? -eq 77 ] || status=1
    rm -rf "${work:?}/$name"
}

for wanted; do
    tools="meson,ninja-build,pkg-config,python3-numpy,$libraries"
    case $wanted in
        debian12) try "$wanted" bookworm "gcc,libc6-dev,$tools" ;;
        debian12-clang) try "$wanted" bookworm "clang,libc6-dev,$tools" ;;
        debian12-meson) try "$wanted" bookworm "gcc,libc6-dev,$tools,python3-venv,ca-certificates" \
            'python3 -m venv /venv && /venv/bin/pip install -q meson && ln -sf /venv/bin/meson /usr/bin/meson' ;;
        debian13) try "$wanted" trixie "gcc,libc6-dev,$tools" ;;
        ubuntu24.04) try "$wanted" noble "gcc,libc6-dev,$tools" ;;
        ubuntu24.04-clang) try "$wanted" noble "clang,libc6-dev,$tools" ;;
        musl) try "$wanted" trixie "musl-tools,gcc,make,dpkg-dev,autoconf,automake,libtool,meson,ninja-build,pkg-config,python3-numpy" ;;
        *) die "no distribution $wanted" ;;
    esac
done
exit $status
