/* SPDX-License-Identifier: Apache-2.0
 *
 * The one status type of Skein: functions return a status below 0, or 0 or a count. Used by the
 * client library's public API and by every module of the tree. Thread-safe: constants only.
 */
#ifndef SKEIN_STATUS_H
#define SKEIN_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* name, value, words for a person */
#define SKEIN_STATUS_LIST(X)                                                                       \
    X(OK, 0, "ok")                                                                                 \
    X(NO_MEMORY, -1, "out of memory")                                                              \
    X(IO, -2, "input/output error")                                                                \
    X(INVALID, -3, "invalid argument")                                                             \
    X(CORRUPT, -4, "malformed data")                                                               \
    X(TRUNCATED, -5, "data ends too early")                                                        \
    X(VERSION, -6, "unsupported version")                                                          \
    X(TOO_LARGE, -7, "larger than the limit")                                                      \
    X(NOT_FOUND, -8, "not found")                                                                  \
    X(EXISTS, -9, "exists already")                                                                \
    X(FULL, -10, "no space left")                                                                  \
    X(AGAIN, -11, "not now, try again")                                                            \
    X(TIMEOUT, -12, "timed out")                                                                   \
    X(CLOSED, -13, "closed")                                                                       \
    X(REFUSED, -14, "refused")                                                                     \
    X(UNSUPPORTED, -15, "not supported")                                                           \
    X(DENIED, -16, "permission denied")                                                            \
    X(BUSY, -17, "busy")

enum skein_status {
#define X(name, value, words) SKEIN_##name = value,
    SKEIN_STATUS_LIST(X)
#undef X
};

#pragma GCC visibility push(default)

/* The words for a status, never NULL; "unknown status" for a value that is none.
 * Any thread; does not block; signal-safe. */
const char *skein_status_text(int status);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
