/* SPDX-License-Identifier: Apache-2.0
 *
 * Members of the table that never said HELLO: processes that are watched from outside. They have no
 * ring, so they cost a pidfd and a page. Loop thread only. Never believes a pid: what is read of it
 * is believed only if its pidfd has not ended afterwards.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach_int.h"
#include "proc_info.h"
#include "ring_memory.h"
#include "shares.h"

/* The kernel's own threads run no program, and neither does a process that has ended. */
static bool runs_program(uint32_t pid)
{
    char path[48], exe[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%u/exe", pid);
    return readlink(path, exe, sizeof exe) >= 0 || errno != ENOENT;
}

static int watched_identify(const struct attach *attach, const struct attach_watch_order *order,
                            struct process *p)
{
    p->watched = true;
    p->is_service = true;
    p->unrecorded = LOSS_WATCHED;
    p->pid = order->pid;
    p->by_hand = order->by_hand;
    p->user = order->by_hand ? order->asker
                             : proc_user_charged((pid_t)order->pid, proc_user((pid_t)order->pid));
    p->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)order->pid, 0u);
    if (p->pidfd < 0)
        return errno == ESRCH || errno == EINVAL ? SKEIN_CLOSED : SKEIN_IO;
    if (!runs_program(order->pid))
        return pidfd_ended(p->pidfd) ? SKEIN_CLOSED : SKEIN_UNSUPPORTED;
    int status = attach_identity_read(attach, p);
    if (status == SKEIN_OK && order->start_clock_ticks != 0 &&
        order->start_clock_ticks != p->start_clock_ticks)
        return SKEIN_CLOSED;
    const char *slash = strrchr(p->exe, '/');
    const char *program = slash != NULL ? slash + 1 : p->exe;
    uint32_t uid = proc_user((pid_t)order->pid);
    if (status == SKEIN_OK && uid == SHARE_USER_UNKNOWN)
        return pidfd_ended(p->pidfd) ? SKEIN_CLOSED : SKEIN_IO;
    if (status == SKEIN_OK)
        attach_names_set(attach->names, p, order->service[0] != '\0' ? order->service : program,
                         order->labels, uid);
    return status;
}

/* Whether one more may be watched: of all that are, whoever asked has a share. */
static bool watch_has_room(const struct attach *attach, const struct attach_watch_order *order)
{
    uint32_t count = 0, own = 0;
    for (const struct member *m = attach->members; m != NULL; m = m->next) {
        count += m->process->watched;
        own += m->process->watched && m->process->by_hand && m->process->user == order->asker;
    }
    const bool shares = order->by_hand && user_shares(order->asker);
    const uint64_t open = share_open_to(shares ? SHARE_ASKED : SHARE_ROOT, order->watched_max);
    return count < open && (!shares || own == 0 || own < share_most(open, count - own));
}

static int room_look(const struct attach *attach, const struct attach_watch_order *order,
                     const struct process *p)
{
    const struct attach_hooks *hooks = &attach->hooks;
    if (member_find(attach, &p->uid) != NULL)
        return SKEIN_EXISTS;
    if (hooks->expected != NULL && hooks->expected(hooks->context, &p->uid))
        return SKEIN_AGAIN;
    if (!watch_has_room(attach, order))
        return SKEIN_BUSY;
    return place_look(attach, order->by_hand ? order->asker : 0, 0);
}

/* What the sources of evidence ask of any process's page. */
static int page_make(const struct attach *attach, struct process *p)
{
    void *page =
        mmap(NULL, SHARED_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return SKEIN_NO_MEMORY;
    p->page = page;
    *p->page = page_of(attach);
    return SKEIN_OK;
}

int attach_watch(struct attach *attach, const struct attach_watch_order *order,
                 struct process **out)
{
    struct process *p = NULL;
    *out = NULL;
    int status = process_new(&p);
    if (status != SKEIN_OK)
        return status;
    status = watched_identify(attach, order, p);
    if (status != SKEIN_OK) {
        process_unref(&p);
        return status;
    }
    *out = process_ref(p);
    pasts_prune(attach);
    status = room_look(attach, order, p);
    if (status == SKEIN_OK)
        status = page_make(attach, p);
    if (status == SKEIN_OK) {
        host_page_snapshot(attach->host, &p->attached_clock);
        p->attached_ns = p->attached_clock.realtime_ns;
        status = member_add(attach, p, -1);
    }
    if (status != SKEIN_OK) {
        process_unref(&p);
        return status;
    }
    struct past **past = past_find(attach, &p->uid);
    if (*past != NULL) {
        p->next_sequence = (*past)->next_sequence;
        past_remove(past);
    }
    if (attach->hooks.attached != NULL)
        attach->hooks.attached(attach->hooks.context, p);
    return SKEIN_OK;
}

void watch_answer(struct attach *attach, int socket, const struct hello_packet *packet)
{
    struct attach_watched answer = {.head = {ATTACH_MAGIC, ATTACH_VERSION, ATTACH_WATCHED},
                                    .status = SKEIN_UNSUPPORTED};
    if (attach->hooks.watch != NULL)
        answer.status = attach->hooks.watch(attach->hooks.context, &packet->watch, &packet->peer,
                                            answer.text, sizeof answer.text);
    (void)send(socket, &answer, sizeof answer, MSG_DONTWAIT | MSG_NOSIGNAL); /* it may be gone */
    close(socket);
}

bool attach_unwatch(struct attach *attach, const struct process_uid *uid)
{
    struct member *m = member_find(attach, uid);
    if (m == NULL || !m->process->watched)
        return false;
    member_remove(m, PROCESS_ENDED, true);
    return true;
}
