/* What the files of a page share: which rows and columns of a layer it has, and the text that holds them. */
#ifndef PC_PAGE_PARTS_H
#define PC_PAGE_PARTS_H

#include "page.h"

enum {
    PAGE_POINTS = 2000000, /* points, boxes and poses of all layers */
    PAGE_POSES = 200000,   /* poses of a trajectory */
    PAGE_BYTES = 22000000, /* before base64, which makes 29.4 MB of them */
    PAGE_MESH = 8000000    /* of these, for the meshes at least */
};

/* A column as whole numbers: value = low + code * step, and the largest code is a value that is not finite. */
typedef struct page_column {
    int column, bytes; /* 1 or 2; 0: left out */
    bool whole;        /* all values are whole numbers */
    double low, high, step;
} page_column;

typedef struct page_layer {
    const pc_layer *layer;
    int64_t count;          /* rows of the page, */
    int32_t *rows;          /* ascending; NULL: all rows of the layer */
    int64_t total;          /* points or triangles that the file has for it */
    int64_t outside;        /* rows so far from the others that positions would lose their digits; not in the page */
    int64_t every;          /* of a trajectory: the page has each so-manieth pose, else 1 */
    bool sampled;           /* some points are left out */
    double low[3], step[3]; /* position = low + code * step, in the coordinates of the cloud */
    page_column columns[PCGPU_MAX_COLUMNS];
    int column_count;
    pc_layer paint;                  /* borrowed: how the layer is painted by rgb; */
    bool rgb;                        /* whether it can */
    int classes, normals, intensity; /* columns of the cloud, -1 without them */
} page_layer;

/* page_rows.c: chooses the rows of a layer, at most `most`, and measures them. Errors: MEMORY, ARGUMENT. */
pcgpu_status page_choose_rows(pcgpu_context *context, int64_t most, page_layer *p);
static inline const float *page_row(const page_layer *p, int64_t i) {
    return pc_layer_row(p->layer, p->rows ? p->rows[i] : i);
}

/* The positions of a mesh and the corners of its triangles. */
static inline int64_t page_mesh_bytes(const pc_layer *l) {
    return 6 * l->cloud.rows + (l->cloud.rows > 65536 ? 12 : 6) * l->triangles;
}

/* page_columns.c: finds what layers can be painted by, and gives each column the bits that there are. Errors:
 * MEMORY. */
pcgpu_status page_choose_columns(pcgpu_context *context, const pc_scene *scene, const char *color, page_layer *pages);

/* page_text.c: text and base64 in a stream. An error of the stream is seen at the end. */
typedef struct page_text {
    FILE *stream;
    unsigned char bytes[3 * 1024]; /* that wait for their base64 */
    size_t used;
} page_text;

void page_bytes(page_text *t, const void *data, size_t size);
void page_end_bytes(page_text *t);
/* A string of JSON that is also safe in HTML: no < > & ' and no control characters; what is not UTF-8 becomes
 * U+FFFD. */
void page_string(page_text *t, const char *s);
void page_number(page_text *t, double v);

/* page_layer.c */
void page_write_layer(page_text *t, const page_layer *p); /* the object of JSON */
void page_write_data(page_text *t, const page_layer *p);  /* base64 */

/* The page before and after its data; made from lib/view/page/. */
extern const unsigned char pc_page_head[], pc_page_tail[];
extern const size_t pc_page_head_size, pc_page_tail_size;

#endif
