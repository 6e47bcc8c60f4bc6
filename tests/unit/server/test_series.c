/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of the series and analysis.db: what programs counted themselves is what queries and
 * counters say, whatever was merged, folded, summed up again, refused by a full disk or killed in
 * between; damage costs only what is derived.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../analysis/summary_made.h"
#include "aggregate_int.h"
#include "json.h"
#include "series.h"
#include "series_total.h"

#define CUT_TICKS 200000
#define DAY_NS    (UINT64_C(86400) * 1000000000u)

static char *folder;
static struct aggregate a; /* its database alone */
static struct made_program programs[3];

static void db_open_here(void)
{
    char error[256] = "";
    int status = aggregate_db_open(folder, &a.db, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
}

static void setup(void)
{
    folder = temp_dir_new();
    db_open_here();
}

static void teardown(void)
{
    aggregate_db_close(&a.db);
    temp_dir_free(&folder);
}

static struct capture_id id_of(uint8_t n)
{
    return (struct capture_id){{0xca, n}};
}

/* Programs 100 (even), 111 (odd), 122 (even); each cut at SAMPLE_EPOCH_NS. */
static void made_fill(struct buf *bytes, uint64_t seed)
{
    for (uint32_t i = 0; i < 3; i++) {
        programs[i] = (struct made_program){.pid = 100 + i * 11, .threads = 2, .random = seed + i};
        made_cut(&programs[i], bytes, 42, 1000, 1000 + CUT_TICKS);
    }
}

static void rows_of(const struct buf *bytes, struct series_set *set)
{
    struct skein_trace *trace = made_open(bytes);
    struct summary *summary;
    ck_assert_int_eq(summary_new(0, &summary), SKEIN_OK);
    ck_assert_int_eq(summary_read(summary, trace, NULL), SKEIN_OK);
    ck_assert_int_eq(summary_sort(summary), SKEIN_OK);
    ck_assert_int_eq(series_set_take(set, summary, SERIES_STEP_S, SAMPLE_EPOCH_NS - DAY_NS,
                                     SAMPLE_EPOCH_NS + DAY_NS),
                     SKEIN_OK);
    summary_free(&summary);
    skein_trace_free(&trace);
}

static int keep(const struct capture_id *id, struct series_set *set, uint64_t done_ns)
{
    struct aggregate_mark mark = {
        .id = *id, .state = AGGREGATE_DONE, .series = SERIES_OWN, .done_ns = done_ns};
    int status = db_begin(a.db.write);
    if (status != SKEIN_OK)
        return status;
    status = series_put(&a.db, id, set);
    if (status == SKEIN_OK)
        status = aggregate_mark_put(&a.db, &mark);
    return db_end(a.db.write, status);
}

/* The capture n of a trace of that seed. */
static void sample_keep(uint8_t n, uint64_t seed, uint64_t done_ns)
{
    struct buf bytes = {0};
    struct series_set set = {NULL, 0, 0};
    struct capture_id id = id_of(n);
    made_fill(&bytes, seed);
    rows_of(&bytes, &set);
    ck_assert_int_eq(keep(&id, &set, done_ns), SKEIN_OK);
    series_set_fini(&set);
    buf_fini(&bytes);
}

static cJSON *ask_between(enum series_metric metric, const char *service, const char *name,
                          double quantile, uint64_t from_s, uint64_t to_s)
{
    struct series_query query = {.metric = metric,
                                 .service = service,
                                 .name = name,
                                 .from_s = from_s,
                                 .to_s = to_s,
                                 .step_s = 3600,
                                 .quantile = quantile,
                                 .limit = SERIES_LINES};
    cJSON *json;
    ck_assert_int_eq(series_json(&a, &query, &json), SKEIN_OK);
    return json;
}

static cJSON *ask(enum series_metric metric, const char *service, const char *name, double quantile)
{
    uint64_t from_s = SAMPLE_EPOCH_NS / 1000000000u;
    from_s -= from_s % 3600;
    return ask_between(metric, service, name, quantile, from_s, from_s + 7200);
}

/* The sum of the member over all points of all lines. */
static double points_sum(const cJSON *json, const char *member)
{
    const cJSON *line, *point;
    double sum = 0;
    cJSON_ArrayForEach(line, cJSON_GetObjectItem(json, "series")) {
        cJSON_ArrayForEach(point, cJSON_GetObjectItem(line, "points")) {
            sum += cJSON_GetNumberValue(cJSON_GetObjectItem(point, member));
        }
    }
    return sum;
}

static double sum_of(enum series_metric metric, const char *service, const char *name,
                     const char *member)
{
    cJSON *json = ask(metric, service, name, 0.5);
    double sum = points_sum(json, member);
    cJSON_Delete(json);
    return sum;
}

/* What the programs of a service counted for a name. */
static struct made_sum made_of(const char *service, unsigned name)
{
    struct made_sum all = {.least_ns = UINT64_MAX};
    for (size_t i = 0; i < 3; i++) {
        const struct made_sum *sum = &programs[i].sums[name];
        if (strcmp(programs[i].pid % 2 == 0 ? "even" : "odd", service) != 0)
            continue;
        all.count += sum->count;
        all.total_ns += sum->total_ns;
        all.self_ns += sum->self_ns;
        all.least_ns = sum->least_ns < all.least_ns ? sum->least_ns : all.least_ns;
        all.most_ns = sum->most_ns > all.most_ns ? sum->most_ns : all.most_ns;
    }
    return all;
}

/* Each name's count and longest, `times` as often as the programs counted. */
static void counts_expect(uint64_t times)
{
    static const char *const services[] = {"even", "odd"};
    for (size_t s = 0; s < 2; s++)
        for (unsigned i = 0; i < MADE_NAMES; i++) {
            struct made_sum made = made_of(services[s], i);
            const char *name = made_regions[i].name;
            ck_assert_uint_gt(made.count, 10);
            ck_assert_double_eq(sum_of(SERIES_METRIC_COUNT, services[s], name, "value"),
                                (double)(made.count * times));
            cJSON *json = ask(SERIES_METRIC_LATENCY, services[s], name, 1);
            ck_assert_double_eq_tol(points_sum(json, "value"), (double)made.most_ns / 1e9, 1e-12);
            cJSON_Delete(json);
        }
}

START_TEST(series_say_what_programs_counted)
{
    sample_keep(1, 7, 1);
    counts_expect(1);
    ck_assert_double_eq(sum_of(SERIES_METRIC_COUNT, "odd", "tick", "value"),
                        (double)programs[1].counted);
    /* all names of a service, the heaviest first */
    cJSON *json = ask(SERIES_METRIC_SELF, "odd", NULL, 0);
    ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(json, "series")), MADE_NAMES + 1);
    cJSON_Delete(json);
    /* rates are of the time that was seen */
    double seen_s = sum_of(SERIES_METRIC_RATE, "odd", "query", "seen_s");
    struct made_sum made = made_of("odd", 3);
    ck_assert_double_gt(seen_s, 0.01);
    ck_assert_double_eq_tol(sum_of(SERIES_METRIC_RATE, "odd", "query", "value"),
                            (double)made.count / seen_s, 1e-6);
    ck_assert_double_eq_tol(sum_of(SERIES_METRIC_SELF, "odd", "query", "value"),
                            (double)made.self_ns / 1e9 / seen_s, 1e-6);
    /* waits are own time of names of their groups: read is io, recv is net */
    made = made_of("even", 2);
    uint64_t waits_ns = made.self_ns + made_of("even", 4).self_ns;
    seen_s = sum_of(SERIES_METRIC_SAMPLED, "even", NULL, "value");
    ck_assert_double_eq_tol(sum_of(SERIES_METRIC_WAIT, "even", NULL, "value"),
                            (double)waits_ns / 1e9 / seen_s, 1e-6);
    ck_assert_double_eq(sum_of(SERIES_METRIC_COUNT, "nobody", NULL, "value"), 0);
}
END_TEST

/* A thread that waits for whatever comes, writes to a disk, and then waits for a lock for longer than
 * anybody records: the lock is told by the sample in which it ends. */
START_TEST(waits_are_those_that_ended_and_idle_ones_are_apart)
{
    static const struct partition_event_type types[] = {{.name = "poll",
                                                         .text = "",
                                                         .file = "",
                                                         .klass = SKEIN_CLASS_SPAN,
                                                         .group = SKEIN_GROUP_NET},
                                                        {.name = "fsync",
                                                         .text = "",
                                                         .file = "",
                                                         .klass = SKEIN_CLASS_SPAN,
                                                         .group = SKEIN_GROUP_IO},
                                                        {.name = "mutex",
                                                         .text = "",
                                                         .file = "",
                                                         .klass = SKEIN_CLASS_SPAN,
                                                         .group = SKEIN_GROUP_LOCK}};
    struct partition_info info = made_part(100, 5, 10, 100000);
    struct partition_thread thread = {100, "main", 1};
    struct partition_writer *w;
    struct buf bytes = {0};
    struct series_set set = {NULL, 0, 0};
    uint32_t of[3];
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    for (size_t i = 0; i < 3; i++)
        of[i] = (uint32_t)partition_writer_type(w, &types[i]);
    uint32_t main_thread = (uint32_t)partition_writer_thread(w, &thread);
    partition_writer_batch(w, main_thread, 5, 1, false);
    partition_writer_event(w, of[0], 1000, 700, NULL);
    partition_writer_event(w, of[1], 2000, 300, NULL);
    partition_writer_open(w, &(struct partition_open){main_thread, of[2], 3000, 0});
    ck_assert_int_eq(partition_writer_finish(w, &bytes, NULL), SKEIN_OK);
    partition_writer_free(&w);
    rows_of(&bytes, &set);
    const struct series_row *row = &set.rows[0];
    ck_assert_str_eq(row->name, "");
    ck_assert_uint_eq(row->n[SERIES_WAIT_NET_NS], 0);
    ck_assert_uint_eq(row->n[SERIES_WAIT_IO_NS], UINT64_C(300) * MADE_SPAN_NS);
    ck_assert_uint_eq(row->n[SERIES_WAIT_LOCK_NS], 0);
    ck_assert_uint_eq(row->n[SERIES_IDLE_NS], UINT64_C(700) * MADE_SPAN_NS);
    series_set_fini(&set);
    buf_fini(&bytes);
}
END_TEST

/* A quantile beside the sorted durations themselves: within 1/32. */
START_TEST(quantiles_of_merged_captures_are_those_of_all_durations)
{
    struct series_set set = {NULL, 0, 0};
    struct capture_id id;
    uint64_t random = 5, all[900];
    for (uint8_t n = 0; n < 3; n++) {
        struct series_row *row =
            series_set_add(&set, SAMPLE_EPOCH_NS / 1000000000u / 600 * 600, "shop", "query", 16);
        for (size_t i = 0; i < 300; i++) {
            uint64_t dur_ns = 1000 + made_chance(&random, 1u << 20) * (n + 1u);
            all[n * 300 + i] = dur_ns;
            ck_assert_int_eq(
                histogram_add(&row->lasted, &(struct histogram_example){1, dur_ns, 1, 1}),
                SKEIN_OK);
        }
        row->n[SERIES_COUNT] = 300;
        id = id_of(n);
        ck_assert_int_eq(keep(&id, &set, n), SKEIN_OK);
        series_set_fini(&set);
    }
    for (size_t i = 1; i < 900; i++)
        for (size_t j = i; j > 0 && all[j - 1] > all[j]; j--) {
            uint64_t other = all[j];
            all[j] = all[j - 1];
            all[j - 1] = other;
        }
    for (int percent = 10; percent < 100; percent += 20) {
        cJSON *json = ask(SERIES_METRIC_LATENCY, "shop", "query", percent / 100.0);
        double exact = (double)all[9 * percent - 1] / 1e9, value = points_sum(json, "value");
        ck_assert_msg(fabs(value - exact) <= exact / 32 + 1e-9, "p%d: %g, not %g", percent, value,
                      exact);
        cJSON_Delete(json);
    }
}
END_TEST

static struct series_bounds bounds_at(uint64_t now_ns)
{
    return (struct series_bounds){
        .now_ns = now_ns, .late_ns = 3600 * UINT64_C(1000000000), .max_rows = 1000000};
}

static int number_take(void *context, struct db_row *row)
{
    *(int64_t *)context = db_i64(row, 0);
    return 1;
}

static int64_t count_get(const char *sql)
{
    int64_t count = -1;
    ck_assert_int_ge(db_run(a.db.write, sql, number_take, &count, NULL), 0);
    return count;
}

START_TEST(folding_keeps_sums_and_makes_rows_fewer)
{
    for (uint8_t n = 1; n <= 4; n++)
        sample_keep(n, 7, SAMPLE_EPOCH_NS);
    counts_expect(4);
    int64_t rows = count_get("SELECT count(*) FROM row");
    struct series_bounds bounds = bounds_at(SAMPLE_EPOCH_NS + 1800 * UINT64_C(1000000000));
    ck_assert_int_eq(series_fold(&a.db, &bounds), SKEIN_OK); /* they may still change */
    ck_assert_int_eq(count_get("SELECT count(*) FROM row"), rows);
    bounds = bounds_at(SAMPLE_EPOCH_NS + DAY_NS);
    ck_assert_int_eq(series_fold(&a.db, &bounds), SKEIN_OK);
    ck_assert_int_eq(count_get("SELECT count(*) FROM row") * 4, rows);
    ck_assert_int_eq(count_get("SELECT count(*) FROM row WHERE step=600 AND capture=''") * 4, rows);
    ck_assert_int_eq(count_get("SELECT count(*) FROM capture WHERE series=2"), 4);
    counts_expect(4);
    bounds = bounds_at(SAMPLE_EPOCH_NS + 4 * DAY_NS);
    ck_assert_int_eq(series_fold(&a.db, &bounds), SKEIN_OK);
    ck_assert_int_eq(count_get("SELECT count(*) FROM row WHERE step=3600") * 4, rows);
    ck_assert_int_eq(count_get("SELECT count(*) FROM row WHERE step=600"), 0);
    counts_expect(4);
    /* one that comes later joins the hour */
    sample_keep(5, 7, SAMPLE_EPOCH_NS + 4 * DAY_NS);
    counts_expect(5);
    bounds = bounds_at(SAMPLE_EPOCH_NS + 5 * DAY_NS);
    ck_assert_int_eq(series_fold(&a.db, &bounds), SKEIN_OK);
    ck_assert_int_eq(count_get("SELECT count(*) FROM row") * 4, rows);
    counts_expect(5);
}
END_TEST

static uint64_t total_count;
static int total_take(void *context, const struct series_total *total)
{
    if (strcmp(total->name, context) == 0 && strcmp(total->service, "odd") == 0)
        total_count = total->n[SERIES_COUNT];
    return 0;
}

static uint64_t total_of(const char *name)
{
    char text[32];
    snprintf(text, sizeof text, "%s", name);
    total_count = 0;
    ck_assert_int_ge(series_totals(a.db.read, NULL, total_take, text), 0);
    return total_count;
}

START_TEST(capture_that_is_summed_up_again_counts_once)
{
    struct buf bytes = {0};
    struct series_set set = {NULL, 0, 0};
    struct capture_id id = id_of(1);
    sample_keep(1, 7, 1);
    uint64_t first = made_of("odd", 3).count;
    ck_assert_uint_eq(total_of("query"), first);
    sample_keep(1, 7, 1);
    counts_expect(1);
    ck_assert_uint_eq(total_of("query"), first);
    /* with one more partition */
    made_fill(&bytes, 7);
    made_cut(&programs[1], &bytes, 43, 1000 + CUT_TICKS, 1000 + 2 * CUT_TICKS);
    rows_of(&bytes, &set);
    ck_assert_int_eq(keep(&id, &set, 1), SKEIN_OK);
    counts_expect(1);
    ck_assert_uint_gt(made_of("odd", 3).count, first);
    ck_assert_uint_eq(total_of("query"), made_of("odd", 3).count);
    series_set_fini(&set);
    buf_fini(&bytes);
}
END_TEST

/* A process that is killed at any moment: each capture is in the rows whole, or not at all. */
START_TEST(kill_in_the_middle_leaves_each_capture_once_or_not)
{
    int out[2];
    ck_assert_int_eq(pipe(out), 0);
    aggregate_db_close(&a.db);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        sigset_t none;
        sigfillset(&none);
        sigprocmask(SIG_BLOCK, &none, NULL);
        db_open_here();
        for (uint8_t n = 1; n < 255; n++) {
            sample_keep(n, 7, SAMPLE_EPOCH_NS);
            struct series_bounds bounds = bounds_at(SAMPLE_EPOCH_NS + (n % 7) * DAY_NS);
            if (series_fold(&a.db, &bounds) != SKEIN_OK || write(out[1], &n, 1) != 1)
                _exit(1);
        }
        _exit(0);
    }
    uint8_t n = 0;
    while (n < 5)
        ck_assert_int_eq(read(out[0], &n, 1), 1);
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    db_open_here();
    int64_t marks = count_get("SELECT count(*) FROM capture");
    ck_assert_int_ge(marks, 5);
    struct buf bytes = {0};
    made_fill(&bytes, 7); /* what the programs counted */
    buf_fini(&bytes);
    counts_expect((uint64_t)marks);
    ck_assert_uint_eq(total_of("query"), made_of("odd", 3).count * (uint64_t)marks);
    close(out[0]);
    close(out[1]);
}
END_TEST

START_TEST(least_names_go_into_the_others_and_this_is_told)
{
    struct series_set set = {NULL, 0, 0};
    struct capture_id id = id_of(1);
    uint64_t at_s = SAMPLE_EPOCH_NS / 1000000000u / 600 * 600, all = 0;
    for (unsigned i = 0; i < SERIES_NAMES + 50; i++) {
        char name[300];
        snprintf(name, sizeof name, "name-%03u%0*d", i, i == 3 ? 250 : 0, 0);
        struct series_row *row = series_set_add(&set, at_s, "shop", name, 16);
        row->n[SERIES_COUNT] = 1000 - i;
        row->n[SERIES_TOTAL_NS] = (1000 - i) * UINT64_C(10);
        all += 1000 - i;
    }
    ck_assert_uint_le(strlen(set.rows[3].name), SERIES_NAME_BYTES);
    ck_assert_int_eq(keep(&id, &set, 1), SKEIN_OK);
    cJSON *json = ask(SERIES_METRIC_COUNT, "shop", NULL, 0);
    /* 201 lines: the others, and 200 names, of which the answer leaves out one */
    const cJSON *left_out = cJSON_GetObjectItem(json, "left_out");
    ck_assert_double_eq(cJSON_GetNumberValue(cJSON_GetObjectItem(left_out, "names")), 50);
    ck_assert_double_eq(cJSON_GetNumberValue(cJSON_GetObjectItem(left_out, "series")), 1);
    cJSON_Delete(json);
    double others = sum_of(SERIES_METRIC_COUNT, "shop", SERIES_OTHERS, "value");
    double named = 0;
    for (unsigned i = 0; i < SERIES_NAMES; i++)
        named += 1000 - i;
    ck_assert_double_eq(others + named, (double)all);
    series_set_fini(&set);
}
END_TEST

START_TEST(names_are_made_text)
{
    struct series_set set = {NULL, 0, 0};
    struct series_row *row = series_set_add(&set, 0, "a\nb\xff", "\xc3\xa9\x01", 0);
    ck_assert_str_eq(row->service, "a?b?");
    ck_assert_str_eq(row->name, "\xc3\xa9?");
    series_set_fini(&set);
}
END_TEST

START_TEST(rows_come_back_from_bytes_and_broken_ones_do_not)
{
    struct series_set set = {NULL, 0, 0}, other = {NULL, 0, 0};
    struct buf bytes = {0};
    struct series_row *row = series_set_add(&set, 600, "s", "n", 1);
    for (uint64_t i = 0; i < SERIES_NUMBERS; i++)
        row->n[i] = i * i * 1000;
    for (uint64_t i = 1; i < 40; i++)
        histogram_add(&row->lasted, &(struct histogram_example){0, i * 777, 0, 0});
    series_row_put(row, &bytes);
    struct series_row *to = series_set_add(&other, 600, "s", "n", 1);
    for (size_t n = 0; n < bytes.len; n++)
        ck_assert_msg(series_row_get(bytes.data, n, to) < 0, "the first %zu bytes", n);
    ck_assert_int_eq(series_row_get(bytes.data, bytes.len, to), SKEIN_OK);
    ck_assert(memcmp(to->n, row->n, sizeof row->n) == 0);
    ck_assert_uint_eq(to->lasted.count, 39);
    ck_assert_uint_eq(to->lasted.max_ns, 39 * 777);
    buf_put_u8(&bytes, 0);
    ck_assert_int_eq(series_row_get(bytes.data, bytes.len, to), SKEIN_CORRUPT);
    buf_fini(&bytes);
    series_set_fini(&set);
    series_set_fini(&other);
}
END_TEST

START_TEST(old_rows_go_by_age_and_by_number)
{
    struct capture_id id = id_of(1);
    for (unsigned i = 0; i < 30; i++) {
        struct series_set set = {NULL, 0, 0};
        struct series_row *row =
            series_set_add(&set, 86400 * UINT64_C(100) + i * 3600, "shop", "query", 16);
        row->n[SERIES_COUNT] = 1;
        id.bytes[1] = (uint8_t)i;
        ck_assert_int_eq(keep(&id, &set, 1), SKEIN_OK);
        series_set_fini(&set);
    }
    struct series_bounds bounds = bounds_at((86400 * UINT64_C(100) + 29 * 3600) * 1000000000u);
    bounds.max_rows = 20;
    ck_assert_int_eq(series_fold(&a.db, &bounds), SKEIN_OK);
    ck_assert_int_eq(count_get("SELECT count(*) FROM row"), 20);
    ck_assert_int_eq(count_get("SELECT min(at) FROM row"), 86400 * 100 + 10 * 3600);
    ck_assert_uint_eq(aggregate_note(a.db.read, "rows_dropped"), 10);
    bounds.keep_ms = 3600000 * UINT64_C(5);
    ck_assert_int_eq(series_fold(&a.db, &bounds), SKEIN_OK);
    ck_assert_int_eq(count_get("SELECT min(at) FROM row"), 86400 * 100 + 24 * 3600);
    ck_assert_uint_eq(aggregate_note(a.db.read, "rows_dropped"), 10); /* age is as was asked */
}
END_TEST

START_TEST(answers_are_packed_and_the_oldest_go)
{
    struct buf bytes = {0}, out = {0};
    uint64_t random = 3;
    for (size_t i = 0; i < 4000; i++)
        buf_put_u8(&bytes, (uint8_t)made_chance(&random, 256));
    for (uint8_t n = 5; n >= 1; n--) { /* as a walk finds them */
        struct capture_id id = id_of(n);
        ck_assert_int_eq(aggregate_answer_put(&a.db, &id, ANALYST_REPORT, &bytes), SKEIN_OK);
        ck_assert_int_eq(aggregate_answer_put(&a.db, &id, ANALYST_SUMMARY, &bytes), SKEIN_OK);
    }
    ck_assert_int_eq(aggregate_answers_trim(&a.db, 20000), 3);
    struct capture_id id = id_of(3);
    ck_assert_int_eq(aggregate_answer_get(&a.db, &id, ANALYST_REPORT, &out), SKEIN_NOT_FOUND);
    id = id_of(4);
    ck_assert_int_eq(aggregate_answer_get(&a.db, &id, ANALYST_REPORT, &out), SKEIN_OK);
    ck_assert(out.len == bytes.len && memcmp(out.data, bytes.data, out.len) == 0);
    ck_assert_int_eq(aggregate_forget(&a.db, &id), SKEIN_OK);
    ck_assert_int_eq(aggregate_answer_get(&a.db, &id, ANALYST_SUMMARY, &out), SKEIN_NOT_FOUND);
    buf_fini(&bytes);
    buf_fini(&out);
}
END_TEST

static void file_damage(const char *name)
{
    char path[4096], noise[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    memset(noise, 0x5a, sizeof noise);
    int fd = open(path, O_WRONLY);
    ck_assert_int_ge(fd, 0);
    for (off_t at = 100; at < 200000; at += (off_t)sizeof noise)
        ck_assert_int_eq(pwrite(fd, noise, sizeof noise, at), (ssize_t)sizeof noise);
    close(fd);
}

START_TEST(damaged_database_is_set_aside_and_begun_anew)
{
    sample_keep(1, 7, 1);
    aggregate_db_close(&a.db);
    file_damage("analysis.db");
    db_open_here();
    ck_assert_int_eq(count_get("SELECT count(*) FROM capture"), 0);
    sample_keep(1, 7, 1);
    counts_expect(1);
    /* the same while it is open: queries fail, until it is healed */
    ck_assert_int_eq(db_exec(a.db.write, "PRAGMA wal_checkpoint(TRUNCATE)"), SKEIN_OK);
    file_damage("analysis.db");
    struct series_query query = {.metric = SERIES_METRIC_COUNT,
                                 .service = "odd",
                                 .from_s = 0,
                                 .to_s = 600 * 100,
                                 .step_s = 600,
                                 .limit = 5};
    cJSON *json = NULL;
    ck_assert_int_eq(db_exec(a.db.read, "PRAGMA shrink_memory"), SKEIN_OK);
    (void)series_json(&a, &query, &json);
    cJSON_Delete(json);
    (void)db_exec(a.db.write, "PRAGMA shrink_memory");
    (void)db_check(a.db.write);
    (void)db_run(a.db.read, "SELECT count(bytes) FROM row", NULL, NULL, NULL);
    (void)db_run(a.db.write, "SELECT count(bytes) FROM row", NULL, NULL, NULL);
    ck_assert(aggregate_db_heal(&a.db));
    ck_assert(!aggregate_db_heal(&a.db));
    ck_assert_int_eq(count_get("SELECT count(*) FROM capture"), 0);
    sample_keep(1, 7, 1);
    counts_expect(1);
}
END_TEST

START_TEST(removed_database_is_begun_anew_while_it_is_open)
{
    static const char *const names[] = {"analysis.db", "analysis.db-wal", "analysis.db-shm"};
    sample_keep(1, 7, 1);
    ck_assert(!aggregate_db_heal(&a.db));
    for (size_t i = 0; i < 3; i++) {
        char *path = path_join(folder, names[i]);
        ck_assert(remove(path) == 0 || errno == ENOENT);
        free(path);
    }
    ck_assert(aggregate_db_heal(&a.db));
    ck_assert(!aggregate_db_heal(&a.db));
    ck_assert_int_eq(count_get("SELECT count(*) FROM capture"), 0);
    sample_keep(1, 7, 1);
    counts_expect(1);
    aggregate_db_close(&a.db); /* it is on the disk */
    db_open_here();
    counts_expect(1);
}
END_TEST

/* No file may grow: a capture is refused whole, and taken when there is room. */
START_TEST(full_disk_takes_nothing_of_a_capture)
{
    sample_keep(1, 7, 1);
    struct buf bytes = {0};
    struct series_set set = {NULL, 0, 0};
    struct capture_id id = id_of(2);
    struct rlimit before, none;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    made_fill(&bytes, 7);
    rows_of(&bytes, &set);
    none = before;
    none.rlim_cur = 4096;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
    int status = keep(&id, &set, 1);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    ck_assert_int_lt(status, 0);
    counts_expect(1);
    ck_assert_uint_eq(total_of("query"), made_of("odd", 3).count);
    ck_assert_int_eq(keep(&id, &set, 1), SKEIN_OK);
    counts_expect(2);
    series_set_fini(&set);
    buf_fini(&bytes);
}
END_TEST

/* Hostile names, and numbers that Prometheus can read: expose_judge.py parses all. */
START_TEST(counters_are_written_for_prometheus)
{
    static const enum series_form forms[] = {SERIES_PROMETHEUS, SERIES_OPENMETRICS};
    const char *to = getenv("SKEIN_EXPOSE_FOLDER");
    struct series_set set = {NULL, 0, 0};
    struct capture_id id = id_of(2);
    sample_keep(1, 7, 1);
    struct series_row *row = series_set_add(&set, 600, "we\"ird\\", "a\\n\"b\"{}=,\n", 17);
    for (uint64_t ns = 1000; ns < UINT64_C(200000000000); ns *= 3)
        histogram_add(&row->lasted, &(struct histogram_example){0, ns, 0, 0});
    row->n[SERIES_COUNT] = row->lasted.count;
    row->n[SERIES_TOTAL_NS] = row->lasted.sum_ns;
    ck_assert_int_eq(keep(&id, &set, 1), SKEIN_OK);
    for (size_t i = 0; i < 2; i++) {
        struct buf out = {0};
        char path[4096];
        ck_assert_int_eq(series_expose(&a, NULL, forms[i], &out), SKEIN_OK);
        buf_put_u8(&out, 0);
        char line[128];
        snprintf(
            line, sizeof line,
            "\nskein_sampled_region_seconds_count{service=\"odd\",name=\"query\",group=\"17\"} "
            "%" PRIu64 "\n",
            made_of("odd", 3).count);
        ck_assert_msg(strstr((char *)out.data, line) != NULL, "%s", (char *)out.data);
        ck_assert_ptr_nonnull(strstr((char *)out.data, "service=\"we\\\"ird\\\\\""));
        snprintf(path, sizeof path, "%s/expose-%zu.txt", to != NULL ? to : folder, i);
        file_write_text(path, (char *)out.data);
        buf_clear(&out);
        ck_assert_int_eq(series_expose(&a, "even", forms[i], &out), SKEIN_OK);
        buf_put_u8(&out, 0);
        ck_assert_ptr_null(strstr((char *)out.data, "odd"));
        buf_fini(&out);
    }
    series_set_fini(&set);
}
END_TEST

static unsigned looks, looks_until;

static bool is_enough(void *context)
{
    (void)context;
    return ++looks > looks_until;
}

/* Nobody waits: asked first, then at the first row of either pass; an answer that is wanted is whole. */
START_TEST(what_nobody_waits_for_is_not_read)
{
    sample_keep(1, 7, 1);
    struct series_query query = {.metric = SERIES_METRIC_COUNT,
                                 .from_s = SAMPLE_EPOCH_NS / 1000000000u / 3600 * 3600,
                                 .step_s = 3600,
                                 .limit = 5,
                                 .stop = is_enough};
    query.to_s = query.from_s + 7200;
    for (looks_until = 0; looks_until < 2; looks_until++) {
        cJSON *json = NULL;
        looks = 0;
        ck_assert_int_eq(series_json(&a, &query, &json), SKEIN_CLOSED);
        ck_assert_ptr_null(json);
        ck_assert_uint_eq(looks, looks_until + 1);
    }
    cJSON *json = NULL;
    looks = 0;
    looks_until = 100;
    ck_assert_int_eq(series_json(&a, &query, &json), SKEIN_OK);
    ck_assert_int_gt(cJSON_GetArraySize(cJSON_GetObjectItem(json, "series")), 0);
    cJSON_Delete(json);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("series");
    TCase *c = tcase_create("series");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, series_say_what_programs_counted);
    tcase_add_test(c, quantiles_of_merged_captures_are_those_of_all_durations);
    tcase_add_test(c, waits_are_those_that_ended_and_idle_ones_are_apart);
    tcase_add_test(c, folding_keeps_sums_and_makes_rows_fewer);
    tcase_add_test(c, capture_that_is_summed_up_again_counts_once);
    tcase_add_test(c, kill_in_the_middle_leaves_each_capture_once_or_not);
    tcase_add_test(c, least_names_go_into_the_others_and_this_is_told);
    tcase_add_test(c, names_are_made_text);
    tcase_add_test(c, rows_come_back_from_bytes_and_broken_ones_do_not);
    tcase_add_test(c, old_rows_go_by_age_and_by_number);
    tcase_add_test(c, answers_are_packed_and_the_oldest_go);
    tcase_add_test(c, damaged_database_is_set_aside_and_begun_anew);
    tcase_add_test(c, removed_database_is_begun_anew_while_it_is_open);
    tcase_add_test(c, what_nobody_waits_for_is_not_read);
    tcase_add_test(c, full_disk_takes_nothing_of_a_capture);
    suite_add_tcase(suite, c);
    TCase *expose = tcase_create("expose"); /* expose_judge.py runs it alone */
    tcase_add_checked_fixture(expose, setup, teardown);
    tcase_add_test(expose, counters_are_written_for_prometheus);
    suite_add_tcase(suite, expose);
    return suite_run(suite);
}
