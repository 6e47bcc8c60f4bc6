/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker that sums captures up, with a store, an index and captures that are real, and an analyst
 * in this process: what has ended is summed up once, and again where its partitions change; what is
 * deleted is forgotten; a stop does not wait for a job, and the next start finds it.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../analysis/summary_made.h"
#include "aggregate_int.h"
#include "capture_control.h"
#include "capture_int.h"
#include "capture_state.h"
#include "capture_target.h"
#include "catalog_now.h"
#include "checksum.h"
#include "clock.h"
#include "json.h"
#include "series.h"

#define SECOND    UINT64_C(1000000000)
#define CUT_TICKS 50000

static char *folder;
static struct store *store;
static struct index *index_;
static struct catalog *catalog;
static struct fleet *fleet;
static struct control *control;
static struct capture_engine *engine;
static struct aggregate *aggregate;
static struct fleet_agent agent = {.id = 7, .host = "host-a"};
static struct made_program program;

/* ---- an analyst in this process ---- */

static atomic_uint summaries, reports, refuse; /* refuse: status of the next ones, negated */
static atomic_bool stuck, is_stuck;
static atomic_uint idles;

static int summary_make(const struct analyst_job *job, struct skein_trace *trace,
                        struct buf *answer)
{
    struct summary *summary;
    struct skein_query query = {.size = sizeof query, .groups = job->groups};
    ck_assert_int_eq(summary_new(job->rows, &summary), SKEIN_OK);
    int status = summary_read(summary, trace, &query);
    if (status == SKEIN_OK)
        status = summary_sort(summary);
    if (status == SKEIN_OK)
        status = summary_bytes_put(summary, answer);
    summary_free(&summary);
    return status;
}

static int analyst_fake(struct analyst *analyst, const struct analyst_job *job, struct buf *answer,
                        char error[ANALYST_ERROR_BYTES])
{
    struct skein_trace *trace;
    char why[SKEIN_TRACE_ERROR_BYTES] = "";
    (void)analyst;
    while (atomic_load(&stuck)) {
        atomic_store(&is_stuck, true);
        if (job->stop(job->context))
            return SKEIN_CLOSED;
    }
    if (atomic_load(&refuse) != 0) {
        snprintf(error, ANALYST_ERROR_BYTES, "it is a test");
        return -(int)atomic_load(&refuse);
    }
    ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
    int status = skein_trace_add_source(trace, &job->traces[0], why);
    if (status == SKEIN_OK && job->kind == ANALYST_SUMMARY) {
        atomic_fetch_add(&summaries, 1);
        status = summary_make(job, trace, answer);
    } else if (status == SKEIN_OK) {
        atomic_fetch_add(&reports, 1);
        buf_printf(answer, "{\"partitions\":%u}", skein_trace_partition_count(trace));
    }
    skein_trace_free(&trace);
    return status;
}

static void idle_note(void *context)
{
    (void)context;
    atomic_fetch_add(&idles, 1);
}

/* ---- the collector around it ---- */

static void save(void *context)
{
    (void)context;
    capture_save(engine);
}

static void saved(void *context, bool ok)
{
    (void)context;
    capture_saved(engine, ok);
}

static void touched(void *context, const struct capture_id *id)
{
    (void)context;
    aggregate_touch(aggregate, id);
}

static uint64_t live(void *context, const char *service)
{
    (void)context;
    return strcmp(service, "even") == 0 ? 10 : 0;
}

static void worker_begin(bool reads, uint64_t max_trace_bytes)
{
    char error[256] = "";
    struct aggregate_settings settings = {.folder = folder,
                                          .run = reads ? analyst_fake : NULL,
                                          .max_trace_bytes = max_trace_bytes,
                                          .timeout_ms = 60000,
                                          .max_bytes = 1 << 20,
                                          .max_rows = 10000,
                                          .live = live,
                                          .idle = idle_note};
    struct aggregate *made;
    int status = aggregate_start(&settings, engine, catalog, index_, &made, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
    control_lock(control);
    aggregate = made;
    control_unlock(control);
}

static void worker_start(uint64_t max_trace_bytes)
{
    worker_begin(true, max_trace_bytes);
}

static void worker_stop(void)
{
    control_lock(control);
    struct aggregate *gone = aggregate;
    aggregate = NULL;
    control_unlock(control);
    aggregate_stop(&gone);
}

static void setup(void)
{
    char error[256] = "";
    folder = temp_dir_new();
    struct store_settings files = {.folder = folder};
    struct fleet_settings settings = {.max_agents = 10, .lease_ms = 1000, .heartbeat_ms = 1000};
    struct capture_settings captures = {.deadline_ms = 100000, .touched = touched};
    ck_assert_msg(store_open(&files, &store, error, sizeof error) == SKEIN_OK, "%s", error);
    ck_assert_msg(index_open(folder, store, &index_, error, sizeof error) == SKEIN_OK, "%s", error);
    ck_assert_msg(catalog_open(folder, &catalog, error, sizeof error) == SKEIN_OK, "%s", error);
    ck_assert_int_eq(fleet_new(&settings, catalog, &fleet), SKEIN_OK);
    struct fleet_hooks hooks = {.save = save, .saved = saved};
    fleet_set_hooks(fleet, &hooks);
    control = fleet_control(fleet);
    ck_assert_int_eq(capture_engine_new(&captures, fleet, catalog, index_, &engine), SKEIN_OK);
    program = (struct made_program){.pid = 100, .threads = 2, .random = 3};
}

static void teardown(void)
{
    if (aggregate != NULL)
        worker_stop();
    capture_engine_free(&engine);
    fleet_free(&fleet);
    catalog_close(&catalog);
    index_close(&index_);
    store_close(&store);
    temp_dir_free(&folder);
}

/* ---- captures ---- */

static struct capture_id id_of(uint8_t n)
{
    return (struct capture_id){{0xca, n}};
}

static struct process_uid process(void)
{
    return made_part(100, 0, 0, 1).key.process;
}

static void begin(uint8_t n, bool sample)
{
    struct capture_id id = id_of(n);
    struct process_uid uid = process();
    control_lock(control);
    struct capture *c = capture_new(engine, &id);
    ck_assert_ptr_nonnull(c);
    c->kind = sample ? CAPTURE_SAMPLE : CAPTURE_SNAPSHOT;
    c->created_ns = clock_realtime_ns();
    c->at_ns = SAMPLE_EPOCH_NS;
    c->post_ms = 1000;
    capture_set_due(c, clock_monotonic_ns() + 3600 * SECOND);
    struct fleet_process p = {.uid = uid, .pid = 100};
    struct capture_target *t = capture_target_add(c, &uid, &p, &agent);
    ck_assert_ptr_nonnull(t);
    capture_begin_target(engine, c, t, TARGET_PENDING, "");
    ck_assert_int_eq(control_save(control), SKEIN_OK);
    control_unlock(control);
}

/* The program's next cut, into store and index. */
static void cut_store(uint64_t sequence)
{
    struct buf bytes = {0};
    struct partition_row row;
    struct partition_footer footer;
    size_t need;
    uint64_t from = 1000 + sequence * CUT_TICKS;
    made_cut(&program, &bytes, sequence, from, from + CUT_TICKS);
    struct store_record record = {.key = made_part(100, sequence, from, from + CUT_TICKS).key,
                                  .agent = 7};
    struct store_place place;
    ck_assert_int_eq(store_append(store, &record, bytes.data, bytes.len,
                                  checksum64(bytes.data, bytes.len), &place),
                     SKEIN_OK);
    ck_assert_int_eq(store_sync(store), SKEIN_OK);
    ck_assert_int_eq(partition_footer_get(bytes.data, bytes.len, &footer, &need), SKEIN_OK);
    partition_row_make(&row, &record, &place, &footer, 0);
    ck_assert_int_eq(index_add(index_, &row, 1), SKEIN_OK);
    capture_on_stored(engine, &row, 1);
    control_lock(control);
    capture_take_inbox(engine);
    ck_assert_int_eq(control_save(control), SKEIN_OK);
    control_unlock(control);
    partition_footer_free(&footer);
    buf_fini(&bytes);
}

/* Its agent lists first..last. */
static void list(uint8_t n, const char *state, unsigned first, unsigned last)
{
    struct report_target target;
    char id[ID_TEXT_BYTES], uid[ID_TEXT_BYTES], text[512], error[256];
    struct capture_id capture = id_of(n);
    id_text(capture.bytes, id);
    id_text(process().bytes, uid);
    snprintf(text, sizeof text,
             "{\"agent\":\"0000000000000007\",\"capture\":\"%s\",\"process\":\"%s\","
             "\"state\":\"%s\",\"partitions\":"
             "[{\"epoch\":%u,\"first\":%u,\"last\":%u,\"events\":9,\"bytes\":9}]}",
             id, uid, state, (unsigned)made_part(100, 0, 0, 1).key.epoch, first, last);
    cJSON *json = json_parse(text, strlen(text), error, sizeof error);
    ck_assert_msg(report_target_get(json, &target, error, sizeof error) == SKEIN_OK, "%s", error);
    control_lock(control);
    ck_assert_int_eq(capture_on_target(engine, &agent, &target, json), SKEIN_OK);
    struct capture *c = capture_find(engine, &capture);
    ck_assert_ptr_nonnull(c);
    ck_assert_int_eq(control_save(control), SKEIN_OK);
    control_unlock(control);
    report_target_fini(&target);
    cJSON_Delete(json);
}

static bool is_state(uint8_t n, enum aggregate_state state, char reason[AGGREGATE_REASON_BYTES])
{
    struct capture_id id = id_of(n);
    return aggregate_state(aggregate, &id, reason) == state;
}

/* Its reason: what is looked at twice may be queued again in between. */
static const char *wait_state(uint8_t n, enum aggregate_state state)
{
    static char reason[AGGREGATE_REASON_BYTES];
    uint64_t until = clock_monotonic_ns() + (uint64_t)support_deadline_ms() * 1000000u;
    while (!is_state(n, state, reason))
        ck_assert_msg(clock_monotonic_ns() < until, "capture %u is not %s: %s", n,
                      aggregate_state_text(state), reason);
    return reason;
}

/* Until the worker has looked at all that was there before the call. */
static void wait_idle(void)
{
    uint64_t until = clock_monotonic_ns() + (uint64_t)support_deadline_ms() * 1000000u;
    unsigned before = atomic_load(&idles);
    struct capture_id none = id_of(200);
    aggregate_touch(aggregate, &none);
    while (atomic_load(&idles) < before + 2) {
        ck_assert_msg(clock_monotonic_ns() < until, "the worker is never idle");
        aggregate_touch(aggregate, &none);
    }
}

static char *report_of(uint8_t n)
{
    struct capture_id id = id_of(n);
    struct buf out = {0};
    int status = aggregate_answer(aggregate, &id, ANALYST_REPORT, &out);
    buf_put_u8(&out, 0);
    char *text = strdup(status == SKEIN_OK ? (char *)out.data : "");
    buf_fini(&out);
    return text;
}

static void report_expect(uint8_t n, const char *text)
{
    char *got = report_of(n);
    ck_assert_str_eq(got, text);
    free(got);
}

static double counted(const char *name)
{
    struct series_query query = {.metric = SERIES_METRIC_COUNT,
                                 .service = "even",
                                 .name = name,
                                 .from_s = SAMPLE_EPOCH_NS / SECOND / 3600 * 3600,
                                 .step_s = 3600,
                                 .limit = 10};
    cJSON *json;
    query.to_s = query.from_s + 7200;
    ck_assert_int_eq(series_json(aggregate, &query, &json), SKEIN_OK);
    const cJSON *line, *point;
    double sum = 0;
    cJSON_ArrayForEach(line, cJSON_GetObjectItem(json, "series")) {
        cJSON_ArrayForEach(point, cJSON_GetObjectItem(line, "points")) {
            sum += cJSON_GetNumberValue(cJSON_GetObjectItem(point, "value"));
        }
    }
    cJSON_Delete(json);
    return sum;
}

START_TEST(capture_that_has_ended_is_summed_up_and_one_that_runs_is_not)
{
    worker_start(1 << 30);
    begin(1, true);
    cut_store(0);
    wait_idle();
    ck_assert_uint_eq(atomic_load(&summaries), 0);
    list(1, "uploading", 0, 0);
    wait_state(1, AGGREGATE_DONE);
    report_expect(1, "{\"partitions\":1}");
    ck_assert_double_eq(counted("query"), (double)program.sums[3].count);
    ck_assert_uint_gt(program.sums[3].count, 10);
    wait_idle();
    ck_assert_uint_eq(atomic_load(&summaries), 1);
    ck_assert_uint_eq(atomic_load(&reports), 1);
    /* again after a start, with nothing to do */
    worker_stop();
    worker_start(1 << 30);
    wait_idle();
    ck_assert_uint_eq(atomic_load(&summaries), 1);
    report_expect(1, "{\"partitions\":1}");
}
END_TEST

START_TEST(snapshot_has_a_report_and_no_series)
{
    worker_start(1 << 30);
    begin(1, false);
    cut_store(0);
    list(1, "uploading", 0, 0);
    wait_state(1, AGGREGATE_DONE);
    report_expect(1, "{\"partitions\":1}");
    ck_assert_double_eq(counted("query"), 0);
}
END_TEST

START_TEST(what_ended_while_nobody_worked_is_found)
{
    for (uint8_t n = 0; n < 100; n++)
        begin(n, false);
    cut_store(0);
    for (uint8_t n = 0; n < 100; n++)
        list(n, "uploading", 0, 0);
    worker_start(1 << 30);
    for (uint8_t n = 0; n < 100; n++)
        wait_state(n, AGGREGATE_DONE);
    ck_assert_uint_eq(atomic_load(&reports), 100);
}
END_TEST

START_TEST(change_of_its_partitions_has_it_summed_up_again)
{
    worker_start(1 << 30);
    begin(1, true);
    cut_store(0);
    list(1, "failed", 0, 1); /* and comes again, when its agent does */
    wait_state(1, AGGREGATE_REFUSED);
    cut_store(1);
    list(1, "uploading", 0, 1);
    uint64_t until = clock_monotonic_ns() + (uint64_t)support_deadline_ms() * 1000000u;
    while (counted("query") == 0)
        ck_assert(clock_monotonic_ns() < until);
    wait_state(1, AGGREGATE_DONE);
    ck_assert_double_eq(counted("query"), (double)program.sums[3].count);
    report_expect(1, "{\"partitions\":2}");
}
END_TEST

START_TEST(stop_ends_a_job_at_once_and_the_next_start_does_it)
{
    atomic_store(&stuck, true);
    worker_start(1 << 30);
    begin(1, true);
    cut_store(0);
    list(1, "uploading", 0, 0);
    while (!atomic_load(&is_stuck)) {
    }
    char reason[AGGREGATE_REASON_BYTES];
    ck_assert(is_state(1, AGGREGATE_PENDING, reason));
    worker_stop();
    atomic_store(&stuck, false);
    worker_start(1 << 30);
    wait_state(1, AGGREGATE_DONE);
    ck_assert_double_eq(counted("query"), (double)program.sums[3].count);
}
END_TEST

START_TEST(refusal_says_why)
{
    worker_start(100);
    begin(1, true);
    cut_store(0);
    list(1, "uploading", 0, 0);
    ck_assert_ptr_nonnull(strstr(wait_state(1, AGGREGATE_REFUSED), "analysis.max_trace_bytes"));
    report_expect(1, "");
    /* the analyst's words */
    worker_stop();
    worker_start(1 << 30);
    atomic_store(&refuse, (unsigned)-SKEIN_TOO_LARGE);
    begin(2, true);
    list(2, "uploading", 0, 0);
    ck_assert_str_eq(wait_state(2, AGGREGATE_REFUSED), "it is a test");
    /* nothing stored */
    begin(3, true);
    list(3, "failed", 7, 7);
    ck_assert_str_eq(wait_state(3, AGGREGATE_REFUSED), "no partition of it is stored");
}
END_TEST

START_TEST(what_fails_for_a_moment_stays_pending)
{
    struct capture_id id = id_of(1);
    struct aggregate_mark mark;
    char reason[AGGREGATE_REASON_BYTES];
    atomic_store(&refuse, (unsigned)-SKEIN_NO_MEMORY);
    worker_start(1 << 30);
    begin(1, true);
    cut_store(0);
    list(1, "uploading", 0, 0);
    wait_idle();
    ck_assert_int_eq(aggregate_mark_get(aggregate->db.read, &id, &mark), 1);
    ck_assert_uint_ge(mark.tries, 1);
    ck_assert(is_state(1, AGGREGATE_PENDING, reason));
    atomic_store(&refuse, 0);
    aggregate_touch(aggregate, &id);
    wait_state(1, AGGREGATE_DONE);
}
END_TEST

START_TEST(deleted_capture_is_forgotten_and_its_series_stay)
{
    struct capture_id id = id_of(1);
    worker_start(1 << 30);
    begin(1, true);
    begin(2, true);
    cut_store(0);
    list(1, "uploading", 0, 0);
    wait_state(1, AGGREGATE_DONE);
    double count = counted("query");
    CATALOG_NOW(catalog, catalog_delete_capture(catalog, &id, 1));
    aggregate_touch(aggregate, &id);
    wait_idle();
    report_expect(1, "");
    ck_assert_double_eq(counted("query"), count);
    /* and while nobody worked */
    list(2, "uploading", 0, 0);
    wait_state(2, AGGREGATE_DONE);
    worker_stop();
    id = id_of(2);
    CATALOG_NOW(catalog, catalog_delete_capture(catalog, &id, 1));
    worker_start(1 << 30);
    wait_idle();
    report_expect(2, "");
    ck_assert_double_eq(counted("query"), 2 * count);
}
END_TEST

START_TEST(more_than_the_queue_holds_is_found_by_a_walk)
{
    atomic_store(&stuck, true);
    worker_start(1 << 30);
    begin(1, false);
    begin(2, false);
    cut_store(0);
    list(1, "uploading", 0, 0);
    while (!atomic_load(&is_stuck)) {
    }
    for (unsigned i = 0; i < 2 * AGGREGATE_QUEUE; i++) {
        struct capture_id other = {{0xff, (uint8_t)i, (uint8_t)(i >> 8)}};
        aggregate_touch(aggregate, &other);
    }
    list(2, "uploading", 0, 0);
    atomic_store(&stuck, false);
    wait_state(1, AGGREGATE_DONE);
    wait_state(2, AGGREGATE_DONE);
}
END_TEST

/* Its answers are what somebody wanted to be gone. */
static bool is_idle(void *unused)
{
    (void)unused;
    return atomic_load(&idles) > 0;
}

START_TEST(worker_without_a_reader_rests)
{
    const struct capture_id id = {{1}};
    atomic_store(&idles, 0);
    worker_begin(false, 1 << 20);
    ck_assert(wait_until(is_idle, NULL, 0));
    for (unsigned i = 0; i < 10000; i++) {
        aggregate_touch(aggregate, &id);
        sched_yield();
    }
    worker_stop();
    ck_assert_uint_le(atomic_load(&idles), 2); /* it was idle once, and looked no more */
}
END_TEST

START_TEST(capture_deleted_while_the_queue_was_full_is_forgotten)
{
    struct capture_id id = id_of(1);
    struct aggregate_mark mark;
    worker_start(1 << 30);
    begin(1, false);
    begin(2, false);
    cut_store(0);
    list(1, "uploading", 0, 0);
    wait_state(1, AGGREGATE_DONE);
    atomic_store(&stuck, true);
    list(2, "uploading", 0, 0);
    while (!atomic_load(&is_stuck)) {
    }
    for (unsigned i = 0; i < 2 * AGGREGATE_QUEUE; i++) {
        struct capture_id other = {{0xff, (uint8_t)i, (uint8_t)(i >> 8)}};
        aggregate_touch(aggregate, &other);
    }
    CATALOG_NOW(catalog, catalog_delete_capture(catalog, &id, 1));
    aggregate_touch(aggregate, &id);
    ck_assert_int_eq(aggregate_mark_get(aggregate->db.read, &id, &mark), 1);
    atomic_store(&stuck, false);
    wait_state(2, AGGREGATE_DONE);
    uint64_t until = clock_monotonic_ns() + (uint64_t)support_deadline_ms() * 1000000u;
    while (aggregate_mark_get(aggregate->db.read, &id, &mark) != 0)
        ck_assert_msg(clock_monotonic_ns() < until, "it is not forgotten");
    report_expect(1, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("aggregate");
    TCase *c = tcase_create("aggregate");
    tcase_set_timeout(c, 240);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, capture_that_has_ended_is_summed_up_and_one_that_runs_is_not);
    tcase_add_test(c, snapshot_has_a_report_and_no_series);
    tcase_add_test(c, what_ended_while_nobody_worked_is_found);
    tcase_add_test(c, change_of_its_partitions_has_it_summed_up_again);
    tcase_add_test(c, stop_ends_a_job_at_once_and_the_next_start_does_it);
    tcase_add_test(c, refusal_says_why);
    tcase_add_test(c, what_fails_for_a_moment_stays_pending);
    tcase_add_test(c, deleted_capture_is_forgotten_and_its_series_stay);
    tcase_add_test(c, more_than_the_queue_holds_is_found_by_a_walk);
    tcase_add_test(c, capture_deleted_while_the_queue_was_full_is_forgotten);
    tcase_add_test(c, worker_without_a_reader_rests);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
