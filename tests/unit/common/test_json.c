/* SPDX-License-Identifier: Apache-2.0
 * JSON of strangers: what is refused and where; typed access; exact numbers; printing. */
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

static cJSON *parse(const char *text)
{
    char error[128] = "";
    cJSON *json = json_parse(text, strlen(text), error, sizeof error);
    ck_assert_msg(json != NULL, "%s: %s", text, error);
    return json;
}

static void expect_refused(const char *text, size_t n, const char *words)
{
    char error[128] = "";
    ck_assert_msg(json_parse(text, n, error, sizeof error) == NULL, "%s", text);
    ck_assert_msg(strstr(error, words), "%s: %s", text, error);
}

START_TEST(wrong_json_names_the_place)
{
    static const struct {
        const char *text, *words;
    } wrong[] = {{"", "line 1, column 1"},
                 {"{\n  \"a\": x\n}", "line 2, column 8"},
                 {"{} {}", "column 4: something follows"},
                 {"{} x", "something follows"},
                 {"\"abc", "does not end"},
                 {"\"abc\\", "does not end"},
                 {"\"a\\u0000b\"", "\\u0000"},
                 {"\"\xff\"", "not UTF-8"},
                 {"\"\xc0\xaf\"", "not UTF-8"},
                 {"\"\xed\xa0\x80\"", "not UTF-8"},
                 {"\"\xe2\x82", "not UTF-8"},
                 {"\"a\nb\"", "control character"},
                 {"{\"a\":\x01 1}", "control character"},
                 {"[1,]", "not JSON"},
                 {"{\"a\" 1}", "not JSON"},
                 {"\xef\xbb\xbf{}", "line 1, column 1: not JSON"},
                 {"[\xc3\xa9]", "not JSON"},
                 {"[01]", "column 3: not a number"},
                 {"[-01]", "not a number"},
                 {"[1.]", "not a number"},
                 {"[1.e5]", "not a number"},
                 {"[1e]", "not a number"},
                 {"[1e+]", "not a number"},
                 {"[-]", "not a number"},
                 {"[1.5.5]", "not a number"},
                 {"[1-1]", "not a number"},
                 {"-", "not a number"},
                 {"{\"a\":1,\"b\":2,\"a\":1}", "a: is given twice"},
                 {"[{\"b\":{\"c\":[1,{\"deep\":1,\"deep\":2}]}}]", "deep: is given twice"},
                 {"{\"a\":1,\"\\u0061\":1}", "a: is given twice"}};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_refused(wrong[i].text, strlen(wrong[i].text), wrong[i].words);
    expect_refused("{}\0{}", 5, "control character");
}
END_TEST

START_TEST(keys_may_differ_in_case_and_object_and_be_many)
{
    struct buf many = {0};
    char error[128] = "";
    cJSON_Delete(parse("{\"a\":{\"a\":1},\"A\":[{\"a\":0},{\"a\":-0.5e-3}]}"));
    for (int i = 0; i < 1000; i++)
        buf_printf(&many, "%s\"key%d\":10", i == 0 ? "{" : ",", i);
    size_t open = many.len;
    buf_put(&many, "}", 1);
    cJSON_Delete(json_parse((const char *)many.data, many.len, error, sizeof error));
    ck_assert_str_eq(error, "");
    many.len = open;
    buf_put(&many, ",\"key500\":1}", 12);
    expect_refused((const char *)many.data, many.len, "key500: is given twice");
    buf_fini(&many);
}
END_TEST

START_TEST(an_escaped_backslash_does_not_hide_a_u0000)
{
    cJSON_Delete(parse("\"a\\\\u0000b\"")); /* backslash, then plain letters */
    expect_refused("\"a\\\\\\u0000b\"", 13, "\\u0000");
}
END_TEST

START_TEST(levels_are_bounded)
{
    char text[300];
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    text[128] = '\0';
    cJSON_Delete(parse(text));
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    expect_refused(text, 130, "64 levels");
    expect_refused("\"[[[[[[\"[", 9, "something follows");
}
END_TEST

START_TEST(members_are_read_by_type)
{
    cJSON *o = parse("{\"s\":\"x\",\"n\":7,\"b\":true,\"o\":{},\"l\":[],\"z\":null}");
    struct json_reader r = {""};
    ck_assert_str_eq(json_str(&r, o, "", "s", JSON_REQUIRED, "", 10), "x");
    ck_assert_uint_eq(json_u64(&r, o, "", "n", JSON_REQUIRED, 0, 0, 10), 7);
    ck_assert(json_bool(&r, o, "", "b", false));
    ck_assert_ptr_nonnull(json_object(&r, o, "", "o", JSON_REQUIRED));
    ck_assert_ptr_nonnull(json_array(&r, o, "", "l", JSON_REQUIRED));
    ck_assert_str_eq(json_str(&r, o, "", "absent", JSON_OPTIONAL, "d", 10), "d");
    ck_assert_uint_eq(json_u64(&r, o, "", "z", JSON_OPTIONAL, 3, 0, 10), 3);
    ck_assert(json_bool(&r, o, "", "absent", true));
    ck_assert_ptr_null(json_object(&r, o, "", "absent", JSON_OPTIONAL));
    ck_assert_str_eq(r.error, "");
    cJSON_Delete(o);
}
END_TEST

/* One read that must fail with exactly these words. */
#define expect_error(words, call)                                                                  \
    do {                                                                                           \
        struct json_reader r = {""};                                                               \
        (void)(call);                                                                              \
        ck_assert_str_eq(r.error, words);                                                          \
    } while (0)

START_TEST(members_with_a_unit_take_text_with_one_and_none_without)
{
    cJSON *o =
        parse("{\"a_ms\":\"1.5s\",\"b_ms\":\"1\",\"c_bytes\":\"64MiB\",\"d_ms\":7,"
              "\"e_ns\":\"18446744073709551615\",\"f_ms\":\"1us\",\"bytes_per_hour\":\"1GB\"}");
    struct json_reader good = {""};
    ck_assert_uint_eq(json_u64(&good, o, "", "a_ms", true, 0, 0, 9999), 1500);
    ck_assert_uint_eq(json_u64(&good, o, "", "c_bytes", true, 0, 0, UINT64_MAX), 64 << 20);
    ck_assert_uint_eq(json_u64(&good, o, "", "d_ms", true, 0, 0, 9), 7);
    ck_assert(json_u64(&good, o, "", "e_ns", true, 0, 0, UINT64_MAX) == UINT64_MAX);
    ck_assert_uint_eq(json_u64(&good, o, "", "bytes_per_hour", true, 0, 0, UINT64_MAX), 1000000000);
    ck_assert_str_eq(good.error, "");
    expect_error("b_ms: \"1\" has no unit: write the number alone for milliseconds, or \"1s\"",
                 json_u64(&r, o, "", "b_ms", true, 0, 0, 9));
    expect_error("a_ms: must be a whole number from 0 to 9 (milliseconds), or text with a unit "
                 "such as \"10s\"",
                 json_u64(&r, o, "", "a_ms", true, 0, 0, 9));
    expect_error("f_ms: must be a whole number from 0 to 9 (milliseconds), or text with a unit "
                 "such as \"10s\"",
                 json_u64(&r, o, "", "f_ms", true, 0, 0, 9));
    cJSON_Delete(o);
}
END_TEST

START_TEST(failures_name_path_and_expectation)
{
    cJSON *o = parse("{\"s\":\"xyz\",\"n\":1.5,\"m\":-1,\"big\":1e300,\"t\":\"12x\","
                     "\"one\":\"1\"}");
    expect_error("p.q: is missing", json_str(&r, o, "p", "q", JSON_REQUIRED, "", 1));
    expect_error("s: must be text of at most 2 bytes", json_str(&r, o, "", "s", false, "", 2));
    expect_error("n: must be text", json_str(&r, o, "", "n", false, "", 2));
    expect_error("n: must be a whole number from 0 to 9", json_u64(&r, o, "", "n", false, 0, 0, 9));
    expect_error("p.m: must be a whole number from 0 to 9",
                 json_u64(&r, o, "p", "m", false, 0, 0, 9));
    expect_error("t: must be a whole number from 0 to 9", json_u64(&r, o, "", "t", false, 0, 0, 9));
    expect_error("one: must be a whole number from 0 to 9", /* no number so small needs a text */
                 json_u64(&r, o, "", "one", false, 0, 0, 9));
    ck_assert_uint_eq(json_u64(&(struct json_reader){""}, o, "", "one", false, 0, 0, UINT64_MAX),
                      1);
    expect_error("big: a number above 2^53 must be written as a string of digits",
                 json_u64(&r, o, "", "big", false, 0, 0, UINT64_MAX));
    expect_error("s: must be true or false", json_bool(&r, o, "", "s", false));
    expect_error("s: must be an object", json_object(&r, o, "", "s", false));
    expect_error("s: must be a list", json_array(&r, o, "", "s", false));
    expect_error("p: must be an object", json_str(&r, NULL, "p", "s", false, "", 2));
    cJSON_Delete(o);
}
END_TEST

START_TEST(signed_numbers_are_exact_in_both_directions)
{
    static const int64_t values[] = {
        0, -1, 7, -(INT64_C(1) << 53), (INT64_C(1) << 53) + 1, -INT64_MAX, INT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct json_reader r = {""};
        struct buf text = {0};
        char why[160];
        cJSON *o = cJSON_CreateObject();
        json_add_i64(o, "n", values[i]);
        json_print(o, &text);
        cJSON_Delete(o);
        o = json_parse((const char *)text.data, text.len, why, sizeof why);
        ck_assert_int_eq(json_i64(&r, o, "", "n", JSON_REQUIRED, 3), values[i]);
        ck_assert_str_eq(r.error, "");
        cJSON_Delete(o);
        buf_fini(&text);
    }
    cJSON *o = parse("{\"a\":-1.5,\"b\":\"--1\",\"c\":\"\",\"d\":\"-\",\"e\":true,"
                     "\"f\":\"-9223372036854775808\",\"g\":-1e300}");
    for (const char *key = "abcdefg"; *key != '\0'; key++) {
        struct json_reader r = {""};
        ck_assert_int_eq(json_i64(&r, o, "", (char[]){*key, '\0'}, JSON_OPTIONAL, 3), 3);
        ck_assert_str_ne(r.error, "");
    }
    cJSON_Delete(o);
}
END_TEST

START_TEST(first_failure_stays)
{
    cJSON *o = parse("{}");
    struct json_reader r = {""};
    json_str(&r, o, "", "first", JSON_REQUIRED, "", 1);
    json_str(&r, o, "", "second", JSON_REQUIRED, "", 1);
    ck_assert_str_eq(r.error, "first: is missing");
    cJSON_Delete(o);
}
END_TEST

START_TEST(unknown_keys_list_the_known)
{
    static const char *const known[] = {"a", "b", NULL};
    cJSON *o = parse("{\"a\":1,\"c\":2}");
    expect_error("p.c: unknown key; known are: a, b", (json_known(&r, o, "p", known), 0));
    cJSON_Delete(o);
}
END_TEST

START_TEST(integers_are_exact_both_ways)
{
    static const uint64_t values[] = {0,
                                      1,
                                      1000000000000000,
                                      (UINT64_C(1) << 53) - 1,
                                      UINT64_C(1) << 53,
                                      (UINT64_C(1) << 53) + 1,
                                      UINT64_C(1795254000123456789),
                                      UINT64_MAX};
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
        struct json_reader r = {""};
        struct buf b = {0};
        cJSON *o = cJSON_CreateObject();
        json_add_u64(o, "v", values[i]);
        json_print(o, &b);
        buf_put_u8(&b, 0);
        ck_assert_ptr_null(strchr((char *)b.data, '+'));
        cJSON_Delete(o);
        o = parse((char *)b.data);
        ck_assert(json_u64(&r, o, "", "v", JSON_REQUIRED, 0, 0, UINT64_MAX) == values[i]);
        ck_assert_str_eq(r.error, "");
        cJSON_Delete(o);
        buf_fini(&b);
    }
}
END_TEST

START_TEST(nothing_to_tell_is_no_member)
{
    struct buf b = {0};
    cJSON *o = cJSON_CreateObject();
    json_add_text_some(o, "text", "");
    json_add_u64_some(o, "number", 0);
    json_add_time_some(o, "time", 0);
    json_add_flag(o, "flag", false);
    ck_assert_int_eq(cJSON_GetArraySize(o), 0);
    json_add_text_some(o, "text", "a");
    json_add_u64_some(o, "number", 7);
    json_add_time_some(o, "time", UINT64_C(1000000000));
    json_add_flag(o, "flag", true);
    json_print(o, &b);
    buf_put_u8(&b, 0);
    ck_assert_str_eq((char *)b.data, "{\"text\":\"a\",\"number\":7,"
                                     "\"time\":\"1970-01-01T00:00:01.000Z\",\"flag\":true}");
    cJSON_Delete(o);
    buf_fini(&b);
}
END_TEST

static void expect_text(const char *bytes, size_t n, const char *want)
{
    struct buf b = {0};
    json_put_text(&b, bytes, n);
    buf_put_u8(&b, 0);
    ck_assert_str_eq((char *)b.data, want);
    buf_fini(&b);
}

START_TEST(text_is_escaped_and_valid_utf8)
{
    expect_text("a\"b\\c\n\t\x01\x7f", 9, "\"a\\\"b\\\\c\\n\\t\\u0001\\u007f\"");
    expect_text("caf\xc3\xa9", 5, "\"caf\xc3\xa9\"");
    expect_text("x\xffy", 3, "\"x\xef\xbf\xbdy\"");
    expect_text("\xe2\x82", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    expect_text("\xc2\x9b\xc2\xa0\xc2\x80", 6, "\"\\u009b\xc2\xa0\\u0080\"");
    expect_text("\xe2\x80\xae\xf3\xa0\x80\x81\xf0\x9f\x92\xa5", 11,
                "\"\\u202e\\udb40\\udc01\xf0\x9f\x92\xa5\"");
    expect_text("\0", 1, "\"\\u0000\"");
    expect_text("", 0, "\"\"");
}
END_TEST

START_TEST(printing_round_trips)
{
    static const char text[] = "{\"a\":[1,-2.5,true,false,null,\"x\\\"y\"],\"b\":{},\"c\":1e+300}";
    struct buf b = {0}, again = {0};
    cJSON *o = parse(text);
    json_print(o, &b);
    cJSON_Delete(o);
    buf_put_u8(&b, 0);
    o = parse((char *)b.data);
    json_print(o, &again);
    buf_put_u8(&again, 0);
    ck_assert_str_eq((char *)b.data, (char *)again.data);
    ck_assert_ptr_nonnull(strstr((char *)b.data, "[1,-2.5,true,false,null,\"x\\\"y\"]"));
    cJSON_Delete(o);
    buf_fini(&b);
    buf_fini(&again);
}
END_TEST

START_TEST(what_json_cannot_say_is_null)
{
    struct buf b = {0};
    cJSON *n = cJSON_CreateNumber((double)INFINITY);
    json_print(n, &b);
    ck_assert_int_eq(memcmp(b.data, "null", 4), 0);
    cJSON_Delete(n);
    buf_fini(&b);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "json", wrong_json_names_the_place, keys_may_differ_in_case_and_object_and_be_many,
        an_escaped_backslash_does_not_hide_a_u0000, levels_are_bounded, members_are_read_by_type,
        members_with_a_unit_take_text_with_one_and_none_without, failures_name_path_and_expectation,
        signed_numbers_are_exact_in_both_directions, first_failure_stays,
        unknown_keys_list_the_known, integers_are_exact_both_ways, nothing_to_tell_is_no_member,
        text_is_escaped_and_valid_utf8, printing_round_trips, what_json_cannot_say_is_null, NULL));
}
