/* SPDX-License-Identifier: Apache-2.0
 * The worker's half of a capture, with a spool of its own and nobody at the other end. */
#include <stdlib.h>
#include <string.h>

#include "capture_job.h"
#include "support.h"

static char *folder;
static struct spool *spool;
static struct loop *loop;
static struct uplink *uplink;
static struct process *process;
static struct captures captures;

static void setup(void)
{
    folder = temp_dir_new();
    const struct spool_settings settings = {
        .folder = folder, .max_bytes = 1 << 20, .amend = report_target_drop};
    char error[256];
    ck_assert_int_eq(spool_open(&settings, &spool, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(loop_new(&loop), SKEIN_OK);
    const struct uplink_settings nobody = {.control_address = "tcp://127.0.0.1:1",
                                           .data_address = "tcp://127.0.0.1:1",
                                           .host = "test",
                                           .version = "",
                                           .boot = "",
                                           .labels = "",
                                           .heartbeat_ms = 1000,
                                           .spool = spool};
    ck_assert_int_eq(uplink_new(&nobody, &(struct uplink_hooks){0}, &uplink), SKEIN_OK);
    ck_assert_int_eq(process_new(&process), SKEIN_OK);
    captures = (struct captures){
        .settings = {.loop = loop, .spool = spool, .uplink = uplink, .host = "test", .epoch = 2}};
}

static void teardown(void)
{
    process_unref(&process);
    uplink_free(&uplink, 0);
    loop_free(&loop);
    spool_close(&spool);
    temp_dir_free(&folder);
}

/* The ring of this process cannot be read: nothing may be cut. */
START_TEST(a_report_that_is_full_says_from_when_on_nothing_is_listed)
{
    struct target target = {.captures = &captures,
                            .process = process,
                            .capture = {{7}},
                            .stream_ms = 100,
                            .end_ns = 9000,
                            .result = {.capture = {{7}}, .from_ns = 1000, .to_ns = 2000}};
    for (uint64_t i = 0; i < CAPTURE_RANGES_MAX; i++) {
        struct report_range range = {1, 2 * i, 2 * i, 10, 100};
        ck_assert_int_eq(target_result_add_range(&target.result, &range), SKEIN_OK);
    }
    for (int last = 0; last < 2; last++) {
        struct capture_job *job = calloc(1, sizeof *job);
        ck_assert_ptr_nonnull(job);
        *job = (struct capture_job){.target = &target, .to_ns = 5000, .last = last != 0};
        capture_job_run(job);
        ck_assert_uint_ne(target.full, 0); /* so the loop ends it */
    }
    struct spool_report report;
    ck_assert_int_eq(spool_report_next(spool, 0, &report), SKEIN_OK);
    ck_assert_int_eq(report.kind, SPOOL_TARGET);
    ck_assert_ptr_nonnull(strstr(
        report.text, "\"gaps\":[{\"from_ns\":2000,\"to_ns\":9000,\"reason\":\"report_full\"}]"));
    ck_assert_ptr_nonnull(strstr(report.text, "\"lost\":{}"));
    ck_assert_ptr_nonnull(strstr(report.text, "\"window\":{\"from_ns\":1000,\"to_ns\":2000}"));
    free(report.text);
    target_result_fini(&target.result);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture job");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_report_that_is_full_says_from_when_on_nothing_is_listed);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
