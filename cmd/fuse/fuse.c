/* pcgpu fuse: integrates depth images with known poses into a model, and writes surface points or a mesh. */
#include "colors.h"
#include "fuse.h"
#include "numbers.h"
#include "trajectory.h"

#include <math.h>
#include <string.h>

static void add_counts(fusion *f, const char *name, const pcgpu_volume_counts *c) {
    pcgpu_depth_counts *sum = &f->job->depth[0];
    sum->pixels += c->depth.pixels;
    sum->no_return += c->depth.no_return;
    sum->out_of_range += c->depth.out_of_range;
    f->unreachable += c->unreachable;
    f->fused++;
    report_detail(name, "%lld of %lld pixels have a depth; %lld new blocks, %lld updated",
                  (long long)(c->depth.pixels - c->depth.no_return - c->depth.out_of_range), (long long)c->depth.pixels,
                  (long long)c->new_blocks, (long long)c->updated_blocks);
}

int fuse_image(fusion *f, int index, const double T[16]) {
    const option_values *o = f->session->options;
    const char *path = f->session->inputs[index], *name = input_name(path);
    pcgpu_depth depth;
    pcgpu_volume_counts counts;
    f->session->name = name;
    FILE *stream = input_open(path);
    if (!stream) {
        return EXIT_FAILED;
    }
    double begin = seconds_now();
    const pcgpu_read_options how = {.struct_size = sizeof how, .format = o->format, .camera = &o->camera};
    pcgpu_status status = pcgpu_read_depth_for(f->session->context, stream, path, &how, &depth);
    f->job->read_seconds += seconds_now() - begin;
    input_close(stream);
    PC_TRY(exit_code_of(status, name, f->session->context));
    reason why;
    if (!colors_read(f->session, f->session->context, index, &depth, &why)) {
        pcgpu_depth_free(&depth);
        return report_error(NULL, "%s", why.text);
    }
    status = pcgpu_volume_integrate(f->volume, &depth, &o->camera, T, &counts);
    pcgpu_depth_free(&depth);
    PC_TRY(exit_code_of(status, name, f->session->context));
    add_counts(f, name, &counts);
    return EXIT_DONE;
}

static int fuse_frame(fusion *f, const trajectory *poses, int index) {
    const double *T = poses->poses + 16 * (int64_t)index;
    if (isnan(T[0])) {
        report_warning(input_name(f->session->inputs[index]), "has no pose and is left out: line %lld of %s",
                       (long long)poses->lines[index], input_name(f->session->options->poses));
        f->skipped++;
        return EXIT_DONE;
    }
    return fuse_image(f, index, T);
}

/* For images that are named by their times: the poses that are nearest in time, within TIMED_NEAR. */
static void match_by_time(const session *s, trajectory *poses) {
    trajectory matched = {.format = poses->format, .numbers = poses->numbers};
    static const double missing[16] = {NAN};
    for (int i = 0; i < s->input_count; i++) {
        const double time = time_of_name(s->inputs[i]);
        if (isnan(time)) {
            trajectory_free(&matched);
            return;
        }
        double least = INFINITY;
        int64_t k = 0;
        for (int64_t j = 0; j < poses->count; j++) { /* in any order */
            const double apart = fabs(poses->times[j] - time);
            k = apart <= least ? j : k;
            least = apart <= least ? apart : least;
        }
        const bool near = fabs(poses->times[k] - time) <= TIMED_NEAR;
        trajectory_append(&matched, near ? poses->poses + 16 * k : missing, time, poses->lines[k]);
    }
    trajectory_free(poses);
    *poses = matched;
}

static int fuse_frames(fusion *f) {
    session *s = f->session;
    trajectory list = {0};
    reason why;
    if (!trajectory_read(s->options->poses, &list, &why)) {
        return report_error(NULL, "%s", why.text);
    }
    if (list.times && list.count > 0 && list.count != s->input_count) {
        match_by_time(s, &list);
    }
    int code = EXIT_DONE;
    if (list.count != s->input_count) {
        code = report_error(input_name(s->options->poses),
                            "%lld poses for %d images; give one line per image, in their order", (long long)list.count,
                            s->input_count);
    }
    progress_run_begin(s->input_count);
    for (int i = 0; i < s->input_count && code == EXIT_DONE; i++) {
        code = fuse_frame(f, &list, i);
        progress_run_add(s->inputs[i], isnan(list.poses[16 * i]) ? PROGRESS_SKIPPED : PROGRESS_DONE);
    }
    progress_run_end();
    s->name = f->job->names[0];
    trajectory_free(&list);
    return code;
}

static void add_result(fusion *f, const pcgpu_volume_stats *stats, const pcgpu_mesh *mesh) {
    json *out = &f->job->result;
    json_integer(out, "frames", f->fused);
    json_integer(out, "left_out", f->skipped);
    json_integer(out, "unreachable", f->unreachable);
    json_number(out, "voxel_size", stats->params.voxel_size);
    json_number(out, "truncation", stats->params.truncation);
    json_integer(out, "blocks", stats->blocks);
    json_integer(out, "bytes", stats->bytes);
    json_integer(out, "vertices", mesh->vertices.rows);
    if (f->session->options->mesh) {
        json_integer(out, "triangles", mesh->triangles);
    }
}

static int write_mesh(job *j, const pcgpu_mesh *mesh) {
    FILE *stream = job_stream(j, "mesh");
    if (!stream) {
        return EXIT_DONE;
    }
    const char *name = output_shown(j->session->options->mesh);
    double begin = seconds_now();
    progress_begin(name, "writing");
    pcgpu_status status = pcgpu_write_mesh(j->session->context, stream, name, mesh);
    j->write_seconds += seconds_now() - begin;
    return exit_code_of(status, name, j->session->context);
}

/* The vertices of the mesh are the points of the surface. */
int fuse_write_model(fusion *f) {
    job *j = f->job;
    pcgpu_mesh mesh;
    pcgpu_volume_stats stats;
    char counted[48] = "";
    if (f->fused == 0) {
        return report_error(j->names[0], "no image has a pose, so there is no model, and nothing is written");
    }
    progress_begin(j->names[0], "extracting the surface");
    const option_values *o = f->session->options;
    const char *name = output_shown(o->output ? o->output : o->mesh);
    const bool triangles = o->mesh;
    memset(&mesh, 0, sizeof mesh);
    PC_TRY(job_code(j, triangles ? pcgpu_volume_mesh(f->volume, 0.0, &mesh)
                                 : pcgpu_volume_surface(f->volume, 0.0, &mesh.vertices)));
    pcgpu_volume_get_stats(f->volume, &stats);
    j->run = stats.run;
    j->points_out = mesh.vertices.rows;
    add_result(f, &stats, &mesh);
    if (mesh.vertices.rows == 0) {
        report_warning(name, "the model has no surface; check the camera, the poses and the size of the voxels");
    }
    int code = job_write_cloud(j, &mesh.vertices);
    code = code == EXIT_DONE ? write_mesh(j, &mesh) : code;
    if (code == EXIT_DONE) {
        progress_end();
        if (triangles) {
            snprintf(counted, sizeof counted, ", %lld triangles", (long long)mesh.triangles);
        }
        report_result(name, "%lld image%s fused at %g m: %lld blocks, %.1f MB; %lld surface points%s",
                      (long long)f->fused, f->fused == 1 ? "" : "s", stats.params.voxel_size, (long long)stats.blocks,
                      (double)stats.bytes / 1e6, (long long)mesh.vertices.rows, counted);
    }
    pcgpu_mesh_free(&mesh);
    return code;
}

/* ---- the command ---- */

static bool resolve_options(option_values *o, const command_info *command, reason *why) {
    (void)command;
    const char *wrong = NULL;
    if (!o->poses) {
        wrong = "no poses; give --poses FILE with one line per image, or let pcgpu odometry find the poses";
    } else if (!o->output && !o->mesh) {
        wrong = "no output; give -o FILE for the points of the surface, --mesh FILE for triangles, or both";
    }
    return !wrong || refuse(why, "%s", wrong);
}

static bool check(const session *s, reason *why) {
    for (int i = 0; i < s->input_count; i++) {
        const pcgpu_format_info *format = input_format(s, s->inputs[i]);
        if (!format || !format->depth) {
            return refuse(why, "%s is not a depth image; give .png or .pgm files", input_name(s->inputs[i]));
        }
    }
    return true;
}

static int process(job *j) {
    session *s = j->session;
    fusion f = {.session = s, .job = j};
    pcgpu_volume_params params = s->options->volume;
    params.frames = s->input_count;
    params.color = s->options->color != NULL;
    PC_TRY(job_code(j, pcgpu_volume_open(s->context, &params, &f.volume)));
    int code = fuse_frames(&f);
    code = code == EXIT_DONE ? fuse_write_model(&f) : code;
    pcgpu_volume_close(f.volume);
    return code;
}

static const option_row rows[] = {
    {"poses", 0, 0, OPTION_INPUT, &type_path, "FILE", AT(poses), 0, 0, NULL,
     "The poses of the images, which map the camera into the world: one per line as KITTI (12 numbers), a 4x4 matrix "
     "(16) or TUM (7, or 8 with a time); .log or .json of Open3D; a folder with NAME.pose.txt per image. nan leaves "
     "an image out. Images named by their times get the pose nearest in time."},
    {"voxel-size", 0, 0, OPTION_ABOVE_MIN, &type_real, "S", AT(volume.voxel_size), 0, 1000, NULL,
     "Voxel size of the model, in metres."},
};

const command_info fuse_command = {.name = "fuse",
                                   .bit = FOR_FUSE,
                                   .arguments = "[OPTION]... --poses FILE IMAGE...",
                                   .summary = "fuse depth images with known poses into a model: points or a mesh",
                                   .examples = {"--config camera.yaml --poses poses.txt depth/ --mesh mesh.ply",
                                                "--camera 525,525,319.5,239.5 --poses poses.txt depth/ -o points.ply"},
                                   .main_options = "poses camera color output mesh voxel-size config device",
                                   .traits = COMMAND_READS_STDIN,
                                   .options = ROWS(rows),
                                   .resolve_options = resolve_options,
                                   .check_inputs = check,
                                   .process = process};
