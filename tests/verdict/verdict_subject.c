/* SPDX-License-Identifier: Apache-2.0
 *
 * A traced program that keeps its own account of what it did: before and after each event it writes
 * the host's clock into a file that the judge reads. Nothing of that account comes from the ring,
 * and it survives any kill. Obeys one command a line on its standard input and answers "ok" to
 * each; main alone reads commands, the threads that they start write events.
 *
 *   verdict_subject TRUTH_FILE CAPACITY SERVICE
 *
 *   attach BYTES MODE         starts recording (0 0: the agent's defaults; MODE of enum skein_mode)
 *   start BYTES MODE          the same, without waiting for an agent
 *   hum THREADS RATE          threads that write RATE events a second each until `quiet`
 *   noisy                     from now on events carry bytes that no packer makes smaller
 *   bulky BYTES               from now on events carry a text of so many bytes four times
 *   quiet                     ends those, and those of `hold`
 *   burst THREADS COUNT       each writes COUNT events at once and ends; answers when all are done
 *   hold THREADS COUNT        the same, but the threads stay, idle
 *   churn EVERY_US LIFE_MS RATE MS   for MS, a new thread every EVERY_US that lives LIFE_MS
 *   churned                   answers when these have ended
 *   cancel EVERY_US LIFE_MS RATE MS   as churn, but they are cancelled wherever they are
 *   storm EVERY_US LIFE_MS RATE MS    as churn, but with fork children; answers when all have ended
 *   leap COUNT                a thread that a handler leaves by siglongjmp, wherever it is
 *   visits THREADS COUNT LANES   as many threads, LANES at a time, each writes COUNT events
 *                             and ends; answers when all have
 *   nest COUNT                signal handlers that interrupt each other while they write events
 *   steps COUNT               the same, and sure to: a handler behind each instruction
 *   child COUNT               a fork child writes COUNT events and ends; answers when it has
 *   stay COUNT                a fork child writes COUNT events and stays idle until its parent ends
 *   scribble WHERE            overwrites a part of its own ring: its chunks (0) or its tables (1)
 *   snapshot                  asks the agent for a capture
 *   stop                      ends recording
 *   user UID                  becomes another user
 *   root                      sees no more than an empty root
 *   again                     executes itself anew, with the same account
 *   exit STATUS | abort | kill
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "skein/skein.h"

struct truth {
    uint64_t before_ns, after_ns; /* after_ns 0: the event was not finished */
    uint32_t pid, thread;
    uint64_t forked_ns; /* when its process was, if it was: a pid comes again; 0: it was not */
};

struct account {
    uint64_t magic;
    _Atomic uint64_t next;
    uint64_t capacity;
    uint64_t reserved;
    struct truth events[];
};

static struct account *account;
static const char *service;
static char **arguments;
static _Atomic uint32_t quiet, live_holders, live_churn;
static _Atomic uint32_t thread_number, noisy;
static char bulk[2048];  /* a text, or none */
static uint32_t own_pid; /* as the agent sees it: outside of namespaces */
static uint64_t own_forked_ns;

static void pid_find(void)
{
    char text[32] = "";
    ssize_t n = readlink("/proc/self", text, sizeof text - 1);
    own_pid = n > 0 ? (uint32_t)strtoul(text, NULL, 10) : (uint32_t)getpid();
}

/* Past the C library, where a test may have put another clock. */
static uint64_t now_ns(void)
{
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void forked(void)
{
    pid_find();
    own_forked_ns = now_ns();
}

static void pause_us(uint64_t us)
{
    struct timespec t = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    while (nanosleep(&t, &t) && errno == EINTR) {
    }
}

static void event(uint32_t thread)
{
    uint64_t id = account->next++;
    if (id >= account->capacity)
        _exit(99); /* the account is full: the judge must not take less for the truth */
    struct truth *t = &account->events[id];
    t->pid = own_pid;
    t->thread = thread;
    t->forked_ns = own_forked_ns;
    t->before_ns = now_ns();
    if (bulk[0])
        SKEIN_INSTANT("ev", (u64, "id", id), (str, "a", bulk), (str, "b", bulk), (str, "c", bulk),
                      (str, "d", bulk));
    else if (noisy)
        SKEIN_INSTANT("ev", (u64, "id", id),
                      (u64, "noise", t->before_ns * UINT64_C(0x9e3779b97f4a7c15)));
    else
        SKEIN_INSTANT("ev", (u64, "id", id));
    t->after_ns = now_ns();
}

struct job {
    uint64_t count, rate, life_ms;
    bool hold, churn;
};

static void write_events(const struct job *job, uint32_t thread)
{
    uint64_t end = job->life_ms ? now_ns() + job->life_ms * 1000000 : UINT64_MAX;
    for (uint64_t n = 0; n < job->count && !(job->life_ms == 0 && job->rate && quiet); n++) {
        event(thread);
        if (job->rate)
            pause_us(1000000 / job->rate);
        if (now_ns() >= end)
            return;
    }
}

static void *thread_main(void *context)
{
    struct job job = *(struct job *)context;
    free(context);
    /* NOLINTNEXTLINE(cert-pos47-c): to be cancelled anywhere is what is tried */
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    write_events(&job, ++thread_number);
    if (job.hold) {
        live_holders++;
        while (!quiet)
            pause_us(10000);
        live_holders--;
    }
    if (job.churn)
        live_churn--;
    return NULL;
}

static pthread_t thread_start(struct job job)
{
    pthread_attr_t attributes;
    pthread_t thread;
    struct job *copy = malloc(sizeof *copy);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    if (!copy || (*copy = job, pthread_create(&thread, &attributes, thread_main, copy)))
        _exit(98);
    pthread_attr_destroy(&attributes);
    return thread;
}

static pthread_t hums[4096];
static unsigned hum_count;

static void hum(unsigned threads, struct job job)
{
    quiet = 0;
    for (unsigned i = 0; i < threads && hum_count < 4096; i++)
        hums[hum_count++] = thread_start(job);
    if (job.hold)
        while (live_holders < hum_count)
            pause_us(1000);
}

static void hush(void)
{
    quiet = 1;
    while (hum_count)
        pthread_join(hums[--hum_count], NULL);
}

static void burst(unsigned threads, uint64_t count)
{
    pthread_t all[256];
    threads = threads < 256 ? threads : 256;
    for (unsigned i = 0; i < threads; i++)
        all[i] = thread_start((struct job){.count = count});
    for (unsigned i = 0; i < threads; i++)
        pthread_join(all[i], NULL);
}

static void visits(uint64_t threads, uint64_t count, unsigned lanes)
{
    pthread_t all[64];
    lanes = lanes < 1 ? 1 : lanes < 64 ? lanes : 64;
    for (uint64_t n = 0; n < threads + lanes; n++) {
        if (n >= lanes)
            pthread_join(all[n % lanes], NULL);
        if (n < threads)
            all[n % lanes] = thread_start((struct job){.count = count});
    }
}

/* A load of tasks that come and go. */
struct load {
    uint64_t every_us, life_ms, rate, ms;
    bool cancel;
};

/* Until it is over, once every load->every_us. */
static void load_run(const struct load *load, void (*begin)(const struct load *))
{
    uint64_t next = now_ns(), end = next + load->ms * 1000000;
    while (now_ns() < end) {
        begin(load);
        next += load->every_us * 1000;
        uint64_t now = now_ns();
        if (next > now)
            pause_us((next - now) / 1000);
    }
}

static void *canceller_main(void *context)
{
    struct load load = *(struct load *)context;
    free(context);
    pthread_t thread = thread_start((struct job){.count = UINT64_MAX, .rate = load.rate});
    pause_us(load.life_ms * 1000);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    live_churn--;
    return NULL;
}

static void churn_begin(const struct load *load)
{
    pthread_t thread;
    live_churn++;
    if (!load->cancel) {
        pthread_detach(thread_start((struct job){
            .count = UINT64_MAX, .rate = load->rate, .life_ms = load->life_ms, .churn = true}));
        return;
    }
    struct load *copy = malloc(sizeof *copy);
    if (!copy || (*copy = *load, pthread_create(&thread, NULL, canceller_main, copy)))
        _exit(98);
    pthread_detach(thread);
}

static void *churn_main(void *context)
{
    struct load load = *(struct load *)context;
    free(context);
    load_run(&load, churn_begin);
    live_churn--;
    return NULL;
}

static void churn(const uint64_t a[4], bool cancel)
{
    pthread_t thread;
    struct load *load = malloc(sizeof *load);
    live_churn++;
    if (!load || (*load = (struct load){a[0], a[1], a[2], a[3], cancel},
                  pthread_create(&thread, NULL, churn_main, load)))
        _exit(98);
    pthread_detach(thread);
}

/* Half of the children end as programs do, half without a word. */
static void storm_begin(const struct load *load)
{
    static unsigned number;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        write_events(
            &(struct job){.count = UINT64_MAX, .rate = load->rate, .life_ms = load->life_ms},
            ++thread_number);
        if (number % 2)
            _exit(0);
        exit(0);
    }
    number++;
}

static void storm(const uint64_t a[4])
{
    load_run(&(struct load){a[0], a[1], a[2], a[3], false}, storm_begin);
    while (waitpid(-1, NULL, 0) > 0) {
    }
}

static const int nested_signals[] = {SIGUSR1, SIGUSR2, SIGURG, SIGWINCH};
static pthread_t nested;
static _Atomic uint32_t nesting;

static void on_signal(int number)
{
    (void)number;
    event(0);
}

static void *nest_main(void *context)
{
    for (unsigned i = 0; nesting; i++)
        pthread_kill(nested, nested_signals[i % 4]);
    return context;
}

static void nest(uint64_t count)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    pthread_t thread;
    nested = pthread_self();
    nesting = 1;
    for (unsigned i = 0; i < 4; i++)
        sigaction(nested_signals[i], &action, NULL);
    if (pthread_create(&thread, NULL, nest_main, NULL))
        _exit(98);
    for (uint64_t n = 0; n < count; n++)
        event(0);
    nesting = 0;
    pthread_join(thread, NULL);
}

/* Traps behind each instruction; in a handler there are none before it asks for them. */
static void steps_begin(void)
{
#ifdef __x86_64__
    __asm__ volatile("pushfq; orl $0x100, (%%rsp); popfq" : : : "memory", "cc");
#endif
}

static void steps_end(void)
{
#ifdef __x86_64__
    __asm__ volatile("pushfq; andl $~0x100, (%%rsp); popfq" : : : "memory", "cc");
#endif
}

#define STEP_EVERY 50 /* of the handlers writes its event in steps, too */
static volatile sig_atomic_t step_depth, step_count;

static void on_step(int number)
{
    (void)number;
    step_depth++;
    bool inner = step_depth == 1 && ++step_count % STEP_EVERY == 0;
    if (inner)
        steps_begin();
    event(0);
    if (inner)
        steps_end();
    step_depth--;
}

static void steps(uint64_t count)
{
    const struct sigaction action = {.sa_handler = on_step, .sa_flags = SA_NODEFER};
    sigaction(SIGTRAP, &action, NULL);
    for (uint64_t n = 0; n < count; n++) {
        steps_begin();
        event(0);
        steps_end();
    }
}

static sigjmp_buf leap_to;

static void on_leap(int number)
{
    (void)number;
    siglongjmp(leap_to, 1);
}

static void leap(uint64_t count)
{
    struct sigaction action = {.sa_handler = on_leap};
    struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 4};
    struct itimerspec often = {{0, 190000}, {0, 1000000}};
    timer_t timer;
    volatile uint64_t n = 0;
    sigaction(SIGRTMIN + 4, &action, NULL);
    timer_create(CLOCK_MONOTONIC, &how, &timer);
    timer_settime(timer, 0, &often, NULL);
    sigsetjmp(leap_to, 1);
    while (n++ < count)
        event(0);
    timer_delete(timer);
    signal(SIGRTMIN + 4, SIG_IGN);
}

static void child(uint64_t count, bool stay)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        skein_wait_attached(10000);
        write_events(&(struct job){.count = count}, ++thread_number);
        if (!stay)
            exit(0);
        for (;;)
            pause_us(1000000);
    }
    if (!stay)
        waitpid(pid, NULL, 0);
}

/* The largest shared writable mapping of this process is its ring. */
static void scribble(uint64_t where)
{
    char line[512];
    uint8_t *ring = NULL;
    size_t bytes = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        char rights[5];
        /* NOLINTNEXTLINE(cert-err34-c): the kernel writes numbers */
        if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) == 3 && !strcmp(rights, "rw-s") &&
            !strstr(line, "truth") && to - from > bytes) {
            ring = (uint8_t *)from; /* NOLINT(performance-no-int-to-ptr) */
            bytes = to - from;
        }
    }
    if (maps)
        fclose(maps);
    if (!ring)
        _exit(97);
    if (where)
        memset(ring + bytes / 40, 0xff, bytes / 16 - bytes / 40);
    for (size_t at = bytes / 16; !where && at + 64 < bytes; at += 1000)
        memset(ring + at, 0xff, 64);
}

static void again(void)
{
    char flag[] = "--again";
    char *next[] = {arguments[0], arguments[1], arguments[2], arguments[3], flag, NULL};
    execv("/proc/self/exe", next);
    _exit(96);
}

static bool start(uint64_t bytes, uint64_t mode)
{
    struct skein_options options = {.size = sizeof options,
                                    .service = service,
                                    .ring_bytes = bytes,
                                    .mode = (enum skein_mode)mode};
    return skein_start(&options) == SKEIN_OK;
}

static void bulky(uint64_t bytes)
{
    memset(bulk, 'x', sizeof bulk);
    bulk[bytes < sizeof bulk ? bytes : sizeof bulk - 1] = '\0';
}

/* What threads do. False: not a command of these. */
static bool obey_work(const char *name, const uint64_t a[4])
{
    if (!strcmp(name, "hum"))
        hum((unsigned)a[0], (struct job){.count = UINT64_MAX, .rate = a[1]});
    else if (!strcmp(name, "hold"))
        hum((unsigned)a[0], (struct job){.count = a[1], .hold = true});
    else if (!strcmp(name, "noisy"))
        noisy = 1;
    else if (!strcmp(name, "bulky"))
        bulky(a[0]);
    else if (!strcmp(name, "quiet"))
        hush();
    else if (!strcmp(name, "burst"))
        burst((unsigned)a[0], a[1]);
    else if (!strcmp(name, "churn") || !strcmp(name, "cancel"))
        churn(a, name[1] == 'a');
    else if (!strcmp(name, "churned"))
        while (live_churn)
            pause_us(5000);
    else if (!strcmp(name, "visits"))
        visits(a[0], a[1], (unsigned)a[2]);
    else if (!strcmp(name, "nest"))
        nest(a[0]);
    else if (!strcmp(name, "steps"))
        steps(a[0]);
    else if (!strcmp(name, "leap"))
        leap(a[0]);
    else
        return false;
    return true;
}

/* On a busy machine the agent's connection may not be served in time: one asks again. */
static bool snapshot(void)
{
    int status = SKEIN_AGAIN;
    for (int i = 0; i < 500 && status == SKEIN_AGAIN; i++)
        status = skein_snapshot("the matrix asks");
    return status == SKEIN_OK;
}

/* What the process does. False: not a command of these, or it failed. */
static bool obey_process(const char *name, const uint64_t a[4])
{
    if (!strcmp(name, "attach"))
        return start(a[0], a[1]) && skein_wait_attached(10000) == SKEIN_OK;
    if (!strcmp(name, "start"))
        return start(a[0], a[1]);
    if (!strcmp(name, "snapshot"))
        return snapshot();
    if (!strcmp(name, "user"))
        return setresuid((uid_t)a[0], (uid_t)a[0], (uid_t)a[0]) == 0;
    if (!strcmp(name, "root"))
        return chroot("/var/empty") == 0 || chroot("/proc/self/fdinfo") == 0;
    if (!strcmp(name, "stop"))
        skein_stop();
    else if (!strcmp(name, "child") || !strcmp(name, "stay"))
        child(a[0], name[0] == 's');
    else if (!strcmp(name, "storm"))
        storm(a);
    else if (!strcmp(name, "scribble"))
        scribble(a[0]);
    else if (!strcmp(name, "again"))
        again();
    else if (!strcmp(name, "exit"))
        exit((int)a[0]);
    else if (!strcmp(name, "abort"))
        abort();
    else if (!strcmp(name, "kill"))
        raise(SIGKILL);
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    char line[256], name[32];
    if (argc < 4)
        return 2;
    arguments = argv;
    service = argv[3];
    uint64_t capacity = strtoull(argv[2], NULL, 10);
    size_t bytes = sizeof *account + capacity * sizeof account->events[0];
    int fd = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)bytes))
        return 1;
    account = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (account == MAP_FAILED)
        return 1;
    close(fd);
    pid_find();
    pthread_atfork(NULL, NULL, forked);
    account->capacity = capacity;
    if (argc > 4)
        puts("ok"); /* to `again` */
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        uint64_t a[4] = {0};
        /* NOLINTNEXTLINE(cert-err34-c): the matrix writes numbers */
        if (sscanf(line, "%31s %lu %lu %lu %lu", name, &a[0], &a[1], &a[2], &a[3]) < 1)
            continue;
        puts(obey_work(name, a) || obey_process(name, a) ? "ok" : "failed");
        fflush(stdout);
    }
    return 0;
}
