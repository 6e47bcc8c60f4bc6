/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the daemons of a test and its requests to them: see whole.h. The programs' paths come from
 * CMake. Never looks into the daemons' folders to learn what the API does not say.
 */
#include "whole.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "contract.h"
#include "http_client.h"
#include "json.h"

#define WORDS_MAX 16

/* ---- a folder and its daemons ---- */

char *whole_path(const struct whole *w, const char *name)
{
    return path_join(w->folder, name);
}

static void config_write(const struct whole *w, const char *name, const struct buf *text)
{
    char *path = whole_path(w, name);
    ck_assert_int_eq(text->status, SKEIN_OK);
    file_write(path, text->data, text->len);
    free(path);
}

void whole_configure(struct whole *w)
{
    static const char no_vitals[] =
        "\"vitals\":{\"host\":false,\"processes\":false,\"top\":false,\"files\":false},";
    struct buf text = {0};
    buf_printf(&text,
               "{\"listen\":{\"data\":\"tcp://127.0.0.1:%u\",\"control\":\"tcp://127.0.0.1:%u\","
               "\"http\":\"127.0.0.1:%u\"},\"data_dir\":\"%s/collector\","
               "\"agents\":{\"heartbeat_ms\":200,\"lease_ms\":1500%s%s}%s%s}",
               w->data, w->control, w->http, w->folder, w->agents_more ? "," : "",
               w->agents_more ? w->agents_more : "", w->collector_more ? "," : "",
               w->collector_more ? w->collector_more : "");
    config_write(w, "collector.json", &text);
    buf_clear(&text);
    buf_printf(
        &text,
        "{\"collector\":{\"data\":\"tcp://127.0.0.1:%u\",\"control\":\"tcp://127.0.0.1:%u\"%s%s},"
        "%s\"socket\":\"%s\",\"state_dir\":\"%s/agent\",\"heartbeat_ms\":200%s%s}",
        w->data, w->control, w->pins_more ? "," : "", w->pins_more ? w->pins_more : "",
        w->vitals ? "" : no_vitals, w->socket, w->folder, w->agent_more ? "," : "",
        w->agent_more ? w->agent_more : "");
    config_write(w, "agent.json", &text);
    buf_fini(&text);
}

void whole_init(struct whole *w, const char *collector_more, const char *agent_more)
{
    *w = (struct whole){.collector_more = collector_more, .agent_more = agent_more};
    w->folder = temp_dir_new();
    w->socket = whole_path(w, "agent.sock");
    w->data = free_port();
    w->control = free_port();
    w->http = free_port();
    ck_assert_int_eq(http_client_init(), SKEIN_OK);
    whole_configure(w);
}

void whole_join(struct whole *w, const struct whole *other, long skew_s)
{
    *w = *other;
    w->collector = w->agent = 0;
    w->skew_s = skew_s;
    w->folder = temp_dir_new();
    w->socket = whole_path(w, "agent.sock");
    whole_configure(w);
}

static pid_t daemon_spawn(const struct whole *w, const char *program, const char *config,
                          const char *log, const char *const *env)
{
    char *config_path = whole_path(w, config), *log_path = whole_path(w, log);
    const char *const words[] = {program, "--config", config_path};
    const char *const *under = strcmp(program, WHOLE_AGENT) == 0 ? w->agent_under : NULL;
    const char *argv[WORDS_MAX] = {NULL};
    size_t n = 0;
    for (size_t i = 0; under != NULL && under[i] != NULL; i++)
        argv[n++] = under[i];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        argv[n++] = words[i];
    struct spawn_options options = {.out_file = log_path, .env = env};
    pid_t pid = spawn(argv, &options);
    free(config_path);
    free(log_path);
    return pid;
}

static bool collector_answers(void *context)
{
    return whole_http(context, "GET", "/readyz", NULL, NULL) > 0;
}

/* A daemon whose wall clock is not this machine's. */
static pid_t skewed_spawn(const struct whole *w, const char *program, const char *daemon,
                          long skew_s)
{
    char skew[64], file[256], asan[256], config[32], log[32];
    const char *given = getenv("ASAN_OPTIONS");
    (void)snprintf(skew, sizeof skew, "SKEIN_TEST_SKEW_S=%ld", skew_s);
    (void)snprintf(file, sizeof file, "SKEIN_TEST_SKEW_FILE=%s/%s.clock", w->folder, daemon);
    (void)snprintf(config, sizeof config, "%s.json", daemon);
    (void)snprintf(log, sizeof log, "%s.log", daemon);
    /* What is preloaded comes before the sanitizer, which does not like that. */
    (void)snprintf(asan, sizeof asan, "ASAN_OPTIONS=%s%sverify_asan_link_order=0",
                   given ? given : "", given ? ":" : "");
    static const char preload[] = "LD_PRELOAD=" WHOLE_SKEW;
    const char *const env[] = {preload, skew, file, asan, NULL};
    return daemon_spawn(w, program, config, log, skew_s != 0 || w->own_clocks ? env : NULL);
}

void whole_clock_set(const struct whole *w, const char *daemon, long ahead_s)
{
    char from[256], to[256];
    ck_assert(w->own_clocks);
    (void)snprintf(from, sizeof from, "%s/%s.clock.new", w->folder, daemon);
    (void)snprintf(to, sizeof to, "%s/%s.clock", w->folder, daemon);
    FILE *f = fopen(from, "we");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_gt(fprintf(f, "%ld\n", ahead_s), 0);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(rename(from, to), 0);
}

void whole_collector_start(struct whole *w)
{
    w->collector = skewed_spawn(w, WHOLE_SKEIND, "collector", 0);
    ck_assert_msg(wait_until(collector_answers, w, 0), "no collector: see %s", w->folder);
}

static bool agent_answers(void *context)
{
    const struct whole *w = context;
    int fd = unix_connect(w->socket);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || errno == EPROTOTYPE; /* its sockets are of another type, but it listens */
}

void whole_agent_spawn(struct whole *w)
{
    w->agent = skewed_spawn(w, WHOLE_AGENT, "agent", w->skew_s);
}

void whole_agent_start(struct whole *w)
{
    whole_agent_spawn(w);
    ck_assert_msg(wait_until(agent_answers, w, 0), "no agent: see %s", w->folder);
}

void whole_kill(pid_t *daemon)
{
    ck_assert_int_eq(kill(*daemon, SIGKILL), 0);
    int status = spawn_wait(*daemon, 0);
    ck_assert_msg(status == 128 + SIGKILL, "a daemon had ended by itself: %d", status);
    *daemon = 0;
}

int whole_stop(pid_t *daemon)
{
    int status = spawn_stop(*daemon, SIGTERM, 0);
    *daemon = 0;
    return status;
}

void whole_fini(struct whole *w)
{
    if (w->agent > 0)
        ck_assert_msg(whole_stop(&w->agent) == 0, "the agent's end: see %s", w->folder);
    if (w->collector > 0)
        ck_assert_msg(whole_stop(&w->collector) == 0, "the collector's end: see %s", w->folder);
    free(w->socket);
    temp_dir_free(&w->folder);
}

/* ---- requests ---- */

int whole_http(const struct whole *w, const char *method, const char *path, const char *body,
               struct buf *out)
{
    static const char *const json[] = {"Content-Type: application/json", NULL};
    struct buf url = {0};
    struct http_response response;
    buf_printf(&url, "http://127.0.0.1:%u%s", w->http, path);
    buf_put_u8(&url, 0);
    struct http_request request = {.method = method,
                                   .url = (const char *)url.data,
                                   .headers = body ? json : NULL,
                                   .body = body,
                                   .body_bytes = body ? strlen(body) : 0,
                                   .timeout_ms = support_deadline_ms(),
                                   .max_body_bytes = UINT64_C(1) << 30};
    int status = http_request(&request, &response);
    if (status == SKEIN_OK) {
        contract_record(method, path, &response);
        status = (int)response.status;
    }
    if (status > 0 && out)
        buf_put(out, response.body.data, response.body.len);
    http_response_fini(&response);
    buf_fini(&url);
    return status;
}

static cJSON *get_path(const struct whole *w, const char *path)
{
    struct buf body = {0};
    char why[256] = "";
    int status = whole_http(w, "GET", path, NULL, &body);
    ck_assert_msg(status == 200, "GET %s: %d %.*s", path, status, (int)body.len,
                  body.data ? (const char *)body.data : "");
    cJSON *json = json_parse((const char *)body.data, body.len, why, sizeof why);
    ck_assert_msg(json != NULL, "GET %s: %s", path, why);
    buf_fini(&body);
    return json;
}

cJSON *whole_get(const struct whole *w, const char *format, ...)
{
    char path[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    return get_path(w, path);
}

const char *whole_str(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    ck_assert_msg(text != NULL, "no text \"%s\"", name);
    return text;
}

double whole_number(const cJSON *object, const char *name)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
    ck_assert_msg(cJSON_IsNumber(member), "no number \"%s\"", name);
    return member->valuedouble;
}

size_t whole_list(const struct whole *w, const char *path, whole_item *take, void *context)
{
    size_t count = 0;
    char cursor[256] = "";
    do {
        const cJSON *item;
        cJSON *page = whole_get(w, "%s%slimit=1000%s%s", path, strchr(path, '?') ? "&" : "?",
                                cursor[0] ? "&cursor=" : "", cursor);
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(page, "items")) {
            take(context, item);
            count++;
        }
        const char *next =
            cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(page, "next_cursor"));
        (void)snprintf(cursor, sizeof cursor, "%s", next ? next : "");
        cJSON_Delete(page);
    } while (cursor[0]);
    return count;
}

/* ---- captures ---- */

struct capture_id whole_capture(const struct whole *w, const char *body)
{
    struct buf answer = {0};
    char why[256] = "";
    struct capture_id id = {{0}};
    int status = whole_http(w, "POST", "/api/v1/captures", body, &answer);
    ck_assert_msg(status == 202, "POST /captures: %d %.*s", status, (int)answer.len,
                  answer.data ? (const char *)answer.data : "");
    cJSON *json = json_parse((const char *)answer.data, answer.len, why, sizeof why);
    ck_assert_msg(json != NULL, "%s", why);
    ck_assert_int_eq(id_parse(whole_str(json, "capture"), id.bytes), SKEIN_OK);
    cJSON_Delete(json);
    buf_fini(&answer);
    return id;
}

struct capture_wait {
    const struct whole *w;
    const char *capture;
    cJSON *json;
};

static bool capture_is_final(void *context)
{
    struct capture_wait *wait = context;
    cJSON_Delete(wait->json);
    wait->json = whole_get(wait->w, "/api/v1/captures/%s", wait->capture);
    return strcmp(whole_str(wait->json, "status"), "running") != 0;
}

cJSON *whole_capture_final(const struct whole *w, const char *capture)
{
    struct capture_wait wait = {.w = w, .capture = capture};
    bool final = wait_until(capture_is_final, &wait, 3 * support_deadline_ms());
    if (!final) {
        char *text = cJSON_Print(wait.json);
        ck_abort_msg("capture %s stays running: see %s\n%s", capture, w->folder, text);
    }
    return wait.json;
}

/* ---- waiting for the fleet ---- */

struct live_wait {
    const struct whole *w;
    const char *selector;
    size_t want, live;
};

static void count_live(void *context, const cJSON *item)
{
    struct live_wait *wait = context;
    wait->live += strcmp(whole_str(item, "status"), "live") == 0;
}

static bool enough_live(void *context)
{
    struct live_wait *wait = context;
    char path[256];
    (void)snprintf(path, sizeof path, "/api/v1/processes?selector=%s", wait->selector);
    wait->live = 0;
    (void)whole_list(wait->w, path, count_live, wait);
    return wait->live == wait->want;
}

void whole_wait_live(const struct whole *w, const char *selector, size_t n)
{
    struct live_wait wait = {.w = w, .selector = selector, .want = n};
    ck_assert_msg(wait_until(enough_live, &wait, 0), "%zu of %zu processes live: see %s", wait.live,
                  n, w->folder);
}

struct drain_wait {
    const struct whole *w;
    double partitions;
    bool online;
};

static void take_agent(void *context, const cJSON *item)
{
    struct drain_wait *wait = context;
    const cJSON *spool = cJSON_GetObjectItemCaseSensitive(item, "spool");
    wait->online = strcmp(whole_str(item, "status"), "online") == 0;
    wait->partitions = whole_number(spool, "partitions");
}

static bool is_drained(void *context)
{
    struct drain_wait *wait = context;
    return whole_list(wait->w, "/api/v1/agents", take_agent, wait) == 1 && wait->online &&
           wait->partitions == 0;
}

void whole_wait_drained(const struct whole *w)
{
    struct drain_wait wait = {.w = w};
    ck_assert_msg(wait_until(is_drained, &wait, 2 * support_deadline_ms()),
                  "online %d, %.0f partitions in the spool: see %s", wait.online, wait.partitions,
                  w->folder);
}

struct serve {
    const struct whole *w;
    const char *selector;
    cJSON *last;
};

static bool is_served(void *context)
{
    struct serve *serve = context;
    char body[256], id[ID_TEXT_BYTES];
    (void)snprintf(body, sizeof body,
                   "{\"selector\":\"%s\",\"pre_ms\":200,\"reason\":\"still serving\"}",
                   serve->selector);
    struct capture_id capture = whole_capture(serve->w, body);
    id_text(capture.bytes, id);
    cJSON_Delete(serve->last);
    serve->last = whole_capture_final(serve->w, id);
    return strcmp(whole_str(serve->last, "status"), "complete") == 0;
}

/* Asks again: on a busy machine a small ring does not always reach so far back. */
void whole_serves(const struct whole *w, const char *selector)
{
    struct serve serve = {.w = w, .selector = selector};
    if (!wait_until(is_served, &serve, 0))
        ck_abort_msg("not complete: see %s\n%.3000s", w->folder,
                     cJSON_PrintUnformatted(serve.last));
    cJSON_Delete(serve.last);
}

void whole_target_keys(const cJSON *target, void (*fn)(void *context, const char *key),
                       void *context)
{
    const cJSON *range;
    char text[PARTITION_KEY_TEXT_BYTES];
    struct partition_key key;
    ck_assert_int_eq(id_parse(whole_str(target, "process"), key.process.bytes), SKEIN_OK);
    cJSON_ArrayForEach(range, cJSON_GetObjectItemCaseSensitive(target, "partitions")) {
        key.epoch = (uint64_t)whole_number(range, "epoch");
        key.sequence = (uint64_t)whole_number(range, "first");
        for (uint64_t last = (uint64_t)whole_number(range, "last"); key.sequence <= last;
             key.sequence++) {
            partition_key_text(&key, text);
            fn(context, text);
        }
    }
}
