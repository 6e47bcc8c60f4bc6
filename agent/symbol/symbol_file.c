/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of processes; see symbol_file.h. What stands at a path may be anything: it is looked at by
 * an O_PATH descriptor first, and opened only if it is a regular file.
 */
#include "symbol_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "descriptor.h"
#include "errno_status.h"
#include "proc_info.h"
#include "proc_text.h"
#include "symbol_open.h"

#define DEBUG_FOLDER "/usr/lib/debug"

/* ---- opening what stands at a path ---- */

static int regular_reopen(int path_fd)
{
    struct stat about;
    char name[64];
    int fd = -1, failed = EACCES;
    if (path_fd < 0)
        return -1;
    if (fstat(path_fd, &about) == 0 && S_ISREG(about.st_mode)) {
        snprintf(name, sizeof name, "/proc/self/fd/%d", path_fd);
        fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        failed = errno;
    }
    close(path_fd);
    errno = failed;
    return fd;
}

/* By O_PATH: nothing of it is touched. */
static int path_find(int root, const char *path, uint64_t resolve)
{
    if (root < 0)
        return open(path, O_PATH | O_CLOEXEC);
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve};
    return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

int symbol_path_open(int root, const char *path, uint64_t resolve)
{
    return regular_reopen(path_find(root, path, resolve));
}

int symbol_regular_open(const char *path)
{
    return symbol_path_open(-1, path, 0);
}

bool symbol_build_id_is(int fd, const uint8_t *id, size_t bytes)
{
    uint8_t found[BUILD_ID_MAX], found_bytes;
    return build_id_read(fd, found, &found_bytes) == SKEIN_OK && found_bytes == bytes &&
           memcmp(found, id, bytes) == 0;
}

static int link_open(pid_t pid, const char *name)
{
    char path[96];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    return symbol_path_open(-1, path, 0);
}

/* ---- which file it is ---- */

static int identity_read(int fd, struct symbol_identity *out, struct stat *about)
{
    if (fstat(fd, about) != 0)
        return status_of_errno(errno);
    *out = (struct symbol_identity){.device = about->st_dev,
                                    .inode = about->st_ino,
                                    .bytes = (uint64_t)about->st_size,
                                    .changed_ns = (uint64_t)about->st_ctim.tv_sec * 1000000000u +
                                                  (uint64_t)about->st_ctim.tv_nsec,
                                    .modified_ns = (uint64_t)about->st_mtim.tv_sec * 1000000000u +
                                                   (uint64_t)about->st_mtim.tv_nsec};
    return SKEIN_OK;
}

int symbol_file_know(struct symbol_file *file)
{
    struct stat about;
    int status = identity_read(file->fd, &file->identity, &about);
    if (status == SKEIN_OK)
        status = build_id_read(file->fd, file->build_id, &file->build_id_bytes);
    return status == SKEIN_NOT_FOUND ? SKEIN_OK : status;
}

/* Whether the file is what the mapping says: a file with a build id by that, for one that was
 * overwritten in its place keeps its inode. */
static bool file_matches(const struct symbol_file *file, const struct partition_mapping *mapping,
                         const struct process_map *now)
{
    if (mapping->build_id_bytes > 0)
        return file->build_id_bytes == mapping->build_id_bytes &&
               memcmp(file->build_id, mapping->build_id, mapping->build_id_bytes) == 0;
    return now != NULL && file->identity.device == now->device &&
           file->identity.inode == now->inode;
}

/* Takes fd; true: it is the one, and file has it. */
static bool file_take(int fd, const struct partition_mapping *mapping,
                      const struct process_map *now, struct symbol_file *file, int *status)
{
    if (fd < 0) {
        if (*status == SKEIN_NOT_FOUND && errno != ENOENT)
            *status = errno == EACCES || errno == EPERM ? SKEIN_DENIED : SKEIN_NOT_FOUND;
        return false;
    }
    file->fd = fd;
    if (symbol_file_know(file) == SKEIN_OK && file_matches(file, mapping, now))
        return true;
    *status = SKEIN_REFUSED;
    file->fd = -1;
    close(fd);
    return false;
}

/* ---- a process's files ---- */

void symbol_place_open(pid_t pid, uint64_t start_clock_ticks, struct symbol_place *place)
{
    char path[64];
    uint64_t ticks = 0;
    *place = (struct symbol_place){.pid = pid};
    if (pid <= 0 || proc_start_ticks(pid, &ticks) != SKEIN_OK ||
        (start_clock_ticks != 0 && ticks != start_clock_ticks))
        place->pid = 0;
    snprintf(path, sizeof path, "/proc/%d/root", place->pid);
    if (place->pid > 0)
        place->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (place->pid == 0 || place->root < 0) { /* also one that has ended, and is not waited for */
        place->pid = 0;
        place->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    place->has_maps = place->pid > 0 && process_maps_read(place->pid, &place->maps) == SKEIN_OK;
}

void symbol_place_close(struct symbol_place *place)
{
    fd_close(&place->root);
    if (place->has_maps)
        process_maps_free(&place->maps);
    *place = (struct symbol_place){.root = -1};
}

/* The mapping as it is now; NULL: it is no more, or of another file. */
static const struct process_map *map_now(const struct symbol_place *place,
                                         const struct partition_mapping *mapping)
{
    const struct process_map *now =
        place->has_maps ? process_maps_find(&place->maps, mapping->start) : NULL;
    return now != NULL && now->inode != 0 && now->mapping.start == mapping->start &&
                   now->mapping.offset == mapping->offset &&
                   strcmp(now->mapping.path, mapping->path) == 0
               ? now
               : NULL;
}

/* The magic links of /proc need more rights than the paths do; they lead to files that are deleted,
 * or hidden by a mount, too. */
static bool file_find(const struct symbol_place *place, const struct partition_mapping *mapping,
                      struct symbol_file *file, int *status)
{
    const struct process_map *now = map_now(place, mapping);
    char name[64];
    if (place->pid > 0) {
        uint64_t start = now != NULL ? now->mapping.start : mapping->start;
        uint64_t end = now != NULL ? now->mapping.end : mapping->end;
        snprintf(name, sizeof name, "map_files/%" PRIx64 "-%" PRIx64, start, end);
        if (file_take(link_open(place->pid, name), mapping, now, file, status))
            return true;
    }
    if (place->root >= 0 && mapping->path[0] == '/' &&
        file_take(symbol_path_open(place->root, mapping->path, 0), mapping, now, file, status))
        return true;
    return place->pid > 0 && file_take(link_open(place->pid, "exe"), mapping, now, file, status);
}

/* ".build-id/ab/cdef.debug" below the folder. False: none can be there. */
static bool debug_path(const char *folder, const uint8_t *id, uint8_t bytes, char path[512])
{
    if (bytes < 2 || bytes > BUILD_ID_MAX)
        return false;
    int n = snprintf(path, 512, "%s/.build-id/%02x/", folder, id[0]);
    if (n < 0 || (size_t)n + 2 * BUILD_ID_MAX + sizeof ".debug" > 512)
        return false;
    for (size_t i = 1; i < bytes; i++)
        n += sprintf(path + n, "%02x", id[i]);
    strcpy(path + n, ".debug");
    return true;
}

int symbol_debug_open(int root, const char *folder, const uint8_t *id, uint8_t bytes,
                      struct symbol_identity *identity)
{
    char path[512];
    struct symbol_file file;
    if (!debug_path(folder, id, bytes, path))
        return -1;
    file.fd = symbol_path_open(root, path, 0);
    if (file.fd < 0)
        return -1;
    if (symbol_build_id_is(file.fd, id, bytes) && symbol_file_know(&file) == SKEIN_OK) {
        *identity = file.identity;
        return file.fd;
    }
    close(file.fd);
    return -1;
}

int symbol_file_open(const struct symbol_place *place, const struct partition_mapping *mapping,
                     struct symbol_file *file)
{
    int status = SKEIN_NOT_FOUND;
    *file = (struct symbol_file){.fd = -1, .debug_fd = -1};
    if (!file_find(place, mapping, file, &status))
        return status;
    /* This host's debug files first: a process cannot write them. */
    file->debug_fd =
        symbol_debug_open(-1, DEBUG_FOLDER, file->build_id, file->build_id_bytes, &file->debug);
    if (file->debug_fd < 0 && place->root >= 0)
        file->debug_fd = symbol_debug_open(place->root, DEBUG_FOLDER, file->build_id,
                                           file->build_id_bytes, &file->debug);
    return SKEIN_OK;
}

/* Takes fd. */
static bool identity_look(int fd, struct symbol_identity *identity)
{
    struct stat about;
    if (fd < 0)
        return false;
    bool regular = identity_read(fd, identity, &about) == SKEIN_OK && S_ISREG(about.st_mode);
    close(fd);
    return regular;
}

bool symbol_file_look(const struct symbol_place *place, const struct partition_mapping *mapping,
                      struct symbol_identity *identity)
{
    char name[96];
    const struct process_map *now = map_now(place, mapping);
    if (now == NULL)
        return false;
    snprintf(name, sizeof name, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, place->pid,
             now->mapping.start, now->mapping.end);
    return identity_look(path_find(-1, name, 0), identity) ||
           (place->root >= 0 && mapping->path[0] == '/' &&
            identity_look(path_find(place->root, mapping->path, 0), identity));
}

bool symbol_file_matches(const struct symbol_place *place, const struct partition_mapping *mapping,
                         const struct symbol_file *file)
{
    return file_matches(file, mapping, map_now(place, mapping));
}

void symbol_debug_look(const struct symbol_place *place, const uint8_t *id, uint8_t bytes,
                       struct symbol_identity *identity)
{
    char path[512];
    if (!debug_path(DEBUG_FOLDER, id, bytes, path) ||
        (!identity_look(path_find(-1, path, 0), identity) &&
         (place->root < 0 || !identity_look(path_find(place->root, path, 0), identity))))
        *identity = (struct symbol_identity){0};
}

void symbol_file_close(struct symbol_file *file)
{
    fd_close(&file->fd);
    fd_close(&file->debug_fd);
}

/* ---- what has no file of its own ---- */

/* Its number where it lives, and whose rights it has. */
static bool status_read(pid_t pid, int *inner_pid, uid_t *uid)
{
    char text[4096];
    if (proc_file_read(pid, "status", text, sizeof text) < 0)
        return false;
    uint64_t uids[2], inner; /* real, effective, … */
    const char *ids = text_line_find(text, "Uid:");
    if (ids == NULL || !text_numbers(&ids, uids, 2) || !text_last_number(text, "NSpid:", &inner))
        return false;
    *uid = (uid_t)uids[1];
    *inner_pid = (int)inner;
    return *inner_pid > 0;
}

int symbol_file_open_jit(const struct symbol_place *place, struct symbol_file *file)
{
    char path[64];
    int pid = 0;
    uid_t uid = 0;
    struct stat about;
    *file = (struct symbol_file){.fd = -1, .debug_fd = -1};
    if (place->pid <= 0 || place->root < 0 || !status_read(place->pid, &pid, &uid))
        return SKEIN_NOT_FOUND;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", pid);
    file->fd = symbol_path_open(place->root, path, RESOLVE_NO_SYMLINKS);
    if (file->fd < 0)
        return SKEIN_NOT_FOUND;
    /* Others may write to /tmp, and have links there to what they cannot read. */
    if (identity_read(file->fd, &file->identity, &about) == SKEIN_OK && about.st_uid == uid)
        return SKEIN_OK;
    symbol_file_close(file);
    return SKEIN_REFUSED;
}

int symbol_file_open_vdso(const struct partition_mapping *mapping, struct symbol_file *file)
{
    *file = (struct symbol_file){.fd = -1, .debug_fd = -1};
    uintptr_t here = (uintptr_t)getauxval(AT_SYSINFO_EHDR);
    struct process_maps maps;
    if (here == 0 || process_maps_read(getpid(), &maps) != SKEIN_OK)
        return SKEIN_NOT_FOUND;
    const struct process_map *map = process_maps_find(&maps, here);
    uint64_t bytes = map != NULL ? map->mapping.end - here : 0;
    process_maps_free(&maps);
    if (bytes == 0 || bytes != mapping->end - mapping->start)
        return SKEIN_REFUSED;
    file->fd = memfd_create("vdso", MFD_CLOEXEC);
    if (file->fd < 0)
        return status_of_errno(errno);
    if (write(file->fd, (const void *)here, bytes) != (ssize_t)bytes) {
        symbol_file_close(file);
        return SKEIN_IO;
    }
    file->identity =
        (struct symbol_identity){.bytes = bytes}; /* one for all: no file has inode 0 */
    (void)build_id_read(file->fd, file->build_id, &file->build_id_bytes);
    return SKEIN_OK;
}
