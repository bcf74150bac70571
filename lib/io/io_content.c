/* The format of a file by its first bytes, independent of its name: magic numbers, as in file(1). Coordinates in metres
 * do not begin like any of them: as float32, these are below 1e-3 or above 1e8, or one value in 2^32. */
#include "io.h"

#include <string.h>

typedef struct magic {
    const char *bytes;
    size_t size;
    const pc_format *format; /* NULL: unsupported */
    const char *what, *advice;
} magic;

#define BYTES(TEXT) TEXT, sizeof TEXT - 1
#define PDAL        "convert it first, such as by: pdal translate FILE out.ply"
#define DEPTH       "a depth image is .png or .pgm of 16 bits, so export it as one of them"

static const magic magics[] = {
    {BYTES("ply\n"), &pc_format_ply, NULL, NULL},
    {BYTES("ply\r"), &pc_format_ply, NULL, NULL},
    {BYTES("# .PCD"), &pc_format_pcd, NULL, NULL},
    {BYTES("VERSION 0.7"), &pc_format_pcd, NULL, NULL},
    {BYTES("VERSION .7"), &pc_format_pcd, NULL, NULL},
    {BYTES("\x93NUMPY"), &pc_format_npy, NULL, NULL},
    {BYTES("\x89PNG\r\n\x1a\n"), &pc_format_png, NULL, NULL},
    {BYTES("\x1f\x8b\x08"), NULL, "data compressed by gzip", "expand it first: gzip -dc FILE | pcgpu ... -"},
    {BYTES("\xfd"
           "7zXZ"),
     NULL, "data compressed by xz", "expand it first: xz -dc FILE | pcgpu ... -"},
    {BYTES("\x28\xb5\x2f\xfd"), NULL, "data compressed by zstd", "expand it first: zstd -dc FILE | pcgpu ... -"},
    {BYTES("BZh91AY&SY"), NULL, "data compressed by bzip2", "expand it first: bzip2 -dc FILE | pcgpu ... -"},
    {BYTES("PK\3\4"), NULL, "a zip archive, such as .npz", "extract it, or save one array with numpy.save as .npy"},
    {BYTES("LASF"), NULL, "LAS or LAZ", PDAL},
    {BYTES("ASTM-E57"), NULL, "E57", PDAL},
    {BYTES("DRACO"), NULL, "Draco", "convert it first, such as by: draco_decoder -i FILE -o out.ply"},
    {BYTES("glTF"), NULL, "a binary glTF model", "export its points as .ply"},
    {BYTES("solid "), NULL, "STL", "export its points as .ply"},
    {BYTES("\x89HDF\r\n\x1a\n"), NULL, "HDF5", "save the array of points with numpy.save as .npy"},
    {BYTES("#ROSBAG V"), NULL, "a ROS bag", "export its clouds as .pcd, such as by: pcl_ros bag_to_pcd"},
    {BYTES("\x89MCAP0\r\n"), NULL, "MCAP", "export its clouds as .pcd, such as by: pcl_ros bag_to_pcd"},
    {BYTES("SQLite format 3"), NULL, "an SQLite database, such as a ROS 2 bag",
     "export its clouds as .pcd, such as by: pcl_ros bag_to_pcd"},
    {BYTES("\xd4\xc3\xb2\xa1"), NULL, "captured packets (pcap)",
     "export the frames as .pcd with the sensor's own tool"},
    {BYTES("\x0a\x0d\x0d\x0a"), NULL, "captured packets (pcapng)",
     "export the frames as .pcd with the sensor's own tool"},
    {BYTES("\xff\xd8\xff"), NULL, "JPEG", DEPTH},
    {BYTES("II*\0"), NULL, "TIFF", DEPTH},
    {BYTES("MM\0*"), NULL, "TIFF", DEPTH},
    {BYTES("\x76\x2f\x31\x01"), NULL, "OpenEXR", DEPTH},
    {BYTES("version https://git-lfs"), NULL, "a pointer of Git LFS and not the file itself", "fetch it: git lfs pull"},
    {BYTES("<!DOCTYPE"), NULL, "a web page", "download the file itself"},
    {BYTES("<html"), NULL, "a web page", "download the file itself"},
    {BYTES("%PDF-"), NULL, "PDF", "give a cloud or a depth image"},
};

/* "P5" or "P2", a blank, and the width or a comment. */
static bool is_pgm(const unsigned char *p, size_t size) {
    return size >= 4 && p[0] == 'P' && (p[1] == '2' || p[1] == '5') &&
           (p[2] == ' ' || (p[2] >= '\t' && p[2] <= '\r')) && ((p[3] >= '0' && p[3] <= '9') || p[3] == '#');
}

const pcgpu_format_info *pcgpu_format_of_content(const void *head, size_t size, char *why, size_t why_size) {
    const magic *m = magics, *end = magics + sizeof magics / sizeof magics[0];
    while (m < end && (size < m->size || memcmp(head, m->bytes, m->size) != 0)) {
        m++;
    }
    *why = '\0';
    if (m == end) {
        return is_pgm(head, size) ? &pc_format_pgm.info : NULL;
    }
    if (!m->format) {
        snprintf(why, why_size, "holds %s, which is not read; %s", m->what, m->advice);
    }
    return m->format ? &m->format->info : NULL;
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
