/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures and judges; see rule_system.h. Reads files that are a page at most, keeps only numbers.
 */
#include "rule_system.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cgroup_place.h"
#include "clock.h"
#include "kept_file.h"
#include "proc_load.h"

/* ---- measuring ---- */

static bool process_file_get(const struct system_source *source, const char *name, char *text,
                             size_t bytes)
{
    char path[64];
    snprintf(path, sizeof path, "%u/%s", source->pid, name);
    return once_read(source->proc, path, text, bytes);
}

/* Microseconds of CPU time so far. */
static bool cpu_total(const struct rule_spec *spec, const struct system_source *source,
                      uint64_t *total_us)
{
    char text[4096];
    uint64_t ticks = 0;
    struct proc_stat stat;
    if (spec->system.host) {
        if (!once_read(source->proc, "stat", text, sizeof text) ||
            proc_parse_host_cpu(text, &ticks) != SKEIN_OK)
            return false;
    } else if (process_file_get(source, "stat", text, sizeof text) &&
               proc_parse_stat(text, &stat) == SKEIN_OK &&
               stat.start_ticks == source->start_ticks) {
        ticks = stat.user_ticks + stat.system_ticks;
    } else {
        return false;
    }
    *total_us = ticks * (1000000u / (uint64_t)sysconf(_SC_CLK_TCK));
    return true;
}

/* Microseconds of stall so far. */
static bool pressure_total(const struct rule_spec *spec, const struct system_source *source,
                           uint64_t *total_us)
{
    char text[4096], path[4096], name[4200];
    bool read;
    if (spec->system.host) {
        snprintf(name, sizeof name, "pressure/%s", spec->system.resource);
        read = once_read(source->proc, name, text, sizeof text);
    } else {
        if (!process_file_get(source, "cgroup", text, sizeof text) ||
            proc_parse_cgroup(text, NULL, path, sizeof path) != SKEIN_OK)
            return false;
        snprintf(name, sizeof name, "%s/%s.pressure", path, spec->system.resource);
        read = once_read(source->cgroup, name, text, sizeof text);
    }
    return read && proc_parse_pressure(text, spec->system.full, total_us) == SKEIN_OK;
}

static bool memory_used(const struct rule_spec *spec, const struct system_source *source,
                        double *measured)
{
    char text[4096];
    uint64_t total, available, pages;
    if (!once_read(source->proc, "meminfo", text, sizeof text) ||
        proc_parse_meminfo(text, &total, &available) != SKEIN_OK)
        return false;
    double used = (double)(total - available);
    if (!spec->system.host) {
        if (!process_file_get(source, "statm", text, sizeof text) ||
            proc_parse_statm(text, &pages) != SKEIN_OK)
            return false;
        used = (double)pages * (double)sysconf(_SC_PAGESIZE);
    }
    *measured = spec->system.bytes ? used : used * 100.0 / (double)total;
    return true;
}

/* Percent of the time since the look before. */
static int rate(struct system_state *state, uint64_t now_ns, uint64_t total_us, double *measured)
{
    struct system_state before = *state;
    state->begun = true;
    state->total = total_us;
    state->at_ns = now_ns;
    if (!before.begun || now_ns <= before.at_ns || total_us < before.total)
        return SKEIN_AGAIN;
    *measured =
        (double)(total_us - before.total) * 1000.0 * 100.0 / (double)(now_ns - before.at_ns);
    return SKEIN_OK;
}

int system_measure(const struct rule_spec *spec, const struct system_source *source,
                   uint64_t now_ns, struct system_state *state, double *measured, char *why,
                   size_t why_bytes)
{
    uint64_t total_us = 0;
    const char *what = spec->system.host ? "the host" : "the process";
    if (spec->when == RULE_CPU && cpu_total(spec, source, &total_us))
        return rate(state, now_ns, total_us, measured);
    if (spec->when == RULE_PRESSURE && pressure_total(spec, source, &total_us))
        return rate(state, now_ns, total_us, measured);
    if (spec->when == RULE_MEMORY && memory_used(spec, source, measured))
        return SKEIN_OK;
    state->begun = state->above = false;
    if (spec->when == RULE_PRESSURE)
        snprintf(why, why_bytes, "the kernel does not tell the %s pressure (%s) of %s",
                 spec->system.resource, spec->system.full ? "full" : "some",
                 spec->system.host ? "the host" : "the process's cgroup");
    else
        snprintf(why, why_bytes, "the %s of %s cannot be read",
                 spec->when == RULE_CPU ? "CPU time" : "memory", what);
    return SKEIN_NOT_FOUND;
}

/* ---- judging ---- */

static void reason_put(const struct rule_spec *spec, const struct system_state *state,
                       uint64_t held_ms, struct check_result *result)
{
    char what[64], time[48] = "";
    const char *unit = spec->system.bytes ? "bytes" : "%";
    const char *of = spec->system.host ? "the host" : "the process";
    if (spec->when == RULE_PRESSURE)
        snprintf(what, sizeof what, "%s pressure (%s)", spec->system.resource,
                 spec->system.full ? "full" : "some");
    else
        snprintf(what, sizeof what, "%s", spec->when == RULE_CPU ? "CPU use" : "memory");
    if (spec->system.for_ms > 0)
        snprintf(time, sizeof time, " for %" PRIu64 " ms", held_ms);
    snprintf(result->reason, sizeof result->reason,
             "%s of %s%s was at least %.*f %s%s (limit %" PRIu64 " %s)", what, of,
             spec->when == RULE_PRESSURE && !spec->system.host ? "'s cgroup" : "",
             spec->system.bytes ? 0 : 1, state->least, unit, time, spec->system.above, unit);
}

void system_judge(const struct rule_spec *spec, struct system_state *state, uint64_t now_ns,
                  double measured, struct check_result *result)
{
    result->passed = true;
    if (!(measured > (double)spec->system.above)) {
        state->above = false;
        return;
    }
    if (!state->above || measured < state->least)
        state->least = measured;
    if (!state->above)
        state->above_since_ns = now_ns;
    state->above = true;
    uint64_t held_ms = (now_ns - state->above_since_ns) / NS_PER_MS;
    if (held_ms < spec->system.for_ms)
        return;
    result->passed = false;
    reason_put(spec, state, held_ms, result);
}

uint64_t system_every_ms(const struct rule_spec *spec)
{
    uint64_t half = spec->system.for_ms / 2;
    if (half == 0 || half > 1000)
        return 1000;
    return half < 200 ? 200 : half;
}
