/* SPDX-License-Identifier: Apache-2.0
 *
 * The events of a death; see crash_int.h. On the evidence thread; `death` and `maps` do not change
 * any more.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "crash_int.h"
#include "fault_line.h"
#include "sample_stack.h"
#include "signal_frame.h"
#include "signal_text.h"
#include "symbolizer.h"

#define HANDLED_MAX 4 /* faults that were handled, of a signal */

#if defined(__x86_64__)
#define REGISTER_SP 7
#define REGISTER_PC 8
static const char *const register_names[PERF_REGS] = {"rax", "rbx", "rcx", "rdx", "rsi", "rdi",
                                                      "rbp", "rsp", "rip", "r8",  "r9",  "r10",
                                                      "r11", "r12", "r13", "r14", "r15"};
#elif defined(__aarch64__)
#define REGISTER_SP 31
#define REGISTER_PC 32
static const char *const register_names[PERF_REGS] = {
    "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
    "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
    "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "lr",  "sp",  "pc"};
#else
#define REGISTER_SP 0
#define REGISTER_PC 0
static const char *const register_names[1] = {""};
#endif
#define REGISTERS_BYTES (PERF_REGS * 24 + 1)

struct writing {
    const struct crash *crash;
    const struct evidence_ask *ask;
    const struct process_maps *maps; /* NULL: not known */
    const struct crash_death *death;
    struct evidence_out *out;
    int64_t signal_type, raised_type, handled_type, sent_type;
    struct partition_stack walks[CRASH_SIGNALS_MAX]; /* count 0: none; pcs: malloc */
    uint64_t pointers;                               /* stacks by frame pointers, or none */
    bool log_denied, address_missing;
};

/* What one event says. */
struct told {
    int32_t signal, code;
    const char *access; /* "" */
    bool has_address;
    uint64_t address;
    const char *registers; /* "" */
};

/* ---- types ---- */

#define FAULT_TYPE(name)                                                                           \
    EVIDENCE_TYPE(name, SKEIN_CLASS_INSTANT, SKEIN_GROUP_THREAD, EVIDENCE_ARG(I64, "signal", ""),  \
                  EVIDENCE_ARG(I64, "code", ""), EVIDENCE_ARG(STR, "cause", ""),                   \
                  EVIDENCE_ARG(STR, "access", ""), EVIDENCE_ARG(STR, "address", ""),               \
                  EVIDENCE_ARG(STR, "registers", ""))

static const struct partition_event_type type_signal = FAULT_TYPE("crash.signal");
static const struct partition_event_type type_raised = FAULT_TYPE("crash.raised");
static const struct partition_event_type type_handled = FAULT_TYPE("crash.handled");
static const struct partition_event_type type_sent = EVIDENCE_TYPE(
    "crash.sent", SKEIN_CLASS_INSTANT, SKEIN_GROUP_THREAD, EVIDENCE_ARG(I64, "signal", ""),
    EVIDENCE_ARG(I64, "code", ""), EVIDENCE_ARG(STR, "cause", ""), EVIDENCE_ARG(U64, "by", ""),
    EVIDENCE_ARG(STR, "by_name", ""));

/* What sent itself a signal has given up: as abort() does. */
static const char *cause_of(const struct writing *w, int32_t signal, int32_t code)
{
    const struct crash_sender *sender = &w->death->sender;
    bool own = sender->pid == w->ask->process->pid && sender->signal == signal;
    return own && (code == SI_TKILL || code == SI_USER) ? "sent by itself"
                                                        : signal_cause(signal, code);
}

/* ---- threads and code ---- */

/* As the thread called itself in the ring, which is a hint; "": it did not. */
static void name_find(const struct process *p, uint32_t tid, char name[33])
{
    name[0] = '\0';
    for (uint32_t i = 0; p->ring != NULL && i < p->geometry.slots; i++) {
        const struct ring_slot *slot =
            (const struct ring_slot *)(const void *)(p->ring + p->geometry.slots_off) + i;
        if (__atomic_load_n(&slot->tid, __ATOMIC_RELAXED) != tid ||
            __atomic_load_n(&slot->state, __ATOMIC_RELAXED) == 0)
            continue;
        memcpy(name, slot->name, 32);
        name[32] = '\0';
        if (name[0] != '\0')
            return;
    }
}

static void mappings_write(struct writing *w, const uint64_t *pcs, uint32_t count)
{
    for (uint32_t i = 0; w->maps != NULL && i < count; i++) {
        const struct process_map *map = process_maps_find(w->maps, pcs[i] - (i > 0));
        if (map != NULL)
            evidence_mapping(w->out, &map->mapping);
    }
}

/* ---- walking ---- */

struct walking {
    struct writing *w;
    size_t of[CRASH_SIGNALS_MAX]; /* which signal each sample is of */
};

static void walk_take(void *context, size_t sample, const struct partition_stack *stack)
{
    struct walking *walking = context;
    struct partition_stack *walk = &walking->w->walks[walking->of[sample]];
    uint64_t *pcs = malloc(stack->count * sizeof *pcs);
    if (pcs == NULL)
        return;
    memcpy(pcs, stack->pcs, stack->count * sizeof *pcs);
    *walk = (struct partition_stack){pcs, stack->count, stack->end};
}

/* Three quarters of the time are for the walks: of who is dead the other sources have little to ask.
 * The process is gone: its files are looked for at their paths in this host's root, and taken where
 * their build ids are right. */
static void signals_walk(struct writing *w)
{
    struct symbolizer_sample samples[CRASH_SIGNALS_MAX];
    struct walking walking = {.w = w};
    struct symbolizer_process process = {.pid = 0};
    uint64_t now_ns = clock_monotonic_ns(), end_ns = w->ask->deadline_ns;
    size_t count = 0;
    if (w->ask->symbolizer == NULL || w->maps == NULL || now_ns >= end_ns)
        return;
    for (size_t i = 0; i < w->death->count; i++) {
        const struct perf_sample *sample = &w->death->signals[i].sample;
        if (!sample->has_regs || sample->stack == NULL ||
            !symbolizer_registers_perf(sample->regs, PERF_USER_REGS, samples[count].registers))
            continue;
        samples[count].address = sample->regs[REGISTER_SP];
        samples[count].stack = sample->stack;
        samples[count].stack_bytes = sample->stack_bytes;
        walking.of[count++] = i;
    }
    struct partition_mapping *mappings = calloc(w->maps->count + 1, sizeof *mappings);
    if (mappings == NULL || count == 0) {
        free(mappings);
        return;
    }
    for (size_t i = 0; i < w->maps->count; i++)
        mappings[i] = w->maps->items[i].mapping;
    process.mappings = mappings;
    process.mapping_count = w->maps->count;
    (void)symbolizer_unwind(w->ask->symbolizer, &process, samples, count, SAMPLE_STACK_PCS,
                            now_ns + (end_ns - now_ns) / 4 * 3, walk_take, &walking);
    free(mappings);
}

/* ---- writing ---- */

static void registers_put(const struct perf_sample *sample, char text[REGISTERS_BYTES + 1])
{
    size_t n = 0;
    text[0] = '\0';
    for (unsigned i = 0; sample->has_regs && i < PERF_REGS; i++)
        n += (size_t)snprintf(text + n, REGISTERS_BYTES - n, "%s%s 0x%" PRIx64, i > 0 ? " " : "",
                              register_names[i], sample->regs[i]);
}

static void fault_write(struct writing *w, int64_t type, uint32_t tid, uint64_t at_ns,
                        const struct told *told, const struct partition_stack *stack)
{
    char name[33], address[24] = "";
    name_find(w->ask->process, tid, name);
    if (told->has_address)
        snprintf(address, sizeof address, "0x%" PRIx64, told->address);
    const struct partition_value args[] = {{.i64 = told->signal},
                                           {.i64 = told->code},
                                           partition_text(cause_of(w, told->signal, told->code)),
                                           partition_text(told->access),
                                           partition_text(address),
                                           partition_text(told->registers)};
    int64_t thread = evidence_thread(w->out, tid, name);
    if (!evidence_event(w->out, thread, type, at_ns, 0, args) || stack->count == 0)
        return;
    evidence_event_stack(w->out, evidence_stack(w->out, stack));
    mappings_write(w, stack->pcs, stack->count);
}

/* The address of a fault: where the kernel's log has it. */
static void address_find(struct writing *w, const struct crash_signal *signal, struct told *told)
{
    struct fault_line line;
    const struct perf_sample *sample = &signal->sample;
    if (signal->record.signal != SIGSEGV || signal->record.code <= 0 ||
        signal->record.code == SI_KERNEL || !sample->has_regs)
        return;
    int status = fault_line_find(w->crash->settings.kmsg, sample->tid, sample->regs[REGISTER_PC],
                                 sample->regs[REGISTER_SP], &line);
    w->log_denied |= status == SKEIN_DENIED;
    w->address_missing |= status != SKEIN_OK;
    if (status != SKEIN_OK)
        return;
    told->has_address = true;
    told->address = line.address;
    told->access = fault_access(&line);
}

/* A fault that the program had a handler for, in which it then ended: told if the walk has come
 * through that frame. */
static void handled_write(struct writing *w, const struct crash_signal *signal,
                          const struct partition_stack *walk)
{
    const struct perf_sample *sample = &signal->sample;
    struct signal_frame frame;
    size_t at = 0, told_count = 0;
    while (told_count < HANDLED_MAX && signal_frame_next(sample->stack, sample->stack_bytes,
                                                         sample->regs[REGISTER_SP], &at, &frame)) {
        uint32_t k = 1;
        while (k < walk->count && walk->pcs[k] != frame.pc && walk->pcs[k] != frame.pc + 1)
            k++;
        if (k >= walk->count)
            continue;
        uint64_t pcs[SAMPLE_STACK_PCS];
        uint32_t count = walk->count - k < SAMPLE_STACK_PCS ? walk->count - k : SAMPLE_STACK_PCS;
        memcpy(pcs, walk->pcs + k, count * sizeof *pcs);
        pcs[0] = frame.pc;
        const struct partition_stack stack = {pcs, count,
                                              (uint8_t)(walk->end | PARTITION_STACK_EXACT)};
        const struct fault_line error = {.error = frame.error};
        const struct told told = {.signal = frame.signal,
                                  .code = frame.code,
                                  .access = frame.has_error ? fault_access(&error) : "",
                                  .has_address = frame.code != SI_KERNEL,
                                  .address = frame.address,
                                  .registers = ""};
        fault_write(w, w->handled_type, sample->tid, sample->time_ns, &told, &stack);
        told_count++;
    }
}

static void signal_write(struct writing *w, size_t i)
{
    const struct crash_signal *signal = &w->death->signals[i];
    const struct partition_stack *walk = &w->walks[i];
    char registers[REGISTERS_BYTES + 1];
    struct told told = {.signal = signal->record.signal,
                        .code = signal->record.code,
                        .access = "",
                        .registers = registers};
    struct perf_sample sample = signal->sample;
    struct sample_stack made;
    if (__atomic_load_n(&w->crash->is_private, __ATOMIC_RELAXED))
        registers[0] = '\0';
    else
        registers_put(&sample, registers);
    address_find(w, signal, &told);
    sample.in_kernel = false; /* the kernel was about to deliver it; the program was where it was */
    if (sample.has_regs)
        sample.ip = sample.regs[REGISTER_PC];
    sample.kernel.count = 0;
    sample_stack_make(&sample, walk, w->maps, &made);
    w->pointers += !made.walked;
    const struct partition_stack stack = {made.pcs, made.count, made.end};
    fault_write(w, signal->record.kind == SIGNAL_SENT ? w->raised_type : w->signal_type, sample.tid,
                sample.time_ns, &told, &stack);
    if (made.walked && sample.stack != NULL)
        handled_write(w, signal, walk);
}

/* Who has sent it, unless the program did so itself, as abort() does. */
static void sender_write(struct writing *w, const char **cause)
{
    const struct crash_sender *sender = &w->death->sender;
    bool memory = w->death->memory_ns != 0;
    *cause =
        memory ? "by the kernel, as memory ran out" : signal_cause(sender->signal, sender->code);
    if (sender->pid == 0 || (sender->pid == w->ask->process->pid && sender->signal != SIGKILL))
        return;
    const struct partition_value args[] = {{.i64 = sender->signal},
                                           {.i64 = sender->code},
                                           partition_text(*cause),
                                           {.u64 = sender->pid},
                                           partition_text(sender->name)};
    (void)evidence_event(w->out, evidence_thread(w->out, 0, EVIDENCE_THREAD_PROCESS), w->sent_type,
                         sender->at_ns, 0, args);
}

/* ---- the note ---- */

/* The one that it died of, by the kernel's word: or the first. */
static const struct crash_signal *signal_fatal(const struct crash_death *death,
                                               const struct process *process)
{
    const struct crash_signal *first = &death->signals[0];
    for (size_t i = death->count; i > 0; i--) {
        const struct crash_signal *signal = &death->signals[i - 1];
        if (signal->record.kind == SIGNAL_ENDS &&
            (!process->death.known || signal->record.signal == process->death.signal))
            first = signal;
    }
    return first;
}

static void signals_say(const struct writing *w, struct evidence_note *note)
{
    const struct crash_signal *signal = signal_fatal(w->death, w->ask->process);
    char name[SIGNAL_NAME_BYTES], thread[33];
    const char *cause = cause_of(w, signal->record.signal, signal->record.code);
    signal_name_put(signal->record.signal, name);
    name_find(w->ask->process, signal->sample.tid, thread);
    bool partial = w->pointers > 0 || w->address_missing || w->death->left_out > 0;
    evidence_say(note, partial ? EVIDENCE_PARTIAL : EVIDENCE_TAKEN,
                 "%s%s%s%s of thread %" PRIu32 " \"%s\"%s%s%s%s", name, *cause ? " (" : "", cause,
                 *cause ? ")" : "", signal->sample.tid, thread,
                 w->pointers == 0  ? ""
                 : w->maps == NULL ? "; stack by frame pointers: where its code lies was not known"
                                   : "; stack by frame pointers",
                 w->address_missing ? "; no address: " : "",
                 !w->address_missing ? ""
                 : w->log_denied     ? "/dev/kmsg may not be read"
                                     : "not in the kernel's log",
                 w->death->left_out > 0 ? "; more threads were left out" : "");
}

static void sender_say(const struct writing *w, const char *cause, struct evidence_note *note)
{
    const struct crash_sender *sender = &w->death->sender;
    char name[SIGNAL_NAME_BYTES];
    signal_name_put(sender->signal, name);
    if (w->death->memory_ns != 0)
        evidence_say(note, EVIDENCE_TAKEN, "%s %s", name, cause);
    else
        evidence_say(note, EVIDENCE_TAKEN, "%s %s, when %" PRIu32 " ran", name, cause,
                     sender->pid); /* its name is in the event: not everybody may see it */
}

static void nothing_say(const struct writing *w, struct evidence_note *note)
{
    const struct process *process = w->ask->process;
    char name[SIGNAL_NAME_BYTES] = "how it ended";
    if (process->death.known)
        signal_name_put(process->death.signal, name);
    evidence_say(note, EVIDENCE_NONE, "%s: nothing was noted of it%s", name,
                 w->death->reach.cpus == 0      ? ", as no CPU was watched"
                 : w->death->reach.not_read > 0 ? " on the CPUs that were read in time"
                 : w->death->reach.lost > 0     ? "; some notes were lost"
                                                : ", or it was overwritten");
}

void crash_write(const struct crash *crash, const struct evidence_ask *ask,
                 const struct process_maps *maps, const struct crash_death *death,
                 struct evidence_out *out, struct evidence_note *note)
{
    struct writing w = {.crash = crash, .ask = ask, .maps = maps, .death = death, .out = out};
    const char *cause;
    w.signal_type = evidence_type(out, &type_signal);
    w.raised_type = evidence_type(out, &type_raised);
    w.handled_type = evidence_type(out, &type_handled);
    w.sent_type = evidence_type(out, &type_sent);
    signals_walk(&w);
    for (size_t i = 0; i < death->count; i++) {
        signal_write(&w, i);
        free((uint64_t *)(uintptr_t)w.walks[i].pcs);
    }
    sender_write(&w, &cause);
    if (death->count > 0)
        signals_say(&w, note);
    else if (death->sender.pid != 0)
        sender_say(&w, cause, note);
    else
        nothing_say(&w, note);
}
