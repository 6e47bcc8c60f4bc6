/* SPDX-License-Identifier: Apache-2.0
 *
 * skein import perf-script: a trace file of what perf script prints. One thread.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cli_out.h"
#include "cmd_import.h"
#include "import_files.h"
#include "import_perf_script.h"
#include "json.h"

#define HZ_MAX 1000000

struct options {
    struct import_options import;
    struct cli_number hz;
};

static const struct cli_option options[] = {
    IMPORT_FILES_OPTIONS(struct options),
    CLI_OPTION(CLI_NUMBER, 0, "hz", "N", struct options, hz,
               "how often perf sampled a second (perf record -F), for events that do not say it: "
               "cycles"),
    CLI_OPTIONS_END};

struct run {
    uint64_t hz;
    struct perf_script_told told;
};

static int trace_import(void *context, const struct skein_trace_source *source,
                        const struct import_to *to, struct import_told *told)
{
    struct run *run = context;
    return import_perf_script(source, run->hz, to, told, &run->told);
}

static void trace_say(void *context)
{
    const struct run *run = context;
    printf("%" PRIu64 " lines: %" PRIu64 " samples, %" PRIu64 " switches, %" PRIu64
           " other tracepoints\n",
           run->told.lines, run->told.samples, run->told.switches, run->told.tracepoints);
    if (run->told.lines_left > 0)
        printf("%" PRIu64 " lines are left out, the first is line %" PRIu64 "\n",
               run->told.lines_left, run->told.first_left);
    if (run->told.no_pids)
        say_warning(
            "it names no process, so all threads are of one; perf script -F +pid names them");
}

static void trace_say_json(void *context, cJSON *said)
{
    const struct run *run = context;
    json_add_u64(said, "lines", run->told.lines);
    json_add_u64(said, "samples", run->told.samples);
    json_add_u64(said, "switches", run->told.switches);
    json_add_u64(said, "tracepoints", run->told.tracepoints);
    json_add_u64(said, "processes", run->told.processes);
    json_add_u64(said, "lines_left", run->told.lines_left);
    json_add_u64(said, "first_left", run->told.first_left);
    cJSON_AddBoolToObject(said, "no_pids", run->told.no_pids);
}

static int perf_script_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct run run = {.hz = o->hz.given ? (uint64_t)o->hz.value : 0};
    const struct import_how how = {.import = trace_import,
                                   .say = trace_say,
                                   .say_json = trace_say_json,
                                   .context = &run,
                                   .evidence = true};
    if (o->hz.given && (o->hz.value == 0 || o->hz.value > HZ_MAX)) {
        say_error("import perf-script: --hz must be from 1 to %d", HZ_MAX);
        return CLI_USAGE;
    }
    return import_file(call->arguments[0], &o->import, &how);
}

const struct cli_command cmd_import_perf_script = {
    .name = "import perf-script",
    .arguments = "FILE",
    .summary = "Read what perf script prints: samples, stacks, tracepoints",
    .details =
        "The file is the text of perf script, with its own fields or others: a thread (tid) and a time\n"
        "are needed, and a CPU for the scheduler's events. For perf.data itself see import perf. The\n"
        "text does not say the time of day: the time at which it was last written is taken for its end.\n",
    .examples = "  perf record -g -F 99 -- ./server && perf script -F +pid > samples.txt\n"
                "  skein import perf-script samples.txt --hz 99 -o samples.skein\n"
                "  skein export samples.skein --to pprof\n",
    CLI_RUN(options, struct options, perf_script_run),
};
