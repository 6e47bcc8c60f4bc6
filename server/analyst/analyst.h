/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers that need a trace to be read: reports, summaries, SQL. Each is worked out by a process of
 * its own, skein-analyst, which may compute and nothing else: it has no files, no network and no rights,
 * little memory and little time, asks for each piece of the trace on its socket, and ends with its
 * answer. What it says is believed no more than what it was given: whoever uses bytes of an answer
 * parses them as hostile. So a trace that breaks a reader breaks one answer.
 *
 *     struct analyst_job job = {.kind = ANALYST_REPORT, .traces = &source, .trace_count = 1};
 *     status = analyst_run(analyst, &job, &answer, error);
 *
 * Any thread; a call waits until its child has ended.
 */
#ifndef ANALYST_H
#define ANALYST_H

#include "analyst_job.h"
#include "buf.h"

struct analyst;

struct analyst_settings {
    const char *program;   /* path of skein-analyst */
    uint64_t memory_bytes; /* address space of a child */
    uint64_t processor_s;  /* CPU time of one */
};
/* Copies. SKEIN_OK; SKEIN_NOT_FOUND with words: there is no such program; SKEIN_NO_MEMORY. */
int analyst_new(const struct analyst_settings *settings, struct analyst **out,
                char error[ANALYST_ERROR_BYTES]);
void analyst_free(struct analyst **analyst); /* when no call runs */

/* Appends to `answer`. SKEIN_OK; SKEIN_INVALID (SQL: error says what is wrong, as "AT: words", AT the
 * byte or -1); SKEIN_DENIED (SQL that is no question); SKEIN_TOO_LARGE (memory, answer, CPU time: error
 * says which); SKEIN_TIMEOUT; SKEIN_CLOSED (stopped); SKEIN_CORRUPT (the child died of what it read, or
 * spoke nonsense; or no partition could be read); SKEIN_NO_MEMORY; SKEIN_UNSUPPORTED (the kernel
 * does not confine it); or the status of a source. */
int analyst_run(struct analyst *analyst, const struct analyst_job *job, struct buf *answer,
                char error[ANALYST_ERROR_BYTES]);

#endif
