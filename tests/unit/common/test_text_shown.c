/* SPDX-License-Identifier: Apache-2.0 */
#include "text_shown.h"

#include <stdlib.h>
#include <string.h>

#include "support.h"

/* As it is shown; the caller's to free. */
static char *shown(const char *text, size_t n)
{
    struct buf b = {0};
    text_shown_put(&b, text, n);
    buf_put_u8(&b, 0);
    ck_assert_int_eq(b.status, SKEIN_OK);
    return (char *)b.data;
}

static void must_show(const char *text, const char *as)
{
    char *got = shown(text, strlen(text));
    ck_assert_str_eq(got, as);
    free(got);
}

START_TEST(what_can_be_read_stands_as_it_is)
{
    must_show("", "");
    must_show("plain ~ text \\x1b", "plain ~ text \\x1b");
    must_show("Z\xc3\xbcrich \xe4\xb8\x96\xe7\x95\x8c \xd9\x85\xd8\xb1 \xf0\x9f\x92\xa5",
              "Z\xc3\xbcrich \xe4\xb8\x96\xe7\x95\x8c \xd9\x85\xd8\xb1 \xf0\x9f\x92\xa5");
    must_show("e\xcc\x81\xcc\x82", "e\xcc\x81\xcc\x82");
}
END_TEST

START_TEST(what_steers_a_terminal_is_digits)
{
    must_show("a\x1b[2Jb\r\n\t\x7f", "a\\x1b[2Jb\\x0d\\x0a\\x09\\x7f");
    must_show("\xc2\x85\xc2\x9b", "\\u{85}\\u{9b}");                /* C1: a line end, and CSI */
    must_show("\x9b\x31m", "\\x9b1m");                              /* C1 of Latin-1 */
    must_show("\xc2", "\\xc2");                                     /* half a character */
    must_show("\xc0\x9b\xe0\x80\x9b", "\\xc0\\x9b\\xe0\\x80\\x9b"); /* no shortest form */
    char *nul = shown("a\0b", 3);
    ck_assert_str_eq(nul, "a\\x00b");
    free(nul);
}
END_TEST

START_TEST(ones_own_texts_stand_around_as_they_are)
{
    struct buf b = {0};
    shown_put(&b, "a\x1b");
    shown_put_between(&b, "\033[1m", "b\n", "\n");
    shown_put_between(&b, "", "", "");
    ck_assert_uint_eq(b.len, strlen("a\\x1b\033[1mb\\x0a\n"));
    ck_assert_mem_eq(b.data, "a\\x1b\033[1mb\\x0a\n", b.len);
    buf_fini(&b);
}
END_TEST

START_TEST(what_turns_or_hides_others_is_digits)
{
    must_show("cpp.\xe2\x80\xaegpj", "cpp.\\u{202e}gpj");
    must_show("\xe2\x81\xa6\xe2\x80\x8f\xd8\x9c", "\\u{2066}\\u{200f}\\u{61c}");
    must_show("a\xe2\x80\x8b\xef\xbb\xbf\xc2\xad", "a\\u{200b}\\u{feff}\\u{ad}");
    must_show("\xe2\x80\xa8\xe2\x80\xa9", "\\u{2028}\\u{2029}");
    must_show("\xf3\xa0\x80\x81\xf4\x8f\xbf\xbf\xef\xbf\xbf", "\\u{e0001}\\u{10ffff}\\u{ffff}");
    must_show("Z\xcc\x81\xcc\x81\xcc\x81\xcc\x81"
              "a\xcc\x81",
              "Z\xcc\x81\xcc\x81\\u{301}\\u{301}a\xcc\x81");
}
END_TEST

/* Each byte is taken once, and nothing unseen comes out: by the code points, not by the tables. */
START_TEST(every_character_is_shown)
{
    for (uint32_t point = 0; point < 0x110000; point++) {
        struct text_shown one = {.marks = 0};
        char s[4];
        size_t n = 0;
        if (point < 0x80) {
            s[n++] = (char)point;
        } else {
            unsigned more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
            s[n++] = (char)((0xff00u >> (more + 1) & 0xff) | point >> 6 * more);
            while (more-- > 0)
                s[n++] = (char)(0x80 | (point >> 6 * more & 0x3f));
        }
        bool surrogate = point >= 0xd800 && point <= 0xdfff;
        size_t took = text_shown_next(&one, s, n);
        must_hold(took == (surrogate ? 1 : n), "U+%X took %zu", point, took);
        bool itself = strlen(one.bytes) == n && memcmp(one.bytes, s, n) == 0;
        bool digits = one.bytes[0] == '\\' && one.columns == strlen(one.bytes) && point != '\\';
        must_hold(point == 0 ? digits : itself != digits, "U+%X", point);
        must_hold(one.point == (itself && point != 0 ? point : 0), "U+%X", point);
        if (point < 0x20 || (point >= 0x7f && point < 0xa0) || (point >= 0x202a && point <= 0x202e))
            must_hold(digits, "U+%X", point);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text_shown");
    TCase *tests = tcase_create("text_shown");
    tcase_add_test(tests, what_can_be_read_stands_as_it_is);
    tcase_add_test(tests, what_steers_a_terminal_is_digits);
    tcase_add_test(tests, ones_own_texts_stand_around_as_they_are);
    tcase_add_test(tests, what_turns_or_hides_others_is_digits);
    tcase_add_test(tests, every_character_is_shown);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
