/* SPDX-License-Identifier: Apache-2.0
 * Gaps of captures in words. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_gaps.h"
#include "cli_out.h"
#include "support.h"

const struct cli_command *const cli_commands[] = {NULL};

#define DAY "2026-11-21T"

static void expect(const char *gaps, bool all, const char *want)
{
    struct buf json = {0}, out = {0};
    buf_printf(&json,
               "{\"window\":{\"from\":\"" DAY "06:13:00.000Z\",\"to\":\"" DAY "06:23:00.000Z\"},"
               "\"targets\":[{\"service\":\"shop\",\"host\":\"web-1\",\"pid\":77,"
               "\"ledger\":{\"gaps\":[%s]}}]}",
               gaps);
    cJSON *capture = cJSON_Parse(text_of(&json));
    ck_assert_ptr_nonnull(capture);
    gaps_put(&out, capture, all);
    ck_assert_str_eq(text_of(&out), want);
    cJSON_Delete(capture);
    buf_fini(&json);
    buf_fini(&out);
}

#define GAP(from, to, reason)                                                                      \
    "{\"from\":\"" DAY from "\",\"to\":\"" DAY to "\",\"reason\":\"" reason "\"}"

START_TEST(where_the_window_is_not_reached_is_told_by_what_was_asked)
{
    expect(GAP("06:13:00.000Z", "06:16:40.000Z", "overwritten"), false,
           "gap        shop[77] on web-1 reaches back to 06:16:40.000Z of 06:13:00.000Z asked: the "
           "ring had overwritten it\n");
    expect(
        GAP("06:20:00.000Z", "06:23:00.000Z", "agent_restarted"), false,
        "gap        shop[77] on web-1 goes on to 06:20:00.000Z of 06:23:00.000Z asked: the agent "
        "was restarted\n");
    expect(GAP("06:12:59.000Z", "06:23:01.000Z", "no_answer"), false,
           "gap        shop[77] on web-1 has nothing whole of the window: the agent did not "
           "answer\n");
    expect(GAP("06:14:00.000Z", "06:14:01.500Z", "moon_phase"), false,
           "gap        shop[77] on web-1 lacks 1.500 s from 06:14:00.000Z: moon_phase\n");
    expect("", false, "");
}
END_TEST

/* Its life, which began within the window: there is nothing before it that would go on. */
START_TEST(of_what_has_no_ring_there_is_no_record_at_any_time)
{
    expect(GAP("06:20:00.000Z", "06:23:00.000Z", "watched"), false,
           "gap        shop[77] on web-1 has no record: it is watched from outside, and has no "
           "ring\n");
    expect(GAP("06:13:00.000Z", "06:14:00.000Z", "attach_refused"), false,
           "gap        shop[77] on web-1 has no record: the agent did not take it\n");
}
END_TEST

START_TEST(fragments_that_lie_close_are_one_gap)
{
    expect(
        GAP("06:14:04.000Z", "06:14:05.000Z", "ring_full") "," GAP(
            "06:14:00.000Z", "06:14:01.000Z", "ring_full") "," GAP("06:14:06.000Z", "06:14:06.500Z",
                                                                   "ring_full"),
        false,
        "gap        shop[77] on web-1 lacks 6.500 s from 06:14:00.000Z in 3 pieces: the ring was "
        "full\n");
}
END_TEST

START_TEST(many_gaps_are_counted_and_listed_on_demand)
{
    struct buf few = {0};
    for (unsigned i = 0; i < 9; i++)
        buf_printf(&few, "%s" GAP("06:%02u:30.000Z", "06:%02u:31.000Z", "size"), i ? "," : "",
                   13 + i, 13 + i);
    struct buf six = {0}, nine = {0};
    for (unsigned i = 0; i < 9; i++) {
        buf_printf(
            &nine,
            "gap        shop[77] on web-1 lacks 1.000 s from 06:%02u:30.000Z: more than a cut "
            "may hold\n",
            13 + i);
        if (i == 5)
            buf_printf(&six, "%s", text_of(&nine));
    }
    buf_printf(&six, "gaps       3 more: skein capture show --gaps\n");
    expect(text_of(&few), false, text_of(&six));
    expect(text_of(&few), true, text_of(&nine));
    buf_fini(&few);
    buf_fini(&six);
    buf_fini(&nine);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("cli_gaps", where_the_window_is_not_reached_is_told_by_what_was_asked,
                              of_what_has_no_ring_there_is_no_record_at_any_time,
                              fragments_that_lie_close_are_one_gap,
                              many_gaps_are_counted_and_listed_on_demand, NULL));
}
