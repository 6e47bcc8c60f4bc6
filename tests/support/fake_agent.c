/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the memfds and the socket's thread; see the header.
 */
#include "fake_agent.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "skein_atomic.h"
#include "start.h"
#include "writer_int.h"

/* Not libcheck's own: benchmarks use this file too, and have no test to fail. */
#define require(condition) require_that(condition, #condition)

static void require_that(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fake agent: not so: %s\n", what);
    abort();
}

static int memfd_sealed(const char *name, uint64_t bytes, void **map)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    require(fd >= 0);
    require(ftruncate(fd, (off_t)bytes) == 0);
    *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    require(*map != MAP_FAILED);
    require(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
    return fd;
}

void fake_agent_init(struct fake_agent *agent, uint64_t generation)
{
    void *map;
    memset(agent, 0, sizeof *agent);
    agent->listener = agent->wake = -1;
    pthread_mutex_init(&agent->mutex, NULL);
    agent->host_fd = memfd_sealed("host", 4096, &map);
    agent->host = map;
    agent->host->magic = HOST_PAGE_MAGIC;
    agent->host->version = RING_VERSION;
#if defined(__x86_64__)
    agent->host->clock = RING_CLOCK_TSC;
    agent->host->shift = 7;
#else
    agent->host->clock = RING_CLOCK_MONOTONIC;
    agent->host->shift = 6;
#endif
    agent->host->ticks_per_s = 15625000;
    agent->host->generation = generation;
}

void fake_agent_fini(struct fake_agent *agent)
{
    for (unsigned i = 0; i < agent->peer_count; i++)
        if (!agent->peers[i].adopted)
            fake_ring_fini(&agent->peers[i].ring);
    munmap(agent->host, 4096);
    close(agent->host_fd);
    pthread_mutex_destroy(&agent->mutex);
}

static void page_init(struct fake_ring *ring)
{
    void *map;
    ring->page_fd = memfd_sealed("process", 4096, &map);
    ring->page = map;
    ring->page->magic = PROCESS_PAGE_MAGIC;
    ring->page->version = RING_VERSION;
    ring->page->enabled = UINT64_MAX;
}

void fake_ring_init(struct fake_ring *ring, uint8_t mode, uint64_t bytes)
{
    void *map;
    require(ring_geometry_init(&ring->geometry, mode, bytes) == SKEIN_OK);
    ring->ring_fd = memfd_sealed("ring", bytes, &map);
    ring->ring = map;
    struct ring_header *h = map;
    h->magic = RING_MAGIC;
    h->version = RING_VERSION;
    h->buffering_mode = mode;
    h->total_size = ring->geometry.total;
    h->durable_buffer_size = ring->geometry.durable;
    h->rolling_buffer_size = ring->geometry.rolling;
    page_init(ring);
}

void fake_ring_fini(struct fake_ring *ring)
{
    munmap(ring->ring, ring->geometry.total);
    munmap(ring->page, 4096);
    close(ring->ring_fd);
    close(ring->page_fd);
}

void fake_agent_attach_self(struct fake_agent *agent, struct fake_ring *ring, uint8_t mode,
                            uint64_t bytes)
{
    fake_ring_init(ring, mode, bytes);
    require(thread_cold_init() == SKEIN_OK);
    require(pthread_atfork(NULL, NULL, start_fork_child) == 0);
    require(session_attach(ring->ring_fd, agent->host_fd, ring->page_fd, "test") == SKEIN_OK);
}

/* ---- the socket ---- */

static void send_welcome(struct fake_agent *agent, struct fake_peer *peer)
{
    if (agent->mute)
        return;
    if (agent->late_ms)
        (void)poll(NULL, 0, (int)agent->late_ms);
    struct attach_welcome welcome = {
        .head = {ATTACH_MAGIC, ATTACH_VERSION, ATTACH_WELCOME},
        .status = SKEIN_OK,
        .mode = peer->ring.geometry.mode,
        .takes = agent->old ? 0 : ATTACH_TAKES_HEALTH | ATTACH_TAKES_LEAVE,
        .ring_bytes = peer->ring.geometry.total,
    };
    int fds[3] = {peer->ring.ring_fd, agent->host_fd, peer->ring.page_fd};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof fds)];
    } control;
    memset(&control, 0, sizeof control);
    struct iovec io = {&welcome, sizeof welcome};
    struct msghdr message = {.msg_iov = &io,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fds);
    memcpy(CMSG_DATA(c), fds, sizeof fds);
    sendmsg(peer->socket, &message, MSG_NOSIGNAL);
}

/* The ring that this process had before it left; false: it was not here. */
static bool take_back(struct fake_agent *agent, struct fake_peer *peer)
{
    for (unsigned i = 0; i < agent->peer_count; i++) {
        const struct fake_peer *former = &agent->peers[i];
        if (former == peer || former->pid != peer->pid)
            continue;
        peer->ring = former->ring;
        peer->adopted = true;
        return true;
    }
    return false;
}

static void page_set(const struct fake_agent *agent, struct process_page *page)
{
    page->privacy = agent->privacy.mode;
    memcpy(page->privacy_key, agent->privacy.key, sizeof page->privacy_key);
    for (unsigned i = 0; i < 64; i++)
        page->threshold_ns[i] = agent->threshold_ns;
}

static void take_hello(struct fake_agent *agent, struct fake_peer *peer, int given_fd)
{
    struct ucred who;
    socklen_t size = sizeof who;
    getsockopt(peer->socket, SOL_SOCKET, SO_PEERCRED, &who, &size);
    peer->pid = who.pid;
    if (peer->hello.comes_back && take_back(agent, peer)) {
        send_welcome(agent, peer);
        return;
    }
    peer->adopted = given_fd >= 0 && !agent->refuse_adoption;
    if (peer->adopted) {
        struct ring_header *h =
            mmap(NULL, agent->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, given_fd, 0);
        peer->ring.ring = (uint8_t *)h;
        peer->ring.ring_fd = given_fd;
        ring_geometry_init(&peer->ring.geometry, h->buffering_mode, h->total_size);
        page_init(&peer->ring);
    } else {
        if (given_fd >= 0)
            close(given_fd);
        fake_ring_init(&peer->ring, agent->mode, agent->ring_bytes);
        peer->ring.page->stack_ns = agent->stack_ns;
    }
    page_set(agent, peer->ring.page);
    send_welcome(agent, peer);
}

static void serve_peer(struct fake_agent *agent, struct fake_peer *peer)
{
    union {
        struct attach_head head;
        struct attach_hello hello;
        struct attach_snapshot snapshot;
        struct attach_health health;
    } packet;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec io = {&packet, sizeof packet};
    struct msghdr message = {.msg_iov = &io,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t n = recvmsg(peer->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n <= 0) {
        close(peer->socket);
        peer->socket = -1;
        peer->gone = true;
        return;
    }
    int fd = -1;
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    if (c)
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
    if (packet.head.type == ATTACH_HELLO) {
        peer->hello = packet.hello;
        take_hello(agent, peer, fd);
    } else if (packet.head.type == ATTACH_SNAPSHOT) {
        memcpy(peer->reason, packet.snapshot.reason, sizeof peer->reason);
        peer->snapshots++;
    } else if (packet.head.type == ATTACH_HEALTH) {
        peer->heartbeat = packet.health;
        peer->heartbeats++;
    } else if (packet.head.type == ATTACH_LEAVE) {
        peer->left = true;
    } else if (packet.head.type == ATTACH_BYE) {
        peer->bye = true;
    }
}

static void *serve(void *context)
{
    struct fake_agent *agent = context;
    for (;;) {
        struct pollfd waits[2 + FAKE_PEERS_MAX] = {{.fd = agent->listener, .events = POLLIN},
                                                   {.fd = agent->wake, .events = POLLIN}};
        unsigned count = agent->peer_count;
        for (unsigned i = 0; i < count; i++)
            waits[2 + i] = (struct pollfd){.fd = agent->peers[i].socket, .events = POLLIN};
        poll(waits, 2 + count, -1);
        if (waits[1].revents)
            return NULL;
        pthread_mutex_lock(&agent->mutex);
        for (unsigned i = 0; i < count; i++)
            if (waits[2 + i].revents)
                serve_peer(agent, &agent->peers[i]);
        if (waits[0].revents && count < FAKE_PEERS_MAX) {
            agent->peers[count].socket = accept4(agent->listener, NULL, NULL, SOCK_CLOEXEC);
            agent->peer_count = count + 1;
        }
        pthread_mutex_unlock(&agent->mutex);
    }
}

void fake_agent_serve(struct fake_agent *agent, const char *path, uint8_t mode, uint64_t bytes)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    require(strlen(path) < sizeof address.sun_path);
    memcpy(address.sun_path, path, strlen(path));
    agent->mode = mode;
    agent->ring_bytes = bytes;
    unlink(path);
    agent->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    require(bind(agent->listener, (struct sockaddr *)&address, sizeof address) == 0);
    require(listen(agent->listener, 8) == 0);
    agent->wake = eventfd(0, EFD_CLOEXEC);
    require(pthread_create(&agent->thread, NULL, serve, agent) == 0);
}

void fake_agent_stop(struct fake_agent *agent)
{
    uint64_t one = 1;
    require(write(agent->wake, &one, sizeof one) == (ssize_t)sizeof one);
    pthread_join(agent->thread, NULL);
    close(agent->listener);
    close(agent->wake);
    for (unsigned i = 0; i < agent->peer_count; i++) {
        if (agent->peers[i].socket >= 0)
            close(agent->peers[i].socket);
        agent->peers[i].socket = -1;
    }
}

bool fake_agent_was_late(const struct fake_agent *agent)
{
    for (unsigned i = 0; i < agent->peer_count; i++) {
        const struct fake_ring *ring = &agent->peers[i].ring;
        const struct ring_process_record *record =
            ring->ring != NULL ? (const void *)(ring->ring + ring->geometry.process_off) : NULL;
        if (record == NULL || record->began_ns == 0 || record->missed_ns != 0)
            return true;
    }
    return false;
}
