/* SPDX-License-Identifier: Apache-2.0
 * Key files: private, never overwritten, read back as written. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "seal.h"
#include "support.h"

static char *folder, *path;
static char error[512];

static void setup(void)
{
    folder = temp_dir_new();
    path = path_join(folder, "key");
}

static void teardown(void)
{
    free(path);
    temp_dir_free(&folder);
}

START_TEST(pair_comes_back_from_its_file)
{
    struct seal_pair pair, again;
    struct stat st;
    setup();
    seal_pair_make(&pair);
    ck_assert_int_eq(seal_file_write(path, &pair, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(seal_file_read(path, &again, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(memcmp(&pair, &again, sizeof pair), 0);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);
    ck_assert_uint_eq(st.st_nlink, 1);
    teardown();
}
END_TEST

START_TEST(key_is_never_overwritten)
{
    struct seal_pair pair, other, again;
    setup();
    seal_pair_make(&pair);
    seal_pair_make(&other);
    ck_assert_int_eq(seal_file_write(path, &pair, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(seal_file_write(path, &other, error, sizeof error), SKEIN_EXISTS);
    ck_assert_int_eq(seal_file_read(path, &again, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(memcmp(&pair, &again, sizeof pair), 0);
    teardown();
}
END_TEST

START_TEST(key_that_others_may_read_is_refused)
{
    struct seal_pair pair;
    setup();
    seal_pair_make(&pair);
    ck_assert_int_eq(seal_file_write(path, &pair, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(chmod(path, 0640), 0);
    ck_assert_int_eq(seal_file_read(path, &pair, error, sizeof error), SKEIN_DENIED);
    ck_assert_ptr_nonnull(strstr(error, "chmod 600"));
    teardown();
}
END_TEST

START_TEST(what_is_no_key_file_is_refused)
{
    static const char *const texts[] = {
        "",
        "skein-key-1 ",
        "skein-key-1 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "skein-key-1 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\nx",
        "skein-key-2 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n",
        "skein-key-1 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA!\n"};
    struct seal_pair pair;
    setup();
    ck_assert_int_eq(seal_file_read(path, &pair, error, sizeof error), SKEIN_NOT_FOUND);
    ck_assert_int_eq(seal_file_read(folder, &pair, error, sizeof error), SKEIN_IO);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        file_write_text(path, texts[i]);
        ck_assert_int_eq(chmod(path, 0600), 0);
        ck_assert_int_eq(seal_file_read(path, &pair, error, sizeof error), SKEIN_INVALID);
    }
    teardown();
}
END_TEST

int main(void)
{
    if (seal_init() != SKEIN_OK)
        return 1;
    return suite_run(suite_of("seal_file", pair_comes_back_from_its_file, key_is_never_overwritten,
                              key_that_others_may_read_is_refused, what_is_no_key_file_is_refused,
                              NULL));
}
