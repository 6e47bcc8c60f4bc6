/* SPDX-License-Identifier: Apache-2.0
 * Handshake and sealed frames: both sides agree, and nobody else can take part. */
#include <stdio.h>
#include <string.h>

#include "seal.h"
#include "support.h"

static struct seal_pair agent, keys[2]; /* the collector's: current, previous */

static bool setup(void)
{
    if (seal_init() != SKEIN_OK)
        return false;
    seal_pair_make(&agent);
    seal_pair_make(&keys[0]);
    seal_pair_make(&keys[1]);
    return true;
}

struct talk {
    struct seal_hello hello;
    struct seal_opening opening;
    struct buf open, accept;
    struct seal_request request;
    struct seal_grant grant, got;
    struct seal_session *up, *down; /* the agent's end, the collector's end */
};

static void talk_open(struct talk *t, const struct seal_pair *key)
{
    memset(t, 0, sizeof *t);
    t->hello = (struct seal_hello){.agent = 0x1122334455667788, .time_ns = 77, .token = "join-me"};
    ck_assert_int_eq(seal_open_make(&agent, &key->open, &t->hello, &t->opening, &t->open),
                     SKEIN_OK);
    ck_assert_int_eq(seal_open_read(keys, 2, t->open.data, t->open.len, &t->request), SKEIN_OK);
}

static void talk_accept(struct talk *t)
{
    t->grant = (struct seal_grant){.session = 42, .time_ns = 78, .renew_ms = 3600000};
    t->grant.current = keys[0].open;
    ck_assert_int_eq(seal_accept_make(&t->request, &t->grant, &t->accept, &t->down), SKEIN_OK);
    ck_assert_int_eq(
        seal_accept_read(&t->opening, &agent, t->accept.data, t->accept.len, &t->got, &t->up),
        SKEIN_OK);
}

static void talk_end(struct talk *t)
{
    buf_fini(&t->open);
    buf_fini(&t->accept);
    seal_session_free(&t->up);
    seal_session_free(&t->down);
}

#define TEXT "a body"
enum { TEXT_BYTES = 6, MESSAGE_BYTES = SEAL_HEAD_BYTES + TEXT_BYTES + SEAL_TAG_BYTES };

static void close_frame(struct seal_session *s, enum seal_channel channel,
                        uint8_t message[MESSAGE_BYTES])
{
    memcpy(message + SEAL_HEAD_BYTES, TEXT, TEXT_BYTES);
    ck_assert_int_eq(seal_frame_close(s, channel, message, WIRE_REPORT, 9, TEXT_BYTES), SKEIN_OK);
}

/* Opens a copy, as the message is garbage after a failure. */
static int open_copy(struct seal_session *s, enum seal_channel channel, const uint8_t *message,
                     size_t n)
{
    uint8_t copy[MESSAGE_BYTES];
    struct wire_frame frame = {.type = 99};
    memcpy(copy, message, n);
    int status = seal_frame_open(s, channel, copy, n, &frame);
    if (status != SKEIN_OK) {
        ck_assert_uint_eq(frame.type, 99);
        return status;
    }
    ck_assert_uint_eq(frame.type, WIRE_REPORT);
    ck_assert_uint_eq(frame.id, 9);
    ck_assert_uint_eq(frame.body_bytes, TEXT_BYTES);
    ck_assert_int_eq(memcmp(frame.body, TEXT, TEXT_BYTES), 0);
    return SKEIN_OK;
}

START_TEST(both_sides_learn_who_the_other_is)
{
    struct talk t;
    talk_open(&t, &keys[0]);
    ck_assert_uint_eq(t.request.key, 0);
    ck_assert(seal_public_equal(&t.request.agent, &agent.open));
    ck_assert_uint_eq(t.request.hello.agent, t.hello.agent);
    ck_assert_uint_eq(t.request.hello.time_ns, 77);
    ck_assert_str_eq(t.request.hello.token, "join-me");
    talk_accept(&t);
    ck_assert_uint_eq(t.got.session, 42);
    ck_assert_uint_eq(t.got.time_ns, 78);
    ck_assert_uint_eq(t.got.renew_ms, 3600000);
    ck_assert_uint_eq(seal_session_id(t.up), 42);
    ck_assert_str_eq(seal_session_cipher(t.up), seal_session_cipher(t.down));
    talk_end(&t);
}
END_TEST

START_TEST(previous_key_is_taken_and_the_current_one_told)
{
    struct talk t;
    talk_open(&t, &keys[1]);
    ck_assert_uint_eq(t.request.key, 1);
    talk_accept(&t);
    ck_assert(seal_public_equal(&t.got.current, &keys[0].open));
    talk_end(&t);
}
END_TEST

START_TEST(key_that_the_collector_does_not_have_is_not_found)
{
    struct seal_pair other;
    struct seal_hello hello = {.agent = 1};
    struct seal_opening opening;
    struct seal_request request = {.key = 7};
    struct buf open = {0};
    seal_pair_make(&other);
    ck_assert_int_eq(seal_open_make(&agent, &other.open, &hello, &opening, &open), SKEIN_OK);
    ck_assert_int_eq(seal_open_read(keys, 2, open.data, open.len, &request), SKEIN_NOT_FOUND);
    /* the same, with the id of a key that it has */
    struct talk t;
    talk_open(&t, &keys[0]);
    memcpy(open.data + 4, t.open.data + 4, 8);
    ck_assert_int_eq(seal_open_read(keys, 2, open.data, open.len, &request), SKEIN_CORRUPT);
    ck_assert_uint_eq(request.key, 7);
    talk_end(&t);
    buf_fini(&open);
}
END_TEST

START_TEST(every_changed_bit_and_missing_byte_of_open_is_noticed)
{
    struct talk t;
    struct seal_request request;
    talk_open(&t, &keys[0]);
    for (size_t i = 0; i < t.open.len; i++) {
        t.open.data[i] ^= (uint8_t)(1u << (i % 8));
        ck_assert_int_lt(seal_open_read(keys, 2, t.open.data, t.open.len, &request), 0);
        t.open.data[i] ^= (uint8_t)(1u << (i % 8));
        ck_assert_int_lt(seal_open_read(keys, 2, t.open.data, i, &request), 0);
    }
    talk_end(&t);
}
END_TEST

START_TEST(every_changed_bit_and_missing_byte_of_accept_is_noticed)
{
    struct talk t;
    struct seal_session *session = NULL;
    struct seal_grant grant;
    talk_open(&t, &keys[0]);
    talk_accept(&t);
    for (size_t i = 0; i < t.accept.len; i++) {
        t.accept.data[i] ^= (uint8_t)(1u << (i % 8));
        ck_assert_int_lt(
            seal_accept_read(&t.opening, &agent, t.accept.data, t.accept.len, &grant, &session), 0);
        t.accept.data[i] ^= (uint8_t)(1u << (i % 8));
        ck_assert_int_lt(seal_accept_read(&t.opening, &agent, t.accept.data, i, &grant, &session),
                         0);
    }
    ck_assert_ptr_null(session);
    talk_end(&t);
}
END_TEST

START_TEST(accept_is_for_one_open_of_one_agent)
{
    struct talk a, b;
    struct seal_pair thief;
    struct seal_session *session = NULL;
    struct seal_grant grant;
    seal_pair_make(&thief);
    talk_open(&a, &keys[0]);
    talk_accept(&a);
    talk_open(&b, &keys[0]);
    ck_assert_int_eq(
        seal_accept_read(&b.opening, &agent, a.accept.data, a.accept.len, &grant, &session),
        SKEIN_CORRUPT);
    ck_assert_int_eq(
        seal_accept_read(&a.opening, &thief, a.accept.data, a.accept.len, &grant, &session),
        SKEIN_CORRUPT);
    talk_end(&a);
    talk_end(&b);
}
END_TEST

START_TEST(open_played_again_gives_other_keys)
{
    struct talk t;
    struct buf accept = {0};
    struct seal_session *other = NULL;
    uint8_t message[MESSAGE_BYTES];
    talk_open(&t, &keys[0]);
    talk_accept(&t);
    ck_assert_int_eq(seal_accept_make(&t.request, &t.grant, &accept, &other), SKEIN_OK);
    close_frame(t.up, SEAL_CONTROL, message);
    ck_assert_int_eq(open_copy(other, SEAL_CONTROL, message, MESSAGE_BYTES), SKEIN_CORRUPT);
    ck_assert_int_eq(open_copy(t.down, SEAL_CONTROL, message, MESSAGE_BYTES), SKEIN_OK);
    seal_session_free(&other);
    buf_fini(&accept);
    talk_end(&t);
}
END_TEST

START_TEST(refusal_reaches_its_agent_alone)
{
    struct talk a, b;
    struct buf refusal = {0};
    char reason[SEAL_REASON_MAX + 1] = "";
    talk_open(&a, &keys[0]);
    talk_open(&b, &keys[0]);
    ck_assert_int_eq(seal_refuse_make(&a.request, "the token\nis used up", &refusal), SKEIN_OK);
    ck_assert_int_eq(seal_refuse_read(&b.opening, refusal.data, refusal.len, reason),
                     SKEIN_CORRUPT);
    for (size_t i = 0; i < refusal.len; i++) {
        refusal.data[i] ^= 0x10;
        ck_assert_int_lt(seal_refuse_read(&a.opening, refusal.data, refusal.len, reason), 0);
        refusal.data[i] ^= 0x10;
        ck_assert_int_lt(seal_refuse_read(&a.opening, refusal.data, i, reason), 0);
    }
    ck_assert_int_eq(seal_refuse_read(&a.opening, refusal.data, refusal.len, reason), SKEIN_OK);
    ck_assert_str_eq(reason, "the token?is used up");
    buf_fini(&refusal);
    talk_end(&a);
    talk_end(&b);
}
END_TEST

START_TEST(frames_go_both_ways_on_both_channels)
{
    struct talk t;
    uint8_t message[MESSAGE_BYTES];
    uint64_t session = 0;
    talk_open(&t, &keys[0]);
    talk_accept(&t);
    for (int channel = SEAL_CONTROL; channel <= SEAL_DATA; channel++) {
        for (int i = 0; i < 200; i++) {
            close_frame(t.up, (enum seal_channel)channel, message);
            ck_assert_ptr_null(memmem(message, sizeof message, TEXT, TEXT_BYTES));
            ck_assert_int_eq(seal_frame_session(message, sizeof message, &session), SKEIN_OK);
            ck_assert_uint_eq(session, 42);
            ck_assert_int_eq(open_copy(t.down, (enum seal_channel)channel, message, sizeof message),
                             SKEIN_OK);
            close_frame(t.down, (enum seal_channel)channel, message);
            ck_assert_int_eq(open_copy(t.up, (enum seal_channel)channel, message, sizeof message),
                             SKEIN_OK);
        }
    }
    talk_end(&t);
}
END_TEST

START_TEST(frame_sent_back_or_on_the_other_channel_is_refused)
{
    struct talk t;
    uint8_t message[MESSAGE_BYTES];
    talk_open(&t, &keys[0]);
    talk_accept(&t);
    close_frame(t.up, SEAL_CONTROL, message);
    ck_assert_int_eq(open_copy(t.up, SEAL_CONTROL, message, sizeof message), SKEIN_CORRUPT);
    ck_assert_int_eq(open_copy(t.down, SEAL_DATA, message, sizeof message), SKEIN_CORRUPT);
    ck_assert_int_eq(open_copy(t.down, SEAL_CONTROL, message, sizeof message), SKEIN_OK);
    talk_end(&t);
}
END_TEST

START_TEST(every_changed_bit_and_missing_byte_of_a_frame_is_noticed)
{
    struct talk t;
    uint8_t message[MESSAGE_BYTES];
    talk_open(&t, &keys[0]);
    talk_accept(&t);
    close_frame(t.up, SEAL_CONTROL, message);
    for (size_t i = 0; i < sizeof message; i++) {
        message[i] ^= (uint8_t)(1u << (i % 8));
        ck_assert_int_lt(open_copy(t.down, SEAL_CONTROL, message, sizeof message), 0);
        message[i] ^= (uint8_t)(1u << (i % 8));
        ck_assert_int_lt(open_copy(t.down, SEAL_CONTROL, message, i), 0);
    }
    ck_assert_int_eq(open_copy(t.down, SEAL_CONTROL, message, sizeof message), SKEIN_OK);
    talk_end(&t);
}
END_TEST

START_TEST(frame_is_taken_once_in_any_order_within_the_window)
{
    enum { COUNT = 70 };
    struct talk t;
    static uint8_t messages[COUNT][MESSAGE_BYTES];
    talk_open(&t, &keys[0]);
    talk_accept(&t);
    for (size_t i = 0; i < COUNT; i++)
        close_frame(t.up, SEAL_DATA, messages[i]);
    ck_assert_int_eq(open_copy(t.down, SEAL_DATA, messages[COUNT - 1], MESSAGE_BYTES), SKEIN_OK);
    for (size_t i = COUNT - 1; i-- > 0;) {
        int want = COUNT - 1 - i < 64 ? SKEIN_OK : SKEIN_EXISTS;
        ck_assert_int_eq(open_copy(t.down, SEAL_DATA, messages[i], MESSAGE_BYTES), want);
    }
    for (size_t i = 0; i < COUNT; i++)
        ck_assert_int_eq(open_copy(t.down, SEAL_DATA, messages[i], MESSAGE_BYTES), SKEIN_EXISTS);
    talk_end(&t);
}
END_TEST

START_TEST(forged_counter_does_not_move_the_window)
{
    struct talk t;
    uint8_t message[MESSAGE_BYTES], forged[MESSAGE_BYTES];
    talk_open(&t, &keys[0]);
    talk_accept(&t);
    close_frame(t.up, SEAL_DATA, message);
    memcpy(forged, message, sizeof forged);
    forged[WIRE_HEADER_BYTES + 9] = 0xff;
    ck_assert_int_eq(open_copy(t.down, SEAL_DATA, forged, sizeof forged), SKEIN_CORRUPT);
    memset(forged + WIRE_HEADER_BYTES + 8, 0xff, 8);
    ck_assert_int_eq(open_copy(t.down, SEAL_DATA, forged, sizeof forged), SKEIN_EXISTS);
    ck_assert_int_eq(open_copy(t.down, SEAL_DATA, message, sizeof message), SKEIN_OK);
    talk_end(&t);
}
END_TEST

START_TEST(session_wears_out_before_its_keys_are_used_up)
{
    struct talk t;
    uint8_t message[SEAL_HEAD_BYTES + SEAL_TAG_BYTES];
    struct wire_frame frame;
    uint64_t sent = 0, worn_at = 0;
    talk_open(&t, &keys[0]);
    talk_accept(&t);
    ck_assert(!seal_session_worn(t.up));
    while (seal_frame_close(t.up, SEAL_DATA, message, WIRE_CHUNK, 1, 0) == SKEIN_OK) {
        sent++;
        ck_assert_int_eq(seal_frame_open(t.down, SEAL_DATA, message, sizeof message, &frame),
                         SKEIN_OK);
        if (worn_at == 0 && seal_session_worn(t.up))
            worn_at = sent;
    }
    ck_assert_uint_eq(worn_at * 2, sent);
    ck_assert(seal_session_worn(t.down));
    talk_end(&t);
}
END_TEST

START_TEST(plain_frame_is_not_sealed)
{
    struct talk t;
    struct buf plain = {0};
    struct wire_frame frame;
    uint64_t session;
    uint8_t message[MESSAGE_BYTES];
    talk_open(&t, &keys[0]);
    talk_accept(&t);
    wire_frame_put(&plain, WIRE_REPORT, 9, "0123456789012345678901234567890123", 34);
    ck_assert_int_eq(seal_frame_session(plain.data, plain.len, &session), SKEIN_NOT_FOUND);
    ck_assert_int_eq(seal_frame_open(t.down, SEAL_CONTROL, plain.data, plain.len, &frame),
                     SKEIN_CORRUPT);
    close_frame(t.up, SEAL_CONTROL, message);
    ck_assert_int_eq(wire_frame_get(message, sizeof message, &frame), SKEIN_CORRUPT);
    buf_fini(&plain);
    talk_end(&t);
}
END_TEST

START_TEST(key_has_one_text)
{
    char text[SEAL_TEXT_BYTES], other[SEAL_TEXT_BYTES + 1];
    uint8_t key[SEAL_KEY_BYTES];
    seal_key_text(agent.open.bytes, text);
    ck_assert_uint_eq(strlen(text), 43);
    ck_assert_int_eq(seal_key_parse(text, key), SKEIN_OK);
    ck_assert_int_eq(memcmp(key, agent.open.bytes, sizeof key), 0);
    ck_assert_int_eq(seal_key_parse("", key), SKEIN_INVALID);
    snprintf(other, sizeof other, "%s=", text);
    ck_assert_int_eq(seal_key_parse(other, key), SKEIN_INVALID);
    memcpy(other, text, sizeof text);
    other[3] = '!';
    ck_assert_int_eq(seal_key_parse(other, key), SKEIN_INVALID);
    /* The last letter carries four bits: its neighbours in the alphabet are the same key. */
    memset(key, 0, sizeof key);
    seal_key_text(key, text);
    text[42] = 'B';
    ck_assert_int_eq(seal_key_parse(text, key), SKEIN_INVALID);
}
END_TEST

START_TEST(public_key_without_secret_is_refused)
{
    struct seal_public zero = {{0}};
    struct seal_hello hello = {.agent = 1};
    struct seal_opening opening;
    struct buf open = {0};
    ck_assert_int_eq(seal_open_make(&agent, &zero, &hello, &opening, &open), SKEIN_INVALID);
    memset(hello.token, 'x', sizeof hello.token);
    ck_assert_int_eq(seal_open_make(&agent, &keys[0].open, &hello, &opening, &open), SKEIN_INVALID);
    ck_assert_uint_eq(open.len, 0);
    buf_fini(&open);
}
END_TEST

int main(void)
{
    if (!setup())
        return 1;
    return suite_run(suite_of(
        "seal_sodium", both_sides_learn_who_the_other_is,
        previous_key_is_taken_and_the_current_one_told,
        key_that_the_collector_does_not_have_is_not_found,
        every_changed_bit_and_missing_byte_of_open_is_noticed,
        every_changed_bit_and_missing_byte_of_accept_is_noticed,
        accept_is_for_one_open_of_one_agent, open_played_again_gives_other_keys,
        refusal_reaches_its_agent_alone, frames_go_both_ways_on_both_channels,
        frame_sent_back_or_on_the_other_channel_is_refused,
        every_changed_bit_and_missing_byte_of_a_frame_is_noticed,
        frame_is_taken_once_in_any_order_within_the_window, forged_counter_does_not_move_the_window,
        session_wears_out_before_its_keys_are_used_up, plain_frame_is_not_sealed, key_has_one_text,
        public_key_without_secret_is_refused, NULL));
}
