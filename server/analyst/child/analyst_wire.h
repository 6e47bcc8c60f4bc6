/* SPDX-License-Identifier: Apache-2.0
 *
 * What skeind and its skein-analyst say to each other on their socket: one job, questions for pieces
 * of traces and their answers in turn, pieces of the answer, an end. Each end takes the other's bytes
 * for hostile. No state; any thread.
 *
 *   u32 bytes of the body | u8 kind | 3 zero bytes | body
 *
 *         skeind                    skein-analyst
 *         JOB      ───────────────▶
 *                  ◀─────────────── READ     u32 trace, u64 offset, u32 bytes
 *         PIECE    ───────────────▶          u8 status (its number without the sign), the bytes
 *                        …
 *                  ◀─────────────── PART     bytes of the answer, appended
 *                        …
 *                  ◀─────────────── END      u8 status, text words
 *
 *   JOB  u8 kind, u8 flags (1: process, 2: not_process), 16 bytes process, 16 bytes not_process,
 *        u64 from_ns, to_ns, groups, u32 rows, u64 memory_bytes, answer_bytes, deadline_ns, text sql,
 *        uleb traces, of each: u64 bytes, text name
 */
#ifndef ANALYST_WIRE_H
#define ANALYST_WIRE_H

#include "analyst_job.h"
#include "buf.h"

#define ANALYST_HEAD_BYTES  8
#define ANALYST_PIECE_BYTES (1u << 20) /* of a trace or an answer, in one message */
#define ANALYST_BODY_MAX    (ANALYST_PIECE_BYTES + 1)
#define ANALYST_SQL_BYTES   (256u << 10)
#define ANALYST_NAME_BYTES  255
#define ANALYST_WORDS_BYTES (ANALYST_ERROR_BYTES - 1)

enum analyst_message {
    ANALYST_JOB = 1,
    ANALYST_PIECE,
    ANALYST_READ = 0x81,
    ANALYST_PART,
    ANALYST_END
};

/* Head and body: _begin reserves the head, _end fills it in. */
void analyst_begin(struct buf *b);
void analyst_end(struct buf *b, enum analyst_message kind);
/* The same where the body is elsewhere. */
void analyst_head_make(uint8_t head[ANALYST_HEAD_BYTES], enum analyst_message kind, uint32_t bytes);
/* SKEIN_OK; SKEIN_CORRUPT, SKEIN_TOO_LARGE. */
int analyst_head_get(const uint8_t head[ANALYST_HEAD_BYTES], uint8_t *kind, uint32_t *bytes);

/* What a job is to the child: of its traces only how long they are. */
struct analyst_task {
    enum analyst_kind kind;
    bool of_process, not_of_process;
    uint8_t process[16], not_process[16];
    uint64_t from_ns, to_ns, groups;
    uint32_t rows;
    uint64_t memory_bytes, answer_bytes, deadline_ns;
    char *sql; /* the owner's to free */
    size_t trace_count;
    struct analyst_task_trace {
        uint64_t bytes;
        char name[ANALYST_NAME_BYTES + 1];
    } traces[ANALYST_TRACES];
};
void analyst_job_put(struct buf *b, const struct analyst_job *job, uint64_t memory_bytes);
/* SKEIN_OK; SKEIN_CORRUPT, SKEIN_TRUNCATED, SKEIN_NO_MEMORY: there is nothing to free. */
int analyst_task_get(struct cursor *c, struct analyst_task *task);
void analyst_task_fini(struct analyst_task *task);

struct analyst_read {
    uint32_t trace;
    uint64_t offset;
    uint32_t bytes;
};
void analyst_read_put(struct buf *b, const struct analyst_read *read);
/* Fails the cursor where it asks for nothing, or for more than goes into a message. */
void analyst_read_get(struct cursor *c, struct analyst_read *read);

void analyst_end_put(struct buf *b, int status, const char *words);
/* words: printable ASCII and UTF-8 as they came, control characters as '?'; NUL-terminated. Returns
 * the status; SKEIN_CORRUPT where the bytes are none. */
int analyst_end_get(struct cursor *c, char words[ANALYST_ERROR_BYTES]);

#endif
