/* Configurations of mmdetection3d. Its Config (mmengine/config) defines the inheritance: dicts override those of the
 * base key by key; all else is replaced. */
#include "mmdet3d.h"
#include "python_config.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 16, MOST_KEYS = 5, MOST_SEARCHES = 10000 };

typedef struct reader {
    option_values *options;
    reason *why;
    python_file *files[MOST_FILES]; /* the open ones; the first is that of --config */
    int count;
    int searches; /* in bases: lists that name a file again and again multiply */
} reader;

/* A value and its file. */
typedef struct value {
    const python_file *file;
    const python_node *node;
} value;

typedef enum outcome { FOUND, ABSENT, FAILED } outcome;

static bool wrong_code(const reader *r, value at, const char *key) {
    return python_wrong(
        at.file, at.node, r->why,
        "%s depends on code, and no code is run; write its value as a literal into a copy of the file, or "
        "give the options of voxelize",
        key);
}

/* ---- inheritance ------------------------------------------------------------------------------------------------- */

/* The open file of a base, which is relative to the folder of its heir. NULL: an error. */
static const python_file *open_base(reader *r, const python_file *heir, const python_node *name) {
    const char *path = python_path(heir), *slash = strrchr(path, '/');
    const int folder = name->text[0] == '/' || !slash ? 0 : (int)(slash + 1 - path);
    const size_t size = (size_t)folder + strlen(name->text) + 1;
    char *full = malloc(size);
    reason inner;
    const python_file *file = NULL;
    if (!full) {
        refuse(r->why, "%s: out of memory", path);
        return NULL;
    }
    snprintf(full, size, "%.*s%s", folder, path, name->text);
    for (int i = 0; i < r->count && !file; i++) {
        file = strcmp(python_path(r->files[i]), full) == 0 ? r->files[i] : NULL;
    }
    if (!file && r->count == MOST_FILES) {
        python_wrong(heir, name, r->why, "more than %d files inherit from each other; leave some out", MOST_FILES);
    } else if (!file && !(file = r->files[r->count] = python_open(full, &inner))) {
        python_wrong(heir, name, r->why, "its base is not read: %s", inner.text);
    } else if (file == r->files[r->count]) {
        r->count++;
    }
    free(full);
    return file;
}

static outcome find(reader *r, const python_file *file, const char *const *keys, int depth, value *found);

/* Searches in a base of a file, which `name` names. */
static outcome find_in_base(reader *r, const python_file *file, const python_node *name, const char *const *keys,
                            int depth, value *found) {
    if (name->kind != PYTHON_STRING || depth == MOST_FILES) {
        python_wrong(file, name, r->why,
                     name->kind == PYTHON_STRING
                         ? "files inherit from each other in a circle; leave this out"
                         : "_base_ is a name of a file, or a list of names; write it as a literal");
        return FAILED;
    }
    if (r->searches++ == MOST_SEARCHES) {
        python_wrong(file, name, r->why, "files inherit from each other in too many paths; leave some out");
        return FAILED;
    }
    const python_file *base = open_base(r, file, name);
    return base ? find(r, base, keys, depth + 1, found) : FAILED;
}

/* Finds the nested keys, which NULL ends, in a file, else in its bases. */
static outcome find(reader *r, const python_file *file, const char *const *keys, int depth, value *found) {
    const python_node *node = python_value(file, keys[0]), *base = python_value(file, "_base_");
    int i = 1;
    for (; node && keys[i]; i++) {
        const python_node *erases = python_key(node, "_delete_");
        if (node->kind == PYTHON_CODE) {
            wrong_code(r, (value){file, node}, keys[i - 1]);
            return FAILED;
        }
        const bool replaces =
            node->kind != PYTHON_DICT || (erases && strcmp(erases->text ? erases->text : "", "True") == 0);
        node = python_key(node, keys[i]);
        if (!node && replaces) {
            return ABSENT;
        }
    }
    if (node) {
        *found = (value){file, node};
        return node->kind != PYTHON_CODE || wrong_code(r, *found, keys[i - 1]) ? FOUND : FAILED;
    }
    if (base && base->kind == PYTHON_LIST) {
        outcome o = ABSENT;
        for (const python_item *b = base->items; b && o == ABSENT; b = b->next) {
            o = find_in_base(r, file, b->value, keys, depth, found);
        }
        return o;
    }
    return base ? find_in_base(r, file, base, keys, depth, found) : ABSENT;
}

/* Finds `key` in the dict at `path`, whose last place is free; without a key the dict itself. */
static outcome find_key(reader *r, const char *const *path, const char *key, value *found) {
    const char *keys[MOST_KEYS + 1] = {0};
    int n = 0;
    for (; path[n]; n++) {
        keys[n] = path[n];
    }
    keys[n] = key;
    return find(r, r->files[0], keys, 0, found);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static bool given(const reader *r, const char *option) {
    return r->options->source[option_index(option_by_name(option, FOR_VOXELIZE))] == FROM_COMMAND_LINE;
}

static bool set_text(reader *r, const char *option, const char *text) {
    reason inner;
    const char *kept = options_keep(r->options, text);
    return (kept && option_set(r->options, option_by_name(option, FOR_VOXELIZE), kept, FROM_FILE, &inner)) ||
           refuse(r->why, "%s: %s: %s", python_path(r->files[0]), option, kept ? inner.text : "out of memory");
}

/* Sets an option to a number, or to a list of numbers. */
static bool set(reader *r, const char *option, const char *key, value v) {
    char text[512] = "";
    const python_item one = {.value = v.node};
    size_t n = 0;
    reason inner;
    for (const python_item *i = v.node->kind == PYTHON_LIST ? v.node->items : &one; i; i = i->next) {
        if (i->value->kind == PYTHON_CODE) {
            return wrong_code(r, (value){v.file, i->value}, key);
        }
        if (i->value->kind != PYTHON_NUMBER || n + strlen(i->value->text) + 2 > sizeof text) {
            return python_wrong(v.file, i->value, r->why, "%s: a number or a list of numbers is expected here", key);
        }
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? "," : "", i->value->text);
    }
    const char *kept = options_keep(r->options, text);
    return (kept && option_set(r->options, option_by_name(option, FOR_VOXELIZE), kept, FROM_FILE, &inner)) ||
           python_wrong(v.file, v.node, r->why, "%s: %s", key, kept ? inner.text : "out of memory");
}

/* The voxel layer of the model: its path; NULL when it is absent or `why` has an error. */
static const char *const *find_layer(reader *r, value *layer, outcome *o) {
    static const char *const paths[][MOST_KEYS] = {
        {"model", "data_preprocessor", "voxel_layer"}, {"model", "voxel_layer"}, {"model", "pts_voxel_layer"}};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        *o = find(r, r->files[0], paths[i], 0, layer);
        if (*o != ABSENT) {
            return *o == FOUND ? paths[i] : NULL;
        }
    }
    return NULL;
}

/* Sets an option from a key of the voxel layer. The key may be missing when the command line has the option. */
static bool set_required(reader *r, const char *const *layer, value at, const char *key, const char *option) {
    value v;
    outcome o = find_key(r, layer, key, &v);
    return o == FOUND ? set(r, option, key, v)
                      : o == ABSENT && (given(r, option) ||
                                        python_wrong(at.file, at.node, r->why,
                                                     "no %s in voxel_layer; add it, or give --%s", key, option));
}

/* A limit, of which -1 is dynamic voxelization: max_num_points, or the one of max_voxels for the split. */
static bool read_limit(reader *r, const char *const *layer, value at, const char *key, const char *option,
                       bool *dynamic) {
    value v;
    outcome o = find_key(r, layer, key, &v);
    if (o == FOUND && v.node->kind == PYTHON_LIST && strcmp(key, "max_voxels") == 0) {
        const python_item *train = v.node->items, *test = train ? train->next : NULL;
        if (!test || test->next) {
            return python_wrong(v.file, v.node, r->why, "max_voxels is a number, or two: (train, test)");
        }
        v.node = (r->options->split == SPLIT_TRAIN ? train : test)->value;
    }
    if (o == FOUND && v.node->kind == PYTHON_NUMBER && strcmp(v.node->text, "-1") == 0) {
        *dynamic = true;
        return set_text(r, option, "0");
    }
    return o == FOUND ? set(r, option, key, v) : set_required(r, layer, at, key, option);
}

/* The voxel encoders of mmdet3d/models/voxel_encoders: the hard ones take voxels, coors and num_points, the dynamic
 * ones points as voxels and coors. */
static const struct {
    const char *name;
    bool dynamic;
} encoders[] = {{"PillarFeatureNet", false}, {"HardVFE", false},         {"HardSimpleVFE", false},
                {"DynamicVFE", true},        {"DynamicSimpleVFE", true}, {"DynamicPillarFeatureNet", true}};
enum { ENCODERS = sizeof encoders / sizeof encoders[0] };

static bool unknown_encoder(reader *r, value at) {
    char known[256] = "";
    for (size_t i = 0, n = 0; i < ENCODERS && n < sizeof known; i++) {
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", encoders[i].name);
    }
    return python_wrong(at.file, at.node, r->why,
                        "the voxel encoder %s is not known; those known are %s; give --voxelization hard when it takes "
                        "voxels, dynamic when it takes points",
                        at.node->text ? at.node->text : "here", known);
}

/* Checks the encoder against the voxelization, and takes its number of columns. */
static bool read_encoder(reader *r, bool dynamic) {
    static const char *const paths[2][MOST_KEYS] = {{"model", "voxel_encoder"}, {"model", "pts_voxel_encoder"}};
    static const char *const columns[] = {"in_channels", "num_features"};
    const char *const *path = paths[0];
    value type, number;
    outcome o = find_key(r, path, "type", &type);
    if (o == ABSENT) {
        path = paths[1];
        o = find_key(r, path, "type", &type);
    }
    if (o != FOUND) {
        return o == ABSENT;
    }
    int i = 0;
    while (i < ENCODERS && (type.node->kind != PYTHON_STRING || strcmp(type.node->text, encoders[i].name) != 0)) {
        i++;
    }
    if (i == ENCODERS && !given(r, "voxelization")) {
        return unknown_encoder(r, type);
    }
    if (i < ENCODERS && encoders[i].dynamic != dynamic && !given(r, "voxelization")) {
        return python_wrong(type.file, type.node, r->why, "%s takes %s, and voxel_type makes %s; correct one of them",
                            encoders[i].name, dynamic ? "voxels" : "points", dynamic ? "points" : "voxels");
    }
    for (int k = 0; k < 2; k++) {
        o = find_key(r, path, columns[k], &number);
        if (o == FOUND && number.node->kind == PYTHON_NUMBER) {
            r->options->wants_columns = atoi(number.node->text);
        }
    }
    return o != FAILED;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* voxel_type of the preprocessor: hard unless it is there. */
static bool read_type(reader *r, bool *dynamic) {
    static const char *const path[MOST_KEYS] = {"model", "data_preprocessor"};
    value type;
    const outcome o = find_key(r, path, "voxel_type", &type);
    if (o != FOUND) {
        return o == ABSENT;
    }
    const char *text = type.node->kind == PYTHON_STRING ? type.node->text : "here";
    *dynamic = *dynamic || strcmp(text, "dynamic") == 0;
    return strcmp(text, "hard") == 0 || strcmp(text, "dynamic") == 0 || given(r, "voxelization") ||
           python_wrong(type.file, type.node, r->why,
                        "the voxel_type %s is not supported; hard and dynamic are: give --voxelization", text);
}

static bool read_layer(reader *r) {
    value layer;
    outcome o;
    bool dynamic = false;
    const char *const *path = find_layer(r, &layer, &o);
    if (!path) {
        return o == ABSENT &&
               refuse(r->why,
                      "%s: no model.data_preprocessor.voxel_layer among the literals of this file and its "
                      "_base_; give the configuration of a model that takes voxels, whose values no code "
                      "computes",
                      python_path(r->files[0]));
    }
    if (!read_type(r, &dynamic) || !set_required(r, path, layer, "point_cloud_range", "range") ||
        !set_required(r, path, layer, "voxel_size", "voxel-size") ||
        !read_limit(r, path, layer, "max_num_points", "max-points", &dynamic) ||
        !read_limit(r, path, layer, "max_voxels", "max-voxels", &dynamic)) {
        return false;
    }
    if (!given(r, "voxelization") && !set_text(r, "voxelization", dynamic ? "dynamic" : "hard")) {
        return false;
    }
    if (dynamic && (!set_text(r, "max-points", "0") || !set_text(r, "max-voxels", "0"))) {
        return false;
    }
    return read_encoder(r, dynamic);
}

bool mmdet3d_is(const char *path) {
    const size_t n = strlen(path);
    return n > 3 && strcmp(path + n - 3, ".py") == 0;
}

bool mmdet3d_load(const char *path, const command_info *command, option_values *options, reason *why) {
    reader r = {.options = options, .why = why, .count = 1};
    if (command->bit != FOR_VOXELIZE) {
        return refuse(why, "%s: configurations in Python are those of mmdetection3d; pcgpu voxelize reads them", path);
    }
    r.files[0] = python_open(path, why);
    options->detector = true;
    bool good = r.files[0] && read_layer(&r);
    const bool own = given(&r, "layout") && options->layout == LAYOUT_PCGPU;
    if (good && own) {
        good = set_text(&r, "voxelization", "hard");
    } else if (good) {
        good = (given(&r, "layout") || set_text(&r, "layout", "mmdet3d")) &&
               (given(&r, "features") || set_text(&r, "features", "points"));
    }
    for (int i = 0; i < r.count; i++) {
        python_close(r.files[i]);
    }
    return good;
}
