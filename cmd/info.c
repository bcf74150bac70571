/* pcgpu info: the content of a cloud; without an input, the properties of this build and machine. */
#include "job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES_MAX = 64 };

typedef struct column_info {
    double min, max, mean; /* of the finite values, offset included; NaN without any */
    int64_t non_finite;
} column_info;

static column_info scan_column(const pcgpu_cloud *cloud, int column) {
    column_info c = {.min = NAN, .max = NAN, .mean = NAN};
    double sum = 0, offset = column < 3 ? cloud->offset[column] : 0;
    int64_t n = 0;
    for (int64_t i = 0; i < cloud->rows; i++) {
        double value = (double)cloud->data[i * cloud->columns + column];
        if (!isfinite(value)) {
            c.non_finite++;
            continue;
        }
        c.min = n == 0 || value < c.min ? value : c.min;
        c.max = n == 0 || value > c.max ? value : c.max;
        sum += value;
        n++;
    }
    if (n > 0) {
        c.min += offset;
        c.max += offset;
        c.mean = sum / (double)n + offset;
    }
    return c;
}

static int64_t count_non_finite_points(const pcgpu_cloud *cloud) {
    int64_t n = 0;
    for (int64_t i = 0; i < cloud->rows; i++) {
        const float *p = cloud->data + i * cloud->columns;
        n += !(isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]));
    }
    return n;
}

static int64_t count_at_origin(const pcgpu_cloud *cloud) {
    int64_t n = 0;
    for (int64_t i = 0; i < cloud->rows; i++) {
        const float *p = cloud->data + i * cloud->columns;
        n += cloud->offset[0] + (double)p[0] == 0 && cloud->offset[1] + (double)p[1] == 0 &&
             cloud->offset[2] + (double)p[2] == 0;
    }
    return n;
}

typedef struct position {
    uint32_t bits[3];
} position;

static int compare_positions(const void *a, const void *b) {
    return memcmp(a, b, sizeof(position));
}

/* Points whose coordinates have the same bits as those of an earlier point; -1 when memory is exhausted. */
static int64_t count_duplicates(const pcgpu_cloud *cloud) {
    size_t rows = (size_t)cloud->rows;
    position *p = malloc(rows ? rows * sizeof *p : 1);
    if (!p) {
        return -1;
    }
    for (size_t i = 0; i < rows; i++) {
        memcpy(&p[i], cloud->data + i * (size_t)cloud->columns, sizeof p[i]);
    }
    qsort(p, rows, sizeof *p, compare_positions);
    int64_t n = 0;
    for (size_t i = 1; i < rows; i++) {
        n += memcmp(&p[i], &p[i - 1], sizeof *p) == 0;
    }
    free(p);
    return n;
}

static const char *type_name(int type) {
    static const char *const names[] = {"float32", "float64", "int8",   "uint8",  "int16",
                                        "uint16",  "int32",   "uint32", "float16"};
    return type >= 0 && type < (int)(sizeof names / sizeof names[0]) ? names[type] : "unknown";
}

static void add_columns(json *out, const pcgpu_cloud *cloud, const column_info *columns) {
    json_key(out, "columns");
    fputc('[', out->out);
    for (int k = 0; k < cloud->columns; k++) {
        fputs(k ? ", " : "", out->out);
        json_open(out, NULL);
        json_text(out, "name", cloud->names[k]);
        json_text(out, "type", type_name(cloud->types[k]));
        json_number(out, "min", columns[k].min);
        json_number(out, "max", columns[k].max);
        json_number(out, "mean", columns[k].mean);
        json_integer(out, "non_finite", columns[k].non_finite);
        json_close(out);
    }
    fputc(']', out->out);
}

static void print_cloud(const job *j, const column_info *columns, int64_t non_finite, int64_t duplicates,
                        int64_t at_origin, const char *wrong) {
    const pcgpu_cloud *cloud = &j->clouds[0];
    FILE *out = j->session->out;
    print_shown(out, j->names[0]);
    fprintf(out, ": %s, %lld points, %d columns\n", j->input_format[0] ? j->input_format[0]->name : "?",
           (long long)cloud->rows, cloud->columns);
    fprintf(out, "  %-12s %-8s %14s %14s %14s %10s\n", "column", "type", "min", "max", "mean", "non-finite");
    for (int k = 0; k < cloud->columns; k++) {
        fprintf(out, "  ");
        const int shown = print_shown(out, cloud->names[k]);
        fprintf(out, "%*s %-8s %14.6g %14.6g %14.6g %10lld\n", shown < 12 ? 12 - shown : 0, "", type_name(cloud->types[k]),
               columns[k].min, columns[k].max, columns[k].mean, (long long)columns[k].non_finite);
    }
    if (j->depth[0].pixels > 0) {
        fprintf(out, "  pixels: %lld, without a return: %lld, out of the camera's range: %lld\n",
               (long long)j->depth[0].pixels, (long long)j->depth[0].no_return, (long long)j->depth[0].out_of_range);
    }
    fprintf(out, "  points with a non-finite coordinate: %lld\n", (long long)non_finite);
    fprintf(out, "  exact duplicates of an earlier point: %lld\n", (long long)duplicates);
    fprintf(out, "  points at the origin: %lld\n", (long long)at_origin);
    if (cloud->offset[0] != 0 || cloud->offset[1] != 0 || cloud->offset[2] != 0) {
        fprintf(out, "  offset: %.0f %.0f %.0f\n", cloud->offset[0], cloud->offset[1], cloud->offset[2]);
    }
    if (wrong[0]) {
        fprintf(out, "  looks wrong: %s\n", wrong);
    }
}

static int info_process(job *j) {
    const pcgpu_cloud *cloud = &j->clouds[0];
    column_info columns[PCGPU_MAX_COLUMNS];
    progress_begin(j->names[0], "counting");
    int64_t non_finite = count_non_finite_points(cloud), at_origin = count_at_origin(cloud);
    int64_t duplicates = count_duplicates(cloud);
    if (duplicates < 0) {
        report_error(j->names[0], "out of memory");
        return EXIT_FAILED;
    }
    for (int k = 0; k < cloud->columns; k++) {
        columns[k] = scan_column(cloud, k);
    }
    j->run.points_in = cloud->rows;
    json_text(&j->result, "format", j->input_format[0] ? j->input_format[0]->name : NULL);
    json_integer(&j->result, "points", cloud->rows);
    add_columns(&j->result, cloud, columns);
    json_integer(&j->result, "non_finite", non_finite);
    json_integer(&j->result, "duplicates", duplicates);
    json_integer(&j->result, "at_origin", at_origin);
    json_numbers(&j->result, "offset", cloud->offset, 3);
    char wrong[256];
    if (pcgpu_cloud_looks_wrong(cloud, j->input_format[0] ? j->input_format[0]->name : NULL, wrong, sizeof wrong)) {
        json_text(&j->result, "looks_wrong", wrong);
    }
    progress_end();
    if (!session_json_is_stdout(j->session)) {
        print_cloud(j, columns, non_finite, duplicates, at_origin, wrong);
    }
    return EXIT_DONE;
}

/* ---- the build and the machine ---- */

static void print_driver(int driver, char *text, size_t size) {
    snprintf(text, size, driver ? "%d.%d" : "none", driver / 1000, driver % 1000 / 10);
}

static const char *architectures(void) {
    const char *built = pcgpu_cuda_architectures();
    return built[0] ? built : "none: CPU only, built without CUDA";
}

void version_print(bool verbose) {
    pcgpu_device_info devices[DEVICES_MAX];
    char why[256] = "", version[16];
    int driver = 0;
    const pcgpu_format_info *f;
    printf("pcgpu %s\n", pcgpu_version());
    if (!verbose) {
        return;
    }
    int count = pcgpu_devices(devices, DEVICES_MAX, why, sizeof why, &driver);
    print_driver(driver, version, sizeof version);
    printf("back ends: cpu%s\n", pcgpu_cuda_architectures()[0] ? ", cuda" : "");
    printf("GPU architectures: %s\n", architectures());
    printf("formats:\n");
    for (int i = 0; (f = pcgpu_format_at(i)); i++) {
        printf("  %-9s %-4s %-4s %-5s  %s\n", f->name, f->extension, f->reads ? "read" : "",
               f->writes || f->writes_arrays ? "write" : "", f->description);
    }
    if (count == 0) {
        printf("CUDA devices: none: %s\n", why);
    } else {
        printf("CUDA devices: %d, the driver supports CUDA %s\n", count, version);
    }
    for (int i = 0; i < count && i < DEVICES_MAX; i++) {
        printf("  %d: %s, compute capability %d.%d, %d multiprocessors, %.1f GiB\n", i, devices[i].name,
               devices[i].major, devices[i].minor, devices[i].multiprocessors,
               (double)devices[i].memory / (1024.0 * 1024 * 1024));
    }
}

static void machine_json(FILE *stream) {
    pcgpu_device_info devices[DEVICES_MAX];
    char why[256] = "", version[16];
    int driver = 0, count = pcgpu_devices(devices, DEVICES_MAX, why, sizeof why, &driver);
    json out = {.out = stream, .first = true};
    json_open(&out, NULL);
    json_text(&out, "command", "info");
    json_text(&out, "version", pcgpu_version());
    json_text(&out, "architectures", pcgpu_cuda_architectures());
    print_driver(driver, version, sizeof version);
    json_text(&out, "driver", driver ? version : NULL);
    json_key(&out, "devices");
    fputc('[', stream);
    for (int i = 0; i < count && i < DEVICES_MAX; i++) {
        fputs(i ? ", " : "", stream);
        json_open(&out, NULL);
        json_text(&out, "name", devices[i].name);
        json_integer(&out, "major", devices[i].major);
        json_integer(&out, "minor", devices[i].minor);
        json_integer(&out, "multiprocessors", devices[i].multiprocessors);
        json_integer(&out, "memory", (int64_t)devices[i].memory);
        json_close(&out);
    }
    fputc(']', stream);
    json_text(&out, "cuda_unusable", count == 0 ? why : NULL);
    json_close(&out);
    fputc('\n', stream);
}

static int info_machine(session *s) {
    if (s->json.stream) {
        machine_json(s->json.stream);
    }
    if (!session_json_is_stdout(s)) {
        version_print(true);
    }
    return EXIT_DONE;
}

static int run(session *s) {
    return s->input_count > 0 ? session_run_each(s, info_process) : info_machine(s);
}

const command_info info_command = {.name = "info",
                                   .bit = FOR_INFO,
                                   .arguments = "[OPTION]... [INPUT]...",
                                   .summary = "show what is in a cloud, or what this build and machine can do",
                                   .inputs_per_job = 1,
                                   .run = run};
