/* What must hold for any file of a camera: a sentence that names the file, or a camera within its limits; and what
 * looks like one by its first bytes has no other effect. */
#include "fuzz.h"

#include "camera_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int fuzz_check_camera(const uint8_t *data, size_t size) {
    pcgpu_camera camera;
    const char *format = NULL;
    reason why = {""};
    fuzz_write_file("camera.txt", data, size);
    pcgpu_camera_init(&camera);
    char *text = calloc(size + 1, 1);
    MUST(text);
    memcpy(text, data, size);
    const bool looks = camera_file_is(text, size);
    free(text);
    if (!camera_file_read("camera.txt", &camera, &format, &why)) {
        fuzz_check_shown(why.text, "camera.txt: ");
        return 0;
    }
    MUST(looks || memchr(data, '{', size)); /* JSON is known by its keys */
    MUST(format && format[0] && camera_check(&camera, &why));
    MUST(camera.fx > 0 && camera.fy > 0 && isfinite(camera.cx) && isfinite(camera.cy));
    MUST(camera.width >= 0 && camera.width <= PCGPU_DEPTH_SIDE && camera.height >= 0 &&
         camera.height <= PCGPU_DEPTH_SIDE);
    return 1;
}
