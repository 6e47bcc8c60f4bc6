/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of triggers; see trigger.h.
 */
#include "trigger.h"

#include <string.h>

static const char *const texts[TRIGGER_TYPES] = {"request", "health",   "application", "crash",
                                                 "latency", "log",      "counter",     "cpu",
                                                 "memory",  "pressure", "policy"};

const char *trigger_text(enum trigger_type type)
{
    return texts[type];
}

enum trigger_type trigger_find(const char *text)
{
    int type = TRIGGER_REQUEST;
    while (type < TRIGGER_TYPES && strcmp(text, texts[type]) != 0)
        type++;
    return (enum trigger_type)type;
}
