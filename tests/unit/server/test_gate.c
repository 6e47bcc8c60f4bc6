/* SPDX-License-Identifier: Apache-2.0
 * What the gate lets through: sessions replace each other without a loss, and what is played again,
 * plain, unknown or revoked stays outside. */
#include "gate.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "support.h"

#define AGENTS_MAX 10u

static char *folder;
static struct enroll *e;
static struct gate *g;
static struct seal_pair agent, collector[ENROLL_KEYS];
static struct seal_opening opening;
static char token[ENROLL_TOKEN_BYTES], error[512], made[ENROLL_ID_BYTES];

static void setup(bool plain)
{
    uint64_t now = clock_realtime_ns();
    folder = temp_dir_new();
    ck_assert_int_eq(enroll_change_keys(folder, ENROLL_MAKE, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(enroll_open(folder, &e, error, sizeof error), SKEIN_OK);
    ck_assert_uint_eq(enroll_keys(e, collector), 1);
    ck_assert_int_eq(
        enroll_token_create(e, now, now + UINT64_C(3600000000000), AGENTS_MAX + 1, made, token),
        SKEIN_OK);
    struct gate_settings settings = {
        .enroll = e, .plain = plain, .max_agents = AGENTS_MAX, .opens_a_second = 20};
    ck_assert_int_eq(gate_new(&settings, &g), SKEIN_OK);
    seal_pair_make(&agent);
}

static void teardown(void)
{
    gate_free(&g);
    enroll_close(&e);
    temp_dir_free(&folder);
}

/* Hands a copy in, each from a connection of its own: gate_take's status, who it is from, and what
 * is answered. */
static int hand_in(const uint8_t *bytes, size_t n, struct transport_peer *from, struct buf *answer)
{
    static uint32_t connections = 1000;
    struct transport_message m = {.data = malloc(n), .len = n};
    struct wire_frame frame;
    ck_assert_ptr_nonnull(m.data);
    connections++;
    memcpy(m.peer.bytes, &connections, sizeof connections);
    memcpy(m.data, bytes, n);
    int status = gate_take(g, SEAL_CONTROL, &m, &frame, answer);
    *from = m.peer;
    free(m.data);
    return status;
}

/* The frame of an OPEN with this time of the agent's. */
static void open_frame(uint64_t time_ns, struct buf *out)
{
    struct seal_hello hello = {.agent = 5, .time_ns = time_ns};
    struct buf body = {0};
    memcpy(hello.token, token, sizeof token);
    ck_assert_int_eq(seal_open_make(&agent, &collector[0].open, &hello, &opening, &body), SKEIN_OK);
    buf_clear(out);
    wire_frame_put(out, WIRE_OPEN, 1, body.data, body.len);
    buf_fini(&body);
}

/* Gives the OPEN in and reads its ACCEPT. */
static struct seal_session *accepted(const struct buf *frame)
{
    struct transport_peer from;
    struct buf answer = {0};
    struct wire_frame got;
    struct seal_grant grant;
    struct seal_session *session;
    ck_assert_int_eq(hand_in(frame->data, frame->len, &from, &answer), SKEIN_AGAIN);
    ck_assert_int_eq(wire_frame_get(answer.data, answer.len, &got), SKEIN_OK);
    ck_assert_int_eq(got.type, WIRE_ACCEPT);
    ck_assert_int_eq(seal_accept_read(&opening, &agent, got.body, got.body_bytes, &grant, &session),
                     SKEIN_OK);
    buf_fini(&answer);
    return session;
}

/* Whether a sealed frame of the session comes through, as agent 5's. */
static bool passes(struct seal_session *session)
{
    uint8_t message[SEAL_HEAD_BYTES + 2 + SEAL_TAG_BYTES];
    struct transport_peer from;
    struct buf answer = {0};
    memcpy(message + SEAL_HEAD_BYTES, "{}", 2);
    ck_assert_int_eq(seal_frame_close(session, SEAL_CONTROL, message, WIRE_HEARTBEAT, 1, 2),
                     SKEIN_OK);
    bool passed = hand_in(message, sizeof message, &from, &answer) == SKEIN_OK;
    if (passed) {
        ck_assert_uint_eq(from.agent, 5);
        ck_assert_uint_eq(from.session, seal_session_id(session));
        /* and once only */
        ck_assert_int_eq(hand_in(message, sizeof message, &from, &answer), SKEIN_AGAIN);
        ck_assert_uint_eq(from.session, 0);
    }
    buf_fini(&answer);
    return passed;
}

START_TEST(session_before_goes_on_while_the_next_begins)
{
    struct buf frame = {0};
    setup(false);
    open_frame(100, &frame);
    struct seal_session *first = accepted(&frame);
    ck_assert(passes(first));
    open_frame(200, &frame);
    struct seal_session *second = accepted(&frame);
    ck_assert(passes(first));
    ck_assert(passes(second));
    ck_assert(passes(first)); /* what was under way */
    seal_session_free(&first);
    seal_session_free(&second);
    buf_fini(&frame);
    teardown();
}
END_TEST

START_TEST(open_played_again_displaces_nothing)
{
    struct buf old = {0}, fresh = {0}, answer = {0};
    struct transport_peer from;
    setup(false);
    open_frame(100, &old);
    struct seal_session *live = accepted(&old);
    ck_assert(passes(live));
    open_frame(200, &fresh);
    struct seal_session *pending = accepted(&fresh);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(hand_in(old.data, old.len, &from, &answer), SKEIN_AGAIN);
        ck_assert_int_eq(hand_in(fresh.data, fresh.len, &from, &answer), SKEIN_AGAIN);
    }
    ck_assert(passes(live));
    ck_assert(passes(pending));
    seal_session_free(&live);
    seal_session_free(&pending);
    buf_fini(&old);
    buf_fini(&fresh);
    buf_fini(&answer);
    teardown();
}
END_TEST

START_TEST(revoked_agent_loses_its_session_and_is_refused)
{
    struct buf frame = {0}, answer = {0};
    struct transport_peer from;
    struct wire_frame got;
    setup(false);
    open_frame(100, &frame);
    struct seal_session *session = accepted(&frame);
    ck_assert(passes(session));
    ck_assert_int_eq(enroll_revoke(e, 5, 1), SKEIN_OK);
    gate_look(g);
    ck_assert(!passes(session));
    open_frame(200, &frame);
    ck_assert_int_eq(hand_in(frame.data, frame.len, &from, &answer), SKEIN_AGAIN);
    ck_assert_int_eq(wire_frame_get(answer.data, answer.len, &got), SKEIN_OK);
    ck_assert_int_eq(got.type, WIRE_REFUSE);
    seal_session_free(&session);
    buf_fini(&frame);
    buf_fini(&answer);
    teardown();
}
END_TEST

/* How many of n OPENs of this connection were answered. */
static unsigned answered(uint8_t connection, const struct buf *frame, unsigned n)
{
    unsigned count = 0;
    for (unsigned i = 0; i < n; i++) {
        struct transport_message m = {.data = malloc(frame->len), .len = frame->len};
        struct buf answer = {0};
        struct wire_frame got;
        ck_assert_ptr_nonnull(m.data);
        memcpy(m.data, frame->data, frame->len);
        m.peer.bytes[3] = connection;
        m.peer.len = 8;
        ck_assert_int_eq(gate_take(g, SEAL_CONTROL, &m, &got, &answer), SKEIN_AGAIN);
        count += answer.len > 0;
        buf_fini(&answer);
        free(m.data);
    }
    return count;
}

START_TEST(connection_that_opens_without_end_leaves_handshakes_for_others)
{
    struct buf frame = {0};
    setup(false);
    token[0] = '\0'; /* a stranger: each is refused, after all the work */
    open_frame(100, &frame);
    uint64_t began = clock_monotonic_ns();
    unsigned taken = answered(1, &frame, 2000);
    uint64_t seconds = (clock_monotonic_ns() - began) / UINT64_C(1000000000);
    ck_assert_uint_ge(taken, 1);
    ck_assert_uint_le(taken, 2 * (seconds + 1));
    ck_assert_uint_eq(answered(2, &frame, 1), 1);
    buf_fini(&frame);
    teardown();
}
END_TEST

/* More connections than there are handshakes a second, and more tries of each, all in vain: what
 * names no key costs no handshake, and what proves nothing costs its connection one in 10 s. */
START_TEST(noise_of_many_connections_leaves_handshakes_for_others)
{
    struct buf frame = {0}, strange = {0}, broken = {0};
    setup(false);
    open_frame(100, &frame);
    buf_put(&strange, frame.data, frame.len);
    strange.data[WIRE_HEADER_BYTES + 5] ^= 1; /* the key's id */
    buf_put(&broken, frame.data, frame.len);
    broken.data[frame.len - 1] ^= 1;
    struct wire_frame body = {.body = strange.data + WIRE_HEADER_BYTES,
                              .body_bytes = (uint32_t)(frame.len - WIRE_HEADER_BYTES)};
    wire_frame_seal(strange.data, WIRE_OPEN, 1, body.body_bytes);
    wire_frame_seal(broken.data, WIRE_OPEN, 1, body.body_bytes);
    for (unsigned connection = 1; connection <= 100; connection++)
        ck_assert_uint_le(answered((uint8_t)connection, &strange, 1), 1);
    for (unsigned connection = 101; connection <= 105; connection++)
        ck_assert_uint_eq(answered((uint8_t)connection, &broken, 100), 0);
    ck_assert_uint_eq(answered(200, &frame, 1), 1);
    buf_fini(&frame);
    buf_fini(&strange);
    buf_fini(&broken);
    teardown();
}
END_TEST

/* Opens as another agent; the answer's type. */
static uint8_t type_of_open(uint64_t as)
{
    struct seal_hello hello = {.agent = as, .time_ns = 100};
    struct buf body = {0}, frame = {0}, answer = {0};
    struct transport_peer from;
    struct wire_frame got;
    memcpy(hello.token, token, sizeof token);
    seal_pair_make(&agent);
    ck_assert_int_eq(seal_open_make(&agent, &collector[0].open, &hello, &opening, &body), SKEIN_OK);
    wire_frame_put(&frame, WIRE_OPEN, 1, body.data, body.len);
    ck_assert_int_eq(hand_in(frame.data, frame.len, &from, &answer), SKEIN_AGAIN);
    ck_assert_int_eq(wire_frame_get(answer.data, answer.len, &got), SKEIN_OK);
    buf_fini(&body);
    buf_fini(&frame);
    uint8_t type = got.type;
    buf_fini(&answer);
    return type;
}

START_TEST(forgotten_agent_makes_room_and_a_full_gate_takes_no_use_of_a_token)
{
    setup(false);
    for (uint64_t one = 1; one <= AGENTS_MAX; one++)
        ck_assert_uint_eq(type_of_open(one), WIRE_ACCEPT);
    ck_assert_uint_eq(type_of_open(AGENTS_MAX + 1), WIRE_REFUSE);
    ck_assert_int_eq(enroll_forget(e, 3), SKEIN_OK);
    gate_look(g);
    ck_assert_uint_eq(type_of_open(AGENTS_MAX + 1), WIRE_ACCEPT);
    ck_assert_int_eq(enroll_forget(e, 4), SKEIN_OK);
    gate_look(g);
    ck_assert_uint_eq(type_of_open(AGENTS_MAX + 2), WIRE_REFUSE); /* now the token is used up */
    teardown();
}
END_TEST

START_TEST(plain_message_passes_only_where_it_may)
{
    for (int plain = 0; plain < 2; plain++) {
        struct buf frame = {0}, answer = {0};
        struct transport_peer from;
        setup(plain != 0);
        wire_frame_put(&frame, WIRE_HELLO, 1, "{}", 2);
        ck_assert_int_eq(hand_in(frame.data, frame.len, &from, &answer),
                         plain ? SKEIN_OK : SKEIN_AGAIN);
        ck_assert_int_eq(answer.len == 0, plain);
        ck_assert_uint_eq(from.agent, 0);
        buf_fini(&frame);
        buf_fini(&answer);
        teardown();
    }
}
END_TEST

int main(void)
{
    return suite_run(suite_of("gate", session_before_goes_on_while_the_next_begins,
                              open_played_again_displaces_nothing,
                              revoked_agent_loses_its_session_and_is_refused,
                              connection_that_opens_without_end_leaves_handshakes_for_others,
                              noise_of_many_connections_leaves_handshakes_for_others,
                              forgotten_agent_makes_room_and_a_full_gate_takes_no_use_of_a_token,
                              plain_message_passes_only_where_it_may, NULL));
}
