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

/* What stands for the number of a thread that has ended, with its pid: no thread has it. */
#define PERF_TID_GONE UINT32_C(0x80000000)

struct perf_head {
    struct perf_span comm, event, rest; /* event: without the colon; "": not printed */
    bool has_tid, has_pid, has_cpu, has_period;
    bool is_gone; /* it is of a thread of pid that has ended, which perf calls -1 */
    uint32_t pid, tid, cpu;
    uint64_t time_ns, period;
};

/* false: it is no head of an event. */
bool perf_head_read(struct perf_span line, struct perf_head *head);

struct perf_frame {
    bool has_pc, inlined; /* inlined: into the next one */
    uint64_t pc;
    struct perf_span function, file;
};

/* Address, function, file; each may be missing, but not all. */
bool perf_frame_read(struct perf_span line, struct perf_frame *frame);

/* Whether it stands where a frame does, and looks like one: with an address, behind whatever blanks; or
 * without, behind many. */
bool perf_frame_is(struct perf_span line, const struct perf_frame *frame);

/* "file.c:12", which stands below a frame with -F +srcline; *number 0: "prog[12ab]", where the source is
 * not known. */
bool perf_place_read(struct perf_span line, struct perf_span *file, uint32_t *number);

/* What the kernel tells of processes: records of --show-task-events, or tracepoints. */
struct perf_task {
    enum perf_task_kind { PERF_TASK_EXEC, PERF_TASK_RENAMED, PERF_TASK_BORN } kind;
    uint32_t pid, tid;
    struct perf_span comm; /* "": not told */
};
bool perf_task_read(const struct perf_head *head, struct perf_task *task);

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
