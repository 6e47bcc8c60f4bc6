/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors as events; see files_source.h.
 */
#include "files_source.h"

#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "fd_list.h"
#include "kept_file.h"
#include "proc_load.h"
#include "socket_list.h"
#include "vitals.h"

#define STATES 12 /* of sockets, TCP's numbers */

void files_source_set(struct files_source *source, bool on, const struct privacy_rule *rule)
{
    memcpy(source->privacy_key, rule->key, sizeof source->privacy_key);
    __atomic_store_n(&source->mode, rule->mode, __ATOMIC_RELAXED);
    __atomic_store_n(&source->off, !on, __ATOMIC_RELAXED);
}

struct files {
    struct evidence_out *out;
    int64_t thread;
    uint64_t at_ns;
    struct privacy_rule rule;
    struct socket_row *sockets; /* by inode */
    size_t socket_count;
};

/* ---- texts ---- */

struct shown {
    char hash[PRIVACY_HASH_BYTES];
    struct partition_value value;
};

/* A path or address as it may be told. */
static const struct partition_value *text_show(const struct files *f, const char *text,
                                               struct shown *shown)
{
    const char *told = text;
    if (f->rule.mode == PRIVACY_HASH && text[0] != '\0') {
        privacy_hash(f->rule.key, text, strlen(text), shown->hash);
        told = shown->hash;
    } else if (f->rule.mode != PRIVACY_OFF) {
        told = "";
    }
    shown->value = partition_text(told);
    return &shown->value;
}

/* ---- events ---- */

#define FD_TYPE(...)                                                                               \
    EVIDENCE_TYPE("fd", SKEIN_CLASS_INSTANT, VITALS_GROUP, EVIDENCE_ARG(U64, "fd", ""),            \
                  EVIDENCE_ARG(STR, "kind", ""), __VA_ARGS__)

static const struct partition_event_type type_file = FD_TYPE(EVIDENCE_ARG(STR, "path", ""));
static const struct partition_event_type type_listener =
    FD_TYPE(EVIDENCE_ARG(STR, "local", ""), EVIDENCE_ARG(U64, "waiting", ""),
            EVIDENCE_ARG(U64, "backlog", ""));
static const struct partition_event_type type_connection =
    FD_TYPE(EVIDENCE_ARG(STR, "local", ""), EVIDENCE_ARG(STR, "peer", ""),
            EVIDENCE_ARG(U64, "receive_queue", "bytes"), EVIDENCE_ARG(U64, "send_queue", "bytes"));

static void event_put(const struct files *f, const struct partition_event_type *type,
                      const struct partition_value *args)
{
    (void)evidence_event(f->out, f->thread, evidence_type(f->out, type), f->at_ns, 0, args);
}

static void file_put(const struct files *f, const struct fd_row *row)
{
    struct shown path;
    char inode[32] = "";
    if (row->inode != 0)
        snprintf(inode, sizeof inode, "[%" PRIu64 "]", row->inode);
    const struct partition_value args[] = {{.u64 = row->fd},
                                           partition_text(row->kind),
                                           row->path != NULL ? *text_show(f, row->path, &path)
                                                             : partition_text(inode)};
    event_put(f, &type_file, args);
}

static void listener_put(const struct files *f, uint32_t fd, const char *kind,
                         const struct socket_row *socket)
{
    struct shown local;
    const struct partition_value args[] = {{.u64 = fd},
                                           partition_text(kind),
                                           *text_show(f, socket->local, &local),
                                           {.u64 = socket->receive_queue},
                                           {.u64 = socket->send_queue}};
    event_put(f, &type_listener, args);
}

static void connection_put(const struct files *f, uint32_t fd, const char *kind,
                           const struct socket_row *socket)
{
    struct shown local, peer;
    const struct partition_value args[] = {{.u64 = fd},
                                           partition_text(kind),
                                           *text_show(f, socket->local, &local),
                                           *text_show(f, socket->peer, &peer),
                                           {.u64 = socket->receive_queue},
                                           {.u64 = socket->send_queue}};
    event_put(f, &type_connection, args);
}

static int inode_compare(const void *a, const void *b)
{
    const struct socket_row *x = a, *y = b;
    return x->inode < y->inode ? -1 : x->inode > y->inode;
}

static void fd_put(const struct files *f, const struct fd_row *row)
{
    static const char *const kinds[SOCKET_KINDS] = {"socket", "tcp", "udp", "unix"};
    const struct socket_row key = {.inode = row->inode}, *socket = NULL;
    char kind[48];
    if (strcmp(row->kind, "socket") == 0 && f->socket_count > 0)
        socket = bsearch(&key, f->sockets, f->socket_count, sizeof key, inode_compare);
    if (socket == NULL || socket->kind == SOCKET_UNKNOWN) {
        file_put(f, row);
        return;
    }
    snprintf(kind, sizeof kind, "%s %s", kinds[socket->kind],
             socket_state_text(socket->kind, socket->state));
    if (socket->state == TCP_LISTEN)
        listener_put(f, row->fd, kind, socket);
    else
        connection_put(f, row->fd, kind, socket);
}

static void counter_put(const struct files *f, const char *name, const char *unit, double value)
{
    const struct partition_event_type type =
        EVIDENCE_TYPE(name, SKEIN_CLASS_COUNTER, VITALS_GROUP, EVIDENCE_ARG(F64, "value", unit));
    const struct partition_value arg = {.f64 = value};
    event_put(f, &type, &arg);
}

static void sockets_count(const struct files *f)
{
    uint64_t count[SOCKET_KINDS][STATES] = {{0}}, received = 0, sent = 0, waiting = 0;
    char name[64];
    for (size_t i = 0; i < f->socket_count; i++) {
        const struct socket_row *socket = &f->sockets[i];
        count[socket->kind][socket->state < STATES ? socket->state : 0]++;
        waiting += socket->state == TCP_LISTEN ? socket->receive_queue : 0;
        received += socket->state == TCP_LISTEN ? 0 : socket->receive_queue;
        sent += socket->state == TCP_LISTEN ? 0 : socket->send_queue;
    }
    for (size_t state = 0; state < STATES; state++) {
        snprintf(name, sizeof name, "proc.sockets.tcp.%s",
                 socket_state_text(SOCKET_TCP, (uint8_t)state));
        if (count[SOCKET_TCP][state] > 0)
            counter_put(f, name, "", (double)count[SOCKET_TCP][state]);
    }
    counter_put(f, "proc.sockets", "", (double)f->socket_count);
    counter_put(f, "proc.sockets.receive_queue", "bytes", (double)received);
    counter_put(f, "proc.sockets.send_queue", "bytes", (double)sent);
    counter_put(f, "proc.sockets.waiting_connections", "", (double)waiting);
}

/* ---- */

/* Several descriptors may be of one socket. */
static bool sockets_list(struct files *f, const struct fd_list *list)
{
    size_t count = 0;
    f->sockets = calloc(list->count > 0 ? list->count : 1, sizeof *f->sockets);
    if (f->sockets == NULL)
        return false;
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->rows[i].kind, "socket") == 0)
            f->sockets[count++].inode = list->rows[i].inode;
    qsort(f->sockets, count, sizeof *f->sockets, inode_compare);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || f->sockets[i].inode != f->sockets[f->socket_count - 1].inode)
            f->sockets[f->socket_count++].inode = f->sockets[i].inode;
    return true;
}

static bool is_same_process(const char *proc, const struct process *process)
{
    char name[32], text[1024];
    struct proc_stat stat;
    snprintf(name, sizeof name, "%u/stat", process->pid);
    return once_read(proc, name, text, sizeof text) && proc_parse_stat(text, &stat) == SKEIN_OK &&
           stat.start_ticks == process->start_clock_ticks && stat.state != 'Z';
}

static void files_put(struct files *f, const struct evidence_ask *ask, const struct fd_list *list,
                      struct evidence_note *note)
{
    if (!sockets_list(f, list)) {
        evidence_say(note, EVIDENCE_NONE, "out of memory");
        return;
    }
    const char *why =
        socket_list_fill(ask->process->pid, f->sockets, f->socket_count, ask->deadline_ns);
    sockets_count(f);
    for (size_t i = 0; i < list->count && i < FILES_TOLD_MAX; i++)
        fd_put(f, &list->rows[i]);
    if (list->cut || list->count > FILES_TOLD_MAX)
        evidence_say(note, EVIDENCE_PARTIAL, "%zu of %s%zu descriptors%s%s",
                     list->count < FILES_TOLD_MAX ? list->count : FILES_TOLD_MAX,
                     list->cut ? "at least " : "", list->count, why != NULL ? "; " : "",
                     why != NULL ? why : "");
    else if (why != NULL)
        evidence_say(note, EVIDENCE_PARTIAL, "%s", why);
    else
        evidence_say(note, EVIDENCE_TAKEN, "%s", "");
    free(f->sockets);
}

void files_collect(void *context, const struct evidence_ask *ask, struct evidence_out *out,
                   struct evidence_note *note)
{
    struct files_source *source = context;
    const char *proc = source->proc != NULL ? source->proc : "/proc";
    struct fd_list list = {.rows = NULL};
    struct files f = {.out = out,
                      .at_ns = clock_monotonic_ns(),
                      .rule = {.mode = __atomic_load_n(&source->mode, __ATOMIC_RELAXED)}};
    if (__atomic_load_n(&source->off, __ATOMIC_RELAXED)) {
        evidence_say(note, EVIDENCE_NONE, EVIDENCE_OFF "vitals.files is false");
        return;
    }
    memcpy(f.rule.key, source->privacy_key, sizeof f.rule.key);
    f.thread = evidence_thread(out, 0, EVIDENCE_THREAD_PROCESS);
    int status = SKEIN_NOT_FOUND;
    if (is_same_process(proc, ask->process))
        status = fd_list_read(proc, ask->process->pid, ask->deadline_ns, &list);
    if (status == SKEIN_OK && is_same_process(proc, ask->process))
        files_put(&f, ask, &list, note);
    else if (status == SKEIN_DENIED)
        evidence_say(note, EVIDENCE_REFUSED,
                     "descriptors of another user's process: the agent needs CAP_SYS_PTRACE and "
                     "CAP_DAC_READ_SEARCH");
    else if (status == SKEIN_NO_MEMORY)
        evidence_say(note, EVIDENCE_NONE, "out of memory");
    else
        evidence_say(note, EVIDENCE_NONE, "the process has ended");
    fd_list_free(&list);
}
