/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the golden summary and the corpus of its fuzz target from the golden partition. Run by hand,
 * once for each released version of summaries:
 *
 *   make_summary tests/golden tests/fuzz/corpus/summary
 */
#include <stdio.h>

#include "summary.h"

static int file_put(const char *folder, const char *name, const struct buf *bytes)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = fopen(path, "wb");
    if (out == NULL) {
        perror(path);
        return 1;
    }
    int bad = fwrite(bytes->data, 1, bytes->len, out) != bytes->len;
    return fclose(out) != 0 || bad;
}

static int summary_make(const char *trace_file, size_t rows, struct summary **s)
{
    struct skein_trace *trace;
    char error[SKEIN_TRACE_ERROR_BYTES];
    if (skein_trace_open(trace_file, &trace, error) != SKEIN_OK) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    int status = summary_new(rows, s);
    if (status == SKEIN_OK)
        status = summary_read(*s, trace, NULL);
    skein_trace_free(&trace);
    return status != SKEIN_OK;
}

int main(int argc, char **argv)
{
    char path[4096];
    struct summary *s, *few;
    struct buf bytes = {0}, small = {0}, json = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: make_summary GOLDEN CORPUS\n");
        return 2;
    }
    snprintf(path, sizeof path, "%s/partition-v1-3.skein", argv[1]);
    if (summary_make(path, 0, &s) != 0 || summary_make(path, 2, &few) != 0 ||
        summary_bytes_put(s, &bytes) != SKEIN_OK || summary_bytes_put(few, &small) != SKEIN_OK)
        return 1;
    summary_json(s, &json);
    buf_put_u8(&json, '\n');
    int bad = file_put(argv[1], "summary-v1.bin", &bytes) ||
              file_put(argv[1], "summary-v1.json", &json) || file_put(argv[2], "whole", &bytes) ||
              file_put(argv[2], "others", &small);
    summary_free(&s);
    summary_free(&few);
    buf_fini(&bytes);
    buf_fini(&small);
    buf_fini(&json);
    return bad;
}
