/* SPDX-License-Identifier: Apache-2.0
 * Bytes as text, against the vectors of RFC 4648. */
#include "base64.h"

#include <string.h>

#include "skein/status.h"
#include "support.h"

START_TEST(the_vectors_of_the_standard)
{
    static const struct {
        const char *bytes, *text;
    } vectors[] = {{"", ""},           {"f", "Zg"},          {"fo", "Zm8"},         {"foo", "Zm9v"},
                   {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char text[16], bytes[16];
        size_t n = strlen(vectors[i].bytes);
        base64_put(vectors[i].bytes, n, text);
        ck_assert_str_eq(text, vectors[i].text);
        ck_assert_uint_eq(strlen(text), BASE64_LETTERS(n));
        ck_assert_int_eq(base64_get(text, strlen(text), bytes, n), (int)n);
        ck_assert_int_eq(memcmp(bytes, vectors[i].bytes, n), 0);
        if (n > 0)
            ck_assert_int_eq(base64_get(text, strlen(text), bytes, n - 1), SKEIN_TOO_LARGE);
    }
}
END_TEST

START_TEST(every_byte_comes_back)
{
    uint8_t bytes[256], back[256];
    char text[BASE64_LETTERS(256) + 1];
    for (int i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    for (size_t n = 0; n <= sizeof bytes; n++) {
        base64_put(bytes, n, text);
        ck_assert_int_eq(base64_get(text, BASE64_LETTERS(n), back, sizeof back), (int)n);
        ck_assert_int_eq(memcmp(bytes, back, n), 0);
    }
}
END_TEST

START_TEST(what_is_no_such_text_is_refused)
{
    static const char *const texts[] = {"Z", "Zg=", "Zg==", "Zh", "Zm9", "Zm9v ", "Z\x80", "Zm9vY"};
    uint8_t bytes[16];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(base64_get(texts[i], strlen(texts[i]), bytes, sizeof bytes) == SKEIN_CORRUPT,
                      "%s", texts[i]);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("base64", the_vectors_of_the_standard, every_byte_comes_back,
                              what_is_no_such_text_is_refused, NULL));
}
