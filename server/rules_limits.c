/* SPDX-License-Identifier: Apache-2.0
 *
 * What agents report of rules, and whether a firing may begin a capture: counters and cooldowns.
 * Control thread, under the control lock.
 */
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "metrics.h"
#include "ruleset_int.h"

#define SWEEP_NS (UINT64_C(60) * 1000000000u)

/* ---- what agents report ---- */

/* An agent's counter since it last told it; an agent that has restarted counts from 0. */
static uint64_t grown(uint64_t before, uint64_t now)
{
    return now >= before ? now - before : now;
}

void rules_on_report(struct rules *r, struct fleet_agent *agent, const struct control_rule *report)
{
    struct rule *rule = rules_find(r, report->rule);
    struct rule_process *p = rule != NULL ? rule_process_of(rule, &report->process) : NULL;
    if (p == NULL)
        return;
    uint64_t held_back = grown(p->suppressed, report->suppressed);
    if (held_back > 0) {
        rule->suppressed += held_back;
        metrics_add(rules_suppressed_total, held_back);
        rule->dirty = true;
        fleet_mark_dirty(r->fleet);
    }
    p->agent = agent->id;
    p->reported = true;
    p->since_ns = report->since_ns;
    p->checks = report->checks;
    p->failures = report->failures;
    p->fired = report->fired;
    p->suppressed = report->suppressed;
    snprintf(p->health, sizeof p->health, "%s", report->health);
    snprintf(p->last_error, sizeof p->last_error, "%s", report->last_error);
}

int rules_admit(struct rules *r, const char *name, const struct process_uid *process,
                uint64_t at_ns, const struct capture_id *capture, char *error, size_t error_bytes)
{
    struct rule *rule = rules_find(r, name);
    if (rule == NULL)
        return SKEIN_OK;
    struct rule_process *p = rule_process_of(rule, process);
    if (p == NULL)
        return SKEIN_NO_MEMORY;
    rule->dirty = true;
    fleet_mark_dirty(r->fleet);
    uint64_t cooldown_ns = rule->cooldown_ms * 1000000u;
    if (p->granted_ns != 0 && at_ns >= p->granted_ns && at_ns - p->granted_ns < cooldown_ns) {
        rule->suppressed++;
        metrics_add(rules_suppressed_total, 1);
        snprintf(error, error_bytes, "held back: rule %s fired for this process %llu ms before",
                 name, (unsigned long long)((at_ns - p->granted_ns) / 1000000u));
        return SKEIN_REFUSED;
    }
    p->granted_ns = at_ns;
    p->dirty = true;
    rule->fired++;
    rule->last_fired_ns = at_ns;
    rule->last_capture = *capture;
    metrics_add(rules_fired_total, 1);
    return SKEIN_OK;
}

/* Forgets processes that the fleet has forgotten and whose cooldown is over. */
static void sweep_rule(struct rules *r, struct rule *rule, uint64_t now_ns)
{
    struct rule_process *old[64];
    size_t count = 0, at = 0;
    for (struct rule_process *p; count < 64 && (p = idmap_next(&rule->processes, &at)) != NULL;) {
        const struct fleet_process *process = fleet_process_find(r->fleet, &p->process);
        if (process != NULL && !process->live)
            p->reported = false;
        if ((process == NULL || !process->live) && !p->dirty &&
            p->granted_ns + FIRINGS_KEEP_NS < now_ns)
            old[count++] = p;
    }
    for (size_t i = 0; i < count; i++) {
        idmap_remove(&rule->processes, old[i]->process.bytes);
        free(old[i]);
    }
}

void rules_tick(struct rules *r, uint64_t now_ns)
{
    if (now_ns < r->sweep_ns)
        return;
    bool hourly = r->sweep_ns / 3600000000000u != now_ns / 3600000000000u;
    r->sweep_ns = now_ns + SWEEP_NS;
    for (struct rule *rule = r->list; rule != NULL; rule = rule->next)
        sweep_rule(r, rule, now_ns);
    if (hourly) {
        r->sweep = true;
        fleet_mark_dirty(r->fleet);
    }
}
