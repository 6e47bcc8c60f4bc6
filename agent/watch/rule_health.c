/* SPDX-License-Identifier: Apache-2.0
 *
 * Health rules: when a check runs and what its silence means. A check of kind exec, http, tcp or
 * unix runs in a thread (checks.c); a heartbeat has come already or it has not, so a timer looks.
 * Loop thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>

#include "agent_clock.h"
#include "clock.h"
#include "rule_program.h"
#include "rules_int.h"

/* What a service says is looked at when it comes, but no more often than this: one that changes its
 * mind all the time must not keep the loop busy. The library holds equal words back as long. */
#define HEARD_MS 50

static void heartbeat_judge(const struct watch_item *watch, uint64_t now_ns,
                            struct check_result *result)
{
    const struct process *p = watch->process;
    uint64_t limit_ms = watch->spec->silent_ms;
    uint64_t wall_ns = agent_clock_ns();
    uint64_t since_attach_ns = wall_ns > p->attached_ns ? wall_ns - p->attached_ns : 0;
    uint64_t silent_ms =
        (p->heartbeat.came ? now_ns - p->heartbeat.at_ns : since_attach_ns) / NS_PER_MS;
    result->at_ns = wall_ns;
    if (silent_ms > limit_ms + HEARD_MS)
        snprintf(result->reason, sizeof result->reason,
                 "no heartbeat %s %" PRIu64 " ms (limit %" PRIu64 " ms)",
                 p->heartbeat.came ? "for" : "since the service attached, for", silent_ms,
                 limit_ms);
    else if (p->heartbeat.came && !p->heartbeat.ok)
        snprintf(result->reason, sizeof result->reason, "the service says that it is not well%s%s",
                 p->heartbeat.why[0] != '\0' ? ": " : "", p->heartbeat.why);
    else
        result->passed = p->heartbeat.came;
}

static void heartbeat_look(void *context)
{
    struct watch_item *watch = context;
    uint64_t now_ns = clock_monotonic_ns();
    struct check_result result = {.passed = false};
    heartbeat_judge(watch, now_ns, &result);
    if (!result.passed && result.reason[0] == '\0')
        return; /* it attached a moment ago: neither well nor silent */
    watch->looked_ns = now_ns;
    watch_take(watch, &result);
}

void health_heard(struct watch_item *watch)
{
    const struct process *p = watch->process;
    if (watch->spec->kind != CHECK_HEARTBEAT)
        return;
    bool news =
        p->heartbeat.ok != (watch->health == HEALTH_PASSING) || watch->health == HEALTH_UNKNOWN;
    if (watch->timer != NULL && news &&
        clock_monotonic_ns() >= watch->looked_ns + HEARD_MS * NS_PER_MS)
        heartbeat_look(watch);
}

/* ---- checks ----
 *
 * A run that has not answered within the rule's timeout has failed, but it goes on: what it began
 * in the service may go on too, and a second run beside it would make an outage worse. While it
 * does not answer, each `every_ms` counts as one more failure.
 *
 *   due        timeout     every       answers         due
 *    |------------|----------|------------|-------------|
 *    | run        fails      fails        | rest: as long as it took, at most 8 * every_ms
 *
 * A rule has one run under way on a host at most. Runs whose time comes meanwhile wait; the one
 * that waits longest is next. A rule that has failed `failures` times looks less often: it waits
 * twice as long each time, up to 8 * every_ms. */
#define BACKOFF_MAX  3    /* doublings */
#define FIRST_MAX_MS 1000 /* spreads the first looks of a rule that comes to many hosts at once */

static void due_run(void *context);

static uint64_t random_below(uint64_t bound)
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number)
        number = clock_monotonic_ns();
    return bound > 0 ? number % bound : 0;
}

/* A tenth more or less. */
static uint64_t jitter(uint64_t ms)
{
    return ms - ms / 10 + random_below(ms / 5 + 1);
}

static void run_at(struct watch_item *watch, uint64_t at_ns)
{
    struct loop *loop = watch->rules->settings.loop;
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t wait_ms = at_ns > now_ns ? (at_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS : 0;
    loop_timer_cancel(loop, &watch->timer);
    watch->timer = loop_timer_add(loop, wait_ms > 0 ? wait_ms : 1, 0, due_run, watch);
    if (watch->timer == NULL)
        watch_hinder(watch, "not checked: the agent is out of memory");
}

/* Whether a run of the rule is under way. *free_ns: until when the rule rests, if none is. */
static bool rule_runs(const struct watch_item *watch, uint64_t *free_ns)
{
    const struct watch_item *other;
    *free_ns = 0;
    TAILQ_FOREACH(other, &watch->rules->watches, link) {
        if (other->spec != watch->spec)
            continue;
        if (other->run.now != NULL)
            return true;
        if (other->run.free_ns > *free_ns)
            *free_ns = other->run.free_ns;
    }
    return false;
}

/* No run of the rule is under way any more: the one that waits longest is next. */
static void rule_next(const struct watch_item *watch)
{
    struct watch_item *other, *first = NULL;
    uint64_t free_ns;
    if (rule_runs(watch, &free_ns))
        return;
    TAILQ_FOREACH(other, &watch->rules->watches, link) {
        if (other->spec == watch->spec && other->run.waits &&
            (first == NULL || other->run.due_ns < first->run.due_ns))
            first = other;
    }
    if (first != NULL)
        run_at(first, free_ns);
}

/* The run has not answered in time, or still has not. */
static void late_take(struct watch_item *watch)
{
    uint64_t took_ms = (clock_monotonic_ns() - watch->run.begun_ns) / NS_PER_MS;
    struct check_result result = {.at_ns = agent_clock_ns()};
    if (!watch->run.late)
        snprintf(result.reason, sizeof result.reason,
                 "check %s did not answer within %" PRIu64 " ms", watch->run.name,
                 watch->spec->timeout_ms);
    else
        snprintf(result.reason, sizeof result.reason,
                 "check %s has not answered for %" PRIu64 " ms", watch->run.name, took_ms);
    watch->run.late = true;
    watch_take(watch, &result);
}

static void run_late(void *context)
{
    struct watch_item *watch = context;
    watch->run.late_timer = NULL; /* one-shot: gone with this call */
    if (check_is_over(watch->run.now))
        return; /* this loop is late, and run_over comes next: it says how long the run took */
    watch->run.late_timer = loop_timer_add(watch->rules->settings.loop, watch->spec->every_ms, 0,
                                           run_late, watch); /* none: fewer failures are counted */
    late_take(watch);
}

static void run_over(void *context, const struct check_result *result)
{
    struct watch_item *watch = context;
    const struct rule_spec *spec = watch->spec;
    uint64_t now_ns = clock_monotonic_ns(), took_ns = result->ended_ns - watch->run.begun_ns;
    uint64_t every_ns = spec->every_ms * NS_PER_MS, rest_ns = every_ns << BACKOFF_MAX;
    struct check_result copy = *result; /* of what check_stop frees */
    loop_timer_cancel(watch->rules->settings.loop, &watch->run.late_timer);
    if (!watch->run.late && !copy.not_run && took_ns > spec->timeout_ms * NS_PER_MS)
        late_take(watch);
    check_stop(&watch->run.now);
    if (!watch->run.late || copy.not_run)
        watch_take(watch, &copy);
    uint64_t over =
        watch->failures_in_row >= spec->failures ? watch->failures_in_row - spec->failures + 1 : 0;
    uint64_t pause_ns = every_ns << (over < BACKOFF_MAX ? over : BACKOFF_MAX);
    watch->run.free_ns = now_ns + (took_ns < rest_ns ? took_ns : rest_ns);
    uint64_t due_ns = watch->run.begun_ns + jitter(pause_ns / NS_PER_MS) * NS_PER_MS;
    run_at(watch, due_ns > watch->run.free_ns ? due_ns : watch->run.free_ns);
    rule_next(watch);
}

static int run_begin(struct watch_item *watch)
{
    const struct agent_rules_settings *settings = &watch->rules->settings;
    struct check_spec *spec =
        rule_spec_check(watch->spec, watch->process->pid, &settings->programs);
    if (spec == NULL)
        return SKEIN_NO_MEMORY;
    check_name(spec, watch->run.name, sizeof watch->run.name);
    watch->run.begun_ns = clock_monotonic_ns(); /* first: the run may be over before we go on */
    int status = check_start(settings->checks, spec, run_over, watch, &watch->run.now);
    if (status != SKEIN_OK)
        return status;
    watch->run.late = false;
    watch->run.late_timer =
        loop_timer_add(settings->loop, watch->spec->timeout_ms, 0, run_late, watch);
    return SKEIN_OK;
}

static void due_run(void *context)
{
    struct watch_item *watch = context;
    uint64_t free_ns, now_ns = clock_monotonic_ns();
    watch->timer = NULL; /* one-shot: gone with this call */
    if (!watch->run.waits)
        watch->run.due_ns = now_ns;
    watch->run.waits = true;
    if (rule_runs(watch, &free_ns))
        return; /* rule_next comes back to it */
    if (free_ns > now_ns) {
        run_at(watch, free_ns);
        return;
    }
    watch->run.waits = false;
    int status = run_begin(watch);
    if (status == SKEIN_OK)
        return;
    watch_hinder(watch, status == SKEIN_FULL
                            ? "not checked: this agent runs checks.max checks already"
                            : "not checked: the agent is out of memory");
    run_at(watch, now_ns + jitter(watch->spec->every_ms) * NS_PER_MS);
}

/* ---- life ---- */

/* A process with a check of its own is first looked at when it has lived for one `every_ms`. One
 * that only serves the connection of another check has mostly ended by then. */
static uint64_t first_ms(const struct rule_spec *spec)
{
    if (!spec->per_service)
        return jitter(spec->every_ms);
    return random_below(spec->every_ms < FIRST_MAX_MS ? spec->every_ms : FIRST_MAX_MS);
}

void health_start(struct watch_item *watch)
{
    health_stop(watch);
    if (watch->spec->kind != CHECK_HEARTBEAT) {
        run_at(watch, clock_monotonic_ns() + first_ms(watch->spec) * NS_PER_MS);
        return;
    }
    if (watch->process->watched) {
        watch_without_ring(watch, "heartbeats");
        return;
    }
    watch->timer = loop_timer_add(watch->rules->settings.loop, watch->spec->every_ms, 1,
                                  heartbeat_look, watch);
    if (watch->timer == NULL)
        watch_hinder(watch, "not checked: the agent is out of memory");
}

void health_stop(struct watch_item *watch)
{
    bool ran = watch->run.now != NULL;
    check_stop(&watch->run.now);
    watch->run.waits = false;
    loop_timer_cancel(watch->rules->settings.loop, &watch->run.late_timer);
    loop_timer_cancel(watch->rules->settings.loop, &watch->timer);
    if (ran)
        rule_next(watch);
}
