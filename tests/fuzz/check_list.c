/* What must hold for any list of pairs or of scans, and for any tables of nuScenes: a sentence that names the file, or
 * entries that are whole. */
#include "fuzz.h"

#include "pairs.h"
#include "sweeps.h"

#include <math.h>
#include <string.h>

static void check_sentence(const char *why) {
    MUST(strlen(why) > 15 && strchr(why, ':'));
    fuzz_check_shown(why, "");
}

static bool check_pairs(void) {
    reason why = {""};
    pair_list pairs = {0};
    const bool good = pairs_read("list.txt", &pairs, &why);
    for (int i = 0; good && i < 2 * pairs.count; i++) {
        MUST(pairs.inputs[i][0] && (i % 2 || pairs.lines[i / 2] > 0));
    }
    if (!good) {
        MUST(pairs.count == 0);
        check_sentence(why.text);
    }
    pairs_free(&pairs);
    return good;
}

/* Scans have times, and the one before a scan is another of the table; inputs that were found have poses. */
static bool check_sweeps(bool good, sweep_table *t, const reason *why) {
    for (int64_t i = 0; good && i < t->count; i++) {
        const sweep_scan *s = &t->scans[i];
        MUST(s->path[0] && isfinite(s->time) && s->previous >= -1 && s->previous < t->count);
        for (int k = 0; k < 16 && s->posed; k++) {
            MUST(isfinite(s->T[k]));
        }
    }
    for (int i = 0; good && i < t->input_count; i++) {
        MUST(t->inputs[i].scan >= 0 && t->inputs[i].scan < t->count && t->scans[t->inputs[i].scan].posed);
    }
    if (!good) {
        check_sentence(why->text);
    }
    sweeps_free(t);
    return good;
}

int fuzz_check_list(const uint8_t *data, size_t size) {
    static const char poses[] = "1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 1 0 1 0 0 0 0 1 0\n1 0 0 2 0 1 0 0 0 0 1 0\n";
    const char *const inputs[] = {"b.bin"};
    reason why = {""};
    sweep_table table = {0};
    fuzz_write_file("list.txt", data, size);
    fuzz_write_file("poses.txt", poses, sizeof poses - 1);
    const bool pairs = check_pairs();
    const bool scans = sweep_list_read("list.txt", "poses.txt", inputs, 1, &table, &why);
    return check_sweeps(scans, &table, &why) || pairs;
}

int fuzz_check_nuscenes(const uint8_t *data, size_t size) {
    static const char *const names[] = {"sample_data.json", "ego_pose.json", "calibrated_sensor.json"};
    const char *const inputs[] = {"b.bin"};
    reason why = {""};
    sweep_table table = {0};
    for (int i = 0; i < 3; i++) {
        const uint8_t *end = i < 2 && size > 0 ? memchr(data, '%', size) : NULL;
        const size_t part = end ? (size_t)(end - data) : size;
        fuzz_write_file(names[i], data, part);
        data += part + (end != NULL);
        size -= part + (end != NULL);
    }
    return check_sweeps(nuscenes_read(".", inputs, 1, 2, &table, &why), &table, &why);
}
