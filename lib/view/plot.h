/* Charts as a picture: curves over an axis with their units, drawn by the canvas and the letters of the other
 * pictures. */
#ifndef PC_PLOT_H
#define PC_PLOT_H

#include "view.h"

typedef struct pc_curve {
    const char *name;
    const double *x, *y; /* `count`, not negative; the x ascend, and a y that is not finite is a gap */
    int64_t count;
    bool marks; /* a dot at each value, of which there are few */
} pc_curve;

/* A horizontal line. */
typedef struct pc_level {
    const char *name;
    double value; /* NaN: left out */
} pc_level;

enum { PC_CHART_CURVES = 2, PC_CHART_LEVELS = 3 };

/* `unit` is that of the curves and levels. At least one curve has a value. */
typedef struct pc_chart {
    const char *title, *unit, *x_name, *x_unit;
    pc_curve curves[PC_CHART_CURVES];
    pc_level levels[PC_CHART_LEVELS];
    int curve_count, level_count;
} pc_chart;

/* Draws charts in two columns, row by row, below a line of text. Errors: MEMORY. */
pcgpu_status pc_plot(pcgpu_context *context, const char *caption, const pc_chart *charts, int count, int width,
                     int height, pc_picture *picture);

#endif
