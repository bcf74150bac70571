/* pcgpu view: a picture of clouds, meshes, trajectories, depth images and voxels. */
#include "view_run.h"

#include <string.h>

enum { WIDTH = 1280, HEIGHT = 960, WIDE = 1920 };

static bool is_in_terminal(const session *s) {
    return !s->options->output;
}

static void choose_size(const session *s, pc_view *view) {
    const int *size = view_own(s->options)->size;
    view->width = size[0];
    view->height = size[1];
    if (size[0] == 0 && is_in_terminal(s)) {
        terminal_size(&view->width, &view->height);
    } else if (size[0] == 0) {
        const bool wide = view->from == PC_FROM_SENSOR;
        view->width = wide ? WIDE : WIDTH;
        view->height = wide ? WIDE / 4 : HEIGHT;
    }
}

static pc_view view_of(const session *s, const pc_scene *scene) {
    pc_view view = {.from = view_from(s, scene),
                    .point_size = view_own(s->options)->point_size,
                    .plain = is_in_terminal(s) && !terminal_has_pictures()};
    choose_size(s, &view);
    return view;
}

static void add_result(job *j, const pc_scene *scene, const pc_picture *picture, const char *color) {
    int64_t points = 0;
    for (int i = 0; i < scene->count; i++) {
        points += scene->layers[i].usable;
    }
    json_integer(&j->result, "width", picture->width);
    json_integer(&j->result, "height", picture->height);
    json_integer(&j->result, "layers", scene->count);
    json_integer(&j->result, "points", points);
    view_add_color(&j->result, scene, color);
}

static void summarize(const job *j, const pc_scene *scene, const pc_picture *picture, const char *color) {
    static const char *const from[] = {"", "iso", "top", "side", "front", "sensor"};
    char limits[96] = "";
    if (scene->scale.used) {
        snprintf(limits, sizeof limits, " from %.4g to %.4g%s%s", scene->scale.low, scene->scale.high,
                 *scene->scale.unit ? " " : "", scene->scale.unit);
    }
    report(j->output_count > 0 ? REPORT_SUMMARY : REPORT_DETAIL, /* the picture on the terminal has a caption */
           j->output_count > 0 ? output_shown(j->outputs[0].file.path) : j->names[0],
           "%dx%d pixels, view %s, colours by %s%s", picture->width, picture->height,
           scene->layers[0].kind == PC_IMAGE ? "of the image" : from[picture->from], color, limits);
}

/* Writes the picture, or shows it. */
static int show(job *j, const pc_scene *scene, const pc_picture *picture) {
    FILE *stream = job_stream(j, "output");
    if (!stream && terminal_has_pictures()) {
        return job_code(j, terminal_show(j->session->context, j->session->out, picture));
    }
    if (!stream) {
        terminal_print(j->session->out, scene, picture);
        return EXIT_DONE;
    }
    const double begin = seconds_now();
    const char *name = output_shown(j->outputs[0].file.path);
    const pcgpu_status status = pc_picture_write(j->session->context, stream, name, picture);
    j->write_seconds += seconds_now() - begin;
    return exit_code_of(status, name, j->session->context);
}

/* Options that only some kinds of layers have. */
static bool check_options(const session *s, const pc_scene *scene, reason *why) {
    static const char *const views[] = {"from", "up", "point-size"}, *const grids[] = {"voxel-size", "range"};
    bool boxes = false, lines = false;
    for (int i = 0; i < scene->count; i++) {
        boxes = boxes || scene->layers[i].kind == PC_BOXES;
        lines = lines || scene->layers[i].kind == PC_LINE;
    }
    if (s->options->ground_truth && !lines) {
        return refuse(why, "--ground-truth is for trajectories; leave it out, or give the poses");
    }
    for (int i = 0; i < 3 && scene->layers[0].kind == PC_IMAGE; i++) {
        if (option_given(s->options, views[i], s->command)) {
            return refuse(why, "%s is not for a depth image as it is; leave it out, or give --camera for its points",
                          views[i]);
        }
    }
    for (int i = 0; i < 2 && !boxes; i++) {
        if (option_given(s->options, grids[i], s->command)) {
            return refuse(why, "%s is for an .npz of voxelize; leave it out", grids[i]);
        }
    }
    return true;
}

static int draw(job *j, pc_scene *scene) {
    const session *s = j->session;
    reason why;
    if (!check_options(s, scene, &why)) {
        report_error(j->names[0], "%s", why.text);
        return EXIT_USAGE;
    }
    const view_values *o = view_own(s->options);
    pc_picture picture;
    view_settle_up(s, scene);
    if (!o->color && pc_scene_is_black(scene)) {
        report_warning(j->names[0], "all colours are 0, so it is drawn by %s; --color rgb draws them",
                       pc_scene_default_paint(scene));
    }
    if (view_is_page(j)) {
        return view_write_page(j, scene);
    }
    const pc_view view = view_of(s, scene);
    const char *color = s->options->ground_truth ? "error" : pc_scene_default_paint(scene);
    color = o->color ? o->color : view.from == PC_FROM_SENSOR && strcmp(color, "height") == 0 ? "distance" : color;
    const double begin = seconds_now();
    progress_begin(j->names[0], "drawing");
    pcgpu_status status = pc_scene_paint(s->context, scene, color, (pc_colormap)o->colormap);
    status = status == PCGPU_OK ? pc_render(s->context, scene, &view, &picture) : status;
    PC_TRY(job_code(j, status));
    j->run.stage[j->run.stages++] = (__typeof__(j->run.stage[0])){.name = "draw", .seconds = seconds_now() - begin};
    add_result(j, scene, &picture, color);
    const int code = show(j, scene, &picture);
    if (code == EXIT_DONE) {
        progress_end();
        summarize(j, scene, &picture, color);
    }
    pc_picture_free(&picture);
    return code;
}

/* One picture of the input of the job, or of all. */
static int view_process(job *j) {
    session *s = j->session;
    pc_scene scene = {0};
    int code = EXIT_DONE;
    const int count = j->count ? j->count : s->input_count;
    for (int i = 0; i < count && code == EXIT_DONE; i++) {
        const char *path = j->count ? j->inputs[i] : s->inputs[i];
        s->name = input_name(path);
        code = view_add_input(s, path, &scene);
    }
    s->name = j->names[0];
    j->read_seconds = seconds_now() - j->begin;
    for (int i = 0; i < scene.count; i++) {
        j->run.points_in += scene.layers[i].cloud.rows;
        j->run.non_finite += scene.layers[i].non_finite;
    }
    code = code == EXIT_DONE ? draw(j, &scene) : code;
    pc_scene_free(&scene);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static bool resolve_options(option_values *o, const command_info *command, reason *why) {
    const int *size = view_own(o)->size;
    if ((int64_t)size[0] * size[1] > PC_PICTURE_PIXELS) {
        return refuse(why, "size %dx%d has more than %d million pixels; give a smaller one", size[0], size[1],
                      PC_PICTURE_PIXELS / 1000000);
    }
    if (o->calibration && !o->ground_truth) {
        return refuse(why, "calibration needs --ground-truth; leave it out");
    }
    if (!view_check_page(o, command, why)) {
        return false;
    }
    if (o->output && path_is_folder(o->output)) {
        return true;
    }
    if (o->skip_existing || o->shard) {
        return refuse(why, "--%s is for one picture per input; give -o DIR/", o->shard ? "shard" : "skip-existing");
    }
    return o->output || o->dry_run || terminal_has_colors() ||
           refuse(why,
                  "no output, and standard output is not a terminal with colours to draw in; give -o FILE.png, -o DIR/ "
                  "or -o -");
}

static const char *const automatic[] = {"auto", NULL};
static const char *const froms[] = {"auto", "iso", "top", "side", "front", "sensor", NULL};
static const char *const colormaps[] = {"viridis", "turbo", "grey", NULL};
static const char *const picture_formats[] = {"auto", "png", "html", NULL};

static const option_row rows[] = {
    {"color", 0, 0, 0, &type_path, "NAME", OWN_AT(view_values, color), 0, 0, NULL,
     "Colours by height, intensity, file (one colour per input), order, distance (from the sensor), normals, rgb, "
     "class or a column of this name. Default: by what the inputs have, see COLOURS of pcgpu-view(1)."},
    {"from", 0, 0, 0, &type_choice, "WHERE", OWN_AT(view_values, from), 0, 0, froms,
     "Direction of the view: iso, a perspective from above and behind; top, side and front without perspective; "
     "sensor, the range image of a scan, azimuth by elevation. auto: iso, and top for trajectories alone."},
    {"up", 0, 0, 0, &type_choice, "AXIS", OWN_AT(view_values, up), 0, 0, pc_up_names,
     "The axis that points up: x, y, z, -x, -y or -z. auto: z; -y in the frame of a camera, see DESCRIPTION of "
     "pcgpu-view(1)."},
    {"size", 0, 0, 0, &type_pixels, "WxH", OWN_AT(view_values, size), 16, 16384, NULL,
     "Width and height of the picture in pixels. Default: 1280x960; 1920x480 for --from sensor; without --output "
     "that of the terminal."},
    {"colormap", 0, 0, 0, &type_choice, "NAME", OWN_AT(view_values, colormap), 0, 0, colormaps,
     "Colours of a scale from low to high: viridis, turbo or grey."},
    {"point-size", 0, 0, OPTION_ZERO_IS_NONE | OPTION_ABOVE_MIN, &type_real, "N", OWN_AT(view_values, point_size), 0,
     32, NULL, "Diameter of a point in pixels. Default: by the distance between the points."},
    {"voxel-size", 0, 0, OPTION_ABOVE_MIN, &type_size, "SX,SY,SZ", OWN_AT(view_values, voxels.size), 0, METRES, NULL,
     "For an .npz of voxelize: the size of a voxel in metres. Default: by the features."},
    {"range", 0, 0, 0, &type_range, "X0,Y0,Z0,X1,Y1,Z1", OWN_AT(view_values, voxels), -METRES, METRES, automatic,
     "For an .npz of voxelize: the --range it was made with (only the lower corner is used); auto: by the features."},
    {"ground-truth", 0, 0, OPTION_INPUT, &type_path, "FILE", AT(ground_truth), 0, 0, NULL,
     "The true trajectory, as for pcgpu-evaluate(1): trajectories get a column error, in metres, which is their "
     "colour."},
    {"output-format", 0, 0, 0, &type_choice, "NAME", AT(picture_format), 0, 0, picture_formats,
     "png, a picture, or html, a page for a browser. auto: by the name of the output, png for standard output and "
     "folders."},
    {"output", 'o', 0, OPTION_OUTPUT | OPTION_PICTURE | OPTION_PAGE, &type_path, "PATH", AT(output), 0, 0, NULL,
     "Write one picture of all inputs to this .png, or one page for a browser to this .html; - is standard output; a "
     "folder (DIR/) gets one per input. Without it the picture is drawn in the terminal."},
};

static void init(option_values *options) {
    pcgpu_voxelize_params_init(&view_own(options)->voxels);
    view_own(options)->voxels.range_auto = true;
}

#define VIEW_COMMAND                                                                                                   \
    .name = "view", .bit = FOR_VIEW, .arguments = "[OPTION]... [INPUT]...",                                            \
    .summary = "draw clouds, meshes, trajectories, depth images and voxels as a picture or a page",                    \
    .examples = {"scan.bin -o scan.png", "scan1.bin scan2.bin -o both.html"},                                          \
    .main_options = "output color from size up ground-truth camera",                                                   \
    .traits = COMMAND_READS_STDIN | COMMAND_READS_TEXT | COMMAND_READS_ITSELF | COMMAND_DROPS_ORIGIN,                  \
    .options = ROWS(rows), .init = init, .resolve_options = resolve_options, .process = view_process

/* All inputs in one picture. */
static const command_info together = {VIEW_COMMAND, .inputs_per_job = 0};

static bool take_inputs(session *s, reason *why) {
    (void)why;
    const char *path = s->options->output;
    s->command = path && path_is_folder(path) ? s->command : &together;
    return true;
}

/* A picture of each input, for -o DIR/. */
const command_info view_command = {VIEW_COMMAND, .inputs_per_job = 1, .take_inputs = take_inputs};
