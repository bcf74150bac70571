/* What the commands share: a session is one run of the program, a job is one input (two for register) with its outputs:
 * open, read, process, write, commit, report. */
#ifndef JOB_H
#define JOB_H

#include "files.h"
#include "options.h"
#include "pairs.h"
#include "report.h"
#include "text.h"

/* The exit codes scripts rely on. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_NO_CUDA = 3, EXIT_NOT_CONVERGED = 4 };

typedef struct session {
    const command_info *command;
    option_values *options;
    const char **inputs;
    int input_count;
    pair_list pairs; /* of --pairs, whose inputs they then are */
    pcgpu_context *context;
    const char *name; /* of the current input, for messages of the library */
    output json;      /* stream NULL without --json */
} session;

enum { JOB_CLOUDS = 2, JOB_OUTPUTS = 8 };

typedef struct job_output {
    const option_row *option;
    output file;
} job_output;

typedef struct job {
    session *session;
    int count; /* inputs that are read for it; 0 = it reads all of the session by itself */
    const char *inputs[JOB_CLOUDS], *names[JOB_CLOUDS];
    const pcgpu_format_info *input_format[JOB_CLOUDS]; /* of those that were read */
    bool projective; /* depth images that are registered as such: in place of clouds */
    pcgpu_depth images[JOB_CLOUDS];
    pcgpu_cloud clouds[JOB_CLOUDS];
    bool lent[JOB_CLOUDS];                /* clouds or images that are another job's by now */
    pcgpu_depth_counts depth[JOB_CLOUDS]; /* of those that were depth images, else 0 */
    const pcgpu_format_info *format;      /* of --output; NULL without one */
    job_output outputs[JOB_OUTPUTS];
    int output_count;
    int64_t line; /* of --pairs, else 0 */
    bool shares;  /* the outputs are those of another job of the batch */
    double begin, read_seconds, write_seconds;
    /* Set by the command: */
    pcgpu_run run;
    int64_t points_out; /* -1 = not a cloud */
    const char *unit;   /* what comes out, NULL = points */
    json result;        /* members of "result", into `members` */
    text_stream members;
    char error[1024]; /* what is said of it in --json when it failed */
} job;

/* A job by hand: begin it, process it when that was EXIT_DONE, and end it in any case. Several may have begun at a
 * time; job_resume then comes first when one is taken up again. Begin and end return an exit code and have said why.
 * With --batch the job of the first input has the outputs of all. */
int job_begin(job *job, session *session, const char **inputs, int count);
/* A job of all inputs, which it reads by itself, `names` being the first. */
int job_begin_all(job *job, session *session);
void job_resume(job *job);
int job_end(job *job, int code);
/* Keeps the last error said as this job's, for --json. Begin and end do it, too. */
void job_note_error(job *job);

/* A scan of a sequence, which was read elsewhere: takes over the cloud. The job has no outputs of its own. */
int job_begin_scan(job *j, session *session, const char *input, pcgpu_cloud *cloud, pcgpu_depth *image,
                   const pcgpu_depth_counts *depth, double read_seconds);

/* A pair of --pairs. Clouds that the job `before`, not yet ended, has read are taken over from it; NULL is accepted. */
int job_begin_pair(job *j, session *session, int pair, job *before);
/* Keeps the clouds of a job that ends for one that begins later; job_free_clouds releases those left. */
void job_keep(job *kept, job *from);
void job_free_clouds(job *job);
/* job_report.c: the object of --json, whose "outputs" are given as members, and messages. */
void job_print_json(const job *job, int code, const char *outputs);
void job_report(const job *job);

/* Processes a job whose clouds are read and whose outputs are open; returns an exit code and has said why. */
typedef int (*job_function)(job *job);

/* Usage checks of inputs and outputs against each other. On failure `why` is a sentence. */
bool session_check(session *session, char *why, size_t why_size);
/* The options in effect for some of the inputs: those of the command's hook. */
void session_effect(const session *session, const char *const *inputs, int count, option_values *effect);
/* session_formats.c: that the format of an input is known, and the camera of a depth image. */
bool session_check_format(const session *session, const char *path, char *why, size_t why_size);
/* Jobs of the run, and the input that names the outputs of one. */
int session_job_count(const session *session);
const char *session_input_of(const session *session, int i);
/* session_names.c: each job has a name of its own in `folder`. */
bool session_check_names(const session *session, const option_row *option, const char *folder, char *why,
                         size_t why_size);
/* --dry-run: looks at every input and output and prints the configuration. */
int session_dry_run(session *session);
/* Opens the library's context and the --json file; returns an exit code. */
int session_open(session *session);
int session_close(session *session, int code);

/* Runs one job over all inputs (register), or one job an input. */
int session_run_together(session *session, job_function process);
int session_run_each(session *session, job_function process);

/* How many jobs may have begun at a time, `most` or fewer. */
int session_jobs_at_once(const session *session, int most);

/* Where an output goes: NULL = not wanted. */
const char *output_path(const session *session, const option_row *option);
/* The file of one input: `path`, or in a folder a name made from the input's. malloc'd; NULL without memory. */
char *output_name(const session *session, const option_row *option, const char *path, const char *input);
bool output_is_text(const session *session, const option_row *option);
/* What is expected before an input is read: as given, from the name, bin for streams, else from the content; NULL when
 * none says a format. */
const pcgpu_format_info *input_format(const session *session, const char *path);
/* Format of --output going to `path`; never NULL after session_check. */
const pcgpu_format_info *output_format(const session *session, const char *path, const char *input);

/* The open stream of an output by its option's name, or NULL when it is not wanted. */
FILE *job_stream(job *job, const char *name);
/* The exit code of a library call that failed, after its sentence was printed with the input's name. */
int job_failed(job *job, pcgpu_status status);
/* Write to an output if it is wanted. Return an exit code. */
int job_write_cloud(job *job, const pcgpu_cloud *cloud);
int job_write_array(job *job, const char *name, const pcgpu_array *array);
/* `format` NULL: from the output's name, bin when that says nothing. */
int job_write_arrays(job *job, const char *name, const char *format, const pcgpu_array *arrays, int count);

void version_print(bool verbose);

#endif
