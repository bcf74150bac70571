/* Contexts: settings, the last error, logging, clocks. */
#include "backend.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *pcgpu_status_name(pcgpu_status status) {
    switch (status) {
    case PCGPU_OK: return "success";
    case PCGPU_ERROR_ARGUMENT: return "argument out of range";
    case PCGPU_ERROR_MEMORY: return "out of memory";
    case PCGPU_ERROR_IO: return "input/output error";
    case PCGPU_ERROR_FORMAT: return "malformed file";
    case PCGPU_ERROR_UNAVAILABLE: return "back end not usable";
    case PCGPU_ERROR_DEVICE: return "CUDA error";
    }
    return "unknown status";
}

const char *pcgpu_version(void) {
    return PCGPU_VERSION;
}

void pcgpu_settings_init(pcgpu_settings *settings) {
    *settings = (pcgpu_settings){.device = PCGPU_DEVICE_AUTO};
}

/* The processor's name as the kernel gives it, for reports. */
static void read_cpu_name(char *name, size_t size) {
    snprintf(name, size, "CPU");
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(name, size, "%.*s", (int)size - 1, colon + 2);
            break;
        }
    }
    if (f) {
        fclose(f);
    }
}

pcgpu_status pcgpu_open(const pcgpu_settings *settings, pcgpu_context **context) {
    pcgpu_context *c = calloc(1, sizeof *c);
    *context = c;
    if (!c) {
        return PCGPU_ERROR_MEMORY;
    }
    pcgpu_settings_init(&c->settings);
    if (settings) {
        c->settings = *settings;
    }
    if (c->settings.threads < 0 || c->settings.threads > 4096) {
        return pc_fail(c, PCGPU_ERROR_ARGUMENT, "%d threads; give 1 to 4096, or 0 for all", c->settings.threads);
    }
    c->threads = c->settings.threads > 0 ? c->settings.threads : pc_processors("");
    read_cpu_name(c->cpu_name, sizeof c->cpu_name);
    return c->settings.device == PCGPU_DEVICE_CUDA ? pc_cuda_start(c) : PCGPU_OK;
}

/* Once: the system will not let more start in the next steps. */
static void report_refusal(pcgpu_context *context) {
    const int threads = context->team ? pc_team_refused(context->team) : 0;
    if (threads > 0 && !context->refusal_reported) {
        context->refusal_reported = true;
        pc_log(context, PCGPU_LOG_INFO, "the system refuses more than %d of %d threads; going on with these", threads,
               context->threads);
    }
}

void pcgpu_close(pcgpu_context *context) {
    if (context) {
        for (int i = 0; context->helpers && i < context->threads; i++) {
            pcgpu_close(context->helpers[i]);
        }
        free(context->helpers);
        report_refusal(context);
        pc_cpu_stop(context);
        pc_team_close(context->team);
        for (int i = 0; i < PC_SCRATCHES; i++) {
            free(context->scratch[i].memory);
        }
        pc_cuda_stop(context);
        free(context);
    }
}

pc_team *pc_context_team(pcgpu_context *context) {
    context->team = context->team ? context->team : pc_team_open(context->threads);
    report_refusal(context);
    return context->team;
}

static pc_team *team_for(pcgpu_context *context, int64_t parts) {
    return context && context->threads > 1 && parts > 1 ? pc_context_team(context) : NULL;
}

void pc_run_parts(pcgpu_context *context, int parts, pc_team_fn *function, void *state) {
    pc_team_run(team_for(context, parts), parts, function, state);
}

void pc_run_ranges(pcgpu_context *context, int64_t n, int64_t chunk, pc_range_fn *function, void *state) {
    if (n > 0) {
        pc_team_for(team_for(context, n > chunk ? 2 : 1), n, chunk, function, state);
    }
}

const char *pcgpu_last_error(const pcgpu_context *context) {
    return context ? context->error : "out of memory";
}

void pc_clear_error(pcgpu_context *context) {
    context->error[0] = '\0';
}

pcgpu_status pc_fail(pcgpu_context *context, pcgpu_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(context->error, sizeof context->error, format, args);
    va_end(args);
    return status;
}

pcgpu_status pc_fail_memory(pcgpu_context *context, uint64_t bytes, const char *what) {
    return pc_fail(context, PCGPU_ERROR_MEMORY, "out of memory: %.1f MB were needed for %s; use a smaller input",
                   (double)bytes / 1e6, what);
}

void pc_log(pcgpu_context *context, pcgpu_log_level level, const char *format, ...) {
    if (!context->settings.log) {
        return;
    }
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    context->settings.log(context->settings.log_user, level, line);
}

void *pc_buffer_take(pc_buffer *buffer, size_t bytes, bool keep) {
    if (bytes > buffer->bytes) {
        size_t size = bytes + bytes / 4;
        void *memory = keep ? realloc(buffer->memory, size) : malloc(size);
        if (!memory) {
            return NULL;
        }
        if (!keep) {
            free(buffer->memory);
        }
        *buffer = (pc_buffer){memory, size};
    }
    return buffer->memory;
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
