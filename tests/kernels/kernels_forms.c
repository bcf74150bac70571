/* Every form of farthest point sampling, on the CPU and on CUDA, against the plain loop: thousands of seeded clouds,
 * alone and in batches; what is picked, at which distances, and what is left must be the same bits. */
#include "kernels_forms.h"

#include "sample_cpu.h"
#include "sample_cuda.h"

#include <signal.h>
#include <unistd.h>

enum { MOST_WAYS = 24 };

/* A form on a context. */
typedef struct way {
    char name[48];
    pcgpu_context *context;
    bool chosen; /* by the back end itself */
    pc_sample_variant cpu;
    pc_cuda_sample_variant cuda;
} way;

/* ---- ways ----------------------------------------------------------------------------------------------------- */

static int list_cpu_ways(const test_bed *bed, test_random *r, way *ways) {
    static const char *const simd_names[PC_SIMD_FORMS] = {"base", "avx2", "avx512"};
    static const int32_t bucket_points[] = {128, 64, 256, 16, 7, 1, 300, 1 << 15};
    int count = 0;
    for (int simd = PC_SIMD_BASE; simd < PC_SIMD_FORMS; simd++) {
        if (!pc_cpu_has((pc_simd)simd)) {
            continue;
        }
        int32_t points = bucket_points[test_bits(r) % (sizeof bucket_points / sizeof bucket_points[0])];
        for (int a = PC_SAMPLE_PLAIN; a <= PC_SAMPLE_BUCKETS; a++) {
            way *w = &ways[count++];
            *w = (way){.context = bed->context[0],
                       .cpu = {.simd = (pc_simd)simd,
                               .algorithm = (pc_sample_algorithm)a,
                               .points_per_thread = 100,
                               .bucket_points = points}};
            snprintf(w->name, sizeof w->name, "cpu %s, %s", a == PC_SAMPLE_PLAIN ? "plain loop" : "buckets",
                     simd_names[simd]);
        }
    }
    const int vectors = count / 2;
    for (int c = 0; c < bed->contexts; c++) {
        way *w = &ways[count++];
        *w = (way){.context = bed->context[c], .chosen = true};
        snprintf(w->name, sizeof w->name, "%s, chosen", bed->label[c]);
    }
    if (test_bits(r) % 8 == 0) { /* waiting for a thread that another program keeps from running takes long */
        way *w = &ways[count++];
        *w = ways[2 * (int)(test_bits(r) % (uint64_t)vectors)]; /* the plain loop with any vectors */
        w->context = bed->context[1 + (test_bits(r) % 4 == 0)];
        snprintf(w->name, sizeof w->name, "cpu plain loop, %d threads", w->context->threads);
    }
    return count;
}

static void name_cuda_way(way *w) {
    static const char *const kinds[] = {"as chosen", "cluster", "grid"};
    snprintf(w->name, sizeof w->name, "cuda %s%s%s", kinds[w->cuda.kind], w->cuda.stored ? ", stored" : "",
             w->cuda.blocks || w->cuda.bucket_points ? ", odd sizes" : "");
}

static int list_cuda_ways(const test_bed *bed, test_random *r, int64_t largest, way *ways) {
    static const struct {
        pc_cuda_sample_kind kind;
        bool stored;
    } kinds[] = {{PC_CUDA_SAMPLE_CHOOSE, false},
                 {PC_CUDA_SAMPLE_CLUSTER, false},
                 {PC_CUDA_SAMPLE_GRID, false},
                 {PC_CUDA_SAMPLE_GRID, true}};
    static const int blocks[] = {0, 1, 2, 3, 4, 8, 16, 100}, bucket_points[] = {32, 64, 96, 128, 256, 1024, 0};
    int count = 0;
    for (size_t i = 0; i < 2 * sizeof kinds / sizeof kinds[0]; i++) {
        way *w = &ways[count];
        *w = (way){.context = bed->context[0], .cuda = {.kind = kinds[i / 2].kind, .stored = kinds[i / 2].stored}};
        if (i % 2 == 1) {
            w->cuda.blocks = blocks[test_bits(r) % (sizeof blocks / sizeof blocks[0])];
            bool other = w->cuda.blocks == 0; /* no way twice */
            w->cuda.bucket_points =
                bucket_points[test_bits(r) % (sizeof bucket_points / sizeof bucket_points[0] - other)];
        }
        name_cuda_way(w);
        count += pc_cuda_sample_can(w->context, &w->cuda, largest) ? 1 : 0;
    }
    ways[count] = (way){.name = "cuda, chosen", .context = bed->context[0], .chosen = true};
    return count + 1;
}

static pcgpu_status sample_by(const test_bed *bed, const way *w, pc_sample_job *jobs, int count) {
    if (w->chosen) {
        return (bed->cuda ? &pc_backend_cuda : &pc_backend_cpu)->sample->sample(w->context, jobs, count);
    }
    return bed->cuda ? pc_cuda_sample_as(w->context, jobs, count, &w->cuda, 1, NULL)
                     : pc_cpu_sample_as(w->context, jobs, count, &w->cpu);
}

/* ---- comparing ------------------------------------------------------------------------------------------------ */

static const float unwritten = -12345.0f;

/* What is wrong with an answer, in `text`; false when nothing is. */
static bool differs(const pc_sample_job *want, const pc_sample_job *got, char *text, size_t size) {
    for (int64_t i = 0; i < want->picked && i < got->picked; i++) {
        if (want->indices[i] != got->indices[i] || memcmp(&want->squared[i], &got->squared[i], sizeof(float)) != 0) {
            snprintf(text, size, "pick %lld is %d at %.9g, not %d at %.9g", (long long)i, got->indices[i],
                     (double)got->squared[i], want->indices[i], (double)want->squared[i]);
            return true;
        }
    }
    if (want->picked != got->picked) {
        snprintf(text, size, "%lld picks, not %lld", (long long)got->picked, (long long)want->picked);
        return true;
    }
    if (memcmp(&want->rest, &got->rest, sizeof(float)) != 0) {
        snprintf(text, size, "%.9g is left, not %.9g", (double)got->rest, (double)want->rest);
        return true;
    }
    if (memcmp(&got->squared[want->count], &unwritten, sizeof(float)) != 0) {
        snprintf(text, size, "it wrote past its picks");
        return true;
    }
    return false;
}

/* What is being run, for when a time limit ends the program with SIGTERM. */
static char at_work[256];

static void tell_what(int number) {
    (void)number;
    ssize_t written = write(STDERR_FILENO, "ended in ", 9) + write(STDERR_FILENO, at_work, strlen(at_work));
    _exit(written < 0 ? 2 : 1);
}

static void note_what(const pack *p, const way *w) {
    const pc_sample_job *first = &p->cases[0].want;
    snprintf(at_work, sizeof at_work,
             "%s (buckets of %d, %d blocks), %d clouds, the first %s of %lld points, "
             "%lld picks\n",
             w->name, w->cuda.bucket_points, w->cuda.blocks, p->count, p->cases[0].kind, (long long)first->n,
             (long long)first->count);
}

static void check_way(test_bed *bed, const pack *p, const way *w) {
    pc_sample_job jobs[MOST_IN_PACK];
    note_what(p, w);
    for (int i = 0; i < p->count; i++) {
        jobs[i] = p->cases[i].want;
        size_t room = (size_t)jobs[i].count + 1;
        jobs[i].indices = calloc(room, 4);
        jobs[i].squared = calloc(room, 4);
        jobs[i].squared[room - 1] = unwritten;
        jobs[i].picked = -1;
        jobs[i].rest = unwritten;
    }
    pcgpu_status status = sample_by(bed, w, jobs, p->count);
    expect(bed, status == PCGPU_OK, "%s, %d clouds: %s", w->name, p->count, w->context->errors.text);
    for (int i = 0; i < p->count; i++) {
        const pc_sample_job *want = &p->cases[i].want;
        char text[160] = "";
        bool wrong = status == PCGPU_OK && differs(want, &jobs[i], text, sizeof text);
        expect(bed, !wrong,
               "%s (buckets of %d, %d blocks), cloud %d of %d, %s, %lld points, %lld seeds, %lld picks, least distance "
               "%.9g: %s",
               w->name, bed->cuda ? w->cuda.bucket_points : (int)w->cpu.bucket_points, w->cuda.blocks, i, p->count,
               p->cases[i].kind, (long long)want->n, (long long)want->seed_count, (long long)want->count,
               (double)want->min_distance, text);
        free(jobs[i].indices);
        free(jobs[i].squared);
    }
}

static void check_pack(test_bed *bed, test_random *r, const pack *p) {
    way ways[MOST_WAYS];
    int64_t largest = 0;
    for (int i = 0; i < p->count; i++) {
        largest = p->cases[i].want.n > largest ? p->cases[i].want.n : largest;
    }
    int count = bed->cuda ? list_cuda_ways(bed, r, largest, ways) : list_cpu_ways(bed, r, ways);
    for (int i = 0; i < count * bed->repeat; i++) {
        check_way(bed, p, &ways[i % count]);
    }
}

/* ---- how many of which size ----------------------------------------------------------------------------------- */

/* Packs of clouds: how many, of how many points, and the most points x picks of one. */
typedef struct plan {
    int clouds;
    int64_t least, most;
    double work;
} plan;

static int64_t check_plan(test_bed *bed, test_random *r, const plan *of) {
    enum { AT_ONCE = 32 };
    static const int sizes[] = {1, 1, 1, 1, 1, 2, 1, 5, 1, 9};
    pack *packs = malloc(AT_ONCE * sizeof *packs);
    int made = 0;
    int64_t clouds = 0;
    while (clouds < of->clouds) {
        int held = 0;
        for (; held < AT_ONCE && clouds < of->clouds; held++, made++) {
            int count = made % 50 == 49 ? MOST_IN_PACK : sizes[made % 10];
            make_pack(bed, r, count, of->least, of->most, of->work, &packs[held]);
            clouds += count;
        }
        snprintf(at_work, sizeof at_work, "the plain loop on the CPU\n");
        answer_packs(r, packs, held);
        for (int i = 0; i < held; i++) {
            check_pack(bed, r, &packs[i]);
            free_pack(&packs[i]);
        }
    }
    free(packs);
    return clouds;
}

/* Stopping is what goes wrong late: many rounds, and hardly any point left that would still be picked. */
static void check_whole_clouds(test_bed *bed, test_random *r) {
    typedef struct whole {
        const char *kind;
        int64_t n;
    } whole;
    static const whole of_cuda[] = {
        {"cube", 1000000}, {"street scan", 300000}, {"eightfold", 200000}, {"coarse grid", 150000}};
    static const whole of_cpu[] = {{"lattice", 20001}, {"duplicates", 6000}, {"all equal", 6000}, {"rings", 17000},
                                   {"outlier", 5000},  {"3e38", 3000},       {"denormal", 3000},  {"collinear", 6000}};
    pack *p = malloc(sizeof *p);
    for (size_t i = 0; i < (bed->cuda ? sizeof of_cuda : sizeof of_cpu) / sizeof(whole); i++) {
        way ways[MOST_WAYS];
        const whole *of = bed->cuda ? &of_cuda[i] : &of_cpu[i];
        make_whole(bed, of->kind, of->n, p);
        const int count = bed->cuda ? list_cuda_ways(bed, r, of->n, ways) : list_cpu_ways(bed, r, ways);
        for (int k = 0; k < count; k++) {
            if (bed->cuda && ways[k].cuda.blocks == 0) { /* the others take seconds */
                check_way(bed, p, &ways[k]);
            }
            const bool buckets = !bed->cuda && !ways[k].chosen && ways[k].cpu.algorithm == PC_SAMPLE_BUCKETS;
            for (int points = 16; buckets && points <= 128; points *= 8) {
                ways[k].cpu.bucket_points = points;
                check_way(bed, p, &ways[k]);
            }
        }
        free_pack(p);
    }
    free(p);
}

/* Each size of a batch has a plan: the shared memory of a block may be used up to its last bytes. */
static void check_batch_sizes(test_bed *bed) {
    enum { MOST = 400000, STEP = 3000, CLOUDS = 9 };
    static const int counts[] = {2, 5, CLOUDS};
    const pcgpu_cloud *clouds[CLOUDS];
    pcgpu_sampled got[CLOUDS];
    pcgpu_cloud cloud;
    pcgpu_sample_params params;
    pcgpu_sample_params_init(&params);
    params.count = 2;
    make_cloud_named("cube", bed->seed, MOST, &cloud);
    for (int i = 0; i < CLOUDS; i++) {
        clouds[i] = &cloud;
    }
    for (int64_t n = STEP; n <= MOST; n = n < 171214 && n + STEP > 171214 ? 171214 : n + STEP) {
        cloud.rows = n;
        for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
            const pcgpu_status status = pcgpu_sample_batch(bed->context[0], clouds, counts[k], &params, got);
            expect(bed, status == PCGPU_OK, "a batch of %d clouds of %lld points: %s", counts[k], (long long)n,
                   bed->context[0]->errors.text);
            for (int i = 0; i < counts[k]; i++) {
                pcgpu_sampled_free(&got[i]);
            }
        }
    }
    pcgpu_cloud_free(&cloud);
}

static void check(test_bed *bed) {
    static const plan quick[] = {{60, 1, 2900, 2e5}},
                      cpu[] = {{600, 1, 4096, 2e7}, {20, 4000, 30000, 1e7}, {6, 50000, 200000, 2e7}},
                      cuda[] = {{2100, 1, 4096, 2e7}, {150, 4000, 30000, 4e8}, {24, 50000, 200000, 1.5e9}};
    const plan few = {bed->clouds, quick->least, quick->most, quick->work};
    const plan *plans = bed->clouds ? &few : bed->quick ? quick : bed->cuda ? cuda : cpu;
    const bool small = bed->quick || bed->clouds;
    test_random r = {.state = bed->seed * 0x632BE59BD9B4E019ull};
    int64_t clouds = 0;
    signal(SIGTERM, tell_what);
    for (int i = 0; i < (small ? 1 : 3); i++) {
        clouds += check_plan(bed, &r, &plans[i]);
    }
    if (!small) {
        check_whole_clouds(bed, &r);
    }
    if (!small && bed->cuda) {
        check_batch_sizes(bed);
    }
    printf("%lld clouds by the plain loop, compared in every form\n", (long long)clouds);
}

const operation operation_forms = {"forms", check};
