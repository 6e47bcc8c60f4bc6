/* SPDX-License-Identifier: Apache-2.0
 *
 * Version 1 of the trace format, held fast: today's reader gives from the files of minor versions 0
 * and 2 what it gave when the first was made, and today's writer makes the bytes of the last, minor
 * version 3, which has stacks, too (with the LZ4 of Debian 12).
 */
#include <check.h>
#include <stdlib.h>

#include "../unit/format/sample.h"
#include "support.h"
#include "trace_file.h"
#include "trace_json.h"

static void expect_given(const char *partition, const char *told)
{
    size_t n, m;
    char error[256] = "";
    char *file = file_read(partition, &n);
    char *want = file_read(told, &m);
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(want);
    struct buf lines = {0};
    struct partition_reader *reader;
    struct trace_event event;
    ck_assert_msg(partition_check((uint8_t *)file, n, error, sizeof error) == SKEIN_OK, "%s",
                  error);
    ck_assert_int_eq(partition_reader_new((uint8_t *)file, n, &reader, error, sizeof error),
                     SKEIN_OK);
    while (partition_reader_next(reader, &event) == 1)
        trace_json_put(&lines, partition_reader_info(reader), &event);
    buf_put_u8(&lines, 0);
    ck_assert_str_eq((char *)lines.data, want);
    partition_reader_free(&reader);
    buf_fini(&lines);
    free(file);
    free(want);
}

START_TEST(todays_reader_gives_what_it_gave)
{
    expect_given(GOLDEN_DIR "/partition-v1.skein", GOLDEN_DIR "/partition-v1.jsonl");
    expect_given(GOLDEN_DIR "/partition-v1-2.skein", GOLDEN_DIR "/partition-v1.jsonl");
    expect_given(GOLDEN_DIR "/partition-v1-3.skein", GOLDEN_DIR "/partition-v1-3.jsonl");
}
END_TEST

START_TEST(todays_writer_makes_the_same_bytes)
{
    size_t n;
    char *file = file_read(GOLDEN_DIR "/partition-v1-3.skein", &n);
    ck_assert_ptr_nonnull(file);
    struct buf now = {0};
    ck_assert_int_eq(sample_stacks_partition(&now), SKEIN_OK);
    ck_assert_uint_eq(now.len, n);
    ck_assert_mem_eq(now.data, file, n);
    buf_fini(&now);
    free(file);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("partition_v1", todays_reader_gives_what_it_gave,
                              todays_writer_makes_the_same_bytes, NULL));
}
