/* Outputs: whole or not at all, never over an input. Messages of refusals go to stderr, which is silent here. */
#include "test_cmd.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

static char folder[] = "/tmp/pcgpu-test-files.XXXXXX";

/* Files that a test is done with. They are kept until the end: the program remembers what it has written by inode,
 * which a file system may use again. */
static char away[][12] = {"away.0", "away.1", "away.2", "away.3", "away.4", "away.5", "away.6", "away.7"};
static size_t kept;

static int enter(void **state) {
    return mkdtemp(folder) && chdir(folder) == 0 && freopen("/dev/null", "w", stderr) ? 0 : -1;
}

static int leave(void **state) {
    while (kept > 0) {
        unlink(away[--kept]);
    }
    return chdir("/") == 0 ? rmdir(folder) : -1;
}

static void put_away(const char *path) {
    assert_true(kept < sizeof away / sizeof away[0]);
    assert_int_equal(rename(path, away[kept++]), 0);
}

static int files_here(void) {
    int n = 0;
    DIR *d = opendir(".");
    for (struct dirent *e; d && (e = readdir(d));) {
        bool other = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || strncmp(e->d_name, "away.", 5) == 0;
        n += !other;
    }
    closedir(d);
    return n;
}

static void put(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void holds(const char *path, const char *text) {
    char got[64] = "";
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(got, 1, sizeof got - 1, f), strlen(text));
    assert_string_equal(got, text);
    fclose(f);
}

static void test_commit_and_discard(void **state) {
    output o;
    assert_true(output_open(&o, "a.txt", false, true));
    assert_int_equal(access("a.txt", F_OK), -1); /* only the temporary file is there */
    assert_int_equal(files_here(), 1);
    fputs("one", o.stream);
    assert_true(output_commit(&o));
    holds("a.txt", "one");
    assert_false(output_open(&o, "a.txt", false, true)); /* exists */
    assert_false(output_check("a.txt", false, true));
    put("b.txt", "old");
    assert_int_equal(chmod("b.txt", 0640), 0);
    assert_true(output_open(&o, "b.txt", true, true));
    fputs("new", o.stream);
    output_discard(&o);
    holds("b.txt", "old");
    assert_int_equal(files_here(), 2);
    assert_true(output_open(&o, "b.txt", true, true));
    fputs("new", o.stream);
    assert_true(output_commit(&o));
    holds("b.txt", "new");
    struct stat st;
    assert_int_equal(stat("b.txt", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640); /* of the file replaced */
    put_away("a.txt");
    put_away("b.txt");
}

static void test_identities(void **state) {
    output o, twice;
    put("in.bin", "input");
    assert_int_equal(symlink("in.bin", "soft.bin"), 0);
    assert_int_equal(link("in.bin", "hard.bin"), 0);
    input_protect("in.bin");
    assert_false(output_open(&o, "in.bin", true, true));
    assert_false(output_open(&o, "soft.bin", true, true));
    assert_false(output_open(&o, "./hard.bin", true, true));
    holds("in.bin", "input");
    assert_true(output_open(&o, "out.bin", true, true));
    assert_false(output_open(&twice, "out.bin", true, true)); /* open already */
    assert_true(output_commit(&o));
    assert_false(output_open(&twice, "out.bin", true, true)); /* written in this run */
    /* A link is followed: it stays, and its file is replaced. */
    put("file.bin", "old");
    assert_int_equal(symlink("file.bin", "link.bin"), 0);
    assert_true(output_open(&o, "link.bin", true, true));
    fputs("new", o.stream);
    assert_true(output_commit(&o));
    holds("file.bin", "new");
    struct stat st;
    assert_int_equal(lstat("link.bin", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    const char *const made[] = {"in.bin", "soft.bin", "hard.bin", "out.bin", "file.bin", "link.bin"};
    for (size_t i = 0; i < 6; i++) {
        put_away(made[i]);
    }
    assert_int_equal(files_here(), 0);
}

static void test_places(void **state) {
    output o;
    assert_false(output_open(&o, "nowhere/x.bin", false, true));
    assert_false(output_check("nowhere/x.bin", false, true));
    assert_false(output_open(&o, "/", true, true));
    assert_true(output_open(&o, "/dev/null", false, false)); /* in place, without -f */
    assert_true(output_commit(&o));
    if (access("/dev/full", W_OK) == 0) {
        assert_true(output_open(&o, "/dev/full", false, false));
        fputs("x", o.stream);
        assert_false(output_commit(&o));
    }
    assert_int_equal(files_here(), 0);
}

static void test_names(void **state) {
    static const struct {
        const char *folder, *input, *path;
    } cases[] = {{"d/", "x/scan.bin", "d/scan.ply"},        {"d", "scan", "d/scan.ply"},
                 {"d/", "n015.pcd.bin", "d/n015.ply"},      {"d/", "a.b.c", "d/a.b.ply"},
                 {"/", ".hidden", "/.hidden.ply"},          {"d/", "-", "d/stdin.ply"},
                 {"d/", ".pcd.bin", "d/.pcd.ply"},          {"d/", "scan.ply.gz", "d/scan.ply"},
                 {"d/", "x/n015.pcd.bin.gz", "d/n015.ply"}, {"d/", "x.gz", "d/x.ply"},
                 {"d/", "x/./y/a.csv.gz", "d/y/a.ply"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *made = path_in_folder(cases[i].folder, cases[i].input, ".ply");
        assert_string_equal(made, cases[i].path);
        free(made);
    }
    assert_true(path_is_folder("nowhere/") && path_is_folder(".") && !path_is_folder("nowhere"));
    assert_true(path_is_stream("-") && path_is_stream("/dev/null") && !path_is_stream("."));
}

UNIT_GROUP(cmd_files, enter, leave, TEST(test_commit_and_discard), TEST(test_identities), TEST(test_places),
           TEST(test_names))
