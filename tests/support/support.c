/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns what tests share: see support.h. Enters from tests alone; everything that it makes is gone
 * when the test is.
 */
#include "support.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "port.h"

enum { DEADLINE_MS = 20000, LOOK_MAX_MS = 20 };

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

unsigned support_deadline_ms(void)
{
    const char *text = getenv("SKEIN_TEST_DEADLINE_MS");
    unsigned long v = text ? strtoul(text, NULL, 10) : 0;
    return v > 0 && v < UINT_MAX ? (unsigned)v : DEADLINE_MS;
}

bool wait_until(bool (*condition)(void *context), void *context, unsigned deadline_ms)
{
    uint64_t end = now_ms() + (deadline_ms ? deadline_ms : support_deadline_ms());
    for (int pause_ms = 1;; pause_ms = pause_ms < LOOK_MAX_MS ? pause_ms * 2 : LOOK_MAX_MS) {
        if (condition(context))
            return true;
        if (now_ms() >= end)
            return false;
        poll(NULL, 0, pause_ms);
    }
}

/* ---- files ---- */

char *temp_dir_new(void)
{
    const char *base = getenv("TMPDIR");
    char *path = path_join(base && base[0] == '/' ? base : "/tmp", "skein-test-XXXXXX");
    ck_assert_msg(mkdtemp(path) != NULL, "mkdtemp %s: %s", path, strerror(errno));
    return path;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

void temp_dir_free(char **path)
{
    if (!*path)
        return;
    nftw(*path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(*path);
    *path = NULL;
}

char *path_join(const char *folder, const char *name)
{
    size_t n = strlen(folder) + strlen(name) + 2;
    char *path = malloc(n);
    ck_assert_ptr_nonnull(path);
    snprintf(path, n, "%s/%s", folder, name);
    return path;
}

char *file_read(const char *path, size_t *n)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    size_t len = 0, cap = 4096;
    char *bytes = malloc(cap);
    ssize_t got = -1;
    while (bytes && (got = read(fd, bytes + len, cap - 1 - len)) > 0) {
        len += (size_t)got;
        if (cap - 1 > len)
            continue;
        char *more = realloc(bytes, cap *= 2);
        if (!more)
            free(bytes);
        bytes = more;
    }
    close(fd);
    if (got < 0 || !bytes) {
        free(bytes);
        return NULL;
    }
    bytes[len] = '\0';
    if (n)
        *n = len;
    return bytes;
}

void file_write(const char *path, const void *bytes, size_t n)
{
    FILE *out = fopen(path, "wb");
    ck_assert_msg(out != NULL, "%s: %s", path, strerror(errno));
    ck_assert_uint_eq(fwrite(bytes, 1, n, out), n);
    ck_assert_int_eq(fclose(out), 0);
}

void file_write_text(const char *path, const char *text)
{
    file_write(path, text, strlen(text));
}

/* ---- sockets ---- */

static struct sockaddr_in loopback(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

uint16_t free_port(void)
{
    uint16_t port = port_take();
    ck_assert_uint_ne(port, 0);
    return port;
}

static int connect_to(int family, const void *address, socklen_t n)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, address, n) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

int tcp_connect(uint16_t port)
{
    struct sockaddr_in a = loopback(port);
    return connect_to(AF_INET, &a, sizeof a);
}

int unix_connect(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    ck_assert_uint_lt(strlen(path), sizeof a.sun_path);
    strcpy(a.sun_path, path);
    return connect_to(AF_UNIX, &a, sizeof a);
}

/* ---- processes ---- */

/* environ with `more` in front, where the first of a name counts; to be freed. */
static char **environment_with(const char *const *more)
{
    size_t n = 0, own = 0, at = 0;
    while (more != NULL && more[n] != NULL)
        n++;
    while (environ[own] != NULL)
        own++;
    char **all = calloc(n + own + 1, sizeof *all);
    ck_assert_ptr_nonnull(all);
    for (size_t i = 0; i < n; i++)
        all[at++] = (char *)(uintptr_t)more[i];
    for (size_t i = 0; i < own; i++) {
        size_t length = strcspn(environ[i], "=") + 1;
        bool replaced = false;
        for (size_t k = 0; k < n; k++)
            replaced = replaced || strncmp(environ[i], more[k], length) == 0;
        if (!replaced)
            all[at++] = environ[i];
    }
    return all;
}

/* The child of a process that may have threads: whatever they held, memory's lock with it, is held
 * for ever here. No allocation. */
static void become(const char *const argv[], char *const environment[],
                   const struct spawn_options *o, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* the test died before the line above */
        _exit(127);
    if (o->folder && chdir(o->folder) != 0)
        _exit(127);
    if (o->out_file) {
        int fd = open(o->out_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
            _exit(127);
    }
    execvpe(argv[0], (char *const *)(uintptr_t)argv, environment);
    dprintf(2, "spawn: %s: %s\n", argv[0], strerrorname_np(errno));
    _exit(127);
}

pid_t spawn(const char *const argv[], const struct spawn_options *options)
{
    static const struct spawn_options none;
    const struct spawn_options *o = options != NULL ? options : &none;
    char **environment = environment_with(o->env);
    pid_t parent = getpid();
    fflush(NULL);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        become(argv, environment, o, parent);
    free(environment);
    return pid;
}

struct exit_wait {
    pid_t pid;
    int status;
};

static bool has_exited(void *context)
{
    struct exit_wait *w = context;
    return waitpid(w->pid, &w->status, WNOHANG) == w->pid;
}

int spawn_wait(pid_t pid, unsigned deadline_ms)
{
    struct exit_wait w = {.pid = pid};
    if (!wait_until(has_exited, &w, deadline_ms)) {
        kill(pid, SIGKILL);
        waitpid(pid, &w.status, 0);
        return -1;
    }
    return WIFSIGNALED(w.status) ? 128 + WTERMSIG(w.status) : WEXITSTATUS(w.status);
}

int spawn_stop(pid_t pid, int signal, unsigned deadline_ms)
{
    kill(pid, signal);
    return spawn_wait(pid, deadline_ms);
}

/* ---- suites ---- */

int suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* What libcheck gives each test: its own 4 s are too few under sanitizers. Below ctest's limit, so
 * that libcheck names the test. */
__attribute__((constructor)) static void timeout_set(void)
{
    setenv("CK_DEFAULT_TIMEOUT", "280", 0);
}

Suite *suite_of(const char *name, ...)
{
    Suite *suite = suite_create(name);
    TCase *tests = tcase_create(name);
    const TTest *test;
    va_list list;
    va_start(list, name);
    while ((test = va_arg(list, const TTest *)))
        tcase_add_test(tests, test);
    va_end(list);
    suite_add_tcase(suite, tests);
    return suite;
}
