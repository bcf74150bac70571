/* Pictures as sixels (DEC VT340), for terminals that state in their attributes that they have them: bands of six rows,
 * and for each colour of a band the columns that have it. */
#include "view_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* ---- whether the terminal has them ------------------------------------------------------------------------------- */

enum { ANSWER_MS = 1000 };

/* Reads what the terminal answers, up to its last letter. */
static bool read_answer(int fd, char *text, size_t size) {
    struct pollfd from = {.fd = fd, .events = POLLIN};
    const double begin = seconds_now();
    size_t used = 0;
    while (used + 1 < size) {
        const int left = ANSWER_MS - (int)(1e3 * (seconds_now() - begin));
        if (left <= 0 || poll(&from, 1, left) <= 0 || read(fd, text + used, 1) != 1) {
            return false;
        }
        text[++used] = '\0';
        if (text[used - 1] == 'c' && strstr(text, "\033[?")) {
            return true;
        }
    }
    return false;
}

/* The primary device attributes (DA1): numbers after ESC [ ?, separated by semicolons; 4 is sixel. */
static bool ask(int fd) {
    static const char question[] = "\033[c";
    char text[128] = "";
    bool found = false;
    if (write(fd, question, sizeof question - 1) != (ssize_t)sizeof question - 1 ||
        !read_answer(fd, text, sizeof text)) {
        return false;
    }
    char *rest = NULL, *numbers = strstr(text, "\033[?") + 3;
    strtok_r(numbers, ";c", &rest); /* the first is the kind of the terminal */
    for (char *word; !found && (word = strtok_r(NULL, ";c", &rest));) {
        found = strcmp(word, "4") == 0;
    }
    return found;
}

bool terminal_has_sixels(void) {
    const char *name = ttyname(STDOUT_FILENO);
    const int fd = name ? open(name, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
    struct termios before, raw;
    const pid_t foreground = fd >= 0 ? tcgetpgrp(fd) : -1; /* -1: not the terminal of this session */
    bool found = false;
    if (fd >= 0 && (foreground == -1 || foreground == getpgrp()) && tcgetattr(fd, &before) == 0) {
        sigset_t all, mask; /* a signal must not leave the terminal without its echo */
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, &mask);
        raw = before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VMIN] = 1;
        raw.c_cc[VTIME] = 0;
        found = tcsetattr(fd, TCSANOW, &raw) == 0 && ask(fd);
        tcsetattr(fd, TCSANOW, &before);
        sigprocmask(SIG_SETMASK, &mask, NULL);
    }
    if (fd >= 0) {
        close(fd);
    }
    return found;
}

/* ---- the picture ------------------------------------------------------------------------------------------------- */

enum { COLORS = 256, BAND = 6 };

/* Eight steps of red and green, and four of blue. */
static int color_of(const uint8_t *p) {
    return (p[0] >> 5) << 5 | (p[1] >> 5) << 2 | p[2] >> 6;
}

/* A colour is the mean of the pixels that have it. */
static void print_colors(FILE *out, const uint8_t *rgb, size_t pixels) {
    int64_t sum[COLORS][3] = {{0}}, count[COLORS] = {0};
    for (size_t i = 0; i < pixels; i++, rgb += 3) {
        const int c = color_of(rgb);
        count[c]++;
        for (int k = 0; k < 3; k++) {
            sum[c][k] += rgb[k];
        }
    }
    for (int c = 0; c < COLORS; c++) {
        if (count[c] > 0) { /* in percent */
            const int64_t whole = 255 * count[c], *s = sum[c];
            fprintf(out, "#%d;2;%d;%d;%d", c, (int)((200 * s[0] + whole) / (2 * whole)),
                    (int)((200 * s[1] + whole) / (2 * whole)), (int)((200 * s[2] + whole) / (2 * whole)));
        }
    }
}

static void print_run(FILE *out, int length, int bits) {
    if (length > 3) {
        fprintf(out, "!%d", length);
    }
    for (int i = 0; i < (length > 3 ? 1 : length); i++) {
        fputc(63 + bits, out);
    }
}

/* The columns of a band that have a colour, as bits of its rows. */
static void print_columns(FILE *out, const uint8_t *rgb, int width, int rows, int color) {
    int run = 0, before = -1;
    fprintf(out, "#%d", color);
    for (int x = 0; x <= width; x++) {
        int bits = 0;
        for (int y = 0; y < rows && x < width; y++) {
            bits |= (color_of(rgb + 3 * (y * width + x)) == color) << y;
        }
        if (x == width || bits != before) {
            print_run(out, run, before);
            run = 0;
        }
        before = bits;
        run++;
    }
    fputc('$', out);
}

void terminal_print_sixels(FILE *out, const pc_picture *p) {
    fprintf(out, "\033Pq\"1;1;%d;%d", p->width, p->height);
    print_colors(out, p->rgb, (size_t)p->width * (size_t)p->height);
    for (int y = 0; y < p->height; y += BAND) {
        const uint8_t *band = p->rgb + (size_t)3 * (size_t)y * (size_t)p->width;
        const int rows = p->height - y < BAND ? p->height - y : BAND;
        bool here[COLORS] = {false};
        for (int i = 0; i < rows * p->width; i++) {
            here[color_of(band + 3 * i)] = true;
        }
        for (int c = 0; c < COLORS; c++) {
            if (here[c]) {
                print_columns(out, band, p->width, rows, c);
            }
        }
        fputc('-', out);
    }
    fputs("\033\\\n", out);
}
