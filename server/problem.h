/* SPDX-License-Identifier: Apache-2.0
 *
 * RFC 9457 problem documents: the one form of every error that the HTTP API gives. Pure functions.
 */
#ifndef PROBLEM_H
#define PROBLEM_H

#include <cjson/cJSON.h>

#define PROBLEM_TYPE "application/problem+json"

/* A new document, the caller's to free; NULL when out of memory. field may be NULL. */
cJSON *problem_new(unsigned status, const char *field, const char *detail);

/* The status's words: "Not Found"; "Error" for one that the API does not use. */
const char *problem_title(unsigned status);

#endif
