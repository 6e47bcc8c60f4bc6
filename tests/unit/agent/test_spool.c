/* SPDX-License-Identifier: Apache-2.0 */
#include "spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"
#include "target_result.h"

static char *folder;
static struct spool *spool;
static const struct capture_id capture = {{1, 2, 3}};
static const struct process_uid process = {{9, 8, 7}};

static void open_spool(uint64_t max_bytes, uint32_t max_reports)
{
    struct spool_settings settings = {.folder = folder,
                                      .max_bytes = max_bytes,
                                      .max_reports = max_reports,
                                      .max_rejected = 2,
                                      .amend = target_result_amend};
    char error[256] = "";
    int status = spool_open(&settings, &spool, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
}

static void setup(void)
{
    folder = temp_dir_new();
    open_spool(1 << 20, 0);
}

static void teardown(void)
{
    spool_close(&spool);
    temp_dir_free(&folder);
}

static void reopen(uint64_t max_bytes)
{
    spool_close(&spool);
    open_spool(max_bytes, 0);
}

static struct spool_head head_of(uint64_t sequence)
{
    return (struct spool_head){.capture = capture,
                               .key = {process, 1, sequence},
                               .events = 10,
                               .from_ns = 100 * sequence,
                               .to_ns = 100 * sequence + 99};
}

static int put(uint64_t sequence, size_t n)
{
    uint8_t *bytes = malloc(n + 1);
    memset(bytes, (int)sequence, n);
    struct spool_head head = head_of(sequence);
    int status = spool_put(spool, &head, bytes, n);
    free(bytes);
    return status;
}

static size_t queued(void)
{
    uint64_t order = 0;
    struct spool_head head;
    size_t n = 0;
    while (spool_next(spool, order, &order, &head) == SKEIN_OK)
        n++;
    return n;
}

static struct spool_counters counters(void)
{
    struct spool_counters c;
    spool_count(spool, &c);
    return c;
}

static void report_as(uint16_t kind, enum report_state state, uint64_t first, uint64_t last)
{
    struct target_result result = {.capture = capture, .process = process, .state = state};
    for (uint64_t i = first; i <= last; i++) {
        struct report_range partition = {1, i, i, 10, 1000};
        result.events += 10;
        ck_assert_int_eq(target_result_add_range(&result, &partition), SKEIN_OK);
    }
    struct buf text = {0};
    target_result_put(7, &result, &text);
    ck_assert_int_eq(
        spool_report_put(spool, kind, 0, &capture, &process, (const char *)text.data, text.len),
        SKEIN_OK);
    buf_fini(&text);
    target_result_fini(&result);
}

/* A report that lists sequences first to last. */
static void report(enum report_state state, uint64_t first, uint64_t last)
{
    report_as(SPOOL_TARGET, state, first, last);
}

static char *report_text(uint64_t *revision)
{
    struct spool_report next;
    char *text = NULL;
    uint64_t after = 0;
    while (spool_report_next(spool, after, &next) == SKEIN_OK) {
        free(text);
        text = next.text;
        after = next.revision;
        if (revision != NULL)
            *revision = next.revision;
    }
    return text;
}

START_TEST(partitions_wait_held_until_their_report_is_written)
{
    ck_assert_int_eq(put(0, 1000), SKEIN_OK);
    ck_assert_uint_eq(queued(), 0);
    report(REPORT_UPLOADING, 0, 0);
    spool_release(spool, &capture, &process);
    ck_assert_uint_eq(queued(), 1);
}
END_TEST

START_TEST(what_is_stored_can_be_read_and_leaves_when_acknowledged)
{
    ck_assert_int_eq(put(3, 5000), SKEIN_OK);
    struct spool_head head = head_of(3);
    int fd;
    uint8_t bytes[5000];
    ck_assert_int_eq(spool_open_partition(spool, &head.key, &fd), SKEIN_OK);
    ck_assert_int_eq(pread(fd, bytes, sizeof bytes, SPOOL_FILE_HEAD_BYTES), 5000);
    ck_assert_uint_eq(bytes[4999], 3);
    close(fd);
    spool_done(spool, &head.key, SPOOL_STORED);
    ck_assert_int_eq(spool_open_partition(spool, &head.key, &fd), SKEIN_NOT_FOUND);
    ck_assert_uint_eq(counters().bytes, 0);
    ck_assert_uint_eq(counters().lost_partitions, 0);
}
END_TEST

START_TEST(the_queue_survives_a_restart_in_order)
{
    for (uint64_t i = 0; i < 5; i++)
        ck_assert_int_eq(put(i, 100), SKEIN_OK);
    report(REPORT_UPLOADING, 0, 4);
    reopen(1 << 20);
    uint64_t order = 0;
    struct spool_head head;
    for (uint64_t i = 0; i < 5; i++) {
        ck_assert_int_eq(spool_next(spool, order, &order, &head), SKEIN_OK);
        ck_assert_uint_eq(head.key.sequence, i);
        ck_assert_uint_eq(head.events, 10);
    }
    ck_assert_uint_eq(counters().torn, 0);
}
END_TEST

START_TEST(partitions_without_a_report_stay_held_after_a_restart)
{
    ck_assert_int_eq(put(0, 100), SKEIN_OK);
    reopen(1 << 20);
    ck_assert_uint_eq(counters().partitions, 1);
    ck_assert_uint_eq(queued(), 0);
}
END_TEST

START_TEST(a_full_spool_drops_its_oldest_and_says_so)
{
    reopen(4 * 8192);
    for (uint64_t i = 0; i < 4; i++)
        ck_assert_int_eq(put(i, 8000), SKEIN_OK);
    report(REPORT_UPLOADING, 0, 3);
    spool_release(spool, &capture, &process);
    ck_assert_int_eq(put(4, 8000), SKEIN_OK);
    ck_assert_uint_eq(counters().lost_partitions, 1);
    ck_assert_uint_eq(counters().lost_events, 10);
    char *text = report_text(NULL);
    ck_assert_ptr_nonnull(strstr(text, "\"state\":\"uploading\""));
    ck_assert_ptr_nonnull(
        strstr(text, "\"gaps\":[{\"from_ns\":0,\"to_ns\":99,\"reason\":\"spool_full\"}]"));
    ck_assert_ptr_nonnull(strstr(text, "\"lost\":{\"spool_full\":10}"));
    ck_assert_ptr_nonnull(strstr(text, "\"first\":1,\"last\":3,\"events\":30,"));
    free(text);
}
END_TEST

/* The uplink has it open: the file goes, the upload does not. */
START_TEST(what_is_on_its_way_is_lost_only_where_it_does_not_arrive)
{
    int fd[2];
    for (uint64_t i = 0; i < 2; i++)
        ck_assert_int_eq(put(i, 400 << 10), SKEIN_OK);
    report(REPORT_UPLOADING, 0, 3);
    spool_release(spool, &capture, &process);
    for (uint64_t i = 0; i < 2; i++) {
        struct spool_head head = head_of(i);
        ck_assert_int_eq(spool_open_partition(spool, &head.key, &fd[i]), SKEIN_OK);
    }
    ck_assert_int_eq(put(2, 400 << 10), SKEIN_OK);
    ck_assert_int_eq(put(3, 400 << 10), SKEIN_OK);
    ck_assert_uint_eq(counters().lost_partitions, 0);
    ck_assert_uint_eq(counters().partitions, 4);
    ck_assert_uint_le(counters().bytes, 1 << 20);
    struct spool_head first = head_of(0), second = head_of(1);
    spool_done(spool, &first.key, SPOOL_STORED);
    char *text = report_text(NULL);
    ck_assert_ptr_null(strstr(text, "spool_full"));
    free(text);
    ck_assert_uint_eq(counters().lost_events, 0);
    if (_i == 0)
        spool_done(spool, &second.key, SPOOL_UNREADABLE); /* an uplink that began anew */
    else
        reopen(1 << 20); /* the agent ends before */
    text = report_text(NULL);
    ck_assert_ptr_nonnull(strstr(text, "\"lost\":{\"spool_full\":10}"));
    ck_assert_ptr_nonnull(
        strstr(text, "\"gaps\":[{\"from_ns\":100,\"to_ns\":199,\"reason\":\"spool_full\"}]"));
    free(text);
    close(fd[0]);
    close(fd[1]);
}
END_TEST

START_TEST(what_a_running_stream_loses_leaves_its_intent_and_its_later_reports)
{
    reopen(4 * 8192);
    for (uint64_t i = 0; i < 4; i++)
        ck_assert_int_eq(put(i, 8000), SKEIN_OK);
    report_as(SPOOL_INTENT, REPORT_CAPTURING, 0, 3);
    spool_release(spool, &capture, &process);
    ck_assert_uint_eq(queued(), 4);
    ck_assert_int_eq(put(4, 8000), SKEIN_OK);
    ck_assert_int_eq(put(5, 8000), SKEIN_OK);
    char *text = report_text(NULL);
    ck_assert_ptr_nonnull(strstr(text, "\"first\":2,\"last\":3,\"events\":20,"));
    free(text);
    /* The one is taken into account by whoever writes the next report, the other comes too late. */
    struct spool_head head;
    const char *reason;
    ck_assert_int_eq(spool_loss_take(spool, &capture, &process, &head, &reason), SKEIN_OK);
    ck_assert_uint_eq(head.key.sequence, 0);
    ck_assert_str_eq(reason, "spool_full");
    report(REPORT_UPLOADING, 1, 5);
    ck_assert_int_eq(spool_loss_take(spool, &capture, &process, &head, &reason), SKEIN_NOT_FOUND);
    text = report_text(NULL);
    ck_assert_ptr_nonnull(strstr(text, "\"first\":2,\"last\":5,\"events\":40,"));
    ck_assert_ptr_nonnull(strstr(text, "\"lost\":{\"spool_full\":10}"));
    free(text);
}
END_TEST

START_TEST(a_target_that_lost_everything_is_failed)
{
    reopen(8192);
    ck_assert_int_eq(put(0, 8000), SKEIN_OK);
    report(REPORT_UPLOADING, 0, 0);
    spool_release(spool, &capture, &process);
    ck_assert_int_eq(put(1, 8000), SKEIN_OK);
    char *text = report_text(NULL);
    ck_assert_ptr_nonnull(strstr(text, "\"state\":\"failed\""));
    ck_assert_ptr_nonnull(strstr(text, "\"reason\":\"spool_full\""));
    free(text);
}
END_TEST

START_TEST(held_partitions_are_never_dropped)
{
    reopen(2 * 8192);
    ck_assert_int_eq(put(0, 8000), SKEIN_OK);
    ck_assert_int_eq(put(1, 8000), SKEIN_OK);
    ck_assert_int_eq(put(2, 8000), SKEIN_FULL);
    ck_assert_int_eq(put(3, 100000), SKEIN_FULL);
    ck_assert_uint_eq(counters().lost_partitions, 0);
}
END_TEST

START_TEST(the_same_key_is_taken_once)
{
    ck_assert_int_eq(put(0, 100), SKEIN_OK);
    ck_assert_int_eq(put(0, 100), SKEIN_EXISTS);
    ck_assert_uint_eq(counters().partitions, 1);
}
END_TEST

START_TEST(an_acknowledged_report_goes_with_its_last_partition)
{
    uint64_t revision = 0;
    ck_assert_int_eq(put(0, 100), SKEIN_OK);
    ck_assert_int_eq(put(1, 100), SKEIN_OK);
    report(REPORT_UPLOADING, 0, 1);
    spool_release(spool, &capture, &process);
    free(report_text(&revision));
    spool_report_acked(spool, revision);
    struct spool_head zero = head_of(0), one = head_of(1);
    spool_done(spool, &zero.key, SPOOL_STORED);
    ck_assert_uint_eq(counters().reports, 1);
    spool_done(spool, &one.key, SPOOL_STORED);
    ck_assert_uint_eq(counters().reports, 0);
    reopen(1 << 20);
    ck_assert_uint_eq(counters().reports, 0);
}
END_TEST

/* ---- partitions that two captures list ---- */

static const struct capture_id other = {{9, 9}};

static void report_other(uint64_t first, uint64_t last)
{
    struct target_result result = {.capture = other, .process = process, .state = REPORT_UPLOADING};
    struct report_range range = {1, first, last, 10 * (last - first + 1), 1000};
    result.events = range.events;
    ck_assert_int_eq(target_result_add_range(&result, &range), SKEIN_OK);
    struct buf text = {0};
    target_result_put(7, &result, &text);
    ck_assert_int_eq(spool_report_put(spool, SPOOL_TARGET, 0, &other, &process,
                                      (const char *)text.data, text.len),
                     SKEIN_OK);
    buf_fini(&text);
    target_result_fini(&result);
}

START_TEST(any_capture_that_shares_a_partition_releases_it)
{
    ck_assert_int_eq(put(0, 100), SKEIN_OK);
    ck_assert_int_eq(put(1, 100), SKEIN_OK);
    ck_assert_int_eq(spool_share(spool, &other, &process, 1, 1, 5), SKEIN_OK);
    report_other(1, 1);
    spool_release(spool, &other, &process);
    ck_assert_uint_eq(queued(), 1);
    report(REPORT_UPLOADING, 0, 1);
    spool_release(spool, &capture, &process);
    ck_assert_uint_eq(queued(), 2);
}
END_TEST

START_TEST(a_shared_partition_that_is_lost_is_lost_to_each)
{
    reopen(8192);
    ck_assert_int_eq(put(0, 8000), SKEIN_OK);
    ck_assert_int_eq(spool_share(spool, &other, &process, 1, 0, 0), SKEIN_OK);
    report(REPORT_UPLOADING, 0, 0);
    report_other(0, 0);
    spool_release(spool, &capture, &process);
    ck_assert_int_eq(put(1, 8000), SKEIN_OK);
    struct spool_report next;
    uint64_t after = 0;
    unsigned failed = 0;
    while (spool_report_next(spool, after, &next) == SKEIN_OK) {
        after = next.revision;
        failed += strstr(next.text, "\"lost\":{\"spool_full\":10}") != NULL;
        free(next.text);
    }
    ck_assert_uint_eq(failed, 2);
    struct spool_head zero = head_of(0), one = head_of(1);
    ck_assert(spool_has_lost(spool, &zero.key));
    ck_assert(!spool_has_lost(spool, &one.key));
}
END_TEST

START_TEST(the_report_of_each_stays_until_the_shared_partition_is_gone)
{
    ck_assert_int_eq(put(0, 100), SKEIN_OK);
    ck_assert_int_eq(spool_share(spool, &other, &process, 1, 0, 0), SKEIN_OK);
    report(REPORT_UPLOADING, 0, 0);
    report_other(0, 0);
    struct spool_report next;
    uint64_t after = 0;
    while (spool_report_next(spool, after, &next) == SKEIN_OK) {
        after = next.revision;
        free(next.text);
        spool_report_acked(spool, after);
    }
    ck_assert_uint_eq(counters().reports, 2);
    struct spool_head zero = head_of(0);
    spool_done(spool, &zero.key, SPOOL_STORED);
    ck_assert_uint_eq(counters().reports, 0);
}
END_TEST

START_TEST(a_report_that_was_rewritten_is_not_acknowledged_by_its_older_text)
{
    uint64_t revision = 0;
    report(REPORT_NOTHING, 1, 0);
    free(report_text(&revision));
    report(REPORT_FAILED, 1, 0);
    spool_report_acked(spool, revision);
    ck_assert_uint_eq(counters().reports, 1);
}
END_TEST

START_TEST(a_final_report_replaces_its_intent_on_disk_too)
{
    ck_assert_int_eq(spool_report_put(spool, SPOOL_INTENT, 0, &capture, &process, "{}", 2),
                     SKEIN_OK);
    report(REPORT_NOTHING, 1, 0);
    reopen(1 << 20);
    struct spool_report next;
    ck_assert_int_eq(spool_report_next(spool, 0, &next), SKEIN_OK);
    ck_assert_uint_eq(next.kind, SPOOL_TARGET);
    free(next.text);
    ck_assert_uint_eq(counters().reports, 1);
}
END_TEST

START_TEST(the_journal_is_bounded_and_counts_what_it_drops)
{
    spool_close(&spool);
    open_spool(1 << 20, 3);
    for (uint8_t i = 0; i < 5; i++) {
        struct capture_id id = {{i}};
        ck_assert_int_eq(spool_report_put(spool, SPOOL_FIRED, 0, &id, &process, "{}", 2), SKEIN_OK);
    }
    ck_assert_uint_eq(counters().reports, 3);
    ck_assert_uint_eq(counters().lost_reports, 2);
}
END_TEST

/* A released partition of the user's process. */
static void put_of(uint32_t user, uint8_t number, uint64_t sequence, size_t n)
{
    struct spool_head head = head_of(sequence);
    uint8_t *bytes = calloc(1, n);
    head.user = user;
    head.capture.bytes[0] = number;
    head.key.process.bytes[15] = number;
    ck_assert_int_eq(spool_put(spool, &head, bytes, n), SKEIN_OK);
    spool_release(spool, &head.capture, &head.key.process);
    free(bytes);
}

struct held_by {
    size_t of[2]; /* root, and all others */
};

static void user_count(void *context, const struct spool_head *head, int held)
{
    struct held_by *by = context;
    (void)held;
    by->of[head->user != 0]++;
}

/* The oldest are root's; nobody's go, also after a restart, and however many processes he has. */
START_TEST(who_fills_the_spool_loses_his_own)
{
    struct held_by by = {{0}};
    for (uint64_t i = 0; i < 10; i++)
        put_of(0, 1, i, 4000);
    for (uint64_t i = 0; i < 80; i++)
        put_of(65534, (uint8_t)(2 + i % 40), i, 16000);
    reopen(1 << 20); /* where all are held until their reports are read */
    for (uint8_t number = 1; number < 42; number++) {
        struct capture_id of = capture;
        struct process_uid by_process = process;
        of.bytes[0] = by_process.bytes[15] = number;
        spool_release(spool, &of, &by_process);
    }
    for (uint64_t i = 80; i < 120; i++)
        put_of(65534, (uint8_t)(2 + i % 40), i, 16000);
    spool_visit(spool, user_count, &by);
    ck_assert_uint_eq(by.of[0], 10);
    ck_assert_uint_gt(by.of[1], 20);
    ck_assert_uint_gt(counters().lost_partitions, 0);
}
END_TEST

START_TEST(of_one_users_processes_the_one_with_most_gives_way)
{
    size_t kept = 0;
    put_of(7, 1, 0, 4000);
    for (uint64_t i = 0; i < 80; i++)
        put_of(7, 2, i, 16000);
    uint64_t order = 0;
    struct spool_head head;
    while (spool_next(spool, order, &order, &head) == SKEIN_OK)
        kept += head.key.process.bytes[15] == 1;
    ck_assert_uint_eq(kept, 1);
}
END_TEST

START_TEST(who_fills_the_journal_loses_his_own_reports)
{
    struct spool_report next;
    size_t roots = 0;
    spool_close(&spool);
    open_spool(1 << 20, 20);
    for (uint8_t i = 0; i < 200; i++) {
        struct capture_id id = {{i}};
        ck_assert_int_eq(
            spool_report_put(spool, SPOOL_FIRED, i < 3 ? 0 : 65534, &id, &process, "{}", 2),
            SKEIN_OK);
    }
    for (uint64_t after = 0; spool_report_next(spool, after, &next) == SKEIN_OK;) {
        after = next.revision;
        roots += next.user == 0;
        free(next.text);
    }
    ck_assert_uint_eq(roots, 3);
}
END_TEST

static size_t rejected_files(void)
{
    char *path = path_join(folder, "rejected");
    DIR *dir = opendir(path);
    size_t n = 0;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
        n += entry->d_name[0] == 'p';
    closedir(dir);
    free(path);
    return n;
}

START_TEST(rejected_partitions_are_kept_aside_within_bounds)
{
    for (uint64_t i = 0; i < 4; i++)
        ck_assert_int_eq(put(i, 100), SKEIN_OK);
    report(REPORT_UPLOADING, 0, 3);
    spool_release(spool, &capture, &process);
    for (uint64_t i = 0; i < 4; i++) {
        struct spool_head head = head_of(i);
        spool_done(spool, &head.key, SPOOL_REJECTED);
    }
    ck_assert_uint_eq(rejected_files(), 2);
    ck_assert_uint_eq(counters().rejected, 4);
    ck_assert_uint_eq(counters().lost_events, 40);
    char *text = report_text(NULL);
    ck_assert_ptr_nonnull(strstr(text, "\"state\":\"failed\""));
    free(text);
}
END_TEST

START_TEST(torn_and_foreign_files_are_removed_at_start)
{
    ck_assert_int_eq(put(0, 1000), SKEIN_OK);
    report(REPORT_UPLOADING, 0, 0);
    char name[SPOOL_NAME_BYTES];
    struct spool_head head = head_of(0);
    head.kind = SPOOL_PARTITION;
    spool_file_name(&head, name);
    char *path = path_join(folder, name);
    ck_assert_int_eq(truncate(path, 500), 0);
    free(path);
    static const char *const foreign[] = {"p-zzz", "t-zzz", "f-", "tmp-p-1"};
    for (size_t i = 0; i < 4; i++) {
        path = path_join(folder, foreign[i]);
        file_write_text(path, "garbage");
        free(path);
    }
    reopen(1 << 20);
    ck_assert_uint_eq(counters().torn, 5);
    ck_assert_uint_eq(counters().partitions, 0);
    ck_assert_uint_eq(counters().reports, 1);
}
END_TEST

START_TEST(every_flipped_byte_of_a_head_is_noticed)
{
    struct spool_head head = head_of(1), out;
    head.kind = SPOOL_PARTITION;
    head.payload_bytes = 77;
    uint8_t packed[SPOOL_FILE_HEAD_BYTES];
    spool_head_put(packed, &head);
    ck_assert_int_eq(spool_head_get(packed, sizeof packed, &out), SKEIN_OK);
    ck_assert_uint_eq(out.payload_bytes, 77);
    ck_assert_int_eq(spool_head_get(packed, sizeof packed - 1, &out), SKEIN_TRUNCATED);
    for (size_t i = 0; i < sizeof packed; i++) {
        packed[i] ^= 0x40;
        ck_assert_int_ne(spool_head_get(packed, sizeof packed, &out), SKEIN_OK);
        packed[i] ^= 0x40;
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spool");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, partitions_wait_held_until_their_report_is_written);
    tcase_add_test(tc, what_is_stored_can_be_read_and_leaves_when_acknowledged);
    tcase_add_test(tc, the_queue_survives_a_restart_in_order);
    tcase_add_test(tc, partitions_without_a_report_stay_held_after_a_restart);
    tcase_add_test(tc, a_full_spool_drops_its_oldest_and_says_so);
    tcase_add_loop_test(tc, what_is_on_its_way_is_lost_only_where_it_does_not_arrive, 0, 2);
    tcase_add_test(tc, what_a_running_stream_loses_leaves_its_intent_and_its_later_reports);
    tcase_add_test(tc, a_target_that_lost_everything_is_failed);
    tcase_add_test(tc, held_partitions_are_never_dropped);
    tcase_add_test(tc, the_same_key_is_taken_once);
    tcase_add_test(tc, an_acknowledged_report_goes_with_its_last_partition);
    tcase_add_test(tc, any_capture_that_shares_a_partition_releases_it);
    tcase_add_test(tc, a_shared_partition_that_is_lost_is_lost_to_each);
    tcase_add_test(tc, the_report_of_each_stays_until_the_shared_partition_is_gone);
    tcase_add_test(tc, a_report_that_was_rewritten_is_not_acknowledged_by_its_older_text);
    tcase_add_test(tc, a_final_report_replaces_its_intent_on_disk_too);
    tcase_add_test(tc, the_journal_is_bounded_and_counts_what_it_drops);
    tcase_add_test(tc, who_fills_the_spool_loses_his_own);
    tcase_add_test(tc, of_one_users_processes_the_one_with_most_gives_way);
    tcase_add_test(tc, who_fills_the_journal_loses_his_own_reports);
    tcase_add_test(tc, rejected_partitions_are_kept_aside_within_bounds);
    tcase_add_test(tc, torn_and_foreign_files_are_removed_at_start);
    tcase_add_test(tc, every_flipped_byte_of_a_head_is_noticed);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
