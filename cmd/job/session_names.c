/* The names of outputs in a folder: inputs of one name from several folders would give one output. */
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

static void explain_clash(const session *s, const named *a, const named *b, char *why, size_t why_size) {
    if (s->options->pairs) {
        snprintf(why, why_size, "%s: lines %lld and %lld would both become %s; give them in two lists",
                 input_name(s->options->pairs), (long long)s->pairs.lines[a->job], (long long)s->pairs.lines[b->job],
                 b->name);
    } else {
        snprintf(why, why_size, "%s and %s would both become %s; give them one by one", session_input_of(s, a->job),
                 session_input_of(s, b->job), b->name);
    }
}

bool session_check_names(const session *s, const option_row *o, const char *folder, char *why, size_t why_size) {
    const int jobs = session_job_count(s);
    named *names = calloc((size_t)jobs, sizeof *names);
    int n = 0;
    while (names && n < jobs && (names[n].name = output_name(s, o, folder, session_input_of(s, n)))) {
        names[n].job = n;
        n++;
    }
    bool good = n == jobs;
    if (good) {
        qsort(names, (size_t)n, sizeof *names, by_name);
    } else {
        snprintf(why, why_size, "out of memory");
    }
    for (int i = 1; i < n && good; i++) {
        good = strcmp(names[i - 1].name, names[i].name) != 0;
        if (!good) {
            explain_clash(s, &names[i - 1], &names[i], why, why_size);
        }
    }
    for (int i = 0; i < n; i++) {
        free(names[i].name);
    }
    free(names);
    return good;
}
