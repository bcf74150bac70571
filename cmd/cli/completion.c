/* Completions for bash, zsh and fish, from the table of options: options, values of choices, names of configurations,
 * and the files that fit an option or the inputs of a command. */
#include "options.h"

#include <string.h>

/* The extensions of the files that fit an option, without dots; "": all files; NULL: none. */
static const struct {
    const char *name, *extensions;
} fitting[] = {
    {"config", "yaml yml"},
    {"mesh", "ply obj glb"},
    {"plot", "png"},
    {"poses", "txt log json csv"},
    {"ground-truth", "txt log json csv"},
    {"timestamps", "txt csv"},
    {"calibration", "txt json"},
    {"camera", "txt json"},
    {"target-camera", "txt json"},
    {"seeds", "npy txt bin"},
    {"indices", "npy npz txt bin"},
    {"distances", "npy npz txt bin"},
    {"coords", "npy npz txt bin"},
    {"counts", "npy npz txt bin"},
    {"point-voxel", "npy npz txt bin"},
    {"json", "json jsonl"},
    {"shard", NULL},
};

enum { LIST = 256 };

typedef enum list_of { READABLE, WRITABLE, IMAGES } list_of;

static bool is_in(const pcgpu_format_info *f, list_of what) {
    return what == READABLE ? f->reads : what == WRITABLE ? f->writes || f->writes_arrays : f->reads && f->depth;
}

/* The extensions of formats. */
static const char *list_extensions(list_of what, char list[LIST]) {
    const pcgpu_format_info *f, *before;
    size_t n = 0;
    list[0] = '\0';
    for (int i = 0; (f = pcgpu_format_at(i)); i++) {
        bool again = false;
        for (int k = 0; k < i && (before = pcgpu_format_at(k)); k++) {
            again = again || (is_in(before, what) && strcmp(before->extension, f->extension) == 0);
        }
        if (is_in(f, what) && !again && n + strlen(f->extension) < LIST) {
            n += (size_t)snprintf(list + n, LIST - n, "%s%s", n ? " " : "", f->extension + 1);
        }
    }
    return list;
}

static const char *files_of(const option_row *o, char list[LIST]) {
    if (o->flags & OPTION_MAIN) {
        return list_extensions(WRITABLE, list);
    }
    for (size_t i = 0; i < sizeof fitting / sizeof fitting[0]; i++) {
        if (strcmp(fitting[i].name, o->name) == 0) {
            return fitting[i].extensions;
        }
    }
    return o->type == &type_path ? "" : NULL;
}

/* The same for the inputs of a command. */
static const char *inputs_of(const command_info *command, char list[LIST]) {
    return command->traits & COMMAND_READS_TEXT     ? "txt log json csv"
           : command->traits & COMMAND_READS_ITSELF ? ""
           : command->bit == FOR_FUSE               ? list_extensions(IMAGES, list)
                                                    : list_extensions(READABLE, list);
}

static bool is_config(const option_row *o) {
    return strcmp(o->name, "config") == 0;
}

static bool has_values(const option_row *o) {
    return o->choices || o->type == &type_reader || o->type == &type_writer || o->type == &type_set;
}

static void print_values(const command_info *command, const option_row *o, FILE *out) {
    const pcgpu_format_info *info;
    const bool reader = o->type == &type_reader, writer = o->type == &type_writer;
    const char *separator = "";
    for (int i = 0; (reader || writer) && (info = pcgpu_format_at(i)); i++) {
        if (is_in(info, reader ? READABLE : WRITABLE)) {
            fprintf(out, "%s%s", separator, info->name);
            separator = " ";
        }
    }
    for (int i = 0; o->type == &type_set && option_at(i); i++) {
        if (option_is_key(option_at(i), command)) {
            fprintf(out, "%s%s", separator, option_at(i)->name);
            separator = " ";
        }
    }
    for (int i = 0; o->choices && o->choices[i]; i++) {
        fprintf(out, "%s%s", i ? " " : "", o->choices[i]);
    }
}

static bool has_option(const command_info *command, const option_row *o) {
    return (o->commands & command->bit) && !option_is_key(o, command);
}

static bool needs_value(const option_row *o) {
    return o->argument && !(o->flags & OPTION_MAYBE_VALUE);
}

static void print_commands(FILE *out) {
    for (int i = 0; command_at(i); i++) {
        fprintf(out, "%s ", command_at(i)->name);
    }
    fputs("bench", out);
}

/* ---- bash -------------------------------------------------------------------------------------------------------- */

static void print_bash_option(const command_info *command, const option_row *o, FILE *out) {
    char list[LIST];
    const char *files = files_of(o, list);
    fprintf(out, "        --%s", o->name);
    if (o->letter) {
        fprintf(out, "|-%c", o->letter);
    }
    fputs(") ", out);
    if (has_values(o)) {
        fputs("words='", out);
        print_values(command, o, out);
        fputs("' ;;\n", out);
    } else if (is_config(o)) {
        fprintf(out, "words=$(pcgpu completion configs 2> /dev/null); _pcgpu_words; _pcgpu_files %s; return ;;\n",
                files);
    } else {
        fprintf(out, files ? "_pcgpu_files %s; return ;;\n" : "return ;;\n", files);
    }
}

static void print_bash_command(const command_info *command, FILE *out) {
    char list[LIST];
    fprintf(out, "    %s)\n        case $previous in\n", command->name);
    for (int i = 0; option_at(i); i++) {
        if (has_option(command, option_at(i)) && needs_value(option_at(i))) {
            print_bash_option(command, option_at(i), out);
        }
    }
    fputs("        *) if [[ $current == -* ]]; then words='", out);
    for (int i = 0; option_at(i); i++) {
        if (has_option(command, option_at(i))) {
            fprintf(out, "--%s ", option_at(i)->name);
        }
    }
    fprintf(out, "'; else _pcgpu_files %s; return; fi ;;\n        esac ;;\n", inputs_of(command, list));
}

static void print_bash(FILE *out) {
    fputs("# bash completion for pcgpu; made by pcgpu completion bash\n"
          "_pcgpu_words() {\n"
          "    local line\n"
          "    while IFS= read -r line; do\n"
          "        COMPREPLY+=(\"$line\")\n"
          "    done < <(compgen -W \"$words\" -- \"$current\")\n"
          "}\n"
          "# _pcgpu_files EXTENSION...: folders, and the files with one of them, or all without one\n"
          "_pcgpu_files() {\n"
          "    local line extension\n"
          "    while IFS= read -r line; do\n"
          "        if [[ $# -eq 0 || -d $line ]]; then\n"
          "            COMPREPLY+=(\"$line\")\n"
          "            continue\n"
          "        fi\n"
          "        for extension; do\n"
          "            [[ $line == *.$extension ]] && COMPREPLY+=(\"$line\")\n"
          "        done\n"
          "    done < <(compgen -f -- \"$current\")\n"
          "}\n"
          "_pcgpu() {\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words='' name='' i\n"
          "    COMPREPLY=()\n"
          "    if [[ $current == '=' ]]; then\n"
          "        current=''\n"
          "    elif [[ $previous == '=' ]]; then\n"
          "        previous=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    fi\n"
          "    current=${current#[\\\"\\']} # as it was typed: with quotes and backslashes\n"
          "    current=${current//\\\\/}\n"
          "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
          "        case ${COMP_WORDS[i]} in\n        help|completion",
          out);
    for (int i = 0; command_at(i); i++) {
        fprintf(out, "|%s", command_at(i)->name);
    }
    fputs(") name=${COMP_WORDS[i]}; break ;;\n"
          "        esac\n"
          "    done\n"
          "    case $name in\n"
          "    '') words='",
          out);
    print_commands(out);
    fputs(" help completion --help --version' ;;\n    help) words='", out);
    print_commands(out);
    fputs("' ;;\n    completion) words='bash zsh fish' ;;\n", out);
    for (int i = 0; command_at(i); i++) {
        print_bash_command(command_at(i), out);
    }
    fputs("    esac\n"
          "    _pcgpu_words\n"
          "}\n"
          "complete -o filenames -F _pcgpu pcgpu\n",
          out);
}

/* ---- zsh --------------------------------------------------------------------------------------------------------- */

/* Text inside single quotes of zsh's _arguments. */
static void print_quoted(FILE *out, const char *text) {
    for (; *text; text++) {
        if (*text == '\'') {
            fputs("'\\''", out);
        } else {
            fprintf(out, "%s%c", strchr("[]:\\", *text) ? "\\" : "", *text);
        }
    }
}

/* "_files -g "*.(yaml|yml)"" */
static void print_zsh_files(const char *extensions, FILE *out) {
    fputs(extensions[0] ? "_files -g \"*.(" : "_files", out);
    for (const char *p = extensions; *p; p++) {
        fputc(*p == ' ' ? '|' : *p, out);
    }
    fputs(extensions[0] ? ")\"" : "", out);
}

static void print_zsh_option(const command_info *command, const option_row *o, FILE *out) {
    char list[LIST];
    const char *files = files_of(o, list);
    fputs("            ", out);
    if (o->letter) {
        fprintf(out, "'(-%c --%s)'{-%c%s,--%s%s}'", o->letter, o->name, o->letter, o->argument ? "+" : "", o->name,
                o->argument ? "=" : "");
    } else {
        fprintf(out, "'--%s%s", o->name, o->flags & OPTION_MAYBE_VALUE ? "=-" : o->argument ? "=" : "");
    }
    fputc('[', out);
    print_quoted(out, o->help);
    fputc(']', out);
    if (o->argument) {
        fprintf(out, "%s%s:", o->flags & OPTION_MAYBE_VALUE ? "::" : ":", o->argument);
        if (has_values(o)) {
            fputc('(', out);
            print_values(command, o, out);
            fputc(')', out);
        } else if (is_config(o)) {
            fputs("_pcgpu_configs", out);
        } else if (files) {
            print_zsh_files(files, out);
        }
    }
    fputs("' \\\n", out);
}

static void print_zsh_command(const command_info *command, FILE *out) {
    char list[LIST];
    fprintf(out, "    %s)\n        _arguments -s \\\n", command->name);
    for (int k = 0; option_at(k); k++) {
        if (has_option(command, option_at(k))) {
            print_zsh_option(command, option_at(k), out);
        }
    }
    fputs("            '*:input:", out);
    print_zsh_files(inputs_of(command, list), out);
    fputs("' ;;\n", out);
}

static void print_zsh(FILE *out) {
    fputs("#compdef pcgpu\n"
          "# zsh completion for pcgpu; made by pcgpu completion zsh\n"
          "_pcgpu_configs() {\n"
          "    local -a names=(${(f)\"$(pcgpu completion configs 2> /dev/null)\"})\n"
          "    _alternative 'names:configuration:compadd -a names' 'files:file:_files -g \"*.(yaml|yml)\"'\n"
          "}\n"
          "_pcgpu() {\n"
          "    local -a commands=(",
          out);
    for (int i = 0; command_at(i); i++) {
        fprintf(out, "'%s:%s' ", command_at(i)->name, command_at(i)->summary);
    }
    fputs("'bench:compare one thread, all threads and CUDA on your own files' 'help:show the help of a command' "
          "'completion:print completions')\n"
          "    integer at=2\n"
          "    while (( at < CURRENT )) && [[ ${words[at]} == (-*|bench) ]]; do\n"
          "        (( at++ ))\n"
          "    done\n"
          "    if (( at >= CURRENT )); then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    words=(\"${(@)words[at,-1]}\")\n"
          "    (( CURRENT -= at - 1 ))\n"
          "    case ${words[1]} in\n",
          out);
    for (int i = 0; command_at(i); i++) {
        print_zsh_command(command_at(i), out);
    }
    fputs("    help) _describe command commands ;;\n"
          "    completion) compadd bash zsh fish ;;\n"
          "    esac\n"
          "}\n"
          "_pcgpu \"$@\"\n",
          out);
}

/* ---- fish -------------------------------------------------------------------------------------------------------- */

static void print_fish_files(const char *extensions, FILE *out) {
    fprintf(out, " -a '(__pcgpu_files %s)'", extensions);
}

static void print_fish_option(const command_info *command, const option_row *o, FILE *out) {
    char list[LIST];
    const char *files = files_of(o, list);
    fprintf(out, "complete -c pcgpu -n '__fish_seen_subcommand_from %s' -l %s", command->name, o->name);
    if (o->letter) {
        fprintf(out, " -s %c", o->letter);
    }
    if (needs_value(o)) {
        fputs(" -x", out);
        if (has_values(o)) {
            fputs(" -a '", out);
            print_values(command, o, out);
            fputc('\'', out);
        } else if (is_config(o)) {
            fprintf(out, " -a '(pcgpu completion configs 2> /dev/null; __pcgpu_files %s)'", files);
        } else if (files) {
            print_fish_files(files, out);
        }
    }
    fputs(" -d '", out);
    for (const char *p = o->help; *p; p++) {
        fprintf(out, "%s%c", strchr("'\\", *p) ? "\\" : "", *p);
    }
    fputs("'\n", out);
}

static void print_fish(FILE *out) {
    char list[LIST];
    fputs("# fish completion for pcgpu; made by pcgpu completion fish\n"
          "# Folders, and the files with one of the extensions, or all without one.\n"
          "function __pcgpu_files\n"
          "    set -l token (string replace -r '^--[^=]*=' '' -- (commandline -ct) | string unescape)\n"
          "    set -l pattern ''\n"
          "    test (count $argv) -eq 0; or set pattern '(?:/|\\.(?:'(string join '|' $argv)'))$'\n"
          "    __fish_complete_path $token | string replace -r '\\t.*' '' | string match -r -- \".*$pattern\"\n"
          "end\n",
          out);
    for (int i = 0; command_at(i); i++) {
        fprintf(out, "complete -c pcgpu -n __fish_use_subcommand -f -a %s -d '%s'\n", command_at(i)->name,
                command_at(i)->summary);
        fprintf(out, "complete -c pcgpu -n '__fish_seen_subcommand_from %s' -f", command_at(i)->name);
        print_fish_files(inputs_of(command_at(i), list), out);
        fputc('\n', out);
    }
    fputs("complete -c pcgpu -n __fish_use_subcommand -f -a bench -d 'compare one thread, all threads and CUDA'\n"
          "complete -c pcgpu -n __fish_use_subcommand -f -a help -d 'show the help of a command'\n"
          "complete -c pcgpu -n __fish_use_subcommand -f -a completion -d 'print completions'\n"
          "complete -c pcgpu -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n"
          "complete -c pcgpu -n '__fish_seen_subcommand_from help' -f -a '",
          out);
    print_commands(out);
    fputs("'\ncomplete -c pcgpu -n '__fish_seen_subcommand_from bench; and not __fish_seen_subcommand_from", out);
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; command_at(i); i++) {
            fprintf(out, " %s", command_at(i)->name);
        }
        fputs(turn ? "'\n" : "' -f -a '", out);
    }
    for (int i = 0; command_at(i); i++) {
        for (int k = 0; option_at(k); k++) {
            if (has_option(command_at(i), option_at(k))) {
                print_fish_option(command_at(i), option_at(k), out);
            }
        }
    }
}

bool completion_print(const char *shell, FILE *out) {
    if (strcmp(shell, "bash") == 0) {
        print_bash(out);
    } else if (strcmp(shell, "zsh") == 0) {
        print_zsh(out);
    } else if (strcmp(shell, "fish") == 0) {
        print_fish(out);
    } else {
        return false;
    }
    return true;
}
