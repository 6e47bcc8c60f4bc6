/* SPDX-License-Identifier: Apache-2.0
 *
 * Links of /proc/PID/fd; see fd_list.h. A descriptor may close while it is read, and another come
 * with its number: each row is true of some moment of the reading.
 */
#include "fd_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "clock.h"
#include "proc_text.h"
#include "skein/status.h"

#define LOOK_EACH 256 /* links between two looks at the clock */

static void kind_set(struct fd_row *row, const char *text, size_t n)
{
    n = n < sizeof row->kind ? n : sizeof row->kind - 1;
    memcpy(row->kind, text, n);
    row->kind[n] = '\0';
}

/* "socket:[42]", "pipe:[42]", "net:[42]" */
static bool numbered_parse(const char *text, struct fd_row *row)
{
    static const char *const kinds[] = {"socket", "pipe"};
    const char *at = strstr(text, ":[");
    uint64_t number;
    if (at == NULL)
        return false;
    size_t n = (size_t)(at - text);
    at += 2;
    if (!text_number(&at, &number) || strcmp(at, "]") != 0)
        return false;
    kind_set(row, "namespace", 9);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i]) == n && memcmp(kinds[i], text, n) == 0)
            kind_set(row, text, n);
    row->inode = number;
    return true;
}

bool fd_link_parse(const char *text, struct fd_row *row)
{
    static const char anonymous[] = "anon_inode:", memory[] = "/memfd:";
    row->path = NULL;
    row->inode = 0;
    if (strncmp(text, anonymous, sizeof anonymous - 1) == 0) { /* "anon_inode:[eventfd]" */
        const char *kind = text + sizeof anonymous - 1;
        kind += *kind == '[';
        kind_set(row, kind, strcspn(kind, "]"));
        return true;
    }
    if (text[0] != '/' && numbered_parse(text, row))
        return true;
    bool is_memory = strncmp(text, memory, sizeof memory - 1) == 0;
    kind_set(row, is_memory ? "memfd" : "file", is_memory ? 5 : 4);
    row->path = strdup(is_memory ? text + sizeof memory - 1 : text);
    return row->path != NULL;
}

static int rows_compare(const void *a, const void *b)
{
    const struct fd_row *x = a, *y = b;
    return x->fd < y->fd ? -1 : x->fd > y->fd;
}

static int row_add(struct fd_list *list, int folder, const char *name)
{
    char text[FD_TEXT_BYTES];
    const char *at = name;
    uint64_t fd;
    if (!text_number(&at, &fd) || *at != '\0' || fd > UINT32_MAX)
        return SKEIN_OK;
    ssize_t n = readlinkat(folder, name, text, sizeof text - 1);
    if (n < 0)
        return errno == EACCES || errno == EPERM ? SKEIN_DENIED : SKEIN_OK; /* closed meanwhile */
    text[n] = '\0';
    if (!array_grow(list->rows, list->count + 1, &list->cap))
        return SKEIN_NO_MEMORY;
    struct fd_row *row = &list->rows[list->count];
    row->fd = (uint32_t)fd;
    if (!fd_link_parse(text, row))
        return SKEIN_NO_MEMORY;
    list->count++;
    return SKEIN_OK;
}

int fd_list_read(const char *proc, uint32_t pid, uint64_t deadline_ns, struct fd_list *list)
{
    char path[512];
    const struct dirent *entry;
    int status = SKEIN_OK;
    *list = (struct fd_list){.rows = NULL};
    snprintf(path, sizeof path, "%.480s/%u/fd", proc, pid);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return errno == EACCES || errno == EPERM ? SKEIN_DENIED : SKEIN_NOT_FOUND;
    while (status == SKEIN_OK && !list->cut && (entry = readdir(folder)) != NULL) {
        status = row_add(list, dirfd(folder), entry->d_name);
        list->cut = list->count == FD_LIST_MAX || (list->count % LOOK_EACH == LOOK_EACH - 1 &&
                                                   clock_monotonic_ns() > deadline_ns);
    }
    closedir(folder);
    if (list->count > 1)
        qsort(list->rows, list->count, sizeof *list->rows, rows_compare);
    return status;
}

void fd_list_free(struct fd_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->rows[i].path);
    free(list->rows);
    *list = (struct fd_list){.rows = NULL};
}
