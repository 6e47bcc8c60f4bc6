/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules on the events of one process: what the looks at its ring found, counted within the rule's
 * window; a firing is at the event's own time. Loop thread.
 */
#include <inttypes.h>
#include <stdio.h>

#include "clock.h"
#include "rules_int.h"

static void hit_take(struct watch_item *watch, const struct scan_hit *hit)
{
    const struct rule_spec *spec = watch->spec;
    char reason[256];
    watch->failures++;
    if (!scan_window_add(&watch->window, hit->at_ns, spec->event.window_ms * NS_PER_MS))
        return;
    scan_reason(spec, hit, reason, sizeof reason);
    snprintf(watch->last_error, sizeof watch->last_error, "%s", reason);
    watch_fire(watch, hit->at_ns, reason);
}

static void looked(void *context, const struct scan_result *result)
{
    struct watch_item *watch = context;
    if (result->status != SKEIN_OK) {
        struct check_result failed = {.not_run = true, .at_ns = result->at_ns};
        snprintf(failed.reason, sizeof failed.reason, "the events cannot be read: %s",
                 skein_status_text(result->status));
        watch_take(watch, &failed);
        return;
    }
    watch->checks++;
    watch->unseen += result->unseen;
    for (size_t i = 0; i < result->hit_count; i++)
        hit_take(watch, &result->hits[i]);
    watch->failures += result->hits_dropped;
    bool holds =
        scan_window_holds(&watch->window, result->at_ns, watch->spec->event.window_ms * NS_PER_MS);
    if (!holds && watch->unseen > 0)
        snprintf(watch->last_error, sizeof watch->last_error,
                 "%" PRIu64 " looks came too late for some events: the ring had overwritten them",
                 watch->unseen);
    else if (!holds)
        watch->last_error[0] = '\0';
    watch_set_health(watch, holds ? HEALTH_FAILING : HEALTH_PASSING, result->at_ns);
}

void events_start(struct watch_item *watch)
{
    if (watch->scan != NULL)
        return; /* nothing of a reload concerns it */
    if (watch->process->watched) {
        watch_without_ring(watch, "events");
        return;
    }
    int status = watch->window.times_ns != NULL
                     ? SKEIN_OK
                     : scan_window_init(&watch->window, watch->spec->event.count);
    if (status == SKEIN_OK)
        status = rule_scan_start(watch->rules->scanner, watch->spec->text, watch->process, looked,
                                 watch, &watch->scan);
    if (status != SKEIN_OK)
        watch_hinder(watch, "not looked at: the agent is out of memory");
}

void events_stop(struct watch_item *watch)
{
    rule_scan_stop(&watch->scan);
    scan_window_fini(&watch->window);
}
