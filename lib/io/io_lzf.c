/* LZF (Lehmann, liblzf), the compression of binary .pcd: literal runs, and copies from at most 8 KiB back. */
#include "io.h"

#include <string.h>

bool pc_lzf_expand(const unsigned char *in, size_t in_size, unsigned char *out, size_t out_size) {
    size_t i = 0;
    size_t o = 0;
    while (i < in_size) {
        size_t control = in[i++];
        if (control < 32) {
            size_t n = control + 1;
            if (n > in_size - i || n > out_size - o) {
                return false;
            }
            memcpy(out + o, in + i, n);
            i += n;
            o += n;
            continue;
        }
        size_t n = (control >> 5) + 2;
        if (n == 9) {
            if (i == in_size) {
                return false;
            }
            n += in[i++];
        }
        if (i == in_size) {
            return false;
        }
        size_t back = ((control & 31) << 8 | in[i++]) + 1;
        if (back > o || n > out_size - o) {
            return false;
        }
        for (; n > 0; n--, o++) {
            out[o] = out[o - back]; /* byte by byte: the run may overlap itself */
        }
    }
    return o == out_size;
}
