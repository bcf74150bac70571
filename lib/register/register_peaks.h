/* Shared by the searches that score turns about z and translations by whole cells: register_search.c, of a pair, and
 * odometry_places_search.c, of a map. */
#ifndef PC_REGISTER_PEAKS_H
#define PC_REGISTER_PEAKS_H

#include <stdbool.h>
#include <stdint.h>

/* Turns of a search, of which each is 2 degrees. */
enum { PC_SEARCH_TURNS = 180 };
/* The rotation about z by so many turns: by products alone, since libraries differ in sines. */
void pc_search_rotation(int turn, double R[9]);
/* The least number of turns from one to the other. */
int pc_turns_between(int a, int b);

/* A high score: of a turn and a translation in cells. */
typedef struct pc_peak {
    int32_t score; /* -1: none */
    int turn, x, y;
} pc_peak;
/* The cells and turns by which starts differ at least, in one of these. */
enum { PC_PEAK_TURNS = 5, PC_PEAK_CELLS = 4 };
bool pc_peak_is_near(const pc_peak *a, const pc_peak *b);
/* Keeps the best peaks of which no two are near, at most `most`, in front; returns how many. */
int pc_peaks_choose(pc_peak *peaks, int count, int most);

/* Differences in height, in bins of an eighth of a cell. All zero: none. */
enum { PC_HEIGHT_BINS = 256 };
typedef struct pc_heights {
    int32_t bins[PC_HEIGHT_BINS], count;
} pc_heights;
void pc_heights_add(pc_heights *heights, double cells);
/* In cells; 0 without heights. */
double pc_heights_median(const pc_heights *heights);

#endif
