/* pcgpu register: two depth images by projective association. */
#include "register.h"

#include <string.h>

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

/* Parameters of depth images: options that were given, defaults of their own else. */
pcgpu_register_depth_params register_image_params(const session *s) {
    const option_values *o = s->options;
    const level_counts *counts = &o->level_iterations;
    pcgpu_register_depth_params p;
    pcgpu_register_depth_params_init(&p);
    p.levels = o->registration.levels ? o->registration.levels : counts->count;
    for (int l = 0; l < p.levels && l < PCGPU_DEPTH_LEVELS; l++) {
        /* coarser levels than there are numbers do as much as the first one */
        const int at = counts->count - p.levels + l;
        p.level_iterations[l] = counts->values[at > 0 ? at : 0];
    }
    p.bilateral = o->bilateral;
    p.symmetric = o->registration.symmetric;
    p.max_distance = given(s, "max-distance") ? o->registration.max_distance : p.max_distance;
    p.translation_epsilon =
        given(s, "translation-epsilon") ? o->registration.translation_epsilon : p.translation_epsilon;
    p.rotation_epsilon = given(s, "rotation-epsilon") ? o->registration.rotation_epsilon : p.rotation_epsilon;
    p.min_score = given(s, "min-score") ? o->registration.min_score : p.min_score;
    return p;
}

static bool check_levels(const session *s, char *why, size_t why_size) {
    const int levels = s->options->registration.levels, counts = s->options->level_iterations.count;
    if (levels > PCGPU_DEPTH_LEVELS) {
        snprintf(why, why_size, "%d levels of depth images; give 1 to %d", levels, PCGPU_DEPTH_LEVELS);
        return false;
    }
    if (levels > 0 && levels != counts && given(s, "level-iterations")) {
        snprintf(why, why_size, "%d levels and the iterations of %d; leave levels out, or give as many", levels,
                 counts);
        return false;
    }
    return true;
}

bool register_check(const session *s, char *why, size_t why_size) {
    bool any = false;
    for (int i = 0; i + 1 < s->input_count && session_has_pairs(s); i += 2) {
        const bool projective = register_is_projective(s, s->inputs + i, 2);
        any = any || projective;
        if (s->options->association == ASSOCIATION_PROJECTIVE && !projective) {
            const pcgpu_format_info *source = input_format(s, s->inputs[i]);
            snprintf(why, why_size,
                     "%s: not a depth image, and projective association is for two of them; leave "
                     "association out",
                     input_name(s->inputs[source && source->depth ? i + 1 : i]));
            return false;
        }
    }
    if (any && given(s, "method")) {
        snprintf(why, why_size, "method is for association nearest, and projective is given; give one of them");
        return false;
    }
    return !any || check_levels(s, why, why_size);
}

pcgpu_status register_images(const job *j, const double init[16], pcgpu_registration *result) {
    const option_values *o = j->session->options;
    pcgpu_register_depth_params params = register_image_params(j->session);
    memcpy(params.init, init, sizeof params.init);
    return pcgpu_register_depth(j->session->context, &j->images[0], &j->images[1], &o->camera,
                                given(j->session, "target-camera") ? &o->target_camera : NULL, &params, result);
}
