/* SPDX-License-Identifier: Apache-2.0
 *
 * skein info, check, cat and export over trace files that the partition writer makes. Runs the real
 * program. One thread.
 */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition_writer.h"
#include "support.h"
#include "trace_file.h"

#define START_NS UINT64_C(1800000000000000000)
#define MS       UINT64_C(1000000)
#define S        (1000 * MS)

static char *folder, *trace, *out;

static void set_up(void)
{
    folder = temp_dir_new();
    trace = path_join(folder, "a.skein");
    out = path_join(folder, "out");
}

static void tear_down(void)
{
    free(trace);
    free(out);
    temp_dir_free(&folder);
}

/* ---- making traces: ticks are nanoseconds since START_NS ---- */

static const struct partition_event_type work = {.name = "work",
                                                 .text = "",
                                                 .file = "",
                                                 .klass = SKEIN_CLASS_RANGE_BEGIN,
                                                 .group = 16,
                                                 .nargs = 1,
                                                 .args = {{SKEIN_T_U64, "n", ""}}};
static const struct partition_event_type nap = {
    .name = "sleep",
    .text = "",
    .file = "",
    .klass = SKEIN_CLASS_SPAN,
    .nargs = 2,
    .args = {{SKEIN_T_I64, "asked", "ns"}, {SKEIN_T_I64, "result", ""}}};
static const struct partition_event_type note = {.name = "note",
                                                 .text = "",
                                                 .file = "",
                                                 .klass = SKEIN_CLASS_INSTANT,
                                                 .group = 63,
                                                 .nargs = 1,
                                                 .args = {{SKEIN_T_STR, "text", ""}}};

static struct clock_snapshot snapshot(uint64_t ticks)
{
    return (struct clock_snapshot){ticks, ticks, ticks, START_NS + ticks};
}

/* The next writer's process, and how far the collector's clock is ahead of its host's. */
static uint8_t process_byte = 0x5a;
static int64_t clock_offset_ns = 0;

static bool evidence = false; /* what the next writer makes */

static struct partition_writer *writer(uint64_t sequence, uint64_t from, uint64_t to)
{
    struct partition_info info = {.key = {.epoch = 1, .sequence = sequence},
                                  .generation = sequence + 1,
                                  .pid = 77,
                                  .process_start_ns = START_NS,
                                  .clock = PARTITION_CLOCK_MONOTONIC,
                                  .mode = SKEIN_MODE_CIRCULAR,
                                  .begin = snapshot(from),
                                  .end = snapshot(to),
                                  .clock_offset_ns = clock_offset_ns,
                                  .window_from_ticks = from,
                                  .window_to_ticks = to,
                                  .host = "here",
                                  .service = "shop",
                                  .labels = "zone=a",
                                  .exe = "/bin/shop",
                                  .evidence = evidence};
    struct partition_writer *w = NULL;
    memset(info.key.process.bytes, process_byte, sizeof(info.key.process.bytes));
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    return w;
}

static void finish(struct partition_writer **w, struct buf *file)
{
    ck_assert_int_eq(partition_writer_finish(*w, file, NULL), SKEIN_OK);
    partition_writer_free(w);
}

static uint32_t thread_of(struct partition_writer *w, uint32_t tid, const char *name)
{
    int64_t i = partition_writer_thread(w, &(struct partition_thread){tid, name, 1});
    ck_assert_int_ge(i, 0);
    return (uint32_t)i;
}

static void span(struct partition_writer *w, uint64_t end, uint64_t length)
{
    struct partition_value values[2] = {{.i64 = (int64_t)length}, {.i64 = 0}};
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &nap), end, length, values);
}

static const uint64_t pcs[] = {0x401010, 0x402020, 0x9990};

/* The event before gets a stack: an inlined function and its caller, a file without names, nothing. */
static void stack_put(struct partition_writer *w, uint8_t end)
{
    static const struct partition_line lines[] = {{"take(lock*)", "/build/src/lock.h", 12},
                                                  {"pay\033[2J(order&)", "/build/src/pay.cc", 7}};
    int64_t id = partition_writer_stack(w, &(struct partition_stack){pcs, 3, end});
    ck_assert_int_gt(id, 0);
    partition_writer_mapping(
        w, &(struct partition_mapping){0x401000, 0x402000, 0, "/usr/bin/shop", {0}, 0});
    partition_writer_mapping(
        w, &(struct partition_mapping){0x402000, 0x403000, 0x5000, "/lib/libshop.so", {9, 8}, 2});
    partition_writer_symbol(w, &(struct partition_symbol){0x40100f, lines, 2});
    partition_writer_event_stack(w, (uint32_t)id);
}
#define STACK_LINES                                                                                \
    "        at take(lock*)  (lock.h:12)  inlined\n"                                               \
    "        at pay\\x1b[2J(order&)  (pay.cc:7)  shop\n"                                           \
    "        at libshop.so+0x501f\n"                                                               \
    "        at 0x9990\n"

/* First partition: seconds 0 to 10, a "work" that stays open; second: 10 to 20, where it ends. */
static void trace_make(struct buf *file)
{
    struct partition_value n = {.u64 = 42};
    struct partition_value text = {.str = {"hello\033[31m", 10, false}};
    struct partition_writer *w = writer(0, 0, 10 * S);
    uint32_t main_thread = thread_of(w, 77, "main"), helper = thread_of(w, 78, "helper");
    partition_writer_batch(w, main_thread, 1, 0, false);
    span(w, 1 * S, 30 * MS);
    span(w, 3 * S, 2000 * MS);
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &work), 9 * S, 0, &n);
    partition_writer_batch(w, helper, 1, 0, false);
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &note), 5 * S, 0, &text);
    partition_writer_loss(
        w, &(struct partition_loss){helper, PARTITION_LOSS_RING_FULL, 3, 6 * S, 7 * S});
    finish(&w, file);

    w = writer(1, 10 * S, 20 * S);
    main_thread = thread_of(w, 77, "main");
    partition_writer_batch(w, main_thread, 2, 1, false);
    partition_writer_open_range(w, partition_writer_type(w, &work), 9 * S);
    partition_writer_end(w, 14 * S);
    span(w, 15 * S, 10 * MS);
    finish(&w, file);
}

static void trace_write(void)
{
    struct buf file = {0};
    trace_make(&file);
    file_write(trace, file.data, file.len);
    buf_fini(&file);
}

/* ---- running skein ---- */

/* Output (standard error too) in *text, freed by the caller; returns the exit status. */
static int skein(char **text, const char *const *words)
{
    const char *argv[16] = {SKEIN_PROGRAM};
    size_t n = 1;
    for (; words[n - 1]; n++)
        argv[n] = words[n - 1];
    remove(out); /* spawn() appends */
    struct spawn_options options = {.out_file = out};
    int status = spawn_wait(spawn(argv, &options), 0);
    *text = file_read(out, NULL);
    ck_assert_ptr_nonnull(*text);
    return status;
}
#define SKEIN(text, ...) skein(text, (const char *const[]){__VA_ARGS__, NULL})

static size_t lines_of(const char *text)
{
    size_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* Line i as JSON. */
static cJSON *line_json(const char *text, size_t i)
{
    while (i-- > 0)
        text = strchr(text, '\n') + 1;
    cJSON *json = cJSON_ParseWithLength(text, strcspn(text, "\n"));
    ck_assert_ptr_nonnull(json);
    return json;
}

static const char *string_at(const cJSON *json, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItem(json, key));
}

/* A partition with an event a time, written behind what `file` has. */
static void notes_put(struct buf *file, uint64_t sequence, const uint64_t *times, size_t count)
{
    struct partition_value text = {.str = {"", 0, false}};
    struct partition_writer *w = writer(sequence, times[0], times[count - 1] + MS);
    partition_writer_batch(w, thread_of(w, 77, "main"), 1, 0, false);
    for (size_t i = 0; i < count; i++)
        partition_writer_event(w, (uint32_t)partition_writer_type(w, &note), times[i], 0, &text);
    finish(&w, file);
}

/* The times of all lines, in tenths of seconds since the start. */
static void check_times(const char *text, const uint64_t *tenths, size_t count)
{
    ck_assert_uint_eq(lines_of(text), count);
    for (size_t i = 0; i < count; i++) {
        const char *ts = strstr(text, "\"ts_ns\":\"");
        ck_assert_ptr_nonnull(ts);
        ck_assert_uint_eq((strtoull(ts + 9, NULL, 10) - START_NS) / (100 * MS), tenths[i]);
        text = strchr(text, '\n') + 1;
    }
}

START_TEST(cat_merges_processes_by_the_collectors_clock)
{
    static const uint64_t one[] = {1 * S, 3 * S}, later[] = {5 * S}, other[] = {2 * S, 2800 * MS};
    static const uint64_t merged[] = {10, 25, 30, 33, 50}, alone[] = {25, 33};
    struct buf file = {0};
    char *text;
    /* A cut with a higher sequence may be of an earlier time. */
    notes_put(&file, 7, later, 1);
    notes_put(&file, 8, one, 2);
    process_byte = 0x11;
    clock_offset_ns = 500 * (int64_t)MS;
    notes_put(&file, 0, other, 2);
    process_byte = 0x5a;
    clock_offset_ns = 0;
    file_write(trace, file.data, file.len);
    buf_fini(&file);
    ck_assert_int_eq(SKEIN(&text, "cat", "-j", trace), 0);
    check_times(text, merged, 5);
    free(text);
    ck_assert_int_eq(SKEIN(&text, "cat", "-j", "-p", "11111111111111111111111111111111", trace), 0);
    check_times(text, alone, 2);
    free(text);
}
END_TEST

START_TEST(spans_are_by_the_collectors_clock)
{
    static const uint64_t early[] = {4 * S}, behind[] = {1 * S, 2 * S};
    static const uint64_t all[] = {40, 310, 320}, last[] = {310, 320}, first[] = {40};
    struct buf file = {0};
    char *text;
    notes_put(&file, 0, early, 1);
    process_byte = 0x11;
    clock_offset_ns = 30 * (int64_t)S; /* by its host's clock it is the earlier one */
    notes_put(&file, 0, behind, 2);
    process_byte = 0x5a;
    clock_offset_ns = 0;
    file_write(trace, file.data, file.len);
    buf_fini(&file);
    ck_assert_int_eq(SKEIN(&text, "cat", "-j", trace), 0);
    check_times(text, all, 3);
    free(text);
    ck_assert_int_eq(SKEIN(&text, "cat", "-j", "--from", "-1s", trace), 0);
    check_times(text, last, 2);
    free(text);
    ck_assert_int_eq(SKEIN(&text, "cat", "-j", "--to", "+20s", trace), 0);
    check_times(text, first, 1);
    free(text);
    ck_assert_int_eq(SKEIN(&text, "info", "-o", "json", trace), 0);
    cJSON *info = cJSON_Parse(text);
    ck_assert_ptr_nonnull(info);
    ck_assert_str_eq(string_at(info, "from"), "2027-01-15T08:00:04.000Z");
    ck_assert_str_eq(string_at(info, "to"), "2027-01-15T08:00:32.000Z");
    const cJSON *process = cJSON_GetArrayItem(cJSON_GetObjectItem(info, "processes"), 1);
    ck_assert_str_eq(string_at(process, "from"), "2027-01-15T08:00:31.000Z");
    ck_assert_str_eq(string_at(process, "to"), "2027-01-15T08:00:32.000Z");
    cJSON_Delete(info);
    free(text);
}
END_TEST

START_TEST(cat_json_has_the_promised_members)
{
    char *text;
    trace_write();
    ck_assert_int_eq(SKEIN(&text, "cat", "--json", "--name", "sleep", "--min-dur", "1s", trace), 0);
    ck_assert_uint_eq(lines_of(text), 1);
    ck_assert_ptr_nonnull(strstr(text, "\"ts_ns\":\"1800000001000000000\","));
    cJSON *line = line_json(text, 0);
    ck_assert_double_eq(cJSON_GetNumberValue(cJSON_GetObjectItem(line, "dur_ns")), 2e9);
    ck_assert_str_eq(string_at(line, "process"), "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a");
    ck_assert_str_eq(string_at(line, "thread"), "main");
    ck_assert_str_eq(string_at(line, "type"), "region");
    ck_assert_str_eq(string_at(line, "name"), "sleep");
    const cJSON *args = cJSON_GetObjectItem(line, "args");
    ck_assert_double_eq(cJSON_GetNumberValue(cJSON_GetObjectItem(args, "asked")), 2e9);
    cJSON_Delete(line);
    free(text);
}
END_TEST

START_TEST(a_region_over_a_cut_comes_out_whole)
{
    char *text;
    trace_write();
    ck_assert_int_eq(SKEIN(&text, "cat", "--json", "--name", "work", "--type", "region", trace), 0);
    ck_assert_uint_eq(lines_of(text), 1);
    cJSON *line = line_json(text, 0);
    ck_assert_double_eq(cJSON_GetNumberValue(cJSON_GetObjectItem(line, "dur_ns")), 5e9);
    cJSON_Delete(line);
    free(text);
}
END_TEST

START_TEST(cat_filters_by_thread_time_and_count)
{
    char *text;
    trace_write();
    ck_assert_int_eq(SKEIN(&text, "cat", "--json", "--thread", "help*", trace), 0);
    ck_assert_uint_eq(lines_of(text), 2); /* the note and the loss */
    free(text);
    ck_assert_int_eq(SKEIN(&text, "cat", "--json", "--thread", "78", "--type", "loss", trace), 0);
    ck_assert_uint_eq(lines_of(text), 1);
    free(text);
    ck_assert_int_eq(SKEIN(&text, "cat", "--json", "--name", "sleep", "--from", "-1s", trace), 0);
    ck_assert_uint_eq(lines_of(text), 1);
    free(text);
    ck_assert_int_eq(SKEIN(&text, "cat", "--json", "--name", "sleep", "--to", "+500ms", trace), 0);
    ck_assert_uint_eq(lines_of(text), 2);
    free(text);
    ck_assert_int_eq(SKEIN(&text, "cat", "--limit", "1", trace), 0);
    ck_assert_ptr_nonnull(strstr(text, "more events than --limit 1"));
    free(text);
    ck_assert_int_eq(SKEIN(&text, "cat", "--from", "yesterday", trace), 2);
    free(text);
    ck_assert_int_eq(SKEIN(&text, "cat", "--type", "regoin", trace), 2);
    free(text);
}
END_TEST

START_TEST(stacks_are_shown_where_they_are_asked_for)
{
    char *text;
    struct buf file = {0};
    struct partition_value n = {.u64 = 42};
    struct partition_writer *w = writer(0, 0, 10 * S);
    partition_writer_batch(w, thread_of(w, 77, "main"), 1, 0, false);
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &work), 900 * MS, 0, &n);
    span(w, 1 * S, 30 * MS);
    stack_put(w, PARTITION_STACK_CUT);
    span(w, 2 * S, 10 * MS);
    span(w, 3 * S, 20 * MS);
    stack_put(w, PARTITION_STACK_BROKEN);
    partition_writer_end(w, 4 * S);
    finish(&w, &file);
    file_write(trace, file.data, file.len);
    buf_fini(&file);
    ck_assert_int_eq(SKEIN(&text, "cat", "-n", "sleep", trace), 0);
    ck_assert_uint_eq(lines_of(text), 3);
    free(text);
    ck_assert_int_eq(SKEIN(&text, "cat", "-n", "sleep", "--stacks", trace), 0);
    ck_assert_uint_eq(lines_of(text), 3 + 5 + 5);
    const char *first = strstr(text, STACK_LINES "        ... more frames than are recorded\n");
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_nonnull(strstr(first, STACK_LINES "        ... what called it is unknown\n"));
    free(text);
    ck_assert_int_eq(SKEIN(&text, "cat", "-n", "sleep", "--longest", "2", trace), 0);
    ck_assert_uint_eq(lines_of(text), 1 + 2 + 5 + 5);
    ck_assert_ptr_nonnull(strstr(text, "\n" STACK_LINES));
    free(text);
    ck_assert_int_eq(SKEIN(&text, "cat", "-j", "-n", "sleep", "--longest", "1", trace), 0);
    ck_assert_ptr_nonnull(strstr(
        text,
        "\"frames\":[{\"function\":\"take(lock*)\",\"file\":\"/build/src/lock.h\",\"line\":12,"
        "\"inlined\":true,\"module\":\"/usr/bin/shop\",\"offset\":\"0xf\","
        "\"address\":\"0x401010\"},{\"function\":\"pay\\u001b[2J(order&)\","));
    ck_assert_ptr_nonnull(strstr(text, "\"module\":\"/lib/libshop.so\",\"offset\":\"0x501f\","
                                       "\"build_id\":\"0908\",\"address\":\"0x402020\"},"
                                       "{\"address\":\"0x9990\"}],\"stack_end\":\"cut\"}"));
    free(text);
    ck_assert_int_eq(SKEIN(&text, "info", trace), 0);
    ck_assert_ptr_nonnull(strstr(text, "7 events (2 are stacks of others)"));
    free(text);
    ck_assert_int_eq(SKEIN(&text, "check", trace), 0);
    free(text);
    ck_assert_int_eq(SKEIN(&text, "what", "--at", "-1s", trace), 0);
    ck_assert_ptr_nonnull(strstr(text, "\n" STACK_LINES));
    free(text);
    ck_assert_int_eq(SKEIN(&text, "what", "--at", "-1s", "-o", "json", trace), 0);
    cJSON *what = cJSON_Parse(text);
    const cJSON *inside = cJSON_GetArrayItem(cJSON_GetObjectItem(what, "inside"), 0);
    const cJSON *wait = cJSON_GetArrayItem(cJSON_GetObjectItem(inside, "spans"), 1);
    ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(wait, "frames")), 4);
    ck_assert_str_eq(string_at(wait, "stack_end"), "broken");
    ck_assert_ptr_null(strstr(text, "_below"));
    cJSON_Delete(what);
    free(text);
}
END_TEST

/* Of the same trace: the report in both forms, with hostile texts made harmless. */
START_TEST(report_says_findings_first)
{
    char *text;
    trace_write();
    ck_assert_int_eq(SKEIN(&text, "report", trace), 0);
    const char *findings = strstr(text, "\nFindings\n"), *regions = strstr(text, "\nRegions");
    ck_assert(findings != NULL && regions != NULL && findings < regions);
    ck_assert_ptr_nonnull(strstr(regions, "\nThe slowest of each task, and where its time went"));
    ck_assert_ptr_null(strchr(text, '\x1b'));
    free(text);
    ck_assert_int_eq(SKEIN(&text, "report", "-j", "--top", "1", "--from", "-1h", trace), 0);
    cJSON *report = cJSON_Parse(text);
    ck_assert_int_eq(cJSON_GetObjectItem(report, "version")->valueint, 2);
    ck_assert_int_le(cJSON_GetArraySize(cJSON_GetObjectItem(report, "regions")), 1);
    ck_assert_int_gt(
        cJSON_GetObjectItem(cJSON_GetObjectItem(report, "totals"), "records")->valueint, 0);
    const cJSON *name, *task, *segment;
    cJSON_ArrayForEach(name, cJSON_GetObjectItem(report, "tasks"))
        cJSON_ArrayForEach(task, cJSON_GetObjectItem(name, "slowest")) {
            double sum = 0;
            cJSON_ArrayForEach(segment, cJSON_GetObjectItem(task, "path"))
                sum += cJSON_GetObjectItem(segment, "dur_ns")->valuedouble;
            ck_assert(sum == cJSON_GetObjectItem(task, "dur_ns")->valuedouble && sum > 0);
        }
    ck_assert_int_gt(cJSON_GetArraySize(cJSON_GetObjectItem(report, "tasks")), 0);
    cJSON_Delete(report);
    free(text);
    ck_assert_int_eq(SKEIN(&text, "report", "--from", "yesterday", trace), 2);
    free(text);
    ck_assert_int_eq(SKEIN(&text, "report", "/nonexistent.skein"), 1);
    free(text);
}
END_TEST

/* A cut, evidence that reaches over both cuts, and the next cut; in any order in the file. */
static void evidence_make(struct buf *file, bool first)
{
    static const struct partition_event_type sample = {
        .name = "cpu.sample", .klass = SKEIN_CLASS_INSTANT, .group = SKEIN_GROUP_THREAD};
    struct partition_value n = {.u64 = 42};
    struct partition_writer *w;
    for (unsigned i = 0; i < 3; i++) {
        unsigned part = first ? (i + 1) % 3 : i;
        if (part == 0) {
            w = writer(4, 0, 10 * S);
            partition_writer_batch(w, thread_of(w, 77, "main"), 1, 0, false);
            span(w, 1 * S, 30 * MS);
            partition_writer_event(w, (uint32_t)partition_writer_type(w, &work), 9 * S, 0, &n);
        } else if (part == 1) {
            evidence = true;
            w = writer(5, 0, 20 * S);
            evidence = false;
            partition_writer_batch(w, thread_of(w, 77, "main"), 1, 0, false);
            for (uint64_t s = 0; s < 4; s++) {
                partition_writer_event(w, (uint32_t)partition_writer_type(w, &sample),
                                       s * 5 * S + 200 * MS, 0, NULL);
                stack_put(w, PARTITION_STACK_WHOLE | PARTITION_STACK_EXACT);
            }
            span(w, 19 * S, 18 * S);
        } else {
            w = writer(6, 10 * S, 20 * S);
            partition_writer_batch(w, thread_of(w, 77, "main"), 2, 1, false);
            partition_writer_open_range(w, partition_writer_type(w, &work), 9 * S);
            partition_writer_end(w, 14 * S);
            span(w, 15 * S, 10 * MS);
        }
        finish(&w, file);
    }
}

START_TEST(evidence_lies_beside_the_cuts_and_ends_nothing)
{
    char *text;
    for (int first = 0; first < 2; first++) {
        static const uint64_t times[] = {2, 9, 52, 102, 90, 149, 152, 10};
        struct buf file = {0};
        evidence_make(&file, first != 0);
        file_write(trace, file.data, file.len);
        buf_fini(&file);
        ck_assert_int_eq(SKEIN(&text, "cat", "--json", "--name", "work", "--type", "region", trace),
                         0);
        ck_assert_uint_eq(lines_of(text), 1);
        cJSON *line = line_json(text, 0);
        ck_assert_double_eq(cJSON_GetNumberValue(cJSON_GetObjectItem(line, "dur_ns")), 5e9);
        ck_assert_ptr_null(cJSON_GetObjectItem(line, "begin_clipped"));
        cJSON_Delete(line);
        free(text);
        /* by the time of the records, although one partition reaches over the others; what is in
         * progress at the first cut comes with its end */
        ck_assert_int_eq(SKEIN(&text, "cat", "-j", trace), 0);
        check_times(text, times, 8);
        free(text);
        ck_assert_int_eq(SKEIN(&text, "cat", "-j", "--longest", "1", trace), 0);
        ck_assert_ptr_nonnull(strstr(text, "\"work\""));
        ck_assert_ptr_nonnull(strstr(text, "1 regions of evidence are left out"));
        free(text);
        ck_assert_int_eq(SKEIN(&text, "cat", "-j", "--longest", "1", "--evidence", trace), 0);
        ck_assert_ptr_nonnull(strstr(text, "\"sleep\""));
        free(text);
        ck_assert_int_eq(SKEIN(&text, "info", trace), 0);
        ck_assert_ptr_nonnull(strstr(text, "3 partitions (1 of evidence)"));
        free(text);
    }
}
END_TEST

static bool holds(const char *bytes, size_t n, const char *text)
{
    return memmem(bytes, n, text, strlen(text)) != NULL;
}

/* work is of group 16, note of 63, sleep of app; a loss is of the process. */
static void text_must_have(const char *text, const char *part)
{
    must_hold(strstr(text, part) != NULL, "no \"%s\" in:\n%s", part, text);
}

/* A crash, as an agent tells of it, and an exit of the program's own words. */
static void crash_write(void)
{
    const struct partition_event_type died = {.name = "crash.signal",
                                              .text = "",
                                              .file = "",
                                              .klass = SKEIN_CLASS_INSTANT,
                                              .group = SKEIN_GROUP_THREAD,
                                              .nargs = 6,
                                              .args = {{SKEIN_T_I64, "signal", ""},
                                                       {SKEIN_T_I64, "code", ""},
                                                       {SKEIN_T_STR, "cause", ""},
                                                       {SKEIN_T_STR, "access", ""},
                                                       {SKEIN_T_STR, "address", ""},
                                                       {SKEIN_T_STR, "registers", ""}}};
    const struct partition_event_type sent = {.name = "crash.sent",
                                              .text = "",
                                              .file = "",
                                              .klass = SKEIN_CLASS_INSTANT,
                                              .group = SKEIN_GROUP_THREAD,
                                              .nargs = 5,
                                              .args = {{SKEIN_T_I64, "signal", ""},
                                                       {SKEIN_T_I64, "code", ""},
                                                       {SKEIN_T_STR, "cause", ""},
                                                       {SKEIN_T_U64, "by", ""},
                                                       {SKEIN_T_STR, "by_name", ""}}};
    const struct partition_event_type left = {.name = "exit",
                                              .text = "",
                                              .file = "",
                                              .klass = SKEIN_CLASS_INSTANT,
                                              .group = SKEIN_GROUP_THREAD,
                                              .nargs = 1,
                                              .args = {{SKEIN_T_I64, "status", ""}}};
    const struct partition_value how[] = {{.i64 = 11},
                                          {.i64 = 1},
                                          {.str = {"address not mapped", 18, false}},
                                          {.str = {"write", 5, false}},
                                          {.str = {"0x10", 4, false}},
                                          {.str = {"rax 0x0 rbx 0x1 rip 0x401010", 28, false}}};
    const struct partition_value who[] = {{.i64 = 9},
                                          {.i64 = 0},
                                          {.str = {"sent by kill", 12, false}},
                                          {.u64 = 5},
                                          {.str = {"sh", 2, false}}};
    const struct partition_value status = {.i64 = 3}, none = {.i64 = 0};
    struct buf file = {0};
    struct partition_writer *w = writer(0, 0, 10 * S);
    partition_writer_batch(w, thread_of(w, 78, "helper"), 1, 0, false);
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &left), 1 * S, 0, &none);
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &left), 4 * S, 0, &status);
    finish(&w, &file);
    evidence = true;
    w = writer(1, 0, 10 * S);
    evidence = false;
    partition_writer_batch(w, thread_of(w, 77, "main"), 1, 0, false);
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &died), 5 * S, 0, how);
    stack_put(w, PARTITION_STACK_WHOLE | PARTITION_STACK_EXACT);
    partition_writer_batch(w, thread_of(w, 0, "process"), 1, 0, false);
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &sent), 6 * S, 0, who);
    finish(&w, &file);
    file_write(trace, file.data, file.len);
    buf_fini(&file);
}

START_TEST(a_crash_is_told_in_a_sentence_with_its_stack)
{
    char *text;
    crash_write();
    for (int i = 0; i < 2; i++) { /* both tell it */
        ck_assert_int_eq(SKEIN(&text, i == 0 ? "threads" : "what", trace), 0);
        text_must_have(text,
                       "shop[77] on here at 2027-01-15T08:00:05.000Z: thread 77 \"main\" died of "
                       "SIGSEGV (address not mapped), write at 0x10");
        text_must_have(text, "        rax 0x0  rbx 0x1  rip 0x401010\n");
        text_must_have(text, "was sent SIGKILL (sent by kill) by process 5 \"sh\"\n");
        text_must_have(text, "thread 78 \"helper\" called exit(3)\n");
        ck_assert_ptr_null(strstr(text, "exit(0)"));
        free(text);
    }
    ck_assert_int_eq(SKEIN(&text, "threads", trace, "-o", "json"), 0);
    cJSON *rows = cJSON_Parse(text);
    ck_assert_int_eq(cJSON_GetArraySize(rows), 3);
    const cJSON *row = cJSON_GetArrayItem(rows, 0);
    ck_assert_str_eq(cJSON_GetObjectItem(row, "end")->valuestring, "signal");
    ck_assert_str_eq(cJSON_GetObjectItem(row, "address")->valuestring, "0x10");
    ck_assert_int_eq(cJSON_GetObjectItem(row, "pid")->valueint, 77);
    ck_assert_int_gt(cJSON_GetArraySize(cJSON_GetObjectItem(row, "frames")), 2);
    ck_assert_ptr_null(cJSON_GetObjectItem(row, "_below"));
    cJSON_Delete(rows);
    free(text);
    ck_assert_int_ne(SKEIN(&text, "threads", trace, "--process", "4711"), 0);
    free(text);
}
END_TEST

/* ---- last words ---- */

static void text_event(struct partition_writer *w, const struct partition_event_type *type,
                       const char *text, size_t n)
{
    const struct partition_value value = {.str = {text, (uint32_t)n, false}};
    partition_writer_event(w, (uint32_t)partition_writer_type(w, type), 5 * S, 0, &value);
}

/* What one wrote last, in pieces, before the thread that it died of is told of. */
static void words_write(const char *file_name, uint64_t before, const char *since,
                        const char *missing, const char *const *pieces, const size_t *sizes)
{
    const struct partition_event_type place = {.name = "crash.stderr",
                                               .text = "",
                                               .file = "",
                                               .klass = SKEIN_CLASS_INSTANT,
                                               .group = SKEIN_GROUP_THREAD,
                                               .nargs = 5,
                                               .args = {{SKEIN_T_STR, "file", ""},
                                                        {SKEIN_T_U64, "bytes", "bytes"},
                                                        {SKEIN_T_U64, "before", "bytes"},
                                                        {SKEIN_T_STR, "since", ""},
                                                        {SKEIN_T_STR, "missing", ""}}};
    const struct partition_event_type piece = {.name = "crash.words",
                                               .text = "",
                                               .file = "",
                                               .klass = SKEIN_CLASS_INSTANT,
                                               .group = SKEIN_GROUP_THREAD,
                                               .nargs = 1,
                                               .args = {{SKEIN_T_STR, "text", ""}}};
    const struct partition_event_type left = {.name = "exit",
                                              .text = "",
                                              .file = "",
                                              .klass = SKEIN_CLASS_INSTANT,
                                              .group = SKEIN_GROUP_THREAD,
                                              .nargs = 1,
                                              .args = {{SKEIN_T_I64, "status", ""}}};
    const struct partition_value status = {.i64 = 3};
    const struct partition_value where[] = {
        {.str = {file_name, (uint32_t)strlen(file_name), false}},
        {.u64 = 0},
        {.u64 = before},
        {.str = {since, (uint32_t)strlen(since), false}},
        {.str = {missing, (uint32_t)strlen(missing), false}}};
    struct buf file = {0};
    evidence = true;
    struct partition_writer *w = writer(0, 0, 10 * S);
    evidence = false;
    partition_writer_batch(w, thread_of(w, 0, "process"), 1, 0, false);
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &place), 5 * S, 0, where);
    for (size_t i = 0; pieces != NULL && pieces[i] != NULL; i++)
        text_event(w, &piece, pieces[i], sizes != NULL ? sizes[i] : strlen(pieces[i]));
    finish(&w, &file);
    w = writer(1, 0, 10 * S);
    partition_writer_batch(w, thread_of(w, 78, "helper"), 1, 0, false);
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &left), 4 * S, 0, &status);
    finish(&w, &file);
    file_write(trace, file.data, file.len);
    buf_fini(&file);
}

START_TEST(last_words_stand_below_the_crash)
{
    static const char *const pieces[] = {"no room\n\tfor ord", "er 7\r\n", NULL};
    char *text;
    words_write("/var/log/shop.err", 0, "start", "", pieces, NULL);
    for (int i = 0; i < 2; i++) { /* both tell it */
        ck_assert_int_eq(SKEIN(&text, i == 0 ? "threads" : "what", trace), 0);
        text_must_have(text, "called exit(3)\n");
        text_must_have(strstr(text, "called exit(3)\n"),
                       "shop[77] on here at 2027-01-15T08:00:05.000Z: its last words, 2 lines of "
                       "/var/log/shop.err\n"
                       "        | no room\n"
                       "        |     for order 7\n");
        free(text);
    }
    ck_assert_int_eq(SKEIN(&text, "threads", trace, "-o", "json"), 0);
    cJSON *rows = cJSON_Parse(text);
    const cJSON *row = cJSON_GetArrayItem(rows, 1);
    ck_assert_str_eq(cJSON_GetObjectItem(row, "end")->valuestring, "words");
    ck_assert_str_eq(cJSON_GetObjectItem(row, "text")->valuestring, "no room\n\tfor order 7\r\n");
    cJSON_Delete(rows);
    free(text);
}
END_TEST

START_TEST(last_words_obey_no_terminal_and_are_all_in_json)
{
    static const char *const pieces[] = {"\x1b[2Jred\xff\0\xc2\x9b", "\n", NULL};
    static const size_t sizes[] = {11, 1};
    char *text;
    words_write("/tmp/\x1b]0;x\x07", 4711, "unknown", "", pieces, sizes);
    ck_assert_int_eq(SKEIN(&text, "threads", trace), 0);
    ck_assert_ptr_null(strchr(text, '\x1b'));
    ck_assert_ptr_null(strstr(text, "\xc2\x9b"));
    text_must_have(text,
                   "its last words, 1 line of /tmp/\\x1b]0;x\\x07; 4711 bytes before them were "
                   "not kept; some may be of others, from before it began\n"
                   "        | \\x1b[2Jred\xef\xbf\xbd\xef\xbf\xbd\\u{9b}\n");
    free(text);
    ck_assert_int_eq(SKEIN(&text, "threads", trace, "-o", "json"), 0);
    cJSON *rows = cJSON_Parse(text);
    ck_assert_str_eq(cJSON_GetObjectItem(cJSON_GetArrayItem(rows, 1), "text")->valuestring,
                     "\x1b[2Jred\xef\xbf\xbd\xef\xbf\xbd\xc2\x9b\n");
    cJSON_Delete(rows);
    free(text);
}
END_TEST

START_TEST(of_many_lines_the_last_are_shown_and_all_are_in_json)
{
    char all[8192], line[1024];
    const char *const pieces[] = {all, line, NULL};
    size_t n = 0;
    char *text;
    for (int i = 0; i < 100; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "line %d\n", i);
    memset(line, 'x', 1000); /* without an end */
    line[1000] = '\0';
    words_write("/e", 0, "start", "", pieces, NULL);
    ck_assert_int_eq(SKEIN(&text, "threads", trace), 0);
    text_must_have(text, "its last words, 20 of 101 lines of /e; skein threads -o json has all\n"
                         "        | line 81\n");
    text_must_have(text, "        | line 99\n        | xxxx");
    text_must_have(text, "xxxx ... (600 more bytes)\n");
    free(text);
    ck_assert_int_eq(SKEIN(&text, "threads", trace, "-o", "json"), 0);
    cJSON *rows = cJSON_Parse(text);
    const char *kept = cJSON_GetObjectItem(cJSON_GetArrayItem(rows, 1), "text")->valuestring;
    ck_assert_uint_eq(strlen(kept), n + 1000);
    ck_assert_mem_eq(kept, all, n);
    cJSON_Delete(rows);
    free(text);
}
END_TEST

START_TEST(why_there_are_no_last_words_is_said)
{
    char *text;
    words_write("pipe:[4711]", 0, "", "a pipe", NULL, NULL);
    ck_assert_int_eq(SKEIN(&text, "threads", trace), 0);
    text_must_have(text, ": no last words: standard error was a pipe\n");
    free(text);
    words_write("/var/log/a", 0, "", "an empty file", NULL, NULL);
    ck_assert_int_eq(SKEIN(&text, "threads", trace), 0);
    text_must_have(text, ": no last words: standard error was an empty file, /var/log/a\n");
    free(text);
}
END_TEST

START_TEST(groups_that_are_not_asked_for_are_not_shown_and_losses_are)
{
    char *text, *whole, *name = path_join(folder, "a.pftrace");
    size_t n = 0;
    trace_write();
    ck_assert_int_eq(SKEIN(&text, "cat", "--json", "--groups", "63,app", trace), 0);
    ck_assert_uint_eq(lines_of(text), 5); /* three naps, the note and the loss */
    ck_assert_ptr_null(strstr(text, "\"work\""));
    free(text);
    ck_assert_int_eq(SKEIN(&text, "cat", "--json", "--groups", "16", trace), 0);
    ck_assert_ptr_nonnull(strstr(text, "\"work\""));
    ck_assert_ptr_nonnull(strstr(text, "\"records lost\""));
    ck_assert_ptr_null(strstr(text, "\"sleep\""));
    free(text);
    ck_assert_int_eq(SKEIN(&text, "cat", "--json", "--groups", "all", trace), 0);
    ck_assert_int_eq(SKEIN(&whole, "cat", "--json", trace), 0);
    ck_assert_str_eq(text, whole);
    free(text);
    free(whole);
    ck_assert_int_eq(SKEIN(&text, "what", trace, "--at", "+1s", "--groups", "16"), 0);
    ck_assert_ptr_nonnull(strstr(text, "events of the groups 16;"));
    ck_assert_ptr_null(strstr(text, "sleep"));
    free(text);
    ck_assert_int_eq(SKEIN(&text, "export", "--groups", "16", trace), 0);
    free(text);
    char *bytes = file_read(name, &n);
    ck_assert(holds(bytes, n, "work") && holds(bytes, n, "records lost"));
    ck_assert(holds(bytes, n, "groups=16"));
    ck_assert(!holds(bytes, n, "sleep") && !holds(bytes, n, "note"));
    free(bytes);
    static const char *const commands[] = {"cat", "what", "export"};
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(SKEIN(&text, commands[i], "--groups", "sleepy", trace), 2);
        ck_assert_ptr_nonnull(strstr(text, "sleepy"));
        free(text);
    }
    free(name);
}
END_TEST

START_TEST(what_tells_of_the_moment_and_of_the_longest_waits)
{
    char *text;
    trace_write();
    ck_assert_int_eq(SKEIN(&text, "what", trace, "--at", "+1s"), 0); /* 2 s: inside of the nap */
    ck_assert_ptr_nonnull(strstr(text, "main/77"));
    ck_assert_ptr_nonnull(strstr(text, "sleep of 2.000 s in main/77"));
    free(text);
    ck_assert_int_eq(SKEIN(&text, "what", trace, "--at", "+1s", "-o", "json"), 0);
    cJSON *what = cJSON_Parse(text);
    const cJSON *inside = cJSON_GetArrayItem(cJSON_GetObjectItem(what, "inside"), 0);
    ck_assert_str_eq(string_at(inside, "inside"), "sleep");
    ck_assert_double_eq(cJSON_GetNumberValue(cJSON_GetObjectItem(inside, "dur_ns")), 2e9);
    const cJSON *nap_of_2_s = cJSON_GetArrayItem(cJSON_GetObjectItem(what, "unusual"), 1);
    ck_assert_str_eq(string_at(nap_of_2_s, "ts_ns"), "1800000001000000000");
    cJSON_Delete(what);
    free(text);
    ck_assert_int_eq(SKEIN(&text, "what", trace, "--at", "soon"), 2);
    free(text);
    ck_assert_int_eq(SKEIN(&text, "what", "no-such-file"), 1);
    ck_assert_ptr_nonnull(strstr(text, "no-such-file"));
    free(text);
}
END_TEST

START_TEST(the_beginning_of_a_process_id_is_enough)
{
    static const uint64_t one[] = {1 * S}, other[] = {2 * S};
    struct buf file = {0};
    char *text;
    notes_put(&file, 0, one, 1);
    process_byte = 0x5b;
    notes_put(&file, 0, other, 1);
    process_byte = 0x5a;
    file_write(trace, file.data, file.len);
    buf_fini(&file);
    ck_assert_int_eq(SKEIN(&text, "cat", "-j", "-p", "5B5b", trace), 0);
    ck_assert_uint_eq(lines_of(text), 1);
    ck_assert_ptr_nonnull(strstr(text, "\"process\":\"5b5b"));
    free(text);
    ck_assert_int_eq(SKEIN(&text, "cat", "-j", "-p", "77", trace), 0); /* a pid, of both */
    ck_assert_uint_eq(lines_of(text), 2);
    free(text);
    ck_assert_int_eq(SKEIN(&text, "cat", "-j", "-p", "1234", trace), 1);
    ck_assert_ptr_nonnull(strstr(text, "no process of the trace has an id that begins with 1234"));
    free(text);
}
END_TEST

START_TEST(longest_lists_each_region_once_longest_first)
{
    char *text;
    trace_write();
    ck_assert_int_eq(SKEIN(&text, "cat", "--json", "--longest", "2", trace), 0);
    ck_assert_uint_eq(lines_of(text), 2);
    cJSON *first = line_json(text, 0), *second = line_json(text, 1);
    ck_assert_str_eq(string_at(first, "name"), "work");
    ck_assert_str_eq(string_at(second, "name"), "sleep");
    cJSON_Delete(first);
    cJSON_Delete(second);
    free(text);
    ck_assert_int_eq(SKEIN(&text, "cat", "--longest", "10", trace), 0);
    ck_assert_uint_eq(lines_of(text), 5); /* heading and the four regions */
    ck_assert_ptr_nonnull(strstr(text, "asked=2000000000 ns result=0")); /* as in `cat` */
    free(text);
}
END_TEST

START_TEST(a_traces_text_cannot_drive_the_terminal)
{
    char *text;
    trace_write();
    ck_assert_int_eq(SKEIN(&text, "cat", trace), 0);
    ck_assert_ptr_nonnull(strstr(text, "hello"));
    ck_assert_ptr_null(strchr(text, '\033'));
    free(text);
}
END_TEST

START_TEST(info_does_not_call_overwritten_records_none)
{
    struct buf file = {0};
    char *text;
    struct partition_value empty = {.str = {"", 0, false}};
    struct partition_writer *w = writer(0, 0, 10 * S);
    partition_writer_batch(w, thread_of(w, 77, "main"), 1, 0, false);
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &note), 5 * S, 0, &empty);
    partition_writer_loss(
        w, &(struct partition_loss){UINT32_MAX, PARTITION_LOSS_OVERWRITTEN, 0, 0, 4 * S});
    finish(&w, &file);
    file_write(trace, file.data, file.len);
    buf_fini(&file);
    ck_assert_int_eq(SKEIN(&text, "info", trace), 0);
    ck_assert_ptr_nonnull(strstr(text, "1 events, an unknown number lost\n"));
    ck_assert_ptr_null(strstr(text, " 0 lost"));
    const char *row = strstr(text, "overwritten");
    ck_assert_ptr_nonnull(row);
    ck_assert_ptr_nonnull(strstr(row, "unknown number"));
    free(text);
}
END_TEST

static void one_note(struct partition_writer *w, struct buf *file)
{
    struct partition_value empty = {.str = {"", 0, false}};
    partition_writer_batch(w, thread_of(w, 77, "main"), 1, 0, false);
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &note), 5 * S, 0, &empty);
    finish(&w, file);
}

START_TEST(info_says_where_there_is_no_ring)
{
    struct buf file = {0};
    char *text;
    evidence = true;
    one_note(writer(PARTITION_EVIDENCE_FROM, 0, 10 * S), &file);
    evidence = false;
    file_write(trace, file.data, file.len);
    ck_assert_int_eq(SKEIN(&text, "info", trace), 0);
    ck_assert_ptr_nonnull(strstr(text, "no ring: nothing here is a process's own record\n"));
    ck_assert_ptr_null(strstr(text, "0 lost"));
    ck_assert_ptr_nonnull(strstr(strstr(text, "LOST"), "no ring"));
    free(text);
    process_byte++; /* another process, that has one */
    one_note(writer(0, 0, 10 * S), &file);
    process_byte--;
    file_write(trace, file.data, file.len);
    ck_assert_int_eq(SKEIN(&text, "info", trace), 0);
    ck_assert_ptr_nonnull(strstr(text, "2 events, 0 lost\n"));
    ck_assert_ptr_null(strstr(text, "no ring: "));
    ck_assert_ptr_nonnull(strstr(strstr(text, "LOST"), "no ring"));
    free(text);
    buf_fini(&file);
}
END_TEST

START_TEST(info_sums_the_footers)
{
    char *text;
    trace_write();
    ck_assert_int_eq(SKEIN(&text, "info", "-o", "json", trace), 0);
    cJSON *info = cJSON_Parse(text);
    ck_assert_ptr_nonnull(info);
    ck_assert_double_eq(cJSON_GetNumberValue(cJSON_GetObjectItem(info, "partitions")), 2);
    ck_assert_double_eq(cJSON_GetNumberValue(cJSON_GetObjectItem(info, "lost")), 3);
    const cJSON *process = cJSON_GetArrayItem(cJSON_GetObjectItem(info, "processes"), 0);
    ck_assert_str_eq(string_at(process, "service"), "shop");
    const cJSON *loss = cJSON_GetArrayItem(cJSON_GetObjectItem(info, "losses"), 0);
    ck_assert_str_eq(string_at(loss, "reason"), "ring_full");
    cJSON_Delete(info);
    free(text);
    ck_assert_int_eq(SKEIN(&text, "info", trace), 0);
    ck_assert_ptr_nonnull(strstr(text, "ring_full"));
    free(text);
}
END_TEST

START_TEST(check_accepts_sound_and_refuses_damaged_files)
{
    char *text;
    struct buf file = {0};
    trace_make(&file);
    file_write(trace, file.data, file.len);
    ck_assert_int_eq(SKEIN(&text, "check", trace), 0);
    ck_assert_ptr_nonnull(strstr(text, "sound: 2 partitions"));
    free(text);
    for (size_t at = 0; at < file.len; at += file.len / 40 + 1) {
        file.data[at] ^= 0x10;
        file_write(trace, file.data, file.len);
        ck_assert_msg(SKEIN(&text, "check", trace) == 1, "byte %zu", at);
        ck_assert_msg(strstr(text, "byte"), "%s", text);
        free(text);
        file.data[at] ^= 0x10;
    }
    file_write(trace, file.data, file.len - 1);
    ck_assert_int_eq(SKEIN(&text, "check", trace), 1);
    free(text);
    buf_fini(&file);
}
END_TEST

START_TEST(check_names_rule_and_byte_of_the_file)
{
    char *text;
    struct buf file = {0};
    trace_make(&file);
    size_t second = 0; /* the head of the first says how long it is (F-8) */
    for (unsigned i = 0; i < 4; i++)
        second |= (size_t)file.data[16 + i] << (8 * i);
    file.data[second + 32 + 24] ^= 1; /* of INFO, behind both heads */
    buf_put(&file, "torn", 4);
    file_write(trace, file.data, file.len);
    ck_assert_int_eq(SKEIN(&text, "check", "-o", "json", trace), 1);
    char *array = strchr(text, '[');
    ck_assert_ptr_nonnull(array);
    cJSON *rows = cJSON_Parse(array);
    const cJSON *faults = cJSON_GetObjectItemCaseSensitive(rows->child, "faults");
    ck_assert_int_eq(cJSON_GetArraySize(faults), 2);
    const cJSON *changed = faults->child, *torn = changed->next;
    ck_assert_str_eq(string_at(changed, "rule"), "F-9");
    ck_assert_uint_eq((size_t)cJSON_GetObjectItemCaseSensitive(changed, "byte")->valuedouble,
                      second + 32);
    ck_assert_str_eq(string_at(torn, "rule"), "F-8");
    ck_assert_uint_eq((size_t)cJSON_GetObjectItemCaseSensitive(torn, "byte")->valuedouble,
                      file.len - 4);
    ck_assert_ptr_nonnull(strstr(string_at(torn, "text"), "F-37"));
    cJSON_Delete(rows);
    free(text);
    ck_assert_int_eq(SKEIN(&text, "check", "-o", "json", "/nowhere.skein"), 1);
    ck_assert_ptr_nonnull(strstr(text, "\"sound\":"));
    free(text);
    buf_fini(&file);
}
END_TEST

START_TEST(cat_shows_what_is_whole_of_a_torn_file_and_fails)
{
    char *text;
    struct buf file = {0};
    trace_make(&file);
    file_write(trace, file.data, file.len - 5);
    ck_assert_int_eq(SKEIN(&text, "cat", "--name", "sleep", trace), 1);
    ck_assert_ptr_nonnull(strstr(text, "2.000 s"));
    ck_assert_ptr_nonnull(strstr(text, "no whole partition"));
    free(text);
    buf_fini(&file);
}
END_TEST

/* As in a capture of the past: the cuts between were not asked for. */
START_TEST(a_cut_that_is_not_there_fails_no_command)
{
    char *text;
    char *page = path_join(folder, "page.html"), *json = path_join(folder, "a.json");
    struct buf file = {0};
    for (uint64_t sequence = 0; sequence < 3; sequence += 2) {
        struct partition_writer *w = writer(sequence, sequence * 10 * S, (sequence + 1) * 10 * S);
        partition_writer_batch(w, thread_of(w, 77, "main"), sequence + 1, 0, false);
        span(w, (sequence * 10 + 5) * S, 30 * MS);
        finish(&w, &file);
    }
    file_write(trace, file.data, file.len);
    const char *const commands[][7] = {{"report", trace, NULL},
                                       {"report", "--html", page, trace, NULL},
                                       {"stats", trace, NULL},
                                       {"diff", "--before", "+8s", trace, NULL},
                                       {"cat", trace, NULL},
                                       {"export", "--to", "chrome", "-o", json, trace, NULL},
                                       {"sql", trace, "select count(*) from event", NULL}};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        int status = skein(&text, commands[i]);
        ck_assert_msg(status == 0, "%s: %d: %.1800s", commands[i][0], status, text);
        free(text);
    }
    ck_assert_int_eq(SKEIN(&text, "export", "--to", "chrome", "-o", json, trace), 0);
    ck_assert_ptr_nonnull(strstr(text, "warning"));
    free(text);
    free(page);
    free(json);
    buf_fini(&file);
}
END_TEST

START_TEST(a_page_takes_the_place_of_no_file_that_is_read)
{
    char *text;
    char *other = path_join(folder, "other.skein");
    size_t before = 0, after = 0;
    trace_write();
    char *bytes = file_read(trace, &before);
    file_write(other, bytes, before);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(SKEIN(&text, "report", trace, other, "--html", i == 0 ? trace : other), 1);
        ck_assert_ptr_nonnull(strstr(text, "is what is read"));
        free(text);
    }
    char *kept = file_read(other, &after);
    ck_assert_mem_eq(kept, bytes, before);
    ck_assert_uint_eq(after, before);
    free(bytes);
    free(kept);
    free(other);
}
END_TEST

START_TEST(export_writes_a_file_or_leaves_nothing)
{
    char *text;
    char *name = path_join(folder, "a.pftrace"), *part = path_join(folder, "a.pftrace.part");
    size_t n = 0;
    trace_write();
    ck_assert_int_eq(SKEIN(&text, "export", "--to", "perfetto", trace), 0);
    free(text);
    char *bytes = file_read(name, &n);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_gt(n, 100);
    ck_assert_int_eq(bytes[0], 0x0a); /* Trace.packet */
    free(bytes);
    remove(name);
    file_write_text(trace, "no trace");
    ck_assert_int_eq(SKEIN(&text, "export", "--to", "perfetto", trace), 1);
    free(text);
    ck_assert_ptr_null(file_read(name, NULL));
    ck_assert_ptr_null(file_read(part, NULL));
    ck_assert_int_eq(SKEIN(&text, "export", "--to", "vhs", trace), 2);
    free(text);
    free(name);
    free(part);
}
END_TEST

static void add(TCase *all)
{
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, cat_json_has_the_promised_members);
    tcase_add_test(all, cat_merges_processes_by_the_collectors_clock);
    tcase_add_test(all, spans_are_by_the_collectors_clock);
    tcase_add_test(all, a_region_over_a_cut_comes_out_whole);
    tcase_add_test(all, stacks_are_shown_where_they_are_asked_for);
    tcase_add_test(all, report_says_findings_first);
    tcase_add_test(all, evidence_lies_beside_the_cuts_and_ends_nothing);
    tcase_add_test(all, a_crash_is_told_in_a_sentence_with_its_stack);
    tcase_add_test(all, last_words_stand_below_the_crash);
    tcase_add_test(all, last_words_obey_no_terminal_and_are_all_in_json);
    tcase_add_test(all, of_many_lines_the_last_are_shown_and_all_are_in_json);
    tcase_add_test(all, why_there_are_no_last_words_is_said);
    tcase_add_test(all, cat_filters_by_thread_time_and_count);
    tcase_add_test(all, groups_that_are_not_asked_for_are_not_shown_and_losses_are);
    tcase_add_test(all, what_tells_of_the_moment_and_of_the_longest_waits);
    tcase_add_test(all, the_beginning_of_a_process_id_is_enough);
    tcase_add_test(all, longest_lists_each_region_once_longest_first);
    tcase_add_test(all, a_traces_text_cannot_drive_the_terminal);
    tcase_add_test(all, info_says_where_there_is_no_ring);
    tcase_add_test(all, info_sums_the_footers);
    tcase_add_test(all, info_does_not_call_overwritten_records_none);
    tcase_add_test(all, check_accepts_sound_and_refuses_damaged_files);
    tcase_add_test(all, check_names_rule_and_byte_of_the_file);
    tcase_add_test(all, cat_shows_what_is_whole_of_a_torn_file_and_fails);
    tcase_add_test(all, a_cut_that_is_not_there_fails_no_command);
    tcase_add_test(all, a_page_takes_the_place_of_no_file_that_is_read);
    tcase_add_test(all, export_writes_a_file_or_leaves_nothing);
}

int main(void)
{
    Suite *suite = suite_create("trace_commands");
    TCase *all = tcase_create("trace_commands");
    tcase_set_timeout(all, 280);
    add(all);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
