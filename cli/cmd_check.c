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
#include "trace_file.h"

struct options {
    bool quiet, json;
};

static const struct cli_option options[] = {
    CLI_OPTION(CLI_FLAG, 'q', "quiet", NULL, struct options, quiet, "say nothing of sound files"),
    CLI_OUTPUT(struct options), CLI_OPTIONS_END};

/* {"text","rule"?,"byte"?,"unpacked_byte"?,"partition"?}: the sentence also goes to standard error.
 * What breaks no rule, as a lack of memory, has none. */
static void fault_add(cJSON *row, struct buf *words, const struct partition_fault *fault,
                      uint64_t byte)
{
    cJSON *item = cJSON_CreateObject();
    say_error("%s", text_of(words));
    cJSON_AddStringToObject(item, "text", text_of(words));
    if (fault->rule != F_NONE) {
        char rule[16];
        snprintf(rule, sizeof rule, "F-%u", (unsigned)fault->rule);
        cJSON_AddStringToObject(item, "rule", rule);
        json_add_u64(item, "byte", byte);
        if (fault->packed)
            json_add_u64(item, "unpacked_byte", fault->unpacked_byte);
    }
    cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(row, "faults"), item);
    buf_fini(words);
}

static void partition_faults_add(struct trace_file *file, const char *path, size_t i, cJSON *row)
{
    const struct trace_entry *entry = trace_file_entry(file, i);
    struct partition_fault fault = {.rule = F_NONE};
    char why[256];
    struct buf bytes = {0}, words = {0};
    int status = trace_file_read(file, i, &bytes);
    if (status == SKEIN_OK)
        status = partition_fault_find(bytes.data, bytes.len, &fault);
    buf_fini(&bytes);
    if (status == SKEIN_OK)
        return;
    partition_fault_print(&fault, entry->offset, why, sizeof why);
    buf_printf(&words, "%s: %s (in partition %zu, which begins at byte %" PRIu64 ")", path,
               why[0] ? why : skein_status_text(status), i, entry->offset);
    fault_add(row, &words, &fault, entry->offset + fault.byte);
}

/* What is wrong between partitions, or with a table. */
static void file_faults_add(struct trace_file *file, const char *path, cJSON *row)
{
    for (size_t i = 0; i < trace_file_faults(file); i++) {
        struct trace_fault fault;
        struct buf words = {0};
        char why[256];
        int status = trace_file_fault(file, i, &fault);
        partition_fault_print(&fault.why, 0, why, sizeof why);
        buf_printf(&words, "%s: %s", path, why[0] ? why : skein_status_text(status));
        if (fault.bytes > 0)
            buf_printf(&words,
                       " (%" PRIu64 " bytes from byte %" PRIu64
                       " on belong to no whole partition, F-37)",
                       fault.bytes, fault.offset);
        fault_add(row, &words, &fault.why, fault.why.byte);
    }
}

/* {"file","sound","partitions","events","lost","losses","uncounted","copies","others","faults"} of it. */
static cJSON *file_check(const char *path)
{
    char error[512] = "";
    struct trace_file *file = NULL;
    uint64_t events = 0, lost = 0, losses = 0, uncounted = 0;
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "file", path);
    cJSON_AddItemToObject(row, "faults", cJSON_CreateArray());
    if (trace_file_inspect(path, &file, error, sizeof error) != SKEIN_OK) {
        struct partition_fault none = {.rule = F_NONE};
        struct buf words = {0};
        buf_printf(&words, "%s", error);
        fault_add(row, &words, &none, 0);
    }
    size_t count = file == NULL ? 0 : trace_file_count(file);
    for (size_t i = 0; i < count; i++) {
        const struct partition_footer *footer = &trace_file_entry(file, i)->footer;
        events += footer->events;
        lost += footer->lost;
        losses += footer->loss_count;
        for (size_t k = 0; k < footer->loss_count; k++)
            uncounted += footer->losses[k].events == 0;
        partition_faults_add(file, path, i, row);
    }
    if (file != NULL)
        file_faults_add(file, path, row);
    json_add_u64(row, "partitions", count);
    json_add_u64(row, "events", events);
    json_add_u64(row, "lost", lost);
    json_add_u64(row, "losses", losses);
    json_add_u64(row, "uncounted", uncounted);
    trace_twins_add(path, row);
    const cJSON *faults = json_at(row, "faults");
    cJSON_AddBoolToObject(row, "sound", faults != NULL && faults->child == NULL);
    trace_file_free(&file);
    return row;
}

/* What is missing is no fault of the file: it says so itself. */
static void losses_say(const cJSON *row)
{
    uint64_t losses = json_u64_at(row, "losses"), uncounted = json_u64_at(row, "uncounted");
    if (losses == 0)
        return;
    printf("it tells of records that are missing, in %" PRIu64 " places: ", losses);
    if (uncounted == losses)
        printf("nobody knows how many\n");
    else
        printf("%s%" PRIu64 "\n", uncounted > 0 ? "at least " : "", json_u64_at(row, "lost"));
}

static int check_command_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    int status = CLI_OK;
    cJSON *rows = cJSON_CreateArray();
    for (int i = 0; i < call->count; i++) {
        cJSON *row = file_check(call->arguments[i]);
        bool sound = cJSON_IsTrue(json_at(row, "sound"));
        if (!sound)
            status = CLI_FAILED;
        if (sound && !o->quiet && !o->json) {
            safe_print(call->arguments[i]);
            printf(": sound: %" PRIu64 " partitions, %" PRIu64 " events\n",
                   json_u64_at(row, "partitions"), json_u64_at(row, "events"));
            losses_say(row);
            trace_twins_say(row);
        }
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
        "there. The exit status is 1 where anything is wrong, and the message names the rule of\n"
        "docs/format.md that is broken (F-n) and the byte of the file.\n",
    .examples = "  skein check redis.skein\n",
    CLI_RUN(options, struct options, check_command_run),
};
