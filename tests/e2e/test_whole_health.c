/* SPDX-License-Identifier: Apache-2.0
 *
 * Health rules of each kind beside the real daemons: the target of the check begins to fail while
 * the collector is down, the agent captures at once by itself, and the capture with its partitions
 * is at the collector once that is back. And a hundred services that one request captures.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "whole.h"

enum { KINDS = 4, SERVICES = 100 };
static const char *const kinds[KINDS] = {"exec", "http", "tcp", "unix"};

/* ---- what is checked: a program that test runs as itself ---- */

/* Listens and, for http, answers 200 to everybody. Ended by a signal: then nobody listens. */
static int listener_main(const char *kind, const char *where)
{
    int fd;
    if (strcmp(kind, "unix") == 0) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        (void)snprintf(a.sun_path, sizeof a.sun_path, "%s", where);
        fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (bind(fd, (struct sockaddr *)&a, sizeof a) != 0)
            return 1;
    } else {
        struct sockaddr_in a = {.sin_family = AF_INET};
        int on = 1;
        a.sin_port = htons((uint16_t)strtoul(where, NULL, 10));
        a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        fd = socket(AF_INET, SOCK_STREAM, 0);
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (bind(fd, (struct sockaddr *)&a, sizeof a) != 0)
            return 1;
    }
    if (listen(fd, 16) != 0)
        return 1;
    for (;;) {
        static const char answer[] =
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        char request[1024];
        int peer = accept(fd, NULL, NULL);
        if (peer < 0)
            continue;
        if (strcmp(kind, "http") == 0 && recv(peer, request, sizeof request, 0) > 0)
            (void)!send(peer, answer, sizeof answer - 1, MSG_NOSIGNAL);
        close(peer);
    }
}

struct subject {
    char where[160]; /* port or path; exec: a file that must exist */
    pid_t listener;  /* 0 for exec */
};

static void subject_start(const char *folder, const char *kind, struct subject *subject)
{
    *subject = (struct subject){.listener = 0};
    if (strcmp(kind, "exec") == 0 || strcmp(kind, "unix") == 0)
        (void)snprintf(subject->where, sizeof subject->where, "%s/%s.target", folder, kind);
    else
        (void)snprintf(subject->where, sizeof subject->where, "%u", free_port());
    if (strcmp(kind, "exec") == 0) {
        file_write_text(subject->where, "healthy");
        return;
    }
    const char *const argv[] = {"/proc/self/exe", "listen", kind, subject->where, NULL};
    subject->listener = spawn(argv, NULL);
}

static void subject_fail(struct subject *subject)
{
    if (subject->listener > 0)
        (void)spawn_stop(subject->listener, SIGKILL, 0);
    else
        ck_assert_int_eq(unlink(subject->where), 0);
    subject->listener = 0;
}

/* ---- rules ---- */

static void check_put(struct buf *body, const char *kind, const char *where)
{
    if (strcmp(kind, "exec") == 0)
        buf_printf(body, "{\"command\":[\"test\",\"-e\",\"%s\"]}", where);
    else if (strcmp(kind, "http") == 0)
        buf_printf(body, "{\"url\":\"http://127.0.0.1:%s/\"}", where);
    else if (strcmp(kind, "tcp") == 0)
        buf_printf(body, "{\"address\":\"127.0.0.1:%s\"}", where);
    else
        buf_printf(body, "{\"path\":\"%s\"}", where);
}

static void rule_put(const struct whole *w, const char *kind, const char *where)
{
    char path[64];
    struct buf body = {0}, answer = {0};
    (void)snprintf(path, sizeof path, "/api/v1/rules/check-%s", kind);
    buf_printf(&body,
               "{\"name\":\"check-%s\",\"selector\":\"service=web\",\"when\":{\"health\":{"
               "\"every_ms\":200,\"timeout_ms\":5000,\"failures\":1,\"%s\":",
               kind, kind);
    check_put(&body, kind, where);
    buf_printf(&body, "}},\"capture\":{\"pre_ms\":2000,\"post_ms\":100},"
                      "\"limits\":{\"cooldown_ms\":0}}");
    buf_put_u8(&body, 0);
    int status = whole_http(w, "PUT", path, (const char *)body.data, &answer);
    ck_assert_msg(status == 201, "PUT %s: %d %.*s", path, status, (int)answer.len,
                  answer.data ? (const char *)answer.data : "");
    buf_fini(&body);
    buf_fini(&answer);
}

struct rule_wait {
    const struct whole *w;
    const char *kind;
};

static bool is_passing(void *context)
{
    const struct rule_wait *wait = context;
    cJSON *rule = whole_get(wait->w, "/api/v1/rules/check-%s", wait->kind);
    const cJSON *state = cJSON_GetObjectItemCaseSensitive(rule, "state");
    const cJSON *process =
        cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(state, "processes"), 0);
    bool passing = process && strcmp(whole_str(process, "health"), "passing") == 0;
    cJSON_Delete(rule);
    return passing;
}

/* ---- the captures ---- */

struct log_wait {
    const struct whole *w;
    const char *words;
    size_t count;
};

static bool log_says(void *context)
{
    const struct log_wait *wait = context;
    char *path = whole_path(wait->w, "agent.log");
    char *text = file_read(path, NULL);
    size_t count = 0;
    for (const char *p = text; p && (p = strstr(p, wait->words)); p++)
        count++;
    free(text);
    free(path);
    return count >= wait->count;
}

struct found {
    const struct whole *w;
    unsigned by_kind[KINDS];
};

static void take_capture(void *context, const cJSON *item)
{
    struct found *found = context;
    const cJSON *trigger = cJSON_GetObjectItemCaseSensitive(item, "trigger");
    if (strcmp(whole_str(trigger, "type"), "health") != 0)
        return;
    cJSON *capture = whole_capture_final(found->w, whole_str(item, "capture"));
    ck_assert_str_eq(whole_str(capture, "status"), "complete");
    char path[128];
    struct buf bytes = {0};
    struct tally tally;
    (void)snprintf(path, sizeof path, "/api/v1/captures/%s/trace", whole_str(item, "capture"));
    ck_assert_int_eq(whole_http(found->w, "GET", path, NULL, &bytes), 200);
    tally_trace(&bytes, &tally);
    ck_assert_uint_gt(tally.events, 0);
    ck_assert_uint_eq(tally.threads[0].holes, 0);
    buf_fini(&bytes);
    for (int i = 0; i < KINDS; i++)
        found->by_kind[i] += strcmp(whole_str(trigger, "rule") + strlen("check-"), kinds[i]) == 0;
    cJSON_Delete(capture);
}

static bool all_reported(void *context)
{
    struct found *found = context;
    unsigned got = 0;
    memset(found->by_kind, 0, sizeof found->by_kind);
    (void)whole_list(found->w, "/api/v1/captures", take_capture, found);
    for (int i = 0; i < KINDS; i++)
        got += found->by_kind[i] > 0;
    return got == KINDS;
}

START_TEST(checks_that_fail_while_the_collector_is_down_are_captured_at_once)
{
    struct whole w;
    struct load load;
    struct subject subjects[KINDS];
    struct load_options options = {.service = "web", .threads = 1, .burst = 5, .pause_us = 1000};
    char agent[256], *open_folder = temp_dir_new();
    ck_assert_int_eq(chmod(open_folder, 0755),
                     0); /* where the agent is root, its check is nobody */
    snprintf(agent, sizeof agent, "\"checks\":{\"exec_allow\":[\"test -e %s/exec.target\"]}",
             open_folder);
    whole_init(&w, NULL, agent);
    whole_collector_start(&w);
    whole_agent_start(&w);
    load_start(&w, &options, &load);
    load_wait_attached(&load);
    whole_wait_live(&w, "service%3Dweb", 1);
    for (int i = 0; i < KINDS; i++) {
        subject_start(strcmp(kinds[i], "exec") == 0 ? open_folder : w.folder, kinds[i],
                      &subjects[i]);
        rule_put(&w, kinds[i], subjects[i].where);
    }
    for (int i = 0; i < KINDS; i++) {
        struct rule_wait wait = {&w, kinds[i]};
        ck_assert_msg(wait_until(is_passing, &wait, 0), "check-%s does not pass: see %s", kinds[i],
                      w.folder);
    }
    whole_kill(&w.collector);
    for (int i = 0; i < KINDS; i++)
        subject_fail(&subjects[i]);
    /* Nobody but the agent can have seen to it: the collector is dead until all are in the spool.
     */
    struct log_wait done = {&w, "state=uploading", KINDS};
    ck_assert_msg(wait_until(log_says, &done, 0), "the agent does not capture: see %s", w.folder);
    whole_collector_start(&w);
    struct found found = {.w = &w};
    ck_assert_msg(wait_until(all_reported, &found, 0), "captures by kind: %u %u %u %u: see %s",
                  found.by_kind[0], found.by_kind[1], found.by_kind[2], found.by_kind[3], w.folder);
    for (int i = 0; i < KINDS; i++)
        ck_assert_uint_eq(found.by_kind[i], 1);
    load_free(&load);
    whole_wait_drained(&w);
    whole_fini(&w);
    temp_dir_free(&open_folder);
}
END_TEST

START_TEST(a_hundred_services_are_captured_by_one_request)
{
    struct whole w;
    static struct load loads[SERVICES];
    char service[32], id[ID_TEXT_BYTES];
    whole_init(&w, NULL, "\"ring\":{\"bytes\":262144}");
    whole_collector_start(&w);
    whole_agent_start(&w);
    for (int i = 0; i < SERVICES; i++) {
        (void)snprintf(service, sizeof service, "svc-%d", i);
        struct load_options options = {
            .service = service, .threads = 1, .burst = 1, .pause_us = 20000};
        load_start(&w, &options, &loads[i]);
    }
    for (int i = 0; i < SERVICES; i++) {
        load_wait_attached(&loads[i]);
        load_wait_events(&loads[i], 5);
    }
    whole_wait_live(&w, "pid", SERVICES);
    struct capture_id capture =
        whole_capture(&w, "{\"selector\":\"pid\",\"pre_ms\":5000,\"post_ms\":200}");
    id_text(capture.bytes, id);
    cJSON *json = whole_capture_final(&w, id);
    const cJSON *counts = cJSON_GetObjectItemCaseSensitive(json, "target_counts");
    char *text = cJSON_PrintUnformatted(counts);
    ck_assert_msg(strcmp(whole_str(json, "status"), "complete") == 0, "%s: see %s", text, w.folder);
    ck_assert_int_eq((int)whole_number(counts, "complete"), SERVICES);
    free(text);
    cJSON_Delete(json);
    for (int i = 0; i < SERVICES; i++)
        load_free(&loads[i]);
    whole_fini(&w);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "listen") == 0)
        return listener_main(argv[2], argv[3]);
    return suite_run(suite_of("whole_health",
                              checks_that_fail_while_the_collector_is_down_are_captured_at_once,
                              a_hundred_services_are_captured_by_one_request, NULL));
}
