/* SPDX-License-Identifier: Apache-2.0
 *
 * Captures that the console's tests look at, the same at each run.
 *
 *     make_console_trace hostile FILE          names that are markup, 64 KiB of right-to-left marks
 *     make_console_trace large FILE [EVENTS]   20 processes, 64 threads, 10 million events in 6 s
 *     make_console_trace upload CONTROL DATA [EVENTS]
 *         the same to a collector's ports, as an agent that a process of its own told to capture; prints
 *         the capture's id when all of it is stored
 *
 * Records are made by the product's writer. One thread; failures end the program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "fake_wire_agent.h"
#include "json.h"
#include "partition_writer.h"
#include "support.h"

enum {
    PROCESSES = 20,
    THREADS = 64,
    EVENTS = 10000000,
    CUTS = 2,
    RECORDS = 31 /* of five requests */
};
#define TICK_NS    UINT64_C(64)
#define TICKS_FROM (UINT64_C(1) << 30)
#define SECOND     UINT64_C(1000000000)
#define PRE_NS     (5 * SECOND) /* as the fake agent's firing asks */
#define POST_NS    SECOND
#define SEED       UINT64_C(88172645463325252)
#define RTL_BYTES  (64u << 10)
#define MADE_AT    UINT64_C(1795254000000000000) /* of files: 2026-11-21T09:40:00Z */
#define CAPTURE    "01a2c0450000000000000000000010ad"

static uint64_t rnd(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static struct partition_writer *writer_begin(struct partition_info *info, uint64_t from_ns,
                                             uint64_t length_ns)
{
    struct partition_writer *w;
    uint64_t end = TICKS_FROM + length_ns / TICK_NS;
    info->clock = PARTITION_CLOCK_TSC;
    info->begin = (struct clock_snapshot){TICKS_FROM, SECOND, SECOND, from_ns};
    info->end =
        (struct clock_snapshot){end, SECOND + length_ns, SECOND + length_ns, from_ns + length_ns};
    info->window_from_ticks = TICKS_FROM;
    info->window_to_ticks = end;
    ck_assert_int_eq(partition_writer_new(info, &w), SKEIN_OK);
    return w;
}

static uint32_t type_put(struct partition_writer *w, const char *name, uint8_t klass,
                         const char *argument, uint8_t type, uint32_t line)
{
    struct partition_event_type made = {.name = name,
                                        .text = "",
                                        .file = "shop.c",
                                        .line = line,
                                        .klass = klass,
                                        .nargs = 1,
                                        .args = {{type, argument, ""}}};
    int64_t id = partition_writer_type(w, &made);
    ck_assert_int_ge(id, 0);
    return (uint32_t)id;
}

static uint32_t thread_put(struct partition_writer *w, uint32_t tid, const char *name)
{
    int64_t id = partition_writer_thread(w, &(struct partition_thread){tid, name, 1});
    ck_assert_int_ge(id, 0);
    return (uint32_t)id;
}

/* ---- hostile ---- */

static void hostile_make(struct buf *out)
{
    struct partition_info info = {.key = key_of(1, 1, 0),
                                  .pid = 101,
                                  .host = "<s>host</s>",
                                  .service = "\"><svg onload=alert(8)>",
                                  .labels = "note=<img src=x onerror=alert(6)>",
                                  .exe = "/usr/bin/\xe2\x80\xaeslp"};
    struct partition_writer *w = writer_begin(&info, MADE_AT, SECOND);
    uint32_t span = type_put(w, "<script>alert(2)</script>\x1b[31m", SKEIN_CLASS_SPAN,
                             "<b>marks</b>", SKEIN_T_STR, 1);
    char *marks = malloc(RTL_BYTES);
    ck_assert_ptr_nonnull(marks);
    for (size_t i = 0; i + 3 <= RTL_BYTES; i += 3)
        memcpy(marks + i, "\xe2\x80\x8f", 3);
    struct partition_value value = {.str = {marks, RTL_BYTES / 3 * 3, false}};
    partition_writer_batch(w, thread_put(w, 102, "<img src=x onerror=alert(1)>"), 1, 1, false);
    for (uint64_t i = 1; i <= 20; i++)
        partition_writer_event(w, span, TICKS_FROM + i * 500000, 400000, &value);
    ck_assert_int_eq(partition_writer_finish(w, out, NULL), SKEIN_OK);
    partition_writer_free(&w);
    free(marks);
}

/* ---- large ---- */

struct shop {
    struct partition_writer *w;
    uint32_t request, query, decode, mark;
};

static void range_begin(struct shop *s, uint32_t type, uint64_t *at, uint64_t ticks, uint64_t value)
{
    *at += ticks;
    partition_writer_event(s->w, type, *at, 0, &(struct partition_value){.u64 = value});
}

static void range_end(struct shop *s, uint64_t *at, uint64_t ticks)
{
    *at += ticks;
    partition_writer_end(s->w, *at);
}

/* RECORDS records in `ticks` or a little less: five requests with a query and its decoding inside, and
 * a mark. Of 5,000 requests one is a hundred times as long, which the others leave room for. */
static void requests_put(struct shop *s, uint64_t *at, uint64_t ticks, uint64_t number,
                         uint64_t *state)
{
    uint64_t piece = ticks / 20;
    for (unsigned i = 0; i < 5; i++) {
        uint64_t r = rnd(state);
        range_begin(s, s->request, at, piece - r % (piece / 8 + 1), number * 5 + i);
        range_begin(s, s->query, at, piece / 2, r % 1000);
        range_begin(s, s->decode, at, piece / 4, r % 77);
        range_end(s, at, (number % 1000 == 500 && i == 2 ? 100 : 1) * piece - r % (piece / 8 + 1));
        range_end(s, at, piece / 4);
        range_end(s, at, piece / 2);
    }
    range_begin(s, s->mark, at, piece / 4, number);
}

/* One cut of a process: its threads' records from cut/CUTS of the time on. */
static void cut_make(unsigned process, unsigned cut, uint64_t from_ns, uint64_t events,
                     struct buf *out)
{
    char host[16];
    snprintf(host, sizeof host, "web-%u", process % 4);
    uint64_t length = (PRE_NS + POST_NS) / CUTS, state = SEED + process * CUTS + cut;
    unsigned threads = THREADS / PROCESSES + (process < THREADS % PROCESSES);
    uint64_t each = events * threads / THREADS / threads / CUTS / RECORDS;
    struct partition_info info = {.key = key_of(process, 1, cut),
                                  .pid = 100 + process,
                                  .process_start_ns = from_ns - 3600 * SECOND,
                                  .host = host,
                                  .service = "shop",
                                  .labels = "tier=front",
                                  .exe = "/usr/bin/shop"};
    struct shop s = {.w = writer_begin(&info, from_ns + cut * length, length)};
    s.request = type_put(s.w, "request", SKEIN_CLASS_RANGE_BEGIN, "number", SKEIN_T_U64, 31);
    s.query = type_put(s.w, "query", SKEIN_CLASS_RANGE_BEGIN, "rows", SKEIN_T_U64, 38);
    s.decode = type_put(s.w, "decode", SKEIN_CLASS_RANGE_BEGIN, "columns", SKEIN_T_U64, 44);
    s.mark = type_put(s.w, "served", SKEIN_CLASS_INSTANT, "requests", SKEIN_T_U64, 52);
    for (unsigned t = 0; t < threads; t++) {
        uint64_t at = TICKS_FROM;
        partition_writer_batch(
            s.w, thread_put(s.w, 1000 * (process + 1) + t, t == 0 ? "main" : "worker"), 1, t + 1,
            false);
        for (uint64_t i = 0; i < each; i++)
            requests_put(&s, &at, length / TICK_NS / each, i, &state);
    }
    buf_clear(out);
    ck_assert_int_eq(partition_writer_finish(s.w, out, NULL), SKEIN_OK);
    partition_writer_free(&s.w);
}

/* ---- into a file, or to a collector ---- */

static const char *path;
static uint16_t control_port, data_port;
static uint64_t events = EVENTS;

START_TEST(hostile_file)
{
    struct buf bytes = {0};
    hostile_make(&bytes);
    file_write(path, bytes.data, bytes.len);
    buf_fini(&bytes);
}
END_TEST

START_TEST(large_file)
{
    struct buf bytes = {0};
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    for (unsigned i = 0; i < PROCESSES * CUTS; i++) {
        cut_make(i / CUTS, i % CUTS, MADE_AT, events, &bytes);
        ck_assert_uint_eq(fwrite(bytes.data, 1, bytes.len, file), bytes.len);
    }
    ck_assert_int_eq(fclose(file), 0);
    buf_fini(&bytes);
}
END_TEST

static void must_report(struct wire_agent *agent, cJSON *report)
{
    char error[256];
    ck_assert_msg(wire_agent_report(agent, report, error, sizeof error), "%s", error);
}

START_TEST(large_upload)
{
    struct wire_agent agent;
    struct buf bytes = {0};
    uint64_t at = clock_realtime_ns() - 2 * SECOND;
    struct capture_id id;
    ck_assert_int_eq(id_parse(CAPTURE, id.bytes), SKEIN_OK);
    wire_agent_open(&agent, 0x10ad, "web-0", control_port, data_port);
    cJSON_Delete(wire_agent_hello(&agent));
    wire_agent_processes(&agent, 0, PROCESSES, "shop");
    must_report(&agent, wire_fired(&agent, CAPTURE, 0, NULL, at));
    struct transport *data;
    char address[64];
    snprintf(address, sizeof address, "tcp://127.0.0.1:%u", data_port);
    ck_assert_int_eq(transport_dial(address, WIRE_DATA_MAX, &data), SKEIN_OK);
    for (unsigned i = 0; i < PROCESSES * CUTS; i++) {
        struct partition_key key = key_of(i / CUTS, 1, i % CUTS);
        cut_make(i / CUTS, i % CUTS, at - PRE_NS, events, &bytes);
        ck_assert_int_eq(partition_upload(data, &key, &id, &bytes), WIRE_STORED);
    }
    transport_free(&data);
    for (unsigned i = 0; i < PROCESSES; i++)
        must_report(&agent, wire_target(&agent, CAPTURE, i, "uploading", CUTS,
                                        (unsigned)(events / PROCESSES / CUTS)));
    wire_agent_close(&agent);
    buf_fini(&bytes);
    puts(CAPTURE);
}
END_TEST

static const TTest *job_of(int argc, char **argv)
{
    bool file = argc >= 3;
    path = file ? argv[2] : NULL;
    if (argc == 3 && strcmp(argv[1], "hostile") == 0)
        return hostile_file;
    if ((argc == 3 || argc == 4) && strcmp(argv[1], "large") == 0) {
        events = argc == 4 ? strtoull(argv[3], NULL, 10) : EVENTS;
        return large_file;
    }
    if ((argc == 4 || argc == 5) && strcmp(argv[1], "upload") == 0) {
        control_port = (uint16_t)strtoul(argv[2], NULL, 10);
        data_port = (uint16_t)strtoul(argv[3], NULL, 10);
        events = argc == 5 ? strtoull(argv[4], NULL, 10) : EVENTS;
        return large_upload;
    }
    return NULL;
}

/* The fake agent asserts by libcheck, which wants a suite around it. */
int main(int argc, char **argv)
{
    const TTest *job = job_of(argc, argv);
    if (job == NULL)
        return 2;
    Suite *suite = suite_create("make");
    TCase *tests = tcase_create("make");
    tcase_add_test(tests, job);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_MINIMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed;
}
