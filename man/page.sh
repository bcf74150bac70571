#!/bin/sh
# page.sh PAGE PROGRAM: a page as it is installed, on standard output. Its OPTIONS are what the program's table of options makes of them.
name=${1##*/pcgpu-}
PROGRAM=$2 exec awk -v options="\"\$PROGRAM\" help --man ${name%.1}" '
    /^\.\\" page.sh writes the options/ {
        while ((options | getline line) > 0) { print line; any = 1 }
        if (!any) { print "no options of a page" > "/dev/stderr"; exit 1 }
        next
    }
    { print }' "$1"
