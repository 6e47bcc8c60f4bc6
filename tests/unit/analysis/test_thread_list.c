/* SPDX-License-Identifier: Apache-2.0
 * Dumps that are written here by hand: what is one group, in which order, and who is in a circle. */
#include "thread_list.h"

#include <stdlib.h>
#include <string.h>

#include "partition_writer.h"
#include "support.h"

struct hand_thread {
    uint32_t tid;
    const char *state;
    uint32_t stack;  /* of the two; 0: none */
    uint32_t holder; /* 0: it waits for none */
};

static struct partition_value text_value(const char *text)
{
    return (struct partition_value){.str = {.text = text, .len = (uint32_t)strlen(text)}};
}

static const struct partition_event_type type_state = {.name = "thread.state",
                                                       .klass = SKEIN_CLASS_INSTANT,
                                                       .nargs = 6,
                                                       .args = {{SKEIN_T_STR, "state", ""},
                                                                {SKEIN_T_STR, "wchan", ""},
                                                                {SKEIN_T_STR, "syscall", ""},
                                                                {SKEIN_T_U64, "cpu", "ns"},
                                                                {SKEIN_T_U64, "voluntary", ""},
                                                                {SKEIN_T_U64, "involuntary", ""}}};
static const struct partition_event_type type_wait = {
    .name = "thread.wait",
    .klass = SKEIN_CLASS_INSTANT,
    .nargs = 3,
    .args = {{SKEIN_T_STR, "for", ""}, {SKEIN_T_PTR, "object", ""}, {SKEIN_T_U64, "holder", ""}}};

static void thread_put(struct partition_writer *w, const struct hand_thread *thread)
{
    const struct partition_thread who = {.tid = thread->tid, .name = "worker"};
    const struct partition_value state[] = {text_value(thread->state),
                                            text_value("futex_wait"),
                                            text_value("futex(0x10)"),
                                            {.u64 = 7},
                                            {.u64 = 8},
                                            {.u64 = 9}};
    partition_writer_batch(w, (uint32_t)partition_writer_thread(w, &who), 0, 0, false);
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &type_state), 1500, 0, state);
    partition_writer_event_stack(w, thread->stack);
    if (thread->holder == 0)
        return;
    const struct partition_value wait[] = {
        text_value("mutex"), {.u64 = 0x10}, {.u64 = thread->holder}};
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &type_wait), 1500, 0, wait);
}

static void partition_put(const struct hand_thread *threads, size_t count, bool evidence,
                          uint64_t sequence, struct buf *out)
{
    const uint64_t pcs[2][2] = {{0x1004, 0x2005}, {0x1104, 0x2005}};
    const struct partition_line lines[] = {{"inner", "a.c", 3}, {"outer", "a.c", 9}};
    const struct partition_info info = {.key = {.process = {{1}}, .epoch = 1, .sequence = sequence},
                                        .pid = 42,
                                        .clock = PARTITION_CLOCK_MONOTONIC,
                                        .begin = {1000, 1000, 1000, 1000},
                                        .end = {2000, 2000, 2000, 2000},
                                        .host = "h",
                                        .service = "s",
                                        .labels = "",
                                        .exe = "",
                                        .evidence = evidence};
    struct partition_writer *w;
    struct partition_footer footer;
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    for (unsigned i = 0; i < 2; i++) {
        const struct partition_stack stack = {pcs[i], 2, PARTITION_STACK_EXACT};
        ck_assert_int_eq(partition_writer_stack(w, &stack), i + 1);
    }
    const struct partition_mapping mapping = {.start = 0x1000, .end = 0x3000, .path = "/lib/x.so"};
    const struct partition_symbol symbol = {.address = 0x1004, .lines = lines, .line_count = 2};
    ck_assert_int_eq(partition_writer_mapping(w, &mapping), SKEIN_OK);
    ck_assert_int_eq(partition_writer_symbol(w, &symbol), SKEIN_OK);
    for (size_t i = 0; i < count; i++)
        thread_put(w, &threads[i]);
    ck_assert_int_eq(partition_writer_finish(w, out, &footer), SKEIN_OK);
    partition_footer_free(&footer);
    partition_writer_free(&w);
}

static void partition_add(struct thread_list *list, const struct buf *bytes)
{
    struct partition_reader *reader;
    struct trace_event event;
    char error[256];
    ck_assert_int_eq(partition_reader_new(bytes->data, bytes->len, &reader, error, sizeof error),
                     SKEIN_OK);
    while (partition_reader_next(reader, &event) == 1)
        ck_assert_int_eq(thread_list_add(list, reader, &event), SKEIN_OK);
    partition_reader_free(&reader); /* the list keeps what it needs */
}

static const struct thread_dump_view *dump_of(struct thread_list *list,
                                              const struct hand_thread *threads, size_t count)
{
    const struct thread_dump_view *dumps;
    size_t dump_count;
    struct buf bytes = {0};
    partition_put(threads, count, true, 1, &bytes);
    partition_add(list, &bytes);
    buf_fini(&bytes);
    ck_assert_int_eq(thread_list_end(list, &dumps, &dump_count), SKEIN_OK);
    ck_assert_uint_eq(dump_count, 1);
    return dumps;
}

START_TEST(equal_stacks_are_one_group_and_waiters_come_first)
{
    static const struct hand_thread threads[] = {{10, "sleeping", 1, 0},
                                                 {11, "sleeping", 1, 0},
                                                 {12, "running", 2, 0},
                                                 {13, "sleeping", 0, 12},
                                                 {14, "sleeping", 1, 0}};
    struct thread_list *list;
    ck_assert_int_eq(thread_list_new(&list), SKEIN_OK);
    const struct thread_dump_view *dump = dump_of(list, threads, 5);
    ck_assert_uint_eq(dump->pid, 42);
    ck_assert_uint_eq(dump->thread_count, 5);
    ck_assert_uint_eq(dump->group_count, 3);
    const struct thread_group *groups = dump->groups;
    ck_assert_uint_eq(groups[0].count, 1);
    ck_assert_uint_eq(dump->threads[groups[0].first].tid, 13);
    ck_assert_uint_eq(dump->threads[groups[0].first].holder, 12);
    ck_assert_uint_eq(groups[0].frame_count, 0);
    ck_assert_uint_eq(dump->threads[groups[1].first].tid, 12);
    ck_assert_uint_eq(groups[2].count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct thread_item *thread = &dump->threads[groups[2].first + i];
        ck_assert(thread->tid == 10 || thread->tid == 11 || thread->tid == 14);
        ck_assert_str_eq(thread->call, "futex(0x10)");
        ck_assert_uint_eq(thread->involuntary, 9);
    }
    /* Two functions at one address, and one without a name. */
    const struct thread_frame *frames = groups[2].frames;
    ck_assert_uint_eq(groups[2].frame_count, 3);
    ck_assert_str_eq(frames[0].function, "inner");
    ck_assert(frames[0].inlined);
    ck_assert_str_eq(frames[1].function, "outer");
    ck_assert(!frames[1].inlined);
    ck_assert_uint_eq(frames[1].line, 9);
    ck_assert_str_eq(frames[2].function, "");
    ck_assert_str_eq(frames[2].module, "/lib/x.so");
    ck_assert_uint_eq(frames[2].pc, 0x2005);
    ck_assert_uint_eq(dump->circle_count, 0);
    thread_list_free(&list);
}
END_TEST

START_TEST(who_waits_in_a_circle_is_named_once)
{
    /* 1 -> 3 -> 2 -> 1; 4 waits for the circle; 5 for itself; 6 for one that is not there */
    static const struct hand_thread threads[] = {{1, "sleeping", 1, 3}, {2, "sleeping", 1, 1},
                                                 {3, "sleeping", 1, 2}, {4, "sleeping", 1, 2},
                                                 {5, "sleeping", 1, 5}, {6, "sleeping", 1, 99}};
    struct thread_list *list;
    ck_assert_int_eq(thread_list_new(&list), SKEIN_OK);
    const struct thread_dump_view *dump = dump_of(list, threads, 6);
    ck_assert_uint_eq(dump->circle_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct thread_circle *circle = &dump->circles[i];
        if (circle->count == 1) {
            ck_assert_uint_eq(circle->tids[0], 5);
            continue;
        }
        ck_assert_uint_eq(circle->count, 3);
        ck_assert_uint_eq(circle->tids[0], 1);
        ck_assert_uint_eq(circle->tids[1], 3);
        ck_assert_uint_eq(circle->tids[2], 2);
    }
    ck_assert_uint_ne(dump->circles[0].count, dump->circles[1].count);
    thread_list_free(&list);
}
END_TEST

/* An application may write events of these names into its ring. */
START_TEST(only_evidence_is_believed)
{
    static const struct hand_thread threads[] = {{1, "sleeping", 1, 0}};
    const struct thread_dump_view *dumps;
    struct thread_list *list;
    struct buf bytes = {0};
    size_t count;
    ck_assert_int_eq(thread_list_new(&list), SKEIN_OK);
    partition_put(threads, 1, false, 1, &bytes);
    partition_add(list, &bytes);
    ck_assert_int_eq(thread_list_end(list, &dumps, &count), SKEIN_OK);
    ck_assert_uint_eq(count, 0);
    buf_fini(&bytes);
    thread_list_free(&list);
}
END_TEST

START_TEST(two_dumps_of_a_process_are_two)
{
    static const struct hand_thread threads[] = {{1, "sleeping", 1, 2}, {2, "sleeping", 1, 0}};
    const struct thread_dump_view *dumps;
    struct thread_list *list;
    size_t count;
    ck_assert_int_eq(thread_list_new(&list), SKEIN_OK);
    for (uint64_t sequence = 1; sequence <= 2; sequence++) {
        struct buf bytes = {0};
        partition_put(threads, (size_t)sequence, true, sequence, &bytes);
        partition_add(list, &bytes);
        buf_fini(&bytes);
    }
    ck_assert_int_eq(thread_list_end(list, &dumps, &count), SKEIN_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(dumps[0].thread_count, 1);
    ck_assert_uint_eq(dumps[1].thread_count, 2);
    thread_list_free(&list);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("thread list", equal_stacks_are_one_group_and_waiters_come_first,
                              who_waits_in_a_circle_is_named_once, only_evidence_is_believed,
                              two_dumps_of_a_process_are_two, NULL));
}
