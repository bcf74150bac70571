/* --device, --cpu and --cuda: one option, with the GPUs of CUDA as a list. */
#include "options.h"

#include <stdlib.h>
#include <string.h>

/* "0", "0,2" or "all". */
static bool parse_gpus(const option_row *o, const char *text, device_option *device, reason *why) {
    device_option d = {.device = PCGPU_DEVICE_CUDA, .all = strcmp(text, "all") == 0};
    const char *p = text;
    bool good = true, twice = false;
    while (good && !d.all) {
        char *end;
        const long index = strtol(p, &end, 10);
        good = *p >= '0' && *p <= '9' && index <= (long)o->max && d.count < MOST_GPUS;
        for (int i = 0; good && i < d.count; i++) {
            twice = twice || d.gpus[i] == (int)index;
        }
        d.gpus[good ? d.count++ : 0] = (int)index;
        if (*end == '\0') {
            break;
        }
        good = good && *end == ',';
        p = end + 1;
    }
    if (!good || twice) {
        return refuse(why, "\"%s\" %s; give one to %d different numbers from 0 to %g such as 0,1, or all", text,
                      twice ? "has a device twice" : "are not CUDA devices", MOST_GPUS, o->max);
    }
    *device = d;
    return true;
}

static bool parse_device(const option_row *o, const char *text, void *field, reason *why) {
    if (strncmp(text, "cuda:", 5) == 0) {
        return parse_gpus(o, text + 5, field, why);
    }
    for (int i = 0; o->choices[i]; i++) {
        if (strcmp(text, o->choices[i]) == 0) {
            *(device_option *)field = (device_option){.device = (pcgpu_device)i, .count = 1};
            return true;
        }
    }
    return refuse(why, "unknown value \"%s\"; give auto, cpu, cuda, cuda:N,... or cuda:all", text);
}

static bool print_device(const option_row *o, const void *field, FILE *out) {
    const device_option *d = field;
    const char *name = o->choices[d->device];
    if (d->all) {
        fputs("\"cuda:all\"", out);
    } else if (d->device == PCGPU_DEVICE_CUDA && (d->count > 1 || d->gpus[0] > 0)) {
        for (int i = 0; i < d->count; i++) {
            fprintf(out, "%s%d", i ? "," : "\"cuda:", d->gpus[i]);
        }
        fputc('"', out);
    } else {
        fprintf(out, "\"%s\"", name);
    }
    return true;
}

static bool parse_cpu(const option_row *o, const char *text, void *field, reason *why) {
    bool on;
    if (!type_flag.parse(o, text, &on, why)) {
        return false;
    }
    if (on) {
        *(device_option *)field = (device_option){.device = PCGPU_DEVICE_CPU, .count = 1};
    }
    return true;
}

/* --cuda, --cuda=N,...; in a configuration file also true and false. */
static bool parse_cuda(const option_row *o, const char *text, void *field, reason *why) {
    if (text && strcmp(text, "false") == 0) {
        return true;
    }
    return parse_gpus(o, text && strcmp(text, "true") != 0 ? text : "0", field, why);
}

const option_type type_device = {VALUE_TEXT, false, false, parse_device, print_device};
const option_type type_cpu = {VALUE_BOOLEAN, false, false, parse_cpu, NULL};
const option_type type_cuda = {VALUE_TEXT, false, false, parse_cuda, NULL};
