#!/bin/sh
# The walls of the source tree (CONTRIBUTING.md): who may include whom, what the library may call, how long a file may be.
set -u
cd "${PCGPU_SOURCE:?}" || exit 1
failures=0

fail() {
    echo "FAIL: $1" >&2
    failures=$((failures + 1))
}

# FOLDER and whose headers its files may include, besides their own: no arrow upwards.
floors='
lib lib lib/core
lib/core lib
lib/io lib/core
lib/recording lib/core lib/io
lib/scan lib lib/core
lib/sample lib lib/core lib/scan
lib/neighbors lib lib/core lib/scan lib/sample
lib/filter lib lib/core lib/neighbors
lib/voxelize lib lib/core
lib/register lib/core lib/scan lib/register/features lib/register/icp lib/register/ndt
lib/register/all lib/core lib/scan lib/register lib/register/features
lib/register/features lib/core lib/register lib/register/icp
lib/register/icp lib/core lib/register lib/voxelize
lib/register/ndt lib/core lib/scan lib/register lib/register/icp
lib/register/projective lib/core lib/register lib/register/icp
lib/fuse lib/core lib/register/projective
lib/map lib lib/core lib/register/icp
lib/view lib lib/core lib/io
lib/odometry lib lib/core lib/register lib/register/ndt lib/register/projective lib/fuse
cuda lib/core lib/scan lib/sample lib/neighbors lib/filter lib/voxelize cuda/register/ndt cuda/sample cuda/voxelize
cuda/core lib/core
cuda/sample cuda/core lib/sample
cuda/filter cuda/core lib/filter lib/neighbors
cuda/scan cuda/core lib/scan
cuda/neighbors cuda/core cuda/sample lib/neighbors
cuda/voxelize cuda/core lib/voxelize
cuda/register/icp cuda/core lib/register/icp
cuda/register/ndt cuda/core lib/core lib/register/ndt
cuda/register/projective cuda/core lib/register/projective
cuda/fuse cuda/core lib/fuse
cmd cmd/cli cmd/config cmd/info cmd/job cmd/bench cmd/sweeps
cmd/cli lib lib/core
cmd/job lib lib/core lib/recording cmd/cli
cmd/config cmd/cli cmd/job cmd/voxelize
cmd/poses lib/core cmd/cli cmd/job
cmd/sweeps lib/core cmd/cli cmd/job cmd/poses
cmd/sample cmd/job cmd/sweeps
cmd/voxelize lib/core cmd/job cmd/sweeps
cmd/register lib/core cmd/job cmd/poses
cmd/evaluate lib/core lib/view cmd/job cmd/poses
cmd/convert lib/core cmd/cli cmd/job cmd/poses
cmd/filter lib/core cmd/cli cmd/job cmd/convert cmd/poses cmd/sweeps
cmd/bench cmd/cli cmd/job
cmd/info lib/core lib/recording cmd/cli cmd/config cmd/job cmd/poses cmd/voxelize
cmd/fuse cmd/cli cmd/job cmd/poses
cmd/view lib/view cmd/cli cmd/evaluate cmd/job cmd/poses
cmd/odometry lib/core cmd/cli cmd/job cmd/poses cmd/register cmd/fuse cmd/evaluate
'
sources=$(find lib cmd cuda -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh')
bad=$(for side in '^cmd/' '^(lib|cuda)/'; do echo "$sources" | grep -E "$side" | sed 's|.*/||' | grep 'h$' | sort | uniq -d; done)
[ -z "$bad" ] || fail "headers are found by their names, and these are not unique: $bad"

# Quoted includes only; system headers are free. Lines "FILE:LINE FOLDER INCLUDED".
includes=$(echo "$sources" | tr '\n' ' ' | xargs awk '/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, part, "\""); folder = FILENAME; sub("/[^/]*$", "", folder); print FILENAME ":" FNR, folder, part[2] }')
bad=$( { echo "$sources"; echo --; echo "$floors"; echo --; echo "$includes"; } | awk '
    $1 == "--" { part++; next }
    part == 0 { name = $1; sub(".*/", "", name); folder = $1; sub("/[^/]*$", "", folder); holds[folder "/" name] = 1
                where[folder ~ "^cmd", name] = folder }
    part == 1 { for (k = 2; k <= NF; k++) may[$1, $k] = 1; if (NF) known[$1] = 1 }
    part == 2 { side = $2 ~ "^cmd"
                to = (($2 "/" $3) in holds) ? $2 : ((side, $3) in where) ? where[side, $3] : ((0, $3) in where) ? where[0, $3] : "?"
                if (!($2 in known)) print $2 " has no line among the floors"
                else if (to != $2 && !(($2, to) in may)) print $1 ": \"" $3 "\" of " to }' | sort -u)
[ -z "$bad" ] || fail "an arrow that the floors do not have:
$bad"

# A header that includes itself by way of others. The public headers stand for pcgpu.h, which includes them in its place.
bad=$(echo "$includes" | awk '{ sub(":.*", "", $1); sub(".*/", "", $1) } $1 ~ /h$/ && $1 !~ /^pcgpu/ { print $1, $3 }' | tsort 2>&1 > /dev/null)
[ -z "$bad" ] || fail "a circle of includes:
$bad"

# Calls, of the objects of C that were built beside PCGPU: lines "CALLER DEFINER SYMBOL", with the names of sources.
build=${PCGPU:+${PCGPU%/cmd/pcgpu}}
calls=$({ echo "$sources" | sed 's/^/source /'
    find "$build/lib/libpcgpu.a.p" "$build/cmd/libcmd.a.p" "$build/cmd/pcgpu.p" -name '*.o' 2> /dev/null | xargs -r nm -A; } | awk '
    $1 == "source" { floor = name = $2; sub("/.*", "", floor)
        mangled = floor == "cuda" ? ".._" name : substr(name, length(floor) + 2); gsub("/", "_", mangled)
        source[(floor == "cmd") "/" mangled] = name; next }
    { split($1, place, ":"); file = place[1]; object = file; sub(".*/", "", object); sub("[.]o$", "", object)
      key = (file ~ "/cmd/[a-z]*[.a]*[.]p/[^/]*$") "/" object
      if (!(key in source)) next
      file = source[key]; symbol = $NF; kind = $(NF - 1) }
    kind == "U" { needs[++count] = file " " symbol }
    kind ~ /^[TDBRVWC]$/ { home[symbol] = file }
    END { for (k = 1; k <= count; k++) { split(needs[k], need, " ")
            if (need[2] in home && home[need[2]] != need[1]) print need[1], home[need[2]], need[2] } }' | sort -u)
if [ -z "$calls" ]; then
    echo "skipped: calls: no objects beside PCGPU"
fi
bad=$(echo "$calls" | awk 'NF { print $1, $2 }' | sort -u | tsort 2>&1 > /dev/null)
[ -z "$bad" ] || fail "a circle of calls:
$bad"

# A function is defined in the folder that promises it. cuda/ has what headers of the same folder of lib/ promise to it.
bad=$(echo "$calls" | awk 'NF { print $3, $2 }' | sort -u | while read -r symbol file; do
    echo "$symbol ${file%/*}"
done | awk -v headers="$(echo "$sources" | grep '\.h$' | grep -v '^lib/pcgpu' | tr '\n' ' ')" '
    { folder[$1] = $2 }
    END { n = split(headers, list, " ")
          for (k = 1; k <= n; k++) {
              place = list[k]; sub("/[^/]*$", "", place)
              while ((getline line < list[k]) > 0) {
                  if (line !~ /^[a-zA-Z].*[ *][a-z][a-z0-9_]*\(/) continue
                  name = line; sub("\\(.*", "", name); sub(".*[ *]", "", name)
                  if (name in folder && folder[name] != place && folder[name] !~ "^cuda" && name !~ "^pcgpu_")
                      print list[k] ": " name " is defined in " folder[name] } } }')
[ -z "$bad" ] || fail "a prototype whose function is in another folder:
$bad"

# The library speaks through error sentences and the log callback, and takes its settings as arguments.
speech='(^|[^a-zA-Z0-9_])(printf|puts|putchar|perror|vprintf|exit|_exit|_Exit|quick_exit|abort|getenv|secure_getenv|setenv|system|popen|signal|sigaction)[ ]*\('
streams='(^|[^a-zA-Z0-9_])(stdout|stderr|stdin)([^a-zA-Z0-9_]|$)'
# Comments and strings may say these words.
bad=$(echo "$sources" | grep -v '^cmd' | xargs awk 'FNR == 1 { inside = 0 }
    {
        line = $0
        gsub(/\\"/, "", line)
        gsub(/"[^"]*"/, "", line)
        code = ""
        while (line != "") {
            mark = index(line, inside ? "*/" : "/*")
            if (mark == 0) {
                if (!inside) code = code line
                break
            }
            if (!inside) code = code substr(line, 1, mark - 1) " "
            line = substr(line, mark + 2)
            inside = !inside
        }
        sub(/\/\/.*/, "", code)
        print FILENAME ":" FNR ": " code }' | grep -E -e "$speech" -e "$streams" | grep -v 'format(printf')
[ -z "$bad" ] || fail "the library must not print, exit or read the environment:
$bad"

# No call site chooses a back end by preprocessor: link the stub.
bad=$(grep -nE '^[ ]*#[ ]*if.*(HAVE_CUDA|WITH_CUDA|USE_CUDA)' $sources)
[ -z "$bad" ] || fail "no #ifdef of CUDA:
$bad"

bad=$(echo "$sources" | xargs wc -l | awk '$1 > 400 && $2 != "total"')
[ -z "$bad" ] || fail "files of more than 400 lines; split them by subject:
$bad"

# Formatting, by the clang-format of Debian 12; others break lines in other places.
if clang-format --version 2> /dev/null | grep -q 'version 14\.'; then
    bad=$(git ls-files '*.c' '*.h' '*.cu' '*.cuh' | xargs clang-format --dry-run 2>&1 | sed -n 's/: warning:.*//p' | head)
    [ -z "$bad" ] || fail "these lines are not as .clang-format has them:
$bad"
else
    echo "skipped: formatting: no clang-format 14"
fi
bad=$(git ls-files '*.c' '*.h' '*.cu' '*.cuh' | xargs awk 'length > 120 { print FILENAME ":" FNR }' | head)
[ -z "$bad" ] || fail "lines of more than 120 columns:
$bad"

# FOLDER and the most lines that its sources may have.
while read -r folder most; do
    lines=$(git ls-files "$folder" | grep -E '\.(c|h|cu|cuh|cpp|py|js|html|sh)$' | tr '\n' '\0' | xargs -0 cat | wc -l)
    [ "$lines" -le "$most" ] || fail "$folder has $lines lines, more than $most; see what can go"
done << END
cmd 22280
lib 50435
cuda 14310
python 5725
tests 39333
END

# The most lines of the documents, and the most words of the manual.
for limit in README.md:220 CONTRIBUTING.md:180 BENCHMARKS.md:200; do
    [ "$(wc -l < "${limit%:*}")" -le "${limit#*:}" ] || fail "${limit%:*} has more than ${limit#*:} lines; see what can go"
done
words=$(cat man/*.[17] | wc -w)
[ "$words" -le 21090 ] || fail "the manual pages have $words words, more than 21090; each thing stands in one page"

# A file that a tool left behind is not committed.
known='.ci .clang-format .gitignore BENCHMARKS.md CITATION.cff CONTRIBUTING.md Dockerfile LICENSE NEWS.md README.md SECURITY.md cmd
configs cuda debian examples lib man meson.build meson_options.txt pyproject.toml python quickstart testdata tests'
for name in $(git ls-files 2>/dev/null | sed 's|/.*||' | sort -u); do
    printf '%s\n' $known | grep -qxF "$name" || fail "$name is not a part of the tree"
done

# One version: that of meson.build.
version=$(sed -n "s/^ *version: '\([^']*\)'.*/\1/p" meson.build | head -n 1)
grep -qx "version: ${version:?}" CITATION.cff || fail "CITATION.cff has another version than $version"
grep -qxF "## $version" NEWS.md || fail "NEWS.md has nothing about $version"
head -n 1 debian/changelog | grep -qF "($version)" || fail "debian/changelog has another version than $version"
bad=$(grep -LE "^\.TH .* \"pcgpu $version\" " man/*.[17])
[ -z "$bad" ] || fail "these pages have another version than $version: $bad"

# The words of CONTRIBUTING.md.
words=$(sed -n "s/^grep -rnwE '\([^']*\)' cmd lib cuda man README.md$/\1/p" CONTRIBUTING.md)
bad=$(grep -rnwE "${words:?}" cmd lib cuda man README.md; echo "$sources" | tr '\n' ' ' | xargs awk '{
    line = tolower($0); gsub("_", " ", line); print FILENAME ":" FNR ": " line }' | grep -wE "$words")
[ -z "$bad" ] || fail "words with another meaning in the field:
$bad"

bad=$(grep -nEw 'TODO|FIXME|XXX|HACK' $sources)
[ -z "$bad" ] || fail "unfinished work is an issue, not a mark:
$bad"

[ "$failures" -eq 0 ] || { echo "$failures broken" >&2 && exit 1; }
