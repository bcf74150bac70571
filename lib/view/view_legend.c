/* What stands on a picture: the names of the layers, the scale of colours, the scale bar. */
#include "shown.h"
#include "view_draw.h"

#include <stdio.h>

enum { MOST_NAMES = 8, NAMELESS = 16 /* classes */, WHITE = 0xf2f4f6, PALE = 0xa8b0ba };

float text_height(const pc_view *view) {
    const float by_height = (float)view->height * 0.0115f, by_width = (float)view->width * 0.009f;
    const float size = by_height < by_width ? by_height : by_width;
    return size < 8.0f ? 8.0f : size;
}

static bool is_plain(const pc_view *view) {
    return view->plain || view->width < 240 || view->height < 160;
}

void legend_margins(const pc_scene *scene, const pc_view *view, float margins[4]) {
    const float h = text_height(view);
    const float edge = 0.02f * (float)(view->width < view->height ? view->width : view->height);
    margins[0] = margins[1] = margins[2] = margins[3] = edge;
    if (!is_plain(view)) {
        const int names = scene->count < 3 ? scene->count : 3;
        margins[2] += (2.2f + 1.9f * (float)(names - 1)) * h;
        margins[3] += 2.6f * h;
    }
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* 115384 as "115,384". */
void pc_with_commas(int64_t n, char *out, size_t size) {
    char digits[32];
    const int length = snprintf(digits, sizeof digits, "%lld", (long long)n);
    size_t used = 0;
    for (int i = 0; i < length && used + 2 < size; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            out[used++] = ',';
        }
        out[used++] = digits[i];
    }
    out[used] = '\0';
}

void pc_layer_caption(const pc_layer *l, char *out, size_t size) {
    char number[48];
    const bool mesh = l->kind == PC_TRIANGLES && l->triangles > 0;
    pc_with_commas(mesh ? l->triangles : l->usable, number, sizeof number);
    const char *what = mesh                  ? "triangle"
                       : l->kind == PC_LINE  ? "pose"
                       : l->kind == PC_BOXES ? "voxel"
                       : l->kind == PC_IMAGE ? "pixel"
                                             : "point";
    snprintf(out, size, "%s %s%s", number, what, (mesh ? l->triangles : l->usable) == 1 ? "" : "s");
}

/* With digits for a hundredth of the width of the scale. */
static void scale_text(double value, double width, bool whole, const char *unit, char *out, size_t size) {
    int digits = 0;
    width = whole && width < 100 ? 100 : width;
    for (double step = width / 100; step < 0.5 && digits < 6; step *= 10) {
        digits++;
    }
    const double large = value < 0 ? -value : value;
    const bool plain = large < 1e7 && (width >= 1e-4 || width == 0);
    snprintf(out, size, plain ? "%.*f%s%s" : "%.*g%s%s",
             plain ? (width == 0   ? 2
                      : digits > 1 ? digits - 1
                                   : digits)
                   : 4,
             value, *unit ? " " : "", unit);
}

double round_length(double most) {
    double length = 1;
    while (length > most && length > 1e-12) {
        length /= 10;
    }
    while (length * 10 <= most && length < 1e300) {
        length *= 10;
    }
    return 5 * length <= most ? 5 * length : 2 * length <= most ? 2 * length : length;
}

static void length_text(double metres, char *out, size_t size) {
    const bool kilometres = metres >= 1000, small = metres < 0.01, middle = metres < 1;
    snprintf(out, size, "%.6g %s",
             kilometres ? metres / 1000
             : small    ? metres * 1000
             : middle   ? metres * 100
                        : metres,
             kilometres ? "km"
             : small    ? "mm"
             : middle   ? "cm"
                        : "m");
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

void fill_box(pc_picture *p, float x, float y, float width, float height, uint32_t color) {
    const int x0 = x < 0 ? 0 : (int)(x + 0.5f), y0 = y < 0 ? 0 : (int)(y + 0.5f), x1 = (int)(x + width + 0.5f),
              y1 = (int)(y + height + 0.5f);
    for (int row = y0; row < y1 && row < p->height; row++) {
        for (int column = x0; column < x1 && column < p->width; column++) {
            uint8_t *rgb = p->rgb + 3 * ((size_t)row * (size_t)p->width + (size_t)column);
            rgb[0] = (uint8_t)(color >> 16);
            rgb[1] = (uint8_t)(color >> 8);
            rgb[2] = (uint8_t)color;
        }
    }
}

/* "..._7.ply #3fa2": characters without a glyph are left out, and such names differ by a hash (FNV-1a). */
static void drawable_name(const char *name, char *out, size_t size) {
    uint32_t hash = 2166136261u;
    size_t used = 0;
    bool missing = false, all = true;
    for (int bytes; *name && used + 12 < size; name += bytes) {
        const bool here = text_has_glyph(pc_code_at((const unsigned char *)name, &bytes));
        bytes = bytes > 0 ? bytes : 1;
        for (int i = 0; i < bytes; i++) {
            hash = (hash ^ (unsigned char)name[i]) * 16777619u;
        }
        if (here || !missing) {
            used += (size_t)snprintf(out + used, size - used, "%.*s", here ? bytes : 3, here ? name : "...");
        }
        missing = !here;
        all = all && here;
    }
    char mark[8] = "";
    if (!all) {
        snprintf(mark, sizeof mark, " #%04x", (hash ^ hash >> 16) & 0xffff);
    }
    snprintf(out + used, size - used, "%s", mark);
}

/* A name that is too long loses its middle. */
static void draw_name(const pc_view *view, pc_picture *p, float x, float y, float h, const pc_layer *l, bool swatch) {
    char caption[64], whole[2 * PC_LAYER_NAME], name[sizeof whole + 4];
    pc_layer_caption(l, caption, sizeof caption);
    drawable_name(l->name, whole, sizeof whole);
    snprintf(name, sizeof name, "%s", whole);
    const float width = 0.6f * (float)view->width;
    for (size_t n = strlen(whole), i; n > 12 && text_width(h, name) > width; n--) {
        for (i = strlen(whole) - n / 2; ((unsigned char)whole[i] & 0xc0) == 0x80; i++) {
        }
        int kept = (int)(n / 2);
        for (; ((unsigned char)whole[kept] & 0xc0) == 0x80; kept--) {
        }
        snprintf(name, sizeof name, "%.*s...%s", kept, whole, whole + i);
    }
    if (swatch) {
        fill_box(p, x, y - h, h, h, l->color);
        x += 1.7f * h;
    }
    x += draw_text(p, x, y, h, WHITE, name) + h;
    x += draw_text(p, x, y, h, PALE, caption) + h;
    if (l->kind == PC_LINE && l->usable > 1) {
        static const char *const ends[] = {"start", "end"};
        static const uint32_t colors[] = {FIRST_MARK, LAST_MARK};
        for (int i = 0; i < 2; i++) {
            const float at[2] = {x + 0.5f * h, y - 0.5f * h};
            draw_stroke(p, at, at, 0.42f * h, colors[i]);
            x += draw_text(p, x + 1.4f * h, y, h, PALE, ends[i]) + 2.4f * h;
        }
    }
}

static void draw_names(const pc_scene *scene, const pc_view *view, pc_picture *p, float edge, float h) {
    float y = edge + h;
    const int shown = scene->count > MOST_NAMES + 1 ? MOST_NAMES : scene->count;
    for (int i = 0; i < shown; i++, y += 1.9f * h) {
        const pc_layer *l = &scene->layers[i];
        draw_name(view, p, edge, y, h, l, scene->count > 1 && l->paint == PC_PAINT_FLAT);
    }
    if (shown < scene->count) {
        char more[48];
        snprintf(more, sizeof more, "and %d more", scene->count - shown);
        draw_text(p, edge, y, h, PALE, more);
    }
}

static void draw_scale(const pc_scene *scene, const pc_view *view, pc_picture *p, float edge, float h) {
    const pc_scale *s = &scene->scale;
    char low[48], high[48], texts[2][56];
    const bool whole = !*s->unit && floor(s->low) == s->low && floor(s->high) == s->high; /* counts and classes */
    const float width = 0.2f * (float)view->width, y = (float)view->height - edge - h;
    scale_text(s->low, s->high - s->low, whole, "", low, sizeof low);
    scale_text(s->high, s->high - s->low, whole, s->unit, high, sizeof high);
    snprintf(texts[0], sizeof texts[0], "%s%s", s->below ? "<= " : "", low);
    snprintf(texts[1], sizeof texts[1], "%s%s", s->above ? ">= " : "", high);
    const float right = (float)view->width - edge - text_width(h, texts[1]), left = right - width - 0.8f * h;
    for (int x = 0; x < (int)width; x++) {
        const int i = (int)((float)x * 255.0f / (width - 1.0f) + 0.5f);
        fill_box(p, left + (float)x, y, 1, h, s->palette[i < 255 ? i : 255]);
    }
    draw_text(p, right, y + h, h, WHITE, texts[1]);
    draw_text(p, left - text_width(h, texts[0]) - 0.5f * h, y + h, h, WHITE, texts[0]);
    draw_text(p, left, y - 0.8f * h, h, PALE, s->name);
}

static bool has_names(const pc_scene *scene) {
    const pc_classes kind = scene->classes[0].kind;
    return kind == PC_CLASSES_LAS || kind == PC_CLASSES_SEMANTIC;
}

/* The classes of most points and, where a third of the width holds them, their points. */
static void draw_classes(const pc_scene *scene, const pc_view *view, pc_picture *p, float edge, float h) {
    const float step = 1.6f * h, lowest = 0.9f * (float)view->height;
    const int space = (int)((lowest - edge - h) / step), named = scene->class_count > 0 && has_names(scene);
    const int most = named || space < NAMELESS ? space : NAMELESS;
    const int shown = scene->class_count < most ? scene->class_count : most;
    const int more = scene->class_count - shown + scene->more_classes;
    char names[PC_CLASSES_SHOWN][PCGPU_NAME_SIZE + 16], points[PC_CLASSES_SHOWN][32];
    float wide[2] = {0, 0}, y = edge + h;
    for (int i = 0; i < shown; i++) {
        pc_class_name(&scene->classes[i], names[i], sizeof names[i]);
        pc_with_commas(scene->classes[i].points, points[i], sizeof points[i]);
        wide[0] = fmaxf(wide[0], text_width(h, names[i]));
        wide[1] = fmaxf(wide[1], text_width(h, points[i]) + h);
    }
    wide[1] = wide[0] + wide[1] + 1.7f * h > (float)view->width / 3.0f ? 0 : wide[1];
    const float right = (float)view->width - edge, left = right - wide[0] - wide[1];
    const float high = step * (float)(shown - (more == 0)) + 2.0f * h;
    if (shown > 0) {
        fill_box(p, left - 2.2f * h, edge - 0.5f * h, wide[0] + wide[1] + 2.7f * h, high, BACKGROUND);
    }
    for (int i = 0; i < shown; i++, y += step) {
        const pc_class_count *c = &scene->classes[i];
        fill_box(p, left - 1.7f * h, y - h, h, h, pc_color_of_class(c->kind, (float)c->value));
        draw_text(p, left, y, h, WHITE, names[i]);
        if (wide[1] > 0) {
            draw_text(p, right - text_width(h, points[i]), y, h, PALE, points[i]);
        }
    }
    if (more > 0 && shown > 0) {
        snprintf(names[0], sizeof names[0], "and %d more", more);
        draw_text(p, left, y, h, PALE, names[0]);
    }
}

static void draw_scale_bar(const pc_view *view, pc_picture *p, float edge, float h) {
    char text[48];
    const double length = round_length(p->metres_per_pixel * 0.2 * (double)view->width);
    const float width = (float)(length / p->metres_per_pixel), y = (float)view->height - edge,
                thin = 0.18f * h < 2 ? 2 : 0.18f * h;
    length_text(length, text, sizeof text);
    fill_box(p, edge, y - thin, width, thin, WHITE);
    fill_box(p, edge, y - 0.7f * h, thin, 0.7f * h, WHITE);
    fill_box(p, edge + width - thin, y - 0.7f * h, thin, 0.7f * h, WHITE);
    draw_text(p, edge + 0.5f * (width - text_width(h, text)), y - 0.9f * h, h, WHITE, text);
}

void draw_legend(const pc_scene *scene, const pc_view *view, pc_picture *p) {
    if (is_plain(view)) {
        return;
    }
    const float h = text_height(view), edge = 1.5f * h;
    draw_names(scene, view, p, edge, h);
    draw_classes(scene, view, p, edge, h);
    if (scene->scale.used) {
        draw_scale(scene, view, p, edge, h);
    }
    if (p->metres_per_pixel > 0) {
        draw_scale_bar(view, p, edge, h);
    }
}
