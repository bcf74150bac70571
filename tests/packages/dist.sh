#!/bin/sh
# dist.sh: `meson dist` of what is committed: the archive of the source, which is unpacked, built and tested by itself (the tests that
# need no other data). Some minutes.
. "${0%/*}/packages.sh"
meson=meson
[ ! -x /usr/bin/meson ] || meson=/usr/bin/meson
quietly clone git clone -q "$PCGPU_SOURCE" "$work/clone"
quietly setup "$meson" setup "$work/build" "$work/clone" -Dcuda=disabled
quietly dist "$meson" dist -C "$work/build" --no-tests --formats xztar
cp "$work"/build/meson-dist/pcgpu-* "$packages"/
(cd "$packages" && sha256sum -c "pcgpu-$version.tar.xz.sha256sum")
tar -x -f "$packages/pcgpu-$version.tar.xz" -C "$work"
quietly setup "$meson" setup "$work/tested" "$work/pcgpu-$version" -Dcuda=disabled -Dwerror=true
quietly build ninja -j "${JOBS:-2}" -C "$work/tested"
"$meson" test -C "$work/tested" --no-rebuild ${PCGPU_DIST_SUITE:+--suite "$PCGPU_DIST_SUITE"} | tail -n 12
[ "$(grep -cE '"result": "(FAIL|TIMEOUT|ERROR)"' "$work/tested/meson-logs/testlog.json")" -eq 0 ] || die 'tests of the archive fail'
say "passed: pcgpu-$version.tar.xz"
