/* A folder with a file per pose, as of 7-Scenes: frame-000000.pose.txt, a 4x4 matrix each. */
#include "files.h"
#include "inputs.h"
#include "trajectory.h"

#include <stdlib.h>
#include <string.h>

static bool add_file(const char *path, trajectory *t, reason *why) {
    trajectory one;
    if (!trajectory_read_file(path, &one, why)) {
        return false;
    }
    const bool good =
        one.count == 1 || refuse(why, "%s: %lld poses; give one per file, a 4x4 matrix", path, (long long)one.count);
    if (good) {
        trajectory_append(t, one.poses, 0, t->count + 1);
    }
    trajectory_free(&one);
    return good;
}

static bool read_folder(const char *path, trajectory *t, reason *why) {
    const input_options how = {.any_format = true};
    input_list list;
    *t = (trajectory){.format = "a file per pose"};
    bool good = input_list_make(&how, &path, 1, &list, why);
    for (int i = 0; i < list.count && good; i++) {
        good = !path_ends_in(list.paths[i], ".pose.txt") || add_file(list.paths[i], t, why);
    }
    if (good && t->count == 0) {
        good = refuse(why, "%s: no file with a name that ends in .pose.txt in this folder; give a file of poses", path);
    }
    input_list_free(&list);
    free(t->times);
    t->times = NULL;
    if (!good) {
        trajectory_free(t);
    }
    return good;
}

bool trajectory_read(const char *path, trajectory *t, reason *why) {
    *t = (trajectory){0};
    return path_is_folder(path) ? read_folder(path, t, why) : trajectory_read_file(path, t, why);
}
