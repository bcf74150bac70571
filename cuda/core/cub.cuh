/* CUB's sort and scan. Its headers end the process when they ask for the thread's device and get none; here they get
 * the one of pc_cub_device, and the calls that follow report what is wrong. */
#ifndef PC_CUB_CUH
#define PC_CUB_CUH

#include "common.cuh"

#define cudaGetDevice pc_cub_device
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#undef cudaGetDevice

#endif
