/* SPDX-License-Identifier: Apache-2.0
 *
 * Kept traces; see kept_trace.h.
 */
#include "kept_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "base64.h"
#include "checksum.h"

#define TRACE_EVENT "go.trace"
#define PART_BYTES  1024 /* of a part, at most */

/* Whether it is such an event of the agent's: a program may name its own alike. */
static bool type_is(const struct partition_info *info, const struct trace_event *event,
                    const char *name, unsigned nargs)
{
    const struct partition_event_type *type = event->type;
    return info->evidence && type != NULL && type->nargs == nargs &&
           strcmp(type->name, name) == 0 && type->args[0].type == SKEIN_T_STR &&
           type->args[1].type == SKEIN_T_U64;
}

static bool kind_is(const struct trace_event *event, const char *kind)
{
    const struct partition_value *said = &event->args[0];
    return said->str.len == strlen(kind) && memcmp(said->str.text, kind, said->str.len) == 0;
}

int kept_traces_note(struct kept_traces *traces, const struct partition_info *info,
                     const struct trace_event *event)
{
    struct kept_trace trace = {.process = info->key.process, .pid = info->pid};
    if (!type_is(info, event, TRACE_EVENT, 4) || event->type->args[2].type != SKEIN_T_U64 ||
        event->args[0].str.len >= sizeof trace.kind)
        return SKEIN_OK;
    if (traces->count == KEPT_TRACES_MAX)
        return SKEIN_TOO_LARGE;
    if (!array_grow(traces->items, traces->count + 1, &traces->cap))
        return SKEIN_NO_MEMORY;
    trace.ticks = event->ticks;
    trace.total = event->args[1].u64;
    trace.checksum = event->args[2].u64;
    snprintf(trace.host, sizeof trace.host, "%s", info->host);
    snprintf(trace.service, sizeof trace.service, "%s", info->service);
    memcpy(trace.kind, event->args[0].str.text, event->args[0].str.len);
    traces->items[traces->count++] = trace;
    return SKEIN_OK;
}

void kept_traces_fini(struct kept_traces *traces)
{
    for (size_t i = 0; i < traces->count; i++)
        free(traces->items[i].bytes);
    free(traces->items);
    *traces = (struct kept_traces){.count = 0};
}

int kept_trace_take(struct kept_trace *trace, const struct partition_info *info,
                    const struct trace_event *event)
{
    uint8_t bytes[PART_BYTES];
    if (!type_is(info, event, PARTITION_BULK_EVENT, 3) ||
        event->type->args[2].type != SKEIN_T_STR || event->ticks != trace->ticks ||
        !process_uid_equal(&info->key.process, &trace->process) || !kind_is(event, trace->kind))
        return SKEIN_OK;
    if (trace->total > KEPT_BYTES_MAX)
        return SKEIN_TOO_LARGE;
    uint64_t offset = event->args[1].u64;
    int n = base64_get(event->args[2].str.text, event->args[2].str.len, bytes, sizeof bytes);
    if (n < 0 || offset > trace->total || (uint64_t)n > trace->total - offset)
        return SKEIN_CORRUPT;
    if (trace->bytes == NULL)
        trace->bytes = calloc(1, (size_t)trace->total + 1);
    if (trace->bytes == NULL)
        return SKEIN_NO_MEMORY;
    memcpy(trace->bytes + offset, bytes, (size_t)n);
    trace->end = offset + (uint64_t)n > trace->end ? offset + (uint64_t)n : trace->end;
    return SKEIN_OK;
}

bool kept_trace_whole(const struct kept_trace *trace)
{
    return trace->bytes != NULL && trace->total > 0 && trace->total == trace->end &&
           checksum64(trace->bytes, (size_t)trace->end) == trace->checksum;
}
