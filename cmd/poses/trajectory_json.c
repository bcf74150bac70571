/* PinholeCameraTrajectory of Open3D: a JSON object whose "parameters" have an "extrinsic" each, 16 numbers by columns,
 * which map the world into the camera. */
#include "json_reader.h"
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

static bool add(const line_file *f, const json_member *m, trajectory *t) {
    const long long number = t->count + 1;
    double T[16];
    reason inner;
    if (m->count != 16) {
        return refuse(f->why, "%s: extrinsic %lld has %d numbers; give 16, a 4x4 matrix by columns", f->name, number,
                      m->count);
    }
    if (!pose_of(m->numbers, T, &inner)) {
        return refuse(f->why, "%s: extrinsic %lld: %s", f->name, number, inner.text);
    }
    trajectory_append(t, T, 0, number);
    return true;
}

bool trajectory_from_json(line_file *f, trajectory *t) {
    json_reader r = {.bytes = f->line, .size = f->length + 1, .stream = f->stream, .name = f->name, .why = f->why};
    json_member m;
    json_event event;
    f->line[f->length] = '\n';
    r.remedy = "give JSON as Open3D writes it";
    json_begin(&r);
    r.line = f->number;
    while ((event = json_next_member(&r, &m)) == JSON_KEY) {
        if (r.at > TEXT_LIMIT) {
            return json_wrong(&r, "more than 1 GiB up to here");
        }
        if (strcmp(m.key, "extrinsic") == 0 && !add(f, &m, t)) {
            return false;
        }
    }
    free(t->times);
    t->times = NULL;
    t->format = "Open3D JSON";
    return event == JSON_END &&
           (t->count > 0 ||
            refuse(f->why, "%s: no \"extrinsic\" of 16 numbers; give a PinholeCameraTrajectory of Open3D", f->name));
}
