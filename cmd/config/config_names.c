/* Configurations that come with the program, by name: --config pillar. */
#include "config.h"
#include "document_open.h"

#include <string.h>
#include <sys/stat.h>

void config_print_names(FILE *out) {
    for (const config_text *c = config_texts; c->name; c++) {
        fprintf(out, "%s\n", c->name);
    }
}

/* A folder is none. */
static bool is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* "pillar.yaml" counts, too. */
const char *config_built_in(const char *given) {
    const size_t n = strcspn(given, ".");
    if (is_file(given)) {
        return NULL;
    }
    for (const config_text *c = config_texts; c->name; c++) {
        if (strlen(c->name) == n && strncmp(c->name, given, n) == 0 && (!given[n] || strcmp(given + n, ".yaml") == 0)) {
            return c->text;
        }
    }
    return NULL;
}

bool config_open(document *d, const char *given, reason *why) {
    const char *text = config_built_in(given);
    if (text) {
        return document_parse(d, given, text, strlen(text), why);
    }
    const char *rest = given + strcspn(given, "/.");
    if ((*rest && strcmp(rest, ".yaml") != 0) || strcmp(given, "-") == 0 || is_file(given)) {
        return document_open(d, given, why);
    }
    refuse(why, "%s: neither a file nor the name of a configuration; give a file, or one of", given);
    for (const config_text *c = config_texts; c->name; c++) {
        refuse_more(why, "%s %s", c > config_texts ? "," : "", c->name);
    }
    return false;
}
