/* .laz: points compressed by LASzip, expanded to the records of a .las by its library, which is looked for when it is
 * needed: the program runs without it. Its C interface is that of laszip_api.h, unchanged since version 3. It reads a
 * file by name, so that the bytes get one in memory. */
#define _GNU_SOURCE /* memfd_create */
#include "io_las.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FIRST_POINTS = 1 << 16 };

/* A point as laszip_read_point leaves it. The first 20 bytes are those of point formats 0 to 5. */
typedef struct laz_point {
    unsigned char begin[20];
    int16_t angle;
    uint8_t flags, classification, returns, unused[7];
    double time;
    uint16_t colour[4];
    unsigned char wave[29];
    int32_t extra_count;
    const unsigned char *extra;
} laz_point;
_Static_assert(offsetof(laz_point, time) == 32 && offsetof(laz_point, colour) == 40 && offsetof(laz_point, extra) == 88,
               "the layout of laszip_point_struct");

typedef struct laszip {
    void *library;
    int32_t (*create)(void **reader);
    int32_t (*open)(void *reader, const char *name, int32_t *compressed);
    int32_t (*point)(void *reader, laz_point **point);
    int32_t (*read)(void *reader);
    int32_t (*error)(void *reader, const char **text);
    int32_t (*close)(void *reader);
    int32_t (*destroy)(void *reader);
} laszip;

static bool find(void *library, const char *name, void *function) {
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found); /* ISO C has no cast from an object to a function */
    return found != NULL;
}

static bool load(laszip *z) {
    static const char *const names[] = {"liblaszip.so.8", "liblaszip.so", "liblaszip.so.7"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *library = z->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library && find(library, "laszip_create", &z->create) && find(library, "laszip_open_reader", &z->open) &&
            find(library, "laszip_get_point_pointer", &z->point) && find(library, "laszip_read_point", &z->read) &&
            find(library, "laszip_get_error", &z->error) && find(library, "laszip_close_reader", &z->close) &&
            find(library, "laszip_destroy", &z->destroy)) {
            return true;
        }
        if (library) {
            dlclose(library);
        }
    }
    return false;
}

/* A file in memory with these bytes, or -1. */
static int memory_file(const pc_bytes *bytes, char name[64]) {
    const int fd = memfd_create("laz", MFD_CLOEXEC);
    size_t at = 0;
    while (fd >= 0 && at < bytes->size) {
        const ssize_t n = write(fd, bytes->data + at, bytes->size - at);
        if (n <= 0) {
            close(fd);
            return -1;
        }
        at += (size_t)n;
    }
    snprintf(name, 64, "/proc/self/fd/%d", fd);
    return fd;
}

/* Writes a point as the record of its format. */
static void put_record(unsigned char *out, const pc_las *las, const laz_point *p) {
    memset(out, 0, las->size);
    memcpy(out, p->begin, 20);
    if (las->format >= 6) {
        out[14] = p->returns;
        out[15] = p->flags;
        out[16] = p->classification;
        out[17] = p->begin[17]; /* user data */
        memcpy(out + 18, &p->angle, 2);
        memcpy(out + 20, p->begin + 18, 2); /* source */
    }
    if (las->time) {
        memcpy(out + las->time, &p->time, 8);
    }
    if (las->colour) {
        memcpy(out + las->colour, p->colour, 6);
    }
    if (las->infrared) {
        memcpy(out + las->infrared, p->colour + 3, 2);
    }
    const size_t extra = las->stride - las->size, there = p->extra && p->extra_count > 0 ? (size_t)p->extra_count : 0;
    memset(out + las->size, 0, extra);
    if (there > 0) {
        memcpy(out + las->size, p->extra, there < extra ? there : extra);
    }
}

static pcgpu_status fail_reader(const pc_file *file, const laszip *z, void *reader, uint64_t points) {
    const char *text = NULL;
    z->error(reader, &text);
    const pc_span span = {text ? text : "", text ? strlen(text) : 0};
    return pc_fail_format(file, "LASzip stops after %llu points (%s); it is damaged or cut short, so copy it again",
                          (unsigned long long)points, pc_span_show(span).text);
}

/* The memory grows with the points that are there, whatever their number in the header. */
static pcgpu_status expand(const pc_file *file, const laszip *z, void *reader, const pc_las *las, pc_bytes *out) {
    laz_point *point = NULL;
    uint64_t capacity = 0;
    if (z->point(reader, &point) != 0 || !point) {
        return fail_reader(file, z, reader, 0);
    }
    for (uint64_t i = 0; i < las->points; i++) {
        if (i == capacity) {
            capacity = capacity ? 2 * capacity : FIRST_POINTS;
            capacity = capacity < las->points ? capacity : las->points;
            unsigned char *data =
                capacity < SIZE_MAX / 2 / las->stride ? realloc(out->data, (size_t)capacity * las->stride + 1) : NULL;
            if (!data) {
                return pc_fail_file_memory(file, capacity * las->stride);
            }
            out->data = data;
        }
        if (z->read(reader) != 0) {
            return fail_reader(file, z, reader, i);
        }
        put_record(out->data + out->size, las, point);
        out->size += las->stride;
    }
    return PCGPU_OK;
}

pcgpu_status pc_laz_expand(const pc_file *file, const pc_bytes *bytes, const pc_las *las, pc_bytes *out) {
    laszip z = {0};
    char path[64];
    void *reader = NULL;
    int32_t compressed = 0;
    *out = (pc_bytes){NULL, 0};
    if (!load(&z)) {
        return pc_fail_format(
            file,
            "holds LAZ, which is read where the library LASzip (liblaszip.so.8) is installed; convert it: pip install "
            "'laspy[lazrs]' and python3 -c \"import laspy; laspy.read('FILE.laz').write('out.las')\"");
    }
    pcgpu_status status = PCGPU_OK;
    const int fd = memory_file(bytes, path);
    if (fd < 0 || z.create(&reader) != 0) {
        status = pc_fail_file_memory(file, bytes->size);
    } else if (z.open(reader, path, &compressed) != 0) {
        status = fail_reader(file, &z, reader, 0);
    } else {
        status = expand(file, &z, reader, las, out);
        z.close(reader);
    }
    if (reader) {
        z.destroy(reader);
    }
    if (fd >= 0) {
        close(fd);
    }
    dlclose(z.library);
    if (status != PCGPU_OK) {
        pc_bytes_free(out);
    }
    return status;
}
