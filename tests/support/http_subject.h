/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers for tests of the HTTP server itself: a small answer, a large one, a body that comes
 * back, and a stream that goes on as the test says. One server at a time in a process.
 */
#ifndef HTTP_SUBJECT_H
#define HTTP_SUBJECT_H

#include "http_server.h"

#define SUBJECT_BIG_BYTES (UINT64_C(32) << 20) /* more than sockets hold; byte i is i % 251 */

#define SUBJECT_SLOW_MS 2500

/* GET /small ("small"), GET /slow (the same, after a while), GET /big, GET /live, GET /aside ("small",
 * when the test says so; 503 where nobody waits for it), POST /echo (JSON),
 * GET /json?n=BYTES[&tag][&text] (a string of JSON; with an ETag; as text/plain) */
extern const struct http_route subject_routes[];

/* Any free port of loopback, few threads, bounds that no test meets by chance. */
struct http_settings subject_settings(void);

/* The streams of /live get "tick" once more, the one that asks first. */
void subject_tick(void);
/* Whether anybody listens to /live, as far as the server knows. */
bool subject_is_heard(void);

/* Answers to /aside wait from here on, or go on. */
void subject_hold(bool hold);
/* So many of them are being made. */
unsigned subject_asides(void);

#endif
