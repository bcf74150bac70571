/* pcgpu odometry: the angle that the elevation of all beams is off by, from the first scans. */
#include "odometry_run.h"
#include "scan_reader.h"

#include <stdlib.h>

enum { FIRST_SCANS = 40, FEWEST_SCANS = 6 };

/* Reads the first scans. Those that cannot be read are reported when their turn comes. */
static int read_first(const session *s, int count, pcgpu_cloud *scans) {
    scan_reader *reader = scan_reader_open(s, NULL, false);
    scan_read scan;
    int n = 0;
    for (bool good = true; good && n < count && scan_reader_next(reader, &scan);) {
        free(scan.log);
        good = scan.good;
        scans[n] = scan.cloud;
        n += good;
    }
    scan_reader_close(reader);
    return n;
}

/* The angle in degrees, 0 where it is not known. No device is needed, and messages are those of the run itself. */
static double find(session *s, const pcgpu_odometry_params *params, const double *times) {
    const int count = s->input_count < FIRST_SCANS ? s->input_count : FIRST_SCANS;
    pcgpu_settings settings;
    pcgpu_context *context = NULL;
    double degrees = 0.0;
    for (int i = 0; i < count; i++) {
        if (count < FEWEST_SCANS || path_is_stream(s->inputs[i])) { /* which can be read once */
            return 0.0;
        }
    }
    pcgpu_cloud *scans = heap_zeroed((size_t)count, sizeof *scans);
    session_settings(s, &settings);
    settings.device = PCGPU_DEVICE_CPU;
    settings.log = NULL;
    const int n = read_first(s, count, scans);
    if (pcgpu_open(&settings, &context) != PCGPU_OK ||
        pcgpu_odometry_beams(context, params, scans, times, n, &degrees) != PCGPU_OK) {
        degrees = 0.0;
    }
    pcgpu_close(context);
    for (int i = 0; i < n; i++) {
        pcgpu_cloud_free(&scans[i]);
    }
    free(scans);
    return degrees;
}

void odometry_find_beams(session *s, const double *times, pcgpu_odometry_params *params) {
    odometry_values *own = odometry_own(s->options);
    if (odometry_is_depth(s) || own->beam_correction != PCGPU_AUTO) {
        return;
    }
    own->beam_correction = params->registration.beam_correction = s->options->registration.beam_correction =
        find(s, params, times);
    own->found_beams = own->beam_correction != 0.0;
}
