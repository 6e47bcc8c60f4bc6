/* SPDX-License-Identifier: Apache-2.0 */
#include "privacy.h"

#include <string.h>

#include "support.h"

/* Key and texts of SipHash's own test vectors: 00 01 02 ..., as many bytes as are given. */
static void hash_of_vector(size_t bytes, char out[PRIVACY_HASH_BYTES])
{
    const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    uint8_t text[64];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (uint8_t)i;
    privacy_hash(key, text, bytes, out);
}

START_TEST(hashes_are_those_of_the_vectors)
{
    static const struct {
        size_t bytes;
        const char *hash;
    } vectors[] = {{0, "#726fdb47dd0e0e31"}, {1, "#74f839c593dc67fd"},  {7, "#ab0200f58b01d137"},
                   {8, "#93f5f5799a932462"}, {15, "#a129ca6149be45e5"}, {63, "#958a324ceb064572"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char hash[PRIVACY_HASH_BYTES];
        hash_of_vector(vectors[i].bytes, hash);
        ck_assert_str_eq(hash, vectors[i].hash);
    }
}
END_TEST

START_TEST(another_key_gives_another_hash)
{
    const uint64_t keys[2][2] = {{1, 2}, {1, 3}};
    char a[PRIVACY_HASH_BYTES], b[PRIVACY_HASH_BYTES], again[PRIVACY_HASH_BYTES];
    privacy_hash(keys[0], "/etc/passwd", 11, a);
    privacy_hash(keys[1], "/etc/passwd", 11, b);
    privacy_hash(keys[0], "/etc/passwd", 11, again);
    ck_assert_str_ne(a, b);
    ck_assert_str_eq(a, again);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("privacy");
    TCase *c = tcase_create("all");
    tcase_add_test(c, hashes_are_those_of_the_vectors);
    tcase_add_test(c, another_key_gives_another_hash);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
