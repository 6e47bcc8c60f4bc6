/* SPDX-License-Identifier: Apache-2.0
 *
 * What a policy is in the set of policies (named_set.h), samples and budgets. Guarded by the
 * control lock.
 */
#include "policies.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "capture_control.h"
#include "checksum.h"
#include "clock.h"
#include "event_groups.h"
#include "evidence_kinds.h"
#include "json.h"
#include "log.h"
#include "policyset_int.h"
#include "pushed_policy.h"

#define DAY_NS  (UINT64_C(86400) * 1000000000u)
#define LOOK_NS UINT64_C(1000000000)

#define UNKNOWN_RECORD_MS 60000 /* at most, of a part of a sample whose policy is gone */

/* ---- the list ---- */

struct policy *policies_find(struct policies *p, const char *name)
{
    control_assert_locked(p->control);
    return (struct policy *)named_set_find(&p->set, name);
}

struct named_set *policies_set(struct policies *p)
{
    return &p->set;
}

static void policy_free(struct named_item *item)
{
    struct policy *policy = (struct policy *)item;
    selector_free(&policy->selector);
    free(policy->paused);
    free(policy->users);
    free(policy);
}

static struct named_item *policy_make(const cJSON *json)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "selector"));
    char error[160];
    struct evidence_wish wish;
    const cJSON *limits = cJSON_GetObjectItemCaseSensitive(json, "limits");
    const cJSON *retain = cJSON_GetObjectItemCaseSensitive(json, "retain");
    struct policy *policy = calloc(1, sizeof *policy);
    if (policy == NULL || selector_new(text, &policy->selector, error, sizeof error) != SKEIN_OK) {
        free(policy);
        return NULL;
    }
    policy->enabled = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "enabled"));
    policy->plan =
        (struct sampling_plan){named_number(json, "record_ms"), named_number(json, "every_ms")};
    policy->bytes_per_day = named_number(limits, "bytes_per_day");
    policy->ttl_ms = named_number(retain, "ttl_ms");
    policy->pin = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(retain, "pin"));
    policy->groups = event_groups_get(&(struct json_reader){{0}}, json, "groups");
    policy->samples_hz = named_number(json, "samples_hz");
    policy->agent_cpu_percent = named_number(limits, "agent_cpu_percent");
    evidence_wish_told(&(struct json_reader){{0}}, json, "", false, &wish);
    policy->kinds = wish.kinds;
    return &policy->item;
}

/* What a policy has done goes over to the one that replaces it: at each look whether it may, and when it
 * is saved. */
static void policy_inherit(struct named_item *item, const struct named_item *before)
{
    struct policy *fresh = (struct policy *)item;
    const struct policy *old = (const struct policy *)before;
    fresh->day = old->day;
    fresh->bytes_today = old->bytes_today;
    if (old->users == NULL) {
        free(fresh->users);
        fresh->users = NULL;
    } else if (fresh->users != NULL || (fresh->users = malloc(sizeof *fresh->users)) != NULL) {
        *fresh->users = *old->users;
    }
    fresh->held_today = old->held_today;
    memcpy(fresh->held_why, old->held_why, sizeof fresh->held_why);
    fresh->captures = old->captures;
    fresh->last_capture = old->last_capture;
    fresh->suspended = fresh->bytes_per_day > 0 && fresh->bytes_today >= fresh->bytes_per_day;
}

/* ---- the push to agents ---- */

static cJSON *policies_list(void *context, const struct fleet_agent *agent, uint64_t base,
                            cJSON *removed)
{
    (void)agent; /* they get the whole set */
    (void)base;
    (void)removed;
    const struct policies *p = context;
    control_assert_locked(p->control);
    cJSON *set = cJSON_CreateArray();
    bool whole = true;
    for (const struct policy *policy = policies_first(p); policy != NULL;
         policy = policy_next(policy)) {
        if (!policy->enabled)
            continue;
        const struct pushed_policy pushed = {.name = policy->item.name,
                                             .selector = policy->item.selector,
                                             .generation = policy->item.generation,
                                             .record_ms = policy->plan.record_ms,
                                             .every_ms = policy->plan.every_ms,
                                             .agent_cpu_percent = policy->agent_cpu_percent,
                                             .kinds = policy->kinds,
                                             .samples_hz = policy->samples_hz,
                                             .paused = policy->suspended};
        whole &= pushed_policy_put(&pushed, set);
    }
    if (!whole) { /* agents refuse a push without a set, and keep the one that they have */
        cJSON_Delete(set);
        set = NULL;
    }
    return set;
}

/* ---- load and save ---- */

static cJSON *policy_state(void *context, struct named_item *item)
{
    struct policies *p = context;
    control_assert_locked(p->control);
    return policy_state_json(p, (struct policy *)item, clock_realtime_ns());
}

static void policy_save(void *context, struct named_item *item, const char *json)
{
    const struct policies *p = context;
    control_assert_locked(p->control);
    const struct policy *policy = (const struct policy *)item;
    struct catalog_policy row = {item->name,          json,
                                 item->generation,    policy->day,
                                 policy->bytes_today, policy->captures,
                                 policy->last_capture};
    catalog_put_policy(p->catalog, &row);
}

static const struct named_kind policy_kind = {.noun = "policy",
                                              .folder = "policies",
                                              .set = FLEET_POLICIES,
                                              .check = policy_check,
                                              .make = policy_make,
                                              .free = policy_free,
                                              .inherit = policy_inherit,
                                              .save = policy_save,
                                              .drop = catalog_delete_policy,
                                              .state = policy_state,
                                              .list = policies_list};

static int policy_load(void *context, const struct catalog_policy *row)
{
    struct policies *p = context;
    control_assert_locked(p->control);
    struct policy *policy = (struct policy *)named_set_load(&p->set, row->name, row->json);
    if (policy == NULL)
        return 0;
    policy->item.generation = row->generation;
    policy->day = row->day;
    policy->bytes_today = row->bytes;
    policy->captures = row->captures;
    policy->last_capture = row->last_capture;
    return 0;
}

int policies_new(struct fleet *fleet, struct catalog *catalog, struct events *events,
                 struct policies **out)
{
    struct policies *p = calloc(1, sizeof *p);
    *out = p;
    if (p == NULL)
        return SKEIN_NO_MEMORY;
    p->fleet = fleet;
    p->control = fleet_control(fleet);
    p->catalog = catalog;
    named_set_init(&p->set, &policy_kind, p, fleet, catalog, events);
    control_lock(p->control);
    int64_t rows = catalog_policies(catalog, policy_load, p);
    control_unlock(p->control);
    if (rows >= 0)
        return SKEIN_OK;
    policies_free(out);
    return (int)rows;
}

void policies_set_captures(struct policies *p, struct capture_engine *captures)
{
    p->captures = captures;
}

void policies_free(struct policies **policies)
{
    struct policies *p = *policies;
    if (p == NULL)
        return;
    named_set_fini(&p->set);
    free(p);
    *policies = NULL;
}

/* ---- the day's bytes ---- */

static void today(struct policy *policy, uint64_t now_ns)
{
    if (policy->day == now_ns / DAY_NS)
        return;
    policy->day = now_ns / DAY_NS;
    policy->bytes_today = policy->held_today = 0;
    free(policy->users);
    policy->users = NULL;
}

/* Who has the process, as a holder of shares; its user in *user. */
static uint64_t holder_of(struct policies *p, const struct process_uid *process,
                          uint32_t *user) CONTROL_LOCKED
{
    const struct fleet_process *of = fleet_process_find(p->fleet, process);
    *user = of != NULL ? of->user : SHARE_USER_UNKNOWN;
    const uint64_t parts[2] = {of != NULL ? of->agent : 0, *user};
    return checksum64(parts, sizeof parts);
}

/* Whether the day's bytes leave room for a sample of the process: a user of a host may have his
 * share of them (shares.h), root all. */
static bool share_has_room(struct policies *p, struct policy *policy,
                           const struct fleet_agent *agent,
                           const struct report_fired *fired) CONTROL_LOCKED
{
    uint32_t user;
    uint64_t holder = holder_of(p, &fired->process, &user);
    today(policy, clock_realtime_ns());
    if (policy->bytes_per_day == 0 || policy->users == NULL || user == 0)
        return true;
    uint64_t own = share_tally_of(policy->users, holder);
    uint64_t others = policy->bytes_today > own ? policy->bytes_today - own : 0;
    if (own == 0 || own < share_most(policy->bytes_per_day, others))
        return true;
    policy->held_today++;
    snprintf(policy->held_why, sizeof policy->held_why,
             "limits.bytes_per_day: the share of user %" PRIu32 " on %.100s is used up: %" PRIu64
             " bytes of %" PRIu64 ", others have %" PRIu64,
             user, agent->host, own, policy->bytes_per_day, others);
    return false;
}

void policies_on_stored(struct policies *p, const char *name, const struct process_uid *process,
                        uint64_t bytes)
{
    control_assert_locked(p->control);
    struct policy *policy = policies_find(p, name);
    uint32_t user;
    if (policy == NULL)
        return; /* deleted meanwhile */
    today(policy, clock_realtime_ns());
    policy->bytes_today += bytes;
    if (policy->users == NULL)
        policy->users = calloc(1, sizeof *policy->users);
    if (policy->users != NULL)
        share_tally_add(policy->users, holder_of(p, process, &user), bytes);
    named_set_mark(&p->set, &policy->item);
}

/* ---- samples ---- */

int policies_on_fired(struct policies *p, struct fleet_agent *agent,
                      const struct report_fired *fired, char *error, size_t error_bytes)
{
    control_assert_locked(p->control);
    struct policy *policy = policies_find(p, fired->policy);
    if (policy != NULL && !capture_has_target(p->captures, &fired->capture, &fired->process) &&
        !share_has_room(p, policy, agent, fired)) {
        snprintf(error, error_bytes, "%s", policy->held_why);
        return SKEIN_REFUSED;
    }
    bool news = capture_is_news(p->captures, agent, &fired->capture);
    struct capture_sample sample = {.selector = policy != NULL ? policy->item.selector : NULL,
                                    .span_ms = policy != NULL ? sampling_span_ms(&policy->plan) : 0,
                                    .post_ms = fired->post_ms,
                                    .ttl_ms = policy != NULL ? policy->ttl_ms : 0,
                                    .groups = policy != NULL ? policy->groups : 0,
                                    .pin = policy != NULL && policy->pin};
    uint64_t longest_ms = policy != NULL ? policy->plan.record_ms : UNKNOWN_RECORD_MS;
    if (sample.post_ms > longest_ms)
        sample.post_ms = longest_ms;
    int status = capture_on_sample(p->captures, agent, fired, &sample);
    if (status == SKEIN_OK && news && policy != NULL) {
        policy->captures++;
        policy->last_capture = fired->capture;
        named_set_mark(&p->set, &policy->item);
    }
    return status;
}

/* ---- agents that pause ---- */

static void paused_forget(struct policy *policy, uint64_t agent)
{
    for (size_t i = 0; i < policy->paused_count; i++) {
        if (policy->paused[i].agent != agent)
            continue;
        policy->paused[i] = policy->paused[--policy->paused_count];
        return;
    }
}

void policies_agent_changed(struct policies *p, struct fleet_agent *agent)
{
    control_assert_locked(p->control);
    for (struct policy *policy = policies_first(p); policy != NULL; policy = policy_next(policy))
        paused_forget(policy, agent->id);
}

void policies_on_report(struct policies *p, struct fleet_agent *agent,
                        const struct report_policy *report)
{
    control_assert_locked(p->control);
    struct policy *policy = policies_find(p, report->policy);
    if (policy == NULL)
        return;
    paused_forget(policy, agent->id);
    if (!report->paused)
        return;
    if (!array_grow(policy->paused, policy->paused_count + 1, &policy->paused_cap))
        return; /* it is not shown */
    policy->paused[policy->paused_count++] = (struct paused_agent){agent->id, report->cpu_percent};
}

/* ---- the clock ---- */

/* A budget that is used up, or a new day. true: agents must be told. */
static bool budget_look(struct policies *p, struct policy *policy, uint64_t now_ns) CONTROL_LOCKED
{
    today(policy, now_ns);
    bool used_up = policy->bytes_per_day > 0 && policy->bytes_today >= policy->bytes_per_day;
    if (used_up == policy->suspended)
        return false;
    policy->suspended = used_up;
    log_info("policies", used_up ? "suspended: today's budget is used up" : "goes on", "policy",
             policy->item.name, NULL);
    named_set_publish(&p->set, policy->item.name, used_up ? "suspended" : "resumed");
    return true;
}

void policies_tick(struct policies *p, uint64_t now_ns)
{
    control_assert_locked(p->control);
    uint64_t now = clock_monotonic_ns();
    bool changed = false;
    if (now < p->next_look_ns)
        return;
    p->next_look_ns = now + LOOK_NS;
    for (struct policy *policy = policies_first(p); policy != NULL; policy = policy_next(policy))
        changed |= budget_look(p, policy, now_ns);
    if (changed)
        pushed_set_to_all(&p->set.pushed);
}
