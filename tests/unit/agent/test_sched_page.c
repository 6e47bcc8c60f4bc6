/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages of the kernel's trace buffer made by hand, from the words of its ring_buffer.h.
 */
#include <stdlib.h>
#include <string.h>

#include "sched_keep.h"
#include "skein/status.h"
#include "support.h"

static const struct page_shape shape = {
    .bytes = 4096, .commit_offset = 8, .commit_bytes = 8, .data_offset = 16};

struct page {
    uint8_t bytes[256];
    size_t n;
};

static void word_put(struct page *page, uint32_t word)
{
    for (unsigned i = 0; i < 4; i++)
        page->bytes[page->n++] = (uint8_t)(word >> 8 * i);
}

static struct page page_begin(uint64_t time_ns)
{
    struct page page = {.n = 0};
    word_put(&page, (uint32_t)time_ns);
    word_put(&page, (uint32_t)(time_ns >> 32));
    page.n = 16;
    return page;
}

static void page_end(struct page *page, uint32_t flags, uint64_t missed)
{
    uint32_t commit = (uint32_t)(page->n - 16) | flags;
    memcpy(page->bytes + 8, &commit, sizeof commit); /* little-endian, as all hosts of tests */
    if ((flags & 1u << 30) != 0) {
        word_put(page, (uint32_t)missed);
        word_put(page, (uint32_t)(missed >> 32));
    }
}

/* One of each kind of record: three with data, at 1000, 1000 + 2^27 * 3 + 5, 7777. */
static struct page page_make(uint32_t flags, uint64_t missed)
{
    struct page page = page_begin(1000);
    word_put(&page, 2 | 0u << 5); /* 8 bytes of data */
    word_put(&page, 0x11111111);
    word_put(&page, 0x22222222);
    word_put(&page, 30 | 4u << 5); /* time: 3 * 2^27 + 4 */
    word_put(&page, 3);
    word_put(&page, 0 | 1u << 5); /* 6 bytes of data, with their length */
    word_put(&page, 4 + 6);
    word_put(&page, 0x33333333);
    word_put(&page, 0x00004444);
    word_put(&page, 29 | 9u << 5); /* a record that was taken back: 8 bytes in all */
    word_put(&page, 8);
    word_put(&page, 0xdeadbeef);
    word_put(&page, 31 | 7000u << 5); /* absolute time */
    word_put(&page, 0);
    word_put(&page, 1 | 777u << 5);
    word_put(&page, 0x55555555);
    word_put(&page, 29); /* nothing more */
    word_put(&page, 0xdeadbeef);
    page_end(&page, flags, missed);
    return page;
}

START_TEST(records_and_their_times_are_those_of_the_page)
{
    struct page page = page_make(0, 0);
    struct page_cursor c;
    const uint8_t *record;
    uint64_t time_ns;
    size_t n;
    ck_assert_int_eq(page_open(&c, &shape, page.bytes, page.n), SKEIN_OK);
    ck_assert(!c.missed);
    ck_assert_int_eq(page_next(&c, &time_ns, &record, &n), 1);
    ck_assert(time_ns == 1000 && n == 8 && record[0] == 0x11 && record[4] == 0x22);
    ck_assert_int_eq(page_next(&c, &time_ns, &record, &n), 1);
    ck_assert(time_ns == 1000 + 3 * (UINT64_C(1) << 27) + 5 && n == 6 && record[4] == 0x44);
    ck_assert_int_eq(page_next(&c, &time_ns, &record, &n), 1);
    ck_assert(time_ns == 7777 && n == 4 && record[0] == 0x55);
    ck_assert_int_eq(page_next(&c, &time_ns, &record, &n), 0);
}
END_TEST

START_TEST(a_page_without_its_last_byte_is_refused)
{
    struct page page = page_make(3u << 30, 12345);
    struct page_cursor c;
    for (size_t n = 0; n < page.n; n++) {
        uint8_t *bytes = malloc(n + 1);
        memcpy(bytes, page.bytes, n);
        ck_assert_int_eq(page_open(&c, &shape, bytes, n), SKEIN_TRUNCATED);
        free(bytes);
    }
    ck_assert_int_eq(page_open(&c, &shape, page.bytes, page.n), SKEIN_OK);
    ck_assert(c.missed && c.missed_records == 12345 && c.used == page.n);
}
END_TEST

START_TEST(a_length_that_leads_out_of_the_page_is_damage)
{
    static const uint32_t firsts[] = {28, 0, 29 | 1u << 5, 30, 31, 0};
    static const uint32_t seconds[] = {1, 400, 400, 1, 1, 3};
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        struct page page = page_begin(1);
        struct page_cursor c;
        const uint8_t *record;
        uint64_t time_ns;
        size_t n;
        word_put(&page, firsts[i]);
        if (i != 3 && i != 4) /* these lack their second word */
            word_put(&page, seconds[i]);
        page_end(&page, 0, 0);
        ck_assert_int_eq(page_open(&c, &shape, page.bytes, page.n), SKEIN_OK);
        ck_assert_int_eq(page_next(&c, &time_ns, &record, &n), SKEIN_CORRUPT);
    }
}
END_TEST

START_TEST(what_is_missing_between_pages_is_a_gap_with_its_bounds)
{
    struct sched_keep keep;
    struct page whole = page_make(0, 0), missed = page_make(3u << 30, 7), damaged = whole;
    ck_assert_int_eq(sched_keep_init(&keep, &shape, 1, 400, 500), SKEIN_OK);
    damaged.bytes[16] = 28;
    ck_assert_int_eq(sched_keep_page(&keep, 0, whole.bytes, whole.n), SKEIN_OK);
    ck_assert_int_eq(sched_keep_page(&keep, 0, missed.bytes, missed.n), SKEIN_OK);
    ck_assert_int_eq(sched_keep_page(&keep, 0, damaged.bytes, damaged.n), SKEIN_OK);
    ck_assert_int_eq(sched_keep_page(&keep, 0, whole.bytes, whole.n), SKEIN_OK);
    const struct kept_cpu *cpu = &keep.cpus[0];
    ck_assert_uint_eq(cpu->count, 3);
    const struct kept_page *pages = cpu->pages + cpu->head;
    ck_assert(!pages[0].gap && pages[0].first_ns == 1000 && pages[0].last_ns == 7777);
    ck_assert(pages[1].gap && pages[1].gap_from_ns == 7777 && pages[1].gap_records == 7);
    ck_assert(pages[2].gap && pages[2].gap_from_ns == 7777 && pages[2].gap_records == 0);
    for (unsigned i = 0; i < 200; i++) /* the oldest go, and the rest says so */
        ck_assert_int_eq(sched_keep_page(&keep, 0, whole.bytes, whole.n), SKEIN_OK);
    ck_assert_uint_le(cpu->bytes, 400);
    ck_assert(cpu->pages[cpu->head].gap && !cpu->pages[cpu->head + 1].gap);
    sched_keep_fini(&keep);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("sched_page", records_and_their_times_are_those_of_the_page,
                              a_page_without_its_last_byte_is_refused,
                              a_length_that_leads_out_of_the_page_is_damage,
                              what_is_missing_between_pages_is_a_gap_with_its_bounds, NULL));
}
