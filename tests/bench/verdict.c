/* bench_verdict [options]: is the verdict of registration right? Pairs of generated scans whose truth is known, half of
 * them of one place, half of two places or mirrored, where the only right answer is that it did not converge.
 *
 *   --method NAME    ndt (default), plane, gicp, point
 *   --pairs N        default 2000
 *   --seed N         default 1
 *   --data DIR       also the pairs of real data in DIR (../shared/data)
 *   --from truth     starts pairs of one place from their truth: what the verdict says where the optimizer cannot fail
 *   --kind TEXT      only pairs with this in PLACE/SENSOR/TRUTH, with /auto behind for those with a search
 *   --dump FILE      a line of CSV for each pair
 *   --threads N      default: all processors
 *   --min-score S    instead of the default
 *   --write DIR I    the clouds of pair I as DIR/source.ply, DIR/target.ply and T_target_source.txt, and no more
 *   --assert         fail when more than one of a hundred pairs is of two places and converged; the aim is 0.2 %
 *
 * Prints tables without times, which are the same from run to run; pairs are spread over threads. */
#include "verdict_table.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct arguments {
    int pairs, generated, threads, write;
    uint64_t seed;
    const char *kind, *dump, *folder, *data;
    bool check, from_truth;
    pcgpu_register_params params;
} arguments;

typedef struct work {
    const arguments *a;
    verdict_row *rows;
    atomic_int next;
    atomic_bool failed;
} work;

/* Metres between where two transforms bring the middle of the source, or its sensor, and degrees. flat: in 2D. */
static void compare(const double got[16], const double truth[16], const double center[3], bool flat, double error[2]) {
    double d[9] = {0}, square = 0.0; /* d: rotation of truth^-1 got */
    for (int i = 0; i < 3; i++) {
        double off = got[4 * i + 3] - truth[4 * i + 3];
        for (int k = 0; k < 3; k++) {
            off += (got[4 * i + k] - truth[4 * i + k]) * center[k];
            for (int m = 0; m < 3; m++) {
                d[3 * k + m] += truth[4 * i + k] * got[4 * i + m];
            }
        }
        square += flat && i == 2 ? 0.0 : off * off;
    }
    /* By its skew part, which files of poses with few digits do not spoil. */
    const double x = d[7] - d[5], y = d[2] - d[6], z = d[3] - d[1];
    error[0] = sqrt(square);
    error[1] = atan2(sqrt(x * x + y * y + z * z) / 2.0, (d[0] + d[4] + d[8] - 1.0) / 2.0) * 57.29577951308232;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool judge(pcgpu_context *context, const arguments *a, const verdict_pair *pair, verdict_row *row) {
    pcgpu_register_params params = a->params;
    pcgpu_registration r;
    params.search = a->from_truth ? PCGPU_SEARCH_NEVER : pair->search ? PCGPU_SEARCH_ALWAYS : a->params.search;
    if (a->from_truth && pair->truth <= VERDICT_SELF) {
        memcpy(params.init, pair->T_target_source, sizeof params.init);
    }
    double begin = now();
    row->status = pcgpu_register(context, &pair->source, &pair->target, &params, &r);
    row->seconds = now() - begin;
    if (row->status != PCGPU_OK) {
        snprintf(row->reason, sizeof row->reason, "%s", pcgpu_last_error(context));
        return true;
    }
    compare(r.T_target_source, pair->T_target_source, pair->center, pair->flat, row->error);
    row->right =
        pair->truth <= VERDICT_SELF && row->error[0] <= pair->tolerance[0] && row->error[1] <= pair->tolerance[1];
    row->converged = r.converged;
    row->open = r.converged;
    row->score = r.score;
    row->fitness = r.fitness;
    row->free_space = r.free_space;
    row->agreement = r.agreement;
    row->rmse = r.inlier_rmse;
    row->voxel = r.voxel;
    for (int k = 0; k < 3; k++) {
        row->sigma[0] += r.covariance[7 * (k + 3)];
        row->sigma[1] += r.covariance[7 * k];
    }
    row->sigma[0] = sqrt(row->sigma[0]);
    row->sigma[1] = sqrt(row->sigma[1]) * 57.29577951308232;
    memcpy(row->eigenvalues, r.eigenvalues, sizeof row->eigenvalues);
    snprintf(row->reason, sizeof row->reason, "%s", r.reason);
    if (!r.converged) { /* whether the score alone is the reason: for the curve */
        params.min_score = 0.0;
        if (pcgpu_register(context, &pair->source, &pair->target, &params, &r) == PCGPU_OK) {
            row->open = r.converged;
        }
    }
    return true;
}

/* The generated pairs, then the real ones. */
static pcgpu_status make(pcgpu_context *context, const arguments *a, int index, bool *taken, verdict_pair *pair) {
    return index < a->generated ? verdict_make(context, a->seed, index, a->kind, taken, pair)
                                : verdict_make_real(context, a->data, index - a->generated, a->kind, taken, pair);
}

static void *run(void *argument) {
    work *w = argument;
    pcgpu_settings settings;
    pcgpu_context *context;
    pcgpu_settings_init(&settings);
    settings.device = PCGPU_DEVICE_CPU;
    settings.threads = 1;
    bool good = pcgpu_open(&settings, &context) == PCGPU_OK;
    for (int i = atomic_fetch_add(&w->next, 1); good && i < w->a->pairs; i = atomic_fetch_add(&w->next, 1)) {
        verdict_row *row = &w->rows[i];
        verdict_pair pair;
        good = make(context, w->a, i, &row->taken, &pair) == PCGPU_OK;
        if (good && row->taken) {
            row->place = pair.place;
            row->sensor = pair.sensor;
            row->truth = pair.truth;
            row->search = pair.search;
            row->step = pair.step;
            row->points[0] = pair.source.rows;
            row->points[1] = pair.target.rows;
            good = judge(context, w->a, &pair, row);
            verdict_pair_free(&pair);
        }
    }
    if (!good) {
        fprintf(stderr, "bench_verdict: %s\n", pcgpu_last_error(context));
        atomic_store(&w->failed, true);
    }
    pcgpu_close(context);
    return NULL;
}

static bool run_all(const arguments *a, verdict_row *rows) {
    work w = {.a = a, .rows = rows};
    pthread_t threads[64];
    int started = 0;
    for (; started < a->threads && started < 64; started++) {
        if (pthread_create(&threads[started], NULL, run, &w) != 0) {
            break;
        }
    }
    if (started == 0) {
        run(&w);
    }
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    return !atomic_load(&w.failed);
}

/* ---- --write ---- */

static bool write_cloud(pcgpu_context *context, const char *folder, const char *name, const pcgpu_cloud *cloud) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    bool good = file && pcgpu_write(context, file, path, NULL, cloud) == PCGPU_OK;
    good = file && fclose(file) == 0 && good;
    if (!good) {
        fprintf(stderr, "bench_verdict: %s: cannot be written: %s\n", path, strerror(errno));
    }
    return good;
}

static int write_pair(const arguments *a) {
    pcgpu_settings settings;
    pcgpu_context *context;
    verdict_pair pair = {0};
    bool taken;
    pcgpu_settings_init(&settings);
    settings.device = PCGPU_DEVICE_CPU;
    bool good = pcgpu_open(&settings, &context) == PCGPU_OK && make(context, a, a->write, &taken, &pair) == PCGPU_OK &&
                write_cloud(context, a->folder, "source.ply", &pair.source) &&
                write_cloud(context, a->folder, "target.ply", &pair.target);
    if (good) {
        char path[4096];
        snprintf(path, sizeof path, "%s/T_target_source.txt", a->folder);
        FILE *file = fopen(path, "w");
        for (int i = 0; file && i < 16; i++) {
            fprintf(file, i % 4 < 3 ? "%.17g " : "%.17g\n", pair.T_target_source[i]);
        }
        good = file && fclose(file) == 0;
        printf("%s %s %s%s\n", pair.place, pair.sensor, verdict_truths[pair.truth], pair.search ? " auto" : "");
    }
    verdict_pair_free(&pair);
    pcgpu_close(context);
    return good ? 0 : 1;
}

/* ---- arguments ---- */

static bool method_by_name(const char *name, pcgpu_register_method *method) {
    static const char *const names[] = {"plane", "point", "ndt", "gicp"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(names[i], name) == 0) {
            *method = (pcgpu_register_method)i;
            return true;
        }
    }
    return false;
}

static bool parse(int argc, char **argv, arguments *a) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    *a = (arguments){.pairs = 2000, .threads = processors > 1 ? (int)processors : 1, .seed = 1};
    pcgpu_register_params_init(&a->params);
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--assert") == 0) {
            a->check = true;
            continue;
        } else if (strcmp(argv[i], "--method") == 0 && method_by_name(value, &a->params.method)) {
        } else if (strcmp(argv[i], "--pairs") == 0) {
            a->pairs = atoi(value);
        } else if (strcmp(argv[i], "--seed") == 0) {
            a->seed = strtoull(value, NULL, 10);
        } else if (strcmp(argv[i], "--kind") == 0) {
            a->kind = value;
        } else if (strcmp(argv[i], "--data") == 0) {
            a->data = value;
        } else if (strcmp(argv[i], "--from") == 0 && strcmp(value, "truth") == 0) {
            a->from_truth = true;
        } else if (strcmp(argv[i], "--dump") == 0) {
            a->dump = value;
        } else if (strcmp(argv[i], "--threads") == 0) {
            a->threads = atoi(value);
        } else if (strcmp(argv[i], "--min-score") == 0) {
            a->params.min_score = atof(value);
        } else if (strcmp(argv[i], "--write") == 0 && i + 2 < argc) {
            a->folder = value;
            a->write = atoi(argv[i + 2]);
            i++;
        } else {
            return false;
        }
        i++;
    }
    a->generated = a->pairs;
    a->pairs += a->data ? verdict_real_count(a->data) : 0;
    return a->pairs > 0 && a->threads > 0;
}

int main(int argc, char **argv) {
    arguments a;
    if (!parse(argc, argv, &a)) {
        fputs(
            "usage: bench_verdict [--method ndt|plane|gicp|point] [--pairs N] [--seed N] [--kind TEXT] [--dump FILE]\n"
            "                     [--threads N] [--min-score S] [--data DIR] [--from truth] [--assert] | [--seed N] "
            "--write DIR INDEX\n",
            stderr);
        return 2;
    }
    if (a.folder) {
        return write_pair(&a);
    }
    verdict_row *rows = calloc((size_t)a.pairs, sizeof *rows);
    if (!rows || !run_all(&a, rows)) {
        free(rows);
        return 1;
    }
    bool good = !a.dump || verdict_dump(a.dump, rows, a.pairs);
    const int apart = verdict_print(rows, a.pairs);
    free(rows);
    return !good || (a.check && apart > a.pairs / 100) ? 1 : 0;
}
