/* Recordings as formats of pcgpu_read: a recording of one cloud is that cloud. */
#include "recording.h"

#include <stdlib.h>

/* The only cloud of the recording. */
static pcgpu_status read_recording(const pc_file *file, pc_bytes *bytes, pcgpu_cloud *cloud) {
    pc_recording *r;
    pc_message message;
    PC_TRY(pc_recording_open(file, NULL, bytes, &r));
    pcgpu_status status =
        r->entries == 1
            ? pc_recording_message(r, file, 0, &message)
            : pc_fail_format(file,
                             "is a recording of %lld clouds; give it to a command that takes many inputs, or name "
                             "one of them, such as REC.mcap/./000012",
                             (long long)r->entries);
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
    .begins = {"#ROSBAG V2.0\n"},
    .read = read_recording,
};

const pc_format pc_format_mcap = {
    .info = {.name = "mcap", .extension = ".mcap", .reads = true, .description = "a recording, MCAP: its clouds"},
    .begins = {"\x89MCAP0\r\n"},
    .read = read_recording,
};
