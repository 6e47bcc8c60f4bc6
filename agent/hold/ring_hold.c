/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's side of the holder: finds or starts it, and talks to it; see ring_hold.h. Owns the
 * connection.
 */
#include "ring_hold.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "array.h"
#include "descriptor.h"
#include "hold_int.h"
#include "log.h"

#define ANSWER_MS 2000 /* a holder that is stopped does not keep an agent from its start */

struct ring_hold {
    int socket;  /* -1: the holder is gone */
    bool behind; /* said once */
    /* What it is to drop and has not been told yet, as it was behind; before all else that it is told. */
    struct hold_key *owed;
    size_t owed_count, owed_cap;
};

static int place_open(const char *folder, struct hold_place *place)
{
    snprintf(place->name, sizeof place->name, HOLD_NAME);
    place->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return place->folder >= 0 ? SKEIN_OK : SKEIN_IO;
}

static struct sockaddr_un address_of(const struct hold_place *place)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", place->folder,
             place->name);
    return address;
}

/* Rings are given to nobody else. */
static bool is_ours(int fd)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == geteuid();
}

static int hold_connect(const struct hold_place *place)
{
    const struct sockaddr_un address = address_of(place);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const struct timeval most = {.tv_sec = ANSWER_MS / 1000};
    if (fd >= 0 &&
        (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) != 0 || /* connect()'s, too */
         setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) != 0 ||
         connect(fd, (const struct sockaddr *)&address, sizeof address) != 0 || !is_ours(fd)))
        fd_close(&fd);
    return fd;
}

static int hold_listen(struct hold_place *place)
{
    struct stat about;
    const struct sockaddr_un address = address_of(place);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    (void)unlinkat(place->folder, place->name, 0);
    if (fd >= 0 && (bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
                    fchmodat(place->folder, place->name, 0600, 0) != 0 ||
                    fstatat(place->folder, place->name, &about, AT_SYMLINK_NOFOLLOW) != 0 ||
                    listen(fd, 4) != 0))
        fd_close(&fd);
    if (fd >= 0) {
        place->device = about.st_dev;
        place->inode = about.st_ino;
    }
    return fd;
}

/* In the child's child, which nobody waits for: has nothing of the agent's but the listener and the
 * folder in which that stands. */
static _Noreturn void holder_become(int listener, struct hold_place *place, ring_hold_look_fn *look)
{
    struct rlimit files;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; fd++)
        (void)dup2(null, fd);
    /* First out of each other's way, whatever numbers they have. */
    listener = fcntl(listener, F_DUPFD, 5);
    place->folder = fcntl(place->folder, F_DUPFD, 5);
    if (dup2(listener, 3) != 3 || dup2(place->folder, 4) != 4 || close_range(5, ~0u, 0) != 0)
        _exit(1);
    place->folder = 4;
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, number == SIGPIPE ? SIG_IGN : SIG_DFL);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    if (chdir("/") != 0)
        _exit(1);
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    hold_process_run(3, place, look);
}

static int holder_start(struct hold_place *place, ring_hold_look_fn *look)
{
    int listener = hold_listen(place), status = 0;
    if (listener < 0)
        return SKEIN_IO;
    pid_t child = fork();
    if (child == 0) {
        (void)setsid();
        pid_t holder = fork();
        if (holder == 0)
            holder_become(listener, place, look);
        _exit(holder < 0);
    }
    close(listener);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return child > 0 && status == 0 ? SKEIN_OK : SKEIN_NO_MEMORY;
}

int ring_hold_open(const char *folder, ring_hold_look_fn *look, struct ring_hold **out)
{
    struct hold_place place;
    int socket = -1, status = place_open(folder, &place);
    *out = NULL;
    if (status != SKEIN_OK)
        return status;
    socket = hold_connect(&place);
    if (socket < 0 && (status = holder_start(&place, look)) == SKEIN_OK)
        socket = hold_connect(&place);
    close(place.folder);
    if (socket < 0)
        return status != SKEIN_OK ? status : SKEIN_IO;
    *out = calloc(1, sizeof **out);
    if (*out == NULL) {
        close(socket);
        return SKEIN_NO_MEMORY;
    }
    (*out)->socket = socket;
    return SKEIN_OK;
}

void ring_hold_close(struct ring_hold **hold)
{
    if (*hold == NULL)
        return;
    (void)ring_hold_settle(*hold);
    fd_close(&(*hold)->socket);
    free((*hold)->owed);
    free(*hold);
    *hold = NULL;
}

/* Without it the agent does without from now on; said once. */
static void hold_lose(struct ring_hold *hold)
{
    fd_close(&hold->socket);
    hold->owed_count = 0; /* it ends, alone */
    log_warn("agent", "the holder of rings is gone: a restart will know less", NULL);
}

void ring_hold_take(struct ring_hold *hold, ring_hold_fn *fn, void *context)
{
    struct hold_packet packet = {.kind = HOLD_TAKE};
    int fds[HOLD_FDS];
    if (hold == NULL || hold->socket < 0)
        return;
    ssize_t n = hold_send(hold->socket, &packet, NULL, 0);
    while (n > 0) {
        n = hold_receive(hold->socket, &packet, fds, 0);
        if (n > 0 && packet.kind == HOLD_END)
            return;
        const struct hold_item item = {.key = packet.key,
                                       .fds = {fds[0], fds[1]},
                                       .died_ns = packet.died_ns,
                                       .runs_ns = packet.runs_ns,
                                       .note = packet.note,
                                       .note_bytes = packet.note_bytes};
        if (n > 0)
            fn(context, &item);
    }
    hold_lose(hold);
}

/* False: the holder is behind, or gone. */
static bool packet_pass(struct ring_hold *hold, const struct hold_packet *packet, const int *fds)
{
    if (hold_send(hold->socket, packet, fds, MSG_DONTWAIT) > 0)
        return true;
    if (errno != EAGAIN && errno != ENOBUFS && errno != ETOOMANYREFS)
        hold_lose(hold);
    return false;
}

bool ring_hold_settle(struct ring_hold *hold)
{
    size_t passed = 0;
    bool passes = true;
    while (hold != NULL && hold->socket >= 0 && passes && passed < hold->owed_count) {
        const struct hold_packet packet = {.kind = HOLD_DROP, .key = hold->owed[passed]};
        passes = packet_pass(hold, &packet, NULL);
        passed += passes;
    }
    if (passed > 0 && hold->owed_count > 0) {
        hold->owed_count -= passed;
        memmove(hold->owed, hold->owed + passed, hold->owed_count * sizeof *hold->owed);
    }
    return hold == NULL || hold->owed_count == 0;
}

/* False: the holder was not told, as it is behind. */
static bool packet_send(struct ring_hold *hold, const struct hold_packet *packet, const int *fds)
{
    if (hold == NULL || hold->socket < 0)
        return true;
    if (ring_hold_settle(hold) && hold->socket >= 0 && packet_pass(hold, packet, fds))
        return true;
    if (hold->socket >= 0 && !hold->behind) {
        log_warn("agent", "the holder of rings is behind: a restart may know less", NULL);
        hold->behind = true;
    }
    return hold->socket < 0;
}

void ring_hold_put(struct ring_hold *hold, const struct hold_item *item)
{
    struct hold_packet packet = {
        .kind = HOLD_PUT, .key = item->key, .died_ns = item->died_ns, .runs_ns = item->runs_ns};
    packet.note_bytes = (uint32_t)(item->note_bytes < HOLD_NOTE_MAX ? item->note_bytes : 0);
    memcpy(packet.note, item->note, packet.note_bytes);
    (void)packet_send(hold, &packet, item->fds);
}

/* A holder that stands still for as long as that is left, and ends by itself when it goes on. */
void ring_hold_drop(struct ring_hold *hold, const struct hold_key *key)
{
    const struct hold_packet packet = {.kind = HOLD_DROP, .key = *key};
    if (packet_send(hold, &packet, NULL))
        return;
    if (hold->owed_count < HOLD_MAX &&
        array_grow(hold->owed, hold->owed_count + 1, &hold->owed_cap))
        hold->owed[hold->owed_count++] = *key;
    else
        hold_lose(hold);
}
