/* info of a recording: its topics, the columns of its first cloud, and what its times look like. */
#include "info.h"
#include "numbers.h"
#include "recording.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* A time without a message that is this many times the usual one is odd, where there are a few messages. */
enum { LONG_GAP = 5, FEW = 10 };

typedef struct recording_info {
    pc_recording *recording;
    int64_t messages;
    int64_t first, last;  /* times of the log; 0 without messages */
    const pc_topic *with; /* the first topic with points, else with depth images, or NULL */
    double delay;         /* from its measurement to the log, of the first cloud */
    pcgpu_cloud cloud;    /* the first one, */
    pcgpu_depth image;    /* or the first image, */
    bool has_camera;
    pcgpu_camera camera; /* with its camera */
} recording_info;

static double interval(const pc_topic *t) {
    return t->count > 1 ? pc_seconds(t->last - t->first) / (double)(t->count - 1) : NAN;
}

static void measure(recording_info *info) {
    const pc_topic *t;
    for (int i = 0; (t = pc_recording_topic(info->recording, i)); i++) {
        info->first = t->count && (!info->messages || t->first < info->first) ? t->first : info->first;
        info->last = t->count && t->last > info->last ? t->last : info->last;
        info->messages += t->count;
        const bool points = pc_message_is_points(t->kind);
        if (t->count && pc_message_is_cloud(t->kind) &&
            (!info->with || (points && pc_message_is_image(info->with->kind)))) {
            info->with = t;
        }
    }
}

static pcgpu_status read_first(const pc_file *file, recording_info *info) {
    const pcgpu_read_options how = {.struct_size = sizeof how, .complete = PCGPU_EXACT_TIMES | PCGPU_ALL_COLUMNS};
    pc_message message;
    FILE *stream;
    const bool image = pc_message_is_image(info->with->kind);
    info->has_camera = image && pc_recording_camera(info->recording, file, info->with->name,
                                                    info->with->kind == PC_MESSAGE_PNG, &info->camera);
    pc_recording_choose(info->recording, info->with->name, false);
    PC_TRY(pc_recording_message(info->recording, file, 0, &message));
    info->delay = pc_seconds(message.time - pc_message_stamp(&message));
    pcgpu_status status = pc_message_stream(file, &message, &stream);
    pc_recording_release(info->recording, &message);
    if (status == PCGPU_OK) {
        status = image ? pcgpu_read_depth(file->context, stream, file->name, NULL, &info->image)
                       : pcgpu_read(file->context, stream, file->name, &how, &info->cloud);
        fclose(stream);
    }
    return status;
}

/* ---- what looks odd ---------------------------------------------------------------------------------------------- */

static void find_odd(const recording_info *info, FILE *odd) {
    const pc_topic *t;
    for (int i = 0; (t = pc_recording_topic(info->recording, i)); i++) {
        const double usual = interval(t), gap = pc_seconds(t->gap);
        if (t->count == 0) {
            fprintf(odd, "%s: no message\n", t->name);
        }
        if (t->count >= FEW && gap > LONG_GAP * usual) {
            fprintf(odd, "%s: %.4g s without a message from %.3f s on, and %.3g s in the mean\n", t->name, gap,
                    pc_seconds(t->gap_at - info->first), usual);
        }
        if (t->backward > 0) {
            fprintf(odd, "%s: %lld message%s earlier than the one before, by up to %.4g s\n", t->name,
                    (long long)t->backward, t->backward == 1 ? " is" : "s are", pc_seconds(t->furthest));
        }
    }
    if (fabs(info->delay) > 1) {
        fprintf(odd, "%s: the stamp of the first cloud is %.6g s %s its time in the log\n", info->with->name,
                fabs(info->delay), info->delay > 0 ? "before" : "after");
    }
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

static void add_result(json *out, const recording_info *info, const char *odd) {
    const pc_topic *t;
    json_text(out, "kind", "recording");
    json_text(out, "format", pc_recording_container(info->recording));
    json_integer(out, "messages", info->messages);
    json_number(out, "first_time", info->messages ? pc_seconds(info->first) : NAN);
    json_number(out, "duration", info->messages ? pc_seconds(info->last - info->first) : NAN);
    json_key(out, "topics");
    fputc('[', out->out);
    for (int i = 0; (t = pc_recording_topic(info->recording, i)); i++) {
        fputs(i ? ", " : "", out->out);
        json_open(out, NULL);
        json_text(out, "name", t->name);
        json_text(out, "type", t->type);
        json_boolean(out, "clouds", pc_message_is_cloud(t->kind));
        json_boolean(out, "poses", pc_message_is_path(t->kind));
        json_integer(out, "messages", t->count);
        json_number(out, "rate", 1 / interval(t));
        json_number(out, "first_time", t->count ? pc_seconds(t->first) : NAN);
        json_number(out, "last_time", t->count ? pc_seconds(t->last) : NAN);
        json_close(out);
    }
    fputc(']', out->out);
    if (info->image.data) {
        json_integer(out, "width", info->image.width);
        json_integer(out, "height", info->image.height);
    }
    if (info->has_camera) {
        const pcgpu_camera *c = &info->camera;
        json_numbers(out, "camera", (double[]){c->fx, c->fy, c->cx, c->cy}, 4);
    }
    json_number(out, "stamp_delay", info->with ? info->delay : NAN);
    json_integer(out, "points", info->cloud.rows);
    json_key(out, "columns");
    fputc('[', out->out);
    for (int k = 0; k < info->cloud.columns; k++) {
        if (!pcgpu_column_is_remainder(&info->cloud, k)) {
            fputs(k ? ", " : "", out->out);
            json_print_string(out->out, info->cloud.names[k]);
        }
    }
    fputc(']', out->out);
    json_text(out, "odd", odd);
}

static void print(const job *j, const recording_info *info, char *odd) {
    FILE *out = j->session->out;
    const pc_topic *t;
    char day[32] = "";
    const time_t begin = (time_t)(info->first / 1000000000);
    struct tm parts;
    print_shown(out, j->names[0]);
    fprintf(out, ": recording, %s, %lld messages", pc_recording_container(info->recording), (long long)info->messages);
    if (info->messages > 0 && gmtime_r(&begin, &parts) && strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S UTC", &parts)) {
        fprintf(out, ", %.3f s from %s (%.3f)", pc_seconds(info->last - info->first), day, pc_seconds(info->first));
    }
    fprintf(out, "\n  %-28s %-34s %9s %8s %9s %9s\n", "topic", "type", "messages", "rate Hz", "from s", "to s");
    for (int i = 0; (t = pc_recording_topic(info->recording, i)); i++) {
        fprintf(out, "  %-28s %-34s %9lld", t->name, t->type, (long long)t->count);
        if (t->count > 0) {
            fprintf(out, " %8.4g %9.3f %9.3f", t->count > 1 ? 1 / interval(t) : 0, pc_seconds(t->first - info->first),
                    pc_seconds(t->last - info->first));
        }
        fputc('\n', out);
    }
    if (info->image.data) {
        fprintf(out, "  first depth image, on %s: %d x %d pixels, ", info->with->name, info->image.width,
                info->image.height);
        if (info->has_camera) {
            const pcgpu_camera *c = &info->camera;
            fprintf(out, "camera %.9g,%.9g,%.9g,%.9g\n", c->fx, c->fy, c->cx, c->cy);
        } else {
            fputs("no camera_info\n", out);
        }
    } else if (info->with) {
        fprintf(out, "  first cloud, on %s: %lld points,", info->with->name, (long long)info->cloud.rows);
        for (int k = 0; k < info->cloud.columns; k++) {
            fprintf(out, "%s%s", pcgpu_column_is_remainder(&info->cloud, k) ? "" : " ",
                    pcgpu_column_is_remainder(&info->cloud, k) ? "" : info->cloud.names[k]);
        }
        if (fabs(info->delay) >= 1e-6) {
            fprintf(out, "; stamped %.6g s %s the log", fabs(info->delay), info->delay > 0 ? "before" : "after");
        }
        fputc('\n', out);
    }
    for (int i = 0; (t = pc_recording_topic(info->recording, i)); i++) {
        if (pc_message_is_path(t->kind) && t->count > 0) {
            fprintf(out, "  trajectory: %s/.%s%s\n", j->names[0], t->name[0] == '/' ? "" : "/", t->name);
        }
    }
    char *rest = NULL;
    for (char *line = odd ? strtok_r(odd, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest)) {
        fprintf(out, "  odd: %s\n", line);
    }
}

int info_recording(job *j, FILE *stream) {
    const pc_file file = {.context = j->session->context, .name = j->names[0], .stream = stream};
    const bool piped = path_is_stream(j->inputs[0]);
    recording_info info = {0};
    pc_bytes bytes = {0};
    text_stream odd;
    pcgpu_status status = piped ? pc_bytes_read(&file, &bytes) : PCGPU_OK;
    if (status == PCGPU_OK) {
        status = pc_recording_open(&file, piped ? NULL : j->inputs[0], &bytes, &info.recording);
    }
    if (status == PCGPU_OK) {
        measure(&info);
        status = info.with ? read_first(&file, &info) : PCGPU_OK;
    }
    const int code = job_code(j, status);
    if (code == EXIT_DONE) {
        text_open(&odd);
        find_odd(&info, odd.stream);
        text_flush(&odd);
        add_result(&j->result, &info, odd.size > 0 ? odd.data : NULL);
        if (!session_json_is_stdout(j->session)) {
            print(j, &info, odd.data);
        }
        text_free(&odd);
    }
    pcgpu_cloud_free(&info.cloud);
    pcgpu_depth_free(&info.image);
    pc_recording_close(info.recording);
    pc_bytes_free(&bytes);
    return code;
}
