/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

static struct agent_state start(void)
{
    struct agent_state state;
    char error[256] = "";
    int status = agent_state_open(folder, &state, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
    agent_state_close(&state);
    return state;
}

/* No new file can be made: as on a full disk, where the old one can still be written. */
static void forbid_new_files(void)
{
    char *path = path_join(folder, DURABLE_TEMP_PREFIX "agent.json");
    ck_assert_int_eq(mkdir(path, 0700), 0);
    free(path);
}

START_TEST(each_start_counts_and_the_agent_stays_the_same)
{
    struct agent_state first = start(), second = start();
    ck_assert_uint_eq(first.agent, second.agent);
    ck_assert_uint_eq(second.epoch, first.epoch + 1);
}
END_TEST

START_TEST(it_counts_in_the_old_file_where_there_is_no_room_for_a_new_one)
{
    struct agent_state first = start();
    forbid_new_files();
    for (uint64_t i = 1; i < 12; i++) {
        struct agent_state next = start();
        ck_assert_uint_eq(next.agent, first.agent);
        ck_assert_uint_eq(next.epoch, first.epoch + i);
    }
}
END_TEST

static void key_file_write(const char *text)
{
    char *path = path_join(folder, "privacy.key");
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    free(path);
}

START_TEST(the_key_of_hashes_stays_and_is_the_operators_to_choose)
{
    struct agent_state first = start(), second = start();
    ck_assert_mem_eq(first.privacy_key, second.privacy_key, sizeof first.privacy_key);
    key_file_write("000000000000000100000000000000ff\n");
    struct agent_state chosen = start();
    ck_assert_uint_eq(chosen.privacy_key[0], 1);
    ck_assert_uint_eq(chosen.privacy_key[1], 255);
    ck_assert_uint_eq(chosen.agent, first.agent);
}
END_TEST

START_TEST(a_key_of_hashes_that_is_none_keeps_the_agent_from_starting)
{
    static const char *const wrong[] = {"", "\n", "00ff\n", "g0000000000000010000000000000000\n",
                                        "0000000000000001000000000000000000\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct agent_state state;
        char error[256] = "";
        key_file_write(wrong[i]);
        ck_assert_int_eq(agent_state_open(folder, &state, error, sizeof error), SKEIN_CORRUPT);
        ck_assert_ptr_nonnull(strstr(error, "privacy.key"));
    }
}
END_TEST

START_TEST(it_starts_where_nothing_can_be_kept)
{
    forbid_new_files();
    struct agent_state state = start();
    ck_assert_uint_ne(state.agent, 0);
    ck_assert_uint_gt(state.epoch, 1000000000); /* of no other start: the second */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent_state");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, each_start_counts_and_the_agent_stays_the_same);
    tcase_add_test(c, it_counts_in_the_old_file_where_there_is_no_room_for_a_new_one);
    tcase_add_test(c, the_key_of_hashes_stays_and_is_the_operators_to_choose);
    tcase_add_test(c, a_key_of_hashes_that_is_none_keeps_the_agent_from_starting);
    tcase_add_test(c, it_starts_where_nothing_can_be_kept);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
