/* pcgpu register: two depth images by projective association. */
#include "register.h"

#include <string.h>

bool register_refuse(const session *s, const char *const *names, int count, const char *cause, reason *why) {
    for (int i = 0; i < count; i++) {
        if (option_given_here(s->options, names[i], s->command)) {
            return refuse(why, "%s %s; leave it out", names[i], cause);
        }
    }
    return true;
}

bool register_check_kind(const session *s, bool clouds, bool images, reason *why) {
    static const char *const of_images[] = {"level-iterations", "bilateral"};
    static const char *const of_clouds[] = {"voxel-size", "max-iterations"};
    static const char *const of_icp[] = {"max-distance"};
    const bool ndt = s->options->registration.method == PCGPU_REGISTER_NDT;
    return (images || register_refuse(s, of_images, 2, "is for depth images by projective association", why)) &&
           (clouds || register_refuse(s, of_clouds, 2, "is for clouds, and depth images are given", why)) &&
           (images || !ndt || register_refuse(s, of_icp, 1, "has no effect on method ndt", why));
}

static bool given(const session *s, const char *name) {
    return option_given(s->options, name, s->command);
}

bool register_is_projective(const session *s, const char *const *inputs, int count) {
    bool images = count > 0;
    for (int i = 0; i < count && images; i++) {
        const pcgpu_format_info *format = input_format(s, inputs[i]);
        images = format && format->depth;
    }
    return images && s->options->association != ASSOCIATION_NEAREST &&
           (s->options->association == ASSOCIATION_PROJECTIVE || !given(s, "method"));
}

pcgpu_register_depth_params register_image_params(const session *s) {
    const option_values *o = s->options;
    pcgpu_register_depth_params p;
    pcgpu_register_depth_params_init(&p);
    const level_counts counts = o->level_iterations;
    p.levels = o->registration.levels ? o->registration.levels : counts.count;
    for (int l = 0; l < p.levels && l < PCGPU_DEPTH_LEVELS; l++) {
        /* additional coarse levels have the iterations of the first one */
        const int at = counts.count - p.levels + l;
        p.level_iterations[l] = counts.values[at > 0 ? at : 0];
    }
    p.bilateral = o->bilateral;
    p.max_distance = given(s, "max-distance") ? o->registration.max_distance : p.max_distance;
    p.translation_epsilon =
        given(s, "translation-epsilon") ? o->registration.translation_epsilon : p.translation_epsilon;
    p.rotation_epsilon = given(s, "rotation-epsilon") ? o->registration.rotation_epsilon : p.rotation_epsilon;
    p.min_score = given(s, "min-score") ? o->registration.min_score : p.min_score;
    return p;
}

static bool check_levels(const session *s, reason *why) {
    const int levels = s->options->registration.levels, counts = s->options->level_iterations.count;
    if (levels > PCGPU_DEPTH_LEVELS) {
        return refuse(why, "%d levels of projective association; give 1 to %d", levels, PCGPU_DEPTH_LEVELS);
    }
    if (levels > 0 && levels != counts && given(s, "level-iterations")) {
        return refuse(why, "%d levels and iterations of %d levels; leave levels out, or give equal numbers", levels,
                      counts);
    }
    return true;
}

/* Checks that two inputs fit the association. */
static bool check_pair(const session *s, const char **inputs, bool *projective, reason *why) {
    *projective = register_is_projective(s, inputs, 2);
    if (s->options->association == ASSOCIATION_PROJECTIVE && !*projective) {
        const pcgpu_format_info *source = input_format(s, inputs[0]);
        return refuse(why, "%s: not a depth image, and projective association needs two; leave association out",
                      input_name(inputs[source && source->depth ? 1 : 0]));
    }
    return true;
}

bool register_check_scans(const session *s, int each, reason *why) {
    const option_values *o = s->options;
    const char *wrong = NULL;
    for (int i = 0; i < s->input_count && o->registration.beam_correction != 0; i++) {
        const pcgpu_format_info *format = input_format(s, s->inputs[i]);
        if (format && format->depth) {
            wrong = "--set beam-correction is for the scans of a LiDAR, and a depth image is given; leave it out";
        }
    }
    for (int i = 0;
         i + each <= s->input_count && each > 0 && (o->registration.min_range != 0 || o->registration.keep_carrier);
         i += each) {
        if (!wrong && register_is_projective(s, s->inputs + i, each)) {
            wrong =
                o->registration.keep_carrier
                    ? "--set keep-carrier is for clouds, and depth images are given; leave it out"
                    : "--set min-range is for clouds, and depth images are given; leave it out, or give min_depth of "
                      "their --camera";
        }
    }
    return !wrong || refuse(why, "%s", wrong);
}

bool register_check(const session *s, reason *why) {
    static const char *const of_all[] = {"recursive", "follow", "files-from", "null"};
    const char *wrong = NULL;
    bool any = false, clouds = false;
    for (int i = 0; i + 1 < s->input_count; i += 2) {
        bool projective;
        if (!check_pair(s, s->inputs + i, &projective, why)) {
            return false;
        }
        any = any || projective;
        clouds = clouds || !projective;
    }
    if (any && given(s, "method")) {
        wrong = "--method is for association nearest, and projective is given; give one of them";
    } else if (any && s->options->registration.search == PCGPU_SEARCH_ALWAYS) {
        wrong = "init: a search for a start needs association nearest; give that, or a FILE with the initial transform";
    }
    return (!wrong || refuse(why, "%s", wrong)) && register_refuse(s, of_all, 4, "is for the clouds of --all", why) &&
           register_check_scans(s, 2, why) && (!any || check_levels(s, why)) &&
           register_check_kind(s, clouds, any, why);
}

/* ---- the configuration in effect --------------------------------------------------------------------------------- */

static void leave_out(const session *s, const char *const *names, size_t count, option_values *effect) {
    for (size_t i = 0; i < count; i++) {
        option_leave_out(effect, names[i], s->command);
    }
}

void register_effective_options(const session *s, const char *const *inputs, int count, option_values *effect) {
    const option_values *o = s->options;
    *effect = *o;
    if (count == 0 && o->association != ASSOCIATION_NEAREST && !given(s, "method")) {
        static const char *const own[] = {"method",    "level-iterations",    "max-distance",
                                          "min-score", "translation-epsilon", "rotation-epsilon"};
        leave_out(s, own, sizeof own / sizeof own[0], effect);
    } else if (register_is_projective(s, inputs, count)) {
        static const char *const clouds[] = {"method",    "voxel-size",   "max-iterations",
                                             "min-range", "keep-carrier", "beam-correction"};
        const pcgpu_register_depth_params p = register_image_params(s);
        effect->association = ASSOCIATION_PROJECTIVE;
        effect->level_iterations.count = p.levels;
        memcpy(effect->level_iterations.values, p.level_iterations, sizeof effect->level_iterations.values);
        effect->registration.max_distance = p.max_distance;
        effect->registration.translation_epsilon = p.translation_epsilon;
        effect->registration.rotation_epsilon = p.rotation_epsilon;
        effect->registration.min_score = p.min_score;
        leave_out(s, clouds, sizeof clouds / sizeof clouds[0], effect);
    }
}

/* ---- a job ------------------------------------------------------------------------------------------------------- */

const pcgpu_camera *register_camera(const session *s, int i) {
    return i == 1 && given(s, "target-camera") ? &s->options->target_camera : &s->options->camera;
}

pcgpu_status register_images(const job *j, const double init[16], pcgpu_registration *result) {
    const option_values *o = j->session->options;
    pcgpu_register_depth_params params = register_image_params(j->session);
    memcpy(params.init, init, sizeof params.init);
    return pcgpu_register_depth(j->session->context, &j->images[0], &j->images[1], &o->camera,
                                register_camera(j->session, 1), &params, result);
}
