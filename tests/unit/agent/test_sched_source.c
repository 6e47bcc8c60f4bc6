/* SPDX-License-Identifier: Apache-2.0
 *
 * Scheduling of this very process, as the kernel's records tell it, against what its threads say of
 * themselves: their CPU clocks, their /proc/.../schedstat, when they slept, and who wrote to whom.
 * Where tracefs is refused, all but the refusals say so and pass.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "sched_instance.h"
#include "sched_telling.h"
#include "support.h"

#define BURN_NS    UINT64_C(150000000) /* of CPU, however long that takes */
#define SLACK_NS   UINT64_C(8000000)
#define WAKES      20
#define BUFFER_KIB 16384

static struct sched_source *source_or_skip(uint64_t kib)
{
    struct sched_source *source;
    const struct sched_settings settings = {.buffer_kib = kib};
    ck_assert_int_eq(sched_source_new(&settings, &source), SKEIN_OK);
    if (sched_source_refused(source)[0] == '\0')
        return source;
    fprintf(stderr, "not tried here: %s\n", sched_source_refused(source));
    sched_source_free(&source);
    return NULL;
}

static void near(uint64_t is, uint64_t should, uint64_t slack, const char *what)
{
    uint64_t off = is > should ? is - should : should - is;
    ck_assert_msg(off <= slack, "%s: %" PRIu64 " ns, should be %" PRIu64, what, is, should);
}

/* ---- two that burn on one CPU ---- */

struct burner {
    uint32_t tid;
    int cpu;
    uint64_t from_ns, to_ns;  /* of the stretch that it has measured */
    uint64_t clock_ns;        /* its own CPU clock in between */
    uint64_t run_ns, wait_ns; /* of schedstat in between */
    uint64_t stolen_ns;       /* of its CPU in between, by the host of a virtual machine */
};

static pthread_barrier_t together;

static uint64_t thread_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void schedstat_read(uint64_t *run_ns, uint64_t *wait_ns)
{
    char line[128], *end;
    FILE *file = fopen("/proc/thread-self/schedstat", "re");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
    fclose(file);
    *run_ns = strtoull(line, &end, 10);
    ck_assert_int_eq(*end, ' ');
    *wait_ns = strtoull(end, &end, 10);
    ck_assert_int_eq(*end, ' ');
}

/* In a virtual machine: what its host has taken of the CPU so far. The clock of a thread leaves it out,
 * the records of the scheduler cannot. */
static uint64_t stolen_read(int cpu)
{
    char line[512], name[32];
    uint64_t stolen = 0;
    FILE *file = fopen("/proc/stat", "re");
    ck_assert_ptr_nonnull(file);
    snprintf(name, sizeof name, "cpu%d ", cpu);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, strlen(name)) != 0)
            continue;
        char *at = line + strlen(name);
        for (unsigned field = 0; field < 8; field++) /* user nice system idle iowait irq softirq */
            stolen = strtoull(at, &at, 10);
    }
    fclose(file);
    return stolen * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
}

static void *burn(void *argument)
{
    struct burner *b = argument;
    cpu_set_t one;
    uint64_t run_ns, wait_ns, stolen_ns = stolen_read(b->cpu);
    CPU_ZERO(&one);
    CPU_SET((size_t)b->cpu, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    b->tid = (uint32_t)syscall(SYS_gettid);
    pthread_barrier_wait(&together);
    schedstat_read(&run_ns, &wait_ns);
    b->clock_ns = thread_clock_ns();
    b->from_ns = clock_monotonic_ns();
    while (thread_clock_ns() - b->clock_ns < BURN_NS)
        ;
    b->to_ns = clock_monotonic_ns();
    b->clock_ns = thread_clock_ns() - b->clock_ns;
    schedstat_read(&b->run_ns, &b->wait_ns);
    b->run_ns -= run_ns;
    b->wait_ns -= wait_ns;
    b->stolen_ns = stolen_read(b->cpu) - stolen_ns;
    return NULL;
}

static int first_cpu(void)
{
    cpu_set_t set;
    int cpu = 0;
    ck_assert_int_eq(sched_getaffinity(0, sizeof set, &set), 0);
    while (!CPU_ISSET((size_t)cpu, &set))
        cpu++;
    return cpu;
}

/* The longest wait for a CPU of a burner names the other, or somebody whom the host has beside. */
static bool waited_for(const struct telling_read *read, uint32_t tid, uint32_t other)
{
    for (size_t i = 0; i < read->count; i++) {
        const struct told *told = &read->events[i];
        if (told->tid == tid && strcmp(told->name, "sched.runnable") == 0 &&
            told->numbers[2] == other && told->numbers[4] <= told->to_ns - told->from_ns &&
            told->numbers[4] > 0 && strcmp(told->texts[1], "preempted") == 0)
            return true;
    }
    return false;
}

/* All is told, but for changes that the kernel of this machine does not record. */
static bool is_whole(const struct telling_read *read)
{
    return read->note.state == EVIDENCE_TAKEN ||
           strstr(read->note.why, "the kernel did not record") != NULL;
}

/* What is told for sure is a part of what the thread has measured, which is at most that with what is in
 * doubt. */
static void bounds_check(const struct telling_read *read, const struct burner *b, const char *name,
                         uint64_t measured, uint64_t beside, const char *what)
{
    uint64_t told = told_sum(read, b->tid, name, b->from_ns, b->to_ns);
    uint64_t least = told - told_doubt(read, b->tid, name, b->from_ns, b->to_ns);
    uint64_t doubt = told_doubt(read, b->tid, NULL, b->from_ns, b->to_ns);
    uint64_t slack = SLACK_NS + measured / 20;
    ck_assert_msg(least <= measured + beside + slack, "%s: %" PRIu64 " ns at least, is %" PRIu64,
                  what, least, measured);
    ck_assert_msg(least + doubt + slack >= measured, "%s: %" PRIu64 " ns at most, is %" PRIu64,
                  what, least + doubt, measured);
}

static void burner_check(const struct telling_read *read, const struct burner *b)
{
    uint64_t all = told_sum(read, b->tid, "sched.run", b->from_ns, b->to_ns) +
                   told_sum(read, b->tid, "sched.runnable", b->from_ns, b->to_ns) +
                   told_sum(read, b->tid, "sched.blocked", b->from_ns, b->to_ns);
    bounds_check(read, b, "sched.run", b->clock_ns, b->stolen_ns, "running, by its CPU clock");
    bounds_check(read, b, "sched.run", b->run_ns, b->stolen_ns, "running, by schedstat");
    bounds_check(read, b, "sched.runnable", b->wait_ns, 0, "runnable, by schedstat");
    ck_assert_uint_eq(all, b->to_ns - b->from_ns); /* nothing between them */
}

/* One or two burn together, and what is told of that. A try of which the kernel did not record enough
 * for more than bounds is made anew: nobody can tell more of it. */
static struct telling_read burn_and_tell(struct sched_source *source, struct burner *burners,
                                         size_t count, uint64_t *from_ns, uint64_t *to_ns)
{
    uint64_t until_ns = clock_monotonic_ns() + support_deadline_ms() * UINT64_C(1000000);
    for (;;) {
        pthread_t threads[2];
        uint64_t doubt = 0;
        pthread_barrier_init(&together, NULL, (unsigned)count);
        *from_ns = clock_monotonic_ns();
        for (size_t i = 0; i < count; i++)
            ck_assert_int_eq(pthread_create(&threads[i], NULL, burn, &burners[i]), 0);
        for (size_t i = 0; i < count; i++)
            pthread_join(threads[i], NULL);
        pthread_barrier_destroy(&together);
        *to_ns = clock_monotonic_ns();
        struct telling_read read = tell(source, *from_ns, *to_ns);
        for (size_t i = 0; i < count; i++) {
            const struct burner *b = &burners[i];
            uint64_t own = told_doubt(&read, b->tid, NULL, b->from_ns, b->to_ns);
            doubt = own > doubt ? own : doubt;
        }
        if (is_whole(&read) && doubt <= BURN_NS / 10)
            return read;
        ck_assert_msg(clock_monotonic_ns() < until_ns, "never whole: %s", read.note.why);
        fprintf(stderr, "tried again: %s, %" PRIu64 " ns of doubt\n", read.note.why, doubt);
        free(read.events);
    }
}

START_TEST(two_burners_share_one_cpu_as_they_measure_it)
{
    struct sched_source *source = source_or_skip(BUFFER_KIB);
    struct burner burners[2] = {{.cpu = first_cpu()}, {.cpu = first_cpu()}};
    uint64_t from_ns, to_ns;
    if (source == NULL)
        return;
    struct telling_read read = burn_and_tell(source, burners, 2, &from_ns, &to_ns);
    for (size_t i = 0; i < 2; i++)
        burner_check(&read, &burners[i]);
    for (size_t i = 0; i < 2; i++) /* others may have had the CPU for longer, if there were many */
        ck_assert(waited_for(&read, burners[i].tid, burners[1 - i].tid) ||
                  burners[i].run_ns < (burners[i].to_ns - burners[i].from_ns) / 4);
    free(read.events);
    sched_source_free(&source);
}
END_TEST

/* ---- one that sleeps, one that is woken ---- */

START_TEST(sleeps_are_blocked_and_woken_by_the_clock)
{
    struct sched_source *source = source_or_skip(BUFFER_KIB);
    uint64_t began[5], ended[5], from_ns = clock_monotonic_ns();
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    if (source == NULL)
        return;
    for (size_t i = 0; i < 5; i++) {
        const struct timespec time = {.tv_nsec = 20000000};
        began[i] = clock_monotonic_ns();
        nanosleep(&time, NULL);
        ended[i] = clock_monotonic_ns();
    }
    struct telling_read read = tell(source, from_ns, clock_monotonic_ns());
    for (size_t i = 0; i < 5; i++) {
        const struct told *found = NULL;
        for (size_t k = 0; k < read.count; k++)
            if (read.events[k].tid == tid && strcmp(read.events[k].name, "sched.blocked") == 0 &&
                read.events[k].from_ns >= began[i] && read.events[k].to_ns <= ended[i] &&
                read.events[k].to_ns - read.events[k].from_ns >= 19000000)
                found = &read.events[k];
        ck_assert_ptr_nonnull(found);
        ck_assert_str_eq(found->texts[0], "S");
        ck_assert_str_eq(found->texts[3], "hardirq"); /* the timer's */
        ck_assert_str_eq(found->texts[5], "");
    }
    free(read.events);
    sched_source_free(&source);
}
END_TEST

struct chain {
    int to_reader[2], to_writer[2];
    uint32_t reader, writer; /* writer 0: it is answered at once */
    sem_t begun;
};

/* From /proc: the thread sleeps; the other of the two has nothing to sleep in but its read. */
static bool is_asleep(void *context)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/self/task/%" PRIu32 "/stat", *(const uint32_t *)context);
    FILE *file = fopen(path, "re");
    size_t n = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL)
        fclose(file);
    text[n] = '\0';
    const char *close = strrchr(text, ')');
    return close != NULL && strncmp(close, ") S", 3) == 0;
}

static void *chain_read(void *argument)
{
    struct chain *chain = argument;
    char byte;
    pthread_setname_np(pthread_self(), "chain-reader");
    chain->reader = (uint32_t)syscall(SYS_gettid);
    sem_post(&chain->begun);
    while (read(chain->to_reader[0], &byte, 1) == 1) {
        ck_assert(chain->writer == 0 || wait_until(is_asleep, &chain->writer, 0));
        ck_assert_int_eq(write(chain->to_writer[1], &byte, 1), 1);
    }
    return NULL;
}

/* Whether a block of `tid` was ended by `waker`, as a task. */
static size_t wakes_count(const struct telling_read *read, uint32_t tid, uint32_t waker,
                          const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < read->count; i++) {
        const struct told *told = &read->events[i];
        count += told->tid == tid && strcmp(told->name, "sched.blocked") == 0 &&
                 told->numbers[1] == waker && strcmp(told->texts[2], name) == 0 &&
                 strcmp(told->texts[3], "task") == 0;
    }
    return count;
}

START_TEST(who_writes_to_a_pipe_woke_its_reader)
{
    struct sched_source *source = source_or_skip(BUFFER_KIB);
    struct chain chain = {0};
    pthread_t thread;
    char byte = 'x';
    if (source == NULL)
        return;
    pthread_setname_np(pthread_self(), "chain-writer");
    ck_assert(pipe2(chain.to_reader, O_CLOEXEC) == 0 && pipe2(chain.to_writer, O_CLOEXEC) == 0);
    ck_assert_int_eq(sem_init(&chain.begun, 0, 0), 0);
    uint32_t writer = chain.writer = (uint32_t)syscall(SYS_gettid);
    uint64_t from_ns = clock_monotonic_ns();
    ck_assert_int_eq(pthread_create(&thread, NULL, chain_read, &chain), 0);
    sem_wait(&chain.begun);
    for (unsigned i = 0; i < WAKES; i++) {
        ck_assert(wait_until(is_asleep, &chain.reader, 0));
        ck_assert_int_eq(write(chain.to_reader[1], &byte, 1), 1);
        ck_assert_int_eq(read(chain.to_writer[0], &byte, 1), 1);
    }
    close(chain.to_reader[1]);
    pthread_join(thread, NULL); /* it has ended: only the records know its name */
    struct telling_read read = tell(source, from_ns, clock_monotonic_ns());
    ck_assert_uint_ge(wakes_count(&read, chain.reader, writer, "chain-writer"), WAKES);
    ck_assert_uint_ge(wakes_count(&read, writer, chain.reader, "chain-reader"), WAKES);
    free(read.events);
    sched_source_free(&source);
}
END_TEST

/* ---- the same past twice, and neighbours ---- */

/* What all threads of this process ran: those are all that have such spans. */
static uint64_t all_run(const struct telling_read *read, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < read->count; i++)
        if (strcmp(read->events[i].name, "sched.run") == 0)
            sum += told_part(&read->events[i], from_ns, to_ns);
    return sum;
}

/* This process is among its neighbours, or those that are had more of the CPUs. */
static void neighbours_check(const struct telling_read *read, uint64_t run)
{
    uint64_t mine = 0, least = UINT64_MAX;
    size_t named = 0;
    for (size_t i = 0; i < read->count; i++) {
        const struct told *told = &read->events[i];
        if (strcmp(told->name, "sched.neighbour") != 0 || told->numbers[0] == 0)
            continue; /* (others), (idle) */
        named++;
        least = told->numbers[2] < least ? told->numbers[2] : least;
        if (told->numbers[0] == (uint64_t)getpid())
            mine = told->numbers[2];
    }
    if (mine == 0) {
        ck_assert_uint_eq(named, 10);
        ck_assert_uint_ge(least, run);
    } else {
        near(mine, run, SLACK_NS, "this process among its neighbours");
    }
}

START_TEST(a_second_capture_is_told_the_same_past)
{
    struct sched_source *source = source_or_skip(BUFFER_KIB);
    struct burner burner = {.cpu = first_cpu()};
    uint64_t from_ns, to_ns;
    if (source == NULL)
        return;
    struct telling_read first = burn_and_tell(source, &burner, 1, &from_ns, &to_ns);
    struct telling_read again = tell(source, from_ns, to_ns);
    uint64_t run = told_sum(&first, burner.tid, "sched.run", from_ns, to_ns);
    burner_check(&first, &burner);
    ck_assert_uint_gt(run, BURN_NS / 2);
    ck_assert_uint_eq(run, told_sum(&again, burner.tid, "sched.run", from_ns, to_ns));
    neighbours_check(&again, all_run(&again, from_ns, to_ns));
    free(first.events);
    free(again.events);
    sched_source_free(&source);
}
END_TEST

/* ---- too small a buffer, too little room ---- */

static void ping_pong(unsigned times)
{
    struct chain chain = {0};
    pthread_t thread;
    char byte = 'x';
    ck_assert(pipe2(chain.to_reader, O_CLOEXEC) == 0 && pipe2(chain.to_writer, O_CLOEXEC) == 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, chain_read, &chain), 0);
    for (unsigned i = 0; i < times; i++) {
        ck_assert_int_eq(write(chain.to_reader[1], &byte, 1), 1);
        ck_assert_int_eq(read(chain.to_writer[0], &byte, 1), 1);
    }
    close(chain.to_reader[1]);
    pthread_join(thread, NULL);
}

START_TEST(records_that_were_overwritten_are_told_as_lost)
{
    struct sched_source *source = source_or_skip(64);
    if (source == NULL)
        return;
    uint64_t from_ns = clock_monotonic_ns(), lost = 0, known_from = 0;
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    ping_pong(4000);
    uint64_t to_ns = clock_monotonic_ns();
    struct telling_read read = tell(source, from_ns, to_ns);
    ck_assert_int_eq(read.note.state, EVIDENCE_PARTIAL);
    for (size_t i = 0; i < read.count; i++) {
        const struct told *told = &read.events[i];
        if (strcmp(told->name, "sched.lost") != 0)
            continue;
        lost++; /* how many records, the kernel says where it has room for that */
        ck_assert_uint_ge(told->from_ns, from_ns);
        known_from = told->to_ns > known_from ? told->to_ns : known_from;
    }
    ck_assert_uint_gt(lost, 0);
    ck_assert_uint_lt(known_from, to_ns);
    for (size_t i = 0; i < read.count; i++) /* nothing is claimed of what was lost */
        if (read.events[i].tid == tid)
            ck_assert_uint_ge(read.events[i].from_ns, known_from);
    ck_assert_uint_eq(told_sum(&read, tid, "sched.run", known_from, to_ns) +
                          told_sum(&read, tid, "sched.runnable", known_from, to_ns) +
                          told_sum(&read, tid, "sched.blocked", known_from, to_ns),
                      to_ns - known_from);
    free(read.events);
    sched_source_free(&source);
}
END_TEST

START_TEST(what_has_no_room_is_the_oldest_and_counted)
{
    struct sched_source *source = source_or_skip(BUFFER_KIB);
    if (source == NULL)
        return;
    uint64_t from_ns = clock_monotonic_ns(), earliest = UINT64_MAX;
    ping_pong(2000);
    uint64_t to_ns = clock_monotonic_ns();
    struct telling_read read = tell_room(source, from_ns, to_ns, 64 << 10);
    ck_assert_int_eq(read.note.state, EVIDENCE_PARTIAL);
    ck_assert_ptr_nonnull(strstr(read.note.why, "no room for "));
    for (size_t i = 0; i < read.count; i++)
        if (strncmp(read.events[i].name, "sched.r", 7) == 0 && read.events[i].from_ns < earliest)
            earliest = read.events[i].from_ns;
    ck_assert_uint_gt(earliest, from_ns + (to_ns - from_ns) / 4);
    ck_assert(read.count > 50);
    free(read.events);
    sched_source_free(&source);
}
END_TEST

/* ---- folders ---- */

static size_t folders_of(pid_t pid)
{
    char prefix[64];
    size_t count = 0;
    const struct dirent *entry;
    DIR *folder = opendir(SCHED_TRACEFS "/instances");
    ck_assert_ptr_nonnull(folder);
    snprintf(prefix, sizeof prefix, "skein-%d-", (int)pid);
    while ((entry = readdir(folder)) != NULL)
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    closedir(folder);
    return count;
}

START_TEST(what_a_killed_agent_leaves_is_removed_and_nobody_elses)
{
    struct sched_source *source = source_or_skip(64), *next;
    int ready[2];
    char byte;
    if (source == NULL)
        return;
    ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        next = source_or_skip(64);
        _exit(next != NULL && write(ready[1], "x", 1) == 1 ? pause() : 1);
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_uint_eq(folders_of(child), 1);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert_uint_eq(folders_of(child), 1);
    next = source_or_skip(64);
    ck_assert_ptr_nonnull(next);
    ck_assert_uint_eq(folders_of(child), 0);
    ck_assert_uint_eq(folders_of(getpid()), 2);
    sched_source_free(&next);
    sched_source_free(&source);
    ck_assert_uint_eq(folders_of(getpid()), 0);
}
END_TEST

/* ---- refused ---- */

static void refused_check(const struct sched_settings *settings, const char *why)
{
    struct sched_source *source;
    uint64_t clock_ns = thread_clock_ns(), now_ns = clock_monotonic_ns(), run_ns = 0;
    ck_assert_int_eq(sched_source_new(settings, &source), SKEIN_OK);
    ck_assert_msg(strstr(sched_source_refused(source), why) != NULL, "%s",
                  sched_source_refused(source));
    struct telling_read read = tell(source, now_ns, now_ns + 1);
    ck_assert_int_eq(read.note.state, EVIDENCE_PARTIAL);
    ck_assert_ptr_nonnull(strstr(read.note.why, why));
    for (size_t i = 0; i < read.count; i++) {
        ck_assert_str_eq(read.events[i].name, "thread.sched");
        if (read.events[i].tid == (uint32_t)syscall(SYS_gettid))
            run_ns = read.events[i].numbers[0];
    }
    ck_assert_uint_ge(run_ns + SLACK_NS, clock_ns); /* the clock of ticks may lag */
    ck_assert_uint_le(run_ns, thread_clock_ns() + SLACK_NS);
    free(read.events);
    sched_source_free(&source);
}

/* The pid is another's by now: nothing that is told is of the process. */
static void other_check(uint64_t kib, enum evidence_state state)
{
    struct sched_source *source;
    const struct sched_settings settings = {.buffer_kib = kib};
    struct process former = {.pid = (uint32_t)getpid(), .start_clock_ticks = 1};
    ck_assert_int_eq(sched_source_new(&settings, &source), SKEIN_OK);
    if (kib == 0 || sched_source_refused(source)[0] == '\0') {
        uint64_t now_ns = clock_monotonic_ns();
        struct telling_read read = tell_of(source, &former, now_ns - 1000000, now_ns, 0);
        for (size_t i = 0; i < read.count; i++)
            ck_assert_uint_eq(read.events[i].tid, 0); /* the host's */
        ck_assert_int_eq(read.note.state, state);
        ck_assert_msg(strstr(read.note.why, "the process had ended") != NULL, "%s", read.note.why);
        free(read.events);
    }
    sched_source_free(&source);
}

START_TEST(threads_of_a_pids_next_owner_are_not_told)
{
    other_check(0, EVIDENCE_REFUSED);
    other_check(BUFFER_KIB, EVIDENCE_PARTIAL);
}
END_TEST

START_TEST(without_tracefs_there_are_sums)
{
    char *folder = temp_dir_new();
    refused_check(&(struct sched_settings){.buffer_kib = 64, .tracefs = folder}, "mount tracefs");
    temp_dir_free(&folder);
    refused_check(&(struct sched_settings){.buffer_kib = 0}, "buffer_kib is 0");
}
END_TEST

START_TEST(without_the_right_it_says_what_would_allow_it)
{
    if (geteuid() == 0) /* nobody, without capabilities */
        ck_assert(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
    if (access(SCHED_TRACEFS, F_OK) != 0)
        return;
    refused_check(&(struct sched_settings){.buffer_kib = 64}, "ProtectKernelTunables");
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "sched_source", two_burners_share_one_cpu_as_they_measure_it,
        sleeps_are_blocked_and_woken_by_the_clock, who_writes_to_a_pipe_woke_its_reader,
        a_second_capture_is_told_the_same_past, records_that_were_overwritten_are_told_as_lost,
        what_has_no_room_is_the_oldest_and_counted,
        what_a_killed_agent_leaves_is_removed_and_nobody_elses,
        threads_of_a_pids_next_owner_are_not_told, without_tracefs_there_are_sums,
        without_the_right_it_says_what_would_allow_it, NULL));
}
