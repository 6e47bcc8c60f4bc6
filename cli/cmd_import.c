/* SPDX-License-Identifier: Apache-2.0
 *
 * skein import: makes a trace file of what another tool has recorded. One thread; the memory of the
 * file, and as much again for its events.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* A whole file; NULL after telling why. *changed_ns: when it was last written, the time of day. */
static uint8_t *file_take(const char *path, size_t *n, uint64_t *changed_ns)
{
    struct stat stat;
    uint8_t *bytes = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait */
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (file == NULL || fstat(fileno(file), &stat) != 0) {
        say_error("%s: %s", path, strerror(errno));
    } else if (!S_ISREG(stat.st_mode) || (uint64_t)stat.st_size > FILE_BYTES_MAX) {
        say_error("%s: is no file of at most 8 GiB", path);
    } else if ((bytes = malloc((size_t)stat.st_size + 1)) == NULL) {
        say_error("out of memory");
    } else {
        *n = fread(bytes, 1, (size_t)stat.st_size, file);
        *changed_ns = (uint64_t)stat.st_mtim.tv_sec * 1000000000u + (uint64_t)stat.st_mtim.tv_nsec;
    }
    if (file != NULL)
        fclose(file);
    return bytes;
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

static int perf_convert(const char *path, struct buf *trace, struct perf_imported *imported)
{
    struct perf_data data = {.count = 0};
    char error[160] = "";
    size_t n = 0;
    uint64_t changed_ns = 0;
    uint8_t *bytes = file_take(path, &n, &changed_ns);
    if (bytes == NULL)
        return CLI_FAILED;
    int status = perf_data_read(bytes, n, &data, error, sizeof error);
    free(bytes);
    int64_t ahead_ns = 0;
    data.seed ^= import_place(path);
    if (status == SKEIN_OK && data.count > 0 && !data.has_realtime) {
        ahead_ns = (int64_t)(changed_ns - data.events[data.count - 1].time_ns);
        say_warning("%s: does not say the time of day; taken is when the file was written", path);
    }
    if (status == SKEIN_OK)
        status = perf_import(&data, ahead_ns, trace, imported);
    perf_data_fini(&data);
    if (status != SKEIN_OK)
        say_error("%s: %s", path,
                  error[0] != '\0'            ? error
                  : status == SKEIN_NOT_FOUND ? "it holds no change of threads"
                                              : skein_status_text(status));
    return status == SKEIN_OK ? CLI_OK : CLI_FAILED;
}

static int perf_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct buf trace = {0}, name = {0};
    struct perf_imported imported;
    size_t n = strlen(call->arguments[0]);
    if (n > 5 && strcmp(call->arguments[0] + n - 5, ".data") == 0)
        n -= 5;
    if (o->result.file != NULL)
        buf_printf(&name, "%s", o->result.file);
    else
        buf_printf(&name, "%.*s.skein", (int)n, call->arguments[0]);
    int status = perf_convert(call->arguments[0], &trace, &imported);
    if (status == CLI_OK)
        status = trace_save(&trace, text_of(&name), call->arguments[0]);
    if (status == CLI_OK)
        status = import_said(text_of(&name), &imported, o->result.json);
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
        "CLOCK_MONOTONIC, which are those of captures, too. For what perf script prints see import perf-script.\n",
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
    .summary = "Make a trace file of what another tool has recorded",
    .examples = "  skein import perf perf.data -o host.skein\n"
                "  skein import go app.trace -o app.skein\n"
                "  skein import perfetto trace.pftrace -o trace.skein\n",
    .actions = actions,
};
