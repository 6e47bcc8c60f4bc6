/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors of this very process: the test knows what it has opened, and asks its sockets
 * themselves for their addresses.
 */
#include "files_source.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "evidence_told.h"
#include "proc_info.h"
#include "skein/status.h"
#include "socket_list.h"

static const struct evidence_settings evidence_settings;
static const struct privacy_rule shown = {.mode = PRIVACY_OFF};

static struct told_list collect(struct files_source *source, pid_t pid, struct evidence_note *note)
{
    struct evidence_out *out;
    struct process process = {.pid = (uint32_t)pid};
    uint64_t now_ns = clock_monotonic_ns();
    const struct evidence_ask ask = {.process = &process,
                                     .from_ns = now_ns,
                                     .to_ns = now_ns,
                                     .deadline_ns =
                                         now_ns + (uint64_t)support_deadline_ms() * 1000000,
                                     .settings = &evidence_settings};
    *note = (struct evidence_note){.state = EVIDENCE_NONE};
    (void)proc_start_ticks(pid, &process.start_clock_ticks);
    ck_assert_int_eq(evidence_out_new(64u << 20, &out), SKEIN_OK);
    files_collect(source, &ask, out, note);
    return told_read(&out);
}

static struct told_list collect_own(const struct privacy_rule *rule)
{
    struct files_source source = {.proc = NULL};
    struct evidence_note note;
    files_source_set(&source, true, rule);
    struct told_list list = collect(&source, getpid(), &note);
    must_hold(note.state == EVIDENCE_TAKEN, "not all was taken: %s", note.why);
    return list;
}

static const struct told *fd_told(const struct told_list *list, int fd)
{
    const struct told *told;
    for (size_t n = 0; (told = told_find(list, "fd", n)) != NULL; n++)
        if (told->args[0].number == fd)
            return told;
    return NULL;
}

static const char *text_of(const struct told_list *list, int fd, const char *arg)
{
    const struct told_arg *found = told_arg(fd_told(list, fd), arg);
    return found == NULL ? "(none)" : found->text;
}

static double number_of(const struct told_list *list, int fd, const char *arg)
{
    const struct told_arg *found = told_arg(fd_told(list, fd), arg);
    return found == NULL ? -1 : found->number;
}

static double counter_of(const struct told_list *list, const char *name)
{
    const struct told *told = told_find(list, name, 0);
    return told == NULL ? 0 : told->args[0].number;
}

/* "127.0.0.1:80", as the socket itself says. */
static void own_address(int fd, bool peer, char out[64])
{
    struct sockaddr_in6 a = {.sin6_family = AF_UNSPEC};
    socklen_t n = sizeof a;
    char text[INET6_ADDRSTRLEN];
    ck_assert_int_eq((peer ? getpeername : getsockname)(fd, (struct sockaddr *)&a, &n), 0);
    if (a.sin6_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)&a;
        ck_assert_ptr_nonnull(inet_ntop(AF_INET, &four->sin_addr, text, sizeof text));
        snprintf(out, 64, "%s:%d", text, ntohs(four->sin_port));
    } else {
        ck_assert_ptr_nonnull(inet_ntop(AF_INET6, &a.sin6_addr, text, sizeof text));
        snprintf(out, 64, "[%s]:%d", text, ntohs(a.sin6_port));
    }
}

static int tcp_listener(int backlog)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    ck_assert_int_eq(listen(fd, backlog), 0);
    return fd;
}

static int connect_to(int listener)
{
    struct sockaddr_storage a = {.ss_family = AF_UNSPEC};
    socklen_t n = sizeof a;
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&a, &n), 0);
    int fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, n), 0);
    return fd;
}

START_TEST(each_kind_of_descriptor_is_told)
{
    char *folder = temp_dir_new(), *path = path_join(folder, "a file"), real[4096], want[64];
    int pipes[2], file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int event = eventfd(0, EFD_CLOEXEC), epoll = epoll_create1(EPOLL_CLOEXEC);
    int memory = memfd_create("mine", MFD_CLOEXEC);
    ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
    ck_assert_ptr_nonnull(realpath(path, real));
    struct told_list list = collect_own(&shown);
    ck_assert_str_eq(text_of(&list, file, "kind"), "file");
    ck_assert_str_eq(text_of(&list, file, "path"), real);
    ck_assert_str_eq(text_of(&list, event, "kind"), "eventfd");
    ck_assert_str_eq(text_of(&list, epoll, "kind"), "eventpoll");
    ck_assert_str_eq(text_of(&list, memory, "kind"), "memfd");
    ck_assert_str_eq(text_of(&list, pipes[0], "kind"), "pipe");
    struct stat info;
    ck_assert_int_eq(fstat(pipes[0], &info), 0);
    snprintf(want, sizeof want, "[%lu]", (unsigned long)info.st_ino);
    ck_assert_str_eq(text_of(&list, pipes[0], "path"), want);
    ck_assert_str_eq(text_of(&list, pipes[1], "path"), want);
    ck_assert_str_eq(told_find(&list, "fd", 0)->thread, "process");
    told_free(&list);
    const int fds[] = {file, event, epoll, memory, pipes[0], pipes[1]};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        close(fds[i]);
    free(path);
    temp_dir_free(&folder);
}
END_TEST

START_TEST(a_connection_has_its_peer_and_its_queues)
{
    char local[64], peer[64];
    int listener = tcp_listener(5), client = connect_to(listener), queued = 0;
    int server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    ck_assert_int_ge(server, 0);
    ck_assert_int_eq(write(client, "hello", 5), 5);
    ck_assert_int_eq(ioctl(server, FIONREAD, &queued), 0);
    ck_assert_int_eq(queued, 5);
    struct told_list list = collect_own(&shown);
    own_address(client, false, local);
    own_address(client, true, peer);
    ck_assert_str_eq(text_of(&list, client, "kind"), "tcp established");
    ck_assert_str_eq(text_of(&list, client, "local"), local);
    ck_assert_str_eq(text_of(&list, client, "peer"), peer);
    ck_assert_str_eq(text_of(&list, server, "peer"), local);
    ck_assert(number_of(&list, server, "receive_queue") == 5);
    ck_assert(counter_of(&list, "proc.sockets.receive_queue") == 5);
    ck_assert(counter_of(&list, "proc.sockets.tcp.established") == 2);
    ck_assert(counter_of(&list, "proc.sockets.tcp.listen") == 1);
    ck_assert(counter_of(&list, "proc.sockets") == 3);
    told_free(&list);
    close(client);
    list = collect_own(&shown);
    ck_assert_str_eq(text_of(&list, server, "kind"), "tcp close_wait");
    told_free(&list);
    close(server);
    close(listener);
}
END_TEST

START_TEST(a_full_backlog_is_told)
{
    int listener = tcp_listener(2), clients[3];
    char local[64];
    for (unsigned i = 0; i < 3; i++) /* one more than the backlog fits in, and no more */
        clients[i] = connect_to(listener);
    struct told_list list = collect_own(&shown);
    own_address(listener, false, local);
    ck_assert_str_eq(text_of(&list, listener, "kind"), "tcp listen");
    ck_assert_str_eq(text_of(&list, listener, "local"), local);
    ck_assert(number_of(&list, listener, "waiting") == 3);
    ck_assert(number_of(&list, listener, "backlog") == 2);
    ck_assert(counter_of(&list, "proc.sockets.waiting_connections") == 3);
    told_free(&list);
    for (unsigned i = 0; i < 3; i++)
        close(clients[i]);
    close(listener);
}
END_TEST

START_TEST(sockets_of_six_and_of_unix_are_told)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    char *folder = temp_dir_new(), *path = path_join(folder, "s"), local[64];
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), pair[2];
    int udp = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool has_six = udp >= 0 && bind(udp, (struct sockaddr *)&six, sizeof six) == 0;
    snprintf(name.sun_path, sizeof name.sun_path, "%s", path);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&name, sizeof name), 0);
    ck_assert_int_eq(listen(listener, 7), 0);
    int client = unix_connect(path);
    ck_assert_int_ge(client, 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    struct told_list list = collect_own(&shown);
    ck_assert_str_eq(text_of(&list, listener, "kind"), "unix listen");
    ck_assert_str_eq(text_of(&list, listener, "local"), path);
    ck_assert(number_of(&list, listener, "waiting") == 1);
    ck_assert(number_of(&list, listener, "backlog") == 7);
    ck_assert_str_eq(text_of(&list, pair[0], "kind"), "unix established");
    struct stat info;
    ck_assert_int_eq(fstat(pair[1], &info), 0);
    snprintf(local, sizeof local, "socket:[%lu]", (unsigned long)info.st_ino);
    ck_assert_str_eq(text_of(&list, pair[0], "peer"), local);
    if (has_six) {
        own_address(udp, false, local);
        ck_assert_str_eq(text_of(&list, udp, "kind"), "udp unconnected");
        ck_assert_str_eq(text_of(&list, udp, "local"), local);
    }
    told_free(&list);
    const int fds[] = {listener, client, pair[0], pair[1], udp};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        close(fds[i]);
    free(path);
    temp_dir_free(&folder);
}
END_TEST

START_TEST(privacy_hides_paths_and_addresses)
{
    const struct privacy_rule hashed = {.mode = PRIVACY_HASH, .key = {1, 2}},
                              left_out = {.mode = PRIVACY_LEAVE_OUT}, newer = {.mode = 77};
    char *folder = temp_dir_new(), *path = path_join(folder, "secret");
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), again = open(path, O_RDONLY);
    int listener = tcp_listener(1), client = connect_to(listener);
    struct told_list list = collect_own(&hashed);
    const char *hash = text_of(&list, file, "path");
    ck_assert_int_eq(hash[0], '#');
    ck_assert_uint_eq(strlen(hash), 17);
    ck_assert_str_eq(text_of(&list, again, "path"), hash);
    ck_assert_int_eq(text_of(&list, client, "local")[0], '#');
    ck_assert_str_eq(text_of(&list, client, "peer"), text_of(&list, listener, "local"));
    told_free(&list);
    for (unsigned i = 0; i < 2; i++) {
        list = collect_own(i == 0 ? &left_out : &newer);
        ck_assert_str_eq(text_of(&list, file, "path"), "");
        ck_assert_str_eq(text_of(&list, client, "peer"), "");
        ck_assert_str_eq(text_of(&list, client, "kind"), "tcp established");
        for (size_t n = 0; n < list.count; n++)
            for (unsigned a = 0; a < list.items[n].nargs; a++)
                ck_assert(strstr(list.items[n].args[a].text, "secret") == NULL &&
                          strstr(list.items[n].args[a].text, "127.0.0.1") == NULL);
        told_free(&list);
    }
    const int fds[] = {file, again, listener, client};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        close(fds[i]);
    free(path);
    temp_dir_free(&folder);
}
END_TEST

START_TEST(what_is_left_out_is_counted)
{
    struct files_source source = {.proc = NULL};
    struct evidence_note note;
    struct rlimit limit;
    char want[64];
    unsigned opened = 0;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    while (opened < FILES_TOLD_MAX + 10 && dup(0) >= 0)
        opened++;
    files_source_set(&source, true, &shown);
    struct told_list list = collect(&source, getpid(), &note);
    size_t told = told_count(&list, "fd");
    if (opened == FILES_TOLD_MAX + 10) {
        ck_assert_uint_eq(told, FILES_TOLD_MAX);
        ck_assert_int_eq(note.state, EVIDENCE_PARTIAL);
        snprintf(want, sizeof want, "%d of ", FILES_TOLD_MAX);
        ck_assert(strncmp(note.why, want, strlen(want)) == 0);
        ck_assert_uint_ge(strtoul(note.why + strlen(want), NULL, 10), opened);
    } else { /* the system allows no more */
        ck_assert_uint_ge(told, opened);
    }
    told_free(&list);
    files_source_set(&source, false, &shown);
    list = collect(&source, getpid(), &note);
    ck_assert_uint_eq(list.count, 0);
    ck_assert_int_eq(note.state, EVIDENCE_NONE);
    ck_assert_str_eq(note.why, EVIDENCE_OFF "vitals.files is false");
    files_source_set(&source, true, &shown);
    list = collect(&source, 0x3fffffff, &note);
    ck_assert_uint_eq(list.count, 0);
    ck_assert_int_eq(note.state, EVIDENCE_NONE);
    ck_assert_str_eq(note.why, "the process has ended");
}
END_TEST

START_TEST(answers_that_are_odd_are_refused)
{
    struct socket_row row = {.inode = 7};
    static const uint8_t shorter[] = {20, 0, 0, 0, 20, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                         none[] = {8, 0, 0, 0, 20, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                         error[] = {16, 0, 0, 0, 2, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                         done[] = {16, 0, 0, 0, 3, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                         empty[] = {16, 0, 0, 0, 20, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    ck_assert_int_eq(socket_answer_take(shorter, 16, SOCKET_TCP, &row, 1), SKEIN_CORRUPT);
    ck_assert_int_eq(socket_answer_take(none, 16, SOCKET_TCP, &row, 1), SKEIN_CORRUPT);
    ck_assert_int_eq(socket_answer_take(error, 16, SOCKET_TCP, &row, 1), SKEIN_UNSUPPORTED);
    ck_assert_int_eq(socket_answer_take(done, 16, SOCKET_TCP, &row, 1), SKEIN_OK);
    ck_assert_int_eq(socket_answer_take(empty, 16, SOCKET_UNIX, &row, 1), SKEIN_AGAIN);
    ck_assert_int_eq(socket_answer_take(done, 15, SOCKET_TCP, &row, 1), SKEIN_AGAIN);
    ck_assert_int_eq(row.kind, SOCKET_UNKNOWN);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("files_source", each_kind_of_descriptor_is_told,
                              a_connection_has_its_peer_and_its_queues, a_full_backlog_is_told,
                              sockets_of_six_and_of_unix_are_told,
                              privacy_hides_paths_and_addresses, what_is_left_out_is_counted,
                              answers_that_are_odd_are_refused, NULL));
}
