/* Any bytes as an input of a command, which runs in this process as from a shell: its exit code is a documented one, an
 * error has a message, no message steers a terminal, and an output exists only when the command succeeded.
 *
 * A set of words of the command has the name of the input in it. */
#include "fuzz.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The program without its main(), and without its signals: libFuzzer finds by its own what takes too long. */
#include "files.h"
int pcgpu_main(int argc, char **argv);
#define main                           pcgpu_main
#define files_catch_signals(continues) ((void)(continues))
#include "main.c" /* cmd/main.c */
#undef files_catch_signals
#undef main

/* "@" with an extension is the input, "@+" the input over the first bytes of b.bin, a cloud of 900 points; p.txt has
 * three poses, d.pgm is a depth image. */
static const char *const sets[] = {
    "sample -m 7 @+.bin -o out.ply --indices out.txt --threads 1",
    "sample --min-distance 0.5 @.xyz -o out.pcd --threads 1",
    "sample --method random -m 400 --pad repeat --batch @+.bin b.bin -o out.npy --threads 1",
    "sample -m 2 --at-most --set memory=1M @.las -o out.las --threads 1",
    "sample -m 9 --set sweeps=2 --set scans=@.list --set poses=p.txt b.bin -o out.ply --threads 1",
    "voxelize --voxel-size 0.5 @+.bin -o out.ply --threads 1",
    "voxelize --range=-9,-9,-9,9,9,9 --voxel-size 1 --max-points 3 --features pillar @.ply -o out.npz --threads 1",
    "voxelize --voxel-size 2 --features nearest --set memory=1M @+.bin -o out.ply --threads 1",
    "voxelize --config @.yaml b.bin -o out.npz --threads 1",
    "voxelize --layout openpcdet --voxel-size 1 --max-points 4 @.pcd -o out.npz --threads 1",
    "filter --outliers 4,1 --radius 1,2 --ground --clusters 0.5,3 --normals 5 --label @+.bin -o out.ply --threads 1",
    "filter --keep ground --ground --remove classification=7 @.las -o out.las --threads 1",
    "register @+.bin b.bin --transform out.txt --json out.json --threads 1",
    "register --method point b.bin @+.bin --transform out.txt --threads 1",
    "register --pairs @.list --transform out.txt --threads 1",
    "register --camera 12,12,8,6 d.pgm @.pgm --transform out.txt --threads 1",
    "odometry --reference previous b.bin @+.bin b.bin --trajectory out.txt --threads 1",
    "odometry --loops b.bin @+.bin @+.bin --trajectory out.txt -o out.ply --set memory=1M --threads 1",
    "odometry --map b.bin @+.bin --trajectory out.txt --threads 1",
    "odometry --map @+.bin b.bin --init t.txt --trajectory out.txt --threads 1",
    "odometry --camera 12,12,8,6 d.pgm @.pgm --trajectory out.txt -o out.ply --threads 1",
    "odometry --camera 12,12,8,6 --loops d.pgm @.pgm d.pgm --trajectory out.txt -o out.ply --threads 1",
    "fuse --camera 12,12,8,6,depth_scale=1 --poses p.txt d.pgm @.pgm @.pgm -o out.ply --threads 1",
    "fuse --camera 12,12,8,6 --poses @.txt d.pgm d.pgm d.pgm --mesh out.glb --threads 1",
    "fuse --camera 12,12,8,6 --poses p.txt --color @.list d.pgm d.pgm d.pgm -o out.ply --threads 1",
    "evaluate @.txt --ground-truth p.txt --plot out.png --json out.json",
    "evaluate p.txt --ground-truth @.txt",
    "convert @.bin -o out.ply",
    "convert --merge @.las b.bin -o out.las",
    "convert --crop=-1,-1,-1,1,1,1 --columns x,y,z @.csv -o out.xyz",
    "convert --transform @.txt b.bin -o out.pcd",
    "view --size 24x24 @.bin -o out.png",
    "view @.ply p.txt -o out.html",
    "info @.bin --json out.json",
    "info @.yaml",
    "info @.txt",
    "info --files-from @.list",
};
enum { SETS = sizeof sets / sizeof sets[0], MAX_WORDS = 32 };

/* The input of a set with this extension, and what its bytes are. */
static const struct {
    const char *extension, *formats;
} kinds[] = {{".bin", "bin content indices gzip"},
             {"+.bin", "bin content"},
             {".ply", "ply mesh"},
             {".xyz", "xyz"},
             {".csv", "xyz"},
             {".las", "las gzip"},
             {".pcd", "pcd npy npz"},
             {".txt", "poses"},
             {".pgm", "pgm"},
             {".png", "png"},
             {".list", "list"},
             {".yaml", "yaml camera"}};

static bool is_of(int set, const char *command) {
    size_t n = strlen(command);
    return strncmp(sets[set], command, n) == 0 && sets[set][n] == ' ';
}

int fuzz_first_set(const char *command, int from) {
    while (from < SETS && !is_of(from, command)) {
        from++;
    }
    return from < SETS ? from : -1;
}

bool fuzz_set_reads(int set, const char *format) {
    const char *extension = strchr(sets[set], '@') + 1;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t n = strlen(kinds[i].extension);
        if (strncmp(extension, kinds[i].extension, n) == 0 && (extension[n] == ' ' || !extension[n])) {
            return fuzz_has_word(kinds[i].formats, format);
        }
    }
    return false;
}

enum { POINTS = 900 };
static float cloud[POINTS][4];

/* A floor and two walls, so that registration gets as far as it can. */
static void write_fixed_files(void) {
    uint32_t state = 1;
    for (int i = 0; i < POINTS; i++) {
        float at[4] = {0, 0, -1.7f, (float)i};
        for (int axis = 0; axis < 2; axis++) {
            state = state * 1664525u + 1013904223u;
            at[(i % 3 + axis) % 3] = (float)(state >> 8) / (1 << 24) * 20 - (i % 3 + axis == 2 ? 2 : 10);
        }
        at[i % 3 == 1 ? 0 : i % 3 == 2 ? 1 : 3] = i % 3 ? 9 : (float)i;
        memcpy(cloud[i], at, sizeof at);
    }
    fuzz_write_file("b.bin", cloud, sizeof cloud);
    static const char poses[] = "1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 1 0 1 0 0 0 0 1 0\n1 0 0 2 0 1 0 0 0 0 1 0\n";
    fuzz_write_file("p.txt", poses, sizeof poses - 1);
    fuzz_write_file("t.txt", poses, 24);
    uint8_t image[15 + 16 * 12 * 2] = "P5 16 12 65535\n";
    for (int i = 0; i < 16 * 12; i++) { /* a corner of a room: 1.5 to 3 m, 2 bytes a pixel, the higher one first */
        const int depth = 3000 - 90 * abs(i % 16 - 9) - 60 * abs(i / 16 - 5);
        image[15 + 2 * i] = (uint8_t)(depth / 256);
        image[16 + 2 * i] = (uint8_t)depth;
    }
    fuzz_write_file("d.pgm", image, sizeof image);
}

/* Standard output and error of the command, as files, and back. A sanitizer goes on reporting where it did. */
void __sanitizer_set_report_fd(void *fd) __attribute__((weak));
static void redirect(int saved[2]) {
    static const char *const names[2] = {"stdout", "stderr"};
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        saved[i] = fcntl(1 + i, F_DUPFD_CLOEXEC, 10);
        int file = open(names[i], O_RDWR | O_CREAT | O_TRUNC, 0600);
        MUST(saved[i] >= 0 && file >= 0 && dup2(file, 1 + i) == 1 + i);
        close(file);
    }
    if (__sanitizer_set_report_fd) {
        __sanitizer_set_report_fd((void *)(intptr_t)saved[1]);
    }
}

static void restore(const int saved[2]) {
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        MUST(dup2(saved[i], 1 + i) == 1 + i);
        close(saved[i]);
    }
    if (__sanitizer_set_report_fd) {
        __sanitizer_set_report_fd((void *)(intptr_t)2);
    }
}

static void check_messages(int code) {
    static char text[1 << 20];
    FILE *stream = fopen("stderr", "rb");
    MUST(stream);
    size_t n = fread(text, 1, sizeof text - 1, stream);
    fclose(stream);
    text[n] = 0;
    MUST(code == 0 || n > 0);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        fuzz_check_printable(line);
    }
}

static bool exists(const char *name) {
    struct stat s;
    return stat(name, &s) == 0;
}

int fuzz_check_command(int set, const uint8_t *data, size_t size) {
    static bool first = true;
    static const char *const outputs[] = {"out",     "out.txt", "out.json", "out.npy", "out.npz", "out.ply",
                                          "out.png", "out.pcd", "out.las",  "out.xyz", "out.glb", "out.html"};
    enum { OUTPUTS = sizeof outputs / sizeof outputs[0] };
    char text[512], input[16], *words[MAX_WORDS + 1];
    int count = 0;
    if (first) {
        MUST(freopen("/dev/null", "rb", stdin)); /* a list may name it */
        write_fixed_files();
        first = false;
    }
    if ((fuzz_set_reads(set, "list") || fuzz_set_reads(set, "yaml")) && memchr(data, '/', size)) {
        return 0; /* such a file could name those of other folders */
    }
    snprintf(text, sizeof text, "pcgpu %s", sets[set]);
    const char *extension = strchr(sets[set], '@') + 1;
    const bool over = *extension == '+';
    snprintf(input, sizeof input, "in%.*s", (int)strcspn(extension + over, " "), extension + over);
    if (over && size < sizeof cloud) {
        static uint8_t whole[sizeof cloud];
        memcpy(whole, cloud, sizeof cloud);
        memcpy(whole, data, size);
        fuzz_write_file(input, whole, sizeof whole);
    } else {
        fuzz_write_file(input, data, size);
    }
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        MUST(count < MAX_WORDS);
        words[count++] = word[0] == '@' ? input : word;
    }
    words[count] = NULL;
    int saved[2];
    redirect(saved);
    const int code = pcgpu_main(count, words);
    restore(saved);
    check_messages(code);
    MUST(code == 0 || code == 1 || code == 2 || code == 3 || code == 4);
    /* What fails writes nothing but its report; of pairs and images the others are done. */
    const bool several = strstr(sets[set], "--pairs") || strncmp(sets[set], "odometry", 8) == 0;
    for (int i = 0; i < OUTPUTS; i++) {
        MUST((code != 1 && code != 2) || several || strcmp(outputs[i], "out.json") == 0 || !exists(outputs[i]));
        unlink(outputs[i]);
    }
    return code == 0;
}

int fuzz_check_words(const char *command, const uint8_t *data, size_t size) {
    int sets_of_command = 0, set = -1;
    for (int i = fuzz_first_set(command, 0); i >= 0; i = fuzz_first_set(command, i + 1)) {
        sets_of_command++;
    }
    for (int k = size > 0 ? data[0] % sets_of_command : -1; k >= 0; k--) {
        set = fuzz_first_set(command, set + 1);
    }
    return set >= 0 && fuzz_check_command(set, data + 1, size - 1);
}
