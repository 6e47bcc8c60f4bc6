/* SPDX-License-Identifier: Apache-2.0
 *
 * skein fetch: downloads the trace of a capture. One thread.
 */
#include <stdio.h>
#include <string.h>

#include "cli_capture.h"
#include "cli_download.h"
#include "cli_out.h"

struct options {
    const char *collector, *file, *process, *format;
    struct cli_number from, to;
};

static const struct cli_option options[] = {
    CLI_OPTION(CLI_TEXT, 'o', "output", "FILE", struct options, file,
               "where to (default: ID.skein, or ID.pftrace)"),
    CLI_OPTION(CLI_TEXT, 'f', "format", "FORM", struct options, format,
               "skein or perfetto (default: skein)"),
    CLI_OPTION(CLI_TEXT, 'p', "process", "ID", struct options, process, "of that process alone"),
    CLI_OPTION(CLI_TIME, 0, "from", "TIME", struct options, from,
               "only what that time and later needs: 2026-11-21T09:40:00Z, or -30s"),
    CLI_OPTION(CLI_TIME, 0, "to", "TIME", struct options, to, "only what is needed up to then"),
    CLI_COLLECTOR(struct options),
    CLI_OPTIONS_END};

static int run(const void *values, int count, char **arguments)
{
    const struct options *o = values;
    const char *format = o->format ? o->format : "skein";
    bool native = strcmp(format, "skein") == 0;
    struct api api;
    struct buf text = {0};
    char name[64];
    uint64_t bytes;
    (void)count;
    if (!native && strcmp(format, "perfetto") != 0) {
        say_error("fetch: --format %s: must be skein or perfetto", format);
        return CLI_USAGE;
    }
    if (o->from.given && o->to.given && o->from.value > o->to.value) {
        say_error("fetch: --to is before --from");
        return CLI_USAGE;
    }
    if (!capture_id_valid(arguments[0]))
        return CLI_USAGE;
    if (api_init(&api, o->collector) != CLI_OK)
        return CLI_FAILED;
    snprintf(name, sizeof(name), "%s.%s", arguments[0], native ? "skein" : "pftrace");
    struct download download = {arguments[0], o->process, format, o->file ? o->file : name,
                                &o->from,     &o->to};
    if (download_run(&api, &download, &bytes) != CLI_OK)
        return CLI_FAILED;
    text_put_bytes(&text, bytes);
    printf("%s: %s\n", download.file, api_text(&text));
    buf_fini(&text);
    return out_close();
}

const struct cli_command cmd_fetch = {
    .name = "fetch",
    .arguments = "ID",
    .summary = "Download the trace of a capture; resumes a broken download",
    .examples = "  skein fetch 0193a5c0e1f27d3b8c4e5f60718293a4 -o redis.skein\n"
                "  skein fetch 0193a5c0e1f27d3b8c4e5f60718293a4 -f perfetto -o redis.pftrace\n"
                "  skein fetch 0193a5c0e1f27d3b8c4e5f60718293a4 --from 2026-11-21T09:40:00Z "
                "--to 2026-11-21T09:40:02Z\n",
    .options = options,
    .options_bytes = sizeof(struct options),
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run,
};
