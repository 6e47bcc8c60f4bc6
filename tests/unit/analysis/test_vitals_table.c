/* SPDX-License-Identifier: Apache-2.0
 * What vitals come to, over events made by hand: times are seconds since T0. */
#include "vitals_table.h"

#include <math.h>
#include <string.h>

#include "support.h"

#define T0 UINT64_C(1800000000000000000)
#define S  UINT64_C(1000000000)

static struct vitals_table *table;
static struct partition_info info;

static void set_up(void)
{
    info = (struct partition_info){
        .pid = 77, .host = "here", .service = "shop", .labels = "", .exe = ""};
    ck_assert_int_eq(vitals_table_new(&table), SKEIN_OK);
}

static void tear_down(void)
{
    vitals_table_free(&table);
    vitals_table_free(&table);
}

static void counter_at(const char *name, const char *unit, uint64_t time_ns, double value)
{
    const struct partition_event_type type = {.name = name,
                                              .text = "",
                                              .file = "",
                                              .klass = SKEIN_CLASS_COUNTER,
                                              .nargs = 1,
                                              .args = {{SKEIN_T_F64, "value", unit}}};
    const struct partition_thread thread = {0, "host", 0};
    const struct trace_event event = {.kind = TRACE_COUNTER,
                                      .time_ns = time_ns,
                                      .thread = &thread,
                                      .type = &type,
                                      .args = {{.f64 = value}}};
    ck_assert_int_eq(vitals_table_add(table, &info, &event), SKEIN_OK);
}

static void counter(const char *name, const char *unit, uint64_t s, double value)
{
    counter_at(name, unit, T0 + s * S, value);
}

static void top(const char *kind, uint64_t s, uint64_t pid, const char *who, double value)
{
    char name[32] = "host.top.";
    strcat(name, kind);
    const struct partition_event_type type = {
        .name = name,
        .text = "",
        .file = "",
        .klass = SKEIN_CLASS_INSTANT,
        .nargs = 3,
        .args = {{SKEIN_T_U64, "pid", ""}, {SKEIN_T_STR, "name", ""}, {SKEIN_T_F64, kind, "%"}}};
    const struct partition_thread thread = {0, "host", 0};
    const struct trace_event event = {
        .kind = TRACE_INSTANT,
        .time_ns = T0 + s * S,
        .thread = &thread,
        .type = &type,
        .args = {{.u64 = pid}, {.str = {who, (uint32_t)strlen(who), false}}, {.f64 = value}}};
    ck_assert_int_eq(vitals_table_add(table, &info, &event), SKEIN_OK);
}

static const struct vitals_list *end(void)
{
    const struct vitals_list *list = NULL;
    ck_assert_int_eq(vitals_table_end(table, &list), SKEIN_OK);
    return list;
}

static const struct vitals_row *row_of(const struct vitals_list *list, const char *name)
{
    for (size_t i = 0; i < list->row_count; i++)
        if (strcmp(list->rows[i].name, name) == 0)
            return &list->rows[i];
    ck_abort_msg("%s is not there", name);
}

START_TEST(a_peak_stands_above_what_always_moves)
{
    static const double restless[] = {10, 90, 10, 90, 10, 90, 10, 90, 10},
                        peak[] = {2, 3, 2, 3, 2, 40, 2, 3, 2};
    for (uint64_t i = 0; i < 9; i++) {
        counter("host.restless", "%", i, restless[i]);
        counter("host.peak", "%", i, peak[i]);
        counter("host.flat", "bytes", i, 1e9);
    }
    const struct vitals_list *list = end();
    ck_assert_uint_eq(list->row_count, 3);
    ck_assert_str_eq(list->rows[0].name, "host.peak");
    ck_assert_str_eq(list->rows[2].name, "host.flat");
    const struct vitals_row *row = &list->rows[0];
    ck_assert(row->least == 2 && row->median == 2 && row->most == 40 && row->farthest == 40);
    ck_assert_uint_eq(row->farthest_ns, T0 + 5 * S);
    ck_assert_uint_eq(row->samples, 9);
    ck_assert(fabs(row->deviation - 38 / (41 / 9.0)) < 1e-9);
    ck_assert(row_of(list, "host.flat")->deviation == 0);
    ck_assert_uint_eq(list->from_ns, T0);
    ck_assert_uint_eq(list->to_ns, T0 + 8 * S);
}
END_TEST

START_TEST(the_middle_of_an_even_number_lies_between)
{
    for (uint64_t i = 0; i < 4; i++)
        counter("proc.threads", "", i, (double)(i * i));
    const struct vitals_row *row = row_of(end(), "proc.threads");
    ck_assert(row->median == 2.5);
    ck_assert_str_eq(row->of.service, "shop");
    ck_assert_uint_eq(row->of.pid, 77);
}
END_TEST

START_TEST(a_host_counts_once_and_processes_each)
{
    for (uint64_t i = 0; i < 3; i++) {
        info.key.process.bytes[0] = 1;
        info.pid = 77;
        counter_at("host.load", "", T0 + i * S, (double)i);
        counter_at("proc.threads", "", T0 + i * S, 4);
        info.key.process.bytes[0] = 2; /* another process of the host; its clock is 3 us off */
        info.pid = 78;
        counter_at("host.load", "", T0 + i * S + 3000, (double)i);
        counter_at("proc.threads", "", T0 + i * S + 3000, 9);
    }
    info.host = "there";
    counter("host.load", "", 1, 70);
    const struct vitals_list *list = end();
    ck_assert_uint_eq(list->row_count, 4);
    for (size_t i = 0; i < list->row_count; i++) {
        const struct vitals_row *row = &list->rows[i];
        if (row->of.service == NULL)
            ck_assert_uint_eq(row->samples, strcmp(row->of.host, "here") == 0 ? 3 : 1);
        else
            ck_assert(row->samples == 3 && row->median == (row->of.pid == 77 ? 4 : 9));
    }
}
END_TEST

static void load(uint32_t tid, const char *name, uint64_t s, double run, double wait)
{
    static const struct partition_event_type type = {.name = "thread.load",
                                                     .text = "",
                                                     .file = "",
                                                     .klass = SKEIN_CLASS_COUNTER,
                                                     .nargs = 3,
                                                     .args = {{SKEIN_T_F64, "run", "%"},
                                                              {SKEIN_T_F64, "wait", "%"},
                                                              {SKEIN_T_U64, "over", "ns"}}};
    const struct partition_thread thread = {tid, name, 0};
    const struct trace_event event = {.kind = TRACE_COUNTER,
                                      .time_ns = T0 + s * S,
                                      .thread = &thread,
                                      .type = &type,
                                      .args = {{.f64 = run}, {.f64 = wait}, {.u64 = S}}};
    ck_assert_int_eq(vitals_table_add(table, &info, &event), SKEIN_OK);
}

START_TEST(threads_are_told_apart)
{
    unsigned found = 0;
    for (uint64_t i = 0; i < 3; i++) {
        load(78, "burner", i, 50 + (double)i, 2);
        load(79, "sleeper", i, 1, 0);
    }
    const struct vitals_list *list = end();
    ck_assert_uint_eq(list->row_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct vitals_row *row = &list->rows[i];
        ck_assert_str_eq(row->of.service, "shop");
        ck_assert_uint_eq(row->of.pid, 77);
        ck_assert_uint_eq(row->samples, 3);
        if (row->of.tid == 78 && strcmp(row->name, "thread.run") == 0)
            found += row->median == 51 && strcmp(row->of.thread, "burner") == 0;
        if (row->of.tid == 79 && strcmp(row->name, "thread.run") == 0)
            found += row->median == 1 && strcmp(row->of.thread, "sleeper") == 0;
        if (row->of.tid == 78 && strcmp(row->name, "thread.wait") == 0)
            found += row->median == 2 && strcmp(row->unit, "%") == 0;
    }
    ck_assert_uint_eq(found, 3);
}
END_TEST

/* Each value over its own time; of what nobody told nothing is taken. */
START_TEST(a_share_of_a_time_is_summed_by_the_values_of_that_time)
{
    load(78, "burner", 1, 0, 60);
    load(78, "burner", 4, 0, 250); /* a look between two clocks */
    const struct vitals_list *list = end();
    for (size_t i = 0; i < list->row_count; i++) {
        const struct vitals_row *row = &list->rows[i];
        if (strcmp(row->name, "thread.wait") != 0)
            continue;
        ck_assert_uint_eq(vitals_share_ns(row, T0, T0 + S), S / 10 * 6);
        ck_assert_uint_eq(vitals_share_ns(row, T0 + S / 2, T0 + S), S / 10 * 3);
        ck_assert_uint_eq(vitals_share_ns(row, T0 + S, T0 + 3 * S), 0);
        ck_assert_uint_eq(vitals_share_ns(row, T0 + 2 * S, T0 + 9 * S), S);
        ck_assert_uint_eq(vitals_share_ns(row, T0 + S, T0 + S), 0);
        return;
    }
    ck_abort_msg("no thread.wait");
}
END_TEST

START_TEST(who_was_on_top_is_summed_up)
{
    top("cpu", 1, 5, "bash", 10);
    top("cpu", 2, 5, "bash", 90);
    top("cpu", 3, 5, "bash", 20);
    top("cpu", 2, 6, "bash", 95);
    top("io", 2, 6, "bash", 1);
    top("cpu", 2, 7, "x", (double)NAN);
    const struct vitals_list *list = end();
    ck_assert_uint_eq(list->top_count, 3);
    ck_assert_uint_eq(list->tops[0].pid, 6);
    ck_assert_str_eq(list->tops[0].kind, "cpu");
    ck_assert_uint_eq(list->tops[1].pid, 5);
    ck_assert(list->tops[1].most == 90);
    ck_assert_uint_eq(list->tops[1].times, 3);
    ck_assert_uint_eq(list->tops[1].at_ns, T0 + 2 * S);
    ck_assert_str_eq(list->tops[2].kind, "io");
}
END_TEST

START_TEST(what_is_no_vital_is_passed_over)
{
    const struct partition_event_type type = {
        .name = "host.odd", .text = "", .file = "", .klass = SKEIN_CLASS_COUNTER};
    const struct partition_thread thread = {0, "host", 0}, other = {5, "worker", 0};
    struct trace_event event = {.kind = TRACE_COUNTER, .type = &type, .thread = &thread};
    ck_assert_int_eq(vitals_table_add(table, &info, &event), SKEIN_OK); /* no argument */
    event.thread = &other;
    ck_assert_int_eq(vitals_table_add(table, &info, &event), SKEIN_OK);
    event.thread = NULL;
    ck_assert_int_eq(vitals_table_add(table, &info, &event), SKEIN_OK);
    event.type = NULL;
    ck_assert_int_eq(vitals_table_add(table, &info, &event), SKEIN_OK);
    counter("cache.hits", "", 1, 5);
    counter("host.infinite", "", 1, (double)INFINITY);
    const struct vitals_list *list = end();
    ck_assert_uint_eq(list->to_ns, 0);
    ck_assert_uint_eq(list->from_ns, 0);
    ck_assert_uint_eq(list->row_count, 1);
    ck_assert_uint_eq(list->rows[0].samples, 0);
}
END_TEST

#define MANY 300000

/* A file may say anything: its values of one moment are not compared each with each. */
START_TEST(many_values_of_one_moment_are_bounded_work)
{
    const struct vitals_list *list;
    for (unsigned i = 0; i < MANY; i++)
        counter_at("host.load", "", T0, i);
    ck_assert_int_eq(vitals_table_end(table, &list), SKEIN_OK);
    ck_assert_uint_eq(list->row_count, 1);
    ck_assert_uint_eq(list->rows[0].samples, MANY);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("vitals_table");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, a_peak_stands_above_what_always_moves);
    tcase_add_test(all, the_middle_of_an_even_number_lies_between);
    tcase_add_test(all, a_host_counts_once_and_processes_each);
    tcase_add_test(all, threads_are_told_apart);
    tcase_add_test(all, a_share_of_a_time_is_summed_by_the_values_of_that_time);
    tcase_add_test(all, who_was_on_top_is_summed_up);
    tcase_add_test(all, what_is_no_vital_is_passed_over);
    tcase_add_test(all, many_values_of_one_moment_are_bounded_work);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
