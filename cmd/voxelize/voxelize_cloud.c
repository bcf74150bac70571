/* pcgpu voxelize into a cloud: one point per voxel, with all columns of the input.
 *
 * The mean of colours is a colour: a packed colour (rgb of .pcd: four bytes in the bits of a float) is averaged byte by
 * byte; the mean of red, green, blue or alpha bytes is rounded to a byte. */
#include "voxelize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 4 };

/* ---- packed colours ------------------------------------------------------------------------------------------ */

static bool is_packed_colour(const pcgpu_cloud *cloud, int k) {
    bool named = strcmp(cloud->names[k], "rgb") == 0 || strcmp(cloud->names[k], "rgba") == 0;
    return named && (cloud->types[k] == PCGPU_FLOAT32 || cloud->types[k] == PCGPU_UINT32);
}

static uint32_t packed_bits(float value, int type) {
    uint32_t bits = 0;
    if (type == PCGPU_FLOAT32) {
        memcpy(&bits, &value, sizeof bits);
    } else if (value >= 0.0f && value < 4294967296.0f) {
        bits = (uint32_t)value;
    }
    return bits;
}

static float packed_value(uint32_t bits, int type) {
    float value = (float)bits;
    if (type == PCGPU_FLOAT32) {
        memcpy(&value, &bits, sizeof value);
    }
    return value;
}

/* Replaces column k of the means. False when memory is exhausted. */
static bool average_packed(const pcgpu_cloud *input, const pcgpu_voxels *v, int k, pcgpu_cloud *means) {
    uint64_t(*sums)[BYTES] = calloc(v->count ? (size_t)v->count : 1, sizeof *sums);
    if (!sums) {
        return false;
    }
    for (int64_t i = 0; i < input->rows; i++) {
        if (v->point_voxel[i] >= 0) {
            uint32_t bits = packed_bits(input->data[i * input->columns + k], input->types[k]);
            for (int c = 0; c < BYTES; c++) {
                sums[v->point_voxel[i]][c] += bits >> 8 * c & 0xff;
            }
        }
    }
    for (int64_t i = 0; i < v->count; i++) {
        uint64_t n = (uint64_t)v->counts[i];
        uint32_t bits = 0;
        for (int c = 0; c < BYTES; c++) {
            bits |= (uint32_t)((2 * sums[i][c] + n) / (2 * n)) << 8 * c;
        }
        means->data[i * means->columns + k] = packed_value(bits, input->types[k]);
    }
    means->types[k] = input->types[k];
    free(sums);
    return true;
}

/* ---- means --------------------------------------------------------------------------------------------------- */

static bool is_colour(const pcgpu_cloud *cloud, int k) {
    static const char *const names[] = {"red", "green", "blue", "alpha", NULL};
    for (int i = 0; names[i]; i++) {
        if (strcmp(cloud->names[k], names[i]) == 0) {
            return cloud->types[k] == PCGPU_UINT8;
        }
    }
    return false;
}

static void round_column(pcgpu_cloud *cloud, int k) {
    for (int64_t i = 0; i < cloud->rows; i++) {
        float *value = cloud->data + i * cloud->columns + k;
        *value = floorf(*value + 0.5f);
    }
}

/* The columns of a cloud whose rows are means. */
static bool finish_means(const pcgpu_cloud *input, const pcgpu_voxels *v, pcgpu_cloud *means) {
    for (int k = 0; k < input->columns; k++) {
        /* The mean of integers is not an integer. */
        means->types[k] = input->types[k] == PCGPU_FLOAT64 ? PCGPU_FLOAT64 : PCGPU_FLOAT32;
        if (k >= 3 && is_colour(input, k)) {
            means->types[k] = PCGPU_UINT8;
            round_column(means, k);
        } else if (k >= 3 && is_packed_colour(input, k) && !average_packed(input, v, k, means)) {
            return false;
        }
    }
    return true;
}

bool voxels_need_points(const pcgpu_cloud *input) {
    bool packed = false;
    for (int k = 3; k < input->columns; k++) {
        packed = packed || is_packed_colour(input, k);
    }
    return packed;
}

/* Moves the rows of features into a cloud like the input. */
static void take_rows(const pcgpu_cloud *input, pcgpu_voxels *v, pcgpu_cloud *out) {
    *out = *input;
    out->rows = v->count;
    out->data = v->features;
    v->features = NULL;
}

static int make_means(job *j, pcgpu_voxels *v, pcgpu_cloud *out) {
    const pcgpu_cloud *input = &j->clouds[0];
    pcgpu_voxels means = {0};
    if (features_are_padded(j->session->options->voxelize.features) && !j->in_pieces) { /* in pieces v has the means */
        pcgpu_voxelize_params params = voxelize_parameters(j);
        params.features = PCGPU_FEATURES_MEAN;
        pcgpu_status status = pcgpu_voxelize(j->session->context, input, &params, &means);
        if (status != PCGPU_OK) {
            return job_failed(j, status);
        }
    }
    take_rows(input, means.features ? &means : v, out);
    const bool good = finish_means(input, v, out);
    pcgpu_voxels_free(&means);
    if (!good) {
        report_error(j->names[0], "out of memory");
    }
    return good ? EXIT_DONE : EXIT_FAILED;
}

int voxels_write_cloud(job *j, pcgpu_voxels *v) {
    pcgpu_cloud out = {0};
    int code = EXIT_DONE;
    const pcgpu_features features = j->session->options->voxelize.features;
    if (features == PCGPU_FEATURES_FIRST || features == PCGPU_FEATURES_NEAREST) {
        take_rows(&j->clouds[0], v, &out);
    } else {
        code = make_means(j, v, &out);
    }
    if (code == EXIT_DONE) {
        code = job_write_cloud(j, &out);
    }
    pcgpu_cloud_free(&out);
    return code;
}
