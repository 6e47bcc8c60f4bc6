/* SPDX-License-Identifier: Apache-2.0
 * Bytes between skeind and skein-analyst, both ways: the first byte says which message it is. A job is
 * answered, from traces that are the job's own bytes. */
#include <stdlib.h>
#include <string.h>

#include "analyst_serve.h"
#include "clock.h"
#include "fuzz_target.h"

#define ANSWER_BYTES 65536
#define JOB_NS       UINT64_C(200000000)

static void require(bool holds)
{
    if (!holds)
        abort();
}

struct bytes {
    const uint8_t *bytes;
    size_t n;
};

/* The bytes again and again, as often as the job says that there are some. */
static int bytes_read(void *context, uint32_t trace, uint64_t offset, void *out, size_t n)
{
    const struct bytes *from = context;
    require(trace < ANALYST_TRACES && n > 0);
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)out)[i] = from->bytes[(offset + i) % from->n];
    return SKEIN_OK;
}

static void job_try(const uint8_t *bytes, size_t n)
{
    static struct analyst_task task;
    struct bytes from = {bytes, n};
    const struct analyst_port port = {bytes_read, &from};
    char error[ANALYST_ERROR_BYTES];
    struct cursor c;
    cursor_init(&c, bytes, n);
    if (analyst_task_get(&c, &task) != SKEIN_OK)
        return;
    require(task.trace_count > 0 && task.trace_count <= ANALYST_TRACES);
    require(strlen(task.sql) <= ANALYST_SQL_BYTES);
    for (size_t i = 0; i < task.trace_count; i++) /* as the sandbox would bound it */
        task.traces[i].bytes %= 4096;
    task.memory_bytes = 64u << 20;
    task.answer_bytes = ANSWER_BYTES;
    task.rows %= 1000;
    task.deadline_ns = clock_monotonic_ns() + JOB_NS;
    struct buf answer = {0};
    int status = analyst_answer(&task, &port, &answer, error);
    require(status <= SKEIN_OK && memchr(error, '\0', sizeof error) != NULL);
    require(status != SKEIN_OK || answer.len <= ANSWER_BYTES);
    buf_fini(&answer);
    analyst_task_fini(&task);
}

static void end_try(const uint8_t *bytes, size_t n)
{
    char words[ANALYST_ERROR_BYTES];
    struct cursor c;
    cursor_init(&c, bytes, n);
    int status = analyst_end_get(&c, words);
    require(status <= SKEIN_OK && status >= SKEIN_BUSY);
    for (const char *p = words; *p != '\0'; p++)
        require((uint8_t)*p >= 0x20 && *p != 0x7f);
}

static void read_try(const uint8_t *bytes, size_t n)
{
    struct analyst_read read;
    struct cursor c;
    cursor_init(&c, bytes, n);
    analyst_read_get(&c, &read);
    require(c.status != SKEIN_OK || (read.bytes > 0 && read.bytes <= ANALYST_PIECE_BYTES));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    uint8_t kind;
    uint32_t length;
    if (n < 2)
        return 0;
    if (n >= ANALYST_HEAD_BYTES)
        require(analyst_head_get(bytes, &kind, &length) != SKEIN_OK || length <= ANALYST_BODY_MAX);
    if (bytes[0] == ANALYST_JOB)
        job_try(bytes + 1, n - 1);
    else if (bytes[0] == ANALYST_END)
        end_try(bytes + 1, n - 1);
    else
        read_try(bytes + 1, n - 1);
    return 0;
}
