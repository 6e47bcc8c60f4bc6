/* SPDX-License-Identifier: Apache-2.0
 *
 * How far the times of captures' targets may be off, process by process, for who lists what is stored of
 * them. One owner; any thread.
 */
#ifndef API_CLOCK_ERRORS_H
#define API_CLOCK_ERRORS_H

#include "api.h"

struct idmap; /* from processes; all-zero: nothing is known */

/* SKEIN_OK, SKEIN_NO_MEMORY; the caller calls api_clock_errors_fini in any case. */
int api_clock_errors(struct api_services *api, const struct capture_id *captures, size_t count,
                     struct idmap *errors);
void api_clock_errors_fini(struct idmap *errors);

/* Adds "clock_error_ns" where it is known of the process in each of the captures that has it: the greatest. */
void api_clock_error_add(cJSON *to, const struct idmap *errors, const struct process_uid *process);

#endif
