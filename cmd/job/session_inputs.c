/* The inputs of a session: from the command line, folders, lists of names and lists of pairs. */
#include "colors.h"
#include "labels.h"
#include "numbers.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One name for standard input, so that the check for a second use recognizes it. */
static const char *standard_input_named(const char *path) {
    return path && strcmp(path, "/dev/stdin") == 0 ? "-" : path;
}

/* Whether an option takes standard input, which gets its one name. */
static bool name_standard_input(session *s, const option_row *option) {
    const char *path = option_input(s->options, option, s->command), *named = standard_input_named(path);
    if (named != path && option->type == &type_path) {
        *(const char **)((char *)s->options + option->field) = named;
    }
    return path_is_dash(named);
}

/* The sentence about an input of a list begins with its line there. */
static bool check_input(const session *s, int i, reason *why) {
    const char *path = s->inputs[i], *list = s->options->pairs;
    if ((s->command->traits & COMMAND_READS_TEXT) ||
        (list && path_is_dash(path)     ? refuse(why, "standard input cannot be one of many clouds; give files")
         : list && path_is_stream(path) ? refuse(why, "%s is a pipe; give files", path)
                                        : session_check_format(s, path, why))) {
        return true;
    }
    if (list) {
        refuse(why, "%s:%lld: %s", input_name(list), (long long)s->pairs.lines[i / 2], why->text);
    }
    return false;
}

static bool read_once(int dashes, reason *why) {
    return dashes <= 1 || refuse(why, "standard input is given %d times; it can be read once", dashes);
}

/* Takes the inputs from the list of --pairs. */
static bool take_pairs(session *s, reason *why) {
    if (s->input_count > 0) {
        return refuse(why, "%d inputs and --pairs, which lists the inputs; leave one of both out", s->input_count);
    }
    bool good = pairs_read(s->options->pairs, &s->pairs, why);
    s->inputs = s->pairs.inputs;
    s->input_count = 2 * s->pairs.count;
    return good;
}

/* What an earlier run put there is no input. */
static void find_output_folders(const session *s, file_set *folders) {
    for (int i = 0; option_at(i); i++) {
        struct stat st;
        const char *path = output_path(s, option_at(i));
        if (path && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
            file_set_add(folders, &st);
        }
    }
}

/* Takes the files of folders, and of --files-from. */
static bool take_list(session *s, reason *why) {
    const option_values *o = s->options;
    file_set outputs = {0};
    const recording_options clouds = {o->from_time, o->to_time, o->every};
    const input_options how = {.files_from = o->files_from,
                               .zero_ends = o->zero_ends,
                               .recursive = o->recursive,
                               .follow = o->follow,
                               .outputs = &outputs,
                               .any_format = o->format,
                               .recordings = s->command->bit & FOR_RECORDINGS ? &clouds : NULL,
                               .dry_run = o->dry_run};
    if (!(s->command->bit & FOR_FOLDERS) || s->command->inputs_per_job == JOB_CLOUDS) {
        return true;
    }
    if (o->follow && !o->recursive) {
        return refuse(why, "--set follow is for the sub-folders that -r takes; give -r, or leave it out");
    }
    if (o->zero_ends && !o->files_from) {
        return refuse(why, "--null is for the names of --files-from; leave it out");
    }
    find_output_folders(s, &outputs);
    const bool good = input_list_make(&how, s->inputs, s->input_count, &s->list, why);
    free(outputs.items);
    s->inputs = s->list.paths;
    s->input_count = s->list.count;
    return good;
}

/* Sets the inputs and checks their number. */
static bool count_inputs(session *s, reason *why) {
    static const char *standard_input[] = {"-"};
    if (s->options->pairs) {
        return take_pairs(s, why);
    }
    if (s->command->find_inputs) {
        s->command->find_inputs(s);
    }
    if (!take_list(s, why) || (s->command->take_inputs && !s->command->take_inputs(s, why))) {
        return false;
    }
    if (s->input_count == 0 && (s->command->traits & COMMAND_READS_STDIN)) {
        if (isatty(STDIN_FILENO)) {
            return refuse(why, "no input; give a file, or - for standard input");
        }
        s->inputs = standard_input;
        s->input_count = 1;
        return take_list(s, why);
    }
    return true;
}

/* Numbers of an option that were separated by blanks. */
static bool check_numbers(const session *s, reason *why) {
    double number;
    for (int i = 0; i < s->input_count; i++) {
        if (number_parse(s->inputs[i], &number) && access(s->inputs[i], F_OK) != 0) {
            return refuse(why, "%s " NUMBER_ALONE, s->inputs[i]);
        }
    }
    return true;
}

/* Options about recordings have an effect, or are left out. */
static bool check_recordings(const session *s, reason *why) {
    static const char *const names[] = {"topic", "from-time", "to-time", "every"};
    bool some = false;
    for (int i = 0; i < s->input_count && !some; i++) {
        some = recording_holds(s->inputs[i]);
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !some && (s->command->bit & FOR_RECORDINGS); i++) {
        if (option_given_here(s->options, names[i], s->command)) {
            return refuse(why, "%s%s is for recordings, and no input is one; leave it out",
                          option_prefix(option_by_name(names[i], s->command->bit), s->command), names[i]);
        }
        option_leave_out(s->options, names[i], s->command);
    }
    return !some || !s->options->format ||
           refuse(why, "--format is for files, and recordings say what is in them; leave it out");
}

/* Takes the camera of the recordings, unless one is given. */
static bool take_camera(session *s, reason *why) {
    pcgpu_camera found, other;
    int with = -1;
    if (!option_by_name("camera", s->command->bit) || option_given(s->options, "camera", s->command)) {
        return true;
    }
    for (int i = 0; i < s->input_count; i++) {
        if (recording_camera(s->inputs[i], with < 0 ? &found : &other)) {
            if (with >= 0 && memcmp(&found, &other, sizeof found) != 0) {
                return refuse(why, "%s and %s have different cameras; give --camera, or one recording", s->inputs[with],
                              s->inputs[i]);
            }
            with = with < 0 ? i : with;
        }
    }
    if (with >= 0) {
        s->options->camera = found;
        option_found(s->options, "camera", s->command);
    }
    return true;
}

bool session_check_inputs(session *s, reason *why) {
    int dashes = 0;
    recordings_use_topic(s->options->topic);
    if (!check_numbers(s, why)) {
        return false;
    }
    for (int i = 0; option_at(i); i++) {
        dashes += name_standard_input(s, option_at(i));
    }
    if (!read_once(dashes, why) || !count_inputs(s, why) || !take_camera(s, why)) {
        return false;
    }
    for (int i = 0; i < s->input_count; i++) {
        s->inputs[i] = standard_input_named(s->inputs[i]);
        dashes += path_is_dash(s->inputs[i]);
        input_protect(s->inputs[i]); /* now, since other shards have inputs, too */
        if (!check_input(s, i, why)) {
            return false;
        }
    }
    return read_once(dashes, why) && check_recordings(s, why);
}

/* A file, or the poses in a folder; the other files of a folder are protected when they are found. */
static void protect_named(const char *path) {
    const input_options how = {.any_format = true};
    input_list list = {0};
    reason unused;
    input_protect(path);
    if (path_is_folder(path) && input_list_make(&how, &path, 1, &list, &unused)) {
        for (int i = 0; i < list.count; i++) {
            if (path_ends_in(list.paths[i], ".pose.txt")) {
                input_protect(list.paths[i]);
            }
        }
    }
    input_list_free(&list);
}

/* From now on, no output replaces what the options name; inputs were protected when they were taken, other files when
 * they are read. False when standard output is an input. */
bool session_protect_inputs(session *s) {
    reason why;
    for (int i = 0; option_at(i); i++) {
        const char *path = option_input(s->options, option_at(i), s->command);
        if (path) {
            protect_named(path);
        }
    }
    for (int i = 0; i < s->input_count; i++) {
        char *labels = labels_path(s, s->inputs[i]);
        if (labels) {
            input_protect(labels);
        }
        free(labels);
    }
    if (!colors_find(s, &why)) {
        report_error(NULL, "%s", why.text);
        return false;
    }
    if (session_job_count(s) > 1 && option_by_name("skip-existing", s->command->bit) && !session_joins(s)) {
        output_suggest_keeping();
    }
    return output_check_stdout();
}

bool session_take_shard(session *s, reason *why) {
    shard share;
    int jobs = session_job_count(s);
    if (!s->options->shard) {
        return true;
    }
    if (session_joins(s)) {
        return refuse(why, "a %s is one output and has no shards; leave --shard or --%s out", session_joins(s),
                      session_joins(s));
    }
    if (!shard_parse(s->options->shard, &share, why)) {
        return false;
    }
    s->shard = share.index;
    shard_keep(&share, s->command->inputs_per_job, s->inputs, s->pairs.lines, &jobs);
    s->input_count = jobs * s->command->inputs_per_job;
    return true;
}
