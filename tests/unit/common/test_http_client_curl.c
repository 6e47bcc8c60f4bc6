/* SPDX-License-Identifier: Apache-2.0
 * Requests against a server of one canned answer: what is sent, kept, refused and given up. */
#include "http_client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support.h"

/* Takes one connection, keeps what it says up to `until`, answers, closes. */
struct server {
    int fd;
    uint16_t port;
    pthread_t thread;
    const char *until, *answer; /* answer NULL: silent until the client leaves */
    char said[4096];
    char url[64];
};

static void *serve(void *context)
{
    struct server *s = context;
    size_t n = 0;
    int fd = accept(s->fd, NULL, NULL);
    while (n < sizeof s->said - 1 && !strstr(s->said, s->until)) {
        ssize_t got = recv(fd, s->said + n, sizeof s->said - 1 - n, 0);
        if (got <= 0)
            break;
        n += (size_t)got;
        s->said[n] = '\0';
    }
    char rest;
    if (s->answer)
        send(fd, s->answer, strlen(s->answer), MSG_NOSIGNAL);
    else
        while (recv(fd, &rest, 1, 0) > 0)
            continue;
    close(fd);
    return NULL;
}

static void server_start(struct server *s, const char *until, const char *answer)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    memset(s, 0, sizeof *s);
    s->until = until;
    s->answer = answer;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(s->fd, (struct sockaddr *)&a, n), 0);
    ck_assert_int_eq(listen(s->fd, 1), 0);
    ck_assert_int_eq(getsockname(s->fd, (struct sockaddr *)&a, &n), 0);
    s->port = ntohs(a.sin_port);
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%u/api", s->port);
    ck_assert_int_eq(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void server_stop(struct server *s)
{
    pthread_join(s->thread, NULL);
    close(s->fd);
}

START_TEST(answer_is_kept_with_its_headers)
{
    struct server s;
    struct http_response r;
    static const char *const headers[] = {"X-One: 1", NULL};
    server_start(&s, "\r\n\r\n",
                 "HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\nETag:  \"abc\" \r\n"
                 "Location: /api/v1/captures/7\r\nContent-Length: 5\r\n\r\nhello");
    struct http_request q = {.url = s.url, .headers = headers, .timeout_ms = 20000};
    ck_assert_int_eq(http_request(&q, &r), SKEIN_OK);
    server_stop(&s);
    ck_assert_int_eq(r.status, 202);
    ck_assert_str_eq(r.content_type, "application/json");
    ck_assert_str_eq(r.etag, "\"abc\"");
    ck_assert_str_eq(r.location, "/api/v1/captures/7");
    ck_assert_uint_eq(r.received_bytes, 5);
    ck_assert_int_eq(memcmp(r.body.data, "hello", 5), 0);
    ck_assert_int_eq(strncmp(s.said, "GET /api HTTP/1.1\r\n", 19), 0);
    ck_assert_ptr_nonnull(strstr(s.said, "X-One: 1\r\n"));
    http_response_fini(&r);
}
END_TEST

START_TEST(body_and_method_are_sent)
{
    static const char *const methods[] = {"POST", "PUT", "DELETE"};
    for (unsigned i = 0; i < 3; i++) {
        struct server s;
        struct http_response r;
        char first[32];
        server_start(&s, "{\"a\":1}", "HTTP/1.1 204 No Content\r\n\r\n");
        struct http_request q = {.method = methods[i],
                                 .url = s.url,
                                 .body = "{\"a\":1}",
                                 .body_bytes = 7,
                                 .timeout_ms = 20000};
        ck_assert_int_eq(http_request(&q, &r), SKEIN_OK);
        server_stop(&s);
        snprintf(first, sizeof first, "%s /api", methods[i]);
        ck_assert_int_eq(strncmp(s.said, first, strlen(first)), 0);
        ck_assert_int_eq(r.status, 204);
        http_response_fini(&r);
    }
}
END_TEST

static int refuse(void *context, const void *bytes, size_t n)
{
    (void)context;
    (void)bytes;
    (void)n;
    return SKEIN_IO;
}

START_TEST(error_statuses_are_answers)
{
    struct server s;
    struct http_response r;
    server_start(&s, "\r\n\r\n", "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno");
    struct http_request q = {.url = s.url, .sink = refuse, .timeout_ms = 20000};
    ck_assert_int_eq(http_request(&q, &r), SKEIN_OK); /* an error's body never goes there */
    server_stop(&s);
    ck_assert_int_eq(r.status, 404);
    ck_assert_uint_eq(r.body.len, 2);
    http_response_fini(&r);
}
END_TEST

struct taken {
    const struct http_response *response;
    char text[8];
    size_t n;
    uint64_t most;
};

static void note_progress(void *context, uint64_t done, uint64_t total)
{
    struct taken *taken = context;
    taken->most = done > taken->most ? done : taken->most;
    ck_assert(total == 0 || total == 5);
}

static int take(void *context, const void *bytes, size_t n)
{
    struct taken *taken = context;
    ck_assert_int_eq(taken->response->status, 206);
    ck_assert_str_eq(taken->response->etag, "\"one\"");
    ck_assert_uint_lt(n, sizeof taken->text - taken->n);
    memcpy(taken->text + taken->n, bytes, n);
    taken->n += n;
    return SKEIN_OK;
}

START_TEST(sink_gets_the_body_and_knows_status_and_tag_by_then)
{
    struct server s;
    struct http_response r;
    struct taken taken = {.response = &r};
    server_start(&s, "\r\n\r\n",
                 "HTTP/1.1 206 Partial\r\nETag: \"one\"\r\nContent-Length: 5\r\n\r\nhello");
    struct http_request q = {.url = s.url,
                             .sink = take,
                             .max_body_bytes = 1,
                             .progress = note_progress,
                             .context = &taken};
    ck_assert_int_eq(http_request(&q, &r), SKEIN_OK);
    server_stop(&s);
    ck_assert_str_eq(taken.text, "hello");
    ck_assert_uint_eq(r.body.len, 0);
    ck_assert_uint_eq(taken.most, 5);
    http_response_fini(&r);
}
END_TEST

START_TEST(too_large_an_answer_is_refused)
{
    struct server s;
    struct http_response r;
    server_start(&s, "\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    struct http_request q = {.url = s.url, .max_body_bytes = 4};
    ck_assert_int_eq(http_request(&q, &r), SKEIN_TOO_LARGE);
    ck_assert_ptr_nonnull(strstr(r.error, "larger"));
    server_stop(&s);
    http_response_fini(&r);
}
END_TEST

START_TEST(a_cut_answer_is_an_error)
{
    struct server s;
    struct http_response r;
    server_start(&s, "\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello");
    struct http_request q = {.url = s.url};
    ck_assert_int_eq(http_request(&q, &r), SKEIN_IO);
    ck_assert_str_ne(r.error, "");
    server_stop(&s);
    http_response_fini(&r);
}
END_TEST

START_TEST(a_silent_server_times_out)
{
    struct server s;
    struct http_response r;
    server_start(&s, "\r\n\r\n", NULL);
    struct http_request q = {.url = s.url, .timeout_ms = 50};
    ck_assert_int_eq(http_request(&q, &r), SKEIN_TIMEOUT);
    server_stop(&s);
    http_response_fini(&r);
}
END_TEST

START_TEST(nobody_there_is_closed_and_bad_urls_are_invalid)
{
    static const char *const bad[] = {"", "http://", "file:///etc/passwd", "ftp://127.0.0.1/x"};
    struct http_response r;
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", free_port());
    struct http_request q = {.url = url};
    ck_assert_int_eq(http_request(&q, &r), SKEIN_CLOSED);
    http_response_fini(&r);
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        q.url = bad[i];
        ck_assert_msg(http_request(&q, &r) == SKEIN_INVALID, "%s: %s", bad[i], r.error);
        http_response_fini(&r);
    }
}
END_TEST

int main(void)
{
    if (http_client_init() != SKEIN_OK)
        return EXIT_FAILURE;
    return suite_run(
        suite_of("http_client", answer_is_kept_with_its_headers, body_and_method_are_sent,
                 error_statuses_are_answers, sink_gets_the_body_and_knows_status_and_tag_by_then,
                 too_large_an_answer_is_refused, a_cut_answer_is_an_error,
                 a_silent_server_times_out, nobody_there_is_closed_and_bad_urls_are_invalid, NULL));
}
