/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a process's cgroups lie, version 2, 1 or both, and how much memory they may use. Keeps
 * nothing. Any thread.
 */
#ifndef CGROUP_PLACE_H
#define CGROUP_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/status.h"

#define CGROUP_FOLDER     "/sys/fs/cgroup"
#define CGROUP_LEVELS_MAX 64 /* that are looked at, from a process's own upward */
#define CGROUP_TEXT_BYTES 4096

/* /proc/PID/cgroup: the path in the unified hierarchy, "/system.slice/redis.service", or in that of
 * a controller of version 1. SKEIN_NOT_FOUND: it is in none. A path that climbs ("..") is
 * corrupt. */
int proc_parse_cgroup(const char *text, const char *controller, char *path, size_t path_bytes);

/* A place in a hierarchy: the folder where that is mounted and the path in it. */
struct cgroup_place {
    char folder[CGROUP_TEXT_BYTES + 320];
    size_t root; /* bytes of the folder that are the mount's */
    bool v1;
};

/* That of a controller, for who has this text as /proc/PID/cgroup. False: it is in none. */
bool cgroup_place_find(const char *cgroups, const char *text, const char *controller,
                       struct cgroup_place *place);
/* One level up; false at the mount. */
bool cgroup_place_up(struct cgroup_place *place);

/* The limit of this one place alone. False: it has none. */
bool cgroup_memory_max(const struct cgroup_place *place, uint64_t *bytes);

/* The lowest limit of the memory of "proc/PID", from its own cgroup upward, and a number for the
 * cgroup that has it, which no other there has. 0: there is none. */
uint64_t cgroup_memory_limit(const char *cgroups, const char *proc_pid, uint64_t *group);

/* What the process itself may take of the host's memory, and of its own cgroups', and leave as much
 * as others, and its own work, are to find: an eighth of a cgroup's limit, a 32nd of the host's
 * memory. Pages of files that can be dropped count as free. */
struct memory_room {
    uint64_t bytes;
    bool is_short; /* half of what is to be left is gone: memory is to be given back */
};
void memory_room_read(const char *cgroups, const char *proc, struct memory_room *out);

#endif
