/* info of a configuration: the commands that it is for, and what its keys mean. */
#include "config.h"
#include "info.h"
#include "voxelize.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { COMMANDS = 16 };

typedef struct config_info {
    int count;
    const command_info *commands[COMMANDS]; /* that can read the file */
    option_values values[COMMANDS];
} config_info;

bool info_is_config(const char *path, const char *head, size_t size) {
    if (path_ends_in(path, ".yaml") || path_ends_in(path, ".yml")) {
        return true;
    }
    for (const char *p = head, *end = head + size; p < end;) { /* the first line that is no comment: "key:" */
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        stop = stop ? stop : end;
        if (p < stop && *p != '#' && *p != '\r') {
            const char *key = p;
            while (p < stop && (isalnum((unsigned char)*p) || *p == '_')) {
                p++;
            }
            return p > key && p < stop && *p == ':' && isalpha((unsigned char)*key);
        }
        p = stop + 1;
    }
    return false;
}

/* How far a file was read: the line and column of an error in it. */
static long place_of(const char *path, const char *error) {
    unsigned line = 0, column = 0;
    const size_t n = strlen(path);
    return strncmp(path, error, n) == 0 && sscanf(error + n, ":%9u:%9u", &line, &column) == 2 ? 1000L * line + column
                                                                                              : 0;
}

/* Reads the file for each command. None can: `why` is the error of the command that read most of it. */
static bool load(const char *path, config_info *info, reason *why) {
    long farthest = -1;
    for (int i = 0; command_at(i) && info->count < COMMANDS; i++) {
        option_values *o = &info->values[info->count];
        reason error;
        options_init(o, command_at(i));
        if (config_load(path, command_at(i), o, &error)) {
            info->commands[info->count++] = command_at(i);
            continue;
        }
        options_free(o);
        const long place = place_of(path, error.text) * 2 + (strstr(error.text, "did you mean") != NULL);
        if (place > farthest) {
            farthest = place;
            *why = error;
        }
    }
    return info->count > 0;
}

/* The commands, as bits of their places, for which the file sets an option with this name. */
static unsigned set_by(const config_info *info, const char *name) {
    unsigned commands = 0;
    for (int i = 0; i < info->count; i++) {
        const option_row *o = option_by_name(name, info->commands[i]->bit);
        commands |= o && info->values[i].source[option_index(o)] == FROM_FILE ? 1u << i : 0u;
    }
    return commands;
}

static bool is_first_with_name(int row) {
    for (int i = 0; i < row; i++) {
        if (strcmp(option_at(i)->name, option_at(row)->name) == 0) {
            return false;
        }
    }
    return true;
}

/* The first sentence of a help text, without "Default" and the like behind it. */
static int sentence_length(const char *help) {
    const char *end = strstr(help, ". "), *semicolon = strstr(help, "; ");
    end = end && (!semicolon || end < semicolon) ? end : semicolon;
    return (int)(end ? (size_t)(end - help) : strlen(help) - (help[strlen(help) - 1] == '.'));
}

/* What a choice means: "NAME: what it means" of the help text, or the first sentence. */
static const char *meaning(const option_row *o, const option_values *values) {
    const int chosen = o->type == &type_choice ? *(const int *)(const void *)((const char *)values + o->field) : -1;
    if (chosen >= 0) {
        char name[40];
        snprintf(name, sizeof name, "%s: ", o->choices[chosen]);
        const char *found = strstr(o->help, name);
        return found ? found + strlen(name) : o->help;
    }
    return o->help;
}

static void print_commands(FILE *out, const config_info *info, unsigned commands, const char *before) {
    for (int i = 0; i < info->count; i++) {
        if (commands & (1u << i)) {
            fprintf(out, "%s%s", before, info->commands[i]->name);
            before = ", ";
        }
    }
}

static int first_of(unsigned commands) {
    int i = 0;
    while (!(commands & (1u << i))) {
        i++;
    }
    return i;
}

/* The keys that are for just these commands. */
static void print_group(FILE *out, const config_info *info, unsigned commands) {
    print_commands(out, info, commands, "  ");
    fputs(":\n", out);
    const int first = first_of(commands);
    for (int k = 0; option_at(k); k++) {
        const option_row *o = option_by_name(option_at(k)->name, info->commands[first]->bit);
        if (!o || !is_first_with_name(k) || set_by(info, o->name) != commands) {
            continue;
        }
        char key[OPTION_KEY];
        fprintf(out, "    %s: ", option_key(o, key));
        option_print(&info->values[first], o, out);
        const char *help = meaning(o, &info->values[first]);
        fprintf(out, "   # %.*s\n", sentence_length(help), help);
    }
}

/* The cells of a range of voxelize. */
static void print_cells(FILE *out, const config_info *info) {
    for (int i = 0; i < info->count; i++) {
        const pcgpu_voxelize_params *p = &voxelize_own(&info->values[i])->params;
        if (strcmp(info->commands[i]->name, "voxelize") == 0 && !p->range_auto && p->size[0] > 0) {
            fprintf(out, "  the grid has %.0f x %.0f x %.0f cells\n", (p->range[3] - p->range[0]) / p->size[0],
                    (p->range[4] - p->range[1]) / p->size[1], (p->range[5] - p->range[2]) / p->size[2]);
        }
    }
}

static void print(const job *j, const config_info *info) {
    FILE *out = j->session->out;
    unsigned done[OPTIONS_MAX];
    int groups = 0;
    print_shown(out, j->names[0]);
    fputs(": a configuration", out);
    print_commands(out, info, (1u << info->count) - 1, " that these commands can read: ");
    fputc('\n', out);
    for (int k = 0; option_at(k); k++) {
        const unsigned commands = set_by(info, option_at(k)->name);
        bool before = commands == 0;
        for (int i = 0; i < groups; i++) {
            before = before || done[i] == commands;
        }
        if (!before) {
            done[groups++] = commands;
            print_group(out, info, commands);
        }
    }
    if (groups == 0) {
        fputs("  it sets nothing\n", out);
    }
    print_cells(out, info);
}

static void add_result(json *out, const config_info *info) {
    json_text(out, "kind", "configuration");
    json_open(out, "commands");
    for (int i = 0; i < info->count; i++) {
        json_open(out, info->commands[i]->name);
        for (int k = 0; option_at(k); k++) {
            const option_row *o = option_at(k);
            if ((o->commands & info->commands[i]->bit) && info->values[i].source[k] == FROM_FILE) {
                json_option(out, &info->values[i], o);
            }
        }
        json_close(out);
    }
    json_close(out);
}

int info_config(job *j) {
    config_info *info = heap_zeroed(1, sizeof *info);
    reason why;
    int code = EXIT_FAILED;
    if (path_is_dash(j->inputs[0])) {
        report_error(j->names[0], "is a configuration, which is read from a file; give its name");
    } else if (!load(j->inputs[0], info, &why)) {
        report_error(NULL, "%s", why.text);
    } else {
        add_result(&j->result, info);
        if (!session_json_is_stdout(j->session)) {
            print(j, info);
        }
        code = EXIT_DONE;
    }
    for (int i = 0; i < info->count; i++) {
        options_free(&info->values[i]);
    }
    free(info);
    return code;
}
