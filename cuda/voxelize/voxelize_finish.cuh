/* The second and last kernel of voxelize_hashed.cuh where there are few records, and a small limit of them: a block
 * numbers and fills the voxels that begin at its records. */
#ifndef PC_VOXELIZE_FINISH_CUH
#define PC_VOXELIZE_FINISH_CUH

#include "voxelize_finish_select.cuh"

/* ---- records ---------------------------------------------------------------------------------------------------- */

/* Brings the values of the kept records into shared memory; a thread a record, several at a time. */
__device__ static void bring_records(const pc_hashed &s, finish_memory *m) {
    enum { AT_A_TIME = 2 };
    const int records = m->records;
    for (int first = (int)threadIdx.x; first < records; first += AT_A_TIME * PC_FINISH_THREADS) {
        float4 record[AT_A_TIME];
#pragma unroll
        for (int k = 0; k < AT_A_TIME; k++) {
            const int i = first + k * PC_FINISH_THREADS;
            record[k] = i < records ? ((const float4 *)s.data)[m->rows[i]] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
#pragma unroll
        for (int k = 0; k < AT_A_TIME; k++) {
            if (first + k * PC_FINISH_THREADS < records) {
                m->values[first + k * PC_FINISH_THREADS] = record[k];
            }
        }
    }
}

/* What is told of a voxel beside its features. The key tells the cell without a division of floating-point numbers. */
__device__ static void put_voxel(const pc_hashed &s, uint32_t number, uint32_t key, int kept) {
    const uint32_t line = key / pc_grid_along(s, 0), plane = line / pc_grid_along(s, 1);
    ((int4 *)s.coords)[number] =
        make_int4(0, (int)plane, (int)(line - plane * pc_grid_along(s, 1)), (int)(key - line * pc_grid_along(s, 0)));
    s.counts[number] = kept;
}

/* Of `voxels` voxels, numbered from `first` on, the numbers of the records. */
__device__ static void put_numbers(const pc_hashed &s, const finish_memory *m, uint32_t first, int voxels) {
    for (int i = (int)threadIdx.x; i < m->records; i += PC_FINISH_THREADS) {
        if (m->voxel_of[i] < voxels) {
            s.point_voxel[m->rows[i]] = (int32_t)(first + m->voxel_of[i]);
        }
    }
}

/* The means; a thread a value. */
__device__ static void put_means(const pc_hashed &s, const finish_memory *m, uint32_t first, int voxels) {
    enum { COLUMNS = 4 };
    for (int i = (int)threadIdx.x; i < voxels * COLUMNS; i += PC_FINISH_THREADS) {
        const int v = i / COLUMNS, k = i % COLUMNS;
        const float *values = (const float *)(m->values + m->begin[v]);
        s.means[(size_t)first * COLUMNS + (size_t)i] = pc_voxel_mean(values, COLUMNS, NULL, m->kept[v], k, false);
    }
}

/* The records, and zeros to P; a thread a record. */
__device__ static void put_records(const pc_hashed &s, const finish_memory *m, uint32_t first, int voxels) {
    const uint32_t p = (uint32_t)s.kept, factor = factor_of(p);
#pragma unroll 2
    for (uint32_t i = threadIdx.x; i < (uint32_t)voxels * p; i += PC_FINISH_THREADS) {
        const uint32_t v = divide(i, p, factor), place = i - v * p;
        float4 record = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if ((int)place < m->kept[v]) {
            record = m->values[m->begin[v] + place];
        }
        ((float4 *)s.features)[(size_t)first * p + i] = record;
    }
}

/* ---- the kernel ------------------------------------------------------------------------------------------------- */

/* A thread a record, which is a float4. As many voxels at once as have at most PC_FINISH_ROWS kept records; while a
 * warp waits for their numbers, the others find out which these are. */
__global__ static void __launch_bounds__(PC_FINISH_THREADS, PC_RESIDENT(PC_FINISH_THREADS, PC_FINISHES))
    finish_kernel(const pc_hashed s) {
    __shared__ finish_memory m;
    uint32_t *scratch = (uint32_t *)m.values, key, points, all; /* all: voxels << 16 | their kept records */
    pc_wait_for_last();
    const pc_numbered mine = voxel_at(s, blockIdx.x * PC_FINISH_THREADS + threadIdx.x, &key, &points);
    const uint32_t before = sum_before<PC_FINISH_THREADS>(mine.kept ? 1u << 16 | mine.kept : 0, &all);
    const int voxels = (int)(all >> 16), voxel = (int)(before >> 16), warp = (int)threadIdx.x / 32;
    if (threadIdx.x == 0) {
        tell_voxels(s, (uint32_t)voxels);
    }
    if (voxels == 0 && blockIdx.x == gridDim.x - 1 && warp == 0) {
        voxels_before(s, 0);
    }
    for (int done = 0, begin = 0; done < voxels;) {
        const int end = (int)((before & 0xffffu) + mine.kept) - begin;
        const bool here = mine.kept > 0 && voxel >= done && end <= PC_FINISH_ROWS;
        const int count = __syncthreads_count(here);
        if (threadIdx.x < LARGE_KINDS) {
            m.count[threadIdx.x] = 0;
        }
        __syncthreads();
        if (here) {
            take_voxel(s, mine, voxel - done, end - (int)mine.kept, &m);
        }
        if (here && voxel == done + count - 1) {
            m.records = end;
        }
        __syncthreads();
        if (warp > 0) {
            for (int i = warp - 1; i < m.count[SMALLER]; i += TOGETHER * (FINISH_WARPS - 1)) {
                collect_smaller(s, &m, i, FINISH_WARPS - 1, scratch + (warp - 1) * 32 * TOGETHER);
            }
        } else if (done == 0) {
            const uint32_t others = voxels_before(s, (uint32_t)voxels);
            if (threadIdx.x == 0) {
                m.before = others;
            }
        }
        if (m.count[LARGER] + m.count[CROWDED] > 0) {
            __syncthreads();
            collect_others(s, &m, scratch);
        }
        __syncthreads();
        bring_records(s, &m);
        __syncthreads();
        const uint32_t first = m.before + (uint32_t)done;
        const int in_result = first < s.most ? (int)min((uint32_t)count, s.most - first) : 0;
        if (here && voxel - done < in_result) {
            put_voxel(s, m.before + (uint32_t)voxel, key, (int)mine.kept);
        }
        if (s.point_voxel) {
            put_numbers(s, &m, first, in_result);
        }
        if (s.means) {
            put_means(s, &m, first, in_result);
        }
        if (s.kind == PCGPU_FEATURES_POINTS) {
            put_records(s, &m, first, in_result);
        }
        begin += m.records;
        done += count;
    }
    const bool in_result = voxels > 0 && m.before + (uint32_t)voxel < s.most;
    add_up<PC_FINISH_THREADS>(pc_sums_of(s),
                              block_sums{points, in_result ? points : 0, in_result ? mine.kept : 0, points});
    pc_clean_sums(s);
}

#endif
