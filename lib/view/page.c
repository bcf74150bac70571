/* Writes a scene as a page: chooses what fits, then the page around the descriptions and the data of the layers. */
#include "page.h"
#include "error.h"
#include "io.h"
#include "page_parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- what fits --------------------------------------------------------------------------------------------------- */

static bool is_mesh(const pc_layer *l) {
    return l->kind == PC_TRIANGLES;
}

/* Each cloud gets its part of the points; meshes are whole. */
static pcgpu_status choose(pcgpu_context *context, const pc_scene *scene, const char *color, page_layer *pages) {
    double points = 0, mesh_bytes = 0;
    const char *mesh = "";
    for (int i = 0; i < scene->count; i++) {
        const pc_layer *l = &scene->layers[i];
        points += is_mesh(l) ? 0 : (double)l->usable;
        mesh_bytes += is_mesh(l) ? (double)page_mesh_bytes(l) : 0;
        mesh = is_mesh(l) && !*mesh ? l->name : mesh;
    }
    const double part = points > PAGE_POINTS ? PAGE_POINTS / points : 1;
    const double rest = PAGE_BYTES - 8 * points * part, most_bytes = rest > PAGE_MESH ? rest : PAGE_MESH;
    if (mesh_bytes > most_bytes) {
        return pc_fail(
            context, PCGPU_ERROR_FORMAT,
            "%s: a page has at most %.0f MB of meshes and here are %.1f; fuse with a larger --voxel-size, or "
            "write a .png",
            mesh, most_bytes / 1e6, mesh_bytes / 1e6);
    }
    for (int i = 0; i < scene->count; i++) {
        page_layer *p = &pages[i];
        p->layer = &scene->layers[i];
        p->total = is_mesh(p->layer) ? p->layer->triangles : p->layer->usable;
        const int64_t most = (int64_t)(part * (double)p->layer->usable);
        PC_TRY(page_choose_rows(context, most > 1 ? most : 1, p));
    }
    for (int i = 0; i < scene->count; i++) {
        const page_layer *p = &pages[i];
        if (p->sampled) {
            pc_log(context, PCGPU_LOG_INFO, "%s: the page has %lld of %lld points", p->layer->name, (long long)p->count,
                   (long long)p->total);
        }
    }
    return page_choose_columns(context, scene, color, pages);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void write_colors(page_text *t, const char *name, const uint32_t *colors, int count) {
    fprintf(t->stream, "\"%s\":\"", name);
    for (int i = 0; i < count; i++) {
        fprintf(t->stream, "%06x", (unsigned)colors[i]);
    }
    fputs("\",", t->stream);
}

static const char *const maps[] = {"viridis", "turbo", "grey"}; /* by pc_colormap */

static void write_palettes(page_text *t) {
    uint32_t palette[PC_PALETTE];
    for (int i = 0; i < 3; i++) {
        pc_palette_fill((pc_colormap)i, palette);
        write_colors(t, maps[i], palette, PC_PALETTE);
    }
    for (int i = 0; i < PC_CLASS_COLORS; i++) {
        palette[i] = pc_class_color(i);
    }
    write_colors(t, "classes", palette, PC_CLASS_COLORS);
}

static void write_scene(page_text *t, const pc_scene *scene, const pc_page *page, const page_layer *pages) {
    static const char *const froms[] = {"iso", "iso", "top", "side", "front", "iso"};
    const pc_scale *s = &scene->scale;
    fprintf(t->stream, "{\"version\":\"%s\",\"up\":\"%s\",\"from\":\"%s\",\"map\":\"%s\",\"color\":", PCGPU_VERSION,
            pc_up_names[scene->up], froms[page->from], maps[page->map]);
    page_string(t, page->color);
    fputs(",\"pointSize\":", t->stream);
    page_number(t, page->point_size);
    if (s->used) {
        fputs(",\"limits\":[", t->stream);
        page_number(t, s->low);
        fputc(',', t->stream);
        page_number(t, s->high);
        fprintf(t->stream, ",%d,%d]", s->below, s->above);
    }
    fputs(",\"palettes\":{", t->stream);
    write_palettes(t);
    fputs("\"\":\"\"},\n\"labels\":[", t->stream);
    for (int i = 0; i < PC_LABELS; i++) {
        fprintf(t->stream, "%s[%d,\"%06x\",\"%s\"]", i ? "," : "", pc_labels[i].value, (unsigned)pc_labels[i].color,
                pc_labels[i].name);
    }
    fputs("],\n\"las\":[", t->stream);
    for (int i = 0; pc_las_class(i); i++) {
        fprintf(t->stream, "%s\"%s\"", i ? "," : "", pc_las_class(i));
    }
    fputs("],\n\"layers\":[", t->stream);
    for (int i = 0; i < scene->count; i++) {
        fputs(i ? ",\n" : "\n", t->stream);
        page_write_layer(t, &pages[i]);
    }
    fputs("\n]}", t->stream);
}

static void write_page(FILE *stream, const pc_scene *scene, const pc_page *page, const page_layer *pages) {
    page_text text = {.stream = stream};
    fwrite(pc_page_head, 1, pc_page_head_size, stream);
    fputs("<script type=\"application/json\" id=\"scene\">", stream);
    write_scene(&text, scene, page, pages);
    fputs("</script>\n", stream);
    for (int i = 0; i < scene->count; i++) {
        fprintf(stream, "<script type=\"text/plain\" id=\"layer%d\">", i);
        page_write_data(&text, &pages[i]);
        fputs("</script>\n", stream);
    }
    fwrite(pc_page_tail, 1, pc_page_tail_size, stream);
}

static void count_points(const pc_scene *scene, const page_layer *pages, pc_page_counts *counts) {
    *counts = (pc_page_counts){0, 0};
    for (int i = 0; i < scene->count; i++) {
        counts->points += scene->layers[i].usable;
        counts->shown += pages[i].count < pages[i].layer->usable ? pages[i].count : pages[i].layer->usable;
    }
}

pcgpu_status pc_page_write(pcgpu_context *context, FILE *stream, const char *name, const pc_scene *scene,
                           const pc_page *page, pc_page_counts *counts) {
    pc_c_locale locale;
    page_layer *pages = calloc((size_t)scene->count, sizeof *pages);
    if (!pages || !pc_enter_c_locale(&locale)) {
        free(pages);
        return pc_fail_memory(context, (uint64_t)scene->count * sizeof *pages, "the page");
    }
    int64_t usable = 0;
    for (int i = 0; i < scene->count; i++) {
        usable += scene->layers[i].usable;
    }
    const char *first = scene->layers[0].name;
    pcgpu_status status =
        scene->layers[0].kind == PC_IMAGE
            ? pc_fail(context, PCGPU_ERROR_FORMAT, "%s: a page shows a depth image as points; give --camera", first)
        : usable == 0 ? pc_fail(context, PCGPU_ERROR_FORMAT, "%s: no usable point to show; check the input", first)
                      : choose(context, scene, page->color, pages);
    if (status == PCGPU_OK) {
        write_page(stream, scene, page, pages);
        count_points(scene, pages, counts);
        status = ferror(stream)
                     ? pc_fail(context, PCGPU_ERROR_IO, "%s: cannot write the page; check the space of the disk", name)
                     : status;
    }
    for (int i = 0; i < scene->count; i++) {
        free(pages[i].rows);
    }
    free(pages);
    pc_leave_c_locale(&locale);
    return status;
}
