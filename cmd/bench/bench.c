/* pcgpu bench: a command on the user's own files with one CPU thread, with all of them and on CUDA, in turns. Each run
 * is a process of its own, so that the time is the user's, the start of CUDA included. Its --json says where the time
 * went. */
#include "bench.h"
#include "bench_run.h"
#include "job.h"
#include "numbers.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 3, MOST_ROUNDS = 1000 };

typedef struct variant {
    const char *name;
    const char *options[4]; /* NULL ends them */
    bench_run best;         /* of all rounds; seconds 0: not run */
} variant;

typedef struct bench {
    const command_info *command;
    char **words; /* of the command, without its name */
    int word_count;
    int rounds;
    char folder[4096];
    variant variants[3];
    int count;
    char why_no_cuda[256];
    bool same; /* the bytes of all variants */
} bench;

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* Outputs go to a temporary folder, and the back end is that of the variant. */
static const char *const own_options[] = {"output",  "json",  "cpu",     "cuda",         "device",
                                          "threads", "force", "dry-run", "skip-existing"};

static bool check_words(const bench *b, reason *why) {
    command_line line;
    bool good = command_line_parse(b->command, b->word_count, b->words, &line, why);
    for (int i = 0; good && i < line.assignment_count; i++) {
        const option_row *o = line.assignments[i].option;
        for (size_t k = 0; good && k < sizeof own_options / sizeof own_options[0]; k++) {
            good = strcmp(o->name, own_options[k]) != 0;
        }
        good = good && (!(o->flags & OPTION_OUTPUT) || (o->flags & OPTION_GROWS));
        if (!good) {
            refuse(why, "--%s: bench chooses the back end and writes to a temporary folder; leave it out", o->name);
        }
    }
    command_line_free(&line);
    return good;
}

/* The words of a run, in `words`: those of the command, of the variant, and its outputs. The number of words. */
static int words_of(const bench *b, const variant *v, const bench_paths *paths, const char **words) {
    int n = 0;
    words[n++] = "pcgpu";
    words[n++] = b->command->name;
    for (int i = 0; i < b->word_count; i++) {
        words[n++] = b->words[i];
    }
    for (int i = 0; v->options[i]; i++) {
        words[n++] = v->options[i];
    }
    words[n++] = "--quiet";
    words[n++] = "--json";
    words[n++] = paths->json;
    const bool prints = b->command->traits & COMMAND_PRINTS_DATA;
    if (prints || b->command->bit == FOR_FUSE) {
        words[n++] = "--output";
        words[n++] = prints ? paths->outputs : paths->model;
    }
    words[n] = NULL;
    return n;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static bool run_variant(bench *b, variant *v, int round, reason *why) {
    static bench_paths paths, first; /* too large for a small stack */
    bench_run run;
    const char **words = malloc(((size_t)b->word_count + 16) * sizeof *words);
    bool good = words || refuse(why, "out of memory");
    bench_paths_make(b->folder, v->name, &paths);
    good = good && bench_paths_clear(&paths, why);
    if (good) {
        words_of(b, v, &paths, words);
        good = bench_run_words(words, &paths, &run, why);
    }
    if (good && (v->best.seconds == 0 || run.seconds < v->best.seconds)) {
        v->best = run;
    }
    if (good && round == 0 && v != b->variants) {
        bench_paths_make(b->folder, b->variants[0].name, &first);
        b->same = b->same && bench_same_outputs(&first, &paths);
    }
    free(words);
    return good;
}

static bool run_all(bench *b, reason *why) {
    bool good = true;
    b->same = true;
    for (int round = 0; good && round < b->rounds; round++) {
        for (int i = 0; good && i < b->count; i++) {
            good = run_variant(b, &b->variants[i], round, why);
        }
    }
    return good;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static void print_table(const bench *b) {
    const bench_run *first = &b->variants[0].best;
    printf("pcgpu %s: %d inputs, %lld points, best of %d runs each\n", b->command->name, first->inputs,
           (long long)first->points, b->rounds);
    printf("%-13s %9s %10s %8s   milliseconds per input, all threads together\n", "", "seconds", "inputs/s", "ratio");
    for (int i = 0; i < b->count; i++) {
        const bench_run *r = &b->variants[i].best;
        printf("%-13s %9.3f %10.1f %8.2f  ", b->variants[i].name, r->seconds, r->inputs / r->seconds,
               first->seconds / r->seconds);
        for (int k = 0; k < r->stage_count; k++) {
            printf(" %s %.2f", r->stages[k].name, 1e3 * r->stages[k].seconds / (r->inputs > 0 ? r->inputs : 1));
        }
        printf("\n");
    }
    for (int i = 0; i < b->count; i++) {
        printf("%-13s %s, %s\n", b->variants[i].name, b->variants[i].best.backend, b->variants[i].best.device);
    }
    if (b->why_no_cuda[0]) {
        printf("CUDA          %s\n", b->why_no_cuda);
    }
    printf("%s\n", b->same ? "The outputs have the same bytes." : "THE OUTPUTS DIFFER: please report this.");
}

static void print_json(const bench *b, FILE *stream) {
    json out = {.out = stream, .first = true};
    json_open(&out, NULL);
    json_text(&out, "command", "bench");
    json_text(&out, "version", pcgpu_version());
    json_text(&out, "of", b->command->name);
    json_integer(&out, "rounds", b->rounds);
    json_boolean(&out, "same_bytes", b->same);
    json_text(&out, "cuda_unusable", b->why_no_cuda[0] ? b->why_no_cuda : NULL);
    json_key(&out, "variants");
    fputc('[', stream);
    for (int i = 0; i < b->count; i++) {
        const bench_run *r = &b->variants[i].best;
        fputs(i ? ", " : "", stream);
        json_open(&out, NULL);
        json_text(&out, "name", b->variants[i].name);
        json_text(&out, "backend", r->backend);
        json_text(&out, "device", r->device);
        json_integer(&out, "inputs", r->inputs);
        json_integer(&out, "points", r->points);
        json_number(&out, "seconds", r->seconds);
        json_number(&out, "inputs_per_second", r->inputs / r->seconds);
        json_number(&out, "ratio", b->variants[0].best.seconds / r->seconds);
        json_open(&out, "stages");
        for (int k = 0; k < r->stage_count; k++) {
            json_number(&out, r->stages[k].name, r->stages[k].seconds);
        }
        json_close(&out);
        json_close(&out);
    }
    fputc(']', stream);
    json_close(&out);
    fputc('\n', stream);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static void choose_variants(bench *b) {
    pcgpu_device_info device;
    int driver = 0;
    b->variants[b->count++] = (variant){.name = "1 thread", .options = {"--cpu", "--threads", "1"}};
    b->variants[b->count++] = (variant){.name = "all threads", .options = {"--cpu"}};
    if (pcgpu_devices(&device, 1, b->why_no_cuda, sizeof b->why_no_cuda, &driver) > 0) {
        b->why_no_cuda[0] = '\0';
        b->variants[b->count++] = (variant){.name = "CUDA", .options = {"--cuda"}};
    }
}

static int fail(const reason *why, int code) {
    report_error(NULL, "%s", why->text);
    return code;
}

static int run_in_folder(bench *b, const char *json_path) {
    reason why;
    output json_file = {0};
    if (json_path && !output_open(&json_file, json_path, false, true)) {
        return EXIT_FAILED;
    }
    if (!run_all(b, &why)) {
        output_discard(&json_file);
        return fail(&why, EXIT_FAILED);
    }
    if (json_path) {
        print_json(b, json_file.stream);
    }
    if (json_file.stream != stdout) {
        print_table(b);
    }
    return (!json_path || output_commit(&json_file)) && b->same ? EXIT_DONE : EXIT_FAILED;
}

/* "[--rounds N] [--json FILE] COMMAND ARGUMENT..." */
int bench_main(int count, char **words) {
    static bench b = {.rounds = ROUNDS}; /* too large for a small stack */
    const char *json_path = NULL;
    reason why;
    int at = 0;
    for (; at + 1 < count && words[at][0] == '-'; at += 2) {
        char *end = NULL;
        const bool rounds = strcmp(words[at], "--rounds") == 0;
        if (rounds) {
            b.rounds = (int)strtol(words[at + 1], &end, 10);
        } else if (strcmp(words[at], "--json") == 0) {
            json_path = words[at + 1];
        } else {
            break;
        }
        if (rounds && (*end != '\0' || b.rounds < 1 || b.rounds > MOST_ROUNDS)) {
            refuse(&why, "rounds %.80s; give 1 to %d", words[at + 1], MOST_ROUNDS);
            return fail(&why, EXIT_USAGE);
        }
    }
    if (at < count && (strcmp(words[at], "--help") == 0 || strcmp(words[at], "-h") == 0)) {
        bench_help(stdout);
        return EXIT_DONE;
    }
    b.command = at < count ? command_by_name(words[at]) : NULL;
    b.words = words + at + 1;
    b.word_count = count - at - 1;
    if (!b.command || !(b.command->bit & FOR_DEVICES)) {
        refuse(&why,
               "bench: which command? give pcgpu bench [--rounds N] [--json FILE] COMMAND ARGUMENT..., such as pcgpu "
               "bench sample -m 4096 scans/");
        return fail(&why, EXIT_USAGE);
    }
    if (!check_words(&b, &why)) {
        return fail(&why, EXIT_USAGE);
    }
    choose_variants(&b);
    bench_catch_signals();
    if (!bench_folder_make(b.folder, sizeof b.folder, &why)) {
        return fail(&why, EXIT_FAILED);
    }
    const int code = run_in_folder(&b, json_path);
    bench_folder_remove(b.folder);
    return code;
}

void bench_help(FILE *out) {
    fputs("Usage: pcgpu bench [--rounds N] [--json FILE] COMMAND ARGUMENT...\n"
          "Run a command on its files with one CPU thread, all threads and CUDA, and compare.\n\n"
          "  --rounds N    runs of each kind, in turns; the best one counts. Default: 3.\n"
          "  --json FILE   write the result as one JSON object; - is standard output.\n\n"
          "Outputs go to a temporary folder (TMPDIR, else /tmp), which is removed, so leave out -o,\n"
          "--json of the command, and options of the back end.\n\n"
          "Exit status: 0 done; 1 a run failed, or the outputs differ; 2 usage.\n"
          "See man pcgpu-bench for details.\n",
          out);
}
