/* Cameras in files: by content. */
#ifndef CAMERA_FILE_H
#define CAMERA_FILE_H

#include "options.h"

/* Reads fx, fy, cx, cy, and width and height where they are there, into a camera:
 *   - JSON with "intrinsic_matrix", 9 numbers by columns, as PinholeCameraIntrinsic and
 *     PinholeCameraTrajectory (the first one) of Open3D; or with fx, fy, cx (or ppx), cy (or ppy);
 *   - calib.txt of KITTI: the line P2:, else P0:, of 12 numbers;
 *   - YAML of ROS (camera_info) and OpenCV: camera_matrix {rows, cols, data}, image_width, image_height; its
 *     distortion_coefficients must be zero;
 *   - text with a 3x3 matrix, or a 4x4 one, row by row.
 * On failure `why` has the name of the file. `format`, which may be NULL: what it is. */
bool camera_file_read(const char *path, pcgpu_camera *camera, const char **format, reason *why);
/* Whether a text that begins with these bytes, which end with a zero byte, is one of them. */
bool camera_file_is(const char *head, size_t size);

/* Whether the value of --camera begins with the name of a file, which `word` gets. */
enum { CAMERA_WORD = 1024 };
bool camera_names_file(const char *text, char word[CAMERA_WORD]);

#endif
