/* Values of a configuration of OpenPCDet, and of the files that it inherits from. Its merge_new_config
 * (pcdet/config.py) defines the inheritance: a mapping overrides its base key by key; lists and scalars are
 * replaced. */
#ifndef INHERITANCE_H
#define INHERITANCE_H

#include "document.h"

enum { MAX_BASES = 8 };

typedef struct place {
    const document *document;
    const yaml_node_t *node;
} place;

typedef struct base {
    const yaml_node_t *heir; /* the mapping with its name */
    document document;
} base;

typedef struct inheritance {
    place root;
    base bases[MAX_BASES]; /* the open ones */
    int base_count;
    bool may_lack_base; /* the keys are optional: where a base does not exist, they are ABSENT */
} inheritance;

typedef enum search { FOUND, ABSENT, FAILED } search;

/* The value of a key in the mapping itself; of a repeated key, the last value, as in PyYAML. `node` NULL: none. */
place own_value(place mapping, const char *key);
/* Finds the value of the nested keys `path`, which NULL ends, in the mapping, else in its base. */
search inherited_find(inheritance *h, place mapping, const char *const *path, place *found);
/* Finds a key of a data configuration, which a model configuration has under DATA_CONFIG. */
search inherited_find_data(inheritance *h, const char *key, place *found);
void inheritance_close(inheritance *h);

#endif
