/* What a partial trajectory was made with: its parameters and scans, so that --resume continues no other run. */
#include "odometry_run.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* FNV-1a (Fowler, Noll, Vo), in pieces. */
#define HASH_START 0xcbf29ce484222325u
static uint64_t hash(uint64_t h, const void *bytes, size_t size) {
    const unsigned char *p = bytes;
    for (size_t i = 0; i < size; i++) {
        h = (h ^ p[i]) * 0x100000001b3u;
    }
    return h;
}

/* Of a file: its size and its first bytes; 0 of one that is not there or a pipe. */
static uint64_t hash_of_scan(const char *path) {
    char bytes[4096];
    struct stat st;
    FILE *file = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "rb") : NULL;
    if (!file) {
        return 0;
    }
    uint64_t h = hash(HASH_START, &st.st_size, sizeof st.st_size);
    for (int i = 0; i < 16; i++) {
        h = hash(h, bytes, fread(bytes, 1, sizeof bytes, file));
    }
    fclose(file);
    return h;
}

/* What poses depend on. */
static bool is_parameter(const option_row *o) {
    const size_t odometry = offsetof(option_values, odometry);
    return (o->commands & FOR_ODOMETRY) && !(o->flags & (OPTION_ALIAS | OPTION_LINE_ONLY | OPTION_OUTPUT)) &&
           (o->commands == FOR_REGISTRATION || o->type == &type_camera ||
            o->field == offsetof(option_values, drop_origin) || o->field == offsetof(option_values, fields) ||
            (o->field >= odometry && o->field < odometry + sizeof(pcgpu_odometry_params)));
}

static uint64_t hash_of_parameters(const session *s) {
    text_stream text;
    if (text_open(&text)) {
        for (int i = 0; option_at(i); i++) {
            if (is_parameter(option_at(i))) {
                fprintf(text.stream, "%s ", option_at(i)->name);
                option_print(s->options, option_at(i), text.stream);
            }
        }
    }
    const uint64_t h = text_close(&text) ? hash(HASH_START, text.data, text.size) : 0;
    text_free(&text);
    return h;
}

bool odometry_note_parameters(const session *s, FILE *out) {
    return fprintf(out, TRAJECTORY_STATE "made %" PRIx64 "\n", hash_of_parameters(s)) > 0;
}

void odometry_note_scan(const session *s, int index, FILE *out) {
    const uint64_t h = hash_of_scan(s->inputs[index]);
    if (h) {
        fprintf(out, TRAJECTORY_STATE "scan %d %" PRIx64 "\n", index, h);
    }
}

bool odometry_check_origin(const session *s, FILE *partial, const char *name, int64_t poses) {
    char line[1024];
    rewind(partial);
    while (fgets(line, sizeof line, partial)) {
        uint64_t h;
        int index = 0;
        if (sscanf(line, TRAJECTORY_STATE "made %" SCNx64, &h) == 1 && h != hash_of_parameters(s)) {
            report_error(
                name,
                "was made with other parameters; give those of the interrupted run to --resume, or -f to start again");
            return false;
        }
        if (sscanf(line, TRAJECTORY_STATE "scan %d %" SCNx64, &index, &h) == 2 && index >= 0 && index < poses &&
            h != hash_of_scan(s->inputs[index])) {
            report_error(
                name,
                "pose %d is that of another scan than %s; give the scans of the interrupted run to --resume, or -f to "
                "start again",
                index + 1, s->inputs[index]);
            return false;
        }
    }
    return true;
}
