/* pcgpu register --all: the poses of a set of clouds, a line for each, and all of them as one cloud. */
#include "merge.h"
#include "register.h"
#include "transform_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct cloud_set {
    session *session;
    job *job;
    int count;
    pcgpu_cloud *clouds;
    pcgpu_set set;
} cloud_set;

static bool is_placed(const cloud_set *a, int i) {
    return a->set.placed > 0 && a->set.clouds[i].group == 0;
}

static int add(void *sink, job *j, int i) {
    cloud_set *a = sink;
    a->clouds = heap_grow(a->clouds, (size_t)i, sizeof *a->clouds);
    a->clouds[i] = job_take_cloud(j);
    a->count = i + 1;
    return EXIT_DONE;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* Names the cloud, and those that it fits. */
static void report_left(const cloud_set *a, int i) {
    const pcgpu_set_cloud *c = &a->set.clouds[i];
    int others = 0, first = -1;
    for (int k = 0; k < a->count; k++) {
        if (k != i && a->set.clouds[k].group == c->group) {
            first = first < 0 ? k : first;
            others++;
        }
    }
    const char *name = input_name(a->session->inputs[i]);
    if (others == 0) {
        report_error(name,
                     "not placed: it fits no other cloud; leave it out, or give clouds between it and the others");
    } else {
        report_error(name, "not placed: it fits %s%s, but not the clouds that are placed; give clouds between them",
                     input_name(a->session->inputs[first]), others > 1 ? " and more" : "");
    }
}

static void summarize(const cloud_set *a, double seconds) {
    double metres = 0.0, radians = 0.0;
    for (int i = 0; i < a->count; i++) {
        const pcgpu_set_cloud *c = &a->set.clouds[i];
        if (!is_placed(a, i)) {
            report_left(a, i);
            continue;
        }
        const double *T = c->T_group_cloud;
        metres = fmax(metres, register_deviation(c->covariance, 3));
        radians = fmax(radians, register_deviation(c->covariance, 0));
        report_detail(input_name(a->session->inputs[i]),
                      "at %.4f %.4f %.4f m, +- %.1f mm, %.3f degree, by %d registrations", T[3], T[7], T[11],
                      1e3 * register_deviation(c->covariance, 3),
                      57.29577951308232 * register_deviation(c->covariance, 0), c->links);
    }
    report_result(job_output_name(a->job, "transform"),
                  "%d of %d clouds placed by %d of %d registrations, %d refused; +- %.1f mm, %.3f degree "
                  "at most; %.1f s",
                  a->set.placed, a->count, a->set.link_count, a->set.registered, a->set.refused, 1e3 * metres,
                  57.29577951308232 * radians, seconds);
}

/* ---- outputs ----------------------------------------------------------------------------------------------------- */

static void print_neighbours(const cloud_set *a, int i, json *out) {
    bool any = false;
    json_key(out, "registered_with");
    fputc('[', out->out);
    for (int k = 0; k < a->set.link_count; k++) {
        const pcgpu_set_link *l = &a->set.links[k];
        if (l->source == i || l->target == i) {
            fputs(any ? ", " : "", out->out);
            json_print_string(out->out, a->session->inputs[l->source == i ? l->target : l->source]);
            any = true;
        }
    }
    fputc(']', out->out);
}

/* An object of --json for each cloud. */
static void print_clouds(const cloud_set *a) {
    for (int i = 0; i < a->count; i++) {
        const pcgpu_set_cloud *c = &a->set.clouds[i];
        const char *input = a->session->inputs[i];
        json out;
        if (!session_json_open(a->session, &out)) {
            return;
        }
        json_key(&out, "inputs");
        json_print_strings(out.out, &input, 1);
        json_integer(&out, "cloud", i);
        json_boolean(&out, "placed", is_placed(a, i));
        json_integer(&out, "group", c->group);
        json_numbers(&out, "T_group_cloud", c->T_group_cloud, 16);
        json_numbers(&out, "center", c->center, 3);
        json_numbers(&out, "covariance", c->covariance, 36);
        json_number(&out, "sigma_metres", register_deviation(c->covariance, 3));
        json_number(&out, "sigma_radians", register_deviation(c->covariance, 0));
        print_neighbours(a, i, &out);
        session_json_close(&out);
    }
}

static void write_poses(const cloud_set *a) {
    FILE *stream = job_stream(a->job, "transform");
    for (int i = 0; i < a->count; i++) {
        transform_write_pose(stream, is_placed(a, i) ? a->set.clouds[i].T_group_cloud : NULL, i,
                             register_own(a->session->options)->transform_format);
    }
}

/* The clouds that were placed, in one; the clouds are freed. A cloud without a place gives no points. */
static int write_merged(cloud_set *a) {
    pcgpu_context *context = a->session->context;
    pcgpu_cloud merged = {0};
    pcgpu_status status = PCGPU_OK;
    double offset[3] = {0};
    for (int i = a->count - 1; i >= 0; i--) { /* that of the first cloud with a pose, whose frame it is */
        if (is_placed(a, i)) {
            memcpy(offset, a->clouds[i].offset, sizeof offset);
        }
    }
    for (int i = 0; i < a->count && status == PCGPU_OK; i++) {
        pcgpu_cloud own = {0}, moved = {0};
        const pcgpu_cloud *scan;
        a->clouds[i].rows = is_placed(a, i) ? a->clouds[i].rows : 0;
        status = register_scan(a->session, &a->clouds[i], &own, &scan, &(pcgpu_run){0});
        status = status == PCGPU_OK
                     ? pcgpu_cloud_transform(context, scan, a->set.clouds[i].T_group_cloud, offset, &moved)
                     : status;
        pcgpu_cloud_free(&own);
        if (status == PCGPU_OK) {
            pcgpu_cloud_free(&a->clouds[i]);
            a->clouds[i] = moved;
        }
    }
    status = status == PCGPU_OK ? clouds_merge(context, job_output_name(a->job, "output"), a->clouds, a->count, &merged)
                                : status;
    a->job->points_out = merged.rows;
    const int code = status == PCGPU_OK ? job_write_cloud(a->job, &merged) : job_code(a->job, status);
    pcgpu_cloud_free(&merged);
    return code;
}

static void add_result(cloud_set *a) {
    json *out = &a->job->result;
    json_integer(out, "clouds", a->count);
    json_integer(out, "placed", a->set.placed);
    json_integer(out, "groups", a->set.groups);
    json_integer(out, "registered", a->set.registered);
    json_integer(out, "links", a->set.link_count);
    json_integer(out, "refused", a->set.refused);
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static int place(void *sink, job *j) {
    cloud_set *a = sink;
    a->session = j->session;
    a->job = j;
    a->session->name = j->names[0] = output_shown(register_own(a->session->options)->transform); /* this is about all */
    pcgpu_register_params params = a->session->options->registration;
    params.drop_origin = a->session->options->drop_origin;
    const pcgpu_cloud **pointers = heap_zeroed((size_t)a->count, sizeof *pointers);
    for (int i = 0; i < a->count; i++) {
        pointers[i] = &a->clouds[i];
    }
    progress_begin(j->names[0], "registering");
    const double begin = seconds_now();
    const pcgpu_status status = pcgpu_register_all(a->session->context, pointers, a->count, &params, &a->set);
    free(pointers);
    progress_end();
    PC_TRY(job_code(j, status));
    j->run = a->set.run;
    summarize(a, seconds_now() - begin);
    add_result(a);
    write_poses(a);
    PC_TRY(job_stream(j, "output") ? write_merged(a) : EXIT_DONE);
    print_clouds(a);
    return a->set.placed < a->count ? EXIT_NOT_CONVERGED : EXIT_DONE;
}

static void free_set(void *sink) {
    cloud_set *a = sink;
    for (int i = 0; i < a->count; i++) {
        pcgpu_cloud_free(&a->clouds[i]);
    }
    pcgpu_set_free(&a->set);
    free(a->clouds);
}

static const job_sink set_sink = {sizeof(cloud_set), add, place, free_set};

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* --transform has the poses, or without --merge -o; with --merge -o has the clouds. */
bool register_all_resolve(option_values *o, const command_info *command, reason *why) {
    register_values *own = register_own(o);
    const char *wrong = NULL;
    if (o->pairs || o->init || o->skip_existing || o->shard) {
        wrong = o->pairs  ? "all: the pairs are found, and --pairs gives them; leave one of both out"
                : o->init ? "all: features find the initial transforms; leave --init out"
                          : "all: the clouds are one job; leave --skip-existing and --shard out";
    } else if (o->association == ASSOCIATION_PROJECTIVE) {
        wrong = "all registers clouds, also those of depth images; leave association out";
    } else if (own->transform && o->output && !own->merge) {
        wrong = "all: --transform or -o has the poses; give one of them, or --merge, with which -o has the clouds";
    } else if (own->merge && !o->output) {
        wrong = MERGE_WITHOUT_OUTPUT;
    }
    if (wrong) {
        return refuse(why, "%s", wrong);
    }
    if (!own->transform) {
        own->transform = o->output && !own->merge ? o->output : "-";
    }
    if (!own->merge) {
        o->output = NULL;
    }
    if (!option_given(o, "transform-format", command)) {
        own->transform_format = TRANSFORM_KITTI;
    }
    return true;
}

/* The points of depth images are dense: method gicp, unless one is given. */
static bool take_inputs(session *s, reason *why) {
    bool images = !option_given(s->options, "method", s->command);
    for (int i = 0; i < s->input_count && images; i++) {
        const pcgpu_format_info *format = input_format(s, s->inputs[i]);
        images = format && format->depth;
    }
    if (images) {
        s->options->registration.method = PCGPU_REGISTER_GICP;
    }
    return s->input_count >= 2 ||
           refuse(why, s->input_count == 1 ? "one cloud; give two or more to place, or a folder of them"
                                           : "no cloud; give two or more, or a folder of them");
}

static bool check_inputs(const session *s, reason *why) {
    const register_values *own = register_own(s->options);
    for (int i = 0; i < s->input_count; i++) {
        if (path_is_dash(s->inputs[i])) {
            return refuse(why, "standard input cannot be one of many clouds; give files");
        }
    }
    if (path_is_folder(own->transform) || (s->options->output && path_is_folder(s->options->output))) {
        return refuse(why, "%s is a folder, and there is one output; give a file",
                      path_is_folder(own->transform) ? own->transform : s->options->output);
    }
    return register_check_kind(s, true, false, why);
}

static const command_info of_all = {.name = "register",
                                    .bit = FOR_REGISTER,
                                    .traits = COMMAND_DROPS_ORIGIN | COMMAND_MAY_NOT_CONVERGE | COMMAND_KEEPS_COLUMNS,
                                    .take_inputs = take_inputs,
                                    .check_inputs = check_inputs,
                                    .sink = &set_sink};

void register_find_inputs(session *s) {
    s->command = register_own(s->options)->all ? &of_all : s->command;
}
