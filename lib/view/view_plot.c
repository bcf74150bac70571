/* Charts: axes from zero with round ticks, curves, levels and a legend above them that hides nothing. */
#include "context.h"
#include "plot.h"
#include "view_draw.h"

#include <stdio.h>
#include <stdlib.h>

enum { WHITE = 0xf2f4f6, PALE = 0xa8b0ba, AXIS = 0x6b7680, GRID = 0x2b333c, COLUMNS = 2, MOST_TICKS = 20 };

/* Below it a value is the rounding of a zero. */
#define LEAST 1e-9

typedef struct axis {
    double high, step;
    float from, length; /* pixels; of y upwards */
} axis;

typedef struct panel {
    pc_picture *picture;
    const pc_chart *chart;
    float x, y, width, height, text; /* all of it, and the height of a letter */
    axis across, up;
} panel;

static bool is_value(double v) {
    return v - v == 0;
}

static uint32_t curve_color(int i) {
    return pc_class_color(i);
}

static uint32_t level_color(const pc_chart *c, int i) {
    return pc_class_color(c->curve_count + 1 + i);
}

/* ---- axes -------------------------------------------------------------------------------------------------------- */

static void find_limits(panel *p) {
    const pc_chart *c = p->chart;
    double x = 0, y = 0;
    for (int i = 0; i < c->curve_count; i++) {
        for (int64_t k = 0; k < c->curves[i].count; k++) {
            if (is_value(c->curves[i].y[k])) {
                x = c->curves[i].x[k] > x ? c->curves[i].x[k] : x;
                y = c->curves[i].y[k] > y ? c->curves[i].y[k] : y;
            }
        }
    }
    for (int i = 0; i < c->level_count; i++) {
        y = c->levels[i].value > y ? c->levels[i].value : y;
    }
    p->across.high = x > LEAST ? x : 1;
    p->up.high = y > LEAST ? 1.05 * y : 1;
    p->across.step = round_length(p->across.high / 4);
    p->up.step = round_length(p->up.high / 3);
}

static float place(const axis *a, double value) {
    return a->from + a->length * (float)(value / a->high);
}

static void tick_text(const axis *a, int i, char *out, size_t size) {
    int digits = 0;
    for (double step = a->step; step < 0.99 && digits < 6; step *= 10) {
        digits++;
    }
    const bool plain = a->step > 1e-5 && a->high < 1e7;
    snprintf(out, size, plain ? "%.*f" : "%.*g", plain ? digits : 3, i * a->step);
}

/* The ticks of an axis end where the axis does, also an endless one. */
static bool has_tick(const axis *a, int i) {
    return i <= MOST_TICKS && i * a->step <= a->high * 1.000001;
}

/* The widest number of the axis upwards decides where the other one begins. */
static void place_axes(panel *p) {
    char text[48];
    const float h = p->text;
    float widest = 0;
    for (int i = 0; has_tick(&p->up, i); i++) {
        tick_text(&p->up, i, text, sizeof text);
        const float width = text_width(h, text);
        widest = width > widest ? width : widest;
    }
    p->across.from = p->x + widest + 2.2f * h;
    p->across.length = p->x + p->width - 2.5f * h - p->across.from;
    p->up.from = p->y + p->height - 5.0f * h;
    p->up.length = -(p->up.from - (p->y + 5.4f * h));
}

static void draw_axes(const panel *p) {
    char text[48];
    const pc_chart *c = p->chart;
    const float h = p->text, left = p->across.from, right = left + p->across.length, bottom = p->up.from;
    for (int i = 0; has_tick(&p->up, i); i++) {
        const float y = place(&p->up, i * p->up.step);
        tick_text(&p->up, i, text, sizeof text);
        fill_box(p->picture, left, y, right - left, 1, i ? GRID : AXIS);
        draw_text(p->picture, left - 0.8f * h - text_width(h, text), y + 0.5f * h, h, PALE, text);
    }
    for (int i = 0; has_tick(&p->across, i); i++) {
        const float x = place(&p->across, i * p->across.step);
        tick_text(&p->across, i, text, sizeof text);
        fill_box(p->picture, x, bottom + p->up.length, 1, -p->up.length, i ? GRID : AXIS);
        draw_text(p->picture, x - 0.5f * text_width(h, text), bottom + 1.8f * h, h, PALE, text);
    }
    snprintf(text, sizeof text, "%s [%s]", c->x_name, c->x_unit);
    draw_text(p->picture, left + 0.5f * (right - left - text_width(h, text)), bottom + 3.8f * h, h, WHITE, text);
}

/* ---- curves ------------------------------------------------------------------------------------------------------ */

static void draw_curve(const panel *p, const pc_curve *c, uint32_t color) {
    const float radius = 0.09f * p->text < 0.8f ? 0.8f : 0.09f * p->text;
    float before[2] = {0};
    bool has_before = false;
    for (int64_t i = 0; i < c->count; i++) {
        if (!is_value(c->y[i])) {
            has_before = false;
            continue;
        }
        const float at[2] = {place(&p->across, c->x[i]), place(&p->up, c->y[i])};
        if (c->marks) {
            draw_stroke(p->picture, at, at, 0.35f * p->text, color);
        }
        /* of many poses, those that do not leave their pixel are left out */
        if (has_before && fabsf(at[0] - before[0]) < 0.4f && fabsf(at[1] - before[1]) < 0.4f) {
            continue;
        }
        draw_stroke(p->picture, has_before ? before : at, at, radius, color);
        memcpy(before, at, sizeof before);
        has_before = true;
    }
}

static float draw_entry(const panel *p, float x, float y, uint32_t color, const char *name) {
    const float h = p->text;
    fill_box(p->picture, x, y - 0.62f * h, 1.8f * h, 0.25f * h < 2 ? 2 : 0.25f * h, color);
    return x + 2.4f * h + draw_text(p->picture, x + 2.4f * h, y, h, PALE, name) + 1.6f * h;
}

static void draw_levels(const panel *p) {
    const pc_chart *c = p->chart;
    char text[64];
    float x = p->across.from;
    const float y = p->y + 3.9f * p->text;
    for (int i = 0; i < c->curve_count; i++) {
        x = c->curves[i].count > 0 ? draw_entry(p, x, y, curve_color(i), c->curves[i].name) : x;
    }
    for (int i = 0; i < c->level_count; i++) {
        if (is_value(c->levels[i].value)) {
            fill_box(p->picture, p->across.from, place(&p->up, c->levels[i].value), p->across.length, 1,
                     level_color(c, i));
            snprintf(text, sizeof text, "%s %.4g", c->levels[i].name, c->levels[i].value);
            x = draw_entry(p, x, y, level_color(c, i), text);
        }
    }
}

static void draw_panel(panel *p) {
    char title[128];
    const pc_chart *c = p->chart;
    find_limits(p);
    place_axes(p);
    snprintf(title, sizeof title, "%s [%s]", c->title, c->unit);
    draw_text(p->picture, p->across.from, p->y + 1.8f * p->text, p->text, WHITE, title);
    draw_axes(p);
    draw_levels(p);
    for (int i = 0; i < c->curve_count; i++) {
        draw_curve(p, &c->curves[i], curve_color(i));
    }
}

pcgpu_status pc_plot(pcgpu_context *context, const char *caption, const pc_chart *charts, int count, int width,
                     int height, pc_picture *picture) {
    const pc_view size = {.width = width, .height = height};
    const float h = text_height(&size), top = 3.4f * h;
    const int rows = (count + COLUMNS - 1) / COLUMNS;
    *picture =
        (pc_picture){.width = width, .height = height, .rgb = malloc((size_t)3 * (size_t)width * (size_t)height)};
    if (!picture->rgb) {
        return pc_fail_memory(context, (uint64_t)3 * (uint64_t)width * (uint64_t)height, "the picture");
    }
    fill_box(picture, 0, 0, (float)width, (float)height, BACKGROUND);
    draw_text(picture, 1.5f * h, 2.5f * h, h, WHITE, caption);
    for (int i = 0; i < count; i++) {
        panel p = {.picture = picture, .chart = &charts[i], .text = h};
        p.width = (float)width / COLUMNS;
        p.height = ((float)height - top) / (float)rows;
        p.x = 1.5f * h + p.width * (float)(i % COLUMNS);
        p.y = top + p.height * (float)(i / COLUMNS);
        p.width -= 1.5f * h;
        draw_panel(&p);
    }
    return PCGPU_OK;
}
