/* The rows of options by name, and their values: defaults, where they come from, and the texts that they keep. */
#include "camera_file.h"
#include "heap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const option_row *option_by_name(const char *name, unsigned commands) {
    const option_row *o;
    for (int i = 0; (o = option_at(i)); i++) {
        if ((o->commands & commands) && strcmp(o->name, name) == 0) {
            return o;
        }
    }
    return NULL;
}

const option_row *option_by_letter(char letter, unsigned commands) {
    const option_row *o;
    for (int i = 0; (o = option_at(i)); i++) {
        if ((o->commands & commands) && o->letter && o->letter == letter) {
            return o;
        }
    }
    return NULL;
}

const option_row *option_by_key(const char *key, unsigned commands) {
    char name[OPTION_KEY];
    snprintf(name, sizeof name, "%s", key);
    for (char *p = name; (p = strchr(p, '_'));) {
        *p = '-';
    }
    return option_by_name(name, commands); /* none is as long as a key that was cut */
}

bool option_is_key(const option_row *option, const command_info *command) {
    return option->flags & SET_IN(command->bit & option->commands);
}

const char *option_prefix(const option_row *option, const command_info *command) {
    return option_is_key(option, command) ? "--set " : "--";
}

const command_info *command_of_option(const option_row *option) {
    int i = 0;
    while (!(command_at(i)->bit & option->commands)) {
        i++;
    }
    return command_at(i);
}

void options_init(option_values *options, const command_info *command) {
    memset(options, 0, sizeof *options);
    options->fields = 4;
    options->compression = 1;
    options->device.count = 1;
    pcgpu_camera_init(&options->camera);
    pcgpu_camera_init(&options->target_camera);
    pcgpu_register_params_init(&options->registration);
    options->rate = 10;
    options->time_tolerance = 0.02;
    level_counts_init(&options->level_iterations, command);
    pcgpu_volume_params_init(&options->volume);
    options->drop_origin = command->traits & COMMAND_DROPS_ORIGIN;
    if (command->init) {
        command->init(options);
    }
}

void options_free(option_values *options) {
    for (size_t i = 0; i < options->kept_count; i++) {
        free(options->kept[i]);
    }
    free(options->kept);
    memset(options, 0, sizeof *options);
}

const char *options_keep(option_values *options, const char *text) {
    options->kept = heap_grow(options->kept, options->kept_count, sizeof *options->kept);
    return options->kept[options->kept_count++] = heap_text("%s", text);
}

bool option_set(option_values *options, const option_row *option, const char *text, value_source source, reason *why) {
    char file[CAMERA_WORD];
    options->source[option_index(option)] = (unsigned char)source;
    if (!option->type->parse(option, text, (char *)options + option->field, why)) {
        return false;
    }
    if (option->type == &type_camera && camera_names_file(text, file)) {
        const char **kept = option->field == AT(camera) ? &options->camera_file : &options->target_camera_file;
        *kept = options_keep(options, file);
    }
    return true;
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
    return init && strcmp(init, "auto") != 0 ? init : NULL;
}

const char *option_input(const option_values *options, const option_row *option, const command_info *command) {
    if (!(option->flags & OPTION_INPUT) || !(option->commands & command->bit)) {
        return NULL;
    }
    if (option->type == &type_camera) {
        return option->field == AT(camera) ? options->camera_file : options->target_camera_file;
    }
    const char *path = *(const char *const *)((const char *)options + option->field);
    const bool installed = option->field == AT(config) && path && strcmp(path, "-") != 0 && access(path, F_OK) != 0;
    return option->field == AT(init) ? options_init_file(options) : installed ? NULL : path;
}

bool option_given(const option_values *options, const char *name, const command_info *command) {
    const option_row *option = option_by_name(name, command->bit);
    const int source = option ? options->source[option_index(option)] : FROM_DEFAULT;
    return source == FROM_FILE || source == FROM_COMMAND_LINE;
}

void option_found(option_values *options, const char *name, const command_info *command) {
    options->source[option_index(option_by_name(name, command->bit))] = FROM_FILE;
}

void option_leave_out(option_values *options, const char *name, const command_info *command) {
    if (!option_given(options, name, command)) {
        options->source[option_index(option_by_name(name, command->bit))] = NOT_IN_EFFECT;
    }
}
