/* SPDX-License-Identifier: Apache-2.0
 *
 * Two ends over loopback: what arrives whole, what is dropped, and that strangers on the port hurt
 * nobody.
 */
#include "transport.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

enum { MAX_BYTES = 1 << 20, STRANGERS = 60 };

struct ends {
    uint16_t port;
    char address[64];
    struct transport *listener, *dialler;
};

static void ends_open(struct ends *e)
{
    e->port = free_port();
    snprintf(e->address, sizeof e->address, "tcp://127.0.0.1:%u", e->port);
    ck_assert_int_eq(transport_listen(e->address, MAX_BYTES, &e->listener), SKEIN_OK);
    ck_assert_int_eq(transport_dial(e->address, MAX_BYTES, &e->dialler), SKEIN_OK);
}

static void ends_close(struct ends *e)
{
    transport_free(&e->dialler);
    transport_free(&e->listener);
    ck_assert_ptr_null(e->dialler);
}

static void fill(uint8_t *bytes, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(i * 31 + seed);
}

static void send_filled(struct transport *t, const struct transport_peer *peer, size_t n,
                        unsigned seed)
{
    void *message = transport_alloc(n);
    ck_assert_ptr_nonnull(message);
    fill(message, n, seed);
    int status = transport_send(t, message, peer, (int)support_deadline_ms());
    ck_assert_int_eq(status, SKEIN_OK);
}

static void expect_filled(struct transport *t, size_t n, unsigned seed, struct transport_peer *peer)
{
    struct transport_message m;
    uint8_t *want = malloc(n + 1);
    fill(want, n, seed);
    ck_assert_int_eq(transport_receive(t, (int)support_deadline_ms(), &m), SKEIN_OK);
    ck_assert_uint_eq(m.len, n);
    ck_assert_int_eq(memcmp(m.data, want, n), 0);
    if (peer)
        *peer = m.peer;
    transport_message_free(&m);
    free(want);
}

/* A question and its answer: the connection works both ways. */
static void expect_round_trip(struct ends *e, size_t n, unsigned seed)
{
    struct transport_peer peer;
    send_filled(e->dialler, NULL, n, seed);
    expect_filled(e->listener, n, seed, &peer);
    send_filled(e->listener, &peer, n, seed + 1);
    expect_filled(e->dialler, n, seed + 1, NULL);
}

START_TEST(messages_of_all_sizes_arrive_whole)
{
    static const size_t sizes[] = {0, 1, 3, 4, 24, 4096, 65537, MAX_BYTES};
    struct ends e;
    ends_open(&e);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        expect_round_trip(&e, sizes[i], i * 7);
    ends_close(&e);
}
END_TEST

START_TEST(listener_pushes_at_will_over_saved_path)
{
    struct ends e;
    struct transport_peer peer;
    ends_open(&e);
    send_filled(e.dialler, NULL, 10, 1);
    expect_filled(e.listener, 10, 1, &peer);
    for (unsigned i = 0; i < 20; i++) {
        send_filled(e.listener, &peer, 100 + i, i);
        expect_filled(e.dialler, 100 + i, i, NULL);
    }
    ends_close(&e);
}
END_TEST

START_TEST(several_messages_are_in_flight_in_order)
{
    struct ends e;
    ends_open(&e);
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < 8; i++)
            send_filled(e.dialler, NULL, 2000 + i, round * 8 + i);
        for (unsigned i = 0; i < 8; i++)
            expect_filled(e.listener, 2000 + i, round * 8 + i, NULL);
    }
    ends_close(&e);
}
END_TEST

START_TEST(poll_fd_tells_when_a_message_is_there)
{
    struct ends e;
    struct transport_message m;
    ends_open(&e);
    struct pollfd p = {.fd = transport_poll_fd(e.listener), .events = POLLIN};
    ck_assert_int_eq(poll(&p, 1, 0), 0);
    ck_assert_int_eq(transport_receive(e.listener, 0, &m), SKEIN_AGAIN);
    send_filled(e.dialler, NULL, 5, 0);
    ck_assert_int_eq(poll(&p, 1, (int)support_deadline_ms()), 1);
    ck_assert_int_eq(transport_receive(e.listener, 0, &m), SKEIN_OK);
    transport_message_free(&m);
    ck_assert_int_eq(transport_receive(e.listener, 1, &m), SKEIN_AGAIN);
    ends_close(&e);
}
END_TEST

START_TEST(failed_send_leaves_the_buffer_with_the_caller)
{
    char address[64];
    struct transport *dialler;
    struct transport_peer peer = {.len = 4};
    snprintf(address, sizeof address, "tcp://127.0.0.1:%u", free_port());
    ck_assert_int_eq(transport_dial(address, MAX_BYTES, &dialler), SKEIN_OK);
    void *message = transport_alloc(64);
    fill(message, 64, 0);
    ck_assert_int_eq(transport_send(dialler, message, NULL, 0), SKEIN_AGAIN);
    ck_assert_int_eq(transport_send(dialler, message, NULL, 5), SKEIN_AGAIN);
    ck_assert_int_eq(transport_send(dialler, message, &peer, 0), SKEIN_INVALID);
    ck_assert_int_eq(((uint8_t *)message)[1], 31);
    transport_alloc_free(message);
    transport_free(&dialler);
}
END_TEST

START_TEST(bad_addresses_and_sizes_are_refused)
{
    static const char *const bad[] = {"",
                                      "tcp://",
                                      "tcp://127.0.0.1",
                                      "ipc:///tmp/x",
                                      "inproc://x",
                                      "ws://127.0.0.1:80",
                                      "tcp://:::x",
                                      "tcp://127.0.0.1:99999",
                                      "tcp://127.0.0.1:"};
    struct transport *t;
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(transport_listen(bad[i], MAX_BYTES, &t) == SKEIN_INVALID, "%s", bad[i]);
        ck_assert_ptr_null(t);
        ck_assert_msg(transport_dial(bad[i], MAX_BYTES, &t) == SKEIN_INVALID, "%s", bad[i]);
    }
    ck_assert_int_eq(transport_dial("tcp://127.0.0.1:1", 0, &t), SKEIN_INVALID);
    ck_assert_int_eq(transport_dial("tcp://127.0.0.1:1", SIZE_MAX, &t), SKEIN_INVALID);
}
END_TEST

START_TEST(taken_address_is_busy)
{
    struct ends e;
    struct transport *second;
    ends_open(&e);
    ck_assert_int_eq(transport_listen(e.address, MAX_BYTES, &second), SKEIN_BUSY);
    ck_assert_ptr_null(second);
    expect_round_trip(&e, 100, 3);
    ends_close(&e);
}
END_TEST

START_TEST(dialler_finds_a_listener_that_comes_later_and_again)
{
    struct ends e;
    struct transport_peer stale;
    ends_open(&e);
    send_filled(e.dialler, NULL, 9, 9);
    expect_filled(e.listener, 9, 9, &stale);
    for (unsigned i = 0; i < 3; i++) {
        transport_free(&e.listener);
        ck_assert_int_eq(transport_listen(e.address, MAX_BYTES, &e.listener), SKEIN_OK);
        /* What was sent into the dying connection may be lost: repeat, as every user does. */
        struct transport_message m = {0};
        int status = SKEIN_AGAIN;
        for (unsigned try = 0; try < 200 && status != SKEIN_OK; try++) {
            void *message = transport_alloc(4);
            memcpy(message, "ping", 4);
            if (transport_send(e.dialler, message, NULL, 200) != SKEIN_OK)
                transport_alloc_free(message);
            status = transport_receive(e.listener, 100, &m);
        }
        ck_assert_int_eq(status, SKEIN_OK);
        send_filled(e.listener, &stale, 10, 1); /* dropped in silence: another life's path */
        send_filled(e.listener, &m.peer, 11, i);
        expect_filled(e.dialler, 11, i, NULL);
        transport_message_free(&m);
        while (transport_receive(e.listener, 50, &m) == SKEIN_OK)
            transport_message_free(&m);
    }
    ends_close(&e);
}
END_TEST

START_TEST(redial_makes_a_new_connection)
{
    struct ends e;
    struct transport_peer before, after;
    ends_open(&e);
    send_filled(e.dialler, NULL, 7, 0);
    expect_filled(e.listener, 7, 0, &before);
    ck_assert_int_eq(transport_redial(e.dialler), SKEIN_OK);
    send_filled(e.dialler, NULL, 8, 0);
    expect_filled(e.listener, 8, 0, &after);
    ck_assert_int_ne(memcmp(before.bytes, after.bytes, 4), 0);
    send_filled(e.listener, &before, 10, 1);
    send_filled(e.listener, &after, 11, 2);
    expect_filled(e.dialler, 11, 2, NULL);
    ck_assert_int_eq(transport_redial(e.listener), SKEIN_INVALID);
    ends_close(&e);
}
END_TEST

START_TEST(made_up_paths_are_dropped)
{
    struct ends e;
    struct transport_peer peer = {.len = TRANSPORT_PEER_MAX};
    ends_open(&e);
    for (size_t len = 4; len <= TRANSPORT_PEER_MAX; len += 4) {
        memset(peer.bytes, (int)len, sizeof peer.bytes);
        peer.len = len;
        send_filled(e.listener, &peer, 10, 0);
    }
    void *message = transport_alloc(4);
    peer.len = TRANSPORT_PEER_MAX + 1;
    ck_assert_int_eq(transport_send(e.listener, message, &peer, 0), SKEIN_INVALID);
    peer.len = 0;
    ck_assert_int_eq(transport_send(e.listener, message, &peer, 0), SKEIN_INVALID);
    transport_alloc_free(message);
    expect_round_trip(&e, 50, 0);
    ends_close(&e);
}
END_TEST

/* What strangers write; n is what they have written before they fall silent or leave. */
static size_t stranger_words(unsigned kind, uint8_t out[512])
{
    static const uint8_t hello_req[8] = {0, 'S', 'P', 0, 0, 0x30, 0, 0};
    static const uint8_t hello_pub[8] = {0, 'S', 'P', 0, 0, 0x20, 0, 0};
    memset(out, 0xff, 512);
    memcpy(out, kind % 6 == 4 ? hello_pub : hello_req, 8);
    switch (kind % 6) {
    case 0: /* connects and says nothing */
        return 0;
    case 1: /* another protocol */
        memcpy(out, "GET / HTTP/1.1\r\nHost: skein\r\n\r\n", 32);
        return 32;
    case 2: /* announces 2^64 - 1 bytes */
        return 512;
    case 3: /* a message too short for its header: 2 bytes */
        memset(out + 8, 0, 7);
        out[15] = 2;
        return 18;
    case 4: /* half a handshake of the wrong kind */
        return 8;
    default: /* a path that never ends: 496 bytes with no bit 31 */
        memset(out + 8, 0, 504);
        out[14] = 1;
        out[15] = 0xf0;
        return 512;
    }
}

START_TEST(strangers_leave_the_listener_serving)
{
    struct ends e;
    int fds[STRANGERS];
    ends_open(&e);
    expect_round_trip(&e, 100, 0);
    for (unsigned i = 0; i < STRANGERS; i++) {
        uint8_t words[512];
        size_t n = stranger_words(i, words);
        fds[i] = tcp_connect(e.port);
        ck_assert_int_ge(fds[i], 0);
        ck_assert_int_eq(send(fds[i], words, n, MSG_NOSIGNAL), (ssize_t)n);
        if (i % 2) {
            close(fds[i]);
            fds[i] = -1;
        }
        if (i % 10 == 0)
            expect_round_trip(&e, 1000, i);
    }
    expect_round_trip(&e, MAX_BYTES, 1);
    for (unsigned i = 0; i < STRANGERS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    expect_round_trip(&e, 100, 2);
    ends_close(&e);
}
END_TEST

START_TEST(oversize_message_closes_only_its_connection)
{
    struct ends e;
    struct transport *big;
    struct transport_message m;
    ends_open(&e);
    expect_round_trip(&e, 100, 0);
    ck_assert_int_eq(transport_dial(e.address, 4 * MAX_BYTES, &big), SKEIN_OK);
    send_filled(big, NULL, 2 * MAX_BYTES, 0);
    expect_round_trip(&e, 100, 1);
    ck_assert_int_eq(transport_receive(e.listener, 20, &m), SKEIN_AGAIN);
    transport_free(&big);
    ends_close(&e);
}
END_TEST

static void *receive_all(void *context)
{
    struct transport *t = context;
    uintptr_t got = 0;
    struct transport_message m;
    for (bool more = true; more; transport_message_free(&m)) {
        if (transport_receive(t, (int)support_deadline_ms(), &m) != SKEIN_OK)
            break;
        more = m.len > 0;
        got += more;
    }
    return (void *)got;
}

START_TEST(one_thread_sends_while_another_receives)
{
    enum { COUNT = 500 };
    struct ends e;
    pthread_t echo;
    struct transport_peer peer;
    ends_open(&e);
    send_filled(e.dialler, NULL, 1, 0);
    expect_filled(e.listener, 1, 0, &peer);
    ck_assert_int_eq(pthread_create(&echo, NULL, receive_all, e.dialler), 0);
    for (unsigned i = 0; i < COUNT; i++) {
        /* Both directions at once on both transports. */
        send_filled(e.dialler, NULL, 64, i);
        expect_filled(e.listener, 64, i, &peer);
        send_filled(e.listener, &peer, 64, i);
    }
    send_filled(e.listener, &peer, 0, 0);
    void *got;
    pthread_join(echo, &got);
    ck_assert_uint_le((uintptr_t)got, COUNT);
    ck_assert_uint_gt((uintptr_t)got, 0);
    ends_close(&e);
}
END_TEST

START_TEST(loopback_is_told_from_names_that_look_like_it)
{
    ck_assert(transport_is_loopback("tcp://127.0.0.1:7460"));
    ck_assert(transport_is_loopback("tcp://127.10.200.3:1"));
    ck_assert(transport_is_loopback("tcp://localhost:7460"));
    ck_assert(!transport_is_loopback("tcp://127.evil.example:7460"));
    ck_assert(!transport_is_loopback("tcp://127.0.0.1.example:7460"));
    ck_assert(!transport_is_loopback("tcp://127.0.0:7460"));
    ck_assert(!transport_is_loopback("tcp://10.0.0.1:7460"));
    ck_assert(!transport_is_loopback("tcp://*:7460"));
    ck_assert(!transport_is_loopback("127.0.0.1:7460"));
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "transport", messages_of_all_sizes_arrive_whole, listener_pushes_at_will_over_saved_path,
        several_messages_are_in_flight_in_order, poll_fd_tells_when_a_message_is_there,
        failed_send_leaves_the_buffer_with_the_caller, bad_addresses_and_sizes_are_refused,
        taken_address_is_busy, dialler_finds_a_listener_that_comes_later_and_again,
        redial_makes_a_new_connection, made_up_paths_are_dropped,
        strangers_leave_the_listener_serving, oversize_message_closes_only_its_connection,
        one_thread_sends_while_another_receives, loopback_is_told_from_names_that_look_like_it,
        NULL));
}
