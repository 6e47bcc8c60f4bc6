/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of rules when somebody sets the collector's clock: cooldowns and limits last as long as they
 * were to. Under the control lock.
 *
 *     clock as it was   ──|fired──────────|set back
 *     clock as it is          ──|fired────┘──────────▶   the firing is where it was, seen from now
 */
#include "clock.h"
#include "clock_steps.h"
#include "ruleset_int.h"

static uint64_t time_moved(uint64_t ns, int64_t shift_ns)
{
    return ns != 0 ? clock_shift_ns(ns, shift_ns) : 0;
}

static void rule_move(struct rule *rule, int64_t shift_ns)
{
    size_t at = 0;
    rule->last_fired_ns = time_moved(rule->last_fired_ns, shift_ns);
    rule->last_held_ns = time_moved(rule->last_held_ns, shift_ns);
    for (size_t i = 0; i < rule->grant_count; i++)
        rule->grants[i].at_ns = time_moved(rule->grants[i].at_ns, shift_ns);
    for (struct rule_process *p; (p = idmap_next(&rule->processes, &at)) != NULL;) {
        p->since_ns = time_moved(p->since_ns, shift_ns);
        if (p->granted_ns == 0)
            continue;
        p->granted_ns = time_moved(p->granted_ns, shift_ns);
        saving_mark(&p->save);
    }
    saving_mark(&rule->item.save);
}

void rules_follow_clock(struct rules *r)
{
    control_assert_locked(r->control);
    uint64_t now_ns;
    const uint64_t clock = clock_setting(&now_ns);
    const int64_t shift_ns = clock_setting_shift(r->clock, clock);
    if (r->clock == clock)
        return;
    r->clock = clock;
    for (struct rule *rule = rules_first(r); rule != NULL; rule = rule_next(rule)) {
        rule_move(rule, shift_ns);
        /* Times of a schedule are those that the clock says: they come again if it is set back. */
        const uint64_t slot = rule_slot(rule, now_ns);
        rule->slot = slot < rule->slot ? slot : rule->slot;
    }
    control_mark_dirty(r->control);
}

uint64_t rule_time_past(uint64_t ns)
{
    const uint64_t now_ns = clock_realtime_ns();
    return ns < now_ns ? ns : now_ns;
}
