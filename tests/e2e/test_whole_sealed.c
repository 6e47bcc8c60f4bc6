/* SPDX-License-Identifier: Apache-2.0
 *
 * Both daemons with keys: an agent joins by a token and all goes sealed; the collector's key is
 * replaced while they run; strangers and revoked agents stay outside; nothing is open to a network
 * by chance.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"
#include "transport.h"
#include "whole.h"
#include "wire.h"

/* Runs skeind's subcommand; its standard output without the newline, the caller's. */
static char *admin(const struct whole *w, int want, const char *const words[])
{
    const char *argv[12] = {WHOLE_SKEIND};
    char *config = whole_path(w, "collector.json"), *out = whole_path(w, "admin.log");
    size_t n = 1;
    while (words[n - 1] != NULL) {
        argv[n] = words[n - 1];
        n++;
    }
    argv[n] = "--config";
    argv[n + 1] = config;
    unlink(out);
    struct spawn_options options = {.out_file = out};
    ck_assert_int_eq(spawn_wait(spawn(argv, &options), 0), want);
    char *text = file_read(out, NULL);
    ck_assert_ptr_nonnull(text);
    text[strcspn(text, "\n")] = '\0';
    free(config);
    free(out);
    return text;
}
#define ADMIN(w, want, ...) admin(w, want, (const char *const[]){__VA_ARGS__, NULL})

struct sealed {
    struct whole w;
    struct load load;
    char *pins, *token_file;
};

/* A collector with a key, an agent with a token, a program. */
static void sealed_start_with(struct sealed *s, const char *agents)
{
    static const struct load_options options = {
        .service = "load", .threads = 1, .burst = 5, .pause_us = 1000};
    char pins[512];
    memset(s, 0, sizeof *s);
    whole_init(&s->w, NULL, NULL);
    char *key = ADMIN(&s->w, 0, "keygen");
    char *token = ADMIN(&s->w, 0, "join-token", "create", "--uses", "1");
    ck_assert_uint_eq(strlen(key), 43);
    s->token_file = whole_path(&s->w, "token");
    file_write_text(s->token_file, token);
    snprintf(pins, sizeof pins, "\"public_key\":[\"%s\"],\"join_token_file\":\"%s\"", key,
             s->token_file);
    s->pins = strdup(pins);
    s->w.pins_more = s->pins;
    s->w.agents_more = agents;
    whole_configure(&s->w);
    free(key);
    free(token);
    whole_collector_start(&s->w);
    whole_agent_start(&s->w);
    load_start(&s->w, &options, &s->load);
    load_wait_attached(&s->load);
    whole_wait_live(&s->w, "service%3Dload", 1);
}

static void sealed_start(struct sealed *s)
{
    sealed_start_with(s, "\"require_sealed\":true");
}

static void sealed_end(struct sealed *s)
{
    load_free(&s->load);
    whole_fini(&s->w);
    free(s->pins);
    free(s->token_file);
}

/* A daemon that has just started may list the program from before, or not yet: a capture of that
 * moment is refused or finds nothing. */
static bool capture_completes(void *context)
{
    const struct whole *w = context;
    struct buf answer = {0};
    char why[160];
    bool complete = false;
    int status = whole_http(w, "POST", "/api/v1/captures",
                            "{\"selector\":\"service=load\",\"pre_ms\":200}", &answer);
    cJSON *json = json_parse((const char *)answer.data, answer.len, why, sizeof why);
    if (status == 202) {
        cJSON *final = whole_capture_final(w, whole_str(json, "capture"));
        complete = strcmp(whole_str(final, "status"), "complete") == 0;
        cJSON_Delete(final);
    }
    cJSON_Delete(json);
    buf_fini(&answer);
    return complete;
}

/* What a plain HELLO is answered with; 0: nothing. */
static uint8_t plain_hello(const struct whole *w)
{
    static const char hello[] =
        "{\"agent\":\"00000000000000aa\",\"host\":\"h\",\"version\":\"1\",\"boot\":\"b\","
        "\"epoch\":1,\"labels\":\"\",\"heartbeat_ms\":200,\"seal\":null}";
    char address[64];
    struct transport *t;
    struct transport_message m;
    struct wire_frame frame = {0};
    snprintf(address, sizeof address, "tcp://127.0.0.1:%u", w->control);
    ck_assert_int_eq(transport_dial(address, WIRE_CONTROL_MAX, &t), SKEIN_OK);
    uint8_t *message = transport_alloc(WIRE_HEADER_BYTES + sizeof hello - 1);
    memcpy(message + WIRE_HEADER_BYTES, hello, sizeof hello - 1);
    wire_frame_seal(message, WIRE_HELLO, 1, sizeof hello - 1);
    ck_assert_int_eq(transport_send(t, message, NULL, (int)support_deadline_ms()), SKEIN_OK);
    if (transport_receive(t, (int)support_deadline_ms(), &m) == SKEIN_OK) {
        ck_assert_int_eq(wire_frame_get(m.data, m.len, &frame), SKEIN_OK);
        transport_message_free(&m);
    }
    transport_free(&t);
    return frame.type;
}

START_TEST(agent_joins_by_a_token_and_a_capture_comes_sealed)
{
    struct sealed s;
    sealed_start(&s);
    ck_assert(wait_until(capture_completes, &s.w, 0));
    ck_assert_int_eq(plain_hello(&s.w), WIRE_ERROR);
    cJSON *agents = whole_get(&s.w, "/api/v1/agents");
    ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(agents, "items")), 1);
    cJSON_Delete(agents);
    /* Enrolled for good: the token is used up and not needed again. */
    unlink(s.token_file);
    ck_assert_int_eq(whole_stop(&s.w.agent), 0);
    whole_agent_start(&s.w);
    ck_assert(wait_until(capture_completes, &s.w, 0));
    sealed_end(&s);
}
END_TEST

START_TEST(collector_that_starts_again_is_found_again)
{
    struct sealed s;
    sealed_start(&s);
    whole_kill(&s.w.collector);
    whole_collector_start(&s.w);
    ck_assert(wait_until(capture_completes, &s.w, 0));
    sealed_end(&s);
}
END_TEST

static bool has_learned(void *context)
{
    const struct whole *w = context;
    char *path = whole_path(w, "agent/collector.keys");
    bool there = access(path, F_OK) == 0;
    free(path);
    return there;
}

START_TEST(key_is_replaced_while_all_runs)
{
    struct sealed s;
    sealed_start(&s);
    char *new_key = ADMIN(&s.w, 0, "keygen", "--rotate");
    ck_assert_ptr_null(strstr(s.pins, new_key));
    ck_assert_int_eq(whole_stop(&s.w.agent), 0);
    whole_agent_start(&s.w); /* its config still names the old key */
    ck_assert(wait_until(has_learned, &s.w, 0));
    free(ADMIN(&s.w, 0, "keygen", "--retire"));
    ck_assert_int_eq(whole_stop(&s.w.agent), 0);
    whole_agent_start(&s.w);
    ck_assert(wait_until(capture_completes, &s.w, 0));
    free(new_key);
    sealed_end(&s);
}
END_TEST

/* ---- rotation under load ---- */

enum { ROTATIONS = 3 };

static bool download(const struct whole *w, const char *capture, struct tally *tally)
{
    char path[96];
    struct buf bytes = {0};
    snprintf(path, sizeof path, "/api/v1/captures/%s/trace", capture);
    int status = whole_http(w, "GET", path, NULL, &bytes);
    if (status == 200)
        tally_trace(&bytes, tally);
    buf_fini(&bytes);
    return status == 200;
}

struct stream {
    const struct whole *w;
    char id[ID_TEXT_BYTES];
    uint64_t events;
};

static bool has_grown(void *context)
{
    struct stream *s = context;
    struct tally tally;
    bool grown = download(s->w, s->id, &tally) && tally.events > s->events;
    if (grown)
        s->events = tally.events;
    return grown;
}

struct learned {
    const struct whole *w;
    const char *key;
};

static bool has_learned_key(void *context)
{
    const struct learned *l = context;
    char *path = whole_path(l->w, "agent/collector.keys");
    char *text = access(path, F_OK) == 0 ? file_read(path, NULL) : NULL;
    bool there = text != NULL && strstr(text, l->key) != NULL;
    free(text);
    free(path);
    return there;
}

/* The agent runs on and uploads; each key is retired before the next is made. */
START_TEST(key_is_replaced_under_load_and_nothing_is_lost)
{
    struct sealed s;
    struct tally tally;
    char path[96];
    sealed_start_with(&s, "\"require_sealed\":true,\"session_ms\":1000");
    struct stream stream = {.w = &s.w};
    uint64_t begun = s.load.page->committed[0];
    struct capture_id capture =
        whole_capture(&s.w, "{\"selector\":\"service=load\",\"kind\":\"stream\"}");
    begun = begun < s.load.page->committed[0] ? s.load.page->committed[0] : begun;
    id_text(capture.bytes, stream.id);
    for (int i = 0; i < ROTATIONS; i++) {
        ck_assert(wait_until(has_grown, &stream, 0));
        char *key = ADMIN(&s.w, 0, "keygen", "--rotate");
        struct learned learned = {&s.w, key};
        ck_assert(wait_until(has_learned_key, &learned, 0));
        ck_assert(wait_until(has_grown, &stream, 0));
        free(ADMIN(&s.w, 0, "keygen", "--retire"));
        free(key);
    }
    ck_assert(wait_until(has_grown, &stream, 0));
    uint64_t stopped = s.load.page->committed[0];
    snprintf(path, sizeof path, "/api/v1/captures/%s:stop", stream.id);
    ck_assert_int_eq(whole_http(&s.w, "POST", path, NULL, NULL), 202);
    cJSON *final = whole_capture_final(&s.w, stream.id);
    const cJSON *verdict = cJSON_GetObjectItemCaseSensitive(final, "verdict");
    ck_assert_msg(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(verdict, "complete")), "%s",
                  whole_str(verdict, "text"));
    cJSON_Delete(final);
    ck_assert(download(&s.w, stream.id, &tally));
    ck_assert_uint_eq(tally.threads[0].holes, 0);
    ck_assert_uint_le(tally.threads[0].first, begun);
    ck_assert_uint_ge(tally.threads[0].last + 1, stopped);
    sealed_end(&s);
}
END_TEST

static bool is_offline(void *context)
{
    const struct whole *w = context;
    cJSON *agents = whole_get(w, "/api/v1/agents");
    char *text = cJSON_PrintUnformatted(agents);
    bool offline = strstr(text, "offline") != NULL;
    free(text);
    cJSON_Delete(agents);
    return offline;
}

START_TEST(revoked_agent_stays_outside)
{
    struct sealed s;
    sealed_start(&s);
    char *line = ADMIN(&s.w, 0, "agent", "list");
    line[16] = '\0';
    ck_assert(!is_offline(&s.w));
    free(ADMIN(&s.w, 0, "agent", "revoke", line));
    ck_assert(wait_until(is_offline, &s.w, 0));
    ck_assert_int_eq(whole_stop(&s.w.agent), 0);
    whole_agent_start(&s.w);
    ck_assert(is_offline(&s.w));
    free(line);
    sealed_end(&s);
}
END_TEST

static void starts_not(const struct whole *w, const char *program, const char *json,
                       const char *words)
{
    char *file = whole_path(w, "open.json"), *out = whole_path(w, "open.log");
    const char *const argv[] = {program, "--config", file, NULL};
    struct spawn_options options = {.out_file = out};
    file_write_text(file, json);
    ck_assert_int_eq(spawn_wait(spawn(argv, &options), 0), 1);
    char *text = file_read(out, NULL);
    ck_assert_msg(strstr(text, words) != NULL, "\"%s\" is not in: %s", words, text);
    free(text);
    free(file);
    free(out);
}

START_TEST(nothing_is_open_to_a_network_in_plain)
{
    struct whole w;
    /* control, data, HTTP; what says how it may be */
    static const char *const open[][4] = {
        {"tcp://0.0.0.0", "tcp://127.0.0.1", "127.0.0.1", "skeind keygen"},
        {"tcp://127.0.0.1", "tcp://0.0.0.0", "127.0.0.1", "agents.insecure_plaintext_on_network"},
        {"tcp://127.0.0.1", "tcp://*", "127.0.0.1", "agents.insecure_plaintext_on_network"},
        {"tcp://127.0.0.1", "tcp://127.0.0.1", "0.0.0.0", "http.tls_certificate"},
        {"tcp://127.0.0.1", "tcp://127.0.0.1", "[::]", "http.insecure_plaintext_on_network"},
        {"tcp://127.0.0.1", "tcp://127.0.0.1", "*", "http.insecure_plaintext_on_network"},
    };
    char json[512];
    whole_init(&w, NULL, NULL);
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        snprintf(json, sizeof json,
                 "{\"listen\":{\"control\":\"%s:%u\",\"data\":\"%s:%u\",\"http\":\"%s:%u\"},"
                 "\"data_dir\":\"%s/open\"}",
                 open[i][0], w.control, open[i][1], w.data, open[i][2], w.http, w.folder);
        starts_not(&w, WHOLE_SKEIND, json, open[i][3]);
    }
    starts_not(&w, WHOLE_AGENT, "{\"collector\":{\"control\":\"tcp://192.0.2.1:7461\"}}",
               "collector.public_key");
    starts_not(&w, WHOLE_AGENT, "{\"collector\":{\"data\":\"tcp://127.evil.example:7460\"}}",
               "collector.public_key");
    whole_fini(&w);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("whole_sealed", agent_joins_by_a_token_and_a_capture_comes_sealed,
                 collector_that_starts_again_is_found_again, key_is_replaced_while_all_runs,
                 key_is_replaced_under_load_and_nothing_is_lost, revoked_agent_stays_outside,
                 nothing_is_open_to_a_network_in_plain, NULL));
}
