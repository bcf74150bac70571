/* A picture in the terminal: half blocks in 24-bit colours, two pixels per character. */
#define _DEFAULT_SOURCE /* struct winsize */
#include "view_run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void terminal_size(int *width, int *height) {
    struct winsize size;
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    const int columns = known ? size.ws_col : 80, rows = known ? size.ws_row : 24;
    *width = columns < 16 ? 16 : columns > 400 ? 400 : columns;
    *height = 2 * (rows < 12 ? 9 : rows > 200 ? 197 : rows - 3); /* lines for the caption and the prompt */
}

bool terminal_has_colors(void) {
    const char *term = getenv("TERM"), *none = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0 && !(none && *none);
}

static void print_captions(FILE *out, const pc_scene *scene) {
    const pc_scale *scale = &scene->scale;
    for (int i = 0; i < scene->count; i++) {
        const pc_layer *l = &scene->layers[i];
        char caption[64];
        pc_layer_caption(l, caption, sizeof caption);
        if (scene->count > 1 && l->paint == PC_PAINT_FLAT) {
            fprintf(out, "\033[38;2;%d;%d;%dm\u2588\u2588\033[0m ", (int)(l->color >> 16), (int)(l->color >> 8 & 255), (int)(l->color & 255));
        }
        print_shown(out, l->name);
        fprintf(out, "  %s%s", caption, i + 1 < scene->count ? "   " : "");
    }
    if (scale->used) {
        fprintf(out, "   %s %.4g ", scale->name, scale->low);
        for (int i = 0; i < 16; i++) {
            const uint32_t c = scale->palette[i * 17];
            fprintf(out, "\033[38;2;%d;%d;%dm\u2588", (int)(c >> 16), (int)(c >> 8 & 255), (int)(c & 255));
        }
        fprintf(out, "\033[0m %.4g %s", scale->high, scale->unit);
    }
    fputc('\n', out);
}

void terminal_print(FILE *out, const pc_scene *scene, const pc_picture *p) {
    for (int y = 0; y + 1 < p->height; y += 2) {
        const uint8_t *upper = p->rgb + (size_t)3 * (size_t)y * (size_t)p->width, *lower = upper + (size_t)3 * (size_t)p->width;
        for (int x = 0; x < p->width; x++) {
            const uint8_t *a = upper + 3 * x, *b = lower + 3 * x;
            const bool same = x > 0 && memcmp(a, a - 3, 3) == 0 && memcmp(b, b - 3, 3) == 0;
            if (!same) {
                fprintf(out, "\033[38;2;%d;%d;%d;48;2;%d;%d;%dm", a[0], a[1], a[2], b[0], b[1], b[2]);
            }
            fputs("\u2580", out);
        }
        fputs("\033[0m\n", out);
    }
    print_captions(out, scene);
}
