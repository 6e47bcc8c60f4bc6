/* SPDX-License-Identifier: Apache-2.0
 * What the format's unit tests share: a writer of the sample process, and its partition read back.
 */
#ifndef READING_H
#define READING_H

#include <check.h>
#include <stdio.h>

#include "sample.h"
#include "support.h"
#include "trace_file.h"

/* What a reader gives for a partition, event by event. */
struct reading {
    struct buf bytes;
    struct partition_reader *reader;
};

static inline void reading_open(struct reading *reading, struct partition_writer **w)
{
    char error[256] = "";
    *reading = (struct reading){0};
    ck_assert_int_eq(partition_writer_finish(*w, &reading->bytes, NULL), SKEIN_OK);
    partition_writer_free(w);
    ck_assert_msg(partition_check(reading->bytes.data, reading->bytes.len, error, sizeof error) ==
                      SKEIN_OK,
                  "%s", error);
    ck_assert_int_eq(partition_reader_new(reading->bytes.data, reading->bytes.len, &reading->reader,
                                          error, sizeof error),
                     SKEIN_OK);
}

static inline void reading_close(struct reading *reading)
{
    partition_reader_free(&reading->reader);
    buf_fini(&reading->bytes);
}

static inline struct trace_event next(struct reading *reading)
{
    struct trace_event event;
    int status = partition_reader_next(reading->reader, &event);
    ck_assert_msg(status == 1, "%d %s", status, partition_reader_error(reading->reader));
    return event;
}

static inline void expect_end(struct reading *reading)
{
    struct trace_event event;
    ck_assert_int_eq(partition_reader_next(reading->reader, &event), 0);
    ck_assert_int_eq(partition_reader_next(reading->reader, &event), 0);
}

static inline struct partition_writer *writer(void)
{
    struct partition_info info = sample_info();
    struct partition_writer *w;
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    return w;
}

static inline uint32_t add_thread(struct partition_writer *w, uint32_t tid)
{
    char name[32];
    snprintf(name, sizeof name, "thread-%u", tid);
    struct partition_thread thread = {tid, name, 1};
    int64_t id = partition_writer_thread(w, &thread);
    ck_assert_int_ge(id, 0);
    return (uint32_t)id;
}

#endif
