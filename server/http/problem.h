/* SPDX-License-Identifier: Apache-2.0
 *
 * Problem documents (RFC 9457): what every error of the API is answered with. Pure; any thread.
 */
#ifndef PROBLEM_H
#define PROBLEM_H

#include <cjson/cJSON.h>

#define PROBLEM_TYPE     "application/problem+json"
#define PROBLEM_URN      "urn:skein:problem:"
#define PROBLEM_URN_SIZE 64

/* kind, status, name, title. A type is PROBLEM_URN and the name, and never changes. The first of a
 * status is what is meant by the status alone. A new row is also one of docs/api.md and of
 * openapi.json (unit/server/openapi compares them). */
#define PROBLEM_LIST(X)                                                                            \
    X(MALFORMED, 400, "malformed", "Bad Request")                                                  \
    X(AMBIGUOUS, 400, "ambiguous-request", "Ambiguous Request")                                    \
    X(UNAUTHORIZED, 401, "token-needed", "Token Needed")                                           \
    X(TOKEN_REFUSED, 401, "token-refused", "Token Refused")                                        \
    X(SESSION_OVER, 401, "session-over", "Session Over")                                           \
    X(FORBIDDEN, 403, "forbidden", "Forbidden")                                                    \
    X(SCOPE, 403, "scope-too-small", "Scope Too Small")                                            \
    X(CONFINED, 403, "token-confined", "Token Confined")                                           \
    X(ORIGIN, 403, "other-origin", "Other Origin")                                                 \
    X(NOT_SECURE, 403, "not-secure", "Not Secure")                                                 \
    X(NOT_FOUND, 404, "not-found", "Not Found")                                                    \
    X(NO_PATH, 404, "no-such-path", "No Such Path")                                                \
    X(NOTHING_STORED, 404, "nothing-stored", "Nothing Stored")                                     \
    X(DAMAGED, 500, "damaged", "Damaged")                                                          \
    X(METHOD, 405, "method-not-allowed", "Method Not Allowed")                                     \
    X(CONFLICT, 409, "conflict", "Conflict")                                                       \
    X(KEY_ENDED, 409, "idempotency-key-ended", "Idempotency Key Ended")                            \
    X(PRECONDITION, 412, "precondition-failed", "Precondition Failed")                             \
    X(BODY_TOO_LARGE, 413, "body-too-large", "Content Too Large")                                  \
    X(ADDRESS_TOO_LONG, 414, "address-too-long", "URI Too Long")                                   \
    X(MEDIA_TYPE, 415, "unsupported-media-type", "Unsupported Media Type")                         \
    X(RANGE, 416, "range-not-satisfiable", "Range Not Satisfiable")                                \
    X(MISDIRECTED, 421, "misdirected", "Misdirected Request")                                      \
    X(INVALID, 422, "invalid", "Unprocessable Content")                                            \
    X(NO_MATCH, 422, "no-match", "Nothing Matches")                                                \
    X(PROFILE_TOO_LARGE, 422, "profile-too-large", "Profile Too Large")                            \
    X(KEY_REUSED, 422, "idempotency-key-reused", "Idempotency Key Reused")                         \
    X(PRECONDITION_NEEDED, 428, "precondition-required", "Precondition Required")                  \
    X(LOCKED_OUT, 429, "too-many-wrong-tokens", "Too Many Requests")                               \
    X(HEADER_TOO_LARGE, 431, "header-too-large", "Request Header Fields Too Large")                \
    X(INTERNAL, 500, "internal", "Internal Server Error")                                          \
    X(UNAVAILABLE, 503, "unavailable", "Service Unavailable")                                      \
    X(BUSY, 503, "busy", "Busy")                                                                   \
    X(DISK_FULL, 507, "disk-full", "Insufficient Storage")
enum problem {
#define X(kind, status, name, title) PROBLEM_##kind,
    PROBLEM_LIST(X)
#undef X
        PROBLEMS
};

enum problem problem_of_status(unsigned status); /* PROBLEM_INTERNAL where there is none */
unsigned problem_status(enum problem kind);
const char *problem_name(enum problem kind);

/* {"type","title","status","detail","field"?}; the caller frees; NULL: no memory. */
cJSON *problem_new(enum problem kind, const char *field, const char *detail);

#endif
