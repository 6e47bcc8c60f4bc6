/* SPDX-License-Identifier: Apache-2.0
 *
 * The process table. Owns the agent's Unix socket, and the table's references to processes. Loop
 * thread only. Never blocks: what a peer sends, or does not send, holds up its own connection
 * alone.
 *
 *               HELLO ok                     socket lost            pidfd, or a second later
 *   half-open ------------> member, attached -----------> member, -------------------------> gone
 *       |                    |      |   ^                 in grace                            |
 *       | 5 s, garbage,      | LEAVE|   | HELLO that comes back                       runs on |
 *       v crowded out        |      v   |                                                     v
 *    closed                  |   member, away                                               past
 *                            +------+---------------------------------------------> gone
 *                                     pidfd: the process has ended
 *
 *   One that is watched (attach_watch) is a member without a connection or a ring. If it says HELLO,
 *   it is gone as what it was, and attached.
 *
 *   connection_new: accepted     hello_answer: HELLO            member_socket_lost: HUP
 *   member_ended: pidfd          grace_over: still running      member_remove: out of the table
 *   member_return: came back
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "attach_int.h"
#include "clock.h"
#include "descriptor.h"
#include "proc_info.h"
#include "rule_match.h"
#include "shares.h"

#define GRACE_MS         1000
#define PACKETS_A_ROUND  16
#define PACKETS_A_SECOND 200 /* of a process; then it waits PAUSE_MS, and is told to try again */
#define PAUSE_MS         200

/* ---- the table ---- */

struct member *member_find(const struct attach *attach, const struct process_uid *uid)
{
    struct member *m = attach->members;
    while (m != NULL && !process_uid_equal(&m->process->uid, uid))
        m = m->next;
    return m;
}

struct past **past_find(struct attach *attach, const struct process_uid *uid)
{
    struct past **at = &attach->pasts;
    while (*at != NULL && !process_uid_equal(&(*at)->uid, uid))
        at = &(*at)->next;
    return at;
}

void past_remove(struct past **at)
{
    struct past *past = *at;
    *at = past->next;
    past->attach->past_count--;
    close(past->pidfd);
    free(past);
}

void pasts_prune(struct attach *attach)
{
    for (struct past **at = &attach->pasts; *at != NULL;) {
        if (pidfd_ended((*at)->pidfd))
            past_remove(at);
        else
            at = &(*at)->next;
    }
}

/* Takes over the member's note and the process's pidfd. */
static void past_add(struct attach *attach, struct past *past, struct process *p)
{
    *past = (struct past){.attach = attach,
                          .uid = p->uid,
                          .user = p->user,
                          .next_sequence = __atomic_load_n(&p->next_sequence, __ATOMIC_RELAXED),
                          .lacks_from_ns = process_lacks_from(p),
                          .pidfd = p->pidfd,
                          .next = attach->pasts};
    p->pidfd = -1;
    attach->pasts = past;
    attach->past_count++;
}

bool user_shares(uint32_t user)
{
    return user != 0 && user != geteuid();
}

/* Processes that left but run on hold a descriptor each, so they count as well. */
int place_look(const struct attach *attach, uint32_t user, uint32_t less)
{
    const uint32_t max = attach->settings.max_processes;
    uint32_t taken = attach->member_count + attach->past_count - less, own = 0;
    const uint64_t open = share_open_to(user_shares(user) ? SHARE_ASKED : SHARE_ROOT, max);
    if (taken >= open)
        return SKEIN_FULL;
    if (!user_shares(user))
        return SKEIN_OK;
    for (const struct member *m = attach->members; m != NULL; m = m->next)
        own += m->process->user == user;
    for (const struct past *past = attach->pasts; past != NULL; past = past->next)
        own += past->user == user;
    own = own > less ? own - less : 0; /* those are of the same process */
    return own > 0 && own >= share_most(open, taken - own) ? SKEIN_FULL : SKEIN_OK;
}

static void socket_drop(struct member *m)
{
    struct process *p = m->process;
    if (p->socket < 0)
        return;
    if (m->pause != NULL)
        loop_timer_cancel(m->attach->loop, &m->pause);
    else
        loop_fd_remove(m->attach->loop, p->socket);
    close(p->socket);
    p->socket = -1;
}

static void process_unlink(struct attach *attach, struct member *m)
{
    struct member **at = &attach->members;
    struct process *before = NULL;
    while (*at != m) {
        before = (*at)->process;
        at = &(*at)->next;
    }
    *at = m->next;
    if (before != NULL)
        before->next = m->process->next;
    m->process->next = NULL;
    attach->member_count--;
}

void member_remove(struct member *m, enum process_state state, bool runs_on)
{
    struct attach *attach = m->attach;
    struct process *p = m->process;
    socket_drop(m);
    loop_timer_cancel(attach->loop, &m->grace);
    loop_fd_remove(attach->loop, p->pidfd);
    backing_leave(m);
    process_unlink(attach, m);
    attach->counters.stacks_missed += process_stacks_missed(p);
    p->left = runs_on;
    if (runs_on)
        past_add(attach, m->past, p);
    else
        free(m->past);
    free(m);
    process_set_gone(p, state);
    if (attach->hooks.gone != NULL)
        attach->hooks.gone(attach->hooks.context, p);
    process_unref(&p);
}

/* ---- attached processes ---- */

static void member_socket_event(void *context, uint32_t events);

/* Makes a text of the service fit for people: it ends in its field, without control characters. */
static void text_clean(char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
    to[bytes - 1] = '\0';
    for (char *c = to; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
}

static void snapshot_packet(struct member *m, const struct attach_snapshot *packet)
{
    char reason[sizeof packet->reason];
    text_clean(reason, packet->reason, sizeof reason);
    if (m->attach->hooks.snapshot != NULL)
        m->attach->hooks.snapshot(m->attach->hooks.context, m->process, reason);
}

static void health_packet(struct member *m, const struct attach_health *packet)
{
    struct process *p = m->process;
    _Static_assert(sizeof p->heartbeat.why == sizeof packet->why, "one text");
    p->heartbeat.came = true;
    p->heartbeat.ok = packet->ok != 0;
    p->heartbeat.at_ns = clock_monotonic_ns();
    text_clean(p->heartbeat.why, packet->why, sizeof p->heartbeat.why);
    if (m->attach->hooks.heartbeat != NULL)
        m->attach->hooks.heartbeat(m->attach->hooks.context, p);
}

/* Takes one packet. Returns SKEIN_OK; SKEIN_AGAIN: no more now; SKEIN_CLOSED; SKEIN_CORRUPT. */
static int member_packet(struct member *m)
{
    union {
        struct attach_head head;
        struct attach_snapshot snapshot;
        struct attach_health health;
        uint8_t bytes[sizeof(struct attach_health) + 1];
    } packet;
    /* Without a control buffer the kernel drops descriptors that came along. */
    ssize_t n = recv(m->process->socket, &packet, sizeof packet, MSG_DONTWAIT);
    if (n < 0 && errno == ECONNRESET) /* told once, before what was said until then */
        n = recv(m->process->socket, &packet, sizeof packet, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? SKEIN_AGAIN : SKEIN_CLOSED;
    if (n == 0)
        return SKEIN_CLOSED;
    m->packets++;
    if ((size_t)n < sizeof packet.head || packet.head.magic != ATTACH_MAGIC ||
        packet.head.version != ATTACH_VERSION)
        return SKEIN_CORRUPT;
    if (packet.head.type == ATTACH_BYE && (size_t)n == sizeof(struct attach_bye))
        m->process->said_bye = true;
    else if (packet.head.type == ATTACH_LEAVE && (size_t)n == sizeof(struct attach_bye))
        m->process->away = true;
    else if (packet.head.type == ATTACH_SNAPSHOT && (size_t)n == sizeof(struct attach_snapshot))
        snapshot_packet(m, &packet.snapshot);
    else if (packet.head.type == ATTACH_HEALTH && (size_t)n == sizeof(struct attach_health))
        health_packet(m, &packet.health);
    else
        return SKEIN_CORRUPT;
    return SKEIN_OK;
}

static int member_packets(struct member *m, int most)
{
    int status = SKEIN_OK;
    for (int i = 0; i < most && status == SKEIN_OK; i++)
        status = member_packet(m);
    return status;
}

/* A death that is not known was in order if the process has said so, or was away. */
static bool death_is_crash(const struct process *p)
{
    bool in_order = p->said_bye || p->away || p->watched;
    if (!p->death.known)
        return !in_order;
    return rule_death_of(p->death.signal, p->death.status) != RULE_DEATH_ORDERLY;
}

static void member_ended(struct member *m)
{
    struct process *p = m->process;
    if (p->socket >= 0)
        member_packets(m, PACKETS_A_ROUND); /* a BYE may still lie there */
    p->death.known = pidfd_death(p->pidfd, (pid_t)p->pid, &p->death.signal, &p->death.status) ||
                     process_exit_said(p, &p->death.status);
    member_remove(m, death_is_crash(p) ? PROCESS_CRASHED : PROCESS_ENDED, false);
}

static void member_pidfd_event(void *context, uint32_t events)
{
    (void)events;
    member_ended(context);
}

static void grace_begin(struct member *m);

static void grace_over(void *context)
{
    struct member *m = context;
    m->grace = NULL;
    if (pidfd_ended(m->process->pidfd))
        member_ended(m);
    else if (process_is_being_ended(m->process)) /* on a busy machine that takes long */
        grace_begin(m);
    else
        member_remove(m, PROCESS_ENDED, true);
}

static void grace_begin(struct member *m)
{
    m->grace = loop_timer_add(m->attach->loop, GRACE_MS, 0, grace_over, m);
    if (m->grace == NULL)
        member_remove(m, PROCESS_ENDED, true);
}

/* A dying process closes its sockets a moment before its pidfd tells; one that runs on (exec, a
 * stopped library) never does. One that said LEAVE will be back. */
static void member_socket_lost(struct member *m)
{
    socket_drop(m);
    if (!m->process->away)
        grace_begin(m);
}

static void attach_pause_over(void *context)
{
    struct member *m = context;
    m->pause = NULL; /* one-shot */
    if (loop_fd_add(m->attach->loop, m->process->socket, EPOLLIN | EPOLLRDHUP, member_socket_event,
                    m) == SKEIN_OK)
        return;
    m->pause = loop_timer_add(m->attach->loop, PAUSE_MS, 0, attach_pause_over, m);
}

/* A program that asks in a loop takes no more of the agent's time than others. */
static void member_throttle(struct member *m)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (now_ns - m->second_ns >= UINT64_C(1000000000)) {
        m->second_ns = now_ns;
        m->packets = 0;
    }
    if (m->packets < PACKETS_A_SECOND)
        return;
    m->pause = loop_timer_add(m->attach->loop, PAUSE_MS, 0, attach_pause_over, m);
    if (m->pause != NULL)
        loop_fd_remove(m->attach->loop, m->process->socket);
}

static void member_socket_event(void *context, uint32_t events)
{
    (void)events;
    struct member *m = context;
    int status = member_packets(m, PACKETS_A_ROUND);
    if (status == SKEIN_CORRUPT)
        m->attach->counters.attach_malformed++;
    if (status == SKEIN_CORRUPT || status == SKEIN_CLOSED)
        member_socket_lost(m);
    else
        member_throttle(m);
}

int member_add(struct attach *attach, struct process *p, int socket)
{
    struct member *m = calloc(1, sizeof *m);
    struct past *past = calloc(1, sizeof *past);
    if (m == NULL || past == NULL) {
        free(m);
        free(past);
        return SKEIN_NO_MEMORY;
    }
    *m = (struct member){.attach = attach, .process = p, .past = past};
    int status = loop_fd_add(attach->loop, p->pidfd, EPOLLIN, member_pidfd_event, m);
    if (status == SKEIN_OK && socket >= 0) {
        status = loop_fd_add(attach->loop, socket, EPOLLIN | EPOLLRDHUP, member_socket_event, m);
        if (status != SKEIN_OK)
            loop_fd_remove(attach->loop, p->pidfd);
    }
    if (status != SKEIN_OK) {
        free(past);
        free(m);
        return status;
    }
    p->socket = socket;
    m->next = attach->members;
    p->next = attach->members != NULL ? attach->members->process : NULL;
    attach->members = m;
    attach->member_count++;
    if (p->ring != NULL)
        backing_watch(m);
    return SKEIN_OK;
}

/* A process that left, or whose connection broke, is here again with the ring that it has. Takes
 * the socket. */
static void member_return(struct member *m, int socket)
{
    struct process *p = m->process;
    socket_drop(m);
    loop_timer_cancel(m->attach->loop, &m->grace);
    p->away = false;
    if (loop_fd_add(m->attach->loop, socket, EPOLLIN | EPOLLRDHUP, member_socket_event, m) !=
        SKEIN_OK) {
        close(socket);
        p->away = true;
        return;
    }
    p->socket = socket;
    m->attach->counters.attach_accepted++;
    if (welcome_send(m->attach, socket, SKEIN_OK, p) != SKEIN_OK) {
        (void)member_packets(m, PACKETS_A_ROUND); /* a LEAVE may lie there */
        member_socket_lost(m);
    }
}

void hello_answer(struct attach *attach, int socket, struct hello_packet *packet)
{
    struct process *p = NULL;
    bool adopted = false;
    struct member *back = hello_comes_back(attach, socket, packet);
    if (back != NULL) {
        fd_close(&packet->ring_fd);
        member_return(back, socket);
        return;
    }
    int status = hello_accept(attach, socket, packet, &p, &adopted);
    if (status == SKEIN_OK) {
        struct member *former = member_find(attach, &p->uid);
        if (former != NULL)
            member_remove(former, PROCESS_ENDED, true);
        status = member_add(attach, p, socket);
    }
    if (status != SKEIN_OK) {
        attach->counters.attach_refused++;
        welcome_send(attach, socket, status, NULL);
        close(socket);
        if (p != NULL && attach->hooks.refused != NULL)
            attach->hooks.refused(attach->hooks.context, p, status);
        process_unref(&p);
        return;
    }
    struct past **past = past_find(attach, &p->uid);
    if (*past != NULL)
        past_remove(past);
    attach->counters.attach_accepted++;
    attach->counters.attach_adopted += adopted;
    if (attach->hooks.taken != NULL)
        attach->hooks.taken(attach->hooks.context, p);
    if (welcome_send(attach, socket, SKEIN_OK, p) != SKEIN_OK) {
        member_socket_lost(attach->members);
        return;
    }
    if (attach->hooks.attached != NULL)
        attach->hooks.attached(attach->hooks.context, p);
}

int attach_recover(struct attach *attach, struct process *p)
{
    int status = attach_recover_ring(attach, p);
    p->away = true;
    if (status == SKEIN_OK)
        status = member_add(attach, process_ref(p), -1);
    if (status != SKEIN_OK)
        return status;
    attach->counters.attach_accepted++;
    attach->counters.attach_adopted++;
    if (attach->hooks.attached != NULL)
        attach->hooks.attached(attach->hooks.context, p);
    return SKEIN_OK;
}

/* ---- life ---- */

static int listener_open(struct attach *attach, char *error, size_t error_bytes)
{
    mode_t mode = attach->settings.same_uid_only && geteuid() != 0 ? 0600 : 0666;
    return attach_socket_open(attach->path, mode, &attach->listener, error, error_bytes);
}

static int settings_check(const struct attach_settings *s, char *error, size_t error_bytes)
{
    if (s->mode == SKEIN_MODE_CIRCULAR || s->mode == SKEIN_MODE_ONESHOT)
        return SKEIN_OK;
    snprintf(error, error_bytes, "the default mode must be circular or oneshot");
    return SKEIN_INVALID;
}

int attach_new(struct loop *loop, struct host_page_owner *host,
               const struct attach_settings *settings, const struct attach_hooks *hooks,
               struct attach **out, char *error, size_t error_bytes)
{
    int status = settings_check(settings, error, error_bytes);
    if (status != SKEIN_OK)
        return status;
    struct attach *attach = calloc(1, sizeof *attach);
    if (attach != NULL)
        attach->path = strdup(settings->socket_path);
    if (attach == NULL || attach->path == NULL) {
        free(attach);
        snprintf(error, error_bytes, "out of memory");
        return SKEIN_NO_MEMORY;
    }
    attach->loop = loop;
    attach->host = host;
    attach->settings = *settings;
    attach->settings.socket_path = attach->path;
    attach->hooks = *hooks;
    attach->listener = (struct attach_socket){.fd = -1, .lock_fd = -1};
    backing_init(attach);
    status = attach_names_new(settings->service_users, settings->service_user_count, &attach->names,
                              error, error_bytes);
    attach->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    text_file_read("/proc/sys/kernel/random/boot_id", attach->boot_id, sizeof attach->boot_id);
    attach->boot_id[strcspn(attach->boot_id, "\n")] = '\0';
    if (status == SKEIN_OK)
        status = listener_open(attach, error, error_bytes);
    if (status == SKEIN_OK) {
        status = loop_fd_add(loop, attach->listener.fd, EPOLLIN, listener_event, attach);
        if (status != SKEIN_OK)
            snprintf(error, error_bytes, "watching the socket: %s", skein_status_text(status));
    }
    if (status != SKEIN_OK) {
        attach_free(&attach);
        return status;
    }
    *out = attach;
    return SKEIN_OK;
}

/* Runs no hooks: the processes live on and come back to the next agent with their rings. */
void attach_free(struct attach **pointer)
{
    struct attach *attach = *pointer;
    if (attach == NULL)
        return;
    *pointer = NULL;
    attach->hooks = (struct attach_hooks){0};
    connections_free(attach);
    backing_end(attach);
    struct member *member, *next_member;
    for (member = attach->members; member != NULL; member = next_member) {
        next_member = member->next;
        member_remove(member, PROCESS_ENDED, false);
    }
    while (attach->pasts != NULL)
        past_remove(&attach->pasts);
    if (attach->listener.fd >= 0)
        loop_fd_remove(attach->loop, attach->listener.fd);
    attach_socket_close(&attach->listener, attach->path);
    fd_close(&attach->spare_fd);
    attach_names_free(&attach->names);
    free(attach->path);
    free(attach);
}

struct process *attach_processes(struct attach *attach)
{
    return attach->members != NULL ? attach->members->process : NULL;
}

void attach_count(const struct attach *attach, struct agent_counters *out)
{
    out->attach_accepted = attach->counters.attach_accepted;
    out->attach_adopted = attach->counters.attach_adopted;
    out->attach_refused = attach->counters.attach_refused;
    out->attach_silent = attach->counters.attach_silent;
    out->attach_malformed = attach->counters.attach_malformed;
    out->stacks_missed = attach->counters.stacks_missed;
    if (attach->members != NULL)
        for (const struct process *p = attach->members->process; p != NULL; p = p->next)
            out->stacks_missed += process_stacks_missed(p);
}
