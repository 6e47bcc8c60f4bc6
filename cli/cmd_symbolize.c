/* SPDX-License-Identifier: Apache-2.0
 *
 * skein symbolize: names the addresses of a trace file's stacks, where the programs' files are at
 * hand. Partition for partition; nothing but the names changes. Files are parsed in
 * skein-symbolizer, as the agent has them parsed. One thread, and the symbolizer's.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cli.h"
#include "cli_out.h"
#include "cli_trace.h"
#include "clock.h"
#include "cmd.h"
#include "partition_rename.h"
#include "symbol_partition.h"
#include "symbol_sources.h"
#include "whole_file.h"

#define PATIENCE_NS (UINT64_C(3600) * 1000000000) /* with one partition: servers may be slow */

struct options {
    struct cli_list folders;
    const char *server;
    struct cli_result result;
};

static const struct cli_option options[] = {
    CLI_OPTION(CLI_LIST, 0, "debug-dir", "DIR", struct options, folders,
               "folder with programs or debug files, by name or below .build-id; may be given "
               "again (this host's files and /usr/lib/debug are always looked at)"),
    CLI_OPTION(CLI_TEXT, 0, "debuginfod", "URL", struct options, server,
               "server to ask for what is not found; no other is asked, whatever "
               "$DEBUGINFOD_URLS says"),
    CLI_OUTPUT_FILE(struct options, "where to (default: the trace file itself, once all is done)"),
    CLI_OPTIONS_END};

struct work {
    struct symbolizer *symbolizer;
    FILE *out;
    uint64_t *lengths;
    size_t count, cap;
    uint64_t addresses, before, after;
    uint64_t unread; /* partitions of a newer version, copied as they are */
};

/* ---- one partition ---- */

static bool has_place(const struct partition_symbol *symbol)
{
    for (uint32_t i = 0; i < symbol->line_count; i++)
        if (symbol->lines[i].line != 0)
            return true;
    return false;
}

struct address_list {
    uint64_t *items;
    size_t count, cap;
};

static int addresses_compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* All that the partition has stacks of, each once. Copies stacks and mappings to the writer. */
static int stacks_copy(const struct partition_reader *reader, struct partition_writer *w,
                       struct address_list *out)
{
    int64_t status = SKEIN_OK;
    for (uint32_t id = 1; id <= partition_reader_stack_count(reader) && status >= 0; id++) {
        struct partition_stack stack;
        if (!partition_reader_stack(reader, id, &stack) ||
            !array_grow(out->items, out->count + stack.count, &out->cap))
            return SKEIN_NO_MEMORY;
        for (uint32_t i = 0; i < stack.count; i++)
            out->items[out->count++] = partition_stack_address(&stack, i);
        status = partition_writer_stack(w, &stack);
    }
    for (size_t i = 0; i < partition_reader_mapping_count(reader) && status >= 0; i++)
        status = partition_writer_mapping(w, partition_reader_mapping_at(reader, i));
    if (out->count > 0)
        qsort(out->items, out->count, sizeof *out->items, addresses_compare);
    size_t kept = 0;
    for (size_t i = 0; i < out->count; i++)
        if (kept == 0 || out->items[i] != out->items[kept - 1])
            out->items[kept++] = out->items[i];
    out->count = kept;
    return status < 0 ? (int)status : SKEIN_OK;
}

/* The names that it has: those with lines, or the others. The first to name an address is
 * believed, so what is found now goes between the two. */
static int names_keep(struct partition_reader *reader, const struct address_list *list, bool places,
                      struct partition_writer *w, uint64_t *count)
{
    int status = SKEIN_OK;
    for (size_t i = 0; i < list->count && status == SKEIN_OK; i++) {
        struct partition_symbol symbol;
        if (!partition_reader_symbol(reader, list->items[i], &symbol) ||
            has_place(&symbol) != places)
            continue;
        status = partition_writer_symbol(w, &symbol);
        ++*count;
    }
    return status;
}

static uint64_t symbols_count(const struct buf *bytes)
{
    struct partition_reader *reader;
    char error[256];
    if (partition_reader_new(bytes->data, bytes->len, &reader, error, sizeof error) != SKEIN_OK)
        return 0;
    uint64_t count = partition_reader_symbol_count(reader);
    partition_reader_free(&reader);
    return count;
}

static int partition_symbolize(struct work *work, struct partition_reader *reader,
                               const struct buf *from, struct buf *to)
{
    struct partition_writer *w;
    struct address_list list = {.items = NULL};
    uint64_t before = 0;
    int status = partition_writer_new(partition_reader_info(reader), &w);
    if (status != SKEIN_OK)
        return status;
    status = stacks_copy(reader, w, &list);
    if (status == SKEIN_OK)
        status = names_keep(reader, &list, true, w, &before);
    if (status == SKEIN_OK)
        status =
            symbol_partition_name(work->symbolizer, 0, 0, clock_monotonic_ns() + PATIENCE_NS, w);
    if (status == SKEIN_OK)
        status = names_keep(reader, &list, false, w, &before);
    if (status == SKEIN_OK)
        status = partition_rename(from->data, from->len, w, to);
    partition_writer_free(&w);
    work->addresses += list.count;
    work->before += before;
    work->after += status == SKEIN_OK ? symbols_count(to) : before;
    free(list.items);
    return status;
}

/* ---- the file ---- */

static bool bytes_write(struct work *work, const struct buf *bytes)
{
    if (!array_grow(work->lengths, work->count + 1, &work->cap))
        return false;
    work->lengths[work->count++] = bytes->len;
    return fwrite(bytes->data, 1, bytes->len, work->out) == bytes->len;
}

/* CLI_OK, or CLI_FAILED after telling why. */
static int entry_symbolize(struct work *work, struct trace_file *trace, size_t i, const char *name)
{
    struct buf from = {0}, to = {0};
    struct partition_reader *reader = NULL;
    char error[256] = "";
    int status = trace_file_read(trace, i, &from);
    if (status == SKEIN_OK)
        status = partition_reader_new(from.data, from.len, &reader, error, sizeof error);
    if (status == SKEIN_OK)
        status = partition_symbolize(work, reader, &from, &to);
    partition_reader_free(&reader);
    bool unread = status == SKEIN_VERSION;
    work->unread += unread;
    bool written = (status == SKEIN_OK || unread) && bytes_write(work, unread ? &from : &to);
    if (status != SKEIN_OK && !unread)
        say_error("%s: partition %zu: %s", name, i + 1,
                  error[0] != '\0' ? error : skein_status_text(status));
    else if (!written)
        say_error("%s: %s", name, strerror(errno));
    buf_fini(&from);
    buf_fini(&to);
    return written ? CLI_OK : CLI_FAILED;
}

static int trace_symbolize(struct work *work, struct trace_file *trace, const char *name)
{
    int status = CLI_OK;
    struct buf table = {0};
    for (size_t i = 0; i < trace_file_count(trace) && status == CLI_OK; i++)
        status = entry_symbolize(work, trace, i, name);
    if (status == CLI_OK && trace_file_closed(trace) &&
        (trace_table_put(work->lengths, work->count, &table) != SKEIN_OK ||
         fwrite(table.data, 1, table.len, work->out) != table.len)) {
        say_error("%s: %s", name, strerror(errno));
        status = CLI_FAILED;
    }
    buf_fini(&table);
    return status;
}

/* Beside the file first, so that there is always a whole one. */
static int file_symbolize(struct work *work, struct trace_file *trace, const char *from,
                          const char *to)
{
    struct whole_file file;
    int status = CLI_FAILED;
    if (whole_file_begin(&file, to, NULL)) { /* it may be the one that is read: that stays open */
        work->out = file.file;
        status = trace_symbolize(work, trace, from);
    }
    int ended = whole_file_end(&file, status == CLI_OK);
    return status == CLI_OK ? ended : status;
}

static int symbolize_said(const struct work *work, const char *file, uint64_t torn, bool json)
{
    if (torn > 0)
        say_error("%s: %" PRIu64 " bytes that belong to no whole partition are left out", file,
                  torn);
    if (work->unread > 0)
        say_error("%s: %" PRIu64 " partitions of a newer version are as they were", file,
                  work->unread);
    if (!json) {
        safe_print(file);
        printf(": %" PRIu64 " of %" PRIu64 " addresses have names (before: %" PRIu64 ")\n",
               work->after, work->addresses, work->before);
        return out_close();
    }
    cJSON *said = cJSON_CreateObject();
    cJSON_AddStringToObject(said, "file", file);
    cJSON_AddNumberToObject(said, "addresses", (double)work->addresses);
    cJSON_AddNumberToObject(said, "named_before", (double)work->before);
    cJSON_AddNumberToObject(said, "named", (double)work->after);
    int status = json_show(said);
    cJSON_Delete(said);
    return status;
}

static int symbolizer_open(const struct options *o, struct symbol_sources *sources,
                           struct symbolizer **out)
{
    struct symbolizer_settings settings = {.program = getenv("SKEIN_SYMBOLIZER"),
                                           .hang_ms = 60000,
                                           .find = symbol_sources_find,
                                           .context = sources};
    sources->folders = &o->folders;
    int status = SKEIN_OK;
    if (o->server != NULL)
        status = debuginfod_files_new(o->server, &sources->server);
    if (status == SKEIN_OK)
        status = symbolizer_new(&settings, out);
    if (status == SKEIN_NOT_FOUND)
        say_error("there is no skein-symbolizer beside this program, nor in $SKEIN_SYMBOLIZER");
    else if (status != SKEIN_OK)
        say_error("%s", skein_status_text(status));
    return status == SKEIN_OK ? CLI_OK : CLI_FAILED;
}

static int symbolize_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct symbol_sources sources = {.folders = NULL};
    struct work work = {.symbolizer = NULL};
    const char *to = o->result.file != NULL ? o->result.file : call->arguments[0];
    struct trace_file *trace = trace_open(call->arguments[0]);
    int status = trace != NULL ? symbolizer_open(o, &sources, &work.symbolizer) : CLI_FAILED;
    if (status == CLI_OK)
        status = file_symbolize(&work, trace, call->arguments[0], to);
    if (status == CLI_OK)
        status = symbolize_said(&work, to, trace_file_torn(trace), o->result.json);
    (void)symbolizer_free(&work.symbolizer);
    debuginfod_files_free(&sources.server);
    trace_file_free(&trace);
    free(work.lengths);
    return status;
}

const struct cli_command cmd_symbolize = {
    .name = "symbolize",
    .arguments = "FILE",
    .summary = "Name the functions of a trace file's stacks",
    .examples = "  skein symbolize redis.skein\n"
                "  skein symbolize redis.skein --debug-dir ./symbols -o named.skein\n",
    CLI_RUN(options, struct options, symbolize_run),
};
