/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace with something of everything that an export can carry, and a list of what was written into
 * it, for chrome_rules.py, ctf_rules.py, fxt_rules.py and otlp_rules.py: two processes of two hosts
 * with one pid, all types of arguments, names and texts that are hostile, ranges over cuts, losses,
 * what is open in the end, stacks, and evidence. Arguments: the trace, and the list, a line of JSON
 * for each record in hex where it is a text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition_writer.h"

enum { SECOND = 1000000000, MS = 1000000, REPEATS = 700 };
#define EPOCH_NS UINT64_C(1795254000000000000)
#define TRACE_ID "4BF92F3577B34DA6A3CE929D0E0E4736"
#define HOSTILE  "h\"o\\s\nt\x01\x7f\xff*/ \xc3\xa9 \xed\xa0\x80"

struct maker {
    const char *host, *service;
    uint8_t process;
    int64_t offset_ns;
    struct partition_writer *w;
    FILE *truth;
    const struct partition_thread *on;
    bool evidence;
    uint32_t stack;
};

static void must(bool fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "make_exchange_trace: %s failed\n", what);
    exit(1);
}

/* ---- the list ---- */

static void hex_put(FILE *out, const char *text, size_t n)
{
    fputc('"', out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%02x", (uint8_t)text[i]);
    fputc('"', out);
}

static void value_put(FILE *out, uint8_t type, const struct partition_value *v)
{
    switch (type) {
    case SKEIN_T_F64: {
        uint64_t bits;
        memcpy(&bits, &v->f64, sizeof bits);
        fprintf(out, "\"%016" PRIx64 "\"", bits);
        break;
    }
    case SKEIN_T_STR:
        hex_put(out, v->str.text, v->str.len);
        break;
    case SKEIN_T_SEQ:
        fprintf(out, "[\"%" PRIu64 "\",\"%" PRIu64 "\"]", v->seq.resource, v->seq.number);
        break;
    case SKEIN_T_I64:
        fprintf(out, "\"%" PRId64 "\"", v->i64);
        break;
    default:
        fprintf(out, "\"%" PRIu64 "\"", v->u64);
    }
}

/* A line: what it is, where, when (UTC by the collector), and its arguments as written. */
static void truth_put(struct maker *m, const char *kind, const struct partition_event_type *type,
                      uint64_t ticks, uint64_t dur, const struct partition_value *args)
{
    FILE *out = m->truth;
    fprintf(out, "{\"kind\":\"%s\",\"process\":%u,\"tid\":%u,\"thread\":", kind, m->process,
            m->on != NULL ? m->on->tid : 0);
    hex_put(out, m->on != NULL ? m->on->name : "", m->on != NULL ? strlen(m->on->name) : 0);
    fprintf(out,
            ",\"evidence\":%s,\"begin\":%" PRIu64 ",\"dur\":%" PRIu64 ",\"stack\":%s,\"name\":",
            m->evidence ? "true" : "false", EPOCH_NS + ticks, dur, m->stack > 0 ? "true" : "false");
    hex_put(out, type != NULL ? type->name : "", type != NULL ? strlen(type->name) : 0);
    fprintf(out, ",\"args\":[");
    for (unsigned i = 0; type != NULL && args != NULL && i < type->nargs; i++) {
        fprintf(out, "%s[%u,", i > 0 ? "," : "", type->args[i].type);
        hex_put(out, type->args[i].name, strlen(type->args[i].name));
        fputc(',', out);
        value_put(out, type->args[i].type, &args[i]);
        fprintf(out, type->args[i].type == SKEIN_T_STR && args[i].str.cut ? ",true]" : ",false]");
    }
    fprintf(out, "]}\n");
}

/* ---- types ---- */

static const struct partition_event_type query = {
    .name = "query",
    .text = "A statement */ runs",
    .file = "src/db.c",
    .line = 17,
    .klass = SKEIN_CLASS_RANGE_BEGIN,
    .group = 16,
    .nargs = 2,
    .args = {{SKEIN_T_STR, "trace_id", ""}, {SKEIN_T_U64, "rows", ""}}};
static const struct partition_event_type reading = {
    .name = "read",
    .klass = SKEIN_CLASS_SPAN,
    .group = SKEIN_GROUP_IO,
    .nargs = 2,
    .args = {{SKEIN_T_I64, "fd", ""}, {SKEIN_T_I64, "result", "errno"}}};
static const struct partition_event_type call = {
    .name = "call",
    .klass = SKEIN_CLASS_SPAN,
    .nargs = 2,
    .args = {{SKEIN_T_STR, "trace_id", ""}, {SKEIN_T_I64, "result", "errno"}}};
static const struct partition_event_type all = {.name = "all",
                                                .klass = SKEIN_CLASS_INSTANT,
                                                .nargs = 6,
                                                .args = {{SKEIN_T_F64, "ratio", "%"},
                                                         {SKEIN_T_BOOL, "hit", ""},
                                                         {SKEIN_T_PTR, "at", ""},
                                                         {SKEIN_T_STR, "text", ""},
                                                         {SKEIN_T_SEQ, "lock", ""},
                                                         {SKEIN_T_I64, "delta", "ms"}}};
static const struct partition_event_type hostile = {.name = HOSTILE,
                                                    .klass = SKEIN_CLASS_INSTANT,
                                                    .group = 63,
                                                    .nargs = 6,
                                                    .args = {{SKEIN_T_U64, "int", ""},
                                                             {SKEIN_T_U64, "a b", ""},
                                                             {SKEIN_T_U64, "a_b", ""},
                                                             {SKEIN_T_U64, "a_b", ""},
                                                             {SKEIN_T_STR, HOSTILE, ""},
                                                             {SKEIN_T_U64, "a_b__3", ""}}};
static const struct partition_event_type depth = {.name = "queue_depth",
                                                  .klass = SKEIN_CLASS_COUNTER,
                                                  .nargs = 1,
                                                  .args = {{SKEIN_T_U64, "value", "jobs"}}};
static const struct partition_event_type load = {
    .name = "load",
    .klass = SKEIN_CLASS_COUNTER,
    .nargs = 3,
    .args = {{SKEIN_T_I64, "run", ""}, {SKEIN_T_STR, "who", ""}, {SKEIN_T_F64, "wait", ""}}};
static const struct partition_event_type heat = {.name = "heat",
                                                 .klass = SKEIN_CLASS_COUNTER,
                                                 .nargs = 1,
                                                 .args = {{SKEIN_T_F64, "value", "C"}}};
static const struct partition_event_type logged = {
    .name = "log",
    .klass = SKEIN_CLASS_LOG,
    .group = SKEIN_GROUP_LOG,
    .nargs = 2,
    .args = {{SKEIN_T_U64, "level", ""}, {SKEIN_T_STR, "text", ""}}};
static const struct partition_event_type ran = {
    .name = "sched.run", .klass = SKEIN_CLASS_SPAN, .nargs = 1, .args = {{SKEIN_T_U64, "cpu", ""}}};
static const struct partition_event_type ready = {
    .name = "sched.runnable",
    .klass = SKEIN_CLASS_SPAN,
    .nargs = 2,
    .args = {{SKEIN_T_U64, "cpu", ""}, {SKEIN_T_STR, "why", ""}}};
static const struct partition_event_type blocked = {.name = "sched.blocked",
                                                    .klass = SKEIN_CLASS_SPAN,
                                                    .nargs = 1,
                                                    .args = {{SKEIN_T_STR, "state", ""}}};
static const struct partition_event_type sample = {
    .name = "cpu.sample",
    .klass = SKEIN_CLASS_INSTANT,
    .nargs = 2,
    .args = {{SKEIN_T_U64, "cpu", ""}, {SKEIN_T_U64, "weight", "ns"}}};

/* ---- values ---- */

static struct partition_value number(uint64_t n)
{
    return (struct partition_value){.u64 = n};
}

static struct partition_value text(const char *t)
{
    return (struct partition_value){.str = {t, (uint32_t)strlen(t), false}};
}

/* ---- records ---- */

/* Writes the record, and says so: of a begin nothing, its end does. */
static void put(struct maker *m, const struct partition_event_type *type, uint64_t ticks,
                uint64_t dur, const struct partition_value *args)
{
    static const char *const kinds[] = {[SKEIN_CLASS_INSTANT] = "instant",
                                        [SKEIN_CLASS_SPAN] = "region",
                                        [SKEIN_CLASS_COUNTER] = "counter",
                                        [SKEIN_CLASS_LOG] = "log"};
    partition_writer_event(m->w, (uint32_t)partition_writer_type(m->w, type), ticks, dur, args);
    if (m->stack > 0)
        partition_writer_event_stack(m->w, m->stack);
    if (type->klass != SKEIN_CLASS_RANGE_BEGIN)
        truth_put(m, kinds[type->klass], type, ticks - dur, dur, args);
}

static void thread_begin(struct maker *m, const struct partition_thread *thread, uint64_t sequence)
{
    m->on = thread;
    uint32_t t = (uint32_t)partition_writer_thread(m->w, thread);
    partition_writer_batch(m->w, t, 1, sequence, false);
}

static const struct partition_thread first = {4711, "main", 1};
static const struct partition_thread second = {4712, "work\"er \xff\xc3\xa9", 2};
static const struct partition_thread again = {4712, "later", 9};

static void stacks_make(struct maker *m)
{
    static const uint64_t frames[] = {0x401010, 0x401110, 0x7f0000001234, 0x99};
    static const struct partition_line take[] = {{"take(lock*)", "/src/lock.h", 12},
                                                 {"pay\"\xff(order const&)", "/src/pay.cc", 7}};
    static const struct partition_line loop[] = {{"loop()", "/src/main.cc", 70}};
    const struct partition_stack stack = {frames, 4, PARTITION_STACK_BROKEN};
    m->stack = (uint32_t)partition_writer_stack(m->w, &stack);
    partition_writer_mapping(
        m->w, &(struct partition_mapping){0x401000, 0x402000, 0x1000, "/usr/bin/shop", {0xab}, 1});
    partition_writer_mapping(
        m->w, &(struct partition_mapping){
                  0x7f0000000000, 0x7f0000010000, 0x2000, "/lib/libdb.so.5", {0xcd}, 1});
    partition_writer_symbol(m->w, &(struct partition_symbol){0x40100f, take, 2});
    partition_writer_symbol(m->w, &(struct partition_symbol){0x40110f, loop, 1});
}

static void values_put(struct maker *m)
{
    static char long_text[1024];
    struct partition_value args[SKEIN_ARGS_MAX] = {{.f64 = 0.1}};
    memset(long_text, 'x', sizeof long_text);
    args[1] = number(1);
    args[2] = number(UINT64_MAX);
    args[3] = text(HOSTILE);
    args[4].seq.resource = 0xabcdef;
    args[4].seq.number = 7;
    args[5].i64 = INT64_MIN;
    put(m, &all, 300 * MS + 1, 0, args);
    args[0].f64 = -1.5e300;
    args[1] = number(0);
    args[3].str.text = long_text;
    args[3].str.len = sizeof long_text;
    args[3].str.cut = true;
    args[4].seq.number = UINT64_MAX;
    args[5].i64 = 3;
    put(m, &all, 300 * MS + 2, 0, args);
    for (unsigned i = 0; i < 6; i++)
        args[i] = number(i + 10);
    args[4] = text("");
    put(m, &hostile, 300 * MS + 3, 0, args);
    args[0] = number(UINT64_MAX);
    put(m, &depth, 300 * MS + 4, 0, args);
    args[0].f64 = 36.6;
    put(m, &heat, 300 * MS + 5, 0, args);
    args[0].i64 = -7;
    args[1] = text("no curve");
    args[2].f64 = 0.25;
    put(m, &load, 300 * MS + 5, 0, args);
    args[0] = number(2);
    args[1] = text("retrying \"now\"\n\x1b[31m");
    put(m, &logged, 300 * MS + 6, 0, args);
}

/* Ranges in each other, of one trace or none, and spans in them. */
static void queries_put(struct maker *m, uint64_t base)
{
    for (uint64_t i = 0; i < REPEATS; i++) {
        uint64_t at = base + i * 10000 + i % 7;
        struct partition_value outer[2] = {text(TRACE_ID), number(i)};
        struct partition_value inner[2] = {text(i % 2 ? TRACE_ID : "none"), number(i * 1000)};
        struct partition_value read[2] = {{.i64 = (int64_t)i - 5}, {.i64 = -2}};
        struct partition_value called[2] = {text(TRACE_ID), {.i64 = i % 3 ? 0 : -111}};
        put(m, &query, at, 0, outer);
        put(m, &query, at + 1000, 0, inner);
        put(m, &reading, at + 1501, 333, read);
        put(m, &call, at + 1700, 100, called);
        partition_writer_end(m->w, at + 2000);
        truth_put(m, "region", &query, at + 1000, 1000, inner);
        partition_writer_end(m->w, at + 3003);
        truth_put(m, "region", &query, at, 3003, outer);
    }
}

static void loss_put(struct maker *m, bool of_thread, uint8_t reason, uint64_t lost, uint64_t from,
                     uint64_t to)
{
    uint32_t thread = of_thread ? (uint32_t)partition_writer_thread(m->w, &second) : UINT32_MAX;
    struct partition_value value = number(lost);
    const struct partition_event_type named = {
        .name = reason == PARTITION_LOSS_RING_FULL ? "ring_full" : "overwritten",
        .nargs = 1,
        .args = {{SKEIN_T_U64, "records", ""}}};
    partition_writer_loss(m->w, &(struct partition_loss){thread, reason, lost, from, to});
    m->on = of_thread ? &second : NULL;
    truth_put(m, "loss", &named, from, to - from, &value);
}

/* ---- partitions ---- */

static void writer_begin(struct maker *m, uint64_t sequence, uint64_t from, uint64_t to)
{
    uint64_t real = EPOCH_NS - (uint64_t)m->offset_ns;
    struct partition_info info = {
        .key = {.epoch = 1,
                .sequence = m->evidence ? PARTITION_EVIDENCE_FROM + sequence : sequence},
        .generation = 1,
        .pid = 4711,
        .process_start_ns = EPOCH_NS - SECOND,
        .clock = PARTITION_CLOCK_MONOTONIC,
        .begin = {from, SECOND + from, SECOND + from, real + from},
        .end = {to, SECOND + to, SECOND + to, real + to},
        .clock_offset_ns = m->offset_ns,
        .window_from_ticks = from,
        .window_to_ticks = to,
        .host = m->host,
        .service = m->service,
        .labels = "zone=a",
        .exe = "/usr/bin/shop",
        .evidence = m->evidence};
    info.key.process.bytes[15] = m->process;
    must(partition_writer_new(&info, &m->w) == SKEIN_OK, "partition_writer_new");
}

static void writer_end(struct maker *m, FILE *out)
{
    struct buf bytes = {0};
    must(partition_writer_finish(m->w, &bytes, NULL) == SKEIN_OK, "partition_writer_finish");
    must(fwrite(bytes.data, 1, bytes.len, out) == bytes.len, "the trace");
    partition_writer_free(&m->w);
    buf_fini(&bytes);
}

/* The first second: ends with a range that goes on. */
static void first_put(struct maker *m, FILE *out)
{
    struct partition_value over[2] = {text("none"), number(77)};
    writer_begin(m, 0, 0, SECOND);
    thread_begin(m, &first, 1);
    queries_put(m, 100 * MS);
    put(m, &query, 900 * MS, 0, over);
    thread_begin(m, &second, 1);
    partition_writer_end(m->w, 200 * MS);
    truth_put(m, "end", NULL, 200 * MS, 0, NULL);
    values_put(m);
    loss_put(m, true, PARTITION_LOSS_RING_FULL, 12, 400 * MS, 500 * MS);
    loss_put(m, false, PARTITION_LOSS_OVERWRITTEN, 0, 10 * MS, 20 * MS);
    writer_end(m, out);
}

/* The second: that range ends, another does not, nor does an operation. */
static void second_put(struct maker *m, FILE *out)
{
    struct partition_value over[2] = {text("none"), number(77)};
    struct partition_value open[2] = {text(TRACE_ID), number(1)};
    writer_begin(m, 1, SECOND, 2ull * SECOND);
    thread_begin(m, &first, 2);
    partition_writer_open_range(m->w, partition_writer_type(m->w, &query), 900 * MS);
    stacks_make(m);
    partition_writer_end(m->w, SECOND + 100 * MS);
    partition_writer_event_stack(m->w, m->stack);
    truth_put(m, "region", &query, 900 * MS, 200 * MS, over);
    m->stack = 0;
    queries_put(m, SECOND + 200 * MS);
    put(m, &query, SECOND + 800 * MS, 0, open);
    truth_put(m, "open", &query, SECOND + 800 * MS, 200 * MS, open);
    thread_begin(m, &again, 1);
    put(m, &depth, SECOND + 300 * MS, 0, open + 1);
    partition_writer_open(m->w,
                          &(struct partition_open){(uint32_t)partition_writer_thread(m->w, &again),
                                                   (uint32_t)partition_writer_type(m->w, &reading),
                                                   SECOND + 900 * MS, -9});
    truth_put(m, "open", &reading, SECOND + 900 * MS, 100 * MS, NULL);
    writer_end(m, out);
}

/* What the agent saw: thread 4711 ran on CPU 3, was taken off it, slept, and ran on CPU 1. */
static void evidence_put(struct maker *m, FILE *out)
{
    struct partition_value args[2] = {number(3)};
    m->evidence = true;
    writer_begin(m, 0, 0, 2ull * SECOND);
    thread_begin(m, &first, 1);
    put(m, &ran, 150 * MS, 50 * MS, args);
    args[1] = text("preempted");
    put(m, &ready, 160 * MS, 10 * MS, args);
    put(m, &ran, 200 * MS, 40 * MS, args);
    struct partition_value asleep = text("S");
    put(m, &blocked, 700 * MS, 500 * MS, &asleep);
    args[0] = number(1);
    args[1] = text("woken");
    put(m, &ready, 705 * MS, 5 * MS, args);
    put(m, &ran, 800 * MS, 95 * MS, args);
    stacks_make(m);
    args[0] = number(1);
    args[1] = number(10 * MS);
    put(m, &sample, 810 * MS, 0, args);
    m->stack = 0;
    writer_end(m, out);
    m->evidence = false;
}

int main(int argc, char **argv)
{
    struct maker makers[] = {
        {.host = "host-a", .service = "shop", .process = 1, .offset_ns = -1500},
        {.host = HOSTILE, .service = HOSTILE, .process = 2, .offset_ns = 700}};
    must(argc == 3, "usage");
    FILE *out = fopen(argv[1], "w"), *truth = fopen(argv[2], "w");
    must(out != NULL && truth != NULL, "fopen");
    for (unsigned i = 0; i < 2; i++) {
        makers[i].truth = truth;
        first_put(&makers[i], out);
        second_put(&makers[i], out);
        evidence_put(&makers[i], out);
    }
    must(fclose(out) == 0 && fclose(truth) == 0, "fclose");
    return 0;
}
