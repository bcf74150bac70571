#!/bin/sh
# Usage: test_header.sh LANGUAGE STANDARD HEADER COMPILER...
# The header compiles alone, included twice, without a warning.
set -eu
language=$1 standard=$2 header=$3
shift 3
directory=$(dirname "$header")
printf '#include "pcgpu_odometry.h"\n#include "pcgpu_register.h"\n#include "pcgpu_depth.h"\n#include "pcgpu.h"\n#include "pcgpu.h"\n%s\n' \
    'int used(void); int used(void) { return PCGPU_MAX_COLUMNS; }' |
    "$@" -x "$language" -std="$standard" -Wall -Wextra -Wpedantic -Werror -I"$directory" -fsyntax-only -
