/* PinholeCameraTrajectory of Open3D: a JSON object whose "parameters" have an "extrinsic" each, 16 numbers by columns,
 * which map the world into the camera. */
#include "json_scan.h"
#include "trajectory.h"
#include "transform.h"
#include "transform_file.h"

#include <stdlib.h>
#include <string.h>

/* The pose of the camera: the inverse. */
static bool pose_of(const double columns[16], double T[16], reason *why) {
    double v[16];
    for (int i = 0; i < 16; i++) {
        v[i] = columns[4 * (i % 4) + i / 4];
    }
    if (!transform_from_numbers(v, 16, T, why)) {
        return false;
    }
    pc_transform_invert(v, T);
    return true;
}

static bool add(const json_member *m, trajectory *t, reason *why) {
    double T[16];
    reason inner;
    if (m->count != 16) {
        return refuse(why, "extrinsic %lld has %d numbers; give 16, a 4x4 matrix by columns", (long long)t->count + 1,
                      m->count);
    }
    return (pose_of(m->numbers, T, &inner) || refuse(why, "extrinsic %lld: %s", (long long)t->count + 1, inner.text)) &&
           (trajectory_append(t, T, 0, t->count + 1) || refuse(why, "out of memory"));
}

bool trajectory_from_json(const char *text, size_t size, trajectory *t, reason *why) {
    json_scan scan = json_scan_begin(text, size);
    json_member m;
    json_event event;
    while ((event = json_scan_next(&scan, &m, why)) == JSON_MEMBER) {
        if (strcmp(m.key, "extrinsic") == 0 && !add(&m, t, why)) {
            return false;
        }
    }
    free(t->times);
    t->times = NULL;
    t->format = "Open3D JSON";
    return event == JSON_END &&
           (t->count > 0 || refuse(why, "no \"extrinsic\" of 16 numbers; give a PinholeCameraTrajectory of Open3D"));
}
