/* Text of pictures: printable ASCII and the letters of Latin-1 in strokes, so that it is smooth at every size. The
 * letters were drawn for this file; a font file would make the bytes of a picture depend on the machine. */
#include "view_draw.h"

#include "shown.h"

/* The width of a letter, and then its strokes, separated by blanks: points of a digit x from the left and a hexadecimal
 * digit y from the top. Capitals go from 0 to 8, the line of x is 3, letters below the line end at 11. */
/* clang-format off */
static const char *const glyphs[] = {
    /*   ! " # */ "3", "2 1015 1718", "4 1012 3032", "6 2018 5048 0363 0565",
    /* $ % & ' */ "5 514010010314445557481807 3038", "6 6008 1001122110 5647586756",
    "6 68121120304142050718385665", "2 1012",
    /* ( ) * + */ "2 20020628", "2 00222608", "4 2125 0244 4204", "4 2327 0545",
    /* , - . / */ "2 17180a", "3 0535", "2 1718", "4 4008",
    /* 0 1 2 3 */ "5 104051574818070110", "5 123038", "5 0110405153 530858", "5 01104051534424 445557481807",
    /* 4 5 6 7 */ "5 48400656", "5 50000413435457481807", "5 4020020718485755441405", "5 005028",
    /* 8 9 : ; */ "5 104051534455574818070514030110 1444", "5 1838565140100103144453", "2 1314 1718", "2 1314 17180a",
    /* < = > ? */ "4 420548", "4 0444 0646", "4 024508", "4 01103041422425 2728",
    /* @ A B C */ "6 464433231415263645576662402002062858", "6 083068 1555",
    "5 0444555748080040515344", "5 5140200206284857",
    /* D E F G */ "5 00305256380800", "5 50000858 0444", "5 500008 0444", "5 51402002062848575434",
    /* H I J K */ "5 0008 5058 0454", "2 1018", "4 4047381807", "5 0008 5005 2358",
    /* L M N O */ "4 000848", "6 0800356068", "5 08005850", "6 204062664828060220",
    /* P Q R S */ "5 08004051544505", "6 204062664828060220 4668",
    "5 08004051544505 3558", "5 514010010314445557481807",
    /* T U V W */ "6 0060 3038", "6 000628486660", "6 003860", "8 0028426880",
    /* X Y Z [ */ "5 0058 5008", "6 003460 3438", "5 00500858", "2 20000828",
    /* \ ] ^ _ */ "4 0048", "2 00202808", "4 032043", "5 0959",
    /* ` a b c */ "2 1022", "4 13334448 45150607182846", "4 0008 0523334447382806", "4 4433130407183847",
    /* d e f g */ "4 4048 4523130407182846", "4 05454433130407183847",
    "3 30201118 0333", "4 4523130407182846 434a3b1b0a",
    /* h i j k */ "4 0008 0523334448", "2 1318 1011", "2 232a1b0b 2021", "4 0008 4306 2548",
    /* l m n o */ "2 101728", "6 0308 0413233438 3443536468", "4 0308 0523334448", "4 133344473818070413",
    /* p q r s */ "4 030b 0523334447382806", "4 434b 4523130407182846", "3 0308 052333", "4 44331304153647381807",
    /* t u v w */ "3 11172838 0333", "4 0307182846 4348", "4 032843", "6 0318345863",
    /* x y z { */ "4 0348 4308", "4 0328 431b0b", "4 03430848", "2 20111304151728",
    /* | } ~   */ "2 101a", "2 00111324151708", "4 05143544"};

/* U+00C0 to U+00FF: the letter and its accent, or the digit of an own glyph. */
static const char letters[] = "AAAAAA0CEEEEIIII1NOOOOO2OUUUUY34aaaaaa5ceeee99996nooooo7ouuuuy8y",
                  accents[] = "`'^~:o ,`'^:`'^: ~`'^~: /`'^:'  `'^~:o ,`'^:`'^: ~`'^~: /`'^:' :";
static const char *const own_glyphs[] = {"7 0840 4048 4070 4474 4878 2545", "5 00305256380800 0434", "4 0347 0743",
    "5 0008 023243453606", "4 080211203142333445463728", "8 13334448 45150607182846 45858473534447587887",
    "4 133344473818070413 4420 1230", "5 0555 2324 2728", "4 000b 0523334447382806", "2 1318"};
static const struct { char accent; const char *strokes; } accent_glyphs[] = {{'`', "1022"}, {'\'', "3012"},
    {'^', "122032"}, {'~', "0211213241"}, {':', "1011 3031"}, {'o', "2011223120"}, {',', "282a1b"}, {'/', "0942"}};
/* clang-format on */

enum { GLYPHS = sizeof glyphs / sizeof glyphs[0], MOST_STROKES = 40 };

typedef struct stroke {
    float x0, y0, x1, y1;
} stroke;

typedef struct glyph {
    float width; /* with the space to the next letter */
    int count;
    stroke strokes[MOST_STROKES];
} glyph;

static float digit(char c) {
    return (float)(c >= 'a' ? c - 'a' + 10 : c - '0');
}

/* Adds strokes, moved by x and y. Sizes in pixels, from the start of the baseline. */
static void add_strokes(glyph *g, float unit, const char *text, float dx, float dy) {
    bool continues = false;
    float x = 0, y = 0;
    while (text[0]) {
        if (text[0] == ' ') {
            continues = false;
            text++;
            continue;
        }
        const float nx = (digit(text[0]) + dx) * unit, ny = (digit(text[1]) - 8.0f + dy) * unit;
        if (continues && g->count < MOST_STROKES) {
            g->strokes[g->count++] = (stroke){x, y, nx, ny};
        }
        x = nx;
        y = ny;
        continues = true;
        text += 2;
    }
}

bool text_has_glyph(unsigned code) {
    return (code >= ' ' && code < ' ' + GLYPHS) || (code >= 0xc0 && code <= 0xff);
}

/* A character without a glyph is a question mark. */
static void load(glyph *g, float height, unsigned code) {
    const float unit = height / 8.0f;
    char letter = text_has_glyph(code) && code < 0xc0 ? (char)code : '?', accent = ' ';
    const char *text = glyphs[letter - ' '];
    if (code >= 0xc0 && code <= 0xff) {
        letter = letters[code - 0xc0];
        accent = accents[code - 0xc0];
        text = letter >= '0' && letter <= '9' ? own_glyphs[letter - '0'] : glyphs[letter - ' '];
    }
    const float width = digit(text[0]);
    g->width = (width + 2.2f) * unit;
    g->count = 0;
    add_strokes(g, unit, text + (text[1] ? 2 : 1), 0, 0);
    for (size_t i = 0; i < sizeof accent_glyphs / sizeof *accent_glyphs; i++) {
        if (accent_glyphs[i].accent == accent) {
            const bool capital = letter >= 'A' && letter <= 'Z' && accent != ',' && accent != '/';
            add_strokes(g, unit, accent_glyphs[i].strokes, 0.5f * (width - 4), capital ? -3 : 0);
        }
    }
}

/* The next character, and past its bytes of UTF-8. */
static unsigned next_character(const char **text) {
    int bytes;
    const unsigned code = pc_code_at((const unsigned char *)*text, &bytes);
    *text += bytes > 0 ? bytes : 1;
    return code;
}

float text_width(float height, const char *text) {
    float width = 0;
    while (*text) {
        glyph g;
        load(&g, height, next_character(&text));
        width += g.width;
    }
    return width;
}

static float distance_to(const stroke *s, float x, float y) {
    const float dx = s->x1 - s->x0, dy = s->y1 - s->y0, px = x - s->x0, py = y - s->y0, length = dx * dx + dy * dy;
    float t = length > 0.0f ? (px * dx + py * dy) / length : 0.0f;
    t = t < 0.0f ? 0.0f : t > 1.0f ? 1.0f : t;
    const float ex = px - t * dx, ey = py - t * dy;
    return sqrtf(ex * ex + ey * ey);
}

static float clamp01(float v) {
    return v < 0.0f ? 0.0f : v > 1.0f ? 1.0f : v;
}

static void blend(uint8_t *rgb, uint32_t color, float part) {
    for (int k = 0; k < 3; k++) {
        const float to = (float)(color >> (16 - 8 * k) & 255), from = (float)rgb[k];
        rgb[k] = (uint8_t)(from + (to - from) * part + 0.5f);
    }
}

void draw_stroke(pc_picture *p, const float from[2], const float to[2], float radius, uint32_t color) {
    const stroke s = {from[0], from[1], to[0], to[1]};
    const float edge = radius + 1.0f;
    const int x0 = (int)(fminf(s.x0, s.x1) - edge), x1 = (int)(fmaxf(s.x0, s.x1) + edge) + 1;
    const int y0 = (int)(fminf(s.y0, s.y1) - edge), y1 = (int)(fmaxf(s.y0, s.y1) + edge) + 1;
    for (int row = y0 < 0 ? 0 : y0; row < y1 && row < p->height; row++) {
        for (int column = x0 < 0 ? 0 : x0; column < x1 && column < p->width; column++) {
            const float part = clamp01(radius + 0.5f - distance_to(&s, (float)column + 0.5f, (float)row + 0.5f));
            if (part > 0.0f) {
                blend(p->rgb + 3 * ((size_t)row * (size_t)p->width + (size_t)column), color, part);
            }
        }
    }
}

static void draw_glyph(pc_picture *p, const glyph *g, float x, float y, float height, uint32_t color) {
    const float radius = height * 0.07f > 0.55f ? height * 0.07f : 0.55f, halo = radius + 0.16f * height;
    const int x0 = (int)(x - halo), x1 = (int)(x + g->width + halo) + 1;
    const int y0 = (int)(y - height - halo), y1 = (int)(y + 0.4f * height + halo) + 1;
    for (int row = y0 < 0 ? 0 : y0; row < y1 && row < p->height; row++) {
        for (int column = x0 < 0 ? 0 : x0; column < x1 && column < p->width; column++) {
            float d = 1e9f;
            for (int i = 0; i < g->count; i++) {
                const float other = distance_to(&g->strokes[i], (float)column + 0.5f - x, (float)row + 0.5f - y);
                d = other < d ? other : d;
            }
            uint8_t *rgb = p->rgb + 3 * ((size_t)row * (size_t)p->width + (size_t)column);
            if (d < halo + 0.5f) { /* a dark edge, so that text is legible on points */
                blend(rgb, BACKGROUND, 0.8f * clamp01(halo + 0.5f - d));
                blend(rgb, color, clamp01(radius + 0.5f - d));
            }
        }
    }
}

float draw_text(pc_picture *p, float x, float y, float height, uint32_t color, const char *text) {
    float at = x;
    while (*text) {
        glyph g;
        load(&g, height, next_character(&text));
        draw_glyph(p, &g, at, y, height, color);
        at += g.width;
    }
    return at - x;
}
