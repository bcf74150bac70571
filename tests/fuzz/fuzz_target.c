/* The targets by their names, and libFuzzer's entry for one of them, FUZZ_TARGET. */
#include "fuzz.h"

#include <string.h>

typedef struct target {
    const char *name;
    int (*check)(const uint8_t *data, size_t size);
    int (*check_named)(const char *name, const uint8_t *data, size_t size); /* where several targets share a function */
    const char *seeds; /* the formats of its seeds; NULL: its name */
} target;

static const target targets[] = {
    {"bin", .check_named = fuzz_check_read},
    {"ply", .check_named = fuzz_check_read},
    {"pcd", .check_named = fuzz_check_read},
    {"npy", .check_named = fuzz_check_read},
    {"npz", .check_named = fuzz_check_read},
    {"xyz", .check_named = fuzz_check_read},
    {"las", .check_named = fuzz_check_read},
    {"laz", .check_named = fuzz_check_read},
    {"gzip", .check_named = fuzz_check_read},
    {"mcap", .check_named = fuzz_check_read},
    {"bag", .check_named = fuzz_check_read},
    {"db3", .check_named = fuzz_check_read},
    {"content", .check_named = fuzz_check_read},
    {"pieces", .check = fuzz_check_pieces, .seeds = "bin npy las gzip content"},
    {"indices", .check = fuzz_check_indices},
    {"filters", .check = fuzz_check_filters},
    {"png", .check_named = fuzz_check_depth},
    {"pgm", .check_named = fuzz_check_depth},
    {"mesh", .check = fuzz_check_mesh},
    {"yaml", .check = fuzz_check_config},
    {"poses", .check = fuzz_check_poses},
    {"camera", .check = fuzz_check_camera},
    {"json", .check = fuzz_check_json},
    {"list", .check = fuzz_check_list},
    {"nuscenes", .check = fuzz_check_nuscenes},
    {"sample", .check_named = fuzz_check_words},
    {"voxelize", .check_named = fuzz_check_words},
    {"filter", .check_named = fuzz_check_words},
    {"register", .check_named = fuzz_check_words},
    {"odometry", .check_named = fuzz_check_words},
    {"fuse", .check_named = fuzz_check_words},
    {"evaluate", .check_named = fuzz_check_words},
    {"convert", .check_named = fuzz_check_words},
    {"view", .check_named = fuzz_check_words},
    {"info", .check_named = fuzz_check_words},
};
enum { TARGETS = sizeof targets / sizeof targets[0] };

const char *fuzz_target_at(int i) {
    return i < TARGETS ? targets[i].name : NULL;
}

static const target *find(const char *name) {
    for (int i = 0; i < TARGETS; i++) {
        if (strcmp(targets[i].name, name) == 0) {
            return &targets[i];
        }
    }
    fprintf(stderr, "%s: there is no such target\n", name);
    abort();
}

bool fuzz_takes_seed(const char *name, const char *format) {
    const target *t = find(name);
    return fuzz_has_word(t->seeds ? t->seeds : name, format);
}

int fuzz_check(const char *name, const uint8_t *data, size_t size) {
    const target *t = find(name);
    return t->check ? t->check(data, size) : t->check_named(name, data, size);
}

#ifdef FUZZ_TARGET
/* What asks for more memory than there is fails, as it does without a sanitizer. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_check(FUZZ_TARGET, data, size);
    fuzz_leave_folder(); /* libFuzzer's own names may be relative */
    return 0;
}
#endif
