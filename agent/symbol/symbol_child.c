/* SPDX-License-Identifier: Apache-2.0
 *
 * The child and its socket; see symbol_child.h.
 *
 *            _ready                     died, hung, spoke nonsense
 *   none ------------> runs ------------------------------------> pause (0.1 s, 0.2 s … 30 s)
 *     ^                 | _stop                                     |
 *     +-----------------+<------------------------------------------+ _ready, once it is over
 */
#include "symbol_child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

#define MS         UINT64_C(1000000)
#define PAUSE_NS   (100 * MS)
#define PAUSES     9 /* doublings: about 30 s then */
#define ANSWER_MIN 9 /* memory, status */

void symbol_child_init(struct symbol_child *child, const char *program, uint64_t memory_bytes,
                       uint64_t hang_ns)
{
    *child = (struct symbol_child){.program = program,
                                   .memory_bytes = memory_bytes,
                                   .hang_ns = hang_ns,
                                   .pidfd = -1,
                                   .socket = -1};
}

void symbol_child_stop(struct symbol_child *child)
{
    if (child->pid == 0)
        return;
    siginfo_t info;
    kill(child->pid, SIGKILL); /* not yet waited for, so the number is still the child's */
    while (waitid(P_PID, (id_t)child->pid, &info, WEXITED) != 0 && errno == EINTR)
        continue;
    close(child->socket);
    if (child->pidfd >= 0)
        close(child->pidfd);
    child->pid = 0;
    child->pidfd = child->socket = -1;
    child->used_bytes = 0;
}

static int child_fail(struct symbol_child *child, int status)
{
    symbol_child_stop(child);
    unsigned doublings = child->failures < PAUSES ? child->failures : PAUSES - 1;
    child->pause_ns = clock_monotonic_ns() + (PAUSE_NS << doublings);
    child->failures++;
    if (status == SKEIN_TIMEOUT)
        child->hung++;
    else
        child->crashed++;
    return status;
}

/* ---- beginning ---- */

static int actions_fill(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attr, int socket)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int failed = posix_spawn_file_actions_adddup2(actions, socket, 0);
    failed |= posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
    failed |= posix_spawn_file_actions_addopen(actions, 2, "/dev/null", O_WRONLY, 0);
    failed |= posix_spawn_file_actions_addclosefrom_np(actions, 3);
    failed |= posix_spawnattr_setflags(attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                 POSIX_SPAWN_SETSIGDEF);
    failed |= posix_spawnattr_setpgroup(attr, 0);
    failed |= posix_spawnattr_setsigmask(attr, &none);
    failed |= posix_spawnattr_setsigdefault(attr, &all);
    return failed;
}

/* 0, or an errno. */
static int child_spawn(struct symbol_child *child, int socket)
{
    char memory[32], name[] = "skein-symbolizer", language[] = "LANG=C.UTF-8";
    snprintf(memory, sizeof memory, "%" PRIu64, child->memory_bytes);
    char *argv[] = {name, memory, NULL}, *environment[] = {language, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    int failed = actions_fill(&actions, &attr, socket);
    if (failed == 0)
        failed = posix_spawn(&child->pid, child->program, &actions, &attr, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    if (failed != 0)
        child->pid = 0;
    return failed;
}

int symbol_child_ready(struct symbol_child *child)
{
    int sockets[2];
    if (child->pid != 0)
        return SKEIN_OK;
    if (clock_monotonic_ns() < child->pause_ns)
        return SKEIN_AGAIN;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        return SKEIN_IO;
    int failed = child_spawn(child, sockets[1]);
    close(sockets[1]);
    if (failed != 0) {
        close(sockets[0]);
        child->pause_ns = clock_monotonic_ns() + (PAUSE_NS << (PAUSES - 1));
        return failed == ENOENT ? SKEIN_NOT_FOUND : SKEIN_IO;
    }
    (void)fcntl(sockets[0], F_SETFL, O_NONBLOCK);
    child->socket = sockets[0];
    child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
    child->life++;
    return SKEIN_OK;
}

/* ---- asking ---- */

/* SKEIN_OK once the socket is ready, SKEIN_TIMEOUT, SKEIN_IO. An end of the child makes it ready. */
static int socket_wait(const struct symbol_child *child, short events, uint64_t until_ns)
{
    for (;;) {
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns >= until_ns)
            return SKEIN_TIMEOUT;
        uint64_t left = until_ns - now_ns;
        struct timespec wait = {.tv_sec = (time_t)(left / (1000 * MS)),
                                .tv_nsec = (long)(left % (1000 * MS))};
        struct pollfd fd = {.fd = child->socket, .events = events};
        int n = ppoll(&fd, 1, &wait, NULL);
        if (n > 0)
            return SKEIN_OK;
        if (n < 0 && errno != EINTR)
            return SKEIN_IO;
    }
}

static ssize_t some_send(const struct symbol_child *child, const struct buf *request, size_t at,
                         const int *fds, size_t fd_count)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * SYMBOL_FDS_MAX)] = {0};
    struct iovec part = {.iov_base = request->data + at, .iov_len = request->len - at};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (at == 0 && fd_count > 0) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
        memcpy(CMSG_DATA(head), fds, sizeof(int) * fd_count);
    }
    return sendmsg(child->socket, &message, MSG_NOSIGNAL);
}

static int request_send(const struct symbol_child *child, const struct buf *request, const int *fds,
                        size_t fd_count, uint64_t until_ns)
{
    for (size_t at = 0; at < request->len;) {
        int status = socket_wait(child, POLLOUT, until_ns);
        if (status != SKEIN_OK)
            return status;
        ssize_t n = some_send(child, request, at, fds, fd_count);
        if (n > 0)
            at += (size_t)n;
        else if (errno != EAGAIN && errno != EINTR)
            return SKEIN_CLOSED;
    }
    return SKEIN_OK;
}

/* recv() without room for descriptors: what the child sends of those is closed. */
static int bytes_receive(const struct symbol_child *child, uint8_t *to, size_t n, uint64_t until_ns)
{
    while (n > 0) {
        int status = socket_wait(child, POLLIN, until_ns);
        if (status != SKEIN_OK)
            return status;
        ssize_t got = recv(child->socket, to, n, 0);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return SKEIN_CLOSED;
        if (got > 0) {
            to += got;
            n -= (size_t)got;
        }
    }
    return SKEIN_OK;
}

static int reply_receive(struct symbol_child *child, uint8_t kind, struct buf *reply,
                         uint64_t until_ns)
{
    uint8_t head[SYMBOL_HEAD_BYTES], said;
    uint32_t bytes;
    int status = bytes_receive(child, head, sizeof head, until_ns);
    if (status != SKEIN_OK)
        return status;
    if (symbol_head_get(head, &said, &bytes) != SKEIN_OK || said != (kind | SYMBOL_REPLY) ||
        bytes < ANSWER_MIN)
        return SKEIN_CORRUPT;
    uint8_t *to = buf_reserve(reply, bytes);
    if (to == NULL)
        return SKEIN_NO_MEMORY;
    status = bytes_receive(child, to, bytes, until_ns);
    if (status == SKEIN_OK)
        reply->len += bytes;
    return status;
}

int symbol_child_ask(struct symbol_child *child, const struct buf *request, const int *fds,
                     size_t fd_count, struct buf *reply, struct cursor *answer)
{
    buf_clear(reply);
    cursor_init(answer, NULL, 0);
    if (request->status != SKEIN_OK)
        return request->status;
    int status = symbol_child_ready(child);
    if (status != SKEIN_OK)
        return status;
    uint64_t until_ns = clock_monotonic_ns() + child->hang_ns;
    status = request_send(child, request, fds, fd_count, until_ns);
    if (status == SKEIN_OK)
        status = reply_receive(child, request->data[4], reply, until_ns);
    if (status != SKEIN_OK)
        return child_fail(child, status == SKEIN_TIMEOUT ? SKEIN_TIMEOUT : SKEIN_CLOSED);
    child->failures = 0;
    cursor_init(answer, reply->data, reply->len);
    child->used_bytes = cursor_u64(answer);
    return -(int)cursor_u8(answer);
}
