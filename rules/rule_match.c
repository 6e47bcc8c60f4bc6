/* SPDX-License-Identifier: Apache-2.0
 *
 * Which events match a rule's condition, and when enough of them lie close together. Pure; texts
 * and values of events are a hostile process's.
 */
#include "rule_match.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition_reader.h"
#include "skein/skein.h"

int scan_window_init(struct scan_window *window, uint64_t count)
{
    *window = (struct scan_window){.count = count, .times_ns = calloc(count, sizeof(uint64_t))};
    return window->times_ns == NULL ? SKEIN_NO_MEMORY : SKEIN_OK;
}

void scan_window_fini(struct scan_window *window)
{
    free(window->times_ns);
    *window = (struct scan_window){.count = 0};
}

/* The oldest of the last `count`: the place that is used next. Events of different looks may be a
 * little out of order, which is no reason to count them apart. */
bool scan_window_holds(const struct scan_window *window, uint64_t until_ns, uint64_t window_ns)
{
    uint64_t oldest = window->times_ns[window->next];
    return window->held == window->count && (oldest >= until_ns || until_ns - oldest <= window_ns);
}

bool scan_window_add(struct scan_window *window, uint64_t at_ns, uint64_t window_ns)
{
    window->times_ns[window->next] = at_ns;
    window->next = (window->next + 1) % window->count;
    window->held += window->held < window->count;
    window->fresh += window->fresh < window->count;
    if (window->fresh < window->count || !scan_window_holds(window, at_ns, window_ns))
        return false;
    window->fresh = 0;
    return true;
}

int scan_hit_compare(const void *left, const void *right)
{
    const struct scan_hit *a = left, *b = right;
    return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

/* A text of the process as one line for people. */
static void text_take(const struct partition_value *value, char *out, size_t bytes)
{
    size_t n = value->str.len < bytes - 1 ? value->str.len : bytes - 1;
    if (n > 0)
        memcpy(out, value->str.text, n);
    out[n] = '\0';
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)out[i] < 0x20 || out[i] == 0x7f ? '?' : out[i];
}

static bool latency_matches(const struct rule_spec *spec, const struct trace_event *event,
                            struct scan_hit *hit)
{
    if (event->kind != TRACE_REGION || event->end_clipped ||
        event->dur_ns <= spec->event.over_us * 1000 ||
        strcmp(event->type->name, spec->event.name) != 0)
        return false;
    hit->at_ns = event->time_ns + event->dur_ns;
    snprintf(hit->reason, sizeof hit->reason, "region %.63s took %.3f ms (limit %.3f ms)",
             spec->event.name, (double)event->dur_ns / 1e6, (double)spec->event.over_us / 1e3);
    return true;
}

static bool log_matches(const struct rule_spec *spec, const struct trace_event *event,
                        struct scan_hit *hit)
{
    static const char *const levels[] = {"debug", "info", "warn", "error"};
    const struct partition_event_type *type = event->type;
    if (event->kind != TRACE_LOG || type->nargs < 2 || type->args[0].type != SKEIN_T_U64 ||
        type->args[1].type != SKEIN_T_STR || event->args[0].u64 < spec->event.level)
        return false;
    char text[SKEIN_STR_MAX + 1];
    text_take(&event->args[1], text, sizeof text);
    if (!rule_spec_matches(spec, text))
        return false;
    uint64_t level = event->args[0].u64 < 4 ? event->args[0].u64 : 3;
    hit->at_ns = event->time_ns;
    snprintf(hit->reason, sizeof hit->reason, "the log says (%s): %.120s", levels[level], text);
    return true;
}

static bool counter_matches(const struct rule_spec *spec, const struct trace_event *event,
                            struct scan_hit *hit)
{
    const struct partition_event_type *type = event->type;
    if (event->kind != TRACE_COUNTER || type->nargs < 1 ||
        strcmp(type->name, spec->event.name) != 0)
        return false;
    const struct partition_value *argument = &event->args[0];
    double value = type->args[0].type == SKEIN_T_F64   ? argument->f64
                   : type->args[0].type == SKEIN_T_I64 ? (double)argument->i64
                                                       : (double)argument->u64;
    if (type->args[0].type == SKEIN_T_STR || type->args[0].type == SKEIN_T_SEQ ||
        !(spec->event.below ? value < spec->event.bound : value > spec->event.bound))
        return false;
    hit->at_ns = event->time_ns;
    snprintf(hit->reason, sizeof hit->reason, "counter %.63s was %.6g (limit %s %.6g)",
             spec->event.name, value, spec->event.below ? "not below" : "not above",
             spec->event.bound);
    return true;
}

bool scan_event_matches(const struct rule_spec *spec, const struct trace_event *event,
                        struct scan_hit *hit)
{
    if (event->type == NULL)
        return false;
    if (spec->when == RULE_LATENCY)
        return latency_matches(spec, event, hit);
    if (spec->when == RULE_LOG)
        return log_matches(spec, event, hit);
    return spec->when == RULE_COUNTER && counter_matches(spec, event, hit);
}

void scan_reason(const struct rule_spec *spec, const struct scan_hit *hit, char *out,
                 size_t out_bytes)
{
    if (spec->event.count > 1)
        snprintf(out, out_bytes, "%s, %" PRIu64 " times in %" PRIu64 " ms", hit->reason,
                 spec->event.count, spec->event.window_ms);
    else
        snprintf(out, out_bytes, "%s", hit->reason);
}

/* These ask a process to end, or tell it that its reader has (`yes | head`). */
static bool asks_to_end(int signal)
{
    return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGPIPE;
}

enum rule_death rule_death_of(int signal, int status)
{
    if (signal != 0)
        return asks_to_end(signal) ? RULE_DEATH_ORDERLY : RULE_DEATH_SIGNAL;
    return status == 0 || asks_to_end(status - 128) ? RULE_DEATH_ORDERLY : RULE_DEATH_EXIT;
}

bool rule_exit_counts(bool is_service, uint64_t start_ns, uint64_t end_ns)
{
    return is_service || (end_ns > start_ns && end_ns - start_ns >= RULE_SERVICE_LIVES_NS);
}
