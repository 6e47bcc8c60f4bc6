/* SPDX-License-Identifier: Apache-2.0
 *
 * The visitor's thread: attaches to the agent, notices when it goes away, attaches again, and takes
 * packets of the program's threads to it. A bare clone that the C library does not know of: it
 * shares the thread-local storage of the thread that made it, so that nothing here may touch any
 * (no libc, no errno; compiled without stack protector and sanitizers), and it never runs a signal
 * handler. Its first act is a descriptor table of its own: no number of the program is ever taken,
 * and what the program closes is not the visitor's. Then it drops every capability. It allocates
 * nothing but the mappings of ring and pages.
 *
 * While the agent is away the process keeps writing to its ring, and the next agent is offered the
 * same memfd, so that the seconds before survive.
 */
#include "visitor.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "sys_raw.h"
#include "writer_int.h"

#define MS              UINT64_C(1000000)
#define BACKOFF_FIRST   (20 * MS)
#define BACKOFF_MAX     (1000 * MS)
#define WELCOME_WAIT_MS 5000
/* How long an agent's end goes unnoticed at most. A look costs some microseconds, and the kernel
 * may put it off by LOOK_SLACK to share a wake-up. */
#define LOOK_EVERY (1000 * MS)
#define LOOK_SLACK (200 * MS)

struct visitor {
    struct visit *visit;
    int socket_fd, ring_fd; /* of this thread's own table; -1: none */
    uint32_t status;        /* to end with, where the process ends with this thread */
};

/* ---- what both sides call ---- */

void visitor_ring(struct visit *visit)
{
    __atomic_fetch_add(&visit->bell, 1, __ATOMIC_SEQ_CST);
    raw_futex_wake(&visit->bell);
}

void visitor_order(struct visit *visit, enum visit_order order)
{
    __atomic_store_n(&visit->order, (uint32_t)order, __ATOMIC_SEQ_CST);
    visitor_ring(visit);
}

static bool ordered_out(const struct visit *visit)
{
    return __atomic_load_n(&visit->order, __ATOMIC_SEQ_CST) != VISIT_STAY;
}

/* ---- descriptors ---- */

static void fd_close(int *fd)
{
    if (*fd >= 0)
        (void)RAW1(SYS_close, *fd);
    *fd = -1;
}

/* True: this thread's table is its own, and empty. */
static bool table_own(void)
{
#ifdef SYS_close_range
    return RAW3(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE) == 0;
#else
    return false;
#endif
}

/* The visitor must not keep what the program may drop later: its capabilities go at once, and it
 * can get no new ones. If there are none it does not ask: filters of services that need none often
 * end whoever asks. */
static void powers_drop(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct has[2];
    raw_zero(has, sizeof has);
    long known = RAW2(SYS_capget, RAW_POINTER(&head), RAW_POINTER(has));
    bool powerful = known < 0;
    for (int i = 0; i < 2; i++)
        powerful |= (has[i].effective | has[i].permitted | has[i].inheritable) != 0;
    raw_zero(has, sizeof has);
    if (powerful)
        (void)RAW2(SYS_capset, RAW_POINTER(&head), RAW_POINTER(has));
    (void)raw_call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0);
    (void)raw_call(SYS_prctl, PR_SET_NAME, RAW_POINTER("skein"), 0, 0, 0, 0);
}

/* Who waits for the visitor to attach or to leave has no time for the slack, which it has only while
 * it stays. 0: as the thread had it that made this one. */
static void slack_set(uint64_t ns)
{
    (void)raw_call(SYS_prctl, PR_SET_TIMERSLACK, RAW_ARG(ns), 0, 0, 0, 0);
}

/* ---- packets ---- */

/* SKEIN_OK, SKEIN_AGAIN (the agent is not keeping up), SKEIN_CLOSED. */
static int packet_send(const struct visitor *v, const void *packet, size_t bytes)
{
    long n = raw_call(SYS_sendto, v->socket_fd, RAW_POINTER(packet), RAW_ARG(bytes),
                      MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
    if (n >= 0)
        return SKEIN_OK;
    return n == -EAGAIN || n == -ENOBUFS ? SKEIN_AGAIN : SKEIN_CLOSED;
}

static struct visit_request *request_next(struct visit *visit)
{
    struct visit_request *next = NULL;
    for (int i = 0; i < VISIT_REQUESTS; i++) {
        struct visit_request *r = &visit->requests[i];
        if (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) == REQUEST_READY &&
            (next == NULL || (int32_t)(r->ticket - next->ticket) < 0))
            next = r;
    }
    return next;
}

/* Sends what waits; without an agent, says so to those who wait. */
static void requests_send(const struct visitor *v)
{
    struct visit_request *r;
    while ((r = request_next(v->visit)) != NULL) {
        uint32_t ready = REQUEST_READY;
        if (!__atomic_compare_exchange_n(&r->state, &ready, REQUEST_SENDING, false,
                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue; /* withdrawn */
        bool awaited = r->awaited;
        r->result = v->socket_fd >= 0 ? packet_send(v, &r->packet, r->bytes) : SKEIN_CLOSED;
        __atomic_store_n(&r->state, awaited ? REQUEST_DONE : REQUEST_FREE, __ATOMIC_RELEASE);
        if (awaited)
            raw_futex_wake(&r->state);
    }
}

/* ---- attaching ---- */

/* Not blocking: the queue of an agent that is stopped may be full, and then the program's end would
 * wait for it. */
static int agent_connect(const struct visit_settings *settings)
{
    struct sockaddr_un address;
    raw_zero(&address, sizeof address);
    address.sun_family = AF_UNIX;
    raw_copy(address.sun_path, settings->socket_path, sizeof address.sun_path - 1);
    int fd = (int)RAW3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && RAW3(SYS_connect, fd, RAW_POINTER(&address), sizeof address))
        fd_close(&fd);
    return fd;
}

static void packet_head_put(struct attach_head *head, enum attach_type type)
{
    head->magic = ATTACH_MAGIC;
    head->version = ATTACH_VERSION;
    head->type = (uint16_t)type;
}

union one_fd {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
};

/* Since when there is something to record; never 0. */
static uint32_t began_ms(void)
{
    uint64_t ns = session_missed_ns();
    if (!ns)
        ns = raw_clock_ns(CLOCK_MONOTONIC);
    uint32_t ms = (uint32_t)(ns / MS);
    return ms + (ms == 0);
}

static bool hello_send(const struct visitor *v)
{
    const struct visit_settings *settings = &v->visit->settings;
    struct attach_hello hello;
    raw_zero(&hello, sizeof hello);
    packet_head_put(&hello.head, ATTACH_HELLO);
    hello.ring_bytes = settings->ring_bytes;
    hello.mode = settings->mode;
    hello.has_ring = v->ring_fd >= 0;
    hello.comes_back = !hello.has_ring && skein_session_load(&skein_control_page->session) != NULL;
    hello.is_service = settings->is_service;
    hello.began_ms = began_ms();
    raw_copy(hello.service, settings->service, sizeof hello.service);
    raw_copy(hello.labels, settings->labels, sizeof hello.labels);
    struct iovec io = {&hello, sizeof hello};
    union one_fd control;
    struct msghdr message;
    raw_zero(&message, sizeof message);
    message.msg_iov = &io;
    message.msg_iovlen = 1;
    if (v->ring_fd >= 0) {
        raw_zero(&control, sizeof control);
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(sizeof(int));
        raw_copy(CMSG_DATA(&control.head), &v->ring_fd, sizeof(int));
    }
    return RAW3(SYS_sendmsg, v->socket_fd, RAW_POINTER(&message), MSG_NOSIGNAL | MSG_DONTWAIT) ==
           (long)sizeof hello;
}

/* Waits until the agent has answered; false: it did not in time, or the visitor was ordered out. An
 * agent that does well answers at once. Later only the order wakes: whoever gives it waits for us,
 * and may be the program's main thread. */
static bool answer_wait(const struct visitor *v)
{
    struct visit *visit = v->visit;
    struct pollfd wait = {.fd = v->socket_fd, .events = POLLIN};
    struct timespec time = {0, 2 * MS};
    for (unsigned waited = 2, ms = 1; waited < WELCOME_WAIT_MS; waited += ms) {
        uint32_t bell = __atomic_load_n(&visit->bell, __ATOMIC_SEQ_CST);
        if (ordered_out(visit))
            return false;
        if (raw_call(SYS_ppoll, RAW_POINTER(&wait), 1, RAW_POINTER(&time), 0, 0, 0) > 0)
            return true;
        time.tv_nsec = 0;
        (void)raw_futex_wait(&visit->bell, bell, ms * (uint64_t)MS, 0);
        ms = ms < 32 ? ms * 2 : ms;
    }
    return false;
}

struct answer {
    struct attach_welcome welcome;
    int fds[3]; /* ring, host page, process page */
};

/* Takes the descriptors of a packet; those beyond three are closed. Returns how many came. */
static size_t fds_take(struct msghdr *message, int fds[3])
{
    struct cmsghdr *c = CMSG_FIRSTHDR(message); /* the kernel sends one of a kind */
    if (c == NULL || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
        return 0;
    size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
        int fd;
        raw_copy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
        if (i < 3)
            fds[i] = fd;
        else
            fd_close(&fd);
    }
    return count;
}

/* Receives WELCOME with its three descriptors, which the caller then owns. */
static bool welcome_receive(const struct visitor *v, struct answer *answer)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } control;
    struct iovec io = {&answer->welcome, sizeof answer->welcome};
    struct msghdr message;
    raw_zero(&message, sizeof message);
    raw_zero(&control, sizeof control);
    raw_zero(&answer->welcome, sizeof answer->welcome);
    message.msg_iov = &io;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    for (int i = 0; i < 3; i++)
        answer->fds[i] = -1;
    if (!answer_wait(v))
        return false;
    long bytes =
        RAW3(SYS_recvmsg, v->socket_fd, RAW_POINTER(&message), MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (bytes < 0)
        return false;
    size_t count = fds_take(&message, answer->fds);
    const struct attach_welcome *w = &answer->welcome;
    if (bytes == (long)sizeof *w && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
        w->head.magic == ATTACH_MAGIC && w->head.version == ATTACH_VERSION &&
        w->head.type == ATTACH_WELCOME && w->status == SKEIN_OK && count == 3)
        return true;
    for (int i = 0; i < 3; i++)
        fd_close(&answer->fds[i]);
    return false;
}

/* Maps and publishes; keeps the ring's descriptor for the next agent. */
static bool visitor_adopt(struct visitor *v, struct answer *answer)
{
    int status =
        session_map(answer->fds[0], answer->fds[1], answer->fds[2], v->visit->settings.service);
    fd_close(&answer->fds[1]);
    fd_close(&answer->fds[2]);
    if (status < 0) {
        fd_close(&answer->fds[0]);
        return false;
    }
    fd_close(&v->ring_fd);
    v->ring_fd = answer->fds[0];
    return true;
}

/* Why its connection ends. */
static void farewell(const struct visitor *v)
{
    struct attach_bye packet;
    bool bye = __atomic_load_n(&v->visit->order, __ATOMIC_SEQ_CST) == VISIT_BYE;
    packet_head_put(&packet.head, bye ? ATTACH_BYE : ATTACH_LEAVE);
    if (v->socket_fd >= 0 && (bye || (skein_load32(&v->visit->takes) & ATTACH_TAKES_LEAVE)))
        (void)packet_send(v, &packet, sizeof packet);
}

/* One attempt. True: attached, and requests are taken. */
static bool attach_once(struct visitor *v)
{
    struct visit *visit = v->visit;
    struct answer answer;
    v->socket_fd = agent_connect(&visit->settings);
    if (v->socket_fd < 0)
        return false;
    bool said = hello_send(v);
    if (!said || !welcome_receive(v, &answer) || !visitor_adopt(v, &answer)) {
        if (said && ordered_out(visit)) /* to the agent it may be back */
            farewell(v);
        fd_close(&v->socket_fd);
        return false;
    }
    skein_store32(&visit->takes, answer.welcome.takes);
    __atomic_store_n(&visit->connected, 1, __ATOMIC_RELEASE);
    return true;
}

static bool attach_try(struct visitor *v)
{
    bool attached = attach_once(v);
    __atomic_fetch_add(&v->visit->tried, 1, __ATOMIC_RELEASE);
    raw_futex_wake(&v->visit->tried);
    return attached;
}

/* ---- staying ---- */

/* What the agent says is not used. */
static bool agent_is_gone(const struct visitor *v)
{
    char packet[64];
    long n = raw_call(SYS_recvfrom, v->socket_fd, RAW_POINTER(packet), sizeof packet, MSG_DONTWAIT,
                      0, 0);
    return n == 0 || (n < 0 && n != -EAGAIN && n != -EINTR);
}

/* A number of /proc/self/stat; 0: who knows. */
static unsigned stat_number(const char *text, int field)
{
    unsigned number = 0;
    const char *at = text;
    for (const char *c = text; *c; c++)
        at = *c == ')' ? c : at; /* of the name, which may hold anything; the second field */
    for (int i = 2; *at && i < field; at++)
        i += *at == ' ';
    for (; *at >= '0' && *at <= '9'; at++)
        number = number * 10 + (unsigned)(*at - '0');
    return number;
}

/* A program may end thread by thread, by the system call (exit() and the C library's last thread
 * end all at once): then the visitor, whom nobody can end but by SIGKILL, is all that is left, and
 * the process ends with the visitor's status. The kernel forgets a thread's robust list when it
 * ends; the first one has one by the C library. */
static bool left_alone(uint32_t *status)
{
    void *list = NULL;
    size_t bytes;
    char text[1024];
    if (RAW3(SYS_get_robust_list, raw_getpid(), RAW_POINTER(&list), RAW_POINTER(&bytes)) ||
        list != NULL)
        return false;
    int fd = (int)raw_call(SYS_openat, AT_FDCWD, RAW_POINTER("/proc/self/stat"),
                           O_RDONLY | O_CLOEXEC, 0, 0, 0);
    long n = fd >= 0 ? RAW3(SYS_read, fd, RAW_POINTER(text), sizeof text - 1) : 0;
    fd_close(&fd);
    text[n > 0 ? n : 0] = '\0';
    *status = stat_number(text, 52) >> 8 & 0xff;
    return stat_number(text, 20) == 2; /* the first one stays in the list until the last ends */
}

static bool is_to_leave(struct visitor *v)
{
    if (!ordered_out(v->visit) && left_alone(&v->status))
        visitor_order(v->visit, VISIT_BYE);
    return ordered_out(v->visit);
}

/* Returns when the agent is gone or the visitor is to leave. */
static void visitor_stay(struct visitor *v)
{
    struct visit *visit = v->visit;
    slack_set(LOOK_SLACK);
    for (;;) {
        uint32_t bell = __atomic_load_n(&visit->bell, __ATOMIC_SEQ_CST);
        if (is_to_leave(v))
            break;
        requests_send(v);
        if (agent_is_gone(v))
            break;
        (void)raw_futex_wait(&visit->bell, bell, LOOK_EVERY, 0);
    }
    slack_set(0);
}

/* Waits before the next attempt; those who ask meanwhile hear that there is no agent. */
static void visitor_pause_for(const struct visitor *v, uint64_t ns)
{
    uint32_t bell = __atomic_load_n(&v->visit->bell, __ATOMIC_SEQ_CST);
    requests_send(v);
    if (!ordered_out(v->visit))
        (void)raw_futex_wait(&v->visit->bell, bell, ns, 0);
}

/* The process is young: it may be over before it is worth a ring. */
static void age_await(struct visitor *v)
{
    struct visit *visit = v->visit;
    for (;;) {
        uint32_t bell = __atomic_load_n(&visit->bell, __ATOMIC_SEQ_CST);
        uint64_t come_ns = skein_load64(&visit->come_ns), now_ns;
        if (come_ns == 0 || is_to_leave(v))
            return;
        now_ns = raw_clock_ns(CLOCK_MONOTONIC_COARSE);
        if (now_ns >= come_ns)
            return;
        (void)raw_futex_wait(&visit->bell, bell, come_ns - now_ns, 0);
    }
}

uint32_t visitor_run(void *context)
{
    struct visitor v = {context, -1, -1, 0};
    if (!table_own()) {
        __atomic_store_n(&v.visit->impossible, 1, __ATOMIC_RELEASE);
        __atomic_fetch_add(&v.visit->tried, 1, __ATOMIC_RELEASE);
        raw_futex_wake(&v.visit->tried);
        return 0;
    }
    powers_drop();
    age_await(&v);
    uint64_t backoff = BACKOFF_FIRST;
    while (!is_to_leave(&v)) {
        if (v.socket_fd < 0 && !attach_try(&v)) {
            visitor_pause_for(&v, backoff);
            backoff = backoff * 2 < BACKOFF_MAX ? backoff * 2 : BACKOFF_MAX;
            continue;
        }
        backoff = BACKOFF_FIRST;
        visitor_stay(&v);
        __atomic_store_n(&v.visit->connected, 0, __ATOMIC_RELEASE);
        if (!ordered_out(v.visit))
            fd_close(&v.socket_fd);
    }
    requests_send(&v);
    farewell(&v);
    __atomic_store_n(&v.visit->connected, 0, __ATOMIC_RELEASE);
    return v.status;
}
