/* info of what is no cloud and has arrays: a NumPy archive, as of voxelize, and a binary glTF model (.glb). */
#include "document.h"
#include "info.h"

#include <stdlib.h>
#include <string.h>

static void print_head(const job *j, const char *what) {
    if (!session_json_is_stdout(j->session)) {
        print_shown(j->session->out, j->names[0]);
        fprintf(j->session->out, ": %s\n", what);
    }
}

int info_arrays(job *j, const char *arrays) {
    json_text(&j->result, "kind", "arrays");
    json_text(&j->result, "arrays", arrays);
    print_head(j, "arrays of NumPy");
    if (!session_json_is_stdout(j->session)) {
        fprintf(j->session->out, "  %s\n", arrays);
    }
    return EXIT_DONE;
}

/* ---- .glb -------------------------------------------------------------------------------------------------------- */

/* The node at the end of a path of keys and indices, such as "meshes 0 primitives", from `node`; or NULL. */
static const yaml_node_t *walk(const document *d, const yaml_node_t *node, const char *path) {
    char word[32];
    for (int n = 0; node && sscanf(path, "%31s%n", word, &n) == 1; path += n) {
        const yaml_node_item_t *items = node->type == YAML_SEQUENCE_NODE ? node->data.sequence.items.start : NULL;
        const long at = strtol(word, NULL, 10);
        node = !items                                                  ? document_value(d, node, word)
               : at >= 0 && at < node->data.sequence.items.top - items ? document_node(d, items[at])
                                                                       : NULL;
    }
    return node;
}

static long long count_of(const document *d, const yaml_node_t *accessor) {
    const yaml_node_t *node = walk(d, document_root(d), "accessors");
    const char *index = accessor ? document_text(accessor) : NULL;
    node = index ? walk(d, walk(d, node, index), "count") : NULL;
    return node && document_text(node) ? strtoll(document_text(node), NULL, 10) : 0;
}

static void add_model(job *j, const document *d) {
    const yaml_node_t *root = document_root(d), *mesh, *primitive;
    long long vertices = 0, triangles = 0;
    char text[96], at[32];
    int meshes = 0;
    for (; snprintf(at, sizeof at, "meshes %d", meshes), mesh = walk(d, root, at); meshes++) {
        for (int i = 0; snprintf(at, sizeof at, "primitives %d", i), primitive = walk(d, mesh, at); i++) {
            vertices += count_of(d, walk(d, primitive, "attributes POSITION"));
            triangles += count_of(d, walk(d, primitive, "indices")) / 3;
        }
    }
    snprintf(text, sizeof text, "glTF 2.0, %d %s, %lld vertices, %lld triangles", meshes,
             meshes == 1 ? "mesh" : "meshes", vertices, triangles);
    json_text(&j->result, "kind", "model");
    json_integer(&j->result, "meshes", meshes);
    json_integer(&j->result, "vertices", vertices);
    json_integer(&j->result, "triangles", triangles);
    print_head(j, text);
}

/* glTF 2.0: 12 bytes, then a chunk of 8 and the text of the scene as JSON. */
int info_model(job *j, FILE *stream) {
    uint32_t head[5] = {0};
    char *text = NULL;
    document d;
    reason why;
    if (fread(head, 1, sizeof head, stream) != sizeof head || head[4] != 0x4e4f534a || head[3] > DOCUMENT_SIZE) {
        return report_error(j->names[0], "is a damaged or very large glTF model; export it again");
    }
    text = heap_zeroed(1, head[3] + 1);
    bool good = fread(text, 1, head[3], stream) == head[3];
    good = good ? document_parse(&d, j->names[0], text, head[3], &why) : refuse(&why, "%s: is cut short", j->names[0]);
    if (good) {
        add_model(j, &d);
        document_close(&d);
    }
    free(text);
    return good ? EXIT_DONE : report_error(NULL, "%s", why.text);
}
