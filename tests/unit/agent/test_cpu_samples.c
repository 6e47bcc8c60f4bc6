/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU samples of programs whose CPU time is known by their own clocks (cpu_burner.c). Samples need a
 * right that a machine may refuse: these tests ask the kernel themselves, and where it says no, they
 * say so and pass; that a refusal is told is tested anywhere.
 */
#include "cpu_samples.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "partition_reader.h"
#include "partition_writer.h"
#include "perf_host.h"
#include "proc_info.h"
#include "support.h"
#include "symbolizer.h"

#define HZ     997
#define MEMORY (UINT64_C(512) << 20)
#define REACH  8000 /* ms of busy CPUs: burners take less, also where they wait for their turn */
#define S      UINT64_C(1000000000)

static char *folder;

static void setup(void)
{
    folder = temp_dir_new();
}

static void teardown(void)
{
    temp_dir_free(&folder);
}

/* Whether the kernel lets this process sample a CPU: 0, or its errno. */
static int kernel_answer(void)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_CPU_CLOCK};
    int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0UL);
    if (fd >= 0)
        close(fd);
    return fd >= 0 ? 0 : errno;
}

static bool may_sample(void)
{
    int answer = kernel_answer();
    if (answer != 0)
        printf("this machine refuses perf events: %s\n", strerror(answer));
    return answer == 0;
}

/* ---- what a burner says of itself ---- */

enum function { BURN_MUCH, BURN_LITTLE, BURN_OTHER, BURN_MAIN, FUNCTIONS };
static const char *const function_names[FUNCTIONS] = {"burn_much", "burn_little", "burn_other",
                                                      "burn_main"};

struct burner {
    pid_t pid;
    char *out_file;
    uint64_t first[FUNCTIONS], last[FUNCTIONS]; /* code */
    uint32_t tid[FUNCTIONS];                    /* who ran it */
    uint64_t cpu_ns[FUNCTIONS], slices[FUNCTIONS];
    uint64_t from_ns, to_ns;
};

static struct burner burner_begin(const char *program, const char *name, const char *ms)
{
    struct burner b = {.out_file = path_join(folder, name), .from_ns = UINT64_MAX};
    const char *const argv[] = {program, ms, NULL};
    b.pid = spawn(argv, &(struct spawn_options){.out_file = b.out_file});
    return b;
}

static struct burner burner_start(const char *name, const char *ms)
{
    return burner_begin(CPU_BURNER, name, ms);
}

static bool burner_is_done(void *context)
{
    size_t n;
    char *text = file_read(((struct burner *)context)->out_file, &n);
    bool done = text != NULL && strstr(text, "\nend\n") != NULL;
    free(text);
    return done;
}

static enum function function_find(const char *name)
{
    enum function f = 0;
    while (f < FUNCTIONS && strcmp(function_names[f], name) != 0)
        f++;
    ck_assert_int_lt(f, FUNCTIONS);
    return f;
}

/* "code NAME FIRST LAST", "slice TID NAME FROM TO CPU". */
static void burner_line(struct burner *b, char *line)
{
    const char *what = strsep(&line, " ");
    if (strcmp(what, "code") == 0) {
        enum function f = function_find(strsep(&line, " "));
        b->first[f] = strtoull(line, &line, 10);
        b->last[f] = strtoull(line, &line, 10);
    } else if (strcmp(what, "slice") == 0) {
        uint32_t tid = (uint32_t)strtoul(strsep(&line, " "), NULL, 10);
        enum function f = function_find(strsep(&line, " "));
        uint64_t from_ns = strtoull(line, &line, 10), to_ns = strtoull(line, &line, 10);
        b->tid[f] = tid;
        b->cpu_ns[f] += strtoull(line, &line, 10);
        b->slices[f]++;
        b->from_ns = from_ns < b->from_ns ? from_ns : b->from_ns;
        b->to_ns = to_ns > b->to_ns ? to_ns : b->to_ns;
    }
}

static void burner_wait(struct burner *b)
{
    size_t n;
    ck_assert(wait_until(burner_is_done, b, 0));
    char *text = file_read(b->out_file, &n), *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        burner_line(b, line);
    free(text);
    ck_assert_uint_gt(b->slices[BURN_OTHER], 0);
}

static void burner_end(struct burner *b)
{
    spawn_stop(b->pid, SIGKILL, 0);
    unlink(b->out_file); /* the next one of this name has not written it */
    free(b->out_file);
}

/* One that is done within the reach of a ring: where others have the CPUs, it is begun again. */
static struct burner burner_run(const char *program, const char *ms)
{
    for (int i = 0; i < 50; i++) {
        struct burner b = burner_begin(program, "burner", ms);
        burner_wait(&b);
        if (b.to_ns - b.from_ns < REACH * UINT64_C(1000000))
            return b;
        burner_end(&b);
    }
    ck_abort_msg("this machine is too busy for some tenths of a second of CPU time");
}

/* ---- shares ---- */

struct count {
    const struct burner *burner;
    uint64_t in[FUNCTIONS];     /* samples whose innermost frame lies there */
    uint64_t called[FUNCTIONS]; /* of these: from burn_main, by the next frame */
    uint64_t by_thread[2];      /* of burn_much's, and of burn_other's */
    uint64_t all, stacks, last_ns;
    uint64_t own_ns, others_ns; /* of one collection */
    int64_t cpu;                /* of the last sample */
};

static enum function function_at(const struct burner *b, uint64_t pc)
{
    enum function f = 0;
    while (f < FUNCTIONS && (pc < b->first[f] || pc >= b->last[f]))
        f++;
    return f;
}

static bool sample_count(void *context, const struct perf_sample *sample)
{
    struct count *count = context;
    const struct burner *b = count->burner;
    /* newest first on each CPU, and in the window */
    must_hold(sample->cpu != count->cpu || sample->time_ns <= count->last_ns, "order");
    must_hold(sample->time_ns >= b->from_ns && sample->time_ns <= b->to_ns, "window");
    count->cpu = sample->cpu;
    count->last_ns = sample->time_ns;
    must_hold(sample->pid == (uint32_t)b->pid, "another's");
    count->own_ns += sample->period_ns;
    count->all++;
    count->by_thread[0] += sample->tid == b->tid[BURN_MUCH];
    count->by_thread[1] += sample->tid == b->tid[BURN_OTHER];
    if (sample->in_kernel || sample->user.count < 2)
        return true;
    enum function f = function_at(b, sample->ip);
    if (f >= BURN_MAIN)
        return true;
    count->in[f]++;
    count->called[f] += function_at(b, sample->user.pcs[1] - 1) == BURN_MAIN;
    count->stacks += PERF_REGS == 0 || (sample->has_regs && sample->stack_bytes > 0);
    return true;
}

static void records_count(void *context, const uint8_t *records, size_t n)
{
    struct perf_walk walk;
    perf_records_walk(records, n, sample_count, context, &walk);
    must_hold(walk.unread == 0 && !walk.torn && walk.bytes == n, "records");
}

static void other_count(void *context, uint32_t pid, uint64_t ns)
{
    struct count *count = context;
    must_hold(pid != (uint32_t)count->burner->pid, "its own");
    count->others_ns += ns;
}

static struct perf_reach collect(struct perf_host *host, struct count *count, uint64_t from_ns,
                                 uint64_t to_ns)
{
    struct perf_reach reach;
    count->cpu = -1; /* the newest again */
    const struct perf_wish wish = {.from_ns = from_ns,
                                   .to_ns = to_ns,
                                   .deadline_ns = UINT64_MAX,
                                   .pid = (uint32_t)count->burner->pid,
                                   .own = records_count,
                                   .other = other_count,
                                   .context = count};
    perf_host_collect(host, &wish, &reach);
    ck_assert_uint_eq(reach.busy_ns, count->own_ns + count->others_ns);
    count->own_ns = count->others_ns = 0;
    return reach;
}

/* Samples come at even distances of CPU time, which spreads them at least as well as drawing them
 * at random would: of n of them, n * share +- sqrt(n * share * (1 - share)) are expected, and five
 * times that is not seen by chance in the lifetime of this test. A twentieth more is for what the
 * burner's clocks count and its functions do not: interrupts, and the hypervisor's time. */
static void share_check(const char *what, uint64_t seen, uint64_t n, uint64_t cpu_ns,
                        uint64_t all_ns)
{
    double share = (double)cpu_ns / (double)all_ns, expected = share * (double)n;
    double bound = 5 * sqrt(expected * (1 - share)) + 0.05 * (double)n;
    printf("%s: %" PRIu64 " of %" PRIu64 " samples, %.1f expected, +- %.1f\n", what, seen, n,
           expected, bound);
    ck_assert_msg(fabs((double)seen - expected) <= bound, "%s: %" PRIu64 " of %" PRIu64 " samples",
                  what, seen, n);
}

START_TEST(samples_are_shared_out_as_cpu_time_was)
{
    struct perf_host *host;
    struct perf_host_settings settings = {.hz = HZ, .reach_ms = REACH, .memory_max = MEMORY};
    if (!may_sample())
        return;
    ck_assert_int_eq(perf_host_new(&settings, &host), SKEIN_OK);
    struct burner b = burner_run(CPU_BURNER, "400");
    struct count count = {.burner = &b, .cpu = -1};
    struct perf_reach reach = collect(host, &count, b.from_ns, b.to_ns);
    ck_assert_uint_eq(reach.not_read, 0);
    ck_assert_uint_eq(reach.from_ns, b.from_ns); /* the rings have room for it */
    uint64_t *in = count.in, *cpu = b.cpu_ns, n = in[0] + in[1] + in[2];
    uint64_t all_ns = cpu[BURN_MUCH] + cpu[BURN_LITTLE] + cpu[BURN_OTHER];
    /* 0.8 s at 997 Hz are 800; a machine that gives its guests half of their time, half of that. */
    ck_assert_uint_ge(n, 200);
    ck_assert_uint_le(n, all_ns * HZ / S + b.slices[0] + b.slices[1] + b.slices[2]);
    for (enum function f = 0; f < BURN_MAIN; f++) {
        share_check(function_names[f], in[f], n, cpu[f], all_ns);
        /* What the kernel followed by frame pointers, and the rest that is for an unwinder. Of a
         * sample in a function's first or last instructions, whose frame does not stand, the
         * caller is left out. */
        ck_assert_uint_le(in[f] - count.called[f], 2);
    }
    ck_assert_uint_eq(count.stacks, n);
    share_check("thread 1", count.by_thread[0], count.all, cpu[BURN_MUCH] + cpu[BURN_LITTLE],
                all_ns);
    share_check("thread 2", count.by_thread[1], count.all, cpu[BURN_OTHER], all_ns);
    ck_assert_uint_ge(reach.busy_ns, count.all * (S / HZ));
    perf_host_free(&host);
    burner_end(&b);
}
END_TEST

START_TEST(a_ring_that_turned_says_since_when)
{
    struct perf_host *host;
    struct perf_host_state state;
    struct perf_host_settings settings = {
        .hz = HZ, .reach_ms = 60000, .memory_max = 1}; /* no memory: the smallest rings */
    if (!may_sample())
        return;
    ck_assert_int_eq(perf_host_new(&settings, &host), SKEIN_OK);
    perf_host_state(host, &state);
    ck_assert_uint_eq(state.ring_bytes, 256 << 10);
    ck_assert_uint_lt(state.reach_ms, 60000);
    struct burner b = burner_start("burner", "400");
    burner_wait(&b);
    struct count count = {.burner = &b, .cpu = -1};
    struct perf_reach reach = collect(host, &count, b.from_ns, b.to_ns);
    ck_assert_uint_gt(reach.from_ns, b.from_ns);
    ck_assert_uint_lt(reach.room_ns, (b.to_ns - b.from_ns) * state.cpus);
    ck_assert_uint_le(count.all, state.cpus * (256u << 10) / PERF_STACK_BYTES);
    perf_host_free(&host);
    burner_end(&b);
}
END_TEST

/* ---- another rate ---- */

START_TEST(another_rate_begins_the_rings_anew_with_room_for_it)
{
    struct perf_host *host;
    struct perf_host_state before, state;
    struct perf_host_settings settings = {.hz = 100, .reach_ms = REACH, .memory_max = MEMORY};
    if (!may_sample())
        return;
    ck_assert_int_eq(perf_host_new(&settings, &host), SKEIN_OK);
    perf_host_state(host, &before);
    ck_assert_uint_eq(before.hz, 100);
    uint64_t changed_ns = clock_monotonic_ns();
    perf_host_set_hz(host, 800);
    perf_host_state(host, &state);
    ck_assert_uint_eq(state.hz, 100); /* with the next look */
    perf_host_look(host);
    perf_host_state(host, &state);
    ck_assert_uint_eq(state.hz, 800);
    ck_assert_uint_eq(state.cpus, before.cpus);
    ck_assert_uint_eq(state.ring_bytes, perf_host_ring_bytes(800, REACH));
    ck_assert_uint_gt(state.ring_bytes, before.ring_bytes);
    ck_assert_uint_ge(state.reach_ms, REACH);
    /* A burner's samples stand for as much CPU time as it used, at the new rate. */
    struct burner b = burner_run(CPU_BURNER, "300");
    struct count count = {.burner = &b, .cpu = -1};
    b.from_ns = changed_ns - S; /* with all that it did to begin, and what is gone */
    struct perf_reach reach = collect(host, &count, b.from_ns, b.to_ns);
    ck_assert_uint_ge(reach.from_ns, changed_ns); /* what was before is gone, and that is told */
    uint64_t all_ns = b.cpu_ns[BURN_MUCH] + b.cpu_ns[BURN_LITTLE] + b.cpu_ns[BURN_OTHER];
    uint64_t slices = b.slices[0] + b.slices[1] + b.slices[2];
    uint64_t n = count.in[0] + count.in[1] + count.in[2];
    ck_assert_uint_gt(n, all_ns * 100 / S + slices); /* more than 100 a second could be */
    ck_assert_uint_le(n, all_ns * 800 / S + slices);
    ck_assert_uint_ge(reach.busy_ns, count.all * (S / 800));
    perf_host_set_hz(host, 100);
    perf_host_look(host);
    perf_host_state(host, &state);
    ck_assert(state.hz == 100 && state.ring_bytes == before.ring_bytes && state.why[0] == '\0');
    perf_host_free(&host);
    burner_end(&b);
}
END_TEST

/* ---- CPUs that come and go ---- */

struct asked {
    struct perf_host *host;
    unsigned cpus;
};

static void other_ask(void *context, uint32_t pid, uint64_t ns)
{
    struct asked *asked = context;
    struct perf_host_state state;
    (void)pid, (void)ns;
    perf_host_look(asked->host);
    perf_host_state(asked->host, &state);
    asked->cpus = state.cpus;
}

static void records_leave(void *context, const uint8_t *records, size_t n)
{
    (void)context, (void)records, (void)n;
}

/* The loop asks while a capture reads, which may take long: it would stand still for as long. */
START_TEST(nobody_waits_for_a_reading_to_hear_of_the_rings)
{
    struct perf_host_settings settings = {.hz = HZ, .reach_ms = REACH, .memory_max = MEMORY};
    struct asked asked = {.cpus = 0};
    struct perf_reach reach = {.cpus = 0};
    if (!may_sample())
        return;
    uint64_t from_ns = clock_monotonic_ns();
    ck_assert_int_eq(perf_host_new(&settings, &asked.host), SKEIN_OK);
    while (asked.cpus == 0) { /* which is sampled, by and by */
        const struct perf_wish wish = {.from_ns = from_ns,
                                       .to_ns = clock_monotonic_ns(),
                                       .deadline_ns = UINT64_MAX,
                                       .pid = UINT32_MAX,
                                       .own = records_leave,
                                       .other = other_ask,
                                       .context = &asked};
        perf_host_collect(asked.host, &wish, &reach);
    }
    ck_assert_uint_eq(asked.cpus, reach.cpus);
    perf_host_free(&asked.host);
}
END_TEST

START_TEST(a_cpu_that_comes_back_gets_a_new_ring)
{
    struct perf_host *host;
    struct perf_host_state state;
    struct count count = {.burner = &(struct burner){.to_ns = UINT64_MAX}, .cpu = -1};
    struct perf_reach reach;
    char *online = path_join(folder, "online");
    struct perf_host_settings settings = {
        .hz = HZ, .reach_ms = REACH, .memory_max = MEMORY, .online = online};
    if (!may_sample()) {
        free(online);
        return;
    }
    file_write_text(online, "0\n");
    ck_assert_int_eq(perf_host_new(&settings, &host), SKEIN_OK);
    perf_host_look(host);
    reach = collect(host, &count, 1, UINT64_MAX);
    ck_assert_uint_eq(reach.cpus, 1);
    uint64_t first_ns = reach.from_ns;
    /* CPU 0 goes: its ring stays, and so do its samples. 8000 is none of this machine's. */
    file_write_text(online, "8000\n");
    perf_host_look(host);
    perf_host_state(host, &state);
    ck_assert_uint_eq(state.cpus, 1);
    ck_assert_uint_eq(state.refused, 1);
    ck_assert_ptr_nonnull(strstr(state.why, "perf_event_open"));
    reach = collect(host, &count, 1, UINT64_MAX);
    ck_assert_uint_eq(reach.from_ns, first_ns);
    uint64_t back_ns = clock_monotonic_ns();
    file_write_text(online, "0\n");
    perf_host_look(host);
    perf_host_state(host, &state);
    ck_assert(state.cpus == 1 && state.refused == 0 && state.why[0] == '\0');
    reach = collect(host, &count, 1, UINT64_MAX);
    ck_assert_uint_ge(reach.from_ns, back_ns);
    /* A list that is none changes nothing. */
    file_write_text(online, "nonsense\n");
    perf_host_look(host);
    perf_host_state(host, &state);
    ck_assert(state.cpus == 1 && state.refused == 0);
    perf_host_free(&host);
    free(online);
}
END_TEST

/* ---- as evidence ---- */

#define KERNEL_ADDRESSES 256

struct told {
    uint64_t samples, weight_ns, by_thread[2], others_ns, window_ns, window_samples;
    uint64_t thread_cpu; /* of its main thread */
    struct evidence_note note;
    uint64_t stacks, callers,
        whole; /* in burn_…; from burn_main by the next frame; to their ends */
    uint64_t kernel_addresses[KERNEL_ADDRESSES];
    char kernel_names[KERNEL_ADDRESSES][160];
    size_t kernel_count; /* of these */
};

/* The functions of the kernel in a stack, each once. */
static void kernel_tell(struct told *told, struct partition_reader *reader, uint64_t address)
{
    struct partition_symbol symbol;
    for (size_t i = 0; i < told->kernel_count; i++) {
        if (told->kernel_addresses[i] == address)
            return;
    }
    if (told->kernel_count == KERNEL_ADDRESSES)
        return;
    must_hold(partition_reader_symbol(reader, address, &symbol) && symbol.line_count == 1, "%lx",
              (unsigned long)address);
    told->kernel_addresses[told->kernel_count] = address;
    snprintf(told->kernel_names[told->kernel_count++], sizeof told->kernel_names[0], "%s",
             symbol.lines[0].function);
}

static void stack_tell(struct told *told, const struct burner *b, struct partition_reader *reader,
                       uint32_t id)
{
    struct partition_stack stack;
    must_hold(partition_reader_stack(reader, id, &stack) && stack.count > 0, "a stack");
    must_hold((stack.end & PARTITION_STACK_EXACT) != 0, "an exact pc");
    for (uint32_t i = 0; i < stack.count && stack.pcs[i] >> 63 != 0; i++)
        kernel_tell(told, reader, partition_stack_address(&stack, i));
    if (function_at(b, stack.pcs[0]) >= BURN_MAIN)
        return;
    must_hold(partition_reader_mapping(reader, stack.pcs[0]) != NULL, "a mapping");
    told->stacks++;
    told->callers += stack.count > 1 && function_at(b, stack.pcs[1] - 1) == BURN_MAIN;
    told->whole += stack.end == (PARTITION_STACK_EXACT | PARTITION_STACK_WHOLE);
}

static void event_tell(struct told *told, const struct burner *b, pid_t other,
                       const struct trace_event *event)
{
    const char *name = event->type->name;
    const struct partition_value *args = event->args;
    if (strcmp(name, "cpu.sample") == 0) {
        told->samples++;
        told->weight_ns += args[1].u64;
        told->by_thread[0] += event->thread->tid == b->tid[BURN_MUCH];
        told->by_thread[1] += event->thread->tid == b->tid[BURN_OTHER];
        must_hold(b->out_file == NULL || strcmp(event->thread->name, "") == 0 || /* it has ended */
                      strncmp(event->thread->name, "cpu_burner", 10) == 0,
                  "%s", event->thread->name);
    } else if (strcmp(name, "cpu.others") == 0 && args[2].u64 == (uint64_t)other) {
        told->others_ns += args[0].u64;
        must_hold(args[3].str.len == 10 && memcmp(args[3].str.text, "cpu_burner", 10) == 0, "name");
    } else if (strcmp(name, "cpu.window") == 0) {
        told->window_ns = args[0].u64;
        told->window_samples = args[4].u64;
        must_hold(args[0].u64 <= args[1].u64, "busy");
    } else if (strcmp(name, "thread.cpu") == 0) {
        told->thread_cpu += event->thread->tid == (uint32_t)b->pid;
    }
}

static void partition_tell(struct told *told, struct evidence_out *out, const struct burner *b,
                           pid_t other)
{
    struct partition_info info = {
        .key = {.epoch = 1}, .host = "h", .service = "s", .labels = "", .exe = ""};
    struct partition_writer *writer;
    struct partition_reader *reader;
    struct buf bytes = {0};
    struct trace_event event;
    char error[256];
    int status = evidence_out_pour(out, &info, 1, clock_monotonic_ns(), &writer);
    if (status == SKEIN_NOT_FOUND)
        return; /* no event */
    ck_assert_int_eq(status, SKEIN_OK);
    ck_assert_int_eq(partition_writer_finish(writer, &bytes, NULL), SKEIN_OK);
    ck_assert_int_eq(partition_reader_new(bytes.data, bytes.len, &reader, error, sizeof error),
                     SKEIN_OK);
    while (partition_reader_next(reader, &event) == 1) {
        event_tell(told, b, other, &event);
        if (event.stack != 0)
            stack_tell(told, b, reader, event.stack);
    }
    partition_reader_free(&reader);
    partition_writer_free(&writer);
    buf_fini(&bytes);
}

static struct symbolizer *symbolizer; /* of those tests that have one */
static uint64_t attached_ns;          /* when the agent saw the process; 0: nobody says */
static bool watched;                  /* it saw it from outside */

static struct told evidence_ask_for(struct cpu_samples *samples, const struct burner *b,
                                    pid_t other, uint64_t from_ns)
{
    static struct told told;
    struct evidence_out *out;
    struct process *process;
    told = (struct told){.samples = 0};
    ck_assert_int_eq(process_new(&process), SKEIN_OK);
    process->pid = (uint32_t)b->pid;
    process->attached_clock.monotonic_ns = attached_ns;
    process->watched = watched;
    ck_assert_int_eq(proc_start_ticks(b->pid, &process->start_clock_ticks), SKEIN_OK);
    ck_assert_int_eq(evidence_out_new(0, &out), SKEIN_OK);
    struct evidence_ask ask = {.process = process,
                               .from_ns = from_ns,
                               .to_ns = b->to_ns,
                               .when = EVIDENCE_AT_END,
                               .symbolizer = symbolizer,
                               .deadline_ns = clock_monotonic_ns() + 60 * S};
    cpu_samples_collect(samples, &ask, out, &told.note);
    partition_tell(&told, out, b, other);
    evidence_out_free(&out);
    process_unref(&process);
    return told;
}

START_TEST(a_capture_has_its_samples_and_who_ran_in_its_place)
{
    struct cpu_samples *samples;
    struct cpu_samples_settings settings = {.hz = HZ, .reach_ms = REACH, .memory_max = MEMORY};
    if (!may_sample())
        return;
    ck_assert_int_eq(cpu_samples_new(&settings, &samples), SKEIN_OK);
    struct burner b, other;
    for (;;) {                             /* both within the reach of a ring */
        b = burner_start("burner", "300"); /* first: the window begins with it */
        other = burner_start("other", "200");
        burner_wait(&b);
        burner_wait(&other);
        uint64_t from_ns = b.from_ns < other.from_ns ? b.from_ns : other.from_ns;
        if ((b.to_ns > other.to_ns ? b.to_ns : other.to_ns) - from_ns < REACH * UINT64_C(1000000))
            break;
        burner_end(&b);
        burner_end(&other);
    }
    uint64_t end_ns = b.to_ns;
    b.from_ns = b.from_ns < other.from_ns ? b.from_ns : other.from_ns;
    b.to_ns = b.to_ns > other.to_ns ? b.to_ns : other.to_ns; /* one window for both */
    struct told told = evidence_ask_for(samples, &b, other.pid, b.from_ns);
    ck_assert_msg(told.note.state == EVIDENCE_TAKEN, "%s", told.note.why);
    ck_assert_uint_ge(told.samples, 150);
    ck_assert_uint_eq(told.window_samples, told.samples);
    ck_assert_uint_eq(told.window_ns, told.weight_ns);
    ck_assert_uint_eq(told.thread_cpu, 0);
    uint64_t *cpu = b.cpu_ns;
    share_check("thread 2", told.by_thread[1], told.samples, cpu[BURN_OTHER],
                cpu[BURN_MUCH] + cpu[BURN_LITTLE] + cpu[BURN_OTHER]);
    /* The other's CPU time beside ours, each by its own clock, in both counts of samples. */
    uint64_t other_ns =
        other.cpu_ns[BURN_MUCH] + other.cpu_ns[BURN_LITTLE] + other.cpu_ns[BURN_OTHER];
    uint64_t others = told.others_ns / (S / HZ);
    share_check("the other", others, others + told.samples, other_ns,
                other_ns + cpu[BURN_MUCH] + cpu[BURN_LITTLE] + cpu[BURN_OTHER]);
    /* Before the rings were there. Its threads have ended: the window begins with the process. */
    b.to_ns = end_ns;
    told = evidence_ask_for(samples, &b, other.pid, 1);
    ck_assert_msg(told.note.state == EVIDENCE_TAKEN, "%s", told.note.why);
    ck_assert_uint_ge(told.samples, 150);
    cpu_samples_free(&samples);
    burner_end(&b);
    burner_end(&other);
}
END_TEST

static bool has_burned(void *context)
{
    size_t n;
    char *text = file_read(((struct burner *)context)->out_file, &n);
    bool burned = text != NULL && strstr(text, "burned\n") != NULL;
    free(text);
    return burned;
}

/* A shell burns, says so, waits, and becomes a burner. */
static struct burner shell_burn(char *fifo)
{
    static const char script[] = "i=0; while [ $i -lt 400000 ]; do i=$((i + 1)); done; "
                                 "echo burned; read go < \"$1\"; exec \"$0\" 150";
    struct burner b = {.out_file = path_join(folder, "shell"), .from_ns = UINT64_MAX};
    const char *const argv[] = {"/bin/sh", "-c", script, CPU_BURNER, fifo, NULL};
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    b.pid = spawn(argv, &(struct spawn_options){.out_file = b.out_file});
    ck_assert(wait_until(has_burned, &b, 0));
    return b;
}

/* One pid, two programs: each capture has the samples of its own. */
START_TEST(samples_before_an_exec_are_another_programs)
{
    struct cpu_samples *samples;
    struct cpu_samples_settings settings = {.hz = HZ, .reach_ms = REACH, .memory_max = MEMORY};
    if (!may_sample())
        return;
    ck_assert_int_eq(cpu_samples_new(&settings, &samples), SKEIN_OK);
    uint64_t from_ns = clock_monotonic_ns();
    char *fifo = path_join(folder, "go");
    struct burner b = shell_burn(fifo);
    uint64_t between_ns = clock_monotonic_ns();
    FILE *go = fopen(fifo, "w");
    ck_assert_ptr_nonnull(go);
    fputs("go\n", go);
    fclose(go);
    burner_wait(&b);
    uint64_t burned_ns = b.cpu_ns[BURN_MUCH] + b.cpu_ns[BURN_LITTLE] + b.cpu_ns[BURN_OTHER];
    struct told now = evidence_ask_for(samples, &b, -1, from_ns);
    attached_ns = between_ns;
    struct told before = evidence_ask_for(samples, &b, -1, from_ns);
    watched = true;
    struct told outside = evidence_ask_for(samples, &b, -1, from_ns);
    watched = false;
    attached_ns = 0;
    if (now.note.state == EVIDENCE_TAKEN) { /* within the reach of a ring */
        printf("%" PRIu64 " ns burned, %" PRIu64 " sampled, %" PRIu64 " before\n", burned_ns,
               now.weight_ns, before.weight_ns);
        ck_assert_uint_le(now.weight_ns, burned_ns + burned_ns / 4);
        ck_assert_uint_ge(now.weight_ns, burned_ns - burned_ns / 4);
        ck_assert_uint_gt(now.by_thread[1], 0);
    }
    if (outside.note.state == EVIDENCE_TAKEN) /* whatever it becomes */
        ck_assert_uint_gt(outside.by_thread[1], 0);
    if (before.note.state == EVIDENCE_TAKEN) {
        ck_assert_uint_gt(before.samples, 0);
        ck_assert_uint_eq(before.by_thread[1], 0);
    }
    ck_assert_uint_eq(before.stacks, 0);
    cpu_samples_free(&samples);
    burner_end(&b);
    free(fifo);
}
END_TEST

START_TEST(a_window_that_began_before_the_samples_says_so)
{
    struct cpu_samples *samples;
    struct cpu_samples_settings settings = {.hz = HZ, .reach_ms = REACH, .memory_max = MEMORY};
    if (!may_sample())
        return;
    struct burner b = burner_start("burner", "100");
    burner_wait(&b);
    ck_assert_int_eq(cpu_samples_new(&settings, &samples), SKEIN_OK);
    b.to_ns = clock_monotonic_ns();
    struct told told = evidence_ask_for(samples, &b, -1, b.from_ns);
    ck_assert_int_eq(told.note.state, EVIDENCE_PARTIAL);
    ck_assert_ptr_nonnull(strstr(told.note.why, "0 samples; the first "));
    ck_assert_uint_eq(told.samples, 0);
    cpu_samples_free(&samples);
    burner_end(&b);
}
END_TEST

/* ---- stacks ---- */

START_TEST(code_without_frame_pointers_is_walked_on_its_copied_stack)
{
    struct cpu_samples *samples;
    struct cpu_samples_settings settings = {.hz = HZ, .reach_ms = REACH, .memory_max = MEMORY};
    struct symbolizer_settings program = {.program = SKEIN_SYMBOLIZER};
    if (!may_sample() || PERF_REGS != SYMBOLIZER_REGISTERS)
        return;
    ck_assert_int_eq(cpu_samples_new(&settings, &samples), SKEIN_OK);
    struct burner b = burner_run(CPU_BURNER_FRAMELESS, "300");
    struct told told = evidence_ask_for(samples, &b, -1, b.from_ns);
    ck_assert_uint_ge(told.stacks, 100); /* nobody walks: each is where it was, and no more */
    ck_assert_uint_eq(told.callers + told.whole, 0);
    ck_assert_ptr_nonnull(strstr(told.note.why, " stacks by frame pointers"));
    ck_assert_int_eq(symbolizer_new(&program, &symbolizer), SKEIN_OK);
    /* On a busy machine a walk may take longer than one waits for it, and is told so: asked again. */
    uint64_t until = clock_monotonic_ns() + (uint64_t)support_deadline_ms() * 1000000;
    do
        told = evidence_ask_for(samples, &b, -1, b.from_ns);
    while (told.note.state != EVIDENCE_TAKEN && clock_monotonic_ns() < until);
    ck_assert_msg(told.note.state == EVIDENCE_TAKEN, "%s", told.note.why);
    ck_assert_uint_ge(told.stacks, 100);
    ck_assert_uint_eq(told.callers, told.stacks);
    ck_assert_uint_eq(told.whole, told.stacks);
    ck_assert(symbolizer_free(&symbolizer));
    cpu_samples_free(&samples);
    burner_end(&b);
}
END_TEST

/* The functions of the kernel at told's addresses, by reading its table line for line. */
static void kernel_names_find(const struct told *told, char (*names)[160])
{
    uint64_t starts[KERNEL_ADDRESSES] = {0};
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen("/proc/kallsyms", "re");
    ck_assert_ptr_nonnull(file);
    while (getline(&line, &room, file) > 0) {
        char *at = line;
        uint64_t start = strtoull(line, &at, 16);
        if (strchr("tTwW", at[1]) == NULL)
            continue;
        at[3 + strcspn(at + 3, "\t\n")] = '\0';
        for (size_t i = 0; i < told->kernel_count; i++) {
            if (start <= starts[i] || start > told->kernel_addresses[i])
                continue;
            starts[i] = start;
            snprintf(names[i], sizeof names[i], "%.120s [k]", at + 3);
        }
    }
    free(line);
    fclose(file);
}

/* CPU time of this process in the kernel. */
static uint64_t system_ns(void)
{
    struct rusage usage;
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
    return (uint64_t)usage.ru_stime.tv_sec * S + (uint64_t)usage.ru_stime.tv_usec * 1000;
}

START_TEST(functions_of_the_kernel_are_named_by_its_own_table)
{
    static char names[KERNEL_ADDRESSES][160], bytes[65536];
    struct cpu_samples *samples;
    struct cpu_samples_settings settings = {.hz = HZ, .reach_ms = REACH, .memory_max = MEMORY};
    if (!may_sample())
        return;
    ck_assert_int_eq(cpu_samples_new(&settings, &samples), SKEIN_OK);
    struct burner b = {.pid = getpid()};
    FILE *file = fopen("/dev/urandom", "re");
    ck_assert_ptr_nonnull(file);
    (void)sched_setscheduler(0, SCHED_RR, &(struct sched_param){1}); /* as cpu_burner */
    for (uint64_t began_ns = 0; b.from_ns == 0 || system_ns() < began_ns + S * 3 / 10;) {
        if (b.from_ns == 0 || clock_monotonic_ns() - b.from_ns > REACH * UINT64_C(1000000)) {
            b.from_ns = clock_monotonic_ns(); /* anew, where others have the CPUs */
            began_ns = system_ns();
        }
        ck_assert_uint_eq(fread(bytes, 1, sizeof bytes, file), sizeof bytes);
    }
    fclose(file);
    b.to_ns = clock_monotonic_ns();
    struct told told = evidence_ask_for(samples, &b, -1, b.from_ns);
    ck_assert_uint_ge(told.samples, 100);
    ck_assert_uint_ge(told.kernel_count, 5);
    kernel_names_find(&told, names);
    if (names[0][0] == '\0') { /* kernel.kptr_restrict */
        snprintf(names[0], sizeof names[0], "0x%" PRIx64 " [k]", told.kernel_addresses[0]);
        told.kernel_count = 1;
    }
    for (size_t i = 0; i < told.kernel_count; i++)
        ck_assert_str_eq(told.kernel_names[i], names[i]);
    cpu_samples_free(&samples);
}
END_TEST

/* ---- refused ---- */

/* perf_event_open gives `answer` from now on, to this process and for ever. */
static void seccomp_refuse(int answer)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((unsigned)answer & SECCOMP_RET_DATA)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void refusal_check(const struct burner *b, const char *error)
{
    struct cpu_samples *samples;
    struct cpu_samples_settings settings = {99, 1000, MEMORY};
    struct cpu_samples_state state;
    char begins[64];
    ck_assert_int_eq(kernel_answer() != 0, 1);
    ck_assert_int_eq(cpu_samples_new(&settings, &samples), SKEIN_OK);
    cpu_samples_state(samples, &state);
    snprintf(begins, sizeof begins, "perf_event_open: %s", error);
    ck_assert_msg(strncmp(state.refused, begins, strlen(begins)) == 0, "%s", state.refused);
    ck_assert(state.hz == 99 && state.cpus == 0 && state.bytes == 0 && state.reach_ms == 0);
    struct told told = evidence_ask_for(samples, b, -1, b->from_ns);
    ck_assert_int_eq(told.note.state, EVIDENCE_REFUSED);
    ck_assert_str_eq(told.note.why, state.refused);
    ck_assert_uint_eq(told.samples, 0);
    ck_assert_uint_eq(told.thread_cpu, 1);
    cpu_samples_look(samples);
    cpu_samples_free(&samples);
}

/* In a child: what it gives up does not come back. */
static void refused_run(void (*give_up)(void), const char *error, const char *allows)
{
    struct burner b = burner_start("burner", "1");
    burner_wait(&b);
    fflush(NULL);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        give_up();
        refusal_check(&b, error);
        struct perf_host_state state = {.cpus = 0};
        perf_host_why(EACCES, state.why);
        _exit(strstr(state.why, allows) != NULL ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
    burner_end(&b);
}

static void give_up_by_filter(void)
{
    seccomp_refuse(EACCES);
}

static void give_up_by_filter_of_docker(void)
{
    seccomp_refuse(EPERM);
}

static void give_up_by_filter_of_systemd(void)
{
    seccomp_refuse(ENOSYS);
}

static void give_up_rights(void)
{
    if (geteuid() == 0)
        ck_assert_int_eq(setuid(65534), 0); /* and with it all capabilities */
}

START_TEST(a_filter_that_refuses_is_told_with_what_would_allow_it)
{
    refused_run(give_up_by_filter, "EACCES; needs CAP_PERFMON", "CAP_PERFMON");
    refused_run(give_up_by_filter_of_docker, "EPERM; needs CAP_PERFMON", "seccomp");
    refused_run(give_up_by_filter_of_systemd, "ENOSYS; needs a kernel", "perf_event_paranoid");
}
END_TEST

START_TEST(an_agent_without_rights_has_cpu_times_instead)
{
    char paranoid[16];
    if (text_file_read("/proc/sys/kernel/perf_event_paranoid", paranoid, sizeof paranoid) <= 0 ||
        strtol(paranoid, NULL, 10) <= 0) {
        printf("here anybody may sample CPUs, or nobody\n");
        return;
    }
    refused_run(give_up_rights, "EACCES; needs CAP_PERFMON, or kernel.perf_event_paranoid",
                "perf_event_paranoid");
}
END_TEST

/* ---- little locked memory ---- */

/* A user of its own, whose locked memory nobody else uses, with the right to sample alone. */
static bool become_poor(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct powers[2] = {{0}};
    const struct rlimit none = {0, 0};
    powers[CAP_PERFMON / 32].permitted = powers[CAP_PERFMON / 32].effective = 1u
                                                                              << CAP_PERFMON % 32;
    return prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0 && setuid(65399) == 0 &&
           syscall(SYS_capset, &head, powers) == 0 && setrlimit(RLIMIT_MEMLOCK, &none) == 0 &&
           may_sample();
}

/* The kernel has perf_event_mlock_kb for each CPU and user. */
static bool little_memory_is_told(void)
{
    struct perf_host *first = NULL, *next = NULL;
    struct perf_host_state has, lacks;
    const struct perf_host_settings settings = {.hz = 99, .reach_ms = 10000, .memory_max = MEMORY};
    const char *wrong = NULL;
    if (perf_host_new(&settings, &first) != SKEIN_OK || perf_host_new(&settings, &next) != SKEIN_OK)
        return false;
    perf_host_state(first, &has);
    perf_host_state(next, &lacks);
    if (has.cpus == 0 || has.refused != 0 || has.ring_bytes >= 1u << 20)
        wrong = "the first rings are not as large as they may be";
    else if (lacks.refused == 0 || lacks.cpus != 0)
        wrong = "the next ones had room";
    else if (strstr(lacks.why, "locked memory; needs RLIMIT_MEMLOCK") == NULL)
        wrong = "the text";
    if (wrong != NULL)
        fprintf(stderr, "%s: %u, %u of %zu bytes; then %u, \"%s\"\n", wrong, has.cpus, has.refused,
                has.ring_bytes, lacks.cpus, lacks.why);
    perf_host_free(&first);
    perf_host_free(&next);
    return wrong == NULL;
}

START_TEST(rings_are_as_large_as_locked_memory_lets_them)
{
    int status;
    char kib[16];
    if (geteuid() != 0 || !may_sample() ||
        text_file_read("/proc/sys/kernel/perf_event_mlock_kb", kib, sizeof kib) <= 0 ||
        strtol(kib, NULL, 10) != 516) {
        printf("not shown: needs root, samples, and kernel.perf_event_mlock_kb as it is\n");
        return;
    }
    fflush(NULL);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(!become_poor() ? 2 : !little_memory_is_told());
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) != 1, "the child ended with %d", status);
    if (WEXITSTATUS(status) == 2)
        printf("not shown: CAP_PERFMON is no capability here\n");
}
END_TEST

/* ---- off ---- */

static unsigned files_open(void)
{
    unsigned count = 0;
    DIR *list = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(list);
    while (readdir(list) != NULL)
        count++;
    closedir(list);
    return count;
}

START_TEST(nothing_is_opened_where_nobody_wants_samples)
{
    struct cpu_samples *samples;
    struct cpu_samples_settings settings = {0, 1000, MEMORY};
    struct cpu_samples_state state;
    unsigned before = files_open();
    ck_assert_int_eq(cpu_samples_new(&settings, &samples), SKEIN_OK);
    cpu_samples_look(samples);
    ck_assert_uint_eq(files_open(), before);
    cpu_samples_state(samples, &state);
    ck_assert(state.hz == 0 && state.cpus == 0 && state.bytes == 0 && state.refused[0] == '\0');
    struct burner b = {.pid = getpid(), .from_ns = 1, .to_ns = clock_monotonic_ns()};
    struct told told = evidence_ask_for(samples, &b, -1, 1);
    ck_assert_int_eq(told.note.state, EVIDENCE_NONE);
    ck_assert_str_eq(told.note.why, EVIDENCE_OFF "samples.hz is 0");
    ck_assert_uint_eq(told.samples + told.thread_cpu, 0);
    cpu_samples_free(&samples);
    if (!may_sample())
        return;
    settings.hz = 99; /* the same eyes see what is opened */
    ck_assert_int_eq(cpu_samples_new(&settings, &samples), SKEIN_OK);
    ck_assert_uint_eq(files_open(), before + (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
    cpu_samples_state(samples, &state);
    ck_assert_uint_eq(state.cpus, (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
    ck_assert_uint_ge(state.reach_ms, 1000);
    cpu_samples_free(&samples);
    ck_assert_uint_eq(files_open(), before);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpu_samples");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 0);
    tcase_add_test(tests, samples_are_shared_out_as_cpu_time_was);
    tcase_add_test(tests, a_ring_that_turned_says_since_when);
    tcase_add_test(tests, another_rate_begins_the_rings_anew_with_room_for_it);
    tcase_add_test(tests, a_cpu_that_comes_back_gets_a_new_ring);
    tcase_add_test(tests, a_capture_has_its_samples_and_who_ran_in_its_place);
    tcase_add_test(tests, samples_before_an_exec_are_another_programs);
    tcase_add_test(tests, a_window_that_began_before_the_samples_says_so);
    tcase_add_test(tests, code_without_frame_pointers_is_walked_on_its_copied_stack);
    tcase_add_test(tests, functions_of_the_kernel_are_named_by_its_own_table);
    tcase_add_test(tests, a_filter_that_refuses_is_told_with_what_would_allow_it);
    tcase_add_test(tests, an_agent_without_rights_has_cpu_times_instead);
    tcase_add_test(tests, rings_are_as_large_as_locked_memory_lets_them);
    tcase_add_test(tests, nothing_is_opened_where_nobody_wants_samples);
    suite_add_tcase(suite, tests);
    TCase *waits = tcase_create("waits"); /* for ever, if it is wrong */
    tcase_set_timeout(waits, 120);
    tcase_add_test(waits, nobody_waits_for_a_reading_to_hear_of_the_rings);
    suite_add_tcase(suite, waits);
    return suite_run(suite);
}
