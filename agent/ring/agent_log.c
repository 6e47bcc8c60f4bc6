/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines a minute; see agent_log.h. Loop thread.
 */
#include "agent_log.h"

#include "clock.h"
#include "log.h"

static const struct {
    const char *words;
    uint32_t most;
} lines[AGENT_LINES] = {
#define X(kind, words, most) {words, most},
    AGENT_LINE_LIST(X)
#undef X
};

void agent_log_process(struct agent_log *log, enum agent_line kind, const struct process *p,
                       const char *reason)
{
    struct log_limit *limit = &log->limits[kind];
    limit->most = lines[kind].most;
    if (!log_limit_take(limit, clock_monotonic_ns()))
        return;
    bool warns = kind == AGENT_LINE_REFUSED || kind == AGENT_LINE_CRASH_HELD;
    log_write(warns ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, "agent", lines[kind].words, "service",
              p->service, "pid", log_fmt("%u", p->pid), reason != NULL ? "reason" : NULL, reason,
              NULL);
}

void agent_log_snapshot(struct process *p, const char *why, const char *reason)
{
    if (log_limit_take(&p->snapshot_lines, clock_monotonic_ns()))
        log_info("agent", why, "service", p->service, "pid", log_fmt("%u", p->pid), "reason",
                 reason, NULL);
}

void agent_log_tell(struct agent_log *log, bool last)
{
    uint64_t now_ns = clock_monotonic_ns();
    for (size_t i = 0; i < AGENT_LINES; i++) {
        uint32_t held = log_limit_over(&log->limits[i], now_ns, last);
        if (held > 0)
            log_info("agent", log_fmt("... and %u more in 60 s", held), "line", lines[i].words,
                     NULL);
    }
}

void agent_log_tell_process(struct process *p, bool last)
{
    uint32_t held = log_limit_over(&p->snapshot_lines, clock_monotonic_ns(), last);
    if (held > 0)
        log_info("agent", log_fmt("... and %u more in 60 s", held), "line", "snapshot not taken",
                 "service", p->service, "pid", log_fmt("%u", p->pid), NULL);
}
