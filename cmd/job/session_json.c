/* The --json file of a run. Where a run continues an earlier one, by --skip-existing or as another shard, the lines of
 * inputs that this run leaves out stay. */
#define _DEFAULT_SOURCE /* flock */
#include "job.h"
#include "json_lines.h"
#include "json_reader.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

bool session_json_is_stdout(const session *s) {
    return path_is_dash(s->options->json);
}

/* Where a signal leaves the lines so far; malloc'd. Each shard has its own. */
static char *partial_name(const session *s) {
    char number[16] = "";
    const size_t size = strlen(s->options->json) + sizeof number + sizeof ".partial";
    char *name = malloc(size);
    if (s->shard > 0) {
        snprintf(number, sizeof number, ".%d", s->shard);
    }
    if (name) {
        snprintf(name, size, "%s%s.partial", s->options->json, number);
    }
    return name;
}

/* "inputs" of job i as --json writes it. */
static const char *line_of(const session *s, const json_lines *lines, int i, bool *failed) {
    const int each = s->command->inputs_per_job;
    text_stream text;
    const char *found = NULL;
    if (text_open(&text)) {
        json_print_strings(text.stream, s->inputs + i * each, each);
    }
    *failed = !text_close(&text);
    if (!*failed) {
        found = json_lines_find(lines, text.data, text.size);
    }
    text_free(&text);
    return found;
}

/* A run of many inputs, whose file can be continued. */
static bool grows(const session *s) {
    return s->options->json && !path_is_stream(s->options->json) && s->command->inputs_per_job > 0 &&
           !session_joins(s) && (s->options->skip_existing || s->shard || session_job_count(s) > 1);
}

const char *session_line_before(const session *s, int i, bool *failed) {
    *failed = false;
    return s->before ? line_of(s, s->before, i, failed) : NULL;
}

bool session_pair_before(const session *s, int i, double T[16]) {
    bool done = false, found = false, failed;
    const char *line = session_line_before(s, i, &failed);
    if (line) {
        reason unused;
        json_reader r = {.bytes = line, .size = strlen(line), .remedy = "", .why = &unused};
        json_member m;
        json_begin(&r);
        while (json_next_member(&r, &m) == JSON_KEY) {
            done = done || (strcmp(m.key, "exit_code") == 0 && m.count == 1 && m.numbers[0] == EXIT_DONE);
            if (strcmp(m.key, "T_target_source") == 0 && m.count == 16) {
                memcpy(T, m.numbers, sizeof m.numbers);
                found = true;
            }
        }
    }
    return done && found;
}

/* Shards share the file: the lines of others stay, and those of this one are replaced only with --force. */
static existing_file json_existing(const session *s) {
    const option_values *o = s->options;
    bool shared = s->shard && s->before && !s->before->others;
    for (int i = 0; i < session_job_count(s) && shared; i++) {
        bool failed;
        shared = !line_of(s, s->before, i, &failed) && !failed;
    }
    return existing_of(o->force || o->skip_existing || shared);
}

bool session_json_begin(session *s, bool dry) {
    const option_values *o = s->options;
    char *partial = NULL;
    bool good = true;
    if (grows(s)) {
        s->before = calloc(1, sizeof *s->before);
        partial = partial_name(s);
        good = s->before && partial && json_lines_read(o->json, s->command->name, s->before);
        const bool others = good && s->before->others;
        good = good && json_lines_read(partial, s->command->name, s->before);
        if (good && s->before->others && !others) { /* a file of someone else */
            free(partial);
            partial = NULL;
        }
    }
    if (!good) {
        report_error(o->json, "out of memory");
    } else if (o->json && dry) {
        good = path_is_dash(o->json) || output_check(o->json, json_existing(s), true);
    } else if (o->json) {
        good = output_open(&s->json, o->json, json_existing(s), true);
    }
    if (good && !dry) {
        s->json.partial = partial;
        partial = NULL;
    }
    free(partial);
    return good;
}

/* Locks the file, which other shards may replace meanwhile; -1 where the system has no locks. */
static int lock(const char *path) {
    struct stat st, named;
    for (int fd; (fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666)) >= 0; close(fd)) {
        if (flock(fd, LOCK_EX) != 0 || fstat(fd, &st) != 0 ||
            (stat(path, &named) == 0 && named.st_ino == st.st_ino && named.st_dev == st.st_dev)) {
            return fd;
        }
    }
    return -1;
}

/* Adds the lines of other shards to those of this one. */
static bool add_others(session *s) {
    json_lines own = {0}, all = {0};
    bool good = fflush(s->json.stream) == 0 && json_lines_read(s->json.temporary, s->command->name, &own) &&
                json_lines_read(s->options->json, s->command->name, &all);
    for (int i = 0; i < all.count && good; i++) {
        if (!json_lines_find(&own, all.items[i].inputs, all.items[i].length)) {
            fputs(all.items[i].text, s->json.stream);
        }
    }
    json_lines_free(&own);
    json_lines_free(&all);
    if (!good) {
        report_error(s->options->json, "out of memory");
    }
    return good;
}

static bool commit(session *s) {
    const bool shared = s->shard && s->json.temporary && s->before;
    char *partial = s->json.partial;
    s->json.partial = NULL;
    const int fd = shared ? lock(s->options->json) : -1;
    if (shared) {
        s->json.existing = EXISTING_REPLACED;
    }
    bool good = !shared || add_others(s);
    if (good) {
        good = output_commit(&s->json);
    } else {
        output_discard(&s->json);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (good && partial) {
        unlink(partial);
    }
    free(partial);
    return good;
}

int session_json_end(session *s, int code) {
    /* A usage error stops the run before its results are complete, others perhaps before there are any. */
    if (s->json.stream && (code == EXIT_USAGE || (code != EXIT_DONE && ftell(s->json.stream) == 0))) {
        output_discard(&s->json);
    } else if (s->json.stream && !commit(s)) {
        code = EXIT_FAILED;
    }
    if (s->before) {
        json_lines_free(s->before);
        free(s->before);
        s->before = NULL;
    }
    return code;
}
