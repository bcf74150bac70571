/* pcgpu voxelize into a cloud: one point per voxel, with all columns of the input.
 *
 * The mean of colours is a colour: that of red, green, blue or alpha bytes is rounded to a byte. */
#include "cloud.h"
#include "voxelize.h"

#include <math.h>
#include <string.h>

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

/* Moves the rows of features into a cloud like the input. */
static void take_rows(const pcgpu_cloud *input, pcgpu_voxels *v, pcgpu_cloud *out) {
    *out = *input;
    out->rows = v->count;
    out->width = 0;
    out->data = v->features;
    v->features = NULL;
    out->header = NULL; /* that of the input stays the input's */
    pcgpu_cloud_take_header(out, input, 1);
}

static int make_means(job *j, pcgpu_voxels *v, pcgpu_cloud *out) {
    const pcgpu_cloud *input = &j->clouds[0];
    pcgpu_voxels means = {0};
    if (pc_features_are_padded(voxelize_own(j->session->options)->params.features)) {
        pcgpu_voxelize_params params = voxelize_parameters(j);
        params.features = PCGPU_FEATURES_MEAN;
        PC_TRY(job_code(j, pcgpu_voxelize(j->session->context, input, &params, &means)));
    }
    pcgpu_voxels *from = means.features ? &means : v;
    take_rows(input, from, out);
    for (int k = 0; k < input->columns; k++) {
        out->types[k] = from->types[k];
        if (k >= 3 && is_colour(input, k)) {
            out->types[k] = PCGPU_UINT8;
            round_column(out, k);
        }
    }
    pcgpu_voxels_free(&means);
    return EXIT_DONE;
}

int voxels_write_cloud(job *j, pcgpu_voxels *v) {
    pcgpu_cloud out = {0};
    int code = EXIT_DONE;
    const pcgpu_features features = voxelize_own(j->session->options)->params.features;
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
