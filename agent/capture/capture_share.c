/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may begin a capture that nobody asked the collector for. What is refused here costs neither a
 * cut nor room in the spool. Loop thread only.
 */
#include <inttypes.h>
#include <stdio.h>

#include "capture_job.h"
#include "clock.h"
#include "log.h"
#include "shares.h"

static enum share_rank rank_of(const struct process *process, enum trigger_type trigger,
                               const char *rule)
{
    const bool ruled = (rule != NULL && rule[0] != '\0') || trigger == TRIGGER_CRASH;
    return process->user == 0 ? SHARE_ROOT : ruled ? SHARE_RULED : SHARE_ASKED;
}

/* Whether the user's captures under way leave others room for theirs. */
static bool has_place(const struct captures *captures, uint32_t user, enum share_rank rank)
{
    const uint64_t open = share_open_to(rank, captures->settings.max_targets);
    const struct target *target;
    uint64_t own = 0;
    TAILQ_FOREACH(target, &captures->targets, link)
        own += target->trigger != TRIGGER_REQUEST && target->process->user == user;
    return captures->running < open &&
           (own == 0 || own < share_most(open, captures->running - own));
}

static const char *user_text(uint32_t user)
{
    return user == SHARE_USER_UNKNOWN ? "unknown" : log_fmt("%" PRIu32, user);
}

static const char *cause_text(enum trigger_type trigger, const char *rule)
{
    return rule != NULL && rule[0] != '\0' ? rule : trigger_text(trigger);
}

struct share_key capture_share_key(const struct process *process, enum trigger_type trigger,
                                   const char *rule)
{
    return process_share_key(process, cause_text(trigger, rule));
}

bool captures_admit(struct captures *captures, const struct process *process,
                    enum trigger_type trigger, const char *rule, char why[CAPTURE_WHY_BYTES])
{
    const uint64_t bound =
        captures->settings.uplink != NULL ? uplink_captures_per_hour(captures->settings.uplink) : 0;
    const char *cause = cause_text(trigger, rule);
    const struct share_key key = capture_share_key(process, trigger, rule);
    const enum share_rank rank = rank_of(process, trigger, rule);
    why[0] = '\0';
    if (!has_place(captures, process->user, rank))
        snprintf(
            why, CAPTURE_WHY_BYTES,
            "too many captures at once: the share of the user, or what is open to him, is used up (uid "
            "%s, %s)",
            user_text(process->user), cause);
    enum share_answer answer = why[0] != '\0' || bound == 0
                                   ? SHARE_GRANTED
                                   : shares_take(&captures->shares, clock_monotonic_ns(), &key, 1,
                                                 share_open_to(rank, bound));
    if (answer != SHARE_GRANTED)
        snprintf(why, CAPTURE_WHY_BYTES,
                 "captures an hour: %s is used up (uid %s, %.80s, %s); %" PRIu64 " of %" PRIu64
                 " are used by all",
                 share_answer_text(answer), user_text(process->user), process_program(process),
                 cause, shares_used(&captures->shares, clock_monotonic_ns()), bound);
    captures->refused += why[0] != '\0';
    return why[0] == '\0';
}

uint64_t captures_refused(const struct captures *captures)
{
    return captures->refused;
}
