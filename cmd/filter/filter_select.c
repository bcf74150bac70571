/* --keep and --remove. */
#include "filter_run.h"
#include "numbers.h"

#include <string.h>

bool selection_parse(const char *text, selection *s, reason *why) {
    const char *equals = strchr(text, '=');
    *s = (selection){.found = -1};
    if (strcmp(text, "noise") == 0 || strcmp(text, "ground") == 0) {
        s->found = text[0] == 'n' ? CLASS_NOISE : CLASS_GROUND;
        return true;
    }
    const size_t length = equals ? (size_t)(equals - text) : 0;
    s->count = length > 0 && length < sizeof s->column ? numbers_parse(equals + 1, s->values, MOST_VALUES) : -1;
    if (s->count < 0) {
        return refuse(why,
                      "\"%s\" selects no points; give ground, noise, or a column with 1 to %d values, such as "
                      "classification=2,9",
                      text, MOST_VALUES);
    }
    memcpy(s->column, text, length);
    return true;
}

void filter_count_removed(job *j, const char *name, int64_t removed) {
    const char *blank = strchr(name, '_');
    json_integer(&j->result, name, removed);
    report_detail(j->names[0], "%lld points are %.*s%s%s", (long long)removed,
                  blank ? (int)(blank - name) : (int)strlen(name), name, blank ? " " : "", blank ? blank + 1 : "");
}

int filter_select(job *j, const char *text, bool keep, filtered *f) {
    const pcgpu_cloud *cloud = &j->clouds[0];
    selection s;
    reason why;
    int64_t removed = 0;
    if (!text || !selection_parse(text, &s, &why) || s.found >= 0) {
        return EXIT_DONE; /* resolve_options has parsed it */
    }
    const int column = columns_find(j->names[0], s.column, cloud);
    if (column < 0) {
        return EXIT_FAILED;
    }
    for (int64_t i = 0; i < cloud->rows; i++) {
        const double value = cloud->offset[column] + (double)cloud->data[i * cloud->columns + column];
        bool has = false;
        for (int k = 0; k < s.count; k++) {
            has = has || value == s.values[k];
        }
        removed += f->mask[i] && has != keep;
        f->mask[i] = f->mask[i] && has == keep;
    }
    filter_count_removed(j, keep ? "not_kept" : "left_out", removed);
    return EXIT_DONE;
}
