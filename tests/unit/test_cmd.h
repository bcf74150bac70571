/* What the tests of the command line share. */
#ifndef TEST_CMD_H
#define TEST_CMD_H

#include "unit.h"

#include "options.h"

#endif
