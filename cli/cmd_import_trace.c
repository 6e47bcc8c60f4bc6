/* SPDX-License-Identifier: Apache-2.0
 *
 * skein import fxt, go and perfetto: a trace file of one of Fuchsia's, of a Go runtime's, of Perfetto's.
 * One thread.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cmd_import.h"
#include "import_files.h"
#include "import_fxt.h"
#include "import_go.h"
#include "import_perfetto.h"
#include "json.h"

struct options {
    struct import_options import;
};

static const struct cli_option options[] = {IMPORT_FILES_OPTIONS(struct options), CLI_OPTIONS_END};

/* ---- Fuchsia's ---- */

static int fxt_import(void *context, const struct skein_trace_source *source,
                      const struct import_to *to, struct import_told *told)
{
    return import_fxt(source, to, told, context);
}

static void fxt_say(void *context)
{
    const struct fxt_told *fxt = context;
    if (fxt->providers > 0)
        printf("%" PRIu64 " records of %" PRIu64 " providers, %" PRIu64 " processes\n",
               fxt->records, fxt->providers, fxt->processes);
    else
        printf("%" PRIu64 " records, which name no provider, of %" PRIu64 " processes\n",
               fxt->records, fxt->processes);
    if (fxt->dropped > 0)
        printf("%" PRIu64 " times a provider's buffer was full\n", fxt->dropped);
    if (fxt->blobs > 0)
        printf("%" PRIu64 " blobs (%" PRIu64 " bytes) are left out\n", fxt->blobs, fxt->blob_bytes);
}

static void fxt_say_json(void *context, cJSON *said)
{
    const struct fxt_told *fxt = context;
    json_add_u64(said, "records", fxt->records);
    json_add_u64(said, "providers", fxt->providers);
    json_add_u64(said, "processes", fxt->processes);
    json_add_u64(said, "dropped", fxt->dropped);
    json_add_u64(said, "blobs", fxt->blobs);
    json_add_u64(said, "blob_bytes", fxt->blob_bytes);
}

static int fxt_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct fxt_told told;
    const struct import_how how = {
        .import = fxt_import, .say = fxt_say, .say_json = fxt_say_json, .context = &told};
    return import_file(call->arguments[0], &o->import, &how);
}

const struct cli_command cmd_import_fxt = {
    .name = "import fxt",
    .arguments = "FILE",
    .summary = "Read a trace in Fuchsia's format (FXT)",
    .details =
        "Read are events, scheduling, logs and names of all providers. Where the file's clock does not\n"
        "say the time of day, the time at which it was last written is taken for its end.\n",
    .examples = "  skein import fxt trace.fxt -o trace.skein\n",
    CLI_RUN(options, struct options, fxt_run),
};

/* ---- a Go runtime's ---- */

static int runtime_import(void *context, const struct skein_trace_source *source,
                          const struct import_to *to, struct import_told *told)
{
    return import_go(source, to, told, context);
}

static void runtime_say(void *context)
{
    const struct go_told *go = context;
    printf("Go 1.%u: %" PRIu64 " goroutines in %" PRIu64 " generations\n", go->version,
           go->goroutines, go->generations);
}

static void runtime_say_json(void *context, cJSON *said)
{
    const struct go_told *go = context;
    cJSON *kinds = cJSON_AddObjectToObject(said, "kinds");
    json_add_u64(said, "go", go->version);
    json_add_u64(said, "goroutines", go->goroutines);
    json_add_u64(said, "generations", go->generations);
    for (unsigned kind = 0; kind < GO_EVENT_KINDS; kind++)
        json_add_u64_some(kinds, go_kind_name(kind), go->kinds[kind]);
}

static int runtime_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct go_told told;
    const struct import_how how = {.import = runtime_import,
                                   .say = runtime_say,
                                   .say_json = runtime_say_json,
                                   .context = &told,
                                   .evidence = true};
    return import_file(call->arguments[0], &o->import, &how);
}

const struct cli_command cmd_import_go = {
    .name = "import go",
    .arguments = "FILE",
    .summary = "Read what a Go runtime has traced of itself",
    .details =
        "Read are traces of Go 1.22 to 1.26, as runtime/trace, its flight recorder and\n"
        "net/http/pprof write them, and as captures keep them (skein export --to go-trace).\n"
        "Goroutines become threads. Before Go 1.25 a trace does not say the time of day; then the\n"
        "time at which the file was last written is taken for its end.\n",
    .examples = "  curl -o app.trace 'http://127.0.0.1:6060/debug/pprof/trace?seconds=5'\n"
                "  skein import go app.trace -o app.skein && skein cat --evidence app.skein\n",
    CLI_RUN(options, struct options, runtime_run),
};

/* ---- Perfetto's ---- */

static int perfetto_import(void *context, const struct skein_trace_source *source,
                           const struct import_to *to, struct import_told *told)
{
    return import_perfetto(source, to, told, context);
}

static void perfetto_say(void *context)
{
    const struct perfetto_told *perfetto = context;
    printf("%" PRIu64 " packets: %" PRIu64 " processes, %" PRIu64 " tracks, %" PRIu64
           " sequences\n",
           perfetto->packets, perfetto->processes, perfetto->tracks, perfetto->sequences);
    if (perfetto->kernel_lost > 0 || perfetto->kernel_gaps > 0)
        printf("the kernel had lost %" PRIu64 " events, in %" PRIu64 " places\n",
               perfetto->kernel_lost, perfetto->kernel_gaps);
    if (perfetto->overwritten > 0)
        printf("%" PRIu64 " pieces had been lost by the tracer\n", perfetto->overwritten);
}

static void perfetto_say_json(void *context, cJSON *said)
{
    const struct perfetto_told *perfetto = context;
    json_add_u64(said, "packets", perfetto->packets);
    json_add_u64(said, "processes", perfetto->processes);
    json_add_u64(said, "tracks", perfetto->tracks);
    json_add_u64(said, "sequences", perfetto->sequences);
    json_add_u64(said, "stateless", perfetto->stateless);
    json_add_u64(said, "overwritten", perfetto->overwritten);
    json_add_u64(said, "kernel_lost", perfetto->kernel_lost);
    json_add_u64(said, "kernel_gaps", perfetto->kernel_gaps);
}

static int perfetto_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct perfetto_told told;
    const struct import_how how = {.import = perfetto_import,
                                   .say = perfetto_say,
                                   .say_json = perfetto_say_json,
                                   .context = &told,
                                   .evidence = true};
    return import_file(call->arguments[0], &o->import, &how);
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
    CLI_RUN(options, struct options, perfetto_run),
};
