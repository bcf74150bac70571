/* The command line: words -> options with their values, and inputs. */
#include "options.h"

#include <stdlib.h>
#include <string.h>

/* Edit distance with transposed neighbours (optimal string alignment); names are short. */
static int edit_distance(const char *a, const char *b) {
    enum { LONGEST = 40 };
    size_t n = strlen(a), m = strlen(b);
    int rows[3][LONGEST + 1];
    if (n > LONGEST || m > LONGEST) {
        return LONGEST;
    }
    for (size_t j = 0; j <= m; j++) {
        rows[0][j] = (int)j;
    }
    for (size_t i = 1; i <= n; i++) {
        int *now = rows[i % 3];
        const int *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];
        now[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int best = up[j - 1] + (a[i - 1] != b[j - 1]);
            best = up[j] + 1 < best ? up[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && up2[j - 2] + 1 < best) {
                best = up2[j - 2] + 1;
            }
            now[j] = best;
        }
    }
    return rows[n % 3][m];
}

const char *next_option_name(int i, unsigned commands) {
    for (int k = 0; option_at(k); k++) {
        if ((option_at(k)->commands & commands) && i-- == 0) {
            return option_at(k)->name;
        }
    }
    return NULL;
}

const char *next_command_name(int i, unsigned commands) {
    (void)commands;
    return command_at(i) ? command_at(i)->name : NULL;
}

const char *closest_name(const char *wrong, const char *(*next)(int i, unsigned commands), unsigned commands) {
    int nearest = (int)strlen(wrong) / 3 + 1;
    const char *found = NULL, *name;
    bool tie = false;
    for (int i = 0; (name = next(i, commands)); i++) {
        int d = edit_distance(wrong, name);
        if (d < nearest || (d == nearest && !found)) {
            nearest = d;
            found = name;
            tie = false;
        } else if (d == nearest && strcmp(name, found) != 0) {
            tie = true;
        }
    }
    return tie ? NULL : found;
}

static bool unknown_option(const command_info *command, const char *name, reason *why) {
    const option_row *elsewhere = option_by_name(name, FOR_ALL);
    const char *close = strcmp(name, "gpu") == 0
                            ? "cuda"
                            : closest_name(name, next_option_name, command->bit); /* no letters in common */
    return elsewhere ? refuse(why, "--%s is not an option of %s but of %s; see pcgpu %s --help", name, command->name,
                              command_of_option(elsewhere)->name, command->name)
           : close   ? refuse(why, "unknown option --%s; did you mean --%s?", name, close)
                     : refuse(why, "unknown option --%s; see pcgpu %s --help", name, command->name);
}

static void assign(command_line *line, const option_row *option, const char *value) {
    line->assignments[line->assignment_count++] = (assignment){option, value};
}

/* --name, --name=VALUE, --name VALUE. `word` is without the dashes; `next` is the word behind it or NULL. */
static bool parse_long(const command_info *command, const char *word, const char *next, bool *used_next,
                       command_line *line, reason *why) {
    char name[64];
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : (int)sizeof name - 1, word);
    const option_row *o = option_by_name(name, command->bit);
    if (!o) {
        return unknown_option(command, name, why);
    }
    if (!o->argument || (o->flags & OPTION_MAYBE_VALUE)) {
        if (equals && !o->argument) {
            return refuse(why, "--%s takes no value; leave out \"%s\"", name, equals);
        }
        assign(line, o, equals ? equals + 1 : NULL);
        return true;
    }
    if (!equals && !next) {
        return refuse(why, "--%s needs a value; give --%s %s", name, name, o->argument);
    }
    *used_next = !equals;
    assign(line, o, equals ? equals + 1 : next);
    return true;
}

/* -v, -fv, -m4096, -m 4096. `letters` is without the dash. */
static bool parse_short(const command_info *command, const char *letters, const char *next, bool *used_next,
                        command_line *line, reason *why) {
    for (const char *p = letters; *p; p++) {
        const option_row *o = option_by_letter(*p, command->bit);
        if (!o) {
            return refuse(why, "unknown option -%c; see pcgpu %s --help", *p, command->name);
        }
        if (!o->argument) {
            assign(line, o, NULL);
            continue;
        }
        if (!p[1] && !next) {
            return refuse(why, "-%c needs a value; give -%c %s", *p, *p, o->argument);
        }
        *used_next = !p[1];
        assign(line, o, p[1] ? p + 1 : next);
        return true;
    }
    return true;
}

/* Whether the next word is the value of this option, which may belong to any command. */
static bool takes_next(const char *word) {
    const option_row *o = NULL;
    if (word[1] == '-') {
        o = option_by_name(word + 2, FOR_ALL); /* none with "=" has this name */
    }
    for (const char *p = word + 1; word[1] != '-' && *p && !(o && o->argument); p++) {
        o = option_by_letter(*p, FOR_ALL);
        if (o && o->argument && p[1]) {
            return false; /* the rest is its value */
        }
    }
    return o && o->argument && !(o->flags & OPTION_MAYBE_VALUE);
}

int command_line_find_command(int count, char **words) {
    int i = 0;
    while (i < count && words[i][0] == '-' && words[i][1]) {
        i += takes_next(words[i]) ? 2 : 1;
    }
    return i < count ? i : -1;
}

bool command_line_parse(const command_info *command, int count, char **words, command_line *line, reason *why) {
    /* A word makes at most as many assignments as it has letters. */
    size_t most = 1;
    for (int i = 0; i < count; i++) {
        most += strlen(words[i]);
    }
    *line = (command_line){.assignments = calloc(most, sizeof *line->assignments),
                           .inputs = calloc((size_t)count + 1, sizeof *line->inputs)};
    if (!line->assignments || !line->inputs) {
        return refuse(why, "out of memory");
    }
    bool options_ended = false;
    for (int i = 0; i < count; i++) {
        const char *word = words[i], *next = i + 1 < count ? words[i + 1] : NULL;
        bool used_next = false;
        if (options_ended || word[0] != '-' || word[1] == '\0') {
            line->inputs[line->input_count++] = word;
        } else if (strcmp(word, "--") == 0) {
            options_ended = true;
        } else if (word[1] == '-' ? !parse_long(command, word + 2, next, &used_next, line, why)
                                  : !parse_short(command, word + 1, next, &used_next, line, why)) {
            return false;
        }
        i += used_next;
    }
    return true;
}

void command_line_free(command_line *line) {
    free(line->assignments);
    free(line->inputs);
    *line = (command_line){0};
}

bool command_line_apply(const command_line *line, option_values *options, reason *why) {
    for (int i = 0; i < line->assignment_count; i++) {
        const assignment *a = &line->assignments[i];
        reason inner;
        if (!option_set(options, a->option, a->value, FROM_COMMAND_LINE, &inner)) {
            return refuse(why, "--%s: %s", a->option->name, inner.text);
        }
    }
    return true;
}
