/* SPDX-License-Identifier: Apache-2.0
 *
 * Profiles of many partitions, whose readers come and go: each stack stays its own partition's, and
 * the memory of all has a bound. How profiles read elsewhere is stack_rules.py's.
 */
#include "stack_profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition_writer.h"
#include "support.h"

#define MS UINT64_C(1000000)

/* One wait with one stack, which no other number has. */
static void partition_make(uint64_t number, struct buf *bytes)
{
    static const struct partition_event_type type = {.name = "wait", .klass = SKEIN_CLASS_SPAN};
    struct partition_info info = {
        .key = {.epoch = 1, .sequence = number},
        .clock = PARTITION_CLOCK_MONOTONIC,
        .begin = {0, 1000, 1000, 1000},
        .end = {1000 * MS, 1000 + 1000 * MS, 1000 + 1000 * MS, 1000 + 1000 * MS},
        .window_to_ticks = 1000 * MS,
        .host = "",
        .service = "shop",
        .labels = "",
        .exe = ""};
    const uint64_t pcs[] = {0x1000 + 16 * number, 0x900000};
    struct partition_writer *w;
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    int64_t id =
        partition_writer_stack(w, &(struct partition_stack){pcs, 2, PARTITION_STACK_WHOLE});
    int64_t waits = partition_writer_type(w, &type);
    int64_t thread = partition_writer_thread(w, &(struct partition_thread){7, "main", 1});
    ck_assert(id > 0 && waits >= 0 && thread >= 0);
    partition_writer_batch(w, (uint32_t)thread, 0, 0, false);
    partition_writer_event(w, (uint32_t)waits, 100 * MS, (number + 1) * 1000, NULL);
    partition_writer_event_stack(w, (uint32_t)id);
    ck_assert_int_eq(partition_writer_finish(w, bytes, NULL), SKEIN_OK);
    partition_writer_free(&w);
}

static int partition_add(struct stack_profile *profile, uint64_t number)
{
    char error[256];
    struct buf bytes = {0};
    struct partition_reader *reader;
    struct trace_event event;
    int status = SKEIN_OK;
    partition_make(number, &bytes);
    ck_assert_int_eq(partition_reader_new(bytes.data, bytes.len, &reader, error, sizeof error),
                     SKEIN_OK);
    while (status == SKEIN_OK && partition_reader_next(reader, &event) > 0)
        status = stack_profile_add(profile, reader, &event);
    partition_reader_free(&reader); /* the next one likely lies where it was */
    buf_fini(&bytes);
    return status;
}

START_TEST(each_stack_is_its_own_partitions)
{
    struct stack_profile *profile;
    struct buf text = {0};
    char line[96];
    ck_assert_int_eq(stack_profile_new(0, &profile), SKEIN_OK);
    for (uint64_t i = 0; i < 50; i++)
        ck_assert_int_eq(partition_add(profile, i), SKEIN_OK);
    ck_assert_uint_eq(stack_profile_waits(profile), 50);
    ck_assert_int_eq(stack_profile_folded(profile, STACK_PROFILE_WAITS, &text), SKEIN_OK);
    buf_put_u8(&text, 0);
    for (uint64_t i = 0; i < 50; i++) {
        snprintf(line, sizeof line, "shop[0];main;0x8fffff;0x%" PRIx64 " %" PRIu64 "\n",
                 0x1000 + 16 * i - 1, i + 1);
        ck_assert_msg(strstr((const char *)text.data, line) != NULL, "no %s in\n%s", line,
                      (const char *)text.data);
    }
    buf_fini(&text);
    stack_profile_free(&profile);
}
END_TEST

START_TEST(what_is_beyond_the_bound_is_refused)
{
    struct stack_profile *profile;
    int status = SKEIN_OK;
    uint64_t taken = 0;
    ck_assert_int_eq(stack_profile_new(64 << 10, &profile), SKEIN_OK);
    while (status == SKEIN_OK && taken < 100000)
        status = partition_add(profile, taken++);
    ck_assert_int_eq(status, SKEIN_TOO_LARGE);
    ck_assert_uint_gt(taken, 50); /* there was room for some */
    stack_profile_free(&profile);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("stack_profile", each_stack_is_its_own_partitions,
                              what_is_beyond_the_bound_is_refused, NULL));
}
