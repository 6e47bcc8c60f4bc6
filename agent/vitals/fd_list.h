/* SPDX-License-Identifier: Apache-2.0
 *
 * The open descriptors of a process and what each is. Reads links of /proc alone: no file is
 * opened or asked, which might hang. Any thread.
 */
#ifndef FD_LIST_H
#define FD_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FD_LIST_MAX   65536 /* descriptors that are looked at */
#define FD_TEXT_BYTES 512
#define FD_KIND_BYTES 32

struct fd_row {
    uint32_t fd;
    char kind[FD_KIND_BYTES]; /* file, socket, pipe, memfd, namespace, eventfd, eventpoll, ... */
    uint64_t inode;           /* of a socket or a pipe */
    char *path;               /* of a file; NULL: none */
};
struct fd_list {
    struct fd_row *rows; /* by number */
    size_t count, cap;
    bool cut; /* there are more than FD_LIST_MAX, or time was over */
};

/* SKEIN_OK; SKEIN_DENIED; SKEIN_NOT_FOUND: there is no such process; SKEIN_NO_MEMORY. The caller
 * frees with fd_list_free, whatever was returned. */
int fd_list_read(const char *proc, uint32_t pid, uint64_t deadline_ns, struct fd_list *list);
void fd_list_free(struct fd_list *list);

/* What a link's text says; false where out of memory. */
bool fd_link_parse(const char *text, struct fd_row *row);

#endif
