/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds and reads a process's cgroup; see cgroup_look.h. Texts are hostile: a container may have
 * mounted anything there.
 */
#include "cgroup_look.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cgroup_place.h"
#include "descriptor.h"
#include "kept_file.h"
#include "proc_load.h"
#include "proc_text.h"

#define TEXT_BYTES 4096

void cgroup_look_init(struct cgroup_look *look)
{
    *look = (struct cgroup_look){.cpu_stat = -1,
                                 .memory_now = -1,
                                 .memory_events = -1,
                                 .frozen = -1,
                                 .cpu_limit = __builtin_nan(""),
                                 .memory_limit = __builtin_nan("")};
}

void cgroup_look_close(struct cgroup_look *look)
{
    fd_close(&look->cpu_stat);
    fd_close(&look->memory_now);
    fd_close(&look->memory_events);
    fd_close(&look->frozen);
    cgroup_look_init(look);
}

typedef bool limit_fn(const struct cgroup_place *place, double *limit);

static bool cpu_limit_get(const struct cgroup_place *place, double *limit)
{
    char text[128], period[64];
    if (!place->v1)
        return once_read(place->folder, "cpu.max", text, sizeof text) &&
               proc_parse_cpu_max(text, limit) == SKEIN_OK;
    /* "-1": no quota, and no number */
    if (!once_read(place->folder, "cpu.cfs_quota_us", text, 64) ||
        !once_read(place->folder, "cpu.cfs_period_us", period, sizeof period))
        return false;
    size_t n = strcspn(text, "\n");
    snprintf(text + n, sizeof text - n, " %s", period);
    return proc_parse_cpu_max(text, limit) == SKEIN_OK;
}

static bool memory_limit_get(const struct cgroup_place *place, double *limit)
{
    uint64_t bytes;
    if (!cgroup_memory_max(place, &bytes))
        return false;
    *limit = (double)bytes;
    return true;
}

/* Moves the place to the nearest one with a limit; where there is none it stays. */
static void limited_find(struct cgroup_place *place, limit_fn *get, double *limit)
{
    struct cgroup_place at = *place;
    for (unsigned level = 0; level < CGROUP_LEVELS_MAX; level++) {
        if (get(&at, limit)) {
            *place = at;
            return;
        }
        if (!cgroup_place_up(&at))
            return;
    }
}

void cgroup_look_open(struct cgroup_look *look, const char *cgroups, const char *proc_pid)
{
    char text[TEXT_BYTES];
    struct cgroup_place place;
    cgroup_look_close(look);
    if (!once_read(proc_pid, "cgroup", text, sizeof text))
        return;
    if (cgroup_place_find(cgroups, text, "cpu", &place)) {
        limited_find(&place, cpu_limit_get, &look->cpu_limit);
        look->cpu_v1 = place.v1;
        look->cpu_stat = kept_open(place.folder, "cpu.stat");
    }
    if (cgroup_place_find(cgroups, text, "memory", &place)) {
        limited_find(&place, memory_limit_get, &look->memory_limit);
        look->memory_v1 = place.v1;
        look->memory_now =
            kept_open(place.folder, place.v1 ? "memory.usage_in_bytes" : "memory.current");
        look->memory_events =
            kept_open(place.folder, place.v1 ? "memory.failcnt" : "memory.events");
    }
    if (cgroup_place_find(cgroups, text, "freezer", &place)) {
        look->frozen_v1 = place.v1;
        look->frozen = kept_open(place.folder, place.v1 ? "freezer.state" : "cgroup.events");
    }
}

static uint64_t file_id(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 ? info.st_ino : 0;
}

static void throttling_read(const struct cgroup_look *look, char *text, struct cgroup_state *state)
{
    uint64_t time;
    if (!kept_read(look->cpu_stat, text, TEXT_BYTES) ||
        !text_value(text, "nr_throttled", &state->throttles) ||
        !text_value(text, look->cpu_v1 ? "throttled_time" : "throttled_usec", &time) ||
        time > UINT64_MAX / 1000)
        return;
    state->throttled_ns = look->cpu_v1 ? time : time * 1000;
    state->has_throttling = true;
    state->cpu_id = file_id(look->cpu_stat);
}

static void memory_read(const struct cgroup_look *look, char *text, struct cgroup_state *state)
{
    const char *at = text;
    state->has_memory =
        kept_read(look->memory_now, text, TEXT_BYTES) && text_number(&at, &state->memory_bytes);
    if (!kept_read(look->memory_events, text, TEXT_BYTES))
        return;
    at = text;
    state->memory_id = file_id(look->memory_events);
    state->has_events = look->memory_v1 ? text_number(&at, &state->limited)
                                        : text_value(text, "max", &state->limited) &&
                                              text_value(text, "oom_kill", &state->oom_kills);
}

void cgroup_look_read(const struct cgroup_look *look, struct cgroup_state *state)
{
    char text[TEXT_BYTES];
    uint64_t frozen = 0;
    *state = (struct cgroup_state){.frozen = false};
    throttling_read(look, text, state);
    memory_read(look, text, state);
    if (!kept_read(look->frozen, text, sizeof text))
        return;
    state->has_frozen = look->frozen_v1 || text_value(text, "frozen", &frozen);
    state->frozen = look->frozen_v1 ? strncmp(text, "FROZEN", 6) == 0 : frozen != 0;
}
