/* SPDX-License-Identifier: Apache-2.0
 * Evidence that a hostile agent has written: the events' kinds, times and numbers are the input's;
 * read by whatever explains them (thread dumps, vitals, the scheduler, profiles).
 *
 *   one event: type, thread, time, stack, then 8 bytes for each argument
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "partition_reader.h"
#include "partition_writer.h"
#include "sched_sums.h"
#include "stack_profile.h"
#include "summary.h"
#include "thread_list.h"
#include "vitals_table.h"

#define EVENTS_MAX 4096
#define THREADS    8
#define STACKS     4

static void require(bool fine)
{
    if (!fine)
        abort();
}

struct input {
    const uint8_t *at, *end;
};

static uint8_t byte_take(struct input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

static uint64_t number_take(struct input *in)
{
    uint64_t value = 0;
    size_t left = (size_t)(in->end - in->at), n = left < sizeof value ? left : sizeof value;
    memcpy(&value, in->at, n);
    in->at += n;
    return value;
}

static const char *const names[] = {"thread.state",
                                    "thread.wait",
                                    "thread.dump",
                                    "thread.cpu",
                                    "cpu.sample",
                                    "cpu.others",
                                    "cpu.window",
                                    "sched.run",
                                    "sched.runnable",
                                    "sched.blocked",
                                    "sched.neighbour",
                                    "sched.lost",
                                    "thread.sched",
                                    "proc.state",
                                    "host.top.cpu",
                                    "host.top.",
                                    "host.cpu0.busy",
                                    "proc.memory",
                                    "fd",
                                    "thread."};
static const char *const arguments[] = {"state", "at_least", "at_most", "pid",    "name", "cpu",
                                        "why",   "instead",  "waker",   "weight", "cut",  "comm"};
#define COUNT(list) (sizeof(list) / sizeof *(list))

static const char *text_of(uint64_t value)
{
    static const char *const texts[] = {"running", "sleeping",    "mutex",
                                        "thread",  "\x1b[2J\xff", ""};
    return texts[value % COUNT(texts)];
}

static struct partition_event_type type_of(struct input *in)
{
    static const uint8_t kinds[] = {SKEIN_CLASS_INSTANT, SKEIN_CLASS_COUNTER, SKEIN_CLASS_SPAN};
    struct partition_event_type type = {.name = names[byte_take(in) % COUNT(names)],
                                        .text = "",
                                        .file = "",
                                        .klass = kinds[byte_take(in) % COUNT(kinds)],
                                        .nargs = byte_take(in) % (SKEIN_ARGS_MAX + 1)};
    for (unsigned i = 0; i < type.nargs; i++) {
        uint8_t what = byte_take(in);
        type.args[i] =
            (struct partition_arg){(uint8_t)(1 + what % SKEIN_T_STR),
                                   arguments[what / SKEIN_T_STR % COUNT(arguments)], "ns"};
    }
    return type;
}

static void event_put(struct partition_writer *w, struct input *in)
{
    const struct partition_event_type type = type_of(in);
    uint8_t which = byte_take(in);
    const char name[2] = {(char)('a' + which % THREADS), '\0'};
    const struct partition_thread thread = {(uint32_t)which % THREADS, name, 1};
    struct partition_value values[SKEIN_ARGS_MAX];
    memset(values, 0, sizeof values);
    for (unsigned i = 0; i < type.nargs; i++) {
        uint64_t value = number_take(in);
        if (type.args[i].type == SKEIN_T_STR)
            values[i].str.text = text_of(value),
            values[i].str.len = (uint32_t)strlen(text_of(value));
        else /* holders are often threads */
            values[i].u64 = value % 3 == 0 ? value / 3 % THREADS : value;
    }
    int64_t kind = partition_writer_type(w, &type), on = partition_writer_thread(w, &thread);
    if (kind < 0 || on < 0)
        return;
    uint64_t ticks = (uint64_t)byte_take(in) << (byte_take(in) % 40);
    partition_writer_batch(w, (uint32_t)on, 0, 0, true);
    partition_writer_event(w, (uint32_t)kind, ticks,
                           type.klass == SKEIN_CLASS_SPAN ? number_take(in) : 0, values);
    partition_writer_event_stack(w, which / THREADS % (STACKS + 1));
}

static void partition_make(struct input *in, uint64_t sequence, bool evidence, struct buf *out)
{
    const struct partition_info info = {.key = {.epoch = 1, .sequence = sequence},
                                        .pid = 7,
                                        .clock = PARTITION_CLOCK_MONOTONIC,
                                        .begin = {0, 0, 0, 1},
                                        .end = {1000, 1000, 1000, 1001},
                                        .window_to_ticks = 1000,
                                        .host = "h",
                                        .service = "s",
                                        .labels = "",
                                        .exe = "",
                                        .evidence = evidence};
    struct partition_writer *w;
    require(partition_writer_new(&info, &w) == SKEIN_OK);
    for (uint64_t i = 1; i <= STACKS; i++) {
        const uint64_t pcs[2] = {i, sequence};
        require(partition_writer_stack(w, &(struct partition_stack){pcs, 2, (uint8_t)i}) > 0);
    }
    for (unsigned i = 0; in->at < in->end && i < EVENTS_MAX; i++)
        event_put(w, in);
    if (partition_writer_finish(w, out, NULL) != SKEIN_OK)
        buf_clear(out);
    partition_writer_free(&w);
}

struct readers {
    struct thread_list *threads;
    struct vitals_table *vitals;
    struct sched_sums *sched;
    struct stack_profile *profile;
};

static void partition_read(struct readers *readers, const struct buf *bytes)
{
    struct partition_reader *reader;
    struct trace_event event;
    char error[256];
    if (partition_reader_new(bytes->data, bytes->len, &reader, error, sizeof error) != SKEIN_OK)
        return;
    while (partition_reader_next(reader, &event) == 1) {
        require(thread_list_add(readers->threads, reader, &event) == SKEIN_OK);
        require(vitals_table_add(readers->vitals, partition_reader_info(reader), &event) == 0);
        require(sched_sums_add(readers->sched, partition_reader_info(reader), &event) == 0);
        require(stack_profile_add(readers->profile, reader, &event) == SKEIN_OK);
    }
    partition_reader_free(&reader);
}

/* Each thread in one group; each of a circle waits for the next. */
static void dump_check(const struct thread_dump_view *dump)
{
    size_t grouped = 0;
    for (size_t i = 0; i < dump->group_count; i++) {
        require(dump->groups[i].first == grouped);
        grouped += dump->groups[i].count;
    }
    require(grouped == dump->thread_count);
    for (size_t i = 0; i < dump->circle_count; i++) {
        const struct thread_circle *circle = &dump->circles[i];
        for (size_t k = 0; k < circle->count; k++) {
            bool waits = false;
            for (size_t t = 0; t < dump->thread_count; t++)
                waits |= dump->threads[t].tid == circle->tids[k] &&
                         dump->threads[t].holder == circle->tids[(k + 1) % circle->count];
            require(waits);
        }
    }
}

static void readers_end(struct readers *readers)
{
    const struct thread_dump_view *dumps;
    const struct vitals_list *vitals;
    const struct sched_thread_sums *threads;
    struct buf text = {0};
    size_t count;
    require(thread_list_end(readers->threads, &dumps, &count) == SKEIN_OK);
    for (size_t i = 0; i < count; i++)
        dump_check(&dumps[i]);
    require(vitals_table_end(readers->vitals, &vitals) == SKEIN_OK);
    for (size_t i = 0; i < vitals->row_count; i++)
        require(vitals->rows[i].samples == 0 || (vitals->rows[i].least <= vitals->rows[i].median &&
                                                 vitals->rows[i].median <= vitals->rows[i].most));
    (void)sched_sums_threads(readers->sched, &threads);
    require(stack_profile_folded(readers->profile, false, &text) == SKEIN_OK);
    require(stack_profile_pprof(readers->profile, &text) == SKEIN_OK);
    buf_fini(&text);
}

/* Both as one trace: its summary comes back from its bytes. */
static void summary_check(const struct buf parts[2])
{
    struct skein_trace *trace;
    struct summary *s, *back;
    struct buf put = {0};
    char error[SKEIN_TRACE_ERROR_BYTES];
    require(skein_trace_new(&trace) == SKEIN_OK && summary_new(4, &s) == SKEIN_OK);
    for (unsigned i = 0; i < 2; i++)
        if (parts[i].len > 0)
            (void)skein_trace_add_memory(trace, parts[i].data, parts[i].len, "made", error);
    require(summary_read(s, trace, NULL) == SKEIN_OK);
    require(summary_bytes_put(s, &put) == SKEIN_OK);
    require(summary_bytes_get(put.data, put.len, 4, &back) == SKEIN_OK);
    summary_free(&s);
    summary_free(&back);
    skein_trace_free(&trace);
    buf_fini(&put);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct readers readers;
    struct input first = {bytes, bytes + n / 2}, second = {bytes + n / 2, bytes + n};
    struct buf parts[2] = {{0}, {0}};
    require(thread_list_new(&readers.threads) == SKEIN_OK &&
            vitals_table_new(&readers.vitals) == SKEIN_OK &&
            sched_sums_new(&readers.sched) == SKEIN_OK &&
            stack_profile_new(0, &readers.profile) == SKEIN_OK);
    partition_make(&first, 1, n % 4 != 0, &parts[0]);
    partition_read(&readers, &parts[0]);
    partition_make(&second, 2, true, &parts[1]);
    partition_read(&readers, &parts[1]);
    readers_end(&readers);
    summary_check(parts);
    buf_fini(&parts[0]);
    buf_fini(&parts[1]);
    thread_list_free(&readers.threads);
    vitals_table_free(&readers.vitals);
    sched_sums_free(&readers.sched);
    stack_profile_free(&readers.profile);
    return 0;
}
