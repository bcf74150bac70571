/* pcgpu convert: reads clouds, moves, crops and selects, and writes them in another format. */
#include "cloud.h"
#include "convert.h"
#include "merge.h"
#include "transform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* The rows that are kept. */
typedef struct row_filter {
    bool drop_origin, crop;
    float low[3], high[3]; /* of the box, relative to the offset of the cloud */
    const int32_t *boxes;  /* the first oriented box of each row, or -1; or NULL */
    bool outside;          /* of these boxes */
} row_filter;

/* The bounds are rounded to float32, and the upper ones are outside. */
static bool is_inside(const row_filter *f, const float *p) {
    bool inside = true;
    for (int k = 0; k < 3; k++) {
        inside = inside && p[k] >= f->low[k] && p[k] < f->high[k];
    }
    return inside;
}

/* Keeps the rows that pass, in their order, and counts the others in `run`. */
static void filter_rows(const row_filter *f, pcgpu_cloud *cloud, pcgpu_run *run) {
    const size_t size = (size_t)cloud->columns * sizeof *cloud->data;
    int64_t kept = 0;
    for (int64_t i = 0; i < cloud->rows; i++) {
        const float *p = cloud->data + i * cloud->columns;
        const bool origin = f->drop_origin && pc_at_origin(cloud, p),
                   finite = (!f->crop && !f->boxes) || pc_is_finite3(p[0], p[1], p[2]);
        run->at_origin += origin;
        run->non_finite += !origin && !finite;
        if (!origin && finite && (!f->crop || is_inside(f, p)) && (!f->boxes || (f->boxes[i] < 0) == f->outside)) {
            memmove(cloud->data + kept++ * cloud->columns, p, size);
        }
    }
    cloud->width = kept == cloud->rows ? cloud->width : 0;
    cloud->rows = kept;
}

/* What is no return becomes a point like others when it moves. */
static void warn_of_origin(const job *j, const char *name, const pcgpu_cloud *cloud) {
    const long long count = job_kept_at_origin(j, cloud);
    if (count > 0) {
        report_warning(
            name,
            "%lld records at (0,0,0), which are no returns of some sensors, move like points; give --drop-origin "
            "to leave them out, or --keep-origin",
            count);
    }
}

static void crop(const double box[6], pcgpu_cloud *cloud, pcgpu_run *run) {
    row_filter f = {.crop = true};
    for (int k = 0; k < 3; k++) {
        f.low[k] = (float)(box[k] - cloud->offset[k]);
        f.high[k] = (float)(box[3 + k] - cloud->offset[k]);
    }
    filter_rows(&f, cloud, run);
}

/* ---- moving ------------------------------------------------------------------------------------------------------ */

/* The bounds of a box after a transform. */
static bounds moved_bounds(const bounds *b, const double T[16]) {
    bounds moved = no_bounds;
    for (int corner = 0; corner < 8 && b->low[0] <= b->high[0]; corner++) {
        double p[3], q[3];
        for (int k = 0; k < 3; k++) {
            p[k] = corner >> k & 1 ? b->high[k] : b->low[k];
        }
        pc_transform_apply(T, p, q);
        bounds_add_point(&moved, q);
    }
    return moved;
}

/* The header speaks of the coordinates as they were. */
static void drop_header(const char *name, pcgpu_cloud *cloud) {
    const pcgpu_cloud none = {.header = NULL};
    if (cloud->header) {
        report_warning(
            name, "left out: what the header says of the coordinates as they were, such as their coordinate system");
        pcgpu_cloud_take_header(cloud, &none, 1);
    }
}

static void scale(const char *name, double factor, pcgpu_cloud *cloud) {
    const double T[16] = {factor, 0, 0, 0, 0, factor, 0, 0, 0, 0, factor, 0, 0, 0, 0, 1};
    bounds before = no_bounds;
    double offset[3];
    drop_header(name, cloud);
    bounds_add_cloud(&before, cloud);
    const bounds after = moved_bounds(&before, T);
    bounds_offset(&after, name, offset);
    for (int64_t i = 0; i < cloud->rows; i++) {
        float *p = cloud->data + i * cloud->columns;
        for (int k = 0; k < 3; k++) {
            p[k] = (float)(factor * (cloud->offset[k] + (double)p[k]) - offset[k]);
        }
    }
    memcpy(cloud->offset, offset, sizeof offset);
}

static int move(pcgpu_context *context, const char *name, const double T[16], pcgpu_cloud *cloud) {
    bounds before = no_bounds;
    double offset[3];
    pcgpu_cloud out;
    bounds_add_cloud(&before, cloud);
    const bounds after = moved_bounds(&before, T);
    bounds_offset(&after, name, offset);
    drop_header(name, cloud);
    PC_TRY(exit_code_of(pcgpu_cloud_transform(context, cloud, T, offset, &out), name, context));
    pcgpu_cloud_free(cloud);
    *cloud = out;
    return EXIT_DONE;
}

/* ---- a job ------------------------------------------------------------------------------------------------------- */

/* Drops, scales, moves, crops and selects, in this order. Adds what is dropped to the run of the job. */
static int convert_cloud(job *j, const char *name, pcgpu_cloud *cloud) {
    const option_values *o = j->session->options;
    const convert_values *own = convert_own(o);
    j->run.points_in += cloud->rows;
    if (o->drop_origin) {
        const row_filter origin = {.drop_origin = true};
        filter_rows(&origin, cloud, &j->run);
    }
    if (own->scale > 0) {
        scale(name, own->scale, cloud);
    }
    if (own->transform_input) {
        warn_of_origin(j, name, cloud);
        PC_TRY(move(j->session->context, name, own->T, cloud));
    }
    if (!own->crop.range_auto) {
        crop(own->crop.range, cloud, &j->run);
    }
    if (own->boxes_input) {
        int32_t *boxes = NULL;
        const int code = boxes_find(j, cloud, &boxes);
        const row_filter f = {.boxes = boxes, .outside = own->outside};
        if (code == EXIT_DONE) {
            filter_rows(&f, cloud, &j->run);
        }
        free(boxes);
        PC_TRY(code);
    }
    column_list list;
    reason why;
    return !o->columns                              ? EXIT_DONE
           : columns_parse(o->columns, &list, &why) ? columns_take(j->session->context, name, &list, cloud)
                                                    : EXIT_USAGE; /* the text was checked before */
}

static void add_result(job *j, const pcgpu_cloud *cloud) {
    json *out = &j->result;
    json_integer(out, "non_finite", j->run.non_finite);
    json_integer(out, "at_origin", j->run.at_origin);
    json_integer(out, "outside", j->run.points_in - j->run.non_finite - j->run.at_origin - cloud->rows);
    json_key(out, "columns");
    for (int k = 0; k < cloud->columns; k++) {
        if (!pcgpu_column_is_remainder(cloud, k)) {
            fputs(k ? ", " : "[", out->out);
            json_print_string(out->out, cloud->names[k]);
        }
    }
    fputc(']', out->out);
}

static int write_result(job *j, pcgpu_cloud *cloud) {
    const convert_values *own = convert_own(j->session->options);
    if (cloud->rows == 0 && j->run.points_in > 0 && (!own->crop.range_auto || own->boxes_input)) {
        report_warning(j->names[0], "none of %lld points is %s; check --%s", (long long)j->run.points_in,
                       !own->boxes_input ? "in the box"
                       : own->outside    ? "outside of the boxes"
                                         : "in a box",
                       own->boxes_input ? "boxes" : "crop");
    }
    PC_TRY(columns_fit_output(j, cloud));
    j->points_out = cloud->rows;
    add_result(j, cloud);
    return job_write_cloud(j, cloud);
}

int convert_process(job *j) {
    progress_begin(j->names[0], "converting");
    PC_TRY(convert_cloud(j, j->names[0], &j->clouds[0]));
    return write_result(j, &j->clouds[0]);
}

/* ---- --merge ----------------------------------------------------------------------------------------------------- */

typedef struct merge {
    pcgpu_cloud *clouds;
    int count;
} merge;

static int add(void *sink, job *j, int i) {
    merge *m = sink;
    (void)i;
    PC_TRY(convert_cloud(j, j->names[0], &j->clouds[0]));
    m->clouds = heap_grow(m->clouds, (size_t)m->count, sizeof *m->clouds);
    m->clouds[m->count++] = job_take_cloud(j);
    return EXIT_DONE;
}

static int write(void *sink, job *j) {
    merge *m = sink;
    pcgpu_cloud all;
    PC_TRY(job_code(j, clouds_merge(j->session->context, job_output_name(j, "output"), m->clouds, m->count, &all)));
    const int code = write_result(j, &all);
    pcgpu_cloud_free(&all);
    return code;
}

static void free_merge(void *sink) {
    merge *m = sink;
    for (int i = 0; i < m->count; i++) {
        pcgpu_cloud_free(&m->clouds[i]);
    }
    free(m->clouds);
}

const job_sink convert_sink = {sizeof(merge), add, write, free_merge};
