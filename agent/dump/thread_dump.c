/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread dump as a source of evidence; see thread_dump.h. First everything is looked at and
 * copied, as close together as may be; then it is unwound and written.
 */
#include "thread_dump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "dump_int.h"
#include "privacy.h"
#include "proc_info.h"

#define ARG(type, name, unit)                                                                      \
    {                                                                                              \
        SKEIN_T_##type, name, unit                                                                 \
    }

static const struct partition_event_type type_state = {
    .name = "thread.state",
    .klass = SKEIN_CLASS_INSTANT,
    .nargs = 6,
    .args = {ARG(STR, "state", ""), ARG(STR, "wchan", ""), ARG(STR, "syscall", ""),
             ARG(U64, "cpu", "ns"), ARG(U64, "voluntary", ""), ARG(U64, "involuntary", "")}};
static const struct partition_event_type type_wait = {
    .name = "thread.wait",
    .klass = SKEIN_CLASS_INSTANT,
    .nargs = 3,
    .args = {ARG(STR, "for", ""), ARG(PTR, "object", ""), ARG(U64, "holder", "")}};
static const struct partition_event_type type_dump = {
    .name = "thread.dump",
    .klass = SKEIN_CLASS_INSTANT,
    .nargs = 6,
    .args = {ARG(U64, "threads", ""), ARG(U64, "stacks", ""), ARG(U64, "stopped", ""),
             ARG(U64, "stop", "ns"), ARG(U64, "left_out", ""), ARG(STR, "title", "")}};

struct dump_writer {
    struct evidence_out *out;
    int64_t state, wait;
};

static struct partition_value value_of_text(const char *text)
{
    return (struct partition_value){.str = {.text = text, .len = (uint32_t)strlen(text)}};
}

/* As ps says it, in words. */
static const char *state_text(char state)
{
    static const struct {
        char state;
        const char *text;
    } texts[] = {{'R', "running"}, {'S', "sleeping"}, {'D', "uninterruptible"},
                 {'T', "stopped"}, {'t', "traced"},   {'Z', "zombie"},
                 {'X', "dead"},    {'I', "idle"},     {'P', "parked"}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].state == state)
            return texts[i].text;
    return "unknown";
}

static void thread_write(const struct dump_writer *w, const struct dump_thread *thread)
{
    char call[192];
    dump_call_text(thread, call, sizeof call);
    int64_t index = evidence_thread(w->out, thread->tid, thread->name);
    const struct partition_value state[] = {value_of_text(state_text(thread->state)),
                                            value_of_text(thread->wchan),
                                            value_of_text(call),
                                            {.u64 = thread->cpu_ns},
                                            {.u64 = thread->voluntary},
                                            {.u64 = thread->involuntary}};
    evidence_event(w->out, index, w->state, thread->at_ns, 0, state);
    evidence_event_stack(w->out, thread->stack_id);
    if (thread->waits_for == NULL)
        return;
    const struct partition_value wait[] = {
        value_of_text(thread->waits_for), {.u64 = thread->object}, {.u64 = thread->holder}};
    evidence_event(w->out, index, w->wait, thread->at_ns, 0, wait);
}

/* The process's title, which a program may change to say what it does ("UPDATE waiting"), as far as
 * evidence.privacy lets a capture have it. */
static void title_get(const struct process *p, char *title, size_t bytes)
{
    char plain[128] = "";
    const struct process_page *page = p->page;
    uint32_t mode = page != NULL ? skein_load32(&page->privacy) : PRIVACY_OFF;
    title[0] = '\0';
    if (mode > PRIVACY_HASH)
        return;
    proc_title((pid_t)p->pid, plain, sizeof plain);
    if (mode == PRIVACY_OFF || plain[0] == '\0')
        snprintf(title, bytes, "%s", plain);
    else
        privacy_hash(page->privacy_key, plain, strlen(plain), title);
}

static void dump_write(struct evidence_out *out, const struct dump *dump, uint64_t at_ns,
                       const char *title)
{
    const struct dump_writer writer = {.out = out,
                                       .state = evidence_type(out, &type_state),
                                       .wait = evidence_type(out, &type_wait)};
    const struct partition_value values[] = {
        {.u64 = dump->count},    {.u64 = dump->fates[DUMP_STACK_TAKEN]},
        {.u64 = dump->stopped},  {.u64 = dump->stop_ns},
        {.u64 = dump->left_out}, value_of_text(title)};
    evidence_event(out, evidence_thread(out, 0, EVIDENCE_THREAD_PROCESS),
                   evidence_type(out, &type_dump), at_ns, 0, values);
    for (size_t i = 0; i < dump->count; i++)
        thread_write(&writer, &dump->threads[i]);
}

/* ---- what became of it ---- */

static void fates_count(struct dump *dump)
{
    for (size_t i = 0; i < dump->count; i++)
        dump->fates[dump->threads[i].fate]++;
}

static const char *fate_text(enum dump_stack_fate fate)
{
    static const char *const texts[DUMP_STACK_FATES] = {
        [DUMP_STACK_NONE] = "beyond the first 512",
        [DUMP_STACK_TAKEN] = "",
        [DUMP_STACK_MOVED] = "ran on",
        [DUMP_STACK_REFUSED] = "refused (CAP_SYS_PTRACE would allow it)",
        [DUMP_STACK_TRACED] = "traced by another",
        [DUMP_STACK_LATE] = "did not stop in time",
        [DUMP_STACK_ENDED] = "ended"};
    return texts[fate];
}

/* A thread that ended while it was looked at is none of those that were there. */
static bool fate_lacks(enum dump_stack_fate fate)
{
    return fate != DUMP_STACK_TAKEN && fate != DUMP_STACK_ENDED;
}

static void dump_say(const struct dump *dump, struct evidence_note *note)
{
    char why[EVIDENCE_WHY_BYTES];
    int n = snprintf(why, sizeof why, "%zu threads", dump->count);
    bool whole = dump->left_out == 0;
    if (dump->stopped > 0)
        n += snprintf(why + n, sizeof why - (size_t)n, ", %zu stopped for %" PRIu64 " us",
                      dump->stopped, dump->stop_ns / 1000);
    if (dump->left_out > 0)
        n += snprintf(why + n, sizeof why - (size_t)n, "; %zu more left out", dump->left_out);
    for (int fate = 0; fate < DUMP_STACK_FATES && (size_t)n < sizeof why; fate++) {
        if (dump->fates[fate] == 0 || !fate_lacks((enum dump_stack_fate)fate))
            continue;
        whole = false;
        n += snprintf(why + n, sizeof why - (size_t)n, "; no stack of %zu: %s", dump->fates[fate],
                      fate_text((enum dump_stack_fate)fate));
    }
    evidence_say(note, whole ? EVIDENCE_TAKEN : EVIDENCE_PARTIAL, "%s", why);
}

/* ---- the dump ---- */

static bool is_same_process(const struct process *p)
{
    uint64_t ticks;
    return proc_start_ticks((pid_t)p->pid, &ticks) == SKEIN_OK &&
           (p->start_clock_ticks == 0 || ticks == p->start_clock_ticks);
}

static void threads_look(struct dump *dump)
{
    size_t there = 0;
    for (size_t i = 0; i < dump->count; i++)
        if (dump_look(dump, &dump->threads[i]))
            dump->threads[there++] = dump->threads[i];
    dump->count = there;
}

void dump_take(struct dump *dump)
{
    threads_look(dump);
    dump_copy_running(dump); /* first: what runs is not there for long */
    dump_copy_blocked(dump);
    dump_locks(dump);
    fates_count(dump);
}

void dump_fini(struct dump *dump)
{
    for (size_t i = 0; i < dump->count; i++)
        free(dump->threads[i].stack);
    free(dump->threads);
    if (dump->task >= 0)
        close(dump->task);
}

static void collect(void *source, const struct evidence_ask *ask, struct evidence_out *out,
                    struct evidence_note *note)
{
    (void)source;
    struct dump dump = {.pid = ask->process->pid, .task = -1, .deadline_ns = ask->deadline_ns};
    char title[128] = "";
    uint64_t at_ns = clock_monotonic_ns();
    int status = process_state(ask->process) == PROCESS_LIVE ? dump_list(&dump) : SKEIN_NOT_FOUND;
    /* The folder that is open is this process's, or an earlier one's that is empty by now. */
    if (status == SKEIN_OK && !is_same_process(ask->process))
        status = SKEIN_NOT_FOUND;
    if (status == SKEIN_OK) {
        dump_take(&dump);
        title_get(ask->process, title, sizeof title);
        dump_walk(ask, out, &dump);
        dump_write(out, &dump, at_ns, title);
        dump_say(&dump, note);
    } else if (status == SKEIN_NOT_FOUND) {
        evidence_say(note, EVIDENCE_NONE, "the process had ended");
    } else {
        evidence_say(note, EVIDENCE_REFUSED, "its threads cannot be listed: %s",
                     skein_status_text(status));
    }
    dump_fini(&dump);
}

const struct evidence_source thread_dump_source = {
    .kind = "threads", .when = EVIDENCE_AT_BEGIN, .collect = collect};
