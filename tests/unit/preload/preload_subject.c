/* SPDX-License-Identifier: Apache-2.0
 *
 * An ordinary program that calls everything the preload library wraps, in good ways and bad, and
 * prints what came back and errno. It knows nothing of Skein: its output must be the same with and
 * without the library. Nothing it prints depends on time.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define UNTOUCHED 77 /* errno before a call that must not change it */

static void tell(const char *what, long result)
{
    int error = errno;
    printf("%s: %ld %s\n", what, result, error == UNTOUCHED ? "-" : strerror(error));
    fflush(stdout);
    errno = UNTOUCHED;
}
#define TELL(call)                                                                                 \
    do {                                                                                           \
        errno = UNTOUCHED;                                                                         \
        long told = (long)(call);                                                                  \
        tell(#call, told);                                                                         \
    } while (0)

static char bytes[64] = "0123456789";
static volatile size_t some =
    10; /* not a constant, so that the checked variants are really called */

static void bad_descriptors(void)
{
    struct iovec part = {bytes, 4};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct mmsghdr messages = {.msg_hdr = message};
    struct epoll_event event;
    TELL(read(-1, bytes, some));
    TELL(write(-1, bytes, some));
    TELL(readv(-1, &part, 1));
    TELL(writev(-1, &part, 1));
    TELL(pread(-1, bytes, some, 0));
    TELL(pwrite(-1, bytes, some, 0));
    TELL(preadv(-1, &part, 1, 0));
    TELL(pwritev(-1, &part, 1, 0));
    TELL(recv(-1, bytes, some, 0));
    TELL(send(-1, bytes, some, 0));
    TELL(recvfrom(-1, bytes, some, 0, NULL, NULL));
    TELL(sendto(-1, bytes, some, 0, NULL, 0));
    TELL(recvmsg(-1, &message, 0));
    TELL(sendmsg(-1, &message, 0));
    TELL(recvmmsg(-1, &messages, 1, 0, NULL));
    TELL(sendmmsg(-1, &messages, 1, 0));
    TELL(accept(-1, NULL, NULL));
    TELL(accept4(-1, NULL, NULL, 0));
    TELL(connect(-1, NULL, 0));
    TELL(fsync(-1));
    TELL(fdatasync(-1));
    TELL(epoll_wait(-1, &event, 1, 0));
    TELL(epoll_pwait(-1, &event, 1, 0, NULL));
    TELL(select(-1, NULL, NULL, NULL, NULL));
    TELL(nanosleep((const struct timespec *)(uintptr_t)8, NULL));
    TELL(nanosleep(&(struct timespec){0, -1}, NULL));
    TELL(clock_nanosleep(12345, 0, &(struct timespec){0, 1}, NULL));
}

static void pipes_and_files(void)
{
    int ends[2];
    struct iovec part = {bytes, 4};
    char path[] = "/tmp/preload_subject_XXXXXX";
    TELL(pipe2(ends, O_NONBLOCK) < 0);
    TELL(read(ends[0], bytes, some));
    TELL(write(ends[1], bytes, some));
    TELL(read(ends[0], bytes, some));
    TELL(writev(ends[1], &part, 1));
    TELL(readv(ends[0], &part, 1));
    TELL(fsync(ends[0]));
    close(ends[0]);
    close(ends[1]);
    int file = mkstemp(path);
    unlink(path);
    TELL(pwrite(file, bytes, some, 100));
    TELL(pread(file, bytes, some, 100));
    TELL(pread64(file, bytes, some, 105));
    TELL(pwrite64(file, bytes, some, 1));
    TELL(pwritev(file, &part, 1, 7));
    TELL(preadv(file, &part, 1, 7));
    TELL(fsync(file));
    TELL(fdatasync(file));
    close(file);
}

/* What the arguments beyond the fixed ones do. */
static void files_with_modes(void)
{
    char folder[] = "/tmp/preload_subject_XXXXXX";
    struct stat about;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    umask(0);
    TELL(mkdtemp(folder) != NULL);
    int dir = open(folder, O_RDONLY | O_DIRECTORY), end = open("/dev/null", O_RDONLY);
    TELL(open("/nonexistent/file", O_RDWR));
    TELL(open((const char *)(uintptr_t)8, O_RDWR));
    TELL(openat(dir, "file", O_RDWR));
    int file = openat(dir, "file", O_RDWR | O_CREAT | O_EXCL, 0641);
    TELL(fstat(file, &about));
    TELL(about.st_mode);
    int second = openat64(dir, "file", O_RDWR);
    int unnamed = open(folder, O_RDWR | O_TMPFILE, 0604);
    TELL(unnamed < 0 ? 0604 | S_IFREG : (fstat(unnamed, &about), about.st_mode));
    TELL(fcntl(file, F_GETFL));
    TELL(fcntl(file, F_SETFL, O_APPEND));
    TELL(fcntl(file, F_GETFL) & O_APPEND);
    TELL(fcntl(file, F_DUPFD, 100));
    TELL(fcntl(file, F_DUPFD_CLOEXEC, 100));
    TELL(fcntl(file, F_SETLKW, &lock));
    lock.l_type = F_UNLCK; /* the two kinds of locks stand in each other's way */
    TELL(fcntl(file, F_SETLKW, &lock));
    lock.l_type = F_WRLCK;
    TELL(fcntl(file, F_OFD_SETLKW, &lock));
    lock.l_type = F_UNLCK;
    TELL(fcntl(file, F_OFD_SETLKW, &lock));
    TELL(fcntl(file, F_SETLKW, (struct flock *)(uintptr_t)8));
    TELL(fcntl(-1, F_SETLKW, &lock));
    TELL(flock(file, LOCK_EX));
    TELL(flock(second, LOCK_EX | LOCK_NB));
    TELL(lockf(file, F_ULOCK, 0));
    TELL(pwritev2(file, &(struct iovec){bytes, 4}, 1, 0, 0));
    TELL(preadv2(file, &(struct iovec){bytes, 4}, 1, 0, 0));
    TELL(sendfile(second, file, &(off_t){0}, 4));
    TELL(sendfile(-1, file, NULL, 4));
    TELL(copy_file_range(-1, NULL, file, NULL, 4, 0));
    TELL(splice(file, NULL, end, NULL, 4, 0));
    TELL(unlinkat(dir, "file", 0));
    TELL(rmdir(folder));
    for (int i = 100; i < 102; i++)
        close(i);
    close(unnamed);
    close(second);
    close(file);
    close(end);
    close(dir);
}

static void streams(void)
{
    char path[] = "/tmp/preload_subject_XXXXXX", text[200] = "", *line = NULL;
    size_t room = 0;
    int number = 0;
    FILE *stream = fdopen(mkstemp(path), "w+");
    TELL(fprintf(stream, "%s %d %c %.3f %ld\n", "text", 42, 'c', 2.5, 1L << 40));
    for (int i = 0; i < 500; i++)
        fprintf(stream, "line %d of many that fill a buffer or two\n", i);
    TELL(fputs("put\n", stream));
    TELL(fwrite("written\n", 1, 8, stream));
    TELL(fflush(stream));
    TELL(fflush(NULL));
    rewind(stream);
    TELL(fgets(text, (int)some, stream) == text);
    tell(text, 0);
    TELL(getline(&line, &room, stream));
    while (getline(&line, &room, stream) > 0 && strncmp(line, "line 400", 8) != 0)
        number++;
    tell(line, number);
    TELL(getdelim(&line, &room, 'f', stream));
    TELL(fread(text, 1, 3 * some, stream));
    TELL(fgets(text, (int)some, stream) == NULL);
    TELL(feof(stream));
    TELL(fclose(stream));
    TELL(fopen("/nonexistent/file", "r") == NULL);
    stream = fopen("/dev/full", "w");
    TELL(fputs("lost", stream));
    TELL(fflush(stream));
    TELL(fputs("lost", stream));
    TELL(fclose(stream));
    stream = fopen(path, "r");
    TELL(unlink(path));
    TELL(fputs("not for writing", stream));
    TELL(fclose(stream));
    TELL(printf("%d %s\n", 7, "printed"));
    free(line);
}

static void other_waits(void)
{
    uint32_t word = 1;
    sigset_t none, usr2;
    siginfo_t about;
    mtx_t mtx;
    struct timespec past = {1, 0};
    sigemptyset(&none);
    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    sigprocmask(SIG_BLOCK, &usr2, NULL);
    TELL(waitpid(-1, NULL, 0));
    TELL(wait(NULL));
    TELL(waitid(P_ALL, 0, &about, WEXITED));
    TELL(system("exit 3"));             /* NOLINT(cert-env33-c): what is tested */
    TELL(pclose(popen("exit 4", "r"))); /* NOLINT(cert-env33-c): what is tested */
    TELL(sigtimedwait(&usr2, &about, &(struct timespec){0, 0}));
    TELL(raise(SIGUSR2));
    TELL(sigwaitinfo(&usr2, &about));
    TELL(semop(-1, NULL, 0));
    TELL(msgrcv(-1, bytes, 1, 0, 0));
    TELL(mtx_init(&mtx, mtx_timed));
    TELL(mtx_lock(&mtx));
    TELL(mtx_timedlock(&mtx, &past) == thrd_timedout);
    TELL(mtx_unlock(&mtx));
    TELL(thrd_sleep(&(struct timespec){0, 1000}, NULL));
    TELL(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 7, NULL, NULL, 0));
    TELL(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 7));
    TELL(syscall(SYS_getpid) == getpid());
    TELL(syscall(SYS_close, -1));
    TELL(syscall(100000));
    TELL(getaddrinfo("not a name", NULL, &(struct addrinfo){.ai_flags = AI_NUMERICHOST},
                     &(struct addrinfo *){NULL}));
    sigprocmask(SIG_UNBLOCK, &usr2, NULL);
}

static void sockets(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof(address);
    struct iovec part = {bytes, 4};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    TELL(bind(server, (struct sockaddr *)&address, length));
    TELL(getsockname(server, (struct sockaddr *)&address, &length));
    TELL(connect(client, (struct sockaddr *)&address, length)); /* nobody listens */
    TELL(listen(server, 8));
    close(client);
    client = socket(AF_INET, SOCK_STREAM, 0);
    TELL(connect(client, (struct sockaddr *)&address, length));
    int peer = accept4(server, NULL, NULL, SOCK_NONBLOCK);
    tell("accept4 works", peer >= 0);
    TELL(recv(peer, bytes, some, 0));
    TELL(send(client, bytes, some, 0));
    TELL(poll(&(struct pollfd){peer, POLLIN, 0}, 1, 1000));
    TELL(recv(peer, bytes, some, MSG_PEEK));
    TELL(recvfrom(peer, bytes, some, 0, NULL, NULL));
    TELL(sendmsg(client, &message, 0));
    TELL(poll(&(struct pollfd){peer, POLLIN, 0}, 1, 1000));
    TELL(recvmsg(peer, &message, 0));
    close(client);
    TELL(poll(&(struct pollfd){peer, POLLIN, 0}, 1, 1000));
    TELL(recv(peer, bytes, some, 0));
    TELL(fcntl(server, F_SETFL, O_NONBLOCK));
    TELL(accept(server, NULL, NULL));
    close(peer);
    close(server);
}

static void timeouts(void)
{
    int epoll = epoll_create1(0);
    struct epoll_event event;
    struct timeval half = {0, 5000};
    struct timespec brief = {0, 5000000};
    sem_t semaphore;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec past = {1, 0}, bad = {1, 2000000000};
    sem_init(&semaphore, 0, 1);
    TELL(poll(NULL, 0, 5));
    TELL(ppoll(NULL, 0, &brief, NULL));
    TELL(select(0, NULL, NULL, NULL, &half));
    TELL(pselect(0, NULL, NULL, NULL, &brief, NULL));
    TELL(epoll_wait(epoll, &event, 1, 5));
    TELL(epoll_pwait(epoll, &event, 1, 5, NULL));
    TELL(epoll_wait(epoll, &event, 0, 5));
    TELL(nanosleep(&brief, NULL));
    TELL(clock_nanosleep(CLOCK_MONOTONIC, 0, &brief, NULL));
    TELL(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, NULL));
    TELL(usleep(1000));
    TELL(sleep(0));
    TELL(sem_wait(&semaphore));
    TELL(sem_timedwait(&semaphore, &past));
    TELL(sem_timedwait(&semaphore, &bad));
    TELL(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &past));
    TELL(pthread_mutex_lock(&mutex));
    TELL(pthread_mutex_timedlock(&mutex, &past));
    TELL(pthread_mutex_timedlock(&mutex, &bad));
    TELL(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past));
    TELL(pthread_cond_timedwait(&condition, &mutex, &past));
    TELL(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &past));
    TELL(pthread_mutex_unlock(&mutex));
    close(epoll);
}

static void lock_kinds(void)
{
    pthread_mutexattr_t kind;
    pthread_mutex_t checked, recursive;
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    struct timespec past = {1, 0};
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checked, &kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &kind);
    TELL(pthread_mutex_lock(&checked));
    TELL(pthread_mutex_lock(&checked));
    TELL(pthread_mutex_unlock(&checked));
    TELL(pthread_mutex_unlock(&checked));
    TELL(pthread_mutex_lock(&recursive));
    TELL(pthread_mutex_lock(&recursive));
    TELL(pthread_mutex_unlock(&recursive));
    TELL(pthread_mutex_unlock(&recursive));
    TELL(pthread_mutex_unlock(&recursive));
    TELL(pthread_rwlock_rdlock(&lock));
    TELL(pthread_rwlock_rdlock(&lock));
    TELL(pthread_rwlock_timedwrlock(&lock, &past));
    TELL(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &past));
    TELL(pthread_rwlock_unlock(&lock));
    TELL(pthread_rwlock_unlock(&lock));
    TELL(pthread_rwlock_wrlock(&lock));
    TELL(pthread_rwlock_wrlock(&lock));
    TELL(pthread_rwlock_rdlock(&lock));
    TELL(pthread_rwlock_timedrdlock(&lock, &past));
    TELL(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &past));
    TELL(pthread_rwlock_unlock(&lock));
}

/* ---- threads ---- */

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared_rw = PTHREAD_RWLOCK_INITIALIZER;
static sem_t begun, handed, named, go;

static void *contend(void *count)
{
    char name[16] = "";
    pthread_setname_np(pthread_self(), "contender");
    pthread_getname_np(pthread_self(), name, sizeof(name));
    if (strcmp(name, "contender") != 0)
        abort();
    sem_post(&named);
    sem_wait(&go);
    for (int i = 0; i < 2000; i++) {
        pthread_mutex_lock(&shared);
        ++*(int *)count;
        pthread_mutex_unlock(&shared);
        pthread_rwlock_wrlock(&shared_rw);
        ++*(int *)count;
        pthread_rwlock_unlock(&shared_rw);
        sem_wait(&handed);
        ++*(int *)count;
        sem_post(&handed);
    }
    return count;
}

static void contention(void)
{
    pthread_t threads[4];
    void *result;
    int counts[4] = {0, 0, 0, 0};
    sem_init(&handed, 0, 1);
    sem_init(&named, 0, 0);
    sem_init(&go, 0, 0);
    for (int i = 0; i < 4; i++)
        TELL(pthread_create(&threads[i], NULL, contend, &counts[i]));
    for (int i = 0; i < 4; i++)
        sem_wait(&named);
    TELL(pthread_setname_np(threads[0], "renamed")); /* they all live until they may go */
    TELL(pthread_setname_np(threads[0], "a name that is far too long"));
    for (int i = 0; i < 4; i++)
        sem_post(&go);
    for (int i = 0; i < 4; i++) {
        TELL(pthread_join(threads[i], &result));
        tell("joined with its value", result == &counts[i]);
    }
    tell("count of thread 1", counts[1]);
    TELL(pthread_join(pthread_self(), NULL));
}

static pid_t sleeper; /* a child that does not end by itself */
static int quiet[2];  /* a pipe that nobody writes to */
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t closed;

static void say_cleanup(void *what)
{
    printf("cleanup ran in %s\n", (const char *)what);
    fflush(stdout);
}

static void block(const char *where)
{
    struct epoll_event event;
    struct pollfd wanted = {quiet[0], POLLIN, 0};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(quiet[0], &set);
    if (strcmp(where, "read") == 0)
        read(quiet[0], bytes, some);
    else if (strcmp(where, "poll") == 0)
        poll(&wanted, 1, -1);
    else if (strcmp(where, "select") == 0)
        select(quiet[0] + 1, &set, NULL, NULL, NULL);
    else if (strcmp(where, "epoll_wait") == 0)
        epoll_wait(epoll_create1(0), &event, 1, -1);
    else if (strcmp(where, "nanosleep") == 0)
        nanosleep(&(struct timespec){1000, 0}, NULL);
    else if (strcmp(where, "sleep") == 0)
        sleep(1000);
    else if (strcmp(where, "sem_wait") == 0)
        sem_wait(&closed);
    else if (strcmp(where, "cond_wait") == 0)
        pthread_cond_wait(&never, &held);
    else if (strcmp(where, "pause") == 0)
        pause();
    else if (strcmp(where, "waitpid") == 0)
        waitpid(sleeper, NULL, 0);
    else if (strcmp(where, "fgets") == 0)
        fgets(bytes, (int)some, fdopen(dup(quiet[0]), "r"));
    else if (strcmp(where, "recv") == 0)
        recv(quiet[0], bytes, some, 0);
}

static void *blocked(void *where)
{
    pthread_cleanup_push(say_cleanup, where);
    if (strcmp(where, "cond_wait") == 0)
        pthread_mutex_lock(&held);
    sem_post(&begun);
    block(where);
    pthread_cleanup_pop(0);
    if (strcmp(where, "cond_wait") == 0)
        pthread_mutex_unlock(&held);
    return NULL;
}

static void cancellation(void)
{
    static const char *const calls[] = {"read",      "poll",    "select",   "epoll_wait",
                                        "nanosleep", "sleep",   "sem_wait", "cond_wait",
                                        "pause",     "waitpid", "fgets"};
    sleeper = fork();
    if (sleeper == 0) {
        pause();
        _exit(0);
    }
    sem_init(&begun, 0, 0);
    sem_init(&closed, 0, 0);
    if (pipe(quiet))
        abort();
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
        pthread_t thread;
        void *result = NULL;
        pthread_create(&thread, NULL, blocked, (void *)(uintptr_t)calls[i]);
        sem_wait(&begun);
        int error = pthread_cancel(thread); /* told after the join: the thread prints too */
        TELL(pthread_join(thread, &result));
        tell("pthread_cancel", error);
        tell(calls[i], result == PTHREAD_CANCELED);
        if (strcmp(calls[i], "cond_wait") == 0)
            TELL(pthread_mutex_unlock(&held)); /* the cancelled wait had taken it again */
    }
    kill(sleeper, SIGKILL);
    TELL(waitpid(sleeper, NULL, 0) == sleeper);
}

/* ---- signals ---- */

static sigjmp_buf rescue;
static volatile sig_atomic_t jumping;

static void on_alarm(int number)
{
    (void)number;
    if (jumping)
        siglongjmp(rescue, 1);
}

/* An alarm that repeats, so that one that comes before the call blocks does no harm. */
static void alarms(bool on)
{
    struct itimerval often = {{0, 3000}, {0, 3000}}, off = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, on ? &often : &off, NULL);
}

static void interruptions(void)
{
    struct epoll_event event;
    struct sigaction action = {.sa_handler = on_alarm};
    struct timespec left = {0, 0};
    int pair[2];
    sigaction(SIGALRM, &action, NULL);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        abort();
    alarms(true);
    TELL(read(quiet[0], bytes, some));
    TELL(recv(pair[0], bytes, some, 0));
    TELL(poll(NULL, 0, -1));
    TELL(select(0, NULL, NULL, NULL, NULL));
    TELL(epoll_wait(epoll_create1(0), &event, 1, -1));
    TELL(nanosleep(&(struct timespec){1000, 0}, &left));
    TELL(left.tv_sec > 900);
    TELL(clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){1000, 0}, NULL));
    TELL(usleep(900000000));
    TELL(sleep(1000) > 900);
    TELL(sem_wait(&closed));
    for (int i = 0; i < 3; i++) {
        if (sigsetjmp(rescue, 1) == 0) {
            jumping = 1;
            read(quiet[0], bytes, some);
        }
        jumping = 0; /* not out of what follows */
        tell("jumped out of read", i);
    }
    alarms(false);
    TELL(write(quiet[1], bytes, some));
    TELL(read(quiet[0], bytes, some));
}

/* ---- processes ---- */

static void processes(const char *program)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        TELL(poll(NULL, 0, 2));
        TELL(read(-1, bytes, some));
        _exit(7);
    }
    TELL(waitpid(child, &status, 0) == child);
    TELL(WEXITSTATUS(status));
    child = fork();
    if (child == 0) {
        execl(program, program, "child", (char *)NULL);
        _exit(127);
    }
    TELL(waitpid(child, &status, 0) == child);
    TELL(WEXITSTATUS(status));
    child = vfork();
    if (child == 0) {
        execl(program, program, "child", (char *)NULL);
        _exit(127);
    }
    TELL(waitpid(child, &status, 0) == child);
    TELL(WEXITSTATUS(status));
}

__attribute__((constructor)) static void before_main(void)
{
    TELL(read(-1, bytes, some));
}

__attribute__((destructor)) static void after_main(void)
{
    TELL(usleep(10));
}

int main(int argc, char **argv)
{
    if (argc > 2)
        return dlopen(argv[2], RTLD_NOW) ? 0 : 1;
    if (argc > 1) {
        TELL(usleep(100));
        return 9;
    }
    bad_descriptors();
    pipes_and_files();
    files_with_modes();
    streams();
    other_waits();
    sockets();
    timeouts();
    lock_kinds();
    contention();
    cancellation();
    interruptions();
    processes(argv[0]);
    return 3;
}
