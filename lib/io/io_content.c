/* The table of formats, and the format of a file: by its first bytes, magic numbers as in file(1), otherwise by its
 * name. Coordinates in metres do not begin like any of them: as float32, these are below 1e-3 or above 1e8, or one
 * value in 2^32. */
#include "io.h"

#include <string.h>

/* ---- the table ------------------------------------------------------------------------------------------------- */

/* The formats, in the order of lists; of those with one extension the first is chosen. */
#define EACH(DO)                                                                                                       \
    DO(bin)                                                                                                            \
    DO(ply)                                                                                                            \
    DO(ply_ascii)                                                                                                      \
    DO(pcd)                                                                                                            \
    DO(npy) DO(npz) DO(las) DO(laz) DO(xyz) DO(csv) DO(pts) DO(png) DO(pgm) DO(mcap) DO(bag) DO(db3) DO(gzip) DO(label)
#define DECLARE(NAME) extern const pc_format pc_format_##NAME;
#define ADDRESS(NAME) &pc_format_##NAME,
EACH(DECLARE)

const pc_format *const pc_formats[] = {EACH(ADDRESS) NULL};
enum { FORMATS = sizeof pc_formats / sizeof pc_formats[0] - 1 };

const pcgpu_format_info *pcgpu_format_at(int i) {
    return i >= 0 && i < FORMATS ? &pc_formats[i]->info : NULL;
}

const pc_format *pc_format_of(const pcgpu_format_info *info) {
    const pc_format *const *format = pc_formats;
    while (*format && &(*format)->info != info) {
        format++;
    }
    return *format;
}

/* Of formats with the same extension, the first is chosen: .ply is binary. "x.pcd.bin" ends in .bin. */
const pcgpu_format_info *pcgpu_format_of_path(const char *path) {
    if (strcmp(path, "-") == 0) {
        return &pc_format_bin.info;
    }
    for (int i = 0; i < FORMATS; i++) {
        if (pc_has_extension(path, pc_formats[i]->info.extension)) {
            return &pc_formats[i]->info;
        }
    }
    return NULL;
}

const pcgpu_format_info *pcgpu_format_by_name(const char *name) {
    const bool npz = strncmp(name, "npz:", 4) == 0; /* and the name of an array */
    for (int i = 0; i < FORMATS; i++) {
        if (strcmp(npz ? "npz" : name, pc_formats[i]->info.name) == 0) {
            return &pc_formats[i]->info;
        }
    }
    return NULL;
}

/* ---- by content ---------------------------------------------------------------------------------------------- */

/* What is not read. */
typedef struct magic {
    const char *bytes;
    size_t size;
    const char *what, *advice;
} magic;

#define BYTES(TEXT) TEXT, sizeof TEXT - 1
#define PDAL        "convert it first, such as by: pdal translate FILE out.ply"
#define MESH        "convert it first, such as by: assimp export FILE out.ply"
#define PACKETS     "export the frames as .pcd or .csv with the sensor's own tool"
#define NUMPY       "save the array of points with numpy.save as .npy"
#define DEPTH       "a depth image is .png or .pgm of 16 bits, so export it as one of them"

static const magic magics[] = {
    {BYTES("\xfd"
           "7zXZ"),
     "data compressed by xz", "expand it first: xz -dc FILE | pcgpu ... -"},
    {BYTES("\x28\xb5\x2f\xfd"), "data compressed by zstd", "expand it first: zstd -dc FILE | pcgpu ... -"},
    {BYTES("BZh91AY&SY"), "data compressed by bzip2", "expand it first: bzip2 -dc FILE | pcgpu ... -"},
    {BYTES("ASTM-E57"), "E57", PDAL},
    {BYTES("DRACO"), "Draco", "convert it first, such as by: draco_decoder -i FILE -o out.ply"},
    {BYTES("glTF"), "a binary glTF model", MESH},
    {BYTES("solid "), "STL", MESH},
    {BYTES("OFF\n"), "OFF", MESH},
    {BYTES("\x89HDF\r\n\x1a\n"), "HDF5", NUMPY},
    {BYTES("#ROSBAG V1"), "a ROS bag of version 1", "convert it first: rosbag fix FILE new.bag"},
    {BYTES("\xd4\xc3\xb2\xa1"), "captured packets (pcap)", PACKETS},
    {BYTES("\xa1\xb2\xc3\xd4"), "captured packets (pcap)", PACKETS},
    {BYTES("\x4d\x3c\xb2\xa1"), "captured packets (pcap)", PACKETS},
    {BYTES("\x0a\x0d\x0d\x0a"), "captured packets (pcapng)", PACKETS},
    {BYTES("\xff\xd8\xff\xdb"), "JPEG", DEPTH}, /* with one byte less they begin x = 31.98092 m */
    {BYTES("\xff\xd8\xff\xe0"), "JPEG", DEPTH},
    {BYTES("\xff\xd8\xff\xe1"), "JPEG", DEPTH},
    {BYTES("\xff\xd8\xff\xee"), "JPEG", DEPTH},
    {BYTES("II*\0"), "TIFF", DEPTH},
    {BYTES("MM\0*"), "TIFF", DEPTH},
    {BYTES("\x76\x2f\x31\x01"), "OpenEXR", DEPTH},
    {BYTES("version https://git-lfs"), "a pointer of Git LFS and not the file itself", "fetch it: git lfs pull"},
    {BYTES("<!DOCTYPE"), "a web page", "download the file itself"},
    {BYTES("<html"), "a web page", "download the file itself"},
    {BYTES("%PDF-"), "PDF", "give a cloud or a depth image"},
};

/* The same by their names, for what has no first bytes of its own. */
static const struct {
    const char *extension, *what, *advice;
} names[] = {
    {".e57", "E57", PDAL},
    {".ptx", "PTX", PDAL},
    {".copc", "COPC", PDAL},
    {".obj", "Wavefront OBJ", MESH},
    {".stl", "STL", MESH},
    {".off", "OFF", MESH},
    {".glb", "glTF", MESH},
    {".gltf", "glTF", MESH},
    {".drc", "Draco", "convert it first, such as by: draco_decoder -i FILE -o out.ply"},
    {".pcap", "captured packets", PACKETS},
    {".pcapng", "captured packets", PACKETS},
    {".h5", "HDF5", NUMPY},
    {".hdf5", "HDF5", NUMPY},
    {".mat", "a MATLAB file", NUMPY},
    {".parquet", "Parquet", NUMPY},
    {".feather", "Feather", NUMPY},
    {".pkl", "a Python pickle", NUMPY},
    {".pt", "a PyTorch file", NUMPY},
    {".pth", "a PyTorch file", NUMPY},
    {".rcp", "ReCap", "export it as .e57 or .pts from ReCap, and then: pdal translate FILE out.ply"},
    {".rcs", "ReCap", "export it as .e57 or .pts from ReCap, and then: pdal translate FILE out.ply"},
    {".jpg", "JPEG", DEPTH},
    {".jpeg", "JPEG", DEPTH},
    {".tif", "TIFF", DEPTH},
    {".tiff", "TIFF", DEPTH},
    {".exr", "OpenEXR", DEPTH},
};

/* "P5" or "P2", a blank, and the width or a comment. */
static bool is_pgm(const unsigned char *p, size_t size) {
    return size >= 4 && p[0] == 'P' && (p[1] == '2' || p[1] == '5') &&
           (p[2] == ' ' || (p[2] >= '\t' && p[2] <= '\r')) && ((p[3] >= '0' && p[3] <= '9') || p[3] == '#');
}

static bool begins(const void *head, size_t size, const void *bytes, size_t count) {
    return size >= count && memcmp(head, bytes, count) == 0;
}

/* By the first bytes. For NULL, `why` is empty or names the unsupported format and the remedy. */
static const pcgpu_format_info *by_content(const void *head, size_t size, char *why, size_t why_size) {
    *why = '\0';
    if (pc_begins_with_mark(head, size)) {
        head = (const char *)head + 3;
        size -= 3;
    }
    if (pc_gzip_begins(head, size)) {
        return pcgpu_format_by_name("gzip");
    }
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

/* Numbers as text, or a header with x: at least "1 2 3". */
static bool is_text(const char *head, size_t size) {
    bool marks = false;
    for (size_t i = 0; i < size; i++) {
        marks = marks || (head[i] >= '0' && head[i] <= '9') || head[i] == 'x' || head[i] == 'X';
    }
    return size >= 5 && marks && pc_looks_like_text(head, size);
}

/* What is not read, by its name. */
static bool is_unread_name(const char *path, char *why, size_t why_size) {
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (pc_has_extension(path, names[i].extension)) {
            snprintf(why, why_size, "is %s by its name, which is not read; %s", names[i].what, names[i].advice);
            return true;
        }
    }
    return false;
}

const pcgpu_format_info *pcgpu_format_of_input(const char *path, const void *head, size_t size, char *why,
                                               size_t why_size) {
    const pcgpu_format_info *found = by_content(head, size, why, why_size);
    if (found || *why) {
        return found;
    }
    found = pcgpu_format_of_path(path);
    if ((found && strcmp(found->name, "bin") != 0) || (!found && is_unread_name(path, why, why_size))) {
        return found;
    }
    if (is_text(head, size < PC_HEAD ? size : PC_HEAD)) {
        return pcgpu_format_by_name("xyz"); /* no .bin of coordinates is text */
    }
    if (!found && size == 0) {
        snprintf(why, why_size, "is empty; give a file with points");
    } else if (!found) {
        snprintf(
            why, why_size,
            "neither its first bytes nor its name have a known format; give --format NAME (pcgpu --version -v lists "
            "them), such as --format bin --fields 4 for records of 4 float32");
    }
    return found;
}
