/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns what it keeps of a partition's evidence. Every text is hostile, and none is interpreted.
 */
#include "beside.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "buf.h"
#include "event_args.h"

struct descriptor {
    uint64_t fd;
    const char *text;
};

/* A socket that is connected, or one that listens. */
struct socket {
    const char *kind, *local, *peer;
    uint64_t unread, unsent;
};

struct beside {
    char **texts;
    size_t text_count, text_cap;
    struct descriptor *descriptors;
    size_t descriptor_count, descriptor_cap;
    bool descriptors_sorted, waits_sorted;
    struct beside_wait *waits;
    size_t wait_count, wait_cap;
    struct socket *sockets;
    size_t socket_count, socket_cap;
    struct beside_peer *peers; /* made of them when it is asked for */
    size_t peer_count, peer_cap;
    struct beside_cpu cpu;
    struct beside_user *users; /* as many as cpu.user_count */
    size_t user_cap;
    uint64_t top_ns; /* of the vitals' look that `users` are from; 0: they are from samples */
    int status;
};

int beside_new(struct beside **out)
{
    *out = calloc(1, sizeof **out);
    return *out != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
}

void beside_clear(struct beside *b)
{
    for (size_t i = 0; i < b->text_count; i++)
        free(b->texts[i]);
    b->text_count = b->descriptor_count = b->wait_count = b->socket_count = b->peer_count = 0;
    b->cpu = (struct beside_cpu){.window_ns = 0};
    b->top_ns = 0;
    b->status = SKEIN_OK;
}

void beside_free(struct beside **beside)
{
    struct beside *b = *beside;
    *beside = NULL;
    if (b == NULL)
        return;
    beside_clear(b);
    free(b->texts);
    free(b->descriptors);
    free(b->waits);
    free(b->sockets);
    free(b->peers);
    free(b->users);
    free(b);
}

/* ---- arguments ---- */

static void arg_append(struct buf *text, const struct trace_event *event, const char *name,
                       const char *before)
{
    const struct partition_value *value = arg_find(event, name, SKEIN_T_STR);
    if (value == NULL || value->str.len == 0)
        return;
    buf_put(text, before, strlen(before));
    buf_put(text, value->str.text, value->str.len);
}

/* Takes the buf; what is given lives until beside_clear. */
static const char *text_keep(struct beside *b, struct buf *text)
{
    char *kept = NULL;
    buf_put_u8(text, 0);
    if (text->status == SKEIN_OK && array_grow(b->texts, b->text_count + 1, &b->text_cap))
        kept = strdup((const char *)text->data);
    buf_fini(text);
    if (kept == NULL) {
        b->status = SKEIN_NO_MEMORY;
        return "";
    }
    b->texts[b->text_count++] = kept;
    return kept;
}

/* ---- descriptors ---- */

static const char *arg_keep(struct beside *b, const struct trace_event *event, const char *name)
{
    struct buf text = {0};
    arg_append(&text, event, name, "");
    return text_keep(b, &text);
}

/* Internet sockets alone: peers of others are numbers. */
static void socket_take(struct beside *b, const struct trace_event *event)
{
    const struct partition_value *kind = arg_find(event, "kind", SKEIN_T_STR);
    if (kind == NULL || kind->str.len < 4 ||
        (memcmp(kind->str.text, "tcp ", 4) != 0 && memcmp(kind->str.text, "udp ", 4) != 0))
        return;
    if (!array_grow(b->sockets, b->socket_count + 1, &b->socket_cap)) {
        b->status = SKEIN_NO_MEMORY;
        return;
    }
    b->sockets[b->socket_count++] = (struct socket){.kind = arg_keep(b, event, "kind"),
                                                    .local = arg_keep(b, event, "local"),
                                                    .peer = arg_keep(b, event, "peer"),
                                                    .unread = arg_number(event, "receive_queue"),
                                                    .unsent = arg_number(event, "send_queue")};
}

static void descriptor_take(struct beside *b, const struct trace_event *event)
{
    struct buf text = {0};
    if (arg_find(event, "fd", SKEIN_T_U64) == NULL)
        return;
    if (!array_grow(b->descriptors, b->descriptor_count + 1, &b->descriptor_cap)) {
        b->status = SKEIN_NO_MEMORY;
        return;
    }
    arg_append(&text, event, "kind", "");
    arg_append(&text, event, "path", " ");
    arg_append(&text, event, "local", " ");
    arg_append(&text, event, "peer", " to ");
    struct descriptor *descriptor = &b->descriptors[b->descriptor_count++];
    *descriptor = (struct descriptor){arg_number(event, "fd"), text_keep(b, &text)};
    b->descriptors_sorted = false;
    socket_take(b, event);
}

static int descriptors_compare(const void *a, const void *b)
{
    const struct descriptor *x = a, *y = b;
    return x->fd < y->fd ? -1 : x->fd > y->fd;
}

const char *beside_descriptor(struct beside *b, uint64_t fd)
{
    size_t at;
    if (!b->descriptors_sorted && b->descriptor_count > 0)
        qsort(b->descriptors, b->descriptor_count, sizeof *b->descriptors, descriptors_compare);
    b->descriptors_sorted = true;
    array_find(at, 0, b->descriptor_count, b->descriptors[at].fd < fd);
    return at < b->descriptor_count && b->descriptors[at].fd == fd ? b->descriptors[at].text : NULL;
}

bool beside_call_descriptor(const char *call, uint64_t *fd)
{
    static const char *const calls[] = {
        "read",       "write",     "readv",      "writev",  "pread64",         "pwrite64",
        "fsync",      "fdatasync", "ioctl",      "flock",   "sync_file_range", "ftruncate",
        "fcntl",      "fallocate", "accept",     "accept4", "connect",         "recvfrom",
        "recvmsg",    "recvmmsg",  "sendto",     "sendmsg", "sendmmsg",        "splice",
        "epoll_wait", "sendfile",  "epoll_pwait"};
    size_t n = strcspn(call, "(");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strlen(calls[i]) == n && strncmp(call, calls[i], n) == 0 && call[n] == '(') {
            *fd = strtoull(call + n + 1, NULL, 16);
            return true;
        }
    return false;
}

/* ---- connections ---- */

static const char *port_of(const char *address)
{
    const char *colon = strrchr(address, ':');
    return colon != NULL ? colon : address;
}

/* What listens on the port of a connection's own end; NULL: nothing, so it was made from here. */
static const struct socket *listener_of(const struct beside *b, const struct socket *connection)
{
    for (size_t i = 0; i < b->socket_count; i++) {
        const struct socket *socket = &b->sockets[i];
        if (strcmp(socket->kind, "tcp listen") == 0 && connection->local[0] != '\0' &&
            strcmp(port_of(socket->local), port_of(connection->local)) == 0)
            return socket;
    }
    return NULL;
}

static int peer_add(struct beside *b, const struct socket *socket)
{
    const struct socket *listener = listener_of(b, socket);
    const char *address = listener != NULL ? listener->local : socket->peer;
    size_t i = 0;
    while (i < b->peer_count &&
           (strcmp(b->peers[i].kind, socket->kind) != 0 ||
            strcmp(b->peers[i].address, address) != 0 || b->peers[i].clients != (listener != NULL)))
        i++;
    if (i == b->peer_count) {
        if (!array_grow(b->peers, b->peer_count + 1, &b->peer_cap))
            return SKEIN_NO_MEMORY;
        b->peers[b->peer_count++] = (struct beside_peer){
            .kind = socket->kind, .address = address, .clients = listener != NULL};
    }
    b->peers[i].count++;
    b->peers[i].unread += socket->unread;
    b->peers[i].unsent += socket->unsent;
    return SKEIN_OK;
}

static int peers_compare(const void *a, const void *b)
{
    const struct beside_peer *x = a, *y = b;
    if (x->clients != y->clients)
        return x->clients ? 1 : -1;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    int order = strcmp(x->address, y->address);
    return order != 0 ? order : strcmp(x->kind, y->kind);
}

int beside_peers(struct beside *b, const struct beside_peer **peers, size_t *count)
{
    b->peer_count = 0;
    for (size_t i = 0; i < b->socket_count && b->status == SKEIN_OK; i++)
        if (b->sockets[i].peer[0] != '\0')
            b->status = peer_add(b, &b->sockets[i]);
    if (b->peer_count > 0)
        qsort(b->peers, b->peer_count, sizeof *b->peers, peers_compare);
    *peers = b->peers;
    *count = b->peer_count;
    return b->status;
}

/* ---- waits for a CPU ---- */

static void wait_take(struct beside *b, const struct trace_event *event)
{
    struct buf name = {0};
    if (event->thread == NULL || event->dur_ns < BESIDE_WAIT_MIN_NS)
        return;
    if (!array_grow(b->waits, b->wait_count + 1, &b->wait_cap)) {
        b->status = SKEIN_NO_MEMORY;
        return;
    }
    const struct partition_value *cut = arg_find(event, "cut", SKEIN_T_STR);
    arg_append(&name, event, "instead", "");
    b->waits_sorted = false;
    b->waits[b->wait_count++] =
        (struct beside_wait){.tid = event->thread->tid,
                             .time_ns = event->time_ns,
                             .dur_ns = event->dur_ns,
                             .cpu = arg_number(event, "cpu"),
                             .cut = cut != NULL && cut->str.len > 0,
                             .instead_tid = (uint32_t)arg_number(event, "instead_tid"),
                             .instead = text_keep(b, &name),
                             .instead_ns = arg_number(event, "instead_ns")};
}

const struct beside_wait *beside_wait_at(const struct beside *b, uint32_t tid, uint64_t at_ns)
{
    for (size_t i = 0; i < b->wait_count; i++) {
        const struct beside_wait *wait = &b->waits[i];
        if (wait->tid == tid && wait->time_ns <= at_ns && at_ns - wait->time_ns <= wait->dur_ns)
            return wait;
    }
    return NULL;
}

static int waits_compare(const void *a, const void *b)
{
    const struct beside_wait *x = a, *y = b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Those of a thread follow each other: of others that a hostile trace tells, some do not count. */
uint64_t beside_waits_in(struct beside *b, uint32_t tid, uint64_t from_ns, uint64_t to_ns,
                         const struct beside_wait **longest)
{
    uint64_t all = 0, most = 0;
    size_t at;
    if (!b->waits_sorted && b->wait_count > 0)
        qsort(b->waits, b->wait_count, sizeof *b->waits, waits_compare);
    b->waits_sorted = true;
    array_find(at, 0, b->wait_count,
               b->waits[at].tid < tid ||
                   (b->waits[at].tid == tid && b->waits[at].time_ns < from_ns));
    for (at -= at > 0; at < b->wait_count; at++) {
        const struct beside_wait *wait = &b->waits[at];
        uint64_t until =
            wait->dur_ns > UINT64_MAX - wait->time_ns ? UINT64_MAX : wait->time_ns + wait->dur_ns;
        uint64_t begin = wait->time_ns > from_ns ? wait->time_ns : from_ns;
        uint64_t end = until < to_ns ? until : to_ns;
        if (wait->tid > tid || (wait->tid == tid && wait->time_ns >= to_ns))
            break;
        if (wait->tid != tid || end <= begin)
            continue;
        all += end - begin;
        if (end - begin <= most)
            continue;
        most = end - begin;
        *longest = wait;
    }
    return all < to_ns - from_ns ? all : to_ns - from_ns;
}

/* ---- who used the CPUs ---- */

/* Most first; what several used together comes last. */
static bool user_is_before(const struct beside_user *a, const struct beside_user *b)
{
    return (a->pid == 0) != (b->pid == 0) ? b->pid == 0 : a->cpu_ns > b->cpu_ns;
}

static void user_add(struct beside *b, const struct trace_event *event, uint64_t cpu_ns)
{
    struct buf name = {0};
    size_t at = b->cpu.user_count;
    if (!array_grow(b->users, at + 1, &b->user_cap)) {
        b->status = SKEIN_NO_MEMORY;
        return;
    }
    arg_append(&name, event, "name", "");
    struct beside_user user = {text_keep(b, &name), arg_number(event, "pid"), cpu_ns};
    for (; at > 0 && user_is_before(&user, &b->users[at - 1]); at--)
        b->users[at] = b->users[at - 1];
    b->users[at] = user;
    b->cpu.user_count++;
}

/* Samples know of the whole window, so vitals give way to them. */
static void sampled_begin(struct beside *b)
{
    if (!b->cpu.sampled)
        b->cpu = (struct beside_cpu){.sampled = true};
    b->top_ns = 0;
}

static void window_take(struct beside *b, const struct trace_event *event)
{
    uint64_t busy = arg_number(event, "busy"), room = arg_number(event, "room");
    sampled_begin(b);
    b->cpu.cpus = arg_number(event, "cpus");
    b->cpu.process_ns = arg_number(event, "process");
    b->cpu.window_ns = b->cpu.cpus > 0 ? room / b->cpu.cpus : 0;
    b->cpu.idle_ns = room > busy ? room - busy : 0;
}

/* A look of the vitals is ten rows of one time; the last look counts. */
static void top_take(struct beside *b, const struct trace_event *event)
{
    const struct partition_value *percent = arg_find(event, "cpu", SKEIN_T_F64);
    if (b->cpu.sampled || percent == NULL || event->time_ns < b->top_ns)
        return;
    if (event->time_ns > b->top_ns)
        b->cpu = (struct beside_cpu){.window_ns = arg_number(event, "over")};
    b->top_ns = event->time_ns;
    double ns = percent->f64 / 100 * (double)b->cpu.window_ns;
    user_add(b, event, ns > 0 && ns < 1e18 ? (uint64_t)ns : 0);
}

int beside_add(struct beside *b, const struct trace_event *event)
{
    const char *name = event->type != NULL ? event->type->name : "";
    if (strcmp(name, "fd") == 0) {
        descriptor_take(b, event);
    } else if (strcmp(name, "sched.runnable") == 0) {
        wait_take(b, event);
    } else if (strcmp(name, "cpu.window") == 0) {
        window_take(b, event);
    } else if (strcmp(name, "cpu.others") == 0) {
        sampled_begin(b);
        user_add(b, event, arg_number(event, "weight"));
    } else if (strcmp(name, "host.top.cpu") == 0) {
        top_take(b, event);
    }
    return b->status;
}

struct beside_cpu beside_cpu(const struct beside *b)
{
    struct beside_cpu cpu = b->cpu;
    cpu.users = b->users;
    return cpu;
}
