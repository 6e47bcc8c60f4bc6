/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread dump as a source of evidence; see thread_dump.h. What dump_take.c has looked at and copied is
 * unwound and written.
 */
#include "thread_dump.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "dump_int.h"
#include "privacy.h"
#include "proc_info.h"

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
static void title_get(const struct process *p, const char *plain, char title[128])
{
    const struct process_page *page = p->page;
    uint32_t mode = page != NULL ? skein_load32(&page->privacy) : PRIVACY_OFF;
    title[0] = '\0';
    if (mode > PRIVACY_HASH)
        return;
    if (mode == PRIVACY_OFF || plain[0] == '\0')
        snprintf(title, 128, "%s", plain);
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
        [DUMP_STACK_ENDED] = "ended",
        [DUMP_STACK_HANGS] = "its memory did not answer (FUSE, userfaultfd)"};
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

/* ---- the source ---- */

static void unrun_say(int status, struct evidence_note *note)
{
    if (status == SKEIN_NOT_FOUND)
        evidence_say(note, EVIDENCE_NONE, "the process had ended");
    else if (status == SKEIN_TIMEOUT)
        evidence_say(note, EVIDENCE_NONE, "a look at the process hung in the kernel");
    else if (status == SKEIN_BUSY)
        evidence_say(note, EVIDENCE_NONE,
                     "not looked at: a look at it, or at others of its user, hung of late");
    else
        evidence_say(note, EVIDENCE_REFUSED, "its threads cannot be listed: %s",
                     skein_status_text(status));
}

static void collect(void *source, const struct evidence_ask *ask, struct evidence_out *out,
                    struct evidence_note *note)
{
    (void)source;
    char title[128] = "";
    uint64_t at_ns = clock_monotonic_ns();
    uint64_t left_ns = ask->deadline_ns > at_ns ? ask->deadline_ns - at_ns : 0;
    struct dump *dump = dump_new(ask->process->pid, ask->deadline_ns - left_ns / 4);
    const struct dump_program program = dump_program(ask->process->pid);
    int status = dump == NULL                                  ? SKEIN_NO_MEMORY
                 : process_state(ask->process) == PROCESS_LIVE ? SKEIN_OK
                                                               : SKEIN_NOT_FOUND;
    if (status == SKEIN_OK) {
        dump->start_clock_ticks = ask->process->start_clock_ticks;
        status = dump_run(&dump);
    }
    if (status == SKEIN_OK) {
        title_get(ask->process, dump->title, title);
        dump_walk(ask, out, dump);
        const struct dump_program after = dump_program(dump->pid);
        if (memcmp(&program, &after, sizeof program) == 0 || after.stack_begin == 0) {
            dump_write(out, dump, at_ns, title);
            dump_say(dump, note);
        } else {
            evidence_say(note, EVIDENCE_NONE, "the process began another program (exec) meanwhile");
        }
    } else {
        unrun_say(status, note);
    }
    dump_discard(&dump);
}

const struct evidence_source thread_dump_source = {
    .kind = "threads", .when = EVIDENCE_AT_BEGIN, .collect = collect};
