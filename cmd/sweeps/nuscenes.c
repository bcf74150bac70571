/* The tables of nuScenes (www.nuscenes.org, "data format"): sample_data has the scans of a sensor as a list, latest to
 * earliest by `prev`; ego_pose the pose of the car at each; calibrated_sensor the pose of the sensor on the car.
 *
 * The tables of the whole dataset have gigabytes. They are read object by object; of sample_data the scans (.bin) stay,
 * of ego_pose the poses that the inputs need. */
#include "files.h"
#include "heap.h"
#include "json_table.h"
#include "sweep_table.h"
#include "transform.h"
#include "transform_file.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A row of sample_data, beside its scan. */
typedef struct row {
    char *token, *previous, *ego_pose, *sensor; /* of one block, which `token` begins */
    bool has_sensor;                            /* the pose of the scan is that of the sensor */
} row;

typedef struct key {
    const char *text;
    int64_t scan;
} key;

typedef struct reader {
    sweep_table *table;
    row *rows;
    key *order;          /* the scans, by what is looked for */
    char *root, *tables; /* folders */
    reason *why;
    json_reader json;
} reader;

/* ---- folders ----------------------------------------------------------------------------------------------------- */

static bool has_tables(const char *folder) {
    char *path = heap_text("%s/sample_data.json", folder);
    const bool there = access(path, F_OK) == 0;
    free(path);
    return there;
}

/* The folders of the data and of its tables: ROOT and ROOT/v1.0-..., or ROOT/.. and ROOT. */
static bool find_tables(reader *r, const char *root) {
    if (has_tables(root)) {
        r->tables = heap_text("%s", root);
        r->root = heap_text("%s/..", root);
        return true;
    }
    DIR *folder = opendir(root);
    if (!folder) {
        return refuse(r->why, "%s: %s; give the folder of nuScenes with samples, sweeps and v1.0-...", root,
                      strerror(errno));
    }
    bool good = true;
    for (struct dirent *e; good && (e = readdir(folder));) {
        char *path = e->d_name[0] == '.' ? NULL : heap_text("%s/%s", root, e->d_name);
        if (path && has_tables(path) && r->tables) {
            good = refuse(r->why, "%s has tables in several folders; give one of them, such as %s", root,
                          strcmp(path, r->tables) < 0 ? path : r->tables);
        } else if (path && has_tables(path)) {
            r->tables = path;
            path = NULL;
        }
        free(path);
    }
    closedir(folder);
    r->root = heap_text("%s", root);
    return good && (r->tables || refuse(r->why,
                                        "%s: no folder in it has sample_data.json; give the folder of nuScenes with "
                                        "samples, sweeps and v1.0-...",
                                        root));
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

typedef bool (*take_object)(reader *r, const json_field *members);

static bool read_table(reader *r, const char *name, json_field *members, int count, take_object take) {
    char *path = heap_text("%s/%s", r->tables, name);
    bool good = json_table_open(&r->json, path, r->why);
    json_event next = JSON_END;
    while (good && (next = json_table_next(&r->json, members, count)) == JSON_OBJECT) {
        good = take(r, members);
    }
    json_table_close(&r->json);
    free(path);
    return good && next == JSON_END;
}

enum { TOKEN, PREVIOUS, EGO_POSE, SENSOR, FILENAME, TIMESTAMP, SAMPLE_MEMBERS };

/* One block for the four tokens. */
static void set_row(row *out, const json_field *m) {
    size_t size = 0, at = 0;
    char **const fields[] = {&out->token, &out->previous, &out->ego_pose, &out->sensor};
    for (int i = TOKEN; i <= SENSOR; i++) {
        size += strlen(m[i].text) + 1;
    }
    char *block = heap_take(NULL, size);
    for (int i = TOKEN; i <= SENSOR; i++) {
        *fields[i] = block + at;
        at += (size_t)snprintf(block + at, size - at, "%s", m[i].text) + 1;
    }
}

static bool take_scan(reader *r, const json_field *m) {
    sweep_table *t = r->table;
    const size_t n = strlen(m[FILENAME].text), count = (size_t)t->count;
    if (n < 4 || strcmp(m[FILENAME].text + n - 4, ".bin") != 0) {
        return true; /* an image or radar */
    }
    if (!path_stays_below(m[FILENAME].text)) {
        return refuse(
            r->why,
            "%s/sample_data.json: the scan %s is %s, which is not below the folder of nuScenes; give names as "
            "samples/LIDAR_TOP/...",
            r->tables, m[TOKEN].text, m[FILENAME].text);
    }
    const sweep_scan scan = {
        .path = heap_text("%s/%s", r->root, m[FILENAME].text), .time = 1e-6 * m[TIMESTAMP].values[0], .previous = -1};
    r->rows = heap_grow(r->rows, count, sizeof *r->rows);
    r->rows[count] = (row){.has_sensor = false};
    set_row(&r->rows[count], m);
    sweep_scan_add(t, &scan);
    input_protect(scan.path);
    return true;
}

/* ---- looking up -------------------------------------------------------------------------------------------------- */

static const char *token_of(const reader *r, int64_t i) {
    return r->rows[i].token;
}

static const char *ego_pose_of(const reader *r, int64_t i) {
    return r->rows[i].ego_pose;
}

static const char *sensor_of(const reader *r, int64_t i) {
    return r->rows[i].sensor;
}

static const char *file_of(const reader *r, int64_t i) {
    return path_base(r->table->scans[i].path);
}

static int compare(const void *a, const void *b) {
    const key *x = a, *y = b;
    const int order = strcmp(x->text, y->text);
    return order ? order : (x->scan > y->scan) - (x->scan < y->scan);
}

/* Sorts the scans by a text of theirs. */
static void sort(reader *r, const char *(*text_of)(const reader *r, int64_t i)) {
    for (int64_t i = 0; i < r->table->count; i++) {
        r->order[i] = (key){text_of(r, i), i};
    }
    qsort(r->order, (size_t)r->table->count, sizeof *r->order, compare);
}

/* The first place in the order that is not before `text`. */
static int64_t find(const reader *r, const char *text) {
    int64_t low = 0, high = r->table->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (strcmp(r->order[middle].text, text) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_at(const reader *r, int64_t place, const char *text) {
    return place < r->table->count && strcmp(r->order[place].text, text) == 0;
}

/* ---- scans and poses --------------------------------------------------------------------------------------------- */

static bool link_scans(reader *r) {
    sort(r, token_of);
    for (int64_t i = 0; i < r->table->count; i++) {
        const char *previous = r->rows[i].previous;
        const int64_t place = *previous ? find(r, previous) : r->table->count;
        if (*previous && !is_at(r, place, previous)) {
            return refuse(r->why,
                          "%s/sample_data.json: the scan %s has \"prev\" %s, which is not there; give whole tables",
                          r->tables, r->rows[i].token, previous);
        }
        r->table->scans[i].previous = *previous ? r->order[place].scan : -1;
    }
    return true;
}

static bool match_inputs(reader *r) {
    sweep_table *t = r->table;
    sort(r, file_of);
    for (int i = 0; i < t->input_count; i++) {
        const char *name = path_base(t->inputs[i].name);
        const int64_t place = find(r, name);
        if (!is_at(r, place, name)) {
            return refuse(r->why, "%s: not among the scans of %s/sample_data.json; give scans of this dataset",
                          t->inputs[i].name, r->tables);
        }
        t->inputs[i].scan = r->order[place].scan;
    }
    return true;
}

/* Marks the scans that need poses: the inputs and those before them. */
static void mark_needed(reader *r, int64_t sweeps) {
    sweep_table *t = r->table;
    for (int i = 0; i < t->input_count; i++) {
        int64_t scan = t->inputs[i].scan;
        for (int64_t k = 0; k < sweeps && scan >= 0; k++) {
            t->scans[scan].posed = true;
            scan = t->scans[scan].previous;
        }
    }
}

enum { POSE_TOKEN, ROTATION, TRANSLATION, POSE_MEMBERS };

/* A rotation as quaternion w x y z, and a translation. */
static bool make_pose(const reader *r, const json_field *m, double T[16]) {
    const double *q = m[ROTATION].values, *t = m[TRANSLATION].values;
    const double norm = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (!(norm > 0.5 && norm < 2)) {
        return refuse(r->why, "%s: the rotation of %s is not a unit quaternion; give the tables of nuScenes",
                      r->json.name, m[POSE_TOKEN].text);
    }
    transform_from_rotation((const double[4]){q[1] / norm, q[2] / norm, q[3] / norm, q[0] / norm}, t, T);
    return true;
}

static bool take_ego_pose(reader *r, const json_field *m) {
    for (int64_t place = find(r, m[POSE_TOKEN].text); is_at(r, place, m[POSE_TOKEN].text); place++) {
        sweep_scan *s = &r->table->scans[r->order[place].scan];
        if (s->posed && !make_pose(r, m, s->T)) {
            return false;
        }
    }
    return true;
}

/* After the poses of the car. */
static bool take_sensor(reader *r, const json_field *m) {
    double sensor[16];
    int64_t place = find(r, m[POSE_TOKEN].text);
    if (!is_at(r, place, m[POSE_TOKEN].text)) {
        return true; /* a camera */
    }
    if (!make_pose(r, m, sensor)) {
        return false;
    }
    for (; is_at(r, place, m[POSE_TOKEN].text); place++) {
        sweep_scan *s = &r->table->scans[r->order[place].scan];
        if (s->T[15] != 0) { /* its car has a pose */
            pc_transform_multiply(s->T, sensor, s->T);
        }
        r->rows[r->order[place].scan].has_sensor = true;
    }
    return true;
}

static bool check_poses(const reader *r) {
    for (int64_t i = 0; i < r->table->count; i++) {
        const sweep_scan *s = &r->table->scans[i];
        if (s->posed && s->T[15] == 0) {
            return refuse(r->why, "%s/ego_pose.json: no pose %s, which %s has; give whole tables", r->tables,
                          r->rows[i].ego_pose, s->path);
        }
        if (s->posed && !r->rows[i].has_sensor) {
            return refuse(r->why, "%s/calibrated_sensor.json: no sensor %s, which %s has; give whole tables", r->tables,
                          r->rows[i].sensor, s->path);
        }
    }
    return true;
}

static bool read_scans(reader *r) {
    json_field members[SAMPLE_MEMBERS] = {[TOKEN] = {.key = "token"},
                                          [PREVIOUS] = {.key = "prev"},
                                          [EGO_POSE] = {.key = "ego_pose_token"},
                                          [SENSOR] = {.key = "calibrated_sensor_token"},
                                          [FILENAME] = {.key = "filename"},
                                          [TIMESTAMP] = {.key = "timestamp", .numbers = 1}};
    if (!read_table(r, "sample_data.json", members, SAMPLE_MEMBERS, take_scan)) {
        return false;
    }
    r->order = heap_zeroed((size_t)r->table->count, sizeof *r->order);
    return link_scans(r) && match_inputs(r);
}

static bool read_poses(reader *r) {
    json_field members[POSE_MEMBERS] = {[POSE_TOKEN] = {.key = "token"},
                                        [ROTATION] = {.key = "rotation", .numbers = 4},
                                        [TRANSLATION] = {.key = "translation", .numbers = 3}};
    sort(r, ego_pose_of);
    if (!read_table(r, "ego_pose.json", members, POSE_MEMBERS, take_ego_pose)) {
        return false;
    }
    sort(r, sensor_of);
    return read_table(r, "calibrated_sensor.json", members, POSE_MEMBERS, take_sensor) && check_poses(r);
}

bool nuscenes_read(const char *root, const char *const *inputs, int input_count, int64_t sweeps, sweep_table *table,
                   reason *why) {
    reader *r = heap_zeroed(1, sizeof *r);
    r->table = table;
    r->why = why;
    sweep_inputs_begin(table, inputs, input_count);
    bool good = find_tables(r, root) && read_scans(r);
    if (good) {
        mark_needed(r, sweeps);
    }
    good = good && read_poses(r) && sweep_inputs_end(table, why);
    for (int64_t i = 0; i < table->count; i++) {
        free(r->rows[i].token);
    }
    free(r->rows);
    free(r->order);
    free(r->root);
    free(r->tables);
    free(r);
    return good;
}
