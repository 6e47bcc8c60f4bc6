/* SPDX-License-Identifier: Apache-2.0
 * Files of perf: whatever is in them, what is made of them is a trace that can be read. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "partition_reader.h"
#include "perf_import.h"
#include "skein/status.h"

static void check(bool good)
{
    if (!good)
        abort();
}

static void trace_read(const struct buf *trace)
{
    for (size_t at = 0; at < trace->len;) {
        struct partition_reader *reader;
        struct trace_event event;
        char error[256];
        size_t n = trace->len - at;
        /* F-8: its length */
        check(n >= 32);
        uint64_t bytes;
        memcpy(&bytes, trace->data + at + 16, sizeof bytes);
        check(bytes > 0 && bytes <= n);
        check(partition_reader_new(trace->data + at, (size_t)bytes, &reader, error, sizeof error) ==
              SKEIN_OK);
        int more;
        while ((more = partition_reader_next(reader, &event)) == 1)
            ;
        check(more == 0);
        partition_reader_free(&reader);
        at += (size_t)bytes;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct perf_data data;
    struct perf_imported imported;
    struct buf trace = {0};
    char error[160] = "";
    uint8_t *exact = malloc(n > 0 ? n : 1);
    if (exact == NULL)
        return 0;
    if (n > 0)
        memcpy(exact, bytes, n);
    int status = perf_data_read(exact, n, &data, error, sizeof error);
    free(exact);
    check(status == SKEIN_OK || status == SKEIN_NO_MEMORY || error[0] != '\0');
    if (status == SKEIN_OK && perf_import(&data, 0, &trace, &imported) == SKEIN_OK)
        trace_read(&trace);
    perf_data_fini(&data);
    buf_fini(&trace);
    return 0;
}
