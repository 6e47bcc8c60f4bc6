/* SPDX-License-Identifier: Apache-2.0
 *
 * skein check: verifies every byte of trace files. One thread.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cli.h"
#include "cli_out.h"
#include "cli_trace.h"
#include "cmd.h"
#include "json.h"

struct options {
    bool quiet, json;
};

static const struct cli_option options[] = {
    CLI_OPTION(CLI_FLAG, 'q', "quiet", NULL, struct options, quiet, "say nothing of sound files"),
    CLI_OUTPUT(struct options), CLI_OPTIONS_END};

/* Takes the sentence to standard error, and into the row. */
static void fault_add(cJSON *row, struct buf *words)
{
    say_error("%s", text_of(words));
    cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(row, "faults"),
                         cJSON_CreateString(text_of(words)));
    buf_fini(words);
}

static void file_partition_check(struct trace_file *file, const char *path, size_t i, cJSON *row)
{
    const struct trace_entry *entry = trace_file_entry(file, i);
    char error[512] = "";
    struct buf bytes = {0}, words = {0};
    int status = trace_file_read(file, i, &bytes);
    if (status == SKEIN_OK)
        status = partition_check(bytes.data, bytes.len, error, sizeof error);
    buf_fini(&bytes);
    if (status == SKEIN_OK)
        return;
    buf_printf(&words, "%s: partition %zu, which begins at byte %" PRIu64 " of the file: %s", path,
               i, entry->offset, error[0] ? error : skein_status_text(status));
    fault_add(row, &words);
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

/* {"file","sound","partitions","events","faults"} of it; NULL where it is no trace, which is told.
 */
static cJSON *file_check(const char *path)
{
    struct trace_file *file = trace_open(path);
    uint64_t events = 0;
    if (file == NULL)
        return NULL;
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "file", path);
    cJSON_AddItemToObject(row, "faults", cJSON_CreateArray());
    for (size_t i = 0; i < trace_file_count(file); i++) {
        events += trace_file_entry(file, i)->footer.events;
        file_partition_check(file, path, i, row);
    }
    if (trace_file_torn(file) > 0) {
        struct buf words = {0};
        buf_printf(&words,
                   "%s: %" PRIu64 " bytes from byte %" PRIu64 " on belong to no whole partition",
                   path, trace_file_torn(file), torn_at(file));
        fault_add(row, &words);
    }
    json_add_u64(row, "partitions", trace_file_count(file));
    json_add_u64(row, "events", events);
    const cJSON *faults = json_at(row, "faults");
    cJSON_AddBoolToObject(row, "sound", faults != NULL && faults->child == NULL);
    trace_file_free(&file);
    return row;
}

static int check_command_run(const void *values, int count, char **arguments)
{
    const struct options *o = values;
    int status = CLI_OK;
    cJSON *rows = cJSON_CreateArray();
    for (int i = 0; i < count; i++) {
        cJSON *row = file_check(arguments[i]);
        bool sound = cJSON_IsTrue(json_at(row, "sound"));
        if (!sound)
            status = CLI_FAILED;
        if (sound && !o->quiet && !o->json)
            printf("%s: sound: %" PRIu64 " partitions, %" PRIu64 " events\n", arguments[i],
                   json_u64_at(row, "partitions"), json_u64_at(row, "events"));
        cJSON_AddItemToArray(rows, row);
    }
    int printed = o->json ? json_show(rows) : out_close();
    cJSON_Delete(rows);
    return status == CLI_OK ? printed : status;
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
    .run = check_command_run,
};
