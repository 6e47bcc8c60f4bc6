/* SPDX-License-Identifier: Apache-2.0
 *
 * The gaps of a capture as a person tells them: "reaches back to 06:16:40 of 06:13:00 asked".
 * One thread.
 */
#ifndef CLI_GAPS_H
#define CLI_GAPS_H

#include <cjson/cJSON.h>

#include "buf.h"

/* Appends a line for each gap of each target, fragments that lie close together as one; the lines
 * beyond the first few are counted, unless `all`. */
void gaps_put(struct buf *out, const cJSON *capture, bool all);

/* Whether a capture's verdict says that nothing is missing but the begins of young processes. */
bool capture_is_whole(const cJSON *capture);

#endif
