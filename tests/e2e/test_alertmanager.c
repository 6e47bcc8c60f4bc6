/* SPDX-License-Identifier: Apache-2.0
 *
 * Prometheus Alertmanager as Debian ships it: an alert posted to it reaches a rule by its webhook,
 * and the rule captures what the alert names.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collector_fixture.h"
#include "support.h"

#define RULE                                                                                       \
    "{\"selector\":\"service=shop\",\"when\":{\"webhook\":{\"labels\":{\"pid\":\"instance\"}}},"   \
    "\"limits\":{\"cooldown_ms\":3600000}}"

struct alertmanager {
    pid_t pid;
    uint16_t port;
};

/* One request to Alertmanager; true where it answers 200. */
static bool ask(const struct alertmanager *am, const char *path, const char *body)
{
    static const char *const headers[] = {"Content-Type: application/json", NULL};
    char url[128];
    struct http_response response;
    snprintf(url, sizeof url, "http://127.0.0.1:%u%s", am->port, path);
    struct http_request request = {.method = body != NULL ? "POST" : "GET",
                                   .url = url,
                                   .headers = headers,
                                   .body = body,
                                   .body_bytes = body != NULL ? strlen(body) : 0,
                                   .timeout_ms = 5000};
    int status = http_request(&request, &response);
    bool good = status == SKEIN_OK && response.status == 200;
    http_response_fini(&response);
    return good;
}

static bool is_ready(void *context)
{
    return ask(context, "/-/ready", NULL);
}

static void start(struct alertmanager *am, const struct fixture *f)
{
    char text[1024], config_arg[512], storage_arg[512], listen_arg[64];
    char *config = path_join(f->folder, "alertmanager.yml");
    snprintf(text, sizeof text,
             "route: {receiver: skein, group_by: [alertname], group_wait: 0s, group_interval: 1s,"
             " repeat_interval: 1s}\n"
             "receivers:\n"
             "  - name: skein\n"
             "    webhook_configs:\n"
             "      - {url: 'http://127.0.0.1:%u/api/v1/triggers/slow', send_resolved: true}\n",
             f->http_port);
    file_write_text(config, text);
    am->port = free_port();
    snprintf(config_arg, sizeof config_arg, "--config.file=%s", config);
    snprintf(storage_arg, sizeof storage_arg, "--storage.path=%s/alertmanager", f->folder);
    snprintf(listen_arg, sizeof listen_arg, "--web.listen-address=127.0.0.1:%u", am->port);
    const char *const argv[] = {
        ALERTMANAGER, config_arg, storage_arg, listen_arg, "--cluster.listen-address=", NULL};
    char *out = path_join(f->folder, "alertmanager.log");
    am->pid = spawn(argv, &(struct spawn_options){.out_file = out});
    free(out);
    ck_assert(wait_until(is_ready, am, 0));
    free(config);
}

static void post_alert(const struct alertmanager *am, uint64_t ends_ns)
{
    char body[512], starts[CLOCK_TEXT_BYTES], ends[CLOCK_TEXT_BYTES];
    clock_text(clock_realtime_ns() - 1000000000u, starts);
    clock_text(ends_ns, ends);
    snprintf(body, sizeof body,
             "[{\"labels\":{\"alertname\":\"SlowShop\",\"instance\":\"102:9100\"},"
             "\"annotations\":{\"summary\":\"p99 is above 1 s\"},"
             "\"startsAt\":\"%s\",\"endsAt\":\"%s\"}]",
             starts, ends);
    ck_assert(ask(am, "/api/v2/alerts", body));
}

START_TEST(alert_captures_what_it_names)
{
    struct fixture f;
    struct alertmanager am;
    char path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 3, "shop");
    cJSON_Delete(call_json(&f, "PUT", "/api/v1/rules/slow", RULE, 201));
    start(&am, &f);
    post_alert(&am, clock_realtime_ns() + 600000000000u);
    wait_for_text(&f, "/api/v1/rules/slow", "state.last_fired_why",
                  "alert SlowShop: p99 is above 1 s");
    cJSON *json = call_json(&f, "GET", "/api/v1/rules/slow", NULL, 200);
    snprintf(path, sizeof path, "/api/v1/captures/%s", text_at(json, "state.last_capture"));
    cJSON_Delete(json);
    json = call_json(&f, "GET", path, NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "targets")), 1);
    ck_assert_double_eq(number_at(json, "targets.0.pid"), 102);
    ck_assert_str_eq(text_at(json, "trigger.type"), "webhook");
    cJSON_Delete(json);
    /* Its end, and what it repeats until then, begins nothing. */
    post_alert(&am, clock_realtime_ns() - 1000000u);
    ck_assert_int_eq(spawn_stop(am.pid, SIGTERM, 0), 0);
    json = call_json(&f, "GET", "/api/v1/rules/slow", NULL, 200);
    ck_assert_double_eq(number_at(json, "state.fired"), 1);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("alertmanager", alert_captures_what_it_names, NULL));
}
