/* Inheritance of configurations of OpenPCDet. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "inheritance.h"
#include "document_open.h"
#include "heap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

place own_value(place mapping, const char *key) {
    return (place){mapping.document, document_value(mapping.document, mapping.node, key)};
}

/* ---- inheritance --------------------------------------------------------------------------------------------- */

/* In OpenPCDet the name is relative to the working directory, which must be its tools/. This also tries the folders
 * above the file with the name, so that a configuration works from any folder. malloc'd; NULL when no file exists. */
static char *locate_base(const char *name, const char *heir) {
    if (access(name, F_OK) == 0) {
        return heap_text("%s", name);
    }
    char *folder = name[0] == '/' ? NULL : realpath(heir, NULL), *found = NULL;
    char *end = folder;
    while (!found && end && (end = strrchr(folder, '/'))) {
        *end = '\0';
        char *path = heap_text("%s/%s", folder, name);
        if (access(path, F_OK) == 0) {
            found = path;
        } else {
            free(path);
        }
    }
    free(folder);
    return found;
}

/* The root of the base of a mapping. `wanted` is the missing key. */
static search base_of(inheritance *h, place mapping, const char *wanted, place *root) {
    place name = own_value(mapping, "_BASE_CONFIG_");
    if (!name.node) {
        return ABSENT;
    }
    int i = 0;
    while (i < h->base_count && h->bases[i].heir != mapping.node) {
        i++;
    }
    if (i == h->base_count) {
        const char *text = document_text(name.node);
        if (!text || h->base_count == MAX_BASES) {
            document_wrong(name.document, name.node,
                           text ? "more than %d files inherit from each other, maybe in a circle; leave this out"
                                : "_BASE_CONFIG_ is not the name of a file; give one",
                           MAX_BASES);
            return FAILED;
        }
        char *path = locate_base(text, name.document->path);
        if (!path && h->may_lack_base) {
            return ABSENT;
        }
        if (!path) {
            document_wrong(
                name.document, name.node,
                "%s is missing, and its base %s is neither in the working directory nor in a folder above this "
                "file; run pcgpu in OpenPCDet's tools/, or add %s here",
                wanted, text, wanted);
            return FAILED;
        }
        bool good = document_open(&h->bases[i].document, path, name.document->why);
        free(path);
        if (!good) {
            return FAILED;
        }
        h->bases[i].heir = mapping.node;
        h->base_count++;
    }
    *root = (place){&h->bases[i].document, document_root(&h->bases[i].document)};
    return root->node ? FOUND : ABSENT;
}

search inherited_find(inheritance *h, place mapping, const char *const *path, place *found) {
    place value = own_value(mapping, path[0]), root;
    if (value.node && !path[1]) {
        *found = value;
        return FOUND;
    }
    if (value.node) {
        search inner = inherited_find(h, value, path + 1, found);
        if (inner != ABSENT) {
            return inner;
        }
    }
    bool is_data = strcmp(path[0], "DATA_CONFIG") == 0; /* a data configuration does not have this key */
    search inherited = base_of(h, mapping, is_data ? path[1] : path[0], &root);
    return inherited == FOUND ? inherited_find(h, root, path, found) : inherited;
}

search inherited_find_data(inheritance *h, const char *key, place *found) {
    const char *const model[] = {"DATA_CONFIG", key, NULL}, *const data[] = {key, NULL};
    search in_data = own_value(h->root, key).node ? ABSENT : inherited_find(h, h->root, model, found);
    return in_data == ABSENT ? inherited_find(h, h->root, data, found) : in_data;
}

void inheritance_close(inheritance *h) {
    for (int i = 0; i < h->base_count; i++) {
        document_close(&h->bases[i].document);
    }
    h->base_count = 0;
}
