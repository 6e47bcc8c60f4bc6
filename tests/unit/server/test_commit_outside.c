/* SPDX-License-Identifier: Apache-2.0
 * A disk that hangs, or fails, under state.db: the control lock is free meanwhile, and nothing goes
 * out that rests on what is not committed. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "catalog.h"
#include "clock.h"
#include "collector_fixture.h"
#include "support.h"

/* ---- the disk: tests.cmake links catalog_commit to this ---- */

int __real_catalog_commit(struct catalog *c, struct db_batch *batch);
int __wrap_catalog_commit(struct catalog *c, struct db_batch *batch);

static pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
static bool hangs_, fails_;
static unsigned waiting_, failures_; /* the next so many fail, too */

int __wrap_catalog_commit(struct catalog *c, struct db_batch *batch)
{
    pthread_mutex_lock(&lock_);
    waiting_++;
    pthread_cond_broadcast(&changed_);
    while (hangs_)
        pthread_cond_wait(&changed_, &lock_);
    waiting_--;
    bool fails = fails_ || failures_ > 0;
    failures_ -= failures_ > 0;
    pthread_mutex_unlock(&lock_);
    return fails ? SKEIN_IO : __real_catalog_commit(c, batch);
}

static void disk_set(bool hangs, bool fails)
{
    pthread_mutex_lock(&lock_);
    hangs_ = hangs;
    fails_ = fails;
    pthread_cond_broadcast(&changed_);
    pthread_mutex_unlock(&lock_);
}

/* Lets the commit that hangs fail, and no later one. */
static void disk_fail_once(void)
{
    pthread_mutex_lock(&lock_);
    failures_ = 1;
    hangs_ = false;
    pthread_cond_broadcast(&changed_);
    pthread_mutex_unlock(&lock_);
}

static void disk_await(void)
{
    pthread_mutex_lock(&lock_);
    while (waiting_ == 0)
        pthread_cond_wait(&changed_, &lock_);
    pthread_mutex_unlock(&lock_);
}

/* ---- somebody who waits for an answer ---- */

#define BEGUN "0123456789abcdef0123456789abcdef" /* a capture, by an agent */

struct asker {
    struct fixture *f;
    const char *method, *path, *body; /* method NULL: the agent has begun one */
    long status;
    atomic_bool answered;
    pthread_t thread;
};

static void *ask(void *context)
{
    struct asker *a = context;
    struct http_response response = {0};
    if (a->method == NULL) {
        char error[256];
        cJSON *fired = wire_fired(&a->f->agent, BEGUN, 1, "", clock_realtime_ns());
        ck_assert(wire_agent_report(&a->f->agent, fired, error, sizeof error));
    } else {
        call(a->f, a->method, a->path, a->body, NULL, &response);
        a->status = response.status;
        http_response_fini(&response);
    }
    atomic_store(&a->answered, true);
    return NULL;
}

/* So that the commit which hangs is that of the question. */
static void save_all(const struct fixture *f)
{
    struct control *control = fleet_control(f->collector.fleet);
    control_lock(control);
    control_mark_dirty(control);
    ck_assert_int_eq(control_save(control), SKEIN_OK);
    control_unlock(control);
}

static void ask_too(struct asker *a)
{
    const struct timespec while_ = {.tv_nsec = 300000000};
    ck_assert_int_eq(pthread_create(&a->thread, NULL, ask, a), 0);
    disk_await();
    nanosleep(&while_, NULL);
    ck_assert(!atomic_load(&a->answered));
}

static void ask_while_it_hangs(struct asker *a)
{
    save_all(a->f);
    disk_set(true, false);
    ask_too(a);
}

static void let_go(struct asker *a)
{
    ck_assert(!atomic_load(&a->answered));
    disk_set(false, false);
    pthread_join(a->thread, NULL);
    ck_assert(atomic_load(&a->answered));
}

#define CAPTURE                                                                                    \
    "{\"selector\":\"service=shop\",\"pre_ms\":1000,\"post_ms\":0,\"reason\":\"a disk hangs\"}"

static void begin(struct fixture *f, char path[96])
{
    cJSON *json = call_json(f, "POST", "/api/v1/captures", CAPTURE, 202);
    snprintf(path, 96, "/api/v1/captures/%s", text_at(json, "capture"));
    cJSON_Delete(json);
}

static void captures_are(struct fixture *f, int count)
{
    cJSON *json = call_json(f, "GET", "/api/v1/captures", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), count);
    cJSON_Delete(json);
}

START_TEST(an_agent_is_heard_and_not_answered)
{
    struct fixture f;
    struct asker agent = {.f = &f};
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    ask_while_it_hangs(&agent);
    /* The lock is free, and the report was taken. */
    cJSON_Delete(call_json(&f, "GET", "/api/v1/captures/" BEGUN, NULL, 200));
    cJSON_Delete(call_json(&f, "GET", "/api/v1/rules", NULL, 200));
    let_go(&agent);
    fixture_stop(&f);
}
END_TEST

START_TEST(a_capture_is_begun_when_it_is_committed)
{
    struct fixture f;
    struct asker post = {.f = &f, .method = "POST", .path = "/api/v1/captures", .body = CAPTURE};
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    ask_while_it_hangs(&post);
    ck_assert_ptr_null(wire_agent_command(&f.agent, "capture", 300));
    cJSON_Delete(call_json(&f, "GET", "/api/v1/rules", NULL, 200));
    let_go(&post);
    ck_assert_int_eq(post.status, 202);
    cJSON *command = wire_agent_command(&f.agent, "capture", 5000);
    ck_assert_ptr_nonnull(command);
    cJSON_Delete(command);
    fixture_stop(&f);
}
END_TEST

START_TEST(a_capture_is_deleted_when_it_is_committed)
{
    char path[96];
    struct fixture f;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f, path);
    struct asker deletion = {.f = &f, .method = "DELETE", .path = path};
    ask_while_it_hangs(&deletion);
    cJSON_Delete(call_json(&f, "GET", path, NULL, 200));
    let_go(&deletion);
    ck_assert_int_eq(deletion.status, 204);
    expect_problem(&f, "GET", path, NULL, 404, NULL);
    captures_are(&f, 0);
    fixture_stop(&f);
}
END_TEST

START_TEST(a_rule_is_there_when_it_is_committed)
{
    struct fixture f;
    static const char rule[] = "{\"selector\":\"service=shop\",\"when\":{\"webhook\":{}},"
                               "\"capture\":{\"pre_ms\":1000,\"post_ms\":0}}";
    struct asker put = {.f = &f, .method = "PUT", .path = "/api/v1/rules/slow", .body = rule};
    fixture_start(&f);
    ask_while_it_hangs(&put);
    expect_problem(&f, "GET", "/api/v1/rules/slow", NULL, 404, NULL);
    let_go(&put);
    ck_assert_int_eq(put.status, 201);
    cJSON_Delete(call_json(&f, "GET", "/api/v1/rules/slow", NULL, 200));
    fixture_stop(&f);
}
END_TEST

START_TEST(what_cannot_be_committed_did_not_happen)
{
    char path[96];
    struct fixture f;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f, path);
    struct asker post = {.f = &f, .method = "POST", .path = "/api/v1/captures", .body = CAPTURE};
    struct asker deletion = {.f = &f, .method = "DELETE", .path = path};
    disk_set(false, true);
    (void)ask(&post);
    (void)ask(&deletion);
    disk_set(false, false);
    ck_assert_int_ge(post.status, 500);
    ck_assert_int_ge(deletion.status, 500);
    captures_are(&f, 1);
    fixture_restart(&f);
    captures_are(&f, 1);
    cJSON_Delete(call_json(&f, "GET", path, NULL, 200));
    fixture_stop(&f);
}
END_TEST

/* ---- two at once ---- */

#define RULE                                                                                       \
    "{\"selector\":\"service=shop\",\"when\":{\"webhook\":{}},"                                    \
    "\"capture\":{\"pre_ms\":1000,\"post_ms\":0}}"

START_TEST(a_replaced_rule_keeps_what_it_counts_meanwhile)
{
    struct fixture f;
    struct asker post = {.f = &f, .method = "POST", .path = "/api/v1/captures", .body = CAPTURE};
    struct asker put = {.f = &f, .method = "PUT", .path = "/api/v1/rules/slow", .body = RULE};
    struct asker fire = {.f = &f, .method = "POST", .path = "/api/v1/triggers/slow", .body = "{}"};
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    cJSON_Delete(call_json(&f, "PUT", "/api/v1/rules/slow", RULE, 201));
    ask_while_it_hangs(&post);
    ask_too(&put);
    ask_too(&fire);
    let_go(&post);
    pthread_join(put.thread, NULL);
    pthread_join(fire.thread, NULL);
    ck_assert_int_eq(put.status, 200);
    ck_assert_int_eq(fire.status, 202);
    fixture_restart(&f);
    cJSON *json = call_json(&f, "GET", "/api/v1/rules/slow", NULL, 200);
    ck_assert_double_eq(number_at(json, "state.fired"), 1);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(who_asks_again_to_forget_an_agent_is_not_told_so_before)
{
    struct fixture f;
    static const char path[] = "/api/v1/agents/0000000000000007";
    struct asker first = {.f = &f, .method = "DELETE", .path = path};
    struct asker second = {.f = &f, .method = "DELETE", .path = path};
    fixture_start(&f);
    ask_while_it_hangs(&first);
    ask_too(&second);
    disk_fail_once();
    pthread_join(first.thread, NULL);
    pthread_join(second.thread, NULL);
    ck_assert_int_ge(first.status, 500);
    ck_assert_int_eq(second.status, 204);
    expect_problem(&f, "GET", path, NULL, 404, NULL);
    fixture_stop(&f);
}
END_TEST

START_TEST(who_asks_again_to_stop_waits_as_well)
{
    char path[96], stop[112];
    struct fixture f;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f, path);
    snprintf(stop, sizeof stop, "%s:stop", path);
    struct asker first = {.f = &f, .method = "POST", .path = stop};
    struct asker second = {.f = &f, .method = "POST", .path = stop};
    ask_while_it_hangs(&first);
    ask_too(&second);
    let_go(&first);
    pthread_join(second.thread, NULL);
    ck_assert_int_eq(first.status, 202);
    ck_assert_int_eq(second.status, 200);
    fixture_stop(&f);
}
END_TEST

/* Names one more process, which the capture that is being begun takes. */
static void *list_more(void *context)
{
    struct fixture *f = context;
    wire_agent_processes(&f->agent, 2, 2, "shop");
    return NULL;
}

START_TEST(a_capture_that_was_not_begun_is_asked_of_nobody)
{
    static const char body[] = "{\"selector\":\"service=shop\",\"pre_ms\":1000,"
                               "\"post_ms\":60000,\"reason\":\"a disk fails\"}";
    const struct timespec while_ = {.tv_nsec = 300000000};
    struct fixture f;
    struct asker post = {.f = &f, .method = "POST", .path = "/api/v1/captures", .body = body};
    pthread_t agent;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    save_all(&f);
    disk_set(true, false);
    ck_assert_int_eq(pthread_create(&post.thread, NULL, ask, &post), 0);
    disk_await(); /* the control thread takes messages until its round ends, and waits, too */
    ck_assert_int_eq(pthread_create(&agent, NULL, list_more, &f), 0);
    nanosleep(&while_, NULL);
    disk_fail_once();
    pthread_join(post.thread, NULL);
    pthread_join(agent, NULL);
    ck_assert_int_ge(post.status, 500);
    ck_assert_ptr_null(wire_agent_command(&f.agent, "capture", 1500));
    captures_are(&f, 0);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("commit_outside");
    TCase *tests = tcase_create("commit_outside");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, an_agent_is_heard_and_not_answered);
    tcase_add_test(tests, a_capture_is_begun_when_it_is_committed);
    tcase_add_test(tests, a_capture_is_deleted_when_it_is_committed);
    tcase_add_test(tests, a_rule_is_there_when_it_is_committed);
    tcase_add_test(tests, what_cannot_be_committed_did_not_happen);
    tcase_add_test(tests, a_replaced_rule_keeps_what_it_counts_meanwhile);
    tcase_add_test(tests, who_asks_again_to_forget_an_agent_is_not_told_so_before);
    tcase_add_test(tests, who_asks_again_to_stop_waits_as_well);
    tcase_add_test(tests, a_capture_that_was_not_begun_is_asked_of_nobody);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
