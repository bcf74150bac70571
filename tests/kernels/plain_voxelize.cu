/* See plain.h. Where the libraries lose time or points, this takes the better way: 32-bit keys beside the numbers in
 * one table of at most half its slots, probed to the end; no atomic for a key that is there or a voxel that is full;
 * the features are not cleared for the most voxels there may be, but padded for those there are. */
#include "plain.h"

#include "common.cuh"
#include "voxelize_math.h"

#define THREADS 256

/* The finalizer of MurmurHash3. */
__device__ static uint32_t hash(uint32_t key) {
    key = (key ^ key >> 16) * 0x85ebca6bu;
    key = (key ^ key >> 13) * 0xc2b2ae35u;
    return key ^ key >> 16;
}

/* A record of this thread and key + 1 of its cell, 0 out of range. */
__device__ static uint32_t key_of(const plain_voxels *v, float4 *p) {
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= v->rows) {
        return 0;
    }
    *p = ((const float4 *)v->points)[i];
    return (uint32_t)(pc_point_key(&v->grid, p->x, p->y, p->z) + 1);
}

/* The first to claim the slot of a cell takes the next number for the voxel from a counter. */
__global__ static void insert_kernel(plain_voxels v) {
    uint2 *table = (uint2 *)v.table;
    float4 p;
    const uint32_t key = key_of(&v, &p);
    for (uint32_t at = hash(key) & (v.slots - 1); key != 0; at = (at + 1) & (v.slots - 1)) {
        uint32_t there = table[at].x; /* may be old: then it is 0, and atomicCAS tells */
        there = there ? there : atomicCAS(&table[at].x, 0u, key);
        if (there == 0) {
            const uint32_t voxel = atomicAdd(&v.taken[v.voxels], 1u);
            table[at].y = voxel;
            if (voxel < (uint32_t)v.voxels) {
                const float xyz[3] = {p.x, p.y, p.z};
                pc_voxel_coords(&v.grid, xyz, v.coords + 4 * voxel);
            }
        }
        if (there == 0 || there == key) {
            return;
        }
    }
}

/* Looks the voxel up, takes a place in it and copies the point there. */
__global__ static void scatter_kernel(plain_voxels v) {
    const uint2 *table = (const uint2 *)v.table;
    float4 p;
    const uint32_t key = key_of(&v, &p), capacity = (uint32_t)v.capacity;
    if (key == 0) {
        return;
    }
    uint32_t at = hash(key) & (v.slots - 1);
    while (table[at].x != key) {
        at = (at + 1) & (v.slots - 1);
    }
    const uint32_t voxel = table[at].y;
    if (voxel < (uint32_t)v.voxels && v.taken[voxel] < capacity) { /* may be old: then it is too low */
        const uint32_t place = atomicAdd(&v.taken[voxel], 1u);
        if (place < capacity) {
            ((float4 *)v.features)[(size_t)voxel * capacity + place] = p;
        }
    }
}

/* A thread per place of the voxels found: zeroes where there is no point. */
__global__ static void pad_kernel(plain_voxels v) {
    const uint32_t found = v.taken[v.voxels], voxels = found < (uint32_t)v.voxels ? found : (uint32_t)v.voxels;
    const uint32_t capacity = (uint32_t)v.capacity, places = voxels * capacity;
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < places; i += gridDim.x * THREADS) {
        if (i % capacity >= v.taken[i / capacity]) {
            ((float4 *)v.features)[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
    }
}

extern "C" void plain_voxelize(void *stream_, const plain_voxels *v) {
    const cudaStream_t stream = (cudaStream_t)stream_;
    const unsigned blocks = pc_blocks(v->rows, THREADS), some = blocks < 1024 ? blocks : 1024;
    cudaMemsetAsync(v->table, 0, v->slots * sizeof *v->table, stream);
    cudaMemsetAsync(v->taken, 0, ((size_t)v->voxels + 1) * sizeof *v->taken, stream);
    PC_START(insert_kernel, blocks, THREADS, stream, *v);
    PC_START(scatter_kernel, blocks, THREADS, stream, *v);
    PC_START(pad_kernel, some, THREADS, stream, *v);
}
