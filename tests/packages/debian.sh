#!/bin/sh
# debian.sh [SUITE] [cuda]: the Debian packages, built in a root of SUITE (default bookworm, Debian 12) and installed in another one that has
# nothing but Debian's base; there `pcgpu sample` and `man pcgpu` run. With "cuda" the package pcgpu-cuda, by the CUDA toolkit of
# this machine for the architectures in $GPU_ARCHS (default: as meson_options.txt).
#
#   sudo PCGPU=build/cmd/pcgpu sh tests/packages/debian.sh            # also compares the bytes with those of this program
. "${0%/*}/packages.sh"
suite=${1:-bookworm} with=${2:-cpu}
name=pcgpu options=''
if [ "$with" = cuda ]; then
    nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
    [ -x "$nvcc" ] || skip 'no nvcc'
    toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
    BOUND=$toolkit name=pcgpu-cuda
    options="DEB_BUILD_PROFILES=pkg.pcgpu.cuda PATH=$toolkit/bin:\$PATH PCGPU_MESON_ARGS=${GPU_ARCHS:+-Dgpu_archs=$GPU_ARCHS}"
    extra=,g++
fi
root build "$suite" "build-essential,debhelper,meson,ninja-build,pkg-config,python3,libyaml-dev,zlib1g-dev,libpng-dev,libzstd-dev,liblz4-dev,libbz2-dev,libsqlite3-dev,lintian${extra:-}"
sources "$work/build/src/pcgpu-$version"
[ "$(sed -n '1s/.*(\(.*\)).*/\1/p' "$PCGPU_SOURCE/debian/changelog")" = "$version" ] || die "debian/changelog has another version than $version"
say "building $name $version in a root of Debian $suite"
quietly build inside build "cd /src/pcgpu-$version && $options DEB_BUILD_OPTIONS='parallel=${JOBS:-2} noautodbgsym' dpkg-buildpackage -b -us -uc"
# The project has no address of its own.
quietly lintian inside build "cd /src && lintian --fail-on error --suppress-tags initial-upload-closes-no-bugs,bogus-mail-host,bogus-mail-host-in-debian-changelog pcgpu_*.changes"
tail -n 12 "$work/lintian.log"
cp "$work"/build/src/*.deb "$packages"/
(cd "$packages" && ls -l ${name}_*.deb)

BOUND=''
root bare "$suite" ''
say 'installing it where nothing but the base is'
cp "$work"/build/src/*.deb "$work/bare/tmp/"
rm -rf "$work/build"
# minbase leaves no lists of packages.
quietly install inside bare "apt-get update && apt-get install -y --no-install-recommends /tmp/${name}_*.deb man-db"
runs bare pcgpu
inside bare 'man pcgpu | head -n 4 && man -w pcgpu-sample 7 pcgpu-formats >/dev/null' >"$work/man" || die 'man pcgpu'
grep -q '^PCGPU(1)' "$work/man" && grep -q NAME "$work/man" || die 'man pcgpu shows no page'
for file in bash-completion/completions/pcgpu zsh/site-functions/_pcgpu fish/vendor_completions.d/pcgpu.fish; do
    [ -s "$work/bare/usr/share/$file" ] || die "$file is not installed"
done
inside bare "ldd /usr/bin/pcgpu" | tee "$work/ldd"
! grep -q 'not found' "$work/ldd" || die 'a library is missing'
quietly remove inside bare "dpkg -P $name && ! test -e /usr/share/pcgpu"
say "passed: $name $version of Debian $suite"
