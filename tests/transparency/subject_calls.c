/* SPDX-License-Identifier: Apache-2.0
 *
 * See subject_calls.h. The case runs these with a threshold of nothing, so that each call becomes an
 * event with all that an event says.
 */
#include "subject_calls.h"

#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNTOUCHED 77 /* errno before a call that must not change it */

static void told(const char *what, long result)
{
    int error = errno;
    printf("%s: %ld %d\n", what, result, error == UNTOUCHED ? 0 : error);
    fflush(stdout);
}
#define TELL(...)                                                                                  \
    do {                                                                                           \
        errno = UNTOUCHED;                                                                         \
        long result_of_call = (long)(__VA_ARGS__);                                                 \
        told(#__VA_ARGS__, result_of_call);                                                        \
    } while (0)

/* ---- pointers that are none ---- */

static const char *volatile none; /* NULL, which the compiler cannot know */
static const char *pages;         /* one that is readable, and one that nobody may touch */
static long page_bytes;

static void pages_make(void)
{
    page_bytes = sysconf(_SC_PAGESIZE);
    char *at = mmap(NULL, (size_t)page_bytes * 2, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || mprotect(at + page_bytes, (size_t)page_bytes, PROT_NONE) != 0)
        exit(99);
    memset(at, 'x', (size_t)page_bytes);
    pages = at;
}

static void paths_try(const char *path)
{
    struct stat about;
    struct statx aboutx;
    TELL(open(path, O_RDONLY));
    TELL(open(path, O_RDONLY | O_TMPFILE)); /* of flags alone */
    TELL(open(path, -1, 0));
    TELL(openat(-1, path, O_RDONLY));
    TELL(creat(path, 0600));
    TELL(stat(path, &about));
    TELL(lstat(path, &about));
    TELL(fstatat(AT_FDCWD, path, &about, AT_EMPTY_PATH));
    TELL(fstatat(AT_FDCWD, path, &about, -1));
    TELL(statx(AT_FDCWD, path, -1, 0, &aboutx));
    TELL(access(path, R_OK));
    TELL(access(path, -1));
    TELL(faccessat(AT_FDCWD, path, R_OK, -1));
    TELL(unlink(path));
    TELL(unlinkat(AT_FDCWD, path, -1));
    TELL(rmdir(path));
    TELL(remove(path));
    TELL(rename(path, path));
    TELL(rename("/nonexistent/a", path));
    TELL(rename(path, "/nonexistent/a"));
    TELL(rename("", path));
    TELL(renameat(AT_FDCWD, "/dev/null", AT_FDCWD, path));
    TELL(renameat2(AT_FDCWD, path, AT_FDCWD, path, -1U));
}

static void results_try(void *out)
{
    TELL(stat("/", out));
    TELL(lstat("/", out));
    TELL(fstat(0, out));
    TELL(statx(AT_FDCWD, "/", 0, 0, out));
    TELL(wait(out));
    TELL(waitpid(-1, out, WNOHANG));
}

static void addresses_try(const void *address)
{
    int tcp = socket(AF_INET, SOCK_STREAM, 0), udp = socket(AF_INET6, SOCK_DGRAM, 0);
    int local = socket(AF_UNIX, SOCK_STREAM, 0), file = open("/dev/null", O_RDONLY);
    static const socklen_t sizes[] = {0, 1, 2, 16, 28, 110, 128, 129, 65536, UINT32_MAX};
    const int fds[] = {tcp, udp, local, file, -1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof fds / sizeof *fds; k++)
            TELL(connect(fds[k], address, sizes[i]));
    for (size_t k = 0; k < sizeof fds / sizeof *fds; k++)
        close(fds[k]);
}

static int server_make(struct sockaddr_in *address)
{
    socklen_t bytes = sizeof *address;
    int server = socket(AF_INET, SOCK_STREAM, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    if (bind(server, (struct sockaddr *)address, bytes) != 0 || listen(server, 64) != 0 ||
        getsockname(server, (struct sockaddr *)address, &bytes) != 0)
        exit(99);
    return server;
}

static int client_make(const struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) != 0)
        exit(98);
    return fd;
}

static void accepts_try(void *bad)
{
    struct sockaddr_in address, peer;
    socklen_t bytes = sizeof peer;
    int server = server_make(&address);
    int clients[4];
    for (size_t i = 0; i < 4; i++)
        clients[i] = client_make(&address);
    TELL(accept(server, bad, &bytes));
    TELL(accept(server, (struct sockaddr *)&peer, bad));
    TELL(accept4(server, (struct sockaddr *)&peer, &bytes, -1));
    bytes = 3; /* cut */
    memset(&peer, 0x5a, sizeof peer);
    int fd = accept(server, (struct sockaddr *)&peer, &bytes);
    printf("%d %u %02x\n", fd >= 0, bytes, ((unsigned char *)&peer)[3]);
    close(fd);
    for (size_t i = 0; i < 4; i++)
        close(clients[i]);
    close(server);
}

static void polls_try(void *bad)
{
    struct pollfd fds[2] = {{.fd = -1}, {.fd = 999}};
    volatile nfds_t too_many = (nfds_t)1 << 40;
    TELL(poll(bad, 1, 0));
    TELL(poll(bad, 0, 0));
    TELL(poll(fds, too_many, 0));
    TELL(poll(fds, 2, 0));
    TELL(ppoll(bad, 1, &(struct timespec){0, 0}, NULL));
}

static void names_try(const void *bad)
{
    char host[64];
    struct addrinfo *found, hints = {.ai_flags = 0x40000000};
    struct sockaddr_in address = {.sin_family = AF_INET};
    TELL(getaddrinfo("127.0.0.1", NULL, &hints, &found));
    TELL(getnameinfo(bad, 0, host, sizeof host, NULL, 0, 0));
    TELL(getnameinfo(bad, 1, host, sizeof host, NULL, 0, 0));
    TELL(getnameinfo(bad, 16, host, sizeof host, NULL, 0, 0x40000000));
    TELL(getnameinfo((struct sockaddr *)&address, 2, host, sizeof host, NULL, 0, 0));
    TELL(getnameinfo((struct sockaddr *)&address, 16, NULL, 0, NULL, 0, NI_NUMERICHOST));
    TELL(gethostbyaddr("\1\2\3", 3, AF_INET) == NULL);
    TELL(gethostbyaddr("\177\0\0\1", 4, 12345) == NULL);
    TELL(gethostbyname2("127.0.0.1", 12345) == NULL);
}

int bad_pointers(void)
{
    pages_make();
    const char *const bad[] = {none,
                               (const char *)8,
                               (const char *)UINTPTR_MAX,
                               (const char *)(uintptr_t)0x8000000000000000,
                               pages + page_bytes,
                               pages + page_bytes - 1, /* not ended */
                               pages,                  /* too long, or not ended */
                               "",
                               "/nonexistent/file"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        printf("pointer %zu\n", i);
        paths_try(bad[i]);
        if (i < 6 && bad[i] != NULL) {
            addresses_try(bad[i]);
            results_try((void *)(uintptr_t)bad[i]);
            accepts_try((void *)(uintptr_t)bad[i]);
            polls_try((void *)(uintptr_t)bad[i]);
            names_try(bad[i]);
        }
    }
    addresses_try(pages);
    addresses_try(&(struct sockaddr_un){.sun_family = AF_UNIX, .sun_path = "/nonexistent/s"});
    return 3;
}

/* ---- handlers ---- */

static struct sockaddr_in closed_address;
static volatile sig_atomic_t handled;

static void calls_make(void)
{
    struct stat about;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    (void)connect(fd, (struct sockaddr *)&closed_address, sizeof closed_address);
    (void)accept(fd, NULL, NULL);
    close(fd);
    close(open("/dev/null", O_RDONLY));
    (void)stat("/nonexistent/file", &about);
    (void)poll(&(struct pollfd){.fd = 999}, 1, 0);
}

static void on_alarm(int signal)
{
    int saved = errno;
    (void)signal;
    calls_make();
    handled = handled + 1;
    errno = saved;
}

static void closed_find(void)
{
    int server = server_make(&closed_address);
    close(server);
}

int calls_in_handler(void)
{
    long wrong = 0;
    struct stat about;
    closed_find();
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_alarm, .sa_flags = SA_RESTART}, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 200}, {0, 200}}, NULL);
    while (handled < 300) {
        errno = UNTOUCHED;
        int fd = open("/dev/null", O_RDONLY);
        wrong += fd < 0 || errno != UNTOUCHED;
        close(fd);
        wrong += stat("/nonexistent/file", &about) != -1 || errno != ENOENT;
        fd = socket(AF_INET, SOCK_STREAM, 0);
        wrong += connect(fd, (struct sockaddr *)&closed_address, sizeof closed_address) != -1 ||
                 errno != ECONNREFUSED;
        close(fd);
    }
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    printf("wrong %ld\n", wrong);
    return 3;
}

/* ---- children ---- */

int calls_in_children(void)
{
    int status;
    siginfo_t about;
    closed_find();
    for (int i = 0; i < 20; i++) {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Vfork): the rule forbids just that */
        pid_t pid = i % 2 ? fork() : vfork();
        if (pid == 0) {
            struct stat st;
            int bad = stat((const char *)8, &st) != -1 || errno != EFAULT;
            int fd = socket(AF_INET, SOCK_STREAM, 0);
            bad += connect(fd, (struct sockaddr *)&closed_address, sizeof closed_address) != -1;
            _exit(10 + i + bad);
        }
        calls_make();
        if (i % 3 == 0) {
            TELL(waitid(P_PID, (id_t)pid, &about, WEXITED));
            printf("%d\n", about.si_status);
            continue;
        }
        TELL(waitpid(pid, &status, 0) == pid);
        printf("%d\n", WEXITSTATUS(status));
    }
    TELL(waitpid(-1, &status, 0));
    return 3;
}

/* ---- threads ---- */

static void *calls_make_many(void *unused)
{
    for (int i = 0; i < 300; i++)
        calls_make();
    return unused;
}

int calls_in_threads(void)
{
    pthread_t threads[6];
    closed_find();
    for (size_t i = 0; i < 6; i++)
        if (pthread_create(&threads[i], NULL, calls_make_many, NULL) != 0)
            return 99;
    for (size_t i = 0; i < 6; i++)
        TELL(pthread_join(threads[i], NULL));
    return 3;
}

/* ---- waits that say for whom ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static long counted;

static void *count(void *unused)
{
    for (int i = 0; i < 3000; i++) {
        pthread_mutex_lock(&mutex);
        counted++;
        pthread_mutex_unlock(&mutex);
        pthread_rwlock_wrlock(&rwlock);
        counted++;
        pthread_rwlock_unlock(&rwlock);
        pthread_rwlock_rdlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
    }
    return unused;
}

/* Of all kinds that the C library has: it keeps the owner in the same place in each. */
static void kinds_try(int type, int protocol, int robust)
{
    pthread_mutexattr_t kind;
    pthread_mutex_t other;
    struct timespec past = {1, 0};
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, type);
    pthread_mutexattr_setprotocol(&kind, protocol);
    pthread_mutexattr_setrobust(&kind, robust);
    TELL(pthread_mutex_init(&other, &kind));
    TELL(pthread_mutex_lock(&other));
    TELL(pthread_mutex_timedlock(&other, &past));
    TELL(pthread_mutex_unlock(&other));
    TELL(pthread_mutex_destroy(&other));
}

int waits_of_all_kinds(void)
{
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, count, NULL) != 0)
            return 99;
    for (size_t i = 0; i < 4; i++)
        TELL(pthread_join(threads[i], NULL));
    printf("%d\n", counted > 0);
    for (int type = 0; type < 4; type++)
        for (int protocol = 0; protocol < 2; protocol++)
            for (int robust = 0; robust < 2; robust++)
                kinds_try(type, protocol, robust);
    TELL(pthread_join(pthread_self(), NULL)); /* EDEADLK */
    TELL(system("exit 3"));                   /* NOLINT(cert-env33-c): what is tested */
    TELL(system(NULL) != 0);                  /* NOLINT(cert-env33-c): what is tested */
    TELL(pclose(popen("kill -9 $$", "r")));   /* NOLINT(cert-env33-c): what is tested */
    return 3;
}

/* ---- ends ---- */

static void last_words(void)
{
    printf("handler\n");
}

int ends_exit(void)
{
    int status;
    atexit(last_words);
    pid_t pid = vfork();
    if (pid == 0)
        _exit(11);
    TELL(waitpid(pid, &status, 0) == pid);
    printf("%d\n", WEXITSTATUS(status));
    fflush(stdout);
    pid = fork();
    if (pid == 0)
        exit(12);
    TELL(waitpid(pid, &status, 0) == pid);
    printf("%d\n", WEXITSTATUS(status));
    exit(13);
}

static void on_abort(int signal)
{
    static const char text[] = "aborted\n";
    (void)signal;
    (void)!write(1, text, sizeof text - 1);
}

int ends_abort(void)
{
    sigaction(SIGABRT, &(struct sigaction){.sa_handler = on_abort}, NULL);
    abort();
}

int ends_assert(void)
{
    volatile int one = 1;
    assert(one == 2);
    return 3;
}
