/* pcgpu odometry --map: the map that scans are localized in. */
#include "register.h"
#include "odometry_run.h"

#include <string.h>

static int open_in(session *s, const pcgpu_odometry_params *params, const pcgpu_cloud *map, pcgpu_odometry **odometry) {
    pcgpu_odometry_params there = *params;
    there.registration.search = options_init_file(s->options) ? PCGPU_SEARCH_RESCUE : PCGPU_SEARCH_ALWAYS;
    const pcgpu_status status = pcgpu_odometry_open_map(s->context, &there, map, odometry);
    if (status != PCGPU_OK) {
        report_failure(odometry_own(s->options)->map, s->context);
    }
    return status == PCGPU_OK ? EXIT_DONE : status == PCGPU_ERROR_UNAVAILABLE ? EXIT_NO_CUDA : EXIT_FAILED;
}

int odometry_open_map(session *s, const pcgpu_odometry_params *params, pcgpu_odometry **odometry) {
    const char *path = odometry_own(s->options)->map;
    const pcgpu_read_options how = {.fields = PCGPU_LIKELY_FIELDS}; /* --fields is that of the scans */
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
    pcgpu_cloud_free(&map);
    return code;
}
