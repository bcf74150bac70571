/* Parts of the renderer: quantiles, functions without libm, discs, bounds, colours. tests/cli/view.sh: pictures. */
#include "unit.h"
#include "view_draw.h"

enum { COUNT = 5000 };

static uint32_t next(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static int compare(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void test_quantile(void **state) {
    static const double fractions[] = {0, 0.01, 0.3, 0.5, 0.99, 1};
    float values[COUNT], sorted[COUNT];
    uint32_t seed = 7;
    for (int i = 0; i < COUNT; i++) {
        const float wide = (float)next(&seed) - 8388608.0f;
        values[i] = i % 3 == 0 ? wide : i % 3 == 1 ? wide * 1e-40f : (float)(next(&seed) % 4) - 2.0f;
    }
    values[3] = INFINITY;
    values[4] = -INFINITY;
    memcpy(sorted, values, sizeof sorted);
    qsort(sorted, COUNT, sizeof *sorted, compare);
    for (size_t i = 0; i < sizeof fractions / sizeof *fractions; i++) {
        for (int n = 1; n <= COUNT; n += n == 1 ? COUNT - 1 : 1) {
            const float wanted = n == 1 ? values[0] : sorted[(int)(fractions[i] * (COUNT - 1) + 0.5)];
            assert_true(pc_quantile(values, n, fractions[i]) == wanted);
        }
    }
    assert_true(pc_quantile(values, 0, 0.5) == 0.0f);
}

static void test_math(void **state) {
    float before = -INFINITY;
    for (float x = 1e-6f; x < 1e9f; x *= 1.003f) {
        const float y = pc_ln(x);
        assert_true(fabsf(y - logf(x)) < 0.006f && y > before);
        before = y;
    }
    for (int i = 0; i < 720; i++) {
        const float angle = (float)i * 0.0087266f - 3.1f, y = 5.0f * sinf(angle), x = 5.0f * cosf(angle);
        assert_true(fabsf(pc_atan2(y, x) - atan2f(y, x)) < 2e-5f);
    }
    assert_true(pc_atan2(0.0f, 0.0f) == 0.0f);
}

static int count_drawn(const canvas *c) {
    int n = 0;
    for (int i = 0; i < c->width * c->height; i++) {
        n += c->keys[i] != 0;
    }
    return n;
}

static void test_discs(void **state) {
    enum { SIDE = 100, GUARD = 64 };
    static uint64_t memory[GUARD + SIDE * SIDE + GUARD];
    canvas c = {.width = SIDE, .height = SIDE, .keys = memory + GUARD};
    for (int size = 1; size <= SPLAT_MOST; size++) {
        for (int shared = 0; shared < 2; shared++) {
            memset(memory, 0, sizeof memory);
            c.shared = shared;
            splat(&c, 50.3f, 49.8f, size, 9);
            const double area = size <= 3 ? size * size : 0.7854 * size * size;
            assert_true(fabs(count_drawn(&c) - area) <= 0.15 * area + 0.1);
        }
        /* around the edges: nothing outside, and a quarter of it at a corner */
        for (float x = -70; x <= 170; x += 7.5f) {
            splat(&c, x, 0, size, 9);
            splat(&c, 0, x, size, 9);
            splat(&c, x, SIDE, size, 9);
            splat(&c, SIDE, x, size, 9);
        }
        for (int i = 0; i < GUARD; i++) {
            assert_true(memory[i] == 0 && memory[GUARD + SIDE * SIDE + i] == 0);
        }
    }
    splat(&c, NAN, 1, 5, 9);
    splat(&c, 1e30f, -1e30f, 5, 9);
}

/* The nearest fragment wins, then the lower layer, in any order. */
static void test_keys(void **state) {
    assert_true(key_of(1.0f, 0, 0) > key_of(1.0001f, 0, 0xffffff));
    assert_true(key_of(1.0f, 3, 0) > key_of(1.0f, 4, 0xffffff));
    assert_true(key_of(1e-30f, 0, 0) > key_of(1e30f, 0, 0) && key_of(3e38f, 300, 0) > 0);
}

static void test_scene(void **state) {
    pcgpu_context *context;
    pc_scene scene = {.up = PC_UP_Z};
    pc_layer layer = {.kind = PC_POINTS, .drop_origin = true};
    const float rows[6][4] = {{1, 2, 3, 0},   {-4, 5, 7, 1},    {0, 0, 0, 2},
                              {NAN, 0, 0, 3}, {1e30f, 0, 0, 4}, {2, -8, 5, NAN}};
    assert_int_equal(pcgpu_open(NULL, &context), PCGPU_OK);
    assert_int_equal(pcgpu_cloud_create(context, 6, 4, &layer.cloud), PCGPU_OK);
    memcpy(layer.cloud.data, rows, sizeof rows);
    layer.cloud.offset[2] = 100;
    layer.cloud.data[10] = -100; /* with the offset at the origin */
    assert_int_equal(pc_scene_add(context, &scene, &layer), PCGPU_OK);
    const pc_layer *l = &scene.layers[0];
    assert_int_equal(l->usable, 3);
    assert_int_equal(l->non_finite, 1);
    assert_true(l->low[0] == -4 && l->high[0] == 2 && l->low[1] == -8 && l->high[1] == 5 && l->low[2] == 3 &&
                l->high[2] == 7);
    assert_int_equal(pc_scene_paint(context, &scene, "height", PC_VIRIDIS), PCGPU_OK);
    assert_true(scene.scale.low == 103 && scene.scale.high == 107);
    const pc_painter height = pc_painter_of(&scene, l);
    assert_int_equal(pc_color_of(&height, pc_layer_row(l, 0), 0), scene.scale.palette[0]);
    assert_int_equal(pc_color_of(&height, pc_layer_row(l, 1), 1), 0xfde725); /* the last colour of viridis */
    assert_int_equal(pc_scene_paint(context, &scene, "intensity", PC_TURBO), PCGPU_OK);
    const pc_painter intensity = pc_painter_of(&scene, l);
    assert_int_equal(pc_color_of(&intensity, pc_layer_row(l, 5), 5), 0x808080); /* NaN */
    assert_int_equal(pc_scene_paint(context, &scene, "red", PC_GREY), PCGPU_ERROR_FORMAT);
    pc_scene_free(&scene);
    pcgpu_close(context);
}

/* Colours, names and points of classes, by the name of the column. */
static void test_classes(void **state) {
    static const struct {
        const char *column;
        bool instance; /* beside it, which makes it SemanticKITTI's */
        uint32_t colors[4];
        const char *names[4];
    } cases[] = {
        {"cluster", false, {0xffb000, 0x2aa5f5, 0x9aa0a6, 0xf2648c}, {"cluster 0", "cluster 1", "noise", "cluster 3"}},
        {"instance",
         false,
         {0x9aa0a6, 0xffb000, 0x808080, 0x59d68f},
         {"instance 0", "instance 1", "instance -1", "instance 3"}},
        {"class",
         false,
         {0x9aa0a6, 0xffb000, 0x808080, 0x59d68f},
         {"never classified", "unclassified", "class -1", "low vegetation"}},
        {"classification",
         false,
         {0x9aa0a6, 0xffb000, 0x808080, 0x59d68f},
         {"never classified", "unclassified", "classification -1", "low vegetation"}},
        {"label", false, {0x9aa0a6, 0xffb000, 0x808080, 0x59d68f}, {"label 0", "label 1", "label -1", "label 3"}},
        {"label", true, {0x9aa0a6, 0xff0000, 0x808080, 0x59d68f}, {"unlabeled", "outlier", "label -1", "label 3"}},
    };
    static const float values[] = {0, 1, -1, 3, -1, -1, NAN, 2e6f};
    enum { ROWS = sizeof values / sizeof *values };
    pcgpu_context *context;
    assert_int_equal(pcgpu_open(NULL, &context), PCGPU_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pc_scene scene = {.up = PC_UP_Z};
        pc_layer layer = {.kind = PC_POINTS};
        assert_int_equal(pcgpu_cloud_create(context, ROWS, 5, &layer.cloud), PCGPU_OK);
        for (int k = 0; k < ROWS; k++) {
            memcpy(layer.cloud.data + 5 * k, (float[]){0, 0, (float)k, values[k], 0}, 5 * sizeof(float));
        }
        snprintf(layer.cloud.names[3], PCGPU_NAME_SIZE, "%s", cases[i].column);
        snprintf(layer.cloud.names[4], PCGPU_NAME_SIZE, "%s", cases[i].instance ? "instance" : "c4");
        layer.cloud.types[3] = layer.cloud.types[4] = PCGPU_INT32;
        assert_int_equal(pc_scene_add(context, &scene, &layer), PCGPU_OK);
        assert_int_equal(pc_scene_paint(context, &scene, cases[i].column, PC_VIRIDIS), PCGPU_OK);
        const pc_painter painter = pc_painter_of(&scene, &scene.layers[0]);
        assert_false(scene.scale.used);
        assert_int_equal(scene.class_count, 4); /* of 3 points, then by the value; the last two rows have no class */
        for (int k = 0; k < 4; k++) {
            const pc_class_count c = {scene.layers[0].classes, (int)values[k], 0, cases[i].column};
            char name[64];
            assert_int_equal(pc_color_of(&painter, pc_layer_row(&scene.layers[0], k), k), cases[i].colors[k]);
            pc_class_name(&c, name, sizeof name);
            assert_string_equal(name, cases[i].names[k]);
            assert_int_equal(scene.classes[k].points, k == 0 ? 3 : 1);
            assert_int_equal(scene.classes[k].value, k == 0 ? -1 : k == 1 ? 0 : k == 2 ? 1 : 3);
        }
        assert_int_equal(pc_color_of(&painter, pc_layer_row(&scene.layers[0], 6), 6), 0x808080);
        assert_int_equal(pc_color_of(&painter, pc_layer_row(&scene.layers[0], 7), 7), 0x808080);
        assert_int_equal(pc_scene_paint(context, &scene, "height", PC_VIRIDIS), PCGPU_OK);
        assert_int_equal(scene.class_count, 0);
        pc_scene_free(&scene);
    }
    for (int i = 0; i < PC_CLASS_COLORS; i++) { /* distinct, then again */
        for (int k = 0; k < i; k++) {
            assert_true(pc_class_color(i) != pc_class_color(k));
        }
        assert_int_equal(pc_class_color(i), pc_class_color(i + PC_CLASS_COLORS));
    }
    pcgpu_close(context);
}

/* The list of classes is full: those of fewer points are counted. */
static void test_many_classes(void **state) {
    enum { CLASSES = 100, ROWS = CLASSES * (CLASSES + 1) / 2 };
    pcgpu_context *context;
    pc_scene scene = {.up = PC_UP_Z};
    pc_layer layer = {.kind = PC_POINTS};
    int64_t row = 0;
    assert_int_equal(pcgpu_open(NULL, &context), PCGPU_OK);
    assert_int_equal(pcgpu_cloud_create(context, ROWS, 4, &layer.cloud), PCGPU_OK);
    for (int c = 0; c < CLASSES; c++) { /* class c has as many points as (37 c) % 100 + 1 */
        for (int k = 0; k <= 37 * c % CLASSES; k++, row++) {
            memcpy(layer.cloud.data + 4 * row, (float[]){(float)row, 0, 0, (float)c}, 4 * sizeof(float));
        }
    }
    assert_int_equal(row, ROWS);
    snprintf(layer.cloud.names[3], PCGPU_NAME_SIZE, "cluster");
    assert_int_equal(pc_scene_add(context, &scene, &layer), PCGPU_OK);
    assert_int_equal(pc_scene_paint(context, &scene, "cluster", PC_VIRIDIS), PCGPU_OK);
    assert_int_equal(scene.class_count, PC_CLASSES_SHOWN);
    assert_int_equal(scene.more_classes, CLASSES - PC_CLASSES_SHOWN);
    for (int k = 0; k < PC_CLASSES_SHOWN; k++) {
        assert_int_equal(scene.classes[k].points, CLASSES - k);
        assert_int_equal(37 * scene.classes[k].value % CLASSES, CLASSES - 1 - k);
    }
    pc_scene_free(&scene);
    pcgpu_close(context);
}

UNIT_GROUP(view, NULL, NULL, TEST(test_quantile), TEST(test_math), TEST(test_discs), TEST(test_keys), TEST(test_scene),
           TEST(test_classes), TEST(test_many_classes))
