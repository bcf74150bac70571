/* info of the labels of a scan of SemanticKITTI. */
#include "info.h"
#include "semantic.h"

#include <stdlib.h>

enum { CLASSES = 1 << 16 };

static const char *name_of(int class) {
    const pc_label *label = pc_label_of((float)class);
    return label ? label->name : "unknown";
}

static void print_json(json *out, int64_t points, const int64_t *counts) {
    json_text(out, "kind", "labels");
    json_integer(out, "points", points);
    json_key(out, "classes");
    fputc('[', out->out);
    for (int class = 0, n = 0; class < CLASSES; class ++) {
        if (counts[class] > 0) {
            fputs(n++ ? ", " : "", out->out);
            json_open(out, NULL);
            json_integer(out, "class", class);
            json_text(out, "name", name_of(class));
            json_integer(out, "points", counts[class]);
            json_close(out);
        }
    }
    fputc(']', out->out);
}

static void print_text(const job *j, int64_t points, const int64_t *counts) {
    FILE *out = j->session->out;
    print_shown(out, j->names[0]);
    fprintf(out, ": labels of SemanticKITTI, %lld point%s\n", (long long)points, points == 1 ? "" : "s");
    for (int class = 0; class < CLASSES; class ++) {
        if (counts[class] > 0) {
            fprintf(out, "  class %5d %-20s %10lld points, %5.2f %%\n", class, name_of(class), (long long)counts[class],
                    100.0 * (double)counts[class] / (double)points);
        }
    }
}

int info_labels(job *j, FILE *stream) {
    int64_t *counts = heap_zeroed(CLASSES, sizeof *counts), points = 0;
    unsigned char label[4];
    size_t n;
    for (; (n = fread(label, 1, sizeof label, stream)) == sizeof label; points++) {
        counts[label[0] | label[1] << 8]++;
    }
    int code = EXIT_DONE;
    if (n > 0 || ferror(stream)) {
        code = report_error(j->names[0], "%lld bytes are not whole labels of 4 bytes; copy the file again",
                            (long long)(4 * points) + (long long)n);
    } else {
        print_json(&j->result, points, counts);
        if (!session_json_is_stdout(j->session)) {
            print_text(j, points, counts);
        }
    }
    free(counts);
    return code;
}
