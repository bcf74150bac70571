#!/bin/sh
# Usage: test_header.sh LANGUAGE STANDARD HEADER COMPILER...: the header compiles alone, twice included, with no warning.
set -eu
language=$1 standard=$2 header=$3
shift 3
directory=$(dirname "$header")
printf '#include "pcgpu.h"\n#include "pcgpu.h"\nint used(void);\nint used(void) { return PCGPU_MAX_COLUMNS; }\n' |
    "$@" -x "$language" -std="$standard" -Wall -Wextra -Wpedantic -Werror -I"$directory" -fsyntax-only -
