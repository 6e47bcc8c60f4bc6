/* SPDX-License-Identifier: Apache-2.0
 * What the fuzz targets of imports share: the input as a source that ends where it ends, and the
 * partitions that came out, which must be sound, and hold as many events as the import says. */
#ifndef FUZZ_IMPORTED_H
#define FUZZ_IMPORTED_H

#include <stdlib.h>
#include <string.h>

#include "import.h"
#include "imported_rows.h"
#include "partition_reader.h"
#include "skein/status.h"

static inline void fuzz_check(bool good)
{
    if (!good)
        abort();
}

struct fuzz_source {
    uint8_t *bytes; /* of exactly this size, so that a sanitizer sees what goes beyond */
    size_t n;
};

static inline int fuzz_source_read(void *context, uint64_t offset, void *out, size_t n)
{
    const struct fuzz_source *s = context;
    fuzz_check(offset <= s->n && n <= s->n - offset);
    memcpy(out, s->bytes + offset, n);
    return SKEIN_OK;
}

static inline struct skein_trace_source fuzz_source_make(struct fuzz_source *from,
                                                         const uint8_t *bytes, size_t n)
{
    from->bytes = malloc(n > 0 ? n : 1);
    from->n = n;
    fuzz_check(from->bytes != NULL);
    if (n > 0)
        memcpy(from->bytes, bytes, n);
    return (struct skein_trace_source){
        .read = fuzz_source_read, .context = from, .bytes = n, .name = "fuzz"};
}

static inline void fuzz_source_fini(struct fuzz_source *from)
{
    free(from->bytes);
}

static inline int fuzz_put(void *context, const uint8_t *bytes, size_t n)
{
    buf_put(context, bytes, n);
    return SKEIN_OK;
}

/* Each partition is sound. `events`: what the import said of a whole trace, and everybody must find. */
static inline void fuzz_trace_read(const struct buf *trace, uint64_t events)
{
    for (size_t at = 0; at < trace->len;) {
        struct partition_reader *reader;
        struct trace_event event;
        char error[256];
        uint64_t bytes;
        fuzz_check(trace->len - at >= 32);
        memcpy(&bytes, trace->data + at + 16, sizeof bytes); /* F-8: its length */
        fuzz_check(bytes > 0 && bytes <= trace->len - at);
        fuzz_check(partition_reader_new(trace->data + at, (size_t)bytes, &reader, error,
                                        sizeof error) == SKEIN_OK);
        int more;
        while ((more = partition_reader_next(reader, &event)) == 1)
            ;
        fuzz_check(more == 0);
        partition_reader_free(&reader);
        at += (size_t)bytes;
    }
    fuzz_check(imported_rows(trace) == events);
}

#endif
