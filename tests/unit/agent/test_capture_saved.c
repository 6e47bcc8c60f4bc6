/* SPDX-License-Identifier: Apache-2.0
 *
 * What a killed agent had cut of a request, until the next one has shown that the ring still has it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_clock.h"
#include "capture_job.h"
#include "clock.h"
#include "ring_memory.h"
#include "support.h"

#define WINDOW_MS   1000
#define OLD_FROM    UINT64_C(7000000000) /* on the line of the agent before: it is another one */
#define OLD_TO      (OLD_FROM + WINDOW_MS * NS_PER_MS)
#define ROOM_OF_ONE 4096

static const struct capture_id capture = {{1}}, other = {{2}};
static char *folder;
static struct spool *spool;
static struct loop *loop;
static struct uplink *uplink;
static struct worker *worker;
static struct host_page_owner *host;
static struct process *process;
static struct captures *captures;

static void spool_begin(uint64_t max_bytes)
{
    const struct spool_settings settings = {
        .folder = folder, .max_bytes = max_bytes, .amend = target_result_amend};
    char error[256];
    ck_assert_msg(spool_open(&settings, &spool, error, sizeof error) == SKEIN_OK, "%s", error);
}

/* A ring with one record, of now. */
static void process_make(void)
{
    static const uint8_t row[] = "\4\1\1\0\1\4self\1\1x\7"; /* INLINE: instant, one u64 */
    const struct ring_identity identity = {.pid = 1, .service = "hand"};
    ck_assert_int_eq(process_new(&process), SKEIN_OK);
    process->uid = (struct process_uid){{3}};
    ck_assert_int_eq(ring_geometry_init(&process->geometry, SKEIN_MODE_CIRCULAR, RING_BYTES_MIN),
                     SKEIN_OK);
    ck_assert_int_eq(
        ring_memory_new(&process->geometry, &identity, &process->ring_fd, &process->ring),
        SKEIN_OK);
    host_page_first(host, &process->attached_clock);
    const struct ring_chunk head = {.state = RING_CHUNK_FULL | 1u << RING_CHUNK_EPOCH_SHIFT,
                                    .committed = UINT64_C(1) << 32 | (sizeof row - 1),
                                    .first.base_ticks = process->attached_clock.ticks,
                                    .first.incarnation = 1,
                                    .first.tid = 9};
    uint8_t *at = process->ring + ring_small_offset(&process->geometry, 0);
    memcpy(at, &head, sizeof head);
    memcpy(at + sizeof head, row, sizeof row - 1);
}

static void setup(void)
{
    folder = temp_dir_new();
    spool_begin(1 << 20);
    ck_assert_int_eq(loop_new(&loop), SKEIN_OK);
    ck_assert_int_eq(worker_new(&worker), SKEIN_OK);
    ck_assert_int_eq(host_page_new(100, &host), SKEIN_OK);
    process_make();
}

static void teardown(void)
{
    worker_free(&worker);
    captures_free(&captures);
    process_unref(&process);
    uplink_free(&uplink, 0);
    loop_free(&loop);
    spool_close(&spool);
    host_page_free(&host);
    temp_dir_free(&folder);
}

static void partition_put(const struct capture_id *of, uint64_t epoch)
{
    const struct spool_head head = {.capture = *of,
                                    .key = {process->uid, epoch, 0},
                                    .events = 5,
                                    .from_ns = OLD_FROM,
                                    .to_ns = OLD_TO};
    ck_assert_int_eq(spool_put(spool, &head, (const uint8_t *)"bytes", 5), SKEIN_OK);
}

/* The journal of an agent that was killed behind its first cut; `overwritten_ns`: so much of the window's
 * begin that cut did not have. */
static void intent_put(const struct capture_id *of, uint64_t overwritten_ns)
{
    struct target_result result = {.capture = *of,
                                   .process = process->uid,
                                   .trigger = TRIGGER_REQUEST,
                                   .state = REPORT_CAPTURING,
                                   .from_ns = OLD_FROM,
                                   .to_ns = OLD_TO};
    const struct report_range range = {1, 0, 0, 5, 5};
    const struct report_gap gap = {OLD_FROM, OLD_FROM + overwritten_ns,
                                   loss_text(LOSS_OVERWRITTEN)};
    struct buf text = {0};
    ck_assert_int_eq(target_result_add_range(&result, &range), SKEIN_OK);
    if (overwritten_ns != 0)
        ck_assert_int_eq(target_result_add_gap(&result, &gap), SKEIN_OK);
    target_result_put(7, &result, &text);
    ck_assert_int_eq(spool_report_put(spool, SPOOL_INTENT, 0, of, &process->uid,
                                      (const char *)text.data, text.len),
                     SKEIN_OK);
    buf_fini(&text);
    target_result_fini(&result);
}

/* The next agent, in a spool of that size. */
static void agent_begin(uint64_t spool_bytes, int interrupted)
{
    spool_close(&spool);
    spool_begin(spool_bytes);
    ck_assert_int_eq(captures_recover(spool, 7), interrupted);
    const struct uplink_settings nobody = {.control_address = "tcp://127.0.0.1:1",
                                           .data_address = "tcp://127.0.0.1:1",
                                           .host = "test",
                                           .version = "",
                                           .boot = "",
                                           .labels = "",
                                           .heartbeat_ms = 1000,
                                           .spool = spool};
    ck_assert_int_eq(uplink_new(&nobody, &(struct uplink_hooks){0}, &uplink), SKEIN_OK);
    const struct captures_settings settings = {.loop = loop,
                                               .worker = worker,
                                               .spool = spool,
                                               .uplink = uplink,
                                               .host_page = host,
                                               .host = "test",
                                               .agent = 7,
                                               .epoch = 2,
                                               .max_targets = 8};
    ck_assert_int_eq(captures_new(&settings, &captures), SKEIN_OK);
}

static void loop_end(void *context)
{
    loop_stop(context);
}

/* The collector repeats its command. */
static void command_again(const struct capture_id *of)
{
    const struct capture_order order = {
        .capture = *of, .trigger = TRIGGER_REQUEST, .at_ns = agent_clock_ns(), .pre_ms = WINDOW_MS};
    ck_assert_int_eq(captures_begin(captures, &order, process), SKEIN_OK);
    while (captures->running > 0) {
        ck_assert_ptr_nonnull(loop_timer_add(loop, 5, 0, loop_end, loop));
        ck_assert_int_eq(loop_run(loop), SKEIN_OK);
    }
}

/* Of the process: how many partitions of the epoch are there, of those that may go up. */
struct counted {
    uint64_t epoch;
    size_t all, held;
};

static void partition_count(void *context, const struct spool_head *head, int held)
{
    struct counted *counted = context;
    counted->all += head->key.epoch == counted->epoch;
    counted->held += head->key.epoch == counted->epoch && held != 0;
}

static struct counted partitions_of(uint64_t epoch)
{
    struct counted counted = {.epoch = epoch};
    spool_visit(spool, partition_count, &counted);
    return counted;
}

/* The report of that kind, the caller's to free; NULL: none. */
static char *report_of(uint16_t kind)
{
    struct spool_report report;
    char *text = NULL;
    for (uint64_t after = 0; spool_report_next(spool, after, &report) == SKEIN_OK;) {
        after = report.revision;
        if (report.kind == kind && capture_id_equal(&report.capture, &capture) && text == NULL)
            text = report.text;
        else
            free(report.text);
    }
    return text;
}

static void check_report(const char *has, const char *lacks)
{
    char *text = report_of(SPOOL_TARGET), *intent = report_of(SPOOL_INTENT);
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_null(intent);
    ck_assert_msg(strstr(text, has) != NULL, "%s", text);
    ck_assert_msg(strstr(text, lacks) == NULL, "%s", text);
    ck_assert_msg(strstr(text, "\"state\":\"uploading\"") != NULL, "%s", text);
    free(text);
}

static void overwrite(void)
{
    struct ring_header *header = (struct ring_header *)(void *)process->ring;
    header->overwritten_ticks = process->attached_clock.ticks;
}

START_TEST(what_was_saved_goes_when_the_ring_was_cut_and_has_it)
{
    struct spool_counters c;
    intent_put(&capture, 0);
    partition_put(&capture, 1);
    agent_begin(1 << 20, 1);
    ck_assert_uint_eq(partitions_of(1).held, 1); /* until then */
    command_again(&capture);
    ck_assert_uint_eq(partitions_of(1).all, 0);
    ck_assert_uint_eq(partitions_of(2).all, 1);
    spool_count(spool, &c);
    ck_assert_uint_eq(c.lost_partitions, 0);
    check_report("\"epoch\":2", "agent_restarted");
}
END_TEST

/* It had been away, or its collector, and the ring went on. */
START_TEST(what_was_saved_stays_where_the_ring_has_overwritten_it)
{
    intent_put(&capture, 0);
    partition_put(&capture, 1);
    agent_begin(1 << 20, 1);
    overwrite();
    command_again(&capture);
    ck_assert_uint_eq(partitions_of(1).all, 1);
    ck_assert_uint_eq(partitions_of(1).held, 0); /* it goes up */
    ck_assert_uint_eq(partitions_of(2).all, 0);
    check_report("\"epoch\":1", "\"epoch\":2");
    check_report("agent_restarted", "overwritten");
}
END_TEST

/* What is gone now had been gone then. */
START_TEST(what_both_cuts_lack_keeps_nobody_from_cutting_anew)
{
    intent_put(&capture, WINDOW_MS * NS_PER_MS);
    partition_put(&capture, 1);
    agent_begin(1 << 20, 1);
    overwrite();
    command_again(&capture);
    ck_assert_uint_eq(partitions_of(1).all, 0);
    check_report("\"epoch\":2", "agent_restarted");
}
END_TEST

/* The disk takes no second one: it is not stored, so the first one counts. */
START_TEST(what_was_saved_stays_where_the_new_cut_is_not_stored)
{
    intent_put(&capture, 0);
    partition_put(&capture, 1);
    agent_begin(ROOM_OF_ONE, 1);
    command_again(&capture);
    ck_assert_uint_eq(partitions_of(1).all, 1);
    check_report("\"epoch\":1", "spool_full");
}
END_TEST

/* The process is away for good (_i 0), the capture is over (1), the agent ends (2). */
START_TEST(what_was_saved_is_told_where_nothing_can_be_cut)
{
    intent_put(&capture, 0);
    partition_put(&capture, 1);
    agent_begin(1 << 20, 1);
    if (_i == 0)
        captures_refuse(captures, &capture, &process->uid, "it is not here");
    else if (_i == 1)
        captures_stop(captures, &capture);
    else
        captures_drain(captures);
    ck_assert_uint_eq(partitions_of(1).all, 1);
    ck_assert_uint_eq(partitions_of(1).held, 0);
    check_report("agent_restarted", "it is not here");
    ck_assert(_i == 2 || captures_know(captures, &capture, &process->uid)); /* P-7 */
}
END_TEST

/* Another capture lists the partition, and has not ended either. */
START_TEST(what_one_cuts_anew_stays_for_who_shares_it)
{
    intent_put(&capture, 0);
    intent_put(&other, 0);
    partition_put(&capture, 1);
    agent_begin(1 << 20, 2);
    command_again(&capture);
    ck_assert_uint_eq(partitions_of(1).held, 1);
    check_report("\"epoch\":2", "\"epoch\":1");
    captures_stop(captures, &other); /* it ends with what was saved */
    ck_assert_uint_eq(partitions_of(1).all, 1);
    ck_assert_uint_eq(partitions_of(1).held, 0);
}
END_TEST

/* The agent was killed once more, between two partitions of the new cut. */
START_TEST(a_cut_that_was_not_finished_takes_no_place)
{
    intent_put(&capture, 0);
    partition_put(&capture, 1);
    partition_put(&capture, 2);
    agent_begin(1 << 20, 1);
    ck_assert_uint_eq(partitions_of(1).held, 1);
    ck_assert_uint_eq(partitions_of(2).all, 0);
    captures_stop(captures, &capture);
    check_report("\"epoch\":1", "\"epoch\":2");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_saved");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 280);
    tcase_add_test(tc, what_was_saved_goes_when_the_ring_was_cut_and_has_it);
    tcase_add_test(tc, what_was_saved_stays_where_the_ring_has_overwritten_it);
    tcase_add_test(tc, what_both_cuts_lack_keeps_nobody_from_cutting_anew);
    tcase_add_test(tc, what_was_saved_stays_where_the_new_cut_is_not_stored);
    tcase_add_loop_test(tc, what_was_saved_is_told_where_nothing_can_be_cut, 0, 3);
    tcase_add_test(tc, what_one_cuts_anew_stays_for_who_shares_it);
    tcase_add_test(tc, a_cut_that_was_not_finished_takes_no_place);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
