/* The trajectory of a sequence as it grows. */
#include "numbers.h"
#include "sequence.h"
#include "transform.h"
#include "unfinished.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char first_line[] = TRAJECTORY_STATE "trajectory\n";

static bool cannot(const char *path, const char *what) {
    report_error(path, "cannot %s: %s", what, errno ? strerror(errno) : "the device refused the data");
    return false;
}

/* ---- FILE.partial ---------------------------------------------------------------------------------------------- */

/* Whether the partial file that exists is one of ours that no other run writes: a name may be anybody's. Takes the
 * lock, which goes with the descriptor. */
static bool check_partial(const char *path, int fd) {
    char begin[sizeof first_line] = "";
    struct stat st, named;
    if (fstat(fd, &st) != 0) {
        return cannot(path, "be read");
    }
    if (!S_ISREG(st.st_mode) || st.st_nlink > 1) {
        report_error(path, "is not a regular file with one name; give another --trajectory, or remove it");
    } else if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) { /* some file systems have no locks */
        report_error(path, "is being written by another run; wait for its end, or give another --trajectory");
    } else if (stat(path, &named) != 0 || named.st_ino != st.st_ino || named.st_dev != st.st_dev) {
        report_error(path, "was just finished by another run; start again");
    } else if (st.st_size > 0 && (pread(fd, begin, sizeof begin - 1, 0) < 0 || strcmp(begin, first_line) != 0)) {
        report_error(path, "is no trajectory that pcgpu has begun; give another --trajectory, or move it away");
    } else {
        return true;
    }
    return false;
}

/* *begun: it was there. A new one is as private as the file that is to be replaced. */
static bool open_partial(const session *s, sequence_output *o, bool *begun) {
    struct stat st;
    const mode_t mode = stat(o->path, &st) == 0 ? st.st_mode & 0666 : 0666;
    if (!output_check(o->partial, true, true)) {
        return false;
    }
    int fd = open(o->partial, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    *begun = fd < 0 && errno == EEXIST;
    if (*begun) {
        fd = open(o->partial, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    }
    if (fd < 0 && errno == ELOOP) {
        report_error(o->partial, "is a link; give another --trajectory, or remove the link");
        return false;
    }
    bool good = fd >= 0 ? check_partial(o->partial, fd) : cannot(o->partial, "be written");
    if (good && *begun && !s->options->force && !s->options->resume) {
        report_error(o->partial, "is of a run that ended early; give --resume to go on, or -f to begin anew");
        good = false;
    }
    o->stream = good ? fdopen(fd, "r+b") : NULL;
    good = good && (o->stream || cannot(o->partial, "be written"));
    if (fd >= 0 && !o->stream) {
        close(fd);
    }
    return good;
}

/* How many lines to keep: those up to the last pose. */
static int64_t lines_to_keep(const trajectory *t) {
    int64_t n = t->count;
    while (n > 0 && !(t->poses[16 * (n - 1)] == t->poses[16 * (n - 1)])) {
        n--;
    }
    return n;
}

/* Reads what is there of an earlier run: the partial file, or a trajectory that is complete. */
static bool read_before(const session *s, const sequence_output *o, bool begun, trajectory *before) {
    static const int numbers[] = {[TRANSFORM_MATRIX] = 16, [TRANSFORM_KITTI] = 12, [TRANSFORM_TUM] = 8};
    const char *path = begun ? o->partial : o->path;
    char why[1024];
    if (begun ? !trajectory_read_unfinished(o->stream, path, before, why, sizeof why)
              : !trajectory_read(path, true, before, why, sizeof why)) {
        report_error(NULL, "%s; it cannot be gone on with", why);
        return false;
    }
    if (before->count > 0 && before->numbers != numbers[o->format]) {
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

/* The partial file holds no more than what is gone on with, and writing goes on behind it. */
static bool go_on(const session *s, sequence_output *o, bool begun, trajectory *before) {
    struct stat st;
    const bool known = s->options->resume && (begun || lstat(o->path, &st) == 0);
    if (known && !read_before(s, o, begun, before)) {
        return false;
    }
    const int64_t bytes = before->count > 0 ? before->ends[before->count - 1] : 0;
    errno = 0;
    bool good = fseek(o->stream, 0, SEEK_SET) == 0 && ftruncate(fileno(o->stream), begun ? (off_t)bytes : 0) == 0;
    if (good && begun && bytes > 0) {
        good = fseek(o->stream, 0, SEEK_END) == 0;
    } else if (good) {
        good = fputs(first_line, o->stream) >= 0 && (!known || begun || copy_start(o->path, o->stream, bytes));
    }
    return (good && fflush(o->stream) == 0) || cannot(o->partial, "be written");
}

static const char has_done[] = "has what was done; give --resume to go on";

/* From now on a signal leaves what --resume goes on with. */
static bool keep_partial(sequence_output *o) {
    if (text_open(&o->kept)) {
        print_shown(o->kept.stream, o->partial);
        fprintf(o->kept.stream, ": %s", has_done);
    }
    if (!text_close(&o->kept)) {
        report_error(o->path, "out of memory");
        return false;
    }
    unfinished_keep(o->kept.data);
    return true;
}

static void close_output(sequence_output *o) {
    unfinished_keep(NULL);
    text_free(&o->kept);
    free(o->partial);
    *o = (sequence_output){0};
}

static bool open_file(const session *s, sequence_output *o, trajectory *before) {
    const size_t size = strlen(o->path) + sizeof ".partial";
    bool begun;
    o->partial = malloc(size);
    if (!o->partial) {
        report_error(o->path, "out of memory");
        return false;
    }
    snprintf(o->partial, size, "%s.partial", o->path);
    if (!output_check(o->path, o->replaces, true) || !open_partial(s, o, &begun)) {
        return false;
    }
    bool good = go_on(s, o, begun, before) && keep_partial(o);
    if (!good && !begun) {
        unlink(o->partial);
    }
    return good;
}

bool sequence_output_open(const session *s, sequence_output *o, trajectory *before) {
    const option_values *options = s->options;
    *o = (sequence_output){.path = options->trajectory,
                           .format = options->trajectory_format,
                           .replaces = options->force || options->resume};
    *before = (trajectory){.reference_time = NAN};
    if (path_is_stream(o->path)) {
        if (options->resume) {
            report_error(o->path, "is no file, so that nothing can be resumed; leave out --resume");
            return false;
        }
        o->stream = strcmp(o->path, "-") == 0 ? stdout : fopen(o->path, "wb");
        return o->stream || cannot(o->path, "be written");
    }
    bool good = open_file(s, o, before);
    if (!good) {
        if (o->stream) {
            fclose(o->stream);
        }
        close_output(o);
        trajectory_free(before);
    }
    return good;
}

static const char *written_name(const sequence_output *o) {
    return o->stream == stdout ? "standard output" : o->partial ? o->partial : o->path;
}

bool sequence_output_add(sequence_output *o, const double *T, double time, double reference_time) {
    char text[2][NUMBER_SIZE];
    errno = 0;
    if (T && o->partial) {
        fprintf(o->stream, TRAJECTORY_STATE "%s %s ", number_text(time, false, text[0]),
                number_text(reference_time, false, text[1]));
        transform_write_line(o->stream, T, TRANSFORM_KITTI);
    }
    transform_write_pose(o->stream, T, time, o->format);
    return (fflush(o->stream) == 0 && !ferror(o->stream)) || cannot(written_name(o), "be written");
}

/* Writes the trajectory: the partial file without what only --resume needs. */
static bool write_whole(const sequence_output *o) {
    output whole;
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    if (!output_open(&whole, o->path, o->replaces, true)) {
        return false;
    }
    errno = 0;
    bool good = fseek(o->stream, 0, SEEK_SET) == 0;
    while (good && (length = getline(&line, &size, o->stream)) > 0) {
        good = strncmp(line, TRAJECTORY_STATE, sizeof TRAJECTORY_STATE - 1) == 0 ||
               fwrite(line, 1, (size_t)length, whole.stream) == (size_t)length;
    }
    good = (good && feof(o->stream)) || cannot(o->partial, "be copied");
    free(line);
    if (!good) {
        output_discard(&whole);
    }
    return good && output_commit(&whole);
}

bool sequence_output_close(sequence_output *o, bool complete, bool some) {
    bool good = true;
    errno = 0;
    if (o->partial && some && complete) {
        good = write_whole(o);
    }
    if (o->partial && some && (!complete || !good)) {
        report_error(o->partial, "%s", has_done);
    } else if (o->partial) {
        unlink(o->partial);
    }
    if (o->stream && o->stream != stdout) { /* not before: the lock goes with it */
        good = (fclose(o->stream) == 0 || cannot(written_name(o), "be written")) && good;
    }
    close_output(o);
    return good;
}
