/* SPDX-License-Identifier: Apache-2.0
 * Requests that two servers might read differently, and what goes between two answers, byte by byte
 * on real sockets: no hidden request is answered, and nothing is sent that is no answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "buf.h"
#include "http_client.h"
#include "http_subject.h"
#include "support.h"

#define HIDDEN     "GET /small HTTP/1.1\r\nHost: h\r\n\r\n"
#define POST       "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
#define TEXT_BYTES 16384

static struct http_server *server;

static void setup(void)
{
    struct http_settings settings = subject_settings();
    char error[256] = "";
    int status = http_start(&settings, subject_routes, NULL, &server, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
}

static void teardown(void)
{
    http_stop(&server);
}

static int ask(const void *bytes, size_t n)
{
    int fd = tcp_connect((uint16_t)http_port(server));
    ck_assert_int_ge(fd, 0);
    for (size_t sent = 0; sent < n;) { /* it may be cut off before all is sent */
        ssize_t some = send(fd, (const char *)bytes + sent, n - sent, MSG_NOSIGNAL);
        if (some <= 0)
            break;
        sent += (size_t)some;
    }
    return fd;
}

/* All until the end of the connection. */
static void answers(const void *bytes, size_t n, char text[TEXT_BYTES])
{
    size_t len = 0;
    int fd = ask(bytes, n);
    for (ssize_t got; len < TEXT_BYTES - 1; len += (size_t)got)
        if ((got = recv(fd, text + len, TEXT_BYTES - 1 - len, 0)) <= 0)
            break;
    text[len] = '\0';
    close(fd);
}

static unsigned count(const char *text, const char *words)
{
    unsigned n = 0;
    for (; (text = strstr(text, words)) != NULL; text++)
        n++;
    return n;
}

/* One answer, a problem with this status, each of whose headers is there once. */
static void expect_refusal(const char *what, const void *bytes, size_t n, const char *status)
{
    char text[TEXT_BYTES];
    answers(bytes, n, text);
    ck_assert_msg(strncmp(text, status, strlen(status)) == 0, "%s: %s", what, text);
    ck_assert_msg(count(text, "X-Request-Id:") == 1, "%s: %s", what, text);
    ck_assert_msg(count(text, "application/problem+json") == 1, "%s: %s", what, text);
    ck_assert_msg(count(text, "Content-Length:") == 1, "%s: %s", what, text);
    ck_assert_msg(count(text, "Connection: close") == 1, "%s: %s", what, text);
}

START_TEST(doubt_about_a_head_is_answered_once_and_ends_the_connection)
{
    static const char *const lines[] = {
        "Host: 127.0.0.1\r\n",
        "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n",
        "Content-Length: 0\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Content-Length: 5\r\nTransfer-Encoding : chunked\r\n",
        "Content-Length: 5\r\nTransfer-Encoding\t: chunked\r\n",
        "Content-Length: 5\r\nTransfer-Encoding:\r\n chunked\r\n",
        "Content-Length: 5\r\nX: a\r\n\tTransfer-Encoding: chunked\r\n",
        "Content-Length: 5\r\n Transfer-Encoding: chunked\r\n",
        "X: a\nContent-Length: 5\r\n",
        "X: a\rContent-Length: 5\r\n",
        "Content-Length: 5\n",
    };
    char request[512];
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        int n = snprintf(request, sizeof request,
                         "POST /small HTTP/1.1\r\nHost: h\r\n%s\r\n0\r\n\r\n" HIDDEN, lines[i]);
        expect_refusal(lines[i], request, (size_t)n, "HTTP/1.1 400 ");
    }
    static const char *const whole[] = {"GET /small HTTP/1.1\r\n\r\n" HIDDEN,
                                        "GET /small%00x HTTP/1.1\r\nHost: h\r\n\r\n" HIDDEN,
                                        "GET /small\r\n\r\n" HIDDEN,
                                        "GET  /small HTTP/1.1\r\nHost: h\r\n\r\n" HIDDEN,
                                        "GET /small HTTP/2.0\r\nHost: h\r\n\r\n" HIDDEN,
                                        "GET /small HTTP/1.1\nHost: h\n\n" HIDDEN,
                                        "\001\002\003"};
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        expect_refusal(whole[i], whole[i], strlen(whole[i]), "HTTP/1.1 400 ");
}
END_TEST

START_TEST(doubt_about_a_chunk_is_answered_once_and_ends_the_connection)
{
    static const char *const bodies[] = {
        "2\n{}\r\n0\r\n\r\n",         "2\r\n{}\n0\r\n\r\n",    "2;a\n{}\r\n0\r\n\r\n",
        "2\r\n{}\r\n0\n\n",           "+2\r\n{}\r\n0\r\n\r\n", "2\r\n{}}\r\n0\r\n\r\n",
        "2\r\n{}\r\n0\r\nA: b\n\r\n",
    };
    struct buf request = {0};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        buf_clear(&request);
        buf_printf(&request, POST "Transfer-Encoding: chunked\r\n\r\n%s" HIDDEN, bodies[i]);
        expect_refusal(bodies[i], request.data, request.len, "HTTP/1.1 400 ");
    }
    buf_clear(&request);
    buf_printf(&request, POST "Transfer-Encoding: chunked\r\n\r\n2;");
    for (size_t i = 0; i < 200000; i++)
        buf_put_u8(&request, 'a');
    buf_printf(&request, "\r\n{}\r\n0\r\n\r\n" HIDDEN);
    expect_refusal("a long extension", request.data, request.len, "HTTP/1.1 400 ");
    buf_fini(&request);
}
END_TEST

START_TEST(requests_before_a_doubt_are_answered)
{
    static const char request[] = HIDDEN POST "Content-Length: 2\r\n\r\n{}" HIDDEN
                                              "GET /small HTTP/1.1\r\nHost : h\r\n\r\n" HIDDEN;
    char text[TEXT_BYTES];
    answers(request, sizeof request - 1, text);
    ck_assert_msg(count(text, "HTTP/1.1 200 ") == 3 && count(text, "HTTP/1.1 400 ") == 1, "%s",
                  text);
    ck_assert_uint_eq(count(text, "HTTP/1.1 "), 4);
}
END_TEST

START_TEST(chunks_as_clients_send_them_are_read)
{
    static const char request[] = POST
        "Transfer-Encoding: chunked\r\n\r\n6;x=\"y\"\r\n{\"a\":1\r\n1\r\n}\r\n0\r\nX: y\r\n\r\n" POST
        "Expect: 100-continue\r\nContent-Length: 7\r\nConnection: close\r\n\r\n{\"b\":2}";
    char text[TEXT_BYTES];
    answers(request, sizeof request - 1, text);
    ck_assert_msg(count(text, "HTTP/1.1 200 ") == 2, "%s", text);
    ck_assert_msg(count(text, "{\"a\":1}") == 1 && count(text, "{\"b\":2}") == 1, "%s", text);
}
END_TEST

/* The server gets it a byte at a time. */
START_TEST(request_in_small_parts_is_read)
{
    static const char request[] =
        POST "Transfer-Encoding: chunked\r\n\r\n7\r\n{\"a\":1}\r\n0\r\n\r\n" HIDDEN;
    char text[64] = "";
    int fd = ask("", 0);
    for (size_t i = 0; i < sizeof request - 1; i++)
        ck_assert_int_eq(send(fd, request + i, 1, MSG_NOSIGNAL), 1);
    ck_assert_int_eq(recv(fd, text, 12, MSG_WAITALL), 12);
    ck_assert_str_eq(text, "HTTP/1.1 200");
    close(fd);
}
END_TEST

/* ---- between answers ---- */

START_TEST(nothing_but_answers_is_sent_to_head)
{
    static const char big[] = "HEAD /big HTTP/1.1\r\nHost: h\r\n\r\n"
                              "GET /small HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    static const char live[] = "HEAD /live HTTP/1.1\r\nHost: h\r\n\r\n";
    char text[TEXT_BYTES];
    answers(big, sizeof big - 1, text);
    char *end = strstr(text, "\r\n\r\n");
    ck_assert_msg(end != NULL && strncmp(end + 4, "HTTP/1.1 200 ", 13) == 0, "%s", text);
    answers(live, sizeof live - 1, text);
    end = strstr(text, "\r\n\r\n");
    ck_assert_msg(strncmp(text, "HTTP/1.1 200 ", 13) == 0 && end != NULL && end[4] == '\0', "%s",
                  text);
}
END_TEST

START_TEST(unchanged_body_is_answered_without_another_length)
{
    static const char request[] = "GET /big HTTP/1.1\r\nHost: h\r\nIf-None-Match: \"big\"\r\n\r\n"
                                  "GET /small HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    char text[TEXT_BYTES], length[64];
    snprintf(length, sizeof length, "Content-Length: %u\r\n", (unsigned)SUBJECT_BIG_BYTES);
    answers(request, sizeof request - 1, text);
    ck_assert_msg(strncmp(text, "HTTP/1.1 304 ", 13) == 0, "%s", text);
    ck_assert_msg(count(text, "Content-Length: 0") == 0 && count(text, length) == 1, "%s", text);
    ck_assert_msg(strstr(text, "\r\n\r\nHTTP/1.1 200 ") != NULL, "%s", text);
}
END_TEST

/* ---- watchers ---- */

static bool is_left(void *context)
{
    (void)context;
    return !subject_is_heard();
}

static int watch(void)
{
    static const char request[] = "GET /live HTTP/1.1\r\nHost: h\r\n\r\n";
    char byte;
    int fd = ask(request, sizeof request - 1);
    ck_assert_int_eq(recv(fd, &byte, 1, 0), 1);
    return fd;
}

START_TEST(watcher_that_left_is_noticed_though_nothing_happens)
{
    int fd = watch();
    ck_assert(subject_is_heard());
    close(fd);
    ck_assert(wait_until(is_left, NULL, 0));
}
END_TEST

START_TEST(watcher_that_has_only_finished_its_request_goes_on)
{
    char text[TEXT_BYTES] = "";
    size_t n = 0;
    int fd = watch();
    ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
    while (strstr(text, ":\n\n") == NULL) { /* the server has seen it */
        ssize_t got = recv(fd, text + n, sizeof text - 1 - n, 0);
        ck_assert_int_gt(got, 0);
        n += (size_t)got;
        text[n] = '\0';
    }
    subject_tick();
    while (strstr(text, "tick") == NULL) {
        ssize_t got = recv(fd, text + n, sizeof text - 1 - n, 0);
        ck_assert_int_gt(got, 0);
        n += (size_t)got;
        text[n] = '\0';
    }
    close(fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http_doubts");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 280);
    tcase_add_test(c, doubt_about_a_head_is_answered_once_and_ends_the_connection);
    tcase_add_test(c, doubt_about_a_chunk_is_answered_once_and_ends_the_connection);
    tcase_add_test(c, requests_before_a_doubt_are_answered);
    tcase_add_test(c, chunks_as_clients_send_them_are_read);
    tcase_add_test(c, request_in_small_parts_is_read);
    tcase_add_test(c, nothing_but_answers_is_sent_to_head);
    tcase_add_test(c, unchanged_body_is_answered_without_another_length);
    tcase_add_test(c, watcher_that_left_is_noticed_though_nothing_happens);
    tcase_add_test(c, watcher_that_has_only_finished_its_request_goes_on);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
