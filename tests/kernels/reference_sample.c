/* Farthest point sampling as the plain loop over records: no preparation, O(points x picks). */
#include "reference.h"

bool is_usable(const pcgpu_cloud *cloud, int64_t i, bool drop_origin) {
    const float *p = cloud->data + i * cloud->columns;
    bool finite = isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]);
    return finite && !(drop_origin && p[0] == 0.0f && p[1] == 0.0f && p[2] == 0.0f);
}

int64_t count_usable(const pcgpu_cloud *cloud, bool drop_origin, int64_t *first) {
    int64_t n = 0;
    *first = -1;
    for (int64_t i = 0; i < cloud->rows; i++) {
        if (is_usable(cloud, i, drop_origin)) {
            *first = n++ ? *first : i;
        }
    }
    return n;
}

float plain_squared(const float *a, const float *b) {
    float dx = a[0] - b[0], dy = a[1] - b[1], dz = a[2] - b[2];
    return dx * dx + dy * dy + dz * dz;
}

picks plain_sample(const pcgpu_cloud *cloud, int64_t start, int64_t count, float min_distance, bool drop_origin) {
    picks p = {0, calloc((size_t)count, 4), calloc((size_t)count, 4)};
    float *nearest = malloc((size_t)cloud->rows * sizeof *nearest);
    for (int64_t i = 0; i < cloud->rows; i++) {
        nearest[i] = is_usable(cloud, i, drop_origin) ? INFINITY : -1.0f;
    }
    int64_t pick = start;
    while (p.count < count) {
        float distance = sqrtf(nearest[pick]);
        if (p.count && distance < min_distance) {
            break;
        }
        p.indices[p.count] = (int32_t)pick;
        p.distances[p.count++] = distance;
        nearest[pick] = -1.0f;
        const float *at = cloud->data + pick * cloud->columns;
        int64_t best = -1;
        for (int64_t i = 0; i < cloud->rows; i++) {
            if (nearest[i] >= 0.0f) {
                float d = plain_squared(cloud->data + i * cloud->columns, at);
                nearest[i] = d < nearest[i] ? d : nearest[i];
                best = best < 0 || nearest[i] > nearest[best] ? i : best;
            }
        }
        pick = best;
    }
    free(nearest);
    return p;
}

void free_picks(picks *p) {
    free(p->indices);
    free(p->distances);
}
