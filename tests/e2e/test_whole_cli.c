/* SPDX-License-Identifier: Apache-2.0
 *
 * `skein` as people and scripts use it, against the real daemons and a traced program. One thread.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "whole.h"

static struct whole w;
static struct load load;
static char *out, collector[64];
static const char *variable; /* one more in the environment, or NULL */

static void set_up(void)
{
    whole_init(&w, NULL, NULL);
    whole_collector_start(&w);
    whole_agent_start(&w);
    load_start(&w,
               &(struct load_options){
                   .service = "shop/front", .threads = 2, .burst = 20, .pause_us = 2000},
               &load);
    load_wait_attached(&load);
    whole_wait_live(&w, "service%3Dshop%2Ffront", 1);
    out = whole_path(&w, "out");
    (void)snprintf(collector, sizeof collector, "SKEIN_COLLECTOR=http://127.0.0.1:%u", w.http);
}

static void tear_down(void)
{
    load_free(&load);
    whole_fini(&w);
    free(out);
}

static pid_t start(const char *const *words)
{
    const char *argv[24] = {SKEIN_PROGRAM};
    for (size_t n = 0; words[n]; n++)
        argv[n + 1] = words[n];
    (void)remove(out); /* spawn() appends */
    struct spawn_options options = {.env = (const char *const[]){collector, variable, NULL},
                                    .folder = w.folder,
                                    .out_file = out};
    return spawn(argv, &options);
}

/* Standard output and error, freed by the caller. */
static char *output(void)
{
    char *text = file_read(out, NULL);
    ck_assert_ptr_nonnull(text);
    return text;
}

static void expect(int status, const char *const *words)
{
    int got = spawn_wait(start(words), 0);
    char *text = output();
    ck_assert_msg(got == status, "skein %s %s: %d instead of %d: %s", words[0], words[1], got,
                  status, text);
    free(text);
}
#define EXPECT(status, ...) expect(status, (const char *const[]){__VA_ARGS__, NULL})

/* What a command that must succeed prints, as JSON; freed by the caller. */
static cJSON *printed(const char *const *words)
{
    expect(0, words);
    char *text = output();
    cJSON *json = cJSON_Parse(text);
    ck_assert_msg(json != NULL, "skein %s prints no JSON: %s", words[0], text);
    free(text);
    return json;
}
#define PRINTED(...) printed((const char *const[]){__VA_ARGS__, NULL})

static const cJSON *at(const cJSON *object, const char *name)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
    ck_assert_msg(member != NULL, "no member %s", name);
    return member;
}

/* Takes a snapshot; its id is written into id[33]. */
static void snapshot_id(char *id)
{
    cJSON *capture = PRINTED("snapshot", "-l", "service=shop/front", "--pre", "1s", "--json");
    ck_assert_str_eq(whole_str(capture, "status"), "complete");
    (void)snprintf(id, 33, "%s", whole_str(capture, "capture"));
    cJSON_Delete(capture);
}

/* As many digits of an id as tell it from the other. */
static const char *enough_of(const char *id, const char *other)
{
    static char text[33];
    size_t n = 0;
    while (id[n] == other[n])
        n++;
    (void)snprintf(text, sizeof text, "%.*s", (int)(n + 1 < 4 ? 4 : n + 1), id);
    return text;
}

START_TEST(the_first_digits_of_an_id_are_enough)
{
    char id[33], other[33], both[5], agent[17];
    snapshot_id(id);
    snapshot_id(other);
    cJSON *capture = PRINTED("capture", "show", enough_of(id, other), "-o", "json");
    ck_assert_str_eq(whole_str(capture, "capture"), id);
    cJSON_Delete(capture);
    EXPECT(0, "fetch", enough_of(other, id), "-o", "other.skein");
    EXPECT(0, "what", enough_of(other, id));
    cJSON *report =
        PRINTED("report", enough_of(other, id), "--json"); /* with what the collector knows */
    const cJSON *judged = cJSON_GetArrayItem(cJSON_GetObjectItem(report, "captures"), 0);
    ck_assert_str_eq(whole_str(judged, "capture"), other);
    ck_assert_ptr_nonnull(strstr(whole_str(judged, "url"), other));
    ck_assert(
        cJSON_IsTrue(cJSON_GetObjectItem(cJSON_GetObjectItem(judged, "verdict"), "complete")));
    cJSON_Delete(report);
    (void)snprintf(both, sizeof both, "%.4s", id); /* of the same weeks */
    EXPECT(2, "capture", "show", both);
    char *text = output();
    ck_assert_ptr_nonnull(strstr(text, "several capture ids begin with"));
    ck_assert_ptr_nonnull(strstr(text, id));
    free(text);
    EXPECT(2, "capture", "delete", both);
    EXPECT(1, "capture", "show", "ffff");
    EXPECT(2, "capture", "show", "01a"); /* too little */
    EXPECT(0, "capture", "delete", enough_of(id, other));
    EXPECT(0, "capture", "show", other);
    cJSON *agents = PRINTED("agents", "-o", "json");
    (void)snprintf(agent, sizeof agent, "%.5s", whole_str(agents->child, "agent"));
    EXPECT(0, "agents", "show", agent);
    EXPECT(1, "agents", "show", "ffff0");
    cJSON_Delete(agents);
}
END_TEST

static size_t files_in(const char *folder, const char *pattern)
{
    char command[4096];
    char count[16] = "";
    (void)snprintf(command, sizeof command, "ls '%s' | grep -c '%s'", folder, pattern);
    FILE *pipe = popen(command, "re"); /* NOLINT(cert-env33-c): words of this test's own */
    ck_assert_ptr_nonnull(pipe);
    ck_assert_ptr_nonnull(fgets(count, sizeof count, pipe));
    (void)pclose(pipe);
    return strtoul(count, NULL, 10);
}

START_TEST(a_snapshot_is_taken_fetched_changed_and_deleted)
{
    char id[33];
    EXPECT(0, "snapshot", "-l", "service=shop/front", "-o", "a.skein", "--ttl", "1h");
    EXPECT(0, "check", "a.skein");
    EXPECT(1, "snapshot", "-l", "service=nobody");
    snapshot_id(id);
    EXPECT(0, "fetch", id, "--from", "-1s", "-o", "slice.skein");
    EXPECT(0, "check", "slice.skein");
    EXPECT(0, "fetch", id, "--split", "-o", "each");
    char *each = whole_path(&w, "each");
    ck_assert_uint_eq(files_in(each, "^shop_front-.*\\.skein$"), 1);
    free(each);
    cJSON *capture = PRINTED("capture", "update", id, "--pin", "--reason", "kept", "-o", "json");
    ck_assert(cJSON_IsTrue(at(capture, "pin")));
    cJSON_Delete(capture);
    cJSON *captures = PRINTED("captures", "--status", "complete", "-n", "1", "-o", "json");
    ck_assert_int_eq(cJSON_GetArraySize(captures), 1);
    ck_assert_str_eq(whole_str(captures->child, "capture"), id);
    cJSON_Delete(captures);
    captures = PRINTED("captures", "--kind", "snapshot", "-n", "1", "-o", "json");
    ck_assert_str_eq(whole_str(captures->child, "capture"), id);
    cJSON_Delete(captures);
    captures = PRINTED("captures", "--rule", "no-such-rule", "-o", "json");
    ck_assert_int_eq(cJSON_GetArraySize(captures), 0);
    cJSON_Delete(captures);
    captures = PRINTED("captures", "--policy", "no-such-policy", "-o", "json");
    ck_assert_int_eq(cJSON_GetArraySize(captures), 0);
    cJSON_Delete(captures);
    EXPECT(2, "captures", "--kind", "snap");
    EXPECT(0, "capture", "delete", id);
    EXPECT(0, "record", "-l", "service=shop/front", "--for", "1s", "--no-wait");
    char *text = output();
    (void)snprintf(id, sizeof id, "%s", text); /* without the end of the line */
    free(text);
    EXPECT(0, "capture", "show", "--wait", id);
    EXPECT(0, "capture", "delete", id);
    EXPECT(1, "capture", "show", id);
    EXPECT(2, "capture", "show", "not-an-id");
}
END_TEST

/* Fetches until the part is as long as it may be: the kernel kills who writes more. */
static void fetch_killed(const char *id, const char *file)
{
    char command[256];
    (void)snprintf(command, sizeof command,
                   "ulimit -c 0; ulimit -f 1; exec " SKEIN_PROGRAM " fetch %s -o %s", id, file);
    const char *argv[] = {"sh", "-c", command, NULL};
    struct spawn_options options = {
        .env = (const char *const[]){collector, NULL}, .folder = w.folder, .out_file = out};
    ck_assert_int_ne(spawn_wait(spawn(argv, &options), 0), 0);
}

static void expect_same_file(const char *name, const char *other)
{
    char *path = whole_path(&w, name), *other_path = whole_path(&w, other);
    size_t n, m;
    char *bytes = file_read(path, &n), *other_bytes = file_read(other_path, &m);
    ck_assert(bytes != NULL && other_bytes != NULL);
    ck_assert_uint_eq(n, m);
    ck_assert(memcmp(bytes, other_bytes, n) == 0);
    free(bytes);
    free(other_bytes);
    free(path);
    free(other_path);
}

START_TEST(a_killed_download_goes_on_and_begins_anew_for_another_trace)
{
    char id[33], other[33];
    size_t n;
    load_wait_events(&load, 1000);
    snapshot_id(id);
    snapshot_id(other);
    EXPECT(0, "fetch", id, "-o", "at-once.skein");
    EXPECT(0, "fetch", other, "-o", "other.skein");
    char *part = whole_path(&w, "a.skein.part"), *tag = whole_path(&w, "a.skein.part.etag");
    for (unsigned i = 0; i < 2; i++) {
        fetch_killed(id, "a.skein");
        char *bytes = file_read(part, &n);
        ck_assert_uint_eq(n, 512);
        ck_assert_int_eq(access(tag, F_OK), 0);
        free(bytes);
        EXPECT(0, "fetch", i == 0 ? id : other, "-o", "a.skein");
        expect_same_file("a.skein", i == 0 ? "at-once.skein" : "other.skein");
        ck_assert(access(part, F_OK) != 0 && access(tag, F_OK) != 0);
    }
    free(part);
    free(tag);
}
END_TEST

static bool stores_something(void *unused)
{
    (void)unused;
    cJSON *captures = whole_get(&w, "/api/v1/captures");
    const cJSON *first = at(captures, "items")->child;
    bool stored = first && whole_number(at(first, "ledger"), "stored") > 0;
    cJSON_Delete(captures);
    return stored;
}

START_TEST(a_stream_ends_with_an_interrupt_and_is_fetched)
{
    pid_t stream = start(
        (const char *const[]){"stream", "-l", "service=shop/front", "-o", "stream.skein", NULL});
    ck_assert(wait_until(stores_something, NULL, 0));
    int status = spawn_stop(stream, SIGINT, 0);
    char *text = output();
    ck_assert_msg(status == 0, "%d: %s", status, text);
    ck_assert_ptr_nonnull(strstr(text, "stopped: 1 of 1 targets"));
    free(text);
    EXPECT(0, "check", "stream.skein");
}
END_TEST

START_TEST(rules_are_applied_shown_and_deleted)
{
    char *file = whole_path(&w, "rule.json");
    file_write_text(file, "{\"name\":\"hourly\",\"selector\":\"service=shop/front\","
                          "\"when\":{\"schedule\":{\"every_ms\":3600000}}}");
    cJSON *said = PRINTED("rule", "apply", file, "-o", "json");
    ck_assert_str_eq(whole_str(said, "result"), "applied");
    cJSON_Delete(said);
    cJSON *rules = PRINTED("rule", "-o", "json"); /* ls is what is meant */
    ck_assert_str_eq(whole_str(rules->child, "name"), "hourly");
    cJSON_Delete(rules);
    cJSON *matches = PRINTED("rule", "matches", "hourly", "-o", "json");
    ck_assert_double_eq(whole_number(matches, "matches"), 1);
    cJSON_Delete(matches);
    cJSON *tried = PRINTED("rule", "test", "hourly", "--from", "-3h", "-o", "json");
    ck_assert_double_eq(whole_number(tried, "met"), 3);
    cJSON_Delete(tried);
    EXPECT(0, "rule", "test", "--file", file);
    EXPECT(2, "rule", "test");
    EXPECT(0, "rule", "show", "hourly");
    char *shown = output();
    ck_assert_ptr_nonnull(strstr(shown, "the collector itself sees this condition"));
    free(shown);
    EXPECT(0, "rule", "history", "hourly");
    EXPECT(0, "rule", "delete", "hourly");
    EXPECT(1, "rule", "show", "hourly");
    EXPECT(2, "rule", "shwo", "hourly");
    EXPECT(2, "snapshot", "-l", "service=shop", "--pre", "10");
    shown = output();
    ck_assert_msg(strstr(shown, "has no unit; 10s?") != NULL, "%s", shown);
    free(shown);
    free(file);
}
END_TEST

static void take_first(void *context, const cJSON *item)
{
    char *id = context; /* listed newest first */
    (void)snprintf(id, 33, "%s", whole_str(item, "capture"));
}

static bool has_fired_thrice(void *id)
{
    return whole_list(&w, "/api/v1/captures?selector=service%3Dasks", take_first, id) >= 3;
}

/* A program asks three times within one window: three captures, one incident. */
static void incident_make(char first[33])
{
    static const struct load_options options = {
        .service = "asks", .threads = 2, .burst = 5, .pause_us = 2000, .snapshot_ms = 200};
    struct load asks;
    struct buf answer = {0};
    int status = whole_http(&w, "PUT", "/api/v1/rules/asked",
                            "{\"selector\":\"service=asks\",\"when\":{\"application\":{}},"
                            "\"limits\":{\"cooldown_ms\":0}}",
                            &answer);
    buf_fini(&answer);
    ck_assert_int_eq(status, 201);
    load_start(&w, &options, &asks);
    load_wait_attached(&asks);
    ck_assert(wait_until(has_fired_thrice, first, 0));
    load_kill(&asks, SIGKILL);
    load_free(&asks);
    whole_wait_drained(&w);
}

/* The captures of the incident that the listing of it has. */
static int incident_captures(const char *id, bool pinned)
{
    cJSON *captures = PRINTED("captures", "--incident", id, "-o", "json");
    const cJSON *capture;
    int count = 0;
    cJSON_ArrayForEach(capture, captures)
        count += cJSON_IsTrue(at(capture, "pin")) == pinned;
    cJSON_Delete(captures);
    return count;
}

START_TEST(an_incident_is_listed_fetched_changed_and_deleted)
{
    char first[33];
    struct tally tally;
    size_t bytes;
    incident_make(first);
    cJSON *captures = PRINTED("captures", "--incident", first, "-o", "json");
    int count = cJSON_GetArraySize(captures);
    ck_assert_int_ge(count, 3);
    char *newest = strdup(whole_str(captures->child, "capture"));
    const cJSON *capture;
    cJSON_ArrayForEach(capture, captures)
        cJSON_Delete(whole_capture_final(&w, whole_str(capture, "capture")));
    cJSON_Delete(captures);
    /* One file with each number once, whichever of its captures is named. */
    EXPECT(0, "fetch", newest, "--incident", "-o", "incident.skein");
    EXPECT(0, "check", "incident.skein");
    char *path = whole_path(&w, "incident.skein");
    char *text = file_read(path, &bytes);
    tally_trace(&(struct buf){.data = (uint8_t *)text, .len = bytes}, &tally);
    ck_assert_uint_gt(tally.events, 0);
    for (unsigned i = 0; i < LOAD_THREADS_MAX; i++)
        ck_assert_uint_eq(tally.threads[i].holes, 0);
    free(text);
    free(path);
    EXPECT(0, "fetch", newest, "--incident", "--split", "-o", "incident");
    EXPECT(0, "capture", "update", "--pin", "--incident", newest);
    ck_assert_int_eq(incident_captures(newest, true), count);
    EXPECT(0, "capture", "delete", "--incident", newest);
    EXPECT(1, "capture", "show", first);
    ck_assert_int_eq(incident_captures(first, true), 0);
    free(newest);
}
END_TEST

static bool is_watched(void *file)
{
    char id[33], *text;
    if (!w.collector)
        whole_collector_start(&w);
    whole_wait_live(&w, "service%3Dshop%2Ffront", 1);
    snapshot_id(id);
    text = file_read(file, NULL);
    const char *first = text ? strstr(text, "capture.finished") : NULL;
    bool again = first && strstr(first + 1, "connected again") && strstr(first + 1, "capture.fin");
    if (first && !strstr(first, "is lost"))
        whole_kill(&w.collector);
    free(text);
    return again;
}

START_TEST(a_watch_goes_on_where_a_lost_connection_ended)
{
    char *watched = whole_path(&w, "watched");
    struct spawn_options options = {.env = (const char *const[]){collector, NULL},
                                    .out_file = watched};
    const char *argv[] = {SKEIN_PROGRAM,        "watch", "-t", "capture.*", "-l",
                          "service=shop/front", NULL};
    pid_t watch = spawn(argv, &options);
    ck_assert(wait_until(is_watched, watched, 0));
    (void)spawn_stop(watch, SIGTERM, 0);
    free(watched);
}
END_TEST

START_TEST(tokens_are_made_used_and_revoked)
{
    cJSON *token = PRINTED("token", "create", "me", "--scope", "admin", "-o", "json");
    char secret[160];
    (void)snprintf(secret, sizeof secret, "SKEIN_TOKEN=%s", whole_str(token, "secret"));
    cJSON_Delete(token);
    EXPECT(1, "ps");
    variable = secret;
    EXPECT(0, "token", "create", "reader", "--expires", "1d");
    cJSON *tokens = PRINTED("token", "ls", "-o", "json");
    ck_assert_int_eq(cJSON_GetArraySize(tokens), 2);
    cJSON_Delete(tokens);
    EXPECT(0, "token", "revoke", "reader");
    cJSON *audit = PRINTED("audit", "--action", "token.*", "-o", "json");
    ck_assert_int_eq(cJSON_GetArraySize(audit), 3);
    ck_assert_str_eq(whole_str(audit->child, "action"), "token.revoke");
    cJSON_Delete(audit);
    EXPECT(0, "audit");
    cJSON *agents = PRINTED("agents", "-o", "json");
    EXPECT(0, "agents", "show", whole_str(agents->child, "agent"));
    cJSON_Delete(agents);
    variable = NULL;
}
END_TEST

/* What a snapshot looks like on a terminal, which script(1) makes; freed by the caller. */
static char *on_terminal(const char *environment)
{
    static const char command[] =
        SKEIN_PROGRAM " snapshot -l service=shop/front --post 300ms -o b.skein";
    const char *argv[] = {"script", "-qec", command, "/dev/null", NULL};
    struct spawn_options options = {
        .env = (const char *const[]){collector, "TERM=xterm", environment, NULL},
        .folder = w.folder,
        .out_file = out};
    (void)remove(out);
    ck_assert_int_eq(spawn_wait(spawn(argv, &options), 0), 0);
    return output();
}

START_TEST(progress_and_colours_are_for_terminals)
{
    char *text = on_terminal(NULL);
    ck_assert_msg(strstr(text, "[..............................] 1 ") != NULL, "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "\033[32mcomplete"));
    free(text);
    text = on_terminal("NO_COLOR=1");
    ck_assert_ptr_null(strstr(text, "\033[32m"));
    free(text);
    EXPECT(0, "snapshot", "-l", "service=shop/front", "-o", "c.skein");
    text = output();
    ck_assert_ptr_null(strstr(text, "\033"));
    ck_assert_ptr_null(strstr(text, "[...."));
    free(text);
}
END_TEST

START_TEST(losses_are_shown)
{
    char id[33];
    snapshot_id(id);
    cJSON *loss = PRINTED("loss", "-l", "service=shop/front", "-o", "json");
    ck_assert_double_gt(whole_number(at(loss, "total"), "stored"), 0);
    ck_assert_int_eq(cJSON_GetArraySize(at(loss, "items")), 1);
    cJSON_Delete(loss);
    static const char *const groups[] = {"process", "service", "host", "capture",
                                         "rule",    "reason",  "place"};
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        EXPECT(0, "loss", "--by", groups[i]);
}
END_TEST

START_TEST(agents_are_let_in_revoked_and_forgotten)
{
    cJSON *token = PRINTED("join-token", "create", "--uses", "2", "--expires", "2h", "-o", "json");
    ck_assert(strncmp(whole_str(token, "secret"), "skj_", 4) == 0);
    cJSON *tokens = PRINTED("join-token", "-o", "json");
    ck_assert_int_eq(cJSON_GetArraySize(tokens), 1);
    ck_assert_ptr_null(cJSON_GetObjectItemCaseSensitive(tokens->child, "secret"));
    EXPECT(0, "join-token", "revoke", whole_str(token, "id"));
    EXPECT(1, "join-token", "revoke", whole_str(token, "id"));
    cJSON_Delete(tokens);
    cJSON_Delete(token);
    cJSON *agents = PRINTED("agents", "-o", "json");
    EXPECT(1, "agents", "revoke", whole_str(agents->child, "agent")); /* it speaks plain */
    EXPECT(0, "agents", "forget", whole_str(agents->child, "agent"));
    EXPECT(1, "agents", "forget", "00000000000000ff");
    cJSON_Delete(agents);
    whole_wait_live(&w, "service%3Dshop%2Ffront", 1); /* and comes back */
}
END_TEST

START_TEST(policies_are_applied_shown_and_deleted)
{
    char *file = whole_path(&w, "policy.json");
    file_write_text(file, "{\"name\":\"some\",\"selector\":\"service=shop/front\"}");
    EXPECT(0, "policy", "apply", file);
    cJSON *policies = PRINTED("policy", "-o", "json");
    ck_assert_str_eq(whole_str(policies->child, "name"), "some");
    cJSON_Delete(policies);
    cJSON *matches = PRINTED("policy", "matches", "some", "-j");
    ck_assert_double_eq(whole_number(matches, "matches"), 1);
    cJSON_Delete(matches);
    EXPECT(0, "policy");
    EXPECT(0, "policy", "show", "some");
    EXPECT(0, "policy", "delete", "some");
    EXPECT(1, "policy", "show", "some");
    free(file);
}
END_TEST

START_TEST(storage_is_shown)
{
    char id[33];
    snapshot_id(id);
    cJSON *storage = PRINTED("storage", "-o", "json");
    ck_assert_double_gt(whole_number(storage, "bytes"), 0);
    cJSON_Delete(storage);
    EXPECT(0, "storage");
}
END_TEST

START_TEST(a_file_that_cannot_be_written_is_told_before_a_capture_is_made)
{
    cJSON *before = PRINTED("captures", "-o", "json");
    EXPECT(1, "snapshot", "-l", "service=shop/front", "-o", "/nonexistent/x.skein");
    char *text = output();
    ck_assert_ptr_nonnull(strstr(text, "/nonexistent/x.skein"));
    free(text);
    EXPECT(1, "record", "--for", "1s", "-l", "service=shop/front", "-o", "/dev/full");
    cJSON *after = PRINTED("captures", "-o", "json");
    ck_assert_int_eq(cJSON_GetArraySize(after), cJSON_GetArraySize(before));
    ck_assert_uint_eq(files_in(w.folder, "\\.part$"), 0);
    cJSON_Delete(before);
    cJSON_Delete(after);
}
END_TEST

START_TEST(an_exit_status_says_that_no_address_was_given)
{
    static const char *const wrong[] = {"nonsense", "http://", "ftp://h:1", "h:port",
                                        "h:0",      "h:99999", "a b:1",     "[::1:7462"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        EXPECT(2, "captures", "--collector", wrong[i]);
    char kept[sizeof collector];
    memcpy(kept, collector, sizeof kept);
    (void)snprintf(collector, sizeof collector, "SKEIN_COLLECTOR=nonsense");
    EXPECT(2, "captures");
    char *text = output();
    ck_assert_ptr_nonnull(strstr(text, "SKEIN_COLLECTOR: nonsense"));
    free(text);
    (void)snprintf(collector, sizeof collector, "SKEIN_COLLECTOR=127.0.0.1:%u/", w.http);
    EXPECT(0, "captures");
    memcpy(collector, kept, sizeof kept);
}
END_TEST

START_TEST(an_exit_status_says_that_nobody_answers)
{
    whole_kill(&w.collector);
    EXPECT(4, "captures");
    EXPECT(4, "snapshot", "-l", "service=shop/front");
    EXPECT(4, "fetch", "0193a5c0e1f27d3b8c4e5f60718293a4");
    whole_collector_start(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole_cli");
    TCase *tests = tcase_create("whole_cli");
    tcase_set_timeout(tests, 0);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_snapshot_is_taken_fetched_changed_and_deleted);
    tcase_add_test(tests, the_first_digits_of_an_id_are_enough);
    tcase_add_test(tests, a_killed_download_goes_on_and_begins_anew_for_another_trace);
    tcase_add_test(tests, an_incident_is_listed_fetched_changed_and_deleted);
    tcase_add_test(tests, a_stream_ends_with_an_interrupt_and_is_fetched);
    tcase_add_test(tests, a_watch_goes_on_where_a_lost_connection_ended);
    tcase_add_test(tests, tokens_are_made_used_and_revoked);
    tcase_add_test(tests, losses_are_shown);
    tcase_add_test(tests, policies_are_applied_shown_and_deleted);
    tcase_add_test(tests, storage_is_shown);
    tcase_add_test(tests, progress_and_colours_are_for_terminals);
    tcase_add_test(tests, agents_are_let_in_revoked_and_forgotten);
    tcase_add_test(tests, rules_are_applied_shown_and_deleted);
    tcase_add_test(tests, a_file_that_cannot_be_written_is_told_before_a_capture_is_made);
    tcase_add_test(tests, an_exit_status_says_that_no_address_was_given);
    tcase_add_test(tests, an_exit_status_says_that_nobody_answers);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
