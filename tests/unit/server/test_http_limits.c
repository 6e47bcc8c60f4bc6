/* SPDX-License-Identifier: Apache-2.0
 * Requests that are too large, and clients that are slow or many: each is bounded, and none of them
 * keeps others from being answered. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "buf.h"
#include "clock.h"
#include "http_client.h"
#include "http_subject.h"
#include "metrics.h"
#include "support.h"

#define SLOW_EACH 20 /* more than the server has threads */

static struct http_server *serve(const struct http_settings *settings)
{
    struct http_server *server;
    char error[256] = "";
    http_client_init();
    int status = http_start(settings, subject_routes, NULL, &server, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
    return server;
}

static int dial(const struct http_server *server)
{
    int fd = tcp_connect((uint16_t)http_port(server));
    ck_assert_int_ge(fd, 0);
    return fd;
}

static void say(int fd, const void *bytes, size_t n)
{
    ck_assert_int_eq(send(fd, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
}

static bool answers(const struct http_server *server)
{
    struct http_response response;
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%u/small", http_port(server));
    struct http_request request = {.url = url, .timeout_ms = support_deadline_ms()};
    bool good = http_request(&request, &response) == SKEIN_OK && response.status == 200;
    http_response_fini(&response);
    return good;
}

/* ---- too large ---- */

/* The status and the content type of the answer to these bytes. */
static void expect_problem(const struct http_server *server, const struct buf *request,
                           const char *status)
{
    char text[4096];
    size_t n = 0;
    int fd = dial(server);
    say(fd, request->data, request->len);
    for (;;) {
        ssize_t got = recv(fd, text + n, sizeof text - 1 - n, 0);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    text[n] = '\0';
    ck_assert_msg(strncmp(text, status, strlen(status)) == 0, "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "application/problem+json"));
    ck_assert_ptr_nonnull(strstr(text, "\"request_id\""));
    close(fd);
}

static void begin(struct buf *request, size_t address_bytes)
{
    buf_clear(request);
    buf_printf(request, "GET /small?");
    for (size_t i = 0; i < address_bytes; i++)
        buf_put_u8(request, 'a');
    buf_printf(request, " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n");
}

START_TEST(too_large_a_header_or_address_is_answered_with_a_problem)
{
    struct http_settings settings = subject_settings();
    struct http_server *server = serve(&settings);
    struct buf request = {0};
    begin(&request, 8300);
    buf_printf(&request, "\r\n");
    expect_problem(server, &request, "HTTP/1.1 414 ");
    begin(&request, 0);
    for (unsigned i = 0; i < 150; i++)
        buf_printf(&request, "X-%u: a\r\n", i);
    buf_printf(&request, "\r\n");
    expect_problem(server, &request, "HTTP/1.1 431 ");
    for (size_t bytes = 25000; bytes <= 60000; bytes += 35000) {
        begin(&request, 0);
        buf_printf(&request, "X-Long: ");
        for (size_t i = 0; i < bytes; i++)
            buf_put_u8(&request, 'b');
        buf_printf(&request, "\r\n\r\n");
        expect_problem(server, &request, "HTTP/1.1 431 ");
    }
    buf_fini(&request);
    http_stop(&server);
}
END_TEST

/* The status of the answer to a request with so long a body. */
static long body_status(const struct http_server *server, const char *line, size_t bytes)
{
    struct buf request = {0};
    char text[512] = "";
    int fd = dial(server);
    buf_printf(&request,
               "%s HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: %zu\r\n"
               "Content-Type: application/json\r\n\r\n{\"a\":\"",
               line, bytes);
    for (size_t i = 0; i < bytes - 8; i++)
        buf_put_u8(&request, 'b');
    buf_printf(&request, "\"}");
    say(fd, request.data, request.len);
    ck_assert_int_gt(recv(fd, text, sizeof text - 1, 0), 9);
    close(fd);
    buf_fini(&request);
    return strtol(text + 9, NULL, 10);
}

static void answer_small(void *context, struct http_exchange *x)
{
    (void)context;
    http_reply(x, 200, "text/plain", "small", 5);
}

/* Anybody may ask these, so what they send is not kept in memory, however large bodies may be that
 * come with a token. */
START_TEST(bodies_of_strangers_are_small)
{
    static const struct http_route routes[] = {{"POST", "/login", answer_small, HTTP_PUBLIC, NULL},
                                               {"GET", "/list", answer_small, HTTP_VIEWER, NULL},
                                               {"POST", "/change", answer_small, HTTP_VIEWER, NULL},
                                               {NULL, NULL, NULL, 0, NULL}};
    struct http_settings settings = subject_settings();
    struct http_server *server;
    char error[256] = "";
    settings.max_body_bytes = 1u << 20;
    int status = http_start(&settings, routes, NULL, &server, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
    ck_assert_int_eq(body_status(server, "POST /login", 4096), 200);
    ck_assert_int_eq(body_status(server, "POST /login", 4097), 413);
    ck_assert_int_eq(body_status(server, "POST /login", 1u << 20), 413);
    ck_assert_int_eq(body_status(server, "GET /list", 4097), 413);
    ck_assert_int_eq(body_status(server, "POST /change", 1u << 20), 200);
    ck_assert_int_eq(body_status(server, "POST /change", (1u << 20) + 1), 413);
    http_stop(&server);
}
END_TEST

/* ---- slow ---- */

START_TEST(slow_clients_do_not_keep_others_waiting)
{
    static const char head[] = "GET /small HTTP/1.1\r\nHos";
    static const char body[] = "POST /echo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "
                               "application/json\r\nContent-Length: 1000\r\n\r\n{";
    static const char big[] = "GET /big HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    static const char live[] = "GET /live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    struct http_settings settings = subject_settings();
    struct http_server *server = serve(&settings);
    int fds[4 * SLOW_EACH];
    char first;
    for (int i = 0; i < SLOW_EACH; i++) {
        for (int kind = 0; kind < 4; kind++)
            fds[4 * i + kind] = dial(server);
        say(fds[4 * i], head, sizeof head - 1);
        say(fds[4 * i + 1], body, sizeof body - 1);
        say(fds[4 * i + 2], big, sizeof big - 1);
        say(fds[4 * i + 3], live, sizeof live - 1);
        /* The large answers have begun, and are then not read. */
        ck_assert_int_eq(recv(fds[4 * i + 2], &first, 1, 0), 1);
    }
    for (int i = 0; i < 50; i++)
        ck_assert(answers(server));
    for (int i = 0; i < 4 * SLOW_EACH; i++)
        close(fds[i]);
    http_stop(&server);
}
END_TEST

/* Whether the server has closed the connection within `ms`. */
static bool is_closed(int fd, int ms)
{
    char byte;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, ms) > 0 && recv(fd, &byte, 1, 0) <= 0;
}

/* Sends a byte again and again until it is cut off. */
static void trickle(const struct http_server *server, const char *first, const char *more)
{
    int fd = dial(server);
    uint64_t until = clock_monotonic_ns() + support_deadline_ms() * UINT64_C(1000000);
    say(fd, first, strlen(first));
    while (!is_closed(fd, 20)) {
        ck_assert_msg(clock_monotonic_ns() < until, "not cut off");
        (void)!send(fd, more, 1, MSG_NOSIGNAL);
    }
    close(fd);
}

START_TEST(request_that_trickles_is_cut_off)
{
    struct http_settings settings = subject_settings();
    settings.receive_ms = 300;
    struct http_server *server = serve(&settings);
    trickle(server, "GET /small HTTP/1.1\r\nHost: a\r\nX-A: ", "a");
    trickle(server,
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            "Content-Length: 1000\r\n\r\n{",
            " ");
    ck_assert(answers(server));
    http_stop(&server);
}
END_TEST

START_TEST(answer_may_take_longer_to_make_than_its_request_to_come)
{
    struct http_settings settings = subject_settings();
    struct http_response response;
    char url[64];
    settings.receive_ms = 100;
    struct http_server *server = serve(&settings);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/slow", http_port(server));
    struct http_request request = {.url = url, .timeout_ms = support_deadline_ms()};
    ck_assert_int_eq(http_request(&request, &response), SKEIN_OK);
    ck_assert_int_eq(response.status, 200);
    http_response_fini(&response);
    http_stop(&server);
}
END_TEST

/* ---- answers that are made aside ---- */

#define ASIDE "GET /aside HTTP/1.1\r\nHost: a\r\n\r\n"
#define SMALL "GET /small HTTP/1.1\r\nHost: a\r\n\r\n"

static bool are_asides(void *context)
{
    return subject_asides() == *(const unsigned *)context;
}

/* Reads until `count` bodies have come, or the end; what came is a text. */
static unsigned bodies_read(int fd, unsigned count, char *text, size_t bytes)
{
    size_t n = 0;
    unsigned found = 0;
    while (found < count && n < bytes - 1) {
        ssize_t got = recv(fd, text + n, bytes - 1 - n, 0);
        if (got <= 0)
            break;
        n += (size_t)got;
        text[n] = '\0';
        found = 0;
        for (const char *at = text; (at = strstr(at, "\r\n\r\nsmall")) != NULL; at += 9)
            found++;
    }
    text[n] = '\0';
    return found;
}

START_TEST(answers_that_are_made_aside_hold_no_thread)
{
    struct http_settings settings = subject_settings(); /* two threads */
    struct http_server *server = serve(&settings);
    char text[4096];
    int fds[16];
    unsigned all = 16;
    subject_hold(true);
    for (unsigned i = 0; i < 16; i++) {
        fds[i] = dial(server);
        say(fds[i], ASIDE SMALL, strlen(ASIDE SMALL)); /* the second waits for the first */
    }
    ck_assert(wait_until(are_asides, &all, 0));
    ck_assert(answers(server));
    subject_hold(false);
    for (unsigned i = 0; i < 16; i++) {
        ck_assert_uint_eq(bodies_read(fds[i], 2, text, sizeof text), 2);
        say(fds[i], ASIDE, strlen(ASIDE)); /* the connection goes on */
        ck_assert_uint_eq(bodies_read(fds[i], 1, text, sizeof text), 1);
        close(fds[i]);
    }
    http_stop(&server);
}
END_TEST

START_TEST(who_leaves_and_who_stops_ends_what_is_made_aside)
{
    struct http_settings settings = subject_settings();
    struct http_server *server = serve(&settings);
    char text[4096];
    unsigned none = 0, one = 1;
    subject_hold(true);
    int fd = dial(server);
    say(fd, ASIDE, strlen(ASIDE));
    ck_assert(wait_until(are_asides, &one, 0));
    close(fd);
    ck_assert(wait_until(are_asides, &none, 0));
    fd = dial(server);
    say(fd, ASIDE, strlen(ASIDE));
    ck_assert(wait_until(are_asides, &one, 0));
    http_stop(&server);
    ck_assert_uint_eq(subject_asides(), 0);
    ck_assert_uint_eq(bodies_read(fd, 1, text, sizeof text), 0);
    ck_assert_msg(strncmp(text, "HTTP/1.1 503", 12) == 0, "%s", text);
    close(fd);
    subject_hold(false);
}
END_TEST

START_TEST(what_is_made_aside_is_not_cut_by_the_watch)
{
    struct http_settings settings = subject_settings();
    settings.receive_ms = 100;
    settings.idle_ms = 1000;
    struct http_server *server = serve(&settings);
    char text[4096];
    unsigned one = 1;
    subject_hold(true);
    int fd = dial(server);
    say(fd, ASIDE, strlen(ASIDE));
    ck_assert(wait_until(are_asides, &one, 0));
    poll(NULL, 0, SUBJECT_SLOW_MS); /* both bounds are over, whatever else runs here */
    ck_assert_uint_eq(subject_asides(), 1);
    subject_hold(false);
    ck_assert_uint_eq(bodies_read(fd, 1, text, sizeof text), 1);
    close(fd);
    http_stop(&server);
}
END_TEST

/* ---- many ---- */

static bool answers_from(const struct http_server *server, const char *address)
{
    static const char request[] = "GET /small HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    char text[16] = "";
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
    } from = {.v4 = {.sin_family = AF_INET}}, to = from;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(inet_pton(AF_INET, address, &from.v4.sin_addr), 1);
    ck_assert_int_eq(inet_pton(AF_INET, "127.0.0.1", &to.v4.sin_addr), 1);
    to.v4.sin_port = htons((uint16_t)http_port(server));
    ck_assert_int_eq(bind(fd, &from.any, sizeof from.v4), 0);
    ck_assert_int_eq(connect(fd, &to.any, sizeof to.v4), 0);
    bool good = send(fd, request, sizeof request - 1, MSG_NOSIGNAL) > 0 &&
                recv(fd, text, 12, MSG_WAITALL) == 12 && strcmp(text, "HTTP/1.1 200") == 0;
    close(fd);
    return good;
}

static bool first_address_is_served(void *context)
{
    return answers_from(context, "127.0.0.1");
}

static bool rest_is_closed(void *context)
{
    const int *fds = context;
    unsigned closed = 0;
    for (int i = 0; i < 100; i++)
        closed += is_closed(fds[i], 0);
    return closed >= 84;
}

START_TEST(many_connections_of_one_address_leave_room_for_others)
{
    struct http_settings settings = subject_settings();
    settings.max_connections = 64;
    settings.max_connections_per_ip = 16;
    struct http_server *server = serve(&settings);
    int fds[100];
    for (int i = 0; i < 100; i++)
        fds[i] = dial(server);
    ck_assert(wait_until(rest_is_closed, fds, 0));
    for (int i = 0; i < 20; i++)
        ck_assert(answers_from(server, "127.0.0.2"));
    for (int i = 0; i < 20; i++) /* whoever says something, from that address too */
        ck_assert(answers_from(server, "127.0.0.1"));
    for (int i = 0; i < 100; i++)
        close(fds[i]);
    ck_assert(wait_until(first_address_is_served, server, 0));
    http_stop(&server);
}
END_TEST

static int dial_from(const struct http_server *server, const char *address)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)http_port(server))};
    inet_pton(AF_INET, address, &from.sin_addr);
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* Silent ones from five addresses, and ones that send half a line. */
START_TEST(idle_connections_from_several_addresses_give_way_to_who_asks)
{
    struct http_settings settings = subject_settings();
    settings.max_connections = 40;
    settings.max_connections_per_ip = 16;
    settings.receive_ms = settings.idle_ms = 3600000;
    struct http_server *server = serve(&settings);
    uint64_t before = __atomic_load_n(&metrics.http_crowded_out_total, __ATOMIC_RELAXED);
    int fds[100], kept = dial_from(server, "127.0.0.9");
    static const char ask[] = "GET /small HTTP/1.1\r\nHost: a\r\n\r\n";
    for (int i = 0; i < 100; i++) {
        char address[16];
        snprintf(address, sizeof address, "127.0.0.%d", 2 + i % 5);
        fds[i] = dial_from(server, address);
        if (i % 2 != 0)
            say(fds[i], ask, 12);
    }
    for (int i = 0; i < 20; i++)
        ck_assert(answers_from(server, "127.0.0.1"));
    ck_assert_uint_ge(__atomic_load_n(&metrics.http_crowded_out_total, __ATOMIC_RELAXED) - before,
                      60);
    close(kept);
    for (int i = 0; i < 100; i++)
        close(fds[i]);
    http_stop(&server);
}
END_TEST

/* Requests whose bodies never come look busy, and fill the place from five addresses: eight each, where
 * the first address has one, and perhaps another that is about to close. */
START_TEST(half_requests_of_many_do_not_crowd_out_who_has_not_spoken_yet)
{
    struct http_settings settings = subject_settings();
    settings.max_connections = 40;
    settings.max_connections_per_ip = 16;
    settings.receive_ms = settings.idle_ms = 3600000;
    struct http_server *server = serve(&settings);
    static const char half[] = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n",
                      ask[] = "GET /small HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    int fds[200], late = dial_from(server, "127.0.0.1");
    for (int i = 0; i < 200; i++) {
        char address[16], text[16] = "";
        snprintf(address, sizeof address, "127.0.0.%d", 2 + i % 5);
        fds[i] = dial_from(server, address);
        (void)send(fds[i], half, sizeof half - 1, MSG_NOSIGNAL);
        if (i % 50 != 49)
            continue;
        say(late, ask, sizeof ask - 1);
        ck_assert_int_eq(recv(late, text, 12, MSG_WAITALL), 12);
        ck_assert_str_eq(text, "HTTP/1.1 200");
        close(late);
        late = dial_from(server, "127.0.0.1");
    }
    close(late);
    for (int i = 0; i < 200; i++)
        close(fds[i]);
    http_stop(&server);
}
END_TEST

/* ---- memory ---- */

#define DOWNLOADS 200

static uint64_t resident_bytes(void)
{
    unsigned long long all = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    ck_assert_ptr_nonnull(f);
    /* NOLINTNEXTLINE(cert-err34-c): the kernel writes numbers */
    ck_assert_int_eq(fscanf(f, "%llu %llu", &all, &resident), 2);
    fclose(f);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool is_given_back(void *context)
{
    return resident_bytes() < *(uint64_t *)context + (8 << 20);
}

START_TEST(many_downloads_take_little_memory_and_give_it_back)
{
    static const char big[] = "GET /big HTTP/1.1\r\nHost: a\r\n\r\n";
    struct http_settings settings = subject_settings();
    struct http_server *server = serve(&settings);
    int fds[DOWNLOADS];
    char first;
    ck_assert(answers(server));
    uint64_t before = resident_bytes();
    for (int i = 0; i < DOWNLOADS; i++) {
        fds[i] = dial(server);
        say(fds[i], big, sizeof big - 1);
        ck_assert_int_eq(recv(fds[i], &first, 1, 0), 1);
    }
    if (!SANITIZED) /* whose allocator keeps what is freed */
        ck_assert_uint_lt(resident_bytes() - before, DOWNLOADS * (256u << 10));
    for (int i = 0; i < DOWNLOADS; i++)
        close(fds[i]);
    ck_assert(SANITIZED || wait_until(is_given_back, &before, 0));
    http_stop(&server);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "http_limits", too_large_a_header_or_address_is_answered_with_a_problem,
        bodies_of_strangers_are_small, slow_clients_do_not_keep_others_waiting,
        request_that_trickles_is_cut_off, answer_may_take_longer_to_make_than_its_request_to_come,
        answers_that_are_made_aside_hold_no_thread,
        who_leaves_and_who_stops_ends_what_is_made_aside,
        what_is_made_aside_is_not_cut_by_the_watch,
        many_connections_of_one_address_leave_room_for_others,
        idle_connections_from_several_addresses_give_way_to_who_asks,
        half_requests_of_many_do_not_crowd_out_who_has_not_spoken_yet,
        many_downloads_take_little_memory_and_give_it_back, NULL));
}
