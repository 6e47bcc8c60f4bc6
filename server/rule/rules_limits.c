/* SPDX-License-Identifier: Apache-2.0
 *
 * What agents report of rules, and whether a firing may begin a capture: counters, cooldowns,
 * windows. Control thread, under the control lock.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "capture_control.h"
#include "checksum.h"
#include "clock.h"
#include "log.h"
#include "metrics.h"
#include "ruleset_int.h"

#define SWEEP_NS (UINT64_C(60) * 1000000000u)

/* ---- what agents report ---- */

/* An agent's counter since it last told it; an agent that has restarted counts from 0. */
static uint64_t grown(uint64_t before, uint64_t now)
{
    return now >= before ? now - before : now;
}

void rule_note_held(struct rules *r, struct rule *rule, const struct process_uid *process,
                    uint64_t at_ns, const char *why)
{
    control_assert_locked(r->control);
    rule->last_held_ns = at_ns;
    snprintf(rule->last_held_why, sizeof rule->last_held_why, "%s", why);
    rules_note(r, rule->item.name, "suppressed", why, at_ns, process, NULL);
    saving_mark(&rule->item.save);
    control_mark_dirty(r->control);
}

void rules_on_report(struct rules *r, struct fleet_agent *agent, const struct report_rule *report)
{
    control_assert_locked(r->control);
    rules_follow_clock(r);
    struct rule *rule = rules_find(r, report->rule);
    struct rule_process *p = rule != NULL ? rule_process_of(rule, &report->process) : NULL;
    if (p == NULL)
        return;
    uint64_t held_back = grown(p->suppressed, report->suppressed);
    if (held_back > 0) {
        rule->suppressed += held_back;
        metrics_add(rules_suppressed_total, held_back);
        rule_note_held(r, rule, &report->process, clock_realtime_ns(),
                       report->held[0] != '\0' ? log_fmt("held back by the agent: %s", report->held)
                                               : "cooldown, held back by the agent");
    }
    if (!p->reported || strcmp(p->health, report->health) != 0) {
        rules_note(r, rule->item.name, report->health, report->last_error, report->since_ns,
                   &report->process, NULL);
        control_mark_dirty(r->control);
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

void rules_on_refused(struct rules *r, const struct report_fired *fired, const char *why)
{
    control_assert_locked(r->control);
    struct rule *rule = fired->rule[0] != '\0' ? rules_find(r, fired->rule) : NULL;
    if (rule == NULL)
        return;
    rule->suppressed++;
    metrics_add(rules_suppressed_total, 1);
    rule_note_held(r, rule, &fired->process, fired->at_ns != 0 ? fired->at_ns : clock_realtime_ns(),
                   why);
}

/* ---- limits ---- */

bool rule_grant(struct rule *rule, uint64_t at_ns, const struct capture_id *incident, uint32_t user)
{
    size_t old = 0;
    while (old < rule->grant_count && rule->grants[old].at_ns + FIRINGS_KEEP_NS < at_ns)
        old++;
    if (old == 0 && rule->grant_count == RULE_GRANTS_MAX)
        old = 1; /* limits are not above it */
    rule->grant_count -= old;
    if (old > 0)
        memmove(rule->grants, rule->grants + old, rule->grant_count * sizeof *rule->grants);
    if (!array_grow(rule->grants, rule->grant_count + 1, &rule->grant_cap))
        return false;
    rule->grants[rule->grant_count++] =
        (struct rule_grant){.at_ns = at_ns, .user = user, .incident = *incident};
    return true;
}

void rule_recount(struct rule *rule, const struct capture_id *incident)
{
    for (size_t i = 0; i < rule->grant_count; i++)
        if (capture_id_equal(&rule->grants[i].incident, incident))
            rule->grants[i].counted = false;
}

/* A limit counts for all users together. But who has had less than an eighth of it, or nothing, is not
 * held back for what others took: else whoever fires most would keep it from all. */
static bool limit_holds(uint64_t limit, const struct rule_use *use)
{
    uint64_t part = limit / 8 > 0 ? limit / 8 : 1;
    return limit != 0 && use->all >= limit && use->own >= part;
}

struct rule_use rule_grants_within(const struct rule *rule, uint64_t now_ns, uint64_t window_ns,
                                   uint32_t user)
{
    struct rule_use use = {0, 0, 0};
    uint64_t oldest = UINT64_MAX;
    for (size_t i = 0; i < rule->grant_count; i++) {
        uint64_t at_ns = rule->grants[i].at_ns;
        if (at_ns + window_ns <= now_ns)
            continue;
        use.all++;
        use.own += rule->grants[i].user == user;
        oldest = at_ns < oldest ? at_ns : oldest;
    }
    use.left_ns = use.all > 0 ? oldest + window_ns - now_ns : 0;
    return use;
}

struct rule_use rules_grants_hour(struct rules *r, uint64_t now_ns, uint32_t user)
{
    control_assert_locked(r->control);
    struct rule_use sum = {0, 0, 0};
    for (const struct rule *rule = rules_first(r); rule != NULL; rule = rule_next(rule)) {
        struct rule_use some = rule_grants_within(rule, now_ns, HOUR_NS, user);
        if (some.all > 0 && (sum.all == 0 || some.left_ns < sum.left_ns))
            sum.left_ns = some.left_ns;
        sum.all += some.all;
        sum.own += some.own;
    }
    return sum;
}

/* Stored bytes of an incident. If it was deleted, the last count stays. */
static uint64_t bytes_grant(struct rules *r, struct rule_grant *grant) CONTROL_LOCKED
{
    uint64_t bytes;
    if (grant->counted)
        return grant->bytes;
    if (capture_incident_stored(r->captures, &grant->incident, &bytes, &grant->counted))
        grant->bytes = bytes;
    return grant->bytes;
}

static int grants_compare(const void *left, const void *right)
{
    const struct rule_grant *a = left, *b = right;
    return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

/* Appends the rule's grants of the last hour with their bytes, from out[count] on. */
static size_t limits_gather(struct rules *r, struct rule *rule, uint64_t now_ns,
                            struct rule_grant *out, size_t count) CONTROL_LOCKED
{
    for (size_t i = 0; i < rule->grant_count; i++) {
        if (rule->grants[i].at_ns + HOUR_NS <= now_ns)
            continue;
        (void)bytes_grant(r, &rule->grants[i]);
        out[count++] = rule->grants[i];
    }
    return count;
}

struct rule_use rules_bytes_hour(struct rules *r, struct rule *rule, uint64_t now_ns,
                                 uint64_t limit, uint32_t user)
{
    control_assert_locked(r->control);
    struct rule_use use = {0, 0, 0};
    size_t room = 1, count = 0;
    for (const struct rule *one = rules_first(r); one != NULL; one = rule_next(one))
        room += rule == NULL || rule == one ? one->grant_count : 0;
    struct rule_grant *all = calloc(room, sizeof *all);
    if (all == NULL)
        return use; /* no memory for the list: better one capture too many than none */
    for (struct rule *one = rules_first(r); one != NULL; one = rule_next(one))
        if (rule == NULL || rule == one)
            count = limits_gather(r, one, now_ns, all, count);
    qsort(all, count, sizeof *all, grants_compare);
    for (size_t i = 0; i < count; i++) {
        use.all += all[i].bytes;
        use.own += all[i].user == user ? all[i].bytes : 0;
    }
    uint64_t after = use.all;
    for (size_t i = 0; i < count && after >= limit; i++) {
        after -= all[i].bytes;
        use.left_ns = all[i].at_ns + HOUR_NS - now_ns;
    }
    free(all);
    return use;
}

/* Whether the limit of stored bytes is reached. */
static bool bytes_held(struct rules *r, struct rule *rule, const struct rule_ask *ask,
                       uint64_t limit, char why[RULE_WHY_BYTES]) CONTROL_LOCKED
{
    if (limit == 0)
        return false;
    const struct rule_use use = rules_bytes_hour(r, rule, ask->at_ns, limit, ask->user);
    if (!limit_holds(limit, &use))
        return false;
    snprintf(why, RULE_WHY_BYTES,
             "%s: %" PRIu64 " bytes of %" PRIu64 " are stored, the next capture is free in %" PRIu64
             " ms",
             rule != NULL ? "bytes_per_hour" : "rules.bytes_per_hour", use.all, limit,
             (use.left_ns / 1000000u));
    return true;
}

/* Whether the rule, or the user whose process fired, has had its share of what all rules together may
 * begin; else it counts. */
static bool share_held(struct rules *r, const struct rule *rule, const struct rule_ask *ask,
                       char why[RULE_WHY_BYTES]) CONTROL_LOCKED
{
    static const char *const whose[] = {[SHARE_FULL_USER] = "the rule's share",
                                        [SHARE_FULL_PROGRAM] = "the rule's share for this host",
                                        [SHARE_FULL_CAUSE] = "the rule's share for this user",
                                        [SHARE_FULL] = "the bound"};
    const struct fleet_process *process = r->fleet != NULL && ask->process != NULL
                                              ? fleet_process_find(r->fleet, &ask->process->process)
                                              : NULL;
    char host[24] = "", user[16] = "";
    if (process != NULL) {
        snprintf(host, sizeof host, "%016" PRIx64, process->agent);
        snprintf(user, sizeof user, "%" PRIu32, ask->user);
    }
    const struct share_key key =
        share_key_of(checksum64(rule->item.name, strlen(rule->item.name)), host, user);
    enum share_answer answer =
        shares_take(&r->shares, clock_monotonic_ns(), &key, 1, r->captures_per_hour);
    if (answer == SHARE_GRANTED)
        return false;
    snprintf(why, RULE_WHY_BYTES,
             "rules.captures_per_hour: %s is used up (host %.60s, uid %s); all rules together have "
             "begun %" PRIu64 " of %" PRIu64,
             whose[answer], process != NULL ? process->host : "", user,
             shares_used(&r->shares, clock_monotonic_ns()), r->captures_per_hour);
    return true;
}

static bool cooldown_held(const struct rule *rule, const struct rule_ask *ask,
                          char why[RULE_WHY_BYTES])
{
    const struct rule_process *p = ask->process;
    if (p == NULL || p->granted_ns == 0 || ask->at_ns < p->granted_ns ||
        ask->at_ns - p->granted_ns >= rule->cooldown_ms * 1000000u)
        return false;
    snprintf(why, RULE_WHY_BYTES,
             "cooldown: the rule fired for this process %" PRIu64 " ms before, of %" PRIu64 " ms",
             ((ask->at_ns - p->granted_ns) / 1000000u), rule->cooldown_ms);
    return true;
}

static bool grants_held(const struct rule *rule, const struct rule_ask *ask,
                        char why[RULE_WHY_BYTES])
{
    const struct {
        const char *name;
        uint64_t limit, window_ns;
    } windows[] = {{"firings", rule->firings, rule->window_ms * 1000000u},
                   {"captures_per_hour", rule->captures_per_hour, HOUR_NS}};
    for (size_t i = 0; i < 2; i++) {
        const struct rule_use use =
            rule_grants_within(rule, ask->at_ns, windows[i].window_ns, ask->user);
        if (!limit_holds(windows[i].limit, &use))
            continue;
        snprintf(why, RULE_WHY_BYTES,
                 "%s: %" PRIu64 " of %" PRIu64 " are used, the next is free in %" PRIu64 " ms",
                 windows[i].name, use.all, windows[i].limit, (use.left_ns / 1000000u));
        return true;
    }
    return false;
}

bool rule_held(struct rules *r, struct rule *rule, const struct rule_ask *ask,
               char why[RULE_WHY_BYTES])
{
    control_assert_locked(r->control);
    if (cooldown_held(rule, ask, why))
        return true;
    if (ask->joins)
        return false;
    if (grants_held(rule, ask, why))
        return true;
    const struct rule_use all = rules_grants_hour(r, ask->at_ns, ask->user);
    if (limit_holds(r->captures_per_hour, &all)) {
        snprintf(why, RULE_WHY_BYTES,
                 "rules.captures_per_hour: all rules together have used %" PRIu64
                 ", the next is free in "
                 "%" PRIu64 " ms",
                 all.all, (all.left_ns / 1000000u));
        return true;
    }
    return bytes_held(r, rule, ask, rule->bytes_per_hour, why) ||
           bytes_held(r, NULL, ask, r->bytes_per_hour, why) ||
           (r->captures_per_hour != 0 && share_held(r, rule, ask, why));
}

/* Tells of a capture that ended before its rule was known, because its agent's reports came first.
 * It is still the only one of its incident. */
static void begun_tell(struct rules *r, const struct rule *rule,
                       const struct capture_id *capture) CONTROL_LOCKED
{
    uint64_t bytes;
    bool ended;
    if (!capture_incident_stored(r->captures, capture, &bytes, &ended))
        return;
    rules_tell(r, rule, "rule.fired", capture_listing(r->captures, capture));
    if (ended)
        rules_tell(r, rule, "capture.finished", capture_listing(r->captures, capture));
}

int rule_note_fired(struct rules *r, struct rule *rule, struct rule_process *p, uint64_t at_ns,
                    const struct rule_capture *capture, const char *why)
{
    control_assert_locked(r->control);
    bool begins = capture_id_equal(&capture->id, &capture->incident);
    if (begins && !rule_grant(rule, at_ns, &capture->incident, capture->user))
        return SKEIN_NO_MEMORY;
    if (!begins)
        rule_recount(rule, &capture->incident);
    p->granted_ns = at_ns;
    p->capture = capture->id;
    saving_mark(&p->save);
    saving_mark(&rule->item.save);
    control_mark_dirty(r->control);
    rule->fired++;
    if (begins) {
        rule->last_fired_ns = at_ns;
        rule->last_capture = capture->id;
        snprintf(rule->last_why, sizeof rule->last_why, "%s", why);
    }
    rules_note(r, rule->item.name, begins ? "fired" : "joined", why, at_ns, &p->process, capture);
    if (begins && rule->receiver != NULL)
        begun_tell(r, rule, &capture->id);
    metrics_add(rules_fired_total, 1);
    return SKEIN_OK;
}

/* ---- the sweep ---- */

/* Forgets processes that the fleet has forgotten and whose cooldown is over. */
static void rule_sweep(struct rules *r, struct rule *rule, uint64_t now_ns) CONTROL_LOCKED
{
    struct rule_process *old[64];
    size_t count = 0, at = 0;
    for (struct rule_process *p; count < 64 && (p = idmap_next(&rule->processes, &at)) != NULL;) {
        const struct fleet_process *process = fleet_process_find(r->fleet, &p->process);
        if (process != NULL && !process->live)
            p->reported = false;
        if ((process == NULL || !process->live) && p->save == SAVE_NOTHING &&
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
    control_assert_locked(r->control);
    const uint64_t mono_ns = clock_monotonic_ns();
    rules_follow_clock(r);
    for (struct rule *rule = rules_first(r); rule != NULL; rule = rule_next(rule))
        if (rule->every_ms != 0)
            rules_schedule(r, rule, now_ns);
    if (mono_ns < r->sweep_ns)
        return;
    bool hourly = r->sweep_ns / HOUR_NS != mono_ns / HOUR_NS;
    r->sweep_ns = mono_ns + SWEEP_NS;
    for (struct rule *rule = rules_first(r); rule != NULL; rule = rule_next(rule))
        rule_sweep(r, rule, now_ns);
    if (hourly) {
        saving_mark(&r->sweep);
        control_mark_dirty(r->control);
    }
}
