/* SPDX-License-Identifier: Apache-2.0
 *
 * Ids as people type them: whole, or the first few digits. Failures have been told when these
 * return. One thread.
 */
#ifndef CLI_ID_H
#define CLI_ID_H

#include "cli_api.h"

#define CLI_ID_BYTES  33
#define CLI_ID_DIGITS 4 /* at least, of a beginning */

/* The whole id of what the collector lists and `text` is, or begins. A whole id is not asked for.
 * CLI_OK with it in out; CLI_USAGE where it cannot be one, or several begin so; or a status of the
 * request. */
int capture_id_find(const struct api *api, const char *text, char out[CLI_ID_BYTES]);
/* The incident of the capture that `text` is or begins; what no capture has is taken as an
 * incident's own. */
int incident_id_find(const struct api *api, const char *text, char out[CLI_ID_BYTES]);
int agent_id_find(const struct api *api, const char *text, char out[CLI_ID_BYTES]);

/* The same among the members `key` of an array of objects that is there. */
int id_find_in(const cJSON *items, const char *key, const char *noun, const char *text,
               char out[CLI_ID_BYTES]);

/* Whether `text` may be an id of so many digits, or the beginning of one; tells nobody. */
bool id_begins(const char *text, size_t digits);

#endif
