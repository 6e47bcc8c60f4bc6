/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of an event by their names. Included by analysis/ alone.
 */
#ifndef EVENT_ARGS_H
#define EVENT_ARGS_H

#include <string.h>

#include "partition_reader.h"

/* NULL: the event has none of this name and type. */
static inline const struct partition_value *arg_find(const struct trace_event *event,
                                                     const char *name, uint8_t type)
{
    for (unsigned i = 0; i < event->type->nargs; i++)
        if (event->type->args[i].type == type && strcmp(event->type->args[i].name, name) == 0)
            return &event->args[i];
    return NULL;
}

static inline uint64_t arg_number(const struct trace_event *event, const char *name)
{
    const struct partition_value *value = arg_find(event, name, SKEIN_T_U64);
    return value != NULL ? value->u64 : 0;
}

#endif
