/* SPDX-License-Identifier: Apache-2.0
 * What services have and what is dead, as partitions come, are moved and deleted, and when the
 * index is made anew. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checksum.h"
#include "index.h"
#include "index_delete.h"
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

/* As ingest deletes what was sent for a capture, where another one has partition `kept`. */
static void delete (uint32_t capture, uint64_t kept)
{
    struct capture_id id = capture_of(capture);
    struct index_entry entries[16];
    struct store_record records[17] = {0};
    uint64_t after = 0;
    size_t done, gone = 0;
    int64_t n = index_sent_for(index_, &id, &after, entries, 16);
    ck_assert_int_ge(n, 0);
    for (int64_t i = 0; i < n; i++)
        if (entries[i].key.sequence != kept)
            records[gone++].key = entries[i].key;
    records[gone].capture = id;
    ck_assert_int_eq(store_append_tombstones(store, records, gone + 1, &done), SKEIN_OK);
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
    for (int round = 0; round < 3; round++) {
        check_services(cart, shop);
        uint64_t live, dead;
        ck_assert_int_eq(index_usage(index_, &live, &dead), SKEIN_OK);
        ck_assert_uint_eq(live, cart + shop);
        ck_assert_uint_eq(dead, 0);
        reopen(round == 1);
    }
}
END_TEST

START_TEST(deleting_gives_back_what_no_other_capture_has)
{
    uint64_t first = put(1, "shop", 1), second = put(2, "shop", 1), third = put(3, "cart", 2);
    uint64_t live, dead;
    delete (1, 2);
    check_services(third, second);
    ck_assert_int_eq(index_usage(index_, &live, &dead), SKEIN_OK);
    ck_assert_uint_eq(live, second + third);
    ck_assert_uint_ge(dead, first);
    delete (2, 0);
    check_services(0, second);
    delete (1, 0);
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

int main(void)
{
    Suite *suite = suite_create("index_usage");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, services_have_the_bytes_of_their_partitions_each_once);
    tcase_add_test(c, deleting_gives_back_what_no_other_capture_has);
    tcase_add_test(c, moving_a_partition_changes_no_service);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
