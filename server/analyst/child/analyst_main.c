/* SPDX-License-Identifier: Apache-2.0
 *
 * skein-analyst: works out one answer for the skeind that started it with a socket as standard input,
 * and ends. It reads what hostile programs have written, so it owns no right and no file, may die at
 * any time, and asks for each piece of a trace on its socket.
 *
 *   skein-analyst MEMORY_BYTES PROCESSOR_S
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "analyst_serve.h"
#include "json.h"
#include "sandbox.h"

#define SOCKET        STDIN_FILENO
#define NICE          10
#define DESCRIPTORS   16
#define EXIT_SANDBOX  3 /* analyst.c knows it */
#define EXIT_NONSENSE 4

struct port {
    struct buf message;
    bool lost; /* the other end is gone, or makes no sense */
};

static bool bytes_receive(void *to, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t got = recv(SOCKET, (uint8_t *)to + at, n - at, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += (size_t)got;
    }
    return true;
}

static bool bytes_send(const void *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t sent = send(SOCKET, (const uint8_t *)bytes + at, n - at, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += (size_t)sent;
    }
    return true;
}

/* Up to its body. */
static bool head_receive(enum analyst_message kind, uint32_t *bytes)
{
    uint8_t head[ANALYST_HEAD_BYTES], said;
    return bytes_receive(head, sizeof head) && analyst_head_get(head, &said, bytes) == SKEIN_OK &&
           said == (uint8_t)kind;
}

/* ---- pieces of traces ---- */

static int piece_read(struct port *port, const struct analyst_read *read, void *out)
{
    uint32_t bytes;
    uint8_t status;
    buf_clear(&port->message);
    analyst_read_put(&port->message, read);
    if (port->message.status != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    port->lost = !bytes_send(port->message.data, port->message.len) ||
                 !head_receive(ANALYST_PIECE, &bytes) || bytes == 0 || !bytes_receive(&status, 1) ||
                 bytes - 1 != (status == 0 ? read->bytes : 0) || !bytes_receive(out, bytes - 1);
    if (port->lost)
        _exit(EXIT_NONSENSE); /* nobody waits for an answer */
    return -(int)status;
}

static int port_read(void *context, uint32_t trace, uint64_t offset, void *out, size_t n)
{
    int status = SKEIN_OK;
    for (size_t at = 0; at < n && status == SKEIN_OK;) {
        size_t some = n - at < ANALYST_PIECE_BYTES ? n - at : ANALYST_PIECE_BYTES;
        struct analyst_read read = {trace, offset + at, (uint32_t)some};
        status = piece_read(context, &read, (uint8_t *)out + at);
        at += some;
    }
    return status;
}

/* ---- the answer ---- */

static bool answer_send(const struct buf *answer)
{
    for (size_t at = 0; at < answer->len;) {
        size_t some =
            answer->len - at < ANALYST_PIECE_BYTES ? answer->len - at : ANALYST_PIECE_BYTES;
        uint8_t head[ANALYST_HEAD_BYTES];
        analyst_head_make(head, ANALYST_PART, (uint32_t)some);
        if (!bytes_send(head, sizeof head) || !bytes_send(answer->data + at, some))
            return false;
        at += some;
    }
    return true;
}

/* cJSON leaves out what it has no memory for; then the whole answer is none. */
static bool memory_missed;

static void *json_malloc(size_t n)
{
    void *p = malloc(n);
    memory_missed |= p == NULL;
    return p;
}

static int task_receive(struct analyst_task *task)
{
    uint32_t bytes;
    if (!head_receive(ANALYST_JOB, &bytes))
        return SKEIN_CORRUPT;
    uint8_t *body = malloc((size_t)bytes + 1);
    int status = body != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    if (status == SKEIN_OK && !bytes_receive(body, bytes))
        status = SKEIN_CORRUPT;
    if (status == SKEIN_OK) {
        struct cursor c;
        cursor_init(&c, body, bytes);
        status = analyst_task_get(&c, task);
    }
    free(body);
    return status;
}

static int task_answer(void)
{
    static struct analyst_task task;
    struct port port = {0};
    const struct analyst_port reads = {port_read, &port};
    struct buf answer = {0}, end = {0};
    char error[ANALYST_ERROR_BYTES] = "";
    if (task_receive(&task) != SKEIN_OK)
        return EXIT_NONSENSE;
    int status = analyst_answer(&task, &reads, &answer, error);
    if (memory_missed && status == SKEIN_OK) {
        snprintf(error, sizeof error, "it takes more memory than it may");
        status = SKEIN_TOO_LARGE;
    }
    analyst_end_put(&end, status, error);
    if (end.status != SKEIN_OK || (status == SKEIN_OK && !answer_send(&answer)) ||
        !bytes_send(end.data, end.len))
        return EXIT_NONSENSE;
    return 0;
}

/* Where memory runs out, this process goes before others. */
static void killing_prefer(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)!write(fd, "1000", 4);
    close(fd);
}

int main(int argc, char **argv)
{
    struct sandbox_limits limits = {argc == 3 ? strtoull(argv[1], NULL, 10) : 0, DESCRIPTORS, NICE};
    uint64_t processor_s = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
    if (limits.memory_bytes == 0 || processor_s == 0) {
        fputs("skein-analyst is started by skeind\n", stderr);
        return 2;
    }
    cJSON_InitHooks(&(struct cJSON_Hooks){json_malloc, free});
    killing_prefer();
    if (!sandbox_allow(processor_s) || !sandbox_enter(&limits))
        _exit(EXIT_SANDBOX);
    _exit(task_answer());
}
