/* unit GROUP...: runs groups of unit tests one after the other. Exit code 0 passed, 1 failed, 2 no such group. */
#include "unit.h"

#define ROW(NAME)                                                                                                      \
    { #NAME, unit_##NAME }
static const struct {
    const char *name;
    int (*run)(void);
} groups[] = {UNIT_GROUPS(ROW)};

int main(int argc, char **argv) {
    const int count = (int)(sizeof groups / sizeof groups[0]);
    int failed = argc < 2;
    for (int i = 1; i < argc; i++) {
        int g = 0;
        while (g < count && strcmp(groups[g].name, argv[i]) != 0) {
            g++;
        }
        if (g == count) {
            fprintf(stderr, "unit: no group %s\n", argv[i]);
            return 2;
        }
        failed += groups[g].run();
    }
    return failed > 0;
}
