/* The options of every command. One table defines the command-line parser, --help, the OPTIONS sections of the man
 * pages, the shell completions, the keys of configuration files, --dry-run and the parameters in --json. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "pcgpu.h"
#include "reason.h"

/* The commands that have an option. */
enum {
    FOR_SAMPLE = 1,
    FOR_VOXELIZE = 2,
    FOR_REGISTER = 4,
    FOR_ODOMETRY = 8,
    FOR_FUSE = 16,
    FOR_EVALUATE = 32,
    FOR_INFO = 64,
    FOR_CONVERT = 128,
    FOR_VIEW = 256,
    FOR_FILTER = 512,
    FOR_REGISTRATION = FOR_REGISTER | FOR_ODOMETRY,
    FOR_MODEL = FOR_ODOMETRY | FOR_FUSE, /* depth images into a model */
    FOR_TRAJECTORY = FOR_ODOMETRY | FOR_EVALUATE,
    FOR_POINTS =
        FOR_SAMPLE | FOR_VOXELIZE | FOR_FILTER | FOR_REGISTRATION | FOR_CONVERT, /* commands that read clouds */
    FOR_CLOUDS = FOR_POINTS | FOR_FUSE,                                          /* commands that write clouds */
    FOR_INPUTS = FOR_CLOUDS | FOR_INFO,
    FOR_LABELS = FOR_SAMPLE | FOR_VOXELIZE | FOR_FILTER | FOR_ODOMETRY | FOR_CONVERT | FOR_VIEW,
    FOR_SWEEPS = FOR_SAMPLE | FOR_VOXELIZE,
    FOR_DEVICES = FOR_INPUTS & ~FOR_CONVERT, /* commands with a choice of the back end */
    FOR_RECORDINGS = FOR_CLOUDS | FOR_VIEW,  /* commands that take the clouds of recordings */
    FOR_FOLDERS = FOR_INPUTS | FOR_VIEW,     /* commands that take any number of inputs */
    FOR_READERS = FOR_INPUTS | FOR_VIEW,
    FOR_ALL = FOR_READERS | FOR_EVALUATE
};

/* Properties of a command. */
enum {
    COMMAND_READS_STDIN = 1,       /* without an input */
    COMMAND_PRINTS_DATA = 2,       /* writes its data to standard output without --output */
    COMMAND_WRITES_ARRAYS = 4,     /* its data may be arrays; in a folder they are .npz */
    COMMAND_DROPS_ORIGIN = 8,      /* drops records at the origin by default */
    COMMAND_MAY_NOT_CONVERGE = 16, /* has exit status 4 */
    COMMAND_READS_TEXT = 32,       /* its inputs are not clouds */
    COMMAND_READS_ITSELF = 64,     /* it reads the inputs of a job, which may be of any kind */
    COMMAND_KEEPS_COLUMNS = 128,   /* its cloud has the columns of the input */
    COMMAND_SHOWS_COLUMNS = 256,   /* it describes them */
    COMMAND_WITHOUT_INPUT = 512    /* it has an answer without inputs and options, too */
};

typedef struct option_values option_values;
struct option_row;
struct session;
struct job;

/* Rows of options. ROWS makes it of an array. */
typedef struct option_table {
    const struct option_row *rows;
    int count;
} option_table;
#define ROWS(array)                                                                                                    \
    { (array), sizeof(array) / sizeof(array)[0] }

/* A command: its name, its own options and its hooks for each stage of a run. A hook may be NULL. A hook that returns
 * false has set `why`. */
typedef struct command_info {
    const char *name;
    unsigned bit;          /* FOR_... */
    const char *arguments; /* of the usage line */
    const char *summary;   /* one line */
    const char
        *examples[2]; /* for --help, without "pcgpu NAME"; the first ones of some commands are those of pcgpu --help */
    const char *main_options; /* names of the options that most people need, for -h */
    unsigned traits;          /* COMMAND_... */
    option_table options;     /* those that no other command has */
    /* Sets the defaults of its own values that are not 0. */
    void (*init)(option_values *options);
    int inputs_per_job; /* 2: a source and a target; 0: one job has all inputs */
    /* Checks the options against each other; sets values that depend on others. */
    bool (*resolve_options)(option_values *options, const struct command_info *command, reason *why);
    /* Knows a folder by its files, before it stands for the files in it: may set the inputs and options not given. */
    void (*find_inputs)(struct session *session);
    /* Checks the number of inputs; may set the inputs. */
    bool (*take_inputs)(struct session *session, reason *why);
    /* Checks the options against the inputs. */
    bool (*check_inputs)(const struct session *session, reason *why);
    /* Whether the inputs of a job are depth images that stay images and do not become clouds. */
    bool (*takes_images)(const struct session *session, const char *const *inputs, int count);
    /* Whether the command reads this input itself, in pieces. */
    bool (*reads_pieces)(const struct session *session, const char *input);
    /* The options in effect for these inputs, with their defaults, for --dry-run and --json. The session owns the
     * strings. Without inputs: the options of a list of pairs, where each pair has its own defaults. */
    void (*effective_options)(const struct session *session, const char *const *inputs, int count,
                              option_values *effect);
    /* Processes a job whose clouds are read and whose outputs are open. Returns an exit code and prints errors. */
    int (*process)(struct job *job);
    const struct job_sink *sink; /* of --batch and --merge, and of a command whose jobs have all inputs */
    /* In place of session_run, which it may call. Returns an exit code. */
    int (*run)(struct session *session);
    void (*after_job)(const struct job *job, int code); /* a job of the run, whose files are closed */
} command_info;

/* cmd/commands.c: the commands of the program, ended by NULL; main gives them to commands_use. */
extern const command_info *const all_commands[];
void commands_use(const command_info *const *commands);
/* The i-th command, or NULL past the last. */
const command_info *command_at(int i);
const command_info *command_by_name(const char *name);

/* How correspondences are found; AUTO: by projection for two depth images. */
typedef enum association { ASSOCIATION_AUTO, ASSOCIATION_PROJECTIVE, ASSOCIATION_NEAREST } association;
typedef enum transform_format { TRANSFORM_MATRIX, TRANSFORM_KITTI, TRANSFORM_TUM } transform_format;

enum { OPTIONS_MAX = 192 };

/* --device. The GPUs are in the order of the option. */
enum { MOST_GPUS = 16 };
typedef struct device_option {
    pcgpu_device device;
    bool all; /* GPUs of this machine, else: */
    int count, gpus[MOST_GPUS];
} device_option;

/* Iterations of levels, coarse to fine. */
typedef struct level_counts {
    int count;
    int values[PCGPU_DEPTH_LEVELS];
} level_counts;

/* The source of a value; a later source wins. NOT_IN_EFFECT: a default that does not apply to these inputs. */
typedef enum value_source { FROM_DEFAULT, FROM_FILE, FROM_COMMAND_LINE, NOT_IN_EFFECT } value_source;

typedef enum picture_format { PICTURE_AUTO, PICTURE_PNG, PICTURE_HTML } picture_format;

/* Storage for the values that one command alone has: a struct NAME_values of its folder, which NAME_own gives once
 * OWN_VALUES(NAME) has defined it. OWN_AT is the place of one of its members, in place of AT. */
typedef union own_values {
    long double aligned;
    unsigned char bytes[1024];
} own_values;
#define OWN_AT(type, member) (offsetof(option_values, own) + offsetof(type, member))
#define OWN_VALUES(name)                                                                                               \
    _Static_assert(sizeof(name##_values) <= sizeof(own_values), "there is storage for them");                          \
    static inline name##_values *name##_own(const option_values *options) {                                            \
        return (name##_values *)(uintptr_t)&options->own;                                                              \
    }

/* The values in effect. Strings belong to argv or to `kept`. */
struct option_values {
    const char *output, *format, *output_format, *config, *json, *color;
    bool force, drop_origin, verbose, quiet, dry_run, help, version;
    int fields;
    int64_t memory; /* bytes; 0: what is available */
    device_option device;
    int threads;
    pcgpu_camera camera;                          /* of depth images, when it is given */
    const char *camera_file, *target_camera_file; /* where the cameras come from, or NULL */

    bool batch, merge;
    int64_t sweeps; /* 0: none */
    const char *nuscenes, *scans, *labels;

    const char *files_from, *shard, *topic;
    double from_time, to_time;
    int64_t every;
    bool recursive, follow, zero_ends, skip_existing;
    int progress; /* a progress_mode */
    int compression;

    pcgpu_register_params registration;
    association association;
    level_counts level_iterations;
    double bilateral;
    pcgpu_camera target_camera; /* of the target, when it differs */
    const char *init, *pairs;
    pcgpu_volume_params volume;
    const char *poses, *mesh, *columns;

    const char *trajectory, *timestamps, *ground_truth, *calibration;
    double rate, time_offset, time_tolerance;
    int align; /* 1: sim3 */
    const char *plot;
    picture_format picture_format;

    own_values own;

    unsigned char source[OPTIONS_MAX]; /* value_source of each row of the table */
    char **kept;
    size_t kept_count;
};

struct option_row;

/* How a value is parsed and printed. */
typedef struct option_type {
    enum { VALUE_BOOLEAN, VALUE_NUMBER, VALUE_TEXT } kind; /* the type of the value in a configuration file */
    bool list;                                             /* a list of numbers is accepted, too */
    bool mapping;                                          /* a mapping, too: each pair is parsed as NAME=VALUE */
    /* Parses `text` into *field. On failure `why` names the error and the remedy. */
    bool (*parse)(const struct option_row *option, const char *text, void *field, reason *why);
    /* Writes the value as JSON, which is also YAML. Returns false, and writes nothing, when there is no value. NULL: of
     * another spelling of an option, which has the value. */
    bool (*print)(const struct option_row *option, const void *field, FILE *out);
} option_type;

extern const option_type type_flag, type_no_flag, type_int, type_int64, type_seed, type_real, type_float, type_path,
    type_reader, type_writer, type_choice, type_range, type_size, type_device, type_cpu, type_cuda, type_start,
    type_camera, type_level_counts, type_pixels, type_point, type_bytes, type_set;

enum {
    OPTION_ALIAS = 1,        /* another spelling of an option; accepted everywhere, never printed as a value */
    OPTION_LINE_ONLY = 2,    /* not a configuration key */
    OPTION_ZERO_IS_NONE = 4, /* 0 means "not given" */
    OPTION_ABOVE_MIN = 8,    /* `min` itself is out of range */
    OPTION_MAYBE_VALUE = 16, /* --name or --name=VALUE, never --name VALUE */
    OPTION_OUTPUT = 32,      /* an output file per input */
    OPTION_TEXT = 64,        /* an output of readable text */
    OPTION_MAIN = 128,       /* the output with the data of the command */
    OPTION_PLY = 256,        /* a mesh: .ply, unless its name says another format of one */
    OPTION_GROWS = 512,      /* one output for all inputs, written input by input */
    OPTION_MANY = 2048,      /* about many inputs */
    OPTION_PICTURE = 4096,   /* a .png, */
    OPTION_PAGE = 8192,      /* or a .html */
    OPTION_AUTO = 1024,      /* a real number, or "auto", which is the default and PCGPU_AUTO */
    OPTION_INPUT = 16384     /* a file, list or folder that the run reads: no output replaces it */
};
/* In the flags of a row: the commands whose line has it as a key of --set, and not as an option of its own. */
#define SET_IN(commands) ((unsigned)(commands) << 16)
#define OPTION_SET       SET_IN(0xFFFF) /* all commands that have it */

typedef struct option_row {
    const char *name;         /* long, without the dashes */
    char letter;              /* short, or 0 */
    unsigned commands, flags; /* commands: 0 in the table of a command, which is that of the row */
    const option_type *type;
    const char *argument; /* its placeholder, or NULL for a flag */
    size_t field;         /* offset in options */
    double min, max;      /* of numbers */
    const char *const *choices;
    const char *help; /* sentences; the help adds the default */
} option_row;

#define AT(member) offsetof(option_values, member)
#define METRES     1e9 /* far above any cloud, without overflow in float32 squares */
#define FAR        1e6 /* the limit of registration */

/* The i-th option: of the commands in their order, then the shared ones (options.c); NULL past the last. */
const option_row *option_at(int i);
int option_index(const option_row *option);
/* The first command with the option. */
const command_info *command_of_option(const option_row *option);
/* The option of one of `commands` with this long name, or NULL. */
const option_row *option_by_name(const char *name, unsigned commands);
const option_row *option_by_letter(char letter, unsigned commands);
/* The same by its key, whose words may have _ or - between them. */
const option_row *option_by_key(const char *key, unsigned commands);
/* Whether the line of a command has the option as a key of --set. */
bool option_is_key(const option_row *option, const command_info *command);
/* What stands before its name on the line: "--set " or "--". */
const char *option_prefix(const option_row *option, const command_info *command);

/* Sets the defaults of a command; those of operations come from the library. */
void options_init(option_values *options, const command_info *command);
void options_free(option_values *options);
/* A copy of `text` that lives as long as `options`. */
const char *options_keep(option_values *options, const char *text);

/* Sets one value. On failure `why` does not contain the name of the option. */
bool option_set(option_values *options, const option_row *option, const char *text, value_source source, reason *why);
/* Prints the value in effect. Without one it prints nothing and returns false. */
bool option_print(const option_values *options, const option_row *option, FILE *out);
/* The key of an option in configurations and in --json: its name with _ for -. */
enum { OPTION_KEY = 64 };
const char *option_key(const option_row *option, char key[OPTION_KEY]);
/* Marks the value as NOT_IN_EFFECT, unless it was given. */
void option_leave_out(option_values *options, const char *name, const command_info *command);
/* Its value was found in the inputs, and counts as given by a file. */
void option_found(option_values *options, const char *name, const command_info *command);
bool option_given(const option_values *options, const char *name, const command_info *command);

/* Whether the command line has the option; a configuration may serve several commands. */
bool option_given_here(const option_values *options, const char *name, const command_info *command);
/* Checks that each axis of a range x0 y0 z0 x1 y1 z1 is not empty; `name` is that of the option. */
bool range_check(const double range[6], const char *name, reason *why);

/* The file of --init; NULL without one and for --init auto and global. */
const char *options_init_file(const option_values *options);
/* The file, list or folder that an OPTION_INPUT of the command names, or NULL. */
const char *option_input(const option_values *options, const option_row *option, const command_info *command);

/* options_check.c: checks the options against each other, including the hook of the command. */
bool options_check(option_values *options, const command_info *command, reason *why);
/* For two given options that exclude each other: the option from the later source wins; two options from one source are
 * an error. Returns the option to leave out, or NULL. */
const char *options_later_wins(const option_values *options, const command_info *command, const char *a, const char *b,
                               reason *why);

/* ---- camera.c: the camera of depth images ---- */

/* Whether a given camera is complete. */
bool camera_check(const pcgpu_camera *camera, reason *why);

/* ---- levels.c: iterations of levels ---- */

/* The default of the library. */
void level_counts_init(level_counts *counts, const command_info *command);

/* ---- parse.c: the command line ---- */

typedef struct assignment {
    const option_row *option;
    bool by_letter;     /* -x, not --name */
    const char *value;  /* NULL for a flag */
    const char *prefix; /* option_prefix */
} assignment;

typedef struct command_line {
    assignment *assignments;
    int assignment_count;
    const char **inputs;
    int input_count;
} command_line;

/* The index of the command's name: the first word that is neither an option nor the value of one; or -1. */
int command_line_find_command(int count, char **words);
/* Splits the words of a command, without its name. `line` points to the words. */
bool command_line_parse(const command_info *command, int count, char **words, command_line *line, reason *why);
void command_line_free(command_line *line);
/* Sets the values given on the line. */
bool command_line_apply(const command_line *line, option_values *options, reason *why);

/* ---- suggest.c ---- */

/* The option that was meant by an unknown name, or NULL. Never one with the opposite meaning. */
const char *closest_option(const char *wrong, unsigned commands);
/* The closest name of the iterator `next` (NULL ends it), or NULL when no name is close, or two are equally close. */
const char *closest_name(const char *wrong, const char *(*next)(int i, unsigned commands), unsigned commands);
/* Iterators for closest_name; `commands` limits options. */
const char *next_option_name(int i, unsigned commands);
const char *next_command_name(int i, unsigned commands);

/* ---- help.c, completion.c: texts from the table ---- */

void help_program(FILE *out);
void help_command(const command_info *command, FILE *out);
/* On a terminal: shows the manual page beside the program, where `man` does not look, and does not return. Else, and
 * without a page or `man`, it does nothing. */
void help_manual(const char *command);
void help_short(const command_info *command, FILE *out);       /* at most 40 lines of 80 columns: -h */
void help_man_options(const command_info *command, FILE *out); /* roff */
/* Prints the script of a shell; false for an unknown shell. */
bool completion_print(const char *shell, FILE *out);
/* What the scripts ask for: what fits after the words of a line, whose last one is not complete. `configs` prints the
 * names of configurations. */
void completion_words(int count, char **words, void (*configs)(FILE *out), FILE *out);
/* Prints the configuration in effect as YAML, which --config can read. */
void options_print_yaml(const option_values *options, const command_info *command, FILE *out);

#endif
