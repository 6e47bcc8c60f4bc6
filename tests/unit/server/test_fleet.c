/* SPDX-License-Identifier: Apache-2.0
 * The fleet's tables under what agents say, without a network. */
#include <check.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include "fake_wire_agent.h"
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
    fleet_handle(f, frame.data, frame.len, &peer);
    buf_fini(&frame);
}

#define HELLO(epoch)                                                                               \
    "{\"agent\":\"" AGENT "\",\"host\":\"h\",\"version\":\"1\",\"boot\":\"b\",\"epoch\":" epoch    \
    ","                                                                                            \
    "\"labels\":\"\",\"heartbeat_ms\":1000,\"seal\":null}"

static struct fleet *fleet_of(struct catalog *catalog)
{
    struct fleet_settings settings = {.address = "tcp://127.0.0.1:1",
                                      .lease_ms = 1000,
                                      .heartbeat_ms = 1000,
                                      .max_agents = 4,
                                      .max_processes_per_agent = PROCESSES_MAX,
                                      .keep_gone_ms = 3600000};
    struct fleet *f;
    ck_assert_int_eq(fleet_new(&settings, catalog, &f), SKEIN_OK);
    control_lock(fleet_control(f)); /* there is no other thread */
    return f;
}

static void fleet_end(struct fleet *f)
{
    control_unlock(fleet_control(f));
    fleet_free(&f);
}

static struct fleet *fleet_with_agent(void)
{
    struct fleet *f = fleet_of(NULL);
    say(f, WIRE_HELLO, HELLO("1"));
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
    fleet_end(f);
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
    fleet_end(f);
}
END_TEST

static void flush(struct fleet *f)
{
    fleet_check_leases(f);
    ck_assert_int_eq(control_save(fleet_control(f)), SKEIN_OK);
}

static struct fleet *fleet_anew(struct fleet *f, struct catalog *catalog)
{
    flush(f);
    fleet_end(f);
    return fleet_of(catalog);
}

static const struct fleet_process *process_known(struct fleet *f, uint8_t last_byte)
{
    struct process_uid uid = {{0}};
    uid.bytes[sizeof uid.bytes - 1] = last_byte;
    return fleet_process_find(f, &uid);
}

/* Else a capture speaks of those alone whose agents are back. */
START_TEST(a_collector_that_was_started_anew_knows_the_processes_of_agents_that_are_away)
{
    unsigned live;
    char *folder = temp_dir_new(), error[256];
    struct catalog *catalog;
    ck_assert_int_eq(catalog_open(folder, &catalog, error, sizeof error), SKEIN_OK);
    struct fleet *f = fleet_of(catalog);
    say(f, WIRE_HELLO, HELLO("1"));
    list(f, 1, 1, 1);
    list(f, 2, 1, 2); /* 1 has ended */
    f = fleet_anew(f, catalog);
    ck_assert_uint_eq(processes_known(f, &live), 2);
    ck_assert_uint_eq(live, 1);
    ck_assert_int_eq(fleet_process_status(f, process_known(f, 2)), FLEET_OFFLINE);
    ck_assert_uint_ne(process_known(f, 1)->ended_ns, 0);
    say(f, WIRE_HELLO, HELLO("2")); /* it was started anew too: 2 may come back to it */
    list(f, 1, 1, 3);
    ck_assert(!process_known(f, 2)->live);
    ck_assert_uint_gt(process_known(f, 2)->perhaps_ns, process_known(f, 2)->ended_ns);
    ck_assert_int_eq(fleet_agent_forget(f, fleet_agent_find(f, 0xa1)), SKEIN_OK);
    f = fleet_anew(f, catalog);
    ck_assert_uint_eq(processes_known(f, &live), 0);
    fleet_end(f);
    catalog_close(&catalog);
    temp_dir_free(&folder);
}
END_TEST

START_TEST(processes_that_are_forgotten_do_not_come_back)
{
    unsigned live;
    char *folder = temp_dir_new(), error[256];
    struct catalog *catalog;
    ck_assert_int_eq(catalog_open(folder, &catalog, error, sizeof error), SKEIN_OK);
    struct fleet *f = fleet_of(catalog);
    say(f, WIRE_HELLO, HELLO("1"));
    list(f, 1, 1, 1);
    flush(f);
    list(f, 2, 1, 2);
    ck_assert_uint_eq(fleet_forget_gone(f, 0, 0), 1);
    f = fleet_anew(f, catalog);
    ck_assert_uint_eq(processes_known(f, &live), 1);
    ck_assert_uint_eq(live, 1);
    fleet_end(f);
    catalog_close(&catalog);
    temp_dir_free(&folder);
}
END_TEST

/* A start of the agent, on a host, says who it is. */
static void hello_of(struct fleet *f, const char *host, unsigned instance)
{
    char body[256];
    snprintf(body, sizeof body,
             "{\"agent\":\"" AGENT "\",\"host\":\"%s\",\"version\":\"1\",\"boot\":\"b\","
             "\"epoch\":1,\"instance\":%u,\"labels\":\"\",\"heartbeat_ms\":1000,\"seal\":null}",
             host, instance);
    say(f, WIRE_HELLO, body);
}

/* Whether its heartbeat was taken; else it was asked to say HELLO first. */
static bool beat_of(struct fleet *f, struct fleet_agent *agent, unsigned instance)
{
    char body[512];
    static unsigned generation;
    snprintf(body, sizeof body,
             "{\"agent\":\"" AGENT "\",\"instance\":%u,\"sent_ns\":1,"
             "\"rules_generation\":%u,\"policies_generation\":0,\"processes_version\":0,"
             "\"spool\":{\"bytes\":0,\"partitions\":0},"
             "\"lost\":{\"spool_partitions\":0,\"spool_events\":0},\"cpu_ms\":0}",
             instance, ++generation);
    say(f, WIRE_HEARTBEAT, body);
    return agent->sets[FLEET_RULES].generation == generation;
}

/* A virtual machine was copied with its agent's folder, and the copy is removed. */
START_TEST(a_clone_that_is_gone_leaves_its_host_name_to_nobody)
{
    struct fleet *f = fleet_of(NULL);
    hello_of(f, "first", 1);
    struct fleet_agent *agent = fleet_agent_find(f, 0xa1);
    ck_assert_ptr_nonnull(agent);
    ck_assert(beat_of(f, agent, 1));
    hello_of(f, "clone", 2);
    ck_assert(beat_of(f, agent, 2));
    ck_assert_str_eq(agent->host, "clone");
    /* They take turns: neither is asked for its name each time, as that would drop its commands. */
    for (unsigned i = 0; i < 10; i++)
        ck_assert(beat_of(f, agent, 1 + i % 2));
    ck_assert(fleet_agent_is_cloned(agent));
    /* The clone ends, and after a minute it is not told of any more. */
    ck_assert(beat_of(f, agent, 1));
    agent->cloned_ns -= UINT64_C(61) * 1000000000;
    ck_assert(!beat_of(f, agent, 1));
    hello_of(f, "first", 1);
    ck_assert_str_eq(agent->host, "first");
    for (unsigned i = 0; i < 3; i++)
        ck_assert(beat_of(f, agent, 1));
    /* A clone that was gone before its first heartbeat. */
    hello_of(f, "another", 3);
    ck_assert(!beat_of(f, agent, 1));
    hello_of(f, "first", 1);
    ck_assert(beat_of(f, agent, 1));
    ck_assert_str_eq(agent->host, "first");
    /* Agents that do not say which start they are are believed. */
    say(f, WIRE_HELLO, HELLO("2"));
    ck_assert(beat_of(f, agent, 1));
    fleet_end(f);
}
END_TEST

/* ---- what does not wait for the disk ---- */

struct slow_save {
    struct fleet *fleet;
    bool armed; /* the next heartbeat's round has something to save, and its save waits */
    sem_t go;
};

static uint64_t generation_asked(void *context)
{
    struct slow_save *slow = context;
    control_assert_locked(fleet_control(slow->fleet));
    if (slow->armed)
        control_mark_dirty(fleet_control(slow->fleet));
    return 0;
}

static void save_wait(void *context)
{
    struct slow_save *slow = context;
    if (slow->armed)
        while (sem_wait(&slow->go) != 0)
            continue;
    slow->armed = false;
}

static void saved_note(void *context, bool ok)
{
    (void)context;
    (void)ok;
}

/* Half of its round trip is how far the agent's clock may be off; a disk may take half a second. */
START_TEST(a_heartbeat_is_answered_before_the_round_is_saved)
{
    char *folder = temp_dir_new(), error[256], address[64];
    uint16_t port = free_port();
    struct catalog *catalog;
    struct slow_save slow = {0};
    struct wire_agent agent;
    ck_assert_int_eq(sem_init(&slow.go, 0, 0), 0);
    ck_assert_int_eq(catalog_open(folder, &catalog, error, sizeof error), SKEIN_OK);
    (void)snprintf(address, sizeof address, "tcp://127.0.0.1:%u", (unsigned)port);
    struct fleet_settings settings = {.address = address,
                                      .lease_ms = 600000,
                                      .heartbeat_ms = 1000,
                                      .max_agents = 4,
                                      .max_processes_per_agent = PROCESSES_MAX,
                                      .keep_gone_ms = 3600000};
    ck_assert_int_eq(fleet_new(&settings, catalog, &slow.fleet), SKEIN_OK);
    fleet_set_hooks(slow.fleet, &(struct fleet_hooks){.context = &slow,
                                                      .rules_generation = generation_asked,
                                                      .save = save_wait,
                                                      .saved = saved_note});
    ck_assert_int_eq(fleet_start(slow.fleet, error, sizeof error), SKEIN_OK);
    wire_agent_open(&agent, 0xa1, "h", port, 0);
    cJSON_Delete(wire_agent_hello(&agent));
    control_lock(fleet_control(slow.fleet));
    slow.armed = true;
    control_unlock(fleet_control(slow.fleet));
    cJSON *answer = wire_agent_beat(&agent, 1, 0);
    ck_assert(cJSON_IsFalse(cJSON_GetObjectItem(answer, "hello")));
    cJSON_Delete(answer);
    sem_post(&slow.go);
    wire_agent_close(&agent);
    fleet_free(&slow.fleet);
    catalog_close(&catalog);
    sem_destroy(&slow.go);
    temp_dir_free(&folder);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("fleet", lists_that_never_end_do_not_fill_the_table,
                 short_lived_processes_make_room_for_new_ones,
                 a_collector_that_was_started_anew_knows_the_processes_of_agents_that_are_away,
                 processes_that_are_forgotten_do_not_come_back,
                 a_clone_that_is_gone_leaves_its_host_name_to_nobody,
                 a_heartbeat_is_answered_before_the_round_is_saved, NULL));
}
