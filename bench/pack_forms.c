/* SPDX-License-Identifier: Apache-2.0
 *
 * What the records of real programs take, and cost to pack and to unpack, in the forms that a trace
 * could have: bench_pack_forms [--json] NAME=FILE... Rows are the ring's own bytes, columns those of
 * docs/format.md section 4. All forms are made of the same records, in the same run; the floor is
 * copying the rows. One thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "pack_lz4.h"
#include "pack_other.h"
#include "pack_trace.h"

#define TASK_NS UINT64_C(500000000)

static bool lz4_form_pack(struct buf *b, const void *bytes, size_t n)
{
    lz4_pack(b, bytes, n);
    return b->status == SKEIN_OK;
}

static bool lz4_form_unpack(const void *packed, size_t packed_bytes, uint8_t *out, size_t n)
{
    return lz4_unpack(packed, packed_bytes, out, n) == SKEIN_OK;
}

static const struct form {
    const char *name;
    bool (*pack)(struct buf *b, const void *bytes, size_t n);
    bool (*unpack)(const void *packed, size_t packed_bytes, uint8_t *out, size_t n);
} forms[] = {{"LZ4", lz4_form_pack, lz4_form_unpack},
             {"LZ4HC", lz4hc_pack, lz4_form_unpack},
             {"zstd -1", zstd_pack, zstd_unpack},
             {"zstd -3", zstd_slow_pack, zstd_unpack}};
enum { FORMS = sizeof forms / sizeof *forms };

struct figures {
    const char *name;
    size_t events;
    double floor_ns, writer_ns; /* an event */
    double rows, columns;       /* bytes an event */
    double rows_lz4, rows_lz4_ns;
    double packed[FORMS], pack_ns[FORMS], unpack_ns[FORMS]; /* of the columns' bytes alone */
};

/* Blocks of at most PARTITION_BLOCK_RAW_MAX bytes, one after the other. */
struct blocks {
    struct buf bytes, packed;
    size_t *ends, *packed_ends;
    size_t count;
};

static bool blocks_pack(struct blocks *b, const struct form *form)
{
    buf_clear(&b->packed);
    for (size_t i = 0; i < b->count; i++) {
        size_t from = i > 0 ? b->ends[i - 1] : 0;
        if (!form->pack(&b->packed, b->bytes.data + from, b->ends[i] - from))
            return false;
        b->packed_ends[i] = b->packed.len;
    }
    return true;
}

static bool blocks_unpack(const struct blocks *b, const struct form *form, uint8_t *out)
{
    for (size_t i = 0; i < b->count; i++) {
        size_t from = i > 0 ? b->ends[i - 1] : 0, at = i > 0 ? b->packed_ends[i - 1] : 0;
        size_t n = b->ends[i] - from;
        if (!form->unpack(b->packed.data + at, b->packed_ends[i] - at, out + from, n) ||
            memcmp(out + from, b->bytes.data + from, i % 64 == 0 ? n : 0) != 0)
            return false;
    }
    return true;
}

static bool blocks_cut(struct blocks *b, size_t n)
{
    b->ends = calloc(n + 1, sizeof *b->ends);
    b->packed_ends = calloc(n + 1, sizeof *b->packed_ends);
    return b->ends != NULL && b->packed_ends != NULL;
}

static void blocks_fini(struct blocks *b)
{
    buf_fini(&b->bytes);
    buf_fini(&b->packed);
    free(b->ends);
    free(b->packed_ends);
}

/* What is done again and again, and the least time that it took once; false: it failed. */
struct task {
    bool (*run)(void *context);
    void *context;
};

static bool task_measure(struct task task, double *ns)
{
    uint64_t least = UINT64_MAX, spent = 0;
    while (spent < TASK_NS) {
        uint64_t began = clock_monotonic_ns();
        if (!task.run(task.context))
            return false;
        uint64_t took = clock_monotonic_ns() - began;
        least = took < least ? took : least;
        spent += took > 0 ? took : 1;
    }
    *ns = (double)least;
    return true;
}

struct work {
    const struct pack_trace *trace;
    const struct form *form;
    struct blocks *blocks;
    struct buf out;
};

static bool writer_run(void *context)
{
    struct work *work = context;
    buf_clear(&work->out);
    for (size_t i = 0; i < work->trace->count; i++)
        if (pack_part_write(&work->trace->parts[i], &work->out) != SKEIN_OK)
            return false;
    return true;
}

static bool copy_run(void *context)
{
    struct work *work = context;
    buf_clear(&work->out);
    buf_put(&work->out, work->blocks->bytes.data, work->blocks->bytes.len);
    return work->out.status == SKEIN_OK;
}

static bool pack_run(void *context)
{
    const struct work *work = context;
    return blocks_pack(work->blocks, work->form);
}

static bool unpack_run(void *context)
{
    const struct work *work = context;
    return blocks_unpack(work->blocks, work->form, work->out.data);
}

/* The rows of all partitions, cut as blocks are. */
static bool rows_collect(const struct pack_trace *trace, struct blocks *b)
{
    for (size_t i = 0; i < trace->count; i++)
        pack_rows_put(&trace->parts[i], &b->bytes);
    if (b->bytes.status != SKEIN_OK || !blocks_cut(b, b->bytes.len / PARTITION_BLOCK_RAW_MAX + 1))
        return false;
    for (size_t at = 0; at < b->bytes.len; at = b->ends[b->count - 1]) {
        size_t left = b->bytes.len - at;
        b->ends[b->count++] =
            at + (left < PARTITION_BLOCK_RAW_MAX ? left : PARTITION_BLOCK_RAW_MAX);
    }
    return true;
}

/* The blocks that the writer made, unpacked; *rest gets what the partitions have beside them. */
static bool columns_collect(const struct pack_trace *trace, struct blocks *b, size_t *rest)
{
    struct buf out = {0};
    bool good = blocks_cut(b, 65536 * trace->count);
    for (size_t i = 0; good && i < trace->count; i++) {
        struct partition_footer footer;
        size_t need;
        buf_clear(&out);
        good = pack_part_write(&trace->parts[i], &out) == SKEIN_OK &&
               partition_footer_get(out.data, out.len, &footer, &need) == SKEIN_OK;
        *rest += out.len;
        for (size_t k = 0; good && k < footer.block_count; k++) {
            const struct partition_block *block = &footer.blocks[k];
            uint8_t *to = buf_reserve(&b->bytes, block->raw_bytes);
            good = to != NULL && lz4_unpack(out.data + block->offset + 24, block->stored_bytes - 24,
                                            to, block->raw_bytes) == SKEIN_OK;
            b->bytes.len += block->raw_bytes;
            b->ends[b->count++] = b->bytes.len;
            *rest -= block->stored_bytes - 24;
        }
        if (good)
            partition_footer_free(&footer);
    }
    buf_fini(&out);
    return good;
}

static bool forms_measure(struct work *work, size_t rest, struct figures *f)
{
    double events = (double)f->events, ns;
    f->columns = (double)(work->blocks->bytes.len + rest) / events;
    buf_clear(&work->out);
    if (buf_reserve(&work->out, work->blocks->bytes.len) == NULL)
        return false;
    for (unsigned i = 0; i < FORMS; i++) {
        work->form = &forms[i];
        if (!blocks_pack(work->blocks, work->form))
            continue; /* not in this build */
        f->packed[i] = (double)(work->blocks->packed.len + rest) / events;
        if (!task_measure((struct task){pack_run, work}, &ns))
            return false;
        f->pack_ns[i] = ns / events;
        if (!task_measure((struct task){unpack_run, work}, &ns))
            return false;
        f->unpack_ns[i] = ns / events;
    }
    return true;
}

static bool trace_measure(const struct pack_trace *trace, struct figures *f)
{
    struct blocks rows = {0}, columns = {0};
    struct work work = {.trace = trace, .form = &forms[0], .blocks = &rows};
    size_t rest = 0;
    double events = (double)trace->events, ns = 0;
    f->events = trace->events;
    bool good = rows_collect(trace, &rows) && columns_collect(trace, &columns, &rest);
    f->rows = (double)(rows.bytes.len + rest) / events;
    good = good && task_measure((struct task){copy_run, &work}, &ns);
    f->floor_ns = ns / events;
    good = good && task_measure((struct task){pack_run, &work}, &ns);
    f->rows_lz4 = (double)(rows.packed.len + rest) / events;
    f->rows_lz4_ns = ns / events;
    good = good && task_measure((struct task){writer_run, &work}, &ns);
    f->writer_ns = ns / events;
    work.blocks = &columns;
    good = good && forms_measure(&work, rest, f);
    buf_fini(&work.out);
    blocks_fini(&rows);
    blocks_fini(&columns);
    return good;
}

/* ---- printing ---- */

static bool as_json, printed;

/* MB/s are of the rows' bytes, in every form. unpack_ns 0: nothing is unpacked. */
static void form_print(const struct figures *f, const char *form, double bytes, double ns,
                       double unpack_ns)
{
    double rate = f->rows * 1e3 / ns;
    if (as_json) {
        printf("%s  {\"name\":\"%s, %s\",\"value\":%.3f,\"unit\":\"bytes/event\",\"ratio\":%.2f,"
               "\"ns\":%.2f,\"unpack_ns\":%.2f,\"floor_ns\":%.2f,\"floor_is\":\"memcpy of the "
               "rows\",\"events\":%zu}",
               printed ? ",\n" : "[\n", f->name, form, bytes, f->rows / bytes, ns, unpack_ns,
               f->floor_ns, f->events);
        printed = true;
        return;
    }
    printf("| %s | %s | %.2f | %.2f | %.1f | %.0f |", f->name, form, bytes, f->rows / bytes, ns,
           rate);
    if (unpack_ns > 0)
        printf(" %.2f |\n", unpack_ns);
    else
        printf(" |\n");
}

static void figures_print(const struct figures *f)
{
    double columns_ns = f->writer_ns - f->pack_ns[0];
    char name[32];
    form_print(f, "rows (copied)", f->rows, f->floor_ns, 0);
    form_print(f, "rows + LZ4", f->rows_lz4, f->floor_ns + f->rows_lz4_ns, 0);
    form_print(f, "columns", f->columns, columns_ns, 0);
    for (unsigned i = 0; i < FORMS; i++) {
        snprintf(name, sizeof name, "columns + %s", forms[i].name);
        if (f->packed[i] > 0)
            form_print(f, name, f->packed[i], columns_ns + f->pack_ns[i], f->unpack_ns[i]);
        else
            fprintf(stderr, "%s: not in this build: tools/deps.sh --bench\n", name);
    }
}

/* What gives these figures again. */
static void commands_print(int argc, char **argv)
{
    printf("\nThe table again, of the same traces: %s", argv[0]);
    for (int i = 1; i < argc; i++)
        printf(" %s=%s", argv[i], argv[i] + strlen(argv[i]) + 1);
    printf("\n");
}

int main(int argc, char **argv)
{
    as_json = argc > 1 && strcmp(argv[1], "--json") == 0;
    if (!as_json)
        printf(
            "| trace | form | bytes an event | smaller by | ns an event | MB/s | ns to unpack |\n"
            "|---|---|---|---|---|---|---|\n");
    for (int i = as_json ? 2 : 1; i < argc; i++) {
        char *path = strchr(argv[i], '=');
        struct pack_trace trace;
        struct figures f = {.name = argv[i]};
        if (path == NULL) {
            fprintf(stderr, "%s: NAME=FILE is wanted\n", argv[i]);
            return 2;
        }
        *path++ = 0;
        bool good = pack_trace_load(path, &trace) == SKEIN_OK && trace.events > 0 &&
                    trace_measure(&trace, &f);
        pack_trace_free(&trace);
        if (!good) {
            fprintf(stderr, "%s: cannot be measured\n", path);
            return 1;
        }
        figures_print(&f);
    }
    if (!as_json)
        commands_print(argc, argv);
    if (as_json)
        printf("%s]\n", printed ? "\n" : "[");
    return 0;
}
