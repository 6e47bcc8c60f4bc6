/* SPDX-License-Identifier: Apache-2.0
 *
 * Log lines of the daemons, to standard error as text or JSON. Owns the process-wide level and
 * form. Any thread; one write() a line. Libraries of this tree do not log: they return.
 *
 *   log_info("upload", "stored", "partition", key, NULL)  ->
 *   2026-11-21T09:40:00.123Z info  upload: stored partition=3f…-1-7
 *   {"time":"…","level":"info","component":"upload","message":"stored","partition":"…"}
 */
#ifndef LOG_H
#define LOG_H

#include <stdbool.h>

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };

void log_configure(enum log_level level, bool json);
int log_level_parse(const char *text, enum log_level *level); /* SKEIN_OK or SKEIN_INVALID */

/* After the message: pairs of const char * key and value, then NULL. A NULL value prints "". */
void log_write(enum log_level level, const char *component, const char *message, ...)
    __attribute__((sentinel));
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_info(...)  log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)

/* Each line of this thread ends with this request's id from now on, whoever writes it; NULL: with
 * none. The text stays the caller's. Returns what was set before. */
const char *log_set_request(const char *request_id);

/* Formats into one of 8 thread-local buffers, for values of the calls above. */
const char *log_fmt(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
