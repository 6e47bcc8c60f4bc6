/* SPDX-License-Identifier: Apache-2.0
 *
 * kill -9 of skeind at random moments while quotas, ever smaller ones, delete captures and segments
 * are compacted: what the catalog still has is whole, pinned captures always are, and in the end of
 * what was deleted nothing is left. SKEIN_CRASH_ROUNDS sets the number of kills.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "catalog_capture.h"
#include "catalog_ranges.h"
#include "collector_fixture.h"
#include "support.h"

#define CAPTURES 60 /* each of a process of its own; every fourth is pinned */
#define NOISE    100000
#define STORE    "\"min_free_bytes\":0,\"segment_bytes\":1048576,\"compact_below_percent\":99"

static struct capture_id ids[CAPTURES];

static void make(struct fixture *f, uint32_t i)
{
    char body[160], uid[ID_TEXT_BYTES], error[256];
    struct process_uid process = process_of(i + 1);
    id_text(process.bytes, uid);
    snprintf(body, sizeof body, "{\"selector\":\"process=%s\",\"pin\":%s}", uid,
             i % 4 == 0 ? "true" : "false");
    cJSON *json = call_json(f, "POST", "/api/v1/captures", body, 202);
    const char *id = text_at(json, "capture");
    ck_assert_int_eq(id_parse(id, ids[i].bytes), SKEIN_OK);
    ck_assert(wire_agent_report(&f->agent, wire_target(&f->agent, id, i + 1, "uploading", 1, 1),
                                error, sizeof error));
    ck_assert_int_eq(wire_agent_upload(&f->agent, i + 1, 0, id, NOISE), WIRE_STORED);
    cJSON_Delete(json);
}

/* ---- what is there, with no collector running ---- */

struct found {
    struct index *index;
    unsigned count;
};

static int row_check(void *context, const struct partition_row *row)
{
    struct found *found = context;
    struct store_place place = row->place;
    struct buf want = {0}, got = {0};
    partition_of(&row->record.key, NOISE, &want);
    ck_assert_uint_eq(place.bytes, want.len);
    uint8_t *bytes = buf_reserve(&got, want.len);
    ck_assert_int_eq(index_read(found->index, &row->record.key, &place, 0, bytes, want.len),
                     SKEIN_OK);
    ck_assert_int_eq(memcmp(bytes, want.data, want.len), 0);
    buf_fini(&want);
    buf_fini(&got);
    found->count++;
    return 0;
}

static int row_seen(void *context, const struct catalog_capture *row)
{
    (void)context;
    (void)row;
    return 1;
}

/* `ended`: all that was to be deleted is. Returns how many captures are left. */
static unsigned verify(const char *folder, bool ended)
{
    char error[256] = "";
    struct store *store;
    struct index *index;
    struct catalog *catalog;
    struct store_settings settings = {folder, 1 << 20, 0};
    unsigned left = 0;
    ck_assert_msg(store_open(&settings, &store, error, sizeof error) == SKEIN_OK, "%s", error);
    ck_assert_msg(index_open(folder, store, &index, error, sizeof error) == SKEIN_OK, "%s", error);
    ck_assert_msg(catalog_open(folder, &catalog, error, sizeof error) == SKEIN_OK, "%s", error);
    for (unsigned i = 0; i < CAPTURES; i++) {
        struct found found = {index, 0};
        struct process_uid process = process_of(i + 1); /* each has one of its own */
        struct partition_query query = {.process = &process, .to_ns = UINT64_MAX};
        struct partition_range range, after = {.last = 0};
        ck_assert_int_ge(index_query(index, &query, row_check, &found), 0);
        bool there = catalog_capture(catalog, &ids[i], row_seen, NULL) > 0;
        int64_t listed = catalog_ranges(catalog, &ids[i], &after, &range, 1);
        ck_assert_msg(!there || (listed == 1 && process_uid_equal(&range.key.process, &process)),
                      "capture %u does not list its partition", i);
        ck_assert_msg(!ended || listed == there, "capture %u left a range", i);
        ck_assert_msg(there || i % 4 != 0, "capture %u is pinned and was deleted", i);
        ck_assert_msg(!there || found.count == 1, "capture %u has %u partitions", i, found.count);
        ck_assert_msg(there || !ended || found.count == 0, "capture %u left a partition", i);
        left += there;
    }
    catalog_close(&catalog);
    index_close(&index);
    store_close(&store);
    return left;
}

/* ---- the daemon ---- */

static bool answers(void *context)
{
    const struct fixture *f = context;
    int fd = tcp_connect(f->http_port);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* With a quota of so many captures' bytes. */
static pid_t start(struct fixture *f, unsigned captures)
{
    static char members[128];
    snprintf(members, sizeof members, ",\"retention\":{\"services\":{\"svc\":%u}}",
             captures * (NOISE + 2000));
    f->members = members;
    free(f->config_path);
    fixture_write_config(f);
    const char *const argv[] = {SKEIND, "--config", f->config_path, NULL};
    pid_t pid = spawn(argv, NULL);
    ck_assert(wait_until(answers, f, 0));
    return pid;
}

static int items_of(const struct fixture *f, const char *path)
{
    cJSON *json = call_json(f, "GET", path, NULL, 200);
    int n = cJSON_GetArraySize(at_path(json, "items"));
    cJSON_Delete(json);
    return n;
}

static bool is_done(void *context)
{
    int captures = items_of(context, "/api/v1/captures?limit=1000");
    return captures == CAPTURES / 4 + 2 &&
           items_of(context, "/api/v1/partitions?limit=1000") == captures;
}

START_TEST(kills_while_a_quota_deletes_lose_nothing_else)
{
    struct fixture f;
    const char *rounds_text = getenv("SKEIN_CRASH_ROUNDS");
    unsigned rounds = rounds_text ? (unsigned)strtoul(rounds_text, NULL, 10) : 12;
    unsigned seed = (unsigned)getpid();
    fprintf(stderr, "seed %u\n", seed);
    srandom(seed);
    fixture_start_with(&f, STORE, NULL);
    wire_agent_processes(&f.agent, 1, CAPTURES, "shop");
    for (uint32_t i = 0; i < CAPTURES; i++)
        make(&f, i);
    collector_stop(&f.collector);
    config_free(collector_params, &f.collector.config);
    char *folder = path_join(f.folder, "data");
    ck_assert_uint_eq(verify(folder, false), CAPTURES);
    for (unsigned i = 1; i <= rounds; i++) {
        pid_t pid = start(&f, CAPTURES - i * (CAPTURES / 2) / rounds);
        struct timespec chance = {0, random() % 200000000}; /* the moment, not a wait */
        (void)nanosleep(&chance, NULL);
        ck_assert_int_eq(spawn_stop(pid, SIGKILL, 0), 128 + SIGKILL);
        (void)verify(folder, false);
    }
    pid_t pid = start(&f, CAPTURES / 4 + 2); /* the pinned ones and the youngest two */
    ck_assert_msg(wait_until(is_done, &f, 0), "the quota is not met");
    ck_assert_int_eq(spawn_stop(pid, SIGTERM, 0), 0);
    ck_assert_uint_eq(verify(folder, true), CAPTURES / 4 + 2);
    free(folder);
    wire_agent_close(&f.agent);
    free(f.config_path);
    temp_dir_free(&f.folder);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("retention_kill", kills_while_a_quota_deletes_lose_nothing_else, NULL));
}
