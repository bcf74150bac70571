/* bench_verdict: counts, scores and the curve. */
#include "verdict_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool verdict_dump(const char *path, const verdict_row *rows, int count) {
    FILE *file = fopen(path, "w");
    if (!file) {
        fprintf(stderr, "bench_verdict: %s: cannot be written: %s\n", path, strerror(errno));
        return false;
    }
    fputs("index,place,sensor,truth,auto,step,source_points,target_points,error_m,error_deg,right,converged,score,"
          "fitness,agreement,free_space,inlier_rmse,seconds,voxel,sigma_m,sigma_deg,e0,e1,e2,e3,e4,e5,reason\n",
          file);
    for (int i = 0; i < count; i++) {
        const verdict_row *r = &rows[i];
        if (!r->taken) {
            continue;
        }
        char reason[sizeof r->reason];
        snprintf(reason, sizeof reason, "%s", r->reason);
        for (char *c = reason; *c; c++) {
            *c = *c == '"' ? '\'' : *c;
        }
        fprintf(file,
                "%d,%s,%s,%s,%d,%.3f,%lld,%lld,%.4f,%.4f,%d,%d,%.4f,%.4f,%.4f,%.4f,%.4f,%.5f,%g,"
                "%.5f,%.5f,%.3g,%.3g,%.3g,%.3g,%.3g,%.3g,\"%s\"\n",
                i, r->place, r->sensor, verdict_truths[r->truth], r->search, r->step, (long long)r->points[0],
                (long long)r->points[1], r->error[0], r->error[1], r->right, r->converged, r->score, r->fitness,
                r->agreement, r->free_space, r->rmse, r->seconds, r->voxel, r->sigma[0], r->sigma[1], r->eigenvalues[0],
                r->eigenvalues[1], r->eigenvalues[2], r->eigenvalues[3], r->eigenvalues[4], r->eigenvalues[5], reason);
    }
    return fclose(file) == 0;
}

/* ---- groups ---- */

typedef enum group_by { BY_ALL, BY_PLACE, BY_SENSOR, BY_TRUTH, BY_START } group_by;

static const char *group_of(const verdict_row *r, group_by by) {
    switch (by) {
    case BY_PLACE: return r->place;
    case BY_SENSOR: return r->sensor;
    case BY_TRUTH: return verdict_truths[r->truth];
    case BY_START: return r->search ? "auto" : "identity";
    default: return "all";
    }
}

static bool same_place(const verdict_row *r) {
    return r->truth <= VERDICT_SELF;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The scores of right or of wrong results of a group, sorted. */
static int scores_of(const verdict_row *rows, int count, group_by by, const char *group, bool right, double *scores) {
    int found = 0;
    for (int i = 0; i < count; i++) {
        if (rows[i].taken && rows[i].right == right && strcmp(group_of(&rows[i], by), group) == 0) {
            scores[found++] = rows[i].score;
        }
    }
    qsort(scores, (size_t)found, sizeof *scores, compare_doubles);
    return found;
}

static void print_score(const double *scores, int count, double at) {
    if (count) {
        printf(" %5.3f", scores[(int)(at * (count - 1) + 0.5)]);
    } else {
        printf("     -");
    }
}

static void print_group(const verdict_row *rows, int count, group_by by, const char *group, double *scores) {
    int seen[2][2] = {{0}}, apart[2] = {0}, failed = 0;
    for (int i = 0; i < count; i++) {
        const verdict_row *r = &rows[i];
        if (!r->taken || strcmp(group_of(r, by), group) != 0) {
            continue;
        }
        failed += r->status != PCGPU_OK;
        if (same_place(r)) {
            seen[!r->right][!r->converged]++;
        } else {
            apart[!r->converged]++;
        }
    }
    printf("%-12s %6d %6d %6d %6d | %6d %6d | %6d |", group, seen[0][0], seen[0][1], seen[1][0], seen[1][1], apart[0],
           apart[1], failed);
    int found = scores_of(rows, count, by, group, true, scores);
    print_score(scores, found, 0.0);
    print_score(scores, found, 0.02);
    print_score(scores, found, 0.5);
    printf(" |");
    found = scores_of(rows, count, by, group, false, scores);
    print_score(scores, found, 0.5);
    print_score(scores, found, 0.98);
    print_score(scores, found, 1.0);
    printf("\n");
}

static void print_groups(const verdict_row *rows, int count, group_by by, double *scores) {
    static const char *const titles[] = {"", "place", "sensor", "truth", "start"};
    const char *names[32];
    int found = 0;
    printf("%-12s  right  right  wrong  wrong |  apart  apart | errors |  score, right     |  score, wrong\n",
           titles[by]);
    printf("%-12s   conv    rej   conv    rej |   conv    rej |        |   min    2%%   50%% |   50%%   98%%   max\n",
           "");
    for (int i = 0; i < count; i++) {
        int k = 0;
        while (rows[i].taken && k < found && strcmp(names[k], group_of(&rows[i], by)) != 0) {
            k++;
        }
        if (rows[i].taken && k == found && found < 32) {
            names[found++] = group_of(&rows[i], by);
        }
    }
    for (int k = 1; k < found; k++) { /* by name */
        for (int i = k; i > 0 && strcmp(names[i - 1], names[i]) > 0; i--) {
            const char *name = names[i];
            names[i] = names[i - 1];
            names[i - 1] = name;
        }
    }
    for (int k = 0; k < found; k++) {
        print_group(rows, count, by, names[k], scores);
    }
    printf("\n");
}

/* What a limit of the score would do, all else as it is. */
static void print_curve(const verdict_row *rows, int count) {
    int right = 0, all = 0;
    for (int i = 0; i < count; i++) {
        right += rows[i].taken && rows[i].right;
        all += rows[i].taken;
    }
    printf("least score   right and rejected   wrong and converged, of all pairs\n");
    for (int step = 1; step <= 14; step++) {
        double limit = 0.05 * step;
        int rejected = 0, accepted = 0;
        for (int i = 0; i < count; i++) {
            bool yes = rows[i].open && rows[i].score >= limit;
            rejected += rows[i].taken && rows[i].right && !yes;
            accepted += rows[i].taken && !rows[i].right && yes;
        }
        printf("       %.2f   %5d  %6.2f %%      %5d  %6.2f %%\n", limit, rejected,
               right ? 100.0 * rejected / right : 0.0, accepted, all ? 100.0 * accepted / all : 0.0);
    }
}

int verdict_print(const verdict_row *rows, int count) {
    double *scores = malloc((size_t)count * sizeof *scores);
    int apart = 0;
    for (int by = BY_ALL; scores && by <= BY_START; by++) {
        print_groups(rows, count, (group_by)by, scores);
    }
    print_curve(rows, count);
    for (int i = 0; i < count; i++) {
        apart += rows[i].taken && !same_place(&rows[i]) && rows[i].converged;
    }
    free(scores);
    return apart;
}
