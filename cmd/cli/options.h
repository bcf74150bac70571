/* The options of every command. One table makes the command-line parser, --help, the OPTIONS sections of the man pages,
 * the shell completions, the keys of configuration files, --dry-run and the parameters in --json. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "pcgpu.h"

/* The commands that know an option. */
enum {
    FOR_SAMPLE = 1,
    FOR_VOXELIZE = 2,
    FOR_REGISTER = 4,
    FOR_ODOMETRY = 8,
    FOR_FUSE = 16,
    FOR_EVALUATE = 32,
    FOR_INFO = 64,
    FOR_REGISTRATION = FOR_REGISTER | FOR_ODOMETRY,
    FOR_MODEL = FOR_ODOMETRY | FOR_FUSE, /* depth images into a model */
    FOR_TRAJECTORY = FOR_ODOMETRY | FOR_EVALUATE,
    FOR_POINTS = FOR_SAMPLE | FOR_VOXELIZE | FOR_REGISTRATION, /* what works on points */
    FOR_CLOUDS = FOR_POINTS | FOR_FUSE,                        /* those that write clouds */
    FOR_INPUTS = FOR_CLOUDS | FOR_INFO,
    FOR_ALL = FOR_INPUTS | FOR_EVALUATE
};

/* What a command is like. */
enum {
    COMMAND_READS_STDIN = 1,      /* when there is no input */
    COMMAND_PRINTS_DATA = 2,      /* its data goes to standard output when there is no --output */
    COMMAND_WRITES_ARRAYS = 4,    /* its data may be arrays, and into a folder it is .npz */
    COMMAND_DROPS_ORIGIN = 8,     /* records at the origin, by default */
    COMMAND_MAY_NOT_CONVERGE = 16, /* exit status 4 */
    COMMAND_READS_TEXT = 32       /* its inputs are no clouds */
};

typedef struct option_values option_values;
struct session;

/* A command: what it is called and what it does at each place of a run. Hooks are NULL where there is nothing to do; those
 * that return false have said why in a sentence. */
typedef struct command_info {
    const char *name;
    unsigned bit;          /* FOR_... */
    const char *arguments; /* of the usage line */
    const char *summary;   /* one line */
    unsigned traits;       /* COMMAND_... */
    int inputs_per_job;    /* 2: a source and a target; 0: one job takes all */
    /* Options against each other; sets what follows from them. */
    bool (*settle)(option_values *options, const struct command_info *command, char *why, size_t why_size);
    /* How many inputs there are; may set them. */
    bool (*take_inputs)(struct session *session, char *why, size_t why_size);
    /* Options and inputs against each other. */
    bool (*check)(const struct session *session, char *why, size_t why_size);
    /* Whether the inputs of a job are depth images that are taken as such, not as clouds. */
    bool (*takes_images)(const struct session *session, const char *const *inputs, int count);
    /* The options as they are in effect for these inputs, for --dry-run and --json: with the defaults that are theirs.
     * Strings are the session's. Without inputs: those of a list, of which each has its own. */
    void (*effect)(const struct session *session, const char *const *inputs, int count, option_values *effect);
    int (*run)(struct session *session); /* returns an exit code */
} command_info;

/* commands.c: the i-th command, or NULL past the last. */
const command_info *command_at(int i);
const command_info *command_by_name(const char *name);

typedef enum dtype { DTYPE_FLOAT32, DTYPE_FLOAT16 } dtype;
typedef enum split { SPLIT_TEST, SPLIT_TRAIN } split;
/* How points find their partners; AUTO: by projection for two depth images. */
typedef enum association { ASSOCIATION_AUTO, ASSOCIATION_PROJECTIVE, ASSOCIATION_NEAREST } association;
typedef enum transform_format { TRANSFORM_MATRIX, TRANSFORM_KITTI, TRANSFORM_TUM } transform_format;

enum { OPTIONS_MAX = 128 };

/* Iterations of levels, coarse to fine. */
typedef struct level_counts {
    int count;
    int values[PCGPU_DEPTH_LEVELS];
} level_counts;

/* Where a value comes from; a later one wins. NOT_IN_EFFECT: a default that does not hold for these inputs. */
typedef enum value_source { FROM_DEFAULT, FROM_FILE, FROM_COMMAND_LINE, NOT_IN_EFFECT } value_source;

/* The values in effect. Strings are borrowed from argv or kept in `kept`. */
struct option_values {
    const char *output, *format, *output_format, *config, *json;
    bool force, drop_origin, verbose, quiet, dry_run, help, version;
    int fields;
    pcgpu_settings settings; /* device, cuda_index, threads */
    pcgpu_camera camera;     /* of depth images, when it is given */

    pcgpu_sample_params sample;
    const char *indices, *distances, *seeds;

    pcgpu_voxelize_params voxelize;
    const char *coords, *counts, *point_voxel;
    dtype dtype;
    bool strict, batch;
    split split;    /* of a configuration of OpenPCDet */
    bool openpcdet; /* one was read */

    pcgpu_register_params registration;
    association association;
    level_counts level_iterations;
    double bilateral;
    pcgpu_camera target_camera; /* where it is another */
    const char *init, *pairs, *transform;
    pcgpu_volume_params volume;
    const char *poses, *mesh;
    transform_format transform_format;

    pcgpu_odometry_params odometry; /* but for `registration`, which is the one above */
    const char *trajectory, *timestamps, *ground_truth, *calibration;
    transform_format trajectory_format;
    double rate;
    bool resume;

    unsigned char source[OPTIONS_MAX]; /* value_source of each row of the table */
    char **kept;
    size_t kept_count;
};

struct option_row;

/* How a value is read and shown. */
typedef struct option_type {
    enum { VALUE_BOOLEAN, VALUE_NUMBER, VALUE_TEXT } kind; /* what a configuration file must hold for it */
    bool list;                                             /* a list of numbers fits too */
    bool mapping;                                          /* a mapping too: each pair is read as NAME=VALUE */
    /* Reads `text` into *field. On failure `why` says what is wrong and what to give. */
    bool (*parse)(const struct option_row *option, const char *text, void *field, char *why, size_t why_size);
    /* Writes the value as JSON, which is YAML too. Returns false, writing nothing, when there is no value. */
    bool (*print)(const struct option_row *option, const void *field, FILE *out);
} option_type;

extern const option_type type_flag, type_no_flag, type_int, type_int64, type_seed, type_real, type_float, type_path,
    type_reader, type_writer, type_choice, type_range, type_size, type_device, type_cpu, type_cuda, type_start,
    type_camera, type_level_counts;

enum {
    OPTION_ALIAS = 1,        /* another spelling of an option: accepted everywhere, never printed as a value */
    OPTION_LINE_ONLY = 2,    /* not a configuration key */
    OPTION_ZERO_IS_NONE = 4, /* 0 means "not given" */
    OPTION_ABOVE_MIN = 8,    /* `min` itself is out of range */
    OPTION_MAYBE_VALUE = 16, /* --name or --name=VALUE, never --name VALUE */
    OPTION_OUTPUT = 32,      /* a file that is written for each input */
    OPTION_TEXT = 64,        /* ... and is readable text */
    OPTION_MAIN = 128,       /* ... and is the command's data */
    OPTION_PLY = 256,        /* ... or a .ply whatever its name is */
    OPTION_AUTO = 1024,      /* a real number, or "auto", which is the default and PCGPU_AUTO */
    OPTION_GROWS = 512       /* ... but one for all inputs, written while they are read and gone on with by --resume */
};

typedef struct option_row {
    const char *name; /* long, without the dashes */
    char letter;      /* short, or 0 */
    unsigned commands, flags;
    const option_type *type;
    const char *argument; /* its placeholder, or NULL for a flag */
    size_t field;         /* offset in options */
    double min, max;      /* of numbers */
    const char *const *choices;
    const char *help; /* sentences; the default is added to them */
} option_row;

/* The i-th option, or NULL past the last. */
const option_row *option_at(int i);
int option_index(const option_row *option);
/* A command that knows the option. */
const command_info *command_of_option(const option_row *option);
/* The option with this long name that one of `commands` knows, or NULL. */
const option_row *option_by_name(const char *name, unsigned commands);
const option_row *option_by_letter(char letter, unsigned commands);

/* Defaults of a command, those of operations from the library. */
void options_init(option_values *options, const command_info *command);
void options_free(option_values *options);
/* A copy of `text` that lives as long as `options`; NULL when memory is exhausted. */
const char *options_keep(option_values *options, const char *text);

/* Sets one value; on failure `why` is a sentence without the option's name. */
bool option_set(option_values *options, const option_row *option, const char *text, value_source source, char *why,
                size_t why_size);
/* False, and nothing printed, where there is no value, or none in effect. */
bool option_print(const option_values *options, const option_row *option, FILE *out);
void option_leave_out(option_values *options, const char *name, const command_info *command); /* unless it was given */
bool option_given(const option_values *options, const char *name, const command_info *command);

/* Whether the command line has it; a configuration may serve several commands. */
bool option_given_here(const option_values *options, const char *name, const command_info *command);
/* The file of --init; NULL without one and for --init auto. */
const char *options_init_file(const option_values *options);

/* options_check.c: checks options against each other, with the command's own hook. On failure `why` is a sentence. */
bool options_check(option_values *options, const command_info *command, char *why, size_t why_size);
/* Two options that exclude each other and are both given: the one from the later source stays, two from the same source
 * are an error. Returns the one to leave out, or NULL. */
const char *options_later_wins(const option_values *options, const command_info *command, const char *a, const char *b,
                               char *why, size_t why_size);

/* ---- camera.c: the camera of depth images ---- */

/* Whether a camera that was given is complete. On failure `why` is a sentence. */
bool camera_check(const pcgpu_camera *camera, char *why, size_t why_size);

/* ---- levels.c: iterations of levels ---- */

/* The default of the library. */
void level_counts_init(level_counts *counts);

/* ---- parse.c: the command line ---- */

typedef struct assignment {
    const option_row *option;
    const char *value; /* NULL for a flag */
} assignment;

typedef struct command_line {
    assignment *assignments;
    int assignment_count;
    const char **inputs;
    int input_count;
} command_line;

/* The index of the command's name: the first word that is no option and not the value of one; -1 without one. */
int command_line_find_command(int count, char **words);
/* Splits the words of a command without its name. Borrows them. On failure `why` is a sentence. */
bool command_line_parse(const command_info *command, int count, char **words, command_line *line, char *why,
                        size_t why_size);
void command_line_free(command_line *line);
/* Sets the values given on the line. */
bool command_line_apply(const command_line *line, option_values *options, char *why, size_t why_size);

/* The closest of the names that `next` yields (NULL ends), or NULL when none is close or two are equally so. */
const char *closest_name(const char *wrong, const char *(*next)(int i, unsigned commands), unsigned commands);
/* Iterators for closest_name; `commands` limits options. */
const char *next_option_name(int i, unsigned commands);
const char *next_command_name(int i, unsigned commands);

/* ---- help.c, completion.c: texts made from the table ---- */

void help_program(FILE *out);
void help_command(const command_info *command, FILE *out);
void help_man_options(const command_info *command, FILE *out); /* roff */
/* Prints the completions for a shell; false for an unknown shell. */
bool completion_print(const char *shell, FILE *out);
/* The configuration in effect as YAML, which --config reads back. */
bool options_print_yaml(const option_values *options, const command_info *command, FILE *out);

#endif
