/* SPDX-License-Identifier: Apache-2.0
 * When the data connection is dialled anew, by clocks of the test's. */
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"
#include "uplink_int.h"

#define SECOND UINT64_C(1000000000)
#define BEGIN  (1000 * SECOND)

static char *folder;
static struct spool *spool;
static struct uplink *uplink;

static void setup(void)
{
    char error[256];
    folder = temp_dir_new();
    struct spool_settings spool_settings = {.folder = folder, .max_bytes = 1 << 20};
    ck_assert_int_eq(spool_open(&spool_settings, &spool, error, sizeof error), SKEIN_OK);
    struct uplink_settings settings = {.control_address = "tcp://127.0.0.1:9",
                                       .data_address = "tcp://127.0.0.1:9",
                                       .host = "h",
                                       .version = "1",
                                       .boot = "b",
                                       .labels = "",
                                       .agent = 1,
                                       .epoch = 1,
                                       .resend_ms = 3600000,
                                       .spool = spool};
    struct uplink_hooks hooks = {0};
    ck_assert_int_eq(uplink_new(&settings, &hooks, &uplink), SKEIN_OK);
}

static void teardown(void)
{
    uplink_free(&uplink, 0);
    spool_close(&spool);
    temp_dir_free(&folder);
}

static uint64_t redials_after(uint64_t seconds)
{
    struct agent_counters c;
    uint64_t wake_ns = UINT64_MAX;
    uplink_data_step(uplink, BEGIN + seconds * SECOND, &wake_ns);
    uplink_count(uplink, &c);
    return c.redials;
}

/* Two chunks, of which so many went. */
static struct upload upload_of(uint32_t next)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    return (struct upload){.active = true,
                           .order = 1,
                           .fd = fd,
                           .count = 2,
                           .next = next,
                           .sent_all_ns = BEGIN,
                           .not_before_ns = next < 2 ? BEGIN + 60 * SECOND : 0};
}

START_TEST(upload_that_the_collector_holds_is_not_stuck)
{
    uplink->uploads[0] = upload_of(1);
    for (uint64_t seconds = 0; seconds < 60; seconds += 10)
        ck_assert_uint_eq(redials_after(seconds), 0);
}
END_TEST

START_TEST(upload_without_an_answer_is_stuck)
{
    uplink->uploads[0] = upload_of(2);
    /* One that is held beside it makes no difference. */
    uplink->uploads[1] = upload_of(1);
    ck_assert_uint_eq(redials_after(0), 0);
    ck_assert_uint_eq(redials_after(14), 0);
    ck_assert_uint_eq(redials_after(16), 1);
}
END_TEST

/* A chunk is not read, let alone sealed, until somebody takes it: else an agent without its
 * collector would do so for as long as that is away. */
START_TEST(nothing_is_read_for_a_collector_that_is_away)
{
    struct spool_head head = {.key = {{{2}}, 1, 1}, .events = 1};
    ck_assert_int_eq(spool_put(spool, &head, (const uint8_t *)"twelve bytes", 12), SKEIN_OK);
    spool_release(spool, &head.capture, &head.key.process);
    uint64_t wake_ns = UINT64_MAX;
    uplink_data_step(uplink, BEGIN, &wake_ns);
    ck_assert(uplink->uploads[0].active && uplink->data_full);
    ck_assert_uint_eq(wake_ns, UINT64_MAX); /* the connection wakes it */
    /* What cannot be read any more would be given up, were it looked at. */
    char *pattern = path_join(folder, "p-*");
    glob_t found;
    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    ck_assert_int_eq(truncate(found.gl_pathv[0], 0), 0);
    globfree(&found);
    free(pattern);
    uplink_data_step(uplink, BEGIN + SECOND, &wake_ns);
    ck_assert(uplink->uploads[0].active && uplink->data_full);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("uplink_data");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, upload_that_the_collector_holds_is_not_stuck);
    tcase_add_test(c, upload_without_an_answer_is_stuck);
    tcase_add_test(c, nothing_is_read_for_a_collector_that_is_away);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
