/* One test of every back end against a plain reference, or against what is known: backends TEST cpu|cuda [SEED
 * [OPTION...]]. Exit code 0 passed, 1 failed, 77 no CUDA device. */
#include "backends.h"
#include "context.h"

enum { MANY_FAILURES = 20 /* as many are printed */ };

static const struct {
    const char *name;
    backend_test *run;
} tests[] = {
    {"icp", test_icp},           {"ndt", test_ndt},           {"pairs", test_pairs},
    {"depth", test_depth},       {"odometry", test_odometry}, {"odometry_depth", test_odometry_depth},
    {"localize", test_localize}, {"model", test_model},       {"volume", test_volume},
    {"surface", test_surface},
};
enum { TESTS = sizeof tests / sizeof tests[0] };

test_random numbers;
platform platforms[16];
int platform_count;
static int checks, failures;

bool check_fails(bool ok) {
    checks++;
    return !ok && ++failures <= MANY_FAILURES;
}

void expect(bool ok, const char *cloud, const char *label, const char *what, int64_t i) {
    if (check_fails(ok)) {
        printf("FAILED: %s, %s: %s, case %lld\n", cloud, label, what, (long long)i);
    }
}

void fill_room(int64_t i, float p[3]) {
    for (int k = 0; k < 3; k++) {
        p[k] = 8.0f * test_float(&numbers) - 4.0f;
    }
    p[i % 3] = (float)(i % 2) * 3.0f + 0.02f * test_float(&numbers);
}

void fill_line(int64_t i, float p[3]) {
    p[0] = 0.05f * (float)i;
    p[1] = p[2] = -7.0f;
}

float *make_columns(fill_fn *fill, int64_t n) {
    float *xyz = malloc((size_t)(n ? n : 1) * 3 * sizeof *xyz), p[3];
    for (int64_t i = 0; i < n; i++) {
        fill(i, p);
        for (int k = 0; k < 3; k++) {
            xyz[k * n + i] = p[k];
        }
    }
    return xyz;
}

pc_ndt_frame frame_about(const float *xyz, int64_t n, double edge) {
    pc_ndt_frame frame = {.unit = edge / (1 << PC_NDT_BITS), .per_unit = (1 << PC_NDT_BITS) / edge};
    for (int k = 0; k < 3; k++) {
        float low = INFINITY, high = -INFINITY;
        for (int64_t i = 0; i < n; i++) {
            low = fminf(low, xyz[k * n + i]);
            high = fmaxf(high, xyz[k * n + i]);
        }
        frame.origin[k] = (double)low - 1.3 * edge;
        frame.limit[k] = (float)(floor((double)(high - low) / edge + 3.0) * (1 << PC_NDT_BITS));
    }
    return frame;
}

pcgpu_context *open_context(pcgpu_device device, int threads, int simd_limit) {
    pcgpu_context *context = test_open(device, threads);
    context->simd_limit = simd_limit;
    return context;
}

void open_platforms(bool cuda, const int *threads, int count, bool forms) {
    for (int form = 0; form < (forms && !cuda ? PC_SIMD_FORMS : 1); form++) {
        for (int i = 0; i < (cuda ? 1 : count) && (!forms || pc_cpu_has((pc_simd)form)); i++) {
            platform *p = &platforms[platform_count++];
            p->context = open_context(cuda ? PCGPU_DEVICE_CUDA : PCGPU_DEVICE_CPU, threads[i], forms ? form + 1 : 0);
            p->backend = cuda ? &pc_backend_cuda : &pc_backend_cpu;
            snprintf(p->label, sizeof p->label, cuda ? "cuda" : "form %d, %d threads", form, threads[i]);
        }
    }
}

bool same_optimizer(const pc_ndt_optimizer *a, const pc_ndt_optimizer *b) {
    return memcmp(&a->target, &b->target, sizeof a->target) == 0 && a->end == b->end &&
           memcmp(&a->base.pose, &b->base.pose, sizeof a->base.pose) == 0 && a->base.converged == b->base.converged &&
           memcmp(a->base.iterations, b->base.iterations, sizeof a->base.iterations) == 0 &&
           a->phase.level == b->phase.level && memcmp(a->final_sums, b->final_sums, sizeof a->final_sums) == 0;
}

void forget_times(pcgpu_registration *r) {
    r->run = (pcgpu_run){.points_in = r->run.points_in,
                         .non_finite = r->run.non_finite,
                         .at_origin = r->run.at_origin,
                         .too_near = r->run.too_near};
}

double metres_between(const double a[16], const double b[16]) {
    return sqrt((a[3] - b[3]) * (a[3] - b[3]) + (a[7] - b[7]) * (a[7] - b[7]) + (a[11] - b[11]) * (a[11] - b[11]));
}

/* By the norm of the difference, which is 2 sqrt(2) sin(angle / 2): exact where the trace is not. */
double radians_between(const double a[16], const double b[16]) {
    double sum = 0.0;
    for (int k = 0; k < 12; k++) {
        sum += k % 4 < 3 ? (a[k] - b[k]) * (a[k] - b[k]) : 0.0;
    }
    return 2.0 * asin(fmin(1.0, sqrt(sum / 8.0)));
}

int main(int argc, char **argv) {
    const bool cuda = argc > 2 && strcmp(argv[2], "cuda") == 0;
    int t = 0;
    while (argc > 2 && t < TESTS && strcmp(tests[t].name, argv[1]) != 0) {
        t++;
    }
    if (argc < 3 || t == TESTS || (!cuda && strcmp(argv[2], "cpu") != 0)) {
        fprintf(stderr, "usage: backends TEST cpu|cuda [SEED [OPTION...]]\n");
        return 2;
    }
    numbers.state = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    if (cuda) {
        pcgpu_close(open_context(PCGPU_DEVICE_CUDA, 1, 0)); /* before any work, where there is none */
    }
    tests[t].run(cuda, argv + (argc > 4 ? 4 : argc));
    for (int i = 0; i < platform_count; i++) {
        pcgpu_close(platforms[i].context);
    }
    printf("%s: %d checks, %d failed\n", argv[1], checks, failures);
    return failures || checks == 0 ? 1 : 0;
}
