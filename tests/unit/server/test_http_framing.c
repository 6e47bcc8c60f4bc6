/* SPDX-License-Identifier: Apache-2.0
 * What the framing filter lets through, and where it ends a request. */
#include "http_framing.h"

#include <string.h>

#include "support.h"

#define HEAD "POST /x HTTP/1.1\r\nHost: h\r\n"

static size_t filter(struct http_framing *f, const char *in, char *out)
{
    size_t len = http_framing_feed(f, (const uint8_t *)in, strlen(in), (uint8_t *)out, 4000);
    out[len] = '\0';
    return len;
}

START_TEST(plain_requests_pass_as_they_are)
{
    static const char *const requests[] = {
        "GET /a?b=c HTTP/1.1\r\nHost: h\r\nX-Empty:\r\nX-Long-Name-Of-A-Header: a  b\t\r\n\r\n",
        "GET /\303\244 HTTP/1.0\r\n\r\nHEAD / HTTP/1.1\r\nhost: h\r\n\r\n",
        HEAD "Content-Length:5\r\n\r\nhello" HEAD "Content-Length:0\r\n\r\nGET / HTTP/1.0\r\n\r\n",
        HEAD "Transfer-Encoding:chunked\r\n\r\n5\r\nhello\r\na\r\n0123456789\r\n0\r\n\r\n",
    };
    char out[4096];
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        struct http_framing f = {0};
        filter(&f, requests[i], out);
        ck_assert_str_eq(out, requests[i]);
        ck_assert(!f.cut);
    }
}
END_TEST

START_TEST(what_means_nothing_is_left_out)
{
    struct http_framing f = {0};
    char out[4096];
    filter(&f,
           "\r\n\r\n" HEAD "TRANSFER-encoding: \t Chunked  \r\n\r\n"
           "0005 ; a=\"b\"\r\nhello\r\n00;last\r\nX-Trailer: y\r\n\r\n\r\nGET / HTTP/1.0\r\n\r\n",
           out);
    ck_assert_str_eq(out, HEAD "TRANSFER-encoding:Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
                               "GET / HTTP/1.0\r\n\r\n");
    ck_assert_uint_eq(f.request, 2);
    ck_assert(!f.cut);
}
END_TEST

/* The request ends so that its reader takes it for whole, and nothing follows. */
START_TEST(first_doubt_ends_the_request_and_the_connection)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {" GET", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"},
        {"\nGET", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"},
        {"GE(T", "GE / HTTP/1.1\r\nHost: x\r\n\r\n"},
        {"GET  / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"},
        {"GET /a\r\n", "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"},
        {"GET /a HTTP/1.2\r\n", "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"},
        {"GET /a HTTP/1.1 \r\n", "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"},
        {"GET /a HTTP/1.1\n", "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"},
        {"GET /a HTTP/1.1\r\nHost : h\r\n", "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"},
        {"GET /a HTTP/1.1\r\nA: b\r\n\r\n", "GET /a HTTP/1.1\r\nA: b\r\nHost: x\r\n\r\n"},
        {HEAD "Host: h\r\n\r\n", HEAD "\r\n"},
        {HEAD " Transfer-Encoding: chunked\r\n", HEAD "\r\n"},
        {HEAD "A: b\r\n\tc\r\n\r\n", HEAD "A: b\r\n\r\n"},
        {HEAD "A: b\nB: c\r\n\r\n", HEAD "A: b\r\n\r\n"},
        {HEAD "A: b\rB: c\r\n\r\n", HEAD "A: b\r\n\r\n"},
        {HEAD "A: \001\r\n\r\n", HEAD "A: \r\n\r\n"},
        {HEAD "A-Name-Of-Some-Length b", HEAD "A-Name-Of-Some-Length:\r\n\r\n"},
        {HEAD "Transfer-Encoding : chunked\r\n", HEAD "\r\n"},
        {HEAD "Transfer-Encoding: xchunked\r\n", HEAD "\r\n"},
        {HEAD "Transfer-Encoding:\r\n chunked\r\n", HEAD "\r\n"},
        {HEAD "Transfer-Encoding: chunked, chunked\r\n", HEAD "\r\n"},
        {HEAD "Content-Length: +5\r\n", HEAD "\r\n"},
        {HEAD "Content-Length: 5 5\r\n", HEAD "\r\n"},
        {HEAD "Content-Length: 5\r\nContent-Length: 5\r\n", HEAD "Content-Length:5\r\n\r\n"},
        {HEAD "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
         HEAD "Content-Length:5\r\n\r\n"},
        {HEAD "Content-Length: 1000000000000000000\r\n", HEAD "\r\n"},
    };
    char out[4096];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_framing f = {0};
        filter(&f, cases[i].in, out);
        ck_assert_msg(strcmp(out, cases[i].out) == 0, "%s: %s", cases[i].in, out);
        ck_assert(f.cut && f.wrong != NULL && f.request == 1);
        ck_assert_uint_eq(filter(&f, "GET / HTTP/1.0\r\n\r\n", out), 0);
    }
}
END_TEST

START_TEST(first_doubt_in_a_chunked_body_ends_the_body)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"5\nhello\r\n0\r\n\r\n", "0\r\n\r\n"},
        {"5;a\nhello\r\n0\r\n\r\n", "0\r\n\r\n"},
        {"5\rx", "0\r\n\r\n"},
        {"\r\n", "0\r\n\r\n"},
        {"-5\r\n", "0\r\n\r\n"},
        {"0x5\r\n", "0\r\n\r\n"},
        {"1000000000000000\r\n", "0\r\n\r\n"},
        {"5 0\r\nhello\r\n", "0\r\n\r\n"},
        {"5\t \ta;b\r\nhello\r\n", "0\r\n\r\n"},
        {"5 \nhello\r\n", "0\r\n\r\n"},
        {"5\r\nhello\n0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n"},
        {"5\r\nhello\rX", "5\r\nhello\r\n0\r\n\r\n"},
        {"5\r\nhellooo\r\n", "5\r\nhello\r\n0\r\n\r\n"},
        {"0\r\n\n", "0\r\n\r\n"},
        {"0\r\nA: b\n\r\n", "0\r\n\r\n"},
        {"0\r\n A: b\r\n\r\n", "0\r\n\r\n"},
        {"0\r\nA : b\r\n\r\n", "0\r\n\r\n"},
    };
    char out[4096];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_framing f = {0};
        filter(&f, HEAD "Transfer-Encoding:chunked\r\n\r\n", out);
        filter(&f, cases[i].in, out);
        ck_assert_msg(strcmp(out, cases[i].out) == 0, "%s: %s", cases[i].in, out);
        ck_assert(f.cut && f.wrong != NULL);
    }
}
END_TEST

/* The line of a length goes out at once; the next request begins before there is room for it. */
START_TEST(nothing_is_lost_where_there_is_hardly_room)
{
    struct http_framing f = {0};
    char out[256];
    size_t len = filter(&f, HEAD "Content-Length: 0\r", out);
    len += http_framing_feed(&f, (const uint8_t *)"\n\r\nM", 4, (uint8_t *)out + len, 4);
    ck_assert_uint_gt(f.pending_len, 0);
    len += http_framing_feed(&f, (const uint8_t *)"\n", 1, (uint8_t *)out + len, 200);
    out[len] = '\0';
    ck_assert_str_eq(out, HEAD "Content-Length:0\r\n\r\nM / HTTP/1.1\r\nHost: x\r\n\r\n");
    ck_assert_uint_eq(f.request, 2);
}
END_TEST

START_TEST(what_never_ends_is_cut)
{
    struct http_framing f = {0};
    char out[4096];
    size_t passed = filter(&f, HEAD "X: ", out);
    for (unsigned i = 0; i < 30000 && !f.cut; i++)
        passed += filter(&f, "a", out);
    ck_assert(f.cut && f.wrong == NULL);
    ck_assert_uint_lt(passed, 26 << 10);

    f = (struct http_framing){0};
    filter(&f, HEAD "Transfer-Encoding:chunked\r\n\r\n5;", out);
    passed = 0;
    for (unsigned i = 0; i < 200000 && !f.cut; i++)
        passed += filter(&f, "a", out);
    ck_assert(f.cut && f.wrong != NULL);
    ck_assert_uint_eq(passed, strlen("0\r\n\r\n"));
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("http_framing", plain_requests_pass_as_they_are, what_means_nothing_is_left_out,
                 first_doubt_ends_the_request_and_the_connection,
                 first_doubt_in_a_chunked_body_ends_the_body,
                 nothing_is_lost_where_there_is_hardly_room, what_never_ends_is_cut, NULL));
}
