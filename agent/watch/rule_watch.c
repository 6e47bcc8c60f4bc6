/* SPDX-License-Identifier: Apache-2.0
 *
 * One rule on one process, or on one service: what becomes of each look at its condition, its
 * firing, its report. Loop thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_clock.h"
#include "clock.h"
#include "json.h"
#include "log.h"
#include "report_rule.h"
#include "rules_int.h"

static void report_key(const struct watch_item *watch, char key[192])
{
    char process[ID_TEXT_BYTES];
    id_text(watch->process->uid.bytes, process);
    snprintf(key, 192, "rule:%s:%s", watch->spec->name, process);
}

static void report_send(const struct watch_item *watch, const char *key)
{
    static const char *const words[] = {"unknown", "passing", "failing"};
    const struct agent_rules *rules = watch->rules;
    struct clock_map map = uplink_clock_map(rules->settings.uplink);
    struct report_rule report = {.agent = rules->settings.agent,
                                 .process = watch->process->uid,
                                 .clock = {.offset_ns = map.offset_ns, .clock = map.clock},
                                 .rule = watch->spec->name,
                                 .health = words[watch->health],
                                 .last_error = watch->last_error,
                                 .held = watch->held,
                                 .since_ns = watch->since_ns,
                                 .checks = watch->checks,
                                 .failures = watch->failures,
                                 .fired = watch->fired,
                                 .suppressed = watch->suppressed - watch->suppressed_before};
    struct buf text = {0};
    report_rule_put(&report, &text);
    if (text.status == SKEIN_OK)
        (void)uplink_report(rules->settings.uplink, key, NULL, NULL, (const char *)text.data,
                            text.len);
    buf_fini(&text);
}

void watch_report(struct watch_item *watch)
{
    char key[192];
    report_key(watch, key);
    report_send(watch, key);
}

void watch_set_health(struct watch_item *watch, enum health health, uint64_t at_ns)
{
    static const char *const words[] = {"check passes", "check fails", "condition is over",
                                        "condition holds"};
    if (watch->health == health)
        return;
    watch->health = health;
    watch->since_ns = at_ns;
    log_info("rules", words[2 * (watch->spec->when != RULE_HEALTH) + (health == HEALTH_FAILING)],
             "rule", watch->spec->name, "service", watch->process->service, "pid",
             log_fmt("%u", watch->process->pid), "reason",
             health == HEALTH_PASSING ? "" : watch->last_error, NULL);
    watch_report(watch);
}

/* What could not be checked is no failure of the service: it is told, and nothing fires. */
static void not_run_take(struct watch_item *watch, const struct check_result *result)
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
    return watch->spec->when == RULE_HEALTH && !watch->passed_once &&
           at_ns < watch->process->start_ns + watch->rules->settings.startup_grace_ms * NS_PER_MS;
}

static uint64_t failures_wanted(const struct rule_spec *spec)
{
    return spec->when == RULE_HEALTH ? spec->failures : 1;
}

enum trigger_type rule_trigger(const struct rule_spec *spec)
{
    static const enum trigger_type triggers[] = {[RULE_HEALTH] = TRIGGER_HEALTH,
                                                 [RULE_LATENCY] = TRIGGER_LATENCY,
                                                 [RULE_LOG] = TRIGGER_LOG,
                                                 [RULE_COUNTER] = TRIGGER_COUNTER,
                                                 [RULE_CPU] = TRIGGER_CPU,
                                                 [RULE_MEMORY] = TRIGGER_MEMORY,
                                                 [RULE_PRESSURE] = TRIGGER_PRESSURE,
                                                 [RULE_CRASH] = TRIGGER_CRASH,
                                                 [RULE_APPLICATION] = TRIGGER_APPLICATION};
    return triggers[spec->when];
}

/* Begins the capture of all processes that the watch is about, as one: the first to be reported
 * names the others. */
static void capture_begin(struct watch_item *watch, struct capture_order *order)
{
    struct captures *captures = watch->rules->settings.captures;
    size_t at = 0, count = 0;
    order->with = calloc(watch->rules->process_count + 1, sizeof *order->with);
    for (struct process *p; order->with != NULL && (p = watch_next_process(watch, &at)) != NULL;)
        if (p != watch->process)
            order->with[count++] = p;
    order->with_count = count;
    struct process **with = order->with;
    (void)captures_begin(captures, order, watch->process);
    order->with = NULL;
    order->with_count = 0;
    for (size_t i = 0; i < count; i++)
        (void)captures_begin(captures, order, with[i]);
    free(with);
}

void watch_fire(struct watch_item *watch, uint64_t at_ns, const char *reason)
{
    const struct rule_spec *spec = watch->spec;
    struct rule_memory *memory = rule_memory_take(watch->rules, watch->memory_key);
    watch->held[0] = '\0';
    bool fires = !rule_memory_cools(memory, at_ns, spec->cooldown_ms) &&
                 captures_admit(watch->rules->settings.captures, watch->process, rule_trigger(spec),
                                spec->name, watch->held);
    if (fires)
        rule_memory_fire(memory, at_ns);
    else
        memory->suppressed++;
    watch->fired = memory->fired;
    watch->suppressed = memory->suppressed;
    if (!fires) {
        watch_report(watch);
        return;
    }
    char sentence[384];
    snprintf(sentence, sizeof sentence, "%.250s%s%.127s", reason,
             spec->when == RULE_HEALTH ? "" : "; rule ",
             spec->when == RULE_HEALTH ? "" : spec->name);
    struct capture_order order = {.capture = capture_id_new(),
                                  .trigger = rule_trigger(spec),
                                  .rule = spec->name,
                                  .reason = sentence,
                                  .at_ns = at_ns,
                                  .pre_ms = spec->pre_ms,
                                  .post_ms = spec->post_ms,
                                  .wish = spec->wish};
    capture_begin(watch, &order);
    /* The save stands behind the first cut in the worker's queue, which must not wait for the disk.
     * Should the agent die in between, its journal has the firing (rule_memory_recover). */
    rule_memory_save(watch->rules);
    watch_report(watch);
}

void watch_hold(struct watch_item *watch, const char *why)
{
    struct rule_memory *memory = rule_memory_take(watch->rules, watch->memory_key);
    watch->suppressed = ++memory->suppressed;
    snprintf(watch->held, sizeof watch->held, "%s", why);
    watch_report(watch);
}

void watch_take(struct watch_item *watch, const struct check_result *result)
{
    if (result->not_run) {
        not_run_take(watch, result);
        return;
    }
    watch->checks++;
    if (result->passed) {
        watch->failures_in_row = 0;
        watch->fired_now = false;
        watch->passed_once = true;
        watch->last_error[0] = '\0';
        watch_set_health(watch, HEALTH_PASSING, result->at_ns);
        return;
    }
    watch->failures++;
    watch->failures_in_row++;
    snprintf(watch->last_error, sizeof watch->last_error, "%s", result->reason);
    if (!watch->fired_now && watch->failures_in_row >= failures_wanted(watch->spec) &&
        !in_grace(watch, result->at_ns)) {
        watch->fired_now = true;
        watch_fire(watch, result->at_ns, result->reason);
    }
    watch_set_health(watch, HEALTH_FAILING, result->at_ns);
}

void watch_hinder(struct watch_item *watch, const char *why)
{
    snprintf(watch->last_error, sizeof watch->last_error, "%s", why);
    log_error("rules", watch->last_error, "rule", watch->spec->name, "service",
              watch->process->service, NULL);
    watch_report(watch);
}

void watch_without_ring(struct watch_item *watch, const char *what)
{
    struct check_result none = {.not_run = true, .at_ns = agent_clock_ns()};
    snprintf(none.reason, sizeof none.reason,
             "not looked at: the process is watched from outside, and has no %s", what);
    watch_take(watch, &none);
}

/* ---- conditions on the system ---- */

static void system_look(void *context)
{
    struct watch_item *watch = context;
    const struct agent_rules_settings *settings = &watch->rules->settings;
    const struct system_source source = {
        .proc = settings->proc_folder != NULL ? settings->proc_folder : "/proc",
        .cgroup = settings->cgroup_folder != NULL ? settings->cgroup_folder : "/sys/fs/cgroup",
        .pid = watch->process->pid,
        .start_ticks = watch->process->start_clock_ticks};
    struct check_result result = {.at_ns = agent_clock_ns()};
    uint64_t now_ns = clock_monotonic_ns();
    double measured = 0;
    int status = system_measure(watch->spec, &source, now_ns, &watch->system, &measured,
                                result.reason, sizeof result.reason);
    if (status == SKEIN_AGAIN)
        return;
    result.not_run = status != SKEIN_OK;
    if (!result.not_run)
        system_judge(watch->spec, &watch->system, now_ns, measured, &result);
    watch_take(watch, &result);
}

static void system_start(struct watch_item *watch)
{
    if (watch->timer != NULL)
        return; /* nothing of a reload concerns it */
    watch->timer = loop_timer_add(watch->rules->settings.loop, system_every_ms(watch->spec), 1,
                                  system_look, watch);
    if (watch->timer == NULL)
        watch_hinder(watch, "not looked at: the agent is out of memory");
    else
        system_look(watch);
}

/* ---- life ---- */

void watch_start(struct watch_item *watch)
{
    switch (watch->spec->when) {
    case RULE_HEALTH:
        health_start(watch);
        break;
    case RULE_CPU:
    case RULE_MEMORY:
    case RULE_PRESSURE:
        system_start(watch);
        break;
    case RULE_CRASH:
    case RULE_APPLICATION: /* until it happens, it has not */
        watch->health = HEALTH_PASSING;
        watch_report(watch);
        break;
    default:
        events_start(watch);
        break;
    }
}

int watch_begin(struct agent_rules *rules, struct rule_spec *spec,
                const struct ruled_process *ruled)
{
    struct process *process = ruled->process;
    struct watch_item *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return SKEIN_NO_MEMORY;
    watch->rules = rules;
    watch->spec = spec;
    watch->process = process_ref(process);
    watch->owner = spec->per_service ? ruled->owner : process->user;
    watch->since_ns = agent_clock_ns();
    TAILQ_INSERT_TAIL(&rules->watches, watch, link);
    watch->memory_key = rule_memory_key(spec, rule_trigger(spec), process, watch->owner);
    const struct rule_memory *memory = rule_memory_find(rules, watch->memory_key);
    if (memory != NULL) {
        watch->fired = memory->fired;
        watch->suppressed = memory->suppressed;
        if (spec->when == RULE_CRASH) /* those of earlier processes: none crashes twice */
            watch->suppressed_before = memory->suppressed;
    }
    watch_start(watch);
    return SKEIN_OK;
}

static void report_forget(const struct watch_item *watch)
{
    char key[192];
    report_key(watch, key);
    uplink_forget(watch->rules->settings.uplink, key);
}

void watch_lead(struct watch_item *watch, struct process *process)
{
    report_forget(watch);
    process_unref(&watch->process);
    watch->process = process_ref(process);
    watch->suppressed_before = watch->suppressed; /* the collector counts by process */
    watch_report(watch);
}

void watch_end(struct watch_item *watch)
{
    report_forget(watch);
    if (watch->held[0] != '\0') { /* the process may have ended by what began no capture */
        char key[192];
        snprintf(key, sizeof key, "held:%s", watch->spec->name);
        report_send(watch, key);
    }
    TAILQ_REMOVE(&watch->rules->watches, watch, link);
    health_stop(watch);
    events_stop(watch);
    process_unref(&watch->process);
    free(watch);
}
