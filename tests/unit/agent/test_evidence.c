/* SPDX-License-Identifier: Apache-2.0
 * What sources write, and what becomes of a target whose source is slow, hangs or has nothing. */
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "evidence_task.h"
#include "partition_reader.h"
#include "proc_info.h"
#include "support.h"

static const struct partition_event_type instant = {
    .name = "test.instant",
    .klass = SKEIN_CLASS_INSTANT,
    .nargs = 2,
    .args = {{SKEIN_T_U64, "n", ""}, {SKEIN_T_STR, "text", ""}}};
static const struct partition_event_type span = {.name = "test.span", .klass = SKEIN_CLASS_SPAN};

static bool write_instant(struct evidence_out *out, uint32_t tid, uint64_t at_ns, uint64_t n,
                          const char *text)
{
    const struct partition_value values[] = {
        {.u64 = n}, {.str = {.text = text, .len = (uint32_t)strlen(text)}}};
    return evidence_event(out, evidence_thread(out, tid, "t"), evidence_type(out, &instant), at_ns,
                          0, values);
}

static struct partition_reader *poured(struct evidence_out *out, struct buf *bytes)
{
    struct partition_info info = {.host = "h", .service = "s", .labels = "", .exe = ""};
    struct partition_writer *writer;
    struct partition_reader *reader;
    struct partition_footer footer;
    char error[256];
    ck_assert_int_eq(evidence_out_pour(out, &info, 1000, 9000, &writer), SKEIN_OK);
    ck_assert_int_eq(partition_writer_finish(writer, bytes, &footer), SKEIN_OK);
    partition_writer_free(&writer);
    partition_footer_free(&footer);
    ck_assert_int_eq(partition_reader_new(bytes->data, bytes->len, &reader, error, sizeof error),
                     SKEIN_OK);
    return reader;
}

START_TEST(events_come_in_order_whatever_the_order_of_their_writing)
{
    struct evidence_out *out;
    struct buf bytes = {0};
    struct trace_event event;
    ck_assert_int_eq(evidence_out_new(0, &out), SKEIN_OK);
    const uint64_t times[] = {5000, 2000, 4000, 1500, 3000};
    for (unsigned i = 0; i < 5; i++)
        ck_assert(write_instant(out, 7 + i % 2, times[i], times[i], i % 2 ? "odd" : "even"));
    const uint64_t pcs[] = {0x1234, 0x5678};
    const struct partition_stack stack = {pcs, 2, PARTITION_STACK_EXACT};
    evidence_event_stack(out, evidence_stack(out, &stack)); /* of the one at 3000 */
    ck_assert_uint_eq(evidence_stack(out, &stack), evidence_stack(out, &stack));
    evidence_event(out, evidence_thread(out, 7, "t"), evidence_type(out, &span), 2500, 700, NULL);
    evidence_mapping(out,
                     &(struct partition_mapping){.start = 0x1000, .end = 0x2000, .path = "/x"});
    ck_assert_uint_eq(evidence_out_events(out), 6);
    struct partition_reader *reader = poured(out, &bytes);
    ck_assert(partition_reader_info(reader)->evidence);
    ck_assert_str_eq(partition_reader_mapping(reader, 0x1234)->path, "/x");
    uint64_t last[2] = {0, 0};
    unsigned seen = 0, spans = 0;
    while (partition_reader_next(reader, &event) == 1) {
        uint64_t *before = &last[event.thread->tid - 7];
        ck_assert_uint_ge(event.ticks, *before);
        *before = event.ticks;
        seen++;
        if (event.kind == TRACE_REGION) {
            ck_assert_uint_eq(event.ticks, 3200); /* its end */
            ck_assert_uint_eq(event.dur_ns, 700);
            spans++;
            continue;
        }
        ck_assert_uint_eq(event.args[0].u64, event.ticks);
        bool odd = event.args[1].str.len == 3;
        ck_assert_uint_eq(event.thread->tid, odd ? 8 : 7);
        struct partition_stack got;
        ck_assert(partition_reader_stack(reader, event.stack, &got) == (event.ticks == 3000));
    }
    ck_assert_uint_eq(seen, 6);
    ck_assert_uint_eq(spans, 1);
    partition_reader_free(&reader);
    buf_fini(&bytes);
    evidence_out_free(&out);
}
END_TEST

START_TEST(what_has_no_room_is_counted)
{
    struct evidence_out *out;
    struct buf bytes = {0};
    ck_assert_int_eq(evidence_out_new(4096, &out), SKEIN_OK);
    uint64_t written = 0;
    for (unsigned i = 0; i < 1000; i++)
        written += write_instant(out, 7, 1000 + i, i, "a text");
    ck_assert_uint_gt(written, 10);
    ck_assert_uint_lt(written, 1000);
    ck_assert_uint_eq(evidence_out_events(out), written);
    ck_assert_uint_eq(evidence_out_left_out(out), 1000 - written);
    struct partition_reader *reader = poured(out, &bytes);
    ck_assert_uint_eq(partition_reader_footer(reader)->events, written);
    partition_reader_free(&reader);
    buf_fini(&bytes);
    evidence_out_free(&out);
}
END_TEST

START_TEST(nothing_makes_no_partition)
{
    struct evidence_out *out;
    struct partition_writer *writer;
    struct partition_info info = {.host = "", .service = "", .labels = "", .exe = ""};
    ck_assert_int_eq(evidence_out_new(0, &out), SKEIN_OK);
    ck_assert_int_eq(evidence_out_pour(out, &info, 1, 2, &writer), SKEIN_NOT_FOUND);
    ck_assert_ptr_null(writer);
    evidence_out_free(&out);
}
END_TEST

/* ---- tasks ---- */

static struct process *process;
static struct evidence *evidence;
static sem_t done, gate, entered;

/* The clock of deadlines runs unless a test has stopped it: then time passes where the test says so,
 * however late a thread gets a processor. */
static uint64_t stopped_at_ns; /* 0: it runs; atomic */
uint64_t __real_clock_monotonic_ns(void);
uint64_t __wrap_clock_monotonic_ns(void);

uint64_t __wrap_clock_monotonic_ns(void)
{
    uint64_t at_ns = __atomic_load_n(&stopped_at_ns, __ATOMIC_RELAXED);
    return at_ns != 0 ? at_ns : __real_clock_monotonic_ns();
}

static void clock_stop(void)
{
    __atomic_store_n(&stopped_at_ns, __real_clock_monotonic_ns(), __ATOMIC_RELAXED);
}

static void time_pass(uint64_t ms)
{
    __atomic_fetch_add(&stopped_at_ns, ms * NS_PER_MS, __ATOMIC_RELAXED);
}

static void setup(void)
{
    ck_assert_int_eq(process_new(&process), SKEIN_OK);
    sem_init(&done, 0, 0);
    sem_init(&gate, 0, 0);
    sem_init(&entered, 0, 0);
}

static void teardown(void)
{
    process_unref(&process);
}

static void evidence_make(uint64_t deadline_ms)
{
    const struct evidence_settings settings = {.deadline_ms = deadline_ms};
    ck_assert_int_eq(evidence_new(&settings, NULL, &evidence), SKEIN_OK);
}

static void source_add(const char *kind, enum evidence_when when, evidence_collect_fn *collect)
{
    const struct evidence_source source = {.kind = kind, .when = when, .collect = collect};
    ck_assert_int_eq(evidence_add(evidence, &source), SKEIN_OK);
}

static struct evidence_task *task_begin(bool threads, bool barred)
{
    const struct evidence_order order = {.process = process,
                                         .from_ns = 1000,
                                         .wish = {.kinds = threads ? 1u << EVIDENCE_THREADS : 0},
                                         .threads_barred = barred,
                                         .epoch = 3,
                                         .host = "h"};
    struct evidence_task *task;
    ck_assert_int_eq(evidence_begin(evidence, &order, &task), SKEIN_OK);
    return task;
}

static bool on_done(void *context)
{
    (void)context;
    sem_post(&done);
    return true;
}

static void one_event(void *source, const struct evidence_ask *ask, struct evidence_out *out,
                      struct evidence_note *note)
{
    (void)source;
    (void)write_instant(out, 5, ask->to_ns, 1, "one");
    evidence_say(note, EVIDENCE_TAKEN, "%s", "all of it");
}

static void nothing(void *source, const struct evidence_ask *ask, struct evidence_out *out,
                    struct evidence_note *note)
{
    (void)source, (void)ask, (void)out;
    evidence_say(note, EVIDENCE_REFUSED, "%s", "no right");
}

static void hang(void *source, const struct evidence_ask *ask, struct evidence_out *out,
                 struct evidence_note *note)
{
    (void)source, (void)ask, (void)out, (void)note;
    sem_post(&entered);
    sem_wait(&gate);
}

static const struct report_evidence *note_of(const struct report_evidence *notes, size_t count,
                                             const char *kind)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(notes[i].kind, kind) == 0)
            return &notes[i];
    return NULL;
}

START_TEST(each_source_says_what_became_of_it)
{
    struct report_evidence notes[EVIDENCE_KINDS_MAX];
    evidence_make(60000);
    source_add("threads", EVIDENCE_AT_BEGIN, one_event);
    source_add("samples", EVIDENCE_AT_END, nothing);
    source_add("vitals", EVIDENCE_AT_END, one_event);
    for (int threads = 0; threads < 2; threads++) {
        struct evidence_task *task = task_begin(threads != 0, false);
        ck_assert_int_eq(evidence_finish(task, 2000, 0, on_done, NULL), SKEIN_OK);
        sem_wait(&done);
        size_t count = evidence_notes(task, notes);
        ck_assert_uint_eq(count, threads ? 3 : 2);
        ck_assert_ptr_eq(note_of(notes, count, "threads"), threads ? &notes[0] : NULL);
        ck_assert_str_eq(note_of(notes, count, "samples")->state, "refused");
        ck_assert_str_eq(note_of(notes, count, "samples")->reason, "no right");
        ck_assert_str_eq(note_of(notes, count, "vitals")->state, "taken");
        ck_assert_uint_eq(note_of(notes, count, "vitals")->events, 1);
        const struct evidence_partition *partition = evidence_result(task);
        ck_assert_uint_eq(partition->events, threads ? 2 : 1);
        ck_assert_uint_eq(partition->key.epoch, 3);
        ck_assert_uint_eq(partition->key.sequence, (UINT64_C(1) << 48) + (uint64_t)threads);
        ck_assert(!evidence_drop(task)); /* done is done */
        evidence_unref(&task);
    }
    ck_assert_uint_eq(evidence_free(&evidence), 0);
}
END_TEST

START_TEST(a_source_of_deaths_is_asked_of_the_dead_alone)
{
    struct report_evidence notes[EVIDENCE_KINDS_MAX];
    evidence_make(60000);
    source_add("crash", EVIDENCE_AT_DEATH, one_event);
    source_add("vitals", EVIDENCE_AT_END, one_event);
    for (size_t dead = 0; dead < 2; dead++) {
        if (dead > 0)
            process_set_gone(process, PROCESS_CRASHED);
        struct evidence_task *task = task_begin(false, false);
        ck_assert_int_eq(evidence_finish(task, 2000, 0, on_done, NULL), SKEIN_OK);
        sem_wait(&done);
        ck_assert_uint_eq(evidence_notes(task, notes), 1 + dead);
        ck_assert_str_eq(notes[0].kind, dead > 0 ? "crash" : "vitals");
        ck_assert_uint_eq(evidence_result(task)->events, 1 + dead);
        ck_assert_uint_eq(evidence_notes_none(task, "why", notes), 1 + dead);
        (void)evidence_drop(task);
        evidence_unref(&task);
    }
    ck_assert_uint_eq(evidence_free(&evidence), 0);
}
END_TEST

START_TEST(who_asks_for_the_death_of_the_living_is_told)
{
    struct report_evidence notes[EVIDENCE_KINDS_MAX];
    evidence_make(60000);
    source_add("crash", EVIDENCE_AT_DEATH, one_event);
    for (size_t dead = 0; dead < 2; dead++) {
        struct evidence_task *task;
        const struct evidence_order order = {
            .process = process,
            .wish = {.only = true, .kinds = EVIDENCE_BIT(EVIDENCE_CRASH)},
            .host = "h"};
        if (dead > 0)
            process_set_gone(process, PROCESS_CRASHED);
        ck_assert_int_eq(evidence_begin(evidence, &order, &task), SKEIN_OK);
        ck_assert_int_eq(evidence_finish(task, 2000, 0, on_done, NULL), SKEIN_OK);
        sem_wait(&done);
        ck_assert_uint_eq(evidence_notes(task, notes), 1);
        ck_assert_str_eq(notes[0].kind, "crash");
        ck_assert_str_eq(notes[0].state, dead > 0 ? "taken" : "none");
        ck_assert_str_eq(notes[0].reason, dead > 0 ? "all of it" : "the process has not ended");
        (void)evidence_drop(task);
        evidence_unref(&task);
    }
    ck_assert_uint_eq(evidence_free(&evidence), 0);
}
END_TEST

START_TEST(a_dump_that_is_barred_is_named)
{
    struct report_evidence notes[EVIDENCE_KINDS_MAX];
    evidence_make(60000);
    source_add("threads", EVIDENCE_AT_BEGIN, one_event);
    struct evidence_task *task = task_begin(true, true);
    ck_assert_int_eq(evidence_finish(task, 2000, 0, on_done, NULL), SKEIN_OK);
    sem_wait(&done);
    ck_assert_uint_eq(evidence_notes(task, notes), 1);
    ck_assert_str_eq(notes[0].state, "refused");
    ck_assert_uint_eq(evidence_result(task)->bytes.len, 0);
    evidence_unref(&task);
    ck_assert_uint_eq(evidence_free(&evidence), 0);
}
END_TEST

/* How far a stopped clock is set for a deadline that is not to come. */
#define FREELY_MS (3600 * UINT64_C(1000))

static uint64_t asked_until_ns;

static void deadline_note(void *source, const struct evidence_ask *ask, struct evidence_out *out,
                          struct evidence_note *note)
{
    (void)source, (void)out, (void)note;
    asked_until_ns = ask->deadline_ns;
    sem_post(&entered);
}

/* A capture of the past ends when it begins: what is asked first must leave time for the others. */
START_TEST(a_dump_takes_half_of_the_time_at_most)
{
    evidence_make(60000);
    source_add("threads", EVIDENCE_AT_BEGIN, deadline_note);
    struct evidence_task *task = task_begin(true, false);
    sem_wait(&entered);
    ck_assert_uint_le(asked_until_ns, clock_monotonic_ns() + UINT64_C(30000000000));
    ck_assert(evidence_drop(task));
    evidence_unref(&task);
    ck_assert_uint_eq(evidence_free(&evidence), 0);
}
END_TEST

/* How much time a source at the end is given, by a clock that stands. */
static uint64_t given_ms(uint64_t deadline_ms)
{
    evidence_make(deadline_ms);
    source_add("vitals", EVIDENCE_AT_END, deadline_note);
    struct evidence_task *task = task_begin(false, false);
    const uint64_t now_ns = clock_monotonic_ns();
    ck_assert_int_eq(evidence_finish(task, 2000, 0, on_done, NULL), SKEIN_OK);
    const uint64_t whole_ms = evidence_deadline_ms(task);
    sem_wait(&done);
    evidence_unref(&task);
    time_pass(FREELY_MS);
    ck_assert_uint_eq(evidence_free(&evidence), 0);
    ck_assert_uint_eq(asked_until_ns - now_ns, whole_ms * 3 / 4 * NS_PER_MS); /* names, packing */
    return whole_ms;
}

/* Its stack is walked through files that were not opened yet, on whatever the machine has left. */
START_TEST(of_a_process_that_crashed_sources_have_longer)
{
    clock_stop();
    ck_assert_uint_eq(given_ms(2000), 2000);
    process_set_gone(process, PROCESS_CRASHED);
    ck_assert_uint_eq(given_ms(2000), 8000);
    ck_assert_uint_eq(given_ms(4000), 10000); /* its report is not to be too late */
    ck_assert_uint_eq(given_ms(20000), 20000);
}
END_TEST

static bool is_refused(void)
{
    struct evidence_task *task = task_begin(true, false);
    bool refused = evidence_finish(task, 2000, 0, on_done, NULL) == SKEIN_BUSY;
    struct report_evidence notes[EVIDENCE_KINDS_MAX];
    if (refused && evidence_notes(task, notes) == 1)
        ck_assert_str_eq(notes[0].reason, EVIDENCE_HANGS);
    (void)evidence_drop(task);
    evidence_unref(&task);
    return refused;
}

/* Each task would keep its process: they may not add up behind what does not return. */
START_TEST(nothing_waits_behind_a_source_that_hangs)
{
    clock_stop();
    evidence_make(1);
    source_add("threads", EVIDENCE_AT_BEGIN, hang);
    struct evidence_task *task = task_begin(true, false);
    sem_wait(&entered);
    ck_assert(!is_refused());
    time_pass(1003);
    ck_assert(!is_refused()); /* three deadlines and a second may be slowness */
    time_pass(1);
    ck_assert(is_refused());
    ck_assert(is_refused());
    (void)evidence_drop(task);
    evidence_unref(&task);
    sem_post(&gate);
    time_pass(FREELY_MS);
    ck_assert_uint_eq(evidence_free(&evidence), 0); /* all others were dropped */
}
END_TEST

START_TEST(a_source_that_hangs_holds_nobody_up)
{
    struct report_evidence notes[EVIDENCE_KINDS_MAX];
    clock_stop();
    evidence_make(1);
    source_add("threads", EVIDENCE_AT_BEGIN, hang);
    source_add("vitals", EVIDENCE_AT_END, one_event);
    struct evidence_task *task = task_begin(true, false), *behind = task_begin(false, false);
    ck_assert_int_eq(evidence_finish(task, 2000, 0, on_done, NULL), SKEIN_OK);
    ck_assert_int_eq(evidence_finish(behind, 2000, 0, on_done, NULL), SKEIN_OK);
    sem_wait(&entered);
    ck_assert(evidence_drop(task));
    ck_assert(evidence_drop(behind)); /* its turn has not come */
    ck_assert_uint_eq(evidence_notes_none(task, "late", notes), 2);
    ck_assert_str_eq(notes[0].state, "none");
    ck_assert_str_eq(notes[1].reason, "late");
    evidence_unref(&task);
    evidence_unref(&behind);
    struct evidence *left = evidence;
    ck_assert_uint_eq(evidence_free(&evidence), 1); /* the thread is left behind */
    ck_assert_ptr_null(evidence);
    ck_assert_ptr_nonnull(left);
    sem_post(&gate);
    time_pass(FREELY_MS);
    ck_assert_uint_eq(evidence_free(&left), 0); /* it ends once the source returns */
    ck_assert_int_ne(sem_trywait(&done), 0);    /* nobody was called */
}
END_TEST

/* ---- processes that users have watched ---- */

static struct {
    char *folder, *program; /* that the process is to become */
    int go, says;           /* a line to go, and it does; it says a line when it has begun */
    uint32_t user;
} watched;

static void program_make(mode_t mode)
{
    size_t n;
    char *bytes = file_read("/bin/cat", &n);
    watched.folder = temp_dir_new();
    watched.program = path_join(watched.folder, "program");
    ck_assert_int_eq(chmod(watched.folder, 0755), 0);
    file_write(watched.program, bytes, n);
    ck_assert_int_eq(chmod(watched.program, mode), 0);
    free(bytes);
}

/* The kernel gives a program its name and its user before its stack: what has written a line is whole. */
static void line_wait(void)
{
    char line;
    ck_assert_int_eq(read(watched.says, &line, 1), 1);
    ck_assert_int_eq(line, '\n');
}

enum found { BY_HAND, BY_THE_OPERATOR, ATTACHED };

/* A shell of the user's that waits for a line. */
static void watched_begin(mode_t mode, enum found found)
{
    int in[2], out[2];
    watched.user = geteuid() == 0 ? 65534 : geteuid();
    program_make(mode);
    ck_assert_int_eq(pipe(in), 0);
    ck_assert_int_eq(pipe(out), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(watched.user) != 0))
            _exit(1);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl("/bin/sh", "sh", "-c", "echo; read line; exec \"$0\"", watched.program, NULL);
        _exit(1);
    }
    close(in[0]);
    close(out[1]);
    watched.go = in[1];
    watched.says = out[0];
    process->pid = (uint32_t)pid;
    process->watched = found != ATTACHED;
    process->by_hand = found == BY_HAND;
    process->user = watched.user;
    ck_assert_int_eq(proc_start_ticks(pid, &process->start_clock_ticks), SKEIN_OK);
    line_wait();
    process->start_stack = found == ATTACHED ? proc_random_stack(pid) : 0;
}

static void watched_become(void)
{
    ck_assert_int_eq(write(watched.go, "\n\n", 2), 2); /* the second is for the program */
    line_wait();
}

static void watched_end(void)
{
    kill((pid_t)process->pid, SIGKILL);
    waitpid((pid_t)process->pid, NULL, 0);
    close(watched.go);
    close(watched.says);
    free(watched.program);
    temp_dir_free(&watched.folder);
}

static unsigned asked;

static void looks(void *source, const struct evidence_ask *ask, struct evidence_out *out,
                  struct evidence_note *note)
{
    asked++;
    one_event(source, ask, out, note);
}

static void looks_while_it_becomes(void *source, const struct evidence_ask *ask,
                                   struct evidence_out *out, struct evidence_note *note)
{
    looks(source, ask, out, note);
    watched_become();
}

enum becomes { NEVER, BEFORE, AT_BEGIN, AT_END };

/* Whether anything was had of it; sources were asked `*times`. */
static bool had(enum becomes when, unsigned *times)
{
    struct report_evidence notes[EVIDENCE_KINDS_MAX];
    evidence_make(60000);
    asked = 0;
    source_add("threads", EVIDENCE_AT_BEGIN, when == AT_BEGIN ? looks_while_it_becomes : looks);
    source_add("files", EVIDENCE_AT_END, when == AT_END ? looks_while_it_becomes : looks);
    if (when == BEFORE)
        watched_become();
    struct evidence_task *task = task_begin(true, false);
    ck_assert_int_eq(evidence_finish(task, 2000, 0, on_done, NULL), SKEIN_OK);
    sem_wait(&done);
    size_t count = evidence_notes(task, notes);
    ck_assert_uint_eq(count, 2);
    uint64_t events = evidence_result(task)->events;
    ck_assert(events == 0 || events == 2);
    ck_assert(events > 0 || evidence_result(task)->bytes.len == 0);
    for (size_t i = 0; i < count; i++) {
        ck_assert_str_eq(notes[i].state, events > 0 ? "taken" : "refused");
        ck_assert(events > 0 || strstr(notes[i].reason, "root may") != NULL);
        ck_assert_uint_eq(notes[i].events, events / 2);
    }
    evidence_unref(&task);
    ck_assert_uint_eq(evidence_free(&evidence), 0);
    *times = asked;
    return events > 0;
}

START_TEST(nothing_is_had_of_a_program_that_is_not_its_users)
{
    unsigned times;
    const struct {
        mode_t mode;
        enum found found;
        enum becomes when;
        bool had;
        unsigned times;
    } cases[] = {
        {0755, BY_HAND, NEVER, true, 2},           {0755, BY_HAND, BEFORE, true, 2},
        {04755, BY_HAND, BEFORE, false, 0},        {02755, BY_HAND, BEFORE, false, 0},
        {04755, BY_HAND, AT_BEGIN, false, 1},      {04755, BY_HAND, AT_END, false, 2},
        {0755, BY_HAND, AT_END, false, 2},         /* nobody knows which program it was of */
        {04755, BY_THE_OPERATOR, BEFORE, true, 2}, /* who may have all watched */
        {0755, ATTACHED, NEVER, true, 2},          {0755, ATTACHED, BEFORE, true, 2},
        {04755, ATTACHED, BEFORE, false, 0}, /* it has kept its connection */
        {04755, ATTACHED, AT_BEGIN, false, 1},     {02755, ATTACHED, AT_END, false, 2},
    };
    /* Without random addresses exec of a program with the rights of its user is not known. */
    bool random = proc_random_stack(getpid()) != 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!random && cases[i].when == AT_END && cases[i].mode == 0755)
            continue;
        watched_begin(cases[i].mode, cases[i].found);
        bool got = had(cases[i].when, &times);
        watched_end();
        ck_assert_msg(got == cases[i].had && times == cases[i].times, "case %zu: %d, asked %u", i,
                      got, times);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("evidence");
    TCase *t = tcase_create("out");
    tcase_add_test(t, events_come_in_order_whatever_the_order_of_their_writing);
    tcase_add_test(t, what_has_no_room_is_counted);
    tcase_add_test(t, nothing_makes_no_partition);
    suite_add_tcase(suite, t);
    t = tcase_create("tasks");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, each_source_says_what_became_of_it);
    tcase_add_test(t, who_asks_for_the_death_of_the_living_is_told);
    tcase_add_test(t, a_dump_that_is_barred_is_named);
    tcase_add_test(t, a_dump_takes_half_of_the_time_at_most);
    tcase_add_test(t, of_a_process_that_crashed_sources_have_longer);
    tcase_add_test(t, nothing_waits_behind_a_source_that_hangs);
    tcase_add_test(t, a_source_of_deaths_is_asked_of_the_dead_alone);
    tcase_add_test(t, a_source_that_hangs_holds_nobody_up);
    tcase_add_test(t, nothing_is_had_of_a_program_that_is_not_its_users);
    suite_add_tcase(suite, t);
    return suite_run(suite);
}
