/* Pairs of clouds in the memory of a device, which are prepared there a group at a time. */
#ifndef PC_REGISTER_DEVICE_H
#define PC_REGISTER_DEVICE_H

#include "ndt.h"
#include "scan_device.h"

/* A group's bounds: what fills the largest device and can be held twice, in the host's memory and in the device's. */
enum { PC_GROUP_PAIRS = 64, PC_GROUP_POINTS = 1 << 24 };

typedef struct pc_device_pairs {
    void *stream;                             /* what writes the clouds */
    const pcgpu_register_params *params;      /* of all pairs */
    pcgpu_register_params *settled;           /* of each */
    pc_device_scan scans[2 * PC_GROUP_PAIRS]; /* of the group: source and target of each pair */
} pc_device_pairs;

/* Selects the points of a group, and chooses the parameters of each pair. Errors: ARGUMENT, MEMORY, DEVICE. */
pcgpu_status pc_device_prepare(pcgpu_context *context, pc_device_pairs *device, const pcgpu_pair *pairs, int count,
                               pcgpu_register_params *settled);
/* Makes the job of pair i of the group. Clouds far from 0 make none, and are for the host. */
pcgpu_status pc_device_take(const pc_device_pairs *device, int i, pc_ndt_work *c, pc_ndt_job *job);
bool pc_device_is_far(const pc_device_pairs *device, int i);

#endif
