/* SPDX-License-Identifier: Apache-2.0
 *
 * What the readers of rules share: rule_spec.c (the rule and its health checks) and
 * rule_condition.c (every other condition). Included by those two only.
 */
#ifndef RULE_SPEC_INT_H
#define RULE_SPEC_INT_H

#include "json.h"
#include "rule_spec.h"

#define RULE_TEXT_MAX 4096
#define RULE_DAY_MS   UINT64_C(86400000)

/* Keeps the first failure. */
void rule_spec_fail(struct json_reader *r, const char *why);
/* A copy in the heap; NULL for NULL, or with r failed. */
char *rule_spec_copy(struct json_reader *r, const char *text);

/* Reads `object`, the condition spec->when. Failures are in r; the spec stays to be freed. */
void rule_condition_read(struct json_reader *r, const cJSON *object, struct rule_spec *spec);

#endif
