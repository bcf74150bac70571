/* pcgpu bench: a command on the user's own files with one CPU thread, with all of them and on CUDA, in turns. Each run
 * is a process of its own, so that the time is the user's, the start of CUDA included. Its --json says where the time
 * went. */
#define _XOPEN_SOURCE 700 /* nftw, mkdtemp */
#include "bench.h"
#include "bench_run.h"
#include "file_set.h"
#include "job.h"
#include "json_reader.h"
#include "lines.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROUNDS = 3, MOST_ROUNDS = 1000, STAGES = 16, PATH_SIZE = 4096 };

/* One run. */
typedef struct run {
    double seconds; /* from the start of the process to its end */
    int inputs;
    int64_t points;
    char backend[16], device[128];
    int stage_count;
    struct {
        char name[32];
        double seconds; /* of all inputs together */
    } stages[STAGES];
} run;

typedef struct variant {
    const char *name;
    const char *options[4]; /* NULL ends them */
    run best;               /* of all rounds; seconds 0: not run */
} variant;

typedef struct bench {
    const command_info *command;
    char **words; /* of the command, without its name */
    int word_count;
    const char **run_words; /* of a run, and capacity for what it adds */
    int rounds;
    char folder[PATH_SIZE];
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

/* A file or folder of a variant in the temporary folder. */
static const char *place(const bench *b, const variant *v, const char *end, char path[PATH_SIZE]) {
    snprintf(path, PATH_SIZE, "%.3900s/%s%s", b->folder, v->name, end);
    return path;
}

/* ---- what --json says -------------------------------------------------------------------------------------------- */

static void add_stage(run *to, const char *name, double seconds) {
    int i = 0;
    while (i < to->stage_count && strcmp(to->stages[i].name, name) != 0) {
        i++;
    }
    if (i < STAGES && strcmp(name, "total") != 0) {
        snprintf(to->stages[i].name, sizeof to->stages[i].name, "%.31s", name);
        to->stages[i].seconds += seconds;
        to->stage_count += i == to->stage_count;
    }
}

/* Adds what one line of --json says of its inputs. */
static bool add_line(const line_file *f, run *to) {
    json_reader r = {.bytes = f->line, .size = f->length, .name = f->name, .remedy = "report this", .why = f->why};
    char key[32] = "";
    bool in_seconds = false;
    json_event e;
    json_begin(&r);
    to->inputs++;
    while ((e = json_next(&r)) != JSON_END && e != JSON_WRONG) {
        if (e == JSON_KEY) {
            in_seconds = r.depth == 1 ? strcmp(r.text, "seconds") == 0 : in_seconds;
            snprintf(key, sizeof key, "%.31s", r.text);
        } else if (e == JSON_NUMBER && r.depth == 1 && strcmp(key, "points_in") == 0) {
            to->points += (int64_t)r.number;
        } else if (e == JSON_STRING && r.depth == 1 && strcmp(key, "backend") == 0) {
            snprintf(to->backend, sizeof to->backend, "%.15s", r.text);
        } else if (e == JSON_STRING && r.depth == 1 && strcmp(key, "device") == 0) {
            snprintf(to->device, sizeof to->device, "%.127s", r.text);
        } else if (e == JSON_NUMBER && r.depth == 2 && in_seconds) {
            add_stage(to, key, r.number);
        }
    }
    return e == JSON_END;
}

static bool read_json(const char *path, run *to, reason *why) {
    line_file f;
    bool good = open_lines(&f, path, why);
    if (!good) {
        return false;
    }
    while (good && next_line(&f)) {
        good = add_line(&f, to);
    }
    return close_lines(&f) && good;
}

/* ---- folders ----------------------------------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where) {
    (void)st, (void)kind, (void)where;
    return remove(path);
}

static void remove_folder(const char *folder) {
    nftw(folder, remove_entry, 32, FTW_DEPTH | FTW_PHYS);
}

static char walked[PATH_SIZE], compared[PATH_SIZE];

static int differs(const char *path, const struct stat *st, int kind, struct FTW *where) {
    char other[2 * PATH_SIZE];
    (void)st, (void)where;
    snprintf(other, sizeof other, "%s/%s", compared, path + strlen(walked));
    return kind == FTW_F && !files_are_equal(path, other);
}

/* Whether the other variant has every file of this one, standard output included, with the same bytes. */
static bool has_files_of(const bench *b, const variant *v, const variant *other) {
    place(b, v, "", walked);
    place(b, other, "", compared);
    return nftw(walked, differs, 32, FTW_PHYS) == 0;
}

/* The files of a run are too large for a small stack. */
static struct paths {
    char folder[PATH_SIZE], output[PATH_SIZE], printed[PATH_SIZE], report[PATH_SIZE], messages[PATH_SIZE];
} paths;

/* The words of a run: those of the command, of the variant, and its outputs. */
static void words_of(const bench *b, const variant *v, const char **words) {
    const char *last[] = {"--quiet", "--json", paths.report, "--output", paths.output, NULL};
    *words++ = "pcgpu";
    *words++ = b->command->name;
    memcpy(words, b->words, (size_t)b->word_count * sizeof *words);
    words += b->word_count;
    for (int i = 0; v->options[i]; i++) {
        *words++ = v->options[i];
    }
    if (!(b->command->traits & COMMAND_PRINTS_DATA) && b->command->bit != FOR_FUSE) {
        last[3] = NULL;
    }
    memcpy(words, last, sizeof last);
}

static bool run_variant(bench *b, variant *v, bool compares, reason *why) {
    run one = {0};
    remove_folder(place(b, v, "", paths.folder));
    if (mkdir(paths.folder, 0700) != 0 || mkdir(place(b, v, "/out", paths.output), 0700) != 0) {
        return refuse(why, "%s: cannot create the folder: %s; set TMPDIR", paths.folder, strerror(errno));
    }
    place(b, v, b->command->bit == FOR_FUSE ? "/out/model.ply" : "/out/", paths.output);
    place(b, v, "/printed", paths.printed);
    unlink(place(b, v, ".json", paths.report));
    words_of(b, v, b->run_words);
    if (!bench_run(b->run_words, paths.printed, place(b, v, ".err", paths.messages), &one.seconds, why) ||
        !read_json(paths.report, &one, why)) {
        return false;
    }
    if (v->best.seconds == 0 || one.seconds < v->best.seconds) {
        v->best = one;
    }
    b->same = b->same && (!compares || (has_files_of(b, b->variants, v) && has_files_of(b, v, b->variants)));
    return true;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static void print_table(const bench *b) {
    const run *first = &b->variants[0].best;
    printf("pcgpu %s: %d inputs, %lld points, best of %d runs each\n", b->command->name, first->inputs,
           (long long)first->points, b->rounds);
    printf("%-13s %9s %10s %8s   milliseconds per input, all threads together\n", "", "seconds", "inputs/s", "ratio");
    for (int i = 0; i < b->count; i++) {
        const run *r = &b->variants[i].best;
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
        const run *r = &b->variants[i].best;
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

static int fail(int code, const reason *why) {
    report_error(NULL, "%s", why->text);
    return code;
}

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

/* Runs all variants in turns and reports them. */
static int run_in_folder(bench *b, const char *json_path) {
    reason why;
    output json_file = {0};
    bool good = true;
    if (json_path && !output_open(&json_file, json_path, false, true)) {
        return EXIT_FAILED;
    }
    b->same = true;
    for (int i = 0; good && i < b->rounds * b->count; i++) {
        good = run_variant(b, &b->variants[i % b->count], i < b->count, &why);
    }
    if (!good) {
        output_discard(&json_file);
        return fail(EXIT_FAILED, &why);
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
            report_error(NULL, "rounds %.80s; give 1 to %d", words[at + 1], MOST_ROUNDS);
            return EXIT_USAGE;
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
        report_error(NULL,
                     "bench: which command? give pcgpu bench [--rounds N] [--json FILE] COMMAND ARGUMENT..., such as "
                     "pcgpu bench sample -m 4096 scans/");
        return EXIT_USAGE;
    }
    if (!check_words(&b, &why)) {
        return fail(EXIT_USAGE, &why);
    }
    choose_variants(&b);
    const char *base = getenv("TMPDIR");
    snprintf(b.folder, sizeof b.folder, "%s/pcgpu-bench-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(b.folder)) {
        return report_error(NULL, "%s: cannot create a folder: %s; set TMPDIR", b.folder, strerror(errno));
    }
    b.run_words = heap_zeroed((size_t)b.word_count + 16, sizeof *b.run_words);
    bench_catch_signals();
    const int code = run_in_folder(&b, json_path);
    remove_folder(b.folder);
    free(b.run_words);
    return code;
}

void bench_help(FILE *out) {
    fputs("Usage: pcgpu bench [--rounds N] [--json FILE] COMMAND ARGUMENT...\n"
          "Run a command on its files with one CPU thread, all threads and CUDA; compare.\n\n"
          "  --rounds N    runs of each kind, in turns; the best one counts. Default: 3.\n"
          "  --json FILE   write the result as one JSON object; - is standard output.\n\n"
          "Outputs go to a temporary folder (TMPDIR, else /tmp), which is removed, so\n"
          "leave out -o, --json of the command, and options of the back end.\n\n"
          "Exit status: 0 done; 1 a run failed, or the outputs differ; 2 usage.\n"
          "See man pcgpu-bench for details.\n",
          out);
}
