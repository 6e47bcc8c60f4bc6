/* SPDX-License-Identifier: Apache-2.0
 * Rules one by one, over traces of a few events: what speaks, what stays silent right below a
 * threshold, what is told in whose place; and that the page lists the rules as they are. */
#include <stdlib.h>
#include <string.h>

#include "report_reading.h"

#define MS INCIDENT_MS
#define S  INCIDENT_S

static struct incident *in;
static struct reading r;
static size_t p;

static void begin(void)
{
    in = incident_new(1);
    p = incident_process(in, "shop", 100, 3600 * S);
    for (uint64_t at = 0; at < 10 * S; at += 100 * MS) { /* it serves */
        incident_call(in, p, 100, &incident_epoll, at, 90 * MS, 5, 1, 0);
        incident_call(in, p, 100, &incident_request, at + 91 * MS, 2 * MS, 1, 0, 0);
    }
}

static const struct report_finding *first(void)
{
    reading_open(&r, incident_finish(in, 20 * S), NULL);
    return r.report->finding_count > 0 ? &r.report->findings[0] : NULL;
}

static void end(void)
{
    reading_close(&r);
    incident_free(&in);
}

static void first_is(const char *rule, enum report_severity severity, const char *words)
{
    const struct report_finding *f = first();
    ck_assert_ptr_nonnull(f);
    if (strcmp(f->rule, rule) != 0 || strstr(f->sentence, words) == NULL)
        findings_print(r.report);
    ck_assert_str_eq(f->rule, rule);
    ck_assert_ptr_nonnull(strstr(f->sentence, words));
    ck_assert_int_eq(f->severity, severity);
}

static void tell(const struct partition_event_type *type, const char *thread, uint32_t tid,
                 uint64_t at, struct partition_value a, struct partition_value b,
                 struct partition_value c)
{
    incident_add(in, p,
                 &(struct incident_event){.type = type,
                                          .thread = thread,
                                          .tid = tid,
                                          .from_ns = at,
                                          .args = {a, b, c},
                                          .evidence = true});
}

static struct partition_value text(const char *t)
{
    return (struct partition_value){.str = {.text = t, .len = (uint32_t)strlen(t)}};
}

static struct partition_value number(uint64_t n)
{
    return (struct partition_value){.u64 = n};
}

static const struct partition_event_type type_state = {.name = "proc.state",
                                                       .klass = SKEIN_CLASS_INSTANT,
                                                       .nargs = 3,
                                                       .args = {{SKEIN_T_STR, "state", ""},
                                                                {SKEIN_T_U64, "at_least", "ns"},
                                                                {SKEIN_T_U64, "at_most", "ns"}}};
static const struct partition_event_type type_wait = {
    .name = "thread.wait",
    .klass = SKEIN_CLASS_INSTANT,
    .nargs = 3,
    .args = {{SKEIN_T_STR, "for", ""}, {SKEIN_T_PTR, "object", ""}, {SKEIN_T_U64, "holder", ""}}};
static const struct partition_event_type type_crash = {.name = "crash.signal",
                                                       .klass = SKEIN_CLASS_INSTANT,
                                                       .nargs = 1,
                                                       .args = {{SKEIN_T_I64, "signal", ""}}};
static const struct partition_event_type type_dump = {.name = "thread.dump",
                                                      .klass = SKEIN_CLASS_INSTANT,
                                                      .nargs = 1,
                                                      .args = {{SKEIN_T_STR, "title", ""}}};
static const struct partition_event_type type_call = {.name = "thread.state",
                                                      .klass = SKEIN_CLASS_INSTANT,
                                                      .nargs = 1,
                                                      .args = {{SKEIN_T_STR, "syscall", ""}}};
static const struct partition_event_type type_steal = {.name = "host.cpu.steal",
                                                       .klass = SKEIN_CLASS_COUNTER,
                                                       .nargs = 1,
                                                       .args = {{SKEIN_T_F64, "value", "%"}}};

START_TEST(a_crash_comes_first_with_its_stack)
{
    begin();
    incident_die(in, p, 11);
    incident_call(in, p, 100, &incident_fsync, 9 * S, S, 9, 0, 0);
    incident_add(in, p,
                 &(struct incident_event){.type = &type_crash,
                                          .thread = "shop",
                                          .tid = 100,
                                          .from_ns = 10 * S,
                                          .args = {number(11)},
                                          .evidence = true,
                                          .stack = true});
    first_is("crash", REPORT_PROBLEM, "shop[100] on web-1 died of SIGSEGV in work");
    ck_assert_uint_eq(r.report->findings[0].frame_count, 3);
    ck_assert_str_eq(r.report->findings[0].frames[2], "main");
    ck_assert_str_eq(r.report->findings[1].rule, "slow_disk");
    end();
}
END_TEST

START_TEST(an_end_that_was_asked_for_is_a_note)
{
    begin();
    incident_die(in, p, 15);
    first_is("crash", REPORT_NOTE, "SIGTERM");
    end();
}
END_TEST

START_TEST(a_stopped_process_is_named)
{
    begin();
    tell(&type_state, NULL, 0, 9 * S, text("stopped"), number(4 * S), number(5 * S));
    tell(&type_state, NULL, 0, 9 * S + 1, text("stopped"), number(2 * S), number(3 * S));
    first_is("held_back", REPORT_PROBLEM, "shop[100] on web-1 was stopped for at least 4.0 s");
    ck_assert_uint_eq(r.report->finding_count, 1);
    ck_assert_uint_eq(r.report->findings[0].to_ns - r.report->findings[0].from_ns, 4 * S);
    end();
}
END_TEST

START_TEST(how_long_a_process_was_stopped_is_known_by_what_came_then)
{
    begin();
    tell(&type_state, NULL, 0, 7 * S, text("stopped"), number(0), number(S));
    tell(&type_state, NULL, 0, 9 * S, text("free"), number(0), number(S));
    first_is("held_back", REPORT_PROBLEM, "shop[100] on web-1 was stopped for at least 1.0 s");
    ck_assert_uint_eq(r.report->finding_count, 1);
    end();
}
END_TEST

START_TEST(a_process_that_was_stopped_for_a_moment_is_not_named)
{
    begin();
    tell(&type_state, NULL, 0, 8 * S, text("stopped"), number(0), number(S));
    tell(&type_state, NULL, 0, 9 * S, text("free"), number(0), number(S));
    ck_assert_ptr_null(first());
    end();
}
END_TEST

START_TEST(evidence_that_cannot_be_read_is_no_loss_of_the_record)
{
    begin();
    tell(&type_state, NULL, 0, 9 * S, text("free"), number(0), number(S));
    const struct buf *whole = incident_finish(in, 20 * S);
    struct buf damaged = {0};
    buf_put(&damaged, whole->data, whole->len);
    reading_open(&r, whole, NULL);
    for (uint32_t i = 0; i < skein_trace_partition_count(r.trace); i++) {
        const struct skein_partition *at = skein_trace_partition(r.trace, i);
        if (at->evidence)
            damaged.data[at->offset + 40] ^= 0xff; /* its first section */
    }
    reading_close(&r);
    reading_open(&r, &damaged, NULL);
    ck_assert_uint_eq(r.report->finding_count, 1);
    ck_assert_str_eq(r.report->findings[0].rule, "lost_partition");
    ck_assert_ptr_nonnull(strstr(r.report->findings[0].sentence, "beside its record"));
    ck_assert_ptr_null(strstr(r.report->findings[0].sentence, "cannot be known"));
    buf_fini(&damaged);
    end();
}
END_TEST

START_TEST(a_circle_of_waits_is_a_deadlock)
{
    begin();
    tell(&type_wait, "a", 7, 9 * S, text("mutex"), number(16), number(9));
    tell(&type_wait, "b", 8, 9 * S, text("mutex"), number(32), number(7));
    tell(&type_wait, "c", 9, 9 * S, text("mutex"), number(48), number(8));
    tell(&type_wait, "d", 10, 9 * S, text("mutex"), number(16), number(9));
    first_is("deadlock", REPORT_PROBLEM,
             "3 threads of shop[100] on web-1 wait for each other in a "
             "circle: 7, 9, 8");
    ck_assert_uint_eq(r.report->finding_count, 1);
    end();
}
END_TEST

START_TEST(a_chain_of_waits_is_none)
{
    begin();
    tell(&type_wait, "a", 7, 9 * S, text("mutex"), number(16), number(9));
    tell(&type_wait, "c", 9, 9 * S, text("mutex"), number(48), number(8));
    ck_assert_ptr_null(first());
    end();
}
END_TEST

START_TEST(descriptors_that_ran_out_are_named)
{
    begin();
    incident_call(in, p, 100, &incident_accept, 5 * S, 30000, 4, -24, 0);
    first_is("descriptors_exhausted", REPORT_PROBLEM, "1 calls failed");
    end();
}
END_TEST

START_TEST(a_lock_that_one_waits_for_is_held)
{
    begin();
    incident_call(in, p, 101, &incident_request, 2 * S, 800 * MS, 1, 0, 0);
    incident_call(in, p, 102, &incident_mutex, 2 * S + 50 * MS, 700 * MS, 0xabc0, 0, 101);
    first_is("lock_held", REPORT_PROBLEM,
             "1 thread of shop[100] on web-1 waited for the lock at 0xabc0 held by thread 101 in "
             "`request`, up to 700.0 ms");
    end();
}
END_TEST

START_TEST(a_lock_of_less_than_the_threshold_is_silent)
{
    begin();
    incident_call(in, p, 102, &incident_mutex, 2 * S, 99 * MS, 0xabc0, 0, 101);
    ck_assert_ptr_null(first());
    end();
}
END_TEST

START_TEST(of_nested_regions_the_inner_one_is_told)
{
    begin();
    incident_call(in, p, 100, &incident_sleep, 10 * S + 100 * MS, 2000 * MS, 0, 0, 0);
    incident_call(in, p, 100, &incident_loop, 10 * S + 99 * MS, 2002 * MS, 1, 0, 0);
    first_is("long_call", REPORT_PROBLEM,
             "the main thread of shop[100] on web-1 was in `sleep` for 2.0 s");
    ck_assert_uint_eq(r.report->finding_count, 1);
    end();
}
END_TEST

/* Twice of two is nothing unusual; the calls around it are. */
START_TEST(what_fills_an_unusual_call_is_told_however_usual_it_is)
{
    begin();
    for (uint64_t i = 0; i < 200; i++)
        incident_call(in, p, 100, &incident_loop, 1 * S + i * 10 * MS, MS, 1, 0, 0);
    for (uint64_t i = 1; i <= 2; i++) {
        incident_call(in, p, 100, &incident_sleep, i * 10 * S + 100 * MS, 2000 * MS, 0, 0, 0);
        incident_call(in, p, 100, &incident_loop, i * 10 * S + 99 * MS, 2001 * MS + i * MS, 1, 0,
                      0);
    }
    first_is("long_call", REPORT_PROBLEM,
             "the main thread of shop[100] on web-1 was in `sleep` for 2.0 s");
    ck_assert_uint_eq(r.report->finding_count, 1);
    end();
}
END_TEST

START_TEST(what_a_dump_saw_explains_what_is_open)
{
    begin();
    incident_add(
        in, p,
        &(struct incident_event){
            .type = &incident_loop, .thread = "shop", .tid = 100, .from_ns = 10 * S, .open = true});
    incident_call(in, p, 101, &incident_request, 15 * S, MS, 1, 0, 0);
    tell(&incident_fd, NULL, 0, 15 * S, number(9), text("file"), text("/srv/log"));
    incident_add(in, p,
                 &(struct incident_event){.type = &type_call,
                                          .thread = "shop",
                                          .tid = 100,
                                          .from_ns = 12 * S,
                                          .args = {text("fdatasync(0x9)")},
                                          .evidence = true,
                                          .stack = true});
    first_is("slow_disk", REPORT_PROBLEM, "it was in `fdatasync` (/srv/log) when it was looked at");
    ck_assert_str_eq(r.report->findings[0].frames[0], "work");
    end();
}
END_TEST

START_TEST(a_title_that_waits_is_believed)
{
    begin();
    tell(&type_dump, NULL, 0, 9 * S, text("postgres: shop UPDATE waiting"), number(0), number(0));
    first_is("database_wait", REPORT_PROBLEM, "UPDATE waiting");
    end();
}
END_TEST

START_TEST(stolen_time_is_the_hypervisors)
{
    begin();
    for (uint64_t at = S; at < 9 * S; at += S)
        tell(&type_steal, NULL, 0, at, (struct partition_value){.f64 = 45}, number(0), number(0));
    first_is("cpu_neighbour", REPORT_WARNING, "the hypervisor took 45 % of the CPU time of web-1");
    end();
}
END_TEST

START_TEST(hostile_names_are_bounded)
{
    static char name[200];
    memset(name, 'x', sizeof name - 1);
    begin();
    size_t other = incident_process(in, name, 7, S);
    incident_die(in, other, 11);
    incident_call(in, other, 7, &incident_request, S, MS, 1, 0, 0);
    const struct report_finding *f = first();
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_lt(strlen(f->sentence), TRACE_REPORT_TEXT + 60);
    end();
}
END_TEST

START_TEST(what_limits_leave_out_is_counted)
{
    const struct trace_report_limits limits = {.findings = 1, .rows = 1, .spans = 8};
    begin();
    for (uint32_t i = 0; i < 4; i++)
        incident_call(in, p, 110 + i, &incident_mutex, i * S, 700 * MS, 0x100 + i, 0, 101);
    reading_open(&r, incident_finish(in, 20 * S), &limits);
    ck_assert_uint_eq(r.report->finding_count, 1);
    ck_assert_uint_eq(r.report->totals.findings_left_out, 3);
    ck_assert_uint_eq(r.report->region_count, 1);
    ck_assert_uint_gt(r.report->totals.regions_left_out, 0);
    ck_assert_uint_gt(r.report->totals.spans_left_out, 0);
    end();
}
END_TEST

START_TEST(a_trace_without_columns_is_refused)
{
    struct trace_report_builder *builder;
    struct skein_batch batch = {.count = 0};
    ck_assert_int_eq(trace_report_new(NULL, &builder), SKEIN_OK);
    ck_assert_int_eq(trace_report_add(builder, NULL, NULL, &batch), SKEIN_INVALID);
    trace_report_free(&builder);
}
END_TEST

/* docs/analysis.md has a row for each rule: | `name` | rank | needs | speaks when | wrong when | */
START_TEST(the_page_lists_the_rules)
{
    static char page[65536];
    size_t count;
    FILE *file = fopen(SKEIN_SOURCE_DIR "/docs/analysis.md", "r");
    ck_assert_ptr_nonnull(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    fclose(file);
    const struct report_rule *rules = trace_report_rules(&count);
    for (size_t i = 0; i < count; i++) {
        char row[1024];
        snprintf(row, sizeof row, "\n| `%s` | %u | %s | %s | %s |\n", rules[i].name, rules[i].rank,
                 rules[i].needs, rules[i].threshold, rules[i].wrong);
        ck_assert_msg(strstr(page, row) != NULL, "not in the page:%s", row);
    }
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "report_rules", a_crash_comes_first_with_its_stack, an_end_that_was_asked_for_is_a_note,
        a_stopped_process_is_named, how_long_a_process_was_stopped_is_known_by_what_came_then,
        a_process_that_was_stopped_for_a_moment_is_not_named,
        evidence_that_cannot_be_read_is_no_loss_of_the_record, a_circle_of_waits_is_a_deadlock,
        a_chain_of_waits_is_none, descriptors_that_ran_out_are_named,
        a_lock_that_one_waits_for_is_held, a_lock_of_less_than_the_threshold_is_silent,
        of_nested_regions_the_inner_one_is_told,
        what_fills_an_unusual_call_is_told_however_usual_it_is,
        what_a_dump_saw_explains_what_is_open, a_title_that_waits_is_believed,
        stolen_time_is_the_hypervisors, hostile_names_are_bounded, what_limits_leave_out_is_counted,
        a_trace_without_columns_is_refused, the_page_lists_the_rules, NULL));
}
