/* The jobs of a run, and the names of their outputs: two inputs with the same name from different folders have the same
 * output. */
#include "job.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *output_path(const session *s, const option_row *option) {
    if (!(option->commands & s->command->bit) || !(option->flags & OPTION_OUTPUT)) {
        return NULL;
    }
    const char *path = *(const char *const *)((const char *)s->options + option->field);
    bool implied = strcmp(option->name, "output") == 0 && (s->command->traits & COMMAND_PRINTS_DATA);
    return path || !implied ? path : "-";
}

int session_job_count(const session *s) {
    const int each = s->command->inputs_per_job;
    return each ? s->input_count / each : 1;
}

const char *session_joins(const session *s) {
    const bool many = s->command->inputs_per_job == 1; /* register merges the two of a pair */
    return s->options->batch ? "batch" : s->options->merge && many ? "merge" : NULL;
}

const char *session_input_of(const session *s, int i) {
    return s->input_count == 0 ? "-" : s->inputs[i * s->command->inputs_per_job];
}

bool output_is_text(const session *s, const option_row *option) {
    const char *format = s->options->output_format;
    return (option->flags & OPTION_TEXT) ||
           ((option->flags & OPTION_MAIN) && format && pcgpu_format_by_name(format)->text);
}

/* Of a cloud in a folder: the extension of its format. A scan of nuScenes keeps .pcd.bin, which says that it has 5
 * columns. */
static const char *output_extension(const session *s, const char *path, const char *input) {
    const char *extension = output_format(s, path, input)->extension;
    const bool nuscenes = path_ends_in(input, ".pcd.bin") || path_ends_in(input, ".pcd.bin.gz");
    const bool five = (session_fields(s) == 0 || session_fields(s) == 5) && !s->options->columns;
    return nuscenes && five && !(s->command->traits & COMMAND_WRITES_ARRAYS) && strcmp(extension, ".bin") == 0
               ? ".pcd.bin"
               : extension;
}

char *output_name(const session *s, const option_row *option, const char *path, const char *input) {
    char extension[64];
    if (!path_is_folder(path)) {
        return heap_text("%s", path);
    }
    if (option->flags & OPTION_MAIN) {
        snprintf(extension, sizeof extension, "%s", output_extension(s, path, input));
    } else if (option->flags & OPTION_PICTURE) {
        snprintf(extension, sizeof extension, "%s", output_is_page(s->options, option, path) ? ".html" : ".png");
    } else {
        const char *kind = option->flags & OPTION_TEXT ? "txt" : option->flags & OPTION_PLY ? "ply" : "bin";
        snprintf(extension, sizeof extension, ".%s.%s", option->name, kind);
    }
    return path_in_folder(path, input, extension);
}

existing_file session_existing(const session *s) {
    return s->options->force ? EXISTING_REPLACED : s->options->skip_existing ? EXISTING_KEPT : EXISTING_REFUSED;
}

bool session_refuse_existing(const session *s) {
    const int jobs = session_job_count(s);
    int found = 0, all = 0;
    for (int k = 0; option_at(k) && jobs > 1 && session_existing(s) == EXISTING_REFUSED; k++) {
        const char *path = output_path(s, option_at(k));
        for (int i = 0; path && path_is_folder(path) && i < jobs; i++) {
            char *name = output_name(s, option_at(k), path, session_input_of(s, i));
            found += access(name, F_OK) == 0;
            all++;
            free(name);
        }
    }
    if (found > 0) {
        report_error(NULL, "%d of %d outputs exist already; -f replaces them%s", found, all,
                     option_by_name("skip-existing", s->command->bit) ? ", --skip-existing does the others" : "");
    }
    return found > 0;
}

/* ---- in a folder ---- */

typedef struct named {
    char *name;
    int job;
} named;

static int by_name(const void *a, const void *b) {
    const named *p = a, *q = b;
    int order = strcmp(p->name, q->name);
    return order ? order : p->job - q->job;
}

static bool refuse_clash(const session *s, const named *a, const named *b, reason *why) {
    return s->options->pairs ? refuse(why, "%s: lines %lld and %lld have the same output %s; give them in two lists",
                                      input_name(s->options->pairs), (long long)s->pairs.lines[a->job],
                                      (long long)s->pairs.lines[b->job], b->name)
                             : refuse(why, "%s and %s have the same output %s; give them one by one",
                                      session_input_of(s, a->job), session_input_of(s, b->job), b->name);
}

/* A list must not reach what is outside of the folder. */
static bool check_below(const session *s, reason *why) {
    for (int i = 0; i < session_job_count(s); i++) {
        const char *input = session_input_of(s, i), *below = strstr(input, "/./");
        if (below && !path_stays_below(below + 3)) {
            return refuse(
                why,
                "%s: what follows /./ is the name of the output, and this one is not below -o; leave /./ or .. out",
                input);
        }
    }
    return true;
}

bool session_check_names(const session *s, const option_row *o, const char *folder, reason *why) {
    const int jobs = session_job_count(s);
    if (!check_below(s, why)) {
        return false;
    }
    named *names = heap_zeroed((size_t)jobs, sizeof *names);
    bool links = false, good = true; /* links: then two names may be one file */
    for (int i = 0; i < jobs; i++) {
        names[i] = (named){output_name(s, o, folder, session_input_of(s, i)), i};
        links = links || path_is_link(names[i].name);
    }
    for (int i = 0; i < jobs && links; i++) {
        names[i].name = path_followed(names[i].name);
    }
    qsort(names, (size_t)jobs, sizeof *names, by_name);
    for (int i = 1; i < jobs && good; i++) {
        good = strcmp(names[i - 1].name, names[i].name) != 0 || refuse_clash(s, &names[i - 1], &names[i], why);
    }
    for (int i = 0; i < jobs; i++) {
        free(names[i].name);
    }
    free(names);
    return good;
}
