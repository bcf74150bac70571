/* Names of columns on the command line, and the columns of a cloud that have them. */
#include "columns.h"

#include <string.h>

/* Takes a name of `length` bytes, without the blanks around it. */
static bool take_name(const char *text, size_t length, char out[PCGPU_NAME_SIZE], reason *why) {
    for (; length > 0 && *text == ' '; length--) {
        text++;
    }
    while (length > 0 && text[length - 1] == ' ') {
        length--;
    }
    if (length == 0) {
        return refuse(why, "a name is empty; give names such as x,y,z,intensity");
    }
    if (length >= PCGPU_NAME_SIZE) {
        return refuse(why, "\"%.*s\" is longer than %d bytes; give a shorter name", (int)length, text,
                      PCGPU_NAME_SIZE - 1);
    }
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

/* NAME or NAME=OLD. */
static bool add_column(const char *text, size_t length, column_list *list, reason *why) {
    const char *equals = memchr(text, '=', length);
    const size_t name = equals ? (size_t)(equals - text) : length;
    const int k = list->count;
    if (k == PCGPU_MAX_COLUMNS) {
        return refuse(why, "more than %d columns; give fewer", PCGPU_MAX_COLUMNS);
    }
    if (!take_name(text, name, list->names[k], why)) {
        return false;
    }
    memcpy(list->from[k], list->names[k], PCGPU_NAME_SIZE);
    for (int i = 0; i < k; i++) {
        if (strcmp(list->names[i], list->names[k]) == 0) {
            return refuse(why, "\"%s\" is given twice; give each column its own name", list->names[k]);
        }
    }
    list->count++;
    return !equals || take_name(equals + 1, length - name - 1, list->from[k], why);
}

bool columns_split(const char *text, column_list *list, reason *why) {
    *list = (column_list){0};
    for (const char *p = text; p;) {
        const size_t length = strcspn(p, ",");
        reason inner;
        if (!add_column(p, length, list, &inner)) {
            return refuse(why, "columns: %s", inner.text);
        }
        p = p[length] ? p + length + 1 : NULL;
    }
    return true;
}

/* The names of the columns from the k-th on, "red, green, blue", cut to fit. */
void columns_show(const pcgpu_cloud *cloud, int k, char *out, size_t size) {
    out[0] = '\0';
    for (size_t used = 0; k < cloud->columns && used + PCGPU_NAME_SIZE + 2 < size; k++) {
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", cloud->names[k]);
    }
}

int columns_find(const char *name, const char *column, const pcgpu_cloud *cloud) {
    const int found = pcgpu_cloud_column(cloud, column);
    if (found < 0) {
        char names[512];
        columns_show(cloud, 0, names, sizeof names);
        report_error(name, "no column '%s'; it has %s", column, names);
    }
    return found;
}
