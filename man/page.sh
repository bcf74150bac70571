#!/bin/sh
# page.sh PAGE PROGRAM...: a page as it is installed, on standard output. Its OPTIONS are what the program's table of options makes of them.
page=$1 name=${1##*/pcgpu-} OPTIONS=''
shift
if grep -q '^\.\\" page.sh writes the options' "$page"; then
    OPTIONS=$("$@" help --man "${name%.1}") && [ "$OPTIONS" ] || { echo 'no options of a page' >&2 && exit 1; }
fi
export OPTIONS
exec awk '/^\.\\" page.sh writes the options/ { print ENVIRON["OPTIONS"]; next } { print }' "$page"
