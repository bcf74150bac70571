#!/bin/sh
# dist.sh [SUITE...]: the archive of a release, pcgpu-VERSION.tar.xz, made by `meson dist` from a clean clone: it holds every file that git knows
# and no other, and has the same bytes when it is made again. It is built in a folder that git does not know and beside which no real data
# is, and the tests of these suites pass there (default: unit cli abi; ten minutes of two cores). With "all" the command of
# continuous integration runs there in their place.
#
#   sh tests/packages/dist.sh
. "${0%/*}/packages.sh"
for tool in git:git cc:gcc meson:meson ninja:ninja-build xz:xz-utils; do need "${tool%:*}" "${tool#*:}"; done
git -C "$PCGPU_SOURCE" rev-parse --git-dir >/dev/null 2>&1 || skip 'an archive is made from a clone'
meson=meson
[ ! -x /usr/bin/meson ] || meson=/usr/bin/meson # one on PATH may be a shim
archive=pcgpu-$version
for copy in first second; do
    quietly clone git clone -q "$PCGPU_SOURCE" "$work/$copy"
    quietly setup "$meson" setup "$work/$copy/build" "$work/$copy" -Dcuda=disabled
    quietly dist "$meson" dist -C "$work/$copy/build" --no-tests
done
cmp "$work/first/build/meson-dist/$archive.tar.xz" "$work/second/build/meson-dist/$archive.tar.xz" || die 'the archive has other bytes when it is made again'
git -C "$work/first" ls-files | sort >"$work/known"
tar -t -f "$work/first/build/meson-dist/$archive.tar.xz" | sed -n "s|^$archive/\(.*[^/]\)\$|\1|p" | sort | diff "$work/known" - || die 'the archive has other files than git'
cp "$work/first/build/meson-dist/$archive.tar.xz" "$packages/"
ls -l "$packages/$archive.tar.xz"
rm -rf "$work/first" "$work/second"

say "building what is in it: $(wc -l <"$work/known") files"
mkdir "$work/alone"
tar -x -f "$packages/$archive.tar.xz" -C "$work/alone"
cd "$work/alone/$archive"
unset PCGPU PCGPU_SOURCE PCGPU_DATA
if [ "${1:-}" = all ]; then
    PCGPU_MESON_ARGS='-Dcuda=disabled' quietly tests .ci/run
    tail -n 1 "$work/tests.log"
else
    quietly setup "$meson" setup build -Dcuda=disabled -Dwerror=true
    quietly build ninja -j "${JOBS:-2}" -C build
    [ "$(build/cmd/pcgpu --version)" = "pcgpu $version" ] || die "the program does not say that it is $version"
    [ $# -gt 0 ] || set -- unit cli abi
    say "the suites $*"
    # shellcheck disable=SC2046 # a list of words
    quietly tests "$meson" test -C build --no-rebuild --num-processes "${JOBS:-2}" -t 10 $(printf -- '--suite %s ' "$@")
    grep -E '^(Ok|Fail|Skipped|Timeout): ' "$work/tests.log"
fi
say "passed: $archive.tar.xz"
