/* Pictures of results. */
#include "picture.h"
#include "view_run.h"

#include <stdlib.h>
#include <string.h>

enum { PANEL_WIDTH = 960, PANEL_HEIGHT = 720 };

bool picture_is_wanted(job *j) {
    return job_stream(j, "picture") != NULL;
}

static void add_layer(picture *p, int panel, pc_layer *layer, const char *name) {
    snprintf(layer->name, sizeof layer->name, "%s", name);
    if (p->status == PCGPU_OK) {
        p->status = pc_scene_add(p->job->session->context, &p->panels[panel], layer);
    } else {
        pc_layer_free(layer);
    }
}

void picture_add_cloud(picture *p, int panel, const pcgpu_cloud *cloud, const char *name) {
    pc_layer layer = {.kind = PC_POINTS, .cloud = *cloud, .borrowed = true, .drop_origin = p->job->session->options->drop_origin};
    add_layer(p, panel, &layer, name);
}

void picture_add_voxels(picture *p, int panel, const pcgpu_voxels *v, const char *name) {
    const double *size = p->job->session->options->voxelize.size;
    pc_layer layer = {.kind = PC_BOXES};
    if (p->status == PCGPU_OK) {
        p->status = pcgpu_cloud_create(p->job->session->context, v->count, 4, &layer.cloud);
    }
    memcpy(layer.cloud.offset, p->job->clouds[0].offset, sizeof layer.cloud.offset);
    for (int64_t i = 0; i < v->count && p->status == PCGPU_OK; i++) {
        float *to = layer.cloud.data + 4 * i;
        for (int k = 0; k < 3; k++) { /* coords are batch z y x */
            to[k] = (float)(v->range[k] - layer.cloud.offset[k] + ((double)v->coords[4 * i + 3 - k] + 0.5) * size[k]);
            layer.half[k] = (float)(0.5 * size[k]);
        }
        to[3] = (float)v->counts[i];
    }
    snprintf(layer.cloud.names[3], PCGPU_NAME_SIZE, "count");
    add_layer(p, panel, &layer, name);
}

/* Draws a panel into its columns of the whole. */
static pcgpu_status draw_panel(picture *p, int panel, const pc_view *view, pc_picture *whole) {
    pcgpu_context *context = p->job->session->context;
    pc_scene *scene = &p->panels[panel];
    pc_picture part = {0};
    pcgpu_status status = pc_scene_paint(context, scene, pc_scene_default_paint(scene), PC_VIRIDIS);
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
    *whole = (pc_picture){.width = panels * PANEL_WIDTH, .height = PANEL_HEIGHT};
    whole->rgb = malloc((size_t)3 * PANEL_WIDTH * PANEL_HEIGHT * (size_t)panels);
    status = status == PCGPU_OK && !whole->rgb ? PCGPU_ERROR_MEMORY : status;
    for (int i = panels - 1; i >= 0 && status == PCGPU_OK; i--) {
        view_settle_up(s, &p->panels[i]);
        p->panels[i].up = p->panels[panels - 1].up;
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
    status = status == PCGPU_OK ? pc_picture_write(j->session->context, job_stream(j, "picture"), "the picture", &whole) : status;
    if (status != PCGPU_OK) {
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
