/* SPDX-License-Identifier: Apache-2.0
 *
 * Health rules: the looks at one process's health. Those of kind exec, http, tcp and unix come from
 * a check's thread; a heartbeat has come already or it has not, so a timer looks. Loop thread.
 */
#include <stdio.h>

#include "clock.h"
#include "rule_program.h"
#include "rules_int.h"

#define MS UINT64_C(1000000)
/* Words of the service are looked at when they come, but no more often than this: one that changes
 * its mind all the time must not keep the loop busy. The library holds equal words back as long. */
#define HEARD_MS 50

static void heartbeat_judge(const struct watch_item *watch, uint64_t now_ns,
                            struct check_result *result)
{
    const struct process *p = watch->process;
    uint64_t limit_ms = watch->spec->silent_ms;
    uint64_t wall_ns = clock_realtime_ns();
    uint64_t since_attach_ns = wall_ns > p->attached_ns ? wall_ns - p->attached_ns : 0;
    uint64_t silent_ms = (p->heartbeat.came ? now_ns - p->heartbeat.at_ns : since_attach_ns) / MS;
    result->at_ns = wall_ns;
    if (silent_ms > limit_ms + HEARD_MS)
        snprintf(result->reason, sizeof result->reason, "no heartbeat %s %llu ms (limit %llu ms)",
                 p->heartbeat.came ? "for" : "since the service attached, for",
                 (unsigned long long)silent_ms, (unsigned long long)limit_ms);
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
    bool news =
        p->heartbeat.ok != (watch->health == HEALTH_PASSING) || watch->health == HEALTH_UNKNOWN;
    if (watch->timer != NULL && news && clock_monotonic_ns() >= watch->looked_ns + HEARD_MS * MS)
        heartbeat_look(watch);
}

static void check_done(void *context, const struct check_result *result)
{
    watch_take(context, result);
}

static int check_begin(struct watch_item *watch)
{
    const struct agent_rules_settings *settings = &watch->rules->settings;
    struct check_spec *spec =
        rule_spec_check(watch->spec, watch->process->pid, settings->exec_allow);
    return spec == NULL ? SKEIN_NO_MEMORY
                        : check_start(settings->checks, spec, check_done, watch, &watch->check);
}

void health_start(struct watch_item *watch)
{
    int status = SKEIN_OK;
    health_stop(watch);
    if (watch->spec->kind == CHECK_HEARTBEAT) {
        watch->timer = loop_timer_add(watch->rules->settings.loop, watch->spec->every_ms, 1,
                                      heartbeat_look, watch);
        status = watch->timer == NULL ? SKEIN_NO_MEMORY : SKEIN_OK;
    } else {
        status = check_begin(watch);
    }
    if (status != SKEIN_OK)
        watch_hinder(watch, status == SKEIN_FULL
                                ? "not checked: this agent runs checks.max checks already"
                                : "not checked: the agent is out of memory");
}

void health_stop(struct watch_item *watch)
{
    check_stop(&watch->check);
    loop_timer_cancel(watch->rules->settings.loop, &watch->timer);
}
