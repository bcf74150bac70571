/* What the fuzzers share. */
#ifndef FUZZ_H
#define FUZZ_H

#include "../support/context.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MUST(CONDITION)                                                                                                \
    do {                                                                                                               \
        if (!(CONDITION)) {                                                                                            \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #CONDITION);                                  \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* A file of this name in a folder of its own, in TMPDIR, which is the working folder until fuzz_leave_folder and goes
 * at the end. */
void fuzz_write_file(const char *name, const void *data, size_t size);
void fuzz_leave_folder(void);
/* Whether a word is among words with blanks between them. */
bool fuzz_has_word(const char *words, const char *word);
/* Nothing in it would steer a terminal. */
void fuzz_check_printable(const char *text);
/* The sentence of a command begins so, and what of it is printed would steer no terminal. */
void fuzz_check_shown(const char *why, const char *start);

/* A stream over bytes, also over none. */
FILE *fuzz_open(const uint8_t *data, size_t size);
/* The sentence of an error names the file and holds nothing that would steer a terminal. */
void fuzz_check_sentence(const char *error, const char *name);

/* ---- targets: fuzz_target.c ------------------------------------------------------------------------------------- */

/* The name of the i-th target: a parser, or a command. NULL past the last. */
const char *fuzz_target_at(int i);
/* Runs a target on any bytes and aborts when a promise is broken. Returns 1 when they are valid input. */
int fuzz_check(const char *target, const uint8_t *data, size_t size);
/* Whether seeds of a format are for a parser. */
bool fuzz_takes_seed(const char *parser, const char *format);

/* ---- checks: 1 for valid bytes; one that finds a broken promise aborts ------------------------------------------- */

/* A file of a cloud; "content": of any format. */
int fuzz_check_read(const char *format, const uint8_t *data, size_t size);
/* A file in pieces, which gives what it gives as a whole. */
int fuzz_check_pieces(const uint8_t *data, size_t size);
int fuzz_check_indices(const uint8_t *data, size_t size);
/* A cloud and parameters of all filters. */
int fuzz_check_filters(const uint8_t *data, size_t size);
/* The faces of a .ply. */
int fuzz_check_mesh(const uint8_t *data, size_t size);
/* A depth image, "png" or "pgm". The checksums of a .png are put right first, or no mutation would get far. */
int fuzz_check_depth(const char *format, const uint8_t *data, size_t size);
/* A configuration file, for every command. */
int fuzz_check_config(const uint8_t *data, size_t size);
/* A table in JSON. */
int fuzz_check_json(const uint8_t *data, size_t size);
/* Poses, a transform, times, a calibration or a list by times. */
int fuzz_check_poses(const uint8_t *data, size_t size);
/* A camera. */
int fuzz_check_camera(const uint8_t *data, size_t size);
/* Lists of pairs, and of scans with their times. */
int fuzz_check_list(const uint8_t *data, size_t size);
/* The tables sample_data, ego_pose and calibrated_sensor of nuScenes, with a % between them. */
int fuzz_check_nuscenes(const uint8_t *data, size_t size);

/* An input of a command. The sets of words of a command follow each other from the first one, which is searched from
 * `from` on; -1: none. A set reads files of some formats. For fuzz_check_words the first byte chooses the set of the
 * command, from 0. */
int fuzz_first_set(const char *command, int from);
bool fuzz_set_reads(int set, const char *format);
int fuzz_check_command(int set, const uint8_t *data, size_t size);
int fuzz_check_words(const char *command, const uint8_t *data, size_t size);

/* ---- seeds: seeds.c, seeds.list ---------------------------------------------------------------------------------- */

/* A small valid file; its format is the name of a target. */
typedef struct fuzz_seed {
    char format[12];
    char name[24];
    size_t size;
    uint8_t data[2048];
} fuzz_seed;

/* Makes the i-th seed; 0 past the last. */
int fuzz_make_seed(int i, fuzz_seed *seed);

#endif
