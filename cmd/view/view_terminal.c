/* A picture in the terminal: half blocks in 24-bit colours, two pixels per character, or where the terminal has kitty's
 * protocol of pictures the picture itself. */
#define _DEFAULT_SOURCE /* struct winsize */
#include "view_run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* https://sw.kovidgoyal.net/kitty/graphics-protocol; the names are those of terminals that have it. */
bool terminal_has_pictures(void) {
    const char *term = getenv("TERM");
    return term && (strcmp(term, "xterm-kitty") == 0 || strcmp(term, "xterm-ghostty") == 0);
}

static int within(int value, int low, int high) {
    return value < low ? low : value > high ? high : value;
}

/* Of the terminal, or 80 x 24. */
static struct winsize window(void) {
    struct winsize size;
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    return known ? size : (struct winsize){.ws_col = 80, .ws_row = 24};
}

/* With the lines of the command, the caption and the prompt it fills the terminal. */
void terminal_size(int *width, int *height) {
    const struct winsize size = window();
    const int columns = size.ws_col, rows = size.ws_row;
    if (terminal_has_pictures()) {
        const bool pixels = size.ws_xpixel > 0 && size.ws_ypixel > 0;
        *width = within(pixels ? size.ws_xpixel : 8 * columns, 320, 2560);
        *height = within(pixels ? size.ws_ypixel / rows * (rows - 3) : 16 * (rows - 3), 240, 1440);
        return;
    }
    *width = within(columns, 16, 400);
    *height = 2 * within(rows - 3, 9, 197);
}

bool terminal_has_colors(void) {
    const char *term = getenv("TERM"), *none = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0 && !(none && *none);
}

/* Returns the columns, `most` if a name of 8 characters fits: of a longer one the end. */
static int print_caption(FILE *out, const pc_layer *l, bool swatch, int most) {
    const char *name = l->name;
    char caption[64];
    int columns = 0;
    pc_layer_caption(l, caption, sizeof caption);
    most = within(most - (int)strlen(caption) - 2 - (swatch ? 3 : 0), 8, PC_LAYER_NAME);
    for (const char *c = name; *c; c++) {
        columns += (*c & 0xc0) != 0x80;
    }
    const bool cut = columns > most;
    for (; columns > most - 1 && cut && *name; columns -= (*name & 0xc0) != 0x80) {
        name++;
    }
    while ((*name & 0xc0) == 0x80) {
        name++;
    }
    if (swatch) {
        fprintf(out, "\033[38;2;%d;%d;%dm\u2588\u2588\033[0m ", (int)(l->color >> 16), (int)(l->color >> 8 & 255),
                (int)(l->color & 255));
    }
    fputs(cut ? "\u2026" : "", out);
    return print_shown(out, name) + cut + fprintf(out, "  %s", caption) + (swatch ? 3 : 0);
}

/* As many classes as fit into the columns, with their points. */
static void print_classes(FILE *out, const pc_scene *scene, int left) {
    for (int i = 0; i < scene->class_count; i++) {
        const pc_class_count *c = &scene->classes[i];
        const uint32_t color = pc_color_of_class(c->kind, (float)c->value);
        char name[64], points[32];
        pc_class_name(c, name, sizeof name);
        pc_with_commas(c->points, points, sizeof points);
        left -= (int)(strlen(name) + strlen(points)) + 7;
        if (left < 0) {
            break;
        }
        fprintf(out, "   \033[38;2;%d;%d;%dm\u2588\u2588\033[0m ", (int)(color >> 16), (int)(color >> 8 & 255),
                (int)(color & 255));
        print_shown(out, name);
        fprintf(out, " %s", points);
    }
}

/* One line. */
static void print_captions(FILE *out, const pc_scene *scene) {
    const pc_scale *scale = &scene->scale;
    char low[96] = "", high[64] = "";
    int left = window().ws_col;
    if (scale->used) {
        snprintf(low, sizeof low, "   %s %s%.4g ", scale->name, scale->below ? "<= " : "", scale->low);
        snprintf(high, sizeof high, " %s%.4g %s", scale->above ? ">= " : "", scale->high, scale->unit);
        left -= (int)(strlen(low) + strlen(high)) + 16;
    }
    for (int i = 0; i < scene->count; i++) {
        static const char more[] = "   and 1000 more";
        const pc_layer *l = &scene->layers[i];
        const int space = left - (i + 1 < scene->count ? (int)strlen(more) : 0) - (i > 0 ? 3 : 0);
        text_stream text;
        text_open(&text);
        const int columns = print_caption(text.stream, l, scene->count > 1 && l->paint == PC_PAINT_FLAT,
                                          i > 0 ? 2 * PC_LAYER_NAME : space);
        text_flush(&text);
        const bool fits = i == 0 || columns <= space;
        fputs(i > 0 ? "   " : "", out);
        if (fits) {
            fputs(text.data, out);
        } else {
            fprintf(out, "and %d more", scene->count - i);
        }
        text_free(&text);
        if (!fits) {
            break;
        }
        left -= columns + (i > 0 ? 3 : 0);
    }
    print_classes(out, scene, left);
    if (scale->used) {
        fputs(low, out);
        for (int i = 0; i < 16; i++) {
            const uint32_t c = scale->palette[i * 17];
            fprintf(out, "\033[38;2;%d;%d;%dm\u2588", (int)(c >> 16), (int)(c >> 8 & 255), (int)(c & 255));
        }
        fprintf(out, "\033[0m%s", high);
    }
    fputc('\n', out);
}

static void print_base64(FILE *out, const unsigned char *p, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        const unsigned bits =
            (unsigned)p[i] << 16 | (i + 1 < n ? (unsigned)p[i + 1] << 8 : 0) | (i + 2 < n ? p[i + 2] : 0);
        for (size_t k = 0; k < 4; k++) {
            fputc(i + k > n ? '=' : digits[bits >> (18 - 6 * k) & 63], out);
        }
    }
}

pcgpu_status terminal_show(pcgpu_context *context, FILE *out, const pc_picture *picture) {
    enum { PIECE = 3072 }; /* 4096 digits, the most of one sequence */
    text_stream png;
    text_open(&png);
    const pcgpu_status status = pc_picture_write(context, png.stream, "terminal", picture);
    text_flush(&png);
    if (status == PCGPU_OK) {
        for (size_t at = 0; at < png.size; at += PIECE) {
            const size_t n = png.size - at < PIECE ? png.size - at : PIECE;
            fprintf(out, "\033_G%sm=%d;", at == 0 ? "a=T,f=100," : "", at + n < png.size);
            print_base64(out, (const unsigned char *)png.data + at, n);
            fputs("\033\\", out);
        }
        fputc('\n', out);
    }
    text_free(&png);
    return status;
}

void terminal_print(FILE *out, const pc_scene *scene, const pc_picture *p) {
    for (int y = 0; y + 1 < p->height; y += 2) {
        const uint8_t *upper = p->rgb + (size_t)3 * (size_t)y * (size_t)p->width,
                      *lower = upper + (size_t)3 * (size_t)p->width;
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
