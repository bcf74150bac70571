/* The scans of a drive: their files, times and poses. */
#ifndef SWEEP_TABLE_H
#define SWEEP_TABLE_H

#include "reason.h"

#include <stddef.h>
#include <stdint.h>

typedef struct sweep_scan {
    char *path;
    double time;      /* seconds */
    int64_t previous; /* the scan before it in the same drive, or -1 */
    bool posed;
    double T[16]; /* T_world_sensor */
} sweep_scan;

typedef struct sweep_input {
    const char *name; /* of the session */
    int64_t scan;
} sweep_input;

typedef struct sweep_table {
    int64_t count;
    sweep_scan *scans;
    sweep_input *inputs; /* by name, when all are there */
    int input_count;
} sweep_table;

/* sweep_list.c: appends a scan. */
void sweep_scan_add(sweep_table *table, const sweep_scan *scan);
/* sweep_list.c: makes the inputs of the table, whose scans are to be filled in. */
void sweep_inputs_begin(sweep_table *table, const char *const *inputs, int count);
/* Checks that they have poses, and sorts them. */
bool sweep_inputs_end(sweep_table *table, reason *why);
/* The scan of an input after that, or -1. */
int64_t sweep_of_input(const sweep_table *table, const char *input);

/* sweep_list.c: a list of lines "FILE TIME", and one pose per line of the list in another file. */
bool sweep_list_read(const char *list, const char *poses, const char *const *inputs, int input_count,
                     sweep_table *table, reason *why);
/* nuscenes.c: from the tables of nuScenes; of the scans only those that `sweeps` per input need have poses. */
bool nuscenes_read(const char *root, const char *const *inputs, int input_count, int64_t sweeps, sweep_table *table,
                   reason *why);

#endif
