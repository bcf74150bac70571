/* The classes of SemanticKITTI and of LAS. */
#ifndef PC_SEMANTIC_H
#define PC_SEMANTIC_H

#include <stdint.h>

typedef struct pc_label {
    int value;
    uint32_t color; /* 0xRRGGBB */
    const char *name;
} pc_label;

enum { PC_LABELS = 34 };
extern const pc_label pc_labels[PC_LABELS]; /* by value */

/* The class with this value, or NULL. */
const pc_label *pc_label_of(float value);
/* The name of a class of LAS, or NULL. */
const char *pc_las_class(int value);

#endif
