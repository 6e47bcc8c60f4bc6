/* SPDX-License-Identifier: Apache-2.0
 *
 * Files by build id; see symbol_sources.h.
 */
#include "symbol_sources.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "symbol_open.h"

#define HOST_DEBUG "/usr/lib/debug"

/* Takes fd; -1 where it is not the file. */
static int file_check(int fd, const struct partition_mapping *mapping)
{
    if (fd >= 0 && !symbol_build_id_is(fd, mapping->build_id, mapping->build_id_bytes)) {
        close(fd);
        return -1;
    }
    return fd;
}

static int path_try(const char *folder, const char *path, const struct partition_mapping *mapping)
{
    char whole[PATH_MAX];
    int n = snprintf(whole, sizeof whole, "%s%s%s", folder, folder[0] != '\0' ? "/" : "", path);
    if (n < 0 || (size_t)n >= sizeof whole)
        return -1;
    return file_check(symbol_regular_open(whole), mapping);
}

/* folder/.build-id/ab/cdef…, with what is behind it. */
static int build_id_try(const char *folder, const char *behind,
                        const struct partition_mapping *mapping)
{
    char path[2 * PARTITION_BUILD_ID_MAX + 32];
    int n = snprintf(path, sizeof path, ".build-id/%02x/", mapping->build_id[0]);
    for (size_t i = 1; i < mapping->build_id_bytes; i++)
        n += snprintf(path + n, sizeof path - (size_t)n, "%02x", mapping->build_id[i]);
    snprintf(path + n, sizeof path - (size_t)n, "%s", behind);
    return path_try(folder, path, mapping);
}

static int program_find(const struct symbol_sources *sources,
                        const struct partition_mapping *mapping)
{
    const char *slash = strrchr(mapping->path, '/');
    int fd = mapping->path[0] == '/' ? path_try("", mapping->path, mapping) : -1;
    for (size_t i = 0; fd < 0 && i < sources->folders->count; i++) {
        const char *folder = sources->folders->items[i];
        fd = build_id_try(folder, "", mapping);
        if (fd < 0 && mapping->path[0] == '/')
            fd = path_try(folder, mapping->path + 1, mapping);
        if (fd < 0 && slash != NULL && slash[1] != '\0')
            fd = path_try(folder, slash + 1, mapping);
    }
    if (fd < 0 && sources->server != NULL)
        fd = file_check(
            debuginfod_program_open(sources->server, mapping->build_id, mapping->build_id_bytes),
            mapping);
    return fd;
}

static int debug_find(const struct symbol_sources *sources, const struct partition_mapping *mapping)
{
    int fd = build_id_try(HOST_DEBUG, ".debug", mapping);
    for (size_t i = 0; fd < 0 && i < sources->folders->count; i++)
        fd = build_id_try(sources->folders->items[i], ".debug", mapping);
    if (fd < 0 && sources->server != NULL)
        fd = file_check(
            debuginfod_debug_open(sources->server, mapping->build_id, mapping->build_id_bytes),
            mapping);
    return fd;
}

int symbol_sources_find(void *context, const struct partition_mapping *mapping, int *fd,
                        int *debug_fd)
{
    const struct symbol_sources *sources = context;
    if (mapping->build_id_bytes < 2)
        return SKEIN_NOT_FOUND;
    /* A debug file alone does not say where the program's segments lie in its file. */
    *fd = program_find(sources, mapping);
    if (*fd < 0)
        return SKEIN_NOT_FOUND;
    *debug_fd = debug_find(sources, mapping);
    return SKEIN_OK;
}
