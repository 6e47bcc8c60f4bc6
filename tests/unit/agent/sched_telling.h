/* SPDX-License-Identifier: Apache-2.0
 *
 * What a source of scheduling has told of this process, read back from the partition. For tests.
 */
#ifndef SCHED_TELLING_H
#define SCHED_TELLING_H

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "partition_reader.h"
#include "sched_source.h"

struct told {
    char name[32], thread[64], texts[SKEIN_ARGS_MAX][SKEIN_STR_MAX + 1];
    uint32_t tid;
    uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC */
    uint64_t numbers[SKEIN_ARGS_MAX];
};

struct telling_read {
    struct told *events;
    size_t count;
    struct evidence_note note;
};

static void told_take(struct told *to, const struct trace_event *event)
{
    snprintf(to->name, sizeof to->name, "%s", event->type->name);
    snprintf(to->thread, sizeof to->thread, "%s", event->thread->name);
    to->tid = event->thread->tid;
    to->to_ns = event->ticks;
    to->from_ns = event->ticks - event->dur_ns;
    for (unsigned i = 0; i < event->type->nargs; i++) {
        if (event->type->args[i].type == SKEIN_T_STR)
            snprintf(to->texts[i], sizeof to->texts[i], "%.*s", (int)event->args[i].str.len,
                     event->args[i].str.text);
        else
            to->numbers[i] = event->args[i].u64;
    }
}

static inline struct telling_read tell_of(struct sched_source *source, struct process *process,
                                          uint64_t from_ns, uint64_t to_ns, size_t room)
{
    const struct evidence_ask ask = {.process = process,
                                     .from_ns = from_ns,
                                     .to_ns = to_ns,
                                     .deadline_ns = clock_monotonic_ns() + 20000000000u};
    struct telling_read read = {0};
    struct evidence_out *out;
    struct partition_info info = {.host = "", .service = "", .labels = "", .exe = ""};
    struct partition_writer *writer = NULL;
    struct partition_reader *reader;
    struct buf bytes = {0};
    char error[256] = "";
    struct trace_event event;
    ck_assert_int_eq(evidence_out_new(room, &out), SKEIN_OK);
    sched_source_collect(source, &ask, out, &read.note);
    if (evidence_out_pour(out, &info, from_ns, to_ns, &writer) == SKEIN_OK) {
        ck_assert_int_eq(partition_writer_finish(writer, &bytes, NULL), SKEIN_OK);
        ck_assert_int_eq(partition_reader_new(bytes.data, bytes.len, &reader, error, sizeof error),
                         SKEIN_OK);
        read.events = calloc(partition_reader_footer(reader)->events, sizeof *read.events);
        while (partition_reader_next(reader, &event) == 1)
            told_take(&read.events[read.count++], &event);
        partition_reader_free(&reader);
    }
    partition_writer_free(&writer);
    evidence_out_free(&out);
    buf_fini(&bytes);
    return read;
}

static inline struct telling_read tell_room(struct sched_source *source, uint64_t from_ns,
                                            uint64_t to_ns, size_t room)
{
    static struct process process;
    process.pid = (uint32_t)getpid();
    return tell_of(source, &process, from_ns, to_ns, room);
}

static inline struct telling_read tell(struct sched_source *source, uint64_t from_ns,
                                       uint64_t to_ns)
{
    return tell_room(source, from_ns, to_ns, 0);
}

/* How much of it is in [from, to]. */
static inline uint64_t told_part(const struct told *told, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t from = told->from_ns > from_ns ? told->from_ns : from_ns;
    uint64_t to = told->to_ns < to_ns ? told->to_ns : to_ns;
    return to > from ? to - from : 0;
}

/* The part of [from, to] that the thread spent in events of the name. */
static inline uint64_t told_sum(const struct telling_read *read, uint32_t tid, const char *name,
                                uint64_t from_ns, uint64_t to_ns)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < read->count; i++) {
        const struct told *told = &read->events[i];
        if (told->tid == tid && strcmp(told->name, name) == 0)
            sum += told_part(told, from_ns, to_ns);
    }
    return sum;
}

/* Some kernels leave out changes of a CPU's thread. A span beside such a one is a bound: a part of it
 * was one of the thread's other states (docs/evidence-sched.md). */
static inline bool told_is_bound(const struct told *told)
{
    bool runs = strcmp(told->name, "sched.run") == 0;
    return strcmp(told->texts[runs ? 1 : 5], "unseen") == 0; /* the argument cut */
}

/* The part of [from, to] in which the thread's state is a bound. Of events of the name alone, or, with
 * NULL, of all. */
static inline uint64_t told_doubt(const struct telling_read *read, uint32_t tid, const char *name,
                                  uint64_t from_ns, uint64_t to_ns)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < read->count; i++) {
        const struct told *told = &read->events[i];
        if (told->tid == tid && strncmp(told->name, "sched.", 6) == 0 && told_is_bound(told) &&
            (name == NULL || strcmp(told->name, name) == 0))
            sum += told_part(told, from_ns, to_ns);
    }
    return sum;
}

#endif
