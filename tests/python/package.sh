# pip install into a new environment, without CUDA, and the tests of the package with what was installed. Skipped where
# pip cannot get what the package is built with. The folder that pip builds in begins with the objects of this build, beside
# which it stands: paths and flags are the same, so Ninja builds the module alone, and whatever else differs.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work" ${build:+"$build"}' EXIT
NINJA=$(command -v ninja || command -v ninja-build) # another version may not read the log
export NINJA
# Debian's Python has venv in a package of its own.
"$1" -m venv "$work/venv" >"$work/log" 2>&1 || { rm -rf "$work/venv" && python3 -m venv "$work/venv" >"$work/log" 2>&1; } ||
    { echo 'skipped: no venv' && exit 77; }
PATH=$work/venv/bin:$PATH
python -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ||
    { echo 'skipped: no headers of Python (python3-dev)' && exit 77; }
command -v c++ >/dev/null || { echo 'skipped: no C++ compiler (g++)' && exit 77; }
pip install -q --disable-pip-version-check --no-compile -U pip numpy nanobind meson-python 'meson >= 1.3' >"$work/log" 2>&1 ||
    { echo 'skipped: pip cannot install nanobind and meson-python' && exit 77; }
build=$(mktemp -d "${MESON_BUILD_ROOT:?}-package.XXXXXX") || exit 1
(cd "$MESON_BUILD_ROOT" && cp -a lib cmd .ninja_log .ninja_deps "$build") || exit 1
pip install -q --disable-pip-version-check --no-build-isolation "${PCGPU_SOURCE:?}" -Cbuilddir="$build" \
    -Csetup-args=-Dcuda=disabled -Csetup-args=-Dwerror="$4" -Csetup-args=-Dcpp_args=-O0 >"$work/log" 2>&1 ||
    { cat "$work/log" && echo 'FAIL: pip install' && exit 1; }
unset PCGPU # the program that was installed
PCGPU_DRIVE=$(realpath "$2") PCGPU_ROOM=$(realpath "$3") # Meson gives relative paths
export PCGPU_DRIVE PCGPU_ROOM
cd "$work" || exit 1
for test in "$PCGPU_SOURCE"/tests/python/test_*.py; do
    python "$test" >"$work/log" 2>&1
    code=$?
    [ "$code" = 0 ] || [ "$code" = 77 ] || { cat "$work/log" && echo "FAIL: $test" && exit 1; }
    echo "${test##*/}: $(tail -n 1 "$work/log")"
done
# README's three commands, by the program that was installed.
ln -s "$PCGPU_SOURCE/testdata" testdata
sed -n '/^## Three commands/,/^## One answer/s/^\$ //p' "$PCGPU_SOURCE/README.md" >commands.sh
[ "$(grep -c '^pcgpu' commands.sh)" -ge 3 ] && sh -eu commands.sh >"$work/log" 2>&1 ||
    { cat "$work/log" && echo "FAIL: README's three commands" && exit 1; }
[ "$(command -v pcgpu)" = "$work/venv/bin/pcgpu" ] && python -m pcgpu --version || { echo 'FAIL: the program is not installed' && exit 1; }
