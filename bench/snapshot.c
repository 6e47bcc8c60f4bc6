/* SPDX-License-Identifier: Apache-2.0
 *
 * A snapshot of a full ring through the real path: POST to the collector, command to the agent,
 * cut, evidence, pack, spool, upload, group commit, until the capture says that it is complete and
 * its trace can be fetched. Collector, agents and traced services are started beside this process.
 * The floor, in the same run and on the same disk, is a plain write and fdatasync of the bytes that
 * were stored; the peer, where it is installed, is LTTng's snapshot over the network
 * (bench/snapshot_lttng.sh).
 *
 * What the evidence costs is seen in the same run, too: a second agent takes none, and the same
 * services run at each. Snapshots of one and of the other alternate. So they do for the snapshot of
 * many services of one host, each with a small ring.
 *
 *   bench_snapshot [--json] [--runs N] [--processes N]
 *
 * The parts of our time are printed beside it, as the agent's log tells them (snapshot_parts.h).
 *
 * ratio is ours to the peer where there is one, else to the floor.
 */
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
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
#include "snapshot_parts.h"

#define RING_BYTES    (UINT64_C(16) << 20)
#define RING_SMALL    (UINT64_C(1) << 20) /* of each of many */
#define EVENT_BYTES   6                   /* about, so that a ring is filled some two times */
#define RUNS_MAX      1000
#define PROCESSES_MAX 256
#define DEADLINE_MS   30000

/* Agents: one takes evidence, one takes none. */
enum agent { WITH, WITHOUT, AGENTS };
static const char *const agent_names[AGENTS] = {"with", "without"};

struct daemons {
    char socket[AGENTS][320], base[64];
    pid_t collector, agents[AGENTS];
    FILE *log; /* of the agent that takes evidence */
};

/* Services of one name at each agent: "one", or "many". */
struct services {
    const char *name;
    unsigned count; /* at each */
    pid_t pids[AGENTS][PROCESSES_MAX];
};

struct figure {
    double median_ms, fetch_ms, floor_ms;
    double without_ms; /* the same, of the agent that takes no evidence */
    uint64_t stored_bytes;
    double parts_ms[PARTS]; /* medians; of median_ms */
    int parts_runs;         /* that the agent's log told of */
};

static bool busy_stop;

/* ---- collector, agent, service ---- */

static void config_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    bench_must(file && fputs(text, file) >= 0 && fclose(file) == 0, "no file could be written");
}

static void agent_start(struct daemons *d, enum agent agent, unsigned data, unsigned control)
{
    const char *name = agent_names[agent];
    char text[2048], path[320], log[320];
    snprintf(d->socket[agent], sizeof d->socket[agent], "%s/%s.sock", bench_folder(), name);
    snprintf(text, sizeof text,
             "{\"collector\":{\"data\":\"tcp://127.0.0.1:%u\",\"control\":\"tcp://127.0.0.1:%u\"},"
             "\"socket\":\"%s\",\"state_dir\":\"%s/%s\",\"heartbeat_ms\":1000,"
             "\"evidence\":{\"enabled\":%s},\"log\":{\"level\":\"debug\"}}",
             data, control, d->socket[agent], bench_folder(), name,
             agent == WITH ? "true" : "false");
    snprintf(path, sizeof path, "%s/%s.json", bench_folder(), name);
    config_write(path, text);
    snprintf(log, sizeof log, "%s/%s.log", bench_folder(), name);
    config_write(log, "");
    d->agents[agent] = bench_spawn((const char *const[]){
        "sh", "-c", "exec \"$0\" --config \"$1\" 2>\"$2\"", SKEIN_AGENT, path, log, NULL});
    if (agent == WITH)
        bench_must((d->log = fopen(log, "re")) != NULL, "no log");
}

static void daemons_start(struct daemons *d)
{
    const char *folder = bench_folder();
    unsigned data = bench_free_port(), control = bench_free_port(), http = bench_free_port();
    char text[2048], path[320];
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
    for (enum agent agent = 0; agent < AGENTS; agent++)
        agent_start(d, agent, data, control);
}

static void daemons_stop(const struct daemons *d)
{
    fclose(d->log);
    for (enum agent agent = 0; agent < AGENTS; agent++)
        bench_stop(d->agents[agent]);
    bench_stop(d->collector);
}

/* ---- a traced service, in a process of its own ---- */

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

/* SOCKET SERVICE RING_BYTES PIPE: fills its ring, says so, and waits for SIGUSR1, to be busy, and SIGTERM. */
static int service_main(char **argv)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    uint64_t ring_bytes = strtoull(argv[2], NULL, 10);
    struct skein_options service = {.size = sizeof service,
                                    .service = argv[1],
                                    .agent_socket = argv[0],
                                    .ring_bytes = ring_bytes};
    bench_must(skein_start(&service) == SKEIN_OK && skein_wait_attached(10000) == SKEIN_OK,
               "no agent within 10 s");
    for (uint64_t i = 0; i < ring_bytes / EVENT_BYTES; i++)
        emit(i);
    int filled = (int)strtol(argv[3], NULL, 10);
    bench_must(write(filled, "f", 1) == 1, "the bench has gone");
    pthread_t thread;
    bool busy = false;
    for (int signal = 0; sigwait(&signals, &signal) == 0 && signal != SIGTERM;) {
        bench_must(!busy && pthread_create(&thread, NULL, busy_main, NULL) == 0, "no thread");
        busy = true;
    }
    __atomic_store_n(&busy_stop, true, __ATOMIC_RELAXED);
    if (busy)
        pthread_join(thread, NULL);
    skein_stop();
    return 0;
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

/* ---- services ---- */

static void services_start(const struct daemons *d, struct services *services, uint64_t ring_bytes)
{
    int filled[2];
    char service[64], bytes[32], pipe_end[16], byte;
    snprintf(bytes, sizeof bytes, "%" PRIu64, ring_bytes);
    bench_must(pipe(filled) == 0, "no pipe");
    snprintf(pipe_end, sizeof pipe_end, "%d", filled[1]);
    for (enum agent agent = 0; agent < AGENTS; agent++) {
        snprintf(service, sizeof service, "%s-%s", services->name, agent_names[agent]);
        const char *const argv[] = {"/proc/self/exe", "--service", d->socket[agent], service, bytes,
                                    pipe_end,         NULL};
        for (unsigned i = 0; i < services->count; i++)
            services->pids[agent][i] = bench_spawn(argv);
    }
    close(filled[1]);
    for (unsigned i = 0; i < AGENTS * services->count; i++)
        bench_must(read(filled[0], &byte, 1) == 1, "a service has ended");
    close(filled[0]);
}

static void services_stop(const struct services *services)
{
    for (enum agent agent = 0; agent < AGENTS; agent++)
        for (unsigned i = 0; i < services->count; i++)
            bench_stop(services->pids[agent][i]);
}

static bool services_known(const struct daemons *d, const struct services *services)
{
    long status;
    bool known = true;
    for (enum agent agent = 0; agent < AGENTS; agent++) {
        char path[128];
        snprintf(path, sizeof path, "/processes?limit=%u&selector=service%%3D%s-%s", PROCESSES_MAX,
                 services->name, agent_names[agent]);
        cJSON *json = call(d, "GET", path, NULL, &status);
        int count = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "items"));
        known = known && count == (int)services->count;
        cJSON_Delete(json);
    }
    return known;
}

static void services_await(const struct daemons *d, const struct services *services)
{
    for (int i = 0; !services_known(d, services); i++) {
        bench_must(i < DEADLINE_MS / 10, "the collector never heard of a service");
        usleep(10000);
    }
}

/* ---- one snapshot ---- */

/* From the request until the collector says complete. Returns ms; the capture's id in id. */
static double snapshot_take(const struct daemons *d, const struct services *services,
                            enum agent agent, char id[64])
{
    long status;
    char body[192], path[128];
    snprintf(body, sizeof body,
             "{\"selector\":\"service=%s-%s\",\"pre_ms\":3600000,\"reason\":\"bench\"}",
             services->name, agent_names[agent]);
    uint64_t begin = clock_monotonic_ns();
    cJSON *json = call(d, "POST", "/captures", body, &status);
    bench_must(json && status == 202, "POST /captures was not answered 202");
    snprintf(id, 64, "%s", member(json, "capture"));
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
    const cJSON *targets = cJSON_GetObjectItemCaseSensitive(json, "targets"), *target;
    bench_must(cJSON_GetArraySize(targets) == (int)services->count, "not all were captured");
    cJSON_ArrayForEach(target, targets)
        bench_must(strcmp(member(target, "status"), "complete") == 0,
                   "a target did not end complete");
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

static void capture_delete(const struct daemons *d, const char *id)
{
    char path[128];
    long status;
    snprintf(path, sizeof path, "/captures/%s", id);
    cJSON_Delete(call(d, "DELETE", path, NULL, &status));
}

static double realtime_ms(void)
{
    return (double)clock_realtime_ns() / 1e6;
}

/* The median of each part on its own. */
static void parts_sum(double (*parts)[RUNS_MAX], struct figure *f)
{
    for (unsigned i = 0; i < PARTS && f->parts_runs > 0; i++)
        f->parts_ms[i] = bench_median(parts[i], f->parts_runs);
}

static struct figure measure(const struct daemons *d, const struct services *services, int runs)
{
    static double parts[PARTS][RUNS_MAX];
    static double snapshots[RUNS_MAX], without[RUNS_MAX], fetches[RUNS_MAX], floors[RUNS_MAX];
    struct figure f = {0};
    for (int i = 0; i < runs; i++) {
        char id[64], bare_id[64];
        if (i % 2 == 0)
            without[i] = snapshot_take(d, services, WITHOUT, bare_id);
        double begin = realtime_ms(), taken[PARTS];
        snapshots[i] = snapshot_take(d, services, WITH, id);
        if (parts_read(d->log, 2 * services->count, begin, begin + snapshots[i], taken)) {
            for (unsigned k = 0; k < PARTS; k++)
                parts[k][f.parts_runs] = taken[k];
            f.parts_runs++;
        }
        if (i % 2 != 0)
            without[i] = snapshot_take(d, services, WITHOUT, bare_id);
        fetches[i] = fetch(d, id, &f.stored_bytes);
        floors[i] = floor_take(f.stored_bytes);
        capture_delete(d, id);
        capture_delete(d, bare_id);
    }
    parts_sum(parts, &f);
    f.median_ms = bench_median(snapshots, runs);
    f.without_ms = bench_median(without, runs);
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
    printf("%-14s without evidence %7.1f ms, ratio %.2f\n", "", f->without_ms,
           f->median_ms / f->without_ms);
    printf("%-14s of it (medians of %d runs):", "", f->parts_runs);
    for (unsigned i = 0; i < PARTS; i++)
        printf("%s %s %.1f", i > 0 ? "," : "", part_names[i], f->parts_ms[i]);
    printf("\n%-14s write + fdatasync of the same bytes %6.1f ms, ratio %.2f\n", "", f->floor_ms,
           f->median_ms / f->floor_ms);
    if (peer != NULL && peer->median_ms > 0)
        printf("%-14s LTTng network snapshot %7.1f ms, ratio %.2f\n", "", peer->median_ms,
               f->median_ms / peer->median_ms);
    else if (peer != NULL)
        printf("%-14s LTTng network snapshot: %s\n", "", peer->why);
}

static cJSON *result_json(const char *name, const struct figure *f, const struct peer *peer)
{
    cJSON *o = cJSON_CreateObject();
    bool has_peer = peer != NULL && peer->median_ms > 0;
    cJSON_AddStringToObject(o, "name", name);
    cJSON_AddNumberToObject(o, "value", f->median_ms);
    cJSON_AddStringToObject(o, "unit", "ms");
    cJSON_AddNumberToObject(o, "floor", f->floor_ms);
    cJSON_AddStringToObject(o, "floor_name", "write_fdatasync");
    if (has_peer)
        cJSON_AddNumberToObject(o, "peer", peer->median_ms);
    else if (peer != NULL)
        cJSON_AddStringToObject(o, "peer", peer->why);
    if (peer != NULL)
        cJSON_AddStringToObject(o, "peer_name", "lttng_network_snapshot");
    cJSON_AddNumberToObject(o, "ratio", f->median_ms / (has_peer ? peer->median_ms : f->floor_ms));
    cJSON_AddNumberToObject(o, "without_evidence", f->without_ms);
    cJSON_AddNumberToObject(o, "evidence_ratio", f->median_ms / f->without_ms);
    cJSON *parts = cJSON_AddObjectToObject(o, "parts_ms");
    for (unsigned i = 0; i < PARTS; i++)
        cJSON_AddNumberToObject(parts, part_names[i], f->parts_ms[i]);
    cJSON_AddNumberToObject(o, "stored_bytes", (double)f->stored_bytes);
    cJSON_AddNumberToObject(o, "fetch_ms", f->fetch_ms);
    return o;
}

enum row { ROW_IDLE, ROW_BUSY, ROW_MANY, ROWS };

static void print_all(bool json, const struct figure figures[ROWS], unsigned processes,
                      const struct peer *peer)
{
    char many[32];
    snprintf(many, sizeof many, "snapshot_%u", processes);
    const char *const names[ROWS] = {"snapshot_idle", "snapshot_busy", many};
    cJSON *array = cJSON_CreateArray();
    for (enum row row = 0; row < ROWS; row++) { /* the peer has one process */
        const struct peer *beside = row == ROW_MANY ? NULL : peer;
        if (json)
            cJSON_AddItemToArray(array, result_json(names[row], &figures[row], beside));
        else
            print_text(names[row], &figures[row], beside);
    }
    char *text = cJSON_Print(array);
    if (json)
        puts(text);
    free(text);
    cJSON_Delete(array);
}

static void run(bool json, int runs, unsigned processes)
{
    static struct services one = {.name = "one", .count = 1}, many = {.name = "many"};
    struct daemons d;
    struct figure figures[ROWS];
    struct peer peer = {0};
    many.count = processes;
    bench_must(http_client_init() == SKEIN_OK, "no HTTP client");
    daemons_start(&d);
    services_start(&d, &one, RING_BYTES);
    services_await(&d, &one);
    figures[ROW_IDLE] = measure(&d, &one, runs);
    for (enum agent agent = 0; agent < AGENTS; agent++)
        kill(one.pids[agent][0], SIGUSR1);
    figures[ROW_BUSY] = measure(&d, &one, runs);
    services_stop(&one);
    services_start(&d, &many, RING_SMALL);
    services_await(&d, &many);
    figures[ROW_MANY] = measure(&d, &many, runs);
    services_stop(&many);
    peer_measure(runs, &peer);
    print_all(json, figures, processes, &peer);
    daemons_stop(&d);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"runs", required_argument, NULL, 'n'},
                                            {"processes", required_argument, NULL, 'p'},
                                            {0}};
    bool json = false;
    int runs = 15, processes = 20, option;
    if (argc == 6 && strcmp(argv[1], "--service") == 0)
        return service_main(argv + 2);
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'j')
            json = true;
        else if (option == 'n')
            runs = (int)strtol(optarg, NULL, 10);
        else if (option == 'p')
            processes = (int)strtol(optarg, NULL, 10);
        else
            return 2;
    }
    bench_must(runs > 0 && runs <= RUNS_MAX, "--runs takes 1 to 1000");
    bench_must(processes > 0 && processes <= PROCESSES_MAX, "--processes takes 1 to 256");
    run(json, runs, (unsigned)processes);
    return 0;
}
