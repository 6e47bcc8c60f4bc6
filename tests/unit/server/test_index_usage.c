/* SPDX-License-Identifier: Apache-2.0
 * What services have, what is dead, and what deleting a capture would free, as partitions come, are
 * shared, moved and deleted, and when the index is made anew. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checksum.h"
#include "index.h"
#include "index_usage.h"
#include "partition_make.h"
#include "support.h"

#define SECOND UINT64_C(1000000000)

static char *folder;
static struct store *store;
static struct index *index_;

static void open_both(void)
{
    char error[256] = "";
    struct store_settings settings = {.folder = folder, .segment_bytes = 4000};
    ck_assert_msg(store_open(&settings, &store, error, sizeof error) == SKEIN_OK, "%s", error);
    ck_assert_msg(index_open(folder, store, &index_, error, sizeof error) == SKEIN_OK, "%s", error);
}

static void close_both(void)
{
    index_close(&index_);
    store_close(&store);
}

static void setup(void)
{
    folder = temp_dir_new();
    open_both();
}

static void teardown(void)
{
    close_both();
    temp_dir_free(&folder);
}

static void reopen(bool anew)
{
    char *database = path_join(folder, "index.db");
    close_both();
    if (anew)
        ck_assert_int_eq(unlink(database), 0);
    free(database);
    open_both();
}

/* Stores one partition of process 1; its bytes. */
static uint64_t put(uint64_t sequence, const char *service, uint32_t capture)
{
    struct partition_spec spec = {.key = key_of(1, 1, sequence),
                                  .from_ns = sequence * SECOND,
                                  .to_ns = sequence * SECOND + 1,
                                  .service = service,
                                  .noise_bytes = 300};
    struct store_record record = {.key = spec.key, .capture = capture_of(capture)};
    struct buf bytes = {0};
    struct store_place place;
    struct partition_footer footer;
    struct partition_row row;
    size_t need;
    partition_make(&spec, &bytes);
    ck_assert_int_eq(store_append(store, &record, bytes.data, bytes.len,
                                  checksum64(bytes.data, bytes.len), &place),
                     SKEIN_OK);
    ck_assert_int_eq(store_sync(store), SKEIN_OK);
    ck_assert_int_eq(partition_footer_get(bytes.data, bytes.len, &footer, &need), SKEIN_OK);
    partition_row_make(&row, &record, &place, &footer, 0);
    ck_assert_int_eq(index_add(index_, &row, 1), SKEIN_OK);
    partition_footer_free(&footer);
    buf_fini(&bytes);
    return place.bytes;
}

/* As ingest deletes. */
static void delete (uint32_t capture)
{
    struct capture_id id = capture_of(capture);
    struct partition_key keys[16];
    struct store_record records[17] = {0};
    size_t done;
    int64_t n = index_only_of(index_, &id, keys, 16);
    ck_assert_int_ge(n, 0);
    for (int64_t i = 0; i < n; i++)
        records[i].key = keys[i];
    records[n].capture = id;
    ck_assert_int_eq(store_append_tombstones(store, records, (size_t)n + 1, &done), SKEIN_OK);
    ck_assert_int_eq(index_tombstones_add(index_, records, done), SKEIN_OK);
}

struct services {
    char text[256];
};

static int add_service(void *context, const char *service, uint64_t bytes)
{
    struct services *s = context;
    size_t used = strlen(s->text);
    snprintf(s->text + used, sizeof s->text - used, "%s%s=%llu", used > 0 ? " " : "", service,
             (unsigned long long)bytes);
    return 0;
}

/* 0: the service is not there. */
static void check_services(uint64_t cart, uint64_t shop)
{
    struct services got = {""}, want = {""};
    if (cart > 0)
        add_service(&want, "cart", cart);
    if (shop > 0)
        add_service(&want, "shop", shop);
    ck_assert_int_ge(index_services(index_, add_service, &got), 0);
    ck_assert_str_eq(got.text, want.text);
}

START_TEST(services_have_the_bytes_of_their_partitions_each_once)
{
    uint64_t shop = put(1, "shop", 1);
    shop += put(2, "shop", 2);
    uint64_t cart = put(3, "cart", 2);
    struct process_uid process = process_of(1);
    struct capture_id sharing = capture_of(3);
    ck_assert_int_eq(index_share(index_, &sharing, &process, 1, 1, 3), 3);
    for (int round = 0; round < 3; round++) {
        check_services(cart, shop);
        uint64_t live, dead;
        ck_assert_int_eq(index_usage(index_, &live, &dead), SKEIN_OK);
        ck_assert_uint_eq(live, cart + shop);
        ck_assert_uint_eq(dead, 0);
        reopen(round == 1); /* what is shared is shared again by the captures' engine */
    }
}
END_TEST

START_TEST(deleting_gives_back_what_no_other_capture_has)
{
    uint64_t first = put(1, "shop", 1), second = put(2, "shop", 1), third = put(3, "cart", 2);
    struct process_uid process = process_of(1);
    struct capture_id sharing = capture_of(2);
    uint64_t live, dead;
    ck_assert_int_eq(index_share(index_, &sharing, &process, 1, 2, 2), 1);
    delete (1);
    check_services(third, second);
    ck_assert_int_eq(index_usage(index_, &live, &dead), SKEIN_OK);
    ck_assert_uint_eq(live, second + third);
    ck_assert_uint_ge(dead, first);
    delete (2);
    check_services(0, 0);
    ck_assert_int_eq(index_usage(index_, &live, &dead), SKEIN_OK);
    ck_assert_uint_eq(live, 0);
    ck_assert_uint_ge(dead, first + second + third);
    reopen(true);
    check_services(0, 0);
}
END_TEST

START_TEST(moving_a_partition_changes_no_service)
{
    uint64_t bytes = put(1, "shop", 1);
    struct partition_row row;
    uint64_t live, dead, before;
    struct partition_key key = key_of(1, 1, 1);
    ck_assert_int_eq(index_usage(index_, &live, &before), SKEIN_OK);
    ck_assert_int_eq(index_find(index_, &key, &row), 1);
    ck_assert_int_eq(store_copy(store, &key, &row.place), SKEIN_OK);
    ck_assert_int_eq(store_sync(store), SKEIN_OK);
    ck_assert_int_eq(index_move(index_, &row, 1), SKEIN_OK);
    check_services(0, bytes);
    ck_assert_int_eq(index_usage(index_, &live, &dead), SKEIN_OK);
    ck_assert_uint_eq(live, bytes);
    ck_assert_uint_ge(dead, before + bytes);
}
END_TEST

static void check_frees(uint32_t capture, const char *service, uint64_t now, uint64_t later)
{
    struct capture_id id = capture_of(capture);
    uint64_t got_now, got_later;
    ck_assert_int_eq(index_frees(index_, &id, service, &got_now, &got_later), SKEIN_OK);
    ck_assert_uint_eq(got_now, now);
    ck_assert_uint_eq(got_later, later);
}

START_TEST(a_deletion_frees_now_what_is_alone_and_later_what_nobody_protected_has)
{
    uint64_t alone = put(1, "shop", 1), shared = put(2, "shop", 1), kept = put(3, "cart", 1);
    struct process_uid process = process_of(1);
    struct capture_id other = capture_of(2), pinned = capture_of(3);
    ck_assert_int_eq(index_share(index_, &other, &process, 1, 2, 2), 1);
    ck_assert_int_eq(index_share(index_, &pinned, &process, 1, 3, 3), 1);
    ck_assert_int_eq(index_protect(index_, NULL, 0), SKEIN_OK);
    check_frees(1, NULL, alone, alone + shared + kept);
    ck_assert_int_eq(index_protect(index_, &pinned, 1), SKEIN_OK);
    check_frees(1, NULL, alone, alone + shared);
    check_frees(1, "shop", alone, alone + shared);
    check_frees(1, "cart", 0, 0);
    check_frees(2, NULL, 0, shared);
    check_frees(4, NULL, 0, 0);
    ck_assert_int_eq(index_protect(index_, &other, 1), SKEIN_OK); /* the list is another one */
    check_frees(1, NULL, alone, alone + kept);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("index_usage");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, services_have_the_bytes_of_their_partitions_each_once);
    tcase_add_test(c, deleting_gives_back_what_no_other_capture_has);
    tcase_add_test(c, moving_a_partition_changes_no_service);
    tcase_add_test(c, a_deletion_frees_now_what_is_alone_and_later_what_nobody_protected_has);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
