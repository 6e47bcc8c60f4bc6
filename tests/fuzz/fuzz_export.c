/* SPDX-License-Identifier: Apache-2.0
 *
 * Exports of hostile traces. The first byte chooses the format; the rest is a trace file as it is, and
 * the pieces of a partition (fuzz_pieces.h), which are both added. Whatever comes out must be sound:
 * JSON parses, without a key twice; records and packets have the lengths that they say.
 */
#include <stdio.h>

#include "export_trace.h"
#include "fuzz_pieces.h"
#include "fuzz_target.h"
#include "json.h"

#define FILES_MAX 32

struct files {
    struct {
        char name[64];
        struct buf bytes;
    } items[FILES_MAX];
    size_t count;
};

static int files_put(void *context, const char *name, const void *bytes, size_t n)
{
    struct files *files = context;
    size_t i = 0;
    while (i < files->count && strcmp(files->items[i].name, name != NULL ? name : "") != 0)
        i++;
    require(i < FILES_MAX);
    if (i == files->count) {
        snprintf(files->items[i].name, sizeof files->items[i].name, "%s", name != NULL ? name : "");
        files->count++;
    }
    buf_put(&files->items[i].bytes, bytes, n);
    return files->items[i].bytes.status;
}

static uint64_t little_u64(const uint8_t *p)
{
    struct cursor c;
    cursor_init(&c, p, 8);
    return cursor_u64(&c);
}

static void fxt_look(const struct buf *b)
{
    size_t at = 0;
    require(b->len % 8 == 0 && b->len >= 8 && little_u64(b->data) == UINT64_C(0x0016547846040010));
    while (at < b->len) {
        size_t words = (size_t)(little_u64(b->data + at) >> 4 & 0xfff);
        require(words > 0 && words * 8 <= b->len - at);
        at += words * 8;
    }
}

/* Since 1970, where the clock begins; readers take 63 bits of nanoseconds, and no less than a second
 * short of that. */
static uint64_t clock_begins(const struct files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        const struct buf *b = &files->items[i].bytes;
        const char *at = strcmp(files->items[i].name, "metadata") == 0
                             ? memmem(b->data, b->len, "offset_s = ", 11)
                             : NULL;
        if (at != NULL)
            return strtoull(at + 11, NULL, 10) * 1000000000;
    }
    abort();
}

static void packets_look(const struct buf *b, uint64_t begins)
{
    size_t at = 0;
    uint64_t last = 0, discarded = 0;
    while (at < b->len) {
        require(b->len - at > 76);
        const uint8_t *p = b->data + at;
        require(little_u64(p + 24) >= last && little_u64(p + 32) >= little_u64(p + 24));
        require(little_u64(p + 32) <= INT64_MAX - UINT64_C(5000000000) - begins);
        require(little_u64(p + 40) == little_u64(p + 48) && little_u64(p + 48) / 8 <= b->len - at);
        require(little_u64(p + 56) >= discarded || discarded > UINT64_MAX / 2);
        last = little_u64(p + 32);
        discarded = little_u64(p + 56);
        at += (size_t)(little_u64(p + 48) / 8);
    }
}

static void json_look(const struct buf *b)
{
    char error[256] = "";
    cJSON *json = json_parse((const char *)b->data, b->len, error, sizeof error);
    require(json != NULL);
    cJSON_Delete(json);
}

static void files_look(enum export_form form, const struct files *files)
{
    if (form != EXPORT_CTF)
        require(files->count == 1);
    for (size_t i = 0; i < files->count; i++) {
        const struct buf *b = &files->items[i].bytes;
        if (form == EXPORT_CHROME || form == EXPORT_OTLP)
            json_look(b);
        else if (form == EXPORT_FXT)
            fxt_look(b);
        else if (strcmp(files->items[i].name, "metadata") != 0)
            packets_look(b, clock_begins(files));
        else
            require(b->len > 11 && memcmp(b->data, "/* CTF 1.8 ", 11) == 0 &&
                    memchr(b->data, 0, b->len) == NULL);
    }
}

static void trace_export(struct skein_trace *trace, enum export_form form)
{
    static struct files files; /* emptied below */
    const struct export_sink sink = {files_put, &files};
    struct export_run *run;
    struct buf line = {0};
    int got;
    require(export_new(trace, form, 0, &sink, &run) == SKEIN_OK);
    while ((got = export_some(run)) > 0)
        continue;
    require(got == 0);
    export_told(run, &line);
    require(line.status == SKEIN_OK && line.len > 0);
    files_look(form, &files);
    export_free(&run);
    buf_fini(&line);
    for (size_t i = 0; i < files.count; i++)
        buf_fini(&files.items[i].bytes);
    memset(&files, 0, sizeof files);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct skein_trace *trace;
    size_t length;
    if (n < 1)
        return 0;
    enum export_form form = (enum export_form)(bytes[0] % 4);
    uint8_t *assembled = pieces_assemble(bytes + 1, n - 1, &length);
    require(skein_trace_new(&trace) == SKEIN_OK);
    (void)skein_trace_add_memory(trace, bytes + 1, n - 1, "as it is", error);
    (void)skein_trace_add_memory(trace, assembled, length, "assembled", error);
    if (skein_trace_partition_count(trace) > 0)
        trace_export(trace, form);
    skein_trace_free(&trace);
    free(assembled);
    return 0;
}
