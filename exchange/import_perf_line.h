/* SPDX-License-Identifier: Apache-2.0
 *
 * One line of `perf script`, taken apart. Pure; texts are parts of the line. For import_perf_script.c.
 */
#ifndef IMPORT_PERF_LINE_H
#define IMPORT_PERF_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_span {
    const char *text;
    size_t n;
};

struct perf_head {
    struct perf_span comm, event, rest; /* event: without the colon; "": not printed */
    bool has_tid, has_pid, has_cpu, has_period;
    uint32_t pid, tid, cpu;
    uint64_t time_ns, period;
};

/* false: it is no head of an event. */
bool perf_head_read(struct perf_span line, struct perf_head *head);

struct perf_frame {
    uint64_t pc; /* 0: not printed, or of a function that is inlined */
    struct perf_span function, file;
};

/* Address, function, file; each may be missing, but not all. */
bool perf_frame_read(struct perf_span line, struct perf_frame *frame);

/* "file.c:12", which stands below a frame with -F +srcline. */
bool perf_place_read(struct perf_span line, struct perf_span *file, uint32_t *number);

/* Whether the event counts what runs: clocks (*clock: its period is in ns) and cycles. */
bool perf_event_samples(struct perf_span event, bool *clock);
/* Whether it is a tracepoint (group:name), and not an event with modifiers (cycles:u). */
bool perf_event_is_tracepoint(struct perf_span event);

/* What scheduler's events print, by their kernel's format or by libtraceevent's. */
struct perf_switch {
    struct perf_span prev_comm, next_comm;
    uint32_t prev, next;
    uint64_t state; /* the kernel's bits; 0: it would run on */
};
bool perf_switch_read(struct perf_span text, struct perf_switch *out);

struct perf_waking {
    struct perf_span comm;
    uint32_t tid, cpu;
};
bool perf_waking_read(struct perf_span text, struct perf_waking *out);

static inline bool perf_is(struct perf_span span, const char *word)
{
    size_t i = 0;
    while (i < span.n && word[i] != '\0' && span.text[i] == word[i])
        i++;
    return i == span.n && word[i] == '\0';
}

#endif
