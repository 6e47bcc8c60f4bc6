/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace with stacks for stack_rules.py, which knows what is in it: a process that waits twice in
 * one place and once in another, over a cut, and samples of what it ran. Argument: the file.
 */
#include <stdio.h>
#include <stdlib.h>

#include "partition_writer.h"

#define EPOCH_NS UINT64_C(1795254000000000000)
#define MS       UINT64_C(1000000)

static void must(bool fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "make_stack_trace: %s failed\n", what);
    exit(1);
}

static struct partition_writer *writer_make(uint64_t sequence, bool evidence)
{
    struct partition_info info = {
        .key = {.epoch = 1, .sequence = sequence},
        .generation = sequence,
        .pid = 77,
        .clock = PARTITION_CLOCK_MONOTONIC,
        .begin = {0, 1000, 1000, EPOCH_NS},
        .end = {1000 * MS, 1000 + 1000 * MS, 1000 + 1000 * MS, EPOCH_NS + 1000 * MS},
        .window_to_ticks = 1000 * MS,
        .host = "here",
        .service = "shop",
        .labels = "",
        .exe = "/usr/bin/shop",
        .evidence = evidence};
    struct partition_writer *w;
    must(partition_writer_new(&info, &w) == SKEIN_OK, "a writer");
    return w;
}

static void partition_end(struct partition_writer *w, struct buf *file)
{
    must(partition_writer_finish(w, file, NULL) == SKEIN_OK, "a partition");
    partition_writer_free(&w);
}

/* The same stacks in each partition, under other numbers. */
static void stacks_make(struct partition_writer *w, uint32_t ids[3], bool turned)
{
    static const uint64_t lock[] = {0x401010, 0x401110, 0x401210};
    static const uint64_t load[] = {0x7f0000001234, 0x401210};
    static const uint64_t spin[] = {0x401050, 0x401210};
    static const struct partition_line take[] = {{"take(lock*)", "/src/lock.h", 12},
                                                 {"pay(order const&)", "/src/pay.cc", 7}};
    static const struct partition_line loop[] = {{"loop()", "/src/main.cc", 70}};
    static const struct partition_line start[] = {{"main", "/src/main.cc", 9}};
    static const struct partition_line hash[] = {{"operator;(int)", "/src/hash.cc", 3}};
    const struct partition_stack stacks[] = {
        {lock, 3, PARTITION_STACK_WHOLE},
        {load, 2, PARTITION_STACK_BROKEN},
        {spin, 2, PARTITION_STACK_WHOLE | PARTITION_STACK_EXACT}};
    for (unsigned i = 0; i < 3; i++) {
        unsigned k = turned ? 2 - i : i;
        ids[k] = (uint32_t)partition_writer_stack(w, &stacks[k]);
    }
    partition_writer_mapping(
        w, &(struct partition_mapping){0x401000, 0x402000, 0x1000, "/usr/bin/shop", {0xab}, 1});
    partition_writer_mapping(
        w, &(struct partition_mapping){
               0x7f0000000000, 0x7f0000010000, 0x2000, "/lib/libdb.so.5", {0xcd, 0xef}, 2});
    partition_writer_symbol(w, &(struct partition_symbol){0x40100f, take, 2});
    partition_writer_symbol(w, &(struct partition_symbol){0x40110f, loop, 1});
    partition_writer_symbol(w, &(struct partition_symbol){0x40120f, start, 1});
    partition_writer_symbol(w, &(struct partition_symbol){0x401050, hash, 1});
}

static uint32_t thread_make(struct partition_writer *w, uint32_t tid, const char *name)
{
    return (uint32_t)partition_writer_thread(w, &(struct partition_thread){tid, name, 1});
}

static void cut_make(struct buf *file, uint64_t sequence)
{
    static const struct partition_event_type wait = {.name = "mutex_lock",
                                                     .klass = SKEIN_CLASS_SPAN};
    static const struct partition_event_type load = {.name = "load",
                                                     .klass = SKEIN_CLASS_RANGE_BEGIN};
    struct partition_writer *w = writer_make(sequence, false);
    uint32_t ids[3], waits = (uint32_t)partition_writer_type(w, &wait);
    uint32_t loads = (uint32_t)partition_writer_type(w, &load);
    stacks_make(w, ids, sequence > 0);
    partition_writer_batch(w, thread_make(w, 77, "main"), sequence, sequence, false);
    if (sequence == 0) {
        partition_writer_event(w, waits, 100 * MS, 30 * MS, NULL);
        partition_writer_event_stack(w, ids[0]);
        partition_writer_event(w, waits, 150 * MS, 20 * MS, NULL);
        partition_writer_event(w, loads, 200 * MS, 0, NULL);
    } else {
        partition_writer_open_range(w, loads, 200 * MS);
        partition_writer_event(w, waits, 600 * MS, 50 * MS, NULL);
        partition_writer_event_stack(w, ids[0]);
        partition_writer_end(w, 700 * MS);
        partition_writer_event_stack(w, ids[1]);
    }
    partition_end(w, file);
}

static void evidence_make(struct buf *file)
{
    static const struct partition_event_type sample = {
        .name = "cpu.sample",
        .klass = SKEIN_CLASS_INSTANT,
        .nargs = 2,
        .args = {{SKEIN_T_U64, "cpu", ""}, {SKEIN_T_U64, "weight", "ns"}}};
    static const struct partition_event_type window = {
        .name = "cpu.window",
        .klass = SKEIN_CLASS_INSTANT,
        .nargs = 2,
        .args = {{SKEIN_T_U64, "room", "ns"}, {SKEIN_T_U64, "cpus", ""}}};
    struct partition_writer *w = writer_make(1, true);
    uint32_t ids[3], samples = (uint32_t)partition_writer_type(w, &sample);
    uint32_t windows = (uint32_t)partition_writer_type(w, &window);
    struct partition_value sampled[2] = {{.u64 = 900 * MS}, {.u64 = 2}};
    stacks_make(w, ids, false);
    partition_writer_batch(w, thread_make(w, 78, "worker;1"), 0, 0, false);
    for (uint64_t i = 0; i < 5; i++) {
        struct partition_value args[2] = {{.u64 = i % 2}, {.u64 = 10 * MS}};
        partition_writer_event(w, samples, (50 + i * 100) * MS, 0, args);
        partition_writer_event_stack(w, ids[i == 4 ? 1 : 2]);
    }
    partition_writer_event(w, windows, 500 * MS, 0, sampled);
    partition_end(w, file);
}

int main(int argc, char **argv)
{
    struct buf file = {0};
    must(argc == 2, "an argument");
    cut_make(&file, 0);
    evidence_make(&file);
    cut_make(&file, 2);
    FILE *out = fopen(argv[1], "wb");
    must(out != NULL && fwrite(file.data, 1, file.len, out) == file.len && fclose(out) == 0,
         "writing");
    buf_fini(&file);
    return 0;
}
