/* SPDX-License-Identifier: Apache-2.0
 * Notices of rules, and a receiver that takes, refuses or keeps silent about them. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "collector_fixture.h"
#include "json.h"
#include "support.h"

#define PATH      "/api/v1/rules/ping"
#define TAKEN_MAX 16

static int64_t ahead_s; /* atomic; of the true time */

/* Takes the C library's place. */
int clock_gettime(clockid_t id, struct timespec *now)
{
    long status = syscall(SYS_clock_gettime, id, now);
    if (status == 0 && id == CLOCK_REALTIME)
        now->tv_sec += __atomic_load_n(&ahead_s, __ATOMIC_RELAXED);
    return (int)status;
}

/* Answers one connection at a time with `status`; 0: with nothing, until the client leaves. */
struct receiver {
    int fd;
    uint16_t port;
    pthread_t thread;
    pthread_mutex_t lock;
    int status;
    unsigned refused;
    char *taken[TAKEN_MAX]; /* requests answered with 200 */
    size_t count;
};

/* A whole request with its body; false where the client left first. */
static bool read_request(int fd, struct buf *request)
{
    for (;;) {
        buf_put_u8(request, 0);
        const char *text = (const char *)request->data, *body = strstr(text, "\r\n\r\n");
        const char *length = strstr(text, "Content-Length: ");
        request->len--;
        if (body != NULL && length != NULL &&
            request->len - (size_t)(body + 4 - text) >= strtoul(length + 16, NULL, 10))
            return true;
        ssize_t got = recv(fd, buf_reserve(request, 4096), 4096, 0);
        if (got <= 0)
            return false;
        request->len += (size_t)got;
    }
}

static void answer(struct receiver *r, int fd, const struct buf *request)
{
    char text[96];
    pthread_mutex_lock(&r->lock);
    int status = r->status;
    if (status == 200 && r->count < TAKEN_MAX)
        r->taken[r->count++] = strdup((const char *)request->data);
    r->refused += status != 200;
    pthread_mutex_unlock(&r->lock);
    if (status == 0) {
        while (recv(fd, text, sizeof text, 0) > 0)
            continue;
        return;
    }
    int n = snprintf(text, sizeof text, "HTTP/1.1 %d Word\r\nContent-Length: 0\r\n\r\n", status);
    (void)!send(fd, text, (size_t)n, MSG_NOSIGNAL);
}

static void *receive(void *context)
{
    struct receiver *r = context;
    for (int fd; (fd = accept(r->fd, NULL, NULL)) >= 0; close(fd)) {
        struct buf request = {0};
        if (read_request(fd, &request))
            answer(r, fd, &request);
        buf_fini(&request);
    }
    return NULL;
}

static void receiver_start(struct receiver *r, int status)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    *r = (struct receiver){.status = status};
    pthread_mutex_init(&r->lock, NULL);
    r->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(r->fd, (struct sockaddr *)&a, n), 0);
    ck_assert_int_eq(listen(r->fd, 16), 0);
    ck_assert_int_eq(getsockname(r->fd, (struct sockaddr *)&a, &n), 0);
    r->port = ntohs(a.sin_port);
    ck_assert_int_eq(pthread_create(&r->thread, NULL, receive, r), 0);
}

static void receiver_stop(struct receiver *r)
{
    shutdown(r->fd, SHUT_RDWR);
    pthread_join(r->thread, NULL);
    close(r->fd);
    for (size_t i = 0; i < r->count; i++)
        free(r->taken[i]);
}

static void receiver_answer(struct receiver *r, int status)
{
    pthread_mutex_lock(&r->lock);
    r->status = status;
    pthread_mutex_unlock(&r->lock);
}

struct expected {
    struct receiver *receiver;
    size_t taken;
    unsigned refused;
};

static bool has_heard(void *context)
{
    struct expected *e = context;
    pthread_mutex_lock(&e->receiver->lock);
    bool heard = e->receiver->count >= e->taken && e->receiver->refused >= e->refused;
    pthread_mutex_unlock(&e->receiver->lock);
    return heard;
}

static void wait_heard(struct receiver *r, size_t taken, unsigned refused)
{
    struct expected e = {r, taken, refused};
    ck_assert_msg(wait_until(has_heard, &e, 0), "%zu taken, %u refused", r->count, r->refused);
}

/* The body of the nth request that was taken; the caller's. */
static cJSON *body_of(const struct receiver *r, size_t n)
{
    char error[128];
    const char *body = strstr(r->taken[n], "\r\n\r\n") + 4;
    cJSON *json = json_parse(body, strlen(body), error, sizeof error);
    ck_assert_msg(json != NULL, "%s: %s", error, body);
    return json;
}

static void put_rule(struct fixture *f, const struct receiver *r, const char *name, long status)
{
    char path[64], rule[512];
    snprintf(path, sizeof path, "/api/v1/rules/%s", name);
    snprintf(rule, sizeof rule,
             "{\"selector\":\"service=shop\",\"when\":{\"crash\":{}},\"notify\":{\"webhook\":{"
             "\"url\":\"http://127.0.0.1:%u/hook\",\"headers\":{\"X-Team\":\"pager 7\"}}}}",
             r->port);
    cJSON_Delete(call_json(f, "PUT", path, rule, status));
}

static void fire(struct fixture *f, const char *rule, const char *id, uint32_t process)
{
    char error[256];
    ck_assert_msg(wire_agent_report(&f->agent,
                                    wire_fired(&f->agent, id, process, rule, clock_realtime_ns()),
                                    error, sizeof error),
                  "%s", error);
}

START_TEST(receiver_hears_when_a_capture_begins_and_what_became_of_it)
{
    struct fixture f;
    struct receiver r;
    char error[256], header[64];
    const char *id = "01a100000000000000000000000000a1";
    receiver_start(&r, 200);
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    put_rule(&f, &r, "ping", 201);
    fire(&f, "ping", id, 1);
    wait_heard(&r, 1, 0);
    cJSON *begun = body_of(&r, 0);
    ck_assert_str_eq(text_at(begun, "event"), "rule.fired");
    ck_assert_str_eq(text_at(begun, "rule"), "ping");
    ck_assert_str_eq(text_at(begun, "capture.capture"), id);
    ck_assert_str_eq(text_at(begun, "capture.status"), "running");
    ck_assert_ptr_null(at_path(begun, "capture.url")); /* nobody has said where it is */
    snprintf(header, sizeof header, "Skein-Notice: %s\r\n", text_at(begun, "id"));
    ck_assert_ptr_nonnull(strstr(r.taken[0], header));
    ck_assert_ptr_nonnull(strstr(r.taken[0], "X-Team: pager 7\r\n"));
    ck_assert_ptr_nonnull(strstr(r.taken[0], "POST /hook "));
    ck_assert(wire_agent_report(&f.agent, wire_target(&f.agent, id, 1, "uploading", 1, 1), error,
                                sizeof error));
    ck_assert_int_eq(wire_agent_upload(&f.agent, 1, 0, id, 0), WIRE_STORED);
    wait_heard(&r, 2, 0);
    cJSON *ended = body_of(&r, 1);
    ck_assert_str_eq(text_at(ended, "event"), "capture.finished");
    ck_assert(cJSON_IsTrue(at_path(ended, "capture.verdict.complete")));
    ck_assert_str_ne(text_at(ended, "id"), text_at(begun, "id"));
    cJSON_Delete(begun);
    cJSON_Delete(ended);
    cJSON *rule = call_json(&f, "GET", PATH, NULL, 200);
    ck_assert_str_ne(text_at(rule, "state.notify.last_delivery"), "");
    ck_assert_ptr_null(at_path(rule, "state.notify.last_error"));
    cJSON_Delete(rule);
    fixture_stop(&f);
    receiver_stop(&r);
}
END_TEST

START_TEST(a_notice_is_not_old_because_the_clock_was_set_forward)
{
    struct fixture f;
    struct receiver r;
    receiver_start(&r, 503);
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    put_rule(&f, &r, "ping", 201);
    fire(&f, "ping", "01a100000000000000000000000000a9", 1);
    wait_heard(&r, 0, 1);
    __atomic_store_n(&ahead_s, 3 * 24 * 3600, __ATOMIC_RELAXED);
    wait_heard(&r, 0, 3);
    receiver_answer(&r, 200);
    wait_heard(&r, 1, 3);
    fixture_stop(&f);
    receiver_stop(&r);
}
END_TEST

START_TEST(notices_and_captures_link_to_the_page_where_its_name_is_set)
{
    struct fixture f;
    struct receiver r;
    const char *id = "01a100000000000000000000000000a2";
    char path[96], url[96];
    receiver_start(&r, 200);
    fixture_start_with(&f, NULL,
                       ",\"http\":{\"drain_ms\":2000,\"threads\":2,"
                       "\"public_url\":\"https://skein.example:8443\"}");
    wire_agent_processes(&f.agent, 1, 1, "shop");
    put_rule(&f, &r, "ping", 201);
    fire(&f, "ping", id, 1);
    wait_heard(&r, 1, 0);
    snprintf(url, sizeof url, "https://skein.example:8443/captures/%s", id);
    cJSON *begun = body_of(&r, 0);
    ck_assert_str_eq(text_at(begun, "capture.url"), url);
    cJSON_Delete(begun);
    cJSON *list = call_json(&f, "GET", "/api/v1/captures", NULL, 200);
    ck_assert_str_eq(text_at(list, "items.0.url"), url);
    cJSON_Delete(list);
    static const struct {
        const char *method, *rest, *body;
    } calls[] = {{"GET", "", NULL}, {"PATCH", "", "{\"pin\":true}"}, {"POST", ":stop", NULL}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        snprintf(path, sizeof path, "/api/v1/captures/%s%s", id, calls[i].rest);
        cJSON *json = call_json(&f, calls[i].method, path, calls[i].body, i == 2 ? 202 : 200);
        ck_assert_str_eq(text_at(json, "url"), url);
        cJSON_Delete(json);
    }
    cJSON *made = call_json(&f, "POST", "/api/v1/captures", "{\"selector\":\"service=shop\"}", 202);
    snprintf(url, sizeof url, "https://skein.example:8443/captures/%s", text_at(made, "capture"));
    ck_assert_str_eq(text_at(made, "url"), url);
    cJSON_Delete(made);
    fixture_stop(&f);
    receiver_stop(&r);
}
END_TEST

START_TEST(notice_outlives_a_failing_receiver_and_a_restart)
{
    struct fixture f;
    struct receiver r;
    receiver_start(&r, 503);
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    put_rule(&f, &r, "ping", 201);
    fire(&f, "ping", "01a100000000000000000000000000a1", 1);
    wait_heard(&r, 0, 2);
    wait_for_text(&f, PATH, "state.notify.last_error", "the receiver answered with status 503");
    cJSON *rule = call_json(&f, "GET", PATH, NULL, 200);
    ck_assert_double_eq(number_at(rule, "state.notify.pending"), 1);
    cJSON_Delete(rule);
    fixture_restart(&f);
    receiver_answer(&r, 200);
    wait_heard(&r, 1, 2);
    cJSON *notice = body_of(&r, 0);
    ck_assert_str_eq(text_at(notice, "event"), "rule.fired");
    cJSON_Delete(notice);
    fixture_stop(&f);
    receiver_stop(&r);
}
END_TEST

START_TEST(silent_receiver_holds_up_nobody)
{
    struct fixture f;
    struct receiver silent, other;
    receiver_start(&silent, 0);
    receiver_start(&other, 200);
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    put_rule(&f, &silent, "ping", 201);
    put_rule(&f, &other, "pong", 201);
    fire(&f, "ping", "01a100000000000000000000000000a1", 1);
    wait_heard(&silent, 0, 1);
    /* Reports are answered, and the other rule's receiver gets its turn. */
    fire(&f, "pong", "01a100000000000000000000000000a2", 2);
    wait_heard(&other, 1, 0);
    fixture_stop(&f);
    receiver_stop(&silent);
    receiver_stop(&other);
}
END_TEST

START_TEST(notices_go_with_the_receiver)
{
    struct fixture f;
    struct receiver r;
    receiver_start(&r, 500);
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    put_rule(&f, &r, "ping", 201);
    fire(&f, "ping", "01a100000000000000000000000000a1", 1);
    wait_heard(&r, 0, 1);
    cJSON *rule =
        call_json(&f, "PUT", PATH, "{\"selector\":\"service=shop\",\"when\":{\"crash\":{}}}", 200);
    ck_assert_ptr_null(at_path(rule, "state.notify"));
    cJSON_Delete(rule);
    put_rule(&f, &r, "ping", 200);
    rule = call_json(&f, "GET", PATH, NULL, 200);
    ck_assert_double_eq(number_at(rule, "state.notify.pending"), 0);
    cJSON_Delete(rule);
    fixture_stop(&f);
    receiver_stop(&r);
}
END_TEST

/* A token of the scope, as a header. */
static void token(struct fixture *f, const char *body, char *header, size_t bytes, const char *as)
{
    struct http_response response;
    char error[64];
    call(f, "POST", "/api/v1/tokens", body, as, &response);
    cJSON *json =
        json_parse((const char *)response.body.data, response.body.len, error, sizeof error);
    ck_assert_int_eq(response.status, 201);
    snprintf(header, bytes, "Authorization: Bearer %s", text_at(json, "secret"));
    cJSON_Delete(json);
    http_response_fini(&response);
}

START_TEST(secrets_of_a_receiver_are_hidden_from_who_may_not_set_them)
{
    struct fixture f;
    struct http_response response;
    char admin[160], viewer[160];
    const struct receiver nobody = {.port = 1};
    fixture_start(&f);
    put_rule(&f, &nobody, "ping", 201);
    token(&f, "{\"name\":\"a\",\"scope\":\"admin\"}", admin, sizeof admin, NULL);
    token(&f, "{\"name\":\"v\",\"scope\":\"viewer\"}", viewer, sizeof viewer, admin);
    static const char *const paths[] = {PATH, "/api/v1/rules"};
    for (size_t i = 0; i < 2; i++) {
        call(&f, "GET", paths[i], NULL, admin, &response);
        buf_put_u8(&response.body, 0);
        ck_assert_ptr_nonnull(strstr((char *)response.body.data, "\"X-Team\":\"pager 7\""));
        http_response_fini(&response);
        call(&f, "GET", paths[i], NULL, viewer, &response);
        buf_put_u8(&response.body, 0);
        ck_assert_ptr_nonnull(strstr((char *)response.body.data, "\"X-Team\":\"hidden\""));
        ck_assert_ptr_nonnull(strstr((char *)response.body.data, "\"http://127.0.0.1:1/hidden\""));
        http_response_fini(&response);
    }
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("notify", receiver_hears_when_a_capture_begins_and_what_became_of_it,
                              a_notice_is_not_old_because_the_clock_was_set_forward,
                              notices_and_captures_link_to_the_page_where_its_name_is_set,
                              notice_outlives_a_failing_receiver_and_a_restart,
                              silent_receiver_holds_up_nobody, notices_go_with_the_receiver,
                              secrets_of_a_receiver_are_hidden_from_who_may_not_set_them, NULL));
}
