/* Pages: pcgpu view -o x.html. */
#include "page.h"
#include "view_run.h"

#include <string.h>

bool view_is_page(const job *j) {
    const option_values *o = j->session->options;
    return job_stream(j, "output") && output_is_page(o, option_by_name("output", FOR_VIEW), o->output);
}

bool view_check_page(const option_values *o, const command_info *command, reason *why) {
    const bool page = o->output && output_is_page(o, option_by_name("output", FOR_VIEW), o->output);
    if (o->picture_format != PICTURE_AUTO && !o->output) {
        return refuse(why, "--output-format is for a file, and there is no output; give -o");
    }
    if (page && option_given(o, "size", command)) {
        return refuse(why, "--size is for a picture, and a page has the size of its window; leave it out");
    }
    return !page || view_own(o)->from != PC_FROM_SENSOR ||
           refuse(why, "from sensor is a range image, which a page does not have; give another --from, or a .png");
}

static void add_result(job *j, const pc_scene *scene, const pc_page_counts *counts, const char *color) {
    json_integer(&j->result, "layers", scene->count);
    json_integer(&j->result, "points", counts->points);
    json_integer(&j->result, "points_shown", counts->shown);
    view_add_color(&j->result, scene, color);
}

int view_write_page(job *j, pc_scene *scene) {
    const session *s = j->session;
    const view_values *o = view_own(s->options);
    const char *color = o->color ? o->color : pc_scene_default_paint(scene), *name = job_output_name(j, "output");
    const pc_page page = {
        .from = view_from(s, scene), .point_size = o->point_size, .color = color, .map = (pc_colormap)o->colormap};
    pc_page_counts counts;
    progress_begin(j->names[0], "writing");
    const double begin = seconds_now();
    pcgpu_status status = pc_scene_paint(s->context, scene, color, (pc_colormap)o->colormap);
    status =
        status == PCGPU_OK ? pc_page_write(s->context, job_stream(j, "output"), name, scene, &page, &counts) : status;
    j->write_seconds += seconds_now() - begin;
    if (status == PCGPU_ERROR_IO) { /* of the output */
        return report_failure(name, s->context);
    }
    PC_TRY(job_code(j, status));
    add_result(j, scene, &counts, color);
    return EXIT_DONE;
}
