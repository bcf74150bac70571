/* What the files of kernels_forms.c share. */
#ifndef KERNELS_FORMS_H
#define KERNELS_FORMS_H

#include "reference.h"
#include "scan.h"

enum { MOST_IN_PACK = 64 };

/* A cloud, what is asked of it, and the answer of the plain loop. */
typedef struct forms_case {
    const char *kind;
    pc_points points;
    int32_t *seeds;
    pc_sample_job want;
} forms_case;

/* Cases that are sampled in one call. */
typedef struct pack {
    int count;
    forms_case cases[MOST_IN_PACK];
} pack;

/* Makes `count` cases from the random numbers, of `least` to `most` points with picks and seeds so that points x picks
 * stays within `work`; answer_packs then answers those of several packs, on all processors. */
void make_pack(test_bed *bed, test_random *r, int count, int64_t least, int64_t most, double work, pack *out);
void answer_packs(test_random *r, pack *packs, int count);
/* A cloud of which every point is picked. For CUDA it is too large for the plain loop and answered by the CPU back end,
 * which the plain loop has answered for on smaller ones. */
void make_whole(test_bed *bed, const char *kind, int64_t n, pack *out);
void free_pack(pack *p);

#endif
