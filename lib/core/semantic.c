/* The classes of SemanticKITTI with their names and colours, by config/semantic-kitti.yaml of semantic-kitti-api
 * (J. Behley et al., ICCV 2019, MIT), whose color_map is blue, green, red. The names of LAS are those of
 * the ASPRS's LAS specification 1.4, R15. */
#include "semantic.h"

#include <stddef.h>

const pc_label pc_labels[PC_LABELS] = {
    {0, 0x000000, "unlabeled"},
    {1, 0xff0000, "outlier"},
    {10, 0x6496f5, "car"},
    {11, 0x64e6f5, "bicycle"},
    {13, 0x6450fa, "bus"},
    {15, 0x1e3c96, "motorcycle"},
    {16, 0x0000ff, "on-rails"},
    {18, 0x501eb4, "truck"},
    {20, 0x0000ff, "other-vehicle"},
    {30, 0xff1e1e, "person"},
    {31, 0xff28c8, "bicyclist"},
    {32, 0x961e5a, "motorcyclist"},
    {40, 0xff00ff, "road"},
    {44, 0xff96ff, "parking"},
    {48, 0x4b004b, "sidewalk"},
    {49, 0xaf004b, "other-ground"},
    {50, 0xffc800, "building"},
    {51, 0xff7832, "fence"},
    {52, 0xff9600, "other-structure"},
    {60, 0x96ffaa, "lane-marking"},
    {70, 0x00af00, "vegetation"},
    {71, 0x873c00, "trunk"},
    {72, 0x96f050, "terrain"},
    {80, 0xfff096, "pole"},
    {81, 0xff0000, "traffic-sign"},
    {99, 0x32ffff, "other-object"},
    {252, 0x6496f5, "moving-car"},
    {253, 0xff28c8, "moving-bicyclist"},
    {254, 0xff1e1e, "moving-person"},
    {255, 0x961e5a, "moving-motorcyclist"},
    {256, 0x0000ff, "moving-on-rails"},
    {257, 0x6450fa, "moving-bus"},
    {258, 0x501eb4, "moving-truck"},
    {259, 0x0000ff, "moving-other-vehicle"},
};

const pc_label *pc_label_of(float value) {
    int low = 0, high = PC_LABELS - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if ((float)pc_labels[middle].value < value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (float)pc_labels[low].value == value ? &pc_labels[low] : NULL;
}

/* clang-format off */
static const char *const las[] = {
    "never classified", "unclassified", "ground", "low vegetation", "medium vegetation", "high vegetation", "building",
    "noise", "model key point", "water", "rail", "road", "overlap", "wire guard", "wire conductor",
    "transmission tower", "wire connector", "bridge", "high noise", "overhead structure", "ignored ground", "snow",
    "temporal exclusion"};
/* clang-format on */

const char *pc_las_class(int value) {
    return value >= 0 && value < (int)(sizeof las / sizeof *las) ? las[value] : NULL;
}
