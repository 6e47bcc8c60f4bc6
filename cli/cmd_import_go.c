/* SPDX-License-Identifier: Apache-2.0
 *
 * skein import go: a trace file of what a Go runtime has traced of itself. One thread.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cmd_import.h"
#include "import_files.h"
#include "import_go.h"
#include "json.h"

static const struct cli_option options[] = {IMPORT_FILES_OPTIONS(struct import_options),
                                            CLI_OPTIONS_END};

static int trace_import(void *context, const struct skein_trace_source *source,
                        const struct import_to *to, struct import_told *told)
{
    return import_go(source, to, told, context);
}

static void trace_say(void *context)
{
    const struct go_told *go = context;
    printf("Go 1.%u: %" PRIu64 " goroutines in %" PRIu64 " generations\n", go->version,
           go->goroutines, go->generations);
}

static void trace_say_json(void *context, cJSON *said)
{
    const struct go_told *go = context;
    cJSON *kinds = cJSON_AddObjectToObject(said, "kinds");
    json_add_u64(said, "go", go->version);
    json_add_u64(said, "goroutines", go->goroutines);
    json_add_u64(said, "generations", go->generations);
    for (unsigned kind = 0; kind < GO_EVENT_KINDS; kind++)
        if (go->kinds[kind] > 0)
            json_add_u64(kinds, go_kind_name(kind), go->kinds[kind]);
}

static int go_run(const void *values, int count, char **arguments)
{
    struct go_told go;
    const struct import_how how = {
        .import = trace_import, .say = trace_say, .say_json = trace_say_json, .context = &go};
    (void)count;
    return import_file(arguments[0], values, &how);
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
    .options = options,
    .options_bytes = sizeof(struct import_options),
    .min_arguments = 1,
    .max_arguments = 1,
    .run = go_run,
};
