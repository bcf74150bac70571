/* Files: types of pcgpu.h, which includes this header. */
#ifndef PCGPU_FILE_H
#define PCGPU_FILE_H

#include <stdint.h>

/* What a file says besides its points. */
typedef struct pcgpu_file_info {
    char encoding[96]; /* such as "binary, big endian", "LAS 1.4, point format 6"; "" when there is nothing to say */
    int64_t width, height; /* of an organized cloud, such as that of a depth camera, row by row; 0: not organized */
    int64_t faces;         /* of a mesh, whose vertices are the points; 0: none */
    char arrays[512];      /* of an .npz none of whose arrays is a cloud: "voxels (5714, 32, 4) <f4, ..." */
} pcgpu_file_info;

#endif
