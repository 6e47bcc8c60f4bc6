/* SPDX-License-Identifier: Apache-2.0
 * Answers of SQL as the reading process gives them, and everything else: no byte of it goes on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql_check.h"
#include "support.h"

#define COLUMNS                                                                                    \
    "{\"columns\":[{\"name\":\"a\",\"type\":\"integer\"},{\"name\":\"b\",\"type\":\"any\"}]"
#define TAIL ",\"more\":false,\"gaps\":[]}\n"

static int check(const char *text, size_t n, size_t *gaps)
{
    uint8_t *bytes = malloc(n > 0 ? n : 1); /* of this length: ASan sees the byte behind */
    ck_assert_ptr_nonnull(bytes);
    memcpy(bytes, text, n);
    int status = sql_answer_check(bytes, n, 3, gaps);
    free(bytes);
    return status;
}

static const char *const good[] = {
    COLUMNS ",\"rows\":[]" TAIL,
    COLUMNS ",\"rows\":[[1,null]]" TAIL,
    COLUMNS
    ",\"rows\":[[-0.5,\"x\"],[1e+20,\"\"],[0,\"9007199254740993\"]],\"more\":true,\"gaps\":[]}\n",
    COLUMNS ",\"rows\":[[1.5E-7,\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u001b\\uFFFd\"]]" TAIL,
    COLUMNS ",\"rows\":[[\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\x7f\",\",\\\"gaps\\\":[\"]]" TAIL,
    ("{\"columns\":[{\"name\":\"\",\"type\":\"null\"}],\"rows\":[[null]],\"more\":false,\"gaps\":["
     "{\"reason\":\"broken\",\"bytes\":12,\"text\":\"x\"},{\"reason\":\"torn\"}],\"gaps_left_out\":3}\n"),
};

START_TEST(answers_are_taken_and_their_gaps_found)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        size_t gaps = 0;
        ck_assert_msg(check(good[i], strlen(good[i]), &gaps) == SKEIN_OK, "%s", good[i]);
        static const char before[] = ",\"gaps\":[";
        ck_assert_uint_ge(gaps, strlen(before));
        ck_assert(strncmp(good[i] + gaps - strlen(before), before, strlen(before)) == 0);
        ck_assert(good[i][gaps] == ']' || good[i][gaps] == '{');
    }
}
END_TEST

START_TEST(beginnings_and_what_goes_on_are_none)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        size_t n = strlen(good[i]), gaps = 77;
        for (size_t k = 0; k < n; k++)
            ck_assert_msg(check(good[i], k, &gaps) == SKEIN_CORRUPT, "%zu bytes of %s", k, good[i]);
        char *more = malloc(n + 2);
        ck_assert_ptr_nonnull(more);
        (void)snprintf(more, n + 2, "%s\n", good[i]);
        ck_assert_int_eq(check(more, n + 1, &gaps), SKEIN_CORRUPT);
        ck_assert_int_eq(check(more, n, &gaps), SKEIN_OK);
        free(more);
    }
}
END_TEST

START_TEST(other_shapes_and_other_bytes_are_none)
{
    static const char *const bad[] = {
        "null\n",
        "{\"columns\":[],\"rows\":[]" TAIL,
        "{\"columns\":[{\"name\":\"a\",\"type\":\"script\"}],\"rows\":[]" TAIL,
        "{\"columns\":[{\"name\":1,\"type\":\"any\"}],\"rows\":[]" TAIL,
        "{\"columns\":[{\"type\":\"any\",\"name\":\"a\"}],\"rows\":[]" TAIL,
        COLUMNS ",\"rows\":[[1]]" TAIL,     /* too few */
        COLUMNS ",\"rows\":[[1,2,3]]" TAIL, /* too many */
        COLUMNS ",\"rows\":[[]]" TAIL,
        COLUMNS ",\"rows\":[[1,2],]" TAIL,
        COLUMNS ",\"rows\":[[1,[2]]]" TAIL,
        COLUMNS ",\"rows\":[[1,{}]]" TAIL,
        COLUMNS ",\"rows\":[[1,true]]" TAIL,
        COLUMNS ",\"rows\":[[1,2],[1,2],[1,2],[1,2]]" TAIL, /* more than were asked for */
        COLUMNS ",\"rows\":[[01,2]]" TAIL,
        COLUMNS ",\"rows\":[[1.,2]]" TAIL,
        COLUMNS ",\"rows\":[[.5,2]]" TAIL,
        COLUMNS ",\"rows\":[[1e,2]]" TAIL,
        COLUMNS ",\"rows\":[[-,2]]" TAIL,
        COLUMNS ",\"rows\":[[+1,2]]" TAIL,
        COLUMNS ",\"rows\":[[nan,2]]" TAIL,
        COLUMNS ",\"rows\":[[inf,2]]" TAIL,
        COLUMNS ",\"rows\":[[1, 2]]" TAIL,
        COLUMNS ",\"rows\":[[1,\"\n\"]]" TAIL,
        COLUMNS ",\"rows\":[[1,\"\x1b[2J\"]]" TAIL,
        COLUMNS ",\"rows\":[[1,\"\\x\"]]" TAIL,
        COLUMNS ",\"rows\":[[1,\"\\u12g4\"]]" TAIL,
        COLUMNS ",\"rows\":[[1,\"\\ud800\"]]" TAIL,
        COLUMNS ",\"rows\":[[1,\"\xff\"]]" TAIL,
        COLUMNS ",\"rows\":[[1,\"\xc0\xaf\"]]" TAIL,
        COLUMNS ",\"rows\":[[1,\"\xed\xa0\x80\"]]" TAIL,
        COLUMNS ",\"rows\":[[1,\"a\"b\"]]" TAIL,
        COLUMNS ",\"rows\":[],\"more\":null,\"gaps\":[]}\n",
        COLUMNS ",\"rows\":[],\"more\":false}\n",
        COLUMNS ",\"rows\":[],\"more\":false,\"gaps\":[{}]}\n",
        COLUMNS ",\"rows\":[],\"more\":false,\"gaps\":[1]}\n",
        COLUMNS ",\"rows\":[],\"more\":false,\"gaps\":[{\"a\":[]}]}\n",
        COLUMNS ",\"rows\":[],\"more\":false,\"gaps\":[],\"gaps_left_out\":}\n",
        COLUMNS ",\"rows\":[],\"more\":false,\"gaps\":[],\"gaps_left_out\":-1}\n",
        COLUMNS ",\"rows\":[],\"more\":false,\"gaps\":[],\"other\":1}\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t gaps = 77;
        ck_assert_msg(check(bad[i], strlen(bad[i]), &gaps) == SKEIN_CORRUPT, "%s", bad[i]);
        ck_assert_uint_eq(gaps, 77);
    }
    static const char zero[] = COLUMNS ",\"rows\":[[1,\"\0\"]]" TAIL;
    size_t gaps;
    ck_assert_int_eq(check(zero, sizeof zero - 1, &gaps), SKEIN_CORRUPT);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("sql_check", answers_are_taken_and_their_gaps_found,
                              beginnings_and_what_goes_on_are_none,
                              other_shapes_and_other_bytes_are_none, NULL));
}
