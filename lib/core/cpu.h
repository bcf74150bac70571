/* The operations of the CPU back end: pc_cpu_X and what belongs to it are in X_cpu.c or in files X_cpu_*.c. */
#ifndef PC_CPU_H
#define PC_CPU_H

#include "backend.h"

pcgpu_status pc_cpu_sample(pcgpu_context *context, pc_sample_job *jobs, int count);
pcgpu_status pc_cpu_voxelize(pcgpu_context *context, const pc_voxelize_job *job, pcgpu_voxels *out);
void pc_cpu_voxelize_end(pcgpu_context *context); /* releases memory that is kept between calls */
pcgpu_status pc_cpu_icp_target(pcgpu_context *context, const struct pc_icp_target *target);
pcgpu_status pc_cpu_icp_source(pcgpu_context *context, const struct pc_icp_source *source);
pcgpu_status pc_cpu_icp_step(pcgpu_context *context, const struct pc_icp_step *step, double *sums);
void pc_cpu_icp_end(pcgpu_context *context);
pcgpu_status pc_cpu_cells_target(pcgpu_context *context, const struct pc_cells_target *target,
                                 struct pc_cells_measure *measure);
pcgpu_status pc_cpu_cells_pass(pcgpu_context *context, const struct pc_cells_pass *pass);
pcgpu_status pc_cpu_cells_source(pcgpu_context *context, const struct pc_cells_source *source);
pcgpu_status pc_cpu_cells_sum(pcgpu_context *context, const struct pc_cells_step *step, double *sums);
pcgpu_status pc_cpu_cells_model(pcgpu_context *context, const struct pc_cells_model *model,
                                struct pc_cells_measure *measure);
void pc_cpu_cells_free(pcgpu_context *context);
pcgpu_status pc_cpu_depth_frame(pcgpu_context *context, const struct pc_depth_image *image,
                                struct pc_depth_frame *frame);
void pc_cpu_depth_free(pcgpu_context *context, struct pc_depth_frame *frame);
pcgpu_status pc_cpu_depth_register(pcgpu_context *context, struct pc_depth_frame *source,
                                   struct pc_depth_frame *target, struct pc_depth_path *path);
void pc_cpu_depth_end(pcgpu_context *context); /* releases memory that is kept between calls */
pcgpu_status pc_cpu_volume_open(pcgpu_context *context, void **state);
void pc_cpu_volume_close(pcgpu_context *context, void *state);
pcgpu_status pc_cpu_volume_integrate(pcgpu_context *context, void *state, struct pc_volume_job *job);
pcgpu_status pc_cpu_volume_raycast(pcgpu_context *context, void *state, const struct pc_volume_view *view,
                                   const struct pc_maps *maps);
pcgpu_status pc_cpu_volume_maps(pcgpu_context *context, void *state, const struct pc_volume_view *view,
                                struct pc_maps *maps);
pcgpu_status pc_cpu_volume_blocks(pcgpu_context *context, void *state, struct pc_volume_blocks *blocks);

/* Farthest point sampling in a chosen form; pc_cpu_sample takes the widest vectors of the machine and what is fastest
 * for the size. Every form gives the same bits, which is what the tests use this for. */
typedef enum pc_simd { PC_SIMD_BASE, PC_SIMD_AVX2, PC_SIMD_AVX512, PC_SIMD_FORMS } pc_simd;
typedef enum pc_sample_algorithm { PC_SAMPLE_CHOOSE, PC_SAMPLE_PLAIN, PC_SAMPLE_BUCKETS } pc_sample_algorithm;

typedef struct pc_sample_form {
    pc_simd simd;
    pc_sample_algorithm algorithm;
    int64_t points_a_thread; /* for the plain loop: fewest points that are worth one more thread, >= 1 */
    int32_t bucket_points;   /* for buckets: points in one, >= 1 */
} pc_sample_form;

bool pc_cpu_has(pc_simd simd);
pcgpu_status pc_cpu_sample_as(pcgpu_context *context, pc_sample_job *jobs, int count, const pc_sample_form *form);

/* Voxelization in a chosen form; pc_cpu_voxelize takes the widest vectors of the machine. Every form gives the same
 * bits. */
typedef struct pc_voxelize_form {
    pc_simd simd;
    int64_t part_rows; /* fewest records that are worth one more thread, >= 1 */
    int parts;         /* the records are numbered in so many parts, 1 to 64; 0: as threads have time */
} pc_voxelize_form;

pcgpu_status pc_cpu_voxelize_as(pcgpu_context *context, const pc_voxelize_job *job, pcgpu_voxels *out,
                                const pc_voxelize_form *form);

#endif
