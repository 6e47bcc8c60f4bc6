/* SPDX-License-Identifier: Apache-2.0
 *
 * skein fetch: downloads the trace of a capture. One thread.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli_download.h"
#include "cli_id.h"
#include "cli_out.h"
#include "cmd.h"

struct options {
    struct cli_collector collector;
    const char *process, *format, *groups, *of;
    struct cli_number from, to;
    struct cli_result result;
    bool split, skip_damaged, incident;
};

static const char *const formats[] = {"skein", "perfetto", "pprof", "folded", NULL};
static const char *const suffixes[] = {"skein", "pftrace", "pb.gz", "folded"}; /* of each */
static const char *const values_of[] = {"samples", "waits", "wall", "contention", NULL};

static const struct cli_option options[] = {
    CLI_OPTION(CLI_FLAG, 'i', "incident", NULL, struct options, incident,
               "of all captures of the incident that it is of; what they share is there once"),
    CLI_CHOICE('f', "format", "FORM", struct options, format, formats,
               "skein, perfetto, or a profile: pprof or folded (default: skein)"),
    CLI_CHOICE(
        0, "of", "WHAT", struct options, of, values_of,
        "of -f folded: samples, or in us waits, contention (for locks) or wall (the CPU by samples, and waits) (default: samples where there are any)"),
    CLI_OPTION(
        CLI_TEXT, 0, "groups", "LIST", struct options, groups,
        "of all but -f skein: events of these groups, such as net,io, or all (default: those that "
        "the capture names)"),
    CLI_OPTION(CLI_TEXT, 'p', "process", "ID", struct options, process, "of that process alone"),
    CLI_OPTION(CLI_FLAG, 's', "split", NULL, struct options, split,
               "a file for each process; -o is their folder (default: here)"),
    CLI_OPTION(CLI_TIME, 0, "from", "TIME", struct options, from,
               "only what that time and later needs: 2026-11-21T09:40:00Z, or -30s"),
    CLI_OPTION(CLI_TIME, 0, "to", "TIME", struct options, to, "only what is needed up to then"),
    CLI_OPTION(CLI_FLAG, 0, "skip-damaged", NULL, struct options, skip_damaged,
               "without what is damaged on the collector's disk, instead of nothing"),
    CLI_OUTPUT_FILE(struct options, "where to (default: ID.skein, .pftrace, .pb.gz or .folded; "
                                    "incident-ID.skein)"),
    CLI_COLLECTOR(struct options),
    CLI_OPTIONS_END};

static const char *format_of(const struct options *o)
{
    return o->format != NULL ? o->format : "skein";
}

static const char *suffix_of(const struct options *o)
{
    size_t i = 0;
    while (strcmp(formats[i], format_of(o)) != 0)
        i++;
    return suffixes[i];
}

static int captures_fetch(const struct api *api, const struct options *o, const char *id,
                          const char *process, const char *file)
{
    uint64_t bytes;
    struct download download = {.capture = id,
                                .incident = o->incident,
                                .process = process,
                                .format = format_of(o),
                                .groups = o->groups,
                                .of = o->of,
                                .file = file,
                                .from = &o->from,
                                .to = &o->to,
                                .skip_damaged = o->skip_damaged};
    int status = download_run(api, &download, &bytes);
    return status == CLI_OK ? download_said(&download, bytes, o->result.json) : status;
}

/* ---- a file for each process ---- */

/* A service may be named "a/b", or as a folder's own names. */
static void name_put(struct buf *path, const char *text)
{
    for (size_t i = 0; text[i]; i++) {
        bool plain = strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
                            text[i]) != NULL;
        buf_put_u8(path, plain || (text[i] == '.' && i > 0) ? (uint8_t)text[i] : '_');
    }
}

/* FOLDER/SERVICE-HOST-PID-PROCESS.skein: the process's id makes it one of its own. */
static int target_fetch(const struct api *api, const struct options *o, const char *id,
                        const cJSON *target)
{
    struct buf path = {0};
    const char *process = json_text_at(target, "process");
    if (o->process != NULL && strncasecmp(o->process, process, strlen(o->process)) != 0)
        return CLI_OK;
    if (o->result.file != NULL)
        buf_printf(&path, "%s/", o->result.file);
    name_put(&path, json_text_at(target, "service"));
    buf_printf(&path, "-");
    name_put(&path, json_text_at(target, "host"));
    buf_printf(&path, "-%" PRIu64 "-", json_u64_at(target, "pid"));
    name_put(&path, process);
    buf_printf(&path, ".%s", suffix_of(o));
    int status = captures_fetch(api, o, id, process, text_of(&path));
    buf_fini(&path);
    return status;
}

static int manifest_get(const struct api *api, const struct options *o, const char *id,
                        cJSON **manifest)
{
    struct buf path = {0};
    if (o->incident)
        buf_printf(&path, "/captures/manifest");
    else
        buf_printf(&path, "/captures/%s/manifest", id);
    api_query(&path, "incident", o->incident ? id : NULL);
    int status = api_call(api, "GET", text_of(&path), NULL, manifest);
    buf_fini(&path);
    return status;
}

/* The target whose id begins so; a whole id is taken as it is. */
static int target_find(const struct api *api, const struct options *o, const char *id,
                       char process[CLI_ID_BYTES])
{
    cJSON *manifest = NULL;
    const char *text = o->process;
    snprintf(process, CLI_ID_BYTES, "%s", text);
    if (strlen(text) >= CLI_ID_BYTES - 1)
        return CLI_OK;
    int status = manifest_get(api, o, id, &manifest);
    if (status == CLI_OK)
        status =
            id_find_in(json_at(manifest, "targets"), "process", "target's process", text, process);
    cJSON_Delete(manifest);
    return status;
}

static int fetch_split(const struct api *api, const struct options *o, const char *id)
{
    cJSON *manifest = NULL;
    const cJSON *target;
    if (o->result.file != NULL && mkdir(o->result.file, 0777) < 0 && errno != EEXIST) {
        say_error("%s: %s", o->result.file, strerror(errno));
        return CLI_FAILED;
    }
    int status = manifest_get(api, o, id, &manifest);
    cJSON_ArrayForEach(target, json_at(manifest, "targets")) {
        int one = target_fetch(api, o, id, target);
        status = status == CLI_OK ? one : status;
    }
    cJSON_Delete(manifest);
    return status;
}

static int fetch_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct api api;
    char name[64], id[CLI_ID_BYTES], process[CLI_ID_BYTES];
    if (o->from.given && o->to.given && o->from.value > o->to.value) {
        say_error("fetch: --to is before --from");
        return CLI_USAGE;
    }
    if (o->groups != NULL && strcmp(format_of(o), "skein") == 0) {
        say_error(
            "fetch: --groups is of exports (-f): a .skein has all, and `skein cat`, `what` and "
            "`export` show those that their --groups names");
        return CLI_USAGE;
    }
    if (o->of != NULL && strcmp(format_of(o), "folded") != 0) {
        say_error("fetch: --of is of -f folded");
        return CLI_USAGE;
    }
    int status = api_init(&api, o->collector);
    if (status == CLI_OK)
        status = (o->incident ? incident_id_find : capture_id_find)(&api, call->arguments[0], id);
    if (status != CLI_OK)
        return status;
    if (o->split)
        return fetch_split(&api, o, id);
    if (o->process != NULL)
        status = target_find(&api, o, id, process);
    snprintf(name, sizeof name, "%s%s.%s", o->incident ? "incident-" : "", id, suffix_of(o));
    return status != CLI_OK ? status
                            : captures_fetch(&api, o, id, o->process != NULL ? process : NULL,
                                             o->result.file != NULL ? o->result.file : name);
}

const struct cli_command cmd_fetch = {
    .name = "fetch",
    .arguments = "ID",
    .summary = "Download the trace of a capture or an incident; resumes a broken download",
    .details =
        "What has come stands in FILE.part until it is whole; the same command goes on where\n"
        "an earlier one broke off, and begins anew where the collector has other bytes now.\n",
    .examples = "  skein fetch 0193a5c0e1f27d3b8c4e5f60718293a4 -o redis.skein\n"
                "  skein fetch 0193a5c0e1f27d3b8c4e5f60718293a4 -f perfetto -o redis.pftrace\n"
                "  skein fetch 0193a5c0e1f27d3b8c4e5f60718293a4 -f pprof && pprof -http : *.pb.gz\n"
                "  skein fetch 0193a5c0e1f27d3b8c4e5f60718293a4 --split -o redis/\n"
                "  skein fetch 0193a5c0e1f27d3b8c4e5f60718293a4 --incident -o outage.skein\n"
                "  skein fetch 0193a5c0e1f27d3b8c4e5f60718293a4 --from 2026-11-21T09:40:00Z "
                "--to 2026-11-21T09:40:02Z\n",
    CLI_RUN(options, struct options, fetch_run),
};
