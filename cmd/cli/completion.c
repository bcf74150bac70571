/* Completions for bash, zsh and fish. The scripts of the shells ask "pcgpu completion words" for what fits the words so
 * far: commands, options, values of choices, names of configurations, and the extensions of the files that fit. */
#include "options.h"

#include <string.h>

/* The extensions of the files that fit an option, without dots; "": all files; NULL: none. Those of others follow from
 * their rows. */
static const struct {
    const char *name, *extensions;
} fitting[] = {
    {"config", "yaml yml"},
    {"poses", "txt log json csv"},
    {"ground-truth", "txt log json csv"},
    {"timestamps", "txt csv"},
    {"calibration", "txt json"},
    {"seeds", "npy txt bin"},
    {"json", "json jsonl"},
    {"cluster-list", "csv json"},
    {"changes", "ply pcd npy bin"},
    {"keep", NULL},
    {"remove", NULL},
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
    return o->flags & OPTION_PLY                                                          ? "ply obj glb"
           : (o->flags & (OPTION_PICTURE | OPTION_PAGE)) == OPTION_PICTURE                ? "png"
           : (o->flags & (OPTION_OUTPUT | OPTION_TEXT | OPTION_PICTURE)) == OPTION_OUTPUT ? "npy npz txt bin"
           : o->type == &type_camera                                                      ? "txt json yaml"
           : o->type == &type_path                                                        ? ""
                                                                                          : NULL;
}

/* The same for the inputs of a command. */
static const char *inputs_of(const command_info *command, char list[LIST]) {
    return command->traits & COMMAND_READS_TEXT     ? "txt log json csv"
           : command->traits & COMMAND_READS_ITSELF ? ""
           : command->bit == FOR_FUSE               ? list_extensions(IMAGES, list)
                                                    : list_extensions(READABLE, list);
}

static bool needs_value(const option_row *o) {
    return o && o->argument && !(o->flags & OPTION_MAYBE_VALUE);
}

/* A line with a word and what it means. */
static void offer(FILE *out, const char *prefix, const char *word, const char *meaning) {
    fprintf(out, "%s%s\t%s\n", prefix, word, meaning);
}

/* The first line: the extensions of the files that fit, or that none do. */
static void offer_files(FILE *out, const char *extensions) {
    fprintf(out, extensions ? "files %s\n" : "words\n", extensions);
}

static void offer_commands(FILE *out) {
    for (int i = 0; command_at(i); i++) {
        offer(out, "", command_at(i)->name, command_at(i)->summary);
    }
    offer(out, "", "bench", "compare one thread, all threads and CUDA on your own files");
}

static void offer_values(const command_info *command, const option_row *o, void (*configs)(FILE *out), FILE *out) {
    char list[LIST];
    const pcgpu_format_info *info;
    const bool reader = o->type == &type_reader, writer = o->type == &type_writer;
    offer_files(out, files_of(o, list));
    for (int i = 0; o->choices && o->choices[i]; i++) {
        offer(out, "", o->choices[i], "");
    }
    for (int i = 0; (reader || writer) && (info = pcgpu_format_at(i)); i++) {
        if (is_in(info, reader ? READABLE : WRITABLE)) {
            offer(out, "", info->name, info->description);
        }
    }
    for (int i = 0; o->type == &type_set && option_at(i); i++) {
        if (option_is_key(option_at(i), command)) {
            offer(out, "", option_at(i)->name, option_at(i)->help);
        }
    }
    if (strcmp(o->name, "config") == 0) {
        configs(out);
    }
}

static void offer_options(const command_info *command, FILE *out) {
    offer_files(out, NULL);
    for (int i = 0; option_at(i); i++) {
        if ((option_at(i)->commands & command->bit) && !option_is_key(option_at(i), command)) {
            offer(out, "--", option_at(i)->name, option_at(i)->help);
        }
    }
}

static void offer_for_command(const command_info *command, const char *previous, const char *current,
                              void (*configs)(FILE *out), FILE *out) {
    char list[LIST];
    const option_row *o = NULL;
    if (previous[0] == '-' && previous[1]) {
        o = previous[1] == '-' ? option_by_name(previous + 2, command->bit)
                               : option_by_letter(previous[strlen(previous) - 1], command->bit);
    }
    if (needs_value(o)) {
        offer_values(command, o, configs, out);
    } else if (current[0] == '-') {
        offer_options(command, out);
    } else {
        offer_files(out, inputs_of(command, list));
    }
}

void completion_words(int count, char **words, void (*configs)(FILE *out), FILE *out) {
    static const char *const shells[] = {"bash", "zsh", "fish"};
    const char *name = "", *current = count > 0 ? words[count - 1] : "";
    const command_info *command = NULL;
    int previous = count - 2;
    if (previous > 0 && strcmp(words[previous], "=") == 0) { /* bash has --NAME=VALUE as three words */
        previous--;
    }
    for (int i = 0; i < count - 1 && !name[0]; i++) {
        command = command_by_name(words[i]);
        name = command || strcmp(words[i], "help") == 0 || strcmp(words[i], "completion") == 0 ? words[i] : "";
    }
    if (command) {
        offer_for_command(command, words[previous], current, configs, out);
        return;
    }
    offer_files(out, NULL);
    for (int i = 0; strcmp(name, "completion") == 0 && i < 3; i++) {
        offer(out, "", shells[i], "");
    }
    if (strcmp(name, "completion") != 0) {
        offer_commands(out);
    }
    if (!name[0]) {
        offer(out, "", "help", "show the help of a command");
        offer(out, "", "completion", "print completions");
        offer(out, "--", "help", "");
        offer(out, "--", "version", "");
    }
}

static const char bash[] =
    "# bash completion for pcgpu; made by pcgpu completion bash\n"
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
    "    local current=${COMP_WORDS[COMP_CWORD]} word kind='' extensions=''\n"
    "    COMPREPLY=()\n"
    "    [[ $current != '=' ]] || current=''\n"
    "    current=${current#[\\\"\\']} # as it was typed: with quotes and backslashes\n"
    "    current=${current//\\\\/}\n"
    "    {\n"
    "        read -r kind extensions\n"
    "        while IFS=$'\\t' read -r word _; do\n"
    "            [[ $word != \"$current\"* ]] || COMPREPLY+=(\"$word\")\n"
    "        done\n"
    "    } < <(pcgpu completion words \"${COMP_WORDS[@]:1:COMP_CWORD-1}\" \"$current\" 2> /dev/null)\n"
    "    [[ $kind != files ]] || _pcgpu_files $extensions\n"
    "}\n"
    "complete -o filenames -F _pcgpu pcgpu\n";

static const char zsh[] =
    "#compdef pcgpu\n"
    "# zsh completion for pcgpu; made by pcgpu completion zsh\n"
    "_pcgpu() {\n"
    "    local -a before=(\"${(@Q)words[2,CURRENT-1]}\") lines kind offered\n"
    "    if [[ $PREFIX == --*=* ]]; then\n"
    "        before+=(\"${PREFIX%%=*}\")\n"
    "        compset -P 1 '*='\n"
    "    fi\n"
    "    lines=(\"${(@f)$(pcgpu completion words \"${before[@]}\" \"$PREFIX\" 2> /dev/null)}\")\n"
    "    kind=(${=lines[1]})\n"
    "    shift lines\n"
    "    local line\n"
    "    for line in \"${lines[@]}\"; do\n"
    "        offered+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\")\n"
    "    done\n"
    "    (( ! $#offered )) || _describe word offered\n"
    "    [[ $kind[1] != files ]] || _files ${kind[2]:+-g} ${kind[2]:+\"*.(${(j:|:)kind[2,-1]})\"}\n"
    "}\n"
    "_pcgpu \"$@\"\n";

static const char fish[] =
    "# fish completion for pcgpu; made by pcgpu completion fish\n"
    "function __pcgpu_complete\n"
    "    set -l before (commandline -opc)\n"
    "    set -l token (commandline -ct | string unescape)\n"
    "    set -l prefix (string match -r '^--[^=]*=' -- $token)\n"
    "    if test -n \"$prefix\"\n"
    "        set -a before (string trim -r -c = -- $prefix)\n"
    "        set token (string replace -- $prefix '' $token)\n"
    "    end\n"
    "    set -l lines (pcgpu completion words $before[2..-1] \"$token\" 2> /dev/null)\n"
    "    set -l kind (string split -n ' ' -- $lines[1])\n"
    "    if test (count $lines) -gt 1\n"
    "        printf '%s\\n' \"$prefix\"$lines[2..-1]\n"
    "    end\n"
    "    if test \"$kind[1]\" = files\n"
    "        set -l pattern ''\n"
    "        test (count $kind) -eq 1; or set pattern '(?:/|\\.(?:'(string join '|' $kind[2..-1])'))$'\n"
    "        set -l paths (__fish_complete_path \"$token\" | string replace -r '\\t.*' '')\n"
    "        for path in (string match -r -- \".*$pattern\" $paths)\n"
    "            printf '%s\\n' \"$prefix$path\"\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c pcgpu -f -a '(__pcgpu_complete)'\n";

bool completion_print(const char *shell, FILE *out) {
    const char *script = strcmp(shell, "bash") == 0   ? bash
                         : strcmp(shell, "zsh") == 0  ? zsh
                         : strcmp(shell, "fish") == 0 ? fish
                                                      : NULL;
    fputs(script ? script : "", out);
    return script;
}
