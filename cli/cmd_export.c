/* SPDX-License-Identifier: Apache-2.0
 *
 * skein export: a trace file in another tool's format. One thread; the memory of two partitions,
 * and of a profile's stacks.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_out.h"
#include "cli_trace.h"
#include "cmd.h"
#include "export_files.h"
#include "kept_trace.h"
#include "perfetto_export.h"
#include "stack_profile.h"
#include "whole_file.h"

#define EXPORT_STEP_BYTES (1u << 20) /* of packets, which may be far more than the partition */

struct options {
    const char *to, *groups, *of, *host;
    struct cli_number process;
    struct cli_result result;
};

static const char *const forms[] = {"perfetto", "pprof", "folded", "go-trace", "chrome",
                                    "ctf",      "fxt",   "otlp",   NULL};
static const char *const values[] = {"samples", "waits",  "wall", "contention",
                                     "after",   "before", NULL};

static const struct cli_option options[] = {
    CLI_CHOICE(
        't', "to", "FORM", struct options, to, forms,
        "perfetto (the default), pprof (samples of the CPU and waits by stack), folded (for "
        "flame graphs), go-trace (what a Go runtime wrote, as it was), chrome (trace JSON), ctf "
        "(a folder, for babeltrace2 and Trace Compass), fxt (Fuchsia's format), or otlp (spans "
        "of OpenTelemetry, of regions with a trace_id)"),
    CLI_CHOICE(
        0, "of", "WHAT", struct options, of, values,
        "of folded stacks: samples, or in us waits (regions with a stack), contention (for locks) "
        "or wall (the CPU by samples, and waits) (default: samples where there are any); of "
        "traces of Go: after or before the capture's begin"),
    CLI_OPTION(CLI_NUMBER, 0, "process", "PID", struct options, process,
               "of traces of Go: this process's"),
    CLI_OPTION(CLI_TEXT, 0, "host", "NAME", struct options, host, "of traces of Go: this host's"),
    TRACE_GROUPS(struct options, "all"),
    CLI_OUTPUT_FILE(struct options,
                    "where to (default: the trace's name with .pftrace, .pb.gz, .folded, .trace, "
                    ".json, .ctf, .fxt or .otlp.json; - is standard output, but for ctf)"),
    CLI_OPTIONS_END};

/* What a format is called, how its files end and are opened, and who makes them. */
struct target;
struct form {
    const char *name, *ending;
    const char *opens; /* NULL: what is in the file is said in place of it */
    int (*convert)(struct target *t, FILE *file, const char *name); /* NULL: exchange/ does */
    enum export_form exchange;
};

/* What is asked for. */
struct target {
    const struct options *options;
    const struct form *form;
    const char *trace;
    uint64_t groups;
    const char *says; /* what the file is of; "": nothing to say */
    bool made;        /* the file is sound, also where not all of the trace could be read */
};

static bool target_is(const struct target *t, const char *form)
{
    return strcmp(t->form->name, form) == 0;
}

/* "redis.skein" to "redis.pftrace" */
static char *name_for(const struct target *t)
{
    size_t n = strlen(t->trace), m = strlen(t->form->ending) + 1;
    char *name = malloc(n + m);
    if (name == NULL)
        return NULL;
    memcpy(name, t->trace, n);
    if (n > 6 && strcmp(t->trace + n - 6, ".skein") == 0)
        n -= 6;
    memcpy(name + n, t->form->ending, m);
    return name;
}

static bool export_flush(struct buf *bytes, FILE *file)
{
    bool good = bytes->status == SKEIN_OK &&
                (bytes->len == 0 || fwrite(bytes->data, 1, bytes->len, file) == bytes->len);
    buf_clear(bytes);
    return good;
}

/* Each of these returns CLI_OK, or CLI_FAILED after telling why; also where a part of the trace was
 * unreadable, but then all the rest is in the file, which t->made says. */
static int perfetto_convert(struct target *t, FILE *file, const char *name)
{
    const char *trace = t->trace;
    struct trace_walk *walk = NULL;
    struct perfetto_export *exporter = NULL;
    struct trace_step step;
    struct buf bytes = {0};
    if (trace_walk_new(trace, &walk) != CLI_OK)
        return CLI_FAILED;
    int status = perfetto_export_new(t->groups, &exporter);
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
    t->made = status == SKEIN_OK && written;
    return t->made && sound ? CLI_OK : CLI_FAILED;
}

/* ---- profiles ---- */

static int profile_read(struct trace_walk *walk, uint64_t groups, struct stack_profile *profile)
{
    struct trace_step step;
    struct trace_event event;
    int status = SKEIN_OK;
    while (status == SKEIN_OK && trace_walk_next(walk, &step))
        while (status == SKEIN_OK && trace_walk_event(walk, &event)) {
            bool again = event.kind == TRACE_OPEN && !step.last_of_process;
            if (!again && event_type_shown(event.type, groups))
                status = stack_profile_add(profile, step.reader, &event);
        }
    return status;
}

static int profile_put(struct target *t, const struct stack_profile *profile, struct buf *bytes)
{
    const char *of = t->options->of;
    if (target_is(t, "pprof"))
        return stack_profile_pprof(profile, bytes);
    static const char *const says[] = {
        [STACK_PROFILE_SAMPLES] = "samples of the CPU by stack",
        [STACK_PROFILE_WAITS] = "microseconds of waits by stack",
        [STACK_PROFILE_WALL] = "microseconds on the CPU by samples and of waits, by stack",
        [STACK_PROFILE_CONTENTION] = "microseconds of waits for locks by stack"};
    enum stack_profile_of kind =
        stack_profile_samples(profile) == 0 ? STACK_PROFILE_WAITS : STACK_PROFILE_SAMPLES;
    if (of != NULL) /* one of them, as its form is folded (target_take) */
        (void)stack_profile_of_find(of, &kind);
    t->says = says[kind];
    return stack_profile_folded(profile, kind, bytes);
}

static int profile_convert(struct target *t, FILE *file, const char *name)
{
    struct trace_walk *walk = NULL;
    struct stack_profile *profile = NULL;
    struct buf bytes = {0};
    if (trace_walk_new(t->trace, &walk) != CLI_OK)
        return CLI_FAILED;
    int status = stack_profile_new(0, &profile);
    if (status == SKEIN_OK)
        status = profile_read(walk, t->groups, profile);
    if (status == SKEIN_OK)
        status = profile_put(t, profile, &bytes);
    bool written = status == SKEIN_OK && export_flush(&bytes, file) && fflush(file) == 0;
    if (status != SKEIN_OK)
        say_error("%s: %s", t->trace, skein_status_text(status));
    else if (!written)
        say_error("%s: %s", name, strerror(errno));
    else if (stack_profile_samples(profile) == 0 && stack_profile_waits(profile) == 0)
        say_warning("%s: no event has a stack", t->trace);
    bool sound = trace_walk_sound(walk);
    buf_fini(&bytes);
    stack_profile_free(&profile);
    trace_walk_free(&walk);
    t->made = written;
    return written && sound ? CLI_OK : CLI_FAILED;
}

/* ---- traces of Go ---- */

static bool kept_is_wanted(const struct options *o, const struct kept_trace *trace)
{
    return (!o->process.given || o->process.value == trace->pid) &&
           (o->of == NULL || strcmp(o->of, trace->kind) == 0) &&
           (o->host == NULL || strcmp(o->host, trace->host) == 0);
}

/* The one that is wanted; NULL after telling why there is not one. */
static struct kept_trace *kept_choose(const struct target *t, const struct kept_traces *traces)
{
    struct kept_trace *chosen = NULL;
    size_t count = 0;
    for (size_t i = 0; i < traces->count; i++) {
        if (!kept_is_wanted(t->options, &traces->items[i]))
            continue;
        chosen = &traces->items[i];
        count++;
    }
    if (count == 1)
        return chosen;
    if (count == 0) {
        say_error("%s: has no trace of a Go runtime%s", t->trace,
                  traces->count > 0 ? " of that process and kind" : "");
        return NULL;
    }
    say_error("%s: has %zu traces of Go runtimes; choose one:", t->trace, count);
    for (size_t i = 0; i < traces->count; i++) {
        const struct kept_trace *one = &traces->items[i];
        if (kept_is_wanted(t->options, one))
            say_error("  --host %s --process %u --of %s (%s, %" PRIu64 " bytes)", one->host,
                      one->pid, one->kind, one->service, one->total);
    }
    return NULL;
}

/* One look over the events: notes the traces, or takes the parts of `one`. */
static int kept_look(const struct target *t, struct kept_traces *traces, struct kept_trace *one)
{
    struct trace_walk *walk = NULL;
    struct trace_step step;
    struct trace_event event;
    int status = SKEIN_OK;
    if (trace_walk_new(t->trace, &walk) != CLI_OK)
        return CLI_FAILED;
    while (status == SKEIN_OK && trace_walk_next(walk, &step)) {
        const struct partition_info *info = partition_reader_info(step.reader);
        while (status == SKEIN_OK && info->evidence && trace_walk_event(walk, &event))
            status = one == NULL ? kept_traces_note(traces, info, &event)
                                 : kept_trace_take(one, info, &event);
    }
    bool sound = trace_walk_sound(walk);
    if (status != SKEIN_OK)
        say_error("%s: its traces of Go runtimes: %s", t->trace, skein_status_text(status));
    trace_walk_free(&walk);
    return status == SKEIN_OK && sound ? CLI_OK : CLI_FAILED;
}

static int kept_write(const struct target *t, struct kept_trace *trace, FILE *file,
                      const char *name)
{
    if (kept_look(t, NULL, trace) != CLI_OK)
        return CLI_FAILED;
    if (!kept_trace_whole(trace)) {
        say_error("%s: the trace of pid %u is not whole", t->trace, trace->pid);
        return CLI_FAILED;
    }
    if (fwrite(trace->bytes, 1, (size_t)trace->end, file) == trace->end && fflush(file) == 0)
        return CLI_OK;
    say_error("%s: %s", name, strerror(errno));
    return CLI_FAILED;
}

static int kept_convert(struct target *t, FILE *file, const char *name)
{
    struct kept_traces traces = {.count = 0};
    struct kept_trace *trace = NULL;
    int status = kept_look(t, &traces, NULL);
    if (status == CLI_OK)
        trace = kept_choose(t, &traces);
    status = trace != NULL ? kept_write(t, trace, file, name) : CLI_FAILED;
    kept_traces_fini(&traces);
    return status;
}

/* ---- the formats ---- */

#define PERFETTO "open it at https://ui.perfetto.dev"

static const struct form table[] = {
    {"perfetto", ".pftrace", PERFETTO, perfetto_convert, 0},
    {"pprof", ".pb.gz", "open it with `pprof -http :` or `go tool pprof`", profile_convert, 0},
    {"folded", ".folded", NULL, profile_convert, 0},
    {"go-trace", ".trace", "open it with `go tool trace`", kept_convert, 0},
    {"chrome", ".json", PERFETTO " or chrome://tracing", NULL, EXPORT_CHROME},
    {"ctf", ".ctf", "read it with `babeltrace2` or Trace Compass", NULL, EXPORT_CTF},
    {"fxt", ".fxt", PERFETTO, NULL, EXPORT_FXT},
    {"otlp", ".otlp.json", "send it to a collector of OpenTelemetry, at its /v1/traces", NULL,
     EXPORT_OTLP}};

/* One of `forms`; NULL: the first. */
static const struct form *form_find(const char *name)
{
    size_t i = name != NULL ? sizeof table / sizeof *table - 1 : 0;
    while (i > 0 && strcmp(table[i].name, name) != 0)
        i--;
    return &table[i];
}

/* ---- exchange/ ---- */

/* What has been made, where anything was: also of a trace that could be read in part. */
static int exchange_said(const struct target *t, const char *name, const char *told)
{
    if (name == NULL) {
        fprintf(stderr, "%s\n", told);
        return out_close();
    }
    if (!t->options->result.json) {
        safe_print(name);
        printf(": %s\n%s\n", told, t->form->opens);
        return out_close();
    }
    cJSON *said = cJSON_CreateObject();
    cJSON_AddStringToObject(said, "file", name);
    cJSON_AddStringToObject(said, "told", told);
    int status = json_show(said);
    cJSON_Delete(said);
    return status;
}

/* name NULL: standard output. */
static int exchange_run(const struct target *t, const char *name)
{
    struct buf told = {0};
    const struct export_wish wish = {t->trace, t->form->exchange, t->groups, name};
    int status = export_to_files(&wish, &told);
    if (told.len > 0 && exchange_said(t, name, text_of(&told)) != CLI_OK)
        status = CLI_FAILED;
    buf_fini(&told);
    return status;
}

/* ---- files ---- */

static int export_said(const struct target *t, const char *name, bool json)
{
    if (!json) {
        safe_print(name);
        printf(t->form->opens != NULL ? "; %s\n" : ": %s\n",
               t->form->opens != NULL ? t->form->opens : t->says);
        return out_close();
    }
    cJSON *said = cJSON_CreateObject();
    cJSON_AddStringToObject(said, "file", name);
    int status = json_show(said);
    cJSON_Delete(said);
    return status;
}

static int trace_convert_to_file(struct target *t, const char *name)
{
    struct whole_file file;
    int status = CLI_FAILED;
    if (whole_file_begin(&file, name, t->trace))
        status = t->form->convert(t, file.file, name);
    int ended = whole_file_end(&file, status == CLI_OK || t->made);
    if (t->made && ended == CLI_OK && status != CLI_OK)
        say_warning("%s: holds what could be read of %s", name, t->trace);
    t->made = t->made && ended == CLI_OK;
    return status == CLI_OK ? ended : status;
}

static int export_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct target t = {
        .options = o, .form = form_find(o->to), .trace = call->arguments[0], .says = ""};
    if (trace_groups_parse(o->groups, &t.groups) != CLI_OK)
        return CLI_USAGE;
    bool of_go = o->of != NULL && (strcmp(o->of, "after") == 0 || strcmp(o->of, "before") == 0);
    if (o->of != NULL && !target_is(&t, of_go ? "go-trace" : "folded")) {
        say_error("export: --of %s is for --to %s", o->of, of_go ? "go-trace" : "folded");
        return CLI_USAGE;
    }
    if ((o->process.given || o->host != NULL) && !target_is(&t, "go-trace")) {
        say_error("export: --process and --host are for --to go-trace");
        return CLI_USAGE;
    }
    bool exchanged = t.form->convert == NULL;
    bool standard = o->result.file != NULL && strcmp(o->result.file, "-") == 0;
    if (standard && target_is(&t, "ctf")) {
        say_error("export: --to ctf makes a folder: -o needs its name");
        return CLI_USAGE;
    }
    if (standard)
        return exchanged ? exchange_run(&t, NULL) : t.form->convert(&t, stdout, "standard output");
    char *name = o->result.file != NULL ? strdup(o->result.file) : name_for(&t);
    if (name == NULL) {
        say_error("out of memory");
        return CLI_FAILED;
    }
    int status = exchanged ? exchange_run(&t, name) : trace_convert_to_file(&t, name);
    bool said = !exchanged && (status == CLI_OK || t.made);
    if (said && export_said(&t, name, o->result.json) != CLI_OK)
        status = CLI_FAILED;
    free(name);
    return status;
}

const struct cli_command cmd_export = {
    .name = "export",
    .arguments = "FILE",
    .summary = "Convert a trace file for another tool",
    .details =
        "Profiles count what has a stack: samples of the CPU, and regions that waited, with\n"
        "their time; what has none is in no profile. A capture of a Go program has what its runtime\n"
        "wrote of itself where the agent's config says where to ask (go_pprof, go_flight).\n"
        "The last line says what is in the file, and what of the trace its format cannot carry.\n",
    .examples = "  skein export redis.skein --to perfetto -o redis.pftrace\n"
                "  skein export redis.skein --to pprof && pprof -http : redis.pb.gz\n"
                "  skein export redis.skein --to folded -o - | flamegraph.pl > redis.svg\n"
                "  skein export api.skein --to go-trace && go tool trace api.trace\n"
                "  skein export redis.skein --to ctf -o redis.ctf && babeltrace2 redis.ctf\n",
    CLI_RUN(options, struct options, export_run),
};
