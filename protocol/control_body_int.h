/* SPDX-License-Identifier: Apache-2.0
 *
 * How members of bodies are written and read; for protocol/ alone. The readers are json.h's, which
 * keep the first failure.
 */
#ifndef CONTROL_BODY_INT_H
#define CONTROL_BODY_INT_H

#include "control_body.h"
#include "json.h"

#define HOUR_MS UINT64_C(3600000)

/* The reader's status, with its words in error. */
int body_status(const struct json_reader *r, char *error, size_t error_bytes);

/* Optional ones: 0 or "" where they are absent. */
uint64_t body_number(struct json_reader *r, const cJSON *o, const char *path, const char *key);
uint64_t body_up_to(struct json_reader *r, const cJSON *o, const char *key, uint64_t max);
/* Below 2^62, so that adding durations cannot wrap and SQLite's signed integers hold it. */
uint64_t body_time(struct json_reader *r, const cJSON *o, const char *path, const char *key);
const char *body_text(struct json_reader *r, const cJSON *o, const char *path, const char *key,
                      size_t max_bytes);
const char *body_labels(struct json_reader *r, const cJSON *o, const char *path);

/* Required ones. */
uint64_t body_agent(struct json_reader *r, const cJSON *o);
void body_id(struct json_reader *r, const cJSON *o, const char *path, const char *key,
             uint8_t id[16]);

/* Memory for the members of an array or object, and for one more. Without memory: NULL and a failed
 * reader. */
void *body_array(struct json_reader *r, const cJSON *array, size_t item_bytes, size_t *count);

/* Appends it and deletes it. */
void body_print(cJSON *o, struct buf *out);

#endif
