/* Help, the OPTIONS sections of the man pages and the configuration in effect, from the table of options. */
#include "heap.h"
#include "options.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The default as text, without the quotes of JSON; "" when the help does not show it. */
static void default_text(const option_row *o, const command_info *command, char *value, size_t size) {
    value[0] = '\0';
    text_stream shown;
    option_values defaults;
    options_init(&defaults, command);
    text_open(&shown);
    const bool any = option_print(&defaults, o, shown.stream);
    options_free(&defaults);
    text_close(&shown);
    if (any && o->type->kind != VALUE_BOOLEAN && !(o->flags & OPTION_ALIAS)) {
        const int quote = shown.data[0] == '"';
        snprintf(value, size, "%.*s", (int)shown.size - 2 * quote, shown.data + quote);
    }
    text_free(&shown);
}

enum { HELP = 1024 }; /* bytes of a help text */

/* The help sentence with its default, which depends on the command. */
static void full_help(const option_row *o, const command_info *command, char *text, size_t size) {
    char value[128];
    default_text(o, command, value, sizeof value);
    if (strcmp(o->name, "drop-origin") == 0 && (command->traits & COMMAND_DROPS_ORIGIN)) {
        snprintf(text, size, "%s This is the default.", o->help);
    } else if (o->type == &type_set) {
        int n = snprintf(text, size, "%s Keys:", o->help);
        const option_row *key;
        for (int i = 0; (key = option_at(i)); i++) {
            if (option_is_key(key, command)) {
                n += snprintf(text + n, size - (size_t)n, " %s,", key->name);
            }
        }
        snprintf(text + n - 1, size - (size_t)n + 1, "; see Keys of --set in pcgpu-%s(1).", command->name);
    } else if (value[0]) {
        snprintf(text, size, "%s Default: %s.", o->help, value);
    } else {
        snprintf(text, size, "%s", o->help);
    }
}

/* Of the terminal on standard output, else 80. */
static int line_width(void) {
    struct winsize size;
    const int known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
    return known == 0 ? 80 : known < 40 ? 40 : known > 100 ? 100 : known;
}

/* Prints `text` in lines of that width, from `indent` on; the first line starts at column `column`. */
static void print_wrapped(FILE *out, const char *text, int column, int indent) {
    const int width = line_width();
    if (column > indent - 2 && column > 0) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", indent - column, "");
    column = indent;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column > indent && column + 1 + length > width) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void print_entry(const option_row *o, const char *text, FILE *out) {
    char head[64];
    const char *separator = o->flags & OPTION_MAYBE_VALUE ? "[=" : " ";
    const char letter[] = {'-', o->letter, ',', '\0'};
    snprintf(head, sizeof head, "  %3s --%s%s%s%s", o->letter ? letter : "", o->name, o->argument ? separator : "",
             o->argument ? o->argument : "", o->flags & OPTION_MAYBE_VALUE ? "]" : "");
    fputs(head, out);
    print_wrapped(out, text, (int)strlen(head), line_width() < 72 ? 8 : 26);
}

static void print_option(const option_row *o, const command_info *command, FILE *out) {
    char text[HELP];
    full_help(o, command, text, sizeof text);
    print_entry(o, text, out);
}

/* With the first sentence of its help. */
static void print_main_option(const option_row *o, FILE *out) {
    const char *end = strstr(o->help, ". ");
    end = end && end[-1] == '.' ? strstr(end + 1, ". ") : end; /* not the dots of "N,... or" */
    char sentence[HELP];
    snprintf(sentence, sizeof sentence, "%.*s", end ? (int)(end - o->help) + 1 : HELP, o->help);
    print_entry(o, sentence, out);
}

/* Groups of options: of the command or related ones, about many inputs, of commands of all kinds; the keys of --set. */
typedef enum option_group { GROUP_OWN, GROUP_MANY, GROUP_COMMON, GROUP_KEYS } option_group;

static option_group group_of(const option_row *o, const command_info *command) {
    const bool many = (o->commands & (o->commands - 1)) && o->commands != FOR_SWEEPS;
    const bool common = many && (o->commands & (FOR_SAMPLE | FOR_INFO));
    return option_is_key(o, command) ? GROUP_KEYS
           : o->flags & OPTION_MANY  ? GROUP_MANY
           : common                  ? GROUP_COMMON
                                     : GROUP_OWN;
}

/* Prints the options of a group after `title`. Without such options it prints nothing and returns false. */
static bool print_options(const command_info *command, option_group group, const char *title,
                          void (*print)(const option_row *o, const command_info *command, FILE *out), FILE *out) {
    bool any = false;
    for (int i = 0; option_at(i); i++) {
        if ((option_at(i)->commands & command->bit) && group_of(option_at(i), command) == group) {
            fputs(any ? "" : title, out);
            any = true;
            print(option_at(i), command, out);
        }
    }
    return any;
}

static void print_example(const command_info *command, int i, FILE *out) {
    fprintf(out, "  pcgpu %s %s\n", command->name, command->examples[i]);
}

static void print_usage(const command_info *command, FILE *out) {
    char text[HELP];
    fprintf(out, "Usage: pcgpu %s %s\n", command->name, command->arguments);
    snprintf(text, sizeof text, "%c%s.", command->summary[0] - 'a' + 'A', command->summary + 1);
    print_wrapped(out, text, 0, 0);
}

void help_short(const command_info *command, FILE *out) {
    print_usage(command, out);
    fputs("\nExamples:\n", out);
    print_example(command, 0, out);
    print_example(command, 1, out);
    fputs("\nMain options:\n", out);
    for (const char *name = command->main_options; *name; name += strspn(name, " ")) {
        char word[OPTION_KEY];
        const size_t length = strcspn(name, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, name);
        print_main_option(option_by_name(word, command->bit), out);
        name += length;
    }
    fprintf(out, "\nAll options: pcgpu %s --help. The manual: man pcgpu-%s.\n", command->name, command->name);
}

void help_command(const command_info *command, FILE *out) {
    print_usage(command, out);
    char title[64];
    snprintf(title, sizeof title, "\nOptions of %s:\n", command->name);
    print_options(command, GROUP_OWN, title, print_option, out);
    print_options(command, GROUP_MANY, "\nMany inputs:\n", print_option, out);
    print_options(command, GROUP_COMMON, "\nCommon options:\n", print_option, out);
    if (command->traits & COMMAND_READS_STDIN) {
        fputs("\nWithout an INPUT, or when it is -, standard input is read.\n", out);
    }
    fputs("\nExamples:\n", out);
    print_example(command, 0, out);
    print_example(command, 1, out);
    char text[HELP];
    snprintf(text, sizeof text, "Exit status: 0 done; 1 an input or output failed; 2 usage; 3 CUDA not usable%s.",
             command->traits & COMMAND_MAY_NOT_CONVERGE ? "; 4 did not converge" : "");
    fputc('\n', out);
    print_wrapped(out, text, 0, 0);
    fprintf(out, "See man pcgpu-%s for details.\n", command->name);
}

void help_program(FILE *out) {
    fputs("Usage: pcgpu COMMAND [OPTION]... [INPUT]...\n"
          "Sampling, voxelization and registration of point clouds, the same bytes on the CPU and on CUDA.\n\n"
          "Commands:\n",
          out);
    for (int i = 0; command_at(i); i++) {
        fprintf(out, "  %-10s %s\n", command_at(i)->name, command_at(i)->summary);
    }
    fputs("  bench      compare one thread, all threads and CUDA on your own files\n"
          "  completion print completions for bash, zsh or fish\n"
          "  help       show the help of a command\n\n"
          "Examples:\n",
          out);
    for (int i = 0; i < 3; i++) {
        print_example(command_at(i), 0, out);
    }
    fputs("\npcgpu COMMAND --help lists the options of a command; pcgpu --version -v shows what this build can do.\n",
          out);
}

/* Text for roff: a dash becomes a minus sign that can be copied, and backslashes are escaped. Returns the bytes
 * written. */
static int print_roff(FILE *out, const char *text, int length) {
    int bytes = 0;
    for (int i = 0; i < length; i++) {
        bool escaped = text[i] == '-' || text[i] == '\\';
        if (escaped) {
            fputc('\\', out);
        }
        fputc(text[i] == '\\' ? 'e' : text[i], out);
        bytes += 1 + escaped;
    }
    return bytes;
}

/* The same in lines of about 80 bytes. A dot or an apostrophe at the beginning of one would be a request. */
static void print_roff_lines(FILE *out, const char *text) {
    enum { WIDTH = 80, ESCAPES = 8 }; /* reserved for the escapes of one word */
    int column = 0;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column > 0 && column + 1 + length + ESCAPES > WIDTH) {
            fputc('\n', out);
            column = 0;
        } else if (column > 0) {
            fputc(' ', out);
            column++;
        }
        if (column == 0 && (*text == '.' || *text == '\'')) {
            column += fprintf(out, "\\&");
        }
        column += print_roff(out, text, length);
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void print_man_option(const option_row *o, const command_info *command, FILE *out) {
    char text[HELP];
    const bool is_key = option_is_key(o, command);
    fputs(".TP\n", out);
    if (o->letter) {
        fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
    }
    fputs(is_key ? "\\fB" : "\\fB\\-\\-", out);
    print_roff(out, o->name, (int)strlen(o->name));
    fputs("\\fR", out);
    if (o->argument) {
        fputs(o->flags & OPTION_MAYBE_VALUE ? "[=" : is_key ? "=" : " ", out);
        fprintf(out, "\\fI%s\\fR%s", o->argument, o->flags & OPTION_MAYBE_VALUE ? "]" : "");
    }
    fputc('\n', out);
    full_help(o, command, text, sizeof text);
    print_roff_lines(out, text);
}

void help_man_options(const command_info *command, FILE *out) {
    bool any = print_options(command, GROUP_OWN, "", print_man_option, out);
    any = print_options(command, GROUP_MANY, any ? ".SS Many inputs\n" : "", print_man_option, out) || any;
    print_options(command, GROUP_COMMON, any ? ".SS Common options\n" : "", print_man_option, out);
    print_options(command, GROUP_KEYS, ".SS Keys of \\-\\-set\n", print_man_option, out);
}

void options_print_yaml(const option_values *options, const command_info *command, FILE *out) {
    fprintf(out, "# pcgpu %s: the configuration in effect\n%s:\n", command->name, command->name);
    for (int i = 0; option_at(i); i++) {
        const option_row *o = option_at(i);
        if (!(o->commands & command->bit) || (o->flags & (OPTION_ALIAS | OPTION_LINE_ONLY))) {
            continue;
        }
        text_stream value;
        text_open(&value);
        const bool any = option_print(options, o, value.stream);
        text_close(&value);
        if (any) {
            char key[OPTION_KEY];
            fprintf(out, "  %s: %s\n", option_key(o, key), value.data);
        }
        text_free(&value);
    }
}

void help_manual(const char *command) {
    static const char *const places[] = {"/../man", "/../share/man/man1"}; /* of a build folder; as it is installed */
    char program[4096];
    const ssize_t n = isatty(STDOUT_FILENO) ? readlink("/proc/self/exe", program, sizeof program - 1) : -1;
    if (n > 0) {
        program[n] = '\0';
        *strrchr(program, '/') = '\0';
    }
    for (int i = 0; n > 0 && i < 2; i++) {
        char *page = heap_text("%s%s/pcgpu-%s.1", program, places[i], command);
        if (access(page, R_OK) == 0) {
            execlp("man", "man", page, NULL);
        }
        free(page);
    }
}
