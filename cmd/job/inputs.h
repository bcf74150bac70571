/* The inputs of a run: names, the files of folders, lists of names, shards. */
#ifndef INPUTS_H
#define INPUTS_H

#include "file_set.h"
#include "pcgpu.h"
#include "reason.h"
#include "recordings.h"

typedef struct input_list {
    const char **paths; /* each malloc'd */
    int count;
    file_set entered; /* folders, with --set follow */
} input_list;

typedef struct input_options {
    const char *files_from;              /* a list of names, "-" for standard input, or NULL */
    bool zero_ends;                      /* its names end with a zero byte */
    bool recursive;                      /* take the sub-folders of folders */
    bool follow;                         /* and those that are links, each folder once */
    const file_set *outputs;             /* folders of outputs, which are left out; or NULL */
    bool any_format;                     /* take all files of folders, not only those with the name of a known format */
    const recording_options *recordings; /* how recordings stand for their clouds; NULL: they do not */
    bool dry_run;                        /* do not read standard input */
} input_options;

/* Names stay as they are; a folder stands for the files in it, by name, also those that are links; a link to a file
 * that is missing stays, so that it fails as an input. The files of a sub-folder are named FOLDER/./SUB/FILE: an output
 * keeps what follows "/./". On failure the list is empty. */
bool input_list_make(const input_options *how, const char *const *given, int count, input_list *list, reason *why);
void input_list_free(input_list *list);

/* One of `count` shares, from 1. */
typedef struct shard {
    int index, count;
} shard;

/* Reads "I/N", or "slurm" for the environment of a task of a Slurm array. */
bool shard_parse(const char *text, shard *out, reason *why);
/* Keeps every count-th job of `each` inputs in front, and its line (NULL: none); the order of the others changes. */
void shard_keep(const shard *share, int each, const char **inputs, int64_t *lines, int *jobs);

#endif
