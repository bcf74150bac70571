/* Configurations of OpenPCDet. Its merge_new_config (pcdet/config.py) defines the inheritance: a mapping overrides its
 * base key by key; lists and scalars are replaced. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "openpcdet.h"
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { MAX_BASES = 8 };

typedef struct place {
    const document *document;
    const yaml_node_t *node;
} place;

typedef struct base {
    const yaml_node_t *heir; /* the mapping with its name */
    document document;
} base;

typedef struct reader {
    place root;
    option_values *options;
    base bases[MAX_BASES]; /* the open ones */
    int base_count;
} reader;

typedef enum search { FOUND, ABSENT, FAILED } search;

/* The value of a key in the mapping itself; of a repeated key, the last value, as in PyYAML. */
static place own_value(place mapping, const char *key) {
    place value = {.document = mapping.document};
    if (mapping.node->type != YAML_MAPPING_NODE) {
        return value;
    }
    for (yaml_node_pair_t *p = mapping.node->data.mapping.pairs.start; p < mapping.node->data.mapping.pairs.top; p++) {
        const char *name = document_text(document_node(mapping.document, p->key));
        if (name && strcmp(name, key) == 0) {
            value.node = document_node(mapping.document, p->value);
        }
    }
    return value;
}

/* ---- inheritance --------------------------------------------------------------------------------------------- */

/* In OpenPCDet the name is relative to the working directory, which must be its tools/. This also tries the folders
 * above the file with the name, so that a configuration works from any folder. malloc'd; NULL when no file exists. */
static char *locate_base(const char *name, const char *heir) {
    if (access(name, F_OK) == 0) {
        return strdup(name);
    }
    char *folder = name[0] == '/' ? NULL : realpath(heir, NULL), *found = NULL;
    size_t size = folder ? strlen(folder) + strlen(name) + 2 : 0;
    char *end = folder;
    while (!found && end && (end = strrchr(folder, '/'))) {
        *end = '\0';
        char *path = malloc(size);
        if (path) {
            snprintf(path, size, "%s/%s", folder, name);
        }
        if (path && access(path, F_OK) == 0) {
            found = path;
        } else {
            free(path);
        }
    }
    free(folder);
    return found;
}

/* The root of the base of a mapping. `wanted` is the missing key. */
static search base_of(reader *r, place mapping, const char *wanted, place *root) {
    place name = own_value(mapping, "_BASE_CONFIG_");
    if (!name.node) {
        return ABSENT;
    }
    int i = 0;
    while (i < r->base_count && r->bases[i].heir != mapping.node) {
        i++;
    }
    if (i == r->base_count) {
        const char *text = document_text(name.node);
        if (!text || r->base_count == MAX_BASES) {
            document_wrong(name.document, name.node,
                           text ? "more than %d files inherit from each other, maybe in a circle; leave this out"
                                : "_BASE_CONFIG_ is not the name of a file; give one",
                           MAX_BASES);
            return FAILED;
        }
        char *path = locate_base(text, name.document->path);
        if (!path) {
            document_wrong(
                name.document, name.node,
                "%s is missing, and its base %s is neither in the working directory nor in a folder above this "
                "file; run pcgpu in OpenPCDet's tools/, or add %s here",
                wanted, text, wanted);
            return FAILED;
        }
        bool good = document_open(&r->bases[i].document, path, name.document->why);
        free(path);
        if (!good) {
            return FAILED;
        }
        r->bases[i].heir = mapping.node;
        r->base_count++;
    }
    *root = (place){&r->bases[i].document, document_root(&r->bases[i].document)};
    return root->node ? FOUND : ABSENT;
}

/* Finds the value of the nested keys `path`, which NULL ends, in the mapping, else in its base. */
static search find(reader *r, place mapping, const char *const *path, place *found) {
    place value = own_value(mapping, path[0]), root;
    if (value.node && !path[1]) {
        *found = value;
        return FOUND;
    }
    if (value.node) {
        search inner = find(r, value, path + 1, found);
        if (inner != ABSENT) {
            return inner;
        }
    }
    bool is_data = strcmp(path[0], "DATA_CONFIG") == 0; /* a data configuration does not have this key */
    search inherited = base_of(r, mapping, is_data ? path[1] : path[0], &root);
    return inherited == FOUND ? find(r, root, path, found) : inherited;
}

/* Finds a key of a data configuration, which a model configuration has under DATA_CONFIG. */
static search find_data(reader *r, const char *key, place *found) {
    const char *const model[] = {"DATA_CONFIG", key, NULL}, *const data[] = {key, NULL};
    search in_data = own_value(r->root, key).node ? ABSENT : find(r, r->root, model, found);
    return in_data == ABSENT ? find(r, r->root, data, found) : in_data;
}

/* ---- values -------------------------------------------------------------------------------------------------- */

static bool given(const reader *r, const char *option) {
    return r->options->source[option_index(option_by_name(option, FOR_VOXELIZE))] == FROM_COMMAND_LINE;
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

static bool read_range(reader *r) {
    place value;
    search result = find_data(r, "POINT_CLOUD_RANGE", &value);
    if (result == FOUND) {
        return set(r, "range", "POINT_CLOUD_RANGE", value);
    }
    return given(r, "range") || (result == ABSENT && document_wrong(r->root.document, r->root.node,
                                                                    "no POINT_CLOUD_RANGE; add it, or give --range"));
}

/* The entry of DATA_PROCESSOR for voxels; *dynamic: the entry without limits. */
static place voxel_entry(place processors, bool *dynamic) {
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
    }
    entry.node = NULL;
    return entry;
}

/* MAX_NUMBER_OF_VOXELS: {train: 16000, test: 40000} */
static bool read_max_voxels(reader *r, place entry) {
    const char *key = "MAX_NUMBER_OF_VOXELS", *which = r->options->split == SPLIT_TRAIN ? "train" : "test";
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

static bool read_processor(reader *r) {
    place processors, entry = {0};
    bool dynamic = false, settled = given(r, "voxel-size") && given(r, "max-points") && given(r, "max-voxels");
    search result = find_data(r, "DATA_PROCESSOR", &processors);
    if (result == FOUND) {
        entry = voxel_entry(processors, &dynamic);
    }
    if (!entry.node && settled) {
        return true;
    }
    if (!entry.node) {
        place at = result == FOUND ? processors : r->root;
        return result != FAILED &&
               document_wrong(at.document, at.node,
                              "no transform_points_to_voxels in %s DATA_PROCESSOR; give --voxel-size, --max-points and "
                              "--max-voxels, or the configuration of a model that takes voxels",
                              result == FOUND ? "this" : "a");
    }
    if (!set_required(r, "voxel-size", "VOXEL_SIZE", entry)) {
        return false;
    }
    return dynamic ? set_text(r, "max-points", "0") && set_text(r, "max-voxels", "0")
                   : set_required(r, "max-points", "MAX_POINTS_PER_VOXEL", entry) && read_max_voxels(r, entry);
}

/* A switch of the model's VFE as YAML 1.1 spells it, `missing` when it does not stand there. */
static search find_switch(reader *r, const char *key, bool missing, bool *on) {
    static const char *const yes[] = {"true", "yes", "on", NULL};
    const char *const path[] = {"MODEL", "VFE", key, NULL};
    place value;
    search result = find(r, r->root, path, &value);
    const char *text = result == FOUND ? document_text(value.node) : NULL;
    *on = result == ABSENT ? missing : false;
    for (int i = 0; text && yes[i]; i++) {
        *on = *on || strcasecmp(text, yes[i]) == 0;
    }
    return result;
}

/* The voxel feature encoder of the model, where the features that it begins with have a name here. */
static bool read_features(reader *r) {
    const char *const path[] = {"MODEL", "VFE", "NAME", NULL};
    place value;
    search result = given(r, "features") ? ABSENT : find(r, r->root, path, &value);
    const char *name = result == FOUND ? document_text(value.node) : NULL;
    if (!name) {
        return result != FAILED;
    }
    if (strcmp(name, "MeanVFE") == 0 || strcmp(name, "DynMeanVFE") == 0) {
        return set_text(r, "features", "mean");
    }
    bool distance = false, absolute = true; /* an eleventh value, or seven without x, y and z */
    bool pillar = strcmp(name, "PillarVFE") == 0;
    if (pillar && (find_switch(r, "WITH_DISTANCE", false, &distance) == FAILED ||
                   find_switch(r, "USE_ABSLOTE_XYZ", true, &absolute) == FAILED)) {
        return false;
    }
    if (!pillar || distance || !absolute) {
        return document_wrong(value.document, value.node,
                              "the features of %s%s are not supported; give --features points for the points "
                              "themselves, or mean or pillar",
                              name, distance ? " with WITH_DISTANCE" : absolute ? "" : " without USE_ABSLOTE_XYZ");
    }
    return set_text(r, "features", "pillar");
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
    reader *r = calloc(1, sizeof *r);
    const yaml_node_t *root = document_root(d);
    if (!r) {
        return document_wrong(d, root, "out of memory");
    }
    r->root = (place){d, root};
    r->options = options;
    options->openpcdet = true;
    bool good = command->bit != FOR_VOXELIZE
                    ? document_wrong(d, root, "this is a configuration of OpenPCDet; pcgpu voxelize reads it")
                    : check_no_own_keys(r->root) && read_range(r) && read_processor(r) && read_features(r);
    for (int i = 0; i < r->base_count; i++) {
        document_close(&r->bases[i].document);
    }
    free(r);
    return good;
}
