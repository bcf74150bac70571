/* The inputs of a picture: each file, whatever it holds, becomes a layer. */
#include "evaluate.h"
#include "labels.h"
#include "trajectory.h"
#include "view_run.h"

#include <math.h>
#include <string.h>

static void set_name(const char *path, pc_layer *layer) {
    snprintf(layer->name, sizeof layer->name, "%s", path_base(input_name(path)));
}

/* ---- kinds ------------------------------------------------------------------------------------------------------- */

/* The format by the first bytes, else by the name; NULL: neither. Standard input and pipes have no name. */
static const pcgpu_format_info *format_of(const session *s, const char *path, const peek *p) {
    char why[256];
    const char *given = s->options->format;
    return given ? pcgpu_format_by_name(given)
                 : pcgpu_format_of_input(path_is_stream(path) ? "-" : path, p->head, p->size, why, sizeof why);
}

/* ---- clouds and depth images ------------------------------------------------------------------------------------- */

/* Pixels as points: the column, minus the row, and the depth in metres. */
static pcgpu_status depth_to_pixels(pcgpu_context *context, const pcgpu_depth *depth, double scale,
                                    pcgpu_cloud *cloud) {
    const int64_t pixels = (int64_t)depth->width * depth->height;
    pcgpu_status status = pcgpu_cloud_create(context, pixels, 3, cloud);
    for (int64_t i = 0; status == PCGPU_OK && i < pixels; i++) {
        const unsigned d = depth->data[i];
        float *p = cloud->data + 3 * i;
        p[0] = (float)(i % depth->width);
        p[1] = -(float)(i / depth->width);
        p[2] = d == 0 || d == 65535 ? NAN : (float)((double)d / scale);
    }
    if (status == PCGPU_OK) {
        snprintf(cloud->names[2], PCGPU_NAME_SIZE, "depth");
    }
    return status;
}

static pcgpu_status read_image(session *s, FILE *stream, const char *path, pc_layer *layer) {
    pcgpu_depth depth;
    pcgpu_status status = pcgpu_read_depth(s->context, stream, path, s->options->format, &depth);
    if (status == PCGPU_OK) {
        layer->kind = PC_IMAGE;
        status = depth_to_pixels(s->context, &depth, s->options->camera.depth_scale, &layer->cloud);
        pcgpu_depth_free(&depth);
    }
    return status;
}

static pcgpu_status read_points(session *s, FILE *stream, const char *path, pc_layer *layer) {
    const pcgpu_read_options how = session_read_options(s);
    layer->kind = PC_POINTS;
    return pcgpu_read(s->context, stream, path, &how, &layer->cloud);
}

static pcgpu_status read_voxels(session *s, FILE *stream, const char *path, pc_layer *layer) {
    const pcgpu_voxelize_params *p = &view_own(s->options)->voxels;
    bool voxels;
    pcgpu_status status = pc_layer_read_voxels(s->context, stream, path, p->size[0] > 0 ? p->size : NULL,
                                               p->range_auto ? NULL : p->range, &voxels, layer);
    if (status == PCGPU_OK && !voxels) {
        rewind(stream);
        status = read_points(s, stream, path, layer);
    }
    return status;
}

/* ---- trajectories ------------------------------------------------------------------------------------------------ */

/* The errors of the poses with --ground-truth. */
static int find_errors(session *s, const char *path, const trajectory *t, pose_errors *errors) {
    trajectory truth = {0};
    if (!s->options->ground_truth) {
        return EXIT_DONE;
    }
    const int code =
        evaluate_read_truth(s, &truth) ? evaluate_print(s, path, t, NULL, &truth, NULL, errors) : EXIT_FAILED;
    trajectory_free(&truth);
    return code;
}

static int read_trajectory(session *s, FILE *stream, const char *path, pc_layer *layer) {
    trajectory t = {0};
    pose_errors errors = {0};
    reason why;
    if (!trajectory_read_stream(stream, input_name(path), &t, &why)) {
        return report_error(NULL, "%s", why.text);
    }
    int code = find_errors(s, path, &t, &errors);
    const int columns = 3 + (t.times != NULL) + (errors.count > 0);
    pcgpu_cloud *cloud = &layer->cloud;
    code = code == EXIT_DONE
               ? exit_code_of(pcgpu_cloud_create(s->context, t.count, columns, cloud), input_name(path), s->context)
               : code;
    for (int64_t i = 0; code == EXIT_DONE && i < t.count; i++) {
        float *to = cloud->data + columns * i;
        for (int k = 0; k < 3; k++) {
            to[k] = (float)t.poses[16 * i + 4 * k + 3];
        }
        if (t.times) { /* since the first pose: float32 does not hold seconds since 1970 */
            to[3] = (float)(t.times[i] - t.times[0]);
        }
        if (errors.count > 0) {
            to[columns - 1] = (float)errors.metres[i];
        }
    }
    if (code == EXIT_DONE && t.times) {
        snprintf(cloud->names[3], PCGPU_NAME_SIZE, "time");
    }
    if (code == EXIT_DONE && errors.count > 0) {
        snprintf(cloud->names[columns - 1], PCGPU_NAME_SIZE, "error");
    }
    layer->kind = PC_LINE;
    trajectory_free(&t);
    pose_errors_free(&errors);
    return code;
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

static int read_layer(session *s, const char *path, const peek *p, pc_layer *layer) {
    reason why;
    const pcgpu_format_info *format = format_of(s, path, p);
    const bool given = s->options->format,
               image = format && format->depth && !option_given(s->options, "camera", s->command),
               mesh = format && strcmp(format->name, "ply") == 0; /* where it has faces */
    const bool npz = format && strcmp(format->name, "npz") == 0 && !path_is_stream(path);
    const bool poses = !given && peek_is_text(p) && trajectory_is(p->head, p->size, format);
    if (poses) {
        return read_trajectory(s, p->stream, path, layer);
    }
    const pcgpu_status status = image            ? read_image(s, p->stream, path, layer)
                                : !given && mesh ? pc_layer_read_mesh(s->context, p->stream, path, layer)
                                : !given && npz  ? read_voxels(s, p->stream, path, layer)
                                                 : read_points(s, p->stream, path, layer);
    layer->drop_origin = layer->kind == PC_POINTS && s->options->drop_origin;
    PC_TRY(exit_code_of(status, input_name(path), s->context));
    return (layer->kind != PC_POINTS && layer->kind != PC_TRIANGLES) || labels_add(s, path, &layer->cloud, &why)
               ? EXIT_DONE
               : report_error(input_name(path), "%s", why.text);
}

static int read_input(session *s, const char *path, pc_layer *layer) {
    peek p;
    if (!peek_open(&p, path)) {
        return EXIT_FAILED;
    }
    const int code = read_layer(s, path, &p, layer);
    peek_close(&p);
    return code;
}

int view_add_input(session *s, const char *path, pc_scene *scene) {
    pc_layer layer = {.kind = PC_POINTS};
    progress_begin(input_name(path), "reading");
    int code = read_input(s, path, &layer);
    if (code == EXIT_DONE && scene->count > 0 && (layer.kind == PC_IMAGE || scene->layers[0].kind == PC_IMAGE)) {
        report_error(
            input_name(path),
            "a depth image without --camera has a picture of its own; give -o DIR/, or --camera for its points");
        pc_layer_free(&layer);
        return EXIT_FAILED;
    }
    PC_TRY(code);
    set_name(path, &layer);
    return exit_code_of(pc_scene_add(s->context, scene, &layer), input_name(path), s->context);
}

/* ---- up ---------------------------------------------------------------------------------------------------------- */

static float extent(const pc_layer *l, int axis) {
    return l->high[axis] - l->low[axis];
}

/* Whether all points lie in the view of a camera that looks along z, at some distance: no scan and no object on the
 * ground does. */
static bool is_seen_along_z(const pc_layer *l) {
    const double *o = l->cloud.offset;
    bool inside =
        l->usable > 0 && l->low[2] > 0.0f && l->low[2] < 0.9f * l->high[2] && o[0] == 0 && o[1] == 0 && o[2] == 0;
    for (int64_t i = 0; i < l->cloud.rows && inside; i++) {
        const float *p = pc_layer_row(l, i);
        inside = !pc_layer_shows(l, p) || (fabsf(p[0]) < 1.5f * p[2] && fabsf(p[1]) < 1.5f * p[2]);
    }
    return inside;
}

/* What a .ply says. Else z is up, but in the frame of a camera -y is: for what it sees, and where a trajectory alone
 * stays on a plane of y. */
void view_settle_up(const session *s, pc_scene *scene) {
    const pc_up given = (pc_up)view_own(s->options)->up;
    bool camera = true;
    for (int i = 0; i < scene->count && camera; i++) {
        const pc_layer *l = &scene->layers[i];
        camera = l->kind == PC_LINE
                     ? scene->layers[0].kind != PC_LINE || (extent(l, 1) < extent(l, 2) && extent(l, 1) < extent(l, 0))
                     : is_seen_along_z(l);
    }
    pc_up up = scene->layers[0].kind == PC_IMAGE ? PC_UP_Z : given;
    for (int i = 0; i < scene->count && up == PC_UP_AUTO; i++) {
        up = pc_cloud_up(&scene->layers[i].cloud);
    }
    scene->up = up != PC_UP_AUTO ? up : camera ? PC_UP_MINUS_Y : PC_UP_Z;
}

void view_add_color(json *out, const pc_scene *scene, const char *color) {
    json_text(out, "color", color);
    if (scene->scale.used) {
        const double limits[2] = {scene->scale.low, scene->scale.high};
        json_numbers(out, "limits", limits, 2);
    }
}

pc_from view_from(const session *s, const pc_scene *scene) {
    const pc_from from = (pc_from)view_own(s->options)->from;
    bool lines = true;
    for (int i = 0; i < scene->count; i++) {
        lines = lines && scene->layers[i].kind == PC_LINE;
    }
    return from != PC_FROM_AUTO ? from : lines ? PC_FROM_TOP : PC_FROM_ISO;
}
