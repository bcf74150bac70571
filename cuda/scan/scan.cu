/* Scans in the memory of a device (scan_device.h): samples, cells of the spacing, carriers, and the usable points in
 * their order. */
#include "scan.cuh"
#include "scan_device.h"

#include <stdlib.h>
#include <string.h>

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
