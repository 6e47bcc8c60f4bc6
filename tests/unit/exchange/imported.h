/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of imports share: bytes as a source, partitions into a buffer, and these read back.
 */
#ifndef IMPORTED_H
#define IMPORTED_H

#include <stdio.h>
#include <string.h>

#include "import.h"
#include "imported_rows.h"
#include "partition_reader.h"
#include "support.h"
#include "trace_file.h"

struct bytes_source {
    const uint8_t *bytes;
    size_t n;
};

static inline int bytes_source_read(void *context, uint64_t offset, void *out, size_t n)
{
    const struct bytes_source *s = context;
    must_hold(offset <= s->n && n <= s->n - offset, "read beyond the end: %zu at %llu", n,
              (unsigned long long)offset);
    memcpy(out, s->bytes + offset, n);
    return SKEIN_OK;
}

static inline int imported_put(void *context, const uint8_t *bytes, size_t n)
{
    buf_put(context, bytes, n);
    return ((struct buf *)context)->status;
}

/* The length of the partition at the head of bytes, by F-8. */
static inline size_t partition_length(const uint8_t *bytes, size_t n)
{
    uint64_t length = 0;
    must_hold(n >= 32, "no head of a partition: %zu bytes", n);
    for (unsigned i = 0; i < 8; i++)
        length |= (uint64_t)bytes[16 + i] << 8 * i;
    must_hold(length > 0 && length <= n, "a partition of %llu bytes in %zu",
              (unsigned long long)length, n);
    return (size_t)length;
}

/* Each event of each partition, as it comes; all must be sound. */
static inline void imported_walk(const struct buf *trace,
                                 void (*each)(void *context, struct partition_reader *reader,
                                              const struct trace_event *event),
                                 void *context)
{
    char error[256] = "";
    for (size_t at = 0; at < trace->len;) {
        struct partition_reader *reader;
        struct trace_event event;
        size_t n = partition_length(trace->data + at, trace->len - at);
        must_hold(partition_check(trace->data + at, n, error, sizeof error) == SKEIN_OK, "%s",
                  error);
        must_hold(partition_reader_new(trace->data + at, n, &reader, error, sizeof error) ==
                      SKEIN_OK,
                  "%s", error);
        int more;
        while ((more = partition_reader_next(reader, &event)) == 1)
            if (each != NULL)
                each(context, reader, &event);
        must_hold(more == 0, "%s", partition_reader_error(reader));
        partition_reader_free(&reader);
        at += n;
    }
}

/* What it said of its events is what there is of them. */
static inline void imported_count(const struct buf *trace, const struct import_told *told)
{
    uint64_t rows = imported_rows(trace);
    must_hold(rows == told->events, "%llu events said, %llu rows in SQL",
              (unsigned long long)told->events, (unsigned long long)rows);
}

/* One line an event: KIND NAME THREAD FROM+LENGTH, in ns of the file's clock, and its texts. */
static inline void imported_line(void *context, struct partition_reader *reader,
                                 const struct trace_event *event)
{
    static const char *const kinds[] = {"?",   "begin", "region", "instant", "counter",
                                        "log", "open",  "loss",   "end"};
    struct buf *lines = context;
    const char *name = event->type != NULL ? event->type->name : "-";
    uint64_t from = event->ticks - (event->kind == TRACE_REGION ? event->dur_ns : 0);
    (void)reader;
    buf_printf(lines, "%s %s %u %llu+%llu", kinds[event->kind], name,
               event->thread != NULL ? event->thread->tid : 0, (unsigned long long)from,
               (unsigned long long)event->dur_ns);
    for (unsigned i = 0; event->type != NULL && i < event->type->nargs; i++)
        if (event->type->args[i].type == SKEIN_T_STR && event->kind != TRACE_OPEN)
            buf_printf(lines, " %s=%.*s", event->type->args[i].name, (int)event->args[i].str.len,
                       event->args[i].str.text);
    buf_printf(lines, "\n");
}

static inline const char *imported_lines(const struct buf *trace, struct buf *lines)
{
    imported_walk(trace, imported_line, lines);
    buf_put_u8(lines, 0);
    return (const char *)lines->data;
}

#endif
