/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of rules, and of what goes when it is old, when somebody sets the collector's clock:
 * this program's own. Through HTTP and the agents' port.
 */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "collector_fixture.h"
#include "json.h"
#include "support.h"

#define PATH   "/api/v1/rules/ping"
#define HOUR_S INT64_C(3600)
#define DAY_S  (24 * HOUR_S)

static int64_t ahead_s; /* atomic; of the true time */

/* Takes the C library's place. */
int clock_gettime(clockid_t id, struct timespec *now)
{
    long status = syscall(SYS_clock_gettime, id, now);
    if (status == 0 && id == CLOCK_REALTIME)
        now->tv_sec += __atomic_load_n(&ahead_s, __ATOMIC_RELAXED);
    return (int)status;
}

static void clock_set_by(int64_t by_s)
{
    __atomic_fetch_add(&ahead_s, by_s, __ATOMIC_RELAXED);
}

/* Whether the firing began a capture; else it was held back, and the words say why. */
static bool fire(struct fixture *f, const char *id, uint32_t process, const char *words)
{
    char error[256];
    bool ok = wire_agent_report(&f->agent,
                                wire_fired(&f->agent, id, process, "ping", clock_realtime_ns()),
                                error, sizeof error);
    ck_assert_msg(ok || strstr(error, words) != NULL, "%s", error);
    return ok;
}

static void rule_put(struct fixture *f, const char *when, const char *limits)
{
    char rule[256];
    (void)snprintf(rule, sizeof rule,
                   "{\"selector\":\"\",\"when\":{%s},\"limits\":{%s},"
                   "\"capture\":{\"pre_ms\":1,\"post_ms\":0}}",
                   when, limits);
    cJSON_Delete(call_json(f, "PUT", PATH, rule, 201));
}

START_TEST(a_cooldown_lasts_as_long_as_it_was_to)
{
    struct fixture f;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    rule_put(&f, "\"crash\":{}", "\"cooldown_ms\":600000");
    ck_assert(fire(&f, "01a100000000000000000000000000b1", 1, ""));
    clock_set_by(-HOUR_S); /* it is in the future */
    ck_assert(!fire(&f, "01a100000000000000000000000000b2", 1, "cooldown"));
    cJSON *rule = call_json(&f, "GET", PATH, NULL, 200);
    uint64_t fired_ns;
    ck_assert_int_eq(clock_parse(text_at(rule, "state.last_fired"), &fired_ns), SKEIN_OK);
    ck_assert_uint_le(fired_ns, clock_realtime_ns());
    cJSON_Delete(rule);
    clock_set_by(3 * HOUR_S); /* it is over, as far as the clock says */
    ck_assert(!fire(&f, "01a100000000000000000000000000b3", 1, "cooldown"));
    fixture_restart(&f); /* what was moved is what is kept */
    cJSON_Delete(wire_agent_hello(&f.agent));
    ck_assert(!fire(&f, "01a100000000000000000000000000b4", 1, "cooldown"));
    fixture_stop(&f);
}
END_TEST

START_TEST(a_limit_counts_the_time_that_went_by)
{
    struct fixture f;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    rule_put(&f, "\"crash\":{}", "\"cooldown_ms\":0,\"captures_per_hour\":1");
    ck_assert(fire(&f, "01a100000000000000000000000000c1", 1, ""));
    clock_set_by(2 * HOUR_S);
    ck_assert(!fire(&f, "01a100000000000000000000000000c2", 2, "captures_per_hour"));
    fixture_stop(&f);
}
END_TEST

struct looked {
    struct fixture *fixture;
    double before;
};

static double times_due(struct fixture *f)
{
    cJSON *rule = call_json(f, "GET", PATH, NULL, 200);
    double times = number_at(rule, "state.fired") + number_at(rule, "state.suppressed");
    cJSON_Delete(rule);
    return times;
}

static bool was_due(void *context)
{
    const struct looked *looked = context;
    return times_due(looked->fixture) > looked->before;
}

START_TEST(a_schedule_goes_on_by_the_clock_as_it_is_set)
{
    struct fixture f;
    fixture_start(&f);
    struct looked looked = {&f, 0};
    rule_put(&f, "\"schedule\":{\"every_ms\":1000}", "");
    ck_assert(wait_until(was_due, &looked, 0));
    clock_set_by(-HOUR_S);
    looked.before = times_due(&f) + 1; /* the last may have been due before */
    ck_assert(wait_until(was_due, &looked, 0));
    fixture_stop(&f);
}
END_TEST

/* A capture that has ended, as nobody answers. */
static void capture_ended(struct fixture *f, uint64_t ttl_ms, char path[96])
{
    char body[160];
    (void)snprintf(body, sizeof body,
                   "{\"selector\":\"service=shop\",\"pre_ms\":100,\"deadline_ms\":100,"
                   "\"ttl_ms\":%u}",
                   (unsigned)ttl_ms);
    cJSON *capture = call_json(f, "POST", "/api/v1/captures", body, 202);
    (void)snprintf(path, 96, "/api/v1/captures/%s", text_at(capture, "capture"));
    cJSON_Delete(capture);
    wait_for_text(f, path, "status", "incomplete");
}

struct asked {
    const struct fixture *fixture;
    const char *path;
};

static bool is_gone(void *context)
{
    const struct asked *asked = context;
    struct http_response response;
    call(asked->fixture, "GET", asked->path, NULL, NULL, &response);
    const bool gone = response.status == 404;
    http_response_fini(&response);
    return gone;
}

/* Two that ended before: one of them is to be kept for longer than this test runs. */
START_TEST(a_clock_set_forward_does_not_make_all_captures_old)
{
    struct fixture f;
    char kept[96], brief[96], later[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    capture_ended(&f, 600000, kept);
    capture_ended(&f, 1000, brief);
    clock_set_by(DAY_S);
    capture_ended(&f, 1000, later);
    ck_assert(wait_until(is_gone, &(struct asked){&f, brief}, 0));
    ck_assert(wait_until(is_gone, &(struct asked){&f, later}, 0)); /* in another round */
    cJSON_Delete(call_json(&f, "GET", kept, NULL, 200));
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("clock_set", a_cooldown_lasts_as_long_as_it_was_to,
                              a_limit_counts_the_time_that_went_by,
                              a_schedule_goes_on_by_the_clock_as_it_is_set,
                              a_clock_set_forward_does_not_make_all_captures_old, NULL));
}
