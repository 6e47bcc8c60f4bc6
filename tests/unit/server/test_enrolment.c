/* SPDX-License-Identifier: Apache-2.0
 * Enrolment over HTTP, with agents that speak sealed on real ports: a token lets them in, a
 * revocation ends what runs, and who is forgotten may come back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "clock.h"
#include "collector_fixture.h"
#include "enroll.h"
#include "support.h"

#define REPEAT_MS 1000
#define AGENT     "00000000000000e1"
#define ID        UINT64_C(0xe1)

struct sealed {
    struct seal_pair own;
    struct seal_public collector;
    struct transport *control, *data;
    struct seal_session *session;
    uint64_t next_frame;
};

static struct transport *dial(uint16_t port)
{
    char address[64];
    struct transport *t;
    snprintf(address, sizeof address, "tcp://127.0.0.1:%u", port);
    ck_assert_int_eq(transport_dial(address, WIRE_DATA_MAX, &t), SKEIN_OK);
    return t;
}

static void sealed_init(struct sealed *s, const struct fixture *f)
{
    struct seal_pair keys[ENROLL_KEYS];
    memset(s, 0, sizeof *s);
    ck_assert_uint_gt(enroll_keys(f->collector.enroll, keys), 0);
    s->collector = keys[0].open;
    seal_pair_make(&s->own);
    s->control = dial(f->control_port);
    s->data = dial(f->data_port);
}

static void sealed_fini(struct sealed *s)
{
    seal_session_free(&s->session);
    transport_free(&s->control);
    transport_free(&s->data);
}

/* The data connection anew: what is sent on one to a collector that has ended is lost. */
static void sealed_redial_data(struct sealed *s, const struct fixture *f)
{
    transport_free(&s->data);
    s->data = dial(f->data_port);
}

static void send_bytes(struct transport *t, const void *bytes, size_t n)
{
    void *message = transport_alloc(n);
    ck_assert_ptr_nonnull(message);
    memcpy(message, bytes, n);
    ck_assert_int_eq(transport_send(t, message, NULL, (int)support_deadline_ms()), SKEIN_OK);
}

/* OPEN as this agent: the type of its answer; ACCEPT makes the session. */
static uint8_t sealed_open(struct sealed *s, uint64_t agent, const char *token)
{
    struct seal_hello hello = {.agent = agent, .time_ns = clock_realtime_ns()};
    struct seal_opening opening;
    struct seal_grant grant;
    struct buf body = {0}, frame = {0};
    struct transport_message m;
    struct wire_frame got = {0};
    uint64_t id = 0;
    snprintf(hello.token, sizeof hello.token, "%s", token);
    ck_assert_int_eq(seal_open_make(&s->own, &s->collector, &hello, &opening, &body), SKEIN_OK);
    uint64_t deadline = clock_monotonic_ns() + support_deadline_ms() * UINT64_C(1000000);
    do {
        ck_assert_uint_lt(clock_monotonic_ns(), deadline);
        if (transport_receive(s->control, id == 0 ? 0 : REPEAT_MS, &m) != SKEIN_OK) {
            id = ++s->next_frame; /* the collector may have restarted */
            buf_clear(&frame);
            wire_frame_put(&frame, WIRE_OPEN, id, body.data, body.len);
            send_bytes(s->control, frame.data, frame.len);
            continue;
        }
        if (wire_frame_get(m.data, m.len, &got) == SKEIN_OK && got.id == id &&
            got.type == WIRE_ACCEPT) {
            seal_session_free(&s->session);
            ck_assert_int_eq(
                seal_accept_read(&opening, &s->own, got.body, got.body_bytes, &grant, &s->session),
                SKEIN_OK);
        }
        transport_message_free(&m);
    } while (id == 0 || got.id != id);
    buf_fini(&body);
    buf_fini(&frame);
    return got.type;
}

static void sealed_send(struct sealed *s, enum seal_channel channel, uint8_t type, const void *body,
                        size_t n)
{
    uint8_t *message = malloc(SEAL_HEAD_BYTES + n + SEAL_TAG_BYTES);
    ck_assert_ptr_nonnull(message);
    memcpy(message + SEAL_HEAD_BYTES, body, n);
    ck_assert_int_eq(seal_frame_close(s->session, channel, message, type, ++s->next_frame, n),
                     SKEIN_OK);
    send_bytes(channel == SEAL_CONTROL ? s->control : s->data, message,
               SEAL_HEAD_BYTES + n + SEAL_TAG_BYTES);
    free(message);
}

/* Says it sealed on control: the type of the answer, a plain ERROR where there is no session. */
static uint8_t sealed_ask(struct sealed *s, uint8_t type, const char *json)
{
    struct transport_message m;
    struct wire_frame frame;
    sealed_send(s, SEAL_CONTROL, type, json, strlen(json));
    for (;;) {
        ck_assert_int_eq(transport_receive(s->control, (int)support_deadline_ms(), &m), SKEIN_OK);
        int status = wire_frame_get(m.data, m.len, &frame);
        if (status != SKEIN_OK)
            status = seal_frame_open(s->session, SEAL_CONTROL, m.data, m.len, &frame);
        ck_assert_int_eq(status, SKEIN_OK);
        bool other = frame.type == WIRE_COMMAND;
        transport_message_free(&m);
        if (!other)
            return frame.type;
    }
}

#define HELLO(agent)                                                                               \
    "{\"agent\":\"" agent "\",\"host\":\"h\",\"version\":\"1\",\"boot\":\"b\",\"epoch\":1,"        \
    "\"labels\":\"\",\"heartbeat_ms\":200,\"seal\":null}"
#define BEAT(agent)                                                                                \
    "{\"agent\":\"" agent "\",\"sent_ns\":\"1\",\"rules_generation\":0,\"processes_version\":0}"

static void keyed_start(struct fixture *f)
{
    char error[512];
    fixture_start(f);
    ck_assert_int_eq(
        enroll_change_keys(f->collector.config.folder, ENROLL_MAKE, error, sizeof error), SKEIN_OK);
}

/* A join token for so many agents, by HTTP; its id. */
static void make_token(const struct fixture *f, int uses, char id[ENROLL_ID_BYTES],
                       char secret[ENROLL_TOKEN_BYTES])
{
    char body[64];
    snprintf(body, sizeof body, "{\"uses\":%d}", uses);
    cJSON *token = call_json(f, "POST", "/api/v1/join-tokens", body, 201);
    ck_assert_double_eq(number_at(token, "uses_left"), uses);
    snprintf(id, ENROLL_ID_BYTES, "%s", text_at(token, "id"));
    snprintf(secret, ENROLL_TOKEN_BYTES, "%s", text_at(token, "secret"));
    cJSON_Delete(token);
}

static void expect_gone(const struct fixture *f, const char *method, const char *path, long status)
{
    struct http_response response;
    call(f, method, path, NULL, NULL, &response);
    ck_assert_msg(response.status == status, "%s %s: %ld", method, path, response.status);
    http_response_fini(&response);
}

START_TEST(join_token_is_shown_once_listed_and_deleted)
{
    struct fixture f;
    char id[ENROLL_ID_BYTES], secret[ENROLL_TOKEN_BYTES], path[96];
    fixture_start(&f);
    make_token(&f, 3, id, secret);
    cJSON *list = call_json(&f, "GET", "/api/v1/join-tokens", NULL, 200);
    ck_assert_str_eq(text_at(list, "items.0.id"), id);
    char *text = cJSON_PrintUnformatted(list);
    ck_assert_ptr_null(strstr(text, secret));
    free(text);
    cJSON_Delete(list);
    snprintf(path, sizeof path, "/api/v1/join-tokens/%s", id);
    expect_gone(&f, "DELETE", path, 204);
    expect_gone(&f, "DELETE", path, 404);
    expect_problem(&f, "POST", "/api/v1/join-tokens", "{\"uses\":0}", 422, "uses");
    expect_problem(&f, "POST", "/api/v1/join-tokens", "{\"expires\":\"2020-01-01T00:00:00Z\"}", 422,
                   "expires");
    expect_problem(&f, "POST", "/api/v1/join-tokens", "{\"name\":\"x\"}", 422, "name");
    list = call_json(&f, "GET", "/api/v1/audit?action=join_token.*", NULL, 200);
    ck_assert_str_eq(text_at(list, "items.2.action"), "join_token.create");
    ck_assert_str_eq(text_at(list, "items.2.object"), id);
    ck_assert_str_eq(text_at(list, "items.1.action"), "join_token.delete");
    ck_assert_str_eq(text_at(list, "items.0.result"), "not found");
    cJSON_Delete(list);
    fixture_stop(&f);
}
END_TEST

START_TEST(join_tokens_are_listed_page_by_page)
{
    struct fixture f;
    char id[ENROLL_ID_BYTES], secret[ENROLL_TOKEN_BYTES], path[96];
    fixture_start(&f);
    for (int i = 0; i < 5; i++)
        make_token(&f, 1, id, secret);
    unsigned seen = 0;
    snprintf(path, sizeof path, "/api/v1/join-tokens?limit=2");
    for (const char *next = path; next != NULL;) {
        cJSON *list = call_json(&f, "GET", path, NULL, 200);
        seen += (unsigned)cJSON_GetArraySize(at_path(list, "items"));
        next = cJSON_GetStringValue(at_path(list, "next_cursor"));
        if (next != NULL)
            snprintf(path, sizeof path, "/api/v1/join-tokens?limit=2&cursor=%s", next);
        cJSON_Delete(list);
    }
    ck_assert_uint_eq(seen, 5);
    fixture_stop(&f);
}
END_TEST

/* Whether the events that have been published name this. */
static bool was_published(const struct fixture *f, const char *types, const char *words)
{
    struct events_query query = {.types = types, .resume = true, .after = 1};
    struct events_watch *watch;
    char text[4096];
    ck_assert_int_eq(events_watch_new(f->collector.events, &query, &watch), SKEIN_OK);
    size_t n = 0;
    for (int64_t got; n < sizeof text - 1 &&
                      (got = events_watch_read(watch, text + n, sizeof text - 1 - n)) > 0;)
        n += (size_t)got;
    text[n] = '\0';
    events_watch_free(watch);
    return strstr(text, words) != NULL;
}

START_TEST(agent_joins_is_revoked_at_once_and_may_come_back_when_forgotten)
{
    struct fixture f;
    struct sealed s;
    char id[ENROLL_ID_BYTES], secret[ENROLL_TOKEN_BYTES];
    keyed_start(&f);
    sealed_init(&s, &f);
    make_token(&f, 1, id, secret);
    ck_assert_int_eq(sealed_open(&s, ID, secret), WIRE_ACCEPT);
    ck_assert_int_eq(sealed_ask(&s, WIRE_HELLO, HELLO(AGENT)), WIRE_WELCOME);
    ck_assert(was_published(&f, "agent.enrolled", id));
    cJSON *json = call_json(&f, "GET", "/api/v1/agents/" AGENT, NULL, 200);
    ck_assert_ptr_nonnull(at_path(json, "enrolled"));
    ck_assert_ptr_null(at_path(json, "revoked"));
    cJSON_Delete(json);

    expect_gone(&f, "POST", "/api/v1/agents/" AGENT ":revoke", 204);
    ck_assert_int_eq(sealed_ask(&s, WIRE_HEARTBEAT, BEAT(AGENT)), WIRE_ERROR);
    json = call_json(&f, "GET", "/api/v1/agents", NULL, 200);
    ck_assert_str_eq(text_at(json, "items.1.agent"), AGENT);
    ck_assert_str_eq(text_at(json, "items.1.status"), "offline");
    ck_assert_ptr_nonnull(at_path(json, "items.1.revoked"));
    ck_assert_ptr_null(at_path(json, "items.0.enrolled")); /* the fixture's speaks plain */
    cJSON_Delete(json);
    make_token(&f, 9, id, secret);
    ck_assert_int_eq(sealed_open(&s, ID, secret), WIRE_REFUSE);

    expect_gone(&f, "DELETE", "/api/v1/agents/" AGENT, 204);
    expect_gone(&f, "GET", "/api/v1/agents/" AGENT, 404);
    expect_gone(&f, "DELETE", "/api/v1/agents/" AGENT, 404);
    expect_gone(&f, "POST", "/api/v1/agents/" AGENT ":revoke", 404);
    seal_pair_make(&s.own);
    ck_assert_int_eq(sealed_open(&s, ID, secret), WIRE_ACCEPT);
    ck_assert_int_eq(sealed_ask(&s, WIRE_HELLO, HELLO(AGENT)), WIRE_WELCOME);

    json = call_json(&f, "GET", "/api/v1/audit?action=agent.*&object=" AGENT, NULL, 200);
    ck_assert_str_eq(text_at(json, "items.5.action"), "agent.enroll");
    ck_assert_str_eq(text_at(json, "items.5.actor"), "agent:" AGENT);
    ck_assert_str_eq(text_at(json, "items.4.action"), "agent.revoke");
    ck_assert_str_eq(text_at(json, "items.4.actor"), "local");
    ck_assert_str_eq(text_at(json, "items.3.action"), "agent.forget");
    ck_assert_str_eq(text_at(json, "items.0.action"), "agent.enroll");
    cJSON_Delete(json);
    sealed_fini(&s);
    fixture_stop(&f);
}
END_TEST

START_TEST(forgotten_agent_stays_away_after_a_restart)
{
    struct fixture f;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 3, "shop");
    wire_agent_close(&f.agent);
    expect_gone(&f, "DELETE", "/api/v1/agents/0000000000000007", 204);
    cJSON *json = call_json(&f, "GET", "/api/v1/processes", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 0);
    cJSON_Delete(json);
    fixture_restart(&f);
    json = call_json(&f, "GET", "/api/v1/agents", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 0);
    cJSON_Delete(json);
    wire_agent_open(&f.agent, 7, "host-a", f.control_port, f.data_port);
    fixture_stop(&f);
}
END_TEST

/* ---- whose processes ---- */

#define OTHER "00000000000000e2"

/* Two that are enrolled and have said HELLO. */
static void two_open(struct sealed *a, struct sealed *b, const char *token)
{
    ck_assert_int_eq(sealed_open(a, ID, token), WIRE_ACCEPT);
    ck_assert_int_eq(sealed_open(b, ID + 1, token), WIRE_ACCEPT);
    ck_assert_int_eq(sealed_ask(a, WIRE_HELLO, HELLO(AGENT)), WIRE_WELCOME);
    ck_assert_int_eq(sealed_ask(b, WIRE_HELLO, HELLO(OTHER)), WIRE_WELCOME);
}

static void upload(struct sealed *s, uint32_t process, uint64_t sequence)
{
    struct partition_key key = key_of(process, 1, sequence);
    struct buf partition = {0}, body = {0};
    uint8_t head[WIRE_CHUNK_HEADER_BYTES];
    partition_of(&key, 100, &partition);
    struct wire_chunk chunk = {.key = key,
                               .count = 1,
                               .partition_bytes = partition.len,
                               .partition_checksum = checksum64(partition.data, partition.len),
                               .bytes = partition.data,
                               .bytes_len = (uint32_t)partition.len};
    wire_chunk_put(head, &chunk);
    buf_put(&body, head, sizeof head);
    buf_put(&body, partition.data, partition.len);
    sealed_send(s, SEAL_DATA, WIRE_CHUNK, body.data, body.len);
    buf_fini(&partition);
    buf_fini(&body);
}

/* The next answer is for this partition. Its agent is told to send it again until it is on disk
 * whose process it is. */
static void expect_stored(struct sealed *s, uint32_t process, uint64_t sequence)
{
    struct partition_key want = key_of(process, 1, sequence);
    for (;;) {
        struct transport_message m;
        struct wire_frame frame;
        struct wire_ack ack;
        ck_assert_int_eq(transport_receive(s->data, (int)support_deadline_ms(), &m), SKEIN_OK);
        ck_assert_int_eq(seal_frame_open(s->session, SEAL_DATA, m.data, m.len, &frame), SKEIN_OK);
        ck_assert_int_eq(wire_ack_get(frame.body, frame.body_bytes, &ack), SKEIN_OK);
        transport_message_free(&m);
        ck_assert(memcmp(&ack.key, &want, sizeof want) == 0);
        if (ack.status == WIRE_STORED)
            return;
        ck_assert_int_eq(ack.status, WIRE_RETRY);
        upload(s, process, sequence);
    }
}

/* The answer to the second shows that there is none to the first. */
static void expect_second_alone(struct sealed *s, uint32_t others, uint32_t own, uint64_t sequence)
{
    upload(s, others, sequence);
    upload(s, own, sequence);
    expect_stored(s, own, sequence);
}

START_TEST(agent_uploads_for_no_other_agents_processes_also_after_a_restart)
{
    struct fixture f;
    struct sealed a, b;
    char id[ENROLL_ID_BYTES], secret[ENROLL_TOKEN_BYTES];
    keyed_start(&f);
    sealed_init(&a, &f);
    sealed_init(&b, &f);
    make_token(&f, 2, id, secret);
    two_open(&a, &b, secret);
    upload(&a, 1, 0); /* nobody has listed it: out of a spool */
    expect_stored(&a, 1, 0);
    expect_second_alone(&b, 2, 150, 1); /* 2 is of the same boot as 1 */
    fixture_restart(&f);
    two_open(&a, &b, "");
    sealed_redial_data(&a, &f);
    sealed_redial_data(&b, &f);
    expect_second_alone(&b, 3, 151, 2);
    expect_second_alone(&a, 152, 4, 2);
    cJSON *json = call_json(&f, "GET", "/api/v1/partitions", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 4);
    cJSON_Delete(json);
    sealed_fini(&a);
    sealed_fini(&b);
    fixture_stop(&f);
}
END_TEST

START_TEST(agent_says_nothing_of_another_agents_process_or_capture)
{
    struct fixture f;
    struct sealed a, b;
    char id[ENROLL_ID_BYTES], secret[ENROLL_TOKEN_BYTES], process[ID_TEXT_BYTES], text[512];
    static const char target[] =
        "{\"agent\":\"%s\",\"kind\":\"target\",\"capture\":\"%s\",\"process\":\"%s\","
        "\"state\":\"nothing\"}";
    keyed_start(&f);
    sealed_init(&a, &f);
    sealed_init(&b, &f);
    make_token(&f, 2, id, secret);
    two_open(&a, &b, secret);
    id_text(process_of(1).bytes, process);
    snprintf(text, sizeof text,
             "{\"agent\":\"" AGENT "\",\"kind\":\"processes\",\"version\":1,\"page\":0,"
             "\"pages\":1,\"processes\":[{\"process\":\"%s\",\"pid\":1,\"service\":\"s\","
             "\"state\":\"live\"}]}",
             process);
    ck_assert_int_eq(sealed_ask(&a, WIRE_REPORT, text), WIRE_REPORT_ACK);
    cJSON *json = call_json(&f, "POST", "/api/v1/captures", "{\"selector\":\"service=s\"}", 202);
    char capture[ID_TEXT_BYTES], path[96];
    snprintf(capture, sizeof capture, "%s", text_at(json, "capture"));
    cJSON_Delete(json);

    snprintf(text, sizeof text, target, OTHER, capture, process);
    ck_assert_int_eq(sealed_ask(&b, WIRE_REPORT, text), WIRE_REPORT_ACK);
    snprintf(text, sizeof text,
             "{\"agent\":\"" OTHER "\",\"kind\":\"fired\",\"capture\":\"%032x\","
             "\"trigger\":\"crash\",\"process\":\"%s\",\"at_ns\":\"1\",\"reason\":\"r\","
             "\"pre_ms\":1,\"post_ms\":1}",
             0xb, process);
    ck_assert_int_eq(sealed_ask(&b, WIRE_REPORT, text), WIRE_REPORT_ACK);
    snprintf(path, sizeof path, "/api/v1/captures/%s", capture);
    json = call_json(&f, "GET", path, NULL, 200);
    ck_assert_str_eq(text_at(json, "status"), "running");
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/captures", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 1);
    cJSON_Delete(json);

    snprintf(text, sizeof text, target, AGENT, capture, process);
    ck_assert_int_eq(sealed_ask(&a, WIRE_REPORT, text), WIRE_REPORT_ACK);
    wait_for_text(&f, path, "targets.0.status", "nothing");
    sealed_fini(&a);
    sealed_fini(&b);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("enrolment", join_token_is_shown_once_listed_and_deleted,
                              join_tokens_are_listed_page_by_page,
                              agent_joins_is_revoked_at_once_and_may_come_back_when_forgotten,
                              agent_uploads_for_no_other_agents_processes_also_after_a_restart,
                              agent_says_nothing_of_another_agents_process_or_capture,
                              forgotten_agent_stays_away_after_a_restart, NULL));
}
