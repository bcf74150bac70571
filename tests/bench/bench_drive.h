/* What the programs bench_odometry and bench_localize share: a folder of scans with its poses, and clocks. */
#ifndef BENCH_DRIVE_H
#define BENCH_DRIVE_H

#include "pcgpu.h"

#include <time.h>

enum { BENCH_MOST_SCANS = 8192 };

/* CLOCK_MONOTONIC, or CLOCK_PROCESS_CPUTIME_ID. */
double bench_seconds(clockid_t clock);

/* 000000.bin, 000001.bin, ... of the folder, at most `most`; how many there are. fields: float32 values in a record. */
int bench_read_scans(pcgpu_context *context, const char *folder, int most, int fields, pcgpu_cloud *clouds);

/* The matrices of poses.txt (KITTI lines); false when it has fewer. */
bool bench_read_poses(const char *folder, int count, double *poses);

#endif
