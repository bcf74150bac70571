/* Inputs and outputs. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "files.h"
#include "file_set.h"
#include "heap.h"
#include "report.h"
#include "unfinished.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The files of this run, by device and inode. */
static file_set inputs, written;
static bool keeping_is_possible;                               /* set once, before the first output */
static pthread_mutex_t sets_mutex = PTHREAD_MUTEX_INITIALIZER; /* guards both sets, which allocate */

/* ---- inputs ---- */

void input_protect(const char *path) {
    struct stat st;
    if ((path_is_dash(path) ? fstat(STDIN_FILENO, &st) : stat(path, &st)) == 0) {
        pthread_mutex_lock(&sets_mutex);
        file_set_add(&inputs, &st);
        pthread_mutex_unlock(&sets_mutex);
    }
}

static bool is_in(const file_set *set, const struct stat *st) {
    pthread_mutex_lock(&sets_mutex);
    const bool is = file_set_has(set, st);
    pthread_mutex_unlock(&sets_mutex);
    return is;
}

/* ---- outputs ---- */

bool path_is_link(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

char *path_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? heap_text("%.*s", (int)(slash - path) + 1, path) : heap_text(".");
}

bool path_is_folder(const char *path) {
    struct stat st;
    size_t length = strlen(path);
    return (length > 0 && path[length - 1] == '/') || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

bool path_is_stream(const char *path) {
    struct stat st;
    return path_is_dash(path) || (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

static bool terminal_refused(const char *path, int fd, existing_file existing, bool text) {
    if (existing == EXISTING_REPLACED || text || !isatty(fd)) {
        return false;
    }
    report_error(output_shown(path), "binary data would go to the terminal; give -o FILE, or -f to write it anyway");
    return true;
}

void output_suggest_keeping(void) {
    keeping_is_possible = true;
}

static const char is_an_input[] = "is an input of this run; give another name for the output";

/* The rules for an existing path. *direct: not a regular file, so it is written in place. */
static bool check_existing(const char *path, existing_file existing, const struct stat *st, bool *direct) {
    *direct = !S_ISREG(st->st_mode);
    if (S_ISDIR(st->st_mode)) {
        report_error(path, "is a folder; give a file name");
    } else if (is_in(&inputs, st)) {
        report_error(path, "%s", is_an_input);
    } else if (is_in(&written, st)) {
        report_error(path, "was already written in this run; give each output its own name");
    } else if (!*direct && existing == EXISTING_REFUSED) {
        report_error(path, "exists already; give -f to replace it%s",
                     keeping_is_possible ? ", or --skip-existing to do only what is missing" : "");
    } else {
        return true;
    }
    return false;
}

/* A dead link is replaced only with --force. */
static bool refuse_dead_link(const char *path) {
    bool dead = path_is_link(path);
    if (dead) {
        report_error(path, "is a link to a missing file; give -f to replace the link");
    }
    return dead;
}

bool output_check_stdout(void) {
    struct stat st;
    bool input = fstat(STDOUT_FILENO, &st) == 0 && is_in(&inputs, &st);
    if (input) {
        report_error("standard output", "is an input of this run; give it another file");
    }
    return !input;
}

bool output_check(const char *path, existing_file existing, bool text) {
    struct stat st;
    bool direct;
    if (path_is_dash(path)) {
        return !terminal_refused(path, STDOUT_FILENO, existing, text);
    }
    if (stat(path, &st) == 0) {
        return check_existing(path, existing, &st, &direct);
    }
    if (errno != ENOENT) {
        report_error(path, "%s", strerror(errno));
        return false;
    }
    if (existing != EXISTING_REPLACED && refuse_dead_link(path)) {
        return false;
    }
    char *folder = path_folder(path);
    const bool good = access(folder, W_OK | X_OK) == 0;
    if (!good) {
        report_error(path, "%s; give an output in a folder that can be written", strerror(errno));
    }
    free(folder);
    return good;
}

static bool open_directly(output *o, bool text) {
    o->stream = fopen(o->path, "wb");
    if (!o->stream) {
        report_error(o->path, "%s; give another output", strerror(errno));
        return false;
    }
    return !terminal_refused(o->path, fileno(o->stream), o->existing, text);
}

/* The permissions of a new file, or of the replaced one, without set-user-id. Between files_lock and files_unlock. */
static void set_mode(int fd, const struct stat *replaced) {
    mode_t mask = umask(0);
    umask(mask);
    /* A file system without permissions may refuse this; the data is complete all the same. */
    if (fchmod(fd, replaced ? replaced->st_mode & 0777 : 0666 & ~mask) != 0) {
        errno = 0;
    }
}

/* Creates final's temporary neighbour ".NAME.pcgpu-XXXXXX". */
static bool open_temporary(output *o, const struct stat *replaced) {
    int folder = (int)(path_base(o->final) - o->final);
    sigset_t before;
    o->temporary = heap_text("%.*s.%.200s.pcgpu-XXXXXX", folder, o->final, o->final + folder);
    files_lock(&before);
    const bool twice = unfinished_has(o->final);
    int fd = twice ? -1 : mkstemp(o->temporary);
    int error = errno;
    if (fd >= 0) {
        set_mode(fd, replaced);
    }
    bool added = fd >= 0 && unfinished_add(o);
    files_unlock(&before);
    if (fd < 0) {
        free(o->temporary);
        o->temporary = NULL;
    }
    if (twice) {
        report_error(o->path, "is given for two outputs; give each its own name");
        return false;
    }
    if (fd < 0) {
        report_error(o->path, "%s; give an output in a folder that can be written", strerror(error));
        return false;
    }
    o->stream = added ? fdopen(fd, "wb") : NULL;
    if (!o->stream) {
        report_error(o->path, "too many open files");
        close(fd);
    }
    return o->stream != NULL;
}

/* The canonical path of an output: links are followed, also those of the folder of a new file, so that x and ./x are
 * equal. malloc'd. */
static char *resolved(const char *path, bool exists) {
    char *whole = exists ? realpath(path, NULL) : NULL;
    if (whole) {
        return whole;
    }
    char *head = path_folder(path), *folder = realpath(head, NULL);
    whole = folder ? heap_text("%s%s%s", folder, folder[1] ? "/" : "", path_base(path))
                   : heap_text("%s", path); /* opening it will fail */
    free(head);
    free(folder);
    return whole;
}

char *path_followed(char *path) {
    char *whole = realpath(path, NULL);
    if (whole) {
        free(path);
    }
    return whole ? whole : path;
}

bool output_open(output *o, const char *path, existing_file existing, bool text) {
    struct stat st;
    bool direct = false, exists = false, good = false;
    *o = (output){.path = heap_text("%s", path), .existing = existing};
    if (path_is_dash(path)) {
        o->stream = stdout;
        good = !terminal_refused(path, STDOUT_FILENO, existing, text);
    } else {
        exists = stat(path, &st) == 0;
        good = exists ? check_existing(path, existing, &st, &direct)
                      : existing == EXISTING_REPLACED || !refuse_dead_link(path);
        o->final = good && !direct ? resolved(path, exists) : NULL;
        good = good && (direct ? open_directly(o, text) : open_temporary(o, exists ? &st : NULL));
    }
    if (!good) {
        output_discard(o);
    }
    return good;
}

static void output_forget(output *o) {
    sigset_t before;
    files_lock(&before);
    unfinished_remove(o);
    files_unlock(&before);
    free(o->path);
    free(o->final);
    free(o->temporary);
    free(o->partial);
    *o = (output){0};
}

/* Drops the buffered data of standard output, whose error has been reported. */
static void drop_standard_output(void) {
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0 && nowhere != STDOUT_FILENO) {
        close(nowhere);
    }
    fflush(stdout);
    clearerr(stdout);
}

void output_discard(output *o) {
    if (o->stream == stdout) {
        drop_standard_output();
    } else if (o->stream) {
        fclose(o->stream);
    }
    if (o->temporary) {
        unlink(o->temporary);
    }
    output_forget(o);
}

static bool commit_failed(output *o, int error) {
    report_error(output_shown(o->path), error == EBUSY ? "%s" : "cannot write: %s",
                 error == EBUSY ? is_an_input
                 : error        ? strerror(error)
                                : "the device refused the data");
    output_discard(o);
    return false;
}

bool output_finish(output *o) {
    errno = 0;
    bool good = fflush(o->stream) == 0 && !ferror(o->stream);
    int error = errno;
    if (!good) {
        return commit_failed(o, error);
    }
    FILE *stream = o->stream;
    o->stream = NULL;
    return stream == stdout || fclose(stream) == 0 || commit_failed(o, errno);
}

/* Renames the temporary file. Without --force, it does not replace an existing file; nor one that was read since. */
static bool put_in_place(const output *o) {
    struct stat st;
    if (o->existing == EXISTING_KEPT && access(o->final, F_OK) == 0) {
        errno = EEXIST; /* also on a file system without links */
        return false;
    }
    if (o->existing != EXISTING_REPLACED) {
        if (link(o->temporary, o->final) == 0) {
            return unlink(o->temporary) == 0;
        }
        if (errno == EEXIST) {
            return false;
        } /* else a file system without links */
    }
    if (stat(o->final, &st) == 0 && is_in(&inputs, &st)) {
        errno = EBUSY;
        return false;
    }
    return rename(o->temporary, o->final) == 0;
}

/* The name is taken. With --skip-existing, a run that was ended between two outputs of an input, or another run of the
 * same inputs, has written the same bytes. */
static bool commit_to_existing(output *o) {
    const bool kept = o->existing == EXISTING_KEPT, good = kept && files_are_equal(o->temporary, o->final);
    if (!good) {
        report_error(o->path, kept ? "exists, and its content differs from that of this run; remove it, or give -f in "
                                     "place of --skip-existing"
                                   : "appeared during the run; give -f to replace it");
    }
    output_discard(o);
    return good;
}

bool output_commit(output *o) {
    struct stat st;
    sigset_t before;
    if (o->stream && !output_finish(o)) {
        return false;
    }
    if (o->temporary) {
        /* First, since a name that is taken cannot be given back. */
        if (stat(o->temporary, &st) == 0) {
            pthread_mutex_lock(&sets_mutex);
            file_set_add(&written, &st);
            pthread_mutex_unlock(&sets_mutex);
        }
        files_lock(&before);
        errno = 0;
        bool good = put_in_place(o);
        int error = errno;
        if (good) {
            unfinished_remove(o);
        }
        files_unlock(&before);
        if (!good && error == EEXIST) {
            return commit_to_existing(o);
        }
        if (!good) {
            return commit_failed(o, error);
        }
    }
    output_forget(o);
    return true;
}
