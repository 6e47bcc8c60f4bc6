/* SPDX-License-Identifier: Apache-2.0
 *
 * A snapshot of a full ring through the real path: POST to the collector, command to the agent,
 * cut, pack, spool, upload, group commit, until the capture says that it is complete and its trace
 * can be fetched. This process is the traced service; collector and agent are started beside it.
 * The floor, in the same run and on the same disk, is a plain write and fdatasync of the bytes that
 * were stored; the peer, where it is installed, is LTTng's snapshot over the network
 * (bench/snapshot_lttng.sh).
 *
 *   bench_snapshot [--json] [--runs N]
 *
 * ratio is ours to the peer where there is one, else to the floor.
 */
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_host.h"
#include "clock.h"
#include "http_client.h"
#include "skein/skein.h"

#define RING_BYTES  (UINT64_C(16) << 20)
#define EVENTS_FILL 8000000 /* some two rings full */
#define RUNS_MAX    1000
#define DEADLINE_MS 30000

struct daemons {
    char socket[320], base[64];
    pid_t collector, agent;
};

struct figure {
    double median_ms, fetch_ms, floor_ms;
    uint64_t stored_bytes, events;
};

static bool busy_stop;

/* ---- collector, agent, service ---- */

static void config_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    bench_must(file && fputs(text, file) >= 0 && fclose(file) == 0, "no file could be written");
}

static void daemons_start(struct daemons *d)
{
    const char *folder = bench_folder();
    unsigned data = bench_free_port(), control = bench_free_port(), http = bench_free_port();
    char text[2048], path[320];
    snprintf(d->socket, sizeof d->socket, "%s/agent.sock", folder);
    snprintf(d->base, sizeof d->base, "http://127.0.0.1:%u", http);
    snprintf(
        text, sizeof text,
        "{\"listen\":{\"data\":\"tcp://127.0.0.1:%u\",\"control\":\"tcp://127.0.0.1:%u\","
        "\"http\":\"127.0.0.1:%u\"},\"data_dir\":\"%s/collector\",\"log\":{\"level\":\"warn\"},"
        "\"agents\":{\"heartbeat_ms\":1000}}",
        data, control, http, folder);
    snprintf(path, sizeof path, "%s/collector.json", folder);
    config_write(path, text);
    d->collector = bench_spawn((const char *const[]){SKEIND, "--config", path, NULL});
    snprintf(text, sizeof text,
             "{\"collector\":{\"data\":\"tcp://127.0.0.1:%u\",\"control\":\"tcp://127.0.0.1:%u\"},"
             "\"socket\":\"%s\",\"state_dir\":\"%s/agent\",\"heartbeat_ms\":1000,"
             "\"log\":{\"level\":\"warn\"}}",
             data, control, d->socket, folder);
    snprintf(path, sizeof path, "%s/agent.json", folder);
    config_write(path, text);
    d->agent = bench_spawn((const char *const[]){SKEIN_AGENT, "--config", path, NULL});
}

static void daemons_stop(const struct daemons *d)
{
    bench_stop(d->agent);
    bench_stop(d->collector);
}

static void emit(uint64_t i)
{
    SKEIN_REGION("request", (u64, "id", i));
    SKEIN_INSTANT("lookup", (u64, "key", i * 7919 % 100003), (u64, "bytes", i % 4096));
    if (i % 16 == 0)
        SKEIN_COUNTER("queue_depth", (int64_t)(i % 64));
}

static void *busy_main(void *unused)
{
    (void)unused;
    for (uint64_t i = 0; !__atomic_load_n(&busy_stop, __ATOMIC_RELAXED); i++) {
        emit(i);
        if (i % 64 == 0)
            usleep(100); /* a service that works, not a loop that fills the ring within the cut */
    }
    return NULL;
}

/* ---- HTTP ---- */

static cJSON *call(const struct daemons *d, const char *method, const char *path, const char *body,
                   long *status)
{
    char url[512];
    snprintf(url, sizeof url, "%s/api/v1%s", d->base, path);
    const char *const headers[] = {"Content-Type: application/json", NULL};
    struct http_request request = {.method = method,
                                   .url = url,
                                   .headers = headers,
                                   .body = body,
                                   .body_bytes = body ? strlen(body) : 0,
                                   .timeout_ms = DEADLINE_MS};
    struct http_response response;
    cJSON *json = NULL;
    *status = 0;
    if (http_request(&request, &response) == SKEIN_OK) {
        *status = response.status;
        json = cJSON_ParseWithLength((const char *)response.body.data, response.body.len);
    }
    http_response_fini(&response);
    return json;
}

static const char *member(const cJSON *json, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, name));
    return text ? text : "";
}

static bool process_known(void *context)
{
    long status;
    cJSON *json =
        call(context, "GET", "/processes?selector=service%3Dbench-snapshot", NULL, &status);
    bool known = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "items")) > 0;
    cJSON_Delete(json);
    return known;
}

/* ---- one snapshot ---- */

/* From the request until the collector says complete. Returns ms; the capture's id in id. */
static double snapshot_take(const struct daemons *d, char id[64])
{
    long status;
    uint64_t begin = clock_monotonic_ns();
    cJSON *json = call(d, "POST", "/captures",
                       "{\"selector\":\"service=bench-snapshot\",\"pre_ms\":3600000,"
                       "\"reason\":\"bench\"}",
                       &status);
    bench_must(json && status == 202, "POST /captures was not answered 202");
    snprintf(id, 64, "%s", member(json, "capture"));
    char path[128];
    snprintf(path, sizeof path, "/captures/%s", id);
    while (strcmp(member(json, "status"), "running") == 0) {
        bench_must(clock_monotonic_ns() - begin < DEADLINE_MS * UINT64_C(1000000),
                   "no end of a capture");
        cJSON_Delete(json);
        usleep(500);
        json = call(d, "GET", path, NULL, &status);
        bench_must(json && status == 200, "GET /captures/{capture} was not answered 200");
    }
    double ms = (double)(clock_monotonic_ns() - begin) / 1e6;
    cJSON *target = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(json, "targets"), 0);
    bench_must(strcmp(member(target, "status"), "complete") == 0,
               "the target did not end complete");
    cJSON_Delete(json);
    return ms;
}

static double fetch(const struct daemons *d, const char *id, uint64_t *bytes)
{
    char url[512];
    snprintf(url, sizeof url, "%s/api/v1/captures/%s/trace", d->base, id);
    struct http_request request = {.url = url, .timeout_ms = DEADLINE_MS};
    struct http_response response;
    uint64_t begin = clock_monotonic_ns();
    int status = http_request(&request, &response);
    double ms = (double)(clock_monotonic_ns() - begin) / 1e6;
    bench_must(status == SKEIN_OK && response.status == 200 && response.body.len > 0,
               "the trace could not be fetched");
    *bytes = response.body.len;
    http_response_fini(&response);
    return ms;
}

static double floor_take(uint64_t bytes)
{
    char path[320];
    snprintf(path, sizeof path, "%s/floor", bench_folder());
    char *data = malloc(bytes);
    bench_must(data != NULL, "out of memory");
    memset(data, 0x5a, bytes);
    uint64_t begin = clock_monotonic_ns();
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    bench_must(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes && fdatasync(fd) == 0,
               "the floor could not be written");
    double ms = (double)(clock_monotonic_ns() - begin) / 1e6;
    close(fd);
    unlink(path);
    free(data);
    return ms;
}

static struct figure measure(const struct daemons *d, int runs)
{
    static double snapshots[RUNS_MAX], fetches[RUNS_MAX], floors[RUNS_MAX];
    struct figure f = {0};
    for (int i = 0; i < runs; i++) {
        char id[64], path[128];
        long status;
        snapshots[i] = snapshot_take(d, id);
        fetches[i] = fetch(d, id, &f.stored_bytes);
        floors[i] = floor_take(f.stored_bytes);
        snprintf(path, sizeof path, "/captures/%s", id);
        cJSON_Delete(call(d, "DELETE", path, NULL, &status));
    }
    f.median_ms = bench_median(snapshots, runs);
    f.fetch_ms = bench_median(fetches, runs);
    f.floor_ms = bench_median(floors, runs);
    return f;
}

/* ---- the peer ---- */

struct peer {
    double median_ms; /* 0: none */
    char why[160];
};

/* The script prints "median_ms N" or one line that says why there is no figure. */
static void peer_measure(int runs, struct peer *peer)
{
    char command[1024];
    snprintf(command, sizeof command, "%s %d %s", PEER_SCRIPT, runs, PEER_PROGRAM);
    FILE *pipe = popen(command, "r"); /* NOLINT(cert-env33-c): no word of it is a stranger's */
    char line[160] = "the script did not run";
    if (pipe) {
        if (!fgets(line, sizeof line, pipe))
            snprintf(line, sizeof line, "the script said nothing");
        pclose(pipe);
    }
    line[strcspn(line, "\n")] = 0;
    static const char figure[] = "median_ms ";
    if (strncmp(line, figure, sizeof figure - 1) == 0)
        peer->median_ms = strtod(line + sizeof figure - 1, NULL);
    if (!(peer->median_ms > 0))
        snprintf(peer->why, sizeof peer->why, "%s", line);
}

static void print_text(const char *name, const struct figure *f, const struct peer *peer)
{
    printf(
        "%-14s request to durable and fetchable %7.1f ms (median), fetch %6.1f ms, %.1f MB stored\n",
        name, f->median_ms, f->fetch_ms, (double)f->stored_bytes / 1e6);
    printf("%-14s write + fdatasync of the same bytes %6.1f ms, ratio %.2f\n", "", f->floor_ms,
           f->median_ms / f->floor_ms);
    if (peer->median_ms > 0)
        printf("%-14s LTTng network snapshot %7.1f ms, ratio %.2f\n", "", peer->median_ms,
               f->median_ms / peer->median_ms);
    else
        printf("%-14s LTTng network snapshot: %s\n", "", peer->why);
}

static cJSON *result_json(const char *name, const struct figure *f, const struct peer *peer)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "name", name);
    cJSON_AddNumberToObject(o, "value", f->median_ms);
    cJSON_AddStringToObject(o, "unit", "ms");
    cJSON_AddNumberToObject(o, "floor", f->floor_ms);
    cJSON_AddStringToObject(o, "floor_name", "write_fdatasync");
    if (peer->median_ms > 0)
        cJSON_AddNumberToObject(o, "peer", peer->median_ms);
    else
        cJSON_AddStringToObject(o, "peer", peer->why);
    cJSON_AddStringToObject(o, "peer_name", "lttng_network_snapshot");
    cJSON_AddNumberToObject(o, "ratio",
                            f->median_ms / (peer->median_ms > 0 ? peer->median_ms : f->floor_ms));
    cJSON_AddNumberToObject(o, "stored_bytes", (double)f->stored_bytes);
    cJSON_AddNumberToObject(o, "fetch_ms", f->fetch_ms);
    return o;
}

static void print_all(bool json, const struct figure *idle, const struct figure *busy,
                      const struct peer *peer)
{
    if (!json) {
        print_text("snapshot_idle", idle, peer);
        print_text("snapshot_busy", busy, peer);
        return;
    }
    cJSON *array = cJSON_CreateArray();
    cJSON_AddItemToArray(array, result_json("snapshot_idle", idle, peer));
    cJSON_AddItemToArray(array, result_json("snapshot_busy", busy, peer));
    char *text = cJSON_Print(array);
    puts(text);
    free(text);
    cJSON_Delete(array);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'}, {"runs", required_argument, NULL, 'n'}, {0}};
    bool json = false;
    int runs = 15, option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'j')
            json = true;
        else if (option == 'n')
            runs = (int)strtol(optarg, NULL, 10);
        else
            return 2;
    }
    bench_must(runs > 0 && runs <= RUNS_MAX, "--runs takes 1 to 1000");
    struct daemons d;
    bench_must(http_client_init() == SKEIN_OK, "no HTTP client");
    daemons_start(&d);
    struct skein_options service = {.size = sizeof service,
                                    .service = "bench-snapshot",
                                    .agent_socket = d.socket,
                                    .ring_bytes = RING_BYTES};
    bench_must(skein_start(&service) == SKEIN_OK && skein_wait_attached(10000) == SKEIN_OK,
               "no agent within 10 s");
    for (uint64_t i = 0; i < EVENTS_FILL / 3; i++)
        emit(i);
    for (int i = 0; !process_known(&d); i++) {
        bench_must(i < DEADLINE_MS / 10, "the collector never heard of this process");
        usleep(10000);
    }
    struct figure idle = measure(&d, runs);
    pthread_t thread;
    bench_must(pthread_create(&thread, NULL, busy_main, NULL) == 0, "no thread");
    struct figure busy = measure(&d, runs);
    __atomic_store_n(&busy_stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    struct peer peer = {0};
    peer_measure(runs, &peer);
    print_all(json, &idle, &busy, &peer);
    skein_stop();
    daemons_stop(&d);
    return 0;
}
