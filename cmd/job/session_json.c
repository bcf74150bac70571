/* The --json file of a run. Where a run continues an earlier one, by --skip-existing or as another shard, the lines of
 * inputs that this run leaves out stay. */
#define _DEFAULT_SOURCE     /* flock */
#define _XOPEN_SOURCE   700 /* getline */
#include "job.h"
#include "json_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the lines of an earlier run ---- */

typedef struct json_line {
    char *text;         /* with its end */
    const char *inputs; /* the value of "inputs", in `text` */
    size_t length;
    int order; /* of equal inputs the last line counts */
} json_line;

typedef struct json_lines {
    json_line *items; /* by inputs */
    int count;
    bool others; /* a file had other lines, too */
} json_lines;

/* The value of "inputs". */
static bool find_inputs(json_line *line, const char *command) {
    reason unused;
    json_reader r = {.bytes = line->text, .size = strlen(line->text), .remedy = "", .why = &unused};
    json_begin(&r);
    bool known = json_expect(&r, JSON_OBJECT, "") && json_expect(&r, JSON_KEY, "") && strcmp(r.text, "command") == 0 &&
                 json_expect(&r, JSON_STRING, "") && strcmp(r.text, command) == 0;
    while (known && json_next(&r) == JSON_KEY) {
        const bool found = strcmp(r.text, "inputs") == 0;
        line->inputs = line->text + r.at; /* behind the blank */
        known = json_skip(&r);
        line->length = (size_t)(line->text + r.at - 1 - line->inputs);
        if (known && found) {
            return true;
        }
    }
    return false;
}

static int compare_inputs(const void *a, const void *b) {
    const json_line *p = a, *q = b;
    const int order = memcmp(p->inputs, q->inputs, p->length < q->length ? p->length : q->length);
    return order ? order : (p->length > q->length) - (p->length < q->length);
}

static int by_inputs(const void *a, const void *b) {
    const int order = compare_inputs(a, b);
    return order ? order : ((const json_line *)b)->order - ((const json_line *)a)->order;
}

/* Adds the lines of a command; none of a file that is not there. */
static void read_lines(const char *path, const char *command, json_lines *lines) {
    FILE *file = fopen(path, "r");
    for (json_line line = {0}; file; line = (json_line){.order = lines->count}) {
        size_t size = 0;
        errno = 0;
        if (getline(&line.text, &size, file) < 0) {
            heap_or_end(errno == ENOMEM ? NULL : file);
            free(line.text);
            break;
        }
        if (find_inputs(&line, command)) {
            lines->items = heap_grow(lines->items, (size_t)lines->count, sizeof line);
            lines->items[lines->count++] = line;
        } else {
            lines->others = true;
            free(line.text);
        }
    }
    if (file) {
        fclose(file);
    }
    if (lines->count > 0) {
        qsort(lines->items, (size_t)lines->count, sizeof *lines->items, by_inputs);
    }
}

/* The line of these inputs, written as in JSON, or NULL. */
static const char *find_line(const json_lines *lines, const char *inputs, size_t length) {
    const json_line key = {.inputs = inputs, .length = length};
    const json_line *line =
        lines->count > 0 ? bsearch(&key, lines->items, (size_t)lines->count, sizeof key, compare_inputs) : NULL;
    while (line && line > lines->items && compare_inputs(line - 1, line) == 0) {
        line--;
    }
    return line ? line->text : NULL;
}

static void free_lines(json_lines *lines) {
    for (int i = 0; i < lines->count; i++) {
        free(lines->items[i].text);
    }
    free(lines->items);
    *lines = (json_lines){0};
}

/* ---- the file ---- */

bool session_json_is_stdout(const session *s) {
    return path_is_dash(s->options->json);
}

/* Where a signal leaves the lines so far; malloc'd. Each shard has its own. */
static char *partial_name(const session *s) {
    return s->shard > 0 ? heap_text("%s.%d.partial", s->options->json, s->shard)
                        : heap_text("%s.partial", s->options->json);
}

const char *session_line_before(const session *s, int i) {
    const int each = s->command->inputs_per_job;
    text_stream inputs; /* as --json writes them */
    if (!s->before) {
        return NULL;
    }
    text_open(&inputs);
    json_print_strings(inputs.stream, s->inputs + i * each, each);
    text_close(&inputs);
    const char *line = find_line(s->before, inputs.data, inputs.size);
    text_free(&inputs);
    return line;
}

/* A run of many inputs, whose file can be continued. */
static bool grows(const session *s) {
    return s->options->json && !path_is_stream(s->options->json) && s->command->inputs_per_job > 0 &&
           !session_joins(s) && (s->options->skip_existing || s->shard || session_job_count(s) > 1);
}

bool session_pair_before(const session *s, int i, double T[16]) {
    bool done = false, found = false;
    const char *line = session_line_before(s, i);
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
        shared = !session_line_before(s, i);
    }
    return existing_of(o->force || o->skip_existing || shared);
}

bool session_json_begin(session *s, bool dry) {
    const option_values *o = s->options;
    if (!o->json) {
        return true;
    }
    char *partial = NULL;
    if (grows(s)) {
        s->before = heap_zeroed(1, sizeof *s->before);
        partial = partial_name(s);
        read_lines(o->json, s->command->name, s->before);
        const bool others = s->before->others;
        read_lines(partial, s->command->name, s->before);
        if (s->before->others && !others) { /* a file of someone else */
            free(partial);
            partial = NULL;
        }
    }
    if (dry) {
        free(partial);
        return path_is_dash(o->json) || output_check(o->json, json_existing(s), true);
    }
    const bool good = output_open(&s->json, o->json, json_existing(s), true);
    s->json.partial = good ? partial : NULL;
    free(good ? NULL : partial);
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
static void add_others(session *s) {
    json_lines own = {0}, all = {0};
    fflush(s->json.stream); /* the commit reports errors */
    read_lines(s->json.temporary, s->command->name, &own);
    read_lines(s->options->json, s->command->name, &all);
    for (int i = 0; i < all.count; i++) {
        if (!find_line(&own, all.items[i].inputs, all.items[i].length)) {
            fputs(all.items[i].text, s->json.stream);
        }
    }
    free_lines(&own);
    free_lines(&all);
}

static bool commit(session *s) {
    const bool shared = s->shard && s->json.temporary && s->before;
    char *partial = s->json.partial;
    s->json.partial = NULL;
    const int fd = shared ? lock(s->options->json) : -1;
    if (shared) {
        s->json.existing = EXISTING_REPLACED;
        add_others(s);
    }
    const bool good = output_commit(&s->json);
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
        free_lines(s->before);
        free(s->before);
        s->before = NULL;
    }
    return code;
}
