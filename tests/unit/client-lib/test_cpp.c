/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads back what cpp_work.cpp, compiled as C++17, has written.
 */
#include "decoded_ring.h"
#include "fake_agent.h"
#include "support.h"

int cpp_work(void);

START_TEST(cpp_writes_the_same_events_and_closes_them_on_exceptions)
{
    static struct fake_agent agent;
    static struct fake_ring ring;
    static struct decoded_ring decoded;
    fake_agent_init(&agent, 7);
    fake_agent_attach_self(&agent, &ring, SKEIN_MODE_CIRCULAR, 1 << 20);
    ck_assert_int_eq(cpp_work(), 0);
    ck_assert_msg(ring_decode(ring.ring, &ring.geometry, &decoded), "%s", decoded.error);
    ck_assert_uint_eq(decoded_count(&decoded, "macro"), 3);
    ck_assert_uint_eq(decoded_count(&decoded, "member"), 3);
    int open = 0, open_when_caught = -1;
    const struct decoded_event *caught = decoded_nth(&decoded, "caught", 0);
    for (size_t i = 0; i < decoded.event_count; i++) {
        const struct decoded_event *e = &decoded.events[i];
        open += e->klass == SKEIN_CLASS_RANGE_BEGIN;
        open -= e->kind == DECODED_END;
        if (e == caught)
            open_when_caught = open;
    }
    ck_assert_int_eq(open_when_caught, 0);
    ck_assert_int_eq(open, 0);
    ck_assert_str_eq(caught->args[1].text, "interned");
    ck_assert_uint_eq(caught->args[5].number, 1);
    ck_assert_int_eq(decoded_nth(&decoded, "in a lambda", 0)->args[0].i64, -1);
    ck_assert_int_eq(decoded_nth(&decoded, "op", 0)->args[0].i64, 7);
    ck_assert_uint_eq(decoded_nth(&decoded, "op", 0)->args[1].u64, 9);
    ring_decode_free(&decoded);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("cpp", cpp_writes_the_same_events_and_closes_them_on_exceptions, NULL));
}
