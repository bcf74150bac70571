/* Contexts: settings, threads, and memory kept between operations. */
#include "backend.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(offsetof(pcgpu_context, errors) == 0, "error.c takes a context for its errors");

void pcgpu_settings_init_sized(pcgpu_settings *settings, size_t struct_size) {
    pcgpu_settings initial = {.device = PCGPU_DEVICE_AUTO, .calls = 1, .contexts = 1};
    pc_struct_init(settings, struct_size, &initial, sizeof initial);
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

pcgpu_status pc_context_open(const pcgpu_settings *settings, const pc_backend *cpu, const pc_backend *gpu,
                             pcgpu_context **context) {
    pcgpu_context *c = calloc(1, sizeof *c);
    *context = c;
    if (!c) {
        return PCGPU_ERROR_MEMORY;
    }
    c->cpu = cpu;
    c->gpu = gpu;
    pcgpu_settings_init(&c->settings);
    if (settings) {
        PC_TRY(pc_struct_check(c, "pcgpu_settings", settings->struct_size, sizeof *settings));
        c->settings = *settings;
    }
    c->errors.log = c->settings.log;
    c->errors.log_user = c->settings.log_user;
    c->errors.names = c->settings.names;
    if (c->settings.threads < 0 || c->settings.threads > 4096) {
        return pc_fail(c, PCGPU_ERROR_ARGUMENT, "%d threads; give 1 to 4096, or 0 for all", c->settings.threads);
    }
    if (c->settings.compression < -1 || c->settings.compression > 9) {
        return pc_fail(c, PCGPU_ERROR_ARGUMENT, "compression %d; give -1 to 9", c->settings.compression);
    }
    c->threads = c->settings.threads > 0 ? c->settings.threads : pc_processors("");
    read_cpu_name(c->cpu_name, sizeof c->cpu_name);
    return c->settings.device == PCGPU_DEVICE_CUDA ? gpu->start(c) : cpu->start(c);
}

/* Logged once per context. */
static void report_refusal(pcgpu_context *context) {
    const int threads = context->team ? pc_team_refused(context->team) : 0;
    if (threads > 0 && !context->refusal_reported) {
        context->refusal_reported = true;
        pc_log(context, PCGPU_LOG_INFO, "the system refuses more than %d of %d threads; going on with these", threads,
               context->threads);
    }
}

pcgpu_status pc_context_need_cuda(pcgpu_context *context) {
    return context->cuda ? PCGPU_OK
                         : pc_fail(context, PCGPU_ERROR_UNAVAILABLE,
                                   "arrays on a GPU need a context of CUDA; open it with PCGPU_DEVICE_CUDA");
}

pc_simd pc_context_simd(const pcgpu_context *context) {
    pc_simd widest = PC_SIMD_BASE;
    for (int simd = PC_SIMD_BASE; simd < PC_SIMD_FORMS; simd++) {
        const bool allowed = context->simd_limit == 0 || simd < context->simd_limit;
        widest = allowed && pc_cpu_has((pc_simd)simd) ? (pc_simd)simd : widest;
    }
    return widest;
}

int pcgpu_threads(const pcgpu_context *context) {
    return context->threads;
}

void pcgpu_close(pcgpu_context *context) {
    if (context) {
        for (int i = 0; context->helpers && i < context->threads; i++) {
            pcgpu_close(context->helpers[i]);
        }
        free(context->helpers);
        report_refusal(context);
        context->cpu->stop(context);
        pc_team_close(context->team);
        context->gpu->stop(context);
        free(context);
    }
}

void *pc_keep(pcgpu_context *context, pc_kept name, size_t bytes, void (*free_memory)(void *memory)) {
    if (!context->kept[name].memory) {
        context->kept[name].memory = calloc(1, bytes);
        context->kept[name].free = free_memory;
    }
    return context->kept[name].memory;
}

void pc_drop_kept(pcgpu_context *context, pc_kept name) {
    if (context->kept[name].memory) {
        context->kept[name].free(context->kept[name].memory);
        context->kept[name].memory = NULL;
    }
}

#define POLL_SECONDS 0.05

bool pc_is_cancelled(pcgpu_context *context) {
    pcgpu_context *c = context && context->parent ? context->parent : context;
    if (!c || !c->settings.poll) {
        return false;
    }
    const bool before = __atomic_load_n(&c->cancelled, __ATOMIC_RELAXED);
    if (pc_team_is_helper()) {
        return before;
    }
    const double now = pc_now();
    if (before || !(now - c->polled < POLL_SECONDS)) {
        c->polled = now;
        __atomic_store_n(&c->cancelled, c->settings.poll(c->settings.poll_user), __ATOMIC_RELAXED);
    }
    return __atomic_load_n(&c->cancelled, __ATOMIC_RELAXED);
}

pcgpu_status pc_check_cancelled(pcgpu_context *context) {
    return pc_is_cancelled(context) ? pc_fail(context, PCGPU_ERROR_CANCELLED, "cancelled") : PCGPU_OK;
}

static void poll_while_waiting(void *context) {
    (void)pc_is_cancelled(context);
}

pc_team *pc_context_team(pcgpu_context *context) {
    if (!context->team) {
        context->team = pc_team_open(context->threads);
        if (context->team && context->settings.poll) {
            pc_team_wait_with(context->team, poll_while_waiting, context);
        }
    }
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
