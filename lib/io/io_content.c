/* The format of a file by its first bytes, independent of its name: magic numbers, as in file(1). Coordinates in metres
 * do not begin like any of them: as float32, these are below 1e-3 or above 1e8, or one value in 2^32. */
#include "io.h"

#include <string.h>

/* What is not read. */
typedef struct magic {
    const char *bytes;
    size_t size;
    const char *what, *advice;
} magic;

#define BYTES(TEXT) TEXT, sizeof TEXT - 1
#define PDAL        "convert it first, such as by: pdal translate FILE out.ply"
#define DEPTH       "a depth image is .png or .pgm of 16 bits, so export it as one of them"

static const magic magics[] = {
    {BYTES("\x1f\x8b\x08"), "data compressed by gzip", "expand it first: gzip -dc FILE | pcgpu ... -"},
    {BYTES("\xfd"
           "7zXZ"),
     "data compressed by xz", "expand it first: xz -dc FILE | pcgpu ... -"},
    {BYTES("\x28\xb5\x2f\xfd"), "data compressed by zstd", "expand it first: zstd -dc FILE | pcgpu ... -"},
    {BYTES("BZh91AY&SY"), "data compressed by bzip2", "expand it first: bzip2 -dc FILE | pcgpu ... -"},
    {BYTES("PK\3\4"), "a zip archive, such as .npz", "extract it, or save one array with numpy.save as .npy"},
    {BYTES("LASF"), "LAS or LAZ", PDAL},
    {BYTES("ASTM-E57"), "E57", PDAL},
    {BYTES("DRACO"), "Draco", "convert it first, such as by: draco_decoder -i FILE -o out.ply"},
    {BYTES("glTF"), "a binary glTF model", "export its points as .ply"},
    {BYTES("solid "), "STL", "export its points as .ply"},
    {BYTES("\x89HDF\r\n\x1a\n"), "HDF5", "save the array of points with numpy.save as .npy"},
    {BYTES("#ROSBAG V"), "a ROS bag", "export its clouds as .pcd, such as by: pcl_ros bag_to_pcd"},
    {BYTES("\x89MCAP0\r\n"), "MCAP", "export its clouds as .pcd, such as by: pcl_ros bag_to_pcd"},
    {BYTES("SQLite format 3"), "an SQLite database, such as a ROS 2 bag",
     "export its clouds as .pcd, such as by: pcl_ros bag_to_pcd"},
    {BYTES("\xd4\xc3\xb2\xa1"), "captured packets (pcap)",
     "export the frames as .pcd with the sensor's own tool"},
    {BYTES("\x0a\x0d\x0d\x0a"), "captured packets (pcapng)",
     "export the frames as .pcd with the sensor's own tool"},
    {BYTES("\xff\xd8\xff"), "JPEG", DEPTH},
    {BYTES("II*\0"), "TIFF", DEPTH},
    {BYTES("MM\0*"), "TIFF", DEPTH},
    {BYTES("\x76\x2f\x31\x01"), "OpenEXR", DEPTH},
    {BYTES("version https://git-lfs"), "a pointer of Git LFS and not the file itself", "fetch it: git lfs pull"},
    {BYTES("<!DOCTYPE"), "a web page", "download the file itself"},
    {BYTES("<html"), "a web page", "download the file itself"},
    {BYTES("%PDF-"), "PDF", "give a cloud or a depth image"},
};

/* "P5" or "P2", a blank, and the width or a comment. */
static bool is_pgm(const unsigned char *p, size_t size) {
    return size >= 4 && p[0] == 'P' && (p[1] == '2' || p[1] == '5') &&
           (p[2] == ' ' || (p[2] >= '\t' && p[2] <= '\r')) && ((p[3] >= '0' && p[3] <= '9') || p[3] == '#');
}

static bool begins(const void *head, size_t size, const void *bytes, size_t count) {
    return size >= count && memcmp(head, bytes, count) == 0;
}

const pcgpu_format_info *pcgpu_format_of_content(const void *head, size_t size, char *why, size_t why_size) {
    *why = '\0';
    for (const pc_format *const *format = pc_formats; *format; format++) {
        for (const char *const *bytes = (*format)->begins; *bytes; bytes++) {
            if (begins(head, size, *bytes, strlen(*bytes))) {
                return &(*format)->info;
            }
        }
    }
    for (const magic *m = magics; m < magics + sizeof magics / sizeof magics[0]; m++) {
        if (begins(head, size, m->bytes, m->size)) {
            snprintf(why, why_size, "holds %s, which is not read; %s", m->what, m->advice);
            return NULL;
        }
    }
    return is_pgm(head, size) ? pcgpu_format_by_name("pgm") : NULL;
}

bool pc_looks_like_text(const void *data, size_t size) {
    const unsigned char *p = data;
    for (size_t i = 0; i < size; i++) {
        if (!((p[i] >= ' ' && p[i] <= '~') || p[i] == '\n' || p[i] == '\r' || p[i] == '\t')) {
            return false;
        }
    }
    return true;
}
