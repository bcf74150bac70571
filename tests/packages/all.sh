#!/bin/sh
# all.sh [GPU-ARCHS]: builds and tries every package by the scripts beside it, and prints a line for each: the result, minutes, what it
# says at its end. With CUDA for GPU-ARCHS, default 90. An hour of two cores; logs and packages in $PCGPU_PACKAGES.
#
#   sudo PCGPU=build/cmd/pcgpu PYTHON=python3.12 sh tests/packages/all.sh
. "${0%/*}/packages.sh"
here=$(cd "${0%/*}" && pwd) status=0
export PCGPU_PACKAGES="$packages" PCGPU_SOURCE GPU_ARCHS="${1:-90}"
try() {
    name=$(printf '%s' "$*" | tr ' /' '--') begin=$(date +%s)
    script=$1
    shift
    sh "$here/$script" "$@" >"$packages/$name.log" 2>&1
    case $? in 0) result=passed ;; 77) result=skipped ;; *) result=FAILED status=1 ;; esac
    printf '%-8s %-28s %3d min  %s\n' "$result" "$script $*" $((($(date +%s) - begin + 59) / 60)) "$(tail -n 1 "$packages/$name.log" | sed 's/^== //')"
}
try reproducible.sh
try debian.sh bookworm
try debian.sh bookworm cuda
try tarball.sh
try tarball.sh cuda
try wheel.sh "${PYTHON:-python3}"
try aarch64.sh
try distributions.sh
(cd "$packages" && ls -l -- *.deb *.xz *.whl | awk '{ printf "%9d bytes  %s\n", $5, $NF }')
exit $status
