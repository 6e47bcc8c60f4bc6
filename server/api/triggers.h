/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies of POST /triggers/{name}: our own plain JSON, and what Prometheus Alertmanager's webhook
 * sends (its payload version 4). Pure over hostile input; texts point into the JSON.
 */
#ifndef TRIGGERS_H
#define TRIGGERS_H

#include "rules.h"

struct trigger_body {
    struct rules_trigger trigger;
    bool resolved; /* Alertmanager tells of an end: nothing fires */
    char reason[CONTROL_WORDS_MAX + 1];
};

/* SKEIN_OK; SKEIN_INVALID with "path: what is wrong" in error. */
int trigger_parse(const cJSON *json, struct trigger_body *out, char *error, size_t error_bytes);

#endif
