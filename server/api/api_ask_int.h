/* SPDX-License-Identifier: Apache-2.0
 *
 * What /captures/{capture}/report and /sql share: a capture that a process of its own reads
 * (analyst.h). For api_ask.c, api_report.c and api_sql.c. An ask belongs to one thread at a time.
 */
#ifndef API_ASK_INT_H
#define API_ASK_INT_H

#include "api.h"
#include "trace_stream.h"

struct ask {
    struct api_services *api;
    struct http_exchange *x;
    struct capture_id id;
    cJSON *capture; /* as GET /captures/{id} has it for the asker */
    struct process_uid process;
    bool has_process;
    uint64_t from_ns, to_ns; /* to_ns 0: no end */
    uint64_t deadline_ns;    /* CLOCK_MONOTONIC */
    struct trace_stream *stream;
    uint32_t rows;
    char *sql; /* of a statement */
    char error[ANALYST_ERROR_BYTES];
};

/* For the capture in the path. NULL: an answer was given, or there is no memory. */
struct ask *ask_new(struct api_services *api, struct http_exchange *x);
void ask_free(struct ask *a);

/* Reads the asker's part of the capture. Appends to `answer`, and fails, as analyst_run;
 * SKEIN_NOT_FOUND: nothing of it is stored. `job` has its kind, and what is particular to it. */
int ask_run(struct ask *a, struct analyst_job *job, struct buf *answer);

/* Answers what analyst_run failed with; `less` says how to ask for less. */
void ask_failed(struct ask *a, int status, const char *less);

/* The words of a partition that was left out; at most ASK_DAMAGED_SHOWN are told one by one. */
#define ASK_DAMAGED_SHOWN 20
#define ASK_DAMAGED_BYTES 256
void ask_damaged_text(const struct partition_key *key, char out[ASK_DAMAGED_BYTES]);
/* Appends them, and a last one for all beyond: {"reason":"broken","text":"…"}. */
void ask_damaged_add(const struct ask *a, cJSON *gaps);

#endif
