/* pcgpu: the program. Words -> options -> session -> the command. */
#include "config.h"
#include "heap.h"
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int usage_error(const command_info *command, const char *why) {
    report_error(NULL, "%s", why);
    if (!command) {
        fputs("Try 'pcgpu --help'.\n", stderr);
    }
    return EXIT_USAGE;
}

static int unknown_command(const char *word) {
    char why[256];
    const char *close = closest_name(word, next_command_name, FOR_ALL);
    if (close) {
        snprintf(why, sizeof why, "unknown command %.80s; did you mean %s?", word, close);
    } else {
        snprintf(why, sizeof why, "unknown command %.80s", word);
    }
    return usage_error(NULL, why);
}

/* Standard output may be a full disk. */
static int finish(int code) {
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        report_error("standard output", "cannot write: %s", errno ? strerror(errno) : "the device refused the data");
        code = code == EXIT_DONE ? EXIT_FAILED : code;
    }
    return code;
}

/* "pcgpu help [COMMAND]"; with --man the OPTIONS section of its manual page. */
static int help(int count, char **words) {
    bool man = count > 0 && strcmp(words[0], "--man") == 0;
    const char *name = count > man ? words[man] : NULL;
    const command_info *command = name ? command_by_name(name) : NULL;
    if (!name) {
        help_program(stdout);
    } else if (!command) {
        return unknown_command(name);
    } else if (man) {
        help_man_options(command, stdout);
    } else {
        help_command(command, stdout);
    }
    return EXIT_DONE;
}

static int completion(int count, char **words) {
    return count == 1 && completion_print(words[0], stdout)
               ? EXIT_DONE
               : usage_error(NULL, "completions are for bash, zsh and fish; give one of them");
}

/* Options without a command: only those that ask about the program. */
static int program_options(int count, char **words) {
    bool version = false, verbose = false, wants_help = false;
    for (int i = 0; i < count; i++) {
        const char *w = words[i];
        if (strcmp(w, "--version") == 0 || strcmp(w, "-V") == 0) {
            version = true;
        } else if (strcmp(w, "--verbose") == 0 || strcmp(w, "-v") == 0) {
            verbose = true;
        } else if (strcmp(w, "-Vv") == 0 || strcmp(w, "-vV") == 0) {
            version = verbose = true;
        } else if (strcmp(w, "--help") == 0 || strcmp(w, "-h") == 0) {
            wants_help = true;
        } else {
            char why[256];
            snprintf(why, sizeof why, "no command; %.80s is an option of one", w);
            return usage_error(NULL, why);
        }
    }
    if (wants_help) {
        help_program(stdout);
    } else if (version) {
        version_print(verbose);
    } else {
        return usage_error(NULL, "no command");
    }
    return EXIT_DONE;
}

/* Defaults, then the configuration files, then the command line. That comes once before the files as well: it says how
 * to read those of OpenPCDet, and which of their values may be missing. */
static bool settle_options(const command_info *command, const command_line *line, option_values *o, char *why,
                           size_t why_size) {
    options_init(o, command);
    if (!command_line_apply(line, o, why, why_size)) {
        return false;
    }
    for (int i = 0; i < line->assignment_count; i++) {
        const assignment *a = &line->assignments[i];
        if (strcmp(a->option->name, "config") == 0 && !config_load(a->value, command, o, why, why_size)) {
            return false;
        }
    }
    return command_line_apply(line, o, why, why_size);
}

static bool line_has(const command_line *line, const char *name) {
    for (int i = 0; i < line->assignment_count; i++) {
        if (strcmp(line->assignments[i].option->name, name) == 0) {
            return true;
        }
    }
    return false;
}

static int run_session(session *s) {
    const option_values *o = s->options;
    char why[1024];
    if (!options_check(s->options, s->command, why, sizeof why) || !session_check(s, why, sizeof why)) {
        return usage_error(s->command, why);
    }
    report_setup(o->verbose, o->quiet);
    if (o->dry_run) {
        int code = session_dry_run(s);
        pcgpu_close(s->context);
        return code;
    }
    files_catch_signals();
    heap_prepare();
    int code = session_open(s);
    if (code == EXIT_DONE) {
        code = s->command->run(s);
    }
    return session_close(s, code);
}

static int run(const command_info *command, const command_line *line, option_values *o) {
    session s = {.command = command, .options = o, .inputs = line->inputs, .input_count = line->input_count};
    int code = run_session(&s);
    pairs_free(&s.pairs);
    return code;
}

static int command_main(const command_info *command, int count, char **words) {
    command_line line;
    option_values o = {0};
    char why[1024];
    int code;
    if (!command_line_parse(command, count, words, &line, why, sizeof why)) {
        code = usage_error(command, why);
    } else if (line_has(&line, "help")) {
        help_command(command, stdout);
        code = EXIT_DONE;
    } else if (line_has(&line, "version")) {
        version_print(line_has(&line, "verbose"));
        code = EXIT_DONE;
    } else if (!settle_options(command, &line, &o, why, sizeof why)) {
        code = usage_error(command, why);
    } else {
        code = run(command, &line, &o);
    }
    options_free(&o);
    command_line_free(&line);
    return code;
}

/* The number of a closed standard stream would go to the next file opened, and messages or data would end up in it. Its
 * place is held by a file that refuses them as a closed one does. */
static void hold_standard_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) {
            _exit(EXIT_FAILED);
        }
    }
}

int main(int argc, char **argv) {
    hold_standard_streams();
    report_setup(false, false);
    if (argc < 2) {
        help_program(stderr);
        return EXIT_USAGE;
    }
    int at = command_line_find_command(argc - 1, argv + 1);
    if (at < 0) {
        return finish(program_options(argc - 1, argv + 1));
    }
    char *name = argv[1 + at]; /* options before it are its own */
    memmove(argv + 2, argv + 1, (size_t)at * sizeof *argv);
    argv[1] = name;
    const command_info *command = command_by_name(name);
    int count = argc - 2;
    char **words = argv + 2;
    if (command) {
        return finish(command_main(command, count, words));
    }
    if (strcmp(name, "help") == 0) {
        return finish(help(count, words));
    }
    if (strcmp(name, "completion") == 0) {
        return finish(completion(count, words));
    }
    return finish(unknown_command(name));
}
