/* Hostile input without a fuzzing engine: every seed, every truncation of it, and seeded random mutations.
 *   mutate PARSER COUNT      runs COUNT mutations of each seed of a parser
 *   mutate COMMAND COUNT     runs COUNT mutations of each seed as an input of a command (check_command.c)
 *   mutate --write FOLDER    writes the seeds as FOLDER/TARGET/FORMAT-NAME, a corpus for libFuzzer */
#include "../support/random.h"
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Each ends with a bar. */
enum { WORDS = 36 };
static const char inserted[] =
    "99999999999999999|-1|0| |\n|\r\n|nan|1e999|element|property list uchar int a\n|65536|x|\xff\xff\xff\xff|"
    "4294967295|2147483648|<i8|>u2|(1,)|\n- |: |{|]| &a | *a |\n_BASE_CONFIG_: config.yaml\n|"
    "\nDATA_CONFIG:\n  |\nvoxel_size: 1e-3\n|\n_base_ = ['config.py']\n|dict(a=|\\u00e9|[{|]}|"
    "\"a\": [[], {}], |, *|'|\\\n|";

/* The i-th word; its length. */
static size_t word_at(uint64_t i, const char **word) {
    for (*word = inserted; i > 0; i--) {
        *word = strchr(*word, '|') + 1;
    }
    return strcspn(*word, "|");
}

/* Changes, removes, repeats or inserts; words that matter to headers are among the insertions. */
static size_t mutate(uint8_t *data, size_t size, size_t capacity, test_random *state) {
    size_t at = size ? test_bits(state) % size : 0;
    size_t n = 1 + test_bits(state) % 16;
    switch (test_bits(state) % 6) {
    case 0:
        if (size) {
            data[at] ^= (uint8_t)(1u << test_bits(state) % 8);
        }
        return size;
    case 1:
        if (size) {
            data[at] = (uint8_t)test_bits(state);
        }
        return size;
    case 2:
        n = n < size - at ? n : size - at;
        memmove(data + at, data + at + n, size - at - n);
        return size - n;
    case 3: return at;
    case 4:
        n = n < size - at ? n : size - at;
        n = n < capacity - size ? n : capacity - size;
        memmove(data + at + n, data + at, size - at);
        return size + n;
    default: {
        const char *word;
        n = word_at(test_bits(state) % WORDS, &word);
        n = n < capacity - size ? n : capacity - size;
        memmove(data + at + n, data + at, size - at);
        memcpy(data + at, word, n);
        return size + n;
    }
    }
}

/* LAZ is read where LASzip is installed; elsewhere its header and its errors are checked. Not all is read in pieces. */
static int is_optional(const char *parser) {
    return fuzz_has_word("laz pieces", parser);
}

static size_t mutated(const fuzz_seed *seed, uint8_t data[2 * sizeof seed->data], test_random *state) {
    size_t size = seed->size;
    memcpy(data, seed->data, size);
    for (uint64_t k = test_bits(state) % 4 + 1; k > 0; k--) {
        size = mutate(data, size, 2 * sizeof seed->data, state);
    }
    return size;
}

static void run_seed(const char *parser, const fuzz_seed *seed, long count, long *valid, long *runs) {
    test_random state = {1};
    const int good = fuzz_check(parser, seed->data, seed->size);
    if (!good && !is_optional(parser) && !strstr(seed->name, "lz4")) {
        fprintf(stderr, "seed %s/%s is not a valid file\n", seed->format, seed->name);
        abort();
    }
    for (size_t n = 0; n < seed->size; n++) {
        *valid += fuzz_check(parser, seed->data, n);
    }
    for (long i = 0; i < count; i++) {
        uint8_t data[2 * sizeof seed->data];
        size_t size = mutated(seed, data, &state);
        *valid += fuzz_check(parser, data, size);
    }
    *runs += count + (long)seed->size + 1;
    *valid += good;
}

/* Some truncations and COUNT mutations of a seed, in each set of words of the command that reads such a file. */
static void run_command(const char *command, const fuzz_seed *seed, long count, long *valid, long *runs) {
    for (int set = fuzz_first_set(command, 0); set >= 0; set = fuzz_first_set(command, set + 1)) {
        test_random state = {(uint64_t)set};
        for (long i = 0; fuzz_set_reads(set, seed->format) && i < count + 2; i++) {
            uint8_t data[2 * sizeof seed->data];
            size_t size = i == 0 ? seed->size : i == 1 ? seed->size / 2 : mutated(seed, data, &state);
            *valid += fuzz_check_command(set, i < 2 ? seed->data : data, size);
            ++*runs;
        }
    }
}

/* The bytes of a seed, after the one that chooses the words of a command (-1: none). */
static bool write_seed(const char *folder, const char *target, int words, const fuzz_seed *seed) {
    char path[4096], number[16] = "";
    snprintf(path, sizeof path, "%s/%s", folder, target);
    mkdir(path, 0777);
    if (words >= 0) {
        snprintf(number, sizeof number, "%d-", words);
    }
    snprintf(path, sizeof path, "%s/%s/%s%s-%s", folder, target, number, seed->format, seed->name);
    FILE *f = fopen(path, "wb");
    const bool good = f && (words < 0 || putc(words, f) == words) && fwrite(seed->data, 1, seed->size, f) == seed->size;
    if (!f || fclose(f) != 0 || !good) {
        perror(path);
        return false;
    }
    return true;
}

static bool write_seeds_of(const char *folder, const char *target) {
    const bool command = fuzz_first_set(target, 0) >= 0;
    fuzz_seed seed;
    bool good = true;
    for (int i = 0; good && fuzz_make_seed(i, &seed); i++) {
        int words = 0;
        for (int set = fuzz_first_set(target, 0); set >= 0 && good; set = fuzz_first_set(target, set + 1), words++) {
            good = !fuzz_set_reads(set, seed.format) || write_seed(folder, target, words, &seed);
        }
        good = good && (command || !fuzz_takes_seed(target, seed.format) || write_seed(folder, target, -1, &seed));
    }
    return good;
}

static int write_seeds(const char *folder) {
    bool good = true;
    mkdir(folder, 0777);
    for (int i = 0; good && fuzz_target_at(i); i++) {
        good = write_seeds_of(folder, fuzz_target_at(i));
    }
    return good ? 0 : 1;
}

int main(int argc, char **argv) {
    long valid = 0;
    long runs = 0;
    fuzz_seed seed;
    if (argc != 3) {
        fprintf(stderr, "usage: mutate PARSER|COMMAND COUNT | mutate --write FOLDER\n");
        return 2;
    }
    if (strcmp(argv[1], "--write") == 0) {
        return write_seeds(argv[2]);
    }
    for (int i = 0; fuzz_make_seed(i, &seed); i++) {
        if (fuzz_first_set(argv[1], 0) >= 0) {
            run_command(argv[1], &seed, strtol(argv[2], NULL, 10), &valid, &runs);
        } else if (fuzz_takes_seed(argv[1], seed.format)) {
            run_seed(argv[1], &seed, strtol(argv[2], NULL, 10), &valid, &runs);
        }
    }
    printf("%s: %ld inputs, %ld of them valid\n", argv[1], runs, valid);
    return runs > 0 && valid == 0 && is_optional(argv[1]) ? 77 : runs > 0 && valid > 0 && valid < runs ? 0 : 1;
}
