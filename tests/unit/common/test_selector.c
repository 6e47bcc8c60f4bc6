/* SPDX-License-Identifier: Apache-2.0
 * What each form of a selector matches, and what is refused at which column. */
#include "selector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "support.h"

/* Labels as text; one value at a time, which is enough for selector_match. */
struct lookup {
    const char *labels;
    char value[64];
};

static const char *get(void *context, const char *key)
{
    struct lookup *l = context;
    return labels_get(l->labels, key, l->value, sizeof l->value) ? l->value : NULL;
}

static bool matches(const char *text, const char *labels)
{
    struct selector *s;
    char error[128] = "";
    struct lookup l = {.labels = labels};
    ck_assert_msg(selector_new(text, &s, error, sizeof error) == SKEIN_OK, "%s: %s", text, error);
    bool matched = selector_match(s, get, &l);
    selector_free(&s);
    ck_assert_ptr_null(s);
    return matched;
}

static const char labels[] = "service=checkout,zone=a,tier=,app.kubernetes.io/name=shop";

START_TEST(what_fits_is_matched)
{
    static const char *const fit[] = {"",
                                      "   ",
                                      "service=checkout",
                                      "service==checkout",
                                      " service = checkout , zone=a ",
                                      "service!=cart",
                                      "host!=h1",
                                      "zone in (a,b)",
                                      "zone in ( b , a )",
                                      "zone notin (b,c)",
                                      "host notin (b)",
                                      "tier",
                                      "tier=",
                                      "tier in ()",
                                      "tier in (x,)",
                                      "!host",
                                      "! host",
                                      "zone,!canary,service in (checkout)",
                                      "app.kubernetes.io/name=shop"};
    for (unsigned i = 0; i < sizeof fit / sizeof *fit; i++)
        ck_assert_msg(matches(fit[i], labels), "%s", fit[i]);
}
END_TEST

START_TEST(what_does_not_fit_is_not_matched)
{
    static const char *const unfit[] = {"service=cart", "service!=checkout",
                                        "zone in (b)",  "zone notin (a)",
                                        "!zone",        "host",
                                        "host=",        "service=checkou",
                                        "ervice",       "zone=a,host",
                                        "in=1",         "zone in ()",
                                        "host in (a)",  "tier!=",
                                        "tier=x",       "service=Checkout"};
    for (unsigned i = 0; i < sizeof unfit / sizeof *unfit; i++)
        ck_assert_msg(!matches(unfit[i], labels), "%s", unfit[i]);
}
END_TEST

START_TEST(keywords_may_be_label_names)
{
    ck_assert(matches("in", "in=1"));
    ck_assert(matches("notin in (1)", "notin=1"));
    ck_assert(matches("inner=1", "inner=1"));
}
END_TEST

START_TEST(wrong_selectors_name_the_column)
{
    static const struct {
        const char *text;
        unsigned column;
    } wrong[] = {{",", 1},      {"a,", 3},      {"a b", 3},        {"a=b c", 5},       {"a in", 5},
                 {"a in b", 6}, {"a in (b", 8}, {"a in (b c)", 9}, {"!", 2},           {"!a=b", 3},
                 {"=a", 1},     {"a=b,,c", 5},  {"a=\"b\"", 3},    {"a inner (b)", 3}, {"a=b)", 4},
                 {"a===b", 4},  {"a\n", 2},     {"\xc3\xa9", 1}};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct selector *s = (struct selector *)(uintptr_t)1;
        char error[128], where[32];
        snprintf(where, sizeof where, "column %u:", wrong[i].column);
        ck_assert_int_eq(selector_new(wrong[i].text, &s, error, sizeof error), SKEIN_INVALID);
        ck_assert_ptr_null(s);
        ck_assert_msg(strstr(error, where), "%s: %s", wrong[i].text, error);
    }
}
END_TEST

START_TEST(text_of_many_empty_words_fits_its_memory)
{
    enum { COUNT = 3000 };
    char *text = malloc(COUNT * 4 + 16);
    size_t n = 0;
    for (unsigned i = 0; i < COUNT; i++)
        n += (size_t)sprintf(text + n, "%sa=", i ? "," : "");
    ck_assert(matches(text, "a="));
    n = (size_t)sprintf(text, "a in (");
    for (unsigned i = 0; i < COUNT; i++)
        text[n++] = ',';
    strcpy(text + n, ")");
    ck_assert(matches(text, "a="));
    free(text);
}
END_TEST

START_TEST(too_long_a_selector_is_refused)
{
    struct selector *s;
    char error[64], *text = malloc(70000);
    memset(text, 'a', 69999);
    text[69999] = '\0';
    ck_assert_int_eq(selector_new(text, &s, error, sizeof error), SKEIN_INVALID);
    ck_assert_ptr_nonnull(strstr(error, "longer"));
    free(text);
}
END_TEST

START_TEST(out_of_memory_is_reported_and_leaks_nothing)
{
    for (unsigned n = 1;; n++) {
        struct selector *s;
        char error[64];
        alloc_fail_at(n);
        int status = selector_new("a=b,c in (d,e)", &s, error, sizeof error);
        if (!alloc_fail_end()) {
            ck_assert_int_eq(status, SKEIN_OK);
            ck_assert_uint_gt(n, 3);
            selector_free(&s);
            break;
        }
        ck_assert_int_eq(status, SKEIN_NO_MEMORY);
        ck_assert_ptr_null(s);
    }
}
END_TEST

START_TEST(labels_are_looked_up_whole)
{
    char v[4];
    ck_assert(labels_get(labels, "zone", v, sizeof v));
    ck_assert_str_eq(v, "a");
    ck_assert(labels_get(labels, "service", v, sizeof v));
    ck_assert_str_eq(v, "che");
    ck_assert(labels_get(labels, "tier", v, sizeof v));
    ck_assert_str_eq(v, "");
    ck_assert(!labels_get(labels, "one", v, sizeof v));
    ck_assert(!labels_get(labels, "zon", v, sizeof v));
    ck_assert(!labels_get("", "zone", v, sizeof v));
}
END_TEST

START_TEST(labels_are_walked_pair_by_pair)
{
    const char *at = "zone=a,,nothing,tier=,x=y=z", *key, *value;
    size_t key_bytes, value_bytes, pairs = 0;
    char text[64] = "";
    while (labels_next(&at, &key, &key_bytes, &value, &value_bytes)) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%.*s:%.*s;", (int)key_bytes, key,
                 (int)value_bytes, value);
        pairs++;
    }
    ck_assert_uint_eq(pairs, 3);
    ck_assert_str_eq(text, "zone:a;tier:;x:y=z;");
}
END_TEST
START_TEST(the_empty_selector_is_all)
{
    static const struct {
        const char *text;
        bool all;
    } cases[] = {{"", true}, {"  ", true}, {"!canary", false}, {"zone", false}, {"k=v", false}};
    ck_assert(selector_is_all(NULL));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char error[128];
        struct selector *selector;
        ck_assert_int_eq(selector_new(cases[i].text, &selector, error, sizeof error), SKEIN_OK);
        ck_assert_int_eq(selector_is_all(selector), cases[i].all);
        selector_free(&selector);
    }
}
END_TEST

START_TEST(terms_that_allow_one_value_are_told)
{
    char error[128];
    const char *key, *value;
    struct selector *s;
    ck_assert_int_eq(selector_new("!x,a=1,b in (2,3),c!=4,d in (5),e", &s, error, sizeof error),
                     SKEIN_OK);
    ck_assert(selector_equality(s, 0, &key, &value));
    ck_assert_str_eq(key, "a");
    ck_assert_str_eq(value, "1");
    ck_assert(selector_equality(s, 1, &key, &value));
    ck_assert_str_eq(key, "d");
    ck_assert_str_eq(value, "5");
    ck_assert(!selector_equality(s, 2, &key, &value));
    selector_free(&s);
}
END_TEST
START_TEST(labels_are_checked)
{
    static const char *const right[] = {"", "a=b", "a=,b=c", "a/b.c-d_e=f"};
    static const char *const wrong[] = {"a",     "=b",    "a=b,",    ",a=b",
                                        "a=b=c", "a=b c", "a=\"b\"", "a b=c"};
    for (unsigned i = 0; i < sizeof right / sizeof *right; i++)
        ck_assert_msg(labels_valid(right[i]), "%s", right[i]);
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(!labels_valid(wrong[i]), "%s", wrong[i]);
}
END_TEST

START_TEST(labels_that_are_none_are_made_some)
{
    static const char *const cases[][2] = {{"", ""},
                                           {"zone=a,canary=", "zone=a,canary="},
                                           {"note=<img src=x>,b=2", "note=_img_src_x_,b=2"},
                                           {"version=1.2 beta+3", "version=1.2_beta_3"},
                                           {"a b=c,,d,=e,f=g,", "a_b=c,f=g"},
                                           {"n=\xc3\xa9", "n=__"},
                                           {",,,", ""},
                                           {"=", ""}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s", cases[i][0]);
        labels_clean(text);
        ck_assert_str_eq(text, cases[i][1]);
        ck_assert(labels_valid(text));
    }
}
END_TEST

int main(void)
{
    return suite_run(suite_of("selector", what_fits_is_matched, what_does_not_fit_is_not_matched,
                              keywords_may_be_label_names, wrong_selectors_name_the_column,
                              text_of_many_empty_words_fits_its_memory,
                              too_long_a_selector_is_refused,
                              out_of_memory_is_reported_and_leaks_nothing,
                              labels_are_looked_up_whole, labels_are_walked_pair_by_pair,
                              the_empty_selector_is_all, terms_that_allow_one_value_are_told,
                              labels_are_checked, labels_that_are_none_are_made_some, NULL));
}
