/* What must hold for any table in JSON: a sentence that names the place, or objects with the members that were asked
 * for. */
#include "fuzz.h"

#include "json_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int fuzz_check_json(const uint8_t *data, size_t size) {
    json_field members[] = {{.key = "token"}, {.key = "timestamp", .numbers = 1}, {.key = "rotation", .numbers = 4}};
    json_reader *table = malloc(sizeof *table);
    reason why = {""};
    json_event next;
    size_t objects = 0;
    fuzz_write_file("table.json", data, size);
    MUST(table && json_table_open(table, "table.json", &why));
    while ((next = json_table_next(table, members, 3)) == JSON_OBJECT) {
        MUST(memchr(members[0].text, '\0', JSON_TEXT) && isfinite(members[1].values[0]));
        for (int k = 0; k < 4; k++) {
            MUST(isfinite(members[2].values[k]));
        }
        MUST(++objects <= size); /* an object has bytes */
    }
    json_table_close(table);
    free(table);
    if (next == JSON_WRONG) {
        fuzz_check_shown(why.text, "table.json:");
    }
    return next == JSON_END;
}
