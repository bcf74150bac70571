/* The trajectory of a sequence as it grows. */
#include "sequence.h"
#include "transform.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool exists(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0;
}

static bool cannot(const char *path, const char *what) {
    report_error(path, "cannot %s: %s", what, errno ? strerror(errno) : "the device refused the data");
    return false;
}

/* How many lines to keep: those up to the last pose. */
static int64_t lines_to_keep(const trajectory *t) {
    int64_t n = t->count;
    while (n > 0 && !(t->poses[16 * (n - 1)] == t->poses[16 * (n - 1)])) {
        n--;
    }
    return n;
}

static transform_format format_of(const trajectory *t) {
    return t->times ? TRANSFORM_TUM : TRANSFORM_MATRIX; /* the other two cannot be told apart by what was read */
}

/* Reads what is there of an earlier run. */
static bool read_before(const session *s, const char *path, const sequence_output *o, trajectory *before) {
    char why[1024];
    if (!trajectory_read(path, true, before, why, sizeof why)) {
        report_error(NULL, "%s; it cannot be gone on with", why);
        return false;
    }
    if (before->count > 0 && (format_of(before) == TRANSFORM_TUM) != (o->format == TRANSFORM_TUM)) {
        report_error(path, "has another format; give the --trajectory-format that it was begun with");
        return false;
    }
    before->count = lines_to_keep(before);
    if (before->count > s->input_count) {
        report_error(path,
                     "has %lld poses and there are %d scans; give all scans of the sequence, with those that are done",
                     (long long)before->count, s->input_count);
        return false;
    }
    return true;
}

/* Copies the first bytes of a complete trajectory, which stays until the longer one takes its name. */
static bool copy_start(const char *from, FILE *to, int64_t bytes) {
    char buffer[1 << 14];
    FILE *stream = fopen(from, "rb");
    bool good = stream;
    while (good && bytes > 0) {
        size_t n = bytes < (int64_t)sizeof buffer ? (size_t)bytes : sizeof buffer;
        good = fread(buffer, 1, n, stream) == n && fwrite(buffer, 1, n, to) == n;
        bytes -= (int64_t)n;
    }
    if (stream) {
        fclose(stream);
    }
    return good;
}

static bool go_on(const session *s, sequence_output *o, trajectory *before) {
    const bool begun = exists(o->partial);
    const char *from = begun ? o->partial : o->path;
    if (!begun && !exists(o->path)) { /* nothing yet */
        o->stream = fopen(o->partial, "wb");
        return o->stream || cannot(o->partial, "be written");
    }
    if (!read_before(s, from, o, before)) {
        return false;
    }
    const int64_t bytes = before->count > 0 ? before->ends[before->count - 1] : 0;
    errno = 0;
    if (begun) {
        o->stream = fopen(o->partial, "r+b");
        if (!o->stream || ftruncate(fileno(o->stream), (off_t)bytes) != 0 || fseek(o->stream, 0, SEEK_END) != 0) {
            return cannot(o->partial, "be written");
        }
        return true;
    }
    o->stream = fopen(o->partial, "wb");
    return (o->stream && copy_start(from, o->stream, bytes)) || cannot(o->partial, "be written");
}

static bool begin(const session *s, sequence_output *o) {
    if (!s->options->force && exists(o->partial)) {
        report_error(o->partial, "is of a run that ended early; give --resume to go on, or -f to begin anew");
        return false;
    }
    if (!output_check(o->path, s->options->force, true)) {
        return false;
    }
    o->stream = fopen(o->partial, "wb");
    return o->stream || cannot(o->partial, "be written");
}

bool sequence_output_open(const session *s, sequence_output *o, trajectory *before) {
    const option_values *options = s->options;
    *o = (sequence_output){.path = options->trajectory,
                           .format = options->trajectory_format,
                           .replaces = options->force || options->resume};
    *before = (trajectory){0};
    if (path_is_stream(o->path)) {
        if (options->resume) {
            report_error(o->path, "is no file, so that nothing can be resumed; leave out --resume");
            return false;
        }
        o->stream = strcmp(o->path, "-") == 0 ? stdout : fopen(o->path, "wb");
        return o->stream || cannot(o->path, "be written");
    }
    const size_t size = strlen(o->path) + sizeof ".partial";
    o->partial = malloc(size);
    if (!o->partial) {
        report_error(o->path, "out of memory");
        return false;
    }
    snprintf(o->partial, size, "%s.partial", o->path);
    bool good = options->resume ? output_check(o->path, true, true) && go_on(s, o, before) : begin(s, o);
    if (!good) {
        if (o->stream) {
            fclose(o->stream);
        }
        free(o->partial);
        trajectory_free(before);
        *o = (sequence_output){0};
    }
    return good;
}

bool sequence_output_add(sequence_output *o, const double *T, double time) {
    errno = 0;
    transform_write_pose(o->stream, T, time, o->format);
    return fflush(o->stream) == 0 && !ferror(o->stream) ? true
                                                        : cannot(o->stream == stdout ? "standard output"
                                                                 : o->partial        ? o->partial
                                                                                     : o->path,
                                                                 "be written");
}

bool sequence_output_close(sequence_output *o, bool complete, bool some) {
    bool good = true;
    errno = 0;
    if (o->stream && o->stream != stdout) {
        good = fclose(o->stream) == 0 || cannot(o->partial ? o->partial : o->path, "be written");
    }
    if (o->partial && !some) {
        unlink(o->partial);
    } else if (o->partial && !complete) {
        report_error(o->partial, "has what was done; give --resume to go on");
    } else if (o->partial && good && !o->replaces && exists(o->path)) {
        report_error(o->path, "has appeared while its data was made, which is in %s", o->partial);
        good = false;
    } else if (o->partial && good && rename(o->partial, o->path) != 0) {
        good = cannot(o->path, "be written");
    }
    free(o->partial);
    *o = (sequence_output){0};
    return good;
}
