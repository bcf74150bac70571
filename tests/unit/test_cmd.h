/* What the tests of the command line share. */
#ifndef TEST_CMD_H
#define TEST_CMD_H

#include "unit.h"

#include "options.h"

/* Sets a value by its option's name; the message of a failure is in `why`. */
static inline bool set(option_values *o, const command_info *c, const char *name, const char *text, reason *why) {
    const option_row *row = option_by_name(name, c->bit);
    assert_non_null(row);
    return option_set(o, row, text, FROM_COMMAND_LINE, why);
}

#endif
