/* SPDX-License-Identifier: Apache-2.0
 * The collector in the test's process, and its API. */
#include "collector_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "contract.h"
#include "json.h"
#include "log.h"
#include "support.h"

void fixture_write_config(struct fixture *f)
{
    char text[2048];
    const char *members = f->members != NULL ? f->members : "";
    bool agents = strstr(members, "\"agents\":") != NULL;
    bool http = strstr(members, "\"http\":") != NULL;
    bool analysis = strstr(members, "\"analysis\":") != NULL;
    snprintf(text, sizeof text,
             "{\"listen\":{\"data\":\"tcp://127.0.0.1:%u\",\"control\":\"tcp://127.0.0.1:%u\","
             "\"http\":\"127.0.0.1:%u\"},\"data_dir\":\"%s/data\",\"store\":{%s},"
             "\"log\":{\"level\":\"error\"},%s"
             "\"captures\":{\"deadline_ms\":20000}%s%s%s}",
             f->data_port, f->control_port, f->http_port, f->folder,
             f->store != NULL ? f->store : "\"min_free_bytes\":0",
             agents ? "" : "\"agents\":{\"heartbeat_ms\":200,\"lease_ms\":3600000},",
             http ? "" : ",\"http\":{\"drain_ms\":2000,\"threads\":2}", members,
             analysis ? "" : ",\"analysis\":{\"program\":\"" ANALYST_PROGRAM "\"}");
    f->config_path = path_join(f->folder, "collector.json");
    file_write_text(f->config_path, text);
}

void fixture_resume(struct fixture *f)
{
    char error[512] = "";
    memset(&f->collector, 0, sizeof f->collector);
    int status = config_load(collector_params, &f->collector.config,
                             &(struct config_sources){.file = f->config_path}, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
    log_configure(LOG_LEVEL_ERROR, false);
    status = collector_start(&f->collector, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
}

void fixture_halt(struct fixture *f)
{
    collector_stop(&f->collector);
    config_free(collector_params, &f->collector.config);
}

void fixture_start(struct fixture *f)
{
    fixture_start_with(f, NULL, NULL);
}

void fixture_start_with(struct fixture *f, const char *store, const char *members)
{
    memset(f, 0, sizeof *f);
    f->store = store;
    f->members = members;
    http_client_init();
    f->folder = temp_dir_new();
    f->data_port = free_port();
    f->control_port = free_port();
    f->http_port = free_port();
    fixture_write_config(f);
    fixture_resume(f);
    wire_agent_open(&f->agent, 7, "host-a", f->control_port, f->data_port);
    cJSON_Delete(wire_agent_hello(&f->agent));
}

void fixture_lease_end(struct fixture *f)
{
    control_lock(fleet_control(f->collector.fleet));
    fleet_agent_end(f->collector.fleet, fleet_agent_find(f->collector.fleet, f->agent.id));
    control_unlock(fleet_control(f->collector.fleet));
}

void fixture_restart(struct fixture *f)
{
    fixture_halt(f);
    fixture_resume(f);
}

void fixture_stop(struct fixture *f)
{
    wire_agent_close(&f->agent);
    fixture_halt(f);
    free(f->config_path);
    temp_dir_free(&f->folder);
}

/* ---- HTTP ---- */

void call(const struct fixture *f, const char *method, const char *path, const char *body,
          const char *header, struct http_response *out)
{
    char url[1024];
    const char *headers[3] = {NULL};
    size_t n = 0;
    if (body != NULL && (header == NULL || strncasecmp(header, "Content-Type:", 13) != 0))
        headers[n++] = "Content-Type: application/json";
    if (header != NULL)
        headers[n++] = header;
    snprintf(url, sizeof url, "http://127.0.0.1:%u%s", f->http_port, path);
    struct http_request request = {.method = method,
                                   .url = url,
                                   .headers = headers,
                                   .body = body,
                                   .body_bytes = body != NULL ? strlen(body) : 0,
                                   .timeout_ms = support_deadline_ms()};
    int status = http_request(&request, out);
    ck_assert_msg(status == SKEIN_OK, "%s %s: %s", method, path, out->error);
    contract_record(method, path, out);
}

cJSON *call_json(const struct fixture *f, const char *method, const char *path, const char *body,
                 long status)
{
    struct http_response response;
    char error[128] = "";
    call(f, method, path, body, NULL, &response);
    cJSON *json =
        json_parse((const char *)response.body.data, response.body.len, error, sizeof error);
    ck_assert_msg(response.status == status && json != NULL, "%s %s: %ld, %s %.*s", method, path,
                  response.status, error, (int)response.body.len,
                  response.body.len > 0 ? (const char *)response.body.data : "");
    http_response_fini(&response);
    return json;
}

void expect_problem(const struct fixture *f, const char *method, const char *path, const char *body,
                    long status, const char *field)
{
    cJSON *json = call_json(f, method, path, body, status);
    const char *got = text_at(json, "field");
    ck_assert_str_ne(text_at(json, "detail"), "");
    ck_assert_msg((long)number_at(json, "status") == status, "status in the problem");
    ck_assert_msg(strcmp(got, field != NULL ? field : "") == 0, "%s %s: field is \"%s\"", method,
                  path, got);
    cJSON_Delete(json);
}

const cJSON *at_path(const cJSON *json, const char *path)
{
    char key[128];
    while (json != NULL && *path != '\0') {
        size_t n = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        json = cJSON_IsArray(json) ? cJSON_GetArrayItem(json, (int)strtol(key, NULL, 10))
                                   : cJSON_GetObjectItemCaseSensitive(json, key);
        path += n;
        path += *path == '.';
    }
    return json;
}

const char *text_at(const cJSON *json, const char *path)
{
    const char *text = cJSON_GetStringValue(at_path(json, path));
    return text != NULL ? text : "";
}

double number_at(const cJSON *json, const char *path)
{
    const cJSON *item = at_path(json, path);
    return cJSON_IsNumber(item) ? item->valuedouble : -1;
}

struct awaited {
    const struct fixture *f;
    const char *path, *member, *text;
    char last[256];
};

static bool has_text(void *context)
{
    struct awaited *a = context;
    struct http_response response;
    char error[64];
    call(a->f, "GET", a->path, NULL, NULL, &response);
    cJSON *json =
        json_parse((const char *)response.body.data, response.body.len, error, sizeof error);
    snprintf(a->last, sizeof a->last, "%s", text_at(json, a->member));
    cJSON_Delete(json);
    http_response_fini(&response);
    return strcmp(a->last, a->text) == 0;
}

void wait_for_text(const struct fixture *f, const char *path, const char *member, const char *text)
{
    struct awaited a = {f, path, member, text, ""};
    ck_assert_msg(wait_until(has_text, &a, 0), "%s: %s is \"%s\", not \"%s\"", path, member, a.last,
                  text);
}
