#!/bin/sh
# The dictionary of a target, of.sh TARGET FILE: prints the name of a file, which is written to FILE where it is of several. A .dict has the
# names of its parsers; commands, and parsers of any format, take all words.
here=$(cd "${0%/*}" && pwd)
for dictionary in "$here"/*.dict; do
    name=${dictionary##*/}
    case +${name%.dict}+ in *+"$1"+*) echo "$dictionary"; exit ;; esac
done
cat "$here"/*.dict > "$2"
echo "$2"
