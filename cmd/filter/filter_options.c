/* pcgpu filter: the command, and checks of its options. */
#include "filter_run.h"
#include "numbers.h"

#include <math.h>
#include <string.h>

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* As many numbers as the placeholder has names; those in brackets may be left out. */
static bool parse_list(const option_row *o, const char *text, void *field, reason *why) {
    number_list list;
    int least = 1, most = 1;
    for (const char *p = o->argument; *p; p++) {
        most += *p == ',';
        least += *p == ',' && p[-1] != '[';
    }
    list.count = numbers_parse(text, list.values, most);
    bool good = list.count >= least;
    for (int i = 0; i < list.count; i++) {
        good = good && list.values[i] >= o->min && list.values[i] <= o->max;
    }
    if (!good) {
        return most > least
                   ? refuse(why, "\"%s\" is not %s; give %d to %d numbers from %g on", text, o->argument, least, most,
                            o->min)
                   : refuse(why, "\"%s\" is not %s; give %d numbers from %g on", text, o->argument, most, o->min);
    }
    *(number_list *)field = list;
    return true;
}

static bool print_list(const option_row *o, const void *field, FILE *out) {
    const number_list *list = field;
    char number[NUMBER_SIZE];
    (void)o;
    for (int i = 0; i < list->count; i++) {
        fprintf(out, "%s%s", i ? ", " : "[", number_text(list->values[i], false, number));
    }
    fputs(list->count ? "]" : "", out);
    return list->count > 0;
}

static const option_type type_numbers = {VALUE_TEXT, true, false, parse_list, print_list};

/* Those from `begin` to `end` - 1. */
static bool are_whole(const number_list *list, int begin, int end) {
    bool whole = true;
    for (int i = begin; i < end && i < list->count; i++) {
        whole = whole && floor(list->values[i]) == list->values[i] && list->values[i] <= INT32_MAX;
    }
    return whole;
}

/* ---- --keep and --remove ----------------------------------------------------------------------------------------- */

static bool check_selections(const filter_values *own, reason *why) {
    selection keep = {.found = -1}, remove = {.found = -1};
    if ((own->keep && !selection_parse(own->keep, &keep, why)) ||
        (own->remove && !selection_parse(own->remove, &remove, why))) {
        return false;
    }
    const bool by_class = keep.found >= 0 || remove.found >= 0;
    const bool noise = keep.found == CLASS_NOISE || remove.found == CLASS_NOISE;
    const bool ground = keep.found == CLASS_GROUND || remove.found == CLASS_GROUND;
    if (noise && own->outliers.count == 0 && own->sparse.count == 0) {
        return refuse(why, "noise is what --outliers and --radius find; give one of them");
    }
    if (ground && !own->ground) {
        return refuse(why, "ground is what --ground finds; give it");
    }
    return !by_class || !own->label ||
           refuse(why, "--label keeps all points; leave it out, or --keep and --remove of a class");
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static bool resolve_options(option_values *options, const command_info *command, reason *why) {
    const filter_values *own = filter_own(options);
    const bool measures =
        own->ground || own->outliers.count || own->sparse.count || own->clusters.count || own->normals;
    const char *wrong = NULL;
    if (!measures && !own->keep && !own->remove && !options->drop_origin) {
        wrong =
            "filter what? give --outliers K,S, --radius R,N, --ground, --clusters D, --normals K, --keep or --remove";
    } else if (!are_whole(&own->outliers, 0, 1)) {
        wrong = "--outliers: K is a whole number of neighbours; give K,S such as 20,2";
    } else if (!are_whole(&own->sparse, 1, 2)) {
        wrong = "--radius: N is a whole number of points; give R,N such as 0.5,6";
    } else if (!are_whole(&own->clusters, 1, 3)) {
        wrong = "--clusters: MIN and MAX are whole numbers of points; give D,MIN,MAX such as 0.5,10,5000";
    } else if (own->cluster_list && own->clusters.count == 0) {
        wrong = "--cluster-list lists what --clusters finds; give it, or leave --cluster-list out";
    } else if (own->label && !own->outliers.count && !own->sparse.count && !own->ground && !own->clusters.count) {
        wrong = "--label adds the class of what is found; give --outliers, --radius, --ground or --clusters";
    } else if (own->core > 1 && own->clusters.count == 0) {
        wrong = "--set core-points is for --clusters; give it, or leave core-points out";
    } else if (own->normal_radius > 0 && own->normals == 0) {
        wrong = "--set normal-radius is for --normals; give it, or leave normal-radius out";
    } else if ((own->viewpoint.count || options->poses) && own->normals == 0) {
        wrong = "--set viewpoint and poses are for --normals; give it, or leave them out";
    } else if (own->viewpoint.count && options->poses) {
        wrong = "--set viewpoint and poses are two places of the sensor; give one of them";
    }
    (void)command;
    return wrong ? refuse(why, "%s", wrong) : check_selections(own, why);
}

static const option_row rows[] = {
    {"outliers", 0, 0, 0, &type_numbers, "K,S", OWN_AT(filter_values, outliers), 0, METRES, NULL,
     "Remove points whose mean distance to their K nearest others, 1 to 127, is above the average of all points by "
     "more than S standard deviations (statistical outlier removal), such as 20,2."},
    {"radius", 0, 0, 0, &type_numbers, "R,N", OWN_AT(filter_values, sparse), 0, METRES, NULL,
     "Remove points with fewer than N others within R metres, such as 0.5,6. After --outliers."},
    {"ground", 0, 0, 0, &type_flag, NULL, OWN_AT(filter_values, ground), 0, 0, NULL,
     "Remove the ground: roads, slopes and floors of a scan of a vehicle or robot, or of a tile from an aircraft; z "
     "points up. After --radius."},
    {"clusters", 0, 0, 0, &type_numbers, "D[,MIN[,MAX]]", OWN_AT(filter_values, clusters), 0, METRES, NULL,
     "Add a column cluster: points nearer than D metres to each other have one id, from 0 on; remove points of "
     "clusters with fewer than MIN or more than MAX points. After --ground."},
    {"normals", 0, 0, OPTION_ZERO_IS_NONE, &type_int, "K", OWN_AT(filter_values, normals), 3, 128, NULL,
     "Add columns nx ny nz, the normal of the K nearest points, towards the sensor at the origin of the file, and "
     "curvature, 0 to 1/3. After --clusters."},
    {"label", 0, 0, 0, &type_flag, NULL, OWN_AT(filter_values, label), 0, 0, NULL,
     "Keep all points and add columns: classification, as in LAS (1 none, 2 ground, 7 noise, 0 not looked at), and "
     "cluster, -1 = none."},
    {"keep", 0, 0, 0, &type_path, "CLASSES", OWN_AT(filter_values, keep), 0, 0, NULL,
     "COLUMN=V,...: only points with these values in the column, such as classification=2,9, before all else; ground "
     "or noise: what --ground, or --outliers and --radius find, in place of the rest."},
    {"remove", 0, 0, 0, &type_path, "CLASSES", OWN_AT(filter_values, remove), 0, 0, NULL,
     "COLUMN=V,...: leave these points out, before all else."},
    {"cluster-list", 0, 0, OPTION_OUTPUT | OPTION_TEXT, &type_path, "FILE", OWN_AT(filter_values, cluster_list), 0, 0,
     NULL,
     "Write a table of the clusters, CSV, or an array of JSON objects for a name that ends in .json: id, points, least "
     "and largest x y z in metres."},
    {"core-points", 0, 0, OPTION_SET, &type_int64, "N", OWN_AT(filter_values, core), 1, 2147483647, NULL,
     "Only points with N points within D, themselves included, connect others (DBSCAN)."},
    {"normal-radius", 0, 0, OPTION_ZERO_IS_NONE | OPTION_SET, &type_real, "R", OWN_AT(filter_values, normal_radius), 0,
     METRES, NULL, "The K nearest points of a normal are within R metres."},
    {"viewpoint", 0, 0, OPTION_SET, &type_numbers, "X,Y,Z", OWN_AT(filter_values, viewpoint), -METRES, METRES, NULL,
     "Normals point to this place of the sensor, in metres."},
    {"poses", 0, 0, OPTION_INPUT | OPTION_SET, &type_path, "FILE", AT(poses), 0, 0, NULL,
     "Normals point to the sensor of these poses, in the coordinates of the points and in the formats of pcgpu fuse: "
     "one per input, in their order; or poses with times for points with a column of times."},
};

static void init(option_values *options) {
    filter_own(options)->core = 1;
}

const command_info filter_command = {
    .name = "filter",
    .bit = FOR_FILTER,
    .arguments = "[OPTION]... [INPUT]...",
    .summary = "remove outliers and ground; find clusters and normals; select points by their class",
    .examples = {"--outliers 20,2 scan.ply -o clean.ply", "--ground --clusters 0.5,10 scan.bin -o objects.ply"},
    .main_options = "outliers radius ground clusters normals label keep output device",
    .traits = COMMAND_READS_STDIN | COMMAND_PRINTS_DATA | COMMAND_KEEPS_COLUMNS,
    .options = ROWS(rows),
    .init = init,
    .inputs_per_job = 1,
    .resolve_options = resolve_options,
    .check_inputs = filter_read_poses,
    .reads_pieces = filter_reads_pieces,
    .process = filter_process};
