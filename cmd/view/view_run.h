/* What the files of pcgpu view share. */
#ifndef VIEW_RUN_H
#define VIEW_RUN_H

#include "job.h"
#include "view.h"

/* The values of its own options. The library has its own names of these, in the same order. */
typedef struct view_values {
    const char *color;
    int from, colormap, up;
    int size[2]; /* 0: not given */
    double point_size;
    pcgpu_voxelize_params voxels; /* of an .npz of voxelize: the size and the range */
} view_values;
OWN_VALUES(view)

/* view_inputs.c: reads an input of any kind and appends its layer to the scene. Returns an exit code and prints
 * errors. */
int view_add_input(session *s, const char *path, pc_scene *scene);
/* Once all layers are there: sets the axis that is up. */
void view_settle_up(const session *s, pc_scene *scene);

/* view_command.c: where the scene is seen from, for --from auto, too. */
pc_from view_from(const session *s, const pc_scene *scene);
/* Adds what the colours are, and the limits of their scale. */
void view_add_color(json *out, const pc_scene *scene, const char *color);

/* view_page.c: whether the output of the job is a page; writes the page. Returns an exit code and prints errors. */
bool view_is_page(const job *j);
int view_write_page(job *j, pc_scene *scene);
/* Checks the options that a page does not have. */
bool view_check_page(const option_values *o, const command_info *command, reason *why);

/* view_terminal.c: whether standard output is a terminal that shows colours. */
bool terminal_has_colors(void);
/* Whether it shows pictures, by the protocol of kitty. */
bool terminal_has_pictures(void);
/* Shows a picture there. Errors: MEMORY. */
pcgpu_status terminal_show(pcgpu_context *context, FILE *out, const pc_picture *picture);
/* The size of a picture for the terminal, which has two pixels per character, one above the other. */
void terminal_size(int *width, int *height);
/* Prints a picture, and a line with the layers and the scale. */
void terminal_print(FILE *out, const pc_scene *scene, const pc_picture *picture);

#endif
