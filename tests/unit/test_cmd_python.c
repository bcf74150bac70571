/* The literals of Python files: values, places, and what is code. */
#include "test_cmd.h"

#include "python_config.h"

#include <stdio.h>
#include <unistd.h>

static const char path[] = "test_cmd_python.tmp";

/* Reads a text as a file; NULL with the sentence in `why`. */
static python_file *open_text(const char *text, reason *why) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
    python_file *file = python_open(path, why);
    unlink(path);
    return file;
}

static int length(const python_node *node) {
    int n = 0;
    for (const python_item *i = node->items; i; i = i->next) {
        n++;
    }
    return n;
}

static void values(void **state) {
    static const struct {
        const char *text;
        python_kind kind;
        const char *value;
    } rows[] = {{"1", PYTHON_NUMBER, "1"},
                {"-.5", PYTHON_NUMBER, "-.5"},
                {"+1_000.25e-3", PYTHON_NUMBER, "1000.25e-3"},
                {"0x10", PYTHON_CODE, NULL},
                {"1j", PYTHON_CODE, NULL},
                {"--1", PYTHON_CODE, NULL},
                {"1 + 2", PYTHON_CODE, NULL},
                {"True", PYTHON_BOOLEAN, "True"},
                {"False", PYTHON_BOOLEAN, "False"},
                {"None", PYTHON_NONE, NULL},
                {"'a'", PYTHON_STRING, "a"},
                {"\"a'\\\"b\" 'c'", PYTHON_STRING, "a'\"bc"},
                {"r'a\\b'", PYTHON_STRING, "a\\b"},
                {"\"\"\"a\nb\"c\"\"\"", PYTHON_STRING, "a\nb\"c"},
                {"''", PYTHON_STRING, ""},
                {"b'a'", PYTHON_CODE, NULL},
                {"f'{y}'", PYTHON_CODE, NULL},
                {"'a'.upper()", PYTHON_CODE, NULL},
                {"(3)", PYTHON_NUMBER, "3"},
                {"((3))", PYTHON_NUMBER, "3"},
                {"y", PYTHON_NUMBER, "7"},
                {"y.z", PYTHON_CODE, NULL},
                {"-y", PYTHON_CODE, NULL},
                {"missing", PYTHON_CODE, NULL},
                {"{1, 2}", PYTHON_CODE, NULL},
                {"{**y}", PYTHON_CODE, NULL},
                {"dict(y)", PYTHON_CODE, NULL},
                {"dict(a=1)['a']", PYTHON_CODE, NULL},
                {"lambda a, b: (a, b)", PYTHON_CODE, NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[200];
        reason why = {""};
        snprintf(text, sizeof text, "y = 7\nx = %s  # a comment\nz = x\n", rows[i].text);
        python_file *file = open_text(text, &why);
        assert_non_null(file);
        const python_node *x = python_value(file, "x"), *z = python_value(file, "z");
        assert_int_equal(x->kind, rows[i].kind);
        assert_int_equal(z->kind, rows[i].kind); /* a name has the value */
        assert_int_equal(x->line, 2);
        assert_int_equal(x->column, 5 + (int)strspn(rows[i].text, "("));
        if (rows[i].value) {
            assert_string_equal(x->text, rows[i].value);
        }
        python_close(file);
    }
}

static void containers(void **state) {
    reason why = {""};
    (void)state;
    python_file *file = open_text("x = dict(a=[1, (2,), ()], b={'c': dict(), \"d\": f(1, [2)]), 'c': 3})\n", &why);
    assert_null(file); /* the brackets do not match */
    file = open_text(
        "x = dict(a=[1, (2,), (), *y], b={'c': dict(), \"d\": f(1, [2])[3], 'c': 3},\n    e=[1, (2,), ()],\n f=lambda "
        "a, b=(1, 2): {a: b},)\n",
        &why);
    assert_non_null(file);
    const python_node *x = python_value(file, "x"), *b = python_key(x, "b"), *e = python_key(x, "e");
    assert_int_equal(x->kind, PYTHON_DICT);
    assert_int_equal(python_key(x, "a")->kind, PYTHON_CODE);
    assert_int_equal(b->kind, PYTHON_DICT);
    assert_string_equal(python_key(b, "c")->text, "3"); /* the last of two */
    assert_int_equal(python_key(b, "d")->kind, PYTHON_CODE);
    assert_int_equal(length(e), 3);
    assert_int_equal(e->items->next->value->kind, PYTHON_LIST);
    assert_int_equal(length(e->items->next->value), 1);
    assert_int_equal(length(e->items->next->next->value), 0);
    assert_int_equal(e->line, 2);
    assert_int_equal(python_key(x, "f")->kind, PYTHON_CODE);
    assert_null(python_key(x, "g"));
    assert_null(python_key(e, "f"));
    assert_null(python_value(file, "a"));
    python_close(file);
}

static void statements(void **state) {
    static const char *const changes[] = {
        "x += 1",         "x[0] = 1", "x.append(1)",    "del x",        "x, y = 1, 2", "x: int = 3",
        "for x in []: y", "import x", "if 1:\n  x = 2", "y = 1; x = 2", NULL};
    (void)state;
    for (int i = 0; changes[i]; i++) {
        char text[200];
        reason why = {""};
        snprintf(text, sizeof text, "x = 1\n%s\n", changes[i]);
        python_file *file = open_text(text, &why);
        assert_non_null(file);
        assert_int_equal(python_value(file, "x")->kind, PYTHON_CODE);
        python_close(file);
    }
}

static void limits(void **state) {
    static char text[PYTHON_SIZE + 100];
    reason why = {""};
    (void)state;
    size_t n = 0;
    for (int i = 0; i <= PYTHON_NAMES; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "n%d = 1\n", i);
    }
    assert_null(open_text(text, &why));
    assert_non_null(strstr(why.text, "test_cmd_python.tmp:1001:"));
    n = (size_t)snprintf(text, sizeof text, "x = [");
    for (int i = 0; i <= PYTHON_NODES; i++) {
        text[n++] = '1';
        text[n++] = ',';
    }
    text[n] = '\0';
    assert_null(open_text(text, &why));
    assert_non_null(strstr(why.text, "more than 65536 values"));
    memset(text, ' ', sizeof text - 1);
    assert_null(open_text(text, &why));
    assert_non_null(strstr(why.text, "larger than 256 KiB"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values), cmocka_unit_test(containers),
                                       cmocka_unit_test(statements), cmocka_unit_test(limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
