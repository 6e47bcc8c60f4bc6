/* SPDX-License-Identifier: Apache-2.0
 *
 * What the rules of a report share: how a finding is made and told, and the rules themselves.
 * Included by trace_report_*.c alone.
 */
#ifndef TRACE_REPORT_TELL_H
#define TRACE_REPORT_TELL_H

#include "trace_report_int.h"

/* ---- trace_report_end.c: for the rules ---- */

/* A finding of the rule; it is filled by the calls below, until the next one. NULL: no memory, which
 * b->status then says. impact: 0 to 1, how much of the window or how sure. */
struct report_finding *report_finding_new(struct trace_report_builder *b, const char *rule,
                                          enum report_severity severity, double impact);
void report_say(struct trace_report_builder *b, struct report_finding *f, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void report_number_put(struct report_finding *f, const char *name, double value);
void report_process_set(struct trace_report_builder *b, struct report_finding *f, uint32_t process);
void report_thread_set(struct trace_report_builder *b, struct report_finding *f, uint32_t thread);
void report_stack_set(struct trace_report_builder *b, struct report_finding *f, uint32_t stack);
/* "2.0 s"; "the main thread of redis[42] on web-1"; "redis[42] on web-1". Into `to`. */
#define REPORT_WHO 512
const char *report_time_text(uint64_t ns, char to[32]);
const char *report_who(const struct trace_report_builder *b, uint32_t thread, char to[REPORT_WHO]);
const char *report_process_who(const struct trace_report_builder *b, uint32_t process,
                               char to[REPORT_WHO]);
uint64_t report_window_ns(const struct trace_report_builder *b);
/* The thread of the trace that is the moment's one; SKEIN_NONE. */
uint32_t report_thread_of(const struct trace_report_builder *b, size_t moment_thread);

/* ---- spans ---- */

static inline const struct skein_thread *report_thread_at(const struct trace_report_builder *b,
                                                          uint32_t thread)
{
    return skein_trace_thread(b->trace, thread);
}
static inline const char *report_span_name(const struct trace_report_builder *b,
                                           const struct report_span *s)
{
    return skein_trace_type(b->trace, s->type)->name;
}
static inline uint64_t report_span_ns(const struct report_span *s)
{
    return s->to_ns - s->from_ns;
}
/* Of the window. */
static inline double report_share(const struct trace_report_builder *b, uint64_t ns)
{
    return (double)ns / (double)report_window_ns(b);
}
static inline uint64_t report_overlap(const struct report_span *s, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t from = s->from_ns > from_ns ? s->from_ns : from_ns;
    uint64_t to = s->to_ns < to_ns ? s->to_ns : to_ns;
    return to > from ? to - from : 0;
}
/* For so much of that time the thread was ready and had no CPU, as far as evidence says: what it was
 * in meanwhile is not to blame for it. */
uint64_t report_starved_ns(const struct trace_report_builder *b, uint32_t thread, uint64_t from_ns,
                           uint64_t to_ns);

/* ---- the rules; each may set b->status ---- */

void report_death_rules(struct trace_report_builder *b);  /* crash, stopped, throttled, deadlock */
void report_record_rules(struct trace_report_builder *b); /* clock step, gaps and losses */
void report_lock_rules(struct trace_report_builder *b);   /* lock convoy, lock held */
void report_disk_rules(struct trace_report_builder *b);
void report_cpu_rules(struct trace_report_builder *b);
void report_call_rules(struct trace_report_builder *b);  /* retry storm, descriptors */
void report_peer_rules(struct trace_report_builder *b);  /* slow shard, stopped together */
void report_trend_rules(struct trace_report_builder *b); /* queue growth, cold cache */
void report_long_rules(struct trace_report_builder *b);  /* last: what nothing else explains */

#endif
