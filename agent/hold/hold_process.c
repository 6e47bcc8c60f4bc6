/* SPDX-License-Identifier: Apache-2.0
 *
 * The holder, and the packets. It waits for packets, agents and ends of processes, one after the
 * other, and while it is alone it looks after processes; see hold_int.h. No heap, no log, no libc
 * state: it was forked.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "descriptor.h"
#include "hold_int.h"

/* ---- packets ---- */

union hold_control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(HOLD_FDS * sizeof(int))];
};

ssize_t hold_send(int socket, const struct hold_packet *packet, const int fds[HOLD_FDS], int flags)
{
    union hold_control control;
    struct hold_packet out = *packet;
    struct iovec part = {&out, offsetof(struct hold_packet, note) + packet->note_bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    int list[HOLD_FDS];
    out.magic = HOLD_MAGIC;
    out.version = HOLD_VERSION;
    out.fds = 0;
    for (int i = 0; fds != NULL && i < HOLD_FDS && fds[i] >= 0; i++)
        list[out.fds++] = fds[i];
    if (out.fds > 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(out.fds * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(out.fds * sizeof(int));
        memcpy(CMSG_DATA(c), list, out.fds * sizeof(int));
    }
    ssize_t n;
    do {
        n = sendmsg(socket, &message, flags | MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n;
}

static bool packet_valid(const struct hold_packet *packet, ssize_t n, size_t fds)
{
    const size_t head = offsetof(struct hold_packet, note);
    return n >= (ssize_t)head && packet->magic == HOLD_MAGIC && packet->version == HOLD_VERSION &&
           packet->note_bytes <= HOLD_NOTE_MAX && (size_t)n == head + packet->note_bytes &&
           packet->fds == fds;
}

ssize_t hold_receive(int socket, struct hold_packet *packet, int fds[HOLD_FDS], int flags)
{
    union hold_control control;
    struct iovec part = {packet, sizeof *packet};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t n;
    for (int i = 0; i < HOLD_FDS; i++)
        fds[i] = -1;
    do {
        n = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n;
    size_t count = message_fds_take(&message, fds, HOLD_FDS);
    if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 && packet_valid(packet, n, count))
        return n;
    for (int i = 0; i < HOLD_FDS; i++)
        fd_close(&fds[i]);
    errno = EPROTO;
    return -1;
}

/* ---- the holder ---- */

#define LOOK_NS UINT64_C(10000000) /* from one look after processes to the next */
/* It needs hardly any time, but at once: what it sees late is dated late. Where it may not, it goes as
 * the agent. */
#define HOLDER_NICE (-10)

struct held {
    bool used;
    int fds[HOLD_FDS];
    uint64_t ends_ns; /* when it was seen to run nothing any more; 0: it was not */
    struct hold_packet packet;
};

struct holder {
    int poll, listener, agent; /* agent -1: none is here */
    int fds_end;               /* descriptors of items are below: agents that come need some, too */
    bool taken;                /* this agent has all: it sees by itself what processes do */
    ring_hold_look_fn *look;
    struct held *items; /* HOLD_MAX; pages are touched as they are used */
    size_t high;        /* those behind were never used */
    uint64_t alone_ns;  /* since when no agent is here */
    uint64_t look_ns;   /* when to look after processes again */
};

enum { WAKE_LISTENER = HOLD_MAX, WAKE_AGENT };

#define FDS_SPARE 8 /* for an agent that comes, and a packet that is just received */

static uint64_t holder_now_ns(void)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool wake_add(const struct holder *holder, int fd, uint64_t what)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = what};
    return epoll_ctl(holder->poll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void wake_remove(const struct holder *holder, int fd)
{
    if (fd >= 0)
        (void)epoll_ctl(holder->poll, EPOLL_CTL_DEL, fd, NULL);
}

/* The process of this item has ended: just now, as the holder does nothing else for long, or when it had
 * no memory any more. */
static void item_died(struct holder *holder, struct held *item)
{
    wake_remove(holder, item->fds[1]);
    if (item->packet.died_ns == 0)
        item->packet.died_ns = item->ends_ns != 0 ? item->ends_ns : holder_now_ns();
}

static struct held *item_find(struct holder *holder, const struct hold_key *key)
{
    for (size_t i = 0; i < holder->high; i++)
        if (holder->items[i].used && memcmp(&holder->items[i].packet.key, key, sizeof *key) == 0)
            return &holder->items[i];
    return NULL;
}

static struct held *item_free(struct holder *holder)
{
    size_t i = 0;
    while (i < holder->high && holder->items[i].used)
        i++;
    if (i == HOLD_MAX)
        return NULL;
    holder->high = i < holder->high ? holder->high : i + 1;
    return &holder->items[i];
}

static void item_drop(struct holder *holder, struct held *item)
{
    wake_remove(holder, item->fds[1]);
    for (int i = 0; i < HOLD_FDS; i++)
        fd_close(&item->fds[i]);
    item->used = false;
}

/* Those of the item stay: they are of the same ring and process as the new ones. */
static void fds_keep(const struct holder *holder, struct held *item, int fds[HOLD_FDS])
{
    wake_remove(holder, item->fds[1]);
    for (int i = 0; i < HOLD_FDS; i++) {
        const int came = fds[i];
        if (came < 0 || item->fds[i] < 0)
            continue;
        fds[i] = item->fds[i];
        item->fds[i] = came;
    }
}

static bool has_room(const struct holder *holder, const int fds[HOLD_FDS])
{
    for (int i = 0; i < HOLD_FDS; i++)
        if (fds[i] >= holder->fds_end)
            return false;
    return true;
}

/* Takes the descriptors. One that there is no room for is not kept, and the agent does without it. */
static void item_put(struct holder *holder, const struct hold_packet *packet, int fds[HOLD_FDS])
{
    struct held *item = item_find(holder, &packet->key);
    uint64_t died_ns = item != NULL ? item->packet.died_ns : 0;
    if (item != NULL) {
        fds_keep(holder, item, fds);
        item_drop(holder, item);
    }
    item = item_free(holder);
    if (item == NULL || fds[0] < 0 || !has_room(holder, fds)) {
        for (int i = 0; i < HOLD_FDS; i++)
            fd_close(&fds[i]);
        return;
    }
    *item = (struct held){.used = true, .packet = *packet};
    if (item->packet.died_ns == 0)
        item->packet.died_ns = died_ns;
    memcpy(item->fds, fds, sizeof item->fds);
    if (item->fds[1] >= 0 && item->packet.died_ns == 0)
        (void)wake_add(holder, item->fds[1], (uint64_t)(item - holder->items));
}

static void agent_leave(struct holder *holder)
{
    wake_remove(holder, holder->agent);
    fd_close(&holder->agent);
    holder->taken = false;
    holder->alone_ns = holder_now_ns(); /* it may have been quiet for long before */
    holder->look_ns = 0;
}

static void items_give(struct holder *holder)
{
    struct hold_packet end = {.kind = HOLD_END};
    for (size_t i = 0; i < holder->high; i++) {
        struct held *item = &holder->items[i];
        if (!item->used)
            continue;
        item->packet.kind = HOLD_ITEM;
        if (hold_send(holder->agent, &item->packet, item->fds, 0) < 0)
            break;
    }
    holder->taken = true;
    (void)hold_send(holder->agent, &end, NULL, 0);
}

/* Takes one packet; false: no more is there. */
static bool agent_hear(struct holder *holder)
{
    struct hold_packet packet;
    int fds[HOLD_FDS];
    ssize_t n = hold_receive(holder->agent, &packet, fds, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return false;
    if (n <= 0) {
        agent_leave(holder);
        return false;
    }
    struct held *item = packet.kind == HOLD_DROP ? item_find(holder, &packet.key) : NULL;
    if (packet.kind == HOLD_PUT)
        item_put(holder, &packet, fds);
    else if (item != NULL)
        item_drop(holder, item);
    else if (packet.kind == HOLD_TAKE)
        items_give(holder);
    for (int i = 0; packet.kind != HOLD_PUT && i < HOLD_FDS; i++)
        fd_close(&fds[i]);
    return true;
}

/* A socket has one agent at a time: who comes takes the place of one that is gone. */
static void agent_come(struct holder *holder)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    int agent = accept4(holder->listener, NULL, NULL, SOCK_CLOEXEC);
    if (agent < 0)
        return;
    if (getsockopt(agent, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 || peer.uid != geteuid()) {
        close(agent);
        return;
    }
    while (holder->agent >= 0 && agent_hear(holder)) /* its last words */
        continue;
    agent_leave(holder);
    holder->agent = agent;
    if (!wake_add(holder, agent, WAKE_AGENT))
        agent_leave(holder);
}

/* Looks whether processes still run what had their rings. A time is taken before each look: it holds
 * for what was until then. Takes a tenth of a CPU at most. */
static void holder_look(struct holder *holder)
{
    const uint64_t begin_ns = holder_now_ns();
    uint64_t now_ns = begin_ns;
    if (holder->taken || begin_ns < holder->look_ns)
        return;
    for (size_t i = 0; i < holder->high; i++) {
        struct held *item = &holder->items[i];
        if (!item->used || item->fds[1] < 0 || item->packet.died_ns != 0)
            continue;
        const enum ring_hold_look seen = holder->look(item->packet.note, item->packet.note_bytes);
        if (seen == RING_HOLD_RUNS)
            item->packet.runs_ns = now_ns;
        now_ns = holder_now_ns();
        if (seen == RING_HOLD_ENDS && item->ends_ns == 0)
            item->ends_ns = now_ns;
    }
    const uint64_t rest_ns = 9 * (now_ns - begin_ns);
    holder->look_ns = now_ns + (rest_ns > LOOK_NS ? rest_ns : LOOK_NS);
}

/* For how long to wait; -1: until something happens. */
static int holder_wait_ms(const struct holder *holder)
{
    const uint64_t now_ns = holder_now_ns();
    if (holder->taken)
        return -1;
    return holder->look_ns > now_ns ? (int)((holder->look_ns - now_ns) / 1000000u) + 1 : 0;
}

/* False: no agent has come in time. */
static bool holder_turn(struct holder *holder)
{
    struct epoll_event events[32];
    holder_look(holder);
    if (holder->agent < 0 && (holder_now_ns() - holder->alone_ns) / 1000000u >= HOLD_ALONE_MS)
        return false;
    int n = epoll_wait(holder->poll, events, 32, holder_wait_ms(holder));
    for (int i = 0; i < n; i++) {
        if (events[i].data.u64 == WAKE_LISTENER)
            agent_come(holder);
        else if (events[i].data.u64 < HOLD_MAX)
            item_died(holder, &holder->items[events[i].data.u64]);
        else if (holder->agent >= 0)
            (void)agent_hear(holder);
    }
    return n >= 0 || errno == EINTR;
}

/* Unless another holder has the place by now. */
static void place_leave(const struct hold_place *place)
{
    struct stat about;
    if (fstatat(place->folder, place->name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
        about.st_dev == place->device && about.st_ino == place->inode)
        (void)unlinkat(place->folder, place->name, 0);
}

void hold_process_run(int listener, const struct hold_place *place, ring_hold_look_fn *look)
{
    struct holder holder = {
        .listener = listener, .agent = -1, .look = look, .alone_ns = holder_now_ns()};
    struct rlimit files;
    prctl(PR_SET_NAME, "skein-holder");
    holder.fds_end = INT_MAX;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < INT_MAX)
        holder.fds_end = (int)files.rlim_cur - FDS_SPARE;
    const struct sched_param least = {.sched_priority = sched_get_priority_min(SCHED_RR)};
    if (sched_setscheduler(0, SCHED_RR, &least) != 0)
        (void)setpriority(PRIO_PROCESS, 0, HOLDER_NICE);
    holder.poll = epoll_create1(EPOLL_CLOEXEC);
    holder.items = mmap(NULL, HOLD_MAX * sizeof *holder.items, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (holder.poll >= 0 && holder.items != MAP_FAILED &&
        wake_add(&holder, listener, WAKE_LISTENER))
        while (holder_turn(&holder))
            continue;
    place_leave(place);
    _exit(0);
}
