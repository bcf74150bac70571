/* info of a trajectory. */
#include "info.h"
#include "numbers.h"
#include "trajectory.h"
#include "transform.h"

#include <math.h>

#define DEGREES 57.29577951308232

typedef struct path_info {
    int64_t poses, missing;
    double length, turned, ends, largest; /* metres; degrees; first to last; the largest step */
    double low[3], high[3];
    double first, last, interval; /* seconds; NaN without times */
} path_info;

static double distance(const double *a, const double *b) {
    const double x = a[3] - b[3], y = a[7] - b[7], z = a[11] - b[11];
    return sqrt(x * x + y * y + z * z);
}

/* The angle of the rotation between two poses, in degrees. */
static double angle(const double *a, const double *b) {
    double between[16];
    pc_transform_between(a, b, between);
    return DEGREES * pcgpu_rotation_angle(between);
}

static void measure(const trajectory *t, path_info *info) {
    const double *first = NULL, *before = NULL;
    *info = (path_info){.poses = t->count, .first = NAN, .last = NAN, .interval = NAN};
    for (int64_t i = 0; i < t->count; i++) {
        const double *T = t->poses + 16 * i;
        if (isnan(T[0])) {
            info->missing++;
            continue;
        }
        for (int k = 0; k < 3; k++) {
            const double v = T[4 * k + 3];
            info->low[k] = !first || v < info->low[k] ? v : info->low[k];
            info->high[k] = !first || v > info->high[k] ? v : info->high[k];
        }
        const double step = before ? distance(before, T) : 0.0;
        info->length += step;
        info->largest = fmax(info->largest, step);
        info->turned += before ? angle(before, T) : 0.0;
        first = first ? first : T;
        before = T;
    }
    info->ends = first ? distance(first, before) : 0.0;
    if (t->times && t->count > 0) {
        const double unit = trajectory_unit(t->times, t->count);
        info->first = unit * t->times[0];
        info->last = unit * t->times[t->count - 1];
        info->interval = t->count > 1 ? (info->last - info->first) / (double)(t->count - 1) : NAN;
    }
}

static void add_result(json *out, const trajectory *t, const path_info *info) {
    json_text(out, "kind", "poses");
    json_text(out, "format", t->format);
    json_integer(out, "poses", info->poses);
    json_integer(out, "missing", info->missing);
    json_number(out, "length", info->length);
    json_number(out, "degrees", info->turned);
    json_number(out, "first_to_last", info->ends);
    json_number(out, "largest_step", info->largest);
    json_numbers(out, "min", info->low, 3);
    json_numbers(out, "max", info->high, 3);
    json_number(out, "first_time", info->first);
    json_number(out, "last_time", info->last);
    json_number(out, "duration", info->last - info->first);
}

static void print(const job *j, const trajectory *t, const path_info *info) {
    FILE *out = j->session->out;
    char text[2][NUMBER_SIZE];
    print_shown(out, j->names[0]);
    fprintf(out, ": poses, %s, %lld %s", t->format, (long long)info->poses, info->poses == 1 ? "pose" : "poses");
    fprintf(out, info->missing > 0 ? ", %lld of them missing\n" : "\n", (long long)info->missing);
    if (info->poses > info->missing) {
        fprintf(out,
                "  path: %.7g m and %.5g degree in all, %.7g m from the first to the last, at most %.4g m in a step\n",
                info->length, info->turned, info->ends, info->largest);
        fprintf(out, "  extent: x %.7g to %.7g, y %.7g to %.7g, z %.7g to %.7g m\n", info->low[0], info->high[0],
                info->low[1], info->high[1], info->low[2], info->high[2]);
    }
    if (!isnan(info->first)) {
        fprintf(out, "  times: %s to %s, %.7g s", number_text(info->first, false, text[0]),
                number_text(info->last, false, text[1]), info->last - info->first);
        fprintf(out, info->interval > 0 ? ", %.4g poses per second\n" : "\n", 1 / info->interval);
    }
    if (info->first > info->last) {
        fputs("  odd: the last time is before the first one\n", out);
    }
}

int info_poses(job *j, FILE *stream) {
    trajectory t;
    path_info info;
    reason why;
    if (!trajectory_read_stream(stream, j->names[0], &t, &why)) {
        return report_error(NULL, "%s", why.text);
    }
    measure(&t, &info);
    add_result(&j->result, &t, &info);
    if (!session_json_is_stdout(j->session)) {
        print(j, &t, &info);
    }
    trajectory_free(&t);
    return EXIT_DONE;
}
