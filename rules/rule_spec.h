/* SPDX-License-Identifier: Apache-2.0
 *
 * A rule as the collector pushes it (docs/api.md), read into a struct. Pure functions over hostile
 * JSON; immutable after parsing.
 */
#ifndef RULE_SPEC_H
#define RULE_SPEC_H

#include <cjson/cJSON.h>
#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "evidence_kinds.h"
#include "selector.h"

#define RULE_NAME_MAX 127
#define RULE_ARGS_MAX 64

enum rule_when {
    RULE_HEALTH = 1,
    RULE_LATENCY,
    RULE_LOG,
    RULE_COUNTER,
    RULE_CPU,
    RULE_MEMORY,
    RULE_PRESSURE,
    RULE_CRASH,
    RULE_APPLICATION,
    RULE_SCHEDULE, /* from here on the collector's, never in a spec */
    RULE_WEBHOOK
};

enum check_kind {
    CHECK_EXEC = 1,
    CHECK_HTTP = 2,
    CHECK_TCP = 3,
    CHECK_UNIX = 4,
    CHECK_HEARTBEAT = 5
};

struct rule_spec {
    char *name, *selector_text;
    char *text; /* the whole rule as JSON: tells a changed rule from the same one pushed again */
    struct selector *selector;
    bool enabled;
    enum rule_when when;
    /* health */
    bool per_service; /* one check for all processes of a service on the host, not one for each */
    uint64_t every_ms, timeout_ms, failures;
    enum check_kind kind;
    char **argv; /* exec */
    char *expect, *target;
    uint64_t http_status;
    uint64_t silent_ms; /* heartbeat */
    /* latency, log, counter */
    struct {
        char *name; /* of the region or counter */
        uint64_t over_us;
        unsigned level; /* enum skein_level */
        bool below;
        double bound;
        uint64_t count, window_ms;
    } event;
    /* cpu, memory, pressure */
    struct {
        bool host, bytes, full; /* bytes: above counts bytes, else percent */
        const char *resource;   /* static text */
        uint64_t above, for_ms;
    } system;
    bool exits; /* crash: also by exit with another status than 0 */
    /* log, application */
    bool has_pattern;
    regex_t pattern;
    uint64_t pre_ms, post_ms, cooldown_ms;
    struct evidence_wish wish; /* of what fires */
};

/* SKEIN_OK; SKEIN_INVALID with "when.health.every_ms: must be ..." in error; SKEIN_NO_MEMORY;
 * SKEIN_UNSUPPORTED: the collector evaluates it, there is nothing to do here. On failure *out is
 * NULL. */
int rule_spec_new(const cJSON *rule, struct rule_spec **out, char *error, size_t error_bytes);
void rule_spec_free(struct rule_spec **spec);

/* Whether `text` matches the rule's pattern; true where it has none. */
bool rule_spec_matches(const struct rule_spec *spec, const char *text);

#endif
