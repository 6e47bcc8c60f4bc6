/* SPDX-License-Identifier: Apache-2.0
 *
 * skein check: verifies every byte of trace files. One thread.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "cli_out.h"
#include "cli_trace.h"

struct options {
    bool quiet;
};

static const struct cli_option options[] = {
    CLI_OPTION(CLI_FLAG, 'q', "quiet", NULL, struct options, quiet, "say nothing of sound files"),
    CLI_OPTIONS_END};

static int check_partition(struct trace_file *file, const char *path, size_t i)
{
    const struct trace_entry *entry = trace_file_entry(file, i);
    char error[512] = "";
    struct buf bytes = {0};
    int status = trace_file_read(file, i, &bytes);
    if (status == SKEIN_OK)
        status = partition_check(bytes.data, bytes.len, error, sizeof(error));
    buf_fini(&bytes);
    if (status == SKEIN_OK)
        return CLI_OK;
    say_error("%s: partition %zu, which begins at byte %" PRIu64 " of the file: %s", path, i,
              entry->offset, error[0] ? error : skein_status_text(status));
    return CLI_FAILED;
}

/* Where the bytes between partitions begin, or where the last whole partition ends. */
static uint64_t torn_at(const struct trace_file *file)
{
    uint64_t end = 0;
    for (size_t i = 0; i < trace_file_count(file); i++) {
        const struct trace_entry *entry = trace_file_entry(file, i);
        if (entry->offset != end)
            return end;
        end = entry->offset + entry->bytes;
    }
    return end;
}

static int check_file(const char *path, bool quiet)
{
    struct trace_file *file = trace_open(path);
    uint64_t events = 0;
    if (!file)
        return CLI_FAILED;
    int result = CLI_OK;
    for (size_t i = 0; i < trace_file_count(file); i++) {
        events += trace_file_entry(file, i)->footer.events;
        if (check_partition(file, path, i) != CLI_OK)
            result = CLI_FAILED;
    }
    if (trace_file_torn(file) > 0) {
        say_error("%s: %" PRIu64 " bytes from byte %" PRIu64 " on belong to no whole partition",
                  path, trace_file_torn(file), torn_at(file));
        result = CLI_FAILED;
    }
    if (result == CLI_OK && !quiet)
        printf("%s: sound: %zu partitions, %" PRIu64 " events\n", path, trace_file_count(file),
               events);
    trace_file_free(&file);
    return result;
}

static int run(const void *values, int count, char **arguments)
{
    const struct options *o = values;
    int status = CLI_OK;
    for (int i = 0; i < count; i++)
        if (check_file(arguments[i], o->quiet) != CLI_OK)
            status = CLI_FAILED;
    int closed = out_close();
    return status == CLI_OK ? closed : status;
}

const struct cli_command cmd_check = {
    .name = "check",
    .arguments = "FILE...",
    .summary = "Verify every byte of trace files",
    .details =
        "Checks all checksums, decodes every block and compares the footers with what is\n"
        "there. The exit status is 1 where anything is wrong, and the message names the byte.\n",
    .examples = "  skein check redis.skein\n",
    .options = options,
    .options_bytes = sizeof(struct options),
    .min_arguments = 1,
    .max_arguments = CLI_ARGUMENTS_ANY,
    .run = run,
};
