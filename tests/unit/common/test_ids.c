/* SPDX-License-Identifier: Apache-2.0
 * Identities: distinct where they must be, equal where they must be, one text form each. */
#include "ids.h"

#include <string.h>

#include "support.h"

START_TEST(same_process_has_the_same_uid)
{
    struct process_uid a = process_uid_make(1, "boot", 100, 777);
    struct process_uid b = process_uid_make(1, "boot", 100, 777);
    ck_assert(process_uid_equal(&a, &b));
}
END_TEST

START_TEST(another_agent_boot_pid_or_start_is_another_process)
{
    struct process_uid base = process_uid_make(1, "boot", 100, 777);
    struct process_uid others[] = {
        process_uid_make(2, "boot", 100, 777), process_uid_make(1, "boot2", 100, 777),
        process_uid_make(1, "boot", 101, 777), process_uid_make(1, "boot", 100, 778)};
    for (unsigned i = 0; i < 4; i++)
        ck_assert(!process_uid_equal(&base, &others[i]));
    ck_assert_int_eq(base.bytes[11], 100);
}
END_TEST

START_TEST(capture_ids_differ_and_sort_by_time)
{
    struct capture_id a = capture_id_new(), b = capture_id_new(), zero = {{0}};
    ck_assert(!capture_id_equal(&a, &b));
    ck_assert_int_le(memcmp(a.bytes, b.bytes, 6), 0);
    ck_assert(!capture_id_is_zero(&a));
    ck_assert(capture_id_is_zero(&zero));
}
END_TEST

START_TEST(id_text_parses_back)
{
    struct capture_id id = capture_id_new(), back;
    char text[ID_TEXT_BYTES];
    id_text(id.bytes, text);
    ck_assert_uint_eq(strlen(text), 32);
    ck_assert_int_eq(id_parse(text, back.bytes), SKEIN_OK);
    ck_assert(capture_id_equal(&id, &back));
}
END_TEST

START_TEST(wrong_id_text_is_refused_and_changes_nothing)
{
    static const char *const wrong[] = {"",
                                        "00",
                                        "0123456789abcdef0123456789abcde",
                                        "0123456789abcdef0123456789abcdef0",
                                        "0123456789abcdef0123456789abcdeg",
                                        " 123456789abcdef0123456789abcdef"};
    uint8_t bytes[16] = {9};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(id_parse(wrong[i], bytes) == SKEIN_INVALID, "%s", wrong[i]);
    ck_assert_int_eq(bytes[0], 9);
}
END_TEST

START_TEST(partition_key_parses_back)
{
    struct partition_key key = {process_uid_make(1, "b", 2, 3), UINT64_MAX, 0}, back;
    char text[PARTITION_KEY_TEXT_BYTES];
    partition_key_text(&key, text);
    ck_assert_int_eq(partition_key_parse(text, &back), SKEIN_OK);
    ck_assert(process_uid_equal(&key.process, &back.process));
    ck_assert(back.epoch == key.epoch && back.sequence == key.sequence);
}
END_TEST

START_TEST(wrong_partition_keys_are_refused)
{
#define HEX "0123456789abcdef0123456789abcdef"
    static const char *const wrong[] = {
        "",          HEX,           HEX "-",     HEX "-1",    HEX "-1-",
        HEX "--1",   HEX "-1-2x",   HEX "-01-2", HEX "-1-02", HEX "-18446744073709551616-1",
        HEX "-+1-1", "x" HEX "-1-2"};
    struct partition_key key = {.epoch = 5};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(partition_key_parse(wrong[i], &key) == SKEIN_INVALID, "%s", wrong[i]);
    ck_assert_uint_eq(key.epoch, 5);
}
END_TEST

START_TEST(agent_ids_round_trip)
{
    char text[AGENT_TEXT_BYTES];
    uint64_t agent = 1;
    agent_text(UINT64_C(0xfedcba9876543210), text);
    ck_assert_str_eq(text, "fedcba9876543210");
    ck_assert_int_eq(agent_parse(text, &agent), SKEIN_OK);
    ck_assert_uint_eq(agent, UINT64_C(0xfedcba9876543210));
    ck_assert_int_eq(agent_parse("fedcba987654321", &agent), SKEIN_INVALID);
    ck_assert_int_eq(agent_parse("fedcba98765432100", &agent), SKEIN_INVALID);
    ck_assert_int_eq(agent_parse("FEDCBA9876543210", &agent), SKEIN_INVALID);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "ids", same_process_has_the_same_uid, another_agent_boot_pid_or_start_is_another_process,
        capture_ids_differ_and_sort_by_time, id_text_parses_back,
        wrong_id_text_is_refused_and_changes_nothing, partition_key_parses_back,
        wrong_partition_keys_are_refused, agent_ids_round_trip, NULL));
}
