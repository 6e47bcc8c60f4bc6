/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of what rules and policies have in common. Pure; any thread.
 */
#ifndef RULE_CHECK_H
#define RULE_CHECK_H

#include "json.h"

#define RULE_WORD_MAX 4096

/* Returns the number. */
uint64_t rule_copy_number(struct json_reader *r, const cJSON *from, const char *path,
                          const char *key, uint64_t otherwise, uint64_t min, uint64_t max,
                          cJSON *to);

/* Name, description, selector, enabled. */
void rule_check_head(struct json_reader *r, const char *name, const cJSON *json, cJSON *rule);
void rule_check_retain(struct json_reader *r, const cJSON *json, cJSON *rule);
/* `threads` and `evidence` of an object, as far as it has them: what holds without them is the
 * agent's to know. */
void rule_check_evidence(struct json_reader *r, const cJSON *from, const char *path, cJSON *to);

/* rule_when.c: copies json's `when` into rule, defaults filled in. */
void rule_check_when(struct json_reader *r, const cJSON *json, cJSON *rule);

#endif
