/* SPDX-License-Identifier: Apache-2.0
 *
 * One HELLO to one WELCOME: receives and checks the packet, finds out who the peer is, makes or
 * adopts its ring, sends the descriptors. Loop thread only. Never blocks, never believes the peer
 * about who it is, and leaves no descriptor behind that a packet brought.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent_clock.h"
#include "attach_int.h"
#include "clock.h"
#include "cutter.h"
#include "descriptor.h"
#include "proc_info.h"
#include "ring_memory.h"
#include "shares.h"

#define PACKET_FDS_MAX 8
#define ENDED_TICKS    (UINT64_C(1) << 63) /* no clock tick of /proc has this */
/* A process that comes back numbers on behind all that cuts still running for its former entry can
 * have numbered. */
#define SEQUENCE_MARGIN (UINT64_C(1) << 20)

/* ---- receiving ---- */

static bool text_is_closed(const char *text, size_t bytes)
{
    return memchr(text, '\0', bytes) != NULL;
}

static bool hello_valid(const struct attach_hello *hello, size_t n)
{
    return n == sizeof *hello && hello->head.magic == ATTACH_MAGIC &&
           hello->head.version == ATTACH_VERSION && hello->head.type == ATTACH_HELLO &&
           text_is_closed(hello->service, sizeof hello->service) &&
           text_is_closed(hello->labels, sizeof hello->labels);
}

static bool watch_valid(const struct attach_watch *watch, size_t n)
{
    return n == sizeof *watch && watch->head.magic == ATTACH_MAGIC &&
           watch->head.version == ATTACH_VERSION && watch->head.type == ATTACH_WATCH &&
           text_is_closed(watch->service, sizeof watch->service) &&
           text_is_closed(watch->labels, sizeof watch->labels);
}

int hello_receive(int socket, struct hello_packet *packet)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(PACKET_FDS_MAX * sizeof(int))];
    } control;
    union {
        struct attach_hello hello;
        struct attach_watch watch;
    } first;
    _Static_assert(sizeof first.hello != sizeof first.watch, "a packet's size says which it is");
    struct iovec part = {&first, sizeof first};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t n = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? SKEIN_AGAIN : SKEIN_CLOSED;
    int ring_fd = -1;
    size_t fds = message_fds_take(&message, &ring_fd, 1);
    if (n == 0 && fds == 0)
        return SKEIN_CLOSED;

    struct ucred peer = {0, 0, 0};
    socklen_t bytes = sizeof peer;
    bool is_watch = watch_valid(&first.watch, (size_t)n);
    if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ||
        !(is_watch || hello_valid(&first.hello, (size_t)n)) ||
        fds != (!is_watch && first.hello.has_ring == 1 ? 1u : 0u) ||
        getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 || peer.pid <= 0) {
        fd_close(&ring_fd);
        return SKEIN_CORRUPT;
    }
    *packet = (struct hello_packet){.is_watch = is_watch, .ring_fd = ring_fd, .peer = peer};
    if (is_watch)
        packet->watch = first.watch;
    else
        packet->hello = first.hello;
    return SKEIN_OK;
}

/* ---- who it is ---- */

/* Length of the UTF-8 character at text, 0 where the bytes are none. Overlong forms and surrogates
 * pass: what matters is that nobody who prints it is led past the end. */
static size_t character_length(const unsigned char *text)
{
    size_t n = text[0] < 0x80   ? 1
               : text[0] < 0xc2 ? 0
               : text[0] < 0xe0 ? 2
               : text[0] < 0xf0 ? 3
               : text[0] < 0xf5 ? 4
                                : 0;
    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

void attach_text_clean(char *out, size_t bytes, const char *in)
{
    size_t used = 0;
    for (const unsigned char *p = (const unsigned char *)in; *p != '\0' && used + 1 < bytes;) {
        size_t n = character_length(p);
        bool printable = n > 1 || (n == 1 && *p >= 0x20 && *p != 0x7f);
        if (n > 1 && n > bytes - 1 - used)
            break;
        if (printable)
            memcpy(out + used, p, n);
        else
            out[used] = '?';
        used += printable ? n : 1;
        p += n == 0 ? 1 : n;
    }
    out[used] = '\0';
}

static const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static void names_fill(const struct attach *attach, const struct hello_packet *packet,
                       struct process *p)
{
    const char *service = packet->hello.service;
    attach_names_set(attach->names, p, service[0] != '\0' ? service : path_base(p->exe),
                     packet->hello.labels, packet->peer.uid);
    p->is_service = packet->hello.is_service == 1;
}

/* The pidfd was opened first: if it has not ended afterwards, /proc spoke of the same process all
 * the time. */
int attach_identity_read(const struct attach *attach, struct process *p)
{
    pid_t pid = (pid_t)p->pid;
    if (proc_start_ticks(pid, &p->start_clock_ticks) != SKEIN_OK)
        return SKEIN_CLOSED;
    char exe[sizeof p->exe] = "";
    proc_exe(pid, exe, sizeof exe);
    attach_text_clean(p->exe, sizeof p->exe, exe);
    if (pidfd_ended(p->pidfd))
        return SKEIN_CLOSED;
    p->start_ns = proc_start_realtime_ns(p->start_clock_ticks);
    p->uid =
        process_uid_make(attach->settings.agent_id, attach->boot_id, p->pid, p->start_clock_ticks);
    return SKEIN_OK;
}

/* Fills in what the kernel says about the peer. */
static int identity_fill(const struct attach *attach, int socket, const struct hello_packet *packet,
                         struct process *p)
{
    p->pid = (uint32_t)packet->peer.pid;
    p->user = proc_user_charged(packet->peer.pid, packet->peer.uid);
    p->pidfd = pidfd_of_peer(socket, packet->peer.pid);
    if (p->pidfd < 0)
        return errno == ESRCH ? SKEIN_CLOSED : errno == ENOSYS ? SKEIN_UNSUPPORTED : SKEIN_IO;
    int status = attach_identity_read(attach, p);
    if (status == SKEIN_OK)
        names_fill(attach, packet, p);
    return status;
}

/* The peer said HELLO and ended before we came to it: the kernel still knows its pid, and the rest
 * is what it said. It gets another identity than it would have had, so that it is not taken for
 * anything else that is known of the process. A peer that has, or had, a ring is known by that. */
static void identity_of_ended(const struct attach *attach, const struct hello_packet *packet,
                              struct process *p)
{
    const struct attach_hello *hello = &packet->hello;
    if (hello->began_ms == 0 || hello->has_ring == 1 || hello->comes_back == 1)
        return;
    uint32_t age_ms =
        (uint32_t)(clock_monotonic_ns() / NS_PER_MS) - hello->began_ms; /* also round 0 */
    p->start_clock_ticks = ENDED_TICKS | hello->began_ms;
    p->start_ns = agent_clock_ns() - age_ms * NS_PER_MS;
    p->uid =
        process_uid_make(attach->settings.agent_id, attach->boot_id, p->pid, p->start_clock_ticks);
    names_fill(attach, packet, p);
}

/* ---- its memory ---- */

struct process_page page_of(const struct attach *attach)
{
    struct process_page page = {.magic = PROCESS_PAGE_MAGIC,
                                .version = RING_VERSION,
                                .enabled = attach->settings.enabled_groups};
    const struct privacy_rule *privacy = attach->settings.privacy;
    if (privacy != NULL) {
        page.privacy = privacy->mode;
        memcpy(page.privacy_key, privacy->key, sizeof page.privacy_key);
    }
    return page;
}

static int page_fill(const struct attach *attach, struct process *p)
{
    const struct process_page page = page_of(attach);
    void *mapping = NULL;
    int status = shared_page_new("skein-process", &page, sizeof page, &p->page_fd, &mapping);
    p->page = mapping;
    return status;
}

/* Where its partitions' sequences go on, if it was here before in this run. */
static uint64_t sequence_start(const struct member *former, const struct past *past)
{
    if (former != NULL)
        return __atomic_load_n(&former->process->next_sequence, __ATOMIC_RELAXED) + SEQUENCE_MARGIN;
    return past != NULL ? past->next_sequence + SEQUENCE_MARGIN : 0;
}

/* Since when the new ring lacks what the ring before had; 0: it lacks nothing. */
static uint64_t lacks_from(const struct member *former, const struct past *past,
                           const struct hello_packet *packet, const struct process *p)
{
    if (former != NULL)
        return process_lacks_from(former->process);
    if (past != NULL)
        return past->lacks_from_ns;
    return packet->hello.has_ring == 1 ? p->start_ns : 0; /* from an agent before this one */
}

/* Takes from the ring that came when it began: an agent before this one made it. */
static void recording_adopt(const struct attach *attach, struct process *p)
{
    struct ring_process_record record;
    struct clock_snapshot first;
    memcpy(&record, p->ring + p->geometry.process_off, sizeof record);
    host_page_first(attach->host, &first);
    uint64_t began_ns = clock_snapshot_realtime(&first, &p->attached_clock, record.start_ticks);
    if (began_ns < p->attached_ns) /* a hostile ring may say anything */
        p->recorded_ns = began_ns > p->start_ns ? began_ns : p->start_ns;
    process_lacks_recall(p);
}

static bool peer_allowed(const struct attach *attach, const struct hello_packet *packet)
{
    uid_t own = geteuid();
    return !attach->settings.same_uid_only || own == 0 || packet->peer.uid == own;
}

static int process_fill(struct attach *attach, int socket, struct hello_packet *packet,
                        struct process *p, bool *adopted)
{
    int status = identity_fill(attach, socket, packet, p);
    if (status != SKEIN_OK && status != SKEIN_CLOSED)
        return status;
    if (!peer_allowed(attach, packet))
        return SKEIN_DENIED;
    if (status == SKEIN_CLOSED) {
        identity_of_ended(attach, packet, p);
        return status;
    }
    const struct member *former = member_find(attach, &p->uid);
    pasts_prune(attach);
    const struct past *past = *past_find(attach, &p->uid);
    status = place_look(attach, p->user, (uint32_t)(former != NULL) + (uint32_t)(past != NULL));
    if (status != SKEIN_OK)
        return status;
    host_page_snapshot(attach->host, &p->attached_clock);
    p->attached_ns = p->attached_clock.realtime_ns;
    p->next_sequence = sequence_start(former, past);
    uint32_t claimed[2] = {0, 0};
    *adopted = false;
    status = ring_adopt(attach, packet, p, claimed);
    if (status == SKEIN_OK)
        *adopted = true;
    else
        status = ring_make(attach, packet, former, p);
    if (status == SKEIN_OK) {
        p->recorded_ns = p->attached_ns;
        if (*adopted)
            recording_adopt(attach, p);
        else /* who says HELLO does not write to its ring before any more */
            process_lacks_set(p, lacks_from(former, past, packet, p), p->attached_ns);
        p->unrecorded = p->lacks_from_ns != 0 ? LOSS_REPLACED : LOSS_LATE;
        status = page_fill(attach, p);
    }
    if (status == SKEIN_OK && *adopted)
        backing_adopt(attach, p, claimed);
    else if (status == SKEIN_OK)
        status = backing_begin(attach, p);
    return status;
}

int attach_recover_ring(struct attach *attach, struct process *p)
{
    host_page_snapshot(attach->host, &p->attached_clock);
    p->attached_ns = p->recorded_ns = p->attached_clock.realtime_ns;
    const struct ring_identity identity = ring_identity_of(attach, p);
    uint32_t claimed[2];
    int status =
        ring_memory_adopt(p->ring_fd, RING_BYTES_MAX, &identity, &p->geometry, &p->ring, claimed);
    if (status != SKEIN_OK)
        return status;
    recording_adopt(attach, p);
    p->unrecorded = p->lacks_from_ns != 0 ? LOSS_REPLACED : LOSS_LATE;
    status = page_fill(attach, p);
    if (status == SKEIN_OK)
        backing_adopt(attach, p, claimed);
    return status;
}

/* Whether the member has this ring, as one that a holder has kept. */
static bool is_ring_of(const struct member *member, int fd)
{
    struct stat came, had;
    return fstat(fd, &came) == 0 && fstat(member->process->ring_fd, &had) == 0 &&
           came.st_dev == had.st_dev && came.st_ino == had.st_ino;
}

struct member *hello_comes_back(const struct attach *attach, int socket,
                                const struct hello_packet *packet)
{
    struct process *p = NULL;
    struct member *member = NULL;
    const bool has_ring = packet->ring_fd >= 0;
    if ((packet->hello.comes_back != 1) == !has_ring || !peer_allowed(attach, packet) ||
        process_new(&p) != SKEIN_OK)
        return NULL;
    if (identity_fill(attach, socket, packet, p) == SKEIN_OK)
        member = member_find(attach, &p->uid);
    process_unref(&p);
    if (member == NULL || member->process->watched)
        return NULL;
    return !has_ring || is_ring_of(member, packet->ring_fd) ? member : NULL;
}

int hello_accept(struct attach *attach, int socket, struct hello_packet *packet,
                 struct process **out, bool *adopted)
{
    struct process *p = NULL;
    int status = process_new(&p);
    if (status == SKEIN_OK)
        status = process_fill(attach, socket, packet, p, adopted);
    fd_close(&packet->ring_fd);
    if (status != SKEIN_OK && p != NULL && p->service[0] == '\0')
        process_unref(&p); /* nobody knows who it was */
    *out = p;
    return status;
}

/* ---- answering ---- */

int welcome_send(const struct attach *attach, int socket, int status, const struct process *p)
{
    struct attach_welcome welcome = {.head = {ATTACH_MAGIC, ATTACH_VERSION, ATTACH_WELCOME},
                                     .status = status};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(3 * sizeof(int))];
    } control;
    struct iovec part = {&welcome, sizeof welcome};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (p != NULL) {
        welcome.mode = p->geometry.mode;
        welcome.takes = ATTACH_TAKES_HEALTH | ATTACH_TAKES_LEAVE;
        welcome.ring_bytes = p->geometry.total;
        memset(&control, 0, sizeof control);
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(3 * sizeof(int));
        const int fds[3] = {p->ring_fd, host_page_fd(attach->host), p->page_fd};
        memcpy(CMSG_DATA(c), fds, sizeof fds);
    }
    ssize_t n;
    do {
        n = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof welcome ? SKEIN_OK : SKEIN_CLOSED;
}
