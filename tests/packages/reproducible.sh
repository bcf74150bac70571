#!/bin/sh
# reproducible.sh [MESON-ARGUMENT...]: two builds in two folders, of two copies of the source, give the same bytes in every file that is
# installed: the program, both libraries, headers, manual pages, completions, configurations, the list of parts. Two minutes of one core.
set -eu
export LC_ALL=C
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
meson=${MESON:-meson}
[ ! -x /usr/bin/meson ] || meson=/usr/bin/meson
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-1700000000}" CCACHE_DISABLE=1
mkdir "$work/a" "$work/another-folder"
for folder in a another-folder; do
    # What the build reads, under another name each time.
    (cd "${PCGPU_SOURCE:?}" && tar -c meson.build meson_options.txt cmd lib cuda configs examples man python LICENSE) | tar -x -C "$work/$folder"
    "$meson" setup "$work/$folder/build-$folder" "$work/$folder" --buildtype=release -Dtests=false -Dcuda=disabled "$@" >"$work/log" 2>&1 &&
        ninja -j "${JOBS:-2}" -C "$work/$folder/build-$folder" >"$work/log" 2>&1 &&
        DESTDIR=$work/$folder/dest "$meson" install -C "$work/$folder/build-$folder" --no-rebuild >"$work/log" 2>&1 ||
        { tail -n 20 "$work/log" && echo 'FAIL: the build' && exit 1; }
    (cd "$work/$folder/dest" && find . -type f -o -type l | sort | xargs sha256sum) >"$work/$folder.sums"
    sleep 1 # so that a time of day would be another
done
diff "$work/a.sums" "$work/another-folder.sums" || { echo 'FAIL: these files differ' && exit 1; }
[ "$(wc -l <"$work/a.sums")" -gt 40 ] || { echo 'FAIL: hardly anything was installed' && exit 1; }
! grep -rlF "$work" "$work/a/dest" || { echo 'FAIL: these files name the folder of the build' && exit 1; }
echo "$(wc -l <"$work/a.sums") files, the same bytes from both folders"
