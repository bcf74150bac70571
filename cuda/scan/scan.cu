/* Scans in the memory of a device (scan_device.h): samples, cells of the spacing, carriers, and the usable points in their
 * order. blockIdx.y is the scan of the group. */
#include "scan_device.h"

#include "common.cuh"

#include <stdlib.h>
#include <string.h>

enum {
    THREADS = 256,
    ITEMS = 8,
    CHUNK = THREADS * ITEMS,
    WARP = 32,
    CARRIER_WORDS = PC_CARRIER_SIDE * PC_CARRIER_SIDE
};

/* What is found of a scan. Bounds are integers in the order of their floats, of the low ones the complement, so that all
 * begin with 0. */
typedef struct scan_found {
    unsigned long long whole, half; /* records that stay without all, or the near half, of the carrier */
    unsigned long long kept, points, non_finite, at_origin;
    uint32_t bounds[2][3];
} scan_found;

/* A scan as kernels get it. */
typedef struct scan_task {
    const float *data;
    int64_t rows;
    int columns, other;
    float origin[3], radius;
    double offset[3];
    uint32_t *bits;     /* of its carrier: as of pc_carrier */
    scan_found *found;  /* zero at first */
    uint32_t *counts;   /* by chunks of records: those that are kept, and those that are usable */
    int32_t *kept_rows; /* the records that are kept, where some are not */
    float *points;      /* x of the usable ones, then y, then z */
    float *samples[2];  /* of the cloud, and of what is selected */
} scan_task;

/* Boxes whose cells are counted, and for which scan. */
typedef struct scan_counting {
    const scan_task *task;
    const pc_spacing_boxes *boxes;
    pc_spacing_cell *cells;
} scan_counting;

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

__device__ static int part_of(const scan_task *t) {
    return t->other < 0 ? 0 : pc_carrier_part(t->rows, (int64_t)t->found->whole, (int64_t)t->found->half);
}

/* Copies samples: of the records, or of what was selected. */
__global__ static void __launch_bounds__(THREADS) sample_kernel(const scan_task *tasks, int selected) {
    const scan_task *t = tasks + blockIdx.y;
    const int first = selected ? PC_SAMPLE_VIEW : PC_SAMPLE_EXTENT, end = selected ? PC_SAMPLINGS : PC_SAMPLE_VIEW;
    const int slot = (int)(blockIdx.x * THREADS + threadIdx.x), part = selected ? part_of(t) : 0;
    for (int which = first; which < end; which++) {
        const int64_t i = slot - pc_sampling_begin(which);
        if (i < 0 || i >= pc_sampling_room(which)) {
            continue;
        }
        const int64_t n = selected ? (int64_t)t->found->points : 0;
        const int64_t rows = which == PC_SAMPLE_POINTS ? n : selected ? (int64_t)t->found->kept : t->rows;
        if (i >= pc_sampling_count(which, rows)) {
            continue;
        }
        int64_t row = pc_sampling_row(which, rows, i);
        if (row >= rows) {
            continue;
        }
        row = part ? (which == PC_SAMPLE_POINTS ? row : t->kept_rows[row]) : row;
        for (int k = 0; k < 3; k++) {
            t->samples[selected][3 * slot + k] =
                which == PC_SAMPLE_POINTS ? t->points[k * n + row] : t->data[row * t->columns + k];
        }
    }
}

/* Marks the near returns of a scan, as of pc_carrier: their cells and those next to them. */
__global__ static void __launch_bounds__(THREADS) mark_kernel(const scan_task *tasks) {
    const scan_task *t = tasks + blockIdx.y;
    const int64_t end = (int64_t)(blockIdx.x + 1) * CHUNK < t->rows ? (int64_t)(blockIdx.x + 1) * CHUNK : t->rows;
    for (int64_t i = (int64_t)blockIdx.x * CHUNK + threadIdx.x; t->other >= 0 && i < end; i += THREADS) {
        int c[3];
        if (!pc_carrier_cell(t->radius, t->offset, t->data + i * t->columns, c)) {
            continue;
        }
        const uint32_t here = 1u << c[2], column = here | here << 1 | here >> 1;
        for (int j = 0; j < 9; j++) {
            const int x = c[0] - 1 + j % 3, y = c[1] - 1 + j / 3;
            uint32_t *bits = &t->bits[y * PC_CARRIER_SIDE + x];
            if (x >= 0 && x < PC_CARRIER_SIDE && y >= 0 && y < PC_CARRIER_SIDE &&
                (*(volatile uint32_t *)bits & column) != column) {
                atomicOr(bits, column);
            }
        }
    }
}

/* Whether a record is left out with a part of the carrier of the other scan. */
__device__ static bool is_left_out(const scan_task *tasks, const scan_task *t, int part, const float *record) {
    int c[3];
    const scan_task *other = tasks + t->other;
    return pc_carrier_cell(other->radius, t->offset, record, c) && pc_carrier_is_within(part, c) &&
           (other->bits[c[1] * PC_CARRIER_SIDE + c[0]] >> c[2] & 1u);
}

/* How many records stay for each part of the carrier. */
__global__ static void __launch_bounds__(THREADS) stay_kernel(const scan_task *tasks) {
    const scan_task *t = tasks + blockIdx.y;
    int whole = 0, half = 0;
    for (int item = 0; item < ITEMS && t->other >= 0; item++) {
        const int64_t i = (int64_t)blockIdx.x * CHUNK + item * THREADS + threadIdx.x;
        const float *record = t->data + (i < t->rows ? i : 0) * t->columns;
        whole += __syncthreads_count(i < t->rows && !is_left_out(tasks, t, 1, record));
        half += __syncthreads_count(i < t->rows && !is_left_out(tasks, t, 2, record));
    }
    if (threadIdx.x == 0 && whole + half > 0) {
        atomicAdd(&t->found->whole, (unsigned long long)whole);
        atomicAdd(&t->found->half, (unsigned long long)half);
    }
}

/* What a record is: bit 0: kept, 1: usable, 2: kept and not finite, 3: kept and at the origin. */
__device__ static int kind_of(const scan_task *tasks, const scan_task *t, int part, int64_t i) {
    const float *p = t->data + i * t->columns;
    if (part && is_left_out(tasks, t, part, p)) {
        return 0;
    }
    const int finite = pc_is_finite3(p[0], p[1], p[2]), usable = pc_is_usable(t->origin, p);
    return 1 | usable << 1 | !finite << 2 | (finite & !usable) << 3;
}

/* Counts the kept and the usable records of chunks. */
__global__ static void __launch_bounds__(THREADS) count_kernel(const scan_task *tasks) {
    const scan_task *t = tasks + blockIdx.y;
    const int part = part_of(t);
    int count[4] = {0, 0, 0, 0};
    if ((int64_t)blockIdx.x * CHUNK >= t->rows) {
        return;
    }
    for (int item = 0; item < ITEMS; item++) {
        const int64_t i = (int64_t)blockIdx.x * CHUNK + item * THREADS + threadIdx.x;
        const int kind = i < t->rows ? kind_of(tasks, t, part, i) : 0;
        for (int k = 0; k < 4; k++) {
            count[k] += __syncthreads_count(kind >> k & 1);
        }
    }
    if (threadIdx.x == 0) {
        t->counts[2 * blockIdx.x] = (uint32_t)count[0];
        t->counts[2 * blockIdx.x + 1] = (uint32_t)count[1];
        atomicAdd(&t->found->kept, (unsigned long long)count[0]);
        atomicAdd(&t->found->points, (unsigned long long)count[1]);
        atomicAdd(&t->found->non_finite, (unsigned long long)count[2]);
        atomicAdd(&t->found->at_origin, (unsigned long long)count[3]);
    }
}

/* The kept and the usable records before a chunk. */
__device__ static void sum_before(const scan_task *t, uint64_t before[2]) {
    __shared__ unsigned long long sums[2];
    unsigned long long own[2] = {0, 0};
    if (threadIdx.x < 2) {
        sums[threadIdx.x] = 0;
    }
    for (unsigned chunk = threadIdx.x; chunk < blockIdx.x; chunk += THREADS) {
        own[0] += t->counts[2 * chunk];
        own[1] += t->counts[2 * chunk + 1];
    }
    __syncthreads();
    for (int k = 0; k < 2; k++) {
        if (own[k]) {
            atomicAdd(&sums[k], own[k]);
        }
    }
    __syncthreads();
    before[0] = sums[0];
    before[1] = sums[1];
}

/* Writes the kept records and the usable points of chunks, in their order, and the bounds of the points. */
__global__ static void __launch_bounds__(THREADS) scatter_kernel(const scan_task *tasks) {
    __shared__ uint32_t warps[2][THREADS / WARP];
    __shared__ uint32_t bounds[2][3];
    const scan_task *t = tasks + blockIdx.y;
    const int part = part_of(t), lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const int64_t n = (int64_t)t->found->points;
    uint64_t at[2];
    uint32_t own[2][3] = {{0, 0, 0}, {0, 0, 0}};
    if ((int64_t)blockIdx.x * CHUNK >= t->rows) {
        return;
    }
    if (threadIdx.x < 6) {
        bounds[threadIdx.x / 3][threadIdx.x % 3] = 0;
    }
    sum_before(t, at);
    for (int item = 0; item < ITEMS; item++) {
        const int64_t i = (int64_t)blockIdx.x * CHUNK + item * THREADS + threadIdx.x;
        const int kind = i < t->rows ? kind_of(tasks, t, part, i) : 0;
        const uint32_t kept = __ballot_sync(0xffffffffu, kind & 1), usable = __ballot_sync(0xffffffffu, kind & 2);
        if (lane == 0) {
            warps[0][warp] = (uint32_t)__popc(kept);
            warps[1][warp] = (uint32_t)__popc(usable);
        }
        __syncthreads();
        const uint32_t below = (1u << lane) - 1;
        uint64_t place[2] = {at[0] + (uint32_t)__popc(kept & below), at[1] + (uint32_t)__popc(usable & below)};
        for (int w = 0; w < THREADS / WARP; w++) {
            for (int k = 0; k < 2; k++) {
                place[k] += w < warp ? warps[k][w] : 0;
                at[k] += warps[k][w];
            }
        }
        if (part && (kind & 1)) {
            t->kept_rows[place[0]] = (int32_t)i;
        }
        if (kind & 2) {
            for (int k = 0; k < 3; k++) {
                const float value = t->data[i * t->columns + k];
                const uint32_t order = (uint32_t)pc_in_order(pc_float_bits(value)) ^ UINT32_C(0x80000000);
                t->points[k * n + (int64_t)place[1]] = value;
                own[0][k] = ~order > own[0][k] ? ~order : own[0][k];
                own[1][k] = order > own[1][k] ? order : own[1][k];
            }
        }
        __syncthreads();
    }
    for (int k = 0; k < 6; k++) {
        atomicMax(&bounds[k / 3][k % 3], own[k / 3][k % 3]);
    }
    __syncthreads();
    if (threadIdx.x < 6) {
        atomicMax(&t->found->bounds[threadIdx.x / 3][threadIdx.x % 3], bounds[threadIdx.x / 3][threadIdx.x % 3]);
    }
}

/* Adds the points of a scan to the cells of its boxes. */
__global__ static void __launch_bounds__(THREADS) cells_kernel(const scan_counting *counting) {
    const scan_counting *c = counting + blockIdx.y;
    const scan_task *t = c->task;
    const pc_spacing_boxes *boxes = c->boxes;
    const int64_t end = (int64_t)(blockIdx.x + 1) * CHUNK < t->rows ? (int64_t)(blockIdx.x + 1) * CHUNK : t->rows;
    for (int64_t i = (int64_t)blockIdx.x * CHUNK + threadIdx.x; i < end; i += THREADS) {
        const float *p = t->data + i * t->columns;
        float place[3];
        int32_t cell[3];
        for (int k = 0; k < 3; k++) {
            place[k] = pc_spacing_place(p[k], boxes->middle[k], boxes->per_edge);
            cell[k] = pc_spacing_floor(place[k]);
        }
        const int box = pc_spacing_find(boxes, cell, pc_spacing_entry(cell[0], cell[1], cell[2]));
        if (box >= 0 && pc_is_usable(boxes->origin, p)) {
            uint32_t add[PC_SPACING_SUMS];
            pc_spacing_cell *to = c->cells + box * PC_SPACING_CELLS + pc_spacing_add(place, cell, add);
            for (int k = 0; k < PC_SPACING_SUMS; k++) {
                atomicAdd((unsigned long long *)&to->sum[k], (unsigned long long)add[k]);
            }
        }
    }
}

/* ---- the state --------------------------------------------------------------------------------------------------- */

enum { MOST_CELLS = PC_SAMPLED_SEEDS * PC_SPACING_CELLS }; /* of a scan */

/* Of the group in work; memory is kept for the next one. */
typedef struct scan_state {
    pc_arena arena;
    pc_pinned tasks, found, samples[2], counting; /* counting: what is sent, then the cells that come back */
    cudaEvent_t counted, selected, sampled;
    scan_task *on_device;
    scan_found *found_there;
    uint32_t *bits;
    float *samples_there[2];
    char *boxes;
    pc_spacing_cell *cells;
    int64_t most; /* records of the largest scan */
    int count;
    bool working; /* until the samples are there */
} scan_state;

static pcgpu_status take_state(pcgpu_context *context, scan_state **state) {
    pc_cuda *cuda = pc_cuda_of(context);
    scan_state *s = (scan_state *)(cuda->scans = cuda->scans ? cuda->scans : calloc(1, sizeof *s));
    *state = s;
    if (!s) {
        return pc_fail_memory(context, sizeof *s, "the scans");
    }
    cudaEvent_t *const events[] = {&s->counted, &s->selected, &s->sampled};
    for (int i = 0; i < 3; i++) {
        if (!*events[i]) {
            CUDA_TRY(context, cudaEventCreateWithFlags(events[i], cudaEventDisableTiming));
        }
    }
    return PCGPU_OK;
}

extern "C" void pc_cuda_scan_end(pcgpu_context *context) {
    scan_state *s = (scan_state *)pc_cuda_of(context)->scans;
    if (!s) {
        return;
    }
    pc_pinned *const pinned[] = {&s->tasks, &s->found, &s->samples[0], &s->samples[1], &s->counting};
    const cudaEvent_t events[] = {s->counted, s->selected, s->sampled};
    if (s->working) { /* for a call that failed */
        cudaDeviceSynchronize();
    }
    pc_arena_free(&s->arena);
    for (int i = 0; i < 5; i++) {
        cudaFreeHost(pinned[i]->memory);
    }
    for (int i = 0; i < 3; i++) {
        if (events[i]) {
            cudaEventDestroy(events[i]);
        }
    }
    free(s);
    pc_cuda_of(context)->scans = NULL;
}

static int64_t chunks_of(int64_t rows) {
    return (rows + CHUNK - 1) / CHUNK;
}

static size_t sample_floats(int selected) {
    return 3 * (size_t)pc_samplings_room(selected);
}

/* Lays out the memory of the scans on the device. */
static void carve(pc_carving *c, scan_state *s, scan_task *tasks, int count) {
    s->found_there = (scan_found *)pc_carve(c, (size_t)count * sizeof *s->found_there);
    s->bits = (uint32_t *)pc_carve(c, (size_t)count * CARRIER_WORDS * sizeof *s->bits);
    s->on_device = (scan_task *)pc_carve(c, (size_t)count * sizeof *tasks);
    for (int k = 0; k < 2; k++) {
        s->samples_there[k] = (float *)pc_carve(c, (size_t)count * sample_floats(k) * sizeof(float));
    }
    for (int i = 0; i < count; i++) {
        const size_t rows = (size_t)tasks[i].rows;
        tasks[i].counts = (uint32_t *)pc_carve(c, 2 * (size_t)chunks_of(tasks[i].rows) * sizeof(uint32_t));
        tasks[i].kept_rows = (int32_t *)pc_carve(c, rows * sizeof(int32_t));
        tasks[i].points = (float *)pc_carve(c, 3 * rows * sizeof(float));
    }
    s->boxes = (char *)pc_carve(c, (size_t)count * (sizeof(scan_counting) + sizeof(pc_spacing_boxes)));
    s->cells = (pc_spacing_cell *)pc_carve(c, (size_t)count * MOST_CELLS * sizeof(pc_spacing_cell));
}

static scan_task task_of(const pc_device_scan *scan) {
    const pcgpu_cloud *cloud = scan->cloud;
    scan_task t;
    memset(&t, 0, sizeof t);
    t.data = cloud->data;
    t.rows = cloud->rows;
    t.columns = cloud->columns;
    t.other = -1;
    memcpy(t.offset, cloud->offset, sizeof t.offset);
    memcpy(t.origin, scan->origin, sizeof t.origin);
    return t;
}

static pcgpu_status send_tasks(pcgpu_context *context, scan_state *s) {
    return pc_cuda_up(context, s->on_device, s->tasks.memory, (size_t)s->count * sizeof(scan_task));
}

/* Copies on the stream of the context, without waiting. */
static pcgpu_status receive(pcgpu_context *context, void *host, const void *device, size_t bytes) {
    CUDA_TRY(context, cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, pc_cuda_of(context)->stream));
    return PCGPU_OK;
}

static pcgpu_status mark(pcgpu_context *context, cudaEvent_t event) {
    CUDA_TRY(context, cudaEventRecord(event, pc_cuda_of(context)->stream));
    return PCGPU_OK;
}

static pcgpu_status wait_for(pcgpu_context *context, cudaEvent_t event) {
    CUDA_TRY(context, cudaEventSynchronize(event));
    return PCGPU_OK;
}

static pcgpu_status sample(pcgpu_context *context, scan_state *s, int selected) {
    const dim3 grid(pc_blocks(pc_samplings_room(selected), THREADS), (unsigned)s->count);
    PC_LAUNCH(context, sample_kernel, grid, THREADS, s->on_device, selected);
    PC_TRY(receive(context, s->samples[selected].memory, s->samples_there[selected],
                   (size_t)s->count * sample_floats(selected) * sizeof(float)));
    return mark(context, s->sampled);
}

/* ---- calls, on the stream of the context ------------------------------------------------------------------------- */

static pcgpu_status take_memory(pcgpu_context *context, scan_state *s, scan_task *tasks, int count) {
    pc_carving c = {NULL, 0};
    PC_TRY(pc_take_pinned(context, &s->found, (size_t)count * sizeof(scan_found)));
    for (int k = 0; k < 2; k++) {
        PC_TRY(pc_take_pinned(context, &s->samples[k], (size_t)count * sample_floats(k) * sizeof(float)));
    }
    carve(&c, s, tasks, count);
    PC_TRY(pc_carve_block(context, &s->arena, &c));
    carve(&c, s, tasks, count);
    for (int i = 0; i < count; i++) {
        tasks[i].bits = s->bits + i * CARRIER_WORDS;
        tasks[i].found = s->found_there + i;
        for (int k = 0; k < 2; k++) {
            tasks[i].samples[k] = s->samples_there[k] + (size_t)i * sample_floats(k);
        }
    }
    return PCGPU_OK;
}

static pcgpu_status open_scans(pcgpu_context *context, scan_state *s, pc_device_scan *scans, int count) {
    if (s->working) { /* for a call that failed */
        CUDA_TRY(context, cudaDeviceSynchronize());
    }
    s->working = true;
    s->count = count;
    s->most = 1;
    PC_TRY(pc_take_pinned(context, &s->tasks, (size_t)count * sizeof(scan_task)));
    scan_task *tasks = (scan_task *)s->tasks.memory;
    for (int i = 0; i < count; i++) {
        PC_TRY(pc_cuda_check_memory(context, scans[i].cloud->data, "a cloud"));
        tasks[i] = task_of(&scans[i]);
        s->most = tasks[i].rows > s->most ? tasks[i].rows : s->most;
    }
    PC_TRY(take_memory(context, s, tasks, count));
    for (int i = 0; i < count; i++) {
        scans[i].copies = (const float *)s->samples[0].memory + (size_t)i * sample_floats(0);
        scans[i].selected = (const float *)s->samples[1].memory + (size_t)i * sample_floats(1);
    }
    CUDA_TRY(context,
             cudaMemsetAsync(s->found_there, 0, (size_t)count * sizeof(scan_found), pc_cuda_of(context)->stream));
    PC_TRY(send_tasks(context, s));
    PC_TRY(sample(context, s, 0));
    return wait_for(context, s->sampled);
}

/* Marks the carriers, and counts what stays without them. */
static pcgpu_status leave_carriers(pcgpu_context *context, scan_state *s, dim3 grid) {
    CUDA_TRY(context, cudaMemsetAsync(s->bits, 0, (size_t)s->count * CARRIER_WORDS * sizeof *s->bits,
                                      pc_cuda_of(context)->stream));
    PC_TRY(send_tasks(context, s));
    PC_LAUNCH(context, mark_kernel, grid, THREADS, s->on_device);
    PC_LAUNCH(context, stay_kernel, grid, THREADS, s->on_device);
    return PCGPU_OK;
}

static pcgpu_status select_points(pcgpu_context *context, scan_state *s, const pc_device_scan *scans, int count) {
    scan_task *tasks = (scan_task *)s->tasks.memory;
    const dim3 grid((unsigned)chunks_of(s->most), (unsigned)count);
    bool carriers = false;
    for (int i = 0; i < count; i++) {
        tasks[i].radius = scans[i].radius;
        tasks[i].other = scans[i].other;
        carriers = carriers || scans[i].other >= 0;
    }
    PC_TRY(carriers ? leave_carriers(context, s, grid) : PCGPU_OK);
    PC_LAUNCH(context, count_kernel, grid, THREADS, s->on_device);
    PC_LAUNCH(context, scatter_kernel, grid, THREADS, s->on_device);
    PC_TRY(receive(context, s->found.memory, s->found_there, (size_t)count * sizeof(scan_found)));
    PC_TRY(mark(context, s->selected));
    return sample(context, s, 1);
}

static pcgpu_status count_cells(pcgpu_context *context, scan_state *s, int count, const int *scans,
                                const pc_spacing_boxes *const *boxes, const pc_spacing_cell **cells) {
    const size_t sent = (size_t)count * (sizeof(scan_counting) + sizeof(pc_spacing_boxes));
    PC_TRY(pc_take_pinned(context, &s->counting, sent + (size_t)count * MOST_CELLS * sizeof(pc_spacing_cell)));
    scan_counting *here = (scan_counting *)s->counting.memory, *there = (scan_counting *)s->boxes;
    pc_spacing_boxes *boxes_here = (pc_spacing_boxes *)(here + count),
                     *boxes_there = (pc_spacing_boxes *)(there + count);
    pc_spacing_cell *down = (pc_spacing_cell *)(boxes_here + count);
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        here[i] = scan_counting{s->on_device + scans[i], boxes_there + i, s->cells + used};
        boxes_here[i] = *boxes[i];
        cells[i] = down + used;
        used += (size_t)boxes[i]->count * PC_SPACING_CELLS;
    }
    CUDA_TRY(context, cudaMemsetAsync(s->cells, 0, used * sizeof *down, pc_cuda_of(context)->stream));
    PC_TRY(pc_cuda_up(context, there, here, sent));
    PC_LAUNCH(context, cells_kernel, dim3((unsigned)chunks_of(s->most), (unsigned)count), THREADS, there);
    PC_TRY(receive(context, down, s->cells, used * sizeof *down));
    return mark(context, s->counted);
}

static float bound_of(uint32_t order) {
    return pc_bits_float(pc_in_order((int32_t)(order ^ UINT32_C(0x80000000))));
}

static pcgpu_status take_points(pcgpu_context *context, scan_state *s, pc_device_scan *scans, int count) {
    const scan_task *tasks = (const scan_task *)s->tasks.memory;
    PC_TRY(wait_for(context, s->selected));
    for (int i = 0; i < count; i++) {
        const scan_found *found = (const scan_found *)s->found.memory + i;
        pc_device_scan *scan = &scans[i];
        scan->kept = (int64_t)found->kept;
        scan->non_finite = (int64_t)found->non_finite;
        scan->at_origin = (int64_t)found->at_origin;
        scan->n = (int64_t)found->points;
        scan->xyz = tasks[i].points;
        for (int k = 0; k < 3 && scan->n > 0; k++) {
            scan->box[k][0] = bound_of(~found->bounds[0][k]);
            scan->box[k][1] = bound_of(found->bounds[1][k]);
        }
    }
    return PCGPU_OK;
}

/* ---- calls, on the stream of the caller -------------------------------------------------------------------------- */

/* Does `call` there. */
#define ON_STREAM(context, stream, call)                                                                               \
    do {                                                                                                               \
        scan_state *s = NULL;                                                                                          \
        PC_TRY(pc_cuda_start(context));                                                                                \
        PC_TRY(take_state(context, &s));                                                                               \
        void *own = pc_cuda_exchange_stream(context, stream);                                                          \
        const pcgpu_status status = call;                                                                              \
        pc_cuda_exchange_stream(context, own);                                                                         \
        return status;                                                                                                 \
    } while (0)

extern "C" pcgpu_status pc_cuda_scan_open(pcgpu_context *context, void *stream, pc_device_scan *scans, int count) {
    ON_STREAM(context, stream, open_scans(context, s, scans, count));
}

extern "C" pcgpu_status pc_cuda_scan_select(pcgpu_context *context, void *stream, const pc_device_scan *scans,
                                            int count) {
    ON_STREAM(context, stream, select_points(context, s, scans, count));
}

extern "C" pcgpu_status pc_cuda_scan_count(pcgpu_context *context, void *stream, int count, const int *scans,
                                           const pc_spacing_boxes *const *boxes, const pc_spacing_cell **cells) {
    ON_STREAM(context, stream, count_cells(context, s, count, scans, boxes, cells));
}

extern "C" pcgpu_status pc_cuda_scan_counted(pcgpu_context *context) {
    return wait_for(context, ((scan_state *)pc_cuda_of(context)->scans)->counted);
}

extern "C" pcgpu_status pc_cuda_scan_take(pcgpu_context *context, pc_device_scan *scans, int count) {
    return take_points(context, (scan_state *)pc_cuda_of(context)->scans, scans, count);
}

extern "C" pcgpu_status pc_cuda_scan_samples(pcgpu_context *context) {
    scan_state *s = (scan_state *)pc_cuda_of(context)->scans;
    PC_TRY(wait_for(context, s->sampled));
    s->working = false;
    return PCGPU_OK;
}

extern "C" pcgpu_status pc_cuda_scan_read(pcgpu_context *context, void *stream, const pcgpu_cloud *cloud, float *host) {
    PC_TRY(pc_cuda_start(context));
    PC_TRY(pc_cuda_check_memory(context, cloud->data, "a cloud"));
    const size_t bytes = (size_t)cloud->rows * (size_t)cloud->columns * sizeof *host;
    void *own = pc_cuda_exchange_stream(context, stream);
    const pcgpu_status status = pc_cuda_down(context, host, cloud->data, bytes);
    pc_cuda_exchange_stream(context, own);
    return status;
}
