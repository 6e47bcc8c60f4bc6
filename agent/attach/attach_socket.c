/* SPDX-License-Identifier: Apache-2.0
 *
 * One agent at a path; see attach_socket.h. Owns the listening socket and the lock. Never takes
 * away a socket that somebody listens at.
 */
#include "attach_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "descriptor.h"

#define BACKLOG 512

/* Another agent that has the lock may be about to listen. SKEIN_OK, SKEIN_BUSY, SKEIN_IO. */
static int lock_take(const char *path, int *fd)
{
    char name[sizeof((struct sockaddr_un *)0)->sun_path + 8];
    snprintf(name, sizeof name, "%s.lock", path);
    *fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*fd < 0)
        return SKEIN_IO;
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0)
        return SKEIN_OK;
    return errno == EWOULDBLOCK ? SKEIN_BUSY : SKEIN_IO;
}

/* Removes a socket file that nobody listens at. A live one stays, even without an agent's lock. */
static int path_clear(const struct sockaddr_un *address)
{
    int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0)
        return SKEIN_IO;
    int connected = connect(probe, (const struct sockaddr *)address, sizeof *address);
    int error = errno;
    close(probe);
    if (connected == 0 || error == EAGAIN)
        return SKEIN_BUSY;
    if (error != ECONNREFUSED)
        return SKEIN_OK; /* nothing there; or something that bind will report */
    struct stat st;
    if (lstat(address->sun_path, &st) == 0 && S_ISSOCK(st.st_mode))
        unlink(address->sun_path);
    return SKEIN_OK;
}

static void directory_make(const char *path)
{
    char parent[sizeof((struct sockaddr_un *)0)->sun_path];
    snprintf(parent, sizeof parent, "%s", path);
    char *slash = strrchr(parent, '/');
    if (slash == NULL || slash == parent)
        return;
    *slash = '\0';
    mkdir(parent, 0755); /* where it fails, the lock says why */
}

static int listen_at(const struct sockaddr_un *address, mode_t mode, struct attach_socket *out)
{
    struct stat st;
    out->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (out->fd < 0 || bind(out->fd, (const struct sockaddr *)address, sizeof *address) != 0 ||
        chmod(address->sun_path, mode) != 0 || lstat(address->sun_path, &st) != 0 ||
        listen(out->fd, BACKLOG) != 0)
        return SKEIN_IO;
    out->device = st.st_dev;
    out->inode = st.st_ino;
    return SKEIN_OK;
}

int attach_socket_open(const char *path, mode_t mode, struct attach_socket *out, char *error,
                       size_t error_bytes)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    *out = (struct attach_socket){.fd = -1, .lock_fd = -1};
    if (path[0] == '\0' || strlen(path) >= sizeof address.sun_path) {
        snprintf(error, error_bytes, "socket path \"%s\" is empty or longer than %zu bytes", path,
                 sizeof address.sun_path - 1);
        return SKEIN_INVALID;
    }
    strcpy(address.sun_path, path);
    directory_make(path);
    int status = lock_take(path, &out->lock_fd);
    if (status == SKEIN_OK)
        status = path_clear(&address);
    if (status == SKEIN_OK)
        status = listen_at(&address, mode, out);
    if (status != SKEIN_OK)
        snprintf(error, error_bytes, "%s: %s", path,
                 status == SKEIN_BUSY ? "another agent listens there" : strerror(errno));
    return status;
}

void attach_socket_close(struct attach_socket *socket, const char *path)
{
    struct stat st;
    if (socket->inode != 0 && lstat(path, &st) == 0 && st.st_dev == socket->device &&
        st.st_ino == socket->inode)
        unlink(path);
    fd_close(&socket->fd);
    fd_close(&socket->lock_fd);
    *socket = (struct attach_socket){.fd = -1, .lock_fd = -1};
}
