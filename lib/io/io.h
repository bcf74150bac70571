/* The table of formats, and what readers and writers share. A format is one file io_NAME.c and a line in io_content.c.
 *
 * A reader gets the whole file in memory (a stream need not seek, and a count in a header can be checked against the
 * bytes that are there before anything is allocated), describes where its columns lie in a pc_table, and lets
 * pc_table_to_cloud convert them. A writer asks pc_output_types for the types and pc_output_rows for the bytes. */
#ifndef PC_IO_H
#define PC_IO_H

#include "backend.h" /* pc_fail, pc_log, pc_run_parts */
#include "cloud.h"

#include <locale.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the file formats are written for little-endian machines"
#endif

/* The content of a file. data[size] is a NUL that is not counted. */
typedef struct pc_bytes {
    unsigned char *data;
    size_t size;
} pc_bytes;

/* A file that is read or written: who asks for it, its name in messages, its stream. */
typedef struct pc_file {
    pcgpu_context *context;
    const char *name;
    FILE *stream;
    const pcgpu_read_options *options; /* of a reader, never NULL there */
} pc_file;

/* "NAME: " and a sentence, as an error, of the status FORMAT or another, or as a warning. */
pcgpu_status pc_fail_format(const pc_file *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
pcgpu_status pc_fail_file(const pc_file *file, pcgpu_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
pcgpu_status pc_fail_file_memory(const pc_file *file, uint64_t bytes);
void pc_warn(const pc_file *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct pc_table;

typedef struct pc_format {
    pcgpu_format_info info;
    const char *begins[5]; /* the first bytes of a file, without a zero byte; NULL past the last */
    bool may_be_empty;     /* a file of no bytes is a cloud of no points */
    /* The caller frees the bytes, whose memory may move into the cloud, and on failure the cloud. */
    pcgpu_status (*read)(const pc_file *file, pc_bytes *bytes, pcgpu_cloud *cloud);
    /* Describes the records of a file of `size` bytes from its first bytes, so that it can be read in pieces; NULL: it
     * cannot. *wanted: more first bytes that are needed for this, and then the table is not filled; else 0. */
    pcgpu_status (*layout)(const pc_file *file, const pc_bytes *head, uint64_t size, struct pc_table *table,
                           size_t *wanted);
    pcgpu_status (*write)(const pc_file *file, const pcgpu_cloud *cloud);
    pcgpu_status (*write_arrays)(const pc_file *file, const pcgpu_array *arrays, int count);
    /* In place of `read` for depth images. On failure the caller frees the image. */
    pcgpu_status (*read_depth)(const pc_file *file, const pc_bytes *bytes, pcgpu_depth *depth);
} pc_format;

extern const pc_format *const pc_formats[];                   /* io_content.c; NULL past the last */
const pc_format *pc_format_of(const pcgpu_format_info *info); /* NULL: of none */

/* ---- names: io_text.c ------------------------------------------------------------------------------------------ */

/* The encoding in the options' file, if that is wanted. */
void pc_say_encoding(const pc_file *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether a path ends in an extension such as ".npy", ignoring case, after a nonempty stem. */
bool pc_has_extension(const char *path, const char *extension);
/* The name of an input in messages: "standard input" for "-". */
const char *pc_input_name(const char *name);

/* Numbers in text have a decimal point in every locale of the program. False without memory. */
typedef struct pc_c_locale {
    locale_t own, before;
} pc_c_locale;

bool pc_enter_c_locale(pc_c_locale *locale);
void pc_leave_c_locale(pc_c_locale *locale);

/* ---- bytes: io_bytes.c --------------------------------------------------------------------------------------- */

enum { PC_HEAD = 64 }; /* bytes that identify the format of a file */

/* Reads the first bytes of a stream, at most PC_HEAD. Errors: IO, MEMORY; there is then nothing to free. */
pcgpu_status pc_bytes_head(const pc_file *file, pc_bytes *bytes);
/* Reads a stream to its end, after {NULL, 0} or the bytes of pc_bytes_head. The memory grows with the data. The limit
 * is half of the machine's memory for a stream that is not a regular file, and 64 MiB for a device, since it may have
 * no end. Errors: IO, MEMORY, FORMAT (too long); the bytes are then freed. */
pcgpu_status pc_bytes_read(const pc_file *file, pc_bytes *bytes);
/* Half of the machine's memory: the most bytes that something whose size is not known in advance may have. */
size_t pc_bytes_limit(void);
/* Whether a stream is a file, so that its name describes its content. */
bool pc_is_regular(FILE *stream);
/* Whether all bytes are printable ASCII, tabs or line ends. 64 bytes of a .bin of coordinates are not. */
bool pc_looks_like_text(const void *data, size_t size);
bool pc_begins_with_mark(const void *data, size_t size); /* the byte order mark of UTF-8 */
void pc_bytes_tidy(pc_bytes *bytes); /* takes the mark out, and makes line ends of CR alone; not for a .bin */
void pc_bytes_free(pc_bytes *bytes);

/* The error of a stream that cannot be read, by errno. */
pcgpu_status pc_fail_read(const pc_file *file);
/* Opens the file of its name. Errors: IO. */
pcgpu_status pc_open(pc_file *file);

pcgpu_status pc_write_bytes(const pc_file *file, const void *data, size_t size);
/* Fails when an earlier write to the stream, e.g. by fprintf, failed. */
pcgpu_status pc_write_check(const pc_file *file);

/* "file ends after N of M points": the sentence of every reader for a body that is too short. `what` is "points" or
 * "values". */
pcgpu_status pc_fail_short(const pc_file *file, uint64_t present, uint64_t wanted, const char *what);

/* ---- deflated data: io_gzip.c ----------------------------------------------------------------------------------- */

bool pc_gzip_begins(const void *data, size_t size);
/* Expands the members of a file of gzip, or one stream without a header, into at most `most` bytes of new memory, which
 * grows with the data. Errors: FORMAT, MEMORY; there is then nothing to free. */
pcgpu_status pc_inflate(const pc_file *file, const void *data, size_t size, bool gzip, size_t most, pc_bytes *out);

/* ---- columns of a file: io_table.c --------------------------------------------------------------------------- */

/* Types of files that a cloud does not have: they become float32 columns with the type PCGPU_FLOAT64. */
enum { PC_UINT64 = PCGPU_INT64 + 1 };

size_t pc_type_size(int type); /* 1, 2, 4 or 8 */

/* A little-endian number of `size` bytes, at most 8. */
static inline uint64_t pc_load_number(const unsigned char *p, size_t size) {
    uint64_t value = 0;
    memcpy(&value, p, size);
    return value;
}

/* Appends a number to the `at` bytes that `out` has; returns their number then. */
static inline size_t pc_put_number(unsigned char *out, size_t at, size_t size, uint64_t value) {
    memcpy(out + at, &value, size);
    return at + size;
}

uint64_t pc_load_bits(const unsigned char *p, size_t size, bool swap); /* `swap` = big endian */

/* One value of any type but PCGPU_FLOAT16; `swap` = big endian. 64-bit integers are rounded to float64. */
double pc_load_value(const unsigned char *p, int type, bool swap);

/* Value i of a column is at bytes->data + start + offset + i * stride. */
typedef struct pc_field {
    char name[PCGPU_NAME_SIZE];
    uint8_t type; /* pcgpu_type, PCGPU_INT64, PC_UINT64 */
    uint8_t mask; /* bits of an integer that are the value; 0: all */
    size_t offset, stride;
    double scale, shift; /* the value is the stored number x scale + shift; scale 0: the stored number */
    double first;        /* subtracted from each value before it is rounded: pc_table_settle */
    bool remainder;      /* what float32 leaves of the same value, which is the column before */
    int8_t unset;        /* a column that has this value in all rows says nothing and is left out, or PC_NO_DEFAULT */
} pc_field;

enum { PC_NO_DEFAULT = -1, PC_TABLE_BLOCK = 1024 /* rows converted at a time: they stay in the cache */ };

static inline bool pc_is_plain_float32(const pc_field *field) {
    return field->type == PCGPU_FLOAT32 && field->scale == 0.0;
}

typedef struct pc_table {
    int64_t rows;
    int columns;
    size_t start;
    bool swap;            /* big endian */
    pcgpu_header *header; /* of a file in pieces, or NULL */
    char left_out[256];   /* names of columns that say something and are not wanted */
    pc_field fields[PCGPU_MAX_COLUMNS];
} pc_table;

/* Appends a column; its name is cut to fit and made unique with _2, _3, ... Errors: FORMAT (too many columns). */
pcgpu_status pc_table_add(const pc_file *file, pc_table *table, const char *field, size_t length, int type,
                          size_t offset);

/* Appends columns of a file without names, `step` bytes from one to the next, called as pcgpu_cloud_create calls
 * them. */
pcgpu_status pc_table_add_unnamed(const pc_file *file, pc_table *table, int columns, int type, size_t step,
                                  size_t stride);

/* Makes the packed colours of PCL, a field "rgb" or "rgba" of four bytes in a binary record, columns red, green, blue
 * and alpha; as a number a packed colour says nothing. */
void pc_table_split_color(pc_table *table);

/* Fills the cloud: x y z first, then the other columns in the order of the file. All values of the table must lie
 * within `bytes`; its memory moves into the cloud when no conversion is needed.
 * Offset of an axis: 0 when every finite coordinate is a float32, or all are within 1024 m of 0 (a float32 then
 * resolves 0.06 mm); else the whole number of metres nearest to the middle of the finite bounds, subtracted in float64
 * before the one rounding to float32. Other columns are rounded, with a warning. Errors: FORMAT (no x y z), MEMORY. */
pcgpu_status pc_table_to_cloud(const pc_file *file, pc_table *table, pc_bytes *bytes, pcgpu_cloud *cloud);

/* The steps of pc_table_to_cloud, for a file that is converted in pieces. */
/* Moves x y z to the front; the others keep their order. Errors: FORMAT (no x y z). */
pcgpu_status pc_table_order(const pc_file *file, pc_table *table);
/* Whether the records have the layout of a cloud, so that their memory can be the cloud's. */
bool pc_table_is_cloud(const pc_table *table);

/* The values of at most PC_TABLE_BLOCK rows of a column from `p` on. */
void pc_load_fields(const unsigned char *p, const pc_field *field, bool swap, int rows, double *values);

/* ---- what the values of columns decide: io_columns.c ------------------------------------------------------------ */

int pc_table_find(const pc_table *table, const char *name); /* a column, or -1 */
/* Gives columns that programs name in other words, such as X, GpsTime, R G B, the names of this library. */
void pc_table_rename(pc_table *table);
/* Names columns 3 to 5 red green blue if they are whole numbers from 0 to 255, unless all are 0 and 1, as normals may
 * be. */
void pc_table_name_colors(pc_table *table, const unsigned char *data);

/* The finite values of a column; of a coordinate but 0, since a few records without a return would move the offset of
 * a map towards the origin, where float32 loses precision. */
typedef struct pc_axis {
    double low, high;
    bool exact, exact_after; /* each is a float32, also after `first` is subtracted */
} pc_axis;

extern const pc_axis pc_no_axis; /* without a value */
void pc_axis_add(const pc_table *table, int k, const unsigned char *data, pc_axis *axis);
void pc_axis_join(const pc_axis *part, pc_axis *all);

/* The most columns of remainders that pc_table_settle adds. */
enum { PC_MOST_REMAINDERS = 4 };

/* Before and after pc_axis_add of all records: `first` becomes the value of the first record, which stays where float32
 * needs it, such as of times since 1970; columns without a value go; remainders come, where the options want them. The
 * offset of an axis is a whole number near the middle of its values, so that the file's 0 remains exact. `record`: the
 * first one. */
void pc_table_begin(pc_table *table, const unsigned char *record);
void pc_table_settle(const pc_file *file, pc_table *table, const pc_axis axes[PCGPU_MAX_COLUMNS], double offset[3]);

/* The effect of the conversion of a column to float32. */
typedef struct pc_rounding {
    int64_t changed; /* finite values */
    double largest;  /* the largest change of a value that remains finite */
} pc_rounding;

/* Converts the rows of a table; adds to rounded[columns]. */
void pc_table_convert(const pc_table *table, const unsigned char *data, const double offset[3], float *values,
                      pc_rounding *rounded);
void pc_table_warn(const pc_file *file, const pc_table *table, int64_t rows, const pc_rounding *rounded);
/* Sets rows, columns, names and types. */
void pc_table_describe(const pc_table *table, pcgpu_cloud *cloud);

bool pc_has_offset(const pcgpu_cloud *cloud);

/* The types of the columns in a file, PCGPU_REMAINDER for one that is not written. Coordinates are float64 with an
 * offset, else float32, even if the input had float64, since the values are float32. Another column has its former
 * integer type if every value is still such an integer, else float64 with an offset or a remainder, else float32. */
void pc_output_types(const pcgpu_cloud *cloud, uint8_t types[PCGPU_MAX_COLUMNS]);

/* red, green, blue, alpha */
enum { PC_COLORS = 4 };
extern const char *const pc_color_names[PC_COLORS];

/* The first of the columns red, green and blue, which are side by side and uint8 by `types`, or -1. */
int pc_color_column(const pcgpu_cloud *cloud, const uint8_t *types);

/* In place of the type of a column red: that and the next two or three are one value, packed as PCL's. */
enum { PC_OUTPUT_RGB = 254, PC_OUTPUT_RGBA = 255 };

/* Writes all rows as packed little-endian records of these types. */
pcgpu_status pc_output_rows(const pc_file *file, const pcgpu_cloud *cloud, const uint8_t types[PCGPU_MAX_COLUMNS]);

/* Writes all rows as lines of text that read back as the same values. */
pcgpu_status pc_output_text(const pc_file *file, const pcgpu_cloud *cloud, const uint8_t types[PCGPU_MAX_COLUMNS],
                            char separator);

/* The stored value: with the offset, and the remainder in the next column. */
static inline double pc_output_value(const pcgpu_cloud *cloud, int64_t row, int column) {
    const float *p = cloud->data + (size_t)row * (size_t)cloud->columns + (size_t)column;
    const double v = (double)*p;
    return pcgpu_column_is_remainder(cloud, column + 1) ? cloud->offset[column] + (v + (double)p[1])
           : cloud->offset[column] != 0.0               ? cloud->offset[column] + v
                                                        : v;
}

/* The name of a column for headers that separate names by blanks. */
void pc_output_name(const pcgpu_cloud *cloud, int column, char out[PCGPU_NAME_SIZE]);

/* ---- whether values look like a cloud: io_plausible.c ----------------------------------------------------------- */

/* The number of float32 columns, 3 to 16, that fits a .bin of `whole` bytes much better than `columns` does (0: than
 * one column), or 0. Looks at 2048 values of its first `size` bytes. */
int pc_bin_columns(const void *data, size_t size, uint64_t whole, int columns);
/* Warns of values that look wrong. Errors: FORMAT (no sensor gives them, and the options do not allow them). */
pcgpu_status pc_bin_check(const pc_file *file, const pcgpu_cloud *cloud);

/* ---- depth images: io_depth.c, used by io_png.c and io_pgm.c --------------------------------------------------- */

/* Checks a size that a header declares, before anything is allocated: the limits of pcgpu_depth, and that `present`
 * bytes of data can hold the image when a byte of them makes at most `expansion` bytes of it. Errors: FORMAT. */
pcgpu_status pc_depth_check(const pc_file *file, uint64_t width, uint64_t height, size_t present, unsigned expansion);
/* What the depths look like in other units than 1000 per metre, with the remedy; NULL: nothing, or another
 * depth_scale. */
const char *pc_depth_hint(const pcgpu_depth *depth, double depth_scale);
/* Allocates an image of a size that was checked. Errors: MEMORY. */
pcgpu_status pc_depth_create(const pc_file *file, uint64_t width, uint64_t height, pcgpu_depth *depth);

/* ---- text: io_text.c ----------------------------------------------------------------------------------------- */

typedef struct pc_span {
    const char *p;
    size_t n;
} pc_span;

typedef struct pc_text {
    const char *p, *end;
    int64_t line; /* number of the last line, from 1 */
} pc_text;

static inline pc_text pc_text_of(const pc_bytes *bytes) {
    return (pc_text){.p = (const char *)bytes->data, .end = (const char *)bytes->data + bytes->size};
}

static inline bool pc_is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r'); /* \t \n \v \f \r */
}

/* "NAME: line N: " and the sentence, as an error FORMAT. */
pcgpu_status pc_fail_line(const pc_file *file, const pc_text *text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Takes the next line without its end (\n or \r\n). False at the end of the text. */
bool pc_text_line(pc_text *text, pc_span *line);
/* The same, but skips blank lines. */
bool pc_text_filled_line(pc_text *text, pc_span *line);
/* Takes the next token from a line. */
bool pc_text_token(pc_span *line, pc_span *token);

bool pc_span_is(pc_span span, const char *text);
/* A whole number from 0 to 10^18. */
bool pc_span_count(pc_span span, int64_t *value);
/* A span of a possibly hostile file, shortened and made printable for a message. */
typedef struct pc_shown {
    char text[48];
} pc_shown;
pc_shown pc_span_show(pc_span span);

/* Stores the value of a token as `type` in the byte order of the machine, rounded once. False when it is not a number,
 * or does not fit an integer type. A NUL must follow the text. Needs the C locale. */
bool pc_span_number(pc_span span, int type, unsigned char *out);

/* Writes the shortest text of at most 17 digits, or 9 for a float32, that reads back as the same value; returns its
 * length. */
enum { PC_NUMBER_SIZE = 32 };
int pc_format_number(char out[PC_NUMBER_SIZE], double value, bool single);
/* The shortest text of offset + value, to 0.1 mm, whose difference to the offset is the float32 again. */
int pc_format_offset(char out[PC_NUMBER_SIZE], double offset, float value);

/* ---- meshes: io_mesh_read.c ------------------------------------------------------------------------------------- */
/* Reads the vertices and faces of a .ply; polygons become fans of triangles, and without faces there are no triangles.
 * `bytes` are the content of the file, whose memory may move into the mesh. On failure there is nothing to free but the
 * bytes. Errors: FORMAT, MEMORY. */
pcgpu_status pc_mesh_read(const pc_file *file, pc_bytes *bytes, pcgpu_mesh *mesh);

/* ---- .xyz, .csv, .pts: io_xyz.c, used by io_xyz_write.c --------------------------------------------------------- */

pcgpu_status pc_xyz_read(const pc_file *file, pc_bytes *bytes, pcgpu_cloud *cloud);

/* ---- .pcd: io_lzf.c and io_pcd_write.c, used by io_pcd.c --------------------------------------------------------- */
/* Expands `in` to exactly out_size bytes. False when the data is damaged. */
bool pc_lzf_expand(const unsigned char *in, size_t in_size, unsigned char *out, size_t out_size);

pcgpu_status pc_pcd_write(const pc_file *file, const pcgpu_cloud *cloud);
/* ---- .npz: io_npz_read.c, used by io_npz.c ----------------------------------------------------------------------- */

pcgpu_status pc_npz_read(const pc_file *file, pc_bytes *bytes, pcgpu_cloud *cloud);
pcgpu_status pc_npy_read(const pc_file *file, pc_bytes *bytes, pcgpu_cloud *cloud);

/* Extracts the array called `wanted` as a .npy. PCGPU_ERROR_FORMAT without a sentence: there is no such array. */
pcgpu_status pc_npz_array(const pc_file *file, const pc_bytes *bytes, const char *wanted, pc_bytes *npy);

/* ---- .npy header: io_npy.c, also used by io_npz.c and io_indices.c ---------------------------------------------- */

enum { PC_NPY_HEADER_SIZE = 256, PC_NPY_DIMENSIONS = 64 /* as many as NumPy has */ };

typedef struct pc_npy {
    int type;                         /* pcgpu_type, PCGPU_INT64 or PC_UINT64; -1 = another, such as complex numbers */
    bool swap, fortran;               /* big endian; the first index varies fastest */
    int dimensions;                   /* 0 = one value */
    int64_t shape[PC_NPY_DIMENSIONS]; /* each 0 to 10^18: not checked against the bytes that are there */
    pc_shown type_text, shape_text;   /* the text of the header, for messages */
    size_t start;                     /* of the values within the bytes */
    pc_span records;                  /* the list of the fields of an array of records, whose type is -1; else empty */
} pc_npy;

bool pc_npy_begins(const pc_bytes *bytes); /* with the signature of .npy */
/* Reads the header of a .npy file, versions 1 to 3. Errors: FORMAT. */
pcgpu_status pc_npy_parse(const pc_file *file, const pc_bytes *bytes, pc_npy *npy);
/* Whether the array can be a cloud by its type and shape. */
bool pc_npy_is_cloud(const pc_npy *npy);
/* A version 1 header, padded to a multiple of 64 bytes; returns its size. */
size_t pc_npy_header(char out[PC_NPY_HEADER_SIZE], int type, int dimensions, const int64_t *shape);
/* Bytes of an array's data; checks its type, dimensions and overflow. Errors: ARGUMENT. */
pcgpu_status pc_array_size(const pc_file *file, const pcgpu_array *array, size_t *size);

#endif
