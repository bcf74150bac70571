/* The file of a trajectory, which grows scan by scan. */
#include "numbers.h"
#include "odometry_run.h"
#include "transform_file.h"
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

/* Checks that an existing partial file is one of pcgpu and that no other run writes it. Takes the lock, which belongs
 * to the descriptor. */
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
        report_error(path, "is not a trajectory of pcgpu; give another --trajectory, or rename it");
    } else {
        return true;
    }
    return false;
}

/* *begun: the partial file existed. A new one gets the permissions of the file that it will replace. */
static bool open_partial(const session *s, trajectory_output *o, bool *begun) {
    struct stat st;
    const mode_t mode = stat(o->path, &st) == 0 ? st.st_mode & 0666 : 0666;
    if (!output_check(o->partial, EXISTING_REPLACED, true)) {
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
        report_error(o->partial, "is from an interrupted run; give --resume to continue it, or -f to start again");
        good = false;
    }
    o->stream = good ? fdopen(fd, "r+b") : NULL;
    good = good && (o->stream || cannot(o->partial, "be written"));
    if (fd >= 0 && !o->stream) {
        close(fd);
    }
    return good;
}

/* The number of lines up to the last pose. */
static int64_t lines_to_keep(const trajectory *t) {
    int64_t n = t->count;
    while (n > 0 && !(t->poses[16 * (n - 1)] == t->poses[16 * (n - 1)])) {
        n--;
    }
    return n;
}

/* Reads the trajectory of an earlier run: the partial file, or a complete one. */
static bool read_before(const session *s, const trajectory_output *o, bool begun, trajectory *before) {
    static const int numbers[] = {[TRANSFORM_MATRIX] = 16, [TRANSFORM_KITTI] = 12, [TRANSFORM_TUM] = 8};
    const char *path = begun ? o->partial : o->path;
    reason why;
    FILE *stream = begun ? o->stream : fopen(path, "rb"); /* not as an input: the run will replace it */
    const bool good =
        stream ? trajectory_read_unfinished(stream, path, before, &why) : refuse(&why, "%s: %s", path, strerror(errno));
    if (stream && !begun) {
        fclose(stream);
    }
    if (!good) {
        report_error(NULL, "%s; the run cannot be resumed", why.text);
        return false;
    }
    if (before->count > 0 && before->numbers != numbers[o->format]) {
        report_error(path, "has another format; give the --trajectory-format of the interrupted run");
        return false;
    }
    before->count = lines_to_keep(before);
    if (before->count > s->input_count) {
        report_error(
            path, "has %lld poses, and %d scans are given; give all scans of the sequence, including those with poses",
            (long long)before->count, s->input_count);
        return false;
    }
    return !begun || odometry_check_origin(s, o->stream, path, before->count);
}

/* Copies the first bytes of a complete trajectory, which exists until the longer one replaces it. */
static bool copy_start(const char *from, FILE *to, int64_t bytes) {
    char buffer[1 << 12];
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

/* Truncates the partial file after the last pose, and sets the position for the next line. */
static bool continue_partial(const session *s, trajectory_output *o, bool begun, trajectory *before) {
    struct stat st;
    const bool known = s->options->resume && (begun || lstat(o->path, &st) == 0);
    if (known && !begun && o->waits) {
        report_error(o->path,
                     "is complete, and loops may have corrected its poses, so that it cannot be extended; leave "
                     "out --resume, and give all scans and -f");
        return false;
    }
    if (known && !read_before(s, o, begun, before)) {
        return false;
    }
    const int64_t bytes = before->count > 0 ? before->ends[before->count - 1] : 0;
    errno = 0;
    bool good = fseek(o->stream, 0, SEEK_SET) == 0 && ftruncate(fileno(o->stream), begun ? (off_t)bytes : 0) == 0;
    if (good && begun && bytes > 0) {
        good = fseek(o->stream, 0, SEEK_END) == 0;
    } else if (good) {
        good = fputs(first_line, o->stream) >= 0 && odometry_note_parameters(s, o->stream) &&
               (!known || begun || copy_start(o->path, o->stream, bytes));
    }
    return (good && fflush(o->stream) == 0) || cannot(o->partial, "be written");
}

static const char has_done[] = "has the poses so far; give --resume to continue";

/* From now on, a signal leaves the partial file and prints how to resume. */
static bool keep_partial(trajectory_output *o) {
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

static void close_output(trajectory_output *o) {
    unfinished_keep(NULL);
    text_free(&o->kept);
    free(o->partial);
    *o = (trajectory_output){0};
}

static bool open_file(const session *s, trajectory_output *o, trajectory *before) {
    const size_t size = strlen(o->path) + sizeof ".partial";
    bool begun;
    o->partial = malloc(size);
    if (!o->partial) {
        report_error(o->path, "out of memory");
        return false;
    }
    snprintf(o->partial, size, "%s.partial", o->path);
    if (!output_check(o->path, existing_of(o->replaces), true) || !open_partial(s, o, &begun)) {
        return false;
    }
    bool good = continue_partial(s, o, begun, before) && keep_partial(o);
    if (!good && !begun) {
        unlink(o->partial);
    }
    return good;
}

bool trajectory_output_open(const session *s, trajectory_output *o, trajectory *before) {
    const option_values *options = s->options;
    *o = (trajectory_output){.path = options->trajectory,
                             .name = output_shown(options->trajectory),
                             .format = options->trajectory_format,
                             .waits = options->loops,
                             .replaces = options->force || options->resume};
    *before = (trajectory){.reference_time = NAN};
    if (path_is_stream(o->path)) {
        if (options->resume) {
            report_error(o->name, "is not a regular file, so no run can be resumed; leave out --resume");
            return false;
        }
        o->stream = strcmp(o->path, "-") == 0 ? stdout : fopen(o->path, "wb");
        return o->stream || cannot(o->name, "be written");
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

static const char *written_name(const trajectory_output *o) {
    return o->partial ? o->partial : o->name;
}

bool trajectory_output_add(const session *s, trajectory_output *o, int index, const double *T, double time,
                           double reference_time) {
    char text[2][NUMBER_SIZE];
    errno = 0;
    if (o->partial) {
        odometry_note_scan(s, index, o->stream);
        errno = 0;
    }
    if (T && o->partial) {
        fprintf(o->stream, TRAJECTORY_STATE "%s %s ", number_text(time, false, text[0]),
                number_text(reference_time, false, text[1]));
        transform_write_line(o->stream, T, TRANSFORM_KITTI);
    }
    if (o->partial || !o->waits) {
        transform_write_pose(o->stream, T, time, o->format);
    }
    return (fflush(o->stream) == 0 && !ferror(o->stream)) || cannot(written_name(o), "be written");
}

/* Writes the poses that are corrected. */
static void write_poses(const trajectory_output *o, FILE *stream) {
    for (int i = 0; i < o->count; i++) {
        const double *T = o->poses + 16 * i;
        transform_write_pose(stream, T[0] == T[0] ? T : NULL, o->times[i], o->format);
    }
}

/* Writes the trajectory: the partial file without the lines that only --resume needs. */
static bool write_whole(const trajectory_output *o) {
    output whole;
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    if (!output_open(&whole, o->path, existing_of(o->replaces), true)) {
        return false;
    }
    errno = 0;
    bool good = fseek(o->stream, 0, SEEK_SET) == 0;
    if (o->poses) {
        write_poses(o, whole.stream);
    }
    while (good && !o->poses && (length = getline(&line, &size, o->stream)) > 0) {
        good = strncmp(line, TRAJECTORY_STATE, sizeof TRAJECTORY_STATE - 1) == 0 ||
               fwrite(line, 1, (size_t)length, whole.stream) == (size_t)length;
    }
    good = (good && (o->poses ? !ferror(whole.stream) : feof(o->stream))) || cannot(o->partial, "be copied");
    free(line);
    if (!good) {
        output_discard(&whole);
    }
    return good && output_commit(&whole);
}

bool trajectory_output_close(trajectory_output *o, bool complete, bool some) {
    bool good = true;
    errno = 0;
    if (o->partial && some && complete) {
        good = write_whole(o);
    } else if (!o->partial && o->poses && complete) {
        write_poses(o, o->stream);
        good = (fflush(o->stream) == 0 && !ferror(o->stream)) || cannot(o->name, "be written");
    }
    if (o->partial && some && (!complete || !good)) {
        report_error(o->partial, "%s", has_done);
    } else if (o->partial) {
        unlink(o->partial);
    }
    if (o->stream && o->stream != stdout) { /* last: this releases the lock */
        good = (fclose(o->stream) == 0 || cannot(written_name(o), "be written")) && good;
    }
    close_output(o);
    return good;
}
