/* SPDX-License-Identifier: Apache-2.0
 *
 * skein import: makes a trace file of what another tool has recorded. One thread; the memory of the
 * file, and as much again for its events.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "cli.h"
#include "cli_out.h"
#include "cmd.h"
#include "cmd_import.h"
#include "import_files.h"
#include "json.h"
#include "perf_import.h"
#include "whole_file.h"

#define FILE_BYTES_MAX (UINT64_C(8) << 30)

struct options {
    struct cli_result result;
};

static const struct cli_option options[] = {
    CLI_OUTPUT_FILE(struct options, "where to (default: the file's name with .skein)"),
    CLI_OPTIONS_END};

/* A whole file; NULL after telling why. */
static uint8_t *file_take(const char *path, const struct skein_trace_source *source)
{
    uint8_t *bytes = NULL;
    if (source->bytes > FILE_BYTES_MAX)
        say_error("%s: is larger than 8 GiB", path);
    else if ((bytes = malloc((size_t)source->bytes + 1)) == NULL)
        say_error("out of memory");
    else if (source->read(source->context, 0, bytes, (size_t)source->bytes) == SKEIN_OK)
        return bytes;
    else
        say_error("%s: cannot be read", path);
    free(bytes);
    return NULL;
}

static int trace_save(const struct buf *trace, const char *name, const char *from)
{
    struct whole_file file;
    bool fine = whole_file_begin(&file, name, from);
    if (fine && fwrite(trace->data, 1, trace->len, file.file) != trace->len) {
        say_error("%s: %s", name, strerror(errno));
        fine = false;
    }
    return whole_file_end(&file, fine);
}

static int import_said(const char *name, const struct perf_imported *imported, bool json)
{
    if (json) {
        cJSON *said = cJSON_CreateObject();
        cJSON_AddStringToObject(said, "file", name);
        json_add_u64(said, "processes", imported->processes);
        json_add_u64(said, "events", imported->events);
        json_add_u64(said, "lost_records", imported->lost_records);
        json_add_u64(said, "unseen_switches", imported->unseen);
        int status = json_show(said);
        cJSON_Delete(said);
        return status;
    }
    safe_print(name);
    printf(": %" PRIu64 " events of %" PRIu64 " processes; skein sched ", imported->events,
           imported->processes);
    safe_print(name);
    printf("\n");
    if (imported->lost_records > 0)
        printf("perf had lost %" PRIu64 " records; nothing is claimed of that time\n",
               imported->lost_records);
    if (imported->unseen > 0)
        printf("%" PRIu64 " switches were not recorded; times beside them are bounds\n",
               imported->unseen);
    return out_close();
}

/* A file that perf sched record has not written holds no scheduling, or not as it is read here. */
static void failure_say(const char *path, const uint8_t *bytes, uint64_t n, int status,
                        const char *error)
{
    bool is_perf =
        n >= 8 && (memcmp(bytes, "PERFILE2", 8) == 0 || memcmp(bytes, "2ELIFREP", 8) == 0);
    const char *why = error[0] != '\0'            ? error
                      : status == SKEIN_NOT_FOUND ? "it holds no change of threads"
                                                  : skein_status_text(status);
    if (is_perf && (status == SKEIN_UNSUPPORTED || status == SKEIN_NOT_FOUND))
        say_error("%s: %s. What else it holds, as samples with their stacks, is read as text: "
                  "perf script -i %s -F +pid > TEXT && skein import perf-script TEXT",
                  path, why, path);
    else
        say_error("%s: %s", path, why);
}

static int perf_convert(const char *path, const struct skein_trace_source *source,
                        struct buf *trace, struct perf_imported *imported)
{
    struct perf_data data = {.count = 0};
    char error[160] = "";
    uint8_t *bytes = file_take(path, source);
    if (bytes == NULL)
        return CLI_FAILED;
    int status = perf_data_read(bytes, (size_t)source->bytes, &data, error, sizeof error);
    int64_t ahead_ns = 0;
    if (status == SKEIN_OK && data.count > 0 && !data.has_realtime) {
        ahead_ns =
            (int64_t)(import_source_changed_ns(source) - data.events[data.count - 1].time_ns);
        say_warning("%s: does not say the time of day; taken is when the file was written", path);
    }
    const uint64_t of[2] = {data.seed, import_place(path)};
    data.seed = checksum64(of, sizeof of); /* the same bytes elsewhere are of other processes */
    if (status == SKEIN_OK)
        status = perf_import(&data, ahead_ns, trace, imported);
    perf_data_fini(&data);
    if (status != SKEIN_OK)
        failure_say(path, bytes, source->bytes, status, error);
    free(bytes);
    return status == SKEIN_OK ? CLI_OK : CLI_FAILED;
}

static void name_make(const struct cli_call *call, const struct skein_trace_source *source,
                      struct buf *name)
{
    const struct options *o = call->options;
    const char *path = call->arguments[0];
    size_t n = import_source_length(source, path);
    if (n > 5 && memcmp(path + n - 5, ".data", 5) == 0)
        n -= 5;
    if (o->result.file != NULL)
        buf_printf(name, "%s", o->result.file);
    else
        buf_printf(name, "%.*s.skein", (int)n, path);
}

static int perf_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    const char *path = call->arguments[0];
    struct buf trace = {0}, name = {0};
    struct perf_imported imported;
    struct skein_trace_source source;
    struct import_told told = {.partitions = 0};
    int status = import_source_open(path, &source) == SKEIN_OK ? CLI_OK : CLI_FAILED;
    if (status == CLI_OK) {
        name_make(call, &source, &name);
        status = perf_convert(path, &source, &trace, &imported);
        import_source_tell(&source, &told);
    }
    if (told.why[0] != '\0')
        say_warning("%s: %s", path, told.why);
    if (status == CLI_OK)
        status = trace_save(&trace, text_of(&name), path);
    if (status == CLI_OK)
        status = import_said(text_of(&name), &imported, o->result.json);
    import_source_close(&source);
    buf_fini(&trace);
    buf_fini(&name);
    return status;
}

static const struct cli_command perf = {
    .name = "import perf",
    .arguments = "FILE",
    .summary = "Read what perf sched record has written",
    .details =
        "Read are sched_switch, sched_waking, sched_wakeup_new and task_newtask, with times of\n"
        "CLOCK_MONOTONIC, which are those of captures, too. Files of perf record hold samples: perf\n"
        "script prints them, and import perf-script reads what it prints.\n",
    .examples = "  perf sched record --clockid CLOCK_MONOTONIC -- sleep 5\n"
                "  skein import perf perf.data -o host.skein && skein sched host.skein\n",
    CLI_RUN(options, struct options, perf_run),
};

static const struct cli_command *const actions[] = {&perf,
                                                    &cmd_import_go,
                                                    &cmd_import_ctf,
                                                    &cmd_import_fxt,
                                                    &cmd_import_perf_script,
                                                    &cmd_import_perfetto,
                                                    NULL};

const struct cli_command cmd_import = {
    .name = "import",
    .summary = "Make a trace file of what another tool has recorded, packed by gzip or zstd or not",
    .examples = "  skein import perf perf.data -o host.skein\n"
                "  skein import go app.trace -o app.skein\n"
                "  skein import perfetto trace.pftrace -o trace.skein\n",
    .actions = actions,
};
