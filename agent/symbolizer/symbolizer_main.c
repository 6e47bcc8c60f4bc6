/* SPDX-License-Identifier: Apache-2.0
 *
 * skein-symbolizer: names addresses and walks stacks for the agent that started it with a socket as
 * standard input. It parses what hostile programs have written, so it owns no right and no file but
 * those that it is given, and may die at any time: the agent starts it anew.
 *
 *   skein-symbolizer MEMORY_BYTES
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "descriptor.h"
#include "sandbox.h"
#include "symbol_serve.h"

#define SOCKET      STDIN_FILENO
#define PROCESSOR_S 20   /* of one request; the agent's patience ends sooner */
#define DESCRIPTORS 4096 /* two for each file that is loaded, one for each in a process's map */

struct request {
    uint8_t head[SYMBOL_HEAD_BYTES];
    uint8_t *body; /* SYMBOL_BODY_MAX */
    uint8_t kind;
    uint32_t bytes;
    int fds[SYMBOL_FDS_MAX];
    size_t fd_count;
};

/* False at the end, or when the agent makes no sense. */
static bool bytes_receive(struct request *request, uint8_t *to, size_t n)
{
    while (n > 0) {
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * SYMBOL_FDS_MAX)];
        struct iovec part = {.iov_base = to, .iov_len = n};
        struct msghdr message = {.msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control,
                                 .msg_controllen = sizeof control};
        ssize_t got = recvmsg(SOCKET, &message, MSG_CMSG_CLOEXEC);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        size_t room = SYMBOL_FDS_MAX - request->fd_count;
        size_t taken = message_fds_take(&message, request->fds + request->fd_count, room);
        request->fd_count += taken < room ? taken : room;
        to += got;
        n -= (size_t)got;
    }
    return true;
}

static bool request_receive(struct request *request)
{
    request->fd_count = 0;
    return bytes_receive(request, request->head, sizeof request->head) &&
           symbol_head_get(request->head, &request->kind, &request->bytes) == SKEIN_OK &&
           bytes_receive(request, request->body, request->bytes);
}

static bool reply_send(const struct buf *reply)
{
    for (size_t at = 0; at < reply->len;) {
        ssize_t n = send(SOCKET, reply->data + at, reply->len - at, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct sandbox_limits limits = {.memory_bytes = argc == 2 ? strtoull(argv[1], NULL, 10) : 0,
                                    .descriptors = DESCRIPTORS};
    static uint8_t body[SYMBOL_BODY_MAX];
    struct request request = {.body = body};
    struct symbol_server *server;
    if (limits.memory_bytes == 0 || symbol_server_new(&server) != SKEIN_OK) {
        fputs("skein-symbolizer is started by skein-agent\n", stderr);
        return 2;
    }
    if (!sandbox_enter(&limits))
        return 3;
    struct buf reply = {0};
    bool going = true;
    while (going && request_receive(&request)) {
        (void)sandbox_allow(PROCESSOR_S);
        buf_clear(&reply);
        symbol_server_answer(server, request.kind, request.body, request.bytes, request.fds,
                             request.fd_count, &reply);
        going = reply.status == SKEIN_OK && reply_send(&reply);
    }
    _exit(0);
}
