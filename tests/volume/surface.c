/* What comes out of a volume against scenes that are known: a plane and a sphere; and meshes against what a mesh must
 * be. surface [cpu|cuda]. Exit code 0 passed, 1 failed, 77 no such device. */
#include "tsdf_job.h"
#include "../support/backends.h"

static pcgpu_context *context;
static const double IDENTITY[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};

static pcgpu_volume *open_volume(double voxel, double truncation) {
    pcgpu_volume_params params;
    pcgpu_volume *volume;
    pcgpu_volume_params_init(&params);
    params.voxel_size = voxel;
    params.truncation = truncation;
    if (pcgpu_volume_open(context, &params, &volume) != PCGPU_OK) {
        printf("FAILED: %s\n", pcgpu_last_error(context));
        exit(1);
    }
    return volume;
}

static pcgpu_camera make_camera(int width, int height, double focal, double scale) {
    pcgpu_camera camera;
    pcgpu_camera_init(&camera);
    camera.width = width;
    camera.height = height;
    camera.fx = camera.fy = focal;
    camera.cx = 0.5 * (width - 1);
    camera.cy = 0.5 * (height - 1);
    camera.depth_scale = scale;
    return camera;
}

/* The depth of a scene seen by a camera with a pose; 0 = nothing. */
typedef double depth_fn(const double origin[3], const double direction[3]);

static void render(const pcgpu_camera *camera, const double T[16], depth_fn *depth_of, uint16_t *depth) {
    for (int v = 0; v < camera->height; v++) {
        for (int u = 0; u < camera->width; u++) {
            const double d[3] = {(u - camera->cx) / camera->fx, (v - camera->cy) / camera->fy, 1.0};
            double origin[3], direction[3];
            for (int k = 0; k < 3; k++) {
                origin[k] = T[4 * k + 3];
                direction[k] = T[4 * k] * d[0] + T[4 * k + 1] * d[1] + T[4 * k + 2] * d[2];
            }
            const double z = depth_of(origin, direction) * camera->depth_scale;
            depth[v * camera->width + u] = z > 0.0 && z < 65535.0 ? (uint16_t)(z + 0.5) : 0;
        }
    }
}

static void fuse(pcgpu_volume *volume, const pcgpu_camera *camera, const double T[16], uint16_t *depth) {
    const pcgpu_depth image = {camera->width, camera->height, depth, NULL};
    pcgpu_volume_counts counts;
    pcgpu_status status = pcgpu_volume_integrate(volume, &image, camera, T, &counts);
    CHECK(status == PCGPU_OK, "%s", pcgpu_last_error(context));
}

/* ---- meshes ----------------------------------------------------------------------------------------------------- */

typedef struct edge {
    int32_t from, to;
} edge;

static int by_ends(const void *a, const void *b) {
    const edge *p = a, *q = b;
    return p->from != q->from ? (p->from < q->from ? -1 : 1) : (p->to > q->to) - (p->to < q->to);
}

/* Whether an edge may be open; NULL: none may. */
typedef bool open_fn(const float *a, const float *b);

/* No edge is passed twice in the same direction, and each once in both directions unless it may be open. Every vertex
 * is used and no two are at the same place. Returns the number of edges. */
static int64_t check_mesh(const char *name, const pcgpu_mesh *mesh, open_fn *may_be_open) {
    const int64_t count = 3 * mesh->triangles, rows = mesh->vertices.rows;
    edge *edges = malloc((size_t)(count + 1) * sizeof *edges);
    char *used = calloc((size_t)rows + 1, 1);
    int64_t open = 0;
    for (int64_t i = 0; i < count; i++) {
        const int32_t from = mesh->indices[i], to = mesh->indices[i % 3 == 2 ? i - 2 : i + 1];
        edges[i] = (edge){from, to};
        CHECK(from >= 0 && from < rows && from != to, "%s: corner %lld is %d", name, (long long)i, from);
        used[from] = 1;
    }
    qsort(edges, (size_t)count, sizeof *edges, by_ends);
    for (int64_t i = 0; i < count; i++) {
        const edge back = {edges[i].to, edges[i].from};
        CHECK(i == 0 || by_ends(&edges[i - 1], &edges[i]) != 0, "%s: an edge twice in the same direction", name);
        if (!bsearch(&back, edges, (size_t)count, sizeof *edges, by_ends)) {
            const float *a = mesh->vertices.data + 6 * back.to, *b = mesh->vertices.data + 6 * back.from;
            open++;
            CHECK(may_be_open && may_be_open(a, b), "%s: an open edge from %g %g %g to %g %g %g", name, (double)a[0],
                  (double)a[1], (double)a[2], (double)b[0], (double)b[1], (double)b[2]);
        }
    }
    for (int64_t i = 0; i < rows; i++) {
        const float *n = mesh->vertices.data + 6 * i + 3;
        const double length = sqrt((double)(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]));
        CHECK(used[i], "%s: vertex %lld has no triangle", name, (long long)i);
        CHECK(fabs(length - 1.0) < 1e-5, "%s: normal %lld has length %g", name, (long long)i, length);
    }
    free(edges);
    free(used);
    return (count + open) / 2;
}

static double signed_volume(const pcgpu_mesh *mesh) {
    double sum = 0.0;
    for (int64_t i = 0; i < mesh->triangles; i++) {
        const float *a = mesh->vertices.data + 6 * mesh->indices[3 * i];
        const float *b = mesh->vertices.data + 6 * mesh->indices[3 * i + 1];
        const float *c = mesh->vertices.data + 6 * mesh->indices[3 * i + 2];
        sum += (double)(a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
                        a[2] * (b[0] * c[1] - b[1] * c[0])) /
               6.0;
    }
    return sum;
}

/* ---- signs at random: every pattern of marching cubes beside every other ---------------------------------------- */

enum { CUBE = 3 }; /* blocks a side */

static bool on_the_outside(const float *a, const float *b) {
    for (int k = 0; k < 3; k++) {
        for (int side = 0; side < 2; side++) {
            const float wall = side ? 8.0f * CUBE - 1.0f : 0.0f;
            if (a[k] == wall && b[k] == wall) {
                return true;
            }
        }
    }
    return false;
}

static void test_patterns(void) {
    enum { BLOCKS = CUBE * CUBE * CUBE + 1 };
    static float distances[BLOCKS * PC_VOLUME_VOXELS], weights[BLOCKS * PC_VOLUME_VOXELS];
    static int32_t neighbours[BLOCKS * PC_VOLUME_NEIGHBOURS];
    static uint64_t keys[BLOCKS];
    test_random random = {7};
    for (int i = 0; i < BLOCKS * PC_VOLUME_VOXELS; i++) {
        const uint64_t bits = test_bits(&random);
        distances[i] =
            i < PC_VOLUME_VOXELS ? NAN : (bits & 1 ? 1.0f : -1.0f) * (0.1f + 0.5f * (float)(bits >> 40) * 0x1p-24f);
        weights[i] = 1.0f;
    }
    for (int b = 1; b < BLOCKS; b++) {
        const int at[3] = {(b - 1) % CUBE, (b - 1) / CUBE % CUBE, (b - 1) / CUBE / CUBE};
        keys[b] = pc_volume_key(at[0], at[1], at[2]);
        for (int n = 0; n < PC_VOLUME_NEIGHBOURS; n++) {
            const int x = at[0] + n % 3 - 1, y = at[1] + n / 3 % 3 - 1, z = at[2] + n / 9 - 1;
            const bool inside = x >= 0 && y >= 0 && z >= 0 && x < CUBE && y < CUBE && z < CUBE;
            neighbours[PC_VOLUME_NEIGHBOURS * b + n] = inside ? 1 + x + CUBE * (y + CUBE * z) : 0;
        }
    }
    const pc_volume_blocks blocks = {
        .grid = {.keys = keys, .distances = distances, .weights = weights, .neighbours = neighbours},
        .count = BLOCKS - 1};
    pcgpu_mesh mesh = {0};
    CHECK(pc_volume_extract(context, &blocks, 1.0, 1.0f, 0.0f, true, &mesh) == PCGPU_OK, "%s",
          pcgpu_last_error(context));
    CHECK(mesh.triangles > 20000, "%lld triangles", (long long)mesh.triangles);
    check_mesh("signs at random", &mesh, on_the_outside);
    printf("signs at random: %lld vertices, %lld triangles, no crack\n", (long long)mesh.vertices.rows,
           (long long)mesh.triangles);
    pcgpu_mesh_free(&mesh);
}

/* ---- a plane ---------------------------------------------------------------------------------------------------- */

static const double PLANE[4] = {0.3 / 1.2, -0.4 / 1.2, -1.0908712114635715 / 1.2, -1.5}; /* n . p = -1.5 */

static double plane_depth(const double origin[3], const double direction[3]) {
    double along = 0.0, at = 0.0;
    for (int k = 0; k < 3; k++) {
        along += PLANE[k] * direction[k];
        at += PLANE[k] * origin[k];
    }
    return (PLANE[3] - at) / along;
}

static void test_plane(void) {
    const pcgpu_camera camera = make_camera(160, 120, 130.0, 20000.0);
    uint16_t *depth = malloc(160 * 120 * sizeof *depth);
    float *vertices = malloc(160 * 120 * 3 * sizeof *vertices), *normals = malloc(160 * 120 * 3 * sizeof *normals);
    pcgpu_volume *volume = open_volume(0.01, 0);
    pcgpu_mesh mesh;
    double worst = 0.0, off = 0.0, turned = 1.0;
    int64_t seen = 0;
    render(&camera, IDENTITY, plane_depth, depth);
    fuse(volume, &camera, IDENTITY, depth);
    CHECK(pcgpu_volume_raycast(volume, &camera, IDENTITY, vertices, normals) == PCGPU_OK, "%s",
          pcgpu_last_error(context));
    for (int i = 0; i < 160 * 120; i++) {
        const float *p = vertices + 3 * i, *n = normals + 3 * i;
        if (p[2] == p[2]) {
            worst = fmax(worst, fabs((double)p[2] - depth[i] / camera.depth_scale));
            turned = fmin(turned, PLANE[0] * (double)n[0] + PLANE[1] * (double)n[1] + PLANE[2] * (double)n[2]);
            seen++;
        }
    }
    CHECK(pcgpu_volume_mesh(volume, 0.0, &mesh) == PCGPU_OK, "%s", pcgpu_last_error(context));
    for (int64_t i = 0; i < mesh.vertices.rows; i++) {
        const float *p = mesh.vertices.data + 6 * i;
        off = fmax(off, fabs(PLANE[0] * (double)p[0] + PLANE[1] * (double)p[1] + PLANE[2] * (double)p[2] - PLANE[3]));
    }
    printf("plane: %lld of %d pixels, depths to %.3f mm, normals to %.3f degrees, vertices to %.3f mm\n",
           (long long)seen, 160 * 120, 1e3 * worst, acos(fmin(turned, 1.0)) * 57.29578, 1e3 * off);
    CHECK(seen > 160 * 120 * 96 / 100, "%lld pixels see the plane", (long long)seen);
    CHECK(worst < 0.0003, "a depth is %.3f mm off", 1e3 * worst);
    CHECK(turned > 0.99996, "a normal is %.2f degrees off", acos(fmin(turned, 1.0)) * 57.29578);
    CHECK(off < 0.0003, "a vertex is %.3f mm off", 1e3 * off);
    pcgpu_mesh_free(&mesh);
    pcgpu_volume_close(volume);
    free(depth);
    free(vertices);
    free(normals);
}

/* ---- a sphere, from all sides ----------------------------------------------------------------------------------- */

static const double CENTRE[3] = {0.123, -0.217, 0.311}, RADIUS = 0.3;

static double sphere_depth(const double origin[3], const double direction[3]) {
    double a = 0.0, b = 0.0, c = -RADIUS * RADIUS;
    for (int k = 0; k < 3; k++) {
        const double o = origin[k] - CENTRE[k];
        a += direction[k] * direction[k];
        b += direction[k] * o;
        c += o * o;
    }
    const double root = b * b - a * c;
    return root > 0.0 ? (-b - sqrt(root)) / a : 0.0;
}

/* From a direction, looking at the centre from 1 m. */
static void look_from(int x, int y, int z, double T[16]) {
    const double length = sqrt((double)(x * x + y * y + z * z));
    const double forward[3] = {-x / length, -y / length, -z / length};
    double side[3] = {forward[1] + 0.1 * forward[2], -forward[0], -0.1 * forward[0]}; /* at a right angle to it */
    if (side[0] * side[0] + side[1] * side[1] + side[2] * side[2] < 0.01) {
        side[0] = 0.0, side[1] = forward[2], side[2] = -forward[1];
    }
    const double norm = sqrt(side[0] * side[0] + side[1] * side[1] + side[2] * side[2]);
    for (int k = 0; k < 3; k++) {
        const int i = (k + 1) % 3, j = (k + 2) % 3;
        T[4 * k] = side[k] / norm;
        T[4 * k + 1] = (forward[i] * side[j] - forward[j] * side[i]) / norm;
        T[4 * k + 2] = forward[k];
        T[4 * k + 3] = CENTRE[k] - forward[k];
    }
    T[12] = T[13] = T[14] = 0.0;
    T[15] = 1.0;
}

static void test_sphere(void) {
    const pcgpu_camera camera = make_camera(200, 200, 260.0, 10000.0);
    uint16_t *depth = malloc(200 * 200 * sizeof *depth);
    pcgpu_volume *volume = open_volume(0.01, 0.04);
    pcgpu_mesh mesh;
    double squares = 0.0, worst = 0.0, turned = 1.0;
    for (int i = 0; i < 27; i++) {
        double T[16];
        if (i != 13) {
            look_from(i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1, T);
            render(&camera, T, sphere_depth, depth);
            fuse(volume, &camera, T, depth);
        }
    }
    CHECK(pcgpu_volume_mesh(volume, 0.0, &mesh) == PCGPU_OK, "%s", pcgpu_last_error(context));
    const int64_t edges = check_mesh("sphere", &mesh, NULL);
    for (int64_t i = 0; i < mesh.vertices.rows; i++) {
        const float *p = mesh.vertices.data + 6 * i;
        double length = 0.0, dot = 0.0;
        for (int k = 0; k < 3; k++) {
            const double d = (double)p[k] - CENTRE[k];
            length += d * d;
            dot += d * (double)p[3 + k];
        }
        length = sqrt(length);
        squares += (length - RADIUS) * (length - RADIUS);
        worst = fmax(worst, fabs(length - RADIUS));
        turned = fmin(turned, dot / length);
    }
    const double rms = sqrt(squares / (double)mesh.vertices.rows),
                 volume_ratio = signed_volume(&mesh) / (4.0 / 3.0 * 3.14159265358979 * RADIUS * RADIUS * RADIUS);
    /* signed_volume is about the origin, which for a closed mesh does not matter. */
    printf("sphere: %lld vertices, %lld triangles, radius to %.3f mm RMS, %.3f worst, normals to %.2f degrees, volume "
           "%.5f\n",
           (long long)mesh.vertices.rows, (long long)mesh.triangles, 1e3 * rms, 1e3 * worst, acos(turned) * 57.29578,
           volume_ratio);
    CHECK(mesh.vertices.rows - edges + mesh.triangles == 2, "Euler's number is %lld",
          (long long)(mesh.vertices.rows - edges + mesh.triangles));
    CHECK(rms < 0.0003 && worst < 0.0015, "vertices are off by %.3f mm RMS, %.3f worst", 1e3 * rms, 1e3 * worst);
    CHECK(turned > 0.996, "a normal is %.2f degrees off", acos(turned) * 57.29578);
    CHECK(fabs(volume_ratio - 1.0) < 0.002, "the volume is %.4f of the sphere's", volume_ratio);
    pcgpu_mesh_free(&mesh);
    pcgpu_volume_close(volume);
    free(depth);
}

/* ---- what is not a scene ---------------------------------------------------------------------------------------- */

static void check_refused(pcgpu_volume *volume, const pcgpu_depth *image, const pcgpu_camera *camera,
                          const double T[16], pcgpu_status wanted, const char *part) {
    pcgpu_volume_stats before, after;
    pcgpu_volume_get_stats(volume, &before);
    pcgpu_status status = pcgpu_volume_integrate(volume, image, camera, T, NULL);
    pcgpu_volume_get_stats(volume, &after);
    CHECK(status == wanted && strstr(pcgpu_last_error(context), part), "status %d: %s", status,
          pcgpu_last_error(context));
    CHECK(before.blocks == after.blocks && before.frames == after.frames, "it changed the volume: %s", part);
}

static void test_hostile(void) {
    pcgpu_camera camera = make_camera(40, 30, 35.0, 1000.0);
    uint16_t depth[40 * 30] = {0};
    pcgpu_depth image = {40, 30, depth, NULL};
    float vertices[3 * 40 * 30], normals[3 * 40 * 30];
    pcgpu_volume *volume = open_volume(0.02, 0);
    pcgpu_volume_stats stats;
    pcgpu_volume_counts counts;
    pcgpu_mesh mesh;
    double T[16];
    memcpy(T, IDENTITY, sizeof T);

    /* Nothing at all. */
    CHECK(pcgpu_volume_integrate(volume, &image, &camera, T, &counts) == PCGPU_OK, "%s", pcgpu_last_error(context));
    CHECK(counts.new_blocks == 0 && counts.updated_blocks == 0 && counts.depth.no_return == 40 * 30, "an empty frame");
    CHECK(pcgpu_volume_raycast(volume, &camera, T, vertices, normals) == PCGPU_OK, "%s", pcgpu_last_error(context));
    CHECK(vertices[0] != vertices[0] && normals[3 * 40 * 30 - 1] != normals[3 * 40 * 30 - 1], "nothing is seen");
    CHECK(pcgpu_volume_mesh(volume, 0.0, &mesh) == PCGPU_OK, "%s", pcgpu_last_error(context));
    CHECK(mesh.vertices.rows == 0 && mesh.triangles == 0, "an empty mesh");
    pcgpu_mesh_free(&mesh);

    /* Poses. */
    for (int i = 0; i < 40 * 30; i++) {
        depth[i] = 1500;
    }
    T[3] = NAN;
    check_refused(volume, &image, &camera, T, PCGPU_ERROR_ARGUMENT, "not a rigid transform");
    T[3] = 1e9;
    check_refused(volume, &image, &camera, T, PCGPU_ERROR_ARGUMENT, "move the origin of the poses");
    T[3] = 0.0;
    T[0] = 1.1;
    check_refused(volume, &image, &camera, T, PCGPU_ERROR_ARGUMENT, "not a rigid transform");
    T[0] = -1.0;
    check_refused(volume, &image, &camera, T, PCGPU_ERROR_ARGUMENT, "not a rigid transform");
    T[0] = 1.0;
    camera.width = 41;
    check_refused(volume, &image, &camera, T, PCGPU_ERROR_ARGUMENT, "give the camera of this image");
    camera.width = 40;
    camera.fx = NAN;
    check_refused(volume, &image, &camera, T, PCGPU_ERROR_ARGUMENT, "a camera with fx");
    camera.fx = 35.0;

    /* Depths as far as numbers go, and a camera so narrow or wide that rays are parallel or flat. */
    camera.depth_scale = 1e-9;
    CHECK(pcgpu_volume_integrate(volume, &image, &camera, T, &counts) == PCGPU_OK && counts.unreachable == 40 * 30,
          "%lld unreachable", (long long)counts.unreachable);
    camera.depth_scale = 1000.0;
    for (int i = 0; i < 2; i++) {
        camera.fx = camera.fy = i ? 1e6 : 1e-3;
        CHECK(pcgpu_volume_integrate(volume, &image, &camera, T, &counts) == PCGPU_OK, "%s", pcgpu_last_error(context));
        CHECK(pcgpu_volume_raycast(volume, &camera, T, vertices, normals) == PCGPU_OK, "%s", pcgpu_last_error(context));
    }
    camera.fx = camera.fy = 35.0;

    /* A wall at 1.5 m; the camera then stands in it, behind it, and looks away. */
    CHECK(pcgpu_volume_integrate(volume, &image, &camera, T, &counts) == PCGPU_OK, "%s", pcgpu_last_error(context));
    static const double places[] = {1.49, 1.5, 1.51, 1.53};
    for (int i = 0; i < 4; i++) {
        T[11] = places[i];
        CHECK(pcgpu_volume_raycast(volume, &camera, T, vertices, normals) == PCGPU_OK, "%s", pcgpu_last_error(context));
        CHECK(i > 0 ? vertices[2] != vertices[2] || vertices[2] < 0.02f || vertices[2] > 1.4f
                    : fabsf(vertices[3 * (15 * 40 + 20) + 2] - 0.01f) < 0.002f,
              "from %g m a depth of %g m", places[i], (double)vertices[3 * (15 * 40 + 20) + 2]);
        CHECK(pcgpu_volume_integrate(volume, &image, &camera, T, &counts) == PCGPU_OK, "%s", pcgpu_last_error(context));
    }
    pcgpu_volume_close(volume);

    /* Parameters. */
    pcgpu_volume_params params;
    const double bad[][4] = {{0, 0, 1, 1},    {NAN, 0, 1, 1},    {-1, 0, 1, 1},   {0.01, 0.019, 1, 1},
                             {0.01, 1, 1, 1}, {0.01, NAN, 1, 1}, {0.01, 0, 0, 1}, {0.01, 0, NAN, 1},
                             {0.01, 0, 1, 0}, {0.01, 0, 1, 1e9}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        pcgpu_volume_params_init(&params);
        params.voxel_size = bad[i][0];
        params.truncation = bad[i][1];
        params.max_weight = bad[i][2];
        params.max_blocks = (int64_t)bad[i][3];
        CHECK(pcgpu_volume_open(context, &params, &volume) == PCGPU_ERROR_ARGUMENT && !volume, "parameters %zu", i);
    }

    /* The limit of blocks: refused as a whole. */
    pcgpu_volume_params_init(&params);
    params.max_blocks = 100;
    CHECK(pcgpu_volume_open(context, &params, &volume) == PCGPU_OK, "%s", pcgpu_last_error(context));
    memcpy(T, IDENTITY, sizeof T);
    check_refused(volume, &image, &camera, T, PCGPU_ERROR_MEMORY,
                  "more than the limit of 100; give larger voxels or a smaller max_depth");
    memset(depth + 4, 0, sizeof depth - 4 * sizeof *depth);
    CHECK(pcgpu_volume_integrate(volume, &image, &camera, T, &counts) == PCGPU_OK && counts.new_blocks > 0, "%s",
          pcgpu_last_error(context));
    CHECK(pcgpu_volume_mesh(volume, NAN, &mesh) == PCGPU_ERROR_ARGUMENT && !mesh.indices, "a weight of NaN");
    pcgpu_volume_get_stats(volume, &stats);
    CHECK(stats.frames == 1 && stats.blocks == counts.new_blocks && stats.bytes > 0, "%lld blocks",
          (long long)stats.blocks);
    pcgpu_volume_close(volume);
}

/* Far from the origin the surface has an offset, and is the same. */
static void test_far_away(void) {
    const pcgpu_camera camera = make_camera(100, 80, 90.0, 10000.0);
    uint16_t depth[100 * 80];
    double T[16];
    pcgpu_cloud near_cloud, far_cloud;
    const double shift = 40960.0; /* whole blocks, and exact */
    memcpy(T, IDENTITY, sizeof T);
    render(&camera, T, plane_depth, depth);
    for (int i = 0; i < 2; i++) {
        pcgpu_volume *volume = open_volume(0.0078125, 0);
        T[3] = i ? shift : 0.0;
        T[7] = i ? -shift : 0.0;
        fuse(volume, &camera, T, depth);
        CHECK(pcgpu_volume_surface(volume, 0.0, i ? &far_cloud : &near_cloud) == PCGPU_OK, "%s",
              pcgpu_last_error(context));
        pcgpu_volume_close(volume);
    }
    CHECK(far_cloud.offset[0] == floor(far_cloud.offset[0]) && fabs(far_cloud.offset[0] - shift) < 10.0 &&
              far_cloud.offset[2] == 0.0,
          "offset %g %g %g", far_cloud.offset[0], far_cloud.offset[1], far_cloud.offset[2]);
    CHECK(near_cloud.rows == far_cloud.rows && near_cloud.rows > 5000, "%lld and %lld points",
          (long long)near_cloud.rows, (long long)far_cloud.rows);
    for (int64_t i = 0; i < near_cloud.rows && near_cloud.rows == far_cloud.rows; i++) {
        const float *a = near_cloud.data + 6 * i, *b = far_cloud.data + 6 * i;
        for (int k = 0; k < 3; k++) {
            const double moved = far_cloud.offset[k] + (double)b[k] - (k == 0 ? shift : k == 1 ? -shift : 0.0);
            CHECK(fabs((double)a[k] - moved) < 1e-6 && a[3 + k] == b[3 + k], "point %lld: %.9g and %.9g", (long long)i,
                  (double)a[k], moved);
        }
    }
    pcgpu_cloud_free(&near_cloud);
    pcgpu_cloud_free(&far_cloud);
}

void test_surface(bool cuda, char **options) {
    (void)options;
    context = open_context(cuda ? PCGPU_DEVICE_CUDA : PCGPU_DEVICE_CPU, 0, 0);
    test_patterns();
    test_plane();
    test_sphere();
    test_hostile();
    test_far_away();
    pcgpu_close(context);
}
