/* SPDX-License-Identifier: Apache-2.0
 *
 * skein import fxt: a trace file of one in Fuchsia's trace format. One thread.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cmd_import.h"
#include "import_files.h"
#include "import_fxt.h"
#include "json.h"

struct options {
    struct import_options import;
};

static const struct cli_option options[] = {IMPORT_FILES_OPTIONS(struct options, import),
                                            CLI_OPTIONS_END};

static int trace_import(void *context, const struct skein_trace_source *source,
                        const struct import_to *to, struct import_told *told)
{
    return import_fxt(source, to, told, context);
}

static void trace_say(void *context)
{
    const struct fxt_told *fxt = context;
    printf("%" PRIu64 " records of %" PRIu64 " providers, %" PRIu64 " processes\n", fxt->records,
           fxt->providers, fxt->processes);
    if (fxt->dropped > 0)
        printf("%" PRIu64 " times a provider had no room for records\n", fxt->dropped);
    if (fxt->blobs > 0)
        printf("%" PRIu64 " blobs (%" PRIu64 " bytes) are left out\n", fxt->blobs, fxt->blob_bytes);
}

static void trace_say_json(void *context, cJSON *said)
{
    const struct fxt_told *fxt = context;
    json_add_u64(said, "records", fxt->records);
    json_add_u64(said, "providers", fxt->providers);
    json_add_u64(said, "processes", fxt->processes);
    json_add_u64(said, "dropped", fxt->dropped);
    json_add_u64(said, "blobs", fxt->blobs);
    json_add_u64(said, "blob_bytes", fxt->blob_bytes);
}

static int fxt_run(const void *values, int count, char **arguments)
{
    struct fxt_told fxt;
    const struct options *o = values;
    const struct import_how how = {
        .import = trace_import, .say = trace_say, .say_json = trace_say_json, .context = &fxt};
    (void)count;
    return import_file(arguments[0], &o->import, &how);
}

const struct cli_command cmd_import_fxt = {
    .name = "import fxt",
    .arguments = "FILE",
    .summary = "Read a trace in Fuchsia's format (FXT)",
    .details =
        "Read are events, scheduling, logs and names of all providers. Where the file's clock does not\n"
        "say the time of day, the time at which it was last written is taken for its end.\n",
    .examples = "  skein import fxt trace.fxt -o trace.skein\n",
    .options = options,
    .options_bytes = sizeof(struct options),
    .min_arguments = 1,
    .max_arguments = 1,
    .run = fxt_run,
};
