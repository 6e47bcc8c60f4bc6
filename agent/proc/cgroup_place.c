/* SPDX-License-Identifier: Apache-2.0
 *
 * Where cgroups lie and what memory they leave; see cgroup_place.h. Texts are hostile: a container
 * may have mounted anything there.
 */
#include "cgroup_place.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "descriptor.h"
#include "kept_file.h"
#include "proc_text.h"

#define NO_LIMIT_V1  (UINT64_C(1) << 62) /* what version 1 shows for "none" is near 2^63 */
#define STAT_BYTES   8192                /* of memory.stat */
#define CGROUP_SHARE 8                   /* of a limit that is left to others */
#define HOST_SHARE   32

/* ---- places ---- */

/* Where the path of the controller's hierarchy begins: "4:cpu,cpuacct:/path"; NULL: none. */
static const char *cgroup_find(const char *text, const char *controller)
{
    if (controller == NULL)
        return text_line_find(text, "0::");
    size_t n = strlen(controller);
    for (; text != NULL; text = text_line_next(text)) {
        const char *at = text + strcspn(text, ":\n");
        while (*at == ':' || *at == ',') {
            at++;
            size_t word = strcspn(at, ",:\n");
            const char *path = at + strcspn(at, ":\n");
            if (word == n && memcmp(at, controller, n) == 0 && *path == ':')
                return path + 1;
            at += word;
            if (*at == ':') /* behind it is the path */
                break;
        }
    }
    return NULL;
}

int proc_parse_cgroup(const char *text, const char *controller, char *path, size_t path_bytes)
{
    const char *at = cgroup_find(text, controller);
    if (at == NULL)
        return SKEIN_NOT_FOUND;
    size_t n = strcspn(at, "\n");
    if (n == 0 || at[0] != '/' || n >= path_bytes)
        return SKEIN_CORRUPT;
    for (size_t i = 0; i + 2 < n; i++) {
        if (memcmp(at + i, "/..", 3) == 0 && (i + 3 == n || at[i + 3] == '/'))
            return SKEIN_CORRUPT;
    }
    memcpy(path, at, n);
    path[n] = '\0';
    return SKEIN_OK;
}

bool cgroup_place_find(const char *cgroups, const char *text, const char *controller,
                       struct cgroup_place *place)
{
    char path[CGROUP_TEXT_BYTES], unified[300];
    int n;
    place->v1 = proc_parse_cgroup(text, controller, path, sizeof path) == SKEIN_OK;
    if (place->v1) {
        n = snprintf(place->folder, sizeof place->folder, "%s/%s", cgroups, controller);
    } else {
        int fd;
        if (proc_parse_cgroup(text, NULL, path, sizeof path) != SKEIN_OK)
            return false;
        /* Beside version 1 the unified hierarchy has a folder of its own. */
        n = snprintf(unified, sizeof unified, "%s/unified", cgroups);
        fd = n > 0 && (size_t)n < sizeof unified ? kept_open(unified, "cgroup.procs") : -1;
        n = snprintf(place->folder, sizeof place->folder, "%s", fd >= 0 ? unified : cgroups);
        fd_close(&fd);
    }
    if (n <= 0 || (size_t)n + strlen(path) >= sizeof place->folder)
        return false;
    place->root = (size_t)n;
    if (strcmp(path, "/") != 0)
        memcpy(place->folder + n, path, strlen(path) + 1);
    return true;
}

bool cgroup_place_up(struct cgroup_place *place)
{
    char *slash = strrchr(place->folder, '/');
    if (slash == NULL || (size_t)(slash - place->folder) < place->root)
        return false;
    *slash = '\0';
    return true;
}

/* ---- memory ---- */

static bool number_read(const struct cgroup_place *place, const char *name, uint64_t *number)
{
    char text[64];
    const char *at = text;
    return once_read(place->folder, name, text, sizeof text) && text_number(&at, number);
}

bool cgroup_memory_max(const struct cgroup_place *place, uint64_t *bytes)
{
    uint64_t number;
    if (!number_read(place, place->v1 ? "memory.limit_in_bytes" : "memory.max", &number) ||
        (place->v1 && number >= NO_LIMIT_V1))
        return false;
    *bytes = number;
    return true;
}

/* Above memory.high, version 2 slows processes down until they hardly run. */
static bool memory_bound(const struct cgroup_place *place, uint64_t *bytes)
{
    uint64_t max = UINT64_MAX, high = UINT64_MAX;
    bool has_max = cgroup_memory_max(place, &max);
    bool has_high = !place->v1 && number_read(place, "memory.high", &high);
    *bytes = max < high ? max : high;
    return has_max || has_high;
}

static bool memory_place_find(const char *cgroups, const char *proc_pid, struct cgroup_place *place)
{
    char text[CGROUP_TEXT_BYTES];
    return once_read(proc_pid, "cgroup", text, sizeof text) &&
           cgroup_place_find(cgroups, text, "memory", place);
}

uint64_t cgroup_memory_limit(const char *cgroups, const char *proc_pid, uint64_t *group)
{
    struct cgroup_place place;
    uint64_t lowest = 0, bytes;
    *group = 0;
    if (!memory_place_find(cgroups, proc_pid, &place))
        return 0;
    for (unsigned level = 0; level < CGROUP_LEVELS_MAX; level++) {
        struct stat info;
        if (memory_bound(&place, &bytes) && bytes > 0 && (lowest == 0 || bytes < lowest) &&
            stat(place.folder, &info) == 0) {
            lowest = bytes;
            *group = info.st_ino;
        }
        if (!cgroup_place_up(&place))
            break;
    }
    return lowest;
}

static void room_narrow(struct memory_room *room, uint64_t limit, uint64_t used, uint64_t share)
{
    uint64_t keep = limit / share, left = used < limit ? limit - used : 0;
    uint64_t bytes = left > keep ? left - keep : 0;
    room->bytes = bytes < room->bytes ? bytes : room->bytes;
    room->is_short |= left < keep / 2;
}

static void cgroup_narrow(const struct cgroup_place *place, struct memory_room *room)
{
    char text[STAT_BYTES];
    uint64_t limit, used, files = 0;
    if (!memory_bound(place, &limit) ||
        !number_read(place, place->v1 ? "memory.usage_in_bytes" : "memory.current", &used))
        return;
    if (once_read(place->folder, "memory.stat", text, sizeof text))
        (void)text_value(text, place->v1 ? "total_inactive_file" : "inactive_file", &files);
    room_narrow(room, limit, used > files ? used - files : 0, CGROUP_SHARE);
}

void memory_room_read(const char *cgroups, const char *proc, struct memory_room *out)
{
    char text[STAT_BYTES], self[300];
    uint64_t total, available;
    struct cgroup_place place;
    *out = (struct memory_room){.bytes = UINT64_MAX};
    if (once_read(proc, "meminfo", text, sizeof text) && text_value(text, "MemTotal", &total) &&
        text_value(text, "MemAvailable", &available) && total <= UINT64_MAX / 1024 &&
        available <= total)
        room_narrow(out, total * 1024, (total - available) * 1024, HOST_SHARE);
    snprintf(self, sizeof self, "%s/self", proc);
    if (!memory_place_find(cgroups, self, &place))
        return;
    for (unsigned level = 0; level < CGROUP_LEVELS_MAX; level++) {
        cgroup_narrow(&place, out);
        if (!cgroup_place_up(&place))
            break;
    }
}
