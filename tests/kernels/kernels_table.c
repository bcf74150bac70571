/* Clouds whose voxels are more than the hash table of CUDA begins with, so that it has to grow, against the CPU, byte
 * for byte; and what the table is like for the clouds that follow. All but the last of --tables N tables are too small,
 * by default 2 of 3: of the sizes that the program has, that takes 43,000,000 points and 10 GB. --quick: one kind of
 * features. */
#include "../support/context.h"
#include "reference.h"
#include "voxelize_cuda.h"

enum { COLUMNS = 4, SIDE = 512, GROWTH = 8, CROWD = 40, REPEATS = 3 };

/* Cells of 1 m from 0 on: SIDE x SIDE x 2 SIDE. */
#define CELLS (2u * SIDE * SIDE * SIDE)

static const struct setting {
    const char *name;
    pcgpu_features features;
    int64_t max_points, max_voxels;
} kinds[] = {
    {"means of the first 5", PCGPU_FEATURES_MEAN, 5, 0},
    {"means", PCGPU_FEATURES_MEAN, 0, 0},
    {"points", PCGPU_FEATURES_POINTS, 2, 0},
    {"pillars of few voxels", PCGPU_FEATURES_PILLAR, 12, 1000},
    {"first", PCGPU_FEATURES_FIRST, 0, 0},
    {"nearest of the first 6", PCGPU_FEATURES_NEAREST, 6, 0},
};

static test_bed *now;

/* ---- clouds ----------------------------------------------------------------------------------------------------- */

/* The cell of record i. */
typedef uint32_t cell_fn(int64_t i);

/* Scattered cells. Of eight records seven are alone in theirs, or meet one of the eighth ones, which are crowds. */
static uint32_t many_cells(int64_t i) {
    return (uint32_t)(i % 8 == 7 ? i / 8 % CROWD * 8 : i) * 0x9E3779B1u & (CELLS - 1);
}

static uint32_t one_cell(int64_t i) {
    (void)i;
    return CELLS / 3;
}

/* Cells that have one home in tables of up to UNLUCKY_LINES lines, by the function home_of of
 * cuda/voxelize/voxelize_insert.cuh: more than a table that may be too small is searched for. */
enum { UNLUCKY = 200, UNLUCKY_LINES = 1 << 18 };

static uint32_t unlucky[UNLUCKY];

static bool find_unlucky(void) {
    int found = 0;
    for (uint32_t cell = 0; cell < CELLS && found < UNLUCKY; cell += 4) {
        const uint32_t line = (cell >> 2) * 0x9e3779b1u;
        if (((line ^ line >> 15) & (UNLUCKY_LINES - 1)) == 0) {
            unlucky[found++] = cell;
        }
    }
    return found == UNLUCKY;
}

static uint32_t unlucky_cell(int64_t i) {
    return unlucky[i % UNLUCKY];
}

static float *make(int64_t rows, cell_fn *cell_of) {
    float *data = malloc((size_t)rows * COLUMNS * sizeof *data);
    for (int64_t i = 0; data && i < rows; i++) {
        float *p = data + i * COLUMNS;
        const uint32_t cell = cell_of(i);
        p[0] = (float)(cell % SIDE) + (float)(i % 7) / 8.0f;
        p[1] = (float)(cell / SIDE % SIDE) + (float)(i % 5) / 8.0f;
        p[2] = (float)(cell / SIDE / SIDE) + 0.5f;
        p[3] = (float)(i % 1000);
    }
    return data;
}

static pc_voxelize_job job_of(const struct setting *s, const float *data, int64_t rows) {
    pc_voxelize_job job = {.rows = rows,
                           .columns = COLUMNS,
                           .data = data,
                           .grid = {.max = {SIDE, SIDE, 2 * SIDE}, .size = {1, 1, 1}, .cells = {SIDE, SIDE, 2 * SIDE}},
                           .max_points = s->max_points,
                           .max_voxels = s->max_voxels,
                           .features = s->features};
    return job;
}

/* ---- comparing -------------------------------------------------------------------------------------------------- */

/* A cloud with what the CPU makes of it. */
typedef struct known {
    const char *name;
    pc_voxelize_job job;
    pcgpu_voxels want;
} known;

static known know(pcgpu_context *cpu, const struct setting *s, const char *name, const float *data, int64_t rows) {
    known k = {.name = name, .job = job_of(s, data, rows)};
    expect(now, pc_backend_cpu.voxelize->voxelize(cpu, &k.job, &k.want) == PCGPU_OK, "%s, %s: %s", s->name, name,
           cpu->errors.text);
    return k;
}

/* Voxelizes on CUDA, with or without a clock; returns the state of the table. tries: how many there must be. */
static pc_cuda_voxelize_table check_table(pcgpu_context *cuda, const struct setting *s, const known *k, int repeats,
                                          int tries) {
    float milliseconds[REPEATS];
    pcgpu_voxels got = {.count = 0};
    pc_cuda_voxelize_table table;
    const pcgpu_status status = pc_cuda_voxelize_timed(cuda, &k->job, repeats, milliseconds, 0, NULL, &got);
    const char *what = status == PCGPU_OK ? voxels_difference(&k->want, &got, k->job.rows, k->want.selected != NULL)
                                          : cuda->errors.text;
    pc_cuda_voxelize_table_info(cuda, &table);
    expect(now, !what, "%s, %s: %s", s->name, k->name, what ? what : "");
    if (table.tries != tries) {
        printf("%d tables for %lld voxels, %lld slots in the last\n", table.tries, (long long)k->want.voxels_found,
               (long long)table.slots);
    }
    expect(now, table.tries == tries, "%s, %s: %s", s->name, k->name, "not as many tables as it takes");
    pcgpu_voxels_free(&got);
    return table;
}

/* ---- the test --------------------------------------------------------------------------------------------------- */

typedef struct inputs {
    float *many, *one, *unlucky;
    int64_t rows, one_rows, few_rows, unlucky_rows;
    int64_t least;              /* slots */
    int tables, unlucky_tables; /* that `many` and `unlucky` take at first */
} inputs;

/* A new context knows nothing of clouds before. */
static void check_setting(const struct setting *s, const inputs *in, pcgpu_context *cpu) {
    pcgpu_context *cuda = test_open(PCGPU_DEVICE_CUDA, 0);
    known many = know(cpu, s, "many voxels", in->many, in->rows),
          one = know(cpu, s, "one voxel", in->one, in->one_rows),
          few = know(cpu, s, "few points", in->many, in->few_rows),
          unlucky_ones = know(cpu, s, "cells with one home", in->unlucky, in->unlucky_rows);
    check_table(cuda, s, &many, 0, in->tables);
    pc_cuda_voxelize_table table = check_table(cuda, s, &many, 0, 1);
    expect(now, table.slots >= 3 * many.want.voxels_found / 2, "%s, %s: %s", s->name, many.name,
           "a like cloud has a table that is too small");
    check_table(cuda, s, &few, 0, 1);
    check_table(cuda, s, &one, 0, 1);
    table = check_table(cuda, s, &one, 0, 1);
    expect(now, table.slots == in->least, "%s, %s: %s", s->name, one.name, "the table is still a large one");
    check_table(cuda, s, &many, 0, in->tables); /* in the memory that there is */
    check_table(cuda, s, &few, REPEATS, 1);
    check_table(cuda, s, &many, REPEATS, 1);
    check_table(cuda, s, &one, REPEATS, 1);
    pcgpu_close(cuda);
    cuda = test_open(PCGPU_DEVICE_CUDA, 0);
    table = check_table(cuda, s, &one, 0, 1);
    expect(now, table.slots == in->least, "%s, %s: %s", s->name, one.name, "the first table is a large one");
    check_table(cuda, s, &many, REPEATS, in->tables);
    check_table(cuda, s, &one, 0, 1);
    check_table(cuda, s, &unlucky_ones, 0, in->unlucky_tables);
    pcgpu_close(cuda);
    pcgpu_voxels_free(&many.want);
    pcgpu_voxels_free(&one.want);
    pcgpu_voxels_free(&few.want);
    pcgpu_voxels_free(&unlucky_ones.want);
}

/* Tables that it takes for so many voxels: the last of them is large enough for any cloud. */
static int tables_for(const pc_cuda_voxelize_table *table, int64_t voxels) {
    int tables = 1;
    for (int64_t slots = table->least; slots < voxels; slots *= GROWTH) {
        tables++;
    }
    return tables;
}

/* So many records that the voxels, at least seven of eight, are more than the slots of all tables but the last. */
static inputs make_inputs(const pc_cuda_voxelize_table *table, int tables) {
    inputs in = {.least = table->least, .few_rows = table->rows - 1, .unlucky_rows = table->rows};
    int64_t slots = table->least;
    for (int i = 2; i < tables; i++) {
        slots *= GROWTH;
    }
    in.rows = slots * 5 / 4 > table->rows ? slots * 5 / 4 : table->rows;
    in.one_rows = 2 * table->rows > 2 * table->least ? 2 * table->rows : 2 * table->least;
    in.tables = tables_for(table, in.rows / 8 * 7);
    in.unlucky_tables = tables_for(table, in.unlucky_rows); /* no smaller one does: the voxels are few, but unlucky */
    in.many = make(in.rows, many_cells);
    in.unlucky = find_unlucky() ? make(in.unlucky_rows, unlucky_cell) : NULL;
    in.one = make(in.one_rows, one_cell);
    return in;
}

static void check(test_bed *bed) {
    const size_t count = bed->quick ? 1 : sizeof kinds / sizeof *kinds;
    pcgpu_context *cpu = test_open(PCGPU_DEVICE_CPU, 0);
    pc_cuda_voxelize_table table;
    now = bed;
    pc_cuda_voxelize_table_info(bed->context[0], &table);
    inputs in = make_inputs(&table, bed->tables ? bed->tables : 3);
    expect(bed, in.many && in.one && in.unlucky, "no memory for %lld points", (long long)in.rows);
    for (size_t i = 0; i < count && in.many && in.one && in.unlucky; i++) {
        const double begin = pc_now();
        check_setting(&kinds[i], &in, cpu);
        printf("%s: %lld points, %d tables, the first of %lld slots, %.1f s\n", kinds[i].name, (long long)in.rows,
               in.tables, (long long)in.least, pc_now() - begin);
    }
    free(in.many);
    free(in.one);
    free(in.unlucky);
    pcgpu_close(cpu);
}

const operation operation_table = {"table", check};
