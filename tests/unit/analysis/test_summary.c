/* SPDX-License-Identifier: Apache-2.0
 *
 * Summaries of traces that know what they sum up to, and what holds of all summaries: parts merge
 * into the whole, in any order; bytes come back; the bound loses nothing but names.
 */
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "cjson/cJSON.h"
#include "summary.h"
#include "summary_made.h"

#define CUT_TICKS 200000

static struct made_program programs[3];

/* Three processes of three threads and two cuts. */
static void made_fill(struct buf *bytes)
{
    for (uint32_t i = 0; i < 3; i++)
        programs[i] = (struct made_program){.pid = 100 + i * 11, .threads = 3, .random = i + 1};
    for (uint64_t cut = 0; cut < 2; cut++)
        for (unsigned i = 0; i < 3; i++)
            made_cut(&programs[i], bytes, 42 + cut, 1000 + cut * CUT_TICKS,
                     1000 + (cut + 1) * CUT_TICKS);
}

static struct summary *summed(const struct buf *bytes, const struct skein_query *query, size_t rows)
{
    struct skein_trace *trace = made_open(bytes);
    struct summary *summary;
    ck_assert_int_eq(summary_new(rows, &summary), SKEIN_OK);
    ck_assert_int_eq(summary_read(summary, trace, query), SKEIN_OK);
    skein_trace_free(&trace);
    return summary;
}

static const struct summary_process *process_of(const struct summary *s,
                                                const struct summary_row *row)
{
    const struct summary_process *processes;
    size_t count = summary_processes(s, &processes);
    return row->of < count ? &processes[row->of] : NULL;
}

static const struct summary_name *name_find(const struct summary *s, uint64_t pid, const char *name)
{
    const struct summary_name *names;
    size_t count = summary_names(s, &names);
    for (size_t i = 0; i < count; i++) {
        const struct summary_process *process = process_of(s, &names[i].row);
        if (process != NULL && process->pid == pid &&
            strcmp(summary_text(s, names[i].row.text), name) == 0)
            return &names[i];
    }
    return NULL;
}

static void same_bytes(const struct summary *a, const struct summary *b)
{
    struct buf one = {0}, other = {0};
    ck_assert_int_eq(summary_bytes_put(a, &one), SKEIN_OK);
    ck_assert_int_eq(summary_bytes_put(b, &other), SKEIN_OK);
    ck_assert(one.len == other.len && memcmp(one.data, other.data, one.len) == 0);
    buf_fini(&one);
    buf_fini(&other);
}

START_TEST(each_name_comes_to_what_the_program_did)
{
    struct buf bytes = {0};
    made_fill(&bytes);
    struct summary *s = summed(&bytes, NULL, 0);
    for (size_t p = 0; p < 3; p++)
        for (unsigned i = 0; i < MADE_NAMES; i++) {
            const struct made_sum *sum = &programs[p].sums[i];
            const struct summary_name *n = name_find(s, programs[p].pid, made_regions[i].name);
            ck_assert_ptr_nonnull(n);
            ck_assert(sum->count > 100);
            ck_assert_uint_eq(n->count, sum->count);
            ck_assert_uint_eq(n->total_ns, sum->total_ns);
            ck_assert(n->lasted.min_ns == sum->least_ns && n->lasted.max_ns == sum->most_ns);
            ck_assert_uint_eq(n->row.number, made_regions[i].group);
            ck_assert_msg(n->self_ns - sum->self_ns <= n->unsure_ns, "%s: %lu, not %lu, for %lu",
                          made_regions[i].name, (unsigned long)n->self_ns,
                          (unsigned long)sum->self_ns, (unsigned long)n->unsure_ns);
            ck_assert_uint_le(n->unsure_ns, n->total_ns / 100);
        }
    for (size_t p = 0; p < 3; p++)
        ck_assert_uint_eq(name_find(s, programs[p].pid, "tick")->count, programs[p].counted);
    summary_free(&s);
    buf_fini(&bytes);
}
END_TEST

START_TEST(threads_and_calls_add_up_to_their_process)
{
    struct buf bytes = {0};
    made_fill(&bytes);
    struct summary *s = summed(&bytes, NULL, 0);
    const struct summary_thread *threads;
    const struct summary_call *calls;
    const struct summary_process *processes;
    uint64_t regions[3] = {0}, io[3] = {0}, read_ns[3] = {0};
    ck_assert_uint_eq(summary_processes(s, &processes), 3);
    ck_assert_uint_eq(summary_threads(s, &threads), 9);
    for (size_t i = 0; i < 9; i++) {
        regions[threads[i].row.of] += threads[i].regions;
        io[threads[i].row.of] += threads[i].wait_ns[SKEIN_GROUP_IO - 1];
    }
    size_t count = summary_calls(s, &calls);
    ck_assert_uint_eq(count, 9 * MADE_NAMES);
    for (size_t i = 0; i < count; i++)
        if (calls[i].row.number == SKEIN_GROUP_IO)
            read_ns[threads[calls[i].row.of].row.of] += calls[i].self_ns;
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(regions[i], processes[i].regions);
        ck_assert_uint_eq(io[i], processes[i].wait_ns[SKEIN_GROUP_IO - 1]);
        ck_assert_uint_eq(io[i], read_ns[i]);
        ck_assert_uint_eq(io[i], name_find(s, processes[i].pid, "read")->self_ns);
    }
    summary_free(&s);
    buf_fini(&bytes);
}
END_TEST

static bool one_process(void *context, const struct skein_process *process)
{
    return process->pid == *(const uint32_t *)context;
}

START_TEST(processes_merged_in_any_order_are_the_whole)
{
    struct buf bytes = {0};
    made_fill(&bytes);
    struct summary *whole = summed(&bytes, NULL, 0), *parts[3], *one, *other;
    ck_assert_int_eq(summary_new(0, &one), SKEIN_OK);
    ck_assert_int_eq(summary_new(0, &other), SKEIN_OK);
    for (size_t i = 0; i < 3; i++) {
        struct skein_query query = {
            .size = sizeof query, .process = one_process, .context = &programs[i].pid};
        parts[i] = summed(&bytes, &query, 0);
    }
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(summary_merge(one, parts[i]), SKEIN_OK);
        ck_assert_int_eq(summary_merge(other, parts[2 - i]), SKEIN_OK);
    }
    ck_assert_int_eq(summary_sort(one), SKEIN_OK);
    ck_assert_int_eq(summary_sort(other), SKEIN_OK);
    same_bytes(whole, one);
    same_bytes(whole, other);
    for (size_t i = 0; i < 3; i++)
        summary_free(&parts[i]);
    summary_free(&whole);
    summary_free(&one);
    summary_free(&other);
    buf_fini(&bytes);
}
END_TEST

START_TEST(times_merged_are_the_whole_but_for_what_is_told_as_unsure)
{
    struct buf bytes = {0};
    made_fill(&bytes);
    struct summary *whole = summed(&bytes, NULL, 0), *merged;
    const struct summary_name *names;
    uint64_t bounds[] = {0, SAMPLE_EPOCH_NS + 90000 * 64, SAMPLE_EPOCH_NS + 90001 * 64,
                         SAMPLE_EPOCH_NS + 300000 * 64, 0};
    ck_assert_int_eq(summary_new(0, &merged), SKEIN_OK);
    for (size_t i = 4; i > 0; i--) {
        struct skein_query query = {
            .size = sizeof query, .from_ns = bounds[i - 1], .to_ns = bounds[i]};
        struct summary *part = summed(&bytes, &query, 0);
        ck_assert_int_eq(summary_merge(merged, part), SKEIN_OK);
        summary_free(&part);
    }
    ck_assert_int_eq(summary_sort(merged), SKEIN_OK);
    size_t count = summary_names(whole, &names);
    ck_assert_uint_eq(count, 3 * (MADE_NAMES + 1));
    for (size_t i = 0; i < count; i++) {
        const struct summary_process *process = process_of(whole, &names[i].row);
        const struct summary_name *n =
            name_find(merged, process->pid, summary_text(whole, names[i].row.text));
        ck_assert(n->count == names[i].count && n->total_ns == names[i].total_ns);
        ck_assert_uint_eq(n->lasted.sum_ns, names[i].lasted.sum_ns);
        for (unsigned level = 0; level < HISTOGRAM_LEVELS; level++)
            must_hold(histogram_count(&n->lasted, level) ==
                          histogram_count(&names[i].lasted, level),
                      "level %u", level);
        ck_assert_uint_le(n->self_ns, names[i].self_ns + n->unsure_ns);
        ck_assert_uint_le(names[i].self_ns, n->self_ns + names[i].unsure_ns);
    }
    const struct summary_process *a, *b;
    ck_assert_uint_eq(summary_processes(whole, &a), summary_processes(merged, &b));
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(a[i].events, b[i].events);
        ck_assert_uint_eq(a[i].seen_ns, b[i].seen_ns);
    }
    summary_free(&whole);
    summary_free(&merged);
    buf_fini(&bytes);
}
END_TEST

/* How long a program was seen: two cuts numbered 1 and `second`, `evidence` numbered 2 beside them. */
static uint64_t two_cuts_seen_ns(uint64_t second, bool evidence)
{
    struct buf bytes = {0};
    struct made_program program = {.pid = 100, .threads = 1, .random = 3};
    made_cut(&program, &bytes, 1, 0, 10000);
    made_cut(&program, &bytes, second, 10000, 20000);
    if (evidence) {
        struct partition_info info = made_part(100, 2, 0, 20000);
        struct partition_writer *w;
        info.evidence = true;
        ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
        ck_assert_int_eq(partition_writer_finish(w, &bytes, NULL), SKEIN_OK);
        partition_writer_free(&w);
    }
    struct summary *s = summed(&bytes, NULL, 0);
    const struct summary_process *processes;
    ck_assert_uint_eq(summary_processes(s, &processes), 1);
    uint64_t seen_ns = processes[0].seen_ns;
    summary_free(&s);
    buf_fini(&bytes);
    return seen_ns;
}

START_TEST(a_process_is_seen_between_cuts_that_follow_each_other)
{
    uint64_t seen_ns = two_cuts_seen_ns(2, false);
    ck_assert_uint_eq(two_cuts_seen_ns(3, true), seen_ns);
    ck_assert_uint_lt(two_cuts_seen_ns(3, false), seen_ns); /* one is missing */
}
END_TEST

/* ---- a bound of memory ---- */

#define MANY 300

static void many_fill(struct buf *out)
{
    struct partition_info info = made_part(500, 1, 10, 900000);
    struct partition_thread thread = {500, "main", 1};
    struct partition_writer *w;
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    partition_writer_batch(w, (uint32_t)partition_writer_thread(w, &thread), 1, 1, false);
    for (uint64_t i = 0; i < MANY * 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "name-%03u", (unsigned)(i % MANY));
        struct partition_event_type type = {
            .name = name, .text = "", .file = "", .klass = SKEIN_CLASS_SPAN, .group = 16};
        partition_writer_event(w, (uint32_t)partition_writer_type(w, &type), 1000 + i * 1000,
                               1 + i % MANY, NULL);
    }
    ck_assert_int_eq(partition_writer_finish(w, out, NULL), SKEIN_OK);
    partition_writer_free(&w);
}

START_TEST(beyond_the_limit_the_least_are_one_row_and_nothing_is_lost)
{
    struct buf bytes = {0};
    const struct summary_name *names;
    uint64_t total_ns = 0, all_ns = 0, levels = 0;
    many_fill(&bytes);
    struct summary *s = summed(&bytes, NULL, 10);
    size_t count = summary_names(s, &names);
    ck_assert_uint_eq(count, 11);
    for (uint64_t i = 0; i < MANY; i++)
        all_ns += 3 * (1 + i) * 64;
    for (size_t i = 0; i < count; i++)
        total_ns += names[i].total_ns;
    ck_assert_uint_eq(total_ns, all_ns);
    ck_assert_str_eq(summary_text(s, names[0].row.text), "name-299");
    ck_assert_str_eq(summary_text(s, names[10].row.text), SUMMARY_OTHERS);
    ck_assert_uint_eq(names[10].row.merged, MANY - 10);
    for (unsigned level = 0; level < HISTOGRAM_LEVELS; level++)
        levels += histogram_count(&names[10].lasted, level);
    ck_assert(levels == (MANY - 10) * 3 && names[10].count == levels);
    summary_free(&s);
    buf_fini(&bytes);
}
END_TEST

/* What a process in the others did is in the others of all tables, and the sums are as they were. */
START_TEST(what_is_of_others_is_one_of_the_others)
{
    struct buf bytes = {0};
    made_fill(&bytes);
    struct summary *all = summed(&bytes, NULL, 0), *few = summed(&bytes, NULL, 2);
    const struct summary_process *processes;
    const struct summary_thread *threads;
    const struct summary_name *names[2];
    const struct summary_call *calls;
    uint64_t sums[2][3] = {{0}}, merged[4] = {0};
    ck_assert_uint_eq(summary_processes(few, &processes), 3);
    ck_assert(processes[2].row.merged >= 1); /* more, where one came again */
    size_t count = summary_threads(few, &threads);
    ck_assert_uint_eq(count, 3);
    merged[0] = threads[2].row.merged;
    ck_assert_uint_eq(summary_calls(few, &calls), 3);
    merged[1] = calls[2].row.merged;
    for (unsigned side = 0; side < 2; side++) {
        count = summary_names(side == 0 ? all : few, &names[side]);
        for (size_t i = 0; i < count; i++) {
            sums[side][0] += names[side][i].count;
            sums[side][1] += names[side][i].self_ns;
            sums[side][2] += names[side][i].lasted.sum_ns;
        }
    }
    ck_assert_uint_eq(count, 3);
    ck_assert(memcmp(sums[0], sums[1], sizeof sums[0]) == 0);
    ck_assert(merged[0] >= 9 - 2 && merged[1] >= 9 * MADE_NAMES - 2);
    ck_assert_uint_ge(names[1][2].row.merged, 3 * (MADE_NAMES + 1) - 2);
    summary_free(&all);
    summary_free(&few);
    buf_fini(&bytes);
}
END_TEST

START_TEST(a_service_is_all_of_its_processes)
{
    struct buf bytes = {0};
    const struct summary_process *services;
    made_fill(&bytes);
    struct summary *s = summed(&bytes, NULL, 0), *by;
    ck_assert_int_eq(summary_by_service(s, &by), SKEIN_OK);
    ck_assert_uint_eq(summary_processes(by, &services), 2);
    for (size_t i = 0; i < 2; i++) {
        const char *service = summary_text(by, services[i].row.text);
        bool even = strcmp(service, "even") == 0;
        const struct summary_name *n = name_find(by, services[i].pid, "request");
        ck_assert_str_eq(service, even ? "even" : "odd");
        ck_assert_uint_eq(n->count, even ? programs[0].sums[0].count + programs[2].sums[0].count
                                         : programs[1].sums[0].count);
    }
    summary_free(&s);
    summary_free(&by);
    buf_fini(&bytes);
}
END_TEST

/* ---- bytes ---- */

START_TEST(bytes_come_back_the_same_and_none_that_are_cut_are_taken)
{
    struct buf trace = {0}, bytes = {0};
    many_fill(&trace);
    struct summary *s = summed(&trace, NULL, 8), *back;
    ck_assert_int_eq(summary_bytes_put(s, &bytes), SKEIN_OK);
    ck_assert_int_eq(summary_bytes_get(bytes.data, bytes.len, 8, &back), SKEIN_OK);
    same_bytes(s, back);
    summary_free(&back);
    for (size_t n = 0; n < bytes.len; n++) {
        int status = summary_bytes_get(bytes.data, n, 0, &back);
        ck_assert(status == SKEIN_TRUNCATED || status == SKEIN_CORRUPT);
        ck_assert_ptr_null(back);
    }
    ck_assert_int_eq(summary_bytes_get(bytes.data, bytes.len, 3, &back), SKEIN_TOO_LARGE);
    bytes.data[4] ^= 2;
    ck_assert_int_eq(summary_bytes_get(bytes.data, bytes.len, 0, &back), SKEIN_VERSION);
    summary_free(&s);
    buf_fini(&trace);
    buf_fini(&bytes);
}
END_TEST

START_TEST(json_parses_and_has_a_row_for_each)
{
    struct buf trace = {0}, text = {0};
    many_fill(&trace);
    struct summary *s = summed(&trace, NULL, 8);
    summary_json(s, &text);
    buf_put_u8(&text, '\0');
    cJSON *json = cJSON_Parse((const char *)text.data);
    ck_assert_ptr_nonnull(json);
    const cJSON *names = cJSON_GetObjectItem(json, "names");
    ck_assert_int_eq(cJSON_GetArraySize(names), 9);
    ck_assert_str_eq(cJSON_GetObjectItem(cJSON_GetArrayItem(names, 0), "name")->valuestring,
                     "name-299");
    ck_assert_int_eq(cJSON_GetObjectItem(cJSON_GetArrayItem(names, 8), "others")->valueint,
                     MANY - 8);
    cJSON_Delete(json);
    summary_free(&s);
    buf_fini(&trace);
    buf_fini(&text);
}
END_TEST

START_TEST(without_memory_nothing_breaks)
{
    struct buf trace = {0}, bytes = {0};
    many_fill(&trace);
    for (unsigned n = 1;; n += n < 200 ? 1 : 13) {
        struct skein_trace *opened = made_open(&trace);
        struct summary *s = NULL, *back = NULL;
        buf_clear(&bytes);
        alloc_fail_at(n);
        int status = summary_new(100, &s);
        if (status == SKEIN_OK)
            status = summary_read(s, opened, NULL);
        if (status == SKEIN_OK)
            status = summary_bytes_put(s, &bytes);
        if (status == SKEIN_OK)
            status = summary_bytes_get(bytes.data, bytes.len, 0, &back);
        if (status == SKEIN_OK)
            status = summary_merge(back, s);
        bool failed = alloc_fail_end();
        ck_assert_int_eq(status, failed ? SKEIN_NO_MEMORY : SKEIN_OK);
        summary_free(&s);
        summary_free(&back);
        skein_trace_free(&opened);
        buf_fini(&bytes);
        if (!failed)
            break;
    }
    buf_fini(&trace);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("summary", a_process_is_seen_between_cuts_that_follow_each_other,
                 each_name_comes_to_what_the_program_did, threads_and_calls_add_up_to_their_process,
                 processes_merged_in_any_order_are_the_whole,
                 times_merged_are_the_whole_but_for_what_is_told_as_unsure,
                 beyond_the_limit_the_least_are_one_row_and_nothing_is_lost,
                 a_service_is_all_of_its_processes, what_is_of_others_is_one_of_the_others,
                 bytes_come_back_the_same_and_none_that_are_cut_are_taken,
                 json_parses_and_has_a_row_for_each, without_memory_nothing_breaks, NULL));
}
