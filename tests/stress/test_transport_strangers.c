/* SPDX-License-Identifier: Apache-2.0
 *
 * A listener between its own peers and a crowd of strangers: connections that say nothing, say
 * junk, announce huge sizes, leave in the middle, or speak the protocol with broken messages. Its
 * own peers keep getting answers. SKEIN_STRESS_STRANGERS: how many (10000).
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support.h"
#include "transport.h"

enum { MAX_BYTES = 64 << 10, OPEN_AT_ONCE = 200, WORDS = 600, CROWDS = 2 };

static uint16_t port;
static char address[64];
static atomic_bool done;

static unsigned strangers(void)
{
    const char *text = getenv("SKEIN_STRESS_STRANGERS");
    return text ? (unsigned)strtoul(text, NULL, 10) : 10000;
}

/* Small and repeatable; the seed is the stranger's number. */
static uint32_t random_next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static size_t make_words(uint32_t seed, uint8_t words[WORDS])
{
    uint32_t state = seed;
    for (size_t i = 0; i < WORDS; i++)
        words[i] = (uint8_t)random_next(&state);
    if (seed % 5 == 0)
        return 0;
    if (seed % 5 == 1)
        return random_next(&state) % WORDS;
    /* A true handshake of REQ, then a message that claims a length, true or not. */
    memcpy(words, "\0SP\0\0\x30\0\0", 8);
    memset(words + 8, 0, 6);
    words[14] = seed % 5 == 2 ? 0xff : 0;
    words[15] = (uint8_t)(random_next(&state) % 64);
    if (seed % 5 == 4)
        words[8 + random_next(&state) % 6] = 0x7f;
    return 16 + random_next(&state) % (WORDS - 16);
}

struct crowd {
    pthread_t thread;
    unsigned first, count, refused;
};

static void *crowd_run(void *context)
{
    struct crowd *c = context;
    int open_fds[OPEN_AT_ONCE];
    memset(open_fds, -1, sizeof open_fds);
    for (unsigned i = 0; i < c->count; i++) {
        uint8_t words[WORDS];
        size_t n = make_words(c->first + i, words);
        int *slot = &open_fds[i % OPEN_AT_ONCE];
        if (*slot >= 0)
            close(*slot);
        *slot = tcp_connect(port);
        if (*slot < 0)
            c->refused++;
        else if (n > 0)
            (void)!send(*slot, words, n, MSG_NOSIGNAL | MSG_DONTWAIT); /* it may have hung up */
    }
    for (unsigned i = 0; i < OPEN_AT_ONCE; i++)
        if (open_fds[i] >= 0)
            close(open_fds[i]);
    return NULL;
}

/* Answers each message that begins with "ask", whoever sends it. */
static void *listener_run(void *context)
{
    struct transport *listener = context;
    while (!atomic_load(&done)) {
        struct transport_message m;
        if (transport_receive(listener, 20, &m) != SKEIN_OK)
            continue;
        void *answer = m.len == 3 && memcmp(m.data, "ask", 3) == 0 ? transport_alloc(6) : NULL;
        if (answer) {
            memcpy(answer, "answer", 6);
            if (transport_send(listener, answer, &m.peer, 0) != SKEIN_OK)
                transport_alloc_free(answer);
        }
        transport_message_free(&m);
    }
    return NULL;
}

static bool ask(void *context)
{
    struct transport *dialler = context;
    struct transport_message m = {0};
    void *question = transport_alloc(3);
    memcpy(question, "ask", 3);
    if (transport_send(dialler, question, NULL, 200) != SKEIN_OK)
        transport_alloc_free(question);
    bool answered = transport_receive(dialler, 500, &m) == SKEIN_OK && m.len == 6;
    transport_message_free(&m);
    return answered;
}

START_TEST(own_peers_are_served_amid_strangers)
{
    struct transport *listener, *dialler;
    pthread_t server;
    struct crowd crowds[CROWDS];
    port = free_port();
    snprintf(address, sizeof address, "tcp://127.0.0.1:%u", port);
    ck_assert_int_eq(transport_listen(address, MAX_BYTES, &listener), SKEIN_OK);
    ck_assert_int_eq(transport_dial(address, MAX_BYTES, &dialler), SKEIN_OK);
    ck_assert_int_eq(pthread_create(&server, NULL, listener_run, listener), 0);
    ck_assert(wait_until(ask, dialler, 0));
    for (unsigned i = 0; i < CROWDS; i++) {
        crowds[i] = (struct crowd){.first = i * 7919, .count = strangers() / CROWDS};
        ck_assert_int_eq(pthread_create(&crowds[i].thread, NULL, crowd_run, &crowds[i]), 0);
    }
    for (unsigned i = 0; i < 50; i++) {
        ck_assert(wait_until(ask, dialler, 0));
        if (i % 10 == 9) /* a peer that comes anew gets in as well */
            ck_assert_int_eq(transport_redial(dialler), SKEIN_OK);
    }
    for (unsigned i = 0; i < CROWDS; i++) {
        pthread_join(crowds[i].thread, NULL);
        ck_assert_uint_eq(crowds[i].refused, 0);
    }
    ck_assert(wait_until(ask, dialler, 0));
    atomic_store(&done, true);
    pthread_join(server, NULL);
    transport_free(&dialler);
    transport_free(&listener);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("transport_strangers", own_peers_are_served_amid_strangers, NULL));
}
