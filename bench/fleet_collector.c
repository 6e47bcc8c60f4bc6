/* SPDX-License-Identifier: Apache-2.0
 * The collector that bench_fleet measures. See fleet_collector.h. */
#include "fleet_collector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_host.h"
#include "checksum.h"
#include "http_client.h"
#include "wire.h"

cJSON *collector_call(const struct bench_collector *f, const char *method, const char *path,
                      const char *body)
{
    char url[512];
    snprintf(url, sizeof url, "http://127.0.0.1:%u%s", f->http_port, path);
    const char *const headers[] = {"Content-Type: application/json", NULL};
    struct http_request request = {.method = method,
                                   .url = url,
                                   .headers = headers,
                                   .body = body,
                                   .body_bytes = body != NULL ? strlen(body) : 0,
                                   .timeout_ms = 60000};
    struct http_response response;
    cJSON *json = NULL;
    if (http_request(&request, &response) == SKEIN_OK && response.status < 400)
        json = cJSON_ParseWithLength((const char *)response.body.data, response.body.len);
    http_response_fini(&response);
    return json;
}

static bool answers(const struct bench_collector *f)
{
    for (unsigned i = 0; i < 1000; i++) {
        cJSON *json = collector_call(f, "GET", "/readyz", NULL);
        cJSON_Delete(json);
        if (json != NULL)
            return true;
        usleep(10000);
    }
    return false;
}

void collector_start(struct bench_collector *f, const char *name)
{
    char path[320], text[1024];
    f->data_port = bench_free_port();
    f->control_port = bench_free_port();
    f->http_port = bench_free_port();
    snprintf(f->folder, sizeof f->folder, "%s/%s", bench_folder(), name);
    snprintf(text, sizeof text,
             "{\"listen\":{\"data\":\"tcp://127.0.0.1:%u\",\"control\":\"tcp://127.0.0.1:%u\","
             "\"http\":\"127.0.0.1:%u\"},\"data_dir\":\"%s\",\"log\":{\"level\":\"error\"},"
             "\"agents\":{\"heartbeat_ms\":%d}}",
             f->data_port, f->control_port, f->http_port, f->folder, FLEET_HEARTBEAT_MS);
    snprintf(path, sizeof path, "%s/%s.json", bench_folder(), name);
    FILE *file = fopen(path, "w");
    bench_must(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0, "writing a config");
    f->pid = bench_spawn((const char *const[]){SKEIND, "--config", path, NULL});
    bench_must(answers(f), "the collector does not start");
}

void collector_stop(struct bench_collector *c)
{
    bench_stop(c->pid);
    bench_folder_remove(c->folder);
}

uint64_t collector_metric(const struct bench_collector *c, const char *name)
{
    char url[64], line[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%u/metrics", c->http_port);
    snprintf(line, sizeof line, "\n%s ", name);
    struct http_request request = {.url = url, .timeout_ms = 10000};
    struct http_response response;
    const char *at = NULL;
    uint64_t value = 0;
    if (http_request(&request, &response) == SKEIN_OK) {
        buf_put_u8(&response.body, 0);
        at = strstr((const char *)response.body.data, line);
        value = at != NULL ? strtoull(at + strlen(line), NULL, 10) : 0;
    }
    http_response_fini(&response);
    bench_must(at != NULL, "the collector lacks a metric");
    return value;
}

uint64_t collector_status_kib(const struct bench_collector *c, const char *key)
{
    char path[64], line[256];
    uint64_t kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", c->pid);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, key, strlen(key)) == 0)
            kib = strtoull(line + strlen(key) + 1, NULL, 10);
    if (file != NULL)
        fclose(file);
    bench_must(kib > 0, "the collector is gone");
    return kib;
}

/* Clock ticks of CPU that it has used. */
uint64_t collector_cpu_ticks(const struct bench_collector *c)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", c->pid);
    FILE *file = fopen(path, "r");
    bench_must(file != NULL && fgets(text, sizeof text, file) != NULL, "the collector is gone");
    fclose(file);
    /* Behind the name: the state is field 3, user and system time are fields 14 and 15. */
    char *at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < 14; field++)
        at = strchr(at + 1, ' ');
    bench_must(at != NULL, "reading the collector's CPU time");
    uint64_t user = strtoull(at, &at, 10);
    return user + strtoull(at, NULL, 10);
}

void chunk_frame_make(const struct partition_key *key, const struct capture_id *capture,
                      const struct buf *partition, struct buf *frame)
{
    struct wire_chunk chunk = {*key,
                               *capture,
                               0,
                               1,
                               partition->len,
                               checksum64(partition->data, partition->len),
                               partition->data,
                               (uint32_t)partition->len};
    size_t body_bytes = WIRE_CHUNK_HEADER_BYTES + partition->len;
    bench_must(partition->len <= WIRE_CHUNK_MAX, "a partition of one chunk");
    uint8_t *to = buf_reserve(frame, FLEET_CHUNK_AT + partition->len);
    bench_must(to != NULL, "memory");
    wire_chunk_put(to + WIRE_HEADER_BYTES, &chunk);
    memcpy(to + FLEET_CHUNK_AT, partition->data, partition->len);
    wire_frame_seal(to, WIRE_CHUNK, key->sequence + 1, body_bytes);
    frame->len += FLEET_CHUNK_AT + partition->len;
}
