/* What the commands share. A session is one run of the program. A job is one input (two for register) with its outputs:
 * open, read, process, write, commit, report. */
#ifndef JOB_H
#define JOB_H

#include "error.h"
#include "files.h"
#include "heap.h"
#include "inputs.h"
#include "options.h"
#include "pairs.h"
#include "report.h"
#include "text.h"

_Static_assert((int)EXIT_DONE == (int)PCGPU_OK, "exit codes travel by PC_TRY, too");

typedef struct session {
    const command_info *command;
    option_values *options;
    const char **inputs;
    int input_count;
    char **colors;              /* with --color: the colour image of each input, see colors.h */
    input_list list;            /* it owns the inputs, or */
    pair_list pairs;            /* of --pairs; it owns the inputs */
    struct sweep_table *sweeps; /* of --sweeps */
    pcgpu_context *context;
    int shard;                       /* of --shard, from 1; 0: none */
    int at_once;                     /* jobs that share the memory; 0: one */
    bool device_failed, device_lost; /* set by job_code: a job may do on another GPU; no job may do on this one */
    const char *name;                /* of the current input, for messages of the library */
    output json;                     /* stream NULL without --json */
    struct json_lines *before;       /* the lines of an earlier run in its file, or NULL */
    FILE *out;                       /* what commands print on standard output */
    FILE *lines;                     /* a file with a line for each job, or NULL */
} session;

enum { JOB_CLOUDS = 2, JOB_OUTPUTS = 8 };

typedef struct job_output {
    const option_row *option;
    output file;
} job_output;

typedef struct job {
    session *session;
    int count; /* inputs that the job reads; 0 = the command reads all inputs of the session */
    const char *inputs[JOB_CLOUDS], *names[JOB_CLOUDS];
    const pcgpu_format_info *input_format[JOB_CLOUDS]; /* of the inputs that were read */
    bool projective;                                   /* the inputs are depth images for projective association */
    pcgpu_depth images[JOB_CLOUDS];
    pcgpu_cloud clouds[JOB_CLOUDS];
    pcgpu_depth_counts depth[JOB_CLOUDS]; /* of depth images, else 0 */
    const pcgpu_format_info *format;      /* of --output; NULL without one */
    job_output outputs[JOB_OUTPUTS];
    int output_count;
    int64_t line;   /* of the pair in --pairs, else 0 */
    bool in_pieces; /* the command reads the input itself */
    bool shares;    /* the job uses the outputs of another job of the batch */
    double begin, read_seconds, write_seconds;
    /* Set by the command: */
    pcgpu_run run;
    int64_t points_out;   /* -1 = not a cloud */
    const char *unit;     /* of points_out, NULL = points */
    double transform[16]; /* of a pair in --pairs */
    json result;          /* members of "result", into `members` */
    text_stream members;
    char error[REPORT_ERROR_SIZE]; /* the "error" of --json when the job failed */
} job;

/* Opens a job of `count` inputs of the session; 0: of all, which the command reads itself, with the name of
 * the first. Process it if the exit code is EXIT_DONE, and close it in any case. Open and close return an exit code and
 * print errors. With --batch the job of the first input has the outputs of all. */
int job_open(job *job, session *session, const char **inputs, int count);
int job_close(job *job, int code);
/* Of several open jobs: continues with this one, which gets the errors that are printed. */
void job_switch(job *job);

/* What all inputs go into, one after the other. The functions return exit codes and print errors. */
typedef struct job_sink {
    size_t size; /* of the state, which begins as zeros */
    /* Takes input i: of a batch the open job jobs[i]; else jobs[0] is the one job, which has read the cloud. */
    int (*add)(void *sink, job *jobs, int i);
    int (*write)(void *sink, job *job); /* to the outputs, which this job has */
    void (*free)(void *sink);
} job_sink;

/* Reads one input of a job of all inputs, which becomes the input that messages name. Returns an exit code. */
int job_read_input(job *j, const char *input);
/* The cloud that a job has read; the caller frees it. */
pcgpu_cloud job_take_cloud(job *j);
/* Opens the job of a scan that was read elsewhere: takes over the cloud. The job has no outputs. */
void job_open_scan(job *j, session *session, const char *input, pcgpu_cloud *cloud, pcgpu_depth *image,
                   const pcgpu_depth_counts *depth, double read_seconds);

/* job_report.c: writes an option and its value, or null, as a member. */
void json_option(json *out, const option_values *values, const option_row *option);
/* Begins an object of --json with the command and the version; false without --json. */
bool session_json_open(const session *session, json *out);
void session_json_close(json *out); /* and ends its line */
/* Prints the object of --json, where `outputs` has the members of "outputs"; prints the messages. */
void job_print_json(const job *job, int code, const char *outputs);
void job_report(const job *job);

/* Checks the inputs and outputs against each other. */
bool session_check(session *session, reason *why);
/* session_inputs.c: takes the inputs and checks their number and formats; then, when all jobs have been checked, leaves
 * out those of other shards. */
bool session_check_inputs(session *session, reason *why);
/* Reports that outputs of many inputs exist in folders, before any work; false when there are none or they may. */
bool session_refuse_existing(const session *session);
bool session_take_shard(session *session, reason *why);
/* Before the first output: no output replaces what the run reads. Finds the colours, too. False after an error. */
bool session_protect_inputs(session *session);
/* The options in effect for some of the inputs, by the hook of the command. */
void session_effective_options(const session *session, const char *const *inputs, int count, option_values *effect);
/* session_formats.c: checks that the format of an input is known, and that a depth image has a camera. */
bool session_check_format(const session *session, const char *path, reason *why);
/* The rule for existing outputs: --force, --skip-existing or neither. */
existing_file session_existing(const session *session);
/* With --skip-existing: whether all outputs of job i exist; they appeared complete. The transform of a pair is known,
 * too. */
bool session_skips(const session *session, int i);
void session_print_skipped(const session *session, int i); /* its object of --json */
/* The number of jobs of the run, and the input that names the outputs of job i. */
int session_job_count(const session *session);
/* "batch" or "merge", the option that puts all inputs into one output, or NULL. */
const char *session_joins(const session *session);
const char *session_input_of(const session *session, int i);
/* session_outputs.c: checks that the outputs in `folder` have different names. */
bool session_check_names(const session *session, const option_row *option, const char *folder, reason *why);
/* --dry-run: checks every input and output and prints the configuration. */
int session_dry_run(session *session);
/* The settings of a context with the options of the run. */
void session_settings(session *session, pcgpu_settings *settings);
/* session_json.c: opens the file of --json, or only checks it; commits it, and returns an exit code. */
bool session_json_begin(session *session, bool dry);
int session_json_end(session *session, int code);
/* The line that --json has of job i from an earlier run, or NULL. */
const char *session_line_before(const session *session, int i);
/* The transform of pair i in it; false when the pair was not done. */
bool session_pair_before(const session *session, int i, double T[16]);
/* Opens the library's context and the --json file; returns an exit code. */
int session_open(session *session);
int session_close(session *session, int code);

/* Opens job i of the run, processes it and closes it. */
int job_run(session *session, int i);
/* The same for one job with all inputs. */
int job_run_all(session *session, int (*process)(job *job));
/* pipeline.c: all jobs, several at the same time. */
int session_run_each(session *session);
/* sink.c: what the command does with its inputs. */
int session_run(session *session);
/* Whether the objects of --json go to standard output. */
bool session_json_is_stdout(const session *session);
/* EXIT_DONE, or EXIT_FAILED, of which the error of the library is printed with this name. */
int exit_code_of(pcgpu_status status, const char *name, const pcgpu_context *context);

/* The number of jobs that may be open at the same time, at most `most`. */
int session_jobs_at_once(const session *session, int most);

/* session_formats.c: whether a picture is a page of HTML, or a .png, by --output-format or its name. */
bool output_is_page(const option_values *options, const option_row *option, const char *path);
bool output_is_picture(const option_values *options, const option_row *option, const char *path);

/* The path of an output; NULL without one, and for an option that is no output of the command. */
const char *output_path(const session *session, const option_row *option);
/* The output of one input: `path`, or in a folder a name derived from the input. malloc'd. */
char *output_name(const session *session, const option_row *option, const char *path, const char *input);
bool output_is_text(const session *session, const option_row *option);
/* The format of an input before it is read: as given, from the name, bin for streams, else from the content; or
 * NULL. */
const pcgpu_format_info *input_format(const session *session, const char *path);
/* The format of a file by its first bytes, or as given; NULL: `why`. */
const pcgpu_format_info *found_format(const session *session, const char *path, reason *why);
/* How inputs are read: by --format, --fields and --camera, with --force. */
pcgpu_read_options session_read_options(const session *session);
/* --fields, or 0 for the library's choice by the name. */
int session_fields(const session *session);
/* The format of --output for `path`; never NULL after session_check. */
const pcgpu_format_info *output_format(const session *session, const char *path, const char *input);

/* The name of the format in which a cloud goes to --output: a stream without a name gets bin only where that loses
 * nothing, which is with four columns and no offset, else ply. */
const char *cloud_format(const job *job, const pcgpu_cloud *cloud);
/* What is read for the output: `complete` of pcgpu_read_options. A format without names of columns gets the usual
 * columns. */
unsigned complete_of(const job *job);

/* The open stream of an output by the name of its option, or NULL without that output. */
FILE *job_stream(const job *job, const char *name);
/* The same for messages: the name of its file. */
const char *job_output_name(const job *job, const char *option);
/* Reads input i as a cloud or, for projective association, an image; for COMMAND_READS_ITSELF. `file`: what it says
 * besides its points, or NULL. The second returns an exit code and prints errors. */
pcgpu_status job_try_cloud(job *job, int i, FILE *stream, pcgpu_file_info *file);
int job_read_cloud(job *job, int i, FILE *stream, pcgpu_file_info *file);
/* The exit code of a library call, whose error is printed with the name of the input. */
int job_code(job *job, pcgpu_status status);
/* The records at (0,0,0) of a cloud that are kept because no option says so, else 0; and the warning about them. */
long long job_kept_at_origin(const job *job, const pcgpu_cloud *cloud);
void job_warn_origin(const job *job);
/* Write an output, if there is one. Return an exit code. */
int job_write_cloud(job *job, const pcgpu_cloud *cloud);
int job_write_array(job *job, const char *name, const pcgpu_array *array);
/* `format` NULL: from the name of the output, else bin. */
int job_write_arrays(job *job, const char *name, const char *format, const pcgpu_array *arrays, int count);

#endif
