/* Recordings as formats of pcgpu_read: a recording of one cloud is that cloud. */
#include "recording.h"

#include <stdlib.h>

/* Whether the first cloud is one of points, which becomes the only chosen message. */
static bool is_points(pc_recording *r) {
    const pc_topic *t = pc_recording_topics(r);
    while (!pc_message_is_cloud(t->kind) || t->count == 0) {
        t++;
    }
    return pc_message_is_points(t->kind) && pc_recording_choose(r, t->name, false) == 1;
}

/* The only cloud of the recording. */
static pcgpu_status read_recording(const pc_file *file, pc_bytes *bytes, pcgpu_cloud *cloud) {
    pc_recording *r;
    pc_message message;
    PC_TRY(pc_recording_open(file, NULL, bytes, &r));
    pcgpu_status status =
        pc_recording_clouds(r) == 1 && is_points(r)
            ? pc_recording_message(r, file, 0, &message)
            : pc_fail_format(file,
                             "is a recording of %lld clouds; give it to a command that takes many inputs, or name "
                             "one of them, such as REC.mcap/./000012",
                             (long long)pc_recording_clouds(r));
    if (status == PCGPU_OK) {
        const bool inside = message.data >= bytes->data && message.data <= bytes->data + bytes->size;
        pc_bytes copy = {inside ? NULL : malloc(message.size + 1), message.size};
        if (inside) {
            status = pc_message_to_cloud(file, &message, bytes, cloud);
        } else if (!copy.data) {
            status = pc_fail_file_memory(file, message.size);
        } else {
            memcpy(copy.data, message.data, message.size);
            pc_message moved = message;
            moved.data = copy.data;
            status = pc_message_to_cloud(file, &moved, &copy, cloud);
        }
        pc_bytes_free(&copy);
        pc_recording_release(r, &message);
    }
    pc_recording_close(r);
    return status;
}

const pc_format pc_format_bag = {
    .info = {.name = "bag", .extension = ".bag", .reads = true, .description = "the same, of ROS 1"},
    .begins = {PC_BAG_BEGINS},
    .read = read_recording,
};

const pc_format pc_format_mcap = {
    .info = {.name = "mcap", .extension = ".mcap", .reads = true, .description = "a recording, MCAP: its clouds"},
    .begins = {PC_MCAP_BEGINS},
    .read = read_recording,
};

const pc_format pc_format_db3 = {
    .info = {.name = "db3", .extension = ".db3", .reads = true, .description = "the same, of ROS 2 (SQLite)"},
    .begins = {PC_DB3_BEGINS},
    .read = read_recording,
};
