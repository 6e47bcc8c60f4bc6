/* SPDX-License-Identifier: Apache-2.0
 *
 * A collector whose disk gets full, beside a real agent: it takes nothing before the disk is full
 * and says so, the agent keeps what fits its bound and counts what does not, and once there is room
 * again, by itself or because captures were deleted, everything that was kept is stored. The disk
 * is a tmpfs of this test's own mount namespace; where that is not permitted the test says so and
 * ends.
 */
#include <errno.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "whole.h"

enum { MIN_FREE_BYTES = 16 << 20, LONG_MS = 90000 };
#define SPOOL_BYTES (1u << 20)

/* A mount namespace of the test's own, for disks of its own. */
static bool disks_begin(void)
{
    char map[64];
    unsigned uid = (unsigned)geteuid();
    if (unshare(CLONE_NEWNS) != 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
            return false;
        (void)snprintf(map, sizeof map, "0 %u 1", uid);
        file_write_text("/proc/self/uid_map", map);
    }
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static bool disk_mount(const char *folder)
{
    return mkdir(folder, 0700) == 0 && mount("tmpfs", folder, "tmpfs", 0, "size=64m") == 0;
}

static uint64_t disk_free(const char *folder)
{
    struct statvfs disk;
    ck_assert_int_eq(statvfs(folder, &disk), 0);
    return (uint64_t)disk.f_bavail * disk.f_frsize;
}

/* Leaves so many bytes free. */
static void disk_fill(const char *folder, const char *file, uint64_t leave)
{
    uint64_t now = disk_free(folder);
    ck_assert_uint_gt(now, leave);
    size_t n = (size_t)(now - leave);
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

static bool has_lost(void *context)
{
    struct agent_facts facts = {0, 0};
    (void)whole_list(context, "/api/v1/agents", take_facts, &facts);
    return facts.lost > 0;
}

static bool has_kept(void *context)
{
    struct agent_facts facts = {0, 0};
    (void)whole_list(context, "/api/v1/agents", take_facts, &facts);
    return facts.kept > 0;
}

/* ---- a stream ---- */

static void stream_begin(const struct whole *w, const char *selector, char id[ID_TEXT_BYTES])
{
    char body[128];
    (void)snprintf(body, sizeof body, "{\"selector\":\"%s\",\"kind\":\"stream\"}", selector);
    struct capture_id capture = whole_capture(w, body);
    id_text(capture.bytes, id);
}

static void stream_stop(const struct whole *w, const char *id)
{
    char path[96];
    (void)snprintf(path, sizeof path, "/api/v1/captures/%s:stop", id);
    ck_assert_int_eq(whole_http(w, "POST", path, NULL, NULL), 202);
}

struct amount {
    const struct whole *w;
    const char *capture;
    double bytes;
};

static bool has_stored(void *context)
{
    const struct amount *a = context;
    cJSON *json = whole_get(a->w, "/api/v1/captures/%s", a->capture);
    const cJSON *target = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(json, "targets"), 0);
    bool has = whole_number(target, "bytes") > a->bytes;
    cJSON_Delete(json);
    return has;
}

static void wait_stored(const struct whole *w, const char *capture, double bytes)
{
    struct amount amount = {w, capture, bytes};
    ck_assert_msg(wait_until(has_stored, &amount, LONG_MS), "%.0f bytes are not stored", bytes);
}

/* New captures are refused, in words. */
static void expect_refused(const struct whole *w)
{
    struct buf answer = {0};
    ck_assert_msg(wait_until(is_not_ready, (void *)(uintptr_t)w, 0),
                  "the collector still calls itself ready");
    ck_assert_int_eq(
        whole_http(w, "POST", "/api/v1/captures", "{\"selector\":\"service=load\"}", &answer), 507);
    buf_put_u8(&answer, 0);
    ck_assert_ptr_nonnull(strstr((const char *)answer.data, "delete captures"));
    buf_fini(&answer);
    cJSON *json = whole_get(w, "/api/v1/storage");
    ck_assert_str_eq(whole_str(json, "status"), "full");
    ck_assert_double_eq(whole_number(json, "min_free_bytes"), MIN_FREE_BYTES);
    cJSON_Delete(json);
}

/* ---- afterwards ---- */

static void look_for(void *context, const char *key)
{
    char path[256];
    (void)snprintf(path, sizeof path, "/api/v1/partitions/%s", key);
    ck_assert_msg(whole_http(context, "GET", path, NULL, NULL) == 200,
                  "%s of a complete target is not there", path);
}

static void expect_truth(struct whole *w, const char *id)
{
    const cJSON *target;
    cJSON *capture = whole_capture_final(w, id);
    const cJSON *verdict = cJSON_GetObjectItemCaseSensitive(capture, "verdict");
    ck_assert_msg(cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(verdict, "complete")), "%s",
                  whole_str(verdict, "text"));
    cJSON_ArrayForEach(target, cJSON_GetObjectItemCaseSensitive(capture, "targets")) {
        if (strcmp(whole_str(target, "status"), "complete") == 0)
            whole_target_keys(target, look_for, w);
    }
    cJSON_Delete(capture);
}

/* ---- a disk of its own ---- */

struct disk {
    struct whole w;
    char *folder, *filler;
    char *agent_folder, *agent_filler;
    bool mounted;
};

static void disk_begin(struct disk *d, const char *spool)
{
    char agent[160];
    /* A load that is killed leaves no capture of its own, which would share what is deleted. */
    (void)snprintf(agent, sizeof agent,
                   "\"ring\":{\"bytes\":4194304},\"spool\":{\"max_bytes\":%s},"
                   "\"crash\":{\"capture\":false}",
                   spool);
    whole_init(&d->w, "\"store\":{\"min_free_bytes\":16777216,\"segment_bytes\":1048576}", agent);
    d->folder = whole_path(&d->w, "collector");
    d->filler = path_join(d->folder, "filler");
    d->agent_folder = whole_path(&d->w, "agent");
    d->agent_filler = path_join(d->agent_folder, "filler");
    d->mounted = disks_begin() && disk_mount(d->folder) && disk_mount(d->agent_folder);
    if (!d->mounted) {
        fprintf(stderr, "skipped: a file system of its own is not permitted: %s\n",
                strerror(errno));
        return;
    }
    whole_collector_start(&d->w);
    whole_agent_start(&d->w);
}

static void disk_end(struct disk *d)
{
    if (d->mounted) {
        whole_stop(&d->w.agent);
        whole_stop(&d->w.collector);
        (void)umount2(d->folder, MNT_DETACH);
        (void)umount2(d->agent_folder, MNT_DETACH);
    }
    free(d->agent_filler);
    free(d->agent_folder);
    free(d->filler);
    free(d->folder);
    whole_fini(&d->w);
}

START_TEST(a_full_disk_is_waited_out_within_the_spools_bound)
{
    struct disk d;
    struct load load;
    struct load_options options = {.service = "load", .threads = 2, .burst = 300, .pause_us = 1000};
    char id[ID_TEXT_BYTES];
    disk_begin(&d, "1048576");
    if (d.mounted) {
        load_start(&d.w, &options, &load);
        load_wait_attached(&load);
        whole_wait_live(&d.w, "service%3Dload", 1);
        whole_serves(&d.w, "service=load");
        stream_begin(&d.w, "service=load", id);
        wait_stored(&d.w, id, 0);
        disk_fill(d.folder, d.filler, MIN_FREE_BYTES / 2);
        expect_refused(&d.w);
        ck_assert_uint_gt(disk_free(d.folder), MIN_FREE_BYTES / 4);
        ck_assert_msg(wait_until(has_lost, &d.w, LONG_MS), "the spool takes more than its bound");
        ck_assert_int_le(folder_bytes(&d.w, "agent"), SPOOL_BYTES + (256 << 10));
        ck_assert_int_eq(unlink(d.filler), 0);
        ck_assert_msg(wait_until(is_ready, &d.w, 0), "the collector does not recover");
        stream_stop(&d.w, id);
        whole_wait_drained(&d.w);
        expect_truth(&d.w, id);
        whole_serves(&d.w, "service=load");
        load_free(&load);
    }
    disk_end(&d);
}
END_TEST

/* The event numbers of `load` in the stream: without a hole, up to what was written at its stop. */
static void expect_whole(const struct whole *w, const char *id, const uint64_t *stopped)
{
    struct tally tally;
    struct buf bytes = {0};
    char path[96];
    cJSON *json = whole_capture_final(w, id);
    const cJSON *verdict = cJSON_GetObjectItemCaseSensitive(json, "verdict");
    ck_assert_msg(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(verdict, "complete")), "%s",
                  whole_str(verdict, "text"));
    cJSON_Delete(json);
    (void)snprintf(path, sizeof path, "/api/v1/captures/%s/trace", id);
    ck_assert_int_eq(whole_http(w, "GET", path, NULL, &bytes), 200);
    tally_trace(&bytes, &tally);
    buf_fini(&bytes);
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(tally.threads[i].holes, 0);
        ck_assert_uint_ge(tally.threads[i].last + 1, stopped[i]);
    }
}

/* A stream runs into the full disk; an older capture is deleted for it. */
START_TEST(deleting_makes_room_and_nothing_that_was_kept_is_lost)
{
    struct disk d;
    struct load old, load;
    struct load_options fast = {.service = "old", .threads = 4, .burst = 2000, .pause_us = 1000};
    struct load_options slow = {.service = "load", .threads = 2, .burst = 20, .pause_us = 1000};
    char id[ID_TEXT_BYTES], old_id[ID_TEXT_BYTES], path[96];
    uint64_t stopped[2];
    disk_begin(&d, "67108864");
    if (d.mounted) {
        load_start(&d.w, &fast, &old);
        whole_wait_live(&d.w, "service%3Dold", 1);
        stream_begin(&d.w, "service=old", old_id);
        wait_stored(&d.w, old_id, 5 << 18);
        stream_stop(&d.w, old_id);
        load_free(&old);
        cJSON_Delete(whole_capture_final(&d.w, old_id));
        load_start(&d.w, &slow, &load);
        whole_wait_live(&d.w, "service%3Dload", 1);
        stream_begin(&d.w, "service=load", id);
        wait_stored(&d.w, id, 0);
        disk_fill(d.folder, d.filler, MIN_FREE_BYTES + (64 << 10));
        expect_refused(&d.w);
        ck_assert_uint_gt(disk_free(d.folder), MIN_FREE_BYTES - (1 << 20));
        ck_assert_msg(wait_until(has_kept, &d.w, 0), "the agent keeps nothing");
        (void)snprintf(path, sizeof path, "/api/v1/captures/%s", old_id);
        ck_assert_int_eq(whole_http(&d.w, "DELETE", path, NULL, NULL), 204);
        ck_assert_msg(wait_until(is_ready, &d.w, 0), "deleting has made no room");
        for (int i = 0; i < 2; i++)
            stopped[i] = load.page->committed[i];
        stream_stop(&d.w, id);
        whole_wait_drained(&d.w);
        expect_whole(&d.w, id, stopped);
        load_free(&load);
    }
    disk_end(&d);
}
END_TEST

/* To the last byte. */
static void disk_fill_up(const char *file)
{
    static const char zeros[65536];
    FILE *f = fopen(file, "ae");
    ck_assert_ptr_nonnull(f);
    setvbuf(f, NULL, _IONBF, 0);
    for (size_t n = sizeof zeros; n > 0;)
        n = fwrite(zeros, 1, n, f) == n ? n : n / 2;
    fclose(f);
}

static void delete_old(struct disk *d, const char *id)
{
    char path[96];
    (void)snprintf(path, sizeof path, "/api/v1/captures/%s", id);
    ck_assert_uint_eq(disk_free(d->folder), 0);
    ck_assert_int_eq(whole_http(&d->w, "DELETE", path, NULL, NULL), 204);
    ck_assert_int_eq(whole_http(&d->w, "GET", path, NULL, NULL), 404);
    ck_assert_uint_gt(disk_free(d->folder), 0);
}

static bool has_reserve(void *folder)
{
    struct stat st;
    char *path = path_join(folder, "reserve");
    bool has = stat(path, &st) == 0 && st.st_blocks * 512 >= 256 << 10;
    free(path);
    return has;
}

/* Others have filled it, also what the collector leaves free: once, and again. */
START_TEST(captures_are_deleted_where_not_a_byte_is_free)
{
    struct disk d;
    struct load old;
    struct load_options fast = {.service = "old", .threads = 4, .burst = 2000, .pause_us = 1000};
    char ids[3][ID_TEXT_BYTES];
    disk_begin(&d, "67108864");
    if (d.mounted) {
        load_start(&d.w, &fast, &old);
        whole_wait_live(&d.w, "service%3Dold", 1);
        for (int i = 0; i < 3; i++) {
            stream_begin(&d.w, "service=old", ids[i]);
            wait_stored(&d.w, ids[i], 2 << 20);
            stream_stop(&d.w, ids[i]);
            cJSON_Delete(whole_capture_final(&d.w, ids[i]));
        }
        load_free(&old);
        ck_assert(has_reserve(d.folder));
        for (int i = 0; i < 2; i++) {
            disk_fill_up(d.filler);
            delete_old(&d, ids[i]);
            ck_assert_msg(wait_until(has_reserve, d.folder, 0), "no room is set aside again");
        }
        /* It starts on a disk that is full, too. */
        disk_fill_up(d.filler);
        whole_stop(&d.w.collector);
        disk_fill_up(d.filler);
        whole_collector_start(&d.w);
        ck_assert_msg(wait_until(has_reserve, d.folder, 0), "no room is set aside again");
        whole_stop(&d.w.agent);
        disk_fill_up(d.agent_filler);
        whole_agent_start(&d.w); /* an agent too */
        disk_fill_up(d.filler);
        delete_old(&d, ids[2]);
        ck_assert_int_eq(unlink(d.filler), 0);
        ck_assert_msg(wait_until(is_ready, &d.w, 0), "the collector does not recover");
    }
    disk_end(&d);
}
END_TEST

/* Others have taken what was set aside as well: what is stored is served, and room is all it needs.
 */
START_TEST(daemons_start_where_nothing_was_set_aside)
{
    struct disk d;
    struct load load;
    struct load_options options = {.service = "load", .threads = 2, .burst = 300, .pause_us = 1000};
    char id[ID_TEXT_BYTES], *reserve;
    disk_begin(&d, "67108864");
    if (d.mounted) {
        load_start(&d.w, &options, &load);
        whole_wait_live(&d.w, "service%3Dload", 1);
        stream_begin(&d.w, "service=load", id);
        wait_stored(&d.w, id, 1 << 20);
        stream_stop(&d.w, id);
        cJSON_Delete(whole_capture_final(&d.w, id));
        reserve = path_join(d.folder, "reserve");
        for (int round = 0; round < 2; round++) {
            if (round == 0) { /* it ended well, and then it was killed */
                ck_assert_int_eq(whole_stop(&d.w.collector), 0);
                ck_assert_int_eq(whole_stop(&d.w.agent), 0);
            } else {
                whole_kill(&d.w.collector);
                whole_kill(&d.w.agent);
            }
            (void)unlink(reserve);
            disk_fill_up(d.filler);
            disk_fill_up(d.agent_filler);
            ck_assert_uint_eq(disk_free(d.folder), 0);
            ck_assert_uint_eq(disk_free(d.agent_folder), 0);
            whole_collector_start(&d.w);
            whole_agent_start(&d.w);
            expect_refused(&d.w);
            cJSON *capture = whole_capture_final(&d.w, id);
            whole_target_keys(
                cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(capture, "targets"), 0),
                look_for, &d.w);
            cJSON_Delete(capture);
        }
        free(reserve);
        ck_assert_int_eq(unlink(d.filler), 0);
        ck_assert_int_eq(unlink(d.agent_filler), 0);
        ck_assert_msg(wait_until(is_ready, &d.w, 0), "the collector does not recover");
        whole_wait_live(&d.w, "service%3Dload", 1);
        whole_serves(&d.w, "service=load");
        load_free(&load);
    }
    disk_end(&d);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("whole_disk_full", a_full_disk_is_waited_out_within_the_spools_bound,
                              deleting_makes_room_and_nothing_that_was_kept_is_lost,
                              captures_are_deleted_where_not_a_byte_is_free,
                              daemons_start_where_nothing_was_set_aside, NULL));
}
