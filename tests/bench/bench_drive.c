/* See bench_drive.h. */
#include "bench_drive.h"

double bench_seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int bench_read_scans(pcgpu_context *context, const char *folder, int most, int fields, pcgpu_cloud *clouds) {
    const pcgpu_read_options how = {.fields = fields};
    char path[4096];
    int n = 0;
    for (; n < most && n < BENCH_MOST_SCANS; n++) {
        snprintf(path, sizeof path, "%s/%06d.bin", folder, n);
        if (pcgpu_read_file(context, path, &how, &clouds[n]) != PCGPU_OK) {
            break;
        }
    }
    return n;
}

bool bench_read_poses(const char *folder, int count, double *poses) {
    char path[4096];
    snprintf(path, sizeof path, "%s/poses.txt", folder);
    FILE *file = fopen(path, "r");
    bool good = file;
    for (int i = 0; i < count && good; i++) {
        double *T = poses + 16 * i;
        T[12] = T[13] = T[14] = 0.0, T[15] = 1.0;
        for (int k = 0; k < 12 && good; k++) {
            good = fscanf(file, "%lf", &T[k]) == 1;
        }
    }
    if (file) {
        fclose(file);
    }
    return good;
}
