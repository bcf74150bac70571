#!/bin/sh
# Usage: test_header.sh LANGUAGE STANDARD HEADER COMPILER...
# The header and its parts compile alone, whichever comes first, included twice, without a warning.
set -eu
language=$1 standard=$2 header=$3
shift 3
directory=$(dirname "$header")
for first in pcgpu.h pcgpu_depth.h pcgpu_file.h pcgpu_device.h pcgpu_pieces.h pcgpu_sample.h pcgpu_neighbors.h pcgpu_filter.h pcgpu_voxelize.h pcgpu_register.h pcgpu_register_depth.h pcgpu_odometry.h pcgpu_loops.h pcgpu_volume.h pcgpu_odometry_depth.h; do
    printf '#include "%s"\n' "$first" pcgpu_register.h pcgpu_depth.h pcgpu_register_depth.h pcgpu.h pcgpu.h |
        { cat; printf '%s\n' 'int used(void); int used(void) { return PCGPU_MAX_COLUMNS + PCGPU_DEPTH_LEVELS; }'; } |
        "$@" -x "$language" -std="$standard" -Wall -Wextra -Wpedantic -Werror -I"$directory" -fsyntax-only -
done
