/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens to a running agent: processes come, ask and go; the collector commands. Loop thread,
 * but for the two that hand over from the uplink's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_clock.h"
#include "agent_int.h"
#include "clock.h"
#include "log.h"
#include "look_apart.h"
#include "proc_info.h"
#include "process_report.h"
#include "rule_match.h"

#define LIST_DELAY_MS 20 /* many processes that start together make one list */

static void symbols_count(const struct agent *agent, struct agent_counters *out)
{
    struct symbolizer_counters counters;
    if (agent->symbolizer == NULL)
        return;
    symbolizer_count(agent->symbolizer, &counters);
    out->symbols_asked = counters.asked;
    out->symbols_named = counters.named;
    out->symbolizer_failures = counters.crashed + counters.hung;
}

void agent_send_list(void *context)
{
    struct agent *agent = context;
    roster_file_save(agent->roster_file, agent->boot, attach_processes(agent->attach),
                     agent->roster);
    agent_log_tell(&agent->lines, false);
    for (struct process *p = attach_processes(agent->attach); p != NULL; p = p->next)
        agent_log_tell_process(p, false);
    struct clock_snapshot now;
    struct agent_counters counters = {0};
    attach_count(agent->attach, &counters);
    counters.captures_refused = captures_refused(agent->captures);
    symbols_count(agent, &counters);
    counters.looks_given_up = apart_given_up();
    uplink_set_local(agent->uplink, &counters);
    host_page_snapshot(agent->host_page, &now);
    if (process_report_send(agent->uplink, agent->state.agent, ++agent->list_version,
                            attach_processes(agent->attach), agent->roster, &now) != SKEIN_OK)
        log_error("agent", "out of memory: the process list is not sent", NULL);
}

static void list_due(void *context)
{
    struct agent *agent = context;
    agent->list_timer = NULL; /* one-shot */
    agent_send_list(agent);
}

static void list_changed(struct agent *agent)
{
    roster_file_changed(agent->roster_file);
    if (agent->list_timer == NULL)
        agent->list_timer = loop_timer_add(agent->loop, LIST_DELAY_MS, 0, list_due, agent);
    if (agent->list_timer == NULL)
        agent_send_list(agent);
}

/* ---- processes ---- */

void agent_set_page(const struct agent *agent, struct process *process)
{
    /* Relaxed: a producer may see the old or the new value; nothing else depends on it. */
    __atomic_store_n(&process->page->threshold_ns[SKEIN_GROUP_IO], agent->config->io_threshold_ns,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&process->page->threshold_ns[SKEIN_GROUP_NET], agent->config->io_threshold_ns,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&process->page->threshold_ns[SKEIN_GROUP_LOCK],
                     agent->config->lock_threshold_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&process->page->privacy, agent->privacy.mode, __ATOMIC_RELAXED);
    __atomic_store_n(&process->page->stack_ns, agent->config->stack_ns, __ATOMIC_RELAXED);
}

/* ---- captures of processes that come back ---- */

static void awaited_remove(struct agent *agent, struct awaited *awaited)
{
    TAILQ_REMOVE(&agent->awaited, awaited, link);
    agent->awaited_count--;
    free(awaited);
}

static void capture_awaited(struct agent *agent, struct process *process)
{
    struct awaited *awaited, *next;
    for (awaited = TAILQ_FIRST(&agent->awaited); awaited != NULL; awaited = next) {
        next = TAILQ_NEXT(awaited, link);
        if (!process_uid_equal(&awaited->process, &process->uid))
            continue;
        (void)captures_begin(agent->captures, &awaited->order, process);
        awaited_remove(agent, awaited);
    }
}

static bool process_await(struct agent *agent, const struct capture_order *order,
                          const struct process_uid *process)
{
    struct awaited *awaited;
    TAILQ_FOREACH(awaited, &agent->awaited, link) {
        if (capture_id_equal(&awaited->order.capture, &order->capture) &&
            process_uid_equal(&awaited->process, process))
            return true;
    }
    if (agent->grace_timer == NULL || agent->awaited_count >= AGENT_AWAITED_MAX)
        return false;
    awaited = malloc(sizeof *awaited);
    if (awaited == NULL)
        return false;
    *awaited = (struct awaited){.process = *process, .order = *order};
    TAILQ_INSERT_TAIL(&agent->awaited, awaited, link);
    agent->awaited_count++;
    return true;
}

static void unattached_refuse(struct agent *agent, const struct capture_id *capture,
                              const struct process_uid *process)
{
    captures_refuse(agent->captures, capture, process, "the process is not attached to this agent");
}

static void capture_noted(struct agent *agent, const struct capture_order *order,
                          const struct roster_entry *noted);

/* Of those of whom it is known what became of them nobody waits longer; `over`: of none. */
static void awaited_settle(struct agent *agent, bool over)
{
    struct awaited *awaited, *next;
    for (awaited = TAILQ_FIRST(&agent->awaited); awaited != NULL; awaited = next) {
        next = TAILQ_NEXT(awaited, link);
        const struct roster_entry *noted = roster_find(agent->roster, &awaited->process);
        bool known = noted != NULL && !roster_is_awaited(noted);
        if (!known && !over)
            continue;
        if (known)
            capture_noted(agent, &awaited->order, noted);
        else
            unattached_refuse(agent, &awaited->order.capture, &awaited->process);
        awaited_remove(agent, awaited);
    }
}

void agent_grace_over(void *context)
{
    struct agent *agent = context;
    agent->grace_timer = NULL; /* one-shot */
    loop_timer_cancel(agent->loop, &agent->look_timer);
    (void)roster_refresh(agent->roster);
    agent_held_settle(agent, NULL);
    agent_held_forget(agent);
    if (roster_overdue(agent->roster))
        list_changed(agent);
    awaited_settle(agent, true);
}

void agent_look(void *context)
{
    struct agent *agent = context;
    if (!roster_refresh(agent->roster))
        return;
    awaited_settle(agent, false);
    list_changed(agent);
}

/* It had a ring when the agent before this one ended, and comes without: it has called exec. */
static void lacks_expected(const struct roster_entry *noted, struct process *process)
{
    bool adopted = process->recorded_ns < process->attached_ns;
    if (adopted || process->lacks_from_ns != 0 || process->watched)
        return;
    process_lacks_set(process, noted->recorded_ns, process->attached_ns);
    process->unrecorded = LOSS_REPLACED;
}

static void on_attached(void *context, struct process *process)
{
    struct agent *agent = context;
    agent_log_process(&agent->lines, process->watched ? AGENT_LINE_WATCHED : AGENT_LINE_ATTACHED,
                      process, NULL);
    const struct roster_entry *noted = roster_find(agent->roster, &process->uid);
    if (noted != NULL && noted->reason == LOSS_REFUSED)
        process->unrecorded = LOSS_REFUSED;
    if (noted != NULL && noted->expected)
        lacks_expected(noted, process);
    if (noted != NULL && noted->process != NULL && process->lacks_from_ns != 0)
        agent_left_look(agent, noted->process, process);
    roster_attached(agent->roster, process);
    if (agent->outside != NULL)
        outside_describe(agent->outside, process);
    process_report_begin(process, &process->attached_clock);
    agent_set_page(agent, process);
    if (vitals_attached(agent->vitals, process->pid, process->start_clock_ticks) != SKEIN_OK)
        log_error("vitals", "out of memory: a process is looked at in captures alone", NULL);
    if (agent->crash != NULL && crash_attached(agent->crash, process) != SKEIN_OK)
        log_error("crash", "out of memory: a crash of this process will have no stack", NULL);
    capture_awaited(agent, process);
    agent_rules_attached(agent->rules, process);
    agent_policies_attached(agent->policies, process);
    list_changed(agent);
}

static void on_taken(void *context, struct process *process)
{
    struct agent *agent = context;
    process->start_stack = proc_random_stack((pid_t)process->pid);
    process->code_kib = proc_code_kib((pid_t)process->pid);
    agent_held_settle(agent, process);
    agent_held_put(agent, process, false);
}

static const char *refusal_text(int status)
{
    switch (status) {
    case SKEIN_BUSY:
        return "the agent watches as many processes as watch.max allows";
    case SKEIN_FULL:
        return "the agent had no room for it, or no more for its user "
               "(ring.total_max_bytes, processes.max)";
    case SKEIN_DENIED:
        return "the agent does not take processes of other users (processes.same_uid_only)";
    case SKEIN_CLOSED:
        return "it had ended before the agent came to it";
    default:
        return log_fmt("the agent did not take it: %s", skein_status_text(status));
    }
}

static void on_refused(void *context, const struct process *process, int status)
{
    struct agent *agent = context;
    if (!roster_refuse(agent->roster, process, status))
        return;
    agent_log_process(&agent->lines, AGENT_LINE_REFUSED, process, refusal_text(status));
    list_changed(agent);
}

static void on_snapshot(void *context, struct process *process, const char *reason)
{
    struct agent *agent = context;
    const struct agent_config *config = agent->config;
    if (agent_rules_asked(agent->rules, process, reason))
        return;
    struct capture_order order = {.capture = capture_id_new(),
                                  .trigger = TRIGGER_APPLICATION,
                                  .reason = reason,
                                  .at_ns = agent_clock_ns(),
                                  .pre_ms = config->snapshot_pre_ms,
                                  .post_ms = config->snapshot_post_ms};
    char why[CAPTURE_WHY_BYTES];
    int status =
        agent_rules_capture(agent->rules, &order, process, config->snapshot_cooldown_ms, why);
    if (status == SKEIN_AGAIN)
        agent_log_snapshot(process, "snapshot within the cooldown: not taken", reason);
    else if (status == SKEIN_REFUSED)
        agent_log_snapshot(process, log_fmt("snapshot not taken: %s", why), reason);
}

static void on_heartbeat(void *context, struct process *process)
{
    struct agent *agent = context;
    agent_rules_heartbeat(agent->rules, process);
}

static const char *reason_signal(int signal)
{
    const char *name = sigabbrev_np(signal); /* none: a real-time signal */
    return log_fmt("the process was killed by signal %d%s%s%s", signal, name != NULL ? " (SIG" : "",
                   name != NULL ? name : "", name != NULL ? ")" : "");
}

static void crash_reason(const struct process *process, char out[160])
{
    if (!process->death.known)
        snprintf(out, 160, "the process ended without saying so");
    else if (process->death.signal != 0)
        snprintf(out, 160, "%s", reason_signal(process->death.signal));
    else
        snprintf(out, 160, "the process ended with status %d", process->death.status);
}

static void capture_crash(struct agent *agent, struct process *process)
{
    char reason[160];
    crash_reason(process, reason);
    bool by_exit = process->death.known && process->death.signal == 0;
    bool held =
        by_exit && !rule_exit_counts(process->is_service, process->start_ns, process->gone_ns);
    if (agent_rules_crashed(agent->rules, process, by_exit, held, reason) ||
        !agent->config->crash_capture || (by_exit && !agent->config->crash_exit))
        return;
    if (held) {
        agent_log_process(&agent->lines, AGENT_LINE_EXIT_HELD, process, RULE_EXIT_HELD);
        return;
    }
    struct capture_order order = {.capture = capture_id_new(),
                                  .trigger = TRIGGER_CRASH,
                                  .reason = reason,
                                  .at_ns = process->gone_ns,
                                  .pre_ms = agent->config->crash_pre_ms};
    char why[CAPTURE_WHY_BYTES];
    int status =
        agent_rules_capture(agent->rules, &order, process, agent->config->crash_cooldown_ms, why);
    if (status == SKEIN_AGAIN)
        agent_log_process(&agent->lines, AGENT_LINE_CRASH_HELD, process, NULL);
    else if (status == SKEIN_REFUSED)
        agent_log_process(&agent->lines, AGENT_LINE_CRASH_REFUSED, process, why);
}

static void on_gone(void *context, struct process *process)
{
    struct agent *agent = context;
    bool crashed = process_state(process) == PROCESS_CRASHED;
    agent_log_process(&agent->lines, crashed ? AGENT_LINE_CRASHED : AGENT_LINE_ENDED, process,
                      NULL);
    agent_log_tell_process(process, true);
    if (agent->crash != NULL)
        crash_gone(agent->crash, process); /* first: the kernel overwrites what it has noted */
    captures_process_gone(agent->captures, process);
    if (crashed)
        capture_crash(agent, process);
    roster_keep(agent->roster, process);
    const struct roster_entry *kept = roster_find(agent->roster, &process->uid);
    if (kept != NULL && kept->process == process)
        agent_held_put(agent, process, true);
    else
        agent_held_drop(agent, process);
    agent_rules_gone(agent->rules, process);
    agent_policies_gone(agent->policies, process);
    if (agent->outside != NULL)
        outside_gone(agent->outside, process);
    vitals_gone(agent->vitals, process->pid, process->start_clock_ticks);
    list_changed(agent);
}

static uint64_t kept_bytes(void *context)
{
    const struct agent *agent = context;
    return roster_ring_bytes(agent->roster);
}

static bool kept_release(void *context)
{
    const struct agent *agent = context;
    return roster_release_one(agent->roster);
}

static bool on_expected(void *context, const struct process_uid *uid)
{
    const struct agent *agent = context;
    const struct roster_entry *noted = roster_find(agent->roster, uid);
    return agent->grace_timer != NULL && noted != NULL && roster_is_awaited(noted);
}

static int on_watch(void *context, const struct attach_watch *ask, const struct ucred *asker,
                    char *text, size_t bytes)
{
    const struct agent *agent = context;
    return outside_ask(agent->outside, ask, asker, text, bytes);
}

const struct attach_hooks agent_attach_hooks = {.attached = on_attached,
                                                .taken = on_taken,
                                                .refused = on_refused,
                                                .snapshot = on_snapshot,
                                                .heartbeat = on_heartbeat,
                                                .gone = on_gone,
                                                .kept_bytes = kept_bytes,
                                                .kept_release = kept_release,
                                                .expected = on_expected,
                                                .watch = on_watch};

/* ---- the collector ---- */

struct handover {
    struct agent *agent;
    struct agent_command *command;
};

static struct process *process_find(struct agent *agent, const struct process_uid *uid)
{
    for (struct process *p = attach_processes(agent->attach); p != NULL; p = p->next) {
        if (process_uid_equal(&p->uid, uid))
            return p;
    }
    return NULL;
}

static const char *noted_text(const struct roster_entry *noted)
{
    if (noted->reason == LOSS_REFUSED)
        return refusal_text(noted->status);
    if (noted->reason == LOSS_WATCHED)
        return CAPTURE_WATCHED_TEXT;
    if (noted->reason == LOSS_AGENT_RESTARTED)
        return "it has not come back since the agent was restarted, as it has recorded nothing";
    return "it has ended, and its ring is not kept any more (ring.linger_ms)";
}

/* One that is not attached: its ring, where it is kept, or when it ran. */
static void capture_noted(struct agent *agent, const struct capture_order *order,
                          const struct roster_entry *noted)
{
    if (noted->process != NULL) {
        (void)captures_begin(agent->captures, order, noted->process);
        return;
    }
    const struct loss_gap life = {
        noted->start_ns, noted->ended_ns != 0 ? noted->ended_ns : UINT64_MAX, noted->reason};
    captures_absent(agent->captures, order, &noted->uid, &life, noted_text(noted));
}

static void capture_process(struct agent *agent, const struct capture_order *order,
                            const struct process_uid *uid)
{
    struct process *process = process_find(agent, uid);
    const struct roster_entry *noted = roster_find(agent->roster, uid);
    if (process != NULL)
        (void)captures_begin(agent->captures, order, process);
    else if (noted != NULL && !roster_is_awaited(noted))
        capture_noted(agent, order, noted);
    else if (!process_await(agent, order, uid))
        unattached_refuse(agent, &order->capture, uid);
}

/* The collector's instant on the agent's line. */
static uint64_t line_time(const struct agent_command *command, uint64_t collector_ns)
{
    return clock_shift_ns(collector_ns, -command->map.offset_ns);
}

static void command_capture(struct agent *agent, const struct agent_command *command)
{
    struct capture_order order = {.capture = command->says.capture,
                                  .trigger = TRIGGER_REQUEST,
                                  .at_ns = line_time(command, command->says.at_ns),
                                  .pre_ms = command->says.pre_ms,
                                  .post_ms = command->says.post_ms,
                                  .stream_ms = command->says.stream_ms,
                                  .unshared = command->says.unshared,
                                  .wish = command->says.wish,
                                  .map = command->map};
    if (command->says.deadline_ns != 0)
        order.deadline_ns = line_time(command, command->says.deadline_ns);
    if (agent->list_timer != NULL) { /* the collector may want those that it does not know yet */
        loop_timer_cancel(agent->loop, &agent->list_timer);
        agent_send_list(agent);
    }
    (void)roster_refresh(agent->roster);
    for (size_t i = 0; i < command->says.process_count; i++) {
        const struct process_uid *uid = &command->says.processes[i];
        if (captures_know(agent->captures, &command->says.capture, uid))
            continue; /* P-7 */
        capture_process(agent, &order, uid);
    }
    uplink_command_ack(agent->uplink, command->frame_id, command->says.command, NULL);
}

static void command_stop(struct agent *agent, const struct agent_command *command)
{
    captures_stop(agent->captures, &command->says.capture);
    struct awaited *awaited, *next;
    for (awaited = TAILQ_FIRST(&agent->awaited); awaited != NULL; awaited = next) {
        next = TAILQ_NEXT(awaited, link);
        if (!capture_id_equal(&awaited->order.capture, &command->says.capture))
            continue;
        unattached_refuse(agent, &command->says.capture, &awaited->process);
        awaited_remove(agent, awaited);
    }
}

static void command_set(struct agent *agent, const struct agent_command *command)
{
    char why[512] = "";
    uint64_t generation = command->says.generation;
    int status = SKEIN_OK;
    if (command->says.kind == COMMAND_RULES)
        status = agent_rules_set(agent->rules, generation, command->says.set, why, sizeof why);
    else if (command->says.kind == COMMAND_RULES_CHANGE)
        status = agent_rules_change(agent->rules, command->says.base, generation, command->says.set,
                                    command->says.removed, why, sizeof why);
    else
        status =
            agent_policies_set(agent->policies, generation, command->says.set, why, sizeof why);
    if (status != SKEIN_OK && why[0] == '\0')
        strncpy(why, skein_status_text(status), sizeof why - 1);
    uplink_command_ack(agent->uplink, command->frame_id, command->says.command,
                       status == SKEIN_OK ? NULL : why);
}

static void command_run(void *context)
{
    struct handover *handover = context;
    struct agent *agent = handover->agent;
    struct agent_command *command = handover->command;
    switch (agent->ended ? 0 : (int)command->says.kind) {
    case COMMAND_CAPTURE:
        command_capture(agent, command);
        break;
    case COMMAND_STOP:
        command_stop(agent, command);
        uplink_command_ack(agent->uplink, command->frame_id, command->says.command, NULL);
        break;
    case COMMAND_PROCESSES:
        agent_send_list(agent);
        uplink_command_ack(agent->uplink, command->frame_id, command->says.command, NULL);
        break;
    case COMMAND_RULES:
    case COMMAND_RULES_CHANGE:
    case COMMAND_POLICIES:
        command_set(agent, command);
        break;
    default:
        break;
    }
    agent_command_free(&command);
    free(handover);
}

void agent_on_command(void *context, struct agent_command *command)
{
    struct agent *agent = context;
    struct handover *handover = malloc(sizeof *handover);
    if (handover != NULL)
        *handover = (struct handover){agent, command};
    if (handover == NULL || loop_post(agent->loop, command_run, handover) != SKEIN_OK) {
        free(handover);
        agent_command_free(&command); /* unacknowledged: it comes again (P-7) */
    }
}

static void agent_report_everything(void *context)
{
    struct agent *agent = context;
    if (agent->ended)
        return;
    roster_untold(agent->roster);
    agent_send_list(agent);
    agent_rules_report(agent->rules);
    agent_policies_report(agent->policies);
}

void agent_on_welcome(void *context, uint64_t rules_generation)
{
    (void)rules_generation; /* the collector compares it with our heartbeats' and pushes */
    struct agent *agent = context;
    if (loop_post(agent->loop, agent_report_everything, agent) != SKEIN_OK)
        log_error("agent", "out of memory: the collector is not told of the processes", NULL);
}
