/* SPDX-License-Identifier: Apache-2.0
 *
 * Overviews of captures beside what the test itself has written: when each event was, what was lost
 * when; and what is read of the store for it.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collector_fixture.h"
#include "json.h"
#include "partition_writer.h"
#include "segment.h"
#include "support.h"

#define CAPTURE   "01a10000000000000000000000000041"
#define OTHER     "01a10000000000000000000000000042"
#define AT_NS     UINT64_C(1700000000000000000)
#define FROM_NS   (AT_NS - 5 * SECOND)
#define TO_NS     (AT_NS + 1 * SECOND + 1000000) /* the last millisecond is of the window */
#define SECOND    UINT64_C(1000000000)
#define OFFSET_NS INT64_C(-1234567)
#define TICK_NS   64
#define TARGETS   3u
#define CUTS      2u
#define EVENTS    40000u /* of a cut */
#define PHASE     4000u  /* so many at even distances */
#define OFF_BY    300    /* of some 4,300 in a block */

static struct {
    uint64_t bytes, damaged_offset; /* damaged_offset: of a partition in its segment; 0: none */
    unsigned reads;
} seen;

int __real_store_read(struct store *store, const struct store_place *place, uint64_t from,
                      void *out, size_t n);
int __wrap_store_read(struct store *store, const struct store_place *place, uint64_t from,
                      void *out, size_t n);

/* In front of the store; requests come one after the other. Turns a bit in the footer. */
int __wrap_store_read(struct store *store, const struct store_place *place, uint64_t from,
                      void *out, size_t n)
{
    int status = __real_store_read(store, place, from, out, n);
    uint64_t at = place->bytes - 60;
    seen.reads++;
    seen.bytes += n;
    if (status == SKEIN_OK && seen.damaged_offset == place->offset && at >= from && at - from < n)
        ((uint8_t *)out)[at - from] ^= 1;
    return status;
}

/* ---- what is written ---- */

static const struct partition_event_type tick = {.name = "tick",
                                                 .text = "",
                                                 .file = "",
                                                 .klass = SKEIN_CLASS_INSTANT,
                                                 .nargs = 6,
                                                 .args = {{SKEIN_T_U64, "a", ""},
                                                          {SKEIN_T_U64, "b", ""},
                                                          {SKEIN_T_U64, "c", ""},
                                                          {SKEIN_T_U64, "d", ""},
                                                          {SKEIN_T_U64, "e", ""},
                                                          {SKEIN_T_U64, "f", ""}}};
static const struct partition_event_type seen_cpu = {
    .name = "cpu.window", .text = "", .file = "", .klass = SKEIN_CLASS_INSTANT};

/* When the events of a target were, by the collector's clock. */
static uint64_t times[TARGETS][CUTS * EVENTS];

static struct partition_info cut_info(const struct fixture *f, uint32_t target, uint64_t sequence,
                                      uint64_t from_ns, uint64_t to_ns)
{
    uint64_t span = to_ns - from_ns, host_to_ns = to_ns - (uint64_t)OFFSET_NS;
    return (struct partition_info){
        .key = key_of(1 + target, f->agent.epoch, sequence),
        .pid = 100 + target,
        .clock = PARTITION_CLOCK_MONOTONIC,
        .begin = {1000, 5000, 5000, host_to_ns - span},
        .end = {1000 + span / TICK_NS, 5000 + span, 5000 + span, host_to_ns},
        .clock_offset_ns = OFFSET_NS,
        .window_from_ticks = 1000,
        .window_to_ticks = 1000 + span / TICK_NS,
        .host = "host-a",
        .service = "shop",
        .labels = "",
        .exe = "/bin/shop",
    };
}

static void upload(struct fixture *f, const struct partition_info *info, struct partition_writer *w)
{
    struct capture_id id;
    struct buf bytes = {0};
    ck_assert_int_eq(partition_writer_finish(w, &bytes, NULL), SKEIN_OK);
    partition_writer_free(&w);
    ck_assert_int_eq(id_parse(CAPTURE, id.bytes), SKEIN_OK);
    ck_assert_int_eq(partition_upload(f->agent.data, &info->key, &id, &bytes), WIRE_STORED);
    buf_fini(&bytes);
}

/* Events from from_ns on, further apart from phase to phase, so that no bucket is as the next; a loss
 * at the begin. */
static void cut_upload(struct fixture *f, uint32_t target, uint64_t sequence, uint64_t from_ns,
                       uint64_t gap_ticks, uint64_t grow)
{
    uint64_t tick_at = 1000, noise = sequence + 1;
    struct partition_info info = cut_info(f, target, sequence, from_ns, from_ns + 6 * SECOND);
    struct partition_thread thread = {.tid = 1, .name = "main", .incarnation = 1};
    struct partition_value values[6];
    struct partition_writer *w;
    memset(values, 0, sizeof values);
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    uint32_t type = (uint32_t)partition_writer_type(w, &tick);
    partition_writer_batch(w, (uint32_t)partition_writer_thread(w, &thread), 1, 1, false);
    for (unsigned i = 0; i < EVENTS; i++) {
        for (unsigned k = 0; k < 6; k++)
            values[k].u64 = noise = noise * UINT64_C(6364136223846793005) + 1;
        partition_writer_event(w, type, tick_at, 0, values);
        times[target][sequence * EVENTS + i] = from_ns + (tick_at - 1000) * TICK_NS;
        tick_at += gap_ticks + grow * (i / PHASE);
    }
    const struct partition_loss lost = {UINT32_MAX, PARTITION_LOSS_RING_FULL, 7, 2000, 3000};
    partition_writer_loss(w, &lost);
    upload(f, &info, w);
}

/* Of the first target; and notes it in the report. */
static void evidence_upload(struct fixture *f, cJSON *report)
{
    struct partition_info info = cut_info(f, 0, PARTITION_EVIDENCE_FROM, FROM_NS, AT_NS);
    cJSON *range = cJSON_CreateObject();
    struct partition_thread thread = {.tid = 1, .name = "main", .incarnation = 1};
    struct partition_writer *w;
    info.evidence = true;
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    uint32_t type = (uint32_t)partition_writer_type(w, &seen_cpu);
    partition_writer_batch(w, (uint32_t)partition_writer_thread(w, &thread), 1, 1, false);
    partition_writer_event(w, type, 1500, 0, NULL);
    upload(f, &info, w);
    json_add_u64(range, "epoch", info.key.epoch);
    json_add_u64(range, "first", info.key.sequence);
    json_add_u64(range, "last", info.key.sequence);
    json_add_u64(range, "events", 1);
    json_add_u64(range, "bytes", 1000);
    cJSON_AddItemToArray(cJSON_GetObjectItem(report, "partitions"), range);
}

/* A capture of three processes, of two cuts each; some events lie before the window. */
static void start(struct fixture *f)
{
    char error[256];
    fixture_start_with(f, NULL, ",\"analysis\":{}"); /* without a program, nobody else reads */
    wire_agent_processes(&f->agent, 1, TARGETS, "shop");
    ck_assert(wire_agent_report(&f->agent, wire_fired(&f->agent, CAPTURE, 1, NULL, AT_NS), error,
                                sizeof error));
    ck_assert_int_eq(wire_agent_upload(&f->agent, 1, 50, OTHER, 0), WIRE_STORED); /* not of it */
    for (uint32_t t = 0; t < TARGETS; t++) {
        cut_upload(f, t, 0, FROM_NS - t * SECOND / 10, 800 + 100 * t, 100);
        cut_upload(f, t, 1, AT_NS - SECOND, 500, 0);
        cJSON *report = wire_target(&f->agent, CAPTURE, 1 + t, "uploading", CUTS, EVENTS);
        if (t == 0)
            evidence_upload(f, report);
        ck_assert(wire_agent_report(&f->agent, report, error, sizeof error));
    }
    memset(&seen, 0, sizeof seen);
}

/* ---- what is answered ---- */

static uint64_t bound_of(unsigned bucket, unsigned buckets)
{
    return FROM_NS + (uint64_t)((unsigned __int128)(TO_NS - FROM_NS) * bucket / buckets);
}

static unsigned target_of(const cJSON *target)
{
    struct process_uid uid;
    ck_assert_int_eq(id_parse(text_at(target, "process"), uid.bytes), SKEIN_OK);
    for (unsigned t = 0; t < TARGETS; t++) {
        struct process_uid one = process_of(1 + t);
        if (process_uid_equal(&uid, &one))
            return t;
    }
    ck_abort_msg("no target of the test");
}

/* Events of a target in front of a time. */
static double events_before(unsigned target, uint64_t at_ns)
{
    unsigned n = 0;
    for (unsigned i = 0; i < CUTS * EVENTS; i++)
        n += times[target][i] < at_ns;
    return n;
}

/* In a block events are taken as even: so up to each bound as many as there are, but for those of the
 * blocks that are under way then. */
static void expect_true_counts(const cJSON *target, unsigned buckets)
{
    unsigned t = target_of(target), i = 0;
    const cJSON *count, *counts = at_path(target, "events");
    double outside = events_before(t, FROM_NS) + CUTS * EVENTS - events_before(t, TO_NS);
    double sum = events_before(t, FROM_NS), worst = 0;
    ck_assert_int_eq(cJSON_GetArraySize(counts), (int)buckets);
    cJSON_ArrayForEach(count, counts) {
        sum += count->valuedouble;
        worst = fmax(worst, fabs(sum - events_before(t, bound_of(++i, buckets))));
    }
    ck_assert_double_eq(sum - events_before(t, FROM_NS) + number_at(target, "outside"),
                        CUTS * EVENTS);
    ck_assert_double_le(fabs(number_at(target, "outside") - outside), OFF_BY);
    ck_assert_msg(worst <= OFF_BY, "target %u: off by %g", t, worst);
}

START_TEST(buckets_hold_what_was_written)
{
    static const unsigned buckets[] = {1, 7, 400, 2000};
    struct fixture f;
    start(&f);
    for (size_t i = 0; i < sizeof buckets / sizeof buckets[0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "/api/v1/captures/" CAPTURE "/overview?buckets=%u", buckets[i]);
        cJSON *json = call_json(&f, "GET", path, NULL, 200);
        const cJSON *target, *targets = at_path(json, "targets");
        ck_assert_int_eq(cJSON_GetArraySize(targets), TARGETS);
        ck_assert_double_eq(number_at(json, "buckets"), buckets[i]);
        cJSON_ArrayForEach(target, targets)
            expect_true_counts(target, buckets[i]);
        cJSON_Delete(json);
    }
    fixture_stop(&f);
}
END_TEST

START_TEST(losses_evidence_window_and_verdict_are_told)
{
    struct fixture f;
    char from[CLOCK_TEXT_BYTES], to[CLOCK_TEXT_BYTES];
    unsigned with_evidence = 0;
    start(&f);
    cJSON *json = call_json(&f, "GET", "/api/v1/captures/" CAPTURE "/overview", NULL, 200);
    const cJSON *target, *targets = at_path(json, "targets");
    ck_assert_double_eq(number_at(json, "buckets"), 400);
    ck_assert_str_eq(text_at(json, "at"), "2023-11-14T22:13:20.000Z");
    ck_assert_str_eq(text_at(json, "window.from"), "2023-11-14T22:13:15.000Z");
    ck_assert_str_eq(text_at(json, "window.to"), "2023-11-14T22:13:21.000Z");
    ck_assert_ptr_nonnull(at_path(json, "verdict.text"));
    cJSON_ArrayForEach(target, targets) {
        unsigned t = target_of(target);
        clock_text(FROM_NS - t * SECOND / 10 + 1000 * TICK_NS, from);
        clock_text(FROM_NS - t * SECOND / 10 + 2000 * TICK_NS, to);
        ck_assert_str_eq(text_at(target, "service"), "shop");
        ck_assert_double_eq(number_at(target, "clock_offset_ns"), (double)OFFSET_NS);
        const cJSON *losses = at_path(target, "losses");
        /* the first cut of later targets has lost something in front of the window alone */
        ck_assert_int_eq(cJSON_GetArraySize(losses), t == 0 ? 2 : 1);
        ck_assert_str_eq(text_at(losses->child, "reason"), "ring_full");
        ck_assert_double_eq(number_at(losses->child, "events"), 7);
        if (t == 0) {
            ck_assert_str_eq(text_at(losses->child, "from"), from);
            ck_assert_str_eq(text_at(losses->child, "to"), to);
        }
        int kinds = cJSON_GetArraySize(at_path(target, "evidence"));
        with_evidence += kinds > 0;
        if (kinds > 0)
            ck_assert_str_eq(text_at(target, "evidence.0"), "samples");
        ck_assert_double_eq(number_at(target, "evidence_events"), kinds);
        ck_assert_double_eq(number_at(target, "footers"), kinds > 0 ? CUTS + 1 : CUTS);
        ck_assert_ptr_null(at_path(target, "damaged"));
    }
    ck_assert_uint_eq(with_evidence, 1);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(pages_have_each_target_once)
{
    struct fixture f;
    char path[192] = "/api/v1/captures/" CAPTURE "/overview?limit=1&buckets=3";
    unsigned met[TARGETS] = {0}, pages = 0;
    bool more = true;
    start(&f);
    while (more) {
        cJSON *json = call_json(&f, "GET", path, NULL, 200);
        const cJSON *targets = at_path(json, "targets");
        ck_assert_int_eq(cJSON_GetArraySize(targets), 1);
        met[target_of(targets->child)]++;
        more = at_path(json, "next_cursor") != NULL;
        if (more)
            snprintf(path, sizeof path,
                     "/api/v1/captures/" CAPTURE "/overview?limit=1&buckets=3&cursor=%s",
                     text_at(json, "next_cursor"));
        cJSON_Delete(json);
        ck_assert_uint_le(++pages, TARGETS);
    }
    for (unsigned t = 0; t < TARGETS; t++)
        ck_assert_uint_eq(met[t], 1);
    fixture_stop(&f);
}
END_TEST

START_TEST(footers_alone_are_read)
{
    struct fixture f;
    start(&f);
    cJSON *all = call_json(&f, "GET", "/api/v1/captures/" CAPTURE "/manifest", NULL, 200);
    memset(&seen, 0, sizeof seen);
    cJSON_Delete(call_json(&f, "GET", "/api/v1/captures/" CAPTURE "/overview", NULL, 200));
    /* a tail and two pieces of the begin of each partition */
    ck_assert_uint_le(seen.reads, 3 * (CUTS * TARGETS + 1));
    ck_assert_uint_gt(seen.reads, 0);
    ck_assert_uint_le(seen.bytes, (CUTS * TARGETS + 1) * 17000);
    ck_assert_double_gt(number_at(all, "events"), TARGETS * CUTS * EVENTS - 1);
    cJSON_Delete(all);
    fixture_stop(&f);
}
END_TEST

START_TEST(a_damaged_footer_is_told_and_the_rest_given)
{
    struct fixture f;
    struct partition_key key;
    struct partition_row row;
    unsigned damaged = 0;
    start(&f);
    key = key_of(2, f.agent.epoch, 0);
    ck_assert_int_eq(index_find(f.collector.index, &key, &row), 1);
    seen.damaged_offset = row.place.offset;
    cJSON *json = call_json(&f, "GET", "/api/v1/captures/" CAPTURE "/overview", NULL, 200);
    const cJSON *target, *targets = at_path(json, "targets");
    cJSON_ArrayForEach(target, targets) {
        char text[PARTITION_KEY_TEXT_BYTES];
        partition_key_text(&key, text);
        double sum = number_at(target, "outside");
        const cJSON *count, *counts = at_path(target, "events");
        cJSON_ArrayForEach(count, counts)
            sum += count->valuedouble;
        if (target_of(target) != 1) {
            ck_assert_double_eq(sum, CUTS * EVENTS);
            continue;
        }
        damaged++;
        ck_assert_double_eq(sum, EVENTS); /* those of its other cut */
        ck_assert_int_eq(cJSON_GetArraySize(at_path(target, "damaged")), 1);
        ck_assert_str_eq(text_at(target, "damaged.0.partition"), text);
        ck_assert_ptr_nonnull(at_path(target, "damaged.0.from"));
    }
    ck_assert_uint_eq(damaged, 1);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(wrong_requests_are_refused)
{
    struct fixture f;
    start(&f);
#define OVERVIEW "/api/v1/captures/" CAPTURE "/overview"
    expect_problem(&f, "GET", OVERVIEW "?buckets=0", NULL, 400, "buckets");
    expect_problem(&f, "GET", OVERVIEW "?buckets=2001", NULL, 400, "buckets");
    expect_problem(&f, "GET", OVERVIEW "?buckets=", NULL, 400, "buckets");
    expect_problem(&f, "GET", OVERVIEW "?buckets=99999999999999999999999", NULL, 400, "buckets");
    expect_problem(&f, "GET", OVERVIEW "?limit=201", NULL, 400, "limit");
    expect_problem(&f, "GET", OVERVIEW "?cursor=x", NULL, 400, "cursor");
    expect_problem(&f, "GET", OVERVIEW "?width=4", NULL, 400, "width");
    expect_problem(&f, "GET", "/api/v1/captures/01a1000000000000000000000000ff41/overview", NULL,
                   404, NULL);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "api_overview", buckets_hold_what_was_written, losses_evidence_window_and_verdict_are_told,
        pages_have_each_target_once, footers_alone_are_read,
        a_damaged_footer_is_told_and_the_rest_given, wrong_requests_are_refused, NULL));
}
