/* Pages: a scene as one file of HTML that draws itself by WebGL, without a network. The same bytes on every run. */
#ifndef PC_PAGE_H
#define PC_PAGE_H

#include "view.h"

typedef struct pc_page {
    pc_from from;      /* of the first view; AUTO: ISO */
    double point_size; /* pixels; 0: by the number of points */
    const char *color; /* what the scene was painted by */
    pc_colormap map;
} pc_page;

typedef struct pc_page_counts {
    int64_t points, shown; /* usable points, boxes and poses, and those that the page has */
} pc_page_counts;

/* Writes a scene that has been painted. At most 2 million points and about 30 MB: above that, clouds are a random
 * sample, and columns have 8 bits or are left out; the page says so. Errors: MEMORY, IO, FORMAT (no layer has a usable
 * point, a depth image as it is, or meshes that are too large). */
pcgpu_status pc_page_write(pcgpu_context *context, FILE *stream, const char *name, const pc_scene *scene,
                           const pc_page *page, pc_page_counts *counts);

#endif
