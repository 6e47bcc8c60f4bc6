/* SPDX-License-Identifier: Apache-2.0
 *
 * One question to the agent; see agent_ask.h.
 */
#include "agent_ask.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "attach_proto.h"
#include "skein/status.h"

bool agent_socket_own(char out[PATH_MAX])
{
    static const struct {
        const char *variable, *under;
    } places[] = {{"XDG_RUNTIME_DIR", ""}, {"XDG_STATE_HOME", ""}, {"HOME", "/.local/state"}};
    for (size_t i = 0; i < sizeof places / sizeof *places && geteuid() != 0; i++) {
        const char *base = getenv(places[i].variable);
        if (base == NULL || *base != '/')
            continue;
        snprintf(out, PATH_MAX, "%s%s/skein/agent.sock", base, places[i].under);
        if (access(out, F_OK) == 0)
            return true;
    }
    return false;
}

static int socket_open(const char *path, int *out)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return SKEIN_NOT_FOUND;
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return SKEIN_IO;
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0) {
        *out = fd;
        return SKEIN_OK;
    }
    int status = errno == ENOENT || errno == ECONNREFUSED ? SKEIN_NOT_FOUND
                 : errno == EACCES || errno == EPERM      ? SKEIN_DENIED
                 : errno == EAGAIN                        ? SKEIN_AGAIN
                                                          : SKEIN_IO;
    close(fd);
    return status;
}

static int answer_take(int fd, unsigned wait_ms, struct attach_watched *answer)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    if (poll(&ready, 1, (int)wait_ms) == 0)
        return SKEIN_TIMEOUT;
    ssize_t n = recv(fd, answer, sizeof *answer, MSG_TRUNC);
    if (n < 0)
        return errno == EAGAIN ? SKEIN_TIMEOUT : errno == ECONNRESET ? SKEIN_UNSUPPORTED : SKEIN_IO;
    if (n == 0) /* an agent that does not know the question ends the connection */
        return SKEIN_UNSUPPORTED;
    bool valid = (size_t)n == sizeof *answer && answer->head.magic == ATTACH_MAGIC &&
                 answer->head.version == ATTACH_VERSION && answer->head.type == ATTACH_WATCHED &&
                 memchr(answer->text, '\0', sizeof answer->text) != NULL;
    return valid ? SKEIN_OK : SKEIN_CORRUPT;
}

int agent_watch_ask(const char *socket, uint8_t what, uint32_t pid, const char *service,
                    const char *labels, unsigned wait_ms, char *text, size_t bytes)
{
    struct attach_watch ask = {
        .head = {ATTACH_MAGIC, ATTACH_VERSION, ATTACH_WATCH}, .pid = pid, .what = what};
    struct attach_watched answer;
    int fd;
    text[0] = '\0';
    snprintf(ask.service, sizeof ask.service, "%s", service);
    snprintf(ask.labels, sizeof ask.labels, "%s", labels);
    int status = socket_open(socket, &fd);
    if (status != SKEIN_OK)
        return status;
    status = send(fd, &ask, sizeof ask, MSG_NOSIGNAL) == (ssize_t)sizeof ask ? SKEIN_OK : SKEIN_IO;
    if (status == SKEIN_OK)
        status = answer_take(fd, wait_ms, &answer);
    close(fd);
    if (status != SKEIN_OK)
        return status;
    snprintf(text, bytes, "%s", answer.text);
    return answer.status;
}
