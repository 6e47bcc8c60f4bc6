/* SPDX-License-Identifier: Apache-2.0
 *
 * What every reader of untrusted JSON here needs on top of cJSON: typed access that reports the
 * path of the wrong key, and exact 64-bit integers (cJSON keeps numbers as double: integers above
 * 2^53 travel as strings; both forms are read).
 *
 *   struct json_reader r = {.error = ""};
 *   uint64_t pre = json_u64(&r, capture, "capture", "pre_ms", JSON_OPTIONAL, 10000, 0, 3600000);
 *   if (r.error[0] != '\0')   "capture.pre_ms: must be a whole number from 0 to 3600000"
 */
#ifndef JSON_H
#define JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "buf.h"

#define JSON_REQUIRED true
#define JSON_OPTIONAL false

struct json_reader {
    char error[256]; /* first failure: "path: what is wrong, what it should be"; "" while fine */
};

/* Parses n bytes; NULL and a reason with line and column in error when they are no JSON, hold more
 * than 64 levels, or anything but white space follows. So are text that is not UTF-8, \u0000, which
 * cJSON would cut, a byte order mark, and a key that its object has twice. The caller frees with
 * cJSON_Delete. */
cJSON *json_parse(const char *text, size_t n, char *error, size_t error_bytes);

/* Each returns the member, or `otherwise` where it is absent and optional, or on failure. `path` is
 * the object's own path, for messages ("" for the root). */
const char *json_str(struct json_reader *r, const cJSON *object, const char *path, const char *key,
                     bool required, const char *otherwise, size_t max_bytes);
/* A member whose name ends in a unit ("pre_ms", "max_bytes": units.h) may be text with a unit, too
 * ("10s", "64MiB"); text without one is refused there. */
uint64_t json_u64(struct json_reader *r, const cJSON *object, const char *path, const char *key,
                  bool required, uint64_t otherwise, uint64_t min, uint64_t max);
int64_t json_i64(struct json_reader *r, const cJSON *object, const char *path, const char *key,
                 bool required, int64_t otherwise);
bool json_bool(struct json_reader *r, const cJSON *object, const char *path, const char *key,
               bool otherwise);
const cJSON *json_object(struct json_reader *r, const cJSON *object, const char *path,
                         const char *key, bool required);
const cJSON *json_array(struct json_reader *r, const cJSON *object, const char *path,
                        const char *key, bool required);

/* Fails r ("path.key: unknown key; known are: a, b, c") if object has a member outside the
 * NULL-terminated list. */
void json_known(struct json_reader *r, const cJSON *object, const char *path,
                const char *const *keys);

/* Adds an exact integer: a number up to 2^53, else a string of digits. */
void json_add_u64(cJSON *object, const char *key, uint64_t v);
void json_add_i64(cJSON *object, const char *key, int64_t v);
/* Adds a time as clock_text writes it. */
void json_add_time(cJSON *object, const char *key, uint64_t realtime_ns);
/* Each adds nothing where there is nothing to tell: "", 0, false. */
void json_add_text_some(cJSON *object, const char *key, const char *text);
void json_add_u64_some(cJSON *object, const char *key, uint64_t v);
void json_add_time_some(cJSON *object, const char *key, uint64_t realtime_ns);
void json_add_flag(cJSON *object, const char *key, bool flag);

/* Prints compactly and appends to b; frees nothing. Whole numbers up to 2^53 print as digits alone;
 * text comes out as valid UTF-8 whatever it holds. Failure is in b->status: SKEIN_NO_MEMORY, or
 * SKEIN_TOO_LARGE below 64 levels. */
void json_print(const cJSON *json, struct buf *b);

/* Appends n bytes as a JSON string in quotes. What cannot be shown as it is (text_shown.h) stands there
 * in digits, as `\u202e`; bytes that are no UTF-8 become U+FFFD. */
void json_put_text(struct buf *b, const char *text, size_t n);

#endif
