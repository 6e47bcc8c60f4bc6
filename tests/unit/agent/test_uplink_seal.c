/* SPDX-License-Identifier: Apache-2.0
 * The agent's end of the handshake, without a network: whom it trusts, what it asks again, and what
 * it keeps from one start to the next. */
#include "uplink_seal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

#define SECOND UINT64_C(1000000000)
#define FIRST  UINT64_C(77) /* a session */

static char *folder, *token_file;
static int folder_fd;
static struct uplink_seal *s;
static struct seal_pair collector, next; /* its key, and the one after a rotation */
static char pin[SEAL_TEXT_BYTES];
static char *pins[1];
static struct config_strs keys;

static void start(void)
{
    char error[512] = "";
    struct uplink_seal_settings settings = {.public_keys = &keys,
                                            .join_token_file = token_file,
                                            .state_dir = folder,
                                            .folder = folder_fd,
                                            .agent = 5};
    ck_assert_msg(uplink_seal_new(&settings, &s, error, sizeof error) == SKEIN_OK, "%s", error);
}

static void setup(void)
{
    ck_assert_int_eq(seal_init(), SKEIN_OK);
    folder = temp_dir_new();
    folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(folder_fd, 0);
    token_file = path_join(folder, "token");
    file_write_text(token_file, "skj_token\n");
    seal_pair_make(&collector);
    seal_pair_make(&next);
    seal_key_text(collector.open.bytes, pin);
    pins[0] = pin;
    keys.items = pins;
    keys.count = 1;
    start();
}

static void teardown(void)
{
    uplink_seal_free(&s);
    close(folder_fd);
    free(token_file);
    temp_dir_free(&folder);
}

/* The OPEN that is due at this time, as a collector with that key reads it: SKEIN_AGAIN where none
 * is due. */
static int opened(uint64_t now_ns, uint64_t id, const struct seal_pair *key,
                  struct seal_request *request)
{
    struct buf body = {0};
    uint64_t wake_ns = UINT64_MAX;
    int status = uplink_seal_step(s, now_ns, id, &body, &wake_ns);
    if (status == SKEIN_OK)
        status = seal_open_read(key, 1, body.data, body.len, request);
    buf_fini(&body);
    return status;
}

/* ACCEPT with this session, and the key that is current; whether the agent takes it. */
static bool accept_with(const struct seal_request *request, uint64_t session, uint64_t id,
                        const struct seal_public *current, uint64_t now_ns,
                        struct seal_session **out)
{
    struct seal_grant grant = {.session = session, .renew_ms = 60000, .current = *current};
    struct buf body = {0};
    ck_assert_int_eq(seal_accept_make(request, &grant, &body, out), SKEIN_OK);
    struct wire_frame frame = {WIRE_ACCEPT, id, body.data, (uint32_t)body.len};
    bool taken = uplink_seal_answer(s, &frame, now_ns);
    buf_fini(&body);
    return taken;
}

START_TEST(open_names_agent_and_token_and_is_repeated_each_second)
{
    struct seal_request request, again;
    setup();
    ck_assert_int_eq(opened(SECOND, 1, &collector, &request), SKEIN_OK);
    ck_assert_uint_eq(request.hello.agent, 5);
    ck_assert_str_eq(request.hello.token, "skj_token");
    ck_assert_int_eq(opened(SECOND + 1, 2, &collector, &again), SKEIN_AGAIN);
    ck_assert_int_eq(opened(2 * SECOND, 2, &collector, &again), SKEIN_OK);
    ck_assert_uint_gt(again.hello.time_ns, request.hello.time_ns);
    ck_assert(seal_public_equal(&request.agent, &again.agent));
    ck_assert_uint_eq(uplink_seal_unanswered(s), 2);
    ck_assert(!uplink_seal_ready(s));
    teardown();
}
END_TEST

START_TEST(only_the_answer_of_the_pinned_collector_to_the_last_open_makes_a_session)
{
    struct seal_request first, last;
    struct seal_session *session;
    setup();
    ck_assert_int_eq(opened(SECOND, 1, &collector, &first), SKEIN_OK);
    ck_assert_int_eq(opened(2 * SECOND, 2, &collector, &last), SKEIN_OK);
    ck_assert(!accept_with(&first, FIRST, 1, &collector.open, 2 * SECOND, &session));
    seal_session_free(&session);
    ck_assert(!accept_with(&first, FIRST, 2, &collector.open, 2 * SECOND, &session));
    seal_session_free(&session);
    struct wire_frame junk = {WIRE_ACCEPT, 2, (const uint8_t *)"junk", 4};
    ck_assert(!uplink_seal_answer(s, &junk, 2 * SECOND));
    ck_assert(accept_with(&last, FIRST, 2, &collector.open, 2 * SECOND, &session));
    ck_assert(uplink_seal_ready(s));
    ck_assert_uint_eq(uplink_seal_unanswered(s), 0);
    seal_session_free(&session);
    teardown();
}
END_TEST

/* An agent that is let in needs no token: one that is gone is no news, however often it dials. */
START_TEST(a_token_that_is_gone_is_told_with_a_refusal_alone)
{
    struct seal_request request;
    struct buf body = {0};
    setup();
    char *lines = path_join(folder, "lines");
    ck_assert_int_eq(unlink(token_file), 0);
    int saved = dup(STDERR_FILENO), fd = open(lines, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(dup2(fd, STDERR_FILENO), 0);
    for (uint64_t i = 1; i < 20; i++) {
        ck_assert_int_eq(opened(i * SECOND, i, &collector, &request), SKEIN_OK);
        uplink_seal_unsent(s, i * SECOND);
    }
    ck_assert_int_eq(opened(20 * SECOND, 20, &collector, &request), SKEIN_OK);
    ck_assert_int_eq(lseek(fd, 0, SEEK_CUR), 0);
    ck_assert_int_eq(seal_refuse_make(&request, "no", &body), SKEIN_OK);
    struct wire_frame frame = {WIRE_REFUSE, 20, body.data, (uint32_t)body.len};
    ck_assert(!uplink_seal_answer(s, &frame, 20 * SECOND));
    ck_assert_int_ge(dup2(saved, STDERR_FILENO), 0);
    close(saved);
    close(fd);
    char *text = file_read(lines, NULL);
    ck_assert_ptr_nonnull(strstr(text, "refuses this agent"));
    ck_assert_ptr_nonnull(strstr(text, "No such file"));
    free(text);
    free(lines);
    buf_fini(&body);
    teardown();
}
END_TEST

START_TEST(refused_agent_asks_again_later)
{
    struct seal_request request, again;
    struct buf body = {0};
    setup();
    ck_assert_int_eq(opened(SECOND, 1, &collector, &request), SKEIN_OK);
    ck_assert_int_eq(seal_refuse_make(&request, "no", &body), SKEIN_OK);
    struct wire_frame frame = {WIRE_REFUSE, 1, body.data, (uint32_t)body.len};
    ck_assert(!uplink_seal_answer(s, &frame, SECOND));
    ck_assert_int_eq(opened(5 * SECOND, 2, &collector, &again), SKEIN_AGAIN);
    ck_assert_int_eq(opened(6 * SECOND, 2, &collector, &again), SKEIN_OK);
    buf_fini(&body);
    teardown();
}
END_TEST

static bool passes(struct seal_session *from, uint64_t id)
{
    uint8_t message[SEAL_HEAD_BYTES + 2 + SEAL_TAG_BYTES];
    struct wire_frame frame;
    memcpy(message + SEAL_HEAD_BYTES, "{}", 2);
    ck_assert_int_eq(seal_frame_close(from, SEAL_CONTROL, message, WIRE_WELCOME, id, 2), SKEIN_OK);
    return uplink_seal_open(s, SEAL_CONTROL, message, sizeof message, &frame) == SKEIN_OK &&
           frame.id == id;
}

START_TEST(session_before_is_heard_until_the_one_after_the_next)
{
    struct seal_request request;
    struct seal_session *sessions[3];
    setup();
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t now = (1 + 100 * i) * SECOND; /* each is due for renewal by then */
        ck_assert_int_eq(opened(now, i, &collector, &request), SKEIN_OK);
        ck_assert(accept_with(&request, FIRST + i, i, &collector.open, now, &sessions[i]));
        ck_assert(passes(sessions[i], 1));
        if (i > 0)
            ck_assert(passes(sessions[i - 1], 2));
        ck_assert_int_eq(opened(now + 50 * SECOND, 9, &collector, &request), SKEIN_AGAIN);
    }
    ck_assert(!passes(sessions[0], 3));
    for (int i = 0; i < 3; i++)
        seal_session_free(&sessions[i]);
    teardown();
}
END_TEST

START_TEST(session_that_the_collector_lost_is_opened_anew)
{
    struct seal_request request;
    struct seal_session *session;
    setup();
    ck_assert_int_eq(opened(SECOND, 1, &collector, &request), SKEIN_OK);
    ck_assert(accept_with(&request, FIRST, 1, &collector.open, SECOND, &session));
    ck_assert_int_eq(opened(3 * SECOND, 2, &collector, &request), SKEIN_AGAIN);
    uplink_seal_doubt(s, 3 * SECOND);
    ck_assert_int_eq(opened(3 * SECOND, 2, &collector, &request), SKEIN_OK);
    ck_assert(uplink_seal_ready(s)); /* what goes on under the old one does */
    seal_session_free(&session);
    teardown();
}
END_TEST

START_TEST(key_of_a_rotation_is_pinned_over_a_restart_and_goes_with_its_pin)
{
    struct seal_request request;
    struct seal_session *session;
    struct seal_pair other;
    setup();
    ck_assert_int_eq(opened(SECOND, 1, &collector, &request), SKEIN_OK);
    struct seal_public own = request.agent;
    ck_assert(accept_with(&request, FIRST, 1, &next.open, SECOND, &session));
    seal_session_free(&session);
    uplink_seal_free(&s);
    start();
    ck_assert_int_eq(opened(SECOND, 1, &next, &request), SKEIN_OK);
    ck_assert(seal_public_equal(&request.agent, &own));
    /* Another key in the config: what was learned from the old one is not believed. */
    uplink_seal_free(&s);
    seal_pair_make(&other);
    seal_key_text(other.open.bytes, pin);
    start();
    ck_assert_int_eq(opened(SECOND, 1, &other, &request), SKEIN_OK);
    for (uint64_t i = 2; i < 12; i++)
        ck_assert_int_ne(opened(i * SECOND, i, &next, &request), SKEIN_OK);
    teardown();
}
END_TEST

START_TEST(silent_collector_is_asked_for_the_other_pins_in_turn)
{
    struct seal_request request;
    struct seal_session *session;
    bool old_asked = false;
    setup();
    ck_assert_int_eq(opened(SECOND, 1, &collector, &request), SKEIN_OK);
    ck_assert(accept_with(&request, FIRST, 1, &next.open, SECOND, &session));
    seal_session_free(&session);
    uplink_seal_free(&s);
    start();
    for (uint64_t i = 1; i < 8; i++) /* a backup of the collector may have the old key alone */
        old_asked = opened(i * SECOND, i, &collector, &request) == SKEIN_OK || old_asked;
    ck_assert(old_asked);
    teardown();
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("uplink_seal", open_names_agent_and_token_and_is_repeated_each_second,
                 only_the_answer_of_the_pinned_collector_to_the_last_open_makes_a_session,
                 a_token_that_is_gone_is_told_with_a_refusal_alone, refused_agent_asks_again_later,
                 session_before_is_heard_until_the_one_after_the_next,
                 session_that_the_collector_lost_is_opened_anew,
                 key_of_a_rotation_is_pinned_over_a_restart_and_goes_with_its_pin,
                 silent_collector_is_asked_for_the_other_pins_in_turn, NULL));
}
