/* SPDX-License-Identifier: Apache-2.0
 *
 * What several commands do with a capture: fetch its JSON, show it, wait for it. One thread.
 */
#ifndef CLI_CAPTURE_H
#define CLI_CAPTURE_H

#include "cli_api.h"

/* For the collector to say that a deadline is over. */
#define CAPTURE_GRACE_NS UINT64_C(10000000000)

/* Adds `url`, its page in the console, where the collector does not say one: at the address that it was
 * asked at. */
void capture_link(const struct api *api, cJSON *capture);

/* GET; CLI_OK with *capture, which has its `url`. */
int capture_get(const struct api *api, const char *id, cJSON **capture);

/* Appends a time as people give it to --`name` of `command` (cli_trace.h), within the capture's window,
 * as the parameter of that name; nothing where `text` is NULL. CLI_OK, or CLI_USAGE after telling. */
int capture_time_query(struct buf *path, const char *command, const char *name, const char *text,
                       const cJSON *capture);

/* Whether it still runs. */
bool capture_running(const cJSON *capture);

/* As a text for people, to standard output: the first gaps, or all. CLI_OK or CLI_FAILED. */
int capture_show(const cJSON *capture, bool all_gaps);

/* When a running capture must be final, on the monotonic clock: its deadline and some grace. */
uint64_t capture_until_ns(const cJSON *capture);

/* Waits until it is final, or until `until_monotonic_ns`, and shows on a terminal how far its
 * targets are. Where `stops`, the first Ctrl-C ends the capture, and what there is is waited for.
 * CLI_OK with the final *capture; else *capture is NULL. */
int capture_wait(const struct api *api, const char *id, uint64_t until_monotonic_ns, bool stops,
                 cJSON **capture);

/* The exit status that a final capture stands for: CLI_OK where nothing is missing but the begins of young
 * processes (verdict.begins), whether it was stopped or not, else CLI_INCOMPLETE. */
int capture_exit(const cJSON *capture);

#endif
