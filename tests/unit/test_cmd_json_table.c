/* Tables in JSON: values, what is skipped, and places of errors. */
#include "test_cmd.h"

#include "json_table.h"

#include <unistd.h>

static const char path[] = "test_cmd_json_table.tmp";

/* Reads the objects of a text with a string s, a number n and a list l of three; the last result, and their number. */
static json_event read_text(const char *text, json_field members[3], int *objects, reason *why) {
    static json_reader table;
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
    members[0] = (json_field){.key = "s"};
    members[1] = (json_field){.key = "n", .numbers = 1};
    members[2] = (json_field){.key = "l", .numbers = 3};
    assert_true(json_table_open(&table, path, why));
    json_event next;
    for (*objects = 0; (next = json_table_next(&table, members, 3)) == JSON_OBJECT; ++*objects) {
    }
    json_table_close(&table);
    unlink(path);
    return next;
}

static void values(void **state) {
    static json_field m[3];
    reason why = {""};
    int objects;
    assert_int_equal(read_text(" [ ] \n", m, &objects, &why), JSON_END);
    assert_int_equal(objects, 0);
    assert_int_equal(
        read_text("[{\"l\":[1,-2.5e1,0],"
                  "\"x\":{\"s\":\"no\"},\"s\":\"a\\u0041\\u00e9\\ud83d\\ude00\\n\\\"\",\"n\":1532402927647951}]",
                  m, &objects, &why),
        JSON_END);
    assert_int_equal(objects, 1);
    assert_string_equal(m[0].text, "aA\xC3\xA9\xF0\x9F\x98\x80\n\"");
    assert_true(m[1].values[0] == 1532402927647951.0);
    assert_true(m[2].values[0] == 1 && m[2].values[1] == -25 && m[2].values[2] == 0);
    assert_int_equal(
        read_text(
            "[{\"n\":1,\"s\":\"\",\"l\":[1,2,3],\"a\":[[],{},[{\"b\":[true,false,null,-1e-3,\"]}\"]}]],\"n\":2},\r\n"
            "\t{\"s\":\"t\",\"n\":3,\"l\":[0,0,0,],\"y\":NaN,},]",
            m, &objects, &why),
        JSON_END);
    assert_int_equal(objects, 2);
    assert_string_equal(m[0].text, "t");
}

static void errors(void **state) {
    static const struct {
        const char *text, *place, *what;
    } rows[] = {{"", ":1:1:", "a value is expected here, and the file ends"},
                {"{}", ":1:1:", "a list is expected"},
                {"[{\"s\":\"a\",\"n\":1}]", ":1:16:", "no \"l\""},
                {"[{\"s\":1}]", ":1:7:", "a string is expected"},
                {"[{\"n\":\"1\"}]", ":1:7:", "a number is expected"},
                {"[{\"n\":1e999}]", ":1:12:", "a number is expected"},
                {"[{\"l\":[1,2]}]", ":1:11:", "another number"},
                {"[{\"l\":[1,2,3,4]}]", ":1:14:", "the end of a list"},
                {"[{\"s\":\"a\nb\"}]", ":1:9:", "the end of a string"},
                {"[{\"s\":\"\\q\"}]", ":1:9:", "an escape"},
                {"[{\"s\":\"\\ud800x\"}]", ":1:14:", "a pair of surrogates"},
                {"[{\"s\":\"\\u0000\"}]", ":1:7:", "a zero byte"},
                {"[\n{\"x\" 1}]", ":2:6:", "a colon"},
                {"[{\"x\":[1 2]}]", ":1:10:", "a comma or the end of the list"},
                {"[{\"x\":{\"y\"}}]", ":1:11:", "a colon"},
                {"[{\"s\":\"\\ud800\\u0000\"}]", ":1:20:", "a pair of surrogates"},
                {"[] x", ":1:4:", "the end of the file"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        static json_field m[3];
        reason why = {""};
        int objects;
        assert_int_equal(read_text(rows[i].text, m, &objects, &why), JSON_WRONG);
        if (!strstr(why.text, rows[i].place) || !strstr(why.text, rows[i].what)) {
            fail_msg("%s: %s", rows[i].text, why.text);
        }
    }
}

/* Members that are not wanted may be of any size; what is nested deep or long is refused. */
static void limits(void **state) {
    static char text[3 << 16];
    static json_field m[3];
    reason why = {""};
    int objects;
    for (int deep = JSON_DEPTH - 2; deep < JSON_DEPTH; deep++) { /* in the object in the list */
        size_t n = (size_t)snprintf(text, sizeof text, "[{\"x\":");
        for (int i = 0; i < 2 * deep; i++) {
            text[n++] = i < deep ? '[' : ']';
        }
        snprintf(text + n, sizeof text - n, ",\"s\":\"\",\"n\":1,\"l\":[1,2,3]}]");
        assert_int_equal(read_text(text, m, &objects, &why), deep == JSON_DEPTH - 2 ? JSON_END : JSON_WRONG);
    }
    assert_non_null(strstr(why.text, "64 deep"));
    for (int wanted = 0; wanted < 2; wanted++) {
        size_t n = (size_t)snprintf(text, sizeof text, "[{\"%s\":\"", wanted ? "s" : "x");
        memset(text + n, 'a', 70000);
        n += 70000;
        snprintf(text + n, sizeof text - n, "\",%s\"n\":1,\"l\":[1,2,3]}]", wanted ? "" : "\"s\":\"\",");
        assert_int_equal(read_text(text, m, &objects, &why), wanted ? JSON_WRONG : JSON_END);
    }
    assert_non_null(strstr(why.text, "more than 511 bytes"));
}

UNIT_GROUP(cmd_json_table, NULL, NULL, TEST(values), TEST(errors), TEST(limits))
