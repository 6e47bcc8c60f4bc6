/* SPDX-License-Identifier: Apache-2.0
 * See cli_part.h. */
#include "cli_part.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_out.h"
#include "cli_trace.h"
#include "clock.h"
#include "ids.h"
#include "summary.h"

struct skein_trace *part_files_open(char *const *files, int count)
{
    struct skein_trace *trace = NULL;
    char error[SKEIN_TRACE_ERROR_BYTES] = "out of memory";
    int status = skein_trace_new(&trace);
    for (int i = 0; status == SKEIN_OK && i < count; i++)
        status = skein_trace_add_file(trace, files[i], error);
    if (status == SKEIN_OK)
        return trace;
    say_error("%s", error);
    skein_trace_free(&trace);
    return NULL;
}

int part_gap_tell(const char *before, const struct skein_gap *gap)
{
    bool damage = gap->reason != SKEIN_GAP_MISSING;
    struct buf text = {0};
    if (gap->what != NULL)
        shown_put(&text, gap->what);
    if (damage)
        say_error("%s%s", before, text_of(&text));
    else
        say_warning("%s%s", before, text_of(&text));
    buf_fini(&text);
    return damage ? CLI_FAILED : CLI_OK;
}

int part_damage_tell(const char *before, const struct summary *summary)
{
    const struct summary_gap *gaps;
    size_t count = summary_gaps(summary, &gaps);
    int status = CLI_OK;
    for (size_t i = 0; i < count; i++) {
        const struct skein_gap gap = {.reason = (enum skein_gap_reason)gaps[i].row.number,
                                      .what = summary_text(summary, gaps[i].row.text)};
        if (gap.reason != SKEIN_GAP_MISSING && part_gap_tell(before, &gap) != CLI_OK)
            status = CLI_FAILED;
    }
    return status;
}

static long number_or_none(const char *text)
{
    char *end;
    if (text == NULL || *text < '0' || *text > '9')
        return -1;
    long number = strtol(text, &end, 10);
    return *end ? -1 : number;
}

bool part_has_process(const struct part *part, const uint8_t *id, uint32_t pid)
{
    char text[ID_TEXT_BYTES];
    if (part->options->process == NULL)
        return true;
    id_text(id, text);
    return part->process[0] ? strcmp(text, part->process) == 0
                            : part->pid >= 0 && (uint32_t)part->pid == pid;
}

bool part_has_thread(const struct part *part, const char *name, uint32_t tid)
{
    return part->options->thread == NULL || (part->tid >= 0 && (uint32_t)part->tid == tid) ||
           fnmatch(part->options->thread, name, 0) == 0;
}

static bool process_passes(void *context, const struct skein_process *process)
{
    return part_has_process(context, process->id, process->pid);
}

static bool thread_passes(void *context, const struct skein_thread *thread)
{
    return part_has_thread(context, thread->name, thread->tid);
}

/* A pid that is in the trace, else an id or its beginning. */
int part_process(const char *command, struct skein_trace *trace, const char *process,
                 struct part *part)
{
    cJSON *ids = cJSON_CreateArray();
    bool pid_is_there = false;
    int status = CLI_OK;
    part->pid = number_or_none(process);
    part->process[0] = '\0';
    for (uint32_t i = 0; i < skein_trace_process_count(trace); i++) {
        const struct skein_process *of = skein_trace_process(trace, i);
        char id[ID_TEXT_BYTES];
        cJSON *item = cJSON_CreateObject();
        id_text(of->id, id);
        cJSON_AddStringToObject(item, "process", id);
        cJSON_AddItemToArray(ids, item);
        pid_is_there |= part->pid >= 0 && (uint32_t)part->pid == of->pid;
    }
    if (!pid_is_there && id_begins(process, 32)) {
        status = id_find_in(ids, "process", "process of the trace", process, part->process);
    } else if (!pid_is_there) {
        say_error("%s: no process of the trace is %s (skein info lists them)", command, process);
        status = CLI_FAILED;
    }
    cJSON_Delete(ids);
    return status;
}

int part_window_check(const char *command, uint64_t from_ns, uint64_t to_ns)
{
    char from[CLOCK_TEXT_BYTES], to[CLOCK_TEXT_BYTES];
    if (to_ns == 0 || from_ns <= to_ns)
        return CLI_OK;
    clock_text(from_ns, from);
    clock_text(to_ns, to);
    say_error("%s: the time that is asked for begins at %s, and would end before that, at %s",
              command, from, to);
    return CLI_USAGE;
}

int part_find(const char *command, struct skein_trace *trace, const struct part_options *options,
              struct part *part)
{
    struct trace_bounds bounds;
    const char *bad = NULL;
    *part = (struct part){.options = options, .pid = -1, .tid = number_or_none(options->thread)};
    skein_trace_bounds(trace, &bounds.from_ns, &bounds.to_ns);
    if (options->from != NULL &&
        trace_time_parse(options->from, &bounds, &part->from_ns) != SKEIN_OK)
        bad = options->from;
    if (options->to != NULL && trace_time_parse(options->to, &bounds, &part->to_ns) != SKEIN_OK)
        bad = options->to;
    if (bad != NULL) {
        say_error("%s: %s: must be " TRACE_TIME_WANTED, command, bad);
        return CLI_USAGE;
    }
    if (options->to != NULL && part->to_ns == 0)
        part->to_ns = 1; /* 0 would be no end */
    if (part_window_check(command, part->from_ns, part->to_ns) != CLI_OK)
        return CLI_USAGE;
    return options->process != NULL ? part_process(command, trace, options->process, part) : CLI_OK;
}

int part_query(const char *command, struct skein_trace *trace, const struct part_options *options,
               struct part *part, struct skein_query *query)
{
    int status = part_find(command, trace, options, part);
    *query = (struct skein_query){.size = sizeof *query,
                                  .context = part,
                                  .from_ns = part->from_ns,
                                  .to_ns = part->to_ns,
                                  .process = options->process != NULL ? process_passes : NULL,
                                  .thread = options->thread != NULL ? thread_passes : NULL};
    return status;
}
