/* Configurations of OpenPCDet. */
#include "openpcdet.h"
#include "config.h"
#include "inheritance.h"
#include "voxelize.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct reader {
    inheritance files;
    option_values *options;
} reader;

/* ---- values -------------------------------------------------------------------------------------------------- */

static bool given(const reader *r, const char *option) {
    return r->options->source[option_index(option_by_name(option, FOR_VOXELIZE))] == FROM_COMMAND_LINE;
}

/* The command line asks for the arrays of pcgpu. */
static bool keeps_layout(const reader *r) {
    return given(r, "layout") && voxelize_own(r->options)->layout == LAYOUT_PCGPU;
}

static bool set(reader *r, const char *option, const char *key, place value) {
    return config_set(value.document, r->options, option_by_name(option, FOR_VOXELIZE), key, value.node);
}

static bool set_text(reader *r, const char *option, const char *text) {
    reason why;
    return option_set(r->options, option_by_name(option, FOR_VOXELIZE), text, FROM_FILE, &why);
}

/* Sets an option from a key of an entry. The key may be missing when the command line has the option. */
static bool set_required(reader *r, const char *option, const char *key, place entry) {
    place value = own_value(entry, key);
    if (value.node) {
        return set(r, option, key, value);
    }
    return given(r, option) ||
           document_wrong(entry.document, entry.node, "no %s here; add it, or give --%s", key, option);
}

/* A switch as YAML 1.1 spells it. */
static bool is_true_text(const char *text) {
    static const char *const yes[] = {"true", "yes", "on", NULL};
    bool on = false;
    for (int i = 0; text && yes[i]; i++) {
        on = on || strcasecmp(text, yes[i]) == 0;
    }
    return on;
}

static bool is_true(place value) {
    return is_true_text(document_text(value.node));
}

static bool read_range(reader *r) {
    place value;
    search result = inherited_find_data(&r->files, "POINT_CLOUD_RANGE", &value);
    if (result == FOUND) {
        return set(r, "range", "POINT_CLOUD_RANGE", value);
    }
    return given(r, "range") || (result == ABSENT && document_wrong(r->files.root.document, r->files.root.node,
                                                                    "no POINT_CLOUD_RANGE; add it, or give --range"));
}

/* The value of a step for the split: {train: 16384, test: -1}. */
static const char *of_split(const reader *r, place step, const char *key) {
    place values = own_value(step, key);
    const char *which = voxelize_own(r->options)->split == SPLIT_TRAIN ? "train" : "test";
    const bool both = values.node && values.node->type == YAML_MAPPING_NODE;
    place value = both ? own_value(values, which) : values;
    return value.node ? document_text(value.node) : NULL;
}

/* A step of DATA_PROCESSOR before the voxels: shuffling is done, sampling is not. */
static bool read_step(reader *r, place step, const char *name) {
    const char *shuffles = strcmp(name, "shuffle_points") == 0 ? of_split(r, step, "SHUFFLE_ENABLED") : NULL;
    const char *points = strcmp(name, "sample_points") == 0 ? of_split(r, step, "NUM_POINTS") : NULL;
    const int count = points ? atoi(points) : 0;
    voxelize_own(r->options)->wants_points = count > 0 ? count : voxelize_own(r->options)->wants_points;
    return !shuffles || !is_true_text(shuffles) || given(r, "shuffle") || set_text(r, "shuffle", "true");
}

/* The entry of DATA_PROCESSOR for voxels; *dynamic: the entry without limits; *good: the steps before it were read. */
static place voxel_entry(reader *r, place processors, bool *dynamic, bool *good) {
    place entry = {.document = processors.document};
    if (processors.node->type != YAML_SEQUENCE_NODE) {
        return entry;
    }
    for (yaml_node_item_t *i = processors.node->data.sequence.items.start; i < processors.node->data.sequence.items.top;
         i++) {
        entry.node = document_node(processors.document, *i);
        place name = own_value(entry, "NAME");
        const char *text = name.node ? document_text(name.node) : NULL;
        *dynamic = text && strcmp(text, "transform_points_to_voxels_placeholder") == 0;
        if (*dynamic || (text && strcmp(text, "transform_points_to_voxels") == 0)) {
            return entry;
        }
        *good = *good && (!text || read_step(r, entry, text));
    }
    entry.node = NULL;
    return entry;
}

/* MAX_NUMBER_OF_VOXELS: {train: 16000, test: 40000} */
static bool read_max_voxels(reader *r, place entry) {
    const char *key = "MAX_NUMBER_OF_VOXELS",
               *which = voxelize_own(r->options)->split == SPLIT_TRAIN ? "train" : "test";
    place limits = own_value(entry, key);
    if (!limits.node || limits.node->type != YAML_MAPPING_NODE) {
        return set_required(r, "max-voxels", key, entry);
    }
    place limit = own_value(limits, which);
    if (limit.node) {
        return set(r, "max-voxels", key, limit);
    }
    return given(r, "max-voxels") ||
           document_wrong(limits.document, limits.node, "%s has no number for %s; add it, or give --max-voxels", key,
                          which);
}

/* *placeholder: the entry of DATA_PROCESSOR has no limits. */
static bool read_processor(reader *r, bool *placeholder) {
    place processors, entry = {0};
    bool dynamic = false, good = true,
         settled = given(r, "voxel-size") && given(r, "max-points") && given(r, "max-voxels");
    search result = inherited_find_data(&r->files, "DATA_PROCESSOR", &processors);
    if (result == FOUND) {
        entry = voxel_entry(r, processors, &dynamic, &good);
    }
    if (!good) {
        return false;
    }
    if (!entry.node && settled) {
        return true;
    }
    if (!entry.node) {
        place at = result == FOUND ? processors : r->files.root;
        return result != FAILED &&
               document_wrong(at.document, at.node,
                              "no transform_points_to_voxels in %s DATA_PROCESSOR; give --voxel-size, --max-points and "
                              "--max-voxels, or the configuration of a model that takes voxels",
                              result == FOUND ? "this" : "a");
    }
    *placeholder = dynamic;
    place flips = own_value(entry, "DOUBLE_FLIP");
    if (flips.node && !keeps_layout(r) && is_true(flips)) {
        return document_wrong(
            flips.document, flips.node,
            "DOUBLE_FLIP makes voxels of four mirrored clouds, which is not done here; set it to False");
    }
    if (!set_required(r, "voxel-size", "VOXEL_SIZE", entry)) {
        return false;
    }
    return dynamic ? set_text(r, "max-points", "0") && set_text(r, "max-voxels", "0")
                   : set_required(r, "max-points", "MAX_POINTS_PER_VOXEL", entry) && read_max_voxels(r, entry);
}

/* A switch of the model's VFE, `missing` when it does not stand there. */
static search find_switch(reader *r, const char *key, bool missing, bool *on) {
    const char *const path[] = {"MODEL", "VFE", key, NULL};
    place value;
    search result = inherited_find(&r->files, r->files.root, path, &value);
    *on = result == FOUND ? is_true(value) : result == ABSENT && missing;
    return result;
}

/* The voxel feature encoders (VFE) of pcdet/models/backbones_3d/vfe, by the names of its table and of the classes:
 * MeanVFE and PillarVFE take voxels, voxel_coords and voxel_num_points; the dynamic ones take points. */
static const struct {
    const char *name;
    bool dynamic;
} encoders[] = {{"PillarVFE", false},
                {"MeanVFE", false},
                {"DynPillarVFE", true},
                {"DynamicPillarVFE", true},
                {"DynMeanVFE", true},
                {"DynamicMeanVFE", true},
                {"DynamicPillarVFESimple2D", true},
                {"DynamicVoxelVFE", true}};
enum { ENCODERS = sizeof encoders / sizeof encoders[0] };

static bool unknown_encoder(place at, const char *name) {
    char known[256] = "";
    for (size_t i = 0, n = 0; i < ENCODERS && n < sizeof known; i++) {
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", encoders[i].name);
    }
    return document_wrong(at.document, at.node,
                          "the VFE %s is not known; those known are %s; give voxelization hard when it takes voxels, "
                          "dynamic when it takes points, or --layout pcgpu",
                          name, known);
}

/* The features of the layout pcgpu that are those that the encoder begins with. */
static bool read_features(reader *r, place at, const char *name) {
    if (strcmp(name, "MeanVFE") == 0 || strcmp(name, "DynMeanVFE") == 0 || strcmp(name, "DynamicMeanVFE") == 0) {
        return set_text(r, "features", "mean");
    }
    bool distance = false, absolute = true; /* an eleventh value, or seven without x, y and z */
    bool pillar = strcmp(name, "PillarVFE") == 0;
    if (pillar && (find_switch(r, "WITH_DISTANCE", false, &distance) == FAILED ||
                   find_switch(r, "USE_ABSLOTE_XYZ", true, &absolute) == FAILED)) {
        return false;
    }
    if (!pillar || distance || !absolute) {
        return document_wrong(at.document, at.node,
                              "the features of %s%s are not supported; leave --layout pcgpu out for what it takes, or "
                              "give --features",
                              name,
                              distance   ? " with WITH_DISTANCE"
                              : absolute ? ""
                                         : " without USE_ABSLOTE_XYZ");
    }
    return set_text(r, "features", "pillar");
}

/* Which arrays: those of the model's encoder; without one, those of DATA_PROCESSOR. */
static bool read_encoder(reader *r, bool placeholder) {
    const char *const path[] = {"MODEL", "VFE", "NAME", NULL};
    const bool own = keeps_layout(r);
    const bool other = given(r, "features") && voxelize_own(r->options)->params.features != PCGPU_FEATURES_POINTS;
    place value;
    if (other || (own && given(r, "features"))) {
        return true;
    }
    search result = inherited_find(&r->files, r->files.root, path, &value);
    const char *name = result == FOUND ? document_text(value.node) : NULL;
    if (result == FAILED || own) {
        return result != FAILED && (!name || read_features(r, value, name));
    }
    int i = 0;
    while (name && i < ENCODERS && strcmp(name, encoders[i].name) != 0) {
        i++;
    }
    if (!given(r, "voxelization")) {
        if (name && i == ENCODERS) {
            return unknown_encoder(value, name);
        }
        const bool dynamic = name ? encoders[i].dynamic : placeholder;
        if (placeholder && !dynamic && !given(r, "max-points")) {
            return document_wrong(value.document, value.node,
                                  "%s takes voxels, and transform_points_to_voxels_placeholder in DATA_PROCESSOR makes "
                                  "none; write transform_points_to_voxels with its limits, or give --max-points",
                                  name);
        }
        if (!set_text(r, "voxelization", dynamic ? "dynamic" : "hard")) {
            return false;
        }
    }
    if (voxelize_own(r->options)->voxelization == VOXELIZATION_DYNAMIC &&
        (!set_text(r, "max-points", "0") || !set_text(r, "max-voxels", "0"))) {
        return false;
    }
    return (given(r, "layout") || set_text(r, "layout", "openpcdet")) && set_text(r, "features", "points");
}

/* The columns of points: OpenPCDet selects used_feature_list of src_feature_list, which its configurations have
 * equal. */
static bool read_columns(reader *r) {
    static const char *const keys[] = {"src_feature_list", "used_feature_list"};
    place lists[2];
    place encoding;
    r->files.may_lack_base = true;
    search result = inherited_find_data(&r->files, "POINT_FEATURE_ENCODING", &encoding);
    for (int i = 0; i < 2 && result == FOUND; i++) {
        lists[i] = own_value(encoding, keys[i]);
        result = lists[i].node && lists[i].node->type == YAML_SEQUENCE_NODE ? FOUND : ABSENT;
    }
    if (result != FOUND || voxelize_own(r->options)->layout == LAYOUT_PCGPU) {
        return result != FAILED;
    }
    const yaml_node_item_t *a = lists[0].node->data.sequence.items.start, *b = lists[1].node->data.sequence.items.start;
    const int64_t columns = lists[0].node->data.sequence.items.top - a;
    bool same = columns == lists[1].node->data.sequence.items.top - b;
    for (int64_t i = 0; i < columns && same; i++) {
        const char *x = document_text(document_node(lists[0].document, a[i]));
        const char *y = document_text(document_node(lists[1].document, b[i]));
        same = x && y && strcmp(x, y) == 0;
    }
    if (!same) {
        return document_wrong(
            lists[1].document, lists[1].node,
            "used_feature_list is not src_feature_list, and columns are not selected here; write inputs "
            "with the used columns and make the lists equal");
    }
    voxelize_own(r->options)->wants_columns = (int)(columns < 1000 ? columns : 1000);
    char text[16];
    snprintf(text, sizeof text, "%d", voxelize_own(r->options)->wants_columns);
    /* With sweeps the last column is their age, and the files have others. */
    const bool joins = given(r, "nuscenes") || given(r, "scans");
    return joins || columns == 4 || columns < 3 || columns > 16 || given(r, "fields") || set_text(r, "fields", text);
}

/* MAX_SWEEPS of nuScenes and Lyft: --sweeps, where the times and poses for it are given. */
static bool read_sweeps(reader *r) {
    place value;
    search result = inherited_find_data(&r->files, "MAX_SWEEPS", &value);
    const char *text = result == FOUND ? document_text(value.node) : NULL;
    voxelize_own(r->options)->wants_sweeps = text ? atoi(text) : 0;
    return result != FAILED && (!text || given(r, "sweeps") || !(given(r, "nuscenes") || given(r, "scans")) ||
                                set(r, "sweeps", "MAX_SWEEPS", value));
}

/* ---- the file ------------------------------------------------------------------------------------------------ */

bool openpcdet_is(const document *d) {
    static const char *const keys[] = {"DATA_CONFIG", "POINT_CLOUD_RANGE", "DATA_PROCESSOR", "_BASE_CONFIG_",
                                       "MODEL",       "CLASS_NAMES",       "DATASET",        NULL};
    const place root = {d, document_root(d)};
    for (int i = 0; root.node && keys[i]; i++) {
        if (own_value(root, keys[i]).node) {
            return true;
        }
    }
    return false;
}

/* Refuses keys of pcgpu, which would be ignored silently. */
static bool check_no_own_keys(place root) {
    for (yaml_node_pair_t *p = root.node->data.mapping.pairs.start; p < root.node->data.mapping.pairs.top; p++) {
        const yaml_node_t *node = document_node(root.document, p->key);
        const char *key = document_text(node);
        char name[64] = "";
        for (size_t i = 0; key && key[i] && i + 1 < sizeof name; i++) {
            name[i] = (char)(key[i] == '_' ? '-' : key[i]);
        }
        const option_row *o = option_by_name(name, FOR_VOXELIZE);
        if ((o && o->commands == FOR_VOXELIZE) || (key && command_by_name(key))) {
            return document_wrong(
                root.document, node,
                "%s is a key of pcgpu in a configuration of OpenPCDet; give it on the command line, or "
                "in another file with a second --config",
                key);
        }
    }
    return true;
}

bool openpcdet_read(const document *d, const command_info *command, option_values *options) {
    reader *r = heap_zeroed(1, sizeof *r);
    const yaml_node_t *root = document_root(d);
    r->files.root = (place){d, root};
    r->options = options;
    voxelize_own(options)->detector = true;
    bool placeholder = false;
    bool good = command->bit != FOR_VOXELIZE
                    ? document_wrong(d, root, "this is a configuration of OpenPCDet; pcgpu voxelize reads it")
                    : check_no_own_keys(r->files.root) && read_range(r) && read_processor(r, &placeholder) &&
                          read_encoder(r, placeholder) && read_columns(r) && read_sweeps(r);
    inheritance_close(&r->files);
    free(r);
    return good;
}
