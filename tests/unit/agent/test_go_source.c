/* SPDX-License-Identifier: Apache-2.0
 * What is fetched of a Go runtime, of servers that are slow, endless, broken or somebody else. The
 * test's process plays the program: its servers are threads of it. */
#include "go_source.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "evidence_task.h"
#include "http_client.h"
#include "partition_reader.h"
#include "support.h"

#define HEAD "go 1.19 trace\0\0\0"

/* ---- a server of one manner ---- */

enum manner { WHOLE, SILENT, ENDLESS, ENDLESS_HEADER, TEXT, CUT };

struct server {
    int fd, end;
    uint16_t port;
    pthread_t thread;
    enum manner manner;
    const void *bytes; /* WHOLE: of the body; TEXT, CUT: of all */
    size_t n;
    const char *type;
    unsigned connections; /* atomic */
    char said[512];
};

static bool all_sent(int fd, const void *bytes, size_t n)
{
    const char *at = bytes;
    while (n > 0) {
        ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

static void forever_send(int fd, const char *text, size_t n)
{
    while (all_sent(fd, text, n))
        continue;
}

static void whole_send(const struct server *s, int fd)
{
    char head[256];
    int n = snprintf(head, sizeof head,
                     "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n", s->type,
                     s->n);
    (void)(all_sent(fd, head, (size_t)n) && all_sent(fd, s->bytes, s->n));
}

static void answer(struct server *s, int fd)
{
    static char zeros[65536];
    static const char begin[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n";
    char rest;
    switch (s->manner) {
    case WHOLE:
        whole_send(s, fd);
        return;
    case SILENT: /* until the client leaves */
        (void)(all_sent(fd, begin, sizeof begin - 1) && all_sent(fd, "\r\n" HEAD, 18));
        while (recv(fd, &rest, 1, 0) > 0)
            continue;
        return;
    case ENDLESS:
        if (all_sent(fd, begin, sizeof begin - 1) && all_sent(fd, "\r\n" HEAD, 18))
            forever_send(fd, zeros, sizeof zeros);
        return;
    case ENDLESS_HEADER:
        if (all_sent(fd, begin, sizeof begin - 1))
            forever_send(fd, "X-More: and more\r\n", 18);
        return;
    default:
        (void)all_sent(fd, s->bytes, s->n);
    }
}

static void *serve(void *context)
{
    struct server *s = context;
    struct pollfd polls[] = {{s->fd, POLLIN, 0}, {s->end, POLLIN, 0}};
    while (poll(polls, 2, -1) > 0 && polls[1].revents == 0) {
        size_t n = 0;
        int fd = accept(s->fd, NULL, NULL);
        char said[512] = "";
        __atomic_add_fetch(&s->connections, 1, __ATOMIC_RELAXED);
        while (n < sizeof said - 1 && strstr(said, "\r\n\r\n") == NULL) {
            ssize_t got = recv(fd, said + n, sizeof said - 1 - n, 0);
            if (got <= 0)
                break;
            n += (size_t)got;
            said[n] = '\0';
        }
        memcpy(s->said, said, sizeof said);
        answer(s, fd);
        close(fd);
    }
    return NULL;
}

static int listener(uint16_t *port)
{
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(*port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes), 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, n), 0);
    ck_assert_int_eq(listen(fd, 4), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    *port = ntohs(a.sin_port);
    return fd;
}

static void server_start(struct server *s, enum manner manner, const void *bytes, size_t n)
{
    *s = (struct server){
        .manner = manner, .bytes = bytes, .n = n, .type = "application/octet-stream"};
    s->fd = listener(&s->port);
    s->end = eventfd(0, EFD_CLOEXEC);
    ck_assert_int_eq(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void server_stop(struct server *s)
{
    ck_assert_int_eq(eventfd_write(s->end, 1), 0);
    pthread_join(s->thread, NULL);
    close(s->end);
    close(s->fd);
}

/* ---- tasks ---- */

static struct process *process;
static struct evidence *evidence;
static struct go_source *go;
static sem_t done;

static void begin_with(uint64_t deadline_ms, size_t room)
{
    const struct evidence_settings settings = {.deadline_ms = deadline_ms, .out_bytes_max = room};
    ck_assert_int_eq(evidence_new(&settings, NULL, &evidence), SKEIN_OK);
    ck_assert_int_eq(go_source_new(&go), SKEIN_OK);
    const struct evidence_source source = {.kind = "go",
                                           .when = EVIDENCE_FETCHED,
                                           .collect = go_source_collect,
                                           .source = go,
                                           .concerns = go_source_concerns,
                                           .state_free = go_source_state_free};
    ck_assert_int_eq(evidence_add(evidence, &source), SKEIN_OK);
}

static void begin(uint64_t deadline_ms)
{
    begin_with(deadline_ms, 0);
}

static void end(void)
{
    ck_assert_uint_eq(go_source_stop(go), 0);
    ck_assert_uint_eq(evidence_free(&evidence), 0);
    go_source_free(&go);
}

static void setup(void)
{
    ck_assert_int_eq(http_client_init(), SKEIN_OK);
    ck_assert_int_eq(process_new(&process), SKEIN_OK);
    process->pid = (uint32_t)getpid();
    sem_init(&done, 0, 0);
}

static void teardown(void)
{
    process_unref(&process);
}

static void flight_at(struct process *p, uint16_t port)
{
    struct process_go at = {"", ""};
    snprintf(at.flight, sizeof at.flight, "127.0.0.1:%u/flight?a=b", port);
    process_go_set(p, &at);
}

static struct evidence_task *task_of(struct process *p, uint32_t kinds)
{
    struct evidence_task *task;
    const struct evidence_order order = {
        .process = p, .from_ns = 1000, .wish = {.kinds = kinds}, .epoch = 3, .host = "h"};
    ck_assert_int_eq(evidence_begin(evidence, &order, &task), SKEIN_OK);
    return task;
}

static bool on_done(void *context)
{
    sem_post(context);
    return true;
}

static void finish(struct evidence_task *task, sem_t *when)
{
    ck_assert_int_eq(evidence_finish(task, 2000, 0, on_done, when), SKEIN_OK);
}

static void awaited(sem_t *what)
{
    while (sem_wait(what) != 0)
        continue;
}

/* Its texts are the task's. `kind` NULL: it is not named. */
static struct report_evidence note_of(const struct evidence_task *task)
{
    struct report_evidence notes[EVIDENCE_KINDS_MAX];
    size_t count = evidence_notes(task, notes);
    for (size_t i = 0; i < count; i++)
        if (strcmp(notes[i].kind, "go") == 0)
            return notes[i];
    return (struct report_evidence){.kind = NULL};
}

/* The note of a capture of the process that asks for it by name. */
static struct report_evidence captured(struct evidence_task **task)
{
    *task = task_of(process, EVIDENCE_BIT(EVIDENCE_GO));
    finish(*task, &done);
    awaited(&done);
    struct report_evidence note = note_of(*task);
    ck_assert_ptr_nonnull(note.kind);
    return note;
}

/* It is refused whole, and why. */
static void refused(const char *why)
{
    struct evidence_task *task;
    struct report_evidence note = captured(&task);
    ck_assert_str_eq(note.state, "refused");
    ck_assert_msg(strstr(note.reason, why) != NULL, "%s", note.reason);
    ck_assert_uint_eq(note.events, 0);
    ck_assert_uint_eq(evidence_result(task)->bytes.len, 0);
    evidence_unref(&task);
}

static void refused_of(enum manner manner, const void *bytes, size_t n, const char *why)
{
    struct server s;
    server_start(&s, manner, bytes, n);
    flight_at(process, s.port);
    begin(1000);
    refused(why);
    end();
    server_stop(&s);
    ck_assert_uint_eq(s.connections, 1);
}

/* ---- what is kept ---- */

/* The bytes of so many letters; no check for each of them, as each would be a write to a pipe. */
static void letters_read(const char *letters, size_t n, uint8_t *out, size_t room)
{
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    size_t count = 0, wrong = 0;
    for (size_t i = 0; i < n; i++) {
        const char *at = strchr(all, letters[i]);
        wrong += at == NULL || letters[i] == '\0';
        bits = bits << 6 | (at != NULL ? (uint32_t)(at - all) : 0);
        if (i % 4 == 0)
            continue;
        wrong += count == room;
        if (count < room)
            out[count++] = (uint8_t)(bits >> (6 - i % 4 * 2));
    }
    ck_assert_uint_eq(wrong, 0);
}

/* Puts the parts together by their places. Returns the bytes that "go.trace" tells of. */
static uint64_t kept_read(const struct evidence_task *task, const char *kind, uint8_t *out,
                          size_t room)
{
    const struct buf *bytes = &evidence_result(task)->bytes;
    struct partition_reader *reader;
    struct trace_event event;
    char error[256];
    uint64_t total = 0, parts = 0, seen = 0;
    ck_assert_int_eq(partition_reader_new(bytes->data, bytes->len, &reader, error, sizeof error),
                     SKEIN_OK);
    while (partition_reader_next(reader, &event) == 1) {
        const struct partition_value *args = event.args;
        if (args[0].str.len != strlen(kind) || memcmp(args[0].str.text, kind, strlen(kind)) != 0)
            continue;
        if (strcmp(event.type->name, "go.trace") == 0) {
            total = args[1].u64;
            parts = args[3].u64;
            continue;
        }
        ck_assert_str_eq(event.type->name, "go.trace.part");
        seen++;
        ck_assert_uint_lt(args[1].u64, room);
        letters_read(args[2].str.text, args[2].str.len, out + args[1].u64, room - args[1].u64);
    }
    ck_assert_uint_eq(seen, parts);
    partition_reader_free(&reader);
    return total;
}

static uint8_t *trace_of(size_t n)
{
    uint8_t *bytes = malloc(n);
    uint32_t x = 1;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
    memcpy(bytes, HEAD, 16);
    return bytes;
}

START_TEST(what_a_program_serves_is_kept_as_it_is)
{
    const size_t n = 300001;
    uint8_t *bytes = trace_of(n), *back = calloc(1, n);
    struct server s;
    struct evidence_task *task;
    server_start(&s, WHOLE, bytes, n);
    flight_at(process, s.port);
    begin(60000);
    struct report_evidence note = captured(&task);
    ck_assert_str_eq(note.state, "taken");
    ck_assert_str_eq(note.reason, "before: 300001 bytes");
    ck_assert_uint_eq(note.events, 1 + (n + 764) / 765);
    ck_assert_uint_eq(kept_read(task, "before", back, n), n);
    ck_assert_int_eq(memcmp(bytes, back, n), 0);
    ck_assert(strncmp(s.said, "GET /flight?a=b HTTP/1.1\r\n", 26) == 0);
    evidence_unref(&task);
    end();
    server_stop(&s);
    free(bytes);
    free(back);
}
END_TEST

START_TEST(the_largest_one_has_room_by_default)
{
    const size_t n = GO_TRACE_BYTES_MAX;
    uint8_t *bytes = trace_of(n), *back = calloc(1, n);
    struct server s;
    struct evidence_task *task;
    server_start(&s, WHOLE, bytes, n);
    flight_at(process, s.port);
    begin(60000);
    struct report_evidence note = captured(&task);
    ck_assert_msg(strcmp(note.state, "taken") == 0, "%s", note.reason);
    ck_assert_uint_eq(kept_read(task, "before", back, n), n);
    ck_assert_int_eq(memcmp(bytes, back, n), 0);
    evidence_unref(&task);
    end();
    server_stop(&s);
    free(bytes);
    free(back);
}
END_TEST

START_TEST(what_has_no_room_is_not_there_in_part)
{
    const size_t n = 100000;
    uint8_t *bytes = trace_of(n);
    struct server s;
    struct evidence_task *task;
    server_start(&s, WHOLE, bytes, n);
    flight_at(process, s.port);
    begin_with(60000, 64 << 10);
    struct report_evidence note = captured(&task);
    ck_assert_str_eq(note.state, "none");
    ck_assert_str_eq(note.reason, "before: its 100000 bytes had no room (evidence.max_bytes)");
    ck_assert_uint_eq(note.events, 0);
    evidence_unref(&task);
    end();
    server_stop(&s);
    free(bytes);
}
END_TEST

START_TEST(both_are_fetched_and_one_may_fail)
{
    uint8_t back[32] = {0};
    struct server flight, pprof;
    struct evidence_task *task;
    struct process_go at;
    static const char busy[] = "HTTP/1.1 500 Oops\r\nContent-Length: 35\r\n\r\n"
                               "Could not enable tracing: it is on\n";
    server_start(&flight, TEXT, busy, sizeof busy - 1);
    server_start(&pprof, WHOLE, HEAD "12345", 21);
    snprintf(at.flight, sizeof at.flight, "127.0.0.1:%u/flight", flight.port);
    snprintf(at.pprof, sizeof at.pprof, "127.0.0.1:%u", pprof.port);
    process_go_set(process, &at);
    begin(60000);
    struct report_evidence note = captured(&task);
    ck_assert_str_eq(note.state, "partial");
    ck_assert_str_eq(note.reason, "before: it answered 500: Could not enable tracing: it is on; "
                                  "after: 21 bytes");
    ck_assert_uint_eq(kept_read(task, "after", back, sizeof back), 21);
    ck_assert_int_eq(memcmp(back, HEAD "12345", 21), 0);
    ck_assert(strncmp(pprof.said, "GET /debug/pprof/trace?seconds=0.500 ", 37) == 0);
    evidence_unref(&task);
    end();
    server_stop(&flight);
    server_stop(&pprof);
}
END_TEST

/* ---- what is refused ---- */

START_TEST(a_slow_answer_is_given_up)
{
    refused_of(SILENT, NULL, 0, "no whole answer within");
}
END_TEST

START_TEST(an_endless_answer_is_given_up)
{
    struct server s;
    server_start(&s, ENDLESS, NULL, 0);
    flight_at(process, s.port);
    begin(60000); /* it is its size that ends it */
    refused("larger than 4096 KiB");
    end();
    server_stop(&s);
}
END_TEST

START_TEST(an_endless_header_is_given_up)
{
    refused_of(ENDLESS_HEADER, NULL, 0, "before: ");
}
END_TEST

START_TEST(what_is_no_http_is_refused)
{
    static const char text[] = "SSH-2.0-OpenSSH_9.2\r\n";
    refused_of(TEXT, text, sizeof text - 1, "before: ");
    static const char bare[] = HEAD "a trace without a header";
    refused_of(TEXT, bare, sizeof bare - 1, "before: ");
}
END_TEST

START_TEST(what_is_no_trace_is_refused)
{
    struct server s;
    static const char *const texts[] = {"",
                                        "go 1.19 trace",
                                        "<html>a page of the service's</html>",
                                        "go 1.19 trice\0\0\0",
                                        "go 1. trace\0\0\0\0\0",
                                        "go 1.1234 trace\0",
                                        "go 1.19 trace\0\0x",
                                        "go 2.19 trace\0\0\0"};
    static const size_t sizes[] = {0, 13, 36, 16, 16, 16, 16, 16};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        server_start(&s, WHOLE, texts[i], sizes[i]);
        flight_at(process, s.port);
        begin(60000);
        refused("no trace of Go's runtime");
        end();
        server_stop(&s);
    }
}
END_TEST

START_TEST(half_an_answer_is_refused)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n" HEAD;
    refused_of(CUT, text, sizeof text - 1, "before: ");
    static const char chunked[] =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n" HEAD "\r\n";
    refused_of(CUT, chunked, sizeof chunked - 1, "before: ");
    static const char partial[] = "HTTP/1.1 206 Part\r\nContent-Length: 16\r\n\r\n" HEAD;
    refused_of(TEXT, partial, sizeof partial - 1, "it answered 206");
}
END_TEST

START_TEST(no_redirect_is_followed)
{
    struct server there;
    char text[128];
    server_start(&there, WHOLE, HEAD, 16);
    int n = snprintf(text, sizeof text,
                     "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:%u/\r\n"
                     "Content-Length: 0\r\n\r\n",
                     there.port);
    refused_of(TEXT, text, (size_t)n, "it answered 302");
    server_stop(&there);
    ck_assert_uint_eq(there.connections, 0);
}
END_TEST

static bool nobody_came(int fd)
{
    struct pollfd came = {fd, POLLIN, 0};
    return poll(&came, 1, 0) == 0;
}

/* A process that listens there, and takes nobody; it ends when its pipe does. */
static pid_t other_start(uint16_t *port, int hold[2])
{
    int ready[2];
    uint16_t found = *port;
    ck_assert_int_eq(pipe(ready), 0);
    ck_assert_int_eq(pipe(hold), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char c;
        int yes = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
        struct sockaddr_in a = {.sin_family = AF_INET,
                                .sin_port = htons(found),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t n = sizeof a;
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
        if (bind(fd, (struct sockaddr *)&a, n) != 0 || listen(fd, 4) != 0 ||
            getsockname(fd, (struct sockaddr *)&a, &n) != 0)
            _exit(1);
        found = ntohs(a.sin_port);
        close(hold[1]);
        ssize_t moved = write(ready[1], &found, sizeof found);
        moved = moved == sizeof found ? read(hold[0], &c, 1) : -1;
        _exit(moved == 0 && nobody_came(fd) ? 0 : 1);
    }
    close(ready[1]);
    close(hold[0]);
    ck_assert_int_eq(read(ready[0], port, sizeof *port), (int)sizeof *port);
    close(ready[0]);
    return pid;
}

static void other_end(pid_t pid, const int hold[2])
{
    int status;
    close(hold[1]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0); /* else it was bound elsewhere, or somebody came */
}

START_TEST(nobody_else_is_asked)
{
    uint16_t port = 0;
    int hold[2];
    pid_t other = other_start(&port, hold);
    flight_at(process, port);
    begin(60000);
    refused("the process does not listen there");
    end();
    other_end(other, hold);
}
END_TEST

START_TEST(where_others_listen_too_nobody_is_asked)
{
    uint16_t port = 0;
    int hold[2], own = listener(&port);
    pid_t other = other_start(&port, hold);
    flight_at(process, port);
    begin(60000);
    refused("others listen there, too");
    end();
    other_end(other, hold);
    ck_assert(nobody_came(own));
    close(own);
}
END_TEST

START_TEST(privacy_leaves_it_out)
{
    struct server s;
    server_start(&s, WHOLE, HEAD, 16);
    flight_at(process, s.port);
    begin(60000);
    go_source_leave_out(go, true);
    refused("switched off by the agent's configuration: evidence.privacy");
    end();
    server_stop(&s);
    ck_assert_uint_eq(s.connections, 0);
}
END_TEST

/* ---- who is asked ---- */

static bool is_named(uint32_t kinds)
{
    struct evidence_task *task = task_of(process, kinds);
    finish(task, &done);
    awaited(&done);
    bool named = note_of(task).kind != NULL;
    evidence_unref(&task);
    return named;
}

START_TEST(a_program_is_asked_where_a_dump_is_wanted_and_it_has_an_address)
{
    struct server s;
    struct evidence_task *task;
    server_start(&s, WHOLE, HEAD, 16);
    begin(60000);
    ck_assert(!is_named(EVIDENCE_BIT(EVIDENCE_THREADS))); /* it has none */
    struct report_evidence note = captured(&task);
    ck_assert_str_eq(note.state, "none");
    ck_assert_ptr_nonnull(strstr(note.reason, "go_pprof"));
    evidence_unref(&task);
    flight_at(process, s.port);
    ck_assert(!is_named(0));
    ck_assert_uint_eq(__atomic_load_n(&s.connections, __ATOMIC_RELAXED), 0);
    ck_assert(is_named(EVIDENCE_BIT(EVIDENCE_THREADS)));
    end();
    server_stop(&s);
    ck_assert_uint_eq(s.connections, 1);
}
END_TEST

START_TEST(others_do_not_wait_for_a_silent_program)
{
    struct server s;
    struct process *other;
    sem_t other_done;
    int value = -1;
    sem_init(&other_done, 0, 0);
    ck_assert_int_eq(process_new(&other), SKEIN_OK);
    server_start(&s, SILENT, NULL, 0);
    flight_at(process, s.port);
    begin(3600000);
    struct evidence_task *slow = task_of(process, EVIDENCE_BIT(EVIDENCE_THREADS));
    finish(slow, &done);
    struct evidence_task *quick = task_of(other, EVIDENCE_BIT(EVIDENCE_THREADS));
    finish(quick, &other_done);
    awaited(&other_done);
    sem_getvalue(&done, &value);
    ck_assert_int_eq(value, 0);
    /* The agent ends: the fetch is given up, and its task hears of it. */
    ck_assert_uint_eq(go_source_stop(go), 0);
    awaited(&done);
    ck_assert_str_eq(note_of(slow).state, "refused");
    evidence_unref(&slow);
    evidence_unref(&quick);
    end();
    process_unref(&other);
    server_stop(&s);
}
END_TEST

START_TEST(a_capture_that_is_given_up_leaves_its_fetch_alone)
{
    struct server s;
    server_start(&s, SILENT, NULL, 0);
    flight_at(process, s.port);
    begin(3600000);
    struct evidence_task *task = task_of(process, EVIDENCE_BIT(EVIDENCE_THREADS));
    while (__atomic_load_n(&s.connections, __ATOMIC_RELAXED) == 0)
        continue;
    ck_assert(evidence_drop(task));
    evidence_unref(&task); /* the fetch has a reference of its own */
    end();
    server_stop(&s);
}
END_TEST

START_TEST(so_many_are_fetched_at_once_and_no_more)
{
    struct server s;
    struct evidence_task *tasks[GO_FETCHES_MAX + 1];
    unsigned given_up = 0, beyond = 0;
    server_start(&s, SILENT, NULL, 0);
    flight_at(process, s.port);
    begin(3600000);
    for (size_t i = 0; i <= GO_FETCHES_MAX; i++)
        tasks[i] = task_of(process, EVIDENCE_BIT(EVIDENCE_THREADS));
    finish(tasks[GO_FETCHES_MAX], &done); /* it has none to wait for */
    awaited(&done);
    ck_assert_uint_eq(go_source_stop(go), 0);
    for (size_t i = 0; i < GO_FETCHES_MAX; i++) {
        finish(tasks[i], &done);
        awaited(&done);
    }
    for (size_t i = 0; i <= GO_FETCHES_MAX; i++) {
        const char *reason = note_of(tasks[i]).reason;
        beyond += strcmp(reason, "before: 16 traces are being fetched already") == 0;
        given_up += strcmp(reason, "before: given up by the caller") == 0;
        evidence_unref(&tasks[i]);
    }
    ck_assert_uint_eq(beyond, 1);
    ck_assert_uint_eq(given_up, GO_FETCHES_MAX);
    end();
    server_stop(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("go_source");
    TCase *t = tcase_create("fetches");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, what_a_program_serves_is_kept_as_it_is);
    tcase_add_test(t, the_largest_one_has_room_by_default);
    tcase_add_test(t, what_has_no_room_is_not_there_in_part);
    tcase_add_test(t, both_are_fetched_and_one_may_fail);
    tcase_add_test(t, a_slow_answer_is_given_up);
    tcase_add_test(t, an_endless_answer_is_given_up);
    tcase_add_test(t, an_endless_header_is_given_up);
    tcase_add_test(t, what_is_no_http_is_refused);
    tcase_add_test(t, what_is_no_trace_is_refused);
    tcase_add_test(t, half_an_answer_is_refused);
    tcase_add_test(t, no_redirect_is_followed);
    tcase_add_test(t, nobody_else_is_asked);
    tcase_add_test(t, where_others_listen_too_nobody_is_asked);
    tcase_add_test(t, privacy_leaves_it_out);
    tcase_add_test(t, a_program_is_asked_where_a_dump_is_wanted_and_it_has_an_address);
    tcase_add_test(t, others_do_not_wait_for_a_silent_program);
    tcase_add_test(t, a_capture_that_is_given_up_leaves_its_fetch_alone);
    tcase_add_test(t, so_many_are_fetched_at_once_and_no_more);
    suite_add_tcase(suite, t);
    return suite_run(suite);
}
