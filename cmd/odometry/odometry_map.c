/* pcgpu odometry with scans: the map, made of the points that odometry registers, at the poses of the trajectory. */
#include "merge.h"
#include "odometry_map.h"
#include "register.h"
#include "scan_reader.h"

#include <stdlib.h>
#include <string.h>

bool odometry_is_depth(const session *s) {
    return register_is_projective(s, s->inputs, s->input_count);
}

#define MAP_VOXEL  0.1                /* metres, without --map-voxel */
#define MAP_MEMORY ((int64_t)1 << 30) /* bytes, without --set memory */

const char *odometry_map_output(const session *s) {
    return s->options->output ? s->options->output : odometry_own(s->options)->changes;
}

bool odometry_has_map(const session *s) {
    return odometry_map_output(s) && !odometry_is_depth(s);
}

double odometry_map_voxel(const session *s) {
    const double voxel = odometry_own(s->options)->map_voxel;
    return voxel != PCGPU_AUTO ? voxel : odometry_is_depth(s) ? s->options->volume.voxel_size : MAP_VOXEL;
}

/* The folder of the temporary file: as given, else that of the output, or that of the system for a stream. malloc'd. */
static char *choose_folder(const session *s) {
    const odometry_values *own = odometry_own(s->options);
    const char *path = odometry_map_output(s), *temporary = getenv("TMPDIR");
    if (own->temporary_folder) {
        return heap_text("%s", own->temporary_folder);
    }
    return path_is_stream(path) ? heap_text("%s", temporary && temporary[0] ? temporary : "/tmp") : path_folder(path);
}

int odometry_map_open(session *s, odometry_map *m) {
    pcgpu_map_params params;
    pcgpu_map_params_init(&params);
    *m = (odometry_map){.session = s, .folder = choose_folder(s)};
    params.voxel = odometry_map_voxel(s);
    params.keep_moving = odometry_own(s->options)->keep_moving;
    params.drop_origin = s->options->drop_origin;
    params.memory = s->options->memory ? s->options->memory : MAP_MEMORY;
    params.folder = m->folder;
    return exit_code_of(pcgpu_map_open(s->context, &params, &m->map), NULL, s->context);
}

/* ---- scans ------------------------------------------------------------------------------------------------------- */

/* T_a_b of two poses in one world. */
static void between(const double a[16], const double b[16], double out[16]) {
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 4; k++) {
            out[4 * i + k] = (a[i] * (b[k] - (k == 3 ? a[3] : 0.0)) + a[4 + i] * (b[4 + k] - (k == 3 ? a[7] : 0.0))) +
                             a[8 + i] * (b[8 + k] - (k == 3 ? a[11] : 0.0));
        }
    }
    out[12] = out[13] = out[14] = 0.0;
    out[15] = 1.0;
}

static pcgpu_odometry_params params_of(const odometry_map *m) {
    pcgpu_odometry_params params;
    pcgpu_odometry_params_init(&params);
    pcgpu_odometry_settled(m->odometry, &params);
    return params;
}

static bool deskews(const odometry_map *m) {
    return params_of(m).deskew != PCGPU_DESKEW_NONE;
}

static int add_points(odometry_map *m, const pcgpu_cloud *scan, const pcgpu_cloud *before, const double *T_before_scan,
                      double fraction, const double T[16]) {
    const pcgpu_odometry_params params = params_of(m);
    pcgpu_cloud points;
    const double begin = seconds_now();
    pcgpu_status status =
        pcgpu_scan_points(m->session->context, &params, scan, before, T_before_scan, fraction, &points, &m->left_out);
    if (status == PCGPU_OK) {
        status = pcgpu_map_add(m->map, &points, T);
        pcgpu_cloud_free(&points);
    }
    m->seconds += seconds_now() - begin;
    return exit_code_of(status, NULL, m->session->context);
}

/* With deskewing the first scan waits for the second one, since its motion is not known before. */
int odometry_map_add(odometry_map *m, pcgpu_cloud *scan, const double T[16], double fraction) {
    double T_before_scan[16];
    int code = EXIT_DONE;
    if (m->scans > 0) {
        between(m->T, T, T_before_scan);
        if (deskews(m) && m->scans == 1) {
            code = add_points(m, &m->before, NULL, T_before_scan, fraction, m->T);
        }
        code = code == EXIT_DONE ? add_points(m, scan, &m->before, T_before_scan, fraction, T) : code;
    } else if (!deskews(m)) {
        code = add_points(m, scan, NULL, NULL, 0.0, T);
    }
    pcgpu_cloud_free(&m->before);
    m->before = *scan;
    *scan = (pcgpu_cloud){0};
    memcpy(m->T, T, sizeof m->T);
    m->scans++;
    return code;
}

int odometry_map_add_all(odometry_map *m, const double *poses, const double *fractions) {
    const int count = m->session->input_count;
    scan_read scan;
    int code = EXIT_DONE;
    scan_reader *reader = scan_reader_open(m->session, poses, false);
    progress_run_begin(count);
    while (code == EXIT_DONE && scan_reader_next(reader, &scan)) {
        const char *name = m->session->name = m->session->inputs[scan.index];
        scan_read_log(&scan, name);
        if (!scan.good) {
            code = report_error(name, "%s; this scan has a pose and is needed for the map",
                                sentence_without_name(scan.error.text, name));
        } else {
            code = odometry_map_add(m, &scan.cloud, poses + 16 * scan.index, fractions[scan.index]);
        }
        progress_run_add(name, code == EXIT_DONE ? PROGRESS_DONE : PROGRESS_FAILED);
    }
    progress_run_end();
    scan_reader_close(reader);
    return code;
}

/* ---- the map ----------------------------------------------------------------------------------------------------- */

static void add_result(job *j, const pcgpu_map_stats *stats, int64_t points) {
    json *out = &j->result;
    json_integer(out, "scans", stats->scans);
    json_integer(out, "panoramas", stats->panoramas);
    json_number(out, "map_voxel", stats->params.voxel);
    json_integer(out, "voxels", stats->voxels);
    json_integer(out, "moved", stats->moved);
    json_integer(out, "unreachable", stats->unreachable);
    json_integer(out, "on_disk", stats->on_disk);
    json_integer(out, "points", points);
}

/* With --into. */
static void add_extension(const odometry_map *m, job *j, const pcgpu_map_stats *stats, const pcgpu_cloud *points) {
    json *out = &j->result;
    json_integer(out, "kept", stats->kept);
    json_integer(out, "added", stats->added);
    if (!stats->params.keep_moving) {
        json_integer(out, "appeared", stats->appeared);
        json_integer(out, "disappeared", stats->disappeared);
    }
    clouds_warn_left_out(&m->into, 1, (const char(*)[PCGPU_NAME_SIZE])points->names, points->columns,
                         job_output_name(j, "output"));
}

static int write_changes(odometry_map *m, job *j, const pcgpu_map_stats *stats) {
    FILE *stream = job_stream(j, "changes");
    const char *name = job_output_name(j, "changes");
    const pcgpu_cloud *changes;
    if (!stream) {
        return EXIT_DONE;
    }
    pcgpu_context *context = m->session->context;
    const pcgpu_format_info *format = pcgpu_format_of_path(name);
    PC_TRY(exit_code_of(pcgpu_map_changes(m->map, &changes), name, context));
    PC_TRY(exit_code_of(pcgpu_write(context, stream, name, format ? format->name : "ply", changes), name, context));
    report_result(name, "%lld voxels have appeared and %lld disappeared", (long long)stats->appeared,
                  (long long)stats->disappeared);
    return EXIT_DONE;
}

static void report_map(const odometry_map *m, const job *j, const pcgpu_map_stats *stats, int64_t points) {
    char added[80] = "";
    if (m->into.data) {
        snprintf(added, sizeof added, ", %lld of them added to %lld", (long long)stats->added, (long long)stats->kept);
    }
    if (m->session->options->output) {
        report_result(job_output_name(j, "output"),
                      "%lld points of %lld scan%s at %g m%s; %lld of %lld voxels removed as moving objects",
                      (long long)points, (long long)stats->scans, stats->scans == 1 ? "" : "s", stats->params.voxel,
                      added, (long long)stats->moved, (long long)stats->voxels);
    }
}

int odometry_map_write(odometry_map *m, job *j) {
    const pcgpu_cloud *points;
    pcgpu_map_stats stats;
    if (m->scans == 1 && deskews(m)) {
        PC_TRY(add_points(m, &m->before, NULL, NULL, 0.0, m->T));
    }
    progress_begin(j->names[0], "finishing the map");
    PC_TRY(exit_code_of(pcgpu_map_finish(m->map, &points), NULL, m->session->context));
    pcgpu_map_get_stats(m->map, &stats);
    j->run = stats.run;
    j->run.points_in += m->left_out.points_in;
    j->run.at_origin += m->left_out.at_origin;
    j->run.too_near = m->left_out.too_near;
    j->run.on_carrier = m->left_out.on_carrier;
    j->run.stage[0].seconds = m->seconds;
    j->points_out = points->rows;
    add_result(j, &stats, points->rows);
    if (m->into.data) {
        add_extension(m, j, &stats, points);
    }
    if (stats.unreachable > 0) {
        report_warning(
            job_output_name(j, "output"),
            "%lld points are farther than 2^27 voxels from the first pose and left out; give a larger --map-voxel",
            (long long)stats.unreachable);
    }
    PC_TRY(job_write_cloud(j, points));
    progress_end();
    report_map(m, j, &stats, points->rows);
    return write_changes(m, j, &stats);
}

void odometry_map_close(odometry_map *m) {
    pcgpu_map_close(m->map);
    pcgpu_cloud_free(&m->before);
    pcgpu_cloud_free(&m->into);
    free(m->folder);
    *m = (odometry_map){0};
}

/* ---- --map, --into: the map that scans are localized in ---------------------------------------------------------- */

static int open_in(session *s, const pcgpu_odometry_params *params, const pcgpu_cloud *map, pcgpu_odometry **odometry) {
    pcgpu_odometry_params there = *params;
    there.registration.search = options_init_file(s->options) ? PCGPU_SEARCH_RESCUE : PCGPU_SEARCH_ALWAYS;
    const pcgpu_status status = odometry_own(s->options)->into
                                    ? pcgpu_odometry_open_into(s->context, &there, map, odometry)
                                    : pcgpu_odometry_open_map(s->context, &there, map, odometry);
    if (status != PCGPU_OK) {
        report_failure(odometry_map_of(odometry_own(s->options)), s->context);
    }
    return status == PCGPU_OK ? EXIT_DONE : status == PCGPU_ERROR_UNAVAILABLE ? EXIT_NO_CUDA : EXIT_FAILED;
}

int odometry_open_map(session *s, const pcgpu_odometry_params *params, odometry_map *extended,
                      pcgpu_odometry **odometry) {
    const char *path = odometry_map_of(odometry_own(s->options));
    const pcgpu_read_options how = {.struct_size = sizeof how, .fields = PCGPU_LIKELY_FIELDS}; /* not --fields */
    const pcgpu_format_info *format = pcgpu_format_of_path(path);
    pcgpu_cloud map = {0};
    /* The parameters are wrong with any map, or right. */
    if (pcgpu_odometry_open(s->context, params, odometry) != PCGPU_OK) {
        report_failure(NULL, s->context);
        return EXIT_USAGE;
    }
    pcgpu_odometry_close(*odometry);
    *odometry = NULL;
    if (format && format->depth) {
        return report_error(path, "is a depth image, and scans are localized in a cloud; give a map of points");
    }
    FILE *stream = input_open(path);
    if (!stream) {
        return EXIT_FAILED;
    }
    s->name = path;
    int code = exit_code_of(pcgpu_read(s->context, stream, path, &how, &map), path, s->context);
    input_close(stream);
    code = code == EXIT_DONE ? open_in(s, params, &map, odometry) : code;
    if (code == EXIT_DONE && extended && odometry_own(s->options)->into) {
        extended->into = map;
        return exit_code_of(pcgpu_map_into(extended->map, &extended->into), path, s->context);
    }
    pcgpu_cloud_free(&map);
    return code;
}
