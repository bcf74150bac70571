/* .ply: what its readers, its writer and those of meshes share. */
#ifndef PC_IO_PLY_H
#define PC_IO_PLY_H

#include "buffer.h"
#include "cloud.h"
#include "io.h"

typedef struct pc_ply_property {
    pc_span name;
    uint8_t type;
    bool list;
    uint8_t count_type; /* of a list */
} pc_ply_property;

typedef struct pc_ply_element {
    pc_span name;
    int64_t count;
    size_t first, properties; /* in pc_ply.properties */
} pc_ply_element;

typedef struct pc_ply {
    bool ascii, swap;
    pc_up up; /* by a comment that pcgpu writes; AUTO: there is none */
    size_t element_count, property_count;
    pc_ply_element *elements;
    pc_ply_property *properties;
    pc_buffer element_memory, property_memory;
} pc_ply;

/* Reads the header up to and including the line end_header; spans point into the text. Errors: FORMAT, MEMORY. */
pcgpu_status pc_ply_header(const pc_file *file, pc_text *text, pc_ply *ply);
void pc_ply_free(pc_ply *ply);
/* The first element of this name, or NULL. */
const pc_ply_element *pc_ply_element_called(const pc_ply *ply, const char *name);

/* A file that is read, shared by io_ply.c and io_mesh_read.c. */
typedef struct pc_ply_input {
    const pc_file *file;
    pc_ply ply;
    pc_text text; /* p is the start of the next element */
} pc_ply_input;

/* Skips an element. Errors: FORMAT (the file ends). */
pcgpu_status pc_ply_skip(pc_ply_input *in, const pc_ply_element *element);
/* The length of a list; a negative length becomes huge and then exceeds the file. */
uint64_t pc_ply_list_length(const char *p, const pc_ply_property *property, bool swap);

/* io_ply_write.c */
pcgpu_status pc_ply_write(const pc_file *file, const pcgpu_cloud *cloud);
pcgpu_status pc_ply_write_ascii(const pc_file *file, const pcgpu_cloud *cloud);
pcgpu_status pc_ply_write_mesh(const pc_file *file, const pcgpu_mesh *mesh);

#endif
