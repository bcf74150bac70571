/* Lists of objects in JSON. */
#include "json_table.h"
#include "files.h"

#include <string.h>

static bool take_text(json_reader *r, json_field *f) {
    if (!json_expect(r, JSON_STRING, "a string")) {
        return false;
    }
    memcpy(f->text, r->text, sizeof f->text);
    return (r->length < JSON_TEXT || json_wrong(r, "a string of more than 511 bytes")) &&
           (strlen(f->text) == r->length || json_wrong(r, "a string with a zero byte"));
}

static bool take_field(json_reader *r, json_field *f) {
    f->found = true;
    if (f->numbers == 0) {
        return take_text(r, f);
    }
    const bool list = f->numbers > 1;
    if (list && !json_expect(r, JSON_LIST, "a list of numbers")) {
        return false;
    }
    for (int i = 0; i < f->numbers; i++) {
        if (!json_expect(r, JSON_NUMBER, i ? "another number of a list" : "a number")) {
            return false;
        }
        f->values[i] = r->number;
    }
    return !list || json_expect(r, JSON_LIST_END, "the end of a list of numbers");
}

static bool take_object(json_reader *r, json_field *fields, int count) {
    json_event e;
    for (int i = 0; i < count; i++) {
        fields[i].found = false;
    }
    while ((e = json_next(r)) == JSON_KEY) {
        json_field *wanted = NULL;
        for (int i = 0; i < count; i++) {
            wanted = strcmp(fields[i].key, r->text) == 0 ? &fields[i] : wanted;
        }
        if (wanted ? !take_field(r, wanted) : !json_skip(r)) {
            return false;
        }
    }
    for (int i = 0; i < count && e != JSON_WRONG; i++) {
        if (!fields[i].found) {
            char text[100];
            snprintf(text, sizeof text, "the object that ends here has no \"%s\"", fields[i].key);
            return json_wrong(r, text);
        }
    }
    return e != JSON_WRONG;
}

bool json_table_open(json_reader *r, const char *path, reason *why) {
    reason inner;
    *r = (json_reader){.stream = input_try(path, &inner), .name = path, .why = why};
    r->remedy = "give a table of nuScenes in JSON: [{...}, ...]";
    if (!r->stream) {
        return refuse(why, "%s: %s", path, inner.text);
    }
    json_begin(r);
    return true;
}

json_event json_table_next(json_reader *r, json_field *fields, int count) {
    if (r->depth == 0 && !json_expect(r, JSON_LIST, "a list")) {
        return JSON_WRONG;
    }
    const json_event e = json_next(r);
    if (e == JSON_LIST_END) {
        return json_next(r);
    }
    return e != JSON_WRONG && (e == JSON_OBJECT || json_wrong(r, "an object is expected here")) &&
                   take_object(r, fields, count)
               ? JSON_OBJECT
               : JSON_WRONG;
}

void json_table_close(json_reader *r) {
    input_close(r->stream);
    r->stream = NULL;
}
