/* pcgpu sample: farthest point sampling and random sampling. */
#include "sample_run.h"
#include "columns.h"
#include "pieces.h"
#include "sweeps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double sample_rows(const pcgpu_cloud *cloud, const int32_t *indices, int64_t count, float *out) {
    const size_t columns = (size_t)cloud->columns;
    double largest = 0;
    for (int64_t i = 0; i < count; i++, out += columns) {
        if (indices[i] < 0) {
            memset(out, 0, columns * sizeof *out);
            continue;
        }
        memcpy(out, cloud->data + (size_t)indices[i] * columns, columns * sizeof *out);
        for (int k = 0; k < 3 && cloud->offset[k] != 0; k++) {
            const double exact = cloud->offset[k] + (double)out[k];
            out[k] = (float)exact;
            largest = fmax(largest, fabs((double)out[k] - exact));
        }
    }
    return largest;
}

/* The picks as a cloud; rows of zeros are at the end. */
static pcgpu_status gather(const job *j, const pcgpu_sampled *sampled, pcgpu_cloud *picked) {
    pcgpu_context *context = j->session->context;
    const pcgpu_cloud *cloud = &j->clouds[0];
    int64_t real = sampled->count;
    while (real > 0 && sampled->indices[real - 1] < 0) {
        real--;
    }
    pcgpu_cloud rows;
    pcgpu_status status = pcgpu_cloud_gather(context, cloud, sampled->indices, real, picked);
    if (status != PCGPU_OK || real == sampled->count) {
        return status;
    }
    status = pcgpu_cloud_create(context, sampled->count, cloud->columns, &rows);
    if (status == PCGPU_OK) {
        const size_t columns = (size_t)cloud->columns, n = (size_t)real * columns;
        memcpy(rows.data, picked->data, n * sizeof *rows.data);
        memset(rows.data + n, 0, ((size_t)sampled->count * columns - n) * sizeof *rows.data);
        for (int64_t i = real; i < sampled->count; i++) {
            for (int k = 0; k < 3; k++) { /* zero in the coordinates of the file */
                rows.data[(size_t)i * columns + (size_t)k] = (float)(0 - cloud->offset[k]);
            }
        }
        memcpy(rows.offset, cloud->offset, sizeof rows.offset);
        memcpy(rows.names, cloud->names, sizeof rows.names);
        memcpy(rows.types, cloud->types, sizeof rows.types);
        pcgpu_cloud_take_header(&rows, cloud, 1);
    }
    pcgpu_cloud_free(picked);
    *picked = rows;
    return status;
}

/* Writes the picks; `picked` is their cloud, `wide` their records if there are too many for 32 bits, else NULL. */
static int write_picked(job *j, const pcgpu_sampled *sampled, const int64_t *wide, const pcgpu_cloud *picked) {
    const pcgpu_array indices = {.name = "indices",
                                 .type = wide ? PCGPU_INT64 : PCGPU_INT32,
                                 .dimensions = 1,
                                 .shape = {sampled->count},
                                 .data = wide ? (const void *)wide : sampled->indices};
    const pcgpu_array distances = {.name = "distances",
                                   .type = PCGPU_FLOAT32,
                                   .dimensions = 1,
                                   .shape = {sampled->count},
                                   .data = sampled->distances};
    PC_TRY(job_write_cloud(j, picked));
    PC_TRY(job_write_array(j, "indices", &indices));
    return sampled->distances ? job_write_array(j, "distances", &distances) : EXIT_DONE;
}

/* Fills the picks up to --count. */
static int pad(job *j, pcgpu_sampled *sampled) {
    const sample_values *own = sample_own(j->session->options);
    const int64_t picked = sampled->count, m = own->params.count;
    if (own->pad == PAD_NONE || picked >= m) {
        return EXIT_DONE;
    }
    if (own->pad == PAD_REPEAT && picked == 0) {
        return report_error(j->names[0], "no pick that could be repeated; give --pad zero");
    }
    int32_t *indices = realloc(sampled->indices, (size_t)m * sizeof *indices);
    sampled->indices = indices ? indices : sampled->indices;
    float *distances = sampled->distances ? realloc(sampled->distances, (size_t)m * sizeof *distances) : NULL;
    sampled->distances = distances ? distances : sampled->distances;
    if (!indices || (sampled->distances && !distances)) {
        return report_error(j->names[0], "out of memory");
    }
    for (int64_t i = picked; i < m; i++) {
        indices[i] = own->pad == PAD_REPEAT ? indices[i % picked] : -1;
        if (distances) {
            distances[i] = 0;
        }
    }
    sampled->count = m;
    json_integer(&j->result, "padded", m - picked);
    report_detail(j->names[0], "%lld of %lld points are padding", (long long)(m - picked), (long long)m);
    return EXIT_DONE;
}

static void add_result(job *j, const pcgpu_sampled *sampled) {
    json_integer(&j->result, "count", sampled->count);
    if (sampled->distances && sampled->count > 0) {
        json_number(&j->result, "last_distance", (double)sampled->distances[sampled->count - 1]);
    }
    json_number(&j->result, "coverage", (double)sampled->coverage);
    if (!isnan(sampled->coverage)) {
        report_detail(j->names[0], "coverage %.4g m: no usable point is farther from the sample",
                      (double)sampled->coverage);
    }
}

int sample_finish(job *j, pcgpu_sampled *sampled) {
    j->run = sampled->run;
    if (sampled->count == 0 && !sample_own(j->session->options)->seeds) {
        report_warning(j->names[0], "0 usable points among %lld records, so 0 picks",
                       (long long)sampled->run.points_in);
    }
    add_result(j, sampled);
    const int code = pad(j, sampled);
    j->points_out = sampled->count;
    return code;
}

pcgpu_sample_params sample_parameters(const session *s) {
    pcgpu_sample_params params = sample_own(s->options)->params;
    params.drop_origin = s->options->drop_origin;
    params.at_most = params.at_most || sample_own(s->options)->pad != PAD_NONE;
    params.coverage = s->options->json || s->options->verbose; /* only these show it */
    return params;
}

int sample_find_columns(const job *j, pcgpu_sample_params *params) {
    column_list list;
    reason why;
    if (!j->session->options->columns || !columns_split(j->session->options->columns, &list, &why)) {
        return EXIT_DONE; /* resolve_options has split it */
    }
    for (int k = 0; k < list.count; k++) {
        params->columns[k] = columns_find(j->names[0], list.names[k], &j->clouds[0]);
        if (params->columns[k] < 0) {
            return EXIT_FAILED;
        }
    }
    params->column_count = list.count;
    return EXIT_DONE;
}

int sample_prepare(job *j) {
    job_warn_origin(j);
    return sweeps_add(j);
}

/* Reads the records of --seeds, if it is given. */
static int read_seeds(const session *s, pcgpu_indices *seeds) {
    const char *path = sample_own(s->options)->seeds;
    FILE *stream = path ? input_open(path) : NULL;
    *seeds = (pcgpu_indices){0};
    if (!stream) {
        return path ? EXIT_FAILED : EXIT_DONE;
    }
    const pcgpu_status status = pcgpu_read_indices(s->context, stream, path, seeds);
    input_close(stream);
    return exit_code_of(status, input_name(path), s->context);
}

/* The memory of a run without pieces is about this many times the file: its records, the coordinates and a permutation,
 * or the tree of buckets. */
enum { TIMES_AT_RANDOM = 3, TIMES_FARTHEST = 4 };

/* The option that needs the whole file, or NULL. */
static const char *lacking_in_pieces(const option_values *o) {
    return o->columns                       ? "columns"
           : sample_own(o)->seeds           ? "seeds"
           : sample_own(o)->pad != PAD_NONE ? "pad"
           : o->sweeps > 0                  ? "sweeps"
                                            : NULL;
}

bool sample_reads_pieces(const session *s, const char *input) {
    const option_values *o = s->options;
    const int times = sample_own(o)->params.method == PCGPU_SAMPLE_RANDOM ? TIMES_AT_RANDOM : TIMES_FARTHEST;
    return !o->batch &&
           session_needs_pieces(s, input, times, !lacking_in_pieces(o) && o->device.device != PCGPU_DEVICE_CUDA);
}

static int sample_whole(job *j) {
    pcgpu_sample_params params = sample_parameters(j->session);
    pcgpu_sampled sampled;
    pcgpu_cloud picked;
    pcgpu_indices seeds;
    int code;
    PC_TRY(sample_prepare(j));
    PC_TRY(sample_find_columns(j, &params));
    PC_TRY(read_seeds(j->session, &seeds));
    params.seeds = seeds.values;
    params.seed_count = seeds.count;
    progress_begin(j->names[0], "sampling");
    pcgpu_status status = pcgpu_sample(j->session->context, &j->clouds[0], &params, &sampled);
    pcgpu_indices_free(&seeds);
    PC_TRY(job_code(j, status));
    PC_TRY_OR(done, code, sample_finish(j, &sampled));
    PC_TRY_OR(done, code, job_code(j, gather(j, &sampled, &picked)));
    code = write_picked(j, &sampled, NULL, &picked);
    pcgpu_cloud_free(&picked);
done:
    pcgpu_sampled_free(&sampled);
    return code;
}

static int sample_in_pieces(job *j) {
    const pcgpu_sample_params params = sample_parameters(j->session);
    const char *lacks = lacking_in_pieces(j->session->options);
    pcgpu_sampled sampled;
    pcgpu_cloud picked;
    pcgpu_pieces *pieces = NULL;
    int64_t *wide = NULL;
    size_t memory = 0;
    progress_begin(j->names[0], "sampling in pieces");
    PC_TRY(lacks ? job_lacks_in_pieces(j, &pieces, lacks) : job_open_pieces(j, &pieces, &memory));
    if (!j->in_pieces) {
        return sample_whole(j);
    }
    pcgpu_status status = pcgpu_sample_pieces(j->session->context, pieces, &params, memory, &sampled, &wide, &picked);
    pcgpu_pieces_close(pieces);
    PC_TRY(job_code(j, status));
    int code = sample_finish(j, &sampled);
    code = code == EXIT_DONE ? write_picked(j, &sampled, wide, &picked) : code;
    free(wide);
    pcgpu_sampled_free(&sampled);
    pcgpu_cloud_free(&picked);
    return code;
}

int sample_process(job *j) {
    return j->in_pieces ? sample_in_pieces(j) : sample_whole(j);
}
