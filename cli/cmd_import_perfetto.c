/* SPDX-License-Identifier: Apache-2.0
 *
 * skein import perfetto: a trace file of one of Perfetto's. One thread.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cmd_import.h"
#include "import_files.h"
#include "import_perfetto.h"
#include "json.h"

struct options {
    struct import_options import;
};

static const struct cli_option options[] = {IMPORT_FILES_OPTIONS(struct options, import),
                                            CLI_OPTIONS_END};

static int trace_import(void *context, const struct skein_trace_source *source,
                        const struct import_to *to, struct import_told *told)
{
    return import_perfetto(source, to, told, context);
}

static void trace_say(void *context)
{
    const struct perfetto_told *perfetto = context;
    printf("%" PRIu64 " packets: %" PRIu64 " processes, %" PRIu64 " tracks, %" PRIu64
           " sequences\n",
           perfetto->packets, perfetto->processes, perfetto->tracks, perfetto->sequences);
    if (perfetto->overwritten > 0)
        printf("%" PRIu64 " pieces had been lost by the tracer\n", perfetto->overwritten);
}

static void trace_say_json(void *context, cJSON *said)
{
    const struct perfetto_told *perfetto = context;
    json_add_u64(said, "packets", perfetto->packets);
    json_add_u64(said, "processes", perfetto->processes);
    json_add_u64(said, "tracks", perfetto->tracks);
    json_add_u64(said, "sequences", perfetto->sequences);
    json_add_u64(said, "stateless", perfetto->stateless);
    json_add_u64(said, "overwritten", perfetto->overwritten);
}

static int perfetto_run(const void *values, int count, char **arguments)
{
    struct perfetto_told perfetto;
    const struct options *o = values;
    const struct import_how how = {.import = trace_import,
                                   .say = trace_say,
                                   .say_json = trace_say_json,
                                   .context = &perfetto,
                                   .evidence = true};
    (void)count;
    return import_file(arguments[0], &o->import, &how);
}

const struct cli_command cmd_import_perfetto = {
    .name = "import perfetto",
    .arguments = "FILE",
    .summary = "Read a trace of Perfetto: track events, scheduling",
    .details =
        "Read are slices, instants and counters of tracks, the scheduler's events of ftrace (also\n"
        "compact ones) and samples of CPUs, as traced, Perfetto's SDK and Chromium write them.\n"
        "Packets that are compressed are not read.\n",
    .examples = "  skein import perfetto trace.pftrace -o trace.skein\n",
    .options = options,
    .options_bytes = sizeof(struct options),
    .min_arguments = 1,
    .max_arguments = 1,
    .run = perfetto_run,
};
