/* Messages: how sums go from block to block of one launch while all of its blocks run. A message is a float64 and the
 * launch and the pass that it is of, sixteen bytes that are seen whole or not at all, so that a number need not be
 * waited for twice, first to be announced and then to arrive, and no cache has to be flushed for it. */
#ifndef PC_PROJECTIVE_MAILBOX_CUH
#define PC_PROJECTIVE_MAILBOX_CUH

#include "ptx.cuh"

enum { PC_DEPTH_MESSAGES_AT_ONCE = 12 }; /* the groups of a part of 640 x 480 pixels */

__device__ static inline void pc_depth_publish(uint4 *message, double value, uint32_t launch, uint32_t pass) {
    const unsigned long long bits = (unsigned long long)__double_as_longlong(value);
    pc_note_store(message, (uint32_t)bits, (uint32_t)(bits >> 32), launch, pass);
}

/* Adds up the values of messages that are `stride` apart, in their order; waits for `count` of them, and adds the first
 * `most`. By all lanes of a warp, each its own, which leave together however long each has waited. */
__device__ static inline double pc_depth_add_messages(const uint4 *from, size_t stride, int count, int most,
                                                      uint32_t launch, uint32_t pass) {
    double sum = 0.0;
    for (int first = 0; first < count; first += PC_DEPTH_MESSAGES_AT_ONCE) {
        uint4 message[PC_DEPTH_MESSAGES_AT_ONCE];
        bool there;
        uint32_t looks = 0;
        do {
            there = true;
#pragma unroll
            for (int k = 0; k < PC_DEPTH_MESSAGES_AT_ONCE; k++) {
                if (first + k < count) {
                    message[k] = pc_note_load(from + (size_t)(first + k) * stride);
                }
            }
#pragma unroll
            for (int k = 0; k < PC_DEPTH_MESSAGES_AT_ONCE; k++) {
                there = there && (first + k >= count || (message[k].z == launch && message[k].w == pass));
            }
            if (!there) {
                pc_pause();
                if (++looks == 1u << 28) {
                    __trap(); /* a block that does not come ends the call after a while rather than never */
                }
            }
        } while (!there);
#pragma unroll
        for (int k = 0; k < PC_DEPTH_MESSAGES_AT_ONCE; k++) {
            if (first + k < most) {
                sum += __longlong_as_double((long long)((unsigned long long)message[k].y << 32 | message[k].x));
            }
        }
    }
    __syncwarp();
    return sum;
}

#endif
