# What the scripts here share; each begins with `. "${0%/*}/packages.sh"`. They run by hand, as root, on a Debian 12 that
# reaches Debian's packages (and PyPI for the wheel). Roots are kept as archives in $PCGPU_ROOTS, default ~/.cache/pcgpu-roots;
# what is built goes to $PCGPU_PACKAGES, default packages/ in the working folder.
#
#   need PROGRAM PACKAGE      skips the test (exit code 77) without the program
#   sources FOLDER            the files of the source tree that git knows, or of the archive of a release, without what is built
#   root NAME SUITE PACKAGES  a root made by mmdebstrap, once; unpacked into $work/NAME
#   inside NAME COMMAND       a command in it, with /proc and the folders of $BOUND at their places, gone with the command
#   sysroot SUITE ARCH [PACKAGES]  only the C library, the libraries of pcgpu and PACKAGES, into $work/sysroot, links made relative
#   toolchain [c++]           compilers of this machine that see only the sysroot of Debian 11: $work/cc, $work/c++
#   licenses FOLDER           those of the libraries of that sysroot, with $cuda = enabled also of CUDA
set -eu
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
umask 022
: "${PCGPU_SOURCE:=$(cd "${0%/*}/../.." && pwd)}"
roots=${PCGPU_ROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/pcgpu-roots}
packages=${PCGPU_PACKAGES:-$PWD/packages}
version=$(sed -n "s/^ *version: '\([^']*\)'.*/\1/p" "$PCGPU_SOURCE/meson.build" | head -n 1)
mkdir -p "$packages" "$roots"
packages=$(cd "$packages" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/pcgpu-packages.XXXXXX")
chmod 755 "$work" # apt reads keys as a user of its own
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
# Of the last change, so that archives made twice are the same.
: "${SOURCE_DATE_EPOCH:=$(git -C "$PCGPU_SOURCE" log -1 --format=%ct 2>/dev/null || echo 1700000000)}"
export SOURCE_DATE_EPOCH
BOUND=''

say() { printf '== %s\n' "$*"; }
die() {
    printf 'FAIL: %s\n' "$*" >&2
    exit 1
}
skip() {
    printf 'skipped: %s\n' "$*"
    exit 77
}
need() { command -v "$1" >/dev/null || skip "no $1 (Debian's package $2)"; }
quietly() { # quietly NAME COMMAND: its output goes to a file, which is shown when it fails
    log=$work/$1.log
    shift
    "$@" >"$log" 2>&1 </dev/null || { tail -n 40 "$log" >&2 && die "$*"; }
}

sources() {
    mkdir -p "$1"
    if [ -e "$PCGPU_SOURCE/.git" ]; then
        (cd "$PCGPU_SOURCE" && git ls-files -z --cached --others --exclude-standard | tar -c --null --files-from - --ignore-failed-read) 2>/dev/null
    else
        tar -c -C "$PCGPU_SOURCE" --exclude='./build*' --exclude='./packages' .
    fi | tar -x -C "$1"
    [ -f "$1/meson.build" ] || die "no sources in $PCGPU_SOURCE"
}

root() {
    need mmdebstrap mmdebstrap
    [ "$(id -u)" -eq 0 ] || skip 'a root is made by root'
    # The name says what is in it: other packages are another root.
    kept=$roots/$2-$(printf '%s' "$3" | cksum | cut -d' ' -f1).tar
    if [ ! -s "$kept" ]; then
        say "making a root of $2"
        sources=''
        [ "$2" != noble ] || ubuntu "$2"
        mmdebstrap --format=tar --variant=minbase ${3:+--include="$3"} "$2" "$kept.part" ${sources:+"$sources"} >"$work/root.log" 2>&1 ||
            { tail -n 5 "$work/root.log" && rm -f "$kept.part" && skip "the archive of $2 cannot be reached"; }
        mv "$kept.part" "$kept"
    fi
    mkdir "$work/$1"
    tar -x -f "$kept" -C "$work/$1" --exclude './dev/*'
    touch "$work/$1/dev/null"
    # How this machine reaches the network, for pip.
    cp /etc/resolv.conf "$work/$1/etc/" 2>/dev/null || :
    [ ! -d "$work/$1/etc/ssl/certs" ] || cp -L /etc/ssl/certs/ca-certificates.crt "$work/$1/etc/ssl/certs/" 2>/dev/null || :
}

# Sets sources to Ubuntu's; Debian has no package of its keys.
ubuntu() {
    need curl curl
    keys=ubuntu-keyring_2023.11.28.1_all.deb
    curl -fsS -o "$work/$keys" "https://archive.ubuntu.com/ubuntu/pool/main/u/ubuntu-keyring/$keys" && dpkg -x "$work/$keys" "$work/keys" ||
        skip "Ubuntu's archive cannot be reached"
    sources="deb [signed-by=$work/keys/usr/share/keyrings/ubuntu-archive-keyring.gpg] http://archive.ubuntu.com/ubuntu $1 main universe"
}

inside() {
    where=$work/$1
    shift
    # shellcheck disable=SC2016 # for the shell within
    unshare --mount sh -c 'root=$1; shift
        mount -t proc proc "$root/proc" && mount --bind /dev "$root/dev" || exit 125
        for folder in $BOUND; do mkdir -p "$root$folder" && mount --bind "$folder" "$root$folder" || exit 125; done
        exec chroot "$root" env -i LC_ALL=C HOME=/root TERM=dumb DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin \
            PIP_CERT=/etc/ssl/certs/ca-certificates.crt SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" sh -c "$@"' sh "$where" "$*"
}
export BOUND

sysroot() {
    need mmdebstrap mmdebstrap
    kept=$roots/sysroot-$1-$2${3:+-$3}.tar
    if [ ! -s "$kept" ]; then
        say "making a sysroot of Debian $1 for $2"
        mmdebstrap --format=tar --variant=extract --arch="$2" --include=libc6-dev,linux-libc-dev,zlib1g-dev,libpng-dev,libyaml-dev,libcmocka-dev${3:+,$3} \
            "$1" "$kept.part" >"$work/sysroot.log" 2>&1 ||
            { tail -n 5 "$work/sysroot.log" && rm -f "$kept.part" && skip "Debian's archive cannot be reached for $1"; }
        mv "$kept.part" "$kept"
    fi
    mkdir "$work/sysroot"
    tar -x -f "$kept" -C "$work/sysroot" --exclude './dev/*'
    find "$work/sysroot" -type l -lname '/*' | while read -r link; do
        ln -sfnr "$work/sysroot$(readlink "$link")" "$link"
    done
}

# Sets lib, the folder of the libraries. 2.31 of the C library is the oldest that Debian's mirrors have; the two functions of old_math.c take
# their older version. gcc finds its own folders of the C library first, which -B and -L precede. C++ has its run time: that of this machine
# would need a newer C library.
toolchain() {
    sysroot bullseye amd64 "${1:+libstdc++-10-dev}"
    lib=$work/sysroot/usr/lib/x86_64-linux-gnu headers=$work/sysroot/usr/include
    [ -z "${1:-}" ] || cp "$work/sysroot/usr/lib/gcc/x86_64-linux-gnu/10/libstdc++.a" "$work/sysroot/usr/lib/gcc/x86_64-linux-gnu/10/libgcc_eh.a" "$lib/"
    gcc -O2 -fPIC -c "$PCGPU_SOURCE/tests/packages/old_math.c" -o "$work/old_math.o"
    compiler cc "gcc${1:+ -static-libgcc}"
    compiler c++ "g++ -static-libgcc -nostdinc++ -isystem $headers/c++/10 -isystem $headers/x86_64-linux-gnu/c++/10"
}
compiler() { # compiler NAME PROGRAM
    printf '#!/bin/sh\nexec %s --sysroot=%s -B%s -L%s -L%s "$@"\n' "$2" "$work/sysroot" "$lib" "$lib" "$work/sysroot/lib/x86_64-linux-gnu" \
        >"$work/$1"
    chmod +x "$work/$1"
}

licenses() {
    mkdir "$1"
    for package in zlib1g-dev libpng-dev libyaml-dev; do
        cp "$work/sysroot/usr/share/doc/$package/copyright" "$1/$package"
    done
    [ ! -e "$lib/libstdc++.a" ] || cp "$work/sysroot/usr/share/doc/gcc-10-base/copyright" "$1/libstdc++"
    [ "$cuda" = disabled ] || printf '%s\n' "libcudart_static and CUB, of NVIDIA's CUDA Toolkit: https://docs.nvidia.com/cuda/eula" >"$1/cuda"
}

# runs NAME PROGRAM: what every package is tried with, in a root that has nothing else of pcgpu: a sample of a street has the bytes of
# $PCGPU where that is set, and a configuration is found by its name.
runs() {
    cp "$PCGPU_SOURCE/testdata/street.bin" "$work/$1/tmp/"
    inside "$1" "cd /tmp && $2 --version && $2 sample -q -m 4096 street.bin -o sampled.ply --indices picks.txt" || die "pcgpu sample does not run"
    [ "$(wc -l <"$work/$1/tmp/picks.txt")" -eq 4096 ] || die 'not 4096 picks'
    same=$(sha256sum <"$work/$1/tmp/sampled.ply")
    if [ -n "${PCGPU:-}" ]; then
        "$PCGPU" sample -q -m 4096 "$work/$1/tmp/street.bin" -o "$work/expected.ply" -f
        [ "$same" = "$(sha256sum <"$work/expected.ply")" ] || die 'its bytes are not those of the program of the build folder'
        say 'the bytes are those of the program of the build folder'
    fi
    inside "$1" "cd /tmp && $2 voxelize -q --config pillar street.bin -o pillars.npz" || die 'the configuration pillar is not found'
    [ -s "$work/$1/tmp/pillars.npz" ] || die 'no voxels'
}
