/* SPDX-License-Identifier: Apache-2.0
 * Events in memory, and their watchers over HTTP. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "collector_fixture.h"
#include "events.h"
#include "process_labels.h"
#include "support.h"

static void publish(struct events *e, const char *type, const char *name,
                    const struct buf *processes)
{
    cJSON *data = cJSON_CreateObject();
    cJSON_AddStringToObject(data, "secret", "words");
    struct event_note note = {type, "capture", name, processes, data};
    events_publish(e, &note);
}

/* All that a watcher has to read now, as text. */
static void read_all(struct events_watch *w, struct buf *text)
{
    char part[1000];
    int64_t n;
    buf_clear(text);
    while ((n = events_watch_read(w, part, sizeof part)) > 0)
        buf_put(text, part, (size_t)n);
    ck_assert(n == HTTP_LATER);
    buf_put_u8(text, 0);
}

static bool has(const struct buf *text, const char *words)
{
    return strstr((const char *)text->data, words) != NULL;
}

static struct events_watch *watch(struct events *e, const struct events_query *query)
{
    struct events_watch *w;
    ck_assert_int_eq(events_watch_new(e, query, &w), SKEIN_OK);
    return w;
}

/* The number behind the last "id: ". */
static uint64_t last_id(const struct buf *text)
{
    const char *at = NULL, *next = (const char *)text->data;
    while ((next = strstr(next, "id: ")) != NULL)
        at = next++;
    ck_assert_ptr_nonnull(at);
    return strtoull(at + 4, NULL, 10);
}

START_TEST(watcher_hears_what_happens_after_it_came)
{
    struct events *e;
    struct buf text = {0};
    ck_assert_int_eq(events_new(4, &e), SKEIN_OK);
    publish(e, "capture.created", "before", NULL);
    struct events_watch *w = watch(e, &(struct events_query){0});
    read_all(w, &text);
    ck_assert(has(&text, "event: ready") && !has(&text, "before"));
    publish(e, "capture.created", "after", NULL);
    read_all(w, &text);
    ck_assert(has(&text, "event: capture.created") && has(&text, "\"capture\":\"after\""));
    ck_assert(has(&text, "\"secret\":\"words\""));
    read_all(w, &text);
    ck_assert_uint_eq(text.len, 1);
    buf_fini(&text);
    events_watch_free(w);
    events_free(&e);
}
END_TEST

START_TEST(watcher_that_comes_back_hears_what_it_missed)
{
    struct events *e;
    struct buf text = {0};
    ck_assert_int_eq(events_new(4, &e), SKEIN_OK);
    struct events_watch *w = watch(e, &(struct events_query){0});
    publish(e, "capture.created", "first", NULL);
    read_all(w, &text);
    uint64_t seen = last_id(&text);
    events_watch_free(w);
    publish(e, "capture.finished", "second", NULL);
    w = watch(e, &(struct events_query){.resume = true, .after = seen});
    read_all(w, &text);
    ck_assert(!has(&text, "first") && has(&text, "second") && !has(&text, "event: gap"));
    events_watch_free(w);

    /* An id from before all that is kept: a gap is told. One from nowhere: all there is. */
    w = watch(e, &(struct events_query){.resume = true, .after = 7});
    read_all(w, &text);
    ck_assert(has(&text, "event: gap") && has(&text, "first") && has(&text, "second"));
    events_watch_free(w);
    w = watch(e, &(struct events_query){.resume = true, .after = UINT64_MAX - 1});
    read_all(w, &text);
    ck_assert(has(&text, "first") && has(&text, "second"));
    events_watch_free(w);
    buf_fini(&text);
    events_free(&e);
}
END_TEST

START_TEST(slow_watcher_is_told_of_the_gap)
{
    struct events *e;
    struct buf text = {0};
    char name[16];
    ck_assert_int_eq(events_new(4, &e), SKEIN_OK);
    struct events_watch *w = watch(e, &(struct events_query){0});
    for (unsigned i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "n%u.", i);
        publish(e, "capture.created", name, NULL);
    }
    read_all(w, &text);
    ck_assert(has(&text, "event: gap"));
    ck_assert(!has(&text, "\"n903.\"") && has(&text, "\"n904.\"") && has(&text, "\"n4999.\""));
    buf_fini(&text);
    events_watch_free(w);
    events_free(&e);
}
END_TEST

static void put_process(struct buf *list, uint32_t pid, const char *service, const char *own)
{
    static const struct process_uid uid = {{0x5a}};
    struct process_labels labels = {service, "h", "/opt/x/shopd", own, pid, uid.bytes};
    process_labels_put(list, &labels);
}

START_TEST(confined_watcher_hears_only_of_its_own_and_no_details)
{
    struct events *e;
    struct buf text = {0}, processes = {0};
    ck_assert_int_eq(events_new(4, &e), SKEIN_OK);
    struct events_watch *w = watch(e, &(struct events_query){.selector_text = "tenant=a"});
    struct events_watch *typed =
        watch(e, &(struct events_query){.types = "rule.*,capture.deleted"});
    publish(e, "capture.created", "everybody", NULL);
    put_process(&processes, 7, "shop", "tenant=b");
    put_process(&processes, 9, "shop,tenant=a", "tier=front"); /* a name, whatever it says */
    publish(e, "capture.created", "theirs", &processes);
    put_process(&processes, 8, "shop", "tenant=a");
    publish(e, "capture.finished", "shared", &processes);
    publish(e, "capture.deleted", "gone", NULL);
    read_all(w, &text);
    ck_assert(has(&text, "shared") && !has(&text, "secret"));
    ck_assert(!has(&text, "theirs") && !has(&text, "everybody") && !has(&text, "gone"));
    read_all(typed, &text);
    ck_assert(has(&text, "gone") && !has(&text, "theirs") && !has(&text, "shared"));
    buf_fini(&text);
    buf_fini(&processes);
    events_watch_free(w);
    events_watch_free(typed);
    events_free(&e);
}
END_TEST

START_TEST(confined_watcher_is_matched_by_every_label_that_selectors_see)
{
    static const struct {
        const char *selector;
        bool hears;
    } watchers[] = {{"exe=shopd", true},
                    {"exe!=shopd", false},
                    {"exe", true},
                    {"!exe", false},
                    {"exe notin (shopd, other)", false},
                    {"service=shop", true},
                    {"service!=shop", false},
                    {"host in (h)", true},
                    {"pid=7", true},
                    {"pid!=7", false},
                    {"process=5a000000000000000000000000000000", true},
                    {"process!=5a000000000000000000000000000000", false},
                    {"tenant=a", true},
                    {"!tenant", false}};
    struct events *e;
    struct buf text = {0}, processes = {0};
    ck_assert_int_eq(events_new(1, &e), SKEIN_OK);
    put_process(&processes, 7, "shop", "tenant=a");
    for (size_t i = 0; i < sizeof watchers / sizeof watchers[0]; i++) {
        struct events_watch *w =
            watch(e, &(struct events_query){.selector_text = watchers[i].selector});
        publish(e, "capture.created", "it", &processes);
        read_all(w, &text);
        ck_assert_msg(has(&text, "\"it\"") == watchers[i].hears, "%s", watchers[i].selector);
        events_watch_free(w);
    }
    buf_fini(&text);
    buf_fini(&processes);
    events_free(&e);
}
END_TEST

START_TEST(watchers_are_counted_and_refused_above_the_limit)
{
    struct events *e;
    struct events_watch *w, *more;
    ck_assert_int_eq(events_new(1, &e), SKEIN_OK);
    w = watch(e, &(struct events_query){0});
    ck_assert_int_eq(events_watch_new(e, &(struct events_query){0}, &more), SKEIN_FULL);
    events_watch_free(w);
    ck_assert_int_eq(events_watch_new(e, &(struct events_query){.selector_text = "a in"}, &more),
                     SKEIN_INVALID);
    events_watch_free(watch(e, &(struct events_query){0}));
    events_free(&e);
}
END_TEST

START_TEST(quiet_watcher_gets_signs_of_life)
{
    struct events *e;
    struct buf text = {0};
    ck_assert_int_eq(events_new(1, &e), SKEIN_OK);
    struct events_watch *w = watch(e, &(struct events_query){0});
    read_all(w, &text);
    events_tick(e, UINT64_C(1) << 40);
    read_all(w, &text);
    ck_assert(has(&text, ": still here\nid: "));
    events_tick(e, (UINT64_C(1) << 40) + 1);
    read_all(w, &text);
    ck_assert_uint_eq(text.len, 1);
    buf_fini(&text);
    events_watch_free(w);
    events_free(&e);
}
END_TEST

/* ---- over HTTP ---- */

static int connect_watcher(const struct fixture *f, const char *query, const char *headers)
{
    char request[256];
    int fd = tcp_connect(f->http_port);
    ck_assert_int_ge(fd, 0);
    int n = snprintf(request, sizeof request,
                     "GET /api/v1/events%s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n", query, headers);
    ck_assert_int_eq(send(fd, request, (size_t)n, 0), n);
    return fd;
}

/* Reads until the words have come, and nothing before them that has `others` in it. */
static void expect_but(int fd, const char *words, const char *others)
{
    char text[65536];
    size_t n = 0;
    text[0] = '\0';
    while (strstr(text, words) == NULL) {
        struct pollfd p = {fd, POLLIN, 0};
        ck_assert_msg(poll(&p, 1, (int)support_deadline_ms()) == 1, "no \"%s\"", words);
        ssize_t got = recv(fd, text + n, sizeof text - 1 - n, 0);
        ck_assert_int_gt(got, 0);
        n += (size_t)got;
        text[n] = '\0';
    }
    ck_assert_msg(others == NULL || strstr(text, others) == NULL, "%s", text);
}

static void expect_words(int fd, const char *words)
{
    expect_but(fd, words, NULL);
}

#define WATCHERS 40 /* more than the server has threads */

START_TEST(watchers_wait_without_holding_the_server)
{
    struct fixture f;
    int fds[WATCHERS];
    fixture_start(&f);
    for (unsigned i = 0; i < WATCHERS; i++) {
        fds[i] = connect_watcher(&f, "", "");
        expect_words(fds[i], "event: ready");
    }
    for (unsigned round = 0; round < 3; round++) {
        char name[16];
        snprintf(name, sizeof name, "round%u", round);
        cJSON_Delete(call_json(&f, "GET", "/api/v1/agents", NULL, 200));
        publish(f.collector.events, "capture.created", name, NULL);
        for (unsigned i = 0; i < WATCHERS; i++)
            expect_words(fds[i], name);
    }
    for (unsigned i = 0; i < WATCHERS / 2; i++)
        close(fds[i]);
    publish(f.collector.events, "capture.created", "last", NULL);
    expect_words(fds[WATCHERS - 1], "last");
    fixture_stop(&f); /* ends those that wait */
    for (unsigned i = WATCHERS / 2; i < WATCHERS; i++)
        close(fds[i]);
}
END_TEST

START_TEST(life_of_a_capture_is_told)
{
    static const char id[] = "000000000000000000000000000000c1";
    struct fixture f;
    struct buf processes = {0};
    char error[256], path[96];
    fixture_start(&f);
    int fd = connect_watcher(&f, "?selector=exe%3Dsvc", ""); /* the base name of its program */
    int others = connect_watcher(&f, "?selector=exe%21%3Dsvc", "");
    expect_words(fd, "event: ready");
    expect_words(others, "event: ready");
    wire_agent_processes(&f.agent, 1, 1, "svc");
    ck_assert(wire_agent_report(&f.agent, wire_fired(&f.agent, id, 1, NULL, clock_realtime_ns()),
                                error, sizeof error));
    expect_words(fd, "event: capture.created");
    wire_agent_upload(&f.agent, 1, 0, id, 0);
    ck_assert(wire_agent_report(&f.agent, wire_target(&f.agent, id, 1, "uploading", 1, 1), error,
                                sizeof error));
    expect_words(fd, "event: capture.finished");
    snprintf(path, sizeof path, "/api/v1/captures/%s", id);
    struct http_response deleted;
    call(&f, "DELETE", path, NULL, NULL, &deleted);
    ck_assert_int_eq(deleted.status, 204);
    http_response_fini(&deleted);
    expect_words(fd, "event: capture.deleted");
    put_process(&processes, 9, "shop", "");
    publish(f.collector.events, "capture.created", "no-svc", &processes);
    expect_but(others, "no-svc", id);
    buf_fini(&processes);
    close(others);
    close(fd);
    fixture_stop(&f);
}
END_TEST

START_TEST(last_event_id_is_taken_from_the_header)
{
    struct fixture f;
    fixture_start(&f);
    publish(f.collector.events, "capture.created", "missed", NULL);
    int fd = connect_watcher(&f, "", "Last-Event-ID: 1\r\n");
    expect_words(fd, "missed");
    close(fd);
    expect_problem(&f, "GET", "/api/v1/events?after=x", NULL, 400, "after");
    expect_problem(&f, "GET", "/api/v1/events?selector=a%20in", NULL, 400, "selector");
    expect_problem(&f, "GET", "/api/v1/events?what=x", NULL, 400, "what");
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("events", watcher_hears_what_happens_after_it_came,
                 watcher_that_comes_back_hears_what_it_missed, slow_watcher_is_told_of_the_gap,
                 confined_watcher_hears_only_of_its_own_and_no_details,
                 confined_watcher_is_matched_by_every_label_that_selectors_see,
                 watchers_are_counted_and_refused_above_the_limit, quiet_watcher_gets_signs_of_life,
                 watchers_wait_without_holding_the_server, last_event_id_is_taken_from_the_header,
                 life_of_a_capture_is_told, NULL));
}
