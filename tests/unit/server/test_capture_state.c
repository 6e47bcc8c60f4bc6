/* SPDX-License-Identifier: Apache-2.0
 * The table of a target's transitions, as the diagram in docs/api.md draws it. */
#include <string.h>

#include "capture_int.h"
#include "capture_state.h"
#include "support.h"

/* From row to column, in the order of TARGET_STATUS_LIST. */
static const char table[TARGET_STATUS_COUNT][TARGET_STATUS_COUNT + 1] = {
    /*               psocuCnwfe */
    [TARGET_PENDING] = ".xxxx.xxxx",   [TARGET_SENT] = "..xxx.xxxx",
    [TARGET_OFFLINE] = ".x.xx.xxxx",   [TARGET_CAPTURING] = "....x.xxxx",
    [TARGET_UPLOADING] = ".....x.xxx", [TARGET_COMPLETE] = "..........",
    [TARGET_NOTHING] = "..........",   [TARGET_WATCHED] = "..........",
    [TARGET_FAILED] = "....x.xx.x",    [TARGET_EXPIRED] = ".....xxxx.",
};

START_TEST(transitions_are_those_of_the_diagram)
{
    for (int from = 0; from < TARGET_STATUS_COUNT; from++)
        for (int to = 0; to < TARGET_STATUS_COUNT; to++)
            ck_assert_msg(target_may((enum target_status)from, (enum target_status)to) ==
                              (table[from][to] == 'x'),
                          "%s to %s", target_status_text((enum target_status)from),
                          target_status_text((enum target_status)to));
}
END_TEST

START_TEST(what_has_ended_well_is_for_ever_and_the_rest_ends)
{
    for (int s = 0; s < TARGET_STATUS_COUNT; s++) {
        enum target_status status = (enum target_status)s;
        bool can_expire = target_may(status, TARGET_EXPIRED);
        ck_assert(target_is_final(status) || can_expire);
        if (target_has_ended_well(status))
            ck_assert_ptr_null(strchr(table[s], 'x'));
    }
}
END_TEST

int main(void)
{
    return suite_run(suite_of("capture_state", transitions_are_those_of_the_diagram,
                              what_has_ended_well_is_for_ever_and_the_rest_ends, NULL));
}
