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
#include "descriptor.h"
#include "dump_int.h"
#include "privacy.h"
#include "proc_info.h"

#define ROUNDS 3

static const struct partition_event_type type_state =
    EVIDENCE_TYPE("thread.state", SKEIN_CLASS_INSTANT, SKEIN_GROUP_APP,
                  EVIDENCE_ARG(STR, "state", ""), EVIDENCE_ARG(STR, "wchan", ""),
                  EVIDENCE_ARG(STR, "syscall", ""), EVIDENCE_ARG(U64, "cpu", "ns"),
                  EVIDENCE_ARG(U64, "voluntary", ""), EVIDENCE_ARG(U64, "involuntary", ""));
static const struct partition_event_type type_wait =
    EVIDENCE_TYPE("thread.wait", SKEIN_CLASS_INSTANT, SKEIN_GROUP_APP, EVIDENCE_ARG(STR, "for", ""),
                  EVIDENCE_ARG(PTR, "object", ""), EVIDENCE_ARG(U64, "holder", ""));
static const struct partition_event_type type_dump =
    EVIDENCE_TYPE("thread.dump", SKEIN_CLASS_INSTANT, SKEIN_GROUP_APP,
                  EVIDENCE_ARG(U64, "threads", ""), EVIDENCE_ARG(U64, "stacks", ""),
                  EVIDENCE_ARG(U64, "stopped", ""), EVIDENCE_ARG(U64, "stop", "ns"),
                  EVIDENCE_ARG(U64, "left_out", ""), EVIDENCE_ARG(STR, "title", ""));

struct dump_writer {
    struct evidence_out *out;
    int64_t state, wait;
};

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
    const struct partition_value state[] = {partition_text(state_text(thread->state)),
                                            partition_text(thread->wchan),
                                            partition_text(call),
                                            {.u64 = thread->cpu_ns},
                                            {.u64 = thread->voluntary},
                                            {.u64 = thread->involuntary}};
    evidence_event(w->out, index, w->state, thread->at_ns, 0, state);
    evidence_event_stack(w->out, thread->stack_id);
    if (thread->waits_for == NULL)
        return;
    const struct partition_value wait[] = {
        partition_text(thread->waits_for), {.u64 = thread->object}, {.u64 = thread->holder}};
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
        {.u64 = dump->left_out}, partition_text(title)};
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
    static const char refused[] =
        "refused; needs CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH, or its user "
        "without Yama, and no seccomp filter of ptrace";
    static const char *const texts[DUMP_STACK_FATES] = {
        [DUMP_STACK_NONE] = "",
        [DUMP_STACK_TAKEN] = "",
        [DUMP_STACK_MOVED] = "ran on",
        [DUMP_STACK_REFUSED] = refused,
        [DUMP_STACK_TRACED] = "traced by another",
        [DUMP_STACK_LATE] = "did not stop in time",
        [DUMP_STACK_UNREADABLE] = "could not be read",
        [DUMP_STACK_UNTRIED] = "no time left",
        [DUMP_STACK_BEYOND] = "beyond the first 512",
        [DUMP_STACK_ENDED] = "ended"};
    return texts[fate];
}

/* A thread that ended while it was looked at is none of those that were there. */
static bool fate_lacks(enum dump_stack_fate fate)
{
    return fate != DUMP_STACK_TAKEN && fate != DUMP_STACK_ENDED;
}

/* Of a stack that was copied and not walked the pc is told, or what frame pointers lead to. */
static const char *unwalked_text(int status)
{
    switch (status) {
    case SKEIN_NOT_FOUND:
        return "no symbolizer";
    case SKEIN_TIMEOUT:
    case SKEIN_BUSY:
        return "the symbolizer had no time left";
    case SKEIN_AGAIN:
    case SKEIN_CLOSED:
    case SKEIN_REFUSED:
        return "the symbolizer has died, or hung, of late";
    default:
        return "no walk was possible";
    }
}

static void dump_say(const struct dump *dump, struct evidence_note *note)
{
    char why[EVIDENCE_WHY_BYTES];
    int n = snprintf(why, sizeof why, "%zu thread%s", dump->count, dump->count == 1 ? "" : "s");
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
    if (dump->unwalked > 0 && (size_t)n < sizeof why)
        snprintf(why + n, sizeof why - (size_t)n, "; stacks of %zu not walked: %s", dump->unwalked,
                 unwalked_text(dump->walk_status));
    whole &= dump->unwalked == 0;
    evidence_say(note, whole ? EVIDENCE_TAKEN : EVIDENCE_PARTIAL, "%s", why);
}

/* ---- the dump ---- */

static bool is_same_process(const struct process *p)
{
    uint64_t ticks;
    return proc_start_ticks((pid_t)p->pid, &ticks) == SKEIN_OK &&
           (p->start_clock_ticks == 0 || ticks == p->start_clock_ticks);
}

/* Those of which a stack is copied are looked at again for that; the others are told of as they are
 * seen here. */
static bool thread_look(const struct dump *dump, struct dump_thread *thread, bool again)
{
    bool there = dump_look(dump, thread);
    for (int round = 1; again && there && thread->blocked && round < ROUNDS; round++) {
        if (dump_same(dump, thread))
            break;
        there = dump_look(dump, thread);
    }
    return there;
}

static void threads_look(struct dump *dump)
{
    size_t there = 0;
    for (size_t i = 0; i < dump->count; i++)
        if (thread_look(dump, &dump->threads[i], there >= DUMP_STACKS_MAX))
            dump->threads[there++] = dump->threads[i];
    dump->count = there;
}

static bool is_left(const struct dump *dump)
{
    for (size_t i = 0; i < dump->count && i < DUMP_STACKS_MAX; i++)
        if (dump->threads[i].fate == DUMP_STACK_NONE)
            return true;
    return false;
}

/* Those that were never got hold of, as they ran when it was the sleepers' turn, and slept when it
 * was that of those who run. */
static void left_settle(struct dump *dump)
{
    for (size_t i = 0; i < dump->count; i++) {
        struct dump_thread *thread = &dump->threads[i];
        if (thread->fate == DUMP_STACK_NONE)
            thread->fate = i >= DUMP_STACKS_MAX            ? DUMP_STACK_BEYOND
                           : dump->stop_ns >= DUMP_STOP_NS ? DUMP_STACK_UNTRIED
                                                           : DUMP_STACK_MOVED;
    }
}

void dump_take(struct dump *dump)
{
    threads_look(dump);
    for (int round = 0; round < ROUNDS && (round == 0 || is_left(dump)); round++) {
        dump_copy_running(dump); /* first: what runs is not there for long */
        dump_copy_blocked(dump);
    }
    left_settle(dump);
    dump_locks(dump);
    fates_count(dump);
}

void dump_fini(struct dump *dump)
{
    for (size_t i = 0; i < dump->count; i++)
        free(dump->threads[i].stack);
    free(dump->threads);
    fd_close(&dump->task);
}

static void collect(void *source, const struct evidence_ask *ask, struct evidence_out *out,
                    struct evidence_note *note)
{
    (void)source;
    struct dump dump = {.pid = ask->process->pid, .task = -1, .deadline_ns = ask->deadline_ns};
    char title[128] = "";
    uint64_t at_ns = clock_monotonic_ns();
    const struct dump_program program = dump_program(dump.pid);
    int status = process_state(ask->process) == PROCESS_LIVE ? dump_list(&dump) : SKEIN_NOT_FOUND;
    /* The folder that is open is this process's, or an earlier one's that is empty by now. */
    if (status == SKEIN_OK && !is_same_process(ask->process))
        status = SKEIN_NOT_FOUND;
    if (status == SKEIN_OK) {
        dump_take(&dump);
        title_get(ask->process, title, sizeof title);
        dump_walk(ask, out, &dump);
        const struct dump_program after = dump_program(dump.pid);
        if (memcmp(&program, &after, sizeof program) == 0 || after.stack_begin == 0) {
            dump_write(out, &dump, at_ns, title);
            dump_say(&dump, note);
        } else {
            evidence_say(note, EVIDENCE_NONE, "the process began another program (exec) meanwhile");
        }
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
