/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of preload_calls.h. Nothing here knows of Skein. Where a call must find a lock taken, a
 * second thread lets go of it as soon as the kernel says that this one sleeps.
 */
#include "preload_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* The checked variants, which glibc's headers declare to programs built that way alone. */
ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void *, size_t, off64_t, size_t);
ssize_t __recv_chk(int, void *, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *);
int __poll_chk(struct pollfd *, nfds_t, int, size_t);
int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);
size_t __fread_chk(void *, size_t, size_t, size_t, FILE *);
size_t __fread_unlocked_chk(void *, size_t, size_t, size_t, FILE *);
char *__fgets_chk(char *, size_t, int, FILE *);
char *__fgets_unlocked_chk(char *, size_t, int, FILE *);
int __printf_chk(int, const char *, ...);
int __fprintf_chk(FILE *, int, const char *, ...);
int __vprintf_chk(int, const char *, va_list);
int __vfprintf_chk(FILE *, int, const char *, va_list);
#undef fread_unlocked
#undef fwrite_unlocked

static char bytes[64];
static struct iovec part = {bytes, 4};
static struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
static struct mmsghdr messages;
static struct epoll_event event;
static const struct timespec past = {1, 0};
static FILE *empty, *unbuffered;
static pthread_mutex_t checked;
static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t closed;
static mtx_t mtx;
static cnd_t cnd;
static sigset_t usr2;
static struct sembuf change;
static uint32_t word = 1;
static char *line;
static size_t line_room;

/* ---- a second thread, for what blocks ---- */

static struct {
    pid_t sleeper, holder;
    pthread_t thread;
    atomic_bool held, entering;
} other;

static bool sleeps(pid_t tid)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC); /* no event */
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    const char *end = n > 0 ? strrchr(text, ')') : NULL;
    return end && end[2] == 'S';
}

static void await_sleep(void)
{
    while (!other.entering || !sleeps(other.sleeper))
        sched_yield();
}

static void begin_other(thrd_start_t run)
{
    thrd_t thread;
    other.sleeper = gettid();
    other.held = other.entering = false;
    if (thrd_create(&thread, run, NULL) != thrd_success)
        abort();
    other.thread = thread;
    while (!other.held)
        sched_yield();
    other.entering = true;
}

static void end_other(void)
{
    int error = errno;
    pthread_join(other.thread, NULL);
    errno = error;
}

static int hold_mtx(void *unused)
{
    (void)unused;
    mtx_lock(&mtx);
    other.holder = gettid();
    other.held = true;
    await_sleep();
    mtx_unlock(&mtx);
    return 0;
}

static int post(void *unused)
{
    (void)unused;
    other.held = true;
    await_sleep();
    sem_post(&closed);
    return 0;
}

/* Until the waiter has the signal: one that comes before it sleeps on the condition is lost. */
static int signal_conditions(void *unused)
{
    (void)unused;
    other.held = true;
    await_sleep();
    while (other.entering) {
        pthread_cond_signal(&condition);
        cnd_signal(&cnd);
        sched_yield();
    }
    return 0;
}

static int send_signals(void *unused)
{
    (void)unused;
    other.held = true;
    await_sleep();
    while (other.entering && sleeps(other.sleeper))
        syscall(SYS_tgkill, getpid(), other.sleeper, SIGUSR1);
    return 0;
}

static int nothing_c11(void *unused)
{
    (void)unused;
    return 7;
}

static void *nothing(void *unused)
{
    return unused;
}

/* ---- the calls ---- */

static int64_t told(int64_t result)
{
    return result < 0 ? -errno : result;
}

#define CALL(function, detail_, ...)                                                               \
    static void make_##function(struct expect *e)                                                  \
    {                                                                                              \
        e->detail = (int64_t)(detail_);                                                            \
        errno = 0;                                                                                 \
        e->result = told((int64_t)(__VA_ARGS__));                                                  \
    }
#define ADDRESS(x) ((int64_t)(intptr_t)(x))

CALL(read, -1, read(-1, bytes, 4))
CALL(readv, -1, readv(-1, &part, 1))
CALL(pread, -1, pread(-1, bytes, 4, 0))
CALL(pread64, -1, pread64(-1, bytes, 4, 0))
CALL(preadv, -1, preadv(-1, &part, 1, 0))
CALL(preadv64, -1, preadv64(-1, &part, 1, 0))
CALL(preadv2, -1, preadv2(-1, &part, 1, 0, 0))
CALL(preadv64v2, -1, preadv64v2(-1, &part, 1, 0, 0))
CALL(__read_chk, -1, __read_chk(-1, bytes, 4, sizeof bytes))
CALL(__pread_chk, -1, __pread_chk(-1, bytes, 4, 0, sizeof bytes))
CALL(__pread64_chk, -1, __pread64_chk(-1, bytes, 4, 0, sizeof bytes))
CALL(write, -1, write(-1, bytes, 4))
CALL(writev, -1, writev(-1, &part, 1))
CALL(pwrite, -1, pwrite(-1, bytes, 4, 0))
CALL(pwrite64, -1, pwrite64(-1, bytes, 4, 0))
CALL(pwritev, -1, pwritev(-1, &part, 1, 0))
CALL(pwritev64, -1, pwritev64(-1, &part, 1, 0))
CALL(pwritev2, -1, pwritev2(-1, &part, 1, 0, 0))
CALL(pwritev64v2, -1, pwritev64v2(-1, &part, 1, 0, 0))
CALL(recv, -1, recv(-1, bytes, 4, 0))
CALL(recvfrom, -1, recvfrom(-1, bytes, 4, 0, NULL, NULL))
CALL(recvmsg, -1, recvmsg(-1, &message, 0))
CALL(recvmmsg, -1, recvmmsg(-1, &messages, 1, 0, NULL))
CALL(__recv_chk, -1, __recv_chk(-1, bytes, 4, sizeof bytes, 0))
CALL(__recvfrom_chk, -1, __recvfrom_chk(-1, bytes, 4, sizeof bytes, 0, NULL, NULL))
CALL(send, -1, send(-1, bytes, 4, 0))
CALL(sendto, -1, sendto(-1, bytes, 4, 0, NULL, 0))
CALL(sendmsg, -1, sendmsg(-1, &message, 0))
CALL(sendmmsg, -1, sendmmsg(-1, &messages, 1, 0))
CALL(sendfile, -1, sendfile(-1, 0, NULL, 4))
CALL(sendfile64, -1, sendfile64(-1, 0, NULL, 4))
CALL(splice, -1, splice(0, NULL, -1, NULL, 4, 0))
CALL(tee, -1, tee(0, -1, 4, 0))
CALL(vmsplice, -1, vmsplice(-1, &part, 1, 0))
CALL(copy_file_range, -1, copy_file_range(0, NULL, -1, NULL, 4, 0))
CALL(fsync, -1, fsync(-1))
CALL(fdatasync, -1, fdatasync(-1))
CALL(syncfs, -1, syncfs(-1))
CALL(sync_file_range, -1, sync_file_range(-1, 0, 1, 0))
CALL(flock, -1, flock(-1, LOCK_EX))
CALL(lockf, -1, lockf(-1, F_LOCK, 0))
CALL(lockf64, -1, lockf64(-1, F_LOCK, 0))
CALL(fcntl, -1, fcntl(-1, F_SETLKW, &(struct flock){.l_type = F_WRLCK}))
CALL(fcntl64, -1, fcntl64(-1, F_OFD_SETLKW, &(struct flock64){.l_type = F_WRLCK}))
/* A number that is no descriptor's is ready at once, to say so. */
#define POLL(function, ...)                                                                        \
    static void make_##function(struct expect *e)                                                  \
    {                                                                                              \
        struct pollfd fds = {.fd = 4444};                                                          \
        e->detail = 1;                                                                             \
        e->result = function(&fds, 1, __VA_ARGS__);                                                \
        e->number = 4444;                                                                          \
    }
POLL(poll, 0)
POLL(ppoll, &(struct timespec){0, 0}, NULL)
POLL(__poll_chk, 0, 8)
POLL(__ppoll_chk, &(struct timespec){0, 0}, NULL, 8)
CALL(select, 0, select(0, NULL, NULL, NULL, &(struct timeval){0, 0}))
CALL(pselect, 0, pselect(0, NULL, NULL, NULL, &(struct timespec){0, 0}, NULL))
CALL(epoll_wait, -1, epoll_wait(-1, &event, 1, 0))
CALL(epoll_pwait, -1, epoll_pwait(-1, &event, 1, 0, NULL))
CALL(epoll_pwait2, -1, epoll_pwait2(-1, &event, 1, &(struct timespec){0, 0}, NULL))
CALL(sem_timedwait, ADDRESS(&closed), sem_timedwait(&closed, &past))
CALL(sem_clockwait, ADDRESS(&closed), sem_clockwait(&closed, CLOCK_MONOTONIC, &past))
CALL(usleep, 2000, usleep(2))
CALL(sleep, 0, sleep(0))
CALL(nanosleep, 1500, nanosleep(&(struct timespec){0, 1500}, NULL))
CALL(thrd_sleep, 1500, thrd_sleep(&(struct timespec){0, 1500}, NULL))
CALL(sigtimedwait, 0, sigtimedwait(&usr2, NULL, &(struct timespec){0, 0}))
CALL(semop, -1, semop(-1, &change, 1))
CALL(semtimedop, -1, semtimedop(-1, &change, 1, NULL))
CALL(msgrcv, -1, msgrcv(-1, bytes, 4, 0, 0))
CALL(msgsnd, -1, msgsnd(-1, bytes, 4, 0))
CALL(mq_receive, -1, mq_receive(-1, bytes, 4, NULL))
CALL(mq_timedreceive, -1, mq_timedreceive(-1, bytes, 4, NULL, &past))
CALL(mq_send, -1, mq_send(-1, bytes, 4, 0))
CALL(mq_timedsend, -1, mq_timedsend(-1, bytes, 4, 0, &past))
CALL(syscall, ADDRESS(&word), syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 7, NULL))
CALL(fread, fileno(empty), fread(bytes, 1, 4, empty))
CALL(fread_unlocked, fileno(empty), fread_unlocked(bytes, 1, 4, empty))
CALL(__fread_chk, fileno(empty), __fread_chk(bytes, sizeof bytes, 1, 4, empty))
CALL(__fread_unlocked_chk, fileno(empty), __fread_unlocked_chk(bytes, sizeof bytes, 1, 4, empty))
CALL(fgets, fileno(empty), fgets(bytes, 4, empty) != NULL)
CALL(fgets_unlocked, fileno(empty), fgets_unlocked(bytes, 4, empty) != NULL)
CALL(__fgets_chk, fileno(empty), __fgets_chk(bytes, sizeof bytes, 4, empty) != NULL)
CALL(__fgets_unlocked_chk, fileno(empty),
     __fgets_unlocked_chk(bytes, sizeof bytes, 4, empty) != NULL)
CALL(getline, fileno(empty), (getline)(&line, &line_room, empty))
CALL(getdelim, fileno(empty), (getdelim)(&line, &line_room, ';', empty))
CALL(__getdelim, fileno(empty), __getdelim(&line, &line_room, ';', empty))
CALL(fwrite, fileno(unbuffered), fwrite(bytes, 1, 4, unbuffered))
CALL(fwrite_unlocked, fileno(unbuffered), fwrite_unlocked(bytes, 1, 4, unbuffered))
CALL(fputs, fileno(unbuffered), fputs("text", unbuffered) < 0 ? -1 : 4)
CALL(fputs_unlocked, fileno(unbuffered), fputs_unlocked("text", unbuffered) < 0 ? -1 : 4)
CALL(puts, 1, puts("put"))
CALL(printf, 1, printf("%s\n", "printed"))
CALL(fprintf, fileno(unbuffered), fprintf(unbuffered, "%d", 12345))
CALL(__printf_chk, 1, __printf_chk(1, "%s\n", "printed"))
CALL(__fprintf_chk, fileno(unbuffered), __fprintf_chk(unbuffered, 1, "%d", 12345))

#define PRINT(function, detail, ...)                                                               \
    static int64_t list_##function(const char *format, ...)                                        \
    {                                                                                              \
        va_list list;                                                                              \
        va_start(list, format);                                                                    \
        int64_t result = function(__VA_ARGS__);                                                    \
        va_end(list);                                                                              \
        return result;                                                                             \
    }                                                                                              \
    CALL(function, detail, list_##function("%d\n", 7))
PRINT(vprintf, 1, format, list)
PRINT(vfprintf, fileno(unbuffered), unbuffered, format, list)
PRINT(__vprintf_chk, 1, 1, format, list)
PRINT(__vfprintf_chk, fileno(unbuffered), unbuffered, 1, format, list)

/* A stream with something to write. */
static FILE *full(void)
{
    FILE *stream = fopen("/dev/null", "w");
    fputs("text", stream);
    return stream;
}

#define FLUSH(function)                                                                            \
    static void make_##function(struct expect *e)                                                  \
    {                                                                                              \
        FILE *stream = full();                                                                     \
        e->detail = fileno(stream);                                                                \
        e->result = function(stream);                                                              \
    }
FLUSH(fflush)
FLUSH(fflush_unlocked)
FLUSH(fclose)

/* Error numbers as results. */
#define ERROR(function, detail_, ...)                                                              \
    static void make_##function(struct expect *e)                                                  \
    {                                                                                              \
        e->detail = (int64_t)(detail_);                                                            \
        e->result = -(__VA_ARGS__);                                                                \
        e->number = WHO_##function;                                                                \
    }
/* Argument 2: who has the lock, which is this thread; the condition's mutex. */
#define WHO_pthread_mutex_lock         gettid()
#define WHO_pthread_mutex_timedlock    gettid()
#define WHO_pthread_mutex_clocklock    gettid()
#define WHO_pthread_rwlock_rdlock      gettid()
#define WHO_pthread_rwlock_timedrdlock gettid()
#define WHO_pthread_rwlock_clockrdlock gettid()
#define WHO_pthread_rwlock_wrlock      gettid()
#define WHO_pthread_rwlock_timedwrlock gettid()
#define WHO_pthread_rwlock_clockwrlock gettid()
#define WHO_pthread_cond_timedwait     ADDRESS(&checked)
#define WHO_pthread_cond_clockwait     ADDRESS(&checked)
#define WHO_clock_nanosleep            NOT_LOOKED_AT
ERROR(pthread_mutex_lock, ADDRESS(&checked), pthread_mutex_lock(&checked))
ERROR(pthread_mutex_timedlock, ADDRESS(&checked), pthread_mutex_timedlock(&checked, &past))
ERROR(pthread_mutex_clocklock, ADDRESS(&checked),
      pthread_mutex_clocklock(&checked, CLOCK_MONOTONIC, &past))
ERROR(pthread_rwlock_rdlock, ADDRESS(&written), pthread_rwlock_rdlock(&written))
ERROR(pthread_rwlock_timedrdlock, ADDRESS(&written), pthread_rwlock_timedrdlock(&written, &past))
ERROR(pthread_rwlock_clockrdlock, ADDRESS(&written),
      pthread_rwlock_clockrdlock(&written, CLOCK_MONOTONIC, &past))
ERROR(pthread_rwlock_wrlock, ADDRESS(&written), pthread_rwlock_wrlock(&written))
ERROR(pthread_rwlock_timedwrlock, ADDRESS(&written), pthread_rwlock_timedwrlock(&written, &past))
ERROR(pthread_rwlock_clockwrlock, ADDRESS(&written),
      pthread_rwlock_clockwrlock(&written, CLOCK_MONOTONIC, &past))
ERROR(pthread_cond_timedwait, ADDRESS(&condition),
      pthread_cond_timedwait(&condition, &checked, &past))
ERROR(pthread_cond_clockwait, ADDRESS(&condition),
      pthread_cond_clockwait(&condition, &checked, CLOCK_MONOTONIC, &past))
ERROR(clock_nanosleep, 1500, clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){0, 1500}, NULL))

static void make_pthread_barrier_wait(struct expect *e)
{
    e->detail = ADDRESS(&barrier);
    e->result = pthread_barrier_wait(&barrier) > 0; /* of one: PTHREAD_BARRIER_SERIAL_THREAD */
}

#define WITH_OTHER(function, detail_, run, ...)                                                    \
    static void make_##function(struct expect *e)                                                  \
    {                                                                                              \
        e->detail = (int64_t)(detail_);                                                            \
        begin_other(run);                                                                          \
        e->result = told((int64_t)(__VA_ARGS__));                                                  \
        other.entering = false;                                                                    \
        end_other();                                                                               \
    }
WITH_OTHER(sem_wait, ADDRESS(&closed), post, sem_wait(&closed))
WITH_OTHER(pause, -1, send_signals, pause())
WITH_OTHER(pthread_cond_wait, ADDRESS(&condition), signal_conditions,
           -pthread_cond_wait(&condition, &checked))

static void make_mtx_lock(struct expect *e)
{
    e->detail = ADDRESS(&mtx);
    begin_other(hold_mtx);
    e->number = other.holder;
    e->result = mtx_lock(&mtx);
    end_other();
}

static void make_cnd_wait(struct expect *e)
{
    e->detail = ADDRESS(&cnd);
    begin_other(signal_conditions);
    e->result = cnd_wait(&cnd, &mtx); /* held since mtx_lock */
    other.entering = false;
    end_other();
}

static void make_cnd_timedwait(struct expect *e)
{
    e->detail = ADDRESS(&cnd);
    e->number = ADDRESS(&mtx);
    e->result = cnd_timedwait(&cnd, &mtx, &past);
    mtx_unlock(&mtx);
}

static void make_mtx_timedlock(struct expect *e)
{
    e->detail = ADDRESS(&mtx);
    e->result = mtx_timedlock(&mtx, &past);
    mtx_unlock(&mtx);
}

static pthread_t ended(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, nothing, NULL))
        abort();
    return thread;
}

/* One that ends when this thread sleeps, and says who it is. */
static int end_late(void *unused)
{
    (void)unused;
    other.holder = gettid();
    other.held = true;
    await_sleep();
    return 0;
}

static void make_pthread_join(struct expect *e)
{
    begin_other(end_late);
    e->detail = (int64_t)other.thread;
    e->number = other.holder;
    e->result = pthread_join(other.thread, NULL);
}

static void make_pthread_timedjoin_np(struct expect *e)
{
    struct timespec until = {INT32_MAX, 0};
    begin_other(end_late);
    e->detail = (int64_t)other.thread;
    e->number = other.holder;
    e->result = -pthread_timedjoin_np(other.thread, NULL, &until);
}

static void make_pthread_clockjoin_np(struct expect *e)
{
    struct timespec until = {INT32_MAX, 0};
    begin_other(end_late);
    e->detail = (int64_t)other.thread;
    e->number = other.holder;
    e->result = -pthread_clockjoin_np(other.thread, NULL, CLOCK_MONOTONIC, &until);
}

static void make_thrd_join(struct expect *e)
{
    begin_other(end_late);
    e->detail = (int64_t)other.thread;
    e->number = other.holder;
    e->result = thrd_join(other.thread, NULL);
}

static void make_pthread_create(struct expect *e)
{
    e->detail = ADDRESS(nothing);
    pthread_join(ended(), NULL);
}

static void make_thrd_create(struct expect *e)
{
    thrd_t thread;
    e->detail = ADDRESS(nothing_c11);
    thrd_create(&thread, nothing_c11, NULL);
    thrd_join(thread, NULL);
}

static void make_sigwait(struct expect *e)
{
    int number;
    e->detail = -1;
    raise(SIGUSR2);
    e->result = -sigwait(&usr2, &number);
}

static void make_sigwaitinfo(struct expect *e)
{
    e->detail = -1;
    raise(SIGUSR2);
    e->result = sigwaitinfo(&usr2, NULL);
}

static void make_sigsuspend(struct expect *e)
{
    sigset_t none;
    sigemptyset(&none);
    e->detail = -1;
    raise(SIGUSR2);
    e->result = told(sigsuspend(&none));
}

static void on_signal(int number)
{
    (void)number;
}

int call_of_name(const char *name)
{
    return prctl(PR_SET_NAME, name);
}

void calls_prepare(void)
{
    pthread_mutexattr_t kind;
    int ends[2];
    if (pipe(ends))
        abort();
    close(ends[1]);
    empty = fdopen(ends[0], "r");
    unbuffered = fopen("/dev/null", "w");
    setvbuf(unbuffered, NULL, _IONBF, 0);
    setvbuf(stdout, NULL, _IONBF, 0);
    messages.msg_hdr = message;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checked, &kind);
    pthread_mutex_lock(&checked);
    pthread_rwlock_wrlock(&written);
    pthread_barrier_init(&barrier, NULL, 1);
    sem_init(&closed, 0, 0);
    mtx_init(&mtx, mtx_timed);
    cnd_init(&cnd);
    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &usr2, NULL);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal}, NULL);
    sigaction(SIGUSR2, &(struct sigaction){.sa_handler = on_signal}, NULL);
}

/* Kept by hand, as clang-format indents each row more than the one before. */
/* clang-format off */
#define EVENT(event, function) {#function, #event, make_##function},
const struct call calls[] = {
    EVENT(read, read) EVENT(read, readv) EVENT(read, pread) EVENT(read, pread64) EVENT(read, preadv)
    EVENT(read, preadv64) EVENT(read, preadv2) EVENT(read, preadv64v2) EVENT(read, __read_chk)
    EVENT(read, __pread_chk) EVENT(read, __pread64_chk) EVENT(read, fread)
    EVENT(read, fread_unlocked) EVENT(read, __fread_chk) EVENT(read, __fread_unlocked_chk)
    EVENT(read, fgets) EVENT(read, fgets_unlocked) EVENT(read, __fgets_chk)
    EVENT(read, __fgets_unlocked_chk) EVENT(read, getline) EVENT(read, getdelim)
    EVENT(read, __getdelim) EVENT(write, write) EVENT(write, writev) EVENT(write, pwrite)
    EVENT(write, pwrite64) EVENT(write, pwritev) EVENT(write, pwritev64) EVENT(write, pwritev2)
    EVENT(write, pwritev64v2) EVENT(write, fwrite) EVENT(write, fwrite_unlocked) EVENT(write, fputs)
    EVENT(write, fputs_unlocked) EVENT(write, puts) EVENT(write, printf) EVENT(write, fprintf)
    EVENT(write, vprintf) EVENT(write, vfprintf) EVENT(write, __printf_chk)
    EVENT(write, __fprintf_chk) EVENT(write, __vprintf_chk) EVENT(write, __vfprintf_chk)
    EVENT(write, fflush) EVENT(write, fflush_unlocked) EVENT(write, fclose) EVENT(fsync, fsync)
    EVENT(fsync, fdatasync) EVENT(fsync, syncfs) EVENT(fsync, sync_file_range) EVENT(splice, splice)
    EVENT(splice, tee) EVENT(splice, vmsplice) EVENT(splice, copy_file_range) EVENT(message, msgrcv)
    EVENT(message, msgsnd) EVENT(message, mq_receive) EVENT(message, mq_timedreceive)
    EVENT(message, mq_send) EVENT(message, mq_timedsend) EVENT(recv, recv) EVENT(recv, recvfrom)
    EVENT(recv, recvmsg) EVENT(recv, recvmmsg) EVENT(recv, __recv_chk) EVENT(recv, __recvfrom_chk)
    EVENT(send, send) EVENT(send, sendto) EVENT(send, sendmsg) EVENT(send, sendmmsg)
    EVENT(sendfile, sendfile) EVENT(sendfile, sendfile64) EVENT(poll, poll) EVENT(poll, ppoll)
    EVENT(poll, __poll_chk) EVENT(poll, __ppoll_chk) EVENT(select, select) EVENT(select, pselect)
    EVENT(epoll_wait, epoll_wait) EVENT(epoll_wait, epoll_pwait) EVENT(epoll_wait, epoll_pwait2)
    EVENT(mutex_lock, pthread_mutex_lock) EVENT(mutex_lock, pthread_mutex_timedlock)
    EVENT(mutex_lock, pthread_mutex_clocklock) EVENT(mutex_lock, mtx_lock)
    EVENT(rwlock_rdlock, pthread_rwlock_rdlock) EVENT(rwlock_rdlock, pthread_rwlock_timedrdlock)
    EVENT(rwlock_rdlock, pthread_rwlock_clockrdlock) EVENT(rwlock_wrlock, pthread_rwlock_wrlock)
    EVENT(rwlock_wrlock, pthread_rwlock_timedwrlock)
    EVENT(rwlock_wrlock, pthread_rwlock_clockwrlock) EVENT(sem_wait, sem_wait)
    EVENT(sem_wait, sem_timedwait) EVENT(sem_wait, sem_clockwait)
    EVENT(cond_wait, pthread_cond_wait) EVENT(cond_wait, pthread_cond_timedwait)
    EVENT(cond_wait, pthread_cond_clockwait) EVENT(cond_wait, cnd_wait)
    EVENT(cond_wait, cnd_timedwait) EVENT(barrier_wait, pthread_barrier_wait)
    EVENT(futex_wait, syscall) EVENT(file_lock, flock) EVENT(file_lock, lockf)
    EVENT(file_lock, lockf64) EVENT(file_lock, fcntl) EVENT(file_lock, fcntl64) EVENT(semop, semop)
    EVENT(semop, semtimedop) EVENT(sleep, sleep) EVENT(sleep, usleep) EVENT(sleep, nanosleep)
    EVENT(sleep, clock_nanosleep) EVENT(sleep, thrd_sleep) EVENT(sigwait, sigwait)
    EVENT(sigwait, sigwaitinfo) EVENT(sigwait, sigtimedwait) EVENT(sigwait, sigsuspend)
    EVENT(sigwait, pause) EVENT(thread_start, pthread_create) EVENT(thread_start, thrd_create)
    EVENT(thread_join, pthread_join) EVENT(thread_join, pthread_timedjoin_np)
    EVENT(thread_join, pthread_clockjoin_np) EVENT(thread_join, thrd_join)
    EVENT(mutex_lock, mtx_timedlock)
};
/* clang-format on */
const size_t call_count = sizeof calls / sizeof *calls;
