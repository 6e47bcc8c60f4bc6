/* SPDX-License-Identifier: Apache-2.0
 *
 * The recorder on real processes: what it tells is held against what the process counts itself
 * (getrusage), and what the test does to it.
 */
#include "vitals.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "evidence_told.h"
#include "proc_info.h"
#include "skein/status.h"

#define S           UINT64_C(1000000000)
#define NO_BUDGET   (100 * S)
#define TMPFS       0x01021994
#define DESCRIPTORS 57

static const struct evidence_settings evidence_settings;
static const struct vitals_settings all_still = {
    .host = true, .processes = true, .top = true, .still = true, .budget_ns = NO_BUDGET};

/* ---- a child that does one thing when told, and says what it took ---- */

struct child {
    struct process process; /* pid and start alone */
    int to, from;
};
struct taken {
    double user_s, system_s;
    long minor_faults, voluntary, involuntary;
};
typedef void work_fn(void);

static void rusage_get(struct taken *taken)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    taken->user_s = (double)r.ru_utime.tv_sec + (double)r.ru_utime.tv_usec / 1e6;
    taken->system_s = (double)r.ru_stime.tv_sec + (double)r.ru_stime.tv_usec / 1e6;
    taken->minor_faults = r.ru_minflt;
    taken->voluntary = r.ru_nvcsw;
    taken->involuntary = r.ru_nivcsw;
}

static _Noreturn void child_run(int from, int to, work_fn *work)
{
    char go;
    struct taken before, after;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (read(from, &go, 1) == 1) {
        rusage_get(&before);
        work();
        rusage_get(&after);
        after.user_s -= before.user_s;
        after.system_s -= before.system_s;
        after.minor_faults -= before.minor_faults;
        after.voluntary -= before.voluntary;
        after.involuntary -= before.involuntary;
        if (write(to, &after, sizeof after) != (ssize_t)sizeof after)
            break;
    }
    _exit(0);
}

static void child_start(struct child *child, work_fn *work)
{
    int to[2], from[2];
    memset(child, 0, sizeof *child);
    ck_assert_int_eq(pipe2(to, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(from, O_CLOEXEC), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        close(to[1]);
        close(from[0]);
        child_run(to[0], from[1], work);
    }
    close(to[0]);
    close(from[1]);
    child->to = to[1];
    child->from = from[0];
    child->process.pid = (uint32_t)pid;
    ck_assert_int_eq(proc_start_ticks(pid, &child->process.start_clock_ticks), SKEIN_OK);
}

static struct taken child_work(const struct child *child)
{
    struct taken taken;
    ck_assert_int_eq(write(child->to, "g", 1), 1);
    ck_assert_int_eq(read(child->from, &taken, sizeof taken), sizeof taken);
    return taken;
}

static void child_end(struct child *child)
{
    ck_assert_int_eq(spawn_stop((pid_t)child->process.pid, SIGKILL, 0), 128 + SIGKILL);
    close(child->to);
    close(child->from);
}

static uint64_t soon(void)
{
    return clock_monotonic_ns() + (uint64_t)support_deadline_ms() * 1000000;
}

static void now(struct vitals *vitals, const struct child *child)
{
    ck_assert_int_eq(
        vitals_now(vitals, child->process.pid, child->process.start_clock_ticks, soon()), SKEIN_OK);
}

static struct told_list collect(struct vitals *vitals, struct child *child, uint64_t from_ns,
                                struct evidence_note *note)
{
    struct evidence_out *out;
    uint64_t now_ns = clock_monotonic_ns();
    const struct evidence_ask ask = {.process = &child->process,
                                     .from_ns = from_ns,
                                     .to_ns = now_ns,
                                     .deadline_ns = soon(),
                                     .settings = &evidence_settings};
    *note = (struct evidence_note){.state = EVIDENCE_NONE};
    ck_assert_int_eq(evidence_out_new(64u << 20, &out), SKEIN_OK);
    vitals_collect(vitals, &ask, out, note);
    return told_read(&out);
}

/* What a rate comes to over all of its looks but the first. */
static double total(const struct told_list *list, const char *name)
{
    const struct told *before = told_find(list, "proc.threads", 0), *told;
    double sum = 0;
    for (size_t n = 0; (told = told_find(list, name, n)) != NULL; n++) {
        /* The look before: every look tells of threads. */
        for (size_t k = 0; k < list->count; k++)
            if (strcmp(list->items[k].name, "proc.threads") == 0 &&
                list->items[k].time_ns < told->time_ns && list->items[k].time_ns > before->time_ns)
                before = &list->items[k];
        sum += told->args[0].number * (double)(told->time_ns - before->time_ns) / 1e9;
    }
    return sum;
}

static void near(const char *what, double told, double counted, double tolerance)
{
    must_hold(told >= counted - tolerance && told <= counted + tolerance,
              "%s: %f was told, %f is what the process counted", what, told, counted);
}

/* ---- loads ---- */

static void cpu_burn(void)
{
    struct taken taken, begin;
    volatile unsigned x = 0;
    rusage_get(&begin);
    do {
        for (unsigned i = 0; i < 1000000; i++)
            x = x + i;
        rusage_get(&taken);
    } while (taken.user_s + taken.system_s <
             begin.user_s + begin.system_s + 0.6); /* in less, no share of a CPU is told */
}

static void pages_touch(void)
{
    size_t bytes = 16u << 20;
    char *memory = aligned_alloc(4096, bytes);
    for (size_t i = 0; memory != NULL && i < bytes; i += 4096)
        ((volatile char *)memory)[i] = 1;
    free(memory);
}

static char *written_path;
static void file_write_synced(void)
{
    static char block[64 << 10];
    int fd = open(written_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    memset(block, 'x', sizeof block);
    for (unsigned i = 0; i < 64; i++)
        if (write(fd, block, sizeof block) != (ssize_t)sizeof block)
            _exit(1);
    fsync(fd);
    close(fd);
}

static int ping[2], pong[2];
static void *pings_answer(void *context)
{
    char c;
    (void)context;
    while (read(ping[0], &c, 1) == 1 && write(pong[1], &c, 1) == 1 && c != 'e')
        ;
    return NULL;
}
static pthread_t answerer;
static void pings_send(void)
{
    char c = 'p';
    if (answerer == 0 && (pipe(ping) != 0 || pipe(pong) != 0 ||
                          pthread_create(&answerer, NULL, pings_answer, NULL) != 0))
        _exit(1);
    for (unsigned i = 0; i < 500; i++)
        if (write(ping[1], &c, 1) != 1 || read(pong[0], &c, 1) != 1)
            _exit(1);
}

static void descriptors_open(void)
{
    for (unsigned i = 0; i < DESCRIPTORS; i++)
        if (dup(0) < 0)
            _exit(1);
}

/* ---- tests ---- */

START_TEST(what_a_process_used_is_what_it_counted)
{
    struct vitals *vitals;
    struct evidence_note note;
    struct child child;
    double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
    ck_assert_int_eq(vitals_new(&all_still, &vitals), SKEIN_OK);
    child_start(&child, cpu_burn);
    ck_assert_int_eq(vitals_attached(vitals, child.process.pid, child.process.start_clock_ticks),
                     SKEIN_OK);
    now(vitals, &child);
    struct taken taken = child_work(&child);
    struct told_list list = collect(vitals, &child, clock_monotonic_ns(), &note);
    near("CPU s", (total(&list, "proc.cpu.user") + total(&list, "proc.cpu.system")) / 100,
         taken.user_s + taken.system_s, 4 * tick);
    ck_assert_str_eq(told_find(&list, "proc.cpu.user", 0)->thread, "process");
    ck_assert_uint_eq(told_find(&list, "proc.cpu.user", 0)->tid, 0);
    ck_assert_int_eq(told_find(&list, "proc.cpu.user", 0)->kind, TRACE_COUNTER);
    /* It is one of those that burn most, and of the host's work, too. */
    ck_assert_ptr_nonnull(told_find(&list, "host.cpu.user", 0));
    ck_assert_str_eq(told_find(&list, "host.cpu.user", 0)->thread, "host");
    told_free(&list);
    child_end(&child);
    vitals_free(&vitals);
}
END_TEST

/* An agent that has just begun remembers no ten minutes; it says how much of the window it lacks. */
START_TEST(a_window_that_began_before_the_first_look_is_told_by_how_much)
{
    struct vitals *vitals;
    struct evidence_note note;
    struct child child;
    ck_assert_int_eq(vitals_new(&all_still, &vitals), SKEIN_OK);
    child_start(&child, cpu_burn);
    ck_assert_int_eq(vitals_attached(vitals, child.process.pid, child.process.start_clock_ticks),
                     SKEIN_OK);
    uint64_t before_ns = clock_monotonic_ns();
    now(vitals, &child);
    (void)child_work(&child);
    /* Half as long ago as the machine has been up, so that it was a time. */
    struct told_list list = collect(vitals, &child, before_ns / 2, &note);
    unsigned seconds = 0;
    const char *says = strstr(note.why, "what is remembered begins ");
    ck_assert_msg(says != NULL, "%s", note.why);
    seconds = (unsigned)strtoul(says + strlen("what is remembered begins "), NULL, 10);
    ck_assert_uint_ge(seconds, before_ns / 2 / 1000000000);
    told_free(&list);
    child_end(&child);
    vitals_free(&vitals);
}
END_TEST

START_TEST(faults_and_descriptors_are_what_it_counted)
{
    struct vitals *vitals;
    struct evidence_note note;
    struct child child, opener;
    char folder[64];
    struct stat info;
    ck_assert_int_eq(vitals_new(&all_still, &vitals), SKEIN_OK);
    child_start(&child, pages_touch);
    now(vitals, &child);
    ck_assert_int_eq(vitals_attached(vitals, child.process.pid, child.process.start_clock_ticks),
                     SKEIN_OK);
    now(vitals, &child);
    struct taken taken = child_work(&child);
    ck_assert_int_gt(taken.minor_faults, 1);
    struct told_list list = collect(vitals, &child, clock_monotonic_ns(), &note);
    /* Beside its work it reads and writes its pipes: a few faults after a fork. */
    near("faults", total(&list, "proc.faults.minor"), (double)taken.minor_faults, 60);
    told_free(&list);
    child_end(&child);

    child_start(&opener, descriptors_open);
    (void)child_work(&opener);
    list = collect(vitals, &opener, clock_monotonic_ns(), &note);
    const struct told *told = told_find(&list, "proc.descriptors", 0);
    snprintf(folder, sizeof folder, "/proc/self/fd");
    ck_assert_int_eq(stat(folder, &info), 0);
    ck_assert((told != NULL) == (info.st_size > 0)); /* the kernel tells, from 6.2 on */
    if (told != NULL)
        ck_assert(told->args[0].number >= DESCRIPTORS + 2);
    told_free(&list);
    child_end(&opener);
    vitals_free(&vitals);
}
END_TEST

START_TEST(bytes_written_are_those_it_wrote)
{
    struct vitals *vitals;
    struct evidence_note note;
    struct child child;
    struct statfs fs;
    char *folder = temp_dir_new();
    written_path = path_join(folder, "written");
    ck_assert_int_eq(vitals_new(&all_still, &vitals), SKEIN_OK);
    child_start(&child, file_write_synced);
    ck_assert_int_eq(vitals_attached(vitals, child.process.pid, child.process.start_clock_ticks),
                     SKEIN_OK);
    now(vitals, &child);
    (void)child_work(&child);
    struct told_list list = collect(vitals, &child, clock_monotonic_ns(), &note);
    ck_assert_int_eq(statfs(folder, &fs), 0);
    double bytes = fs.f_type == TMPFS ? 0 : 4 << 20; /* memory is no disk */
    near("bytes", total(&list, "proc.io.write"), bytes, bytes / 8 + 1);
    told_free(&list);
    child_end(&child);
    vitals_free(&vitals);
    free(written_path);
    temp_dir_free(&folder);
}
END_TEST

START_TEST(switches_of_all_threads_are_those_it_counted)
{
    struct vitals *vitals;
    struct evidence_note note;
    struct child child;
    ck_assert_int_eq(vitals_new(&all_still, &vitals), SKEIN_OK);
    child_start(&child, pings_send);
    (void)child_work(&child); /* the thread has begun */
    now(vitals, &child);
    ck_assert_int_eq(vitals_attached(vitals, child.process.pid, child.process.start_clock_ticks),
                     SKEIN_OK);
    now(vitals, &child);
    struct taken taken = child_work(&child);
    ck_assert_int_ge(taken.voluntary, 100);
    struct told_list list = collect(vitals, &child, clock_monotonic_ns(), &note);
    near("switches", total(&list, "proc.switches.voluntary"), (double)taken.voluntary, 20);
    ck_assert_ptr_nonnull(told_find(&list, "proc.run_delay", 0));
    told_free(&list);
    child_end(&child);
    vitals_free(&vitals);
}
END_TEST

/* What one thread's loads come to, in seconds on a CPU; the others' have none of it. */
static double thread_total(const struct told_list *list, uint32_t tid)
{
    double sum = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct told *told = &list->items[i];
        if (strcmp(told->name, "thread.load") == 0 && told->tid == tid)
            sum += told_arg(told, "run")->number / 100 * told_arg(told, "over")->number / 1e9;
    }
    return sum;
}

/* Of one thread: a sanitizer may have made another. */
static size_t loads_of(const struct told_list *list, uint32_t tid)
{
    size_t n = 0;
    for (size_t i = 0; i < list->count; i++)
        n += strcmp(list->items[i].name, "thread.load") == 0 && list->items[i].tid == tid;
    return n;
}

START_TEST(each_thread_has_what_it_ran)
{
    struct vitals *vitals;
    struct evidence_note note;
    struct child child;
    struct timespec before, after;
    clockid_t clock; /* of the child, which has one thread */
    ck_assert_int_eq(vitals_new(&all_still, &vitals), SKEIN_OK);
    child_start(&child, cpu_burn);
    ck_assert_int_eq(clock_getcpuclockid((pid_t)child.process.pid, &clock), 0);
    ck_assert_int_eq(vitals_attached(vitals, child.process.pid, child.process.start_clock_ticks),
                     SKEIN_OK);
    now(vitals, &child);
    clock_gettime(clock, &before);
    (void)child_work(&child);
    (void)child_work(&child);
    clock_gettime(clock, &after);
    struct told_list list = collect(vitals, &child, clock_monotonic_ns(), &note);
    near("its CPU s", thread_total(&list, child.process.pid),
         (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9,
         0.02);
    ck_assert_str_ne(told_find(&list, "thread.load", 0)->thread, "");
    told_free(&list);

    /* It does nothing, once it is back in its wait: one more row says so, and no further ones. */
    const uint64_t deadline_ns = soon();
    size_t before_them, rows = 0;
    do {
        before_them = rows;
        ck_assert_uint_lt(clock_monotonic_ns(), deadline_ns);
        for (unsigned i = 0; i < 3; i++)
            now(vitals, &child);
        list = collect(vitals, &child, clock_monotonic_ns(), &note);
        rows = loads_of(&list, child.process.pid);
        told_free(&list);
    } while (rows != before_them);

    /* Its name is known also when nobody can look any more. */
    char name[64];
    list = collect(vitals, &child, clock_monotonic_ns(), &note);
    snprintf(name, sizeof name, "%s", told_find(&list, "thread.load", 0)->thread);
    told_free(&list);
    child_end(&child);
    list = collect(vitals, &child, clock_monotonic_ns(), &note);
    ck_assert_str_eq(told_find(&list, "thread.load", 0)->thread, name);
    told_free(&list);
    vitals_free(&vitals);
}
END_TEST

static const char *state_of(const struct told_list *list, size_t n)
{
    const struct told_arg *arg = told_arg(told_find(list, "proc.state", n), "state");
    return arg == NULL ? "" : arg->text;
}

START_TEST(a_stopped_process_is_told_from_an_idle_one)
{
    struct vitals *vitals;
    struct evidence_note note;
    struct child child;
    int status;
    ck_assert_int_eq(vitals_new(&all_still, &vitals), SKEIN_OK);
    child_start(&child, cpu_burn);
    pid_t pid = (pid_t)child.process.pid;
    uint64_t before_ns = clock_monotonic_ns();
    now(vitals, &child);
    ck_assert_int_eq(kill(pid, SIGSTOP), 0);
    ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
    ck_assert(WIFSTOPPED(status));
    uint64_t stopped_ns = clock_monotonic_ns();
    now(vitals, &child);
    struct told_list list = collect(vitals, &child, clock_monotonic_ns(), &note);
    ck_assert_str_eq(state_of(&list, 0), "stopped");
    size_t last = told_count(&list, "proc.state") - 1;
    ck_assert_str_eq(state_of(&list, last), "stopped");
    const struct told *told = told_find(&list, "proc.state", last);
    uint64_t now_ns = clock_monotonic_ns();
    /* Since when: between the look before the stop and the first one after it. */
    ck_assert(told_arg(told, "at_least")->number <= (double)(now_ns - stopped_ns));
    ck_assert(told_arg(told, "at_most")->number >= told_arg(told, "at_least")->number);
    ck_assert(told_arg(told, "at_most")->number <= (double)(now_ns - before_ns));
    told_free(&list);
    ck_assert_int_eq(kill(pid, SIGCONT), 0);
    ck_assert_int_eq(waitpid(pid, &status, WCONTINUED), pid);
    list = collect(vitals, &child, clock_monotonic_ns(), &note);
    ck_assert_str_eq(state_of(&list, told_count(&list, "proc.state") - 1), "free");
    told_free(&list);
    child_end(&child);
    vitals_free(&vitals);
}
END_TEST

START_TEST(what_is_missing_is_said)
{
    struct vitals *vitals;
    struct evidence_note note;
    struct child child;
    struct vitals_settings none = {.still = true}, host = all_still;
    child_start(&child, cpu_burn);
    ck_assert_int_eq(vitals_new(&none, &vitals), SKEIN_OK);
    struct told_list list = collect(vitals, &child, clock_monotonic_ns(), &note);
    ck_assert_uint_eq(list.count, 0);
    ck_assert_int_eq(note.state, EVIDENCE_NONE);
    ck_assert_ptr_nonnull(strstr(note.why, "off"));
    vitals_free(&vitals);

    host.processes = false;
    ck_assert_int_eq(vitals_new(&host, &vitals), SKEIN_OK);
    list = collect(vitals, &child, clock_monotonic_ns() / 2, &note);
    ck_assert_int_eq(note.state, EVIDENCE_PARTIAL);
    ck_assert_ptr_nonnull(strstr(note.why, "vitals.processes is off"));
    ck_assert_ptr_nonnull(strstr(note.why, "what is remembered begins "));
    ck_assert_ptr_nonnull(told_find(&list, "host.run_queue", 0));
    ck_assert_ptr_null(told_find(&list, "proc.threads", 0));
    told_free(&list);
    vitals_free(&vitals);

    ck_assert_int_eq(vitals_new(&all_still, &vitals), SKEIN_OK);
    now(vitals, &child);
    list = collect(vitals, &child, clock_monotonic_ns(), &note);
    ck_assert_int_eq(note.state, EVIDENCE_TAKEN);
    ck_assert_str_eq(note.why, "");
    told_free(&list);
    child.process.start_clock_ticks++; /* another process */
    list = collect(vitals, &child, clock_monotonic_ns(), &note);
    ck_assert_int_eq(note.state, EVIDENCE_PARTIAL);
    ck_assert_ptr_nonnull(strstr(note.why, "gone"));
    told_free(&list);
    child_end(&child);
    vitals_free(&vitals);
}
END_TEST

/* ---- the thread ---- */

struct asker {
    struct vitals *vitals;
    const struct child *child;
    int served;
};

static void *asker_run(void *context)
{
    struct asker *asker = context;
    const struct process *process = &asker->child->process;
    for (unsigned i = 0; i < 20; i++) {
        (void)vitals_attached(asker->vitals, process->pid, process->start_clock_ticks);
        asker->served +=
            vitals_now(asker->vitals, process->pid, process->start_clock_ticks, soon()) == SKEIN_OK;
        vitals_gone(asker->vitals, process->pid, process->start_clock_ticks);
        /* One that nobody can be in time for. */
        (void)vitals_now(asker->vitals, process->pid, process->start_clock_ticks, 1);
    }
    return NULL;
}

static bool has_samples(void *context)
{
    struct asker *asker = context;
    struct evidence_note note;
    struct child child = *asker->child;
    struct told_list list = collect(asker->vitals, &child, 0, &note);
    /* By themselves: more moments than there were questions. */
    size_t samples = told_count(&list, "host.load");
    told_free(&list);
    return samples >= 3;
}

START_TEST(many_may_ask_while_it_records)
{
    struct vitals_settings settings = {.host = true, .processes = true, .top = true};
    struct asker askers[3];
    pthread_t threads[3];
    struct child child;
    child_start(&child, cpu_burn);
    ck_assert_int_eq(vitals_new(&settings, &askers[0].vitals), SKEIN_OK);
    for (size_t i = 0; i < 3; i++) {
        askers[i] = (struct asker){askers[0].vitals, &child, 0};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, asker_run, &askers[i]), 0);
    }
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert_int_eq(askers[i].served, 20);
    }
    ck_assert(wait_until(has_samples, &askers[0], 0));
    ck_assert_uint_lt(vitals_bytes(askers[0].vitals), 20u << 20);
    vitals_free(&askers[0].vitals);
    child_end(&child);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("vitals", what_a_process_used_is_what_it_counted,
                 a_window_that_began_before_the_first_look_is_told_by_how_much,
                 faults_and_descriptors_are_what_it_counted, bytes_written_are_those_it_wrote,
                 switches_of_all_threads_are_those_it_counted, each_thread_has_what_it_ran,
                 a_stopped_process_is_told_from_an_idle_one, what_is_missing_is_said,
                 many_may_ask_while_it_records, NULL));
}
