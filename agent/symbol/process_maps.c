/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of /proc/PID/maps; see process_maps.h.
 */
#include "process_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "array.h"
#include "buf.h"
#include "clock.h"
#include "errno_status.h"
#include "look_apart.h"
#include "text_whole.h"

#define TEXT_MAX (64u << 20)
#define DELETED  " (deleted)"
#define READ_NS  (500 * NS_PER_MS)

/* The kernel writes a line's end in a path as \012, and nothing else otherwise. */
static void path_unescape(char *path)
{
    char *to = path;
    for (const char *from = path; *from != '\0';) {
        if (strncmp(from, "\\012", 4) == 0) {
            *to++ = '\n';
            from += 4;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}

static bool path_undelete(char *path)
{
    size_t n = strlen(path), tail = sizeof DELETED - 1;
    if (n <= tail || strcmp(path + n - tail, DELETED) != 0)
        return false;
    path[n - tail] = '\0';
    return true;
}

/* A number and the character behind it. False: there is none. */
static bool number_take(char **at, int base, char behind, uint64_t *out)
{
    char *end;
    if (strspn(*at, "0123456789abcdef") == 0)
        return false;
    errno = 0;
    *out = strtoull(*at, &end, base);
    if (errno != 0 || *end != behind)
        return false;
    *at = end + 1;
    return true;
}

/* False: no mapping, or not executable. */
static bool line_read(char *line, struct process_map *map)
{
    uint64_t start, end, offset, inode, major_number, minor_number;
    char *at = line;
    if (!number_take(&at, 16, '-', &start) || !number_take(&at, 16, ' ', &end) || start >= end)
        return false;
    size_t rights = strcspn(at, " ");
    if (rights != 4 || at[2] != 'x' || at[4] != ' ')
        return false;
    at += 5;
    if (!number_take(&at, 16, ' ', &offset) || !number_take(&at, 16, ':', &major_number) ||
        !number_take(&at, 16, ' ', &minor_number) || !number_take(&at, 10, ' ', &inode))
        return false;
    char *path = at + strspn(at, " ");
    *map = (struct process_map){.mapping = {.start = start, .end = end, .offset = offset},
                                .device = makedev((unsigned)major_number, (unsigned)minor_number),
                                .inode = inode};
    map->deleted = inode != 0 && path_undelete(path);
    path_unescape(path);
    map->mapping.path = path;
    return true;
}

static int maps_compare(const void *a, const void *b)
{
    const struct process_map *x = a, *y = b;
    return x->mapping.start < y->mapping.start ? -1 : x->mapping.start > y->mapping.start;
}

static int text_take(char *text, struct process_maps *out)
{
    *out = (struct process_maps){.text = text};
    for (char *line = text; *line != '\0';) {
        char *next = line + strcspn(line, "\n");
        bool last = *next == '\0';
        *next = '\0';
        struct process_map map;
        bool wanted = line_read(line, &map);
        if (wanted && out->count == PROCESS_MAPS_MAX) {
            out->left_out++;
        } else if (wanted) {
            if (!array_grow(out->items, out->count + 1, &out->cap)) {
                process_maps_free(out);
                return SKEIN_NO_MEMORY;
            }
            out->items[out->count++] = map;
        }
        line = last ? next : next + 1;
    }
    if (out->count > 0)
        qsort(out->items, out->count, sizeof *out->items, maps_compare);
    return SKEIN_OK;
}

int process_maps_parse(const char *text, size_t n, struct process_maps *out)
{
    *out = (struct process_maps){0};
    char *copy = malloc(n + 1);
    if (copy == NULL)
        return SKEIN_NO_MEMORY;
    memcpy(copy, text, n);
    copy[n] = '\0';
    return text_take(copy, out);
}

static void line_last_drop(struct buf *text)
{
    char *end = memrchr(text->data, '\n', text->len);
    if (end != NULL)
        *end = '\0';
}

static int maps_read(pid_t pid, struct process_maps *out)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ESRCH ? SKEIN_NOT_FOUND : status_of_errno(errno);
    struct buf text = {0};
    int status = text_whole_read(fd, TEXT_MAX, &text);
    close(fd);
    bool cut = status == SKEIN_TOO_LARGE;
    if (cut) /* the last line may be half of one */
        line_last_drop(&text);
    if (status != SKEIN_OK && !cut) {
        buf_fini(&text);
        return status;
    }
    status = text_take((char *)text.data, out);
    out->left_out += cut && status == SKEIN_OK;
    return status;
}

/* ---- apart ---- */

struct maps_look {
    pid_t pid;
    int status;
    struct process_maps maps;
};

static void maps_look(struct apart *apart, void *context)
{
    struct maps_look *look = context;
    look->status = apart_at(apart, look->pid) ? maps_read(look->pid, &look->maps) : SKEIN_BUSY;
}

static void maps_look_free(void *context)
{
    struct maps_look *look = context;
    process_maps_free(&look->maps);
    free(look);
}

int process_maps_read(pid_t pid, struct process_maps *out)
{
    *out = (struct process_maps){0};
    if (pid == getpid())
        return maps_read(pid, out);
    struct maps_look *look = calloc(1, sizeof *look);
    if (look == NULL)
        return SKEIN_NO_MEMORY;
    look->pid = pid;
    int status = apart_run(maps_look, maps_look_free, look, READ_NS);
    if (status == SKEIN_TIMEOUT)
        return status; /* the look is the other thread's */
    status = status == SKEIN_OK ? look->status : status;
    if (status == SKEIN_OK) {
        *out = look->maps;
        look->maps = (struct process_maps){0};
    }
    maps_look_free(look);
    return status;
}

void process_maps_free(struct process_maps *maps)
{
    free(maps->items);
    free(maps->text);
    *maps = (struct process_maps){0};
}

struct process_map *process_maps_find(const struct process_maps *maps, uint64_t address)
{
    size_t i = 0;
    array_find(i, 0, maps->count, maps->items[i].mapping.start <= address);
    return i > 0 && address < maps->items[i - 1].mapping.end ? &maps->items[i - 1] : NULL;
}
