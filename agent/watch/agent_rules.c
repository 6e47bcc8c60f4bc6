/* SPDX-License-Identifier: Apache-2.0
 *
 * The rule set and which rule watches which process; see agent_rules.h. Loop thread.
 */
#include "agent_rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_clock.h"
#include "agent_log.h"
#include "array.h"
#include "log.h"
#include "proc_info.h"
#include "process_labels.h"
#include "rule_match.h"
#include "rules_int.h"
#include "set_store.h"

#define REPORT_EVERY_MS     10000 /* as often as the process list */
#define OWNER_ANCESTORS_MAX 32

bool process_matches(const struct selector *selector, const struct process *process,
                     const char *host)
{
    const struct process_labels labels = {.service = process->service,
                                          .host = host,
                                          .exe = process->exe,
                                          .own = process->labels,
                                          .pid = process->pid,
                                          .process = process->uid.bytes};
    return process_labels_match(selector, &labels);
}

/* ---- whose service it is ----
 *
 * Anybody may name a process as somebody else's service, and be there first: the check would then be
 * made of his process, in a network of his own, and never fail. So a service is that of a user. A
 * worker that has dropped its rights still belongs to the service of the process that began it:
 *
 *     root   payments (leads, is checked) <- parent - payments, as www-data     one service of root's
 *     nobody payments (leads, is checked)                                       another one
 */
static const struct ruled_process *ruled_find(const struct agent_rules *rules, pid_t pid)
{
    for (size_t i = 0; i < rules->process_count; i++)
        if (rules->processes[i].process->pid == (uint32_t)pid)
            return &rules->processes[i];
    return NULL;
}

static uint32_t service_owner(const struct agent_rules *rules, const struct process *process)
{
    pid_t pid = (pid_t)process->pid;
    for (int i = 0; i < OWNER_ANCESTORS_MAX && pid > 1; i++) {
        pid = proc_parent(pid);
        const struct ruled_process *before = pid > 1 ? ruled_find(rules, pid) : NULL;
        if (before != NULL && strcmp(before->process->service, process->service) == 0)
            return before->owner;
    }
    return process->user;
}

struct process *watch_next_process(const struct watch_item *watch, size_t *at)
{
    const struct agent_rules *rules = watch->rules;
    while (*at < rules->process_count) {
        const struct ruled_process *ruled = &rules->processes[(*at)++];
        struct process *p = ruled->process;
        if (p == watch->process ||
            (watch->spec->per_service && ruled->owner == watch->owner &&
             strcmp(p->service, watch->process->service) == 0 &&
             process_matches(watch->spec->selector, p, rules->settings.host)))
            return p;
    }
    return NULL;
}

static struct watch_item *watch_of_service(struct agent_rules *rules, const struct rule_spec *spec,
                                           const struct ruled_process *ruled)
{
    struct watch_item *watch;
    TAILQ_FOREACH(watch, &rules->watches, link) {
        if (watch->spec == spec && watch->owner == ruled->owner &&
            strcmp(watch->process->service, ruled->process->service) == 0)
            return watch;
    }
    return NULL;
}

/* Whether p stands for the owner's service rather than `than`: his own processes do, then the older. */
static bool leads(const struct process *p, const struct process *than, uint32_t owner)
{
    if ((p->user == owner) != (than->user == owner))
        return p->user == owner;
    return p->start_clock_ticks < than->start_clock_ticks ||
           (p->start_clock_ticks == than->start_clock_ticks && p->pid < than->pid);
}

static void watch_where_matching(struct agent_rules *rules, struct rule_spec *spec,
                                 const struct ruled_process *ruled)
{
    if (!spec->enabled || !process_matches(spec->selector, ruled->process, rules->settings.host))
        return;
    struct watch_item *watch = spec->per_service ? watch_of_service(rules, spec, ruled) : NULL;
    if (watch != NULL && leads(ruled->process, watch->process, watch->owner))
        watch_lead(watch, ruled->process);
    else if (watch == NULL && watch_begin(rules, spec, ruled) != SKEIN_OK)
        log_error("rules", "out of memory: a process is not checked", "rule", spec->name, NULL);
}

/* The process of a watch is gone: the next of its service takes its place. */
static void watch_without(struct watch_item *watch, const struct process *gone)
{
    struct process *first = NULL;
    size_t at = 0;
    for (struct process *p; (p = watch_next_process(watch, &at)) != NULL;)
        if (p != gone && (first == NULL || leads(p, first, watch->owner)))
            first = p;
    if (first != NULL)
        watch_lead(watch, first);
    else
        watch_end(watch);
}

static struct rule_spec *same_spec(struct rule_spec **specs, size_t count,
                                   const struct rule_spec *spec)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(specs[i]->text, spec->text) == 0)
            return specs[i];
    }
    return NULL;
}

static int set_parse(const cJSON *array, struct rule_spec ***out, size_t *count, char *error,
                     size_t error_bytes)
{
    size_t cap = (size_t)cJSON_GetArraySize(array);
    struct rule_spec **specs = calloc(cap + 1, sizeof *specs);
    if (specs == NULL)
        return SKEIN_NO_MEMORY;
    int status = SKEIN_OK;
    *count = 0;
    for (const cJSON *item = array->child; item != NULL; item = item->next) {
        char why[256];
        int read = rule_spec_new(item, &specs[*count], why, sizeof why);
        *count += read == SKEIN_OK;
        if (read == SKEIN_OK || read == SKEIN_UNSUPPORTED)
            continue; /* taken, or the collector's own */
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "name");
        const char *text = cJSON_IsString(name) ? name->valuestring : "without a name";
        log_warn("rules", "left out a rule that this agent does not understand", "rule", text,
                 "reason", why, NULL);
        if (status == SKEIN_OK)
            snprintf(error, error_bytes, "rule %s: %s", text, why);
        status = SKEIN_INVALID;
    }
    *out = specs;
    return status;
}

/* Watches of rules that stay move to the new set's copy of the rule, with all that they counted. */
static void watches_move(struct agent_rules *rules, struct rule_spec **specs, size_t count)
{
    struct watch_item *watch, *next;
    for (watch = TAILQ_FIRST(&rules->watches); watch != NULL; watch = next) {
        next = TAILQ_NEXT(watch, link);
        struct rule_spec *same = same_spec(specs, count, watch->spec);
        if (same != NULL)
            watch->spec = same;
        else
            watch_end(watch);
    }
}

static void set_free(struct rule_spec **specs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        rule_spec_free(&specs[i]);
    free(specs);
}

/* Watches where a rule is new. */
static void specs_watch(struct agent_rules *rules, struct rule_spec **specs, size_t count,
                        struct rule_spec **old, size_t old_count)
{
    for (size_t i = 0; i < count; i++) {
        if (same_spec(old, old_count, specs[i]) != NULL)
            continue;
        for (size_t j = 0; j < rules->process_count; j++)
            watch_where_matching(rules, specs[i], &rules->processes[j]);
    }
}

/* Takes the array. */
static void set_is(struct agent_rules *rules, uint64_t generation, cJSON *array)
{
    if (rules->array != array)
        cJSON_Delete(rules->array);
    rules->array = array;
    rules->generation = generation;
    uplink_set_rules_generation(rules->settings.uplink, generation);
    log_info("rules", "in force", "generation", log_fmt("%" PRIu64, generation), "rules",
             log_fmt("%zu", rules->count), NULL);
}

static int set_take(struct agent_rules *rules, uint64_t generation, const cJSON *array, char *error,
                    size_t error_bytes)
{
    struct rule_spec **specs = NULL;
    size_t count = 0;
    cJSON *copy = cJSON_Duplicate(array, true);
    int status =
        copy != NULL ? set_parse(array, &specs, &count, error, error_bytes) : SKEIN_NO_MEMORY;
    if (status == SKEIN_NO_MEMORY) {
        cJSON_Delete(copy);
        return status;
    }
    watches_move(rules, specs, count);
    struct rule_spec **old = rules->specs;
    size_t old_count = rules->count;
    rules->specs = specs;
    rules->count = count;
    specs_watch(rules, specs, count, old, old_count);
    set_free(old, old_count);
    set_is(rules, generation, copy);
    return status;
}

/* ---- changes of the set ---- */

static const char *name_of(const cJSON *item)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "name"));
    return name != NULL ? name : "";
}

/* Whether the change removes, or replaces, what has this name. */
static bool is_changed(const char *name, const cJSON *put, const cJSON *removed)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, put) {
        if (strcmp(name_of(item), name) == 0)
            return true;
    }
    cJSON_ArrayForEach(item, removed) {
        if (strcmp(item->valuestring, name) == 0)
            return true;
    }
    return false;
}

/* Takes out of the array what is changed, and puts copies. False: no memory, some may lack. */
static bool array_change(cJSON *array, const cJSON *put, const cJSON *removed)
{
    const cJSON *item;
    for (cJSON *at = array->child, *next; at != NULL; at = next) {
        next = at->next;
        if (is_changed(name_of(at), put, removed))
            cJSON_Delete(cJSON_DetachItemViaPointer(array, at));
    }
    cJSON_ArrayForEach(item, put) {
        cJSON *copy = cJSON_Duplicate(item, true);
        if (copy == NULL)
            return false;
        cJSON_AddItemToArray(array, copy);
    }
    return true;
}

/* The watches of a rule that is no more end; those of one that came again go on. */
static void spec_leave(struct agent_rules *rules, const struct rule_spec *spec,
                       struct rule_spec **fresh, size_t count)
{
    struct rule_spec *same = same_spec(fresh, count, spec);
    struct watch_item *watch, *next;
    for (watch = TAILQ_FIRST(&rules->watches); watch != NULL; watch = next) {
        next = TAILQ_NEXT(watch, link);
        if (watch->spec == spec && same != NULL)
            watch->spec = same;
        else if (watch->spec == spec)
            watch_end(watch);
    }
}

static int set_change(struct agent_rules *rules, const cJSON *put, const cJSON *removed,
                      char *error, size_t error_bytes)
{
    struct rule_spec **fresh = NULL;
    size_t count = 0, kept = 0, left = 0;
    int status = set_parse(put, &fresh, &count, error, error_bytes);
    if (status == SKEIN_NO_MEMORY)
        return status;
    struct rule_spec **specs = calloc(rules->count + count + 1, sizeof *specs);
    struct rule_spec **out = calloc(rules->count + 1, sizeof(struct rule_spec *));
    if (specs == NULL || out == NULL) {
        free(specs);
        free(out);
        set_free(fresh, count);
        return SKEIN_NO_MEMORY;
    }
    for (size_t i = 0; i < rules->count; i++) {
        if (is_changed(rules->specs[i]->name, put, removed))
            out[left++] = rules->specs[i];
        else
            specs[kept++] = rules->specs[i];
    }
    for (size_t i = 0; i < left; i++)
        spec_leave(rules, out[i], fresh, count);
    memcpy(specs + kept, fresh, count * sizeof(struct rule_spec *));
    free(rules->specs);
    rules->specs = specs;
    rules->count = kept + count;
    specs_watch(rules, fresh, count, out, left);
    set_free(out, left);
    free(fresh);
    return status;
}

int agent_rules_change(struct agent_rules *rules, uint64_t base, uint64_t generation,
                       const cJSON *put, const cJSON *removed, char *error, size_t error_bytes)
{
    if (rules->array == NULL || rules->generation < base || rules->generation > generation) {
        snprintf(error, error_bytes, "the set here is of generation %" PRIu64, rules->generation);
        return SKEIN_AGAIN;
    }
    int status = set_change(rules, put, removed, error, error_bytes);
    if (status == SKEIN_NO_MEMORY)
        return status;
    bool whole = array_change(rules->array, put, removed);
    set_is(rules, generation, rules->array);
    if (whole)
        set_store(rules->settings.worker, rules->settings.folder, "rules", generation,
                  rules->array);
    else { /* what is kept on disk is older, and the next change is refused */
        cJSON_Delete(rules->array);
        rules->array = NULL;
    }
    return status;
}

int agent_rules_set(struct agent_rules *rules, uint64_t generation, const cJSON *array, char *error,
                    size_t error_bytes)
{
    int status = set_take(rules, generation, array, error, error_bytes);
    if (status != SKEIN_NO_MEMORY)
        set_store(rules->settings.worker, rules->settings.folder, "rules", generation, array);
    return status;
}

void agent_rules_attached(struct agent_rules *rules, struct process *process)
{
    if (check_began((pid_t)process->pid)) {
        log_info("rules", "begun by a check: no rule looks at it", "service", process->service,
                 "pid", log_fmt("%u", process->pid), NULL);
        return;
    }
    if (!array_grow(rules->processes, rules->process_count + 1, &rules->process_cap)) {
        log_error("rules", "out of memory: a process is not checked", "service", process->service,
                  NULL);
        return;
    }
    struct ruled_process *ruled = &rules->processes[rules->process_count];
    *ruled = (struct ruled_process){process_ref(process), service_owner(rules, process)};
    rules->process_count++;
    for (size_t i = 0; i < rules->count; i++)
        watch_where_matching(rules, rules->specs[i], ruled);
}

void agent_rules_gone(struct agent_rules *rules, const struct process *process)
{
    struct watch_item *watch, *next;
    for (watch = TAILQ_FIRST(&rules->watches); watch != NULL; watch = next) {
        next = TAILQ_NEXT(watch, link);
        if (watch->process == process)
            watch_without(watch, process);
    }
    for (size_t i = 0; i < rules->process_count; i++) {
        if (rules->processes[i].process != process)
            continue;
        process_unref(&rules->processes[i].process);
        rules->processes[i] = rules->processes[--rules->process_count];
        return;
    }
}

void agent_rules_heartbeat(struct agent_rules *rules, const struct process *process)
{
    struct watch_item *watch;
    TAILQ_FOREACH(watch, &rules->watches, link) {
        if (watch->process == process && watch->spec->when == RULE_HEALTH)
            health_heard(watch);
    }
}

void agent_rules_report(struct agent_rules *rules)
{
    struct watch_item *watch;
    TAILQ_FOREACH(watch, &rules->watches, link)
        watch_report(watch);
}

void agent_rules_reload(struct agent_rules *rules)
{
    struct watch_item *watch;
    TAILQ_FOREACH(watch, &rules->watches, link) {
        if (watch->run.now == NULL) /* what runs is waited for: it may be a hung one */
            watch_start(watch);
    }
}

bool agent_rules_crashed(struct agent_rules *rules, const struct process *process, bool by_exit,
                         bool held, const char *reason)
{
    struct watch_item *watch;
    bool taken = false;
    TAILQ_FOREACH(watch, &rules->watches, link) {
        if (watch->process != process || watch->spec->when != RULE_CRASH)
            continue;
        taken = true;
        if (by_exit && !watch->spec->exits)
            continue;
        if (held)
            watch_hold(watch, log_fmt("%s: %s", reason, RULE_EXIT_HELD));
        else
            watch_fire(watch, process->gone_ns, reason);
    }
    return taken;
}

bool agent_rules_asked(struct agent_rules *rules, struct process *process, const char *reason)
{
    struct watch_item *watch;
    bool taken = false;
    TAILQ_FOREACH(watch, &rules->watches, link) {
        if (watch->process != process || watch->spec->when != RULE_APPLICATION)
            continue;
        taken = true;
        if (rule_spec_matches(watch->spec, reason))
            watch_fire(watch, agent_clock_ns(), reason);
        else
            agent_log_snapshot(process, "snapshot not taken: its reason matches no rule", reason);
    }
    return taken;
}

int agent_rules_capture(struct agent_rules *rules, const struct capture_order *order,
                        struct process *process, uint64_t cooldown_ms, char why[CAPTURE_WHY_BYTES])
{
    uint64_t key = rule_memory_key(NULL, order->trigger, process, process->user);
    const struct rule_memory *before = rule_memory_find(rules, key);
    if (before != NULL && rule_memory_cools(before, order->at_ns, cooldown_ms))
        return SKEIN_AGAIN;
    /* Who is refused here leaves nothing behind, so that he cannot have others forgotten. */
    if (!captures_admit(rules->settings.captures, process, order->trigger, NULL, why))
        return SKEIN_REFUSED;
    rule_memory_fire(rule_memory_take(rules, key), order->at_ns);
    (void)captures_begin(rules->settings.captures, order, process);
    rule_memory_save(rules); /* behind the cut: see watch_fire */
    return SKEIN_OK;
}

static void report_due(void *context)
{
    struct agent_rules *rules = context;
    agent_rules_report(rules);
    rule_memory_save(rules);
}

int agent_rules_new(const struct agent_rules_settings *settings, struct agent_rules **out)
{
    *out = NULL;
    struct agent_rules *rules = calloc(1, sizeof *rules);
    if (rules == NULL)
        return SKEIN_NO_MEMORY;
    rules->settings = *settings;
    TAILQ_INIT(&rules->watches);
    rules->report_timer = loop_timer_add(settings->loop, REPORT_EVERY_MS, 1, report_due, rules);
    if (rules->report_timer == NULL ||
        rule_scanner_new(settings->loop, settings->worker, settings->host_page, SCAN_EVERY_MS,
                         &rules->scanner) != SKEIN_OK) {
        loop_timer_cancel(settings->loop, &rules->report_timer);
        free(rules);
        return SKEIN_NO_MEMORY;
    }
    rule_memory_load(rules);
    uint64_t generation = 0;
    char why[256];
    cJSON *array = set_load(settings->folder, "rules", &generation);
    if (array != NULL)
        (void)set_take(rules, generation, array, why, sizeof why);
    cJSON_Delete(array);
    rule_memory_recover(rules);
    *out = rules;
    return SKEIN_OK;
}

void agent_rules_free(struct agent_rules **rules_p)
{
    struct agent_rules *rules = *rules_p;
    if (rules == NULL)
        return;
    *rules_p = NULL;
    rule_memory_save(rules);
    struct watch_item *watch;
    while ((watch = TAILQ_FIRST(&rules->watches)) != NULL)
        watch_end(watch);
    rule_scanner_free(&rules->scanner);
    for (size_t i = 0; i < rules->process_count; i++)
        process_unref(&rules->processes[i].process);
    free(rules->processes);
    set_free(rules->specs, rules->count);
    cJSON_Delete(rules->array);
    loop_timer_cancel(rules->settings.loop, &rules->report_timer);
    free(rules);
}
