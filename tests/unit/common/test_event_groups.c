/* SPDX-License-Identifier: Apache-2.0
 * Event groups by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event_groups.h"
#include "support.h"

static uint64_t groups_of(const char *text, bool good)
{
    char error[128];
    struct json_reader r = {.error = ""};
    cJSON *json = json_parse(text, strlen(text), error, sizeof error);
    ck_assert_ptr_nonnull(json);
    uint64_t groups = event_groups_get(&r, json, "groups");
    ck_assert_msg((r.error[0] == '\0') == good, "%s: %s", text, r.error);
    cJSON_Delete(json);
    return groups;
}

START_TEST(names_and_numbers_become_bits)
{
    ck_assert_uint_eq(groups_of("{}", true), 0);
    ck_assert_uint_eq(groups_of("{\"groups\":[\"app\",\"log\",\"log\"]}", true), 1u | 1u << 6);
    ck_assert_uint_eq(groups_of("{\"groups\":[\"16\",\"63\"]}", true),
                      UINT64_C(1) << 16 | UINT64_C(1) << 63);
}
END_TEST

START_TEST(what_is_no_group_is_refused)
{
    static const char *const wrong[] = {"[]",       "[\"\"]", "[\"apps\"]", "[\"15\"]",
                                        "[\"64\"]", "[16]",   "\"app\"",    "[\"1 \"]"};
    char text[64];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        (void)snprintf(text, sizeof text, "{\"groups\":%s}", wrong[i]);
        ck_assert_uint_eq(groups_of(text, false), 0);
    }
}
END_TEST

START_TEST(a_list_as_people_type_it_is_the_same_as_an_array)
{
    static const char *const wrong[] = {"",  ",",  "net,",   ",net", "net,all",
                                        "1", "64", "net io", "netio"};
    uint64_t groups = 7;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_msg(!event_groups_parse(wrong[i], &groups), "%s", wrong[i]);
    ck_assert_uint_eq(groups, 7);
    ck_assert(event_groups_parse("all", &groups));
    ck_assert_uint_eq(groups, 0);
    ck_assert(event_groups_parse("63,net,16,log", &groups));
    ck_assert_uint_eq(groups, 1u << 1 | 1u << 6 | 1u << 16 | UINT64_C(1) << 63);
    cJSON *array = event_groups_json(groups);
    char *text = cJSON_PrintUnformatted(array);
    ck_assert_str_eq(text, "[\"net\",\"log\",\"16\",\"63\"]");
    free(text);
    cJSON_Delete(array);
    struct buf list = {0};
    event_groups_put(&list, groups);
    buf_put_u8(&list, 0);
    ck_assert_str_eq((const char *)list.data, "net,log,16,63");
    buf_fini(&list);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("event_groups", names_and_numbers_become_bits,
                              what_is_no_group_is_refused,
                              a_list_as_people_type_it_is_the_same_as_an_array, NULL));
}
