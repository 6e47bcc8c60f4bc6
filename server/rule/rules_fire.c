/* SPDX-License-Identifier: Apache-2.0
 *
 * Firings of agents, of the schedule, and of triggers from outside. Each becomes a capture that
 * begins an incident, with its neighbours; or one that joins the rule's last incident; or nothing,
 * for a reason. Under the control lock, except rules_trigger, which takes it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_control.h"
#include "checksum.h"
#include "clock.h"
#include "log.h"
#include "ruleset_int.h"

#define SELECTORS_MAX 100 /* in one firing: each looks at the whole fleet under the lock */
#define SELECTOR_MAX  4096
#define VALUE_BYTES   256

static const char value_bytes[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-";

struct process_uid rule_group_uid(const char *group)
{
    struct process_uid uid = {{0}};
    uint64_t hash = checksum64(group, strlen(group));
    memcpy(uid.bytes + 8, &hash, sizeof hash);
    return uid;
}

bool rule_uid_is_group(const struct process_uid *uid)
{
    static const uint8_t zero[8];
    return memcmp(uid->bytes, zero, sizeof zero) == 0;
}

/* ---- neighbours ---- */

static void firing_extend(struct rules *r, const struct rule *rule,
                          const struct capture_id *capture, const struct selector *selector,
                          bool same_host) CONTROL_LOCKED
{
    int64_t added = capture_extend(r->captures, capture, selector, same_host, rule->max_targets);
    if (added < 0)
        log_error("rules", "processes could not be added", "rule", rule->item.name, "error",
                  skein_status_text((int)added), NULL);
}

/* Adds the neighbours of the capture's targets, which so far are the processes that fired. */
static void neighbours_add(struct rules *r, const struct rule *rule,
                           const struct capture_id *capture) CONTROL_LOCKED
{
    struct selector *selector = NULL;
    char error[160];
    if (rule->include == NULL && !rule->same_host)
        return;
    if (selector_new(rule->include != NULL ? rule->include : "", &selector, error, sizeof error) !=
        SKEIN_OK)
        return; /* no memory: rule_check has read it before */
    firing_extend(r, rule, capture, selector, rule->same_host);
    selector_free(&selector);
}

/* ---- firings of agents ---- */

/* Grants of whom nobody knows are anybody's: an older collector has not noted whose they were. */
const struct rule_grant *rule_overlapped(const struct rule *rule, uint64_t at_ns, uint32_t user)
{
    size_t i = rule->grant_count;
    while (i > 0 && rule->grants[i - 1].user != user &&
           rule->grants[i - 1].user != SHARE_USER_UNKNOWN)
        i--;
    if (i == 0)
        return NULL;
    uint64_t began_ns = rule->grants[i - 1].at_ns;
    uint64_t apart = at_ns > began_ns ? at_ns - began_ns : began_ns - at_ns;
    return apart / 1000000u < rule->pre_ms + rule->post_ms ? &rule->grants[i - 1] : NULL;
}

/* Whose process fired. */
static uint32_t fired_user(const struct rules *r, const struct report_fired *fired) CONTROL_LOCKED
{
    if (fired->user != SHARE_USER_UNKNOWN)
        return fired->user;
    const struct fleet_process *process = fleet_process_find(r->fleet, &fired->process);
    return process != NULL ? process->user : SHARE_USER_UNKNOWN;
}

/* Only the first firing of an incident has neighbours, and is told to the rule's receiver. */
static int firing_grant(struct rules *r, struct rule *rule, struct fleet_agent *agent,
                        const struct report_fired *fired, struct rule_process *p,
                        const struct rule_grant *joined) CONTROL_LOCKED
{
    struct rule_capture capture = {
        fired->capture, joined != NULL ? joined->incident : fired->capture, fired_user(r, fired)};
    struct capture_keep keep = {rule->ttl_ms, rule->deadline_ms, rule->pin, &capture.incident,
                                rule->wish};
    int status = capture_on_fired(r->captures, agent, fired, &keep);
    if (status != SKEIN_OK)
        return status;
    if (joined == NULL)
        neighbours_add(r, rule, &fired->capture);
    status = rule_note_fired(r, rule, p, fired->at_ns, &capture, fired->reason);
    return status == SKEIN_NO_MEMORY ? SKEIN_AGAIN : status;
}

int rules_on_fired(struct rules *r, struct fleet_agent *agent, const struct report_fired *fired,
                   char *error, size_t error_bytes)
{
    control_assert_locked(r->control);
    rules_follow_clock(r);
    char why[RULE_WHY_BYTES];
    struct rule *rule = fired->rule[0] != '\0' ? rules_find(r, fired->rule) : NULL;
    if (rule == NULL || !capture_is_news(r->captures, agent, &fired->capture))
        return capture_on_fired(r->captures, agent, fired, NULL);
    struct rule_process *p = rule_process_of(rule, &fired->process);
    if (p == NULL)
        return SKEIN_AGAIN;
    struct rule_ask ask = {.process = p, .user = fired_user(r, fired), .at_ns = fired->at_ns};
    const struct rule_grant *joined = rule_overlapped(rule, fired->at_ns, ask.user);
    if (joined != NULL && !capture_incident_exists(r->captures, &joined->incident))
        joined = NULL;
    ask.joins = joined != NULL;
    if (!rule_held(r, rule, &ask, why))
        return firing_grant(r, rule, agent, fired, p, joined);
    rule->suppressed++;
    rule_note_held(r, rule, &fired->process, fired->at_ns, why);
    capture_refuse(r->captures, agent, &fired->capture);
    snprintf(error, error_bytes, "held back: rule %s: %s", fired->rule, why);
    return SKEIN_REFUSED;
}

/* ---- firings of the collector ---- */

struct firing {
    const char *trigger, *reason;
    uint64_t at_ns;
    char **selectors; /* the first that matches begins the capture; the others add to it */
    size_t count;
    bool more;                    /* there were more than SELECTORS_MAX */
    char without[RULE_WHY_BYTES]; /* why the last alert without a selector has none */
};

/* Begins the capture, in memory only. It is saved together with its neighbours, the cooldown and
 * the notice, so that a crash leaves all of it or nothing. SKEIN_NOT_FOUND: nobody matches. */
static int firing_begin(struct rules *r, const struct rule *rule, const struct firing *f,
                        struct capture_id *id) CONTROL_LOCKED
{
    char error[160];
    int status = SKEIN_NOT_FOUND;
    for (size_t i = 0; i < f->count; i++) {
        struct selector *selector = NULL;
        struct capture_request q = {.selector_text = f->selectors[i],
                                    .at_ns = f->at_ns,
                                    .pre_ms = rule->pre_ms,
                                    .post_ms = rule->post_ms,
                                    .deadline_ms = rule->deadline_ms,
                                    .reason = f->reason,
                                    .trigger = f->trigger,
                                    .rule = rule->item.name,
                                    .max_targets = rule->max_targets,
                                    .ttl_ms = rule->ttl_ms,
                                    .pin = rule->pin,
                                    .wish = rule->wish,
                                    .unsaved = true};
        if (selector_new(f->selectors[i], &selector, error, sizeof error) != SKEIN_OK)
            return SKEIN_INVALID;
        q.selector = selector;
        if (status == SKEIN_NOT_FOUND)
            status = capture_create_locked(r->captures, &q, id, NULL);
        else if (status == SKEIN_OK)
            firing_extend(r, rule, id, selector, false);
        selector_free(&selector);
        if (status != SKEIN_OK && status != SKEIN_NOT_FOUND)
            return status;
    }
    if (status == SKEIN_OK)
        neighbours_add(r, rule, id);
    return status;
}

/* Applies limits, begins the capture, notes both. SKEIN_REFUSED: held back, why says it. */
static int firing_fire(struct rules *r, struct rule *rule, const struct firing *f,
                       const struct process_uid *group, struct capture_id *id,
                       char why[RULE_WHY_BYTES]) CONTROL_LOCKED
{
    uint64_t now_ns = clock_realtime_ns();
    struct rule_process *p = rule_process_of(rule, group);
    const struct rule_ask ask = {.process = p, .user = SHARE_USER_UNKNOWN, .at_ns = now_ns};
    if (p == NULL)
        return SKEIN_NO_MEMORY;
    int status = SKEIN_REFUSED;
    if (!rule->enabled)
        snprintf(why, RULE_WHY_BYTES, "the rule is suspended: enabled is false");
    else if (!rule_held(r, rule, &ask, why))
        status = firing_begin(r, rule, f, id);
    if (status == SKEIN_NOT_FOUND) {
        if (f->count > 0)
            snprintf(why, RULE_WHY_BYTES, "no live process matches %.160s", f->selectors[0]);
        else
            memcpy(why, f->without, RULE_WHY_BYTES);
        status = SKEIN_REFUSED;
    }
    if (status == SKEIN_FULL) {
        snprintf(why, RULE_WHY_BYTES, "the collector's disk is nearly full");
        status = SKEIN_REFUSED;
    }
    if (status == SKEIN_OK)
        return rule_note_fired(r, rule, p, now_ns,
                               &(struct rule_capture){*id, *id, SHARE_USER_UNKNOWN}, f->reason);
    if (status == SKEIN_REFUSED) {
        rule->suppressed++;
        /* A schedule that matches nobody would fill the history with the same words. */
        if (strcmp(f->trigger, "schedule") != 0 || strcmp(why, rule->last_held_why) != 0)
            rule_note_held(r, rule, group, now_ns, why);
    }
    return status;
}

uint64_t rule_slot(const struct rule *rule, uint64_t now_ns)
{
    uint64_t now_ms = now_ns / 1000000u;
    return rule->every_ms == 0 || now_ms < rule->offset_ms
               ? 0
               : (now_ms - rule->offset_ms) / rule->every_ms;
}

void rules_schedule(struct rules *r, struct rule *rule, uint64_t now_ns)
{
    control_assert_locked(r->control);
    char why[RULE_WHY_BYTES];
    uint64_t slot = rule_slot(rule, now_ns);
    struct capture_id id;
    if (slot <= rule->slot || !rule->enabled)
        return;
    rule->slot = slot;
    struct process_uid group = rule_group_uid("");
    struct firing f = {
        .trigger = "schedule", .reason = "schedule", .selectors = &rule->item.selector, .count = 1};
    int status = firing_fire(r, rule, &f, &group, &id, why);
    if (status != SKEIN_OK && status != SKEIN_REFUSED)
        log_error("rules", "a scheduled capture could not begin", "rule", rule->item.name, "error",
                  skein_status_text(status), NULL);
}

/* ---- triggers from outside ---- */

static bool firing_append(char *text, const char *more)
{
    size_t used = strlen(text), need = strlen(more) + 1;
    if (more[0] == '\0')
        return true;
    if (used + 1 + need > SELECTOR_MAX)
        return false;
    snprintf(text + used, SELECTOR_MAX - used, "%s%s", used > 0 ? "," : "", more);
    return true;
}

/* What a selector can compare with an alert's label: "web-1:9100" counts as "web-1", because an
 * instance is a host to us. False: no process can have this value. */
static bool label_value(const char *full, char value[VALUE_BYTES])
{
    if (strlen(full) >= VALUE_BYTES)
        return false;
    snprintf(value, VALUE_BYTES, "%s", full);
    char *colon = strrchr(value, ':');
    if (colon != NULL && strspn(colon + 1, "0123456789") == strlen(colon + 1))
        *colon = '\0';
    return value[0] != '\0' && strspn(value, value_bytes) == strlen(value);
}

/* Narrows the selector by what the alert says. False, and why says it: the alert lacks a label, or
 * has a value that no process can have. */
static bool firing_narrow(char *text, const cJSON *labels, const cJSON *alert,
                          char why[RULE_WHY_BYTES])
{
    const cJSON *map, *of = cJSON_GetObjectItemCaseSensitive(alert, "labels");
    cJSON_ArrayForEach(map, labels) {
        char value[VALUE_BYTES], term[VALUE_BYTES + 80];
        const char *full =
            cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(of, map->valuestring));
        if (full == NULL || !label_value(full, value)) {
            snprintf(why, RULE_WHY_BYTES, "%s label %.63s",
                     full == NULL ? "an alert has no"
                                  : "no process can have the value of an alert's",
                     map->valuestring);
            return false;
        }
        snprintf(term, sizeof term, "%s=%s", map->string, value);
        if (!firing_append(text, term)) {
            snprintf(why, RULE_WHY_BYTES, "an alert's labels are too long for a selector");
            return false;
        }
    }
    return true;
}

static bool alert_is_firing(const cJSON *alert)
{
    const char *status = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(alert, "status"));
    return status == NULL || strcmp(status, "firing") == 0;
}

/* Makes the selectors of a trigger: one, or one for each firing alert; each text once, at most
 * SELECTORS_MAX. */
static int selectors_of(const struct rule *rule, const struct rules_trigger *t, struct firing *f)
{
    const cJSON *labels = cJSON_GetObjectItemCaseSensitive(rule->webhook, "labels"), *alert;
    size_t alerts = t->alerts != NULL ? (size_t)cJSON_GetArraySize(t->alerts) : 1;
    char text[SELECTOR_MAX] = "";
    snprintf(f->without, sizeof f->without, "no alert fires");
    f->count = 0;
    f->selectors = calloc(SELECTORS_MAX, sizeof *f->selectors);
    if (f->selectors == NULL)
        return SKEIN_NO_MEMORY;
    if (!firing_append(text, rule->item.selector) || !firing_append(text, t->selector))
        return SKEIN_INVALID;
    size_t base = strlen(text);
    alert = t->alerts != NULL ? t->alerts->child : NULL;
    for (size_t i = 0; i < alerts && !f->more; i++, alert = alert != NULL ? alert->next : NULL) {
        size_t same = 0;
        text[base] = '\0';
        if (alert != NULL &&
            (!alert_is_firing(alert) || !firing_narrow(text, labels, alert, f->without)))
            continue;
        while (same < f->count && strcmp(f->selectors[same], text) != 0)
            same++;
        f->more = same == SELECTORS_MAX;
        if (same < f->count || f->more)
            continue;
        f->selectors[f->count] = strdup(text);
        if (f->selectors[f->count++] == NULL)
            return SKEIN_NO_MEMORY;
    }
    return SKEIN_OK;
}

static bool is_repeat(struct rule *rule, const struct process_uid *group, struct capture_id *id)
{
    const struct rule_process *p = idmap_get(&rule->processes, group->bytes);
    uint64_t now_ns = clock_realtime_ns();
    if (p == NULL || p->granted_ns == 0 || capture_id_is_zero(&p->capture) ||
        now_ns - p->granted_ns >= rule->cooldown_ms * 1000000u)
        return false;
    *id = p->capture;
    return true;
}

static int trigger_locked(struct rules *r, struct rule *rule, const struct rules_trigger *t,
                          enum rules_trigger_result *result, struct capture_id *capture,
                          char why[RULE_WHY_BYTES]) CONTROL_LOCKED
{
    rules_follow_clock(r);
    struct process_uid group = rule_group_uid(t->group);
    struct firing f = {.trigger = "webhook",
                       .reason = t->reason[0] != '\0' ? t->reason : "webhook",
                       .at_ns = t->at_ns};
    if (is_repeat(rule, &group, capture)) {
        *result = RULES_REPEATED;
        return SKEIN_OK;
    }
    int status = selectors_of(rule, t, &f);
    if (status == SKEIN_OK)
        status = firing_fire(r, rule, &f, &group, capture, why);
    if (status == SKEIN_OK && f.more)
        snprintf(
            why, RULE_WHY_BYTES,
            "the alerts name more than %d different processes or groups; only the first %d are "
            "captured",
            SELECTORS_MAX, SELECTORS_MAX);
    if (status == SKEIN_INVALID)
        snprintf(why, RULE_WHY_BYTES, "the selectors together are too long or do not parse");
    for (size_t i = 0; f.selectors != NULL && i < f.count; i++)
        free(f.selectors[i]);
    free(f.selectors);
    *result = status == SKEIN_OK ? RULES_FIRED : RULES_HELD;
    return status == SKEIN_REFUSED ? SKEIN_OK : status;
}

static struct rule *webhook_rule(struct rules *r, const char *name) CONTROL_LOCKED
{
    struct rule *rule = rules_find(r, name);
    return rule != NULL && rule->webhook != NULL ? rule : NULL;
}

/* Also saves what it leaves behind; with its key, if it has fired. The rule is looked up again
 * where that of a key may have waited: somebody may have replaced it. */
static int trigger_once(struct rules *r, const char *name, const struct rules_trigger *t,
                        enum rules_trigger_result *result, struct capture_id *capture,
                        char why[RULE_WHY_BYTES]) CONTROL_LOCKED
{
    int status = SKEIN_NOT_FOUND;
    struct rule *rule = webhook_rule(r, name);
    *result = RULES_FIRED;
    if (rule != NULL && t->once != NULL) {
        status = capture_find_once(r->captures, t->once, capture);
        rule = webhook_rule(r, name);
    }
    if (status != SKEIN_NOT_FOUND || rule == NULL)
        return status;
    status = trigger_locked(r, rule, t, result, capture, why);
    bool fired = status == SKEIN_OK && *result == RULES_FIRED;
    int saved = capture_save_once(r->captures, fired ? t->once : NULL, capture);
    return status == SKEIN_OK ? saved : status;
}

int rules_trigger(struct rules *r, const char *name, const struct rules_trigger *trigger,
                  enum rules_trigger_result *result, struct capture_id *capture, char *why,
                  size_t why_bytes)
{
    char words[RULE_WHY_BYTES] = "";
    control_lock(r->control);
    int status = trigger_once(r, name, trigger, result, capture, words);
    control_unlock(r->control);
    snprintf(why, why_bytes, "%s", words);
    return status;
}
