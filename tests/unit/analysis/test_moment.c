/* SPDX-License-Identifier: Apache-2.0
 * What stands out around a moment, over events made by hand: times are milliseconds since T0. */
#include <stdlib.h>
#include <string.h>

#include "moment.h"
#include "support.h"

#define T0 UINT64_C(1800000000000000000)
#define MS UINT64_C(1000000)

static struct moment *moment;
static const struct moment_list *list;
static struct partition_info info = {
    .pid = 77, .host = "here", .service = "shop", .labels = "", .exe = ""};

static struct partition_event_type type_of(const char *name, uint8_t group)
{
    return (struct partition_event_type){
        .name = name, .text = "", .file = "", .klass = SKEIN_CLASS_SPAN, .group = group};
}

static void event(uint32_t tid, const char *name, uint8_t group, uint64_t from, uint64_t to,
                  uint8_t kind)
{
    struct partition_event_type type = type_of(name, group);
    struct partition_thread thread = {tid, tid == 77 ? "main" : "worker", tid};
    struct trace_event e = {.kind = kind,
                            .time_ns = T0 + from * MS,
                            .dur_ns = (to - from) * MS,
                            .thread = &thread,
                            .type = &type};
    ck_assert_int_eq(moment_add(moment, &info, &e, true), SKEIN_OK);
}

static void wait(uint32_t tid, const char *name, uint8_t group, uint64_t from, uint64_t to)
{
    event(tid, name, group, from, to, TRACE_REGION);
}

static void open_wait(uint32_t tid, const char *name, uint8_t group, uint64_t from, uint64_t to)
{
    event(tid, name, group, from, to, TRACE_OPEN);
}

static void set_up(void)
{
    ck_assert_int_eq(moment_new(0, T0 + 5000 * MS, false, &moment), SKEIN_OK);
    wait(77, "write", SKEIN_GROUP_IO, 1, 2); /* the record begins here */
}

static void tear_down(void)
{
    moment_free(&moment);
    moment_free(&moment);
}

static void judge(void)
{
    ck_assert_int_eq(moment_end(moment, 4, &list), SKEIN_OK);
}

/* An event loop's batch ends after the sleep inside of it. */
START_TEST(who_is_stalled_is_told_with_what_it_is_inside_of_and_the_idle_are_counted)
{
    wait(77, "sleep", SKEIN_GROUP_SLEEP, 4300, 6300);
    wait(77, "loop", SKEIN_GROUP_APP, 4299, 6301);
    open_wait(80, "cond_wait", SKEIN_GROUP_LOCK, 0, 8000); /* all the time */
    wait(81, "epoll_wait", SKEIN_GROUP_NET, 4000, 5500);   /* for whatever comes */
    for (uint64_t i = 0; i < 80; i++)                      /* as ever */
        wait(82, "sleep", SKEIN_GROUP_SLEEP, 100 * i, 100 * i + 99);
    open_wait(83, "mutex_lock", SKEIN_GROUP_LOCK, 0, 8000); /* a lock is never idle */
    wait(84, "recv", SKEIN_GROUP_NET, 4990, 5010);
    judge();
    ck_assert_uint_eq(list->inside_count, 3);
    ck_assert_uint_eq(list->inside[0].thread.tid, 83);
    ck_assert(list->inside[0].spans[0].open);
    ck_assert_uint_eq(list->inside[1].thread.tid, 77);
    ck_assert_uint_eq(list->inside[1].count, 2);
    ck_assert_str_eq(list->inside[1].spans[0].name, "loop");
    ck_assert_str_eq(list->inside[1].spans[1].name, "sleep");
    ck_assert_uint_eq(list->inside[2].thread.tid, 84);
    ck_assert_uint_eq(list->idle_count, 3);
    uint64_t idle = 0;
    for (size_t i = 0; i < list->idle_count; i++)
        idle += list->idle[i].threads;
    ck_assert_uint_eq(idle, 3);
}
END_TEST

START_TEST(the_longest_waits_leave_out_idle_ones_and_work)
{
    wait(77, "recv", SKEIN_GROUP_NET, 1000, 1700);
    wait(77, "connect", SKEIN_GROUP_NET, 2000, 2300);
    wait(77, "fsync", SKEIN_GROUP_IO, 3000, 3900);
    wait(77, "epoll_wait", SKEIN_GROUP_NET, 4000, 6000);
    wait(77, "query", SKEIN_GROUP_APP, 500, 7000);
    open_wait(80, "sem_wait", SKEIN_GROUP_LOCK, 0, 8000);
    judge();
    /* epoll_wait was inside of the query, so it was no idle one */
    static const char *const names[] = {"epoll_wait", "fsync", "recv", "connect"};
    ck_assert_uint_eq(list->wait_count, 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert_str_eq(list->waits[i].span.name, names[i]);
    ck_assert_uint_eq(list->waits[1].span.dur_ns, 900 * MS);
}
END_TEST

START_TEST(unusual_is_what_took_far_longer_than_the_others_of_its_name)
{
    for (uint64_t i = 0; i < 200; i++) {
        wait(77, "write", SKEIN_GROUP_IO, 10 * i, 10 * i + 1);
        wait(78, "read", SKEIN_GROUP_IO, 10 * i, 10 * i + 9); /* slow, but always so */
    }
    wait(77, "write", SKEIN_GROUP_IO, 3000, 3400);
    wait(79, "connect", SKEIN_GROUP_NET, 3000, 3150); /* the only one */
    wait(79, "send", SKEIN_GROUP_NET, 3200, 3250);    /* the only one, and short */
    judge();
    ck_assert_uint_eq(list->unusual_count, 2);
    ck_assert_str_eq(list->unusual[0].span.name, "write");
    ck_assert_uint_eq(list->unusual[0].thread.tid, 77);
    ck_assert_uint_eq(list->unusual[0].span.dur_ns, 400 * MS);
    ck_assert_uint_eq(list->unusual[0].usual_count, 201);
    ck_assert_uint_lt(list->unusual[0].usual_ns, 3 * MS);
    ck_assert_str_eq(list->unusual[1].span.name, "connect");
    ck_assert_uint_eq(list->unusual[1].usual_count, 0);
}
END_TEST

START_TEST(ends_of_processes_and_the_bounds_of_the_record_are_told)
{
    info.death.known = true;
    info.death.signal = 11;
    info.key.process.bytes[0] = 1;
    wait(90, "read", SKEIN_GROUP_IO, 100, 200);
    info.death.known = false;
    info.key.process.bytes[0] = 0;
    judge();
    ck_assert_uint_eq(list->death_count, 1);
    ck_assert_int_eq(list->deaths[0].signal, 11);
    ck_assert_uint_eq(list->threads, 2);
    ck_assert_uint_eq(list->from_ns, T0 + 2 * MS); /* records are made when a wait ends */
    ck_assert_uint_eq(list->to_ns, T0 + 200 * MS);
    ck_assert_uint_eq(list->inside_count, 0);
}
END_TEST

/* The query makes the wait one at work, and the sleeper is no less idle: only what is listed is of
 * the groups that are asked for. */
START_TEST(other_groups_are_judged_by_and_not_listed)
{
    moment_free(&moment);
    ck_assert_int_eq(moment_new(1u << SKEIN_GROUP_NET, T0 + 5000 * MS, false, &moment), SKEIN_OK);
    wait(77, "epoll_wait", SKEIN_GROUP_NET, 4000, 6000);
    wait(77, "fsync", SKEIN_GROUP_IO, 3000, 3900);
    wait(77, "query", SKEIN_GROUP_APP, 500, 7000);
    wait(80, "recv", SKEIN_GROUP_NET, 4900, 5100);
    wait(80, "request", SKEIN_GROUP_APP, 4800, 5200);
    open_wait(82, "cond_wait", SKEIN_GROUP_LOCK, 0, 8000);
    info.death.known = true;
    info.key.process.bytes[0] = 1;
    wait(90, "read", SKEIN_GROUP_IO, 100, 200);
    info.death.known = false;
    info.key.process.bytes[0] = 0;
    judge();
    ck_assert_uint_eq(list->wait_count, 2);
    ck_assert_str_eq(list->waits[0].span.name, "epoll_wait");
    ck_assert_str_eq(list->waits[1].span.name, "recv");
    ck_assert_uint_eq(list->inside_count, 2);
    for (size_t i = 0; i < 2; i++)
        ck_assert_uint_eq(list->inside[i].count, 1);
    ck_assert_uint_eq(list->idle_count, 0);
    ck_assert_uint_eq(list->unusual_count, 2); /* these two */
    ck_assert_uint_eq(list->death_count, 1);
    ck_assert_uint_eq(list->threads, 4);
    ck_assert_uint_eq(list->to_ns, T0 + 8000 * MS);
}
END_TEST

/* A process that hangs since before the capture's window writes no event. */
START_TEST(of_a_process_that_hangs_the_record_begins_with_what_is_open)
{
    moment_free(&moment);
    ck_assert_int_eq(moment_new(0, T0 + 5000 * MS, false, &moment), SKEIN_OK);
    open_wait(83, "mutex_lock", SKEIN_GROUP_LOCK, 1000, 8000);
    open_wait(84, "mutex_lock", SKEIN_GROUP_LOCK, 2000, 8000);
    judge();
    ck_assert_uint_eq(list->inside_count, 2);
    ck_assert_uint_eq(list->from_ns, T0 + 1000 * MS);
    ck_assert_uint_eq(list->to_ns, T0 + 8000 * MS);
}
END_TEST

/* The last event ends at 5 s, the cut was at 8 s. */
START_TEST(the_end_of_the_record_is_where_what_is_open_was_cut)
{
    moment_free(&moment);
    ck_assert_int_eq(moment_new(0, T0 + 5000 * MS, true, &moment), SKEIN_OK);
    wait(77, "connect", SKEIN_GROUP_NET, 3000, 5000);
    open_wait(83, "mutex_lock", SKEIN_GROUP_LOCK, 4000, 8000);
    open_wait(84, "mutex_lock", SKEIN_GROUP_LOCK, 5001, 8000);
    judge();
    ck_assert_uint_eq(list->at_ns, T0 + 8000 * MS);
    ck_assert_uint_eq(list->inside_count, 2);
    ck_assert_uint_eq(list->inside[0].thread.tid, 83);
    ck_assert_uint_eq(list->inside[1].thread.tid, 84);
}
END_TEST

/* More nested regions than are kept: the innermost are. */
START_TEST(of_many_regions_around_the_moment_the_innermost_are_kept)
{
    char name[2] = "a";
    for (uint64_t i = 0; i < 10; i++, name[0]++)
        wait(77, name, SKEIN_GROUP_APP, 4000 + i, 7000 - i);
    judge();
    ck_assert_uint_eq(list->inside_count, 1);
    ck_assert_uint_eq(list->inside[0].count, MOMENT_INSIDE_MAX);
    ck_assert_str_eq(list->inside[0].spans[0].name, "e");
    ck_assert_str_eq(list->inside[0].spans[MOMENT_INSIDE_MAX - 1].name, "j");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("moment");
    TCase *all = tcase_create("moment");
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, who_is_stalled_is_told_with_what_it_is_inside_of_and_the_idle_are_counted);
    tcase_add_test(all, the_longest_waits_leave_out_idle_ones_and_work);
    tcase_add_test(all, unusual_is_what_took_far_longer_than_the_others_of_its_name);
    tcase_add_test(all, ends_of_processes_and_the_bounds_of_the_record_are_told);
    tcase_add_test(all, other_groups_are_judged_by_and_not_listed);
    tcase_add_test(all, of_a_process_that_hangs_the_record_begins_with_what_is_open);
    tcase_add_test(all, the_end_of_the_record_is_where_what_is_open_was_cut);
    tcase_add_test(all, of_many_regions_around_the_moment_the_innermost_are_kept);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
