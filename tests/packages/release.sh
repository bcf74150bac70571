#!/bin/sh
# release.sh [GPU-ARCHS]: everything that the page of a release holds, from a clean clone, in $PCGPU_PACKAGES (default packages/): the source,
# Debian packages, archives and wheels, with CUDA for GPU-ARCHS (default 90) and without, what is in them (SPDX), the notes, and
# SHA256SUMS. The scripts beside it build each and try it in a root that has nothing else; a line for each has the result, minutes and what
# it says at its end. Two hours of two cores. PCGPU_ONLY: an extended regular expression, the scripts to run.
#
#   sudo PCGPU=build/cmd/pcgpu PYTHON=python3.12 sh tests/packages/release.sh
. "${0%/*}/packages.sh"
here=$(cd "${0%/*}" && pwd) status=0
[ -z "$(git -C "$PCGPU_SOURCE" status --porcelain 2>&1)" ] || die 'a release is made from a clean clone'
export PCGPU_PACKAGES="$packages" PCGPU_SOURCE GPU_ARCHS="${1:-90}"
try() {
    name=$(printf '%s' "$*" | tr ' /' '--') begin=$(date +%s)
    printf '%s\n' "$*" | grep -qE -e "${PCGPU_ONLY:-.}" || return 0
    script=$1
    shift
    code=0
    sh "$here/$script" "$@" >"$work/$name.log" 2>&1 || code=$?
    case $code in 0) result=passed ;; 77) result=skipped ;; *) result=FAILED status=1 ;; esac
    [ $result = passed ] || tail -n 20 "$work/$name.log"
    printf '%-8s %-28s %3d min  %s\n' "$result" "$script $*" $((($(date +%s) - begin + 59) / 60)) "$(tail -n 1 "$work/$name.log" | sed 's/^== //')"
}
try reproducible.sh
try dist.sh
try debian.sh bookworm
try debian.sh bookworm cuda
try tarball.sh
try tarball.sh cuda
try wheel.sh "${PYTHON:-python3}"
try wheel.sh "${PYTHON:-python3}" cuda
try first_screen.sh
try aarch64.sh
try distributions.sh
for archive in "$packages"/pcgpu-"$version"-linux-*.tar.xz; do
    [ ! -e "$archive" ] || tar -x -O -f "$archive" --wildcards '*.spdx.json' >"${archive%.tar.xz}.spdx.json"
done
sed -n "/^## $version/,/^## [^$version]/{/^## /!p}" "$PCGPU_SOURCE/NEWS.md" >"$packages/NOTES.md"
[ -s "$packages/NOTES.md" ] || die "NEWS.md has nothing about $version"
(cd "$packages" && rm -f SHA256SUMS && sha256sum -- * >../SHA256SUMS.part && mv ../SHA256SUMS.part SHA256SUMS && ls -l -- * | awk '{ printf "%9d bytes  %s\n", $5, $NF }')
exit $status
