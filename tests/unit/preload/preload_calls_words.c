/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls whose events have more to say than a number and a result: names, paths, addresses. What is
 * expected comes from the kernel's and the C library's own accounts. Nothing here knows of Skein, and
 * nothing leaves this host: names are literals, or such as no question can be asked about.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload_calls.h"

int __open_2(const char *, int);
int __open64_2(const char *, int);
int __openat_2(int, const char *, int);
int __openat64_2(int, const char *, int);
int __xstat(int, const char *, struct stat *);
int __xstat64(int, const char *, struct stat64 *);
int __lxstat(int, const char *, struct stat *);
int __lxstat64(int, const char *, struct stat64 *);
int __fxstat(int, int, struct stat *);
int __fxstat64(int, int, struct stat64 *);
int __fxstatat(int, int, const char *, struct stat *, int);
int __fxstatat64(int, int, const char *, struct stat64 *, int);

/* ---- paths ---- */

static struct stat about;
static struct stat64 about64;
static struct statx aboutx;

static int64_t told(int64_t result)
{
    return result < 0 ? -errno : result;
}

#define PATH(function, folder, path, ...)                                                          \
    static void make_##function(struct expect *e)                                                  \
    {                                                                                              \
        e->detail = folder;                                                                        \
        e->result = told(__VA_ARGS__);                                                             \
        e->text = path;                                                                            \
    }
PATH(stat, AT_FDCWD, "/dev/null", stat("/dev/null", &about))
PATH(stat64, AT_FDCWD, "/dev/zero", stat64("/dev/zero", &about64))
PATH(lstat, AT_FDCWD, "/dev/full", lstat("/dev/full", &about))
PATH(lstat64, AT_FDCWD, "/none/at/all", lstat64("/none/at/all", &about64))
PATH(fstatat, AT_FDCWD, "/dev/null", fstatat(AT_FDCWD, "/dev/null", &about, 0))
PATH(fstatat64, AT_FDCWD, "/dev/zero", fstatat64(AT_FDCWD, "/dev/zero", &about64, 0))
PATH(statx, AT_FDCWD, "/dev/full", statx(AT_FDCWD, "/dev/full", 0, 0, &aboutx))
PATH(__xstat, AT_FDCWD, "/dev/null", __xstat(1, "/dev/null", &about))
PATH(__xstat64, AT_FDCWD, "/dev/zero", __xstat64(1, "/dev/zero", &about64))
PATH(__lxstat, AT_FDCWD, "/dev/full", __lxstat(1, "/dev/full", &about))
PATH(__lxstat64, AT_FDCWD, "/dev/null", __lxstat64(1, "/dev/null", &about64))
PATH(__fxstatat, AT_FDCWD, "/dev/zero", __fxstatat(1, AT_FDCWD, "/dev/zero", &about, 0))
PATH(__fxstatat64, AT_FDCWD, "/dev/full", __fxstatat64(1, AT_FDCWD, "/dev/full", &about64, 0))
PATH(fstat, 0, "", fstat(0, &about))
PATH(fstat64, 1, "", fstat64(1, &about64))
PATH(__fxstat, 2, "", __fxstat(1, 2, &about))
PATH(__fxstat64, 0, "", __fxstat64(1, 0, &about64))
PATH(access, AT_FDCWD, "/dev/null", access("/dev/null", R_OK))
PATH(faccessat, AT_FDCWD, "/none", faccessat(AT_FDCWD, "/none", R_OK, 0))
PATH(unlink, AT_FDCWD, "/none/a", unlink("/none/a"))
PATH(unlinkat, AT_FDCWD, "/none/b", unlinkat(AT_FDCWD, "/none/b", 0))
PATH(rmdir, AT_FDCWD, "/none/c", rmdir("/none/c"))
PATH(remove, AT_FDCWD, "/none/d", remove("/none/d"))

/* Two names: of the second nothing is known where the call failed. */
#define RENAME(function, ...)                                                                      \
    static void make_##function(struct expect *e)                                                  \
    {                                                                                              \
        char *from = e->room[0], *to = e->room[1];                                                 \
        snprintf(from, sizeof e->room[0], "/tmp/skein-calls-%d-from", getpid());                   \
        snprintf(to, sizeof e->room[1], "/tmp/skein-calls-%d-to", getpid());                       \
        close(open(from, O_CREAT | O_WRONLY, 0600));                                               \
        e->detail = AT_FDCWD;                                                                      \
        e->result = told(__VA_ARGS__);                                                             \
        unlink(to);                                                                                \
        e->text = from;                                                                            \
        e->text_2 = to;                                                                            \
    }
RENAME(rename, rename(from, to))
RENAME(renameat, renameat(AT_FDCWD, from, AT_FDCWD, to))
RENAME(renameat2, renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))

#define OPEN(function, folder, ...)                                                                \
    static void make_##function(struct expect *e)                                                  \
    {                                                                                              \
        e->detail = folder;                                                                        \
        e->result = function(__VA_ARGS__);                                                         \
        e->text = "/dev/null";                                                                     \
    }
OPEN(open, AT_FDCWD, "/dev/null", O_RDONLY)
OPEN(open64, AT_FDCWD, "/dev/null", O_RDONLY)
OPEN(openat, 3, 3, "/dev/null", O_RDONLY)
OPEN(openat64, 3, 3, "/dev/null", O_RDONLY)
OPEN(creat, AT_FDCWD, "/dev/null", 0600)
OPEN(creat64, AT_FDCWD, "/dev/null", 0600)
OPEN(__open_2, AT_FDCWD, "/dev/null", O_RDONLY)
OPEN(__open64_2, AT_FDCWD, "/dev/null", O_RDONLY)
OPEN(__openat_2, 3, 3, "/dev/null", O_RDONLY)
OPEN(__openat64_2, 3, 3, "/dev/null", O_RDONLY)

#define FOPEN(function)                                                                            \
    static void make_##function(struct expect *e)                                                  \
    {                                                                                              \
        e->detail = AT_FDCWD;                                                                      \
        e->result = fileno(function("/dev/null", "r"));                                            \
        e->text = "/dev/null";                                                                     \
    }
FOPEN(fopen)
FOPEN(fopen64)

/* ---- addresses ---- */

/* As the C library writes it, with a port. */
static void address_text(const struct sockaddr_in6 *address, char out[128])
{
    char host[INET6_ADDRSTRLEN];
    const struct sockaddr_in *v4 = (const void *)address;
    if (address->sin6_family == AF_INET)
        snprintf(out, 128, "%s:%u", inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host),
                 ntohs(v4->sin_port));
    else
        snprintf(out, 128, "[%s]:%u", inet_ntop(AF_INET6, &address->sin6_addr, host, sizeof host),
                 ntohs(address->sin6_port));
}

/* Listens on a port of its own at the loopback of the family. */
static int listen_on(int family, struct sockaddr_in6 *address, socklen_t *bytes)
{
    int fd = socket(family, SOCK_STREAM, 0);
    *address = (struct sockaddr_in6){.sin6_family = (sa_family_t)family};
    if (family == AF_INET)
        ((struct sockaddr_in *)(void *)address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else
        address->sin6_addr = in6addr_loopback;
    *bytes = sizeof *address;
    if (fd < 0 || bind(fd, (struct sockaddr *)address, *bytes) != 0 || listen(fd, 1) != 0 ||
        getsockname(fd, (struct sockaddr *)address, bytes) != 0)
        abort();
    return fd;
}

static void make_connect(struct expect *e)
{
    struct sockaddr_in6 address;
    socklen_t bytes;
    int server = listen_on(AF_INET, &address, &bytes), fd = socket(AF_INET, SOCK_STREAM, 0);
    close(server); /* nobody listens there any more */
    e->detail = fd;
    e->result = told(connect(fd, (struct sockaddr *)&address, bytes));
    close(fd);
    address_text(&address, e->room[0]);
    e->text = e->room[0];
}

static void make_connect_6(struct expect *e)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(9)};
    int fd = socket(AF_INET6, SOCK_DGRAM, 0);
    inet_pton(AF_INET6, "::1", &address.sin6_addr);
    e->detail = fd;
    e->result = told(connect(fd, (struct sockaddr *)&address, sizeof address));
    close(fd);
    if (e->result == 0) /* else this host has no such address, and the error says nothing */
        e->text = "[::1]:9";
}

static void make_connect_unix(struct expect *e)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/none/such.sock"};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    e->detail = fd;
    e->result = told(connect(fd, (struct sockaddr *)&address, sizeof address));
    close(fd);
    e->text = "/none/such.sock";
}

static void make_connect_abstract(struct expect *e)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t bytes = offsetof(struct sockaddr_un, sun_path) + 6;
    int server = socket(AF_UNIX, SOCK_DGRAM, 0), fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    memcpy(address.sun_path, "\0calls", 6);
    if (bind(server, (struct sockaddr *)&address, bytes) != 0)
        abort();
    e->detail = fd;
    e->result = told(connect(fd, (struct sockaddr *)&address, bytes));
    close(fd);
    close(server);
    e->text = "@calls";
}

/* Of an address that the kernel cannot have read nothing is said. */
static void make_connect_bad(struct expect *e)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    e->detail = fd;
    e->result = told(connect(fd, (struct sockaddr *)8, 16));
    close(fd);
    e->text = "";
}

#define ACCEPT(name, family, asked, ...)                                                           \
    static void make_##name(struct expect *e)                                                      \
    {                                                                                              \
        struct sockaddr_in6 address, own = {0}, peer;                                              \
        socklen_t bytes, own_bytes = sizeof own, peer_bytes = sizeof peer;                         \
        int server = listen_on(family, &address, &bytes), fd = socket(family, SOCK_STREAM, 0);     \
        if (connect(fd, (struct sockaddr *)&address, bytes) != 0 ||                                \
            getsockname(fd, (struct sockaddr *)&own, &own_bytes) != 0)                             \
            abort();                                                                               \
        struct sockaddr *from = (asked) ? (struct sockaddr *)&peer : NULL;                         \
        e->detail = server;                                                                        \
        e->result = told(__VA_ARGS__);                                                             \
        close((int)e->result);                                                                     \
        close(fd);                                                                                 \
        close(server);                                                                             \
        address_text(&own, e->room[0]);                                                            \
        e->text = e->room[0];                                                                      \
    }
ACCEPT(accept, AF_INET, true, accept(server, from, &peer_bytes))
ACCEPT(accept4, AF_INET, false, accept4(server, from, from != NULL ? &peer_bytes : NULL, 0))

/* ---- names ---- */

#define NAME(function, name, result_, ...)                                                         \
    static void make_##function(struct expect *e)                                                  \
    {                                                                                              \
        char buffer[1024];                                                                         \
        struct hostent room, *found = NULL;                                                        \
        struct in_addr local = {htonl(INADDR_LOOPBACK)};                                           \
        int error = 0;                                                                             \
        (void)buffer, (void)room, (void)found, (void)local, (void)error;                           \
        e->detail = AF_INET;                                                                       \
        e->text = name;                                                                            \
        e->text_2 = "127.0.0.1";                                                                   \
        __VA_ARGS__;                                                                               \
        e->result = result_;                                                                       \
    }
NAME(gethostbyname2, "127.0.0.1", 0, gethostbyname2("127.0.0.1", AF_INET))
NAME(gethostbyname_r, "127.0.0.1", error,
     gethostbyname_r("127.0.0.1", &room, buffer, sizeof buffer, &found, &error))
NAME(gethostbyname2_r, "127.0.0.1", error,
     gethostbyname2_r("127.0.0.1", AF_INET, &room, buffer, sizeof buffer, &found, &error))
/* Which name /etc/hosts gives it first is another matter. */
NAME(gethostbyaddr, NULL, 0, gethostbyaddr(&local, sizeof local, AF_INET))
NAME(gethostbyaddr_r, NULL, error,
     gethostbyaddr_r(&local, sizeof local, AF_INET, &room, buffer, sizeof buffer, &found, &error))

static struct sockaddr_in local = {.sin_family = AF_INET, .sin_addr = {0x0100007f}};

static void make_getaddrinfo(struct expect *e)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_flags = AI_NUMERICHOST}, *found = NULL;
    e->detail = AF_INET;
    e->text = "127.0.0.1";
    e->text_2 = "127.0.0.1";
    e->result = getaddrinfo("127.0.0.1", NULL, &hints, &found);
    freeaddrinfo(found);
}

static void make_getnameinfo(struct expect *e)
{
    static char host[64];
    e->detail = AF_INET;
    e->text = "127.0.0.1";
    e->text_2 = "127.0.0.1:0";
    e->result = getnameinfo((struct sockaddr *)&local, sizeof local, host, sizeof host, NULL, 0,
                            NI_NUMERICHOST);
}

static void make_gethostbyname(struct expect *e)
{
    e->detail = AF_INET;
    e->text = "127.0.0.1";
    e->text_2 = "127.0.0.1";
    e->result = gethostbyname("127.0.0.1") ? 0 : h_errno;
}

/* Longer than a label may be: no question is sent. */
#define NO_NAME                                                                                    \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.b."

#undef QUERY /* <resolv.h> has one */
#define QUERY(function, error, ...)                                                                \
    static void make_##function(struct expect *e)                                                  \
    {                                                                                              \
        static struct __res_state state;                                                           \
        unsigned char answer[512];                                                                 \
        res_ninit(&state);                                                                         \
        e->detail = AF_UNSPEC;                                                                     \
        e->text = NO_NAME;                                                                         \
        if (function(__VA_ARGS__ NO_NAME, 1, 1, answer, sizeof answer) >= 0)                       \
            abort();                                                                               \
        e->result = (error) == -1 ? -errno : (error);                                              \
        res_nclose(&state);                                                                        \
    }
#define STATE &state,
QUERY(res_query, h_errno)
QUERY(res_search, h_errno)
QUERY(res_nquery, state.res_h_errno, STATE)
QUERY(res_nsearch, state.res_h_errno, STATE)

/* ---- children ---- */

/* A child that ends with this status, or by this signal. */
static pid_t child(int status, int signal)
{
    pid_t pid = fork();
    if (pid == 0 && signal)
        kill(getpid(), signal);
    if (pid == 0)
        _exit(status);
    return pid;
}

#define CHILD(function, detail_, status, signal_, ...)                                             \
    static void make_##function(struct expect *e)                                                  \
    {                                                                                              \
        int ended;                                                                                 \
        siginfo_t about;                                                                           \
        pid_t pid = child(status, signal_);                                                        \
        (void)pid, (void)ended, (void)about;                                                       \
        e->detail = detail_;                                                                       \
        e->result = __VA_ARGS__;                                                                   \
        e->number = (signal_) ? -1 : (status);                                                     \
        e->number_2 = signal_;                                                                     \
    }
CHILD(waitpid, pid, 5, 0, waitpid(pid, &ended, 0))
CHILD(wait, -1, 0, SIGKILL, wait(&ended))
CHILD(wait3, -1, 6, 0, wait3(&ended, 0, NULL))
CHILD(wait4, pid, 0, SIGHUP, wait4(pid, &ended, 0, NULL))
CHILD(waitid, pid, 7, 0, waitid(P_PID, (id_t)pid, &about, WEXITED))

static void make_system(struct expect *e)
{
    e->detail = -1;
    e->result = system("exit 4"); /* NOLINT(cert-env33-c): what is tested */
    e->number = 4;
    e->number_2 = 0;
}

static void make_pclose(struct expect *e)
{
    e->detail = -1;
    e->result = pclose(popen("exit 3", "r")); /* NOLINT(cert-env33-c): what is tested */
    e->number = 3;
    e->number_2 = 0;
}

/* Kept by hand, as clang-format indents each row more than the one before. */
/* clang-format off */
#define EVENT(event, function) {#function, #event, make_##function},
#define ALSO(event, function, made) {#function, #event, make_##made},
const struct call calls_of_words[] = {
    EVENT(open, open) EVENT(open, open64) EVENT(open, openat) EVENT(open, openat64)
    EVENT(open, creat) EVENT(open, creat64) EVENT(open, __open_2) EVENT(open, __open64_2)
    EVENT(open, __openat_2) EVENT(open, __openat64_2) EVENT(open, fopen) EVENT(open, fopen64)
    EVENT(resolve, getaddrinfo) EVENT(resolve, getnameinfo) EVENT(resolve, gethostbyname)
    EVENT(wait_child, wait) EVENT(wait_child, waitpid) EVENT(wait_child, wait3)
    EVENT(wait_child, wait4) EVENT(wait_child, waitid) EVENT(wait_child, system)
    EVENT(wait_child, pclose)
    EVENT(stat, stat) EVENT(stat, stat64) EVENT(stat, lstat) EVENT(stat, lstat64)
    EVENT(stat, fstatat) EVENT(stat, fstatat64) EVENT(stat, statx) EVENT(stat, __xstat)
    EVENT(stat, __xstat64) EVENT(stat, __lxstat) EVENT(stat, __lxstat64) EVENT(stat, __fxstatat)
    EVENT(stat, __fxstatat64) EVENT(stat, fstat) EVENT(stat, fstat64) EVENT(stat, __fxstat)
    EVENT(stat, __fxstat64) EVENT(stat, access) EVENT(stat, faccessat) EVENT(unlink, unlink)
    EVENT(unlink, unlinkat) EVENT(unlink, rmdir) EVENT(unlink, remove) EVENT(rename, rename)
    EVENT(rename, renameat) EVENT(rename, renameat2) EVENT(connect, connect)
    EVENT(accept, accept) EVENT(accept, accept4) EVENT(resolve, gethostbyname2)
    EVENT(resolve, gethostbyname_r) EVENT(resolve, gethostbyname2_r)
    EVENT(resolve, gethostbyaddr) EVENT(resolve, gethostbyaddr_r) EVENT(resolve, res_query)
    EVENT(resolve, res_search) EVENT(resolve, res_nquery) EVENT(resolve, res_nsearch)
};
const size_t call_of_words_count = sizeof calls_of_words / sizeof *calls_of_words;

/* The same functions with other addresses. */
const struct call calls_again[] = {
    ALSO(connect, connect, connect_6) ALSO(connect, connect, connect_unix)
    ALSO(connect, connect, connect_abstract) ALSO(connect, connect, connect_bad)
};
const size_t call_again_count = sizeof calls_again / sizeof *calls_again;
/* clang-format on */
