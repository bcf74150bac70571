/* pcgpu: the program. Words -> options -> session -> the command. */
#include "bench.h"
#include "config.h"
#include "heap.h"
#include "info.h"
#include "job.h"
#include "sweeps.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* An error without a command. The usage errors of a command name its options and need no hint. */
static int usage_error(const char *why) {
    report_error(NULL, "%s", why);
    fputs("Try 'pcgpu --help'.\n", stderr);
    return EXIT_USAGE;
}

static int unknown_command(const char *word) {
    reason why;
    const char *close = closest_name(word, next_command_name, FOR_ALL);
    refuse(&why, "unknown command %.80s", word);
    if (close) {
        refuse_more(&why, "; did you mean %s?", close);
    } else if (strcmp(word, "version") == 0) {
        refuse_more(&why, "; did you mean --version?");
    }
    return usage_error(why.text);
}

static int option_error(const reason *why) {
    report_error(NULL, "%s", why->text);
    return EXIT_USAGE;
}

/* Flushes standard output, which may be a file on a full disk. */
static int finish(int code) {
    report_repeated();
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
    } else if (strcmp(name, "bench") == 0) {
        help_manual(name);
        bench_help(stdout);
    } else if (!command) {
        return unknown_command(name);
    } else if (man) {
        help_man_options(command, stdout);
    } else {
        help_manual(name);
        help_command(command, stdout);
    }
    return EXIT_DONE;
}

/* "pcgpu completion SHELL", and what its output calls. */
static int completion(int count, char **words) {
    if (count > 0 && strcmp(words[0], "words") == 0) {
        completion_words(count - 1, words + 1, config_print_names, stdout);
        return EXIT_DONE;
    }
    return count == 1 && completion_print(words[0], stdout)
               ? EXIT_DONE
               : usage_error("completions are for bash, zsh and fish; give one of them");
}

/* Options without a command: only --help and --version. */
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
            reason why;
            const bool unknown = strncmp(w, "--", 2) == 0 && !option_by_name(w + 2, FOR_ALL);
            const char *close = unknown ? closest_option(w + 2, FOR_ALL) : NULL;
            if (close) {
                refuse(&why, "no command, and unknown option %.80s; did you mean --%s?", w, close);
            } else {
                refuse(&why, "no command; %.80s is an option of one", w);
            }
            return usage_error(why.text);
        }
    }
    if (wants_help) {
        help_program(stdout);
    } else if (version) {
        version_print(verbose);
    } else {
        return usage_error("no command");
    }
    return EXIT_DONE;
}

/* Defaults, then the configuration files, then the command line. The command line is also applied before the files,
 * since the reader of OpenPCDet configurations depends on it: --set split, and options that replace missing values. */
static bool settle_options(const command_info *command, const command_line *line, option_values *o, reason *why) {
    options_init(o, command);
    if (!command_line_apply(line, o, why)) {
        return false;
    }
    for (int i = 0; i < line->assignment_count; i++) {
        const assignment *a = &line->assignments[i];
        if (strcmp(a->option->name, "config") == 0 && !config_load(a->value, command, o, why)) {
            return false;
        }
    }
    return command_line_apply(line, o, why);
}

static const assignment *find_on_line(const command_line *line, const char *name) {
    for (int i = 0; i < line->assignment_count; i++) {
        if (strcmp(line->assignments[i].option->name, name) == 0) {
            return &line->assignments[i];
        }
    }
    return NULL;
}

static int run_session(session *s) {
    const option_values *o = s->options;
    reason why;
    report_setup(o->verbose, o->quiet);
    if (!options_check(s->options, s->command, &why) || !session_check(s, &why)) {
        return option_error(&why);
    }
    report_progress((progress_mode)o->progress);
    if (o->dry_run) {
        return session_close(s, session_dry_run(s));
    }
    files_catch_signals(session_job_count(s) > 1 && option_by_name("skip-existing", s->command->bit));
    heap_prepare();
    int code = session_open(s);
    if (code == EXIT_DONE) {
        code = s->command->run ? s->command->run(s) : session_run(s);
    }
    return session_close(s, code);
}

static int run(const command_info *command, const command_line *line, option_values *o) {
    sweep_table sweeps = {0};
    session s = {
        .sweeps = &sweeps, .command = command, .options = o, .inputs = line->inputs, .input_count = line->input_count};
    int code = run_session(&s);
    input_list_free(&s.list);
    pairs_free(&s.pairs);
    sweeps_free(&sweeps);
    recordings_close();
    return code;
}

static int command_main(const command_info *command, int count, char **words) {
    command_line line;
    option_values o = {0};
    reason why;
    int code;
    if (!command_line_parse(command, count, words, &line, &why)) {
        code = option_error(&why);
    } else if (count == 0 && isatty(STDIN_FILENO) && !(command->traits & COMMAND_WITHOUT_INPUT)) {
        help_short(command, stderr);
        code = EXIT_USAGE;
    } else if (find_on_line(&line, "help")) {
        (find_on_line(&line, "help")->by_letter ? help_short : help_command)(command, stdout);
        code = EXIT_DONE;
    } else if (find_on_line(&line, "version")) {
        version_print(find_on_line(&line, "verbose"));
        code = EXIT_DONE;
    } else if (!settle_options(command, &line, &o, &why)) {
        code = option_error(&why);
    } else {
        code = run(command, &line, &o);
    }
    options_free(&o);
    command_line_free(&line);
    return code;
}

/* A closed standard stream would give its descriptor to the next opened file, and messages or data would go into that
 * file. /dev/null, opened for the wrong direction, reserves the descriptor and fails as a closed stream does. */
static void reserve_standard_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) {
            _exit(EXIT_FAILED);
        }
    }
}

int main(int argc, char **argv) {
    reserve_standard_streams();
    signal(SIGXFSZ, SIG_IGN); /* beyond a limit for the size of files the write fails instead */
    report_setup(false, false);
    commands_use(all_commands);
    if (argc < 2) {
        help_program(stderr);
        return EXIT_USAGE;
    }
    int at = command_line_find_command(argc - 1, argv + 1);
    if (at < 0) {
        return finish(program_options(argc - 1, argv + 1));
    }
    char *name = argv[1 + at]; /* options before the name belong to the command, too */
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
    if (strcmp(name, "bench") == 0) {
        return finish(bench_main(count, words));
    }
    if (strcmp(name, "completion") == 0) {
        return finish(completion(count, words));
    }
    return finish(unknown_command(name));
}
