/* Pictures of results. */
#include "picture.h"
#include "view_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PANEL_WIDTH = 960, PANEL_HEIGHT = 720, MAP_WIDTH = 1280, MAP_HEIGHT = 960 };

bool picture_is_wanted(job *j) {
    return job_stream(j, "picture") != NULL;
}

void picture_add_layer(picture *p, int panel, pc_layer *layer, const char *name) {
    snprintf(layer->name, sizeof layer->name, "%s", name);
    if (p->status == PCGPU_OK) {
        p->status = pc_scene_add(p->job->session->context, &p->panels[panel], layer);
    } else {
        pc_layer_free(layer);
    }
}

void picture_add_cloud(picture *p, int panel, const pcgpu_cloud *cloud, const char *name) {
    pc_layer layer = {
        .kind = PC_POINTS, .cloud = *cloud, .borrowed = true, .drop_origin = p->job->session->options->drop_origin};
    picture_add_layer(p, panel, &layer, name);
}

void picture_add_voxels(picture *p, const pcgpu_voxels *v, const char *name) {
    const double *size = p->job->session->options->voxelize.size;
    pc_layer layer = {.kind = PC_BOXES};
    if (p->status == PCGPU_OK) {
        p->status = pcgpu_cloud_create(p->job->session->context, v->count, 4, &layer.cloud);
    }
    memcpy(layer.cloud.offset, p->job->clouds[0].offset, 3 * sizeof *layer.cloud.offset);
    for (int64_t i = 0; i < v->count && p->status == PCGPU_OK; i++) {
        float *to = layer.cloud.data + 4 * i;
        for (int k = 0; k < 3; k++) { /* coords are batch z y x */
            to[k] = (float)(v->range[k] - layer.cloud.offset[k] + ((double)v->coords[4 * i + 3 - k] + 0.5) * size[k]);
            layer.half[k] = (float)(0.5 * size[k]);
        }
        to[3] = (float)v->counts[i];
    }
    snprintf(layer.cloud.names[3], PCGPU_NAME_SIZE, "count");
    picture_add_layer(p, 0, &layer, name);
}

void picture_add_path(picture *p, const double *poses, int64_t count, const double *values, const char *name) {
    const int columns = values ? 4 : 3;
    pc_layer layer = {.kind = PC_LINE};
    p->status =
        p->status == PCGPU_OK ? pcgpu_cloud_create(p->job->session->context, count, columns, &layer.cloud) : p->status;
    for (int k = 0; k < 3; k++) { /* that of the first layer */
        layer.cloud.offset[k] = p->panels[0].offset[k];
    }
    for (int64_t i = 0; i < count && p->status == PCGPU_OK; i++) {
        float *to = layer.cloud.data + columns * i;
        for (int k = 0; k < 3; k++) {
            to[k] = (float)(poses[16 * i + 4 * k + 3] - layer.cloud.offset[k]);
        }
        if (values) {
            to[3] = (float)values[i];
        }
    }
    if (values) {
        snprintf(layer.cloud.names[3], PCGPU_NAME_SIZE, "%s", p->color);
    }
    picture_add_layer(p, 0, &layer, name);
}

void picture_axis(const double *poses, int64_t count, int axis, double sum[3]) {
    sum[0] = sum[1] = sum[2] = 0;
    for (int64_t i = 0; i < count; i++) {
        for (int k = 0; k < 3 && poses[16 * i] == poses[16 * i]; k++) {
            sum[k] += poses[16 * i + 4 * k + axis];
        }
    }
}

pc_up picture_up(const double direction[3], double sign) {
    int best = 2;
    for (int k = 0; k < 3; k++) {
        best = fabs(direction[k]) > fabs(direction[best]) ? k : best;
    }
    return (pc_up)(PC_UP_X + best + (sign * direction[best] < 0 ? 3 : 0));
}

/* Draws a panel into its columns of the whole. */
static pcgpu_status draw_panel(picture *p, int panel, const pc_view *view, pc_picture *whole) {
    pcgpu_context *context = p->job->session->context;
    pc_scene *scene = &p->panels[panel];
    pc_picture part = {0};
    pcgpu_status status = pc_scene_paint(context, scene, p->color ? p->color : pc_scene_default_paint(scene),
                                         p->color ? PC_TURBO : PC_VIRIDIS);
    scene->scale.unit = p->color ? "m" : scene->scale.unit;
    scene->scale.low = view->like->scale.low; /* one scale for all panels */
    scene->scale.high = view->like->scale.high;
    status = status == PCGPU_OK ? pc_render(context, scene, view, &part) : status;
    const size_t row = 3 * (size_t)view->width;
    for (size_t y = 0; status == PCGPU_OK && y < (size_t)view->height; y++) {
        memcpy(whole->rgb + 3 * (size_t)whole->width * y + (size_t)panel * row, part.rgb + row * y, row);
    }
    pc_picture_free(&part);
    return status;
}

static pcgpu_status draw_all(picture *p, int panels, pc_picture *whole) {
    const session *s = p->job->session;
    pc_view view = {.width = PANEL_WIDTH, .height = PANEL_HEIGHT, .from = PC_FROM_ISO, .like = &p->panels[panels - 1]};
    pcgpu_status status = p->status;
    if (p->map) {
        view = (pc_view){.width = MAP_WIDTH, .height = MAP_HEIGHT, .from = PC_FROM_TOP, .like = view.like};
    }
    *whole = (pc_picture){.width = panels * view.width, .height = view.height};
    whole->rgb = malloc((size_t)3 * (size_t)whole->width * (size_t)whole->height);
    status = status == PCGPU_OK && !whole->rgb ? PCGPU_ERROR_MEMORY : status;
    memcpy(view.look, p->look, sizeof view.look);
    for (int i = panels - 1; i >= 0 && status == PCGPU_OK; i--) {
        view_settle_up(s, &p->panels[i]);
        p->panels[i].up = p->up != PC_UP_AUTO ? p->up : p->panels[panels - 1].up;
        status = draw_panel(p, i, &view, whole);
    }
    return status;
}

int picture_finish(picture *p) {
    job *j = p->job;
    pc_picture whole;
    int panels = 0, code = EXIT_DONE;
    while (panels < PICTURE_PANELS && p->panels[panels].count > 0) {
        panels++;
    }
    progress_begin(j->names[0], "drawing");
    pcgpu_status status = panels > 0 ? draw_all(p, panels, &whole) : p->status;
    if (status == PCGPU_OK) {
        const char *name = job_output_name(j, "picture");
        code = exit_code_of(pc_picture_write(j->session->context, job_stream(j, "picture"), name, &whole), name,
                            j->session->context);
    } else {
        code = job_failed(j, status);
    }
    if (panels > 0) {
        pc_picture_free(&whole);
    }
    for (int i = 0; i < PICTURE_PANELS; i++) {
        pc_scene_free(&p->panels[i]);
    }
    return code;
}
