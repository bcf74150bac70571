/* The names of outputs in a folder: two inputs with the same name from different folders have the same output. */
#include "job.h"

#include <stdlib.h>
#include <string.h>

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
    named *names = calloc((size_t)jobs, sizeof *names);
    bool links = false; /* then two names may be one file */
    int n = 0;
    while (names && n < jobs && (names[n].name = output_name(s, o, folder, session_input_of(s, n)))) {
        links = links || path_is_link(names[n].name);
        names[n].job = n;
        n++;
    }
    for (int i = 0; i < n && links; i++) {
        names[i].name = path_followed(names[i].name);
    }
    bool good = n == jobs || refuse(why, "out of memory");
    if (good) {
        qsort(names, (size_t)n, sizeof *names, by_name);
    }
    for (int i = 1; i < n && good; i++) {
        good = strcmp(names[i - 1].name, names[i].name) != 0 || refuse_clash(s, &names[i - 1], &names[i], why);
    }
    for (int i = 0; i < n; i++) {
        free(names[i].name);
    }
    free(names);
    return good;
}
