/* Errors, the log and the clock. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A context begins with its errors (context.c asserts it); nothing else of it is known here. */
static pc_errors *errors_of(pcgpu_context *context) {
    return (pc_errors *)context;
}

const char *pcgpu_status_name(pcgpu_status status) {
    switch (status) {
    case PCGPU_OK: return "success";
    case PCGPU_ERROR_ARGUMENT: return "argument out of range";
    case PCGPU_ERROR_MEMORY: return "out of memory";
    case PCGPU_ERROR_IO: return "input/output error";
    case PCGPU_ERROR_FORMAT: return "malformed file";
    case PCGPU_ERROR_UNAVAILABLE: return "back end not usable";
    case PCGPU_ERROR_DEVICE: return "CUDA error";
    case PCGPU_ERROR_CANCELLED: return "cancelled";
    }
    return "unknown status";
}

const char *pcgpu_last_error(const pcgpu_context *context) {
    return context ? ((const pc_errors *)context)->text : "out of memory";
}

void pc_clear_error(pcgpu_context *context) {
    errors_of(context)->text[0] = '\0';
}

static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

void pc_spell(char *text, size_t size, pcgpu_names names) {
    char *at = names == PCGPU_NAMES_OPTIONS ? NULL : strstr(text, "--");
    for (; at; at = strstr(at + 1, "--")) {
        const size_t begin = strncmp(at, "--set ", 6) == 0 ? 6 : 2;
        size_t end = begin;
        char name[64], rest[1024];
        while (is_name(at[end])) {
            end++;
        }
        const bool command = at - text >= 6 && memcmp(at - 6, "pcgpu ", 6) == 0;
        if (end == begin || command || (at > text && !strchr(" ('\"", at[-1]))) {
            continue; /* not a name, that of a command, or the middle of a word, as in the name of a file */
        }
        snprintf(name, sizeof name, "%.*s", (int)(end - begin), at + begin);
        if (strcmp(name, "cpu") == 0) {
            snprintf(name, sizeof name, names == PCGPU_NAMES_C ? "PCGPU_DEVICE_CPU" : "device='cpu'");
        } else if (strcmp(name, "output-format") == 0) {
            snprintf(name, sizeof name, "format");
        }
        for (size_t i = 0; name[i]; i++) {
            name[i] = name[i] == '-' ? '_' : name[i];
        }
        snprintf(rest, sizeof rest, "%s", at + end);
        snprintf(at, size - (size_t)(at - text), "%s%s", name, rest);
    }
}

pcgpu_status pc_fail(pcgpu_context *context, pcgpu_status status, const char *format, ...) {
    pc_errors *errors = errors_of(context);
    va_list args;
    va_start(args, format);
    vsnprintf(errors->text, sizeof errors->text, format, args);
    va_end(args);
    pc_spell(errors->text, sizeof errors->text, errors->names);
    return status;
}

pcgpu_status pc_fail_memory(pcgpu_context *context, uint64_t bytes, const char *what) {
    return pc_fail(context, PCGPU_ERROR_MEMORY, "out of memory: %.1f MB were needed for %s; use a smaller input",
                   (double)bytes / 1e6, what);
}

void pc_struct_init(void *to, size_t struct_size, const void *initial, size_t size) {
    memcpy(to, initial, struct_size < size ? struct_size : size);
    if (struct_size >= sizeof struct_size) {
        memcpy(to, &struct_size, sizeof struct_size);
    }
}

pcgpu_status pc_struct_check(pcgpu_context *context, const char *name, size_t struct_size, size_t size) {
    return struct_size == size
               ? PCGPU_OK
               : pc_fail(
                     context, PCGPU_ERROR_ARGUMENT,
                     "%s has %zu bytes and this library, version %s, %zu; call %s_init, and compile with the headers "
                     "of this version",
                     name, struct_size, pcgpu_version(), size, name);
}

void pc_log(pcgpu_context *context, pcgpu_log_level level, const char *format, ...) {
    const pc_errors *errors = errors_of(context);
    if (!errors->log) {
        return;
    }
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    pc_spell(line, sizeof line, errors->names);
    errors->log(errors->log_user, level, line);
}

double pc_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double pc_stage(pcgpu_run *run, const char *name, double begin) {
    double now = pc_now();
    if (run->stages < PCGPU_MAX_STAGES) {
        snprintf(run->stage[run->stages].name, sizeof run->stage[0].name, "%s", name);
        run->stage[run->stages++].seconds = now - begin;
    }
    return now;
}
