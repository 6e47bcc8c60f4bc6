/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of captures when somebody sets the collector's clock: this program's own.
 */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture_control.h"
#include "capture_int.h"
#include "capture_target.h"
#include "clock.h"
#include "fleet_int.h"
#include "log.h"
#include "support.h"

#define SECOND UINT64_C(1000000000)
#define HOUR_S 3600

static int64_t ahead_s; /* of the true time */

/* Takes the C library's place. */
int clock_gettime(clockid_t id, struct timespec *now)
{
    long status = syscall(SYS_clock_gettime, id, now);
    if (status == 0 && id == CLOCK_REALTIME)
        now->tv_sec += ahead_s;
    return (int)status;
}

static char *folder;
static struct catalog *catalog;
static struct fleet *fleet;
static struct capture_engine *engine;
static struct fleet_agent agent = {.id = 7, .host = "h", .online = true};

static void save(void *context)
{
    (void)context;
    capture_save(engine);
}

static void saved(void *context, bool ok)
{
    (void)context;
    capture_saved(engine, ok);
}

static void engine_open(void)
{
    char error[256];
    ahead_s = 0;
    log_configure(LOG_LEVEL_ERROR, false);
    folder = temp_dir_new();
    ck_assert_int_eq(catalog_open(folder, &catalog, error, sizeof error), SKEIN_OK);
    struct fleet_settings settings = {.address = "tcp://127.0.0.1:1", .lease_ms = 1000};
    ck_assert_int_eq(fleet_new(&settings, catalog, &fleet), SKEIN_OK);
    struct capture_settings captures = {.deadline_ms = 20000};
    fleet_set_hooks(fleet, &(struct fleet_hooks){.save = save, .saved = saved});
    ck_assert_int_eq(capture_engine_new(&captures, fleet, catalog, NULL, &engine), SKEIN_OK);
    agent.processes = NULL;
    control_lock(fleet_control(fleet));
}

static void engine_close(void)
{
    control_unlock(fleet_control(fleet));
    capture_engine_free(&engine);
    fleet_free(&fleet);
    catalog_close(&catalog);
    temp_dir_free(&folder);
}

static void tick(void)
{
    control_assert_locked(fleet_control(fleet));
    capture_tick(engine, clock_monotonic_ns());
}

static struct process_uid process_of(uint8_t number)
{
    struct process_uid uid;
    memset(uid.bytes, number, sizeof uid.bytes);
    return uid;
}

static struct capture *fired_capture(void)
{
    control_assert_locked(fleet_control(fleet));
    struct report_fired fired = {.capture = capture_id_new(),
                                 .process = process_of(1),
                                 .trigger = TRIGGER_HEALTH,
                                 .rule = "",
                                 .policy = "",
                                 .reason = "",
                                 .pid = 1,
                                 .service = "shop",
                                 .labels = "",
                                 .exe = "",
                                 .at_ns = clock_realtime_ns(),
                                 .pre_ms = 1000};
    ck_assert_int_eq(capture_on_fired(engine, &agent, &fired, NULL), SKEIN_OK);
    return capture_find(engine, &fired.capture);
}

/* Begun after the setting, before the engine has seen it. */
static void step_and_begin(int64_t by_s)
{
    control_assert_locked(fleet_control(fleet));
    tick();
    ahead_s += by_s;
    struct capture *c = fired_capture();
    tick();
    ck_assert_int_eq(c->status, CAPTURE_RUNNING);
    uint64_t left_ns = c->deadline_ns - clock_realtime_ns();
    ck_assert_uint_gt(left_ns, 10 * SECOND);
    ck_assert_uint_le(left_ns, 21 * SECOND);
    tick();
    ck_assert_int_eq(c->status, CAPTURE_RUNNING);
    capture_tick(engine, clock_monotonic_ns() + 25 * SECOND);
    ck_assert_int_eq(c->status, CAPTURE_INCOMPLETE);
}

START_TEST(capture_begun_after_a_setting_has_all_of_its_time)
{
    engine_open();
    step_and_begin(-HOUR_S);
    step_and_begin(HOUR_S);
    step_and_begin(-25);
    engine_close();
}
END_TEST

START_TEST(capture_under_way_keeps_its_time)
{
    engine_open();
    static const int64_t steps[] = {-HOUR_S, HOUR_S, 30, -30};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct capture *c = fired_capture();
        ahead_s += steps[i];
        tick();
        ck_assert_int_eq(c->status, CAPTURE_RUNNING);
        ck_assert_uint_le(c->deadline_ns - clock_realtime_ns(), 21 * SECOND);
        capture_tick(engine, clock_monotonic_ns() + 25 * SECOND);
        ck_assert_int_eq(c->status, CAPTURE_INCOMPLETE);
    }
    engine_close();
}
END_TEST

/* A process that ended two seconds before the clock was set lived in the five seconds before it. */
START_TEST(processes_that_ended_before_a_setting_are_targets_after_it)
{
    engine_open();
    static const int64_t steps[] = {-HOUR_S, HOUR_S};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const struct process_uid uid = process_of((uint8_t)(10 + i));
        fleet_follow_clock(fleet);
        struct fleet_process *p = fleet_process_add(fleet, &agent, &uid);
        ck_assert_ptr_nonnull(p);
        snprintf(p->service, sizeof p->service, "gone%zu", i);
        p->start_ns = clock_realtime_ns() - 60 * SECOND;
        p->ended_ns = clock_realtime_ns() - 2 * SECOND;
        ahead_s += steps[i];
        char selector[32], error[128];
        snprintf(selector, sizeof selector, "service=gone%zu", i);
        struct capture_request request = {.selector_text = selector,
                                          .reason = "",
                                          .pre_ms = 5000,
                                          .deadline_ms = 20000,
                                          .unsaved = true};
        struct selector *parsed = NULL;
        ck_assert_int_eq(selector_new(selector, &parsed, error, sizeof error), SKEIN_OK);
        request.selector = parsed;
        struct capture_id id;
        ck_assert_int_eq(capture_create_locked(engine, &request, &id, NULL), SKEIN_OK);
        ck_assert_uint_eq(capture_find(engine, &id)->target_count, 1);
        selector_free(&parsed);
    }
    engine_close();
}
END_TEST

/* What a run before has kept, by a clock that was set back since, ends all the same. */
START_TEST(deadline_that_is_loaded_is_no_longer_than_it_was)
{
    engine_open();
    const struct capture *c = fired_capture();
    const struct capture_id id = c->id;
    ck_assert_int_eq(control_save(fleet_control(fleet)), SKEIN_OK);
    capture_discard(engine, capture_find(engine, &id));
    ahead_s -= HOUR_S;
    c = capture_find(engine, &id);
    ck_assert_ptr_nonnull(c);
    ck_assert_int_eq(c->status, CAPTURE_RUNNING);
    capture_tick(engine, clock_monotonic_ns() + 25 * SECOND);
    ck_assert_int_eq(c->status, CAPTURE_INCOMPLETE);
    engine_close();
}
END_TEST

/* While the collector was away, the clock was set forward: what ran then runs on, and ends in time. */
START_TEST(deadline_that_seems_to_be_over_is_given_once_more)
{
    engine_open();
    static const int64_t steps[] = {HOUR_S, 25, 15, 400 * 24 * HOUR_S};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const struct capture *c = fired_capture();
        const struct capture_id id = c->id;
        ck_assert_int_eq(control_save(fleet_control(fleet)), SKEIN_OK);
        capture_discard(engine, capture_find(engine, &id));
        ahead_s += steps[i];
        c = capture_find(engine, &id);
        ck_assert_ptr_nonnull(c);
        capture_tick(engine, clock_monotonic_ns() + 10 * SECOND);
        ck_assert_int_eq(c->status, CAPTURE_RUNNING);
        ck_assert_uint_le(c->deadline_ns - clock_realtime_ns(), 21 * SECOND);
        capture_tick(engine, clock_monotonic_ns() + 25 * SECOND);
        ck_assert_int_eq(c->status, CAPTURE_INCOMPLETE);
    }
    engine_close();
}
END_TEST

int main(void)
{
    return suite_run(suite_of("capture_clock", capture_begun_after_a_setting_has_all_of_its_time,
                              capture_under_way_keeps_its_time,
                              processes_that_ended_before_a_setting_are_targets_after_it,
                              deadline_that_is_loaded_is_no_longer_than_it_was,
                              deadline_that_seems_to_be_over_is_given_once_more, NULL));
}
