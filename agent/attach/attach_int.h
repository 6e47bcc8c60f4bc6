/* SPDX-License-Identifier: Apache-2.0
 *
 * What attach.c (the table), attach_connection.c (until the HELLO), attach_hello.c (one HELLO to one
 * WELCOME), attach_watch.c (members without a HELLO), and attach_ring.c and attach_backing.c, which have
 * a header of their own, share. Included by those alone. Loop thread only.
 */
#ifndef ATTACH_INT_H
#define ATTACH_INT_H

#include <sys/socket.h>

#include "attach.h"
#include "attach_names.h"
#include "attach_proto.h"
#include "attach_ring.h"
#include "attach_socket.h"

/* A traced process in the table, and the context of its two descriptors' callbacks. */
struct member {
    struct attach *attach;
    struct process *process;  /* the table's reference */
    struct loop_timer *grace; /* runs between the loss of the socket and the end */
    /* Packets of the second that began then; while the timer runs, no more are read. */
    uint64_t second_ns;
    uint32_t packets;
    struct loop_timer *pause;
    struct past *past;         /* made ahead, so that leaving the table cannot fail; else unused */
    TAILQ_ENTRY(member) quick; /* in the list of rings that are looked at often, while */
    uint64_t quick_until_ns;   /* this is not 0: monotonic */
    struct member *next;
};

/* A process that left the table and runs on. If it comes back, its partition sequences must not
 * begin anew. Dropped when its pidfd says that it has ended. */
struct past {
    struct attach *attach;
    struct process_uid uid;
    uint32_t user;
    uint64_t next_sequence, lacks_from_ns; /* of its ring: process_lacks_from */
    int pidfd;
    struct past *next;
};

/* A connection that has not said HELLO; oldest first in the list. */
struct half_open {
    struct attach *attach;
    int fd;
    struct loop_timer *deadline;
    struct half_open *next;
};

struct attach {
    struct loop *loop;
    struct host_page_owner *host;
    struct attach_settings settings;
    struct attach_hooks hooks;
    char *path;
    char boot_id[40];
    struct attach_socket listener;
    int spare_fd; /* given up for a moment to turn a connection away without descriptors */
    struct half_open *half_open;
    uint32_t half_open_count;
    struct member *members;
    uint32_t member_count;
    struct past *pasts;
    uint32_t past_count;
    struct agent_counters counters;
    struct attach_names *names;
    struct ring_looks looks;
};

/* The first packet of a connection. */
struct hello_packet {
    bool is_watch; /* then it is `watch`, else `hello` */
    struct attach_hello hello;
    struct attach_watch watch;
    int ring_fd; /* -1: none came with it; whoever handles the packet closes it */
    struct ucred peer;
};

/* ---- attach_hello.c ---- */

/* Receives the first packet of a connection. SKEIN_OK; SKEIN_AGAIN (nothing there yet);
 * SKEIN_CLOSED; SKEIN_CORRUPT (neither a HELLO nor a WATCH). *packet is set on SKEIN_OK only. Closes
 * every descriptor that is no HELLO's ring. */
int hello_receive(int socket, struct hello_packet *packet);

/* Makes the process that the packet asks for, ready but not in the table; takes packet->ring_fd.
 * SKEIN_OK, or the status for the WELCOME: SKEIN_DENIED, SKEIN_FULL, SKEIN_CLOSED (the peer is
 * gone), SKEIN_UNSUPPORTED, SKEIN_NO_MEMORY, SKEIN_IO. On failure *out says who it was, if that is
 * known, and is the caller's to let go. An entry of the same process counts as gone: the caller
 * removes it on SKEIN_OK. */
int hello_accept(struct attach *attach, int socket, struct hello_packet *packet,
                 struct process **out, bool *adopted);

/* The entry of the process that says with this packet that it comes back, or NULL. */
struct member *hello_comes_back(const struct attach *attach, int socket,
                                const struct hello_packet *packet);

/* Sends WELCOME, with the descriptors where p is not NULL. SKEIN_OK; SKEIN_CLOSED. */
int welcome_send(const struct attach *attach, int socket, int status, const struct process *p);

/* Fills in what the kernel says of p->pid, of which p->pidfd is open: SKEIN_OK, SKEIN_CLOSED. */
int attach_identity_read(const struct attach *attach, struct process *p);
/* Names go to logs, JSON and terminals: control characters and broken UTF-8 become '?'. */
void attach_text_clean(char *out, size_t bytes, const char *in);
/* What the agent's settings say to the process. */
struct process_page page_of(const struct attach *attach);

/* ---- attach_connection.c ---- */

void listener_event(void *attach, uint32_t events); /* accepts */
void connections_free(struct attach *attach);

/* ---- attach.c ---- */

/* Answers a HELLO. Takes the socket. */
void hello_answer(struct attach *attach, int socket, struct hello_packet *packet);

/* The table's entry for this identity, or NULL. */
struct member *member_find(const struct attach *attach, const struct process_uid *uid);

/* Whether the table has a place for one more process of the user, beside all but `less` of what it
 * has: SKEIN_OK, SKEIN_FULL. */
int place_look(const struct attach *attach, uint32_t user, uint32_t less);
/* Whether the user is bounded by his share: root and the agent's own user set the bounds, and have
 * what is left. */
bool user_shares(uint32_t user);

/* Answers a WATCH. Takes the socket (attach_watch.c). */
void watch_answer(struct attach *attach, int socket, const struct hello_packet *packet);

/* Puts the process into table and loop; takes the reference and the socket (-1: none) on SKEIN_OK. */
int member_add(struct attach *attach, struct process *p, int socket);
/* Takes m out of table and loop and frees it. The hook runs last, when m is out of the table. */
void member_remove(struct member *m, enum process_state state, bool runs_on);

/* Where the past of this identity hangs in its list; points at NULL where there is none. */
struct past **past_find(struct attach *attach, const struct process_uid *uid);

void past_remove(struct past **at);
void pasts_prune(struct attach *attach); /* drops those that have ended */

#endif
