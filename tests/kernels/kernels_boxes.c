/* Points in oriented boxes: every back end against a loop, byte for byte. The sine and cosine are those of the C
 * library, which are the same in float32. */
#include "kernels.h"

enum { BOXES = 300, CLOUDS = 3 };

static bool plain_inside(const float *box, const float *p) {
    const float sine = (float)sin((double)box[6]), cosine = (float)cos((double)box[6]);
    const float dx = p[0] - box[0], dy = p[1] - box[1], dz = p[2] - box[2];
    const float along = dx * cosine + dy * sine, across = dy * cosine - dx * sine;
    return fabsf(dz) <= box[5] / 2 && fabsf(along) < box[3] / 2 && fabsf(across) < box[4] / 2;
}

/* Boxes about points of the cloud: of many sizes, among them 0, some upright, some with a side at a point. */
static void make_boxes(test_random *r, const pcgpu_cloud *cloud, float *boxes) {
    for (int b = 0; b < BOXES * CLOUDS; b++) {
        const float *p = cloud->data + (int64_t)(test_bits(r) % (uint64_t)cloud->rows) * cloud->columns;
        float *box = boxes + b * PCGPU_BOX_NUMBERS;
        for (int k = 0; k < 3; k++) {
            const float size = b % 7 == 0 ? 0.0f : ldexpf(1.0f, (int)(test_bits(r) % 8) - 4);
            box[k] = isfinite(p[k]) ? p[k] + (b % 3 == 0 ? size / 2 : 0.0f) : 1.0f;
            box[3 + k] = size;
        }
        box[6] = b % 4 == 0 ? 0.0f : test_uniform(r, -20.0f, 20.0f);
    }
}

static void check_boxes(test_bed *bed) {
    pcgpu_cloud cloud;
    const char *name;
    for (int kind = 0; make_cloud(kind, bed->seed, bed->quick ? 90 : 600, &cloud, &name); kind++) {
        const int64_t rows = cloud.rows / CLOUDS, all = rows * CLOUDS;
        const pcgpu_clouds clouds = {cloud.data, cloud.columns, CLOUDS, rows, NULL};
        test_random r = {bed->seed + (uint64_t)kind};
        float *boxes = malloc(BOXES * CLOUDS * PCGPU_BOX_NUMBERS * sizeof *boxes);
        int32_t *first = malloc(((size_t)all + 1) * sizeof *first), *want = malloc(((size_t)all + 1) * sizeof *want);
        uint8_t *inside = malloc((size_t)all * BOXES + 1), *wanted = malloc((size_t)all * BOXES + 1);
        make_boxes(&r, &cloud, boxes);
        for (int64_t i = 0; i < all; i++) {
            want[i] = -1;
            for (int b = BOXES - 1; b >= 0; b--) {
                const bool in =
                    plain_inside(boxes + (i / rows * BOXES + b) * PCGPU_BOX_NUMBERS, cloud.data + i * cloud.columns);
                wanted[i * BOXES + b] = in;
                want[i] = in ? b : want[i];
            }
        }
        for (int c = 0; c < bed->contexts; c++) {
            memset(first, 77, (size_t)all * sizeof *first);
            memset(inside, 77, (size_t)all * BOXES);
            const pcgpu_status status =
                pcgpu_points_in_boxes(bed->context[c], &clouds, boxes, BOXES, first, inside, NULL);
            expect(bed, status == PCGPU_OK, "%s: %s", name, pcgpu_last_error(bed->context[c]));
            expect(bed,
                   memcmp(first, want, (size_t)all * sizeof *first) == 0 &&
                       memcmp(inside, wanted, (size_t)all * BOXES) == 0,
                   "%s, %s: boxes", name, bed->label[c]);
        }
        boxes[3] = -1.0f;
        expect(bed,
               pcgpu_points_in_boxes(bed->context[0], &clouds, boxes, BOXES, first, NULL, NULL) ==
                       PCGPU_ERROR_ARGUMENT &&
                   strstr(pcgpu_last_error(bed->context[0]), "box 0 is "),
               "%s: a size below 0", name);
        free(boxes);
        free(first);
        free(want);
        free(inside);
        free(wanted);
        pcgpu_cloud_free(&cloud);
    }
}

const operation operation_boxes = {"boxes", check_boxes};
