/* The command line: words -> options with their values, and inputs. */
#include "heap.h"
#include "numbers.h"
#include "options.h"

#include <stdlib.h>
#include <string.h>

/* `prefix`: what stood before the name, "--" or "--set ". */
static bool unknown_option(const command_info *command, const char *prefix, const char *name, reason *why) {
    const option_row *elsewhere = option_by_name(name, FOR_ALL);
    const char *close = closest_option(name, command->bit);
    const option_row *meant = close ? option_by_name(close, command->bit) : NULL;
    return elsewhere ? refuse(why, "%s%s is not an option of %s but of %s; see pcgpu %s --help", prefix, name,
                              command->name, command_of_option(elsewhere)->name, command->name)
           : meant ? refuse(why, "unknown option %s%s; did you mean %s%s?", prefix, name, option_prefix(meant, command),
                            close)
                   : refuse(why, "unknown option %s%s; see pcgpu %s --help", prefix, name, command->name);
}

static void assign(command_line *line, const option_row *option, const char *value, const char *prefix) {
    line->assignments[line->assignment_count++] = (assignment){.option = option, .value = value, .prefix = prefix};
}

/* KEY=VALUE of --set; KEY alone turns a flag on. */
static bool parse_set(const command_info *command, const char *text, command_line *line, reason *why) {
    char key[OPTION_KEY];
    const size_t length = strcspn(text, "=");
    snprintf(key, sizeof key, "%.*s", length < sizeof key ? (int)length : OPTION_KEY - 1, text);
    const option_row *o = option_by_key(key, command->bit);
    if (!o) {
        return unknown_option(command, "--set ", key, why);
    }
    if (!option_is_key(o, command)) {
        return refuse(why, "%s is no key of --set but an option: --%s", key, o->name);
    }
    if (!text[length] && o->argument) {
        return refuse(why, "--set %s needs a value; give --set %s=%s", key, o->name, o->argument);
    }
    assign(line, o, text[length] ? text + length + 1 : NULL, option_prefix(o, command));
    return true;
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
        return unknown_option(command, "--", name, why);
    }
    if (option_is_key(o, command)) {
        const char *value = equals ? equals + 1 : next ? next : o->argument;
        return refuse(why, "--%s is a key of --set: --set %s%s%s", name, name, o->argument ? "=" : "",
                      o->argument ? value : "");
    }
    if (!o->argument || (o->flags & OPTION_MAYBE_VALUE)) {
        if (equals && !o->argument) {
            return refuse(why, "--%s takes no value; leave out \"%s\"", name, equals);
        }
        assign(line, o, equals ? equals + 1 : NULL, "--");
        return true;
    }
    if (!equals && !next) {
        refuse(why, "--%s needs a value; give --%s %s", name, name, o->choices ? o->choices[0] : o->argument);
        for (int i = 1; o->choices && o->choices[i]; i++) {
            refuse_more(why, "%s %s", o->choices[i + 1] ? "," : " or", o->choices[i]);
        }
        return false;
    }
    *used_next = !equals;
    const char *value = equals ? equals + 1 : next;
    if (o->type == &type_set) {
        return parse_set(command, value, line, why);
    }
    assign(line, o, value, "--");
    return true;
}

/* -v, -fv, -m4096, -m 4096. `letters` is without the dash. */
static bool parse_short(const command_info *command, const char *letters, const char *next, bool *used_next,
                        command_line *line, reason *why) {
    for (const char *p = letters; *p; p++) {
        const option_row *o = option_by_letter(*p, command->bit);
        if (!o) {
            double number;
            return p == letters && number_parse(letters - 1, &number)
                       ? refuse(why, "%s " NUMBER_ALONE, letters - 1)
                       : refuse(why, "unknown option -%c; see pcgpu %s --help", *p, command->name);
        }
        if (!o->argument) {
            assign(line, o, NULL, "--");
            line->assignments[line->assignment_count - 1].by_letter = true;
            continue;
        }
        if (!p[1] && !next) {
            return refuse(why, "-%c needs a value; give -%c %s", *p, *p, o->argument);
        }
        *used_next = !p[1];
        assign(line, o, p[1] ? p + 1 : next, "--");
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
    *line = (command_line){.assignments = heap_zeroed(most, sizeof *line->assignments),
                           .inputs = heap_zeroed((size_t)count + 1, sizeof *line->inputs)};
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
            return refuse(why, "%s%s: %s", a->prefix, a->option->name, inner.text);
        }
    }
    return true;
}
