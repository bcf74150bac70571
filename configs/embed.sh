#!/bin/sh
# Writes a C source with configurations as texts: embed.sh NAME.yaml... > configs.c. Bytes as numbers, since a string
# literal of C11 need not hold more than 4,095 of them.
echo '#include "config.h"'
echo 'const config_text config_texts[] = {'
for file in "$@"; do
    name=${file##*/}
    printf '    {"%s", (const char[]){%s0}},\n' "${name%.yaml}" \
        "$(od -An -v -tu1 "$file" | tr -s ' \n' ',' | sed 's/^,//')"
done
echo '    {0}};'
