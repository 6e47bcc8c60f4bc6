/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes between skeind and skein-analyst; see analyst_wire.h.
 */
#include "analyst_wire.h"

#include <stdlib.h>
#include <string.h>

#define FLAG_PROCESS     1u
#define FLAG_NOT_PROCESS 2u
#define STATUS_LAST      (-SKEIN_BUSY)

void analyst_begin(struct buf *b)
{
    buf_put_u64(b, 0);
}

void analyst_head_make(uint8_t head[ANALYST_HEAD_BYTES], enum analyst_message kind, uint32_t bytes)
{
    for (unsigned i = 0; i < 4; i++)
        head[i] = (uint8_t)(bytes >> (8 * i));
    head[4] = (uint8_t)kind;
    head[5] = head[6] = head[7] = 0;
}

void analyst_end(struct buf *b, enum analyst_message kind)
{
    if (b->status == SKEIN_OK)
        analyst_head_make(b->data, kind, (uint32_t)(b->len - ANALYST_HEAD_BYTES));
}

int analyst_head_get(const uint8_t head[ANALYST_HEAD_BYTES], uint8_t *kind, uint32_t *bytes)
{
    struct cursor c;
    cursor_init(&c, head, ANALYST_HEAD_BYTES);
    *bytes = cursor_u32(&c);
    *kind = cursor_u8(&c);
    if (head[5] != 0 || head[6] != 0 || head[7] != 0)
        return SKEIN_CORRUPT;
    return *bytes <= ANALYST_BODY_MAX ? SKEIN_OK : SKEIN_TOO_LARGE;
}

/* ---- the job ---- */

static void process_put(struct buf *b, const uint8_t *id)
{
    static const uint8_t none[16];
    buf_put(b, id != NULL ? id : none, 16);
}

void analyst_job_put(struct buf *b, const struct analyst_job *job, uint64_t memory_bytes)
{
    const char *sql = job->sql != NULL ? job->sql : "";
    analyst_begin(b);
    buf_put_u8(b, (uint8_t)job->kind);
    buf_put_u8(b, (uint8_t)((job->process != NULL ? FLAG_PROCESS : 0) |
                            (job->not_process != NULL ? FLAG_NOT_PROCESS : 0)));
    process_put(b, job->process);
    process_put(b, job->not_process);
    buf_put_u64(b, job->from_ns);
    buf_put_u64(b, job->to_ns);
    buf_put_u64(b, job->groups);
    buf_put_u32(b, job->rows);
    buf_put_u64(b, memory_bytes);
    buf_put_u64(b, job->answer_bytes);
    buf_put_u64(b, job->deadline_ns);
    buf_put_text(b, sql, strlen(sql));
    buf_put_uleb(b, job->trace_count);
    for (size_t i = 0; i < job->trace_count; i++) {
        const char *name = job->traces[i].name != NULL ? job->traces[i].name : "";
        size_t n = strlen(name);
        buf_put_u64(b, job->traces[i].bytes);
        buf_put_text(b, name, n < ANALYST_NAME_BYTES ? n : ANALYST_NAME_BYTES);
    }
    analyst_end(b, ANALYST_JOB);
}

static void id_get(struct cursor *c, uint8_t id[16])
{
    const uint8_t *bytes = cursor_bytes(c, 16);
    if (bytes != NULL)
        memcpy(id, bytes, 16);
}

static void traces_get(struct cursor *c, struct analyst_task *task)
{
    uint64_t count = cursor_uleb(c);
    if (count == 0 || count > ANALYST_TRACES)
        (void)cursor_fail(c, SKEIN_CORRUPT);
    for (uint64_t i = 0; i < count && c->status == SKEIN_OK; i++) {
        struct analyst_task_trace *trace = &task->traces[task->trace_count++];
        size_t n;
        trace->bytes = cursor_u64(c);
        const char *name = cursor_text(c, ANALYST_NAME_BYTES, &n);
        if (name != NULL)
            memcpy(trace->name, name, n);
    }
}

int analyst_task_get(struct cursor *c, struct analyst_task *task)
{
    *task = (struct analyst_task){0};
    unsigned kind = cursor_u8(c), flags = cursor_u8(c);
    if (kind > ANALYST_SQL || (flags & ~(FLAG_PROCESS | FLAG_NOT_PROCESS)) != 0)
        (void)cursor_fail(c, SKEIN_CORRUPT);
    task->kind = (enum analyst_kind)kind;
    task->of_process = (flags & FLAG_PROCESS) != 0;
    task->not_of_process = (flags & FLAG_NOT_PROCESS) != 0;
    id_get(c, task->process);
    id_get(c, task->not_process);
    task->from_ns = cursor_u64(c);
    task->to_ns = cursor_u64(c);
    task->groups = cursor_u64(c);
    task->rows = cursor_u32(c);
    task->memory_bytes = cursor_u64(c);
    task->answer_bytes = cursor_u64(c);
    task->deadline_ns = cursor_u64(c);
    size_t n = 0;
    const char *sql = cursor_text(c, ANALYST_SQL_BYTES, &n);
    traces_get(c, task);
    if (c->status != SKEIN_OK || cursor_left(c) > 0)
        return c->status != SKEIN_OK ? c->status : SKEIN_CORRUPT;
    if (memchr(sql, '\0', n) != NULL)
        return SKEIN_CORRUPT;
    task->sql = malloc(n + 1);
    if (task->sql == NULL)
        return SKEIN_NO_MEMORY;
    memcpy(task->sql, sql, n);
    task->sql[n] = '\0';
    return SKEIN_OK;
}

void analyst_task_fini(struct analyst_task *task)
{
    free(task->sql);
    task->sql = NULL;
}

/* ---- questions and the end ---- */

void analyst_read_put(struct buf *b, const struct analyst_read *read)
{
    analyst_begin(b);
    buf_put_u32(b, read->trace);
    buf_put_u64(b, read->offset);
    buf_put_u32(b, read->bytes);
    analyst_end(b, ANALYST_READ);
}

void analyst_read_get(struct cursor *c, struct analyst_read *read)
{
    read->trace = cursor_u32(c);
    read->offset = cursor_u64(c);
    read->bytes = cursor_u32(c);
    if (read->bytes == 0 || read->bytes > ANALYST_PIECE_BYTES || cursor_left(c) > 0)
        (void)cursor_fail(c, SKEIN_CORRUPT);
}

void analyst_end_put(struct buf *b, int status, const char *words)
{
    analyst_begin(b);
    buf_put_u8(b, (uint8_t)-status);
    buf_put_text(b, words, strnlen(words, ANALYST_WORDS_BYTES));
    analyst_end(b, ANALYST_END);
}

int analyst_end_get(struct cursor *c, char words[ANALYST_ERROR_BYTES])
{
    size_t n = 0;
    unsigned status = cursor_u8(c);
    const char *text = cursor_text(c, ANALYST_WORDS_BYTES, &n);
    words[0] = '\0';
    if (c->status != SKEIN_OK || cursor_left(c) > 0 || status > STATUS_LAST)
        return cursor_fail(c, SKEIN_CORRUPT);
    for (size_t i = 0; i < n; i++)
        words[i] = (uint8_t)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
    words[n] = '\0';
    return -(int)status;
}
