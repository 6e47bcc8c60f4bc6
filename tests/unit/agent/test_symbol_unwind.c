/* SPDX-License-Identifier: Apache-2.0
 * Walks of copied stacks against a program that knows its own calls. */
#include <pthread.h>
#include <signal.h>

#include "symbol_bare.h"
#include "symbol_chain.h"
#include "symbol_fixture.h"

#define STACK_BYTES (64u << 10)

static uint8_t stack_copy[STACK_BYTES];
static uint64_t stack_end; /* of this thread's stack */
static struct symbolizer_sample sample;

static void stack_find(void)
{
    pthread_attr_t attr;
    void *low;
    size_t bytes;
    ck_assert_int_eq(pthread_getattr_np(pthread_self(), &attr), 0);
    pthread_attr_getstack(&attr, &low, &bytes);
    stack_end = (uint64_t)(uintptr_t)low + bytes;
    pthread_attr_destroy(&attr);
}

static void registers_take(const ucontext_t *from, uint64_t *to)
{
    static const int order[SYMBOLIZER_REGISTERS] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
        REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    for (int i = 0; i < SYMBOLIZER_REGISTERS; i++)
        to[i] = (uint64_t)from->uc_mcontext.gregs[order[i]];
}

__attribute__((no_sanitize_address)) static void sample_take(const ucontext_t *registers)
{
    registers_take(registers, sample.registers);
    sample.address = sample.registers[7];
    sample.stack_bytes = stack_end - sample.address;
    if (sample.stack_bytes > STACK_BYTES)
        sample.stack_bytes = STACK_BYTES;
    const volatile uint8_t *from = (const uint8_t *)(uintptr_t)sample.address;
    for (size_t i = 0; i < sample.stack_bytes; i++)
        stack_copy[i] = from[i];
    sample.stack = stack_copy;
}

static void on_leaf(struct chain *chain)
{
    sample_take(&chain->registers);
}

static void *chain_thread(void *chain)
{
    stack_find();
    (void)chain_run(chain);
    return NULL;
}

/* On a thread of its own: below main() there may be code that nobody can walk. */
static void chain_run_apart(struct chain *chain)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, chain_thread, chain), 0);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(chain->count, 2 * (chain->depth + 1) + 1);
}

struct walked {
    uint64_t pcs[1024];
    uint32_t count;
    uint8_t end;
    unsigned times;
};

static void walk_keep(void *context, size_t which, const struct partition_stack *stack)
{
    struct walked *walked = context;
    ck_assert_uint_eq(which, walked->times);
    memcpy(walked->pcs, stack->pcs, stack->count * sizeof *stack->pcs);
    walked->count = stack->count;
    walked->end = stack->end;
    walked->times++;
}

static struct walked walk(struct symbolizer *s, uint32_t most)
{
    struct walked walked = {.count = 0};
    struct self self;
    self_read(s, &self);
    ck_assert_int_eq(
        symbolizer_unwind(s, &self.process, &sample, 1, most, deadline_far(), walk_keep, &walked),
        SKEIN_OK);
    ck_assert_uint_eq(walked.times, 1);
    self_free(&self);
    return walked;
}

/* pcs from `at` on are where the chain's functions return to. */
static void expect_chain(const struct walked *walked, uint32_t at, const struct chain *chain)
{
    ck_assert_uint_ge(walked->count, at + chain->count);
    for (unsigned i = 0; i < chain->count; i++)
        must_hold(walked->pcs[at + i] == chain->returns[chain->count - 1 - i],
                  "frame %u of %u is another", i, chain->count);
}

START_TEST(a_walk_finds_each_caller_without_frame_pointers)
{
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){0});
    struct chain chain = {.depth = 40, .leaf = on_leaf};
    chain_run_apart(&chain);
    struct walked walked = walk(s, 0);
    ck_assert_uint_eq(walked.pcs[0], sample.registers[16]);
    expect_chain(&walked, 1, &chain);
    ck_assert_uint_ge(walked.count, chain.count + 2); /* the thread's beginning */
    ck_assert_uint_eq(walked.end, PARTITION_STACK_WHOLE | PARTITION_STACK_EXACT);
    ck_assert(symbolizer_free(&s));
}
END_TEST

struct file_wish {
    const char *path;
    size_t bytes;
};

static bool file_has(void *context)
{
    const struct file_wish *wish = context;
    size_t n;
    char *bytes = file_read(wish->path, &n);
    bool has = bytes != NULL && n >= wish->bytes;
    free(bytes);
    return has;
}

/* The process's first thread has begun in _start, which nobody has called. */
START_TEST(a_walk_of_the_first_thread_ends_where_it_began)
{
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){0});
    struct chain chain = {.depth = 10, .leaf = on_leaf};
    stack_find();
    (void)chain_run(&chain);
    struct walked walked = walk(s, 0);
    expect_chain(&walked, 1, &chain);
    ck_assert_uint_eq(walked.end, PARTITION_STACK_WHOLE | PARTITION_STACK_EXACT);
    ck_assert(symbolizer_free(&s));
}
END_TEST

/* symbol_bare.c: a program without unwind tables, which tells its registers and stack itself. */
START_TEST(a_program_without_tables_is_walked_to_its_beginning)
{
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){0});
    char *folder = temp_dir_new(), *path = path_join(folder, "told");
    const char *const argv[] = {SYMBOL_BARE, NULL};
    pid_t pid = spawn(argv, &(struct spawn_options){.out_file = path});
    struct bare_told *told = NULL;
    size_t n = 0;
    ck_assert(wait_until(file_has, &(struct file_wish){path, sizeof *told}, 0));
    told = (void *)file_read(path, &n);
    ck_assert_uint_eq(n, sizeof *told);
    struct self self;
    process_read(s, pid, &self);
    registers_take(&told->registers, sample.registers);
    sample.address = sample.registers[7];
    sample.stack = (const uint8_t *)told->stack;
    sample.stack_bytes = told->stack_bytes;
    struct walked walked = {.count = 0};
    ck_assert_int_eq(
        symbolizer_unwind(s, &self.process, &sample, 1, 0, deadline_far(), walk_keep, &walked),
        SKEIN_OK);
    ck_assert_uint_ge(walked.count, BARE_DEPTH + 3); /* and main, and those of libc and _start */
    for (uint32_t i = 1; i <= BARE_DEPTH; i++)
        ck_assert_uint_eq(walked.pcs[i], told->returns[i - 1]);
    ck_assert_uint_eq(walked.end, PARTITION_STACK_WHOLE | PARTITION_STACK_EXACT);
    /* Without its last frames it is no whole one. */
    sample.registers[6] = 1;
    walked = (struct walked){.count = 0};
    ck_assert_int_eq(
        symbolizer_unwind(s, &self.process, &sample, 1, 0, deadline_far(), walk_keep, &walked),
        SKEIN_OK);
    ck_assert_uint_eq(walked.end, PARTITION_STACK_BROKEN | PARTITION_STACK_EXACT);
    self_free(&self);
    spawn_stop(pid, SIGKILL, 0);
    free(told);
    free(path);
    temp_dir_free(&folder);
    ck_assert(symbolizer_free(&s));
}
END_TEST

START_TEST(a_walk_stops_at_its_limit_and_says_so)
{
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){0});
    struct chain chain = {.depth = 40, .leaf = on_leaf};
    chain_run_apart(&chain);
    struct walked walked = walk(s, 10);
    ck_assert_uint_eq(walked.count, 10);
    ck_assert_uint_eq(walked.end, PARTITION_STACK_CUT | PARTITION_STACK_EXACT);
    ck_assert(symbolizer_free(&s));
}
END_TEST

START_TEST(a_copy_that_ends_too_early_gives_a_cut_walk)
{
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){0});
    struct chain chain = {.depth = 40, .leaf = on_leaf};
    chain_run_apart(&chain);
    sample.stack_bytes = 3000;
    struct walked walked = walk(s, 0);
    ck_assert_uint_gt(walked.count, 3);
    ck_assert_uint_lt(walked.count, chain.count);
    for (uint32_t i = 1; i < walked.count; i++)
        ck_assert_uint_eq(walked.pcs[i], chain.returns[chain.count - i]);
    ck_assert_uint_eq(walked.end, PARTITION_STACK_CUT | PARTITION_STACK_EXACT);
    ck_assert(symbolizer_free(&s));
}
END_TEST

START_TEST(registers_that_make_no_sense_give_their_own_pc_alone)
{
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){0});
    memset(sample.registers, 0x5a, sizeof sample.registers);
    sample.address = 4096;
    sample.stack = stack_copy;
    sample.stack_bytes = 64;
    struct walked walked = walk(s, 0);
    ck_assert_uint_eq(walked.count, 1);
    ck_assert_uint_eq(walked.pcs[0], UINT64_C(0x5a5a5a5a5a5a5a5a));
    ck_assert_uint_eq(walked.end, PARTITION_STACK_BROKEN | PARTITION_STACK_EXACT);
    ck_assert(symbolizer_free(&s));
}
END_TEST

/* ---- through a signal handler ---- */

static uint64_t interrupted_pc;

static void on_signal(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    const ucontext_t *interrupted = context;
    interrupted_pc = (uint64_t)interrupted->uc_mcontext.gregs[REG_RIP];
    ucontext_t here;
    getcontext(&here);
    sample_take(&here);
}

static void leaf_raise(struct chain *chain)
{
    (void)chain;
    raise(SIGUSR1);
}

START_TEST(a_walk_goes_on_below_a_signal_handler)
{
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){0});
    struct chain chain = {.depth = 12, .leaf = leaf_raise};
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    chain_run_apart(&chain);
    struct walked walked = walk(s, 0);
    uint32_t at = 0;
    while (at < walked.count && walked.pcs[at] != interrupted_pc + 1)
        at++;
    ck_assert_uint_lt(at, walked.count); /* one further: readers take one away */
    while (at < walked.count && walked.pcs[at] != chain.returns[chain.count - 1])
        at++;
    expect_chain(&walked, at, &chain);
    ck_assert_uint_eq(walked.end, PARTITION_STACK_WHOLE | PARTITION_STACK_EXACT);
    ck_assert(symbolizer_free(&s));
}
END_TEST

/* ---- many ---- */

START_TEST(many_stacks_come_in_their_order)
{
    enum { COUNT = 300 };
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){0});
    struct chain chain = {.depth = 20, .leaf = on_leaf};
    chain_run_apart(&chain);
    static struct symbolizer_sample samples[COUNT];
    for (int i = 0; i < COUNT; i++)
        samples[i] = sample;
    struct walked walked = {.count = 0};
    struct self self;
    self_read(s, &self);
    ck_assert_int_eq(
        symbolizer_unwind(s, &self.process, samples, COUNT, 0, deadline_far(), walk_keep, &walked),
        SKEIN_OK);
    ck_assert_uint_eq(walked.times, COUNT);
    expect_chain(&walked, 1, &chain);
    struct symbolizer_counters counters;
    symbolizer_count(s, &counters);
    ck_assert_uint_eq(counters.walked, COUNT);
    self_free(&self);
    ck_assert(symbolizer_free(&s));
}
END_TEST

START_TEST(registers_of_perf_are_put_in_their_places)
{
    uint64_t values[24], registers[SYMBOLIZER_REGISTERS];
    for (unsigned i = 0; i < 24; i++)
        values[i] = 100 + i;
    ck_assert(symbolizer_registers_perf(values, 0xff0fff, registers));
    /* AX BX CX DX SI DI BP SP IP FLAGS CS SS, then R8 to R15 */
    ck_assert_uint_eq(registers[0], 100);
    ck_assert_uint_eq(registers[3], 101);
    ck_assert_uint_eq(registers[2], 102);
    ck_assert_uint_eq(registers[1], 103);
    ck_assert_uint_eq(registers[4], 104);
    ck_assert_uint_eq(registers[5], 105);
    ck_assert_uint_eq(registers[6], 106);
    ck_assert_uint_eq(registers[7], 107);
    ck_assert_uint_eq(registers[16], 108);
    ck_assert_uint_eq(registers[8], 112);
    ck_assert_uint_eq(registers[15], 119);
    ck_assert(!symbolizer_registers_perf(values, 0xff, registers));
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "symbol_unwind", a_walk_finds_each_caller_without_frame_pointers,
        a_walk_of_the_first_thread_ends_where_it_began,
        a_program_without_tables_is_walked_to_its_beginning, a_walk_stops_at_its_limit_and_says_so,
        a_copy_that_ends_too_early_gives_a_cut_walk,
        registers_that_make_no_sense_give_their_own_pc_alone, a_walk_goes_on_below_a_signal_handler,
        many_stacks_come_in_their_order, registers_of_perf_are_put_in_their_places, NULL));
}
