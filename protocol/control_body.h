/* SPDX-License-Identifier: Apache-2.0
 *
 * What all bodies on control have in common (docs/protocol.md): they are JSON objects, their text
 * is bounded, unknown members are ignored and wrong types are not. A body is a struct with a put,
 * which appends it as text (failures are sticky in the buf), and a get, which reads it: SKEIN_OK,
 * or SKEIN_INVALID with "path: what is wrong" in error and nothing to free. Text that a get hands
 * out points into the JSON. Pure functions; any thread.
 */
#ifndef CONTROL_BODY_H
#define CONTROL_BODY_H

#include <cjson/cJSON.h>

#include "buf.h"

#define CONTROL_NAME_MAX    255
#define REPORT_RING_WHY_MAX 159
#define CONTROL_LABELS_MAX  511
#define CONTROL_WORDS_MAX   1023

/* The object in a frame's body, the caller's to delete; NULL with a reason in error. */
cJSON *control_body_parse(const void *body, size_t n, char *error, size_t error_bytes);

/* ERROR, from the collector: a message of the agent's was none (P-1), or its session is not known
 * (P-24). */
struct control_error {
    const char *error;
};
void control_error_put(const struct control_error *message, struct buf *out);
int control_error_get(const cJSON *json, struct control_error *out, char *error,
                      size_t error_bytes);

#endif
