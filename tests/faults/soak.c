/* soak SECONDS THREADS FOLDER: a process that uses the library for a long time. THREADS threads (1 to 16), each with a
 * context of its own in each round, go through every operation with the files of testdata/ (FOLDER), and through calls
 * that fail. After a round, when all contexts are closed, no more memory is allocated and no more files are open than
 * after the warm-up, which is the first two rounds. Prints a line every minute, and at the end the counts; exit code 1
 * when something grew. */
#include "pcgpu.h"

#include <dirent.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 16, IMAGES = 4, SCANS = 6 };

typedef struct job {
    const char *folder;
    int round, thread;
    const char *failed; /* what did not end as it should; NULL: nothing */
    char why[512];
} job;

static void fail(job *j, const char *what, const pcgpu_context *context) {
    if (!j->failed) {
        j->failed = what;
        snprintf(j->why, sizeof j->why, "%s", pcgpu_last_error(context));
    }
}

#define EXPECT(status, call) ((call) == (status) ? (void)0 : fail(j, #call, context))
#define WORKS(call)          EXPECT(PCGPU_OK, call)

static void path_of(const job *j, const char *name, char path[512]) {
    snprintf(path, 512, "%s/%s", j->folder, name);
}

/* Every format that can be written, and read again: whole, and cut short, which is an error or a warning. */
static void files(job *j, pcgpu_context *context, const pcgpu_cloud *cloud) {
    const pcgpu_format_info *format;
    for (int i = 0; (format = pcgpu_format_at(i)) != NULL; i++) {
        if (!format->writes || strcmp(format->name, "label") == 0) { /* which has no points */
            continue;
        }
        char *bytes = NULL;
        size_t size = 0;
        pcgpu_read_options options = {.struct_size = sizeof options, .format = format->name};
        pcgpu_cloud read = {0};
        FILE *stream = open_memstream(&bytes, &size);
        WORKS(pcgpu_write(context, stream, "memory", format->name, cloud));
        fclose(stream);
        if (format->reads) {
            stream = fmemopen(bytes, size, "r");
            WORKS(pcgpu_read(context, stream, "memory", &options, &read));
            fclose(stream);
            pcgpu_cloud_free(&read);
            stream = fmemopen(bytes, size / 2 + 1, "r");
            (void)pcgpu_read(context, stream, "memory", &options, &read);
            fclose(stream);
            pcgpu_cloud_free(&read);
        }
        free(bytes);
    }
    EXPECT(PCGPU_ERROR_IO, pcgpu_read_file(context, "/nonexistent.bin", NULL, &(pcgpu_cloud){0}));
}

static void picks_and_voxels(job *j, pcgpu_context *context, const pcgpu_cloud *cloud) {
    pcgpu_sample_params sample;
    pcgpu_sampled sampled = {0};
    pcgpu_sample_params_init(&sample);
    sample.count = 1024;
    WORKS(pcgpu_sample(context, cloud, &sample, &sampled));
    pcgpu_sampled_free(&sampled);
    sample.count = cloud->rows + 1;
    EXPECT(PCGPU_ERROR_ARGUMENT, pcgpu_sample(context, cloud, &sample, &sampled));
    pcgpu_voxelize_params voxelize;
    pcgpu_voxels voxels = {0};
    for (pcgpu_features features = PCGPU_FEATURES_MEAN; features <= PCGPU_FEATURES_NEAREST; features++) {
        pcgpu_voxelize_params_init(&voxelize);
        voxelize.range_auto = true;
        voxelize.size[0] = voxelize.size[1] = voxelize.size[2] = 0.5 + j->round % 3;
        voxelize.max_points = 16;
        voxelize.features = features;
        WORKS(pcgpu_voxelize(context, cloud, &voxelize, &voxels));
        pcgpu_voxels_free(&voxels);
    }
    voxelize.size[0] = -1;
    EXPECT(PCGPU_ERROR_ARGUMENT, pcgpu_voxelize(context, cloud, &voxelize, &voxels));
}

/* Odometry of both scans in turns, with their map and loops, then localization in that map, by changing methods. */
static void scans(job *j, pcgpu_context *context, const pcgpu_cloud *both[2]) {
    pcgpu_register_params registration;
    pcgpu_registration result;
    for (int method = PCGPU_REGISTER_PLANE; method <= PCGPU_REGISTER_GICP; method++) {
        pcgpu_register_params_init(&registration);
        registration.method = (pcgpu_register_method)method;
        WORKS(pcgpu_register(context, both[0], both[1], &registration, &result));
    }
    pcgpu_odometry_params params;
    pcgpu_odometry *odometry = NULL, *localized = NULL;
    pcgpu_map_params map_params;
    pcgpu_map *map = NULL;
    pcgpu_loops_params loops_params;
    pcgpu_loops *loops = NULL;
    const pcgpu_cloud *surface = NULL;
    pcgpu_odometry_params_init(&params);
    pcgpu_map_params_init(&map_params);
    map_params.memory = 1 << 20;
    map_params.folder = "/tmp";
    pcgpu_loops_params_init(&loops_params);
    params.reference = (pcgpu_reference)(j->round % 3);
    WORKS(pcgpu_odometry_open(context, &params, &odometry));
    WORKS(pcgpu_map_open(context, &map_params, &map));
    WORKS(pcgpu_loops_open(context, &loops_params, &loops));
    for (int i = 0; i < SCANS && !j->failed; i++) {
        pcgpu_odometry_frame frame;
        const pcgpu_cloud *points;
        WORKS(pcgpu_odometry_add(odometry, both[i % 2], i, &frame));
        WORKS(pcgpu_odometry_points(odometry, &points));
        WORKS(pcgpu_map_add(map, both[i % 2], frame.T_world_frame));
        WORKS(pcgpu_loops_add(loops, points, i, frame.T_world_frame));
    }
    pcgpu_loops_result found;
    if (!j->failed) {
        WORKS(pcgpu_map_finish(map, &surface));
        WORKS(pcgpu_loops_solve(loops, &found));
    }
    params.reference = PCGPU_REFERENCE_MODEL;
    if (surface) {
        pcgpu_odometry_frame frame;
        WORKS(pcgpu_odometry_open_map(context, &params, surface, &localized));
        EXPECT(PCGPU_OK, localized ? pcgpu_odometry_add(localized, both[0], 0, &frame) : PCGPU_OK);
    }
    pcgpu_odometry_close(localized);
    pcgpu_loops_close(loops);
    pcgpu_map_close(map);
    pcgpu_odometry_close(odometry);
}

/* Odometry of the depth images with their loops, its model and the mesh of that. */
static void images(job *j, pcgpu_context *context, const pcgpu_camera *camera) {
    pcgpu_depth_odometry_params params;
    pcgpu_depth_odometry *odometry = NULL;
    pcgpu_depth_odometry_params_init(&params);
    params.volume.voxel_size = 0.05;
    WORKS(pcgpu_depth_odometry_open(context, camera, &params, &odometry));
    pcgpu_depth_loops_params loops_params;
    pcgpu_loops *loops = NULL;
    pcgpu_depth_loops_params_init(&loops_params);
    WORKS(pcgpu_loops_open_depth(context, camera, &loops_params, &loops));
    for (int i = 0; i < IMAGES && !j->failed; i++) {
        char name[64], path[512];
        pcgpu_depth depth = {0};
        pcgpu_odometry_frame frame;
        snprintf(name, sizeof name, "room/frame-%06d.png", i);
        path_of(j, name, path);
        FILE *stream = fopen(path, "rb");
        if (!stream) {
            fail(j, "fopen of an image", context);
            break;
        }
        WORKS(pcgpu_read_depth(context, stream, path, NULL, &depth));
        fclose(stream);
        WORKS(pcgpu_depth_odometry_add(odometry, &depth, i, &frame));
        frame.T_world_frame[3] += i % 2; /* metres, a path on which images are seen again */
        WORKS(pcgpu_loops_add_depth(loops, &depth, i, frame.T_world_frame));
        pcgpu_depth_free(&depth);
    }
    pcgpu_mesh mesh = {0};
    pcgpu_loops_result found;
    if (!j->failed) {
        WORKS(pcgpu_loops_solve(loops, &found));
        WORKS(pcgpu_volume_mesh(pcgpu_depth_odometry_volume(odometry), 0, &mesh));
    }
    pcgpu_mesh_free(&mesh);
    pcgpu_loops_close(loops);
    pcgpu_depth_odometry_close(odometry);
}

static void *run_round(void *user) {
    job *j = user;
    pcgpu_settings settings;
    pcgpu_context *context = NULL;
    pcgpu_settings_init(&settings);
    settings.threads = 1 + (j->round + j->thread) % 3;
    WORKS(pcgpu_open(&settings, &context));
    pcgpu_cloud street = {0}, moved = {0};
    char path[512];
    path_of(j, "street.bin", path);
    WORKS(pcgpu_read_file(context, path, NULL, &street));
    path_of(j, "street_moved.bin", path);
    WORKS(pcgpu_read_file(context, path, NULL, &moved));
    pcgpu_camera camera;
    pcgpu_camera_init(&camera);
    camera.fx = camera.fy = 525;
    camera.cx = 319.5;
    camera.cy = 239.5;
    if (!j->failed) {
        pcgpu_cloud few = street;
        few.rows /= 8;
        files(j, context, &few);
        picks_and_voxels(j, context, &few);
        scans(j, context, (const pcgpu_cloud *[2]){&street, &moved});
        images(j, context, &camera);
    }
    pcgpu_cloud_free(&moved);
    pcgpu_cloud_free(&street);
    pcgpu_close(context);
    return NULL;
}

typedef struct usage {
    size_t allocated; /* bytes */
    long resident;    /* KiB */
    int files;
} usage;

static usage now_used(void) {
    struct mallinfo2 heap = mallinfo2();
    usage u = {heap.uordblks + heap.hblkhd, 0, 0};
    long pages = 0;
    FILE *stream = fopen("/proc/self/statm", "r");
    if (!stream || fscanf(stream, "%*d %ld", &pages) != 1) {
        pages = -1;
    }
    if (stream) {
        fclose(stream);
    }
    u.resident = pages * (sysconf(_SC_PAGESIZE) / 1024);
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder)) {
        u.files++;
    }
    closedir(folder);
    return u;
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
    int threads = argc == 4 ? atoi(argv[2]) : 0;
    if (threads < 1 || threads > MOST_THREADS) {
        fputs("usage: soak SECONDS THREADS FOLDER; 1 to 16 threads\n", stderr);
        return 2;
    }
    double begin = seconds(), end = begin + atof(argv[1]), next = begin + 60;
    usage warm = {0}, used = {0};
    size_t most = 0;
    int round = 0;
    for (; round < 3 || seconds() < end; round++) {
        job jobs[MOST_THREADS];
        pthread_t ids[MOST_THREADS];
        for (int t = 0; t < threads; t++) {
            jobs[t] = (job){.folder = argv[3], .round = round, .thread = t};
            if (pthread_create(&ids[t], NULL, run_round, &jobs[t]) != 0) {
                fputs("FAIL: a thread cannot be started\n", stderr);
                return 1;
            }
        }
        for (int t = 0; t < threads; t++) {
            pthread_join(ids[t], NULL);
            if (jobs[t].failed) {
                printf("FAIL: round %d, thread %d: %s: %s\n", round, t, jobs[t].failed, jobs[t].why);
                return 1;
            }
        }
        used = now_used();
        if (round == 1) {
            warm = used;
        }
        most = used.allocated > most && round > 1 ? used.allocated : most;
        if (seconds() > next) {
            next += 60;
            printf("%4.0f s, round %d: %zu bytes allocated, %ld KiB resident, %d files\n", seconds() - begin, round,
                   used.allocated, used.resident, used.files);
            fflush(stdout);
        }
    }
    printf("%d rounds of %d threads, %.0f s: allocated %zu bytes after round 2, at most %zu later; resident %ld, then "
           "%ld KiB; files open %d, then %d\n",
           round, threads, seconds() - begin, warm.allocated, most, warm.resident, used.resident, warm.files,
           used.files);
    /* A thread of the C library may keep some hundred bytes. Resident memory has what free() has not given back. */
    bool grew = most > warm.allocated + 16384 || used.files != warm.files ||
                used.resident > warm.resident + warm.resident / 2 + 65536;
    if (grew) {
        puts("FAIL: memory or files grew");
    }
    return grew;
}
