/* Completions for bash, zsh and fish, from the table of options. */
#include "options.h"

#include <string.h>

static void print_choices(const option_row *o, const char *separator, FILE *out) {
    for (int i = 0; o->choices[i]; i++) {
        fprintf(out, "%s%s", i ? separator : "", o->choices[i]);
    }
}

static void print_formats(bool reading, const char *separator, FILE *out) {
    const pcgpu_format_info *info;
    bool first = true;
    for (int i = 0; (info = pcgpu_format_at(i)); i++) {
        if (reading ? info->reads : info->writes || info->writes_arrays) {
            fprintf(out, "%s%s", first ? "" : separator, info->name);
            first = false;
        }
    }
}

static bool is_format(const option_row *o) {
    return o->type == &type_reader || o->type == &type_writer;
}

static void print_values(const option_row *o, const char *separator, FILE *out) {
    if (is_format(o)) {
        print_formats(o->type == &type_reader, separator, out);
    } else {
        print_choices(o, separator, out);
    }
}

static bool has_option(const command_info *command, const option_row *o) {
    return (o->commands & command->bit) != 0;
}

static void print_bash_command(const command_info *command, FILE *out) {
    fprintf(out, "    %s)\n        case $previous in\n", command->name);
    for (int i = 0; option_at(i); i++) {
        const option_row *o = option_at(i);
        if (!has_option(command, o) || !o->argument || (o->flags & OPTION_MAYBE_VALUE)) {
            continue;
        }
        fprintf(out, "        --%s", o->name);
        if (o->letter) {
            fprintf(out, "|-%c", o->letter);
        }
        fputs(") ", out);
        if (o->choices || is_format(o)) {
            fputs("words='", out);
            print_values(o, " ", out);
            fputs("' ;;\n", out);
        } else {
            fputs(o->type == &type_path ? "COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n" : "return ;;\n",
                  out);
        }
    }
    fputs("        *) words='", out);
    for (int i = 0; option_at(i); i++) {
        if (has_option(command, option_at(i))) {
            fprintf(out, "--%s ", option_at(i)->name);
        }
    }
    fputs("' ;;\n        esac ;;\n", out);
}

static void print_bash(FILE *out) {
    fputs("# bash completion for pcgpu; made by pcgpu completion bash\n"
          "_pcgpu() {\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W '",
          out);
    for (int i = 0; command_at(i); i++) {
        fprintf(out, "%s ", command_at(i)->name);
    }
    fputs("help completion --help --version' -- \"$current\"))\n"
          "        return\n"
          "    fi\n"
          "    case ${COMP_WORDS[1]} in\n"
          "    help) words='",
          out);
    for (int i = 0; command_at(i); i++) {
        fprintf(out, "%s ", command_at(i)->name);
    }
    fputs("' ;;\n    completion) words='bash zsh fish' ;;\n", out);
    for (int i = 0; command_at(i); i++) {
        print_bash_command(command_at(i), out);
    }
    fputs("    esac\n"
          "    if [[ $current == -* || $words != --* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
          "    else\n"
          "        COMPREPLY=($(compgen -f -- \"$current\"))\n"
          "    fi\n"
          "}\n"
          "complete -o filenames -F _pcgpu pcgpu\n",
          out);
}

/* Text inside single quotes of zsh's _arguments or of fish. */
static void print_quoted(FILE *out, const char *text, const char *escape) {
    for (; *text; text++) {
        if (*text == '\'') {
            fputs("'\\''", out);
        } else {
            fprintf(out, "%s%c", strchr(escape, *text) ? "\\" : "", *text);
        }
    }
}

static void print_zsh_option(const option_row *o, FILE *out) {
    fputs("            ", out);
    if (o->letter) {
        fprintf(out, "'(-%c --%s)'{-%c%s,--%s%s}'", o->letter, o->name, o->letter, o->argument ? "+" : "", o->name,
                o->argument ? "=" : "");
    } else {
        fprintf(out, "'--%s%s", o->name, o->flags & OPTION_MAYBE_VALUE ? "=-" : o->argument ? "=" : "");
    }
    fputc('[', out);
    print_quoted(out, o->help, "[]:\\");
    fputc(']', out);
    if (o->argument) {
        fprintf(out, "%s%s:", o->flags & OPTION_MAYBE_VALUE ? "::" : ":", o->argument);
        if (o->choices || is_format(o)) {
            fputc('(', out);
            print_values(o, " ", out);
            fputc(')', out);
        } else if (o->type == &type_path) {
            fputs("_files", out);
        }
    }
    fputs("' \\\n", out);
}

static void print_zsh(FILE *out) {
    fputs("#compdef pcgpu\n"
          "# zsh completion for pcgpu; made by pcgpu completion zsh\n"
          "_pcgpu() {\n"
          "    if (( CURRENT == 2 )); then\n"
          "        local -a commands=(",
          out);
    for (int i = 0; command_at(i); i++) {
        fprintf(out, "'%s:%s' ", command_at(i)->name, command_at(i)->summary);
    }
    fputs("'help:show the help of a command' 'completion:print completions')\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    local name=${words[2]}\n"
          "    shift words; (( CURRENT-- ))\n"
          "    case $name in\n",
          out);
    for (int i = 0; command_at(i); i++) {
        fprintf(out, "    %s)\n        _arguments -s \\\n", command_at(i)->name);
        for (int k = 0; option_at(k); k++) {
            if (has_option(command_at(i), option_at(k))) {
                print_zsh_option(option_at(k), out);
            }
        }
        fputs("            '*:input:_files' ;;\n", out);
    }
    fputs("    completion) _values shell bash zsh fish ;;\n"
          "    esac\n"
          "}\n"
          "_pcgpu \"$@\"\n",
          out);
}

static void print_fish(FILE *out) {
    fputs("# fish completion for pcgpu; made by pcgpu completion fish\n", out);
    for (int i = 0; command_at(i); i++) {
        fprintf(out, "complete -c pcgpu -n __fish_use_subcommand -f -a %s -d '%s'\n", command_at(i)->name,
                command_at(i)->summary);
    }
    for (int i = 0; command_at(i); i++) {
        for (int k = 0; option_at(k); k++) {
            const option_row *o = option_at(k);
            if (!has_option(command_at(i), o)) {
                continue;
            }
            fprintf(out, "complete -c pcgpu -n '__fish_seen_subcommand_from %s' -l %s", command_at(i)->name, o->name);
            if (o->letter) {
                fprintf(out, " -s %c", o->letter);
            }
            if (o->argument && !(o->flags & OPTION_MAYBE_VALUE)) {
                fputs(o->choices || is_format(o) ? " -x -a '" : " -r", out);
                if (o->choices || is_format(o)) {
                    print_values(o, " ", out);
                    fputc('\'', out);
                }
            }
            fputs(" -d '", out);
            for (const char *p = o->help; *p; p++) {
                fprintf(out, "%s%c", strchr("'\\", *p) ? "\\" : "", *p);
            }
            fputs("'\n", out);
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
