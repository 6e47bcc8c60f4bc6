/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of addresses and walks of copied stacks, by a child program that the hostile files are
 * parsed in. Any thread but the loop's may ask; all ask one thread, which owns the child:
 *
 *   caller --- request ---> queue: names, walks --> thread --- files ---> skein-symbolizer
 *          <-- at its deadline, with what is known by then     <------- names ---
 *
 * Callers wait until their deadline and no longer, whatever the child, a file system or the process
 * does. What is not known by then stays raw; the thread goes on with it, for the next who asks.
 */
#ifndef SYMBOLIZER_H
#define SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "partition.h"
#include "process_maps.h"

struct symbolizer;

/* name, what is counted */
#define SYMBOLIZER_COUNTER_LIST(X)                                                                 \
    X(asked, "addresses whose names were asked for")                                               \
    X(named, "of these: names given")                                                              \
    X(remembered, "of these: without asking the child")                                            \
    X(nameless, "addresses that nothing is known of, once looked for")                             \
    X(late, "addresses, and stacks, whose answer did not come by the deadline")                    \
    X(left_raw, "names that a partition had no room for")                                          \
    X(walked, "stacks walked")                                                                     \
    X(unwalked, "stacks that no walk was possible of")                                             \
    X(files, "files given to the child")                                                           \
    X(files_refused, "files that could not be opened, were others, or too large")                  \
    X(files_fatal, "files that a child died or hung of; they are not tried again")                 \
    X(dropped, "requests that found the queue full, or went for another as nobody waited")         \
    X(children, "children begun")                                                                  \
    X(crashed, "of these: died")                                                                   \
    X(hung, "of these: ended, as no answer came")                                                  \
    X(renewed, "of these: ended, as they had grown large")
struct symbolizer_counters {
#define X(name, text) uint64_t name;
    SYMBOLIZER_COUNTER_LIST(X)
#undef X
};

struct symbolizer_settings {
    const char *program;   /* path of skein-symbolizer; NULL: beside this one */
    uint64_t memory_bytes; /* the child's; 0: 1 GiB. It keeps files of half as much */
    uint64_t names_bytes;  /* of known names; 0: 16 MiB */
    uint64_t hang_ms;      /* patience with one answer; 0: 5000 */
    /* Where the files are; NULL: where the processes have them. On the symbolizer's thread. Gives
     * open files (*debug_fd stays -1: none), or a status. */
    int (*find)(void *context, const struct partition_mapping *mapping, int *fd, int *debug_fd);
    void *context;
};

/* SKEIN_OK; SKEIN_NOT_FOUND: there is no such program; SKEIN_NO_MEMORY, SKEIN_INVALID. */
int symbolizer_new(const struct symbolizer_settings *settings, struct symbolizer **out);
/* Nobody may be asking. False: its thread hangs in a file system, and with it all of it stays. */
bool symbolizer_free(struct symbolizer **symbolizer);

struct symbolizer_process {
    pid_t pid;                                /* 0: gone */
    uint64_t start_clock_ticks;               /* of the one that is meant; 0: not looked at */
    const struct partition_mapping *mappings; /* those with code; copied */
    size_t mapping_count;
};

/* Gives, on the caller's thread, the names of those addresses that have some and are known by
 * deadline_ns (monotonic), in the order of the addresses. They are looked up as they are: a return
 * address is one too far. The symbol is valid during the call. SKEIN_OK: all were looked for;
 * SKEIN_TIMEOUT: not all; SKEIN_BUSY: none, as too many ask; SKEIN_NO_MEMORY. */
typedef void symbolizer_name_fn(void *context, const struct partition_symbol *symbol);
int symbolizer_names(struct symbolizer *s, const struct symbolizer_process *process,
                     const uint64_t *addresses, size_t count, uint64_t deadline_ns,
                     symbolizer_name_fn *fn, void *context);

#define SYMBOLIZER_REGISTERS 17 /* x86-64 as DWARF numbers them: 6 rbp, 7 rsp, 16 rip */
struct symbolizer_sample {
    uint64_t registers[SYMBOLIZER_REGISTERS];
    uint64_t address; /* of the copy's first byte: the stack pointer, or less */
    const uint8_t *stack;
    size_t stack_bytes; /* at most 256 KiB; of more the rest is left */
};
/* Registers in the order of perf (PERF_REG_X86_AX …): `mask` is sample_regs_user. False: not all
 * that a walk needs are there. */
bool symbolizer_registers_perf(const uint64_t *values, uint64_t mask, uint64_t *registers);

/* Walks each copied stack, and gives those that are done by the deadline, in their order: at least
 * the first pc, which is exact (PARTITION_STACK_EXACT). Where a signal interrupted a function, its
 * pc is one further, as for all but the first one is taken away. A copy that ended too early gives
 * PARTITION_STACK_CUT. As symbolizer_names; SKEIN_UNSUPPORTED: not on this machine; SKEIN_REFUSED: a
 * child has died of this process. */
typedef void symbolizer_stack_fn(void *context, size_t sample, const struct partition_stack *stack);
int symbolizer_unwind(struct symbolizer *s, const struct symbolizer_process *process,
                      const struct symbolizer_sample *samples, size_t count, uint32_t most_frames,
                      uint64_t deadline_ns, symbolizer_stack_fn *fn, void *context);

/* The executable mappings of a live process, with build ids. process_maps_free after SKEIN_OK;
 * SKEIN_NOT_FOUND, SKEIN_DENIED, SKEIN_TIMEOUT, SKEIN_BUSY, SKEIN_NO_MEMORY. */
int symbolizer_maps(struct symbolizer *s, pid_t pid, uint64_t deadline_ns,
                    struct process_maps *out);

void symbolizer_count(struct symbolizer *s, struct symbolizer_counters *out); /* any thread */

#endif
