/* pcgpu voxelize --batch: all inputs in one file, for a training step. The inputs are read and voxelized one after the
 * other; only their voxels are kept in memory. */
#include "voxelize.h"

#include <stdlib.h>
#include <string.h>

typedef struct batch {
    int count;            /* of the inputs */
    pcgpu_voxels *voxels; /* of each */
    pcgpu_voxels all;
    dynamic_points points;                  /* of dynamic voxelization */
    int32_t *voxel_offsets, *point_offsets; /* inputs + 1: the first of each input in `all`; the last is the total */
} batch;

/* Copies feature rows; wider rows are padded with zeros. */
static void copy_features(float *out, int64_t capacity, const pcgpu_voxels *v) {
    size_t width = (size_t)v->capacity * (size_t)v->columns, wide = (size_t)capacity * (size_t)v->columns;
    for (int64_t i = 0; i < v->count; i++) {
        memcpy(out, v->features + (size_t)i * width, width * sizeof *out);
        memset(out + width, 0, (wide - width) * sizeof *out);
        out += wide;
    }
}

static void copy_voxels(pcgpu_voxels *all, int64_t voxel, int64_t point, int batch_index, const pcgpu_voxels *v) {
    int32_t *coords = all->coords + 4 * voxel;
    copy_features(all->features + (size_t)voxel * (size_t)all->capacity * (size_t)all->columns, all->capacity, v);
    memcpy(coords, v->coords, (size_t)v->count * 4 * sizeof *coords);
    for (int64_t i = 0; i < v->count; i++) {
        coords[4 * i] = batch_index;
    }
    memcpy(all->counts + voxel, v->counts, (size_t)v->count * sizeof *all->counts);
    for (int64_t i = 0; i < v->run.points_in; i++) {
        int32_t own = v->point_voxel[i];
        all->point_voxel[point + i] = own < 0 ? own : (int32_t)(own + voxel);
    }
}

/* Computes the offsets of the inputs and the shape of `all`. */
static int measure(batch *b, const job *jobs) {
    pcgpu_voxels *all = &b->all;
    b->voxel_offsets = heap_zeroed((size_t)b->count + 1, sizeof *b->voxel_offsets);
    b->point_offsets = heap_zeroed((size_t)b->count + 1, sizeof *b->point_offsets);
    all->columns = b->voxels[0].columns;
    for (int i = 0; i < b->count; i++) {
        const pcgpu_voxels *v = &b->voxels[i];
        b->voxel_offsets[i] = (int32_t)all->count;
        b->point_offsets[i] = (int32_t)all->run.points_in;
        all->count += v->count;
        all->run.points_in += v->run.points_in;
        all->capacity = v->capacity > all->capacity ? v->capacity : all->capacity;
        if (all->count > INT32_MAX || all->run.points_in > INT32_MAX) {
            return report_error(
                jobs[i].names[0],
                "with this input the batch has %lld points in %lld voxels, and ids have 32 bits; split it "
                "below 2^31",
                (long long)all->run.points_in, (long long)all->count);
        }
    }
    b->voxel_offsets[b->count] = (int32_t)all->count;
    b->point_offsets[b->count] = (int32_t)all->run.points_in;
    return EXIT_DONE;
}

/* Moves the voxels of all jobs into `all`. */
static int join(batch *b, const job *jobs) {
    pcgpu_voxels *all = &b->all;
    PC_TRY(measure(b, jobs));
    size_t voxels = (size_t)all->count, points = (size_t)all->run.points_in, one = voxels ? voxels : 1;
    size_t row = (size_t)all->capacity * (size_t)all->columns * sizeof *all->features;
    all->features = one <= SIZE_MAX / row ? malloc(one * row) : NULL;
    all->coords = malloc(one * 4 * sizeof *all->coords);
    all->counts = malloc(one * sizeof *all->counts);
    all->point_voxel = malloc((points ? points : 1) * sizeof *all->point_voxel);
    if (!all->features || !all->coords || !all->counts || !all->point_voxel) {
        return report_error(
            jobs->names[0],
            "out of memory; the features of the batch need %.3g GB: give fewer inputs, or limit points and "
            "voxels",
            (double)one * (double)row / 1e9);
    }
    for (int i = 0; i < b->count; i++) {
        copy_voxels(all, b->voxel_offsets[i], b->point_offsets[i], i, &b->voxels[i]);
        pcgpu_voxels_free(&b->voxels[i]);
    }
    return EXIT_DONE;
}

static pcgpu_array offsets_array(const char *name, const int32_t *offsets, int inputs) {
    return (pcgpu_array){.name = name, .type = PCGPU_INT32, .dimensions = 1, .shape = {inputs + 1}, .data = offsets};
}

static int write_batch(void *sink, job *jobs) {
    batch *b = sink;
    PC_TRY(join(b, jobs));
    PC_TRY(voxels_write_sides(jobs, &b->all));
    if (!job_stream(jobs, "output")) {
        return EXIT_DONE;
    }
    const pcgpu_array more[] = {offsets_array("voxel_offsets", b->voxel_offsets, b->count), voxels_point_array(&b->all),
                                offsets_array("point_offsets", b->point_offsets, b->count)};
    return b->points.columns > 0 ? dynamic_write(jobs, &b->points) : voxels_write(jobs, &b->all, more, 3);
}

static int add(void *sink, job *jobs, int i) {
    batch *b = sink;
    job *j = &jobs[i];
    const voxelize_values *own = voxelize_own(j->session->options);
    b->voxels = heap_grow(b->voxels, (size_t)b->count, sizeof *b->voxels);
    pcgpu_voxels *v = &b->voxels[b->count++];
    PC_TRY(voxelize_cloud(j, v));
    if (v->columns != b->voxels[0].columns) {
        return report_error(j->names[0], "%d columns, and %s has %d; those of a batch must be the same", v->columns,
                            jobs->names[0], b->voxels[0].columns);
    }
    if (own->voxelization == VOXELIZATION_DYNAMIC) {
        PC_TRY(dynamic_add(j, v, i, &b->points));
    } else {
        voxels_add_offset(j, v);
    }
    pcgpu_cloud_free(&j->clouds[0]);
    return EXIT_DONE;
}

static void free_batch(void *sink) {
    batch *b = sink;
    for (int i = 0; i < b->count; i++) {
        pcgpu_voxels_free(&b->voxels[i]);
    }
    pcgpu_voxels_free(&b->all);
    dynamic_free(&b->points);
    free(b->voxels);
    free(b->voxel_offsets);
    free(b->point_offsets);
}

const job_sink voxelize_sink = {sizeof(batch), add, write_batch, free_batch};
