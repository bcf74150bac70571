/* Colour maps, colours of classes and files. */
#include "scene.h"

/* 33 of the 256 colours of the published tables, linear between them: within 2/255 of them.
 * viridis: N. Smith and S. van der Walt, matplotlib 1.5, CC0. turbo: A. Mikhailov, Google, 2019. */
enum { KNOTS = 33 };
static const uint32_t viridis[KNOTS] = {
    0x440154, 0x470d60, 0x48186a, 0x482374, 0x472d7b, 0x453781, 0x424086, 0x3e4989, 0x3b528b, 0x375b8d, 0x33638d,
    0x2f6b8e, 0x2c728e, 0x297a8e, 0x26828e, 0x23898e, 0x21918c, 0x1f978b, 0x1f9f88, 0x21a685, 0x27ad81, 0x31b57b,
    0x3dbc74, 0x4cc26c, 0x5cc863, 0x6ece58, 0x81d34d, 0x95d840, 0xaadc32, 0xc0df25, 0xd5e21a, 0xeae51a, 0xfde725};
static const uint32_t turbo[KNOTS] = {
    0x30123b, 0x392a73, 0x4040a2, 0x4456c7, 0x466be3, 0x4680f6, 0x4294ff, 0x37a8fa, 0x28bceb, 0x1ccdd8, 0x18ddc2,
    0x1fe9af, 0x32f298, 0x4ef97d, 0x6dfe62, 0x8bff4b, 0xa4fc3c, 0xb7f735, 0xcbed34, 0xdde037, 0xecd13a, 0xf7c13a,
    0xfdae35, 0xfe992c, 0xfb8122, 0xf56918, 0xec530f, 0xe14109, 0xd23105, 0xc12302, 0xac1701, 0x950d01, 0x7a0403};
static const uint32_t grey[2] = {0x000000, 0xffffff};

uint32_t pc_mix_colors(uint32_t a, uint32_t b, int part, int whole) {
    uint32_t out = 0;
    for (int shift = 0; shift < 24; shift += 8) {
        const int64_t x = a >> shift & 255, y = b >> shift & 255;
        out |= (uint32_t)((x * (whole - part) + y * part + whole / 2) / whole) << shift;
    }
    return out;
}

/* The darkest part of a table is left out, since it would not differ from the dark background. */
void pc_palette_fill(pc_colormap map, uint32_t palette[PC_PALETTE]) {
    static const struct {
        const uint32_t *knots;
        int pieces, skipped; /* of 1000 */
    } maps[] = {
        [PC_VIRIDIS] = {viridis, KNOTS - 1, 130}, [PC_TURBO] = {turbo, KNOTS - 1, 60}, [PC_GREY] = {grey, 1, 250}};
    const int skipped = maps[map].skipped, pieces = maps[map].pieces;
    const int whole = (PC_PALETTE - 1) * 1000;
    for (int i = 0; i < PC_PALETTE; i++) {
        const int at = (skipped * (PC_PALETTE - 1) + i * (1000 - skipped)) * pieces, piece = at / whole;
        palette[i] = piece == pieces
                         ? maps[map].knots[pieces]
                         : pc_mix_colors(maps[map].knots[piece], maps[map].knots[piece + 1], at % whole, whole);
    }
}

/* The first two, orange and blue, are those that registrations of Open3D are shown in. Twelve, then lighter and darker
 * ones. */
uint32_t pc_class_color(int i) {
    static const uint32_t colors[] = {0xffb000, 0x2aa5f5, 0x59d68f, 0xf2648c, 0xb892ff, 0xf4e04d,
                                      0x37d5d6, 0xff7f50, 0xa3c14a, 0xe6a5d8, 0x8fb0d9, 0xcaa472};
    enum { COLORS = sizeof colors / sizeof colors[0] };
    const uint32_t color = colors[(unsigned)i % COLORS];
    const unsigned shade = (unsigned)i / COLORS % (PC_CLASS_COLORS / COLORS);
    return shade == 0 ? color : pc_mix_colors(color, shade == 1 ? 0xffffff : 0, 45, 100);
}
