/* SPDX-License-Identifier: Apache-2.0
 *
 * How processes end, as the kernel tells of it: programs that say themselves in which thread and
 * function they will be (crash_subject.c). What the kernel refuses here is said, and passes; that a
 * refusal is told is tested anywhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "crash_int.h"
#include "evidence_out.h"
#include "partition_reader.h"
#include "proc_info.h"
#include "support.h"
#include "symbolizer.h"

#define S           UINT64_C(1000000000)
#define FUNCTION    512u /* bytes: none of the subject's is longer */
#define ENDS_MAX    4
#define MOST_FRAMES 64

static char *folder;

static void setup(void)
{
    folder = temp_dir_new();
}

static void teardown(void)
{
    temp_dir_free(&folder);
}

/* Whether the kernel lets this process watch its events on signals. */
static bool may_watch(void)
{
    char text[32] = "";
    int fd = -1;
    if (text_file_read("/sys/kernel/tracing/events/signal/signal_deliver/id", text, sizeof text) >
        0) {
        struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT,
                                       .size = sizeof attr,
                                       .config = strtoull(text, NULL, 10),
                                       .sample_period = 1,
                                       .sample_type = PERF_SAMPLE_RAW};
        fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0UL);
    }
    if (fd < 0)
        printf("this machine does not tell of signals\n");
    else
        close(fd);
    return fd >= 0;
}

/* Whether the kernel's log says where a thread went wrong: it says so of some ten in five seconds. */
static bool log_has_fault(uint32_t tid)
{
    char record[8192], line[64];
    bool found = false;
    int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    snprintf(line, sizeof line, "[%" PRIu32 "]: segfault at 10 ip ", tid);
    for (ssize_t n; fd >= 0 && ((n = read(fd, record, sizeof record - 1)) > 0 || errno == EPIPE);) {
        record[n > 0 ? n : 0] = '\0';
        found = found || strstr(record, line) != NULL;
    }
    if (fd >= 0)
        close(fd);
    return found;
}

/* ---- a program that ends ---- */

struct subject {
    pid_t pid;
    int in, out;
    uint32_t tid;
    uint64_t inner, outer;
    struct process *process;
};

static void line_read(int fd, char *line, size_t room)
{
    size_t n = 0;
    while (n + 1 < room && read(fd, line + n, 1) == 1 && line[n] != '\n')
        n++;
    line[n] = '\0';
}

static const char *errors; /* the file of the subject's standard error; NULL: the test's own */

/* As fork; where `pid` is not 0, the child has that number, which nobody may have; -1: refused. */
static pid_t fork_as(pid_t pid)
{
    struct clone_args args = {
        .exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&pid, .set_tid_size = 1};
    return pid == 0 ? fork() : (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

static void subject_told(struct subject *s)
{
    char line[128], *at = line;
    line_read(s->out, line, sizeof line);
    s->tid = (uint32_t)strtoul(at, &at, 10);
    s->inner = strtoull(at, &at, 10);
    s->outer = strtoull(at, &at, 10);
    ck_assert_uint_gt(s->outer, 0);
}

static struct subject subject_start_as(pid_t pid, const char *how)
{
    struct subject s;
    int in[2], out[2], fd = errors != NULL ? open(errors, O_WRONLY | O_CREAT | O_APPEND, 0600) : 2;
    ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
    s.pid = fork_as(pid);
    if (s.pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(fd, 2);
        execl(CRASH_SUBJECT, CRASH_SUBJECT, how, (char *)NULL);
        _exit(97);
    }
    close(in[0]);
    close(out[1]);
    if (fd != 2)
        close(fd);
    s.in = in[1];
    s.out = out[0];
    ck_assert_int_gt(s.pid, 0);
    subject_told(&s);
    ck_assert_int_eq(process_new(&s.process), SKEIN_OK);
    memset(s.process->uid.bytes, (int)(s.pid & 0x7f) + 1, sizeof s.process->uid.bytes);
    s.process->pid = (uint32_t)s.pid;
    ck_assert_int_eq(proc_start_ticks(s.pid, &s.process->start_clock_ticks), SKEIN_OK);
    s.process->start_ns = proc_start_realtime_ns(s.process->start_clock_ticks);
    return s;
}

static struct subject subject_start(const char *how)
{
    return subject_start_as(0, how);
}

/* Its end, as the process that waits for it is told; it has the signal, or 0. */
static int subject_end(struct subject *s)
{
    int status;
    (void)!write(s->in, "x", 1); /* one that was killed reads no more */
    ck_assert_int_eq(waitpid(s->pid, &status, 0), s->pid);
    s->process->death.known = true;
    s->process->death.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    s->process->death.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    process_set_gone(s->process, PROCESS_CRASHED);
    close(s->in);
    close(s->out);
    return s->process->death.signal;
}

/* ---- what was told of it ---- */

struct end {
    char name[16], cause[64], access[16], address[24], registers[1024], by_name[32];
    int64_t signal, code;
    uint64_t by;
    uint32_t tid;
    uint64_t pcs[MOST_FRAMES];
    uint32_t frames;
    uint8_t stack_end;
};

struct told {
    struct evidence_note note;
    struct end ends[ENDS_MAX];
    size_t count;
    char words[128], file[256], missing[128], since[16]; /* of last words */
    int64_t bytes;
    size_t stderrs;
};

static void text_get(const struct trace_event *event, const char *name, char *to, size_t room)
{
    for (unsigned i = 0; i < event->type->nargs; i++)
        if (strcmp(event->type->args[i].name, name) == 0)
            snprintf(to, room, "%.*s", (int)event->args[i].str.len, event->args[i].str.text);
}

static int64_t number_get(const struct trace_event *event, const char *name)
{
    for (unsigned i = 0; i < event->type->nargs; i++)
        if (strcmp(event->type->args[i].name, name) == 0)
            return event->args[i].i64;
    return 0;
}

/* Events of last words are none of an end. */
static bool words_take(struct told *told, const struct trace_event *event)
{
    char piece[128] = "";
    if (strcmp(event->type->name, "crash.words") == 0) {
        text_get(event, "text", piece, sizeof piece);
        strncat(told->words, piece, sizeof told->words - strlen(told->words) - 1);
        return true;
    }
    if (strcmp(event->type->name, "crash.stderr") != 0)
        return false;
    told->stderrs++;
    text_get(event, "file", told->file, sizeof told->file);
    text_get(event, "missing", told->missing, sizeof told->missing);
    text_get(event, "since", told->since, sizeof told->since);
    told->bytes = number_get(event, "bytes");
    return true;
}

static void end_take(struct told *told, struct partition_reader *reader,
                     const struct trace_event *event)
{
    if (words_take(told, event))
        return;
    ck_assert_uint_lt(told->count, ENDS_MAX);
    struct end *end = &told->ends[told->count++];
    struct partition_stack stack;
    snprintf(end->name, sizeof end->name, "%s", event->type->name);
    end->tid = event->thread->tid;
    end->signal = number_get(event, "signal");
    end->code = number_get(event, "code");
    end->by = (uint64_t)number_get(event, "by");
    text_get(event, "cause", end->cause, sizeof end->cause);
    text_get(event, "access", end->access, sizeof end->access);
    text_get(event, "address", end->address, sizeof end->address);
    text_get(event, "registers", end->registers, sizeof end->registers);
    text_get(event, "by_name", end->by_name, sizeof end->by_name);
    if (event->stack == 0 || !partition_reader_stack(reader, event->stack, &stack))
        return;
    end->stack_end = stack.end;
    for (; end->frames < stack.count && end->frames < MOST_FRAMES; end->frames++)
        end->pcs[end->frames] = stack.pcs[end->frames];
}

static void told_read(struct evidence_out **out, struct told *told)
{
    struct partition_info info = {.host = "h", .service = "s", .labels = "", .exe = "", .pid = 1};
    struct partition_writer *writer = NULL;
    struct partition_reader *reader = NULL;
    struct trace_event event;
    struct buf bytes = {0};
    char error[256] = "";
    uint64_t now_ns = clock_monotonic_ns();
    if (evidence_out_events(*out) > 0) {
        ck_assert_int_eq(evidence_out_pour(*out, &info, now_ns - S, now_ns, &writer), SKEIN_OK);
        ck_assert_int_eq(partition_writer_finish(writer, &bytes, NULL), SKEIN_OK);
        partition_writer_free(&writer);
        ck_assert_int_eq(partition_reader_new(bytes.data, bytes.len, &reader, error, sizeof error),
                         SKEIN_OK);
        while (partition_reader_next(reader, &event) == 1)
            end_take(told, reader, &event);
        partition_reader_free(&reader);
        buf_fini(&bytes);
    }
    evidence_out_free(out);
}

static struct told crash_ask_within(struct crash *crash, struct subject *s,
                                    struct symbolizer *symbolizer, uint64_t within_ns)
{
    struct told told = {.count = 0};
    struct evidence_out *out;
    uint64_t now_ns = clock_monotonic_ns();
    const struct evidence_ask ask = {.process = s->process,
                                     .from_ns = now_ns - 10 * S,
                                     .to_ns = now_ns,
                                     .deadline_ns = now_ns + within_ns,
                                     .when = EVIDENCE_AT_END,
                                     .symbolizer = symbolizer};
    ck_assert_int_eq(evidence_out_new(0, &out), SKEIN_OK);
    crash_collect(crash, &ask, out, &told.note);
    told_read(&out, &told);
    return told;
}

static struct told crash_ask(struct crash *crash, struct subject *s, struct symbolizer *symbolizer)
{
    return crash_ask_within(crash, s, symbolizer, 60 * S);
}

struct known {
    struct crash *crash;
    const struct process *process;
    uint64_t pc; /* that must be in it; 0: any code */
};

static bool code_is_known(void *context)
{
    const struct known *known = context;
    struct crash *crash = known->crash;
    crash_look(crash);
    pthread_mutex_lock(&crash->mutex);
    const struct crash_entry *entry = crash_entry_find(crash, &known->process->uid);
    bool has_maps = entry != NULL && entry->has_maps &&
                    (known->pc == 0 || process_maps_find(&entry->maps, known->pc) != NULL);
    pthread_mutex_unlock(&crash->mutex);
    return has_maps;
}

/* Its size was seen, before the subject wrote to it. */
static bool file_is_known(void *context)
{
    const struct known *known = context;
    struct crash *crash = known->crash;
    pthread_mutex_lock(&crash->mutex);
    const struct crash_entry *entry = crash_entry_find(crash, &known->process->uid);
    bool has_device = entry != NULL && entry->words.place.has_device;
    pthread_mutex_unlock(&crash->mutex);
    return has_device;
}

static bool words_are_read(void *context)
{
    const struct known *known = context;
    struct crash *crash = known->crash;
    pthread_mutex_lock(&crash->mutex);
    const struct crash_entry *entry = crash_entry_find(crash, &known->process->uid);
    bool read = entry != NULL && entry->words.read;
    pthread_mutex_unlock(&crash->mutex);
    return read;
}

/* One death, from its attach to its capture. `sender`: sends it SIGKILL once it waits. */
static struct told crash_of(const char *how, struct subject *s, bool walked, bool kills)
{
    struct symbolizer *symbolizer = NULL;
    struct symbolizer_settings settings = {.program = SKEIN_SYMBOLIZER};
    struct crash *crash;
    if (walked)
        ck_assert_int_eq(symbolizer_new(&settings, &symbolizer), SKEIN_OK);
    ck_assert_int_eq(
        crash_new(&(struct crash_settings){.stacks = true, .symbolizer = symbolizer}, &crash),
        SKEIN_OK);
    crash_leave_out(crash, false, errors == NULL);
    *s = subject_start(how);
    ck_assert_int_eq(crash_attached(crash, s->process), SKEIN_OK);
    struct known known = {crash, s->process, 0};
    ck_assert(!walked || wait_until(code_is_known, &known, 0));
    if (kills)
        ck_assert_int_eq(kill(s->pid, SIGKILL), 0);
    (void)subject_end(s);
    crash_gone(crash, s->process);
    struct told told = crash_ask(crash, s, symbolizer);
    ck_assert_uint_eq(crash_free(&crash), 0);
    if (symbolizer != NULL)
        symbolizer_free(&symbolizer);
    process_unref(&s->process);
    return told;
}

static const struct end *end_find(const struct told *told, const char *name)
{
    for (size_t i = 0; i < told->count; i++)
        if (strcmp(told->ends[i].name, name) == 0)
            return &told->ends[i];
    return NULL;
}

/* The frame that lies in the function; from `from` on. */
static uint32_t frame_in(const struct end *end, uint64_t function, uint32_t from)
{
    while (from < end->frames &&
           (end->pcs[from] < function || end->pcs[from] - function >= FUNCTION))
        from++;
    return from;
}

static void stack_check(const struct end *end, const struct subject *s, uint32_t at)
{
    ck_assert_uint_eq(frame_in(end, s->inner, 0), at);
    ck_assert_uint_eq(frame_in(end, s->outer, at + 1), at + 1);
    ck_assert_uint_ge(end->frames, at + 3); /* and who began the thread */
    ck_assert_uint_eq(end->stack_end, PARTITION_STACK_WHOLE | PARTITION_STACK_EXACT);
}

START_TEST(a_fault_is_told_with_its_thread_address_and_stack)
{
    struct subject s;
    if (!may_watch())
        return;
    struct told told = crash_of("fault", &s, true, false);
    const struct end *end = end_find(&told, "crash.signal");
    ck_assert_ptr_nonnull(end);
    ck_assert_uint_eq(told.count, 1);
    ck_assert_int_eq(end->signal, SIGSEGV);
    ck_assert_int_eq(end->code, SEGV_MAPERR);
    ck_assert_str_eq(end->cause, "address not mapped");
    ck_assert_uint_eq(end->tid, s.tid);
    stack_check(end, &s, 0);
    bool logged = log_has_fault(s.tid);
    ck_assert_str_eq(end->address, logged ? "0x10" : "");
    ck_assert_str_eq(end->access, logged ? "write" : "");
    ck_assert_int_eq(told.note.state, logged ? EVIDENCE_TAKEN : EVIDENCE_PARTIAL);
    char text[64];
    snprintf(text, sizeof text, "SIGSEGV (address not mapped) of thread %" PRIu32, s.tid);
    ck_assert_ptr_nonnull(strstr(told.note.why, text));
#if defined(__x86_64__)
    snprintf(text, sizeof text, "rip 0x%" PRIx64, end->pcs[0]);
    ck_assert_ptr_nonnull(strstr(end->registers, text));
#endif
}
END_TEST

START_TEST(a_program_that_gives_up_is_told_with_its_stack)
{
    struct subject s;
    if (!may_watch())
        return;
    struct told told = crash_of("abort", &s, true, false);
    const struct end *end = end_find(&told, "crash.signal");
    ck_assert_ptr_nonnull(end);
    ck_assert_uint_eq(told.count, 1); /* that it has sent it itself goes without saying */
    ck_assert_int_eq(end->signal, SIGABRT);
    ck_assert_str_eq(end->cause, "sent by itself");
    ck_assert_uint_eq(end->tid, s.tid);
    uint32_t at = frame_in(end, s.inner, 0);
    ck_assert_uint_gt(at, 0); /* abort and what it calls */
    stack_check(end, &s, at);
    ck_assert_int_eq(told.note.state, EVIDENCE_TAKEN);
}
END_TEST

START_TEST(other_faults_are_told_by_their_cause)
{
    static const struct {
        const char *how, *cause;
        int signal;
    } all[] = {{"illegal", "illegal instruction", SIGILL}, {"divide", "division by zero", SIGFPE}};
    if (!may_watch())
        return;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct subject s;
        struct told told = crash_of(all[i].how, &s, true, false);
        const struct end *end = end_find(&told, "crash.signal");
        ck_assert_ptr_nonnull(end);
        ck_assert_int_eq(end->signal, all[i].signal);
        ck_assert_str_eq(end->cause, all[i].cause);
        ck_assert_str_eq(end->address, "");
        stack_check(end, &s, 0);
        ck_assert_int_eq(told.note.state, EVIDENCE_TAKEN);
    }
}
END_TEST

START_TEST(a_program_that_died_in_its_own_handler_is_told_with_the_fault)
{
    static const char *const hows[] = {"handled", "handled_beside"};
    if (!may_watch())
        return;
    for (size_t i = 0; i < 2; i++) {
        struct subject s;
        struct told told = crash_of(hows[i], &s, true, false);
        const struct end *end = end_find(&told, "crash.signal");
        ck_assert_ptr_nonnull(end);
        ck_assert_int_eq(end->signal, SIGSEGV);
        ck_assert_str_eq(end->cause, "sent by itself");
        ck_assert_uint_eq(end->tid, s.tid);
#if defined(__x86_64__)
        const struct end *handled = end_find(&told, "crash.handled");
        ck_assert_ptr_nonnull(handled);
        ck_assert_int_eq(handled->signal, SIGSEGV);
        ck_assert_str_eq(handled->cause, "address not mapped");
        ck_assert_str_eq(handled->address, "0x10");
        ck_assert_str_eq(handled->access, "write");
        ck_assert_uint_eq(handled->tid, s.tid);
        ck_assert_uint_eq(frame_in(handled, s.inner, 0), 0);
        if (i == 0)
            stack_check(handled, &s, 0);
        else /* the copy is of the other stack, where the handler ran */
            ck_assert_uint_ne(handled->stack_end & ~(unsigned)PARTITION_STACK_EXACT,
                              PARTITION_STACK_WHOLE);
#endif
    }
}
END_TEST

/* Sent to the process, it went to the first thread, as to most of the kernel's choices. */
START_TEST(a_handler_that_ends_another_thread_is_told)
{
    struct subject s;
    if (!may_watch())
        return;
    struct told told = crash_of("handled_all", &s, true, false);
    const struct end *end = end_find(&told, "crash.signal");
    ck_assert_ptr_nonnull(end);
    ck_assert_str_eq(end->cause, "sent by itself");
    const struct end *raised = end_find(&told, "crash.raised");
    ck_assert(end->tid == s.tid || raised != NULL);
    ck_assert(raised == NULL || raised->tid == s.tid);
#if defined(__x86_64__)
    const struct end *handled = end_find(&told, "crash.handled");
    ck_assert_ptr_nonnull(handled);
    ck_assert_uint_eq(handled->tid, s.tid);
    ck_assert_str_eq(handled->address, "0x10");
    stack_check(handled, &s, 0);
#endif
}
END_TEST

START_TEST(a_stack_that_ran_over_has_frame_pointers_alone)
{
    struct subject s;
    if (!may_watch())
        return;
    struct told told = crash_of("deep", &s, true, false);
    const struct end *end = end_find(&told, "crash.signal");
    ck_assert_ptr_nonnull(end);
    ck_assert_int_eq(end->signal, SIGSEGV);
    ck_assert_uint_eq(end->tid, s.tid);
    /* Its stack pointer is where no stack is any more, and nothing can be copied from there on. */
    ck_assert_uint_ge(end->frames, 5);
    ck_assert_uint_ne(end->stack_end & ~(unsigned)PARTITION_STACK_EXACT, PARTITION_STACK_WHOLE);
    ck_assert_int_eq(told.note.state, EVIDENCE_PARTIAL);
    ck_assert_ptr_nonnull(strstr(told.note.why, "stack by frame pointers"));
}
END_TEST

START_TEST(who_has_killed_it_is_told)
{
    struct subject s;
    char name[32] = "", text[128];
    if (!may_watch())
        return;
    ck_assert_int_gt(text_file_read("/proc/self/comm", name, sizeof name), 0);
    name[strcspn(name, "\n")] = '\0';
    struct told told = crash_of("wait", &s, true, true);
    const struct end *end = end_find(&told, "crash.sent");
    ck_assert_ptr_nonnull(end);
    ck_assert_uint_eq(told.count, 1);
    ck_assert_int_eq(end->signal, SIGKILL);
    ck_assert_uint_eq(end->by, (uint64_t)getpid());
    ck_assert_str_eq(end->by_name, name);
    ck_assert_str_eq(end->cause, "sent by kill");
    ck_assert_int_eq(told.note.state, EVIDENCE_TAKEN);
    snprintf(text, sizeof text,
             "SIGKILL sent by kill, when %d ran; no last words: crash.words is false", getpid());
    ck_assert_str_eq(told.note.why, text);
}
END_TEST

/* Runtimes stop their threads by signals, and other programs tell each other things by them: what
 * somebody had a handler for has ended nobody. */
START_TEST(signals_that_it_has_survived_are_not_told)
{
    struct subject s;
    char text[96];
    if (!may_watch())
        return;
    struct told told = crash_of("survivor", &s, true, true);
    ck_assert_uint_eq(told.count, 1);
    ck_assert_str_eq(told.ends[0].name, "crash.sent");
    ck_assert_int_eq(told.ends[0].signal, SIGKILL);
    ck_assert_ptr_nonnull(strstr(told.note.why, "SIGKILL sent by kill"));

    told = crash_of("survivor_fault", &s, true, false);
    ck_assert_uint_eq(told.count, 1);
    ck_assert_str_eq(told.ends[0].name, "crash.signal");
    ck_assert_int_eq(told.ends[0].signal, SIGSEGV);
    ck_assert_str_eq(told.ends[0].cause, "address not mapped");
    snprintf(text, sizeof text, "SIGSEGV (address not mapped) of thread %" PRIu32, s.tid);
    ck_assert_ptr_nonnull(strstr(told.note.why, text));
    ck_assert_ptr_null(strstr(told.note.why, "left out"));
}
END_TEST

static bool has_ticked(void *context)
{
    return clock_monotonic_ns() > *(const uint64_t *)context;
}

/* The kernel gives numbers again. */
START_TEST(the_end_of_another_with_its_pid_is_not_its_own)
{
    struct crash *crash;
    if (!may_watch())
        return;
    ck_assert_int_eq(crash_new(&(struct crash_settings){.stacks = true}, &crash), SKEIN_OK);
    struct subject first = subject_start("fault");
    ck_assert_int_eq(subject_end(&first), SIGSEGV);
    uint64_t ticked_ns = clock_monotonic_ns() + S / 20; /* a start is told to a hundredth of one */
    ck_assert(wait_until(has_ticked, &ticked_ns, 0));
    struct subject s = subject_start_as(first.pid, "wait");
    ck_assert_int_eq(s.pid, first.pid);
    ck_assert_int_eq(crash_attached(crash, s.process), SKEIN_OK);
    ck_assert_int_eq(kill(s.pid, SIGKILL), 0);
    ck_assert_int_eq(subject_end(&s), SIGKILL);
    crash_gone(crash, s.process);
    struct told told = crash_ask(crash, &s, NULL);
    ck_assert_uint_eq(told.count, 1);
    ck_assert_str_eq(told.ends[0].name, "crash.sent");
    ck_assert_int_eq(told.ends[0].signal, SIGKILL);
    crash_free(&crash);
    process_unref(&first.process);
    process_unref(&s.process);
}
END_TEST

/* One that is watched says nothing when it calls exec. The same program lies elsewhere then. */
START_TEST(a_program_that_began_itself_anew_has_its_own_code)
{
    struct symbolizer *symbolizer = NULL;
    struct symbolizer_settings settings = {.program = SKEIN_SYMBOLIZER};
    struct crash *crash;
    if (!may_watch())
        return;
    ck_assert_int_eq(symbolizer_new(&settings, &symbolizer), SKEIN_OK);
    ck_assert_int_eq(
        crash_new(&(struct crash_settings){.stacks = true, .symbolizer = symbolizer}, &crash),
        SKEIN_OK);
    struct subject s = subject_start("again_later");
    ck_assert_int_eq(crash_attached(crash, s.process), SKEIN_OK);
    struct known known = {crash, s.process, 0};
    ck_assert(wait_until(code_is_known, &known, 0));
    known.pc = s.inner;
    ck_assert(wait_until(code_is_known, &known, 0));
    ck_assert_int_eq(write(s.in, "x", 1), 1);
    subject_told(&s);
    known.pc = s.inner;
    ck_assert(wait_until(code_is_known, &known, 0));
    ck_assert_int_eq(subject_end(&s), SIGSEGV);
    crash_gone(crash, s.process);
    struct told told = crash_ask(crash, &s, symbolizer);
    const struct end *end = end_find(&told, "crash.signal");
    ck_assert_ptr_nonnull(end);
    stack_check(end, &s, 0);
    crash_free(&crash);
    symbolizer_free(&symbolizer);
    process_unref(&s.process);
}
END_TEST

START_TEST(without_a_symbolizer_frame_pointers_are_what_there_is)
{
    struct subject s;
    if (!may_watch())
        return;
    struct told told = crash_of("fault", &s, false, false);
    const struct end *end = end_find(&told, "crash.signal");
    ck_assert_ptr_nonnull(end);
    ck_assert_uint_eq(frame_in(end, s.inner, 0), 0);
    ck_assert_int_eq(told.note.state, EVIDENCE_PARTIAL);
    ck_assert_ptr_nonnull(strstr(told.note.why, "stack by frame pointers"));
}
END_TEST

START_TEST(a_refusal_is_told_with_what_would_allow_it)
{
    struct crash *crash;
    struct crash_settings settings = {.stacks = true, .tracefs = folder};
    ck_assert_int_eq(crash_new(&settings, &crash), SKEIN_OK);
    crash_leave_out(crash, false, true);
    struct subject s = subject_start("fault");
    ck_assert_int_eq(crash_attached(crash, s.process), SKEIN_OK);
    ck_assert_int_eq(subject_end(&s), SIGSEGV);
    crash_gone(crash, s.process);
    struct told told = crash_ask(crash, &s, NULL);
    ck_assert_int_eq(told.note.state, EVIDENCE_REFUSED);
    ck_assert_ptr_nonnull(strstr(told.note.why, "needs tracefs"));
    ck_assert_uint_eq(told.count, 0);
    ck_assert_uint_eq(crash_free(&crash), 0);
    process_unref(&s.process);
}
END_TEST

START_TEST(what_is_no_signal_says_so)
{
    struct crash *crash;
    struct crash_settings settings = {.stacks = false};
    ck_assert_int_eq(crash_new(&settings, &crash), SKEIN_OK);
    crash_leave_out(crash, false, true);
    struct subject s = subject_start("fault");
    ck_assert_int_eq(crash_attached(crash, s.process), SKEIN_OK);
    ck_assert_int_eq(subject_end(&s), SIGSEGV);
    crash_gone(crash, s.process);
    ck_assert_str_eq(crash_ask(crash, &s, NULL).note.why,
                     "crash.stacks is false; no last words: crash.words is false");
    s.process->state = PROCESS_ENDED;
    s.process->death.signal = SIGTERM;
    ck_assert_str_eq(crash_ask(crash, &s, NULL).note.why, "it was asked to end, by signal 15");
    s.process->death.signal = 0;
    s.process->death.status = 3;
    ck_assert_str_eq(crash_ask(crash, &s, NULL).note.why, "it ended by itself, with status 3");
    ck_assert_uint_eq(crash_free(&crash), 0);
    process_unref(&s.process);
}
END_TEST

/* ---- last words ---- */

/* The subject says where it ends; its file holds the words of one before it, too. */
static struct told words_of(const char *how, const char *before)
{
    struct subject s;
    struct crash *crash;
    struct crash_settings settings = {.stacks = false};
    uint64_t old_ns = clock_realtime_ns() - 60 * S;
    const struct timespec old[2] = {{(time_t)(old_ns / S), 0}, {(time_t)(old_ns / S), 0}};
    char *file = path_join(folder, "stderr.log");
    if (before != NULL)
        file_write_text(file, before);
    ck_assert(before == NULL || utimensat(AT_FDCWD, file, old, 0) == 0);
    errors = file;
    ck_assert_int_eq(crash_new(&settings, &crash), SKEIN_OK);
    s = subject_start(how);
    ck_assert_int_eq(crash_attached(crash, s.process), SKEIN_OK);
    struct known known = {crash, s.process, 0};
    ck_assert(wait_until(file_is_known, &known, 0));
    (void)subject_end(&s);
    crash_gone(crash, s.process);
    ck_assert(wait_until(words_are_read, &known, 0));
    file_write_text(file, "the next one has begun\n");
    struct told told = crash_ask(crash, &s, NULL);
    ck_assert_uint_eq(crash_free(&crash), 0);
    process_unref(&s.process);
    errors = NULL;
    ck_assert(told.stderrs == 0 || strcmp(told.file, file) == 0);
    free(file);
    return told;
}

START_TEST(what_a_program_wrote_last_is_told)
{
    struct told told = words_of("say_abort", "the one before\n");
    ck_assert_str_eq(told.words, "no room for order 7\n");
    ck_assert_int_eq(told.bytes, 20);
    ck_assert_str_eq(told.since, "start");
    ck_assert_str_eq(told.missing, "");
    ck_assert_str_eq(told.note.why, "crash.stacks is false; last words: 20 bytes");
    ck_assert_int_eq(told.note.state, EVIDENCE_TAKEN);
}
END_TEST

START_TEST(so_is_that_of_one_that_ended_itself_with_a_status)
{
    struct told told = words_of("say_exit", NULL);
    ck_assert_str_eq(told.words, "no room for order 7\n");
    ck_assert_str_eq(told.note.why, "it ended by itself, with status 3; last words: 20 bytes");
    ck_assert_int_eq(told.note.state, EVIDENCE_TAKEN);
}
END_TEST

static struct told words_private(bool private)
{
    struct crash *crash;
    struct crash_settings settings = {.stacks = false};
    char *file = path_join(folder, "stderr.log");
    errors = file;
    ck_assert_int_eq(crash_new(&settings, &crash), SKEIN_OK);
    struct subject s = subject_start("say_exit");
    ck_assert_int_eq(crash_attached(crash, s.process), SKEIN_OK);
    (void)subject_end(&s);
    crash_gone(crash, s.process);
    crash_leave_out(crash, private, false); /* also if they were read before */
    struct told told = crash_ask(crash, &s, NULL);
    ck_assert_uint_eq(crash_free(&crash), 0);
    process_unref(&s.process);
    errors = NULL;
    free(file);
    return told;
}

START_TEST(privacy_leaves_last_words_out)
{
    struct told told = words_private(false);
    ck_assert_str_eq(told.words, "no room for order 7\n");
    told = words_private(true);
    ck_assert_str_eq(told.words, "");
    ck_assert_uint_eq(told.stderrs, 0);
    ck_assert_ptr_nonnull(strstr(told.note.why, "no last words: left out by evidence.privacy"));
    ck_assert_int_eq(told.note.state, EVIDENCE_NONE);
}
END_TEST

/* A file system of which nobody answers, as the worker sees it. */
static sem_t hangs;
static void hang(void *context)
{
    char byte;
    sem_post(&hangs);
    (void)!read(*(int *)context, &byte, 1);
}

START_TEST(a_file_that_hangs_takes_nothing_else)
{
    static struct crash *left; /* nobody frees it: a thread uses it */
    struct crash *crash;
    struct crash_settings settings = {.stacks = false};
    int ends[2];
    sem_init(&hangs, 0, 0);
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    ck_assert_int_eq(crash_new(&settings, &crash), SKEIN_OK);
    struct subject s = subject_start("say_exit");
    pthread_mutex_lock(&crash->mutex);
    crash->words_jobs++;
    ck_assert_int_eq(worker_post(crash->words_worker, NULL, hang, &ends[0]), SKEIN_OK);
    pthread_mutex_unlock(&crash->mutex);
    sem_wait(&hangs); /* what is urgent would be done before it */
    ck_assert_int_eq(crash_attached(crash, s.process), SKEIN_OK);
    (void)subject_end(&s);
    crash_gone(crash, s.process);
    struct told told = crash_ask_within(crash, &s, NULL, S / 2);
    ck_assert_str_eq(told.note.why,
                     "it ended by itself, with status 3; no last words: not read in time");
    for (int i = 0; i < 3 * CRASH_DEAD_MAX; i++) { /* they do not pile up */
        memset(s.process->uid.bytes, 0x40 + i, sizeof s.process->uid.bytes);
        s.process->uid.bytes[0] = (uint8_t)(i + 1);
        ck_assert_int_eq(crash_attached(crash, s.process), SKEIN_OK);
        crash_gone(crash, s.process);
    }
    ck_assert_uint_le(crash->dead, 2 * CRASH_DEAD_MAX);
    left = crash;
    ck_assert_uint_eq(crash_free(&crash), 1);
    ck_assert_ptr_nonnull(left);
    process_unref(&s.process);
}
END_TEST

/* More die than are remembered, and some of them are asked for late, or twice. */
START_TEST(the_dead_are_bounded)
{
    struct crash *crash;
    struct crash_settings settings = {.stacks = true};
    if (!may_watch())
        return;
    ck_assert_int_eq(crash_new(&settings, &crash), SKEIN_OK);
    crash_leave_out(crash, false, true);
    struct subject s = subject_start("fault");
    ck_assert_int_eq(crash_attached(crash, s.process), SKEIN_OK);
    ck_assert_int_eq(subject_end(&s), SIGSEGV);
    crash_gone(crash, s.process);
    ck_assert_uint_eq(crash_ask(crash, &s, NULL).count, 1);
    ck_assert_uint_eq(crash_ask(crash, &s, NULL).count, 1);
    struct process_uid first = s.process->uid;
    for (int i = 0; i < CRASH_DEAD_MAX; i++) {
        memset(s.process->uid.bytes, 0x80 + i, sizeof s.process->uid.bytes);
        ck_assert_int_eq(crash_attached(crash, s.process), SKEIN_OK);
        crash_gone(crash, s.process);
        ck_assert_uint_eq(crash_ask(crash, &s, NULL).count, 1);
    }
    ck_assert_uint_eq(crash->dead, CRASH_DEAD_MAX);
    ck_assert_ptr_null(crash_entry_find(crash, &first));
    s.process->uid = first;
    ck_assert_int_eq(crash_ask(crash, &s, NULL).note.state, EVIDENCE_NONE);
    ck_assert_uint_eq(crash_free(&crash), 0);
    process_unref(&s.process);
}
END_TEST

static struct process_uid crashed(struct crash *crash, uint32_t user, uint8_t number)
{
    struct process *p;
    ck_assert_int_eq(process_new(&p), SKEIN_OK);
    p->pid = (uint32_t)getpid();
    p->user = user;
    p->uid.bytes[0] = number;
    ck_assert_int_eq(crash_attached(crash, p), SKEIN_OK);
    process_set_gone(p, PROCESS_CRASHED);
    crash_gone(crash, p);
    struct process_uid uid = p->uid;
    process_unref(&p);
    return uid;
}

START_TEST(who_dies_a_hundred_times_makes_nobody_elses_death_forgotten)
{
    struct crash *crash;
    struct crash_settings settings = {.stacks = false};
    ck_assert_int_eq(crash_new(&settings, &crash), SKEIN_OK);
    crash_leave_out(crash, false, true);
    const struct process_uid others = crashed(crash, 0, 1);
    struct process_uid first, last;
    for (uint8_t i = 0; i < CRASH_DEAD_MAX + 9; i++) {
        last = crashed(crash, 65534, i + 2);
        if (i == 0)
            first = last;
    }
    ck_assert_uint_eq(crash->dead, CRASH_DEAD_MAX);
    ck_assert_ptr_nonnull(crash_entry_find(crash, &others));
    ck_assert_ptr_nonnull(crash_entry_find(crash, &last));
    ck_assert_ptr_null(crash_entry_find(crash, &first));
    ck_assert_uint_eq(crash_free(&crash), 0);
}
END_TEST

/* Their files hang: what the crowd wrote last is not read beyond its share, and others' is. */
START_TEST(last_words_that_wait_are_bounded_by_user)
{
    static struct crash *left; /* nobody frees it: a thread uses it */
    struct crash *crash;
    struct crash_settings settings = {.stacks = false};
    int ends[2];
    sem_init(&hangs, 0, 0);
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    ck_assert_int_eq(crash_new(&settings, &crash), SKEIN_OK);
    pthread_mutex_lock(&crash->mutex);
    crash->words_jobs++;
    ck_assert_int_eq(worker_post(crash->words_worker, NULL, hang, &ends[0]), SKEIN_OK);
    pthread_mutex_unlock(&crash->mutex);
    sem_wait(&hangs);
    for (uint8_t i = 0; i < 2 * CRASH_DEAD_MAX; i++)
        (void)crashed(crash, 65534, i + 2);
    uint64_t crowd = share_tally_of(&crash->words_reads, 65534);
    ck_assert_uint_gt(crowd, CRASH_DEAD_MAX / 2);
    ck_assert_uint_lt(crowd, CRASH_DEAD_MAX - 1);
    (void)crashed(crash, 0, 1);
    ck_assert_uint_eq(share_tally_of(&crash->words_reads, 0), 1);
    left = crash;
    ck_assert_uint_eq(crash_free(&crash), 1);
    ck_assert_ptr_nonnull(left);
}
END_TEST

static bool all_are_read(void *context)
{
    struct crash *crash = context;
    const struct crash_entry *entry;
    bool all = true;
    pthread_mutex_lock(&crash->mutex);
    TAILQ_FOREACH(entry, &crash->entries, link)
        all = all && entry->read;
    pthread_mutex_unlock(&crash->mutex);
    return all;
}

START_TEST(many_that_die_at_once_are_bounded_when_they_are_read)
{
    struct crash *crash;
    struct crash_settings settings = {.stacks = true};
    if (!may_watch())
        return;
    ck_assert_int_eq(crash_new(&settings, &crash), SKEIN_OK);
    struct subject s = subject_start("fault");
    ck_assert_int_eq(subject_end(&s), SIGSEGV);
    for (int i = 0; i < 2 * CRASH_DEAD_MAX; i++) {
        memset(s.process->uid.bytes, 0x40 + i, sizeof s.process->uid.bytes);
        ck_assert_int_eq(crash_attached(crash, s.process), SKEIN_OK);
        crash_gone(crash, s.process);
    }
    ck_assert(wait_until(all_are_read, crash, 0));
    crash_look(crash);
    ck_assert_uint_eq(crash->dead, CRASH_DEAD_MAX);
    ck_assert_uint_eq(crash_ask(crash, &s, NULL).count, 1); /* the last one is there */
    crash_free(&crash);
    process_unref(&s.process);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("crash");
    signal(SIGPIPE, SIG_IGN);
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 0);
    tcase_add_test(tests, a_fault_is_told_with_its_thread_address_and_stack);
    tcase_add_test(tests, a_program_that_gives_up_is_told_with_its_stack);
    tcase_add_test(tests, other_faults_are_told_by_their_cause);
    tcase_add_test(tests, a_program_that_died_in_its_own_handler_is_told_with_the_fault);
    tcase_add_test(tests, a_stack_that_ran_over_has_frame_pointers_alone);
    tcase_add_test(tests, a_handler_that_ends_another_thread_is_told);
    tcase_add_test(tests, who_has_killed_it_is_told);
    tcase_add_test(tests, without_a_symbolizer_frame_pointers_are_what_there_is);
    tcase_add_test(tests, a_refusal_is_told_with_what_would_allow_it);
    tcase_add_test(tests, what_is_no_signal_says_so);
    tcase_add_test(tests, what_a_program_wrote_last_is_told);
    tcase_add_test(tests, so_is_that_of_one_that_ended_itself_with_a_status);
    tcase_add_test(tests, privacy_leaves_last_words_out);
    tcase_add_test(tests, a_file_that_hangs_takes_nothing_else);
    tcase_add_test(tests, the_dead_are_bounded);
    tcase_add_test(tests, who_dies_a_hundred_times_makes_nobody_elses_death_forgotten);
    tcase_add_test(tests, last_words_that_wait_are_bounded_by_user);
    tcase_add_test(tests, many_that_die_at_once_are_bounded_when_they_are_read);
    tcase_add_test(tests, signals_that_it_has_survived_are_not_told);
    tcase_add_test(tests, the_end_of_another_with_its_pid_is_not_its_own);
    tcase_add_test(tests, a_program_that_began_itself_anew_has_its_own_code);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
