/* SPDX-License-Identifier: Apache-2.0
 * A planted state that cannot be ends the agent at the next change: one for each state machine. */
#include <signal.h>
#include <stdlib.h>

#include "capture_evidence.h"
#include "capture_job.h"
#include "evidence_task.h"
#include "process.h"
#include "spool_int.h"
#include "support.h"
#include "uplink_int.h"

static const struct capture_id capture = {{1, 2, 3}};
static const struct process_uid uid = {{9, 8, 7}};

static struct spool *spool_with_one(void)
{
    struct spool *spool;
    char error[256];
    struct spool_settings settings = {.folder = temp_dir_new(), .max_bytes = 1 << 20};
    ck_assert_int_eq(spool_open(&settings, &spool, error, sizeof error), SKEIN_OK);
    struct spool_head head = {.capture = capture, .key = {uid, 1, 1}};
    ck_assert_int_eq(spool_put(spool, &head, (const uint8_t *)"bytes", 5), SKEIN_OK);
    return spool;
}

START_TEST(a_partition_out_of_order)
{
    struct spool *spool = spool_with_one();
    TAILQ_FIRST(&spool->items)->order++;
    (void)spool_share(spool, &capture, &uid, 1, 1, 1);
}
END_TEST

START_TEST(a_report_of_no_kind)
{
    struct spool *spool = spool_with_one();
    ck_assert_int_eq(spool_report_put(spool, SPOOL_TARGET, 0, &capture, &uid, "{}", 2), SKEIN_OK);
    TAILQ_FIRST(&spool->reports)->head.kind = SPOOL_PARTITION;
    spool_report_drop(spool, SPOOL_PARTITION, &capture, &uid);
}
END_TEST

START_TEST(an_upload_that_has_more_than_it_sent)
{
    static struct uplink uplink;
    for (size_t i = 0; i < UPLINK_UPLOADS; i++)
        uplink.uploads[i].fd = -1;
    uplink.uploads[3] =
        (struct upload){.active = true, .order = 1, .fd = 0, .count = 4, .acknowledged = 1};
    uplink_data_close(&uplink);
}
END_TEST

START_TEST(a_rest_of_a_cut_that_is_another_target_s)
{
    struct captures captures = {0};
    struct target target = {.captures = &captures}, another = target;
    struct capture_job job = {.target = &target, .last = true}, other = {.target = &another};
    target.turn = &other;
    capture_job_run(&job);
}
END_TEST

static bool on_done(void *context)
{
    (void)context;
    return true;
}

START_TEST(evidence_that_is_finished_twice)
{
    struct evidence *evidence;
    struct evidence_task *task;
    struct evidence_order order = {.host = "h"};
    ck_assert_int_eq(process_new(&order.process), SKEIN_OK);
    ck_assert_int_eq(
        evidence_new(&(struct evidence_settings){.deadline_ms = 60000}, NULL, &evidence), SKEIN_OK);
    ck_assert_int_eq(evidence_begin(evidence, &order, &task), SKEIN_OK);
    ck_assert_int_eq(evidence_finish(task, 1, 0, on_done, NULL), SKEIN_OK);
    (void)evidence_finish(task, 1, 0, on_done, NULL);
}
END_TEST

START_TEST(a_target_that_waits_twice_for_evidence)
{
    struct captures captures = {0};
    struct target target = {.captures = &captures, .wait = WAIT_OPEN};
    capture_evidence_ask(&target, 1);
}
END_TEST

static void take(struct cut_member *member, const struct cut_entry *entry)
{
    (void)member;
    (void)entry;
}

/* That alone: a chain reaches back to the begin of each window. */
static void add_to_chain(uint64_t from_ns)
{
    struct process *process = calloc(1, sizeof *process);
    struct cut_member member = {.from_ns = 2, .to_ns = 3, .take = take};
    struct cut_entry entry = {.reason = "planted"};
    ck_assert_int_eq(cut_chain_join(&member, process), SKEIN_OK);
    member.from_ns = from_ns;
    cut_chain_add(&member, &entry);
    cut_chain_leave(&member);
    process->chain_free(process);
    free(process);
}

START_TEST(a_member_that_begins_with_its_chain)
{
    add_to_chain(2);
}
END_TEST

START_TEST(a_member_that_begins_before_its_chain)
{
    add_to_chain(1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent_invariants");
    TCase *tests = tcase_create("planted");
    tcase_add_test_raise_signal(tests, a_partition_out_of_order, SIGABRT);
    tcase_add_test_raise_signal(tests, a_report_of_no_kind, SIGABRT);
    tcase_add_test_raise_signal(tests, an_upload_that_has_more_than_it_sent, SIGABRT);
    tcase_add_test_raise_signal(tests, a_rest_of_a_cut_that_is_another_target_s, SIGABRT);
    tcase_add_test_raise_signal(tests, evidence_that_is_finished_twice, SIGABRT);
    tcase_add_test_raise_signal(tests, a_target_that_waits_twice_for_evidence, SIGABRT);
    tcase_add_test_raise_signal(tests, a_member_that_begins_before_its_chain, SIGABRT);
    tcase_add_test(tests, a_member_that_begins_with_its_chain);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
