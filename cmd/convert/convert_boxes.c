/* pcgpu convert --boxes: the oriented boxes of a file, or of the file of each input in a folder. */
#include "convert.h"
#include "lines.h"
#include "numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void add(box_list *l, const double box[PCGPU_BOX_NUMBERS]) {
    l->boxes = heap_grow(l->boxes, (size_t)l->count, sizeof *l->boxes);
    memcpy(l->boxes[l->count++], box, sizeof *l->boxes);
}

static const char *add_line(void *list, char *line, int64_t number) {
    double box[PCGPU_BOX_NUMBERS];
    char *rest = NULL, *word = strtok_r(line, " \t,", &rest);
    (void)number;
    for (int k = 0; k < PCGPU_BOX_NUMBERS; k++, word = strtok_r(NULL, " \t,", &rest)) {
        if (!word || !number_parse(word, &box[k])) {
            return "does not begin with seven numbers";
        }
    }
    if (box[3] < 0 || box[4] < 0 || box[5] < 0 || fabs(box[6]) > FAR) {
        return "a size below 0, or a heading beyond 1e6";
    }
    add(list, box);
    return NULL;
}

static const list_kind text_boxes = {
    add_line,
    "give x y z dx dy dz heading, the centre and the size in metres and radians about z; labels of KITTI are in the "
    "frame of a camera: convert them first",
    NULL};

/* An array (K, 7), or with more columns. float64 is rounded to float32 about an offset, without the warning of
 * clouds. */
static int read_array(const char *path, box_list *list) {
    pcgpu_context *context;
    pcgpu_settings settings;
    pcgpu_cloud rows = {0};
    pcgpu_settings_init(&settings);
    settings.device = PCGPU_DEVICE_CPU;
    settings.names = PCGPU_NAMES_OPTIONS;
    int code = exit_code_of(pcgpu_open(&settings, &context), path, context);
    code = code == EXIT_DONE ? exit_code_of(pcgpu_read_file(context, path, NULL, &rows), path, context) : code;
    if (code == EXIT_DONE && rows.columns < PCGPU_BOX_NUMBERS) {
        report_error(path, "%d columns; give boxes (K, 7): x y z dx dy dz heading", rows.columns);
        code = EXIT_FAILED;
    }
    for (int64_t i = 0; code == EXIT_DONE && i < rows.rows; i++) {
        double box[PCGPU_BOX_NUMBERS];
        for (int k = 0; k < PCGPU_BOX_NUMBERS; k++) {
            box[k] = rows.offset[k] + (double)rows.data[i * rows.columns + k];
        }
        add(list, box);
    }
    pcgpu_cloud_free(&rows);
    pcgpu_close(context);
    return code;
}

static int read_boxes(const char *path, box_list *list) {
    reason why;
    *list = (box_list){.name = input_name(path)};
    if (path_ends_in(path, ".npy")) {
        return read_array(path, list);
    }
    return read_list(path, &text_boxes, list, &why) ? EXIT_DONE : report_error(NULL, "%s", why.text);
}

/* The file of an input in a folder, malloc'd: with the extension .npy if there is one, else .txt. */
static char *file_in_folder(const char *folder, const char *input) {
    char *path = path_in_folder(folder, input, ".npy");
    if (access(path, F_OK) == 0) {
        return path;
    }
    free(path);
    return path_in_folder(folder, input, ".txt");
}

bool boxes_check(const char *path, const char *input, reason *why) {
    char *file = path && path_is_folder(path) ? file_in_folder(path, input) : NULL;
    const bool good = !file || access(file, F_OK) == 0;
    free(file);
    return good || refuse(why, "%s: no boxes for %s; give a file with its name and .txt or .npy, empty where no box is",
                          path, input_name(input));
}

int boxes_read_once(convert_values *own) {
    const bool once = own->boxes_input && !path_is_folder(own->boxes_input);
    return once ? read_boxes(own->boxes_input, &own->boxes) : EXIT_DONE;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static int find(pcgpu_context *context, const box_list *l, const pcgpu_cloud *cloud, int32_t **first) {
    float *boxes = heap_zeroed((size_t)l->count + 1, PCGPU_BOX_NUMBERS * sizeof *boxes);
    for (int64_t i = 0; i < l->count * PCGPU_BOX_NUMBERS; i++) {
        const int64_t k = i % PCGPU_BOX_NUMBERS;
        boxes[i] = (float)(l->boxes[i / PCGPU_BOX_NUMBERS][k] - (k < 3 ? cloud->offset[k] : 0.0));
    }
    const pcgpu_clouds points = {cloud->data, cloud->columns, 1, cloud->rows, NULL};
    *first = malloc(((size_t)cloud->rows + 1) * sizeof **first);
    const int code = *first ? exit_code_of(pcgpu_points_in_boxes(context, &points, boxes, l->count, *first, NULL, NULL),
                                           l->name, context)
                            : report_error(l->name, "out of memory for %lld points", (long long)cloud->rows);
    free(boxes);
    return code;
}

int boxes_find(const job *j, const pcgpu_cloud *cloud, int32_t **first) {
    const convert_values *own = convert_own(j->session->options);
    if (!path_is_folder(own->boxes_input)) {
        return find(j->session->context, &own->boxes, cloud, first);
    }
    box_list list = {0};
    char *file = file_in_folder(own->boxes_input, j->inputs[0]);
    int code = read_boxes(file, &list);
    code = code == EXIT_DONE ? find(j->session->context, &list, cloud, first) : code;
    free(list.boxes);
    free(file);
    return code;
}
