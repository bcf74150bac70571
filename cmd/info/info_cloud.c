/* info of a cloud. */
#include "info.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#define MANY_NEAR 0.01 /* of the points */

static void odd(cloud_info *info, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void odd(cloud_info *info, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (info->odd_count < INFO_ODD) {
        vsnprintf(info->odd[info->odd_count++], sizeof info->odd[0], format, args);
    }
    va_end(args);
}

static void judge_points(const pcgpu_cloud *cloud, cloud_info *info) {
    const long long rows = (long long)cloud->rows;
    if (rows == 0) {
        odd(info, "there are no points");
    }
    if (info->non_finite > 0) {
        odd(info, "%lld of %lld points have NaN or infinity in x, y or z; commands drop them",
            (long long)info->non_finite, rows);
    }
    if (info->at_origin > 0) {
        odd(info, "%lld points are at (0,0,0), which some sensors write for no return; --drop-origin drops them",
            (long long)info->at_origin);
    }
    if (info->duplicates > 0) {
        odd(info, "%lld points are exact duplicates of an earlier one", (long long)info->duplicates);
    }
    if (info->near_duplicates > MANY_NEAR) {
        odd(info,
            "about %.0f %% of the points have another one nearer than %.2g m, a hundredth of the spacing: "
            "near-duplicates, such as of two scans in one file; sample --min-distance or voxelize --features first "
            "thins them",
            100 * info->near_duplicates, 0.01 * info->spacing[1]);
    }
    if (info->outliers > 0) {
        odd(info,
            "%lld points, such as record %lld, lie more than 10 times the extent of nearly all points away from them",
            (long long)info->outliers, (long long)info->first_outlier);
    }
}

/* The sentences of what looks odd. */
static void cloud_judge(const pcgpu_cloud *cloud, const char *format, cloud_info *info) {
    char wrong[256];
    info->wrong = pcgpu_cloud_looks_wrong(cloud, format, wrong, sizeof wrong);
    if (info->wrong) {
        odd(info, "%s", wrong);
    }
    judge_points(cloud, info);
    for (int k = 0; k < cloud->columns && cloud->rows > 1; k++) {
        const column_info *c = &info->columns[k];
        if (c->non_finite == cloud->rows) {
            odd(info, "column %s has no finite value", cloud->names[k]);
        } else if (c->low == c->high && !pcgpu_column_is_remainder(cloud, k) &&
                   !pcgpu_column_is_remainder(cloud, k + 1)) {
            odd(info, "column %s is %g everywhere", cloud->names[k], (double)c->low + cloud->offset[k]);
        }
    }
}

int info_cloud(job *j, FILE *stream) {
    pcgpu_file_info file = {.faces = 0};
    const pcgpu_status status = job_try_cloud(j, 0, stream, &file);
    if (file.arrays[0] && !j->session->options->format) {
        progress_end();
        return info_arrays(j, file.arrays);
    }
    cloud_info *info = heap_zeroed(1, sizeof *info);
    int code = exit_code_of(status, j->names[0], j->session->context);
    progress_begin(j->names[0], "counting");
    if (code == EXIT_DONE && !cloud_measure(&j->clouds[0], info)) {
        code = report_error(j->names[0], "out of memory");
    }
    progress_end();
    if (code == EXIT_DONE) {
        j->run.points_in = j->clouds[0].rows;
        cloud_judge(&j->clouds[0], j->input_format[0] ? j->input_format[0]->name : NULL, info);
        cloud_print_json(&j->result, j, info, &file);
        if (!session_json_is_stdout(j->session)) {
            cloud_print_text(j->session->out, j, info, &file);
        }
    }
    free(info);
    return code;
}
