/* What the files on sampling share. */
#ifndef KERNELS_SAMPLE_H
#define KERNELS_SAMPLE_H

#include "sample_cpu.h"
#include "reference.h"

bool same(const picks *want, int64_t count, const int32_t *indices, const float *distances);
/* Every form of the CPU's plain loop, with up to `threads` threads, more than the cloud repays, and of its buckets, of
 * a usual size, of fewer points than a vector holds, of one, and one bucket for all. */
void check_forms(test_bed *bed, int threads, const char *name, const pcgpu_cloud *cloud,
                 const pcgpu_sample_params *params, const picks *want);
/* Every point picked, of clouds of all small sizes and of larger ones with many equal distances, by buckets. */
void check_all_picks(test_bed *bed);
/* Clouds that the CPU prepares in parts, and the number of threads it reports. */
void check_large(test_bed *bed);

#endif
