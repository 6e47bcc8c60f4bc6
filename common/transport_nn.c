/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns all use of nanomsg: raw REQ dials, raw REP listens, both over tcp only. Any thread may send,
 * receive and redial on one transport at the same time; transport_free comes after all of them.
 * nanomsg runs one worker thread a process, from the first transport to the last; it does not
 * survive fork, so open transports after it. The first transport of a process must be opened while
 * descriptors are plenty: nanomsg aborts when it cannot make its own.
 *
 * Never uses nanomsg's time-outs: they are options of the socket, so that two threads with
 * different ones would disturb each other. It polls the socket's descriptors and never blocks
 * inside nanomsg.
 *
 *   what nanomsg calls         here
 *   SP_HDR of a request        the return path, struct transport_peer: pipe id (4), then the
 *                              peer's own request id (4), more where a device forwarded it
 *   SP_HDR that we send        the request id, bit 31 set: the end of the path for raw REP
 */
#include "transport.h"

#include <errno.h>
#include <nanomsg/nn.h>
#include <nanomsg/reqrep.h>
#include <nanomsg/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "clock.h"

enum {
    REQUEST_HEADER_BYTES = 4, /* counted by NN_RCVMAXSIZE, not by our callers */
    ADDRESS_MAX = 256,
    REDIAL_MIN_MS = 100, /* first wait before dialling again, and how much chance adds to it */
    REDIAL_SPREAD_MS = 200,
    REDIAL_CEILING_MS = 4000,
    REDIAL_CEILING_SPREAD_MS = 4000,
    KERNEL_BUFFER_MIN = 128 << 10
};

#define CONTROL_BYTES NN_CMSG_SPACE(sizeof(size_t) + TRANSPORT_PEER_MAX)

#define PIPE_BYTES 4 /* of a return path: which connection */

struct transport {
    int socket;
    int receive_fd, send_fd; /* nanomsg's own, level-triggered */
    bool dials;
    _Atomic uint32_t next_request;
    char address[ADDRESS_MAX];
    pthread_mutex_t redial_lock; /* guards endpoint */
    int endpoint;
};

static _Atomic uint64_t refused; /* of the process */
static _Atomic uint64_t enough;  /* connections << 16 | port; relaxed: it leads to nothing */

/* A control buffer with the alignment that nanomsg casts it to. */
union control {
    struct nn_cmsghdr header;
    size_t align;
    uint8_t bytes[CONTROL_BYTES];
};

/* nanomsg's error numbers in words of ours. */
static int status_of(int error)
{
    switch (error) {
    case EAGAIN:
    case ETIMEDOUT:
    case EINTR:
    case EFSM:
        return SKEIN_AGAIN;
    case EBADF:
    case ETERM:
        return SKEIN_CLOSED;
    case EADDRINUSE:
        return SKEIN_BUSY;
    case EINVAL:
    case ENODEV:
    case ENAMETOOLONG:
    case EPROTONOSUPPORT:
        return SKEIN_INVALID;
    case ENOMEM:
        return SKEIN_NO_MEMORY;
    default:
        return SKEIN_IO;
    }
}

static unsigned random_below(unsigned limit)
{
    uint32_t v;
    if (getrandom(&v, sizeof v, GRND_NONBLOCK) != (ssize_t)sizeof v)
        v = (uint32_t)(clock_monotonic_ns() / 1000);
    return v % limit;
}

static int option_set(int socket, int level, int option, int value)
{
    return nn_setsockopt(socket, level, option, &value, sizeof value) < 0 ? status_of(nn_errno())
                                                                          : SKEIN_OK;
}

static int fd_get(int socket, int option, int *fd)
{
    size_t n = sizeof *fd;
    return nn_getsockopt(socket, NN_SOL_SOCKET, option, fd, &n) < 0 ? status_of(nn_errno())
                                                                    : SKEIN_OK;
}

static int socket_configure(struct transport *t, size_t max_message_bytes)
{
    int max = (int)max_message_bytes + REQUEST_HEADER_BYTES;
    /* nanomsg fixes the kernel's buffers, which ends autotuning: give them a whole message. */
    int kernel = max > KERNEL_BUFFER_MIN ? max : KERNEL_BUFFER_MIN;
    /* nanomsg has no jitter of its own: a fleet would come back in step. */
    int first = REDIAL_MIN_MS + (int)random_below(REDIAL_SPREAD_MS);
    int ceiling = REDIAL_CEILING_MS + (int)random_below(REDIAL_CEILING_SPREAD_MS);
    int ipv4_only = strchr(t->address, '[') != NULL ? 0 : 1;
    /* Without NODELAY the second of two small messages waits for the peer's delayed
     * acknowledgement of the first: 40 ms. */
    const struct {
        int level, option, value;
    } options[] = {{NN_SOL_SOCKET, NN_RCVMAXSIZE, max},
                   {NN_SOL_SOCKET, NN_SNDBUF, kernel},
                   {NN_SOL_SOCKET, NN_RCVBUF, kernel},
                   {NN_SOL_SOCKET, NN_RECONNECT_IVL, first},
                   {NN_SOL_SOCKET, NN_RECONNECT_IVL_MAX, ceiling},
                   {NN_SOL_SOCKET, NN_IPV4ONLY, ipv4_only},
                   {NN_TCP, NN_TCP_NODELAY, 1}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        int status = option_set(t->socket, options[i].level, options[i].option, options[i].value);
        if (status != SKEIN_OK)
            return status;
    }
    int status = fd_get(t->socket, NN_RCVFD, &t->receive_fd);
    return status == SKEIN_OK ? fd_get(t->socket, NN_SNDFD, &t->send_fd) : status;
}

static int socket_attach(struct transport *t)
{
    int endpoint = t->dials ? nn_connect(t->socket, t->address) : nn_bind(t->socket, t->address);
    if (endpoint < 0)
        return status_of(nn_errno());
    t->endpoint = endpoint;
    return SKEIN_OK;
}

/* tcp alone: ipc and inproc let a local stranger abort the process, ws has no bounds. */
static bool address_is_tcp(const char *address)
{
    return strncmp(address, "tcp://", 6) == 0 && strlen(address) < ADDRESS_MAX &&
           strrchr(address + 6, ':') != NULL;
}

static int transport_open(const char *address, size_t max_message_bytes, bool dials,
                          struct transport **out)
{
    *out = NULL;
    if (!address_is_tcp(address) || max_message_bytes == 0 ||
        max_message_bytes > INT32_MAX - REQUEST_HEADER_BYTES)
        return SKEIN_INVALID;
    struct transport *t = calloc(1, sizeof *t);
    if (t == NULL)
        return SKEIN_NO_MEMORY;
    t->socket = t->endpoint = -1;
    t->dials = dials;
    atomic_init(&t->next_request, random_below(1u << 30));
    strcpy(t->address, address); /* its length was checked above */
    pthread_mutex_init(&t->redial_lock, NULL);
    t->socket = nn_socket(AF_SP_RAW, dials ? NN_REQ : NN_REP);
    int status = t->socket < 0 ? status_of(nn_errno()) : socket_configure(t, max_message_bytes);
    if (status == SKEIN_OK)
        status = socket_attach(t);
    if (status != SKEIN_OK)
        transport_free(&t);
    *out = t;
    return status;
}

/* "127.0.0.1:…": three more numbers and a port. 127.evil.example is a name like any other. */
static bool is_127(const char *host)
{
    if (strncmp(host, "127.", 4) != 0)
        return false;
    host += 4;
    for (int i = 0; i < 3; i++) {
        size_t digits = strspn(host, "0123456789");
        if (digits < 1 || digits > 3 || host[digits] != (i < 2 ? '.' : ':'))
            return false;
        host += digits + 1;
    }
    return true;
}

bool transport_is_loopback(const char *address)
{
    if (strncmp(address, "tcp://", 6) != 0)
        return false;
    const char *host = address + 6;
    if (strncmp(host, "localhost:", 10) == 0 || strncmp(host, "[::1]:", 6) == 0 ||
        strncmp(host, "::1:", 4) == 0)
        return true;
    return is_127(host);
}

int transport_listen(const char *address, size_t max_message_bytes, struct transport **out)
{
    return transport_open(address, max_message_bytes, false, out);
}

int transport_dial(const char *address, size_t max_message_bytes, struct transport **out)
{
    return transport_open(address, max_message_bytes, true, out);
}

void transport_free(struct transport **transport)
{
    struct transport *t = *transport;
    if (t == NULL)
        return;
    /* nn_close may be interrupted by a signal; it then must be called again. */
    while (t->socket >= 0 && nn_close(t->socket) < 0 && nn_errno() == EINTR)
        continue;
    pthread_mutex_destroy(&t->redial_lock);
    free(t);
    *transport = NULL;
}

int transport_poll_fd(struct transport *transport)
{
    return transport->receive_fd;
}

int transport_send_fd(struct transport *transport)
{
    return transport->send_fd;
}

bool transport_can_send(struct transport *transport)
{
    struct pollfd p = {.fd = transport->send_fd, .events = POLLIN}; /* readable: "may send" */
    return poll(&p, 1, 0) > 0;
}

int transport_redial(struct transport *transport)
{
    if (!transport->dials)
        return SKEIN_INVALID;
    pthread_mutex_lock(&transport->redial_lock);
    /* An endpoint that an earlier redial lost is not shut down twice. */
    if (transport->endpoint >= 0)
        nn_shutdown(transport->socket, transport->endpoint);
    transport->endpoint = -1;
    int status = socket_attach(transport);
    pthread_mutex_unlock(&transport->redial_lock);
    return status;
}

/* Waits on nanomsg's descriptor until the deadline; false when it has passed. A signal is a wakeup
 * like any other: the caller tries again. timeout_ms < 0 waits for ever. */
static bool socket_wait_for(int fd, int timeout_ms, uint64_t start_ns)
{
    int left = timeout_ms;
    if (timeout_ms > 0) {
        uint64_t gone = (clock_monotonic_ns() - start_ns) / 1000000;
        left = gone < (uint64_t)timeout_ms ? timeout_ms - (int)gone : 0;
    }
    if (left == 0)
        return false;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    poll(&p, 1, left);
    return true;
}

/* Copies the return path out of the control data; false where there is none that we can keep. */
static bool peer_take(union control *control, struct transport_peer *peer)
{
    size_t n;
    if (control->header.cmsg_level != PROTO_SP || control->header.cmsg_type != SP_HDR)
        return false;
    const uint8_t *at = control->bytes + sizeof(struct nn_cmsghdr);
    memcpy(&n, at, sizeof n);
    if (n < REQUEST_HEADER_BYTES || n > TRANSPORT_PEER_MAX)
        return false;
    memcpy(peer->bytes, at + sizeof n, n);
    peer->len = n;
    return true;
}

/* One message without waiting. A message whose return path cannot be kept is skipped. */
int transport_peer_compare(const struct transport_peer *a, const struct transport_peer *b)
{
    return memcmp(a->bytes, b->bytes, PIPE_BYTES);
}

static int message_receive(struct transport *t, struct transport_message *out)
{
    for (;;) {
        union control control;
        memset(&control, 0, sizeof control);
        void *body = NULL;
        struct nn_iovec part = {.iov_base = &body, .iov_len = NN_MSG};
        struct nn_msghdr message = {.msg_iov = &part,
                                    .msg_iovlen = 1,
                                    .msg_control = &control,
                                    .msg_controllen = sizeof control};
        int n = nn_recvmsg(t->socket, &message, NN_DONTWAIT);
        if (n < 0)
            return status_of(nn_errno());
        struct transport_message got = {.data = body, .len = (size_t)n};
        if (t->dials || peer_take(&control, &got.peer)) {
            *out = got;
            return SKEIN_OK;
        }
        nn_freemsg(body);
    }
}

int transport_receive(struct transport *transport, int timeout_ms, struct transport_message *out)
{
    uint64_t start = clock_monotonic_ns();
    for (;;) {
        int status = message_receive(transport, out);
        if (status != SKEIN_AGAIN || !socket_wait_for(transport->receive_fd, timeout_ms, start))
            return status;
    }
}

void transport_message_free(struct transport_message *message)
{
    if (message->data != NULL)
        nn_freemsg(message->data);
    memset(message, 0, sizeof *message);
}

void *transport_alloc(size_t len)
{
    return nn_allocmsg(len, 0);
}

void transport_alloc_free(void *message)
{
    if (message != NULL)
        nn_freemsg(message);
}

/* A request of our own: its id, network order, with the bit that ends the path. */
static void request_make(struct transport *t, struct transport_peer *path)
{
    uint32_t id = atomic_fetch_add_explicit(&t->next_request, 1, memory_order_relaxed);
    path->bytes[0] = (uint8_t)(id >> 24 | 0x80);
    path->bytes[1] = (uint8_t)(id >> 16);
    path->bytes[2] = (uint8_t)(id >> 8);
    path->bytes[3] = (uint8_t)id;
    path->len = REQUEST_HEADER_BYTES;
}

/* nanomsg takes the body on success only; the control is ours on the stack, because nanomsg frees
 * one of its own also when it fails. */
static int message_send(struct transport *t, void *body, const struct transport_peer *path)
{
    union control control;
    memset(&control, 0, sizeof control);
    control.header.cmsg_len = NN_CMSG_LEN(sizeof(size_t) + path->len);
    control.header.cmsg_level = PROTO_SP;
    control.header.cmsg_type = SP_HDR;
    uint8_t *at = control.bytes + sizeof(struct nn_cmsghdr);
    memcpy(at, &path->len, sizeof path->len);
    memcpy(at + sizeof path->len, path->bytes, path->len);
    struct nn_iovec part = {.iov_base = &body, .iov_len = NN_MSG};
    struct nn_msghdr message = {.msg_iov = &part,
                                .msg_iovlen = 1,
                                .msg_control = &control,
                                .msg_controllen = NN_CMSG_SPACE(sizeof(size_t) + path->len)};
    return nn_sendmsg(t->socket, &message, NN_DONTWAIT) < 0 ? status_of(nn_errno()) : SKEIN_OK;
}

int transport_send(struct transport *transport, void *message, const struct transport_peer *peer,
                   int timeout_ms)
{
    struct transport_peer path;
    if (message == NULL || transport->dials != (peer == NULL))
        return SKEIN_INVALID;
    if (transport->dials)
        request_make(transport, &path);
    else
        path = *peer;
    if (path.len < REQUEST_HEADER_BYTES || path.len > TRANSPORT_PEER_MAX)
        return SKEIN_INVALID;
    uint64_t start = clock_monotonic_ns();
    for (;;) {
        int status = message_send(transport, message, &path);
        if (status != SKEIN_AGAIN || !socket_wait_for(transport->send_fd, timeout_ms, start))
            return status;
    }
}

void transport_enough(const char *address, uint64_t connections)
{
    const char *colon = strrchr(address, ':');
    uint64_t port = colon != NULL ? strtoul(colon + 1, NULL, 10) & UINT16_MAX : 0;
    atomic_store_explicit(&enough, connections << 16 | port, memory_order_relaxed);
}

uint64_t transport_enough_at(uint16_t port)
{
    uint64_t is = atomic_load_explicit(&enough, memory_order_relaxed);
    return (is & UINT16_MAX) == port ? is >> 16 : 0;
}

uint64_t transport_refused(void)
{
    return atomic_load_explicit(&refused, memory_order_relaxed);
}

void transport_note_refused(void)
{
    atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed);
}
