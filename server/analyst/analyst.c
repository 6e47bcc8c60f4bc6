/* SPDX-License-Identifier: Apache-2.0
 *
 * Begins a skein-analyst for a job, gives it the pieces of the traces that it asks for, takes its
 * answer, and ends it. Owns the settings alone: each run has all of its own.
 */
#include "analyst.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyst_wire.h"
#include "child.h"

#define EXIT_SANDBOX 3 /* analyst_main.c's */

struct analyst {
    struct analyst_settings settings;
    char program[4096];
};

struct run {
    const struct analyst_job *job;
    struct child child;
    struct child_patience patience;
    struct buf message;
    struct buf *answer;
    size_t before; /* bytes of the answer that are not ours */
    int failed;    /* the first status of a source that is no SKEIN_OK */
    bool ended;    /* it has said how its work ended: */
    int said;
    char *error;
};

int analyst_new(const struct analyst_settings *settings, struct analyst **out,
                char error[ANALYST_ERROR_BYTES])
{
    struct analyst *analyst = calloc(1, sizeof *analyst);
    *out = NULL;
    if (analyst == NULL)
        return SKEIN_NO_MEMORY;
    analyst->settings = *settings;
    int n = snprintf(analyst->program, sizeof analyst->program, "%s", settings->program);
    if (n < 0 || (size_t)n >= sizeof analyst->program || access(analyst->program, X_OK) != 0) {
        snprintf(error, ANALYST_ERROR_BYTES, "%.400s: there is no such program", settings->program);
        free(analyst);
        return SKEIN_NOT_FOUND;
    }
    analyst->settings.program = analyst->program;
    *out = analyst;
    return SKEIN_OK;
}

void analyst_free(struct analyst **analyst)
{
    free(*analyst);
    *analyst = NULL;
}

/* ---- what the child asks for ---- */

static int nonsense(struct run *run, const char *what)
{
    snprintf(run->error, ANALYST_ERROR_BYTES, "skein-analyst has sent %s", what);
    return SKEIN_CORRUPT;
}

static int piece_give(struct run *run, struct cursor *c)
{
    struct analyst_read read;
    analyst_read_get(c, &read);
    if (c->status != SKEIN_OK || read.trace >= run->job->trace_count)
        return nonsense(run, "a question that is none");
    const struct skein_trace_source *source = &run->job->traces[read.trace];
    if (read.offset > source->bytes || read.bytes > source->bytes - read.offset)
        return nonsense(run, "a question for bytes that are not there");
    buf_clear(&run->message);
    analyst_begin(&run->message);
    buf_put_u8(&run->message, 0);
    uint8_t *to = buf_reserve(&run->message, read.bytes);
    if (to == NULL)
        return SKEIN_NO_MEMORY;
    int status = source->read(source->context, read.offset, to, read.bytes);
    if (status == SKEIN_OK)
        run->message.len += read.bytes;
    else if (run->failed == SKEIN_OK)
        run->failed = status;
    run->message.data[ANALYST_HEAD_BYTES] = (uint8_t)-status;
    analyst_end(&run->message, ANALYST_PIECE);
    return child_send(&run->child, run->message.data, run->message.len, NULL, 0, &run->patience);
}

/* ---- what it says ---- */

static int part_take(struct run *run, uint32_t bytes)
{
    size_t have = run->answer->len - run->before, most = run->job->answer_bytes;
    if (bytes == 0 || bytes > ANALYST_PIECE_BYTES || have > most || bytes > most - have)
        return nonsense(run, "a longer answer than it was asked for");
    uint8_t *to = buf_reserve(run->answer, bytes);
    if (to == NULL)
        return SKEIN_NO_MEMORY;
    int status = child_receive(&run->child, to, bytes, &run->patience);
    if (status == SKEIN_OK)
        run->answer->len += bytes;
    return status;
}

static int body_take(struct run *run, uint32_t bytes, struct cursor *c)
{
    buf_clear(&run->message);
    uint8_t *to = buf_reserve(&run->message, (size_t)bytes + 1);
    if (to == NULL)
        return SKEIN_NO_MEMORY;
    int status = child_receive(&run->child, to, bytes, &run->patience);
    if (status == SKEIN_OK)
        run->message.len += bytes;
    cursor_init(c, run->message.data, run->message.len);
    return status;
}

static int end_take(struct run *run, struct cursor *c)
{
    char words[ANALYST_ERROR_BYTES];
    run->said = analyst_end_get(c, words);
    run->ended = true;
    if (c->status != SKEIN_OK)
        return nonsense(run, "an end that is none");
    snprintf(run->error, ANALYST_ERROR_BYTES, "%s", words);
    return SKEIN_OK;
}

/* One message of it. */
static int message_take(struct run *run)
{
    uint8_t head[ANALYST_HEAD_BYTES], kind;
    uint32_t bytes;
    struct cursor c;
    int status = child_receive(&run->child, head, sizeof head, &run->patience);
    if (status != SKEIN_OK)
        return status;
    if (analyst_head_get(head, &kind, &bytes) != SKEIN_OK)
        return nonsense(run, "what is no message");
    if (kind == ANALYST_PART)
        return part_take(run, bytes);
    if ((kind != ANALYST_READ && kind != ANALYST_END) || bytes > ANALYST_ERROR_BYTES + 8)
        return nonsense(run, "what is no message");
    status = body_take(run, bytes, &c);
    if (status != SKEIN_OK)
        return status;
    return kind == ANALYST_READ ? piece_give(run, &c) : end_take(run, &c);
}

/* ---- a job ---- */

static int job_send(struct run *run, const struct analyst *analyst)
{
    buf_clear(&run->message);
    analyst_job_put(&run->message, run->job, analyst->settings.memory_bytes);
    if (run->message.status != SKEIN_OK)
        return run->message.status;
    return child_send(&run->child, run->message.data, run->message.len, NULL, 0, &run->patience);
}

/* Why it is gone, or does not answer. */
static int death_tell(const struct run *run, const struct analyst *analyst,
                      const struct child_end *end)
{
    if (end->signal == 0 && end->code == EXIT_SANDBOX) {
        snprintf(run->error, ANALYST_ERROR_BYTES,
                 "the kernel does not confine skein-analyst, so it reads nothing");
        return SKEIN_UNSUPPORTED;
    }
    if (end->signal == SIGXCPU) {
        snprintf(run->error, ANALYST_ERROR_BYTES, "it takes more than %" PRIu64 " s of CPU time",
                 analyst->settings.processor_s);
        return SKEIN_TOO_LARGE;
    }
    if (end->signal != 0)
        snprintf(run->error, ANALYST_ERROR_BYTES, "skein-analyst died of signal %d (%s)",
                 end->signal, sigdescr_np(end->signal));
    else
        snprintf(run->error, ANALYST_ERROR_BYTES, "skein-analyst ended with code %d and no answer",
                 end->code);
    return SKEIN_CORRUPT;
}

static int run_judge(struct run *run, const struct analyst *analyst, int status,
                     const struct child_end *end)
{
    switch (status) {
    case SKEIN_TIMEOUT:
        snprintf(run->error, ANALYST_ERROR_BYTES, "it takes more time than there is");
        return SKEIN_TIMEOUT;
    case SKEIN_AGAIN:
        snprintf(run->error, ANALYST_ERROR_BYTES, "nobody waits for it any more");
        return SKEIN_CLOSED;
    case SKEIN_CLOSED:
        return death_tell(run, analyst, end);
    case SKEIN_OK:
        break;
    default:
        return status;
    }
    if (run->failed != SKEIN_OK) { /* what it made of the rest is not the answer */
        snprintf(run->error, ANALYST_ERROR_BYTES, "the trace cannot be read: %s",
                 skein_status_text(run->failed));
        return run->failed;
    }
    switch (run->said) { /* what it may say of its work, and nothing else */
    case SKEIN_OK:
    case SKEIN_INVALID:
    case SKEIN_DENIED:
    case SKEIN_TOO_LARGE:
    case SKEIN_TIMEOUT:
    case SKEIN_CORRUPT:
    case SKEIN_NO_MEMORY:
    case SKEIN_UNSUPPORTED:
        return run->said;
    default:
        snprintf(run->error, ANALYST_ERROR_BYTES, "its process spoke nonsense");
        return SKEIN_CORRUPT;
    }
}

static bool is_job(const struct analyst_job *job)
{
    return job->trace_count > 0 && job->trace_count <= ANALYST_TRACES &&
           (unsigned)job->kind <= ANALYST_SQL && (job->sql != NULL) == (job->kind == ANALYST_SQL) &&
           (job->sql == NULL || strlen(job->sql) <= ANALYST_SQL_BYTES);
}

static int child_start(const struct analyst *analyst, struct run *run)
{
    char name[] = "skein-analyst", memory[32], processor[32];
    char *arguments[] = {name, memory, processor, NULL};
    snprintf(memory, sizeof memory, "%" PRIu64, analyst->settings.memory_bytes);
    snprintf(processor, sizeof processor, "%" PRIu64, analyst->settings.processor_s);
    int status = child_begin(analyst->settings.program, arguments, &run->child);
    if (status != SKEIN_OK)
        snprintf(run->error, ANALYST_ERROR_BYTES, "%.300s cannot be begun: %s",
                 analyst->settings.program, skein_status_text(status));
    return status == SKEIN_NOT_FOUND ? SKEIN_IO : status;
}

int analyst_run(struct analyst *analyst, const struct analyst_job *job, struct buf *answer,
                char error[ANALYST_ERROR_BYTES])
{
    struct run run = {.job = job,
                      .child = {.socket = -1},
                      .patience = {job->deadline_ns, job->stop, job->context},
                      .answer = answer,
                      .before = answer->len,
                      .error = error};
    error[0] = '\0';
    if (!is_job(job)) {
        snprintf(error, ANALYST_ERROR_BYTES,
                 "-1: a statement has at most %u bytes, and there are "
                 "1 to %d traces",
                 ANALYST_SQL_BYTES, ANALYST_TRACES);
        return SKEIN_INVALID;
    }
    int status = child_start(analyst, &run);
    if (status != SKEIN_OK)
        return status;
    status = job_send(&run, analyst);
    while (status == SKEIN_OK && !run.ended)
        status = message_take(&run);
    struct child_end end = child_end(&run.child);
    buf_fini(&run.message);
    status = run_judge(&run, analyst, status, &end);
    if (status != SKEIN_OK)
        answer->len = run.before;
    else
        status = answer->status;
    return status;
}
