/* SPDX-License-Identifier: Apache-2.0
 * The fleet's tables under what agents say, without a network. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "fleet_int.h"
#include "support.h"
#include "wire.h"

#define AGENT         "00000000000000a1"
#define PROCESSES_MAX 10

static void say(struct fleet *f, uint8_t type, const char *body)
{
    struct transport_peer peer = {0};
    struct buf frame = {0};
    wire_frame_put(&frame, type, 1, (const uint8_t *)body, strlen(body));
    ck_assert_int_eq(frame.status, SKEIN_OK);
    fleet_lock(f);
    fleet_handle(f, frame.data, frame.len, &peer);
    fleet_unlock(f);
    buf_fini(&frame);
}

static struct fleet *fleet_with_agent(void)
{
    struct fleet_settings settings = {.address = "tcp://127.0.0.1:1",
                                      .lease_ms = 1000,
                                      .heartbeat_ms = 1000,
                                      .max_agents = 4,
                                      .max_processes_per_agent = PROCESSES_MAX,
                                      .keep_gone_ms = 3600000};
    struct fleet *f;
    ck_assert_int_eq(fleet_new(&settings, NULL, &f), SKEIN_OK);
    say(f, WIRE_HELLO,
        "{\"agent\":\"" AGENT "\",\"host\":\"h\",\"version\":\"1\",\"boot\":\"b\",\"epoch\":1,"
        "\"labels\":\"\",\"heartbeat_ms\":1000,\"seal\":null}");
    return f;
}

/* One page with one process of a list that has `pages` of them. */
static void list(struct fleet *f, unsigned version, unsigned pages, unsigned process)
{
    char body[512];
    snprintf(body, sizeof body,
             "{\"agent\":\"" AGENT "\",\"kind\":\"processes\",\"version\":%u,\"page\":0,"
             "\"pages\":%u,\"processes\":[{\"process\":\"%032x\",\"pid\":%u}]}",
             version, pages, process, process);
    say(f, WIRE_REPORT, body);
}

static unsigned processes_known(struct fleet *f, unsigned *live)
{
    unsigned count = 0;
    size_t at = 0;
    *live = 0;
    for (struct fleet_process *p; (p = fleet_process_next(f, &at)) != NULL; count++)
        *live += p->live;
    return count;
}

START_TEST(lists_that_never_end_do_not_fill_the_table)
{
    unsigned live;
    struct fleet *f = fleet_with_agent();
    for (unsigned i = 1; i <= 20 * PROCESSES_MAX; i++)
        list(f, i, 2, i);
    ck_assert_uint_eq(processes_known(f, &live), 2 * PROCESSES_MAX);
    list(f, 1000, 1, 1); /* a whole one names one process: the others are gone */
    ck_assert_uint_eq(processes_known(f, &live), 2 * PROCESSES_MAX);
    ck_assert_uint_eq(live, 1);
    fleet_free(&f);
}
END_TEST

START_TEST(short_lived_processes_make_room_for_new_ones)
{
    unsigned live;
    struct fleet *f = fleet_with_agent();
    for (unsigned i = 1; i <= 20 * PROCESSES_MAX; i++) {
        list(f, i, 1, i);
        ck_assert_uint_le(processes_known(f, &live), 2 * PROCESSES_MAX);
        ck_assert_uint_eq(live, 1);
    }
    fleet_free(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("fleet", lists_that_never_end_do_not_fill_the_table,
                              short_lived_processes_make_room_for_new_ones, NULL));
}
