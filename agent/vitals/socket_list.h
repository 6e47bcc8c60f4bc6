/* SPDX-License-Identifier: Apache-2.0
 *
 * What sockets of a process are: the kernel's sock_diag tells of all sockets of a network
 * namespace, those with wanted inode numbers are kept. Any thread.
 */
#ifndef SOCKET_LIST_H
#define SOCKET_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOCKET_TEXT_BYTES 128

enum socket_kind { SOCKET_UNKNOWN, SOCKET_TCP, SOCKET_UDP, SOCKET_UNIX, SOCKET_KINDS };

struct socket_row {
    uint64_t inode;
    enum socket_kind kind;
    uint8_t state; /* TCP_ESTABLISHED, TCP_LISTEN, ...; of all kinds */
    /* bytes; of one that listens: connections that wait, and how many may */
    uint32_t receive_queue, send_queue;
    /* "127.0.0.1:80", "[::1]:80", a path, "@" and an abstract name; "": none */
    char local[SOCKET_TEXT_BYTES], peer[SOCKET_TEXT_BYTES];
};

/* Fills rows, which are sorted by inode, in the network namespace of /proc/PID. Rows that nobody
 * told of stay SOCKET_UNKNOWN. NULL, or why not all could be asked for. */
const char *socket_list_fill(uint32_t pid, struct socket_row *rows, size_t count,
                             uint64_t deadline_ns);

/* One read of the answer: takes what is wanted. SKEIN_AGAIN: more is to come; SKEIN_OK: that was
 * the end; SKEIN_UNSUPPORTED: the kernel refused; SKEIN_CORRUPT. */
int socket_answer_take(const uint8_t *bytes, size_t n, enum socket_kind kind,
                       struct socket_row *rows, size_t count);

const char *socket_state_text(enum socket_kind kind, uint8_t state);

#endif
