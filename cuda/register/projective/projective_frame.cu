/* Projective registration on CUDA: the memory of a frame, and the copy of its image to the device. The host copies an
 * image to pinned memory and continues. */
#include "projective.cuh"

#include <string.h>

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static size_t sums_bytes(const pc_depth_frame *frame) {
    return (size_t)pc_depth_tiles(&frame->level[0], PC_DEPTH_LOADS) * PC_DEPTH_MEASURES * sizeof(double);
}

static size_t image_bytes(const pc_depth_frame *frame) {
    return (size_t)frame->level[0].width * (size_t)frame->level[0].height * sizeof(uint16_t);
}

/* The maps, the sums of tiles, the image, and what else belongs to a frame. One of maps has no image; with room for it
 * its memory can be the next image's. */
static size_t frame_bytes(const pc_depth_frame *frame) {
    return pc_depth_round_up(frame->floats * sizeof(float)) + pc_depth_round_up(sums_bytes(frame)) +
           pc_depth_round_up(image_bytes(frame)) + sizeof(pc_depth_extra);
}

static pcgpu_status take_memory(pcgpu_context *context, pc_depth_state *s, pc_depth_frame *frame) {
    const size_t bytes = frame_bytes(frame);
    for (int i = 0; i < PC_DEPTH_SPARES; i++) {
        if (s->spare[i].bytes >= bytes && s->spare[i].bytes <= 4 * bytes) {
            frame->maps = (float *)s->spare[i].memory;
            frame->bytes = s->spare[i].bytes;
            s->spare[i] = pc_depth_memory{NULL, 0};
            return PCGPU_OK;
        }
    }
    CUDA_TRY(context, cudaMalloc((void **)&frame->maps, bytes));
    frame->bytes = bytes;
    return PCGPU_OK;
}

pcgpu_status pc_depth_take_maps(pcgpu_context *context, pc_depth_state *s, pc_depth_frame *frame, double **tile_sums,
                                uint16_t **image) {
    PC_TRY(take_memory(context, s, frame));
    char *behind = (char *)frame->maps + pc_depth_round_up(frame->floats * sizeof(float));
    *tile_sums = (double *)behind;
    behind += pc_depth_round_up(sums_bytes(frame));
    *image = (uint16_t *)behind;
    frame->backend = behind + pc_depth_round_up(image_bytes(frame));
    frame->image = NULL;
    return PCGPU_OK;
}

/* The memory is kept for the next frame; the smallest spare goes when there are too many. */
extern "C" void pc_cuda_depth_free(pcgpu_context *context, struct pc_depth_frame *frame) {
    pc_depth_state *s = (pc_depth_state *)pc_cuda_of(context)->depth;
    pc_depth_memory last = {(char *)frame->maps, frame->maps ? frame->bytes : 0};
    for (int i = 0; i < PC_DEPTH_SPARES && s; i++) {
        if (s->spare[i].bytes < last.bytes) {
            const pc_depth_memory smaller = s->spare[i];
            s->spare[i] = last;
            last = smaller;
        }
    }
    cudaFree(last.memory);
    frame->maps = NULL;
}

/* ---- a frame ----------------------------------------------------------------------------------------------------- */

pcgpu_status pc_depth_send(pcgpu_context *context, pc_depth_state *s, const pc_depth_part *parts, int count) {
    size_t all = 0;
    for (int i = 0; i < count; i++) {
        all += pc_depth_round_up(parts[i].bytes);
    }
    const int turn = s->turn;
    s->turn ^= 1;
    CUDA_TRY(context, cudaEventSynchronize(s->copied[turn]));
    PC_TRY(pc_depth_grow(context, &s->pinned[turn], all, true));
    char *at = s->pinned[turn].memory;
    for (int i = 0; i < count; i++) {
        memcpy(at, parts[i].from, parts[i].bytes);
        PC_TRY(pc_cuda_up(context, parts[i].to, at, parts[i].bytes));
        at += pc_depth_round_up(parts[i].bytes);
    }
    CUDA_TRY(context, cudaEventRecord(s->copied[turn], pc_cuda_of(context)->stream));
    return PCGPU_OK;
}

/* A depth image goes into the memory of its frame, the filter's tables into memory that is the next frame's, too. */
static pcgpu_status send_image(pcgpu_context *context, pc_depth_state *s, uint16_t *device, pc_depth_image *image) {
    const size_t range = pc_depth_round_up((size_t)image->range_size * sizeof(float));
    const size_t space = PC_DEPTH_BILATERAL_SIDE * PC_DEPTH_BILATERAL_SIDE * sizeof(float);
    PC_TRY(pc_depth_grow(context, &s->given, range + space, false));
    float *tables[2] = {(float *)s->given.memory, (float *)(s->given.memory + range)};
    const pc_depth_part parts[3] = {
        {image->data, device, (size_t)image->width * (size_t)image->height * sizeof *image->data},
        {image->range, tables[0], (size_t)image->range_size * sizeof(float)},
        {image->space, tables[1], space}};
    PC_TRY(pc_depth_send(context, s, parts, image->range_size > 0 ? 3 : 1));
    image->data = device;
    image->range = tables[0];
    image->space = tables[1];
    return PCGPU_OK;
}

static pcgpu_status send_maps(pcgpu_context *context, pc_depth_state *s, pc_maps *maps) {
    const size_t bytes = 3 * (size_t)maps->width * (size_t)maps->height * sizeof(float);
    PC_TRY(pc_depth_grow(context, &s->given, bytes, false));
    const pc_depth_part vertices = {maps->vertices, s->given.memory, bytes};
    PC_TRY(pc_depth_send(context, s, &vertices, 1));
    maps->vertices = (float *)s->given.memory;
    return PCGPU_OK;
}

static pcgpu_status describe(pcgpu_context *context, pc_depth_state *s, const pc_depth_image *image,
                             pc_depth_frame *frame, pc_depth_making *m) {
    size_t floats = 0;
    for (int l = 0; l < frame->levels; l++) {
        floats += (size_t)frame->level[l].width * (size_t)frame->level[l].height;
    }
    PC_TRY(pc_depth_grow(context, &s->depths, floats * sizeof(float), false));
    uint16_t *kept;
    PC_TRY(pc_depth_take_maps(context, s, frame, &m->tile_sums, &kept));
    m->extra = (pc_depth_extra *)frame->backend;
    frame->image = image->data ? kept : NULL;
    m->image = *image;
    m->frame = *frame;
    float *at = (float *)s->depths.memory;
    for (int l = 0; l < frame->levels; l++) {
        m->depths[l] = at;
        at += (size_t)frame->level[l].width * (size_t)frame->level[l].height;
    }
    if (image->data) {
        return send_image(context, s, kept, &m->image);
    }
    return image->maps_on_device ? PCGPU_OK : send_maps(context, s, &m->image.maps);
}

extern "C" pcgpu_status pc_cuda_depth_frame(pcgpu_context *context, const struct pc_depth_image *image,
                                            struct pc_depth_frame *frame) {
    pc_depth_state *s = NULL;
    pc_depth_making m;
    memset(&m, 0, sizeof m);
    PC_TRY(pc_depth_take_state(context, &s));
    pcgpu_status status = describe(context, s, image, frame, &m);
    if (status == PCGPU_OK) {
        status = pc_depth_make_maps(context, &m);
    }
    if (status != PCGPU_OK) {
        pc_cuda_depth_free(context, frame);
    }
    return status;
}
