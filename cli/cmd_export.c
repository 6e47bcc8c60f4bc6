/* SPDX-License-Identifier: Apache-2.0
 *
 * skein export: a trace file in another tool's format. One thread; the memory of one partition.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "cli_out.h"
#include "cli_trace.h"
#include "cmd.h"
#include "perfetto_export.h"

#define EXPORT_STEP_BYTES (1u << 20) /* of packets, which may be far more than the partition */

struct options {
    const char *to, *groups;
    struct cli_result result;
};

static const char *const forms[] = {"perfetto", NULL};

static const struct cli_option options[] = {
    CLI_CHOICE('t', "to", "FORM", struct options, to, forms,
               "perfetto (the only one yet, and the default)"),
    TRACE_GROUPS(struct options, "all"),
    CLI_OUTPUT_FILE(struct options,
                    "where to (default: the trace's name with .pftrace; - is standard output)"),
    CLI_OPTIONS_END};

/* "redis.skein" to "redis.pftrace" */
static char *name_for(const char *trace)
{
    size_t n = strlen(trace);
    char *name = malloc(n + sizeof ".pftrace");
    if (name == NULL)
        return NULL;
    if (n > 6 && strcmp(trace + n - 6, ".skein") == 0)
        n -= 6;
    memcpy(name, trace, n);
    strcpy(name + n, ".pftrace");
    return name;
}

static bool export_flush(struct buf *bytes, FILE *file)
{
    bool good = bytes->status == SKEIN_OK &&
                (bytes->len == 0 || fwrite(bytes->data, 1, bytes->len, file) == bytes->len);
    buf_clear(bytes);
    return good;
}

/* Returns CLI_OK, or CLI_FAILED after telling why; also where a part of the trace was unreadable,
 * but then all the rest is in the file. */
static int export_convert(const char *trace, uint64_t groups, FILE *file, const char *name)
{
    struct trace_walk *walk = NULL;
    struct perfetto_export *exporter = NULL;
    struct trace_step step;
    struct buf bytes = {0};
    if (trace_walk_new(trace, &walk) != CLI_OK)
        return CLI_FAILED;
    int status = perfetto_export_new(groups, &exporter);
    bool written = true;
    bool sound = true;
    while (status == SKEIN_OK && written && trace_walk_next(walk, &step)) {
        int one;
        do {
            one = perfetto_export_some(exporter, step.reader, EXPORT_STEP_BYTES, &bytes);
            written = export_flush(&bytes, file);
        } while (one > 0 && written);
        if (one > 0)
            break;
        if (one == SKEIN_NO_MEMORY) {
            status = one;
        } else if (one != SKEIN_OK) {
            say_error("%s: %s", trace, partition_reader_error(step.reader));
            sound = false;
        }
    }
    if (status == SKEIN_OK && written)
        status = perfetto_export_finish(exporter, &bytes);
    written = written && export_flush(&bytes, file) && fflush(file) == 0;
    if (status != SKEIN_OK)
        say_error("%s: %s", trace, skein_status_text(status));
    else if (!written)
        say_error("%s: %s", name, strerror(errno));
    sound = sound && trace_walk_sound(walk);
    buf_fini(&bytes);
    perfetto_export_free(&exporter);
    trace_walk_free(&walk);
    return status == SKEIN_OK && written && sound ? CLI_OK : CLI_FAILED;
}

static int export_said(const char *name, bool json)
{
    if (!json) {
        printf("%s; open it at https://ui.perfetto.dev\n", name);
        return out_close();
    }
    cJSON *said = cJSON_CreateObject();
    cJSON_AddStringToObject(said, "file", name);
    int status = json_show(said);
    cJSON_Delete(said);
    return status;
}

static int trace_convert_to_file(const char *trace, uint64_t groups, const char *name)
{
    size_t n = strlen(name);
    char *part = malloc(n + sizeof ".part");
    FILE *file = NULL;
    int status = CLI_FAILED;
    if (part != NULL) {
        memcpy(part, name, n);
        strcpy(part + n, ".part");
        file = fopen(part, "we");
    }
    if (file == NULL) {
        say_error("%s: %s", name, strerror(errno));
    } else {
        status = export_convert(trace, groups, file, name);
        bool closed = fclose(file) == 0;
        if (status == CLI_OK && (!closed || rename(part, name) < 0)) {
            say_error("%s: %s", name, strerror(errno));
            status = CLI_FAILED;
        }
        if (status != CLI_OK)
            unlink(part);
    }
    free(part);
    return status;
}

static int export_run(const void *values, int count, char **arguments)
{
    const struct options *o = values;
    uint64_t groups = 0;
    (void)count;
    if (trace_groups_parse(o->groups, &groups) != CLI_OK)
        return CLI_USAGE;
    if (o->result.file != NULL && strcmp(o->result.file, "-") == 0)
        return export_convert(arguments[0], groups, stdout, "standard output");
    char *name = o->result.file != NULL ? strdup(o->result.file) : name_for(arguments[0]);
    if (name == NULL) {
        say_error("out of memory");
        return CLI_FAILED;
    }
    int status = trace_convert_to_file(arguments[0], groups, name);
    if (status == CLI_OK)
        status = export_said(name, o->result.json);
    free(name);
    return status;
}

const struct cli_command cmd_export = {
    .name = "export",
    .arguments = "FILE",
    .summary = "Convert a trace file for another tool",
    .examples = "  skein export redis.skein --to perfetto -o redis.pftrace\n",
    .options = options,
    .options_bytes = sizeof(struct options),
    .min_arguments = 1,
    .max_arguments = 1,
    .run = export_run,
};
