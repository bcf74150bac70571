/* Shared by the files of maps: map.c (parameters, scans), map_tiles.c (voxels in memory and what goes to disk),
 * map_file.c (the temporary file), map_panorama.c (what a scan saw), map_voxels.c (the voxels of a tile, merged, with
 * normals), map_moved.c (what was seen through), map_into.c (an existing map that is extended), map_finish.c (the
 * points of the map). */
#ifndef PC_MAP_H
#define PC_MAP_H

#include "backend.h"

/* ---- the temporary file: map_file.c ------------------------------------------------------------------------------ */

typedef struct pc_map_file {
    int fd; /* -1: there is none */
    const char *folder;
    int64_t size;
} pc_map_file;

/* Makes a file in the folder and removes its name at once, so that no exit leaves it. Errors: IO. */
pcgpu_status pc_map_file_open(pcgpu_context *context, const char *folder, pc_map_file *file);
/* Appends bytes; *where is their place. Errors: IO. */
pcgpu_status pc_map_file_append(pcgpu_context *context, pc_map_file *file, const void *data, size_t bytes,
                                int64_t *where);
pcgpu_status pc_map_file_read(pcgpu_context *context, const pc_map_file *file, int64_t where, void *data, size_t bytes);
void pc_map_file_close(pc_map_file *file);

/* ---- voxels: map_tiles.c ----------------------------------------------------------------------------------------- */

enum {
    PC_MAP_SIDE_BITS = 8, /* a tile is a cube of 256 voxels a side */
    PC_MAP_SIDE = 1 << PC_MAP_SIDE_BITS,
    PC_MAP_STEPS = 1024,            /* of a coordinate in a voxel */
    PC_MAP_HALF = PC_MAP_STEPS / 2, /* its middle */
    PC_MAP_FULL = 8191,             /* points that the sums of a record can hold */
    PC_MAP_LABELS = 255             /* different labels, numbered from 1 */
};

/* Part of what fell into a voxel; the voxel is the sum of all its records, in memory and in the file. A record that is
 * full gets a successor. The points with a label are counted in records of their own, which have no sums. */
typedef struct pc_map_record {
    uint32_t key;         /* the number of a label or 0, then the voxel in its tile: z, y, x, 8 bits each */
    uint32_t first, last; /* scans with a point in it */
    uint32_t seen;        /* number of such scans, without those of an earlier record */
    uint32_t points;
    uint32_t sum[3];   /* of coordinates in steps from the lower corner */
    int32_t moment[6]; /* of products xx xy xz yy yz zz of coordinates from the middle */
    int64_t intensity; /* 2^-16 */
} pc_map_record;

/* A run of records in the file. */
typedef struct pc_map_run {
    int64_t where, records;
    int32_t next; /* of the same tile, written earlier; -1 = none */
} pc_map_run;

typedef struct pc_map_tile {
    int32_t at[3];          /* world coordinates = at x PC_MAP_SIDE x voxel */
    int32_t runs;           /* the last one, or -1 */
    int64_t count, most;    /* records in memory */
    pc_map_record *records; /* in the order of their first points */
    uint64_t *slots;        /* a hash table of keys and records: key << 32 | record + 1; 0 = empty */
    int slot_bits;
    bool failed;    /* memory was short */
    int64_t fresh;  /* points of the scan that is added, */
    int64_t sorted; /* and the end of those that are sorted */
} pc_map_tile;

typedef struct pc_map_tiles {
    int64_t count, bytes; /* bytes of records and slots in memory */
    pc_map_tile *tiles;
    int32_t *slots; /* a hash table of tiles, index + 1 */
    int slot_bits;
    int64_t run_count;
    pc_map_run *runs;
    pc_buffer memory[3]; /* of tiles, slots, runs */
} pc_map_tiles;

/* A point of a scan in its voxel. */
typedef struct pc_map_point {
    uint32_t key;
    uint16_t at[3]; /* steps */
    uint8_t label;  /* its number, 0: none */
    int64_t intensity;
} pc_map_point;

/* The tile with these coordinates, which is made if it is new; -1 without memory. */
int32_t pc_map_tile_of(pc_map_tiles *t, const int32_t at[3]);
int32_t pc_map_tile_find(const pc_map_tiles *t, const int32_t at[3]); /* -1: there is none */
/* Adds points of a scan to a tile, in their order. Sets tile->failed without memory. */
void pc_map_tile_add(pc_map_tile *tile, uint32_t scan, const pc_map_point *points, int64_t count);
int64_t pc_map_tile_bytes(const pc_map_tile *tile);
/* Writes the tiles that are farthest from the sensor to the file, until three quarters of `most` bytes are left.
 * `sensor`: in voxels. Errors: IO, MEMORY. */
pcgpu_status pc_map_tiles_spill(pcgpu_context *context, pc_map_tiles *t, pc_map_file *file, const double sensor[3],
                                int64_t most);
void pc_map_tile_empty(pc_map_tile *tile);
void pc_map_tiles_free(pc_map_tiles *t);

/* ---- what a scan saw: map_panorama.c ----------------------------------------------------------------------------- */

typedef struct pc_map_panorama {
    double T[16];        /* T_world_sensor, metres */
    int32_t first, rows; /* rows with returns */
    int64_t where;       /* of its ranges in the file, if there is one */
    uint16_t *ranges;    /* else here: the least range in each pixel, 0 = no return */
    uint32_t *pixels;    /* while it is in use: range << 16 | least range of the pixel and its neighbours */
    uint32_t used;       /* the last tile that used it */
} pc_map_panorama;

typedef struct pc_map_panoramas {
    int64_t count;
    pc_map_panorama *all;
    pc_buffer memory, image;
    int64_t bytes;     /* of all `pixels` */
    int64_t last_scan; /* of the last panorama */
} pc_map_panoramas;

/* Appends the panorama of a scan. `unit`: metres, of its ranges. Errors: MEMORY, IO. */
pcgpu_status pc_map_panorama_add(pcgpu_context *context, pc_map_panoramas *p, pc_map_file *file,
                                 const pcgpu_cloud *scan, const double T[16], double unit);
/* Makes the pixels. Errors: MEMORY, IO. */
pcgpu_status pc_map_panorama_load(pcgpu_context *context, pc_map_panoramas *p, const pc_map_file *file, int64_t i);
/* Frees the pixels of those that tile `now` does not use. */
void pc_map_panoramas_drop(pc_map_panoramas *p, uint32_t now);
void pc_map_panoramas_free(pc_map_panoramas *p);

/* ---- the finished voxels of a tile: map_voxels.c, map_moved.c ---------------------------------------------------- */

typedef struct pc_map_voxel {
    uint32_t key, first, seen;
    uint16_t label; /* of most points, the lower on ties */
    int64_t points, sum[3], moment[6], intensity;
} pc_map_voxel;

typedef struct pc_map_voxels {
    int64_t count;
    pc_map_voxel *voxels;      /* by key */
    float *at[3];              /* mean points, metres from the lower corner of the tile */
    float *normal[3];          /* not oriented; 0 = none */
    uint16_t *through, *agree; /* panoramas */
    uint8_t *behind, *moved;   /* what moved by these, and by those of its neighbours, too; | PC_MAP_IN_MAP */
    pc_buffer records, order, memory, columns;
} pc_map_voxels;

/* ---- an existing map that is extended: map_into.c ---------------------------------------------------------------- */

enum { PC_MAP_IN_MAP = 2 }; /* of `moved`: the existing map has a point in the voxel */

/* A voxel that was seen through: its place in `keys`, and its mean point. */
typedef struct pc_map_gone {
    int64_t key;
    float point[3];
} pc_map_gone;

typedef struct pc_map_into {
    const pcgpu_cloud *cloud; /* of the caller */
    pcgpu_map *map;           /* its points; NULL: there is none */
    int64_t *first;           /* of each tile in `keys`, and after the last */
    uint32_t *keys;           /* of voxels in their tile, sorted, with a flag */
    uint64_t *squares;        /* of each tile, seen from above: which columns of a square have points */
    int64_t gone_count;
    pc_map_gone *gone;
    pcgpu_cloud changes;
    int columns[PCGPU_MAX_COLUMNS]; /* of `cloud`, in those of the finished map */
    pc_buffer memory[5];            /* of first, squares, keys, gone, changes */
} pc_map_into;

struct pcgpu_map {
    pcgpu_context *context;
    pcgpu_map_stats stats;
    int32_t home[3]; /* a tile near all others */
    pc_map_file file;
    pc_map_tiles tiles;
    pc_map_panoramas panoramas;
    bool has_intensity, has_labels, finished;
    uint8_t label_number[UINT16_MAX + 1]; /* by label; 0: not met */
    uint16_t labels[PC_MAP_LABELS + 1];   /* by number */
    int label_count;
    pc_buffer sensors;               /* of each scan: where it was, three double, metres */
    pc_buffer scan, sorted, touched; /* of pcgpu_map_add */
    pc_map_into into;
    pcgpu_cloud points;             /* finished */
    int columns[PCGPU_MAX_COLUMNS]; /* of these: numbers among those that a map can have */
    void *mapped;                   /* its data in the file, or NULL */
    size_t mapped_bytes;
};

/* Merges the records of a tile, in memory and in the file, into voxels; `normals`: with means and normals. Errors:
 * MEMORY, IO. */
pcgpu_status pc_map_voxels_of(pcgpu_map *map, const pc_map_tile *tile, bool normals, pc_map_voxels *v);
/* Voxel i and its neighbours in the tile; returns their number. `cursors` are -1 before the first call, and then serve
 * calls with greater i. */
int pc_map_neighbours(const pc_map_voxels *v, int64_t i, int64_t cursors[9], int64_t near[27]);
void pc_map_voxels_free(pc_map_voxels *v);
bool pc_map_is_seen(const pcgpu_map *map, const pc_map_tile *tile); /* whether a sensor of a panorama is near enough */
/* Finds what was seen through; `number` differs from tile to tile. Errors: MEMORY, IO. */
pcgpu_status pc_map_find_moved(pcgpu_map *map, const pc_map_tile *tile, uint32_t number, pc_map_voxels *v);
/* Lists the voxels of the existing map; compares those of a tile, when it is known what moved, and marks them in
 * v->moved; lists the changes. Errors: MEMORY, IO. */
pcgpu_status pc_map_into_list(pcgpu_map *map);
pcgpu_status pc_map_into_compare(pcgpu_map *map, const pc_map_tile *tile, pc_map_voxels *v);
pcgpu_status pc_map_into_end(pcgpu_map *map);

#endif
