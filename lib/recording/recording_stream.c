/* Messages as files that other readers take: clouds as .mcap, depth images as .pgm or .png, poses as lines; and the
 * camera of the images. */
#include "recording.h"

/* ---- cameras ---- */

/* Whether the names of a camera_info and of images differ in their last part alone; of compressed images, in two. */
static bool is_beside(const char *info, const char *image, bool compressed) {
    const char *end = strrchr(info, '/');
    const size_t n = end ? (size_t)(end - info) + 1 : 0;
    const char *part = strncmp(info, image, n) == 0 ? strchr(image + n, '/') : "/";
    return compressed ? part && !strchr(part + 1, '/') && part[1] : !part;
}

/* The camera of a sensor_msgs/CameraInfo. */
static bool take_camera(const pc_file *file, const pc_message *m, pcgpu_camera *camera) {
    int64_t stamp;
    double K[9];
    bool distorted = false;
    pc_cursor c = pc_message_open(m, &stamp);
    pcgpu_camera_init(camera);
    camera->height = (int)pc_take(&c, 4);
    camera->width = (int)pc_take(&c, 4);
    pc_take_text(&c); /* the model of the distortion */
    const uint64_t coefficients = pc_take(&c, 4);
    for (uint64_t i = 0; i < coefficients && !c.bad; i++) {
        distorted = pc_take_double(&c) != 0.0 || distorted;
    }
    for (int i = 0; i < 9; i++) {
        K[i] = pc_take_double(&c);
    }
    camera->fx = K[0];
    camera->cx = K[2];
    camera->fy = K[4];
    camera->cy = K[5];
    const bool good = !c.bad && camera->width > 0 && camera->height > 0 && K[0] > 0 && K[4] > 0;
    if (good && distorted) {
        pc_warn(file, "the camera on %s has distortion, which is not corrected; record rectified images",
                m->topic->name);
    }
    return good;
}

bool pc_recording_camera(pc_recording *r, const pc_file *file, const char *topic, bool compressed,
                         pcgpu_camera *camera) {
    bool found = false;
    for (int64_t i = 0; i < r->entries && !found; i++) {
        const pc_topic *t = pc_recording_topics(r) + ((const pc_entry *)r->entry.memory)[i].topic;
        pc_message message;
        if (t->kind == PC_MESSAGE_CAMERA && is_beside(t->name, topic, compressed) &&
            pc_recording_message(r, file, i, &message) == PCGPU_OK) {
            found = take_camera(file, &message, camera);
            pc_recording_release(r, &message);
        }
    }
    return found;
}

/* ---- clouds ------------------------------------------------------------------------------------------------------ */

const char *pc_message_format(pc_message_kind kind) {
    return kind == PC_MESSAGE_IMAGE ? "pgm" : kind == PC_MESSAGE_PNG ? "png" : "mcap";
}

/* A message with a head before it. */
static pcgpu_status put_points(const pc_file *file, const pc_message *m, FILE **stream) {
    const size_t all = strlen(m->topic->type) + strlen(m->topic->name) + m->size + 256;
    *stream = fmemopen(NULL, all, "w+");
    return *stream && pc_put_mcap(*stream, m) && fflush(*stream) == 0 ? PCGPU_OK : pc_fail_file_memory(file, all);
}

/* To its begin, or closed after a failure. */
static pcgpu_status rewind_stream(FILE **stream, pcgpu_status status) {
    if (status == PCGPU_OK) {
        rewind(*stream);
    } else if (*stream) {
        fclose(*stream);
        *stream = NULL;
    }
    return status;
}

pcgpu_status pc_message_stream(const pc_file *file, const pc_message *m, FILE **stream) {
    *stream = NULL;
    const bool points = pc_message_is_points(m->topic->kind);
    return rewind_stream(stream, points ? put_points(file, m, stream) : pc_put_depth(file, m, stream));
}

/* ---- poses ------------------------------------------------------------------------------------------------------- */

enum { NO_FIX = 0xff /* -1 of int8 */ };

/* Appends the line of a message, if it has values. */
static pcgpu_status put_line(const pc_file *file, const pc_message *m, FILE *out) {
    int64_t stamp;
    double v[7];
    pc_cursor c = pc_message_open(m, &stamp);
    const bool position = m->topic->kind == PC_MESSAGE_POSITION;
    if (m->topic->kind == PC_MESSAGE_TRANSFORM) {
        pc_take_text(&c); /* the frame that moves */
    }
    const bool fixed = !position || pc_take(&c, 1) != NO_FIX;
    if (position) {
        pc_take(&c, 2); /* services */
    }
    for (int i = 0; i < (position ? 3 : 7); i++) {
        v[i] = pc_take_double(&c);
    }
    if (c.bad) {
        return pc_fail_message(file, m, "ends too early");
    }
    const long long seconds = stamp / 1000000000, rest = stamp % 1000000000;
    if (position && fixed) {
        fprintf(out, "%lld.%09lld,%.17g,%.17g,%.17g\n", seconds, rest, v[0], v[1], v[2]);
    } else if (!position) {
        fprintf(out, "%lld.%09lld %.17g %.17g %.17g %.17g %.17g %.17g %.17g\n", seconds, rest, v[0], v[1], v[2], v[3],
                v[4], v[5], v[6]);
    }
    return PCGPU_OK;
}

pcgpu_status pc_recording_path(pc_recording *r, const pc_file *file, bool head, FILE *out) {
    for (int64_t i = 0; i < r->entries; i++) {
        pc_message message;
        PC_TRY(pc_recording_message(r, file, i, &message));
        if (head && i == 0 && message.topic->kind == PC_MESSAGE_POSITION) {
            fputs("time,latitude,longitude,height\n", out);
        }
        const pcgpu_status status = put_line(file, &message, out);
        pc_recording_release(r, &message);
        PC_TRY(status);
    }
    return fflush(out) == 0 ? PCGPU_OK : pc_fail_file_memory(file, 0);
}
