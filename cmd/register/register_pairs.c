/* pcgpu register --pairs: each pair of a list is a job, and has one line in --transform and on standard output. */
#include "register.h"
#include "transform_file.h"

#include <string.h>

static bool transform_is_stdout(const session *s) {
    return register_own(s->options)->transform && strcmp(register_own(s->options)->transform, "-") == 0;
}

void register_end_pair(const job *j, int code) {
    const session *s = j->session;
    const double *T = code == EXIT_DONE ? j->transform : NULL;
    if (j->line == 0) {
        return;
    }
    if (s->lines) {
        transform_write_line(s->lines, T, register_own(s->options)->transform_format);
    }
    if (transform_is_stdout(s) || !session_json_is_stdout(s)) {
        transform_write_line(s->out, T, register_own(s->options)->transform_format);
        fflush(s->out); /* a reader may wait for it; errors are reported at the end */
    }
}

int register_pairs(session *s) {
    option_values *o = s->options;
    output transforms = {0};
    if (!register_read_init(s, o->registration.init) ||
        (register_own(o)->transform && !transform_is_stdout(s) &&
         !output_open(&transforms, register_own(o)->transform, existing_of(o->force || o->skip_existing), true))) {
        return EXIT_FAILED;
    }
    s->lines = transforms.stream;
    int code = session_run(s);
    s->lines = NULL;
    return !transforms.stream || output_commit(&transforms) ? code : EXIT_FAILED;
}
