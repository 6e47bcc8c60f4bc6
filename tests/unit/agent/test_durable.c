/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_state.h"
#include "durable.h"
#include "support.h"

static char *folder;

static void setup(void)
{
    folder = temp_dir_new();
}

static void teardown(void)
{
    temp_dir_free(&folder);
}

START_TEST(a_write_replaces_the_whole_file)
{
    int fd;
    ck_assert_int_eq(durable_folder(folder, &fd), SKEIN_OK);
    struct durable_part two[] = {{"hello ", 6}, {"there", 5}}, one[] = {{"bye", 3}};
    ck_assert_int_eq(durable_write(fd, "x", two, 2), SKEIN_OK);
    ck_assert_int_eq(durable_write(fd, "x", one, 1), SKEIN_OK);
    struct buf out = {0};
    ck_assert_int_eq(durable_read(fd, "x", 100, &out), SKEIN_OK);
    ck_assert_mem_eq(out.data, "bye", 3);
    ck_assert_uint_eq(out.len, 3);
    buf_fini(&out);
    close(fd);
}
END_TEST

START_TEST(reading_is_bounded)
{
    int fd;
    ck_assert_int_eq(durable_folder(folder, &fd), SKEIN_OK);
    struct durable_part part = {"12345", 5};
    ck_assert_int_eq(durable_write(fd, "x", &part, 1), SKEIN_OK);
    struct buf out = {0};
    ck_assert_int_eq(durable_read(fd, "x", 5, &out), SKEIN_OK);
    buf_clear(&out);
    ck_assert_int_eq(durable_read(fd, "x", 4, &out), SKEIN_TOO_LARGE);
    ck_assert_int_eq(durable_read(fd, "y", 4, &out), SKEIN_NOT_FOUND);
    buf_fini(&out);
    close(fd);
}
END_TEST

START_TEST(folders_are_made_with_their_parents)
{
    char *deep = path_join(folder, "a/b/c");
    int fd;
    ck_assert_int_eq(durable_folder(deep, &fd), SKEIN_OK);
    close(fd);
    ck_assert_int_eq(durable_folder(deep, &fd), SKEIN_OK);
    close(fd);
    free(deep);
}
END_TEST

START_TEST(leftovers_of_killed_writers_are_swept)
{
    char *left = path_join(folder, "tmp-x");
    file_write_text(left, "half");
    int fd;
    ck_assert_int_eq(durable_folder(folder, &fd), SKEIN_OK);
    ck_assert_int_eq(durable_sweep(fd), 1);
    ck_assert_int_ne(access(left, F_OK), 0);
    close(fd);
    free(left);
}
END_TEST

START_TEST(an_agent_keeps_its_id_and_counts_its_starts)
{
    struct agent_state first, second;
    char error[256];
    ck_assert_int_eq(agent_state_open(folder, &first, error, sizeof error), SKEIN_OK);
    ck_assert_uint_eq(first.epoch, 1);
    ck_assert_uint_ne(first.agent, 0);
    agent_state_close(&first);
    ck_assert_int_eq(agent_state_open(folder, &second, error, sizeof error), SKEIN_OK);
    ck_assert_uint_eq(second.epoch, 2);
    ck_assert_uint_eq(second.agent, first.agent);
    agent_state_close(&second);
}
END_TEST

START_TEST(a_second_agent_is_kept_out_of_the_folder)
{
    struct agent_state first, second;
    char error[256];
    ck_assert_int_eq(agent_state_open(folder, &first, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(agent_state_open(folder, &second, error, sizeof error), SKEIN_BUSY);
    ck_assert_ptr_nonnull(strstr(error, "another agent"));
    agent_state_close(&first);
}
END_TEST

START_TEST(a_damaged_identity_is_refused_with_a_reason)
{
    static const char *const bad[] = {"",
                                      "{",
                                      "[]",
                                      "{\"agent\":\"0\",\"epoch\":1}",
                                      "{\"agent\":\"0123456789abcdef\",\"epoch\":-1}",
                                      "{\"agent\":\"0000000000000000\",\"epoch\":1}",
                                      "{\"epoch\":1}"};
    char *file = path_join(folder, "agent.json");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct agent_state state;
        char error[256] = "";
        file_write_text(file, bad[i]);
        ck_assert_int_eq(agent_state_open(folder, &state, error, sizeof error), SKEIN_CORRUPT);
        ck_assert_ptr_nonnull(strstr(error, "agent.json"));
    }
    free(file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("durable");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_write_replaces_the_whole_file);
    tcase_add_test(tc, reading_is_bounded);
    tcase_add_test(tc, folders_are_made_with_their_parents);
    tcase_add_test(tc, leftovers_of_killed_writers_are_swept);
    tcase_add_test(tc, an_agent_keeps_its_id_and_counts_its_starts);
    tcase_add_test(tc, a_second_agent_is_kept_out_of_the_folder);
    tcase_add_test(tc, a_damaged_identity_is_refused_with_a_reason);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
