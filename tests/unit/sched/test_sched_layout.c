/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts of this machine's kernel (tests/fuzz/corpus/sched_layout), and records made by hand.
 */
#include <stdlib.h>
#include <string.h>

#include "sched_layout.h"
#include "skein/status.h"
#include "support.h"

static struct sched_layout layout_read(void)
{
    static const char *const files[] = {"sched_switch", "sched_waking", "sched_wakeup_new",
                                        "task_newtask"};
    struct sched_layout layout = {0};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t n;
        char *path = path_join(CORPUS, files[i]), *text = file_read(path, &n);
        ck_assert_ptr_nonnull(text);
        ck_assert_int_eq(sched_layout_add(&layout, text, n), SKEIN_OK);
        free(text);
        free(path);
    }
    return layout;
}

/* As the format texts say: little-endian, by offset. */
static void switch_make(uint8_t record[64])
{
    memset(record, 0, 64);
    record[0] = 372 & 255;
    record[1] = 372 >> 8;
    record[2] = 0x10; /* in a softirq */
    record[4] = 77;
    strcpy((char *)record + 8, "worker");
    record[24] = 77;
    record[32] = 2; /* D */
    memcpy(record + 40, "a-name-of-16-byt", 16);
    record[56] = 0x34;
    record[57] = 0x12;
}

START_TEST(a_switch_is_read_by_the_kernels_own_words)
{
    struct sched_layout layout = layout_read();
    struct sched_event event;
    uint8_t record[64];
    switch_make(record);
    ck_assert(sched_layout_decode(&layout, record, sizeof record, &event));
    ck_assert_uint_eq(event.kind, SCHED_EVENT_SWITCH);
    ck_assert_uint_eq(event.context, SCHED_IN_SOFTIRQ);
    ck_assert_uint_eq(event.current, 77);
    ck_assert_uint_eq(event.tid, 77);
    ck_assert_uint_eq(event.state, 2);
    ck_assert_uint_eq(event.next, 0x1234);
    ck_assert_str_eq(event.comm, "worker");
    ck_assert_str_eq(event.next_comm, "a-name-of-16-by");
}
END_TEST

START_TEST(a_record_without_its_last_byte_is_none)
{
    struct sched_layout layout = layout_read();
    struct sched_event event = {.tid = 5};
    uint8_t record[64];
    switch_make(record);
    for (size_t n = 0; n < 60; n++) /* next_pid ends at 60 */
        ck_assert(!sched_layout_decode(&layout, record, n, &event));
    ck_assert_uint_eq(event.tid, 5);
    ck_assert(sched_layout_decode(&layout, record, 60, &event));
    record[0] ^= 8;
    ck_assert(!sched_layout_decode(&layout, record, sizeof record, &event));
}
END_TEST

START_TEST(a_layout_without_a_field_is_refused)
{
    struct sched_layout layout = {0};
    char *path = path_join(CORPUS, "sched_switch");
    size_t n;
    char *text = file_read(path, &n), *field = strstr(text, "next_pid;");
    ck_assert_ptr_nonnull(field);
    field[0] = 'N';
    ck_assert_int_eq(sched_layout_add(&layout, text, n), SKEIN_CORRUPT);
    ck_assert(!layout.shapes[SCHED_EVENT_SWITCH].known);
    field[0] = 'n';
    char *size = strstr(field, "size:4");
    size[5] = '3'; /* no number has three bytes */
    ck_assert_int_eq(sched_layout_add(&layout, text, n), SKEIN_CORRUPT);
    size[5] = '4';
    ck_assert_int_eq(sched_layout_add(&layout, text, n), SKEIN_OK);
    memcpy(strstr(text, "sched_switch"), "sched_swatch", 12);
    ck_assert_int_eq(sched_layout_add(&layout, text, n), SKEIN_UNSUPPORTED);
    free(text);
    free(path);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("sched_layout", a_switch_is_read_by_the_kernels_own_words,
                              a_record_without_its_last_byte_is_none,
                              a_layout_without_a_field_is_refused, NULL));
}
