/* SPDX-License-Identifier: Apache-2.0
 *
 * Selectors and the search; see outside.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "outside_int.h"
#include "proc_info.h"

#define PROC "/proc"

/* ---- one process ---- */

/* Its cgroup, as "/system.slice/db.service": of the one hierarchy, or of the first. */
static void cgroup_read(uint32_t pid, char *out, size_t bytes)
{
    char text[4096];
    out[0] = '\0';
    if (proc_file_read((pid_t)pid, "cgroup", text, sizeof text) <= 0)
        return;
    const char *line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
    line = line != NULL ? strchr(line, ':') : strchr(text, ':');
    const char *group = line != NULL ? strchr(line + 1, ':') : NULL;
    if (group != NULL)
        snprintf(out, bytes, "%.*s", (int)strcspn(group + 1, "\n"), group + 1);
}

static const struct outside_rule *rule_of(const struct outside *outside, uint32_t pid)
{
    char path[48], exe[4096], cgroup[512] = "";
    uint16_t ports[16];
    snprintf(path, sizeof path, PROC "/%u/exe", pid);
    ssize_t n = readlink(path, exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = '\0'; /* not allowed: its cgroup may tell */
    if (outside->by_cgroup)
        cgroup_read(pid, cgroup, sizeof cgroup);
    const struct outside_view view = {
        .exe = exe,
        .cgroup = cgroup,
        .ports = ports,
        .port_count = outside->sockets != NULL ? outside_ports_of(pid, outside->sockets, ports,
                                                                  sizeof ports / sizeof *ports)
                                               : 0};
    return outside_rules_match(&outside->rules, &view);
}

/* What its rule, or NULL, says of its Go runtime. */
static void rule_describe(const struct outside_rule *rule, struct process *p)
{
    struct process_go go = {"", ""};
    if (rule != NULL)
        go = rule->go;
    process_go_set(p, &go);
}

void outside_describe(const struct outside *outside, struct process *p)
{
    rule_describe(rule_of(outside, p->pid), p);
}

/* One that is in the table may match only since it listens. */
static void known_describe(const struct outside *outside, const struct process_uid *uid,
                           const struct outside_rule *rule)
{
    struct process *p = attach_processes(outside->settings.attach);
    while (p != NULL && !process_uid_equal(&p->uid, uid))
        p = p->next;
    if (p != NULL)
        rule_describe(rule, p);
}

/* outside_look_fn */
static void process_look_at(void *context, uint32_t pid)
{
    struct outside *outside = context;
    const struct outside_rule *rule;
    struct process *p;
    uint64_t ticks;
    /* The number may be another process's at any moment. What is believed is read again between two
     * readings of the start that agree: this one, and that of attach_watch. */
    if (pid == (uint32_t)getpid() || rule_of(outside, pid) == NULL ||
        proc_start_ticks((pid_t)pid, &ticks) != SKEIN_OK || (rule = rule_of(outside, pid)) == NULL)
        return;
    const struct attach_watch_order order = {.pid = pid,
                                             .start_clock_ticks = ticks,
                                             .service = rule->service,
                                             .labels = rule->labels,
                                             .watched_max =
                                                 (uint32_t)*outside->settings.watched_max};
    int status = attach_watch(outside->settings.attach, &order, &p);
    /* What the operator has named comes before what anybody else has. */
    if (p != NULL && (status == SKEIN_BUSY || status == SKEIN_FULL) && hands_give_way(outside)) {
        process_unref(&p);
        status = attach_watch(outside->settings.attach, &order, &p);
    }
    if (status == SKEIN_EXISTS)
        known_describe(outside, &p->uid, rule);
    if (p != NULL && (status == SKEIN_BUSY || status == SKEIN_FULL))
        outside->settings.refused(outside->settings.context, p, status);
    process_unref(&p);
}

/* ---- the search ---- */

/* Who listens may have changed: then all are asked. */
static void sockets_look(struct outside *outside)
{
    struct outside_sockets *now = malloc(sizeof *now);
    if (now == NULL)
        return; /* in a second again */
    const char *why = outside_sockets_read(now, outside->ports, outside->port_count);
    if (why != NULL && !outside->sockets_refused)
        log_warn("outside", "selectors by port find nobody", "reason", why, NULL);
    outside->sockets_refused = why != NULL;
    if (!outside_sockets_equal(now, outside->sockets))
        outside_scan_anew(outside->scan);
    *outside->sockets = *now;
    free(now);
}

static void outside_tick(void *context)
{
    struct outside *outside = context;
    hands_look(outside);
    if (outside->rules.count > 0) {
        if (outside->sockets != NULL)
            sockets_look(outside);
        (void)outside_scan_step(outside->scan, OUTSIDE_BUDGET_NS);
    }
    outside_wake(outside);
}

void outside_wake(struct outside *outside)
{
    bool wanted = outside->rules.count > 0 || outside->hand_count > 0;
    if (wanted && outside->timer == NULL)
        outside->timer =
            loop_timer_add(outside->settings.loop, OUTSIDE_EVERY_MS, 1, outside_tick, outside);
    else if (!wanted && outside->timer != NULL)
        loop_timer_cancel(outside->settings.loop, &outside->timer);
    if (wanted && outside->timer == NULL)
        log_error("outside", "out of memory: nobody is looked for", NULL);
}

/* ---- selectors ---- */

static void ports_gather(struct outside *outside)
{
    outside->by_cgroup = false;
    outside->port_count = 0;
    for (size_t i = 0; i < outside->rules.count; i++) {
        const struct outside_rule *rule = &outside->rules.items[i];
        outside->by_cgroup = outside->by_cgroup || rule->cgroup[0] != '\0';
        if (rule->port != 0)
            outside->ports[outside->port_count++] = rule->port;
    }
}

/* Takes the rules on SKEIN_OK. */
static int rules_take(struct outside *outside, const struct config_strs *selectors, char *error,
                      size_t error_bytes)
{
    struct outside_rules rules;
    int status = outside_rules_parse(selectors, &rules, error, error_bytes);
    if (status != SKEIN_OK)
        return status;
    outside_rules_free(&outside->rules);
    outside->rules = rules;
    ports_gather(outside);
    free(outside->sockets);
    outside->sockets = NULL;
    if (outside->port_count > 0)
        outside->sockets = calloc(1, sizeof *outside->sockets);
    if (outside->port_count > 0 && outside->sockets == NULL)
        log_error("outside", "out of memory: selectors by port find nobody", NULL);
    outside_scan_anew(outside->scan);
    outside_wake(outside);
    return SKEIN_OK;
}

/* Those that were found by a selector which is there no more. */
static void unselected_end(const struct outside *outside)
{
    struct process *p = attach_processes(outside->settings.attach), *next;
    for (; p != NULL; p = next) {
        next = p->next; /* p alone leaves the table */
        if (p->watched && !hand_has(outside, &p->uid) && rule_of(outside, p->pid) == NULL)
            (void)attach_unwatch(outside->settings.attach, &p->uid);
    }
}

int outside_select(struct outside *outside, const struct config_strs *selectors, char *error,
                   size_t error_bytes)
{
    int status = rules_take(outside, selectors, error, error_bytes);
    if (status != SKEIN_OK)
        return status;
    if (outside->sockets != NULL)
        sockets_look(outside);
    unselected_end(outside);
    for (struct process *p = attach_processes(outside->settings.attach); p != NULL; p = p->next)
        outside_describe(outside, p);
    return SKEIN_OK;
}

/* ---- life ---- */

int outside_new(const struct outside_settings *settings, const struct config_strs *selectors,
                struct outside **out, char *error, size_t error_bytes)
{
    struct outside *outside = calloc(1, sizeof *outside);
    *out = NULL;
    if (outside == NULL)
        return SKEIN_NO_MEMORY;
    outside->settings = *settings;
    TAILQ_INIT(&outside->hands);
    int status = outside_scan_new(PROC, process_look_at, outside, &outside->scan);
    if (status == SKEIN_OK)
        status = rules_take(outside, selectors, error, error_bytes);
    if (status != SKEIN_OK) {
        outside_free(&outside);
        return status;
    }
    hands_load(outside);
    outside_wake(outside);
    *out = outside;
    return SKEIN_OK;
}

void outside_free(struct outside **outside_p)
{
    struct outside *outside = *outside_p;
    if (outside == NULL)
        return;
    *outside_p = NULL;
    loop_timer_cancel(outside->settings.loop, &outside->timer);
    hands_free(outside);
    outside_scan_free(&outside->scan);
    outside_rules_free(&outside->rules);
    free(outside->sockets);
    free(outside);
}
