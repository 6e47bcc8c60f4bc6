/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests to the collector (docs/api.md). Every failure has been told to the user, with the place
 * and what to do, when a function here returns another status than CLI_OK. One thread.
 */
#ifndef CLI_API_H
#define CLI_API_H

#include <cjson/cJSON.h>

#include "cli.h"
#include "http_client.h"

struct api {
    const char *collector; /* URL without a slash at its end */
    char url[512];
    const char *ca_file;     /* of http_request */
    char authorization[256]; /* a header with the token; "" where there is none */
};

/* As given by the user, and the environment. CLI_OK, CLI_USAGE or CLI_FAILED. */
int api_init(struct api *api, struct cli_collector collector);

/* A path below /api/v1 ("/captures?limit=1"); one that begins with '!' is below the root. */
void api_url(const struct api *api, const char *path, struct buf *url);

/* Appends "?key=value" or "&key=value", escaped; nothing where value is NULL or "". */
void api_query(struct buf *path, const char *key, const char *value);
void api_query_time(struct buf *path, const char *key, const struct cli_number *time);

/* Appends text as one segment of a path. */
void api_segment(struct buf *path, const char *text);

/* One request. *answer (may be NULL) becomes the parsed body, or NULL where it is empty; the caller
 * frees it with cJSON_Delete. CLI_OK where the status is below 400. */
int api_call(const struct api *api, const char *method, const char *path, const cJSON *body,
             cJSON **answer);

/* One request whose answer is the caller's to read, whatever its HTTP status; nothing is told. */
struct api_request {
    const char *method, *path;
    const cJSON *body;   /* NULL: none */
    uint64_t timeout_ms; /* 0: as api_call */
    const int *cancel;   /* as of struct http_request */
    long also_good;      /* of api_call_with: a status of 400 or more that is an answer, too */
};
/* A status of http_request. The caller calls http_response_fini after any. */
int api_ask(const struct api *api, const struct api_request *request,
            struct http_response *response);

/* The same, told and parsed as by api_call. */
int api_call_with(const struct api *api, const struct api_request *request, cJSON **answer);

/* All pages of a listing, at most `limit` items (0: all), as one array. *more: some were left out.
 */
int api_list(const struct api *api, const char *path, uint64_t limit, cJSON **items, bool *more);

/* Tells why a request failed: the problem the collector sent, or what became of the connection.
 * CLI_UNREACHABLE where nobody answered, else CLI_FAILED. */
int api_say_failure(const struct api *api, int status, const struct http_response *response);

#endif
