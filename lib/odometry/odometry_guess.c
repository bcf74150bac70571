/* Odometry: the motion of the sensor from elsewhere, as poses at times, in place of a prediction at constant
 * velocity. */
#include "odometry.h"

#include <stdlib.h>
#include <string.h>

pcgpu_status pc_motion_set(pcgpu_context *context, pc_motion *m, const double *times, const double *poses,
                           int64_t count) {
    char why[160];
    for (int64_t i = 0; i < count; i++) {
        if (!(times[i] - times[i] == 0.0) || (i > 0 && times[i] <= times[i - 1])) {
            return pc_fail(context, PCGPU_ERROR_ARGUMENT, "pose %lld of the motion has the time %.17g; times must rise",
                           (long long)i + 1, times[i]);
        }
        if (!pcgpu_is_rigid(poses + 16 * i, why, sizeof why)) {
            return pc_fail(context, PCGPU_ERROR_ARGUMENT, "pose %lld of the motion: %s", (long long)i + 1, why);
        }
    }
    const size_t numbers = (size_t)count * 17;
    double *memory = malloc((numbers + 1) * sizeof *memory);
    if (!memory) {
        return pc_fail_memory(context, numbers * sizeof *memory, "the motion");
    }
    memcpy(memory, poses, (size_t)count * 16 * sizeof *memory);
    memcpy(memory + 16 * count, times, (size_t)count * sizeof *memory);
    pc_motion_free(m);
    *m = (pc_motion){.count = count, .poses = memory, .times = memory + 16 * count};
    return PCGPU_OK;
}

void pc_motion_free(pc_motion *m) {
    free(m->poses);
    *m = (pc_motion){0};
}

/* The pose at a time, at constant velocity between two poses. */
static bool pose_at(const pc_motion *m, double time, double T[16]) {
    int64_t low = 0, high = m->count;
    while (low < high) { /* the first pose at or behind the time */
        const int64_t middle = low + (high - low) / 2;
        low = m->times[middle] < time ? middle + 1 : low;
        high = m->times[middle] < time ? high : middle;
    }
    if (low == m->count || (low == 0 && m->times[0] > time)) {
        return false;
    }
    if (m->times[low] == time) {
        memcpy(T, m->poses + 16 * low, 16 * sizeof *T);
        return true;
    }
    const double *before = m->poses + 16 * (low - 1), begin = m->times[low - 1];
    double step[16];
    pc_transform_between(before, m->poses + 16 * low, step);
    const pc_twist twist = pc_twist_of(step);
    pc_twist_after(&twist, (time - begin) / (m->times[low] - begin), step);
    pc_transform_multiply(before, step, T);
    return true;
}

bool pc_motion_between(const pc_motion *m, double from, double to, double step[16]) {
    double before[16], after[16];
    if (m->count == 0 || !pose_at(m, from, before) || !pose_at(m, to, after)) {
        return false;
    }
    pc_transform_between(before, after, step);
    return true;
}
