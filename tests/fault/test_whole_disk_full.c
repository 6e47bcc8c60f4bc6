/* SPDX-License-Identifier: Apache-2.0
 *
 * A collector whose disk is full, beside a real agent: it stores nothing and says so, the agent
 * keeps what fits its bound and counts what does not, and once there is room again everything that
 * was kept is stored. The disk is a tmpfs of this test's own mount namespace; where that is not
 * permitted the test says so and ends.
 */
#include <errno.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "whole.h"

enum { DISK_BYTES = 64 << 20, FREE_BYTES = 16 << 20, CAPTURES_MAX = 600 };
#define SPOOL_BYTES (1u << 20)

static bool disk_mount(const char *folder)
{
    char map[64];
    unsigned uid = (unsigned)geteuid();
    if (unshare(CLONE_NEWNS) != 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
            return false;
        (void)snprintf(map, sizeof map, "0 %u 1", uid);
        file_write_text("/proc/self/uid_map", map);
    }
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 && mkdir(folder, 0700) == 0 &&
           mount("tmpfs", folder, "tmpfs", 0, "size=64m") == 0;
}

static void disk_fill(const char *file)
{
    size_t n = DISK_BYTES - FREE_BYTES / 2;
    char *zeros = calloc(1, n);
    ck_assert_ptr_nonnull(zeros);
    file_write(file, zeros, n);
    free(zeros);
}

/* ---- the agent's spool ---- */

static off_t spool_bytes;

static int add_file(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)path;
    (void)at;
    if (kind == FTW_F)
        spool_bytes += st->st_size;
    return 0;
}

static off_t folder_bytes(const struct whole *w, const char *name)
{
    char *path = whole_path(w, name);
    spool_bytes = 0;
    (void)nftw(path, add_file, 16, FTW_PHYS);
    free(path);
    return spool_bytes;
}

struct agent_facts {
    double lost, kept;
};

static void take_facts(void *context, const cJSON *item)
{
    struct agent_facts *facts = context;
    facts->lost = whole_number(cJSON_GetObjectItemCaseSensitive(item, "lost"), "spool_partitions");
    facts->kept = whole_number(cJSON_GetObjectItemCaseSensitive(item, "spool"), "partitions");
}

static bool is_ready(void *context)
{
    return whole_http(context, "GET", "/readyz", NULL, NULL) == 200;
}

static bool is_not_ready(void *context)
{
    return whole_http(context, "GET", "/readyz", NULL, NULL) == 503;
}

/* ---- afterwards ---- */

struct ledger {
    const struct whole *w;
    unsigned complete, incomplete;
    size_t partitions;
};

static void look_for(void *context, const char *key)
{
    struct ledger *ledger = context;
    char path[256];
    (void)snprintf(path, sizeof path, "/api/v1/partitions/%s", key);
    ck_assert_msg(whole_http(ledger->w, "GET", path, NULL, NULL) == 200,
                  "%s of a complete target is not there", path);
    ledger->partitions++;
}

static void take_capture(void *context, const cJSON *item)
{
    struct ledger *ledger = context;
    const cJSON *target;
    cJSON *capture = whole_capture_final(ledger->w, whole_str(item, "capture"));
    bool complete = strcmp(whole_str(capture, "status"), "complete") == 0;
    ledger->complete += complete;
    ledger->incomplete += !complete;
    cJSON_ArrayForEach(target, cJSON_GetObjectItemCaseSensitive(capture, "targets"))
    {
        if (strcmp(whole_str(target, "status"), "complete") == 0)
            whole_target_keys(target, look_for, ledger);
    }
    cJSON_Delete(capture);
}

static unsigned captures_until_loss(const struct whole *w, const struct load *load)
{
    struct agent_facts facts = {0, 0};
    unsigned captures = 0;
    while (facts.lost == 0) {
        ck_assert_uint_lt(captures, CAPTURES_MAX);
        load_wait_events(load, 2000);
        (void)whole_capture(w, "{\"selector\":\"service=load\",\"pre_ms\":300,"
                               "\"deadline_ms\":2000}");
        captures++;
        (void)whole_list(w, "/api/v1/agents", take_facts, &facts);
    }
    fprintf(stderr, "%u captures, %.0f partitions kept, %.0f lost\n", captures, facts.kept,
            facts.lost);
    ck_assert_double_gt(facts.kept, 0);
    return captures;
}

START_TEST(a_full_disk_is_waited_out_within_the_spools_bound)
{
    struct whole w;
    struct load load;
    struct load_options options = {.service = "load", .threads = 2, .burst = 100, .pause_us = 1000};
    whole_init(&w, "\"store\":{\"min_free_bytes\":16777216,\"segment_bytes\":1048576}",
               "\"ring\":{\"bytes\":1048576},\"spool\":{\"max_bytes\":1048576}");
    char *folder = whole_path(&w, "collector"), *filler = path_join(folder, "filler");
    if (!disk_mount(folder)) {
        fprintf(stderr, "skipped: a file system of its own is not permitted: %s\n",
                strerror(errno));
    } else {
        whole_collector_start(&w);
        whole_agent_start(&w);
        load_start(&w, &options, &load);
        load_wait_attached(&load);
        whole_wait_live(&w, "service%3Dload", 1);
        whole_serves(&w, "service=load");
        disk_fill(filler);
        unsigned captures = captures_until_loss(&w, &load);
        ck_assert_msg(wait_until(is_not_ready, &w, 0), "the collector still calls itself ready");
        ck_assert_int_le(folder_bytes(&w, "agent"), SPOOL_BYTES + (256 << 10));
        ck_assert_int_eq(unlink(filler), 0);
        ck_assert_msg(wait_until(is_ready, &w, 0), "the collector does not recover");
        whole_wait_drained(&w);
        struct ledger ledger = {.w = &w};
        ck_assert_uint_eq(whole_list(&w, "/api/v1/captures", take_capture, &ledger), captures + 1);
        fprintf(stderr, "%u complete, %u incomplete, %zu partitions\n", ledger.complete,
                ledger.incomplete, ledger.partitions);
        ck_assert_uint_gt(ledger.complete, 1);
        ck_assert_uint_gt(ledger.incomplete, 0);
        whole_serves(&w, "service=load");
        load_free(&load);
        whole_stop(&w.agent);
        whole_stop(&w.collector);
        (void)umount2(folder, MNT_DETACH);
    }
    free(filler);
    free(folder);
    whole_fini(&w);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("whole_disk_full", a_full_disk_is_waited_out_within_the_spools_bound, NULL));
}
