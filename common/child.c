/* SPDX-License-Identifier: Apache-2.0
 *
 * A child and its socket; see child.h.
 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "skein/status.h"

#define STEP_NS (NS_PER_S / 10) /* between two questions whether to stop */

/* ---- beginning and end ---- */

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
static int program_spawn(const char *program, char *const *arguments, int socket, pid_t *pid)
{
    char language[] = "LANG=C.UTF-8", *environment[] = {language, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    int failed = actions_fill(&actions, &attr, socket);
    if (failed == 0)
        failed = posix_spawn(pid, program, &actions, &attr, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    return failed;
}

int child_begin(const char *program, char *const *arguments, struct child *child)
{
    int sockets[2];
    *child = (struct child){.socket = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        return SKEIN_IO;
    pid_t pid = 0;
    int failed = program_spawn(program, arguments, sockets[1], &pid);
    close(sockets[1]);
    if (failed != 0) {
        close(sockets[0]);
        return failed == ENOENT ? SKEIN_NOT_FOUND : SKEIN_IO;
    }
    (void)fcntl(sockets[0], F_SETFL, O_NONBLOCK);
    *child = (struct child){pid, sockets[0]};
    return SKEIN_OK;
}

struct child_end child_end(struct child *child)
{
    struct child_end end = {0};
    if (child->pid == 0)
        return end;
    siginfo_t info = {0};
    kill(child->pid, SIGKILL); /* not yet waited for, so the number is still the child's */
    while (waitid(P_PID, (id_t)child->pid, &info, WEXITED) != 0 && errno == EINTR)
        continue;
    if (info.si_code == CLD_EXITED)
        end.code = info.si_status;
    else
        end.signal = info.si_status;
    close(child->socket);
    *child = (struct child){.socket = -1};
    return end;
}

int child_program_path(const char *name, char *out, size_t n)
{
    size_t room = strlen(name) + 1;
    ssize_t got = n > room ? readlink("/proc/self/exe", out, n - room) : -1;
    char *slash = got > 0 ? memrchr(out, '/', (size_t)got) : NULL;
    if (slash == NULL)
        return SKEIN_NOT_FOUND;
    memcpy(slash + 1, name, room);
    return SKEIN_OK;
}

/* ---- the socket ---- */

/* SKEIN_OK once the socket is ready. An end of the child makes it ready. */
static int socket_wait(const struct child *child, short events,
                       const struct child_patience *patience)
{
    for (;;) {
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns >= patience->until_ns)
            return SKEIN_TIMEOUT;
        if (patience->stop != NULL && patience->stop(patience->context))
            return SKEIN_AGAIN;
        uint64_t left = patience->until_ns - now_ns;
        if (patience->stop != NULL && left > STEP_NS)
            left = STEP_NS;
        struct timespec wait = {.tv_sec = (time_t)(left / NS_PER_S),
                                .tv_nsec = (long)(left % NS_PER_S)};
        struct pollfd fd = {.fd = child->socket, .events = events};
        int n = ppoll(&fd, 1, &wait, NULL);
        if (n > 0)
            return SKEIN_OK;
        if (n < 0 && errno != EINTR)
            return SKEIN_IO;
    }
}

static ssize_t some_send(const struct child *child, const uint8_t *bytes, size_t n, const int *fds,
                         size_t fd_count)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * CHILD_FDS_MAX)] = {0};
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = n}; /* only read */
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd_count > 0) {
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

int child_send(const struct child *child, const void *bytes, size_t n, const int *fds,
               size_t fd_count, const struct child_patience *patience)
{
    for (size_t at = 0; at < n;) {
        int status = socket_wait(child, POLLOUT, patience);
        if (status != SKEIN_OK)
            return status;
        ssize_t sent =
            some_send(child, (const uint8_t *)bytes + at, n - at, fds, at == 0 ? fd_count : 0);
        if (sent > 0)
            at += (size_t)sent;
        else if (errno != EAGAIN && errno != EINTR)
            return SKEIN_CLOSED;
    }
    return SKEIN_OK;
}

/* recv() without room for descriptors: what the child sends of those is closed. */
int child_receive(const struct child *child, void *to, size_t n,
                  const struct child_patience *patience)
{
    for (size_t at = 0; at < n;) {
        int status = socket_wait(child, POLLIN, patience);
        if (status != SKEIN_OK)
            return status;
        ssize_t got = recv(child->socket, (uint8_t *)to + at, n - at, 0);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return SKEIN_CLOSED;
        if (got > 0)
            at += (size_t)got;
    }
    return SKEIN_OK;
}
