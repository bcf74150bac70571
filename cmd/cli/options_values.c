/* The values of options: defaults, where they come from, and the texts that they keep. */
#include "options.h"

#include <stdlib.h>
#include <string.h>

void options_init(option_values *options, const command_info *command) {
    memset(options, 0, sizeof *options);
    options->fields = 4;
    options->compression = 1;
    options->device.count = 1;
    pcgpu_camera_init(&options->camera);
    pcgpu_camera_init(&options->target_camera);
    pcgpu_sample_params_init(&options->sample);
    pcgpu_voxelize_params_init(&options->voxelize);
    options->voxelize.range_auto = true; /* the library has no default range; the bounds of the cloud fit every input */
    pcgpu_register_params_init(&options->registration);
    pcgpu_odometry_params_init(&options->odometry);
    options->trajectory_format = TRANSFORM_KITTI;
    options->rate = 10;
    options->map_voxel = PCGPU_AUTO;
    level_counts_init(&options->level_iterations, command);
    pcgpu_volume_params_init(&options->volume);
    options->drop_origin =
        command->traits & COMMAND_DROPS_ORIGIN ? options->registration.drop_origin : options->sample.drop_origin;
}

void options_free(option_values *options) {
    for (size_t i = 0; i < options->kept_count; i++) {
        free(options->kept[i]);
    }
    free(options->kept);
    memset(options, 0, sizeof *options);
}

const char *options_keep(option_values *options, const char *text) {
    char **kept = realloc(options->kept, (options->kept_count + 1) * sizeof *kept);
    if (!kept) {
        return NULL;
    }
    options->kept = kept;
    char *copy = strdup(text);
    if (copy) {
        kept[options->kept_count++] = copy;
    }
    return copy;
}

bool option_set(option_values *options, const option_row *option, const char *text, value_source source, reason *why) {
    options->source[option_index(option)] = (unsigned char)source;
    return option->type->parse(option, text, (char *)options + option->field, why);
}

bool option_print(const option_values *options, const option_row *option, FILE *out) {
    return options->source[option_index(option)] != NOT_IN_EFFECT && option->type->print &&
           option->type->print(option, (const char *)options + option->field, out);
}

const char *option_key(const option_row *option, char key[OPTION_KEY]) {
    snprintf(key, OPTION_KEY, "%s", option->name);
    for (char *p = key; (p = strchr(p, '-'));) {
        *p = '_';
    }
    return key;
}

bool option_given_here(const option_values *options, const char *name, const command_info *command) {
    const option_row *option = option_by_name(name, command->bit);
    return option && options->source[option_index(option)] == FROM_COMMAND_LINE;
}

const char *options_init_file(const option_values *options) {
    const char *init = options->init;
    return init && strcmp(init, "auto") != 0 && strcmp(init, "global") != 0 ? init : NULL;
}

bool option_given(const option_values *options, const char *name, const command_info *command) {
    const option_row *option = option_by_name(name, command->bit);
    const int source = option ? options->source[option_index(option)] : FROM_DEFAULT;
    return source == FROM_FILE || source == FROM_COMMAND_LINE;
}

void option_leave_out(option_values *options, const char *name, const command_info *command) {
    if (!option_given(options, name, command)) {
        options->source[option_index(option_by_name(name, command->bit))] = NOT_IN_EFFECT;
    }
}
