/* SPDX-License-Identifier: Apache-2.0
 *
 * One rule on one process: what becomes of each look at its condition, its firing, its report. Loop
 * thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_report.h"
#include "clock.h"
#include "json.h"
#include "log.h"
#include "rules_int.h"

#define MS UINT64_C(1000000)

static void report_key(const struct watch_item *watch, char key[192])
{
    char process[ID_TEXT_BYTES];
    id_text(watch->process->uid.bytes, process);
    snprintf(key, 192, "rule:%s:%s", watch->spec->name, process);
}

void watch_report(struct watch_item *watch)
{
    static const char *const words[] = {"unknown", "passing", "failing"};
    struct agent_rules *rules = watch->rules;
    cJSON *root = cJSON_CreateObject();
    report_add_agent(root, rules->settings.agent);
    cJSON_AddStringToObject(root, "kind", "rule");
    cJSON_AddStringToObject(root, "rule", watch->spec->name);
    report_add_id(root, "process", watch->process->uid.bytes);
    cJSON_AddStringToObject(root, "health", words[watch->health]);
    json_add_u64(root, "since_ns", watch->since_ns);
    json_add_u64(root, "checks", watch->checks);
    json_add_u64(root, "failures", watch->failures);
    cJSON_AddStringToObject(root, "last_error", watch->last_error);
    json_add_u64(root, "fired", watch->fired);
    json_add_u64(root, "suppressed", watch->suppressed);
    struct buf text = {0};
    json_print(root, &text);
    cJSON_Delete(root);
    char key[192];
    report_key(watch, key);
    if (text.status == SKEIN_OK)
        (void)uplink_report(rules->settings.uplink, key, NULL, NULL, (const char *)text.data,
                            text.len);
    buf_fini(&text);
}

static void set_health(struct watch_item *watch, enum health health, uint64_t at_ns)
{
    if (watch->health == health)
        return;
    watch->health = health;
    watch->since_ns = at_ns;
    log_info("rules", health == HEALTH_PASSING ? "check passes" : "check fails", "rule",
             watch->spec->name, "service", watch->process->service, "pid",
             log_fmt("%u", watch->process->pid), "reason",
             health == HEALTH_PASSING ? "" : watch->last_error, NULL);
    watch_report(watch);
}

/* What could not be checked is no failure of the service: it is told, and nothing fires. */
static void take_not_run(struct watch_item *watch, const struct check_result *result)
{
    if (watch->health == HEALTH_UNKNOWN && strcmp(watch->last_error, result->reason) == 0)
        return;
    snprintf(watch->last_error, sizeof watch->last_error, "%s", result->reason);
    watch->health = HEALTH_UNKNOWN;
    watch->since_ns = result->at_ns;
    log_warn("rules", "not checked", "rule", watch->spec->name, "service", watch->process->service,
             "reason", watch->last_error, NULL);
    watch_report(watch);
}

static bool in_grace(const struct watch_item *watch, uint64_t at_ns)
{
    return !watch->passed_once &&
           at_ns < watch->process->start_ns + watch->rules->settings.startup_grace_ms * MS;
}

static void fire(struct watch_item *watch, uint64_t at_ns)
{
    watch->fired_now = true;
    uint64_t cooldown_ns = watch->spec->cooldown_ms * MS;
    if (watch->last_fired_ns != 0 && at_ns < watch->last_fired_ns + cooldown_ns) {
        watch->suppressed++;
        watch_report(watch);
        return;
    }
    watch->last_fired_ns = at_ns;
    watch->fired++;
    struct capture_order order = {.capture = capture_id_new(),
                                  .trigger = TRIGGER_HEALTH,
                                  .rule = watch->spec->name,
                                  .reason = watch->last_error,
                                  .at_ns = at_ns,
                                  .pre_ms = watch->spec->pre_ms,
                                  .post_ms = watch->spec->post_ms};
    (void)captures_begin(watch->rules->settings.captures, &order, watch->process);
    watch_report(watch);
}

void watch_take(struct watch_item *watch, const struct check_result *result)
{
    if (result->not_run) {
        take_not_run(watch, result);
        return;
    }
    watch->checks++;
    if (result->passed) {
        watch->failures_in_row = 0;
        watch->fired_now = false;
        watch->passed_once = true;
        watch->last_error[0] = '\0';
        set_health(watch, HEALTH_PASSING, result->at_ns);
        return;
    }
    watch->failures++;
    watch->failures_in_row++;
    snprintf(watch->last_error, sizeof watch->last_error, "%s", result->reason);
    if (!watch->fired_now && watch->failures_in_row >= watch->spec->failures &&
        !in_grace(watch, result->at_ns))
        fire(watch, result->at_ns);
    set_health(watch, HEALTH_FAILING, result->at_ns);
}

void watch_hinder(struct watch_item *watch, const char *why)
{
    snprintf(watch->last_error, sizeof watch->last_error, "%s", why);
    log_error("rules", watch->last_error, "rule", watch->spec->name, "service",
              watch->process->service, NULL);
    watch_report(watch);
}

int watch_begin(struct agent_rules *rules, struct rule_spec *spec, struct process *process)
{
    struct watch_item *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return SKEIN_NO_MEMORY;
    watch->rules = rules;
    watch->spec = spec;
    watch->process = process_ref(process);
    watch->since_ns = clock_realtime_ns();
    TAILQ_INSERT_TAIL(&rules->watches, watch, link);
    health_start(watch);
    return SKEIN_OK;
}

void watch_end(struct watch_item *watch)
{
    char key[192];
    report_key(watch, key);
    uplink_forget(watch->rules->settings.uplink, key);
    TAILQ_REMOVE(&watch->rules->watches, watch, link);
    health_stop(watch);
    process_unref(&watch->process);
    free(watch);
}
