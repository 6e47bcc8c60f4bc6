/* SPDX-License-Identifier: Apache-2.0
 *
 * The helper thread "skein": owns the connection to the agent and the descriptor of the ring. Runs
 * with all signals blocked. When the agent goes away the process keeps writing to its ring, and the
 * next agent is offered the same memfd, so that the seconds before survive. Traced threads never
 * come here, except for the one non-blocking send of a snapshot request or a heartbeat.
 */
#include "attach_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "attach_proto.h"
#include "writer_int.h"

#define BACKOFF_FIRST_MS 20
#define BACKOFF_MAX_MS   1000
#define WELCOME_WAIT_MS  5000
#define FD_FLOOR         64 /* leave the low numbers to the program */
#define HEALTH_EVERY_MS  50 /* the same heartbeat within this time is not sent again */

static struct attach_client_options settings;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t attached_cond;
static bool cond_made, running, stopping;
static pthread_t helper;

static int wake_fd = -1, ring_fd = -1;
/* The connection keeps one descriptor number for life: a new socket replaces the old by dup3, so a
 * snapshot request can never go to a stranger's file that took over the number. */
static int socket_fd = -1;    /* atomic */
static uint64_t socket_inode; /* atomic; 0: not connected */
static uint32_t agent_takes;  /* atomic; ATTACH_TAKES_... of the agent we are connected to */
/* Atomic; {milliseconds:32, what was said:32} of the last heartbeat sent; 0: none to this agent.
 * Threads that disagree may leave the word of the one that was overtaken here; then the other's
 * next heartbeat is held back for HEALTH_EVERY_MS, no longer. */
static uint64_t health_told;

static bool ours(int fd, uint64_t inode)
{
    struct stat st;
    return fd >= 0 && inode && !fstat(fd, &st) && S_ISSOCK(st.st_mode) &&
           (uint64_t)st.st_ino == inode;
}

static int connect_agent(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, settings.socket_path, sizeof address.sun_path - 1);
    /* Not blocking: the queue of an agent that is stopped may be full, and then the program's end
     * would wait for it. */
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)&address, sizeof address)) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool send_hello(int fd)
{
    struct attach_hello hello = {
        .head = {ATTACH_MAGIC, ATTACH_VERSION, ATTACH_HELLO},
        .ring_bytes = settings.ring_bytes,
        .mode = settings.mode,
        .has_ring = ring_fd >= 0,
    };
    memcpy(hello.service, settings.service, sizeof hello.service);
    memcpy(hello.labels, settings.labels, sizeof hello.labels);
    struct iovec io = {&hello, sizeof hello};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    struct msghdr message = {.msg_iov = &io, .msg_iovlen = 1};
    if (ring_fd >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &ring_fd, sizeof(int));
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)sizeof hello;
}

/* Takes the descriptors of a packet; those beyond three are closed. Returns how many came. */
static size_t take_fds(struct msghdr *message, int fds[3])
{
    size_t count = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (count < 3)
                fds[count] = fd;
            else
                close(fd);
            count++;
        }
    }
    return count;
}

static void close_fds(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
}

/* Waits for the agent's answer or for the order to stop. */
static bool wait_answer(int fd)
{
    struct pollfd waits[2] = {{.fd = fd, .events = POLLIN}, {.fd = wake_fd, .events = POLLIN}};
    int n;
    do {
        n = poll(waits, 2, WELCOME_WAIT_MS);
    } while (n < 0 && errno == EINTR);
    return n > 0 && (waits[0].revents & POLLIN) && !(waits[1].revents & POLLIN);
}

/* Receives WELCOME with its three descriptors, which the caller then owns. */
static bool receive_welcome(int fd, int fds[3], uint8_t *takes)
{
    struct attach_welcome welcome;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } control;
    struct iovec io = {&welcome, sizeof welcome};
    struct msghdr message = {.msg_iov = &io,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    if (!wait_answer(fd))
        return false;
    ssize_t bytes = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (bytes < 0)
        return false;
    size_t count = take_fds(&message, fds);
    bool good = bytes == (ssize_t)sizeof welcome &&
                !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
                welcome.head.magic == ATTACH_MAGIC && welcome.head.version == ATTACH_VERSION &&
                welcome.head.type == ATTACH_WELCOME && welcome.status == SKEIN_OK && count == 3;
    if (!good)
        close_fds(fds, count < 3 ? count : 3);
    *takes = good ? welcome.takes : 0;
    return good;
}

/* Makes `fd` the connection that snapshots go to. Takes ownership. */
static bool socket_publish(int fd)
{
    struct stat st;
    int slot = __atomic_load_n(&socket_fd, __ATOMIC_RELAXED);
    bool usable = !fstat(fd, &st);
    if (usable && slot >= 0 && ours(slot, skein_load64(&socket_inode))) {
        usable = dup3(fd, slot, O_CLOEXEC) >= 0;
    } else if (usable) {
        slot = fcntl(fd, F_DUPFD_CLOEXEC, FD_FLOOR);
        if (slot < 0)
            slot = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        usable = slot >= 0;
    }
    close(fd);
    if (!usable)
        return false;
    skein_store64(&socket_inode, (uint64_t)st.st_ino);
    __atomic_store_n(&socket_fd, slot, __ATOMIC_RELAXED);
    return true;
}

/* Keeps the ring's descriptor for the next agent. Takes ownership of all three. */
static bool adopt(int fds[3])
{
    int status = session_attach(fds[0], fds[1], fds[2], settings.service);
    close(fds[1]);
    close(fds[2]);
    if (status < 0) {
        close(fds[0]);
        return false;
    }
    int high = fcntl(fds[0], F_DUPFD_CLOEXEC, FD_FLOOR);
    if (high >= 0) {
        close(fds[0]);
        fds[0] = high;
    }
    if (ring_fd >= 0)
        close(ring_fd);
    ring_fd = fds[0];
    return true;
}

/* One attempt. True: attached, and the connection is published. */
static bool attach_once(void)
{
    int fds[3] = {-1, -1, -1};
    uint8_t takes = 0;
    int fd = connect_agent();
    if (fd < 0)
        return false;
    if (!send_hello(fd) || !receive_welcome(fd, fds, &takes)) {
        close(fd);
        return false;
    }
    if (!adopt(fds)) {
        close(fd);
        return false;
    }
    skein_store32(&agent_takes, takes);
    skein_store64(&health_told, 0);
    if (!socket_publish(fd))
        return false;
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&attached_cond);
    pthread_mutex_unlock(&mutex);
    return true;
}

static bool stop_asked(void)
{
    pthread_mutex_lock(&mutex);
    bool asked = stopping;
    pthread_mutex_unlock(&mutex);
    return asked;
}

static void wait_ms(int ms)
{
    struct pollfd wait = {.fd = wake_fd, .events = POLLIN};
    poll(&wait, 1, ms);
}

/* Returns when the agent is gone or the process wants to stop. What the agent says is not used. */
static void watch(void)
{
    int fd = __atomic_load_n(&socket_fd, __ATOMIC_RELAXED);
    for (;;) {
        struct pollfd waits[2] = {{.fd = fd, .events = POLLIN}, {.fd = wake_fd, .events = POLLIN}};
        if (poll(waits, 2, -1) < 0 && errno == EINTR)
            continue;
        if (waits[1].revents || !ours(fd, skein_load64(&socket_inode)))
            return;
        char packet[64];
        ssize_t n = recv(fd, packet, sizeof packet, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return;
    }
}

static void say_bye(void)
{
    const struct attach_bye bye = {{ATTACH_MAGIC, ATTACH_VERSION, ATTACH_BYE}};
    int fd = __atomic_load_n(&socket_fd, __ATOMIC_RELAXED);
    if (ours(fd, skein_load64(&socket_inode)))
        send(fd, &bye, sizeof bye, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void *helper_main(void *unused)
{
    int backoff = BACKOFF_FIRST_MS;
    while (!stop_asked()) {
        if (attach_once()) {
            backoff = BACKOFF_FIRST_MS;
            watch();
            skein_store64(&health_told, 0);
            continue;
        }
        wait_ms(backoff);
        backoff = backoff * 2 < BACKOFF_MAX_MS ? backoff * 2 : BACKOFF_MAX_MS;
    }
    session_detach();
    say_bye();
    return unused;
}

static bool thread_make(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool made = pthread_create(&helper, NULL, helper_main, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (made)
        pthread_setname_np(helper, "skein");
    return made;
}

static void cond_make(void)
{
    pthread_condattr_t attributes;
    if (cond_made)
        return;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&attached_cond, &attributes);
    pthread_condattr_destroy(&attributes);
    cond_made = true;
}

int attach_client_start(const struct attach_client_options *options)
{
    int status = SKEIN_OK;
    pthread_mutex_lock(&mutex);
    if (!running) {
        if (options != &settings)
            settings = *options;
        cond_make();
        stopping = false;
        if (wake_fd < 0)
            wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        running = wake_fd >= 0 && thread_make();
        status = running ? SKEIN_OK : SKEIN_AGAIN;
    }
    pthread_mutex_unlock(&mutex);
    return status;
}

void attach_client_stop(void)
{
    pthread_mutex_lock(&mutex);
    bool join = running && !stopping;
    stopping = true;
    pthread_mutex_unlock(&mutex);
    if (!join)
        return;
    uint64_t one = 1;
    if (write(wake_fd, &one, sizeof one) == (ssize_t)sizeof one || errno == EAGAIN)
        pthread_join(helper, NULL);
    pthread_mutex_lock(&mutex);
    running = false;
    close(wake_fd);
    wake_fd = -1;
    int fd = __atomic_load_n(&socket_fd, __ATOMIC_RELAXED);
    if (ours(fd, skein_load64(&socket_inode)))
        shutdown(fd, SHUT_RDWR); /* the number stays taken: a late snapshot request goes nowhere */
    pthread_mutex_unlock(&mutex);
}

/* The first event of a fork child. */
static void child_start(void)
{
    (void)attach_client_start(&settings);
}

void attach_client_child(void)
{
    pthread_mutex_init(&mutex, NULL);
    bool ran = running && !stopping;
    cond_made = false;
    running = stopping = false;
    if (ring_fd >= 0)
        close(ring_fd);
    if (wake_fd >= 0)
        close(wake_fd);
    int fd = __atomic_load_n(&socket_fd, __ATOMIC_RELAXED);
    if (ours(fd, skein_load64(&socket_inode)))
        close(fd);
    ring_fd = wake_fd = -1;
    __atomic_store_n(&socket_fd, -1, __ATOMIC_RELAXED);
    skein_store64(&socket_inode, 0);
    skein_store64(&health_told, 0);
    if (ran)
        session_child_arm(child_start);
}

int attach_client_wait(unsigned timeout_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(timeout_ms / 1000);
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    int gone = 0;
    pthread_mutex_lock(&mutex);
    cond_make();
    while (!skein_attached() && gone != ETIMEDOUT)
        gone = pthread_cond_timedwait(&attached_cond, &mutex, &until);
    pthread_mutex_unlock(&mutex);
    return skein_attached() ? SKEIN_OK : SKEIN_TIMEOUT;
}

/* One packet, without waiting. */
static int packet_send(const void *packet, size_t bytes)
{
    int saved = errno;
    int status = SKEIN_CLOSED;
    int fd = __atomic_load_n(&socket_fd, __ATOMIC_RELAXED);
    if (ours(fd, skein_load64(&socket_inode))) {
        if (send(fd, packet, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
            status = SKEIN_OK;
        else if (errno == EAGAIN || errno == ENOBUFS)
            status = SKEIN_AGAIN;
    }
    errno = saved;
    return status;
}

int attach_client_snapshot(const char *reason)
{
    struct attach_snapshot request = {.head = {ATTACH_MAGIC, ATTACH_VERSION, ATTACH_SNAPSHOT}};
    if (reason)
        memcpy(request.reason, reason, strnlen(reason, sizeof request.reason - 1));
    return packet_send(&request, sizeof request);
}

/* FNV-1a of what a heartbeat says. */
static uint32_t health_hash(const struct attach_health *health)
{
    uint32_t hash = (UINT32_C(2166136261) ^ health->ok) * UINT32_C(16777619);
    for (const char *c = health->why; *c; c++)
        hash = (hash ^ (uint8_t)*c) * UINT32_C(16777619);
    return hash;
}

int attach_client_health(bool ok, const char *why)
{
    struct attach_health health = {.head = {ATTACH_MAGIC, ATTACH_VERSION, ATTACH_HEALTH}, .ok = ok};
    if (why)
        memcpy(health.why, why, strnlen(why, sizeof health.why - 1));
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint32_t now_ms = (uint32_t)((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
    uint64_t told = skein_load64(&health_told),
             telling = (uint64_t)now_ms << 32 | health_hash(&health);
    if (told && (uint32_t)told == (uint32_t)telling &&
        now_ms - (uint32_t)(told >> 32) < HEALTH_EVERY_MS)
        return SKEIN_OK;
    if (skein_load64(&socket_inode) && !(skein_load32(&agent_takes) & ATTACH_TAKES_HEALTH))
        return SKEIN_UNSUPPORTED;
    int status = packet_send(&health, sizeof health);
    skein_store64(&health_told, status == SKEIN_OK ? telling : 0);
    return status;
}
