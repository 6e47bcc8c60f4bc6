/* SPDX-License-Identifier: Apache-2.0
 *
 * A rule as the collector pushes it (docs/api.md), read into a struct, and turned into a check of
 * one process. Pure functions over hostile JSON; immutable after parsing.
 */
#ifndef RULE_SPEC_H
#define RULE_SPEC_H

#include <cjson/cJSON.h>

#include "checks.h"
#include "config.h"
#include "selector.h"

#define RULE_NAME_MAX 127
#define RULE_ARGS_MAX 64

struct rule_spec {
    char *name, *selector_text;
    char *text; /* the whole rule as JSON: tells a changed rule from the same one pushed again */
    struct selector *selector;
    bool enabled;
    uint64_t every_ms, timeout_ms, failures;
    enum check_kind kind;
    char **argv; /* exec */
    char *expect, *target;
    uint64_t http_status;
    uint64_t silent_ms; /* heartbeat */
    uint64_t pre_ms, post_ms, cooldown_ms;
};

/* SKEIN_OK; SKEIN_INVALID with "when.health.every_ms: must be ..." in error; SKEIN_NO_MEMORY. On
 * failure *out is NULL. */
int rule_spec_new(const cJSON *rule, struct rule_spec **out, char *error, size_t error_bytes);
void rule_spec_free(struct rule_spec **spec);

/* The check of process `pid`, of any kind but heartbeat. An exec whose program `allow` does not
 * name gets no program, and so fails with that reason. NULL when out of memory. */
struct check_spec *rule_spec_check(const struct rule_spec *spec, uint32_t pid,
                                   const struct config_strs *allow);

/* Whether `program` is one of the entries: the same file, by name through $PATH or by path. *path
 * is the file to run, to free; NULL if not allowed. */
char *rule_program_allowed(const char *program, const struct config_strs *allow);

#endif
