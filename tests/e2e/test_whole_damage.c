/* SPDX-License-Identifier: Apache-2.0
 *
 * The collector's disk changes what it was given, while everything runs: what is damaged is not
 * handed out, by no way, and captures say so from then on. The bytes are changed by this test, in
 * the files. One thread.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "whole.h"

static struct whole w;
static struct load load;

static void set_up(void)
{
    whole_shop(&w, &load, WHOLE_NO_EVIDENCE);
}

static void tear_down(void)
{
    load_free(&load);
    whole_fini(&w);
}

static int skein(const char *first, const char *id, const char *file)
{
    char collector[64];
    char *out = whole_path(&w, "out");
    (void)snprintf(collector, sizeof collector, "SKEIN_COLLECTOR=http://127.0.0.1:%u", w.http);
    const char *argv[] = {SKEIN_PROGRAM, first, id, file ? "-o" : NULL, file, NULL};
    int status = spawn_wait(
        spawn(argv, &(struct spawn_options){.env = (const char *const[]){collector, NULL},
                                            .folder = w.folder,
                                            .out_file = out}),
        0);
    free(out);
    return status;
}

static void capture(char id[ID_TEXT_BYTES])
{
    load_wait_events(&load, 200);
    struct capture_id capture =
        whole_capture(&w, "{\"selector\":\"service=shop\",\"pre_ms\":10000}");
    id_text(capture.bytes, id);
    cJSON *json = whole_capture_final(&w, id);
    ck_assert_str_eq(whole_str(json, "status"), "complete");
    cJSON_Delete(json);
}

static void segment_path(char path[512])
{
    char *folder = whole_path(&w, "collector/store");
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        free(folder);
        folder = whole_path(&w, "collector");
        dir = opendir(folder);
    }
    ck_assert_ptr_nonnull(dir);
    path[0] = '\0';
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        if (strstr(e->d_name, ".seg") != NULL)
            (void)snprintf(path, 512, "%s/%s", folder, e->d_name);
    closedir(dir);
    free(folder);
    ck_assert_msg(path[0] != '\0', "no segment");
}

enum harm { FLIP, ZERO, CUT, HARMS };

/* In the middle of what was stored first: a record's header and the segment's are before it. */
static void harm(enum harm how, const char *id)
{
    char path[512], url[128];
    struct stat st;
    uint8_t byte, zeros[4096] = {0};
    segment_path(path);
    (void)snprintf(url, sizeof url, "/api/v1/captures/%s/manifest", id);
    cJSON *manifest = whole_get(&w, "%s", url);
    off_t bytes = (off_t)whole_number(manifest, "bytes");
    cJSON_Delete(manifest);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fstat(fd, &st), 0);
    off_t at = st.st_size - bytes / 2;
    if (how == CUT) {
        ck_assert_int_eq(ftruncate(fd, at), 0);
    } else if (how == ZERO) {
        size_t n = bytes / 4 < 4096 ? (size_t)(bytes / 4) : sizeof zeros;
        ck_assert_int_eq(pwrite(fd, zeros, n, at), (ssize_t)n);
    } else {
        ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
        byte ^= 0x10;
        ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
    }
    close(fd);
}

static bool is_damaged(void *context)
{
    cJSON *json = whole_get(&w, "/api/v1/captures/%s", (const char *)context);
    bool incomplete = strcmp(whole_str(json, "status"), "incomplete") == 0;
    char *text = cJSON_PrintUnformatted(json);
    incomplete = incomplete && strstr(text, "\"damaged\"") != NULL &&
                 strstr(text, "events lost, damaged") != NULL; /* the verdict says so, too */
    cJSON_free(text);
    cJSON_Delete(json);
    return incomplete;
}

static void expect_refused(const char *of, const char *id, const char *what)
{
    char url[256];
    struct buf body = {0};
    (void)snprintf(url, sizeof url, "/api/v1/%s/%s%s", of, id, what);
    ck_assert_int_eq(whole_http(&w, "GET", url, NULL, &body), 500);
    buf_put_u8(&body, 0);
    ck_assert_ptr_nonnull(strstr((const char *)body.data, "is damaged"));
    ck_assert_ptr_nonnull(strstr((const char *)body.data, "segment 1 at byte "));
    buf_fini(&body);
}

static void take_key(void *context, const cJSON *item)
{
    (void)snprintf(context, 128, "%s", whole_str(item, "partition"));
}

START_TEST(what_the_disk_changed_is_refused_and_told)
{
    char id[ID_TEXT_BYTES], url[160], key[128] = "";
    struct buf text = {0};
    capture(id);
    ck_assert_int_eq(skein("fetch", id, "before.skein"), 0);
    harm((enum harm)_i, id);
    ck_assert_int_ne(skein("fetch", id, "after.skein"), 0);
    ck_assert(wait_until(is_damaged, id, 0));
    expect_refused("captures", id, "/trace");
    expect_refused("captures", id, "/trace?format=perfetto");
    expect_refused("captures", id, "/trace?from=1");
    (void)snprintf(url, sizeof url, "/api/v1/partitions?capture=%s", id);
    ck_assert_uint_eq(whole_list(&w, url, take_key, key), 1);
    expect_refused("partitions", key, "");
    (void)snprintf(url, sizeof url, "/api/v1/captures/%s/trace?damaged=skip", id);
    ck_assert_int_eq(whole_http(&w, "GET", url, NULL, NULL), 404); /* nothing is left of it */
    ck_assert_int_eq(whole_http(&w, "GET", "/metrics", NULL, &text), 200);
    buf_put_u8(&text, 0);
    ck_assert_ptr_null(strstr((const char *)text.data, "skein_store_refused_total 0\n"));
    ck_assert_ptr_nonnull(strstr((const char *)text.data, "reason=\"damaged\""));
    buf_fini(&text);
    if ((enum harm)_i == CUT)
        return; /* the rest of the file is gone: another test's matter */
    /* What came later is whole, and a collector that starts anew knows of the damage too. */
    load_wait_events(&load, 200);
    char later[ID_TEXT_BYTES];
    struct capture_id next =
        whole_capture(&w, "{\"selector\":\"service=shop\",\"pre_ms\":0,\"post_ms\":300}");
    id_text(next.bytes, later);
    cJSON *json = whole_capture_final(&w, later);
    ck_assert_str_eq(whole_str(json, "status"), "complete");
    cJSON_Delete(json);
    ck_assert_int_eq(whole_stop(&w.collector), 0);
    whole_collector_start(&w);
    ck_assert(is_damaged(id));
}
END_TEST

START_TEST(the_rest_of_a_capture_can_be_had)
{
    char id[ID_TEXT_BYTES], url[160];
    struct load other;
    struct buf bytes = {0};
    load_start(
        &w, &(struct load_options){.service = "shop", .threads = 1, .burst = 20, .pause_us = 2000},
        &other);
    load_wait_attached(&other);
    whole_wait_live(&w, "service%3Dshop", 2);
    load_wait_events(&other, 200);
    capture(id);
    harm(FLIP, id); /* one of the two */
    expect_refused("captures", id, "/trace");
    (void)snprintf(url, sizeof url, "/api/v1/captures/%s/trace?damaged=skip", id);
    ck_assert_int_eq(whole_http(&w, "GET", url, NULL, &bytes), 200);
    struct tally tally;
    tally_trace(&bytes, &tally);
    ck_assert_uint_eq(tally.partitions, 1);
    buf_fini(&bytes);

    char collector[64], *file = whole_path(&w, "rest.skein");
    (void)snprintf(collector, sizeof collector, "SKEIN_COLLECTOR=http://127.0.0.1:%u", w.http);
    const char *argv[] = {SKEIN_PROGRAM, "fetch", id, "-o", file, "--skip-damaged", NULL};
    struct spawn_options options = {.env = (const char *const[]){collector, NULL}};
    ck_assert_int_eq(spawn_wait(spawn(argv, &options), 0), 0);
    ck_assert_int_eq(access(file, F_OK), 0);
    argv[5] = NULL;
    ck_assert_int_ne(spawn_wait(spawn(argv, &options), 0), 0);
    free(file);
    load_free(&other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole_damage");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_set_timeout(c, 280);
    tcase_add_loop_test(c, what_the_disk_changed_is_refused_and_told, 0, HARMS);
    tcase_add_test(c, the_rest_of_a_capture_can_be_had);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
