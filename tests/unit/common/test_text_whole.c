/* SPDX-License-Identifier: Apache-2.0
 * Whole texts of descriptors without a size. */
#include "text_whole.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

#define BYTES 200000 /* several pieces */

static char *folder, *path, *written;

static void setup(void)
{
    folder = temp_dir_new();
    path = path_join(folder, "text");
    written = malloc(BYTES + 1);
    ck_assert_ptr_nonnull(written);
    for (size_t i = 0; i < BYTES; i++)
        written[i] = (char)('a' + i % 23);
    written[BYTES] = '\0';
    file_write_text(path, written);
}

static void teardown(void)
{
    free(written);
    free(path);
    temp_dir_free(&folder);
}

static int text_read(size_t max_bytes, struct buf *text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    int status = text_whole_read(fd, max_bytes, text);
    close(fd);
    return status;
}

START_TEST(a_text_comes_whole_with_a_nul_behind_it)
{
    struct buf text = {0};
    ck_assert_int_eq(text_read(BYTES, &text), SKEIN_OK);
    ck_assert_uint_eq(text.len, BYTES + 1);
    ck_assert_str_eq((char *)text.data, written);
    buf_fini(&text);
}
END_TEST

START_TEST(one_that_is_too_long_says_so_and_ends_all_the_same)
{
    struct buf text = {0};
    ck_assert_int_eq(text_read(BYTES - 1, &text), SKEIN_TOO_LARGE);
    ck_assert_uint_eq(strlen((char *)text.data), text.len - 1);
    ck_assert_int_eq(strncmp((char *)text.data, written, text.len - 1), 0);
    buf_fini(&text);
}
END_TEST

START_TEST(what_cannot_be_read_is_a_status)
{
    struct buf text = {0};
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(text_whole_read(fd, BYTES, &text), SKEIN_IO);
    close(fd);
    buf_fini(&text);
}
END_TEST

START_TEST(all_is_written_or_a_status_says_why_not)
{
    struct buf text = {0};
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(whole_write(fd, written, BYTES / 2), SKEIN_OK);
    ck_assert_int_eq(whole_write(fd, written + BYTES / 2, BYTES - BYTES / 2), SKEIN_OK);
    ck_assert_int_eq(whole_write(fd, NULL, 0), SKEIN_OK);
    close(fd);
    ck_assert_int_eq(text_read(BYTES, &text), SKEIN_OK);
    ck_assert_str_eq((char *)text.data, written);
    buf_fini(&text);
    fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(whole_write(fd, written, BYTES), SKEIN_FULL);
    ck_assert_int_eq(errno, ENOSPC);
    close(fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text_whole");
    TCase *tests = tcase_create("text_whole");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_text_comes_whole_with_a_nul_behind_it);
    tcase_add_test(tests, one_that_is_too_long_says_so_and_ends_all_the_same);
    tcase_add_test(tests, what_cannot_be_read_is_a_status);
    tcase_add_test(tests, all_is_written_or_a_status_says_why_not);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
