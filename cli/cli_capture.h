/* SPDX-License-Identifier: Apache-2.0
 *
 * What several commands do with a capture: fetch its JSON, show it, wait for it. One thread.
 */
#ifndef CLI_CAPTURE_H
#define CLI_CAPTURE_H

#include "cli_api.h"

/* For the collector to say that a deadline is over. */
#define CAPTURE_GRACE_NS UINT64_C(10000000000)

/* Whether text is a capture id; tells the user where it is not. */
bool capture_id_valid(const char *text);

/* "/captures/ID" and what follows it. */
void capture_path(struct buf *path, const char *id, const char *rest);

/* GET; CLI_OK with *capture, or CLI_FAILED. */
int capture_get(const struct api *api, const char *id, cJSON **capture);

/* Whether it still runs. */
bool capture_running(const cJSON *capture);

/* As a text for people, to standard output. CLI_OK or CLI_FAILED. */
int capture_show(const cJSON *capture);

/* When a running capture must be final, on the monotonic clock: its deadline and some grace. */
uint64_t capture_until_ns(const cJSON *capture);

/* Waits until it is final, or until `until_monotonic_ns`, and shows each target's progress on
 * standard error. CLI_OK with the final *capture, or CLI_FAILED. */
int capture_wait(const struct api *api, const char *id, uint64_t until_monotonic_ns,
                 cJSON **capture);

#endif
