/* What the files of pcgpu filter share. */
#ifndef FILTER_RUN_H
#define FILTER_RUN_H

#include "columns.h"
#include "job.h"

/* The numbers of an option, such as K,S; count 0: not given. */
typedef struct number_list {
    int count;
    double values[3];
} number_list;

/* The values of its own options. */
typedef struct filter_values {
    number_list outliers, sparse, clusters, viewpoint;
    int normals; /* neighbours; 0: none */
    double normal_radius;
    int64_t core;
    bool label, ground;
    const char *keep, *remove, *cluster_list;
} filter_values;
OWN_VALUES(filter)

/* Classes of a column `classification`, as LAS numbers them. */
enum { CLASS_NEVER = 0, CLASS_NONE = 1, CLASS_GROUND = 2, CLASS_NOISE = 7 };

/* --keep or --remove: a class that is found here, or the values of a column. */
enum { MOST_VALUES = 64 };
typedef struct selection {
    int found; /* CLASS_..., or -1: of a column */
    char column[PCGPU_NAME_SIZE];
    int count;
    double values[MOST_VALUES];
} selection;
bool selection_parse(const char *text, selection *s, reason *why);

/* What the filters have found. */
typedef struct filtered {
    uint8_t *mask;    /* of the records: those that are left */
    uint8_t *classes; /* of the records: CLASS_... */
    int32_t *cluster; /* of the records, or NULL: the id, -1 = none */
    float *normals;   /* of the records x 4, or NULL */
    int64_t clusters;
} filtered;

int filter_process(job *job);
/* filter_pieces.c: whether an input is read in pieces; reads it, which may turn out to be whole, and limits the memory
 * of filters. Returns an exit code. */
bool filter_reads_pieces(const session *session, const char *input);
int filter_read_pieces(job *job);
/* *(void **)memory = bytes with undefined values: in a temporary file where the input is in pieces. Release it by
 * pc_release. Returns an exit code. */
int filter_allocate(job *job, uint64_t bytes, void *memory);
/* Reports a number of points that are left out. name: of the number in --json; with a blank for _ it ends the
 * sentence. */
void filter_count_removed(job *job, const char *name, int64_t removed);
/* Clears records by the values of a column: those that have one of them, or with `keep` the others. text: of the
 * option, or NULL. */
int filter_select(job *job, const char *text, bool keep, filtered *f);
/* Writes --cluster-list: number of records, and least and largest coordinates of each cluster. */
int filter_write_clusters(job *job, const filtered *f);
/* Reads --set poses and checks them against the inputs. */
bool filter_read_poses(const session *session, reason *why);
/* The one place of the sensor of a job, which may be in `place`; NULL: the origin of the file. */
const double *filter_viewpoint(const job *job, double place[3]);
/* With poses of times: turns the normals to the place of the sensor at the time of each point. Returns an exit code. */
int filter_turn_by_time(job *job, const filtered *f);

#endif
