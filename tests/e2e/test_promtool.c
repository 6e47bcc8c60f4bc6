/* SPDX-License-Identifier: Apache-2.0
 *
 * What the daemon says on /metrics, after it has served agents, captures and requests, is what
 * Prometheus's own promtool accepts. Where that is not installed (tools/deps.sh --ci) the test says
 * that it was skipped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "whole.h"

/* The value of the line that begins with `series` and a space; fails where there is none. */
static double value_of(const char *metrics, const char *series)
{
    char line[256];
    (void)snprintf(line, sizeof line, "\n%s ", series);
    const char *at = strstr(metrics, line);
    ck_assert_msg(at != NULL, "no %s", series);
    return strtod(at + strlen(line), NULL);
}

/* promtool's complaints of the file on its standard input; "" where it has none. */
static void promtool(const struct whole *w, const char *file)
{
    char command[512];
    char *out = whole_path(w, "promtool.out");
    (void)snprintf(command, sizeof command, "promtool check metrics <'%s'", file);
    const char *const argv[] = {"sh", "-c", command, NULL};
    pid_t pid = spawn(argv, &(struct spawn_options){.out_file = out});
    int status = spawn_wait(pid, 0);
    char *said = file_read(out, NULL);
    ck_assert_msg(status == 0 && said != NULL && said[0] == '\0', "promtool: %d: %s", status, said);
    free(said);
    free(out);
}

static bool has_promtool(void)
{
    const char *const argv[] = {"sh", "-c", "command -v promtool >/dev/null", NULL};
    return spawn_wait(spawn(argv, &(struct spawn_options){0}), 0) == 0;
}

/* The agent's heartbeat has said what it counts of itself. */
static bool has_counters(void *context)
{
    cJSON *agents = whole_get(context, "/api/v1/agents");
    const cJSON *agent = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(agents, "items"), 0);
    const cJSON *counters = cJSON_GetObjectItemCaseSensitive(agent, "counters");
    bool said = whole_number(counters, "attach_accepted") >= 1 &&
                whole_number(counters, "partitions_stored") >= 1 &&
                whole_number(counters, "welcomes") >= 1;
    cJSON_Delete(agents);
    return said;
}

START_TEST(promtool_accepts_the_metrics_of_a_collector_that_has_worked)
{
    struct whole w;
    struct load load;
    struct buf text = {0};
    whole_init(&w, NULL, NULL);
    whole_collector_start(&w);
    whole_agent_start(&w);
    load_start(
        &w, &(struct load_options){.service = "shop", .threads = 1, .burst = 10, .pause_us = 1000},
        &load);
    load_wait_attached(&load);
    whole_wait_live(&w, "service=shop", 1);
    whole_serves(&w, "service=shop");
    ck_assert(wait_until(has_counters, &w, 0));
    ck_assert_int_eq(whole_http(&w, "GET", "/api/v1/captures/none", NULL, NULL), 404);
    ck_assert_int_eq(whole_http(&w, "GET", "/metrics", NULL, &text), 200);
    char *file = whole_path(&w, "metrics");
    file_write(file, text.data, text.len);
    buf_put_u8(&text, 0);
    const char *metrics = (const char *)text.data;
    ck_assert_double_ge(value_of(metrics, "skein_captures_ended_total{status=\"complete\"}"), 1);
    ck_assert_double_ge(value_of(metrics, "skein_http_requests_total{code=\"404\"}"), 1);
    ck_assert_double_ge(value_of(metrics, "skein_ingest_ack_seconds_count"), 1);
    ck_assert_double_ge(value_of(metrics, "skein_store_sync_seconds_count"), 1);
    ck_assert_double_ge(value_of(metrics, "skein_capture_durable_seconds_bucket{le=\"+Inf\"}"), 1);
    (void)value_of(metrics, "skein_agents_online"); /* set once a second */
    (void)value_of(metrics, "skein_lost_events_total{place=\"spool\",reason=\"spool_full\"}");
    (void)value_of(metrics, "skein_rules_fired_total");
    ck_assert_double_ge(value_of(metrics, "skein_agent_counters_total{counter=\"heartbeats\"}"), 0);
    if (has_promtool())
        promtool(&w, file);
    else
        fprintf(stderr, "skipped: promtool is not installed\n");
    free(file);
    buf_fini(&text);
    load_free(&load);
    whole_fini(&w);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("promtool", promtool_accepts_the_metrics_of_a_collector_that_has_worked, NULL));
}
