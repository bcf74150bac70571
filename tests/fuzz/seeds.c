/* Small valid files of every variant a reader knows: where mutations begin. */
#include "fuzz.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#define XYZ   "property float x\nproperty float y\nproperty double z\n"
#define EXTRA "property uchar red\nproperty short s\nproperty uint u\nproperty int64 t\n"
#define FACE  "element face 2\nproperty list uchar int vertex_indices\nproperty char flag\n"

/* The header as text; then the body: characters, and `raw` bytes, zeros in a .npy and else a repeating pattern. */
static const struct {
    const char *format, *name, *header, *body;
    size_t raw;
} plans[] = {
    {"bin", "empty", "", "", 0},
    {"bin", "three", "", NULL, 48},
    {"bin", "not_finite", "\x01\x02\x80\x7f\x01\x02\x80\xff\x01\x02\xff\x7f\x01\x02\x7f\x7f", NULL, 16},
    {"list", "pairs", "b.bin b.bin\nb.bin\tb.bin\n", "\n# c\nb.bin absent.bin\n", 0},
    {"list", "one", "b.bin b.bin\n", NULL, 0},
    {"list", "scans", "b.bin 0.5\nb.bin 0.6\nb.bin 0.7\n", NULL, 0},
    {"ply", "ascii", "ply\nformat ascii 1.0\ncomment c\nelement vertex 3\n" XYZ EXTRA "end_header\n",
     "1 2 3 255 -32768 4294967295 -9\n1e3 -2.5 nan 0 1 2 3\n0.1 .5 1e-40 1 1 1 1\n", 0},
    {"ply", "ascii_lists",
     "ply\r\nformat ascii 1.0\r\n" FACE "element vertex 2\n" XYZ "property list uchar float l\nend_header\r\n",
     "3 0 1 2 7\r\n0 1\r\n1 2 3 2 9 9\r\n4 5 6 0\r\n", 0},
    {"ply", "little", "ply\nformat binary_little_endian 1.0\nelement vertex 3\n" XYZ EXTRA "end_header\n", NULL, 93},
    {"ply", "big", "ply\nformat binary_big_endian 1.0\nelement vertex 3\n" XYZ EXTRA "end_header\n", NULL, 93},
    {"ply", "faces_first", "ply\nformat binary_little_endian 1.0\n" FACE "element vertex 1\n" XYZ "end_header\n", NULL,
     36},
    {"ply", "lists",
     "ply\nformat binary_big_endian 1.0\nelement vertex 2\n" XYZ "property list uchar short l\nend_header\n", NULL, 60},
    {"ply", "utm",
     "ply\nformat ascii 1.0\nelement vertex 2\nproperty double x\nproperty double y\nproperty double z\n"
     "end_header\n",
     "513149.1 5403150.2 290.3\n513150.6 5404078.7 343.9\n", 0},
    {"mesh", "ascii",
     "ply\nformat ascii 1.0\nelement vertex 4\n" XYZ
     "element face 2\nproperty uchar flag\nproperty list uchar int vertex_indices\n"
     "end_header\n",
     "0 0 0\n1 0 0\n1 1 0\n0 1 0\n7 4 0 1 2 3\n7 3 0 1 2\n", 0},
    {"mesh", "faces_first", "ply\nformat ascii 1.0\n" FACE "element vertex 3\n" XYZ "end_header\n",
     "3 0 1 2 7\n3 2 1 0 7\n0 0 0\n1 0 0\n1 1 0\n", 0},
    {"mesh", "little",
     "ply\nformat binary_little_endian 1.0\nelement vertex 4\nproperty char x\nproperty char y\nproperty char z\n"
     "element face 2\nproperty uchar flag\nproperty list char uchar vertex_index\nend_header\n",
     "\x01\x01\x01\x02\x01\x01\x02\x02\x01\x01\x02\x01\x07\x03\x01\x02\x03\x07\x03\x03\x02\x01", 0},
    {"pcd", "ascii",
     "# c\nVERSION .7\nFIELDS x y z _ h\nSIZE 4 4 8 1 2\nTYPE F F F U I\nCOUNT 1 1 1 2 2\nWIDTH 2\nHEIGHT 1\n"
     "VIEWPOINT 0 0 0 1 0 0 0\nPOINTS 2\nDATA ascii\n",
     "1 2 3 0 0 4 5\nnan nan nan 0 0 -6 7\n", 0},
    {"pcd", "binary", "FIELDS y _ x z rgb\nSIZE 4 1 8 4 4\nTYPE F U F F U\nCOUNT 1 3 1 1 1\nPOINTS 2\nDATA binary\n",
     NULL, 46},
    {"pcd", "compressed",
     "FIELDS x y z i\nSIZE 4 4 4 2\nTYPE F F F U\nCOUNT 1 1 1 1\nPOINTS 4\nDATA binary_compressed\n",
     "\x0e\0\0\0\x38\0\0\0\x03\x01\x02\x3f\x40\xe0\x1e\x03\xe0\x02\x07\x01\x05\x06", 0},
    {"yaml", "flat", "# comment\ncount: 10\nstart: center\nfields: 5\n", "cuda: 1\nmin_distance: 1.5e-1\nseed: 7\n", 0},
    {"yaml", "sections", "voxelize:\n  range: [0, -39.68, -3, 69.12, 39.68, 1]\n  voxel_size: \"0.16,0.16,4\"\n",
     "  features: pillar\n  force: true\nsample: {count: 3}\nregister:\n  levels: 2\n", 0},
    {"yaml", "camera",
     "camera: {width: 640, height: 480, fx: 525, fy: 525.5, cx: 319.5, cy: 239.5, depth_scale: 5e3}\n",
     "info:\n  camera: [1, 2, 3, 4]\n  format: png\n", 0},
    {"yaml", "model",
     "CLASS_NAMES: ['Car']\nDATA_CONFIG:\n    _BASE_CONFIG_: absent.yaml\n    POINT_CLOUD_RANGE: [0, -39.68, -3, 69, "
     "39, 1]\n"
     "    DATA_PROCESSOR:\n        - NAME: shuffle_points\n          SHUFFLE_ENABLED: {\n            'train': True\n"
     "          }\n        - NAME: transform_points_to_voxels\n          VOXEL_SIZE: [0.16, 0.16, 4]\n",
     "          MAX_POINTS_PER_VOXEL: 32\n          MAX_NUMBER_OF_VOXELS: {\n            'train': 16000,\n"
     "            'test': 40000\n          }\nMODEL:\n    VFE:\n        NAME: PillarVFE\n        WITH_DISTANCE: "
     "False\n",
     0},
    {"yaml", "data", "POINT_CLOUD_RANGE: &r [-74.88, -74.88, -2, 74.88, 74.88, 4.0]\nDATA_PROCESSOR:\n",
     "  - {NAME: transform_points_to_voxels_placeholder, VOXEL_SIZE: [0.32, 0.32, 6]}\nALSO: *r\n", 0},
    {"json", "table",
     "[\n{\"token\": \"a\\u00e9\\ud83d\\ude00\\n\", \"timestamp\": 1532402927647951, \"rotation\": [1, 0.5, -2e-3, "
     "0],\n",
     "\"more\": [[], {}, {\"a\": [true, null]}, \"x\\\\\"], \"most\": {\"b\": {\"c\": [1, [2, [3]]]}}}, \n"
     "{ \"rotation\" : [ 1 , 2 , 3 , 4 ] , "
     "\"timestamp\":0,\"token\":\"\"},{\"timestamp\":1,\"token\":\"t\",\"rotation\":[0,0,0,1]}]\n",
     0},
    {"json", "empty", "[]", NULL, 0},
    {"nuscenes", "scans",
     "[{\"token\":\"a\",\"prev\":\"\",\"ego_pose_token\":\"e\","
     "\"calibrated_sensor_token\":\"s\",\"filename\":\"x/a.bin\",\"timestamp\":1},\n"
     "{\"token\":\"b\",\"prev\":\"a\",\"ego_pose_token\":\"f\","
     "\"calibrated_sensor_token\":\"s\",\"filename\":\"b.bin\",\"timestamp\":2e6},\n"
     "{\"token\":\"c\",\"prev\":\"\",\"ego_pose_token\":\"e\","
     "\"calibrated_sensor_token\":\"t\",\"filename\":\"c.jpg\",\"timestamp\":3}]%\n",
     "[{\"token\":\"e\",\"rotation\":[1,0,0,0],\"translation\":[1,2,3]},"
     "{\"token\":\"f\",\"rotation\":[0,1,0,0],\"translation\":[0,0,0]}]%"
     "[{\"token\":\"s\",\"rotation\":[0.5,0.5,-0.5,0.5],\"translation\":[0,-1e0,0]}]",
     0},
    {"poses", "kitti", "1 0 0 0.5 0 1 0 -2 0 0 1 3e1\n# a comment\n\n",
     "0 -1 0 1 1 0 0 2 0 0 1 3\nnan nan nan nan nan nan nan nan nan nan nan nan\n", 0},
    {"poses", "matrix", "1 0 0 0.5 0 1 0 -2 0 0 1 3 0 0 0 1\n", "0 -1 0 1 1 0 0 2 0 0 1 3 0 0 0 1\n", 0},
    {"poses", "tum", "0.1 1 2 3 0 0 0 1\n# lost 0.2\n", "0.3 1 2 3 0.5 0.5 0.5 0.5\n", 0},
    {"poses", "times", "0\n0.1\n# half a second\n", "0.5\n1.25e0\n", 0},
    {"poses", "calibration", "P0: 1 0 0 0 0 1 0 0 0 0 1 0\n", "Tr: 0 -1 0 0.1 0 0 -1 -0.2 1 0 0 -0.3\n", 0},
    {"poses", "log", "0 0 1\n1 0 0 0.5\n0 1 0 0\n0 0 1 0\n0 0 0 1\n", "1 1 2\n0 -1 0 0\n1 0 0 0\n0 0 1 0\n0 0 0 1\n",
     0},
    {"poses", "7scenes", "1 0 0 0.5\n0 1 0 0\n0 0 1 0\n0 0 0 1\n", "-1.#IND nan inf 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n", 0},
    {"poses", "json",
     "{\"class_name\": \"PinholeCameraTrajectory\", \"parameters\": [{\"extrinsic\": [1,0,0,0,0,1,0,0,",
     "0,0,1,0,0.5,-1,2,1], \"intrinsic\": {\"width\": 4, \"height\": 3}}]}\n", 0},
    {"poses", "kitti-times", "0 1 0 0 0.5 0 1 0 -2 0 0 1 3e1\n", "0.1 0 -1 0 1 1 0 0 2 0 0 1 3\n", 0},
    {"poses", "associations", "# list\n0.1 rgb/a.png 0.11 depth/a.png\n", "0.2 rgb/b.png 0.21 depth/b.png\n", 0},
    {"camera", "3x3", "# fx 0 cx\n525 0 319.5\n0 525 239.5\n", "0 0 1\n", 0},
    {"camera", "4x4", "525, 0, 319.5, 0\n0, 525, 239.5, 0\n", "0, 0, 1, 0\n0, 0, 0, 1\n", 0},
    {"camera", "json", "{ \"height\" : 480, \"intrinsic_matrix\" : [ 525, 0, 0, 0, 525, 0, 319.5, 239.5, 1 ],",
     "\"width\" : 640 }\n", 0},
    {"camera", "realsense", "{\"a\": [{\"b\": null}, true], \"fx\": 600.5, \"fy\": 601, \"ppx\": 320,",
     " \"ppy\": 240, \"model\": \"x\\\"y\"}", 0},
    {"camera", "ros",
     "image_width: 640\nimage_height: 480\ncamera_matrix:\n  rows: 3\n  cols: 3\n  data: [585,0,320,0,",
     "585,240,0,0,1]\ndistortion_model: plumb_bob\ndistortion_coefficients: {rows: 1, cols: 5, data: [0.,0,0,0,0e0]}\n",
     0},
    {"camera", "opencv",
     "%YAML:1.0\n---\ncamera_matrix: !!opencv-matrix\n   rows: 3\n   cols: 3\n   dt: d\n   data: [ 5.8",
     "5e+02, 0., 320., 0., 5.85e+02, 240., 0., 0., 1. ]\n", 0},
    {"camera", "kitti", "P0: 7 0 6 0 0 7 1 0 0 0 1 0\nP2: 721 0 609 44 0 721 172 0.2 0 0 1 0\n",
     "Tr: 0 -1 0 0.1 0 0 -1 -0.2 1 0 0 -0.3\n", 0},
    {"npy", "f4", "\x93NUMPY\x01\1", "\x46\1{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }          \n",
     32},
    {"npy", "records", "\x93NUMPY\x01\1",
     "\x6c\1{'descr': [('x', '<f4'), ('y', '<f4'), ('', '|V2'), ('z', '<f8')], 'fortran_order': False, 'shape': (2,), "
     "}\n",
     36},
    {"npy", "f8", "\x93NUMPY\x02\1",
     "\x46\1\1\1{'descr': '>f8', 'fortran_order': True, 'shape': (3, 3), }           \n", 72},
    {"xyz", "blanks", "# x y z i\n", "1 2 3 4\r\n-0.5 1e3 .25 nan\n\n# c\n1.234567890123456789e+01 0 0 7\n", 0},
    {"xyz", "csv", "\"X\",Y,Z,t\n", "1,2,3,\n4, 5 ,-6,1e9\n7,8,9,16777217\n", 0},
    {"xyz", "utm", "x;y;z;\n", "513149.1;5403150.2;290.3;\n513150.6;5404078.7;343.9;\n", 0},
    {"xyz", "pts", "2\n1 2 3 -100 255 0 9\n4 5 6 7 8 9 10\n", "1\n7 8 9 0 0 0 0\n", 0},
    {"npz", "stored", "", NULL, 0},
    {"npz", "deflated", "", NULL, 0},
    {"gzip", "text", "", NULL, 0},
    {"las", "1.2", "", NULL, 0},
    {"las", "1.4", "", NULL, 0},
    {"laz", "1.2", "", NULL, 0},
    {"content", "las", "", NULL, 0},
    {"content", "gzip", "", NULL, 0},
    {"content", "npz", "", NULL, 0},
    {"pgm", "wide", "P5 16 12 65535\n", NULL, 384},
    {"pgm", "plain", "P5 3 4 16448\n", NULL, 24},
    {"pgm", "comments", "P5\n# 1.5 m\r\n2\t# wide\n 1 65535 ", NULL, 4},
    {"png", "filters", "", "\5\3\0\0", 0}, /* width, height, interlaced, with texts */
    {"png", "interlaced", "", "\11\11\1\0", 0},
    {"png", "texts", "", "\2\2\0\1", 0},
    {"content", "ply", "ply\nformat ascii 1.0\nelement vertex 1\n" XYZ "end_header\n", "1 2 3\n", 0},
    {"content", "crlf", "ply\r\nformat ascii 1.0\r\nelement vertex 1\r\n" XYZ "end_header\r\n", "1 2 3\r\n", 0},
    {"content", "pcd", "# .PCD v.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nPOINTS 1\nDATA ascii\n",
     "1 2 3\n", 0},
    {"content", "npy", "\x93NUMPY\x01\1",
     "\x46\1{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }          \n", 32},
    {"content", "xyz", "", "1 2 3\n4 5 6\n", 0},
    {"content", "pgm", "P5\n3 4 16448\n", NULL, 24},
    {"indices", "i4", "\x93NUMPY\x01\1",
     "\x46\1{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }            \n", 12},
    {"indices", "u8", "\x93NUMPY\x02\1",
     "\x46\1\1\1{'descr': '>u8', 'fortran_order': True, 'shape': (2, 1), }           \n", 16},
    {"indices", "i1", "\x93NUMPY\x03\1",
     "\x46\1\1\1{'descr': '|i1', 'fortran_order': False, 'shape': (5,), }            \n", 5},
    {"indices", "text", "", "0\n12\n2147483647\n 7 \r\n8", 0},
    {"indices", "int32", "", NULL, 24},
    {"indices", "empty", "", "", 0},
    /* Parameters, then records: of small steps, of equal ones, and with hostile values. */
    {"filters", "text", "\1\1\10\1$\6\1\1",
     "wxywxzwwyxyzxxwyyxzwyzyxwwxyyzzwwwxxyyzzxyzwzyxwvuvwxvuwxyvuwwvvuxyxyxyvvwwuuxxwwyyvvxxuuyywwvvxyzuuvvwwxxyyzz",
     0},
    {"filters", "equal", "\3\1\2\2$\1\1\2", NULL, 90},
    {"filters", "hostile", "\1\2\10\1#\2\2\1",
     "xyzxyz\xf0yzx\xf1zxy\xf2xyz\xf3\xf4\xf5\xf6xy\xf7\xf8z\xf9xyzy\xfaz\xfbzy\xfcxxyy\xfd\xfe\xffzzxyyzzxxy", 0},
};

static uint8_t *put32(uint8_t *p, uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) {
        *p++ = (uint8_t)(value >> shift);
    }
    return p;
}

static uint8_t *put_chunk(uint8_t *p, const char *type, const void *data, size_t size) {
    p = put32(p, (uint32_t)size);
    memcpy(p, type, 4);
    memcpy(p + 4, data, size);
    return put32(p + 4 + size, (uint32_t)crc32(0, p, (uInt)size + 4));
}

/* A .png of width x height pixels, with every filter in turn; interlaced (9 x 9 alone) or with texts on request. */
static size_t make_png(uint8_t *out, int width, int height, int interlaced, int texts) {
    uint8_t header[13] = {0, 0, 0, (uint8_t)width, 0, 0, 0, (uint8_t)height, 16, 0, 0, 0, (uint8_t)interlaced};
    uint8_t raw[512], packed[600], *p = out;
    size_t size = 0;
    /* Rows of the seven passes of 9 x 9 pixels: 2x2, 1x2, 3x1, 2x3, 5x2, 4x5 and 9x4. */
    static const uint8_t passes[][2] = {{2, 2}, {1, 2}, {3, 1}, {2, 3}, {5, 2}, {4, 5}, {9, 4}};
    for (int pass = 0; pass < (interlaced ? 7 : 1); pass++) {
        int columns = interlaced ? passes[pass][0] : width, rows = interlaced ? passes[pass][1] : height;
        for (int y = 0; y < rows; y++) {
            raw[size++] = (uint8_t)(y % 5);
            for (int x = 0; x < 2 * columns; x++) {
                raw[size++] = (uint8_t)(x * 37 + y * 11);
            }
        }
    }
    uLongf length = sizeof packed;
    if (compress(packed, &length, raw, size) != Z_OK) {
        return 0;
    }
    memcpy(p, "\x89PNG\r\n\x1a\n", 8);
    p = put_chunk(p + 8, "IHDR", header, sizeof header);
    if (texts) {
        p = put_chunk(p, "gAMA", "\0\0\xb1\x8f", 4);
        p = put_chunk(p, "tEXt", "Depth\0m", 7);
        p = put_chunk(p, "zTXt", "a\0\0\x78\x9c\x4b\x04\0\0\x62\0\x62", 12);
    }
    p = put_chunk(p, "IDAT", packed, length / 2);
    p = put_chunk(p, "IDAT", packed + length / 2, length - length / 2);
    return (size_t)(put_chunk(p, "IEND", "", 0) - out);
}

static size_t deflated(uint8_t *out, size_t most, const void *data, size_t size, int bits) {
    z_stream z = {
        .next_in = (z_const Bytef *)(uintptr_t)data, .avail_in = (uInt)size, .next_out = out, .avail_out = (uInt)most};
    if (deflateInit2(&z, 9, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        return 0;
    }
    deflate(&z, Z_FINISH);
    deflateEnd(&z);
    return z.total_out;
}

static uint8_t *put_little(uint8_t *p, uint64_t value, int size) {
    for (int i = 0; i < size; i++) {
        *p++ = (uint8_t)(value >> (8 * i));
    }
    return p;
}

/* The common fields of a zip archive's local and central header. */
static uint8_t *put_fields(uint8_t *p, int method, uint32_t crc, size_t packed, size_t size) {
    p = put_little(p, 20, 2);
    p = put_little(p, 0, 2);
    p = put_little(p, (uint64_t)method, 2);
    p = put_little(p, 0, 4);
    p = put_little(p, crc, 4);
    p = put_little(p, packed, 4);
    p = put_little(p, size, 4);
    return put_little(p, 5, 4); /* length of the name; no extra field */
}

/* An .npz of one array of 2 x 4 float32. */
static size_t make_npz(uint8_t *out, int packed) {
    uint8_t npy[128 + 32] = "\x93NUMPY\x01", body[400], *p = out;
    npy[8] = 118;
    memset(npy + 10, ' ', 118);
    memcpy(npy + 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }", 59);
    npy[127] = '\n';
    size_t size = sizeof npy;
    memcpy(body, npy, size);
    if (packed) {
        size = deflated(body, sizeof body, npy, sizeof npy, -MAX_WBITS);
    }
    const uint32_t crc = (uint32_t)crc32(0, npy, sizeof npy);
    p = put_little(p, 0x04034b50, 4);
    p = put_fields(p, packed ? 8 : 0, crc, size, sizeof npy);
    memcpy(p, "a.npy", 5);
    memcpy(p + 5, body, size);
    p += 5 + size;
    const size_t directory = (size_t)(p - out);
    p = put_little(p, 0x02014b50, 4);
    p = put_little(p, 20, 2);
    p = put_fields(p, packed ? 8 : 0, crc, size, sizeof npy);
    p = put_little(put_little(p, 0, 8), 0, 6); /* comment, disk, attributes, offset */
    memcpy(p, "a.npy", 5);
    p += 5;
    const size_t length = (size_t)(p - out) - directory;
    p = put_little(put_little(p, 0x06054b50, 4), 0, 4);
    p = put_little(put_little(p, 1, 2), 1, 2);
    p = put_little(put_little(p, length, 4), directory, 4);
    return (size_t)(put_little(p, 0, 2) - out);
}

static void put_double(uint8_t *out, double value) {
    memcpy(out, &value, sizeof value);
}

/* A .las of two points: 1.2 with format 3 and two extra dimensions, or 1.4 with format 6. */
static size_t make_las(uint8_t *out, int minor) {
    const size_t header = minor == 4 ? 375 : 227, extra = minor == 4 ? 0 : 54 + 2 * 192,
                 size = minor == 4 ? 30 : 34 + 6;
    memcpy(out, "LASF", 4);
    out[24] = 1;
    out[25] = (uint8_t)minor;
    put_little(out + 94, header, 2);
    put_little(out + 96, header + extra, 4);
    put_little(out + 100, extra > 0, 4);
    out[104] = minor == 4 ? 6 : 3;
    put_little(out + 105, size, 2);
    put_little(out + (minor == 4 ? 247 : 107), 2, 4);
    for (int k = 0; k < 3; k++) {
        put_double(out + 131 + 8 * k, 0.01);
        put_double(out + 155 + 8 * k, k == 0 ? 500000 : -1);
    }
    if (extra > 0) {
        uint8_t *vlr = out + header;
        memcpy(vlr + 2, "LASF_Spec", 9);
        put_little(vlr + 18, 4, 2);
        put_little(vlr + 20, 2 * 192, 2);
        vlr[54 + 2] = 9;
        memcpy(vlr + 54 + 4, "height", 6);
        vlr[54 + 192 + 2] = 4;
        vlr[54 + 192 + 3] = 24;
        memcpy(vlr + 54 + 192 + 4, "intensity_value", 15);
        put_double(vlr + 54 + 192 + 112, 0.5);
        put_double(vlr + 54 + 192 + 136, 3);
    }
    for (size_t i = 0; i < 2 * size; i++) {
        out[header + extra + i] = (uint8_t)(i % 4 == 3 ? 0 : i * 7);
    }
    return header + extra + 2 * size;
}

/* A .laz of four points in point format 0, made with laspy. */
static const char laz[] =
    "4c415346000000000000000000000000000000000000000001024f544845520000000000000000000000000000000000000000000000"
    "000000006c6173707920322e372e300000000000000000000000000000000000000000004701ea07e300410100000100000080140004"
    "00000000000000000000000000000000000000000000007b14ae47e17a843f7b14ae47e17a843f7b14ae47e17a843f00000000000000"
    "0000000000000000000000000000000000000000000000124000000000000000000000000000000000000000000000f8bf0000000000"
    "00e83f000000000000000000006c61737a697020656e636f6465640000bc562800687474703a2f2f6c61737a69702e6f726700000000"
    "000000000000000000000002000000020200000000000050c30000ffffffffffffffffffffffffffffffff0100060014000200720100"
    "0000000000000000000000000000000000000000000000000040e3988d25e08fa6b2b2fd658c3e267e9ecc0000000000000001000000"
    "3363000000";

static size_t make_laz(uint8_t *out) {
    const size_t size = (sizeof laz - 1) / 2;
    for (size_t i = 0; i < size; i++) {
        const char digits[] = {laz[2 * i], laz[2 * i + 1], '\0'};
        out[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return size;
}

/* Seeds that are no text; 0 for the others. */
static size_t make_binary(const char *format, const char *name, uint8_t *out) {
    static const char text[] = "1 2 3 4\n-0.5 1e3 .25 nan\n5 6 7 8\n";
    if (strcmp(format, "npz") == 0 || strcmp(name, "npz") == 0) {
        return make_npz(out, strcmp(name, "deflated") == 0);
    }
    if (strcmp(format, "laz") == 0) {
        return make_laz(out);
    }
    if (strcmp(format, "las") == 0 || strcmp(name, "las") == 0) {
        return make_las(out, strcmp(name, "1.4") == 0 ? 4 : 2);
    }
    return strcmp(format, "gzip") == 0 || strcmp(name, "gzip") == 0
               ? deflated(out, 512, text, sizeof text - 1, 16 + MAX_WBITS)
               : 0;
}

int fuzz_make_seed(int i, fuzz_seed *seed) {
    if (i < 0 || i >= (int)(sizeof plans / sizeof plans[0])) {
        return 0;
    }
    memset(seed, 0, sizeof *seed);
    snprintf(seed->format, sizeof seed->format, "%s", plans[i].format);
    snprintf(seed->name, sizeof seed->name, "%s", plans[i].name);
    if (strcmp(plans[i].format, "png") == 0) {
        const char *body = plans[i].body;
        seed->size = make_png(seed->data, body[0], body[1], body[2], body[3]);
        return 1;
    }
    seed->size = make_binary(plans[i].format, plans[i].name, seed->data);
    if (seed->size > 0) {
        return 1;
    }
    seed->size = strlen(plans[i].header);
    memcpy(seed->data, plans[i].header, seed->size);
    if (strcmp(plans[i].name, "compressed") == 0) {
        memcpy(seed->data + seed->size, plans[i].body, 22); /* holds zero bytes */
        seed->size += 22;
    } else if (plans[i].body) {
        memcpy(seed->data + seed->size, plans[i].body, strlen(plans[i].body));
        seed->size += strlen(plans[i].body);
    }
    int npy = memcmp(seed->data, "\x93NUMPY", 6) == 0;
    if (npy) {
        int wide = seed->data[6] > 1;
        seed->data[7] = 0; /* \1 stands for a zero byte in the text above */
        memset(seed->data + 9, 0, wide ? 3 : 1);
        seed->data[8] = (uint8_t)(seed->size - (wide ? 12 : 10));
    }
    for (size_t k = 0; k < plans[i].raw; k++) {
        seed->data[seed->size++] = (uint8_t)(npy ? 0 : k % 4 == 0 ? 2 : k % 4 == 3 ? 0x40 : 0);
    }
    return 1;
}
