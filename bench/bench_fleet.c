/* SPDX-License-Identifier: Apache-2.0
 *
 * One collector and a fleet of simulated agents that speak the real protocol from this one process
 * (docs/protocol.md): how long all of them need to come back at once, what each costs in memory,
 * what they cost in CPU while nothing happens, how long a snapshot across all of them takes from
 * the request to the last acknowledgement, and how fast partitions are stored, plain and sealed.
 * Beside it, in the same run: the same messages sent to a nanomsg listener that stores nothing, and
 * a plain write and fdatasync of the same bytes.
 *
 *   bench_fleet [--json] [--agents N]... [--idle SECONDS] [--partitions N]
 *     default: 1000 and 10000 agents (0: the ingest alone), 10 s, 4000 partitions for the ingest
 *
 * ratio of the ingest figure is ours to the slower of those two; the disk is synced as often as the
 * collector did. An agent drops its data connection
 * once its partition is stored, as a real one does after a quiet minute.
 */
#include <cjson/cJSON.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_host.h"
#include "clock.h"
#include "fleet_collector.h"
#include "http_client.h"
#include "json.h"
#include "partition_make.h"

#define PARTITION_NOISE (64u << 10)
#define REPEAT_NS       (UINT64_C(5) * 1000000000u) /* as agents do */
#define FLEETS_MAX      8

enum agent_state { CONNECTING, WELCOMED, LISTED, CAPTURING, STORED, REPORTED };

struct agent {
    uint32_t number;
    enum agent_state state;
    struct link control, data;
    struct buf partition;
    struct capture_id capture;
    uint64_t events, next_frame, said_ns, beat_ns, upload_ns;
};

struct fleet {
    struct links links;
    struct agent *agents;
    uint32_t count;
    uint32_t reached[REPORTED + 1]; /* agents that have come to each state */
    struct bench_collector collector;
    uint64_t stored_bytes, last_ack_ns;
};

struct figures {
    uint32_t agents;
    double storm_s, agent_kib, peak_mib, idle_percent, snapshot_s, snapshot_mb_per_s;
};

static struct fleet *fleet; /* for the callbacks of the links */

/* ---- what an agent says ---- */

static void reached(struct agent *a, enum agent_state state)
{
    if (state <= a->state)
        return;
    a->state = state;
    fleet->reached[state]++;
}

static void say(struct agent *a, uint8_t type, const char *body)
{
    struct buf frame = {0};
    wire_frame_put(&frame, type, ++a->next_frame, body, strlen(body));
    link_send(&fleet->links, &a->control, frame.data, frame.len);
    buf_fini(&frame);
    a->said_ns = clock_monotonic_ns();
}

static void say_hello(struct agent *a)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"agent\":\"%016x\",\"host\":\"host-%u\",\"version\":\"bench\",\"boot\":\"b\","
             "\"epoch\":1,\"labels\":\"\",\"heartbeat_ms\":%d,\"seal\":null}",
             a->number + 1, a->number, FLEET_HEARTBEAT_MS);
    say(a, WIRE_HELLO, text);
}

static void say_processes(struct agent *a)
{
    char text[1024], id[ID_TEXT_BYTES];
    id_text(process_of(a->number + 1).bytes, id);
    snprintf(text, sizeof text,
             "{\"agent\":\"%016x\",\"kind\":\"processes\",\"version\":1,\"page\":0,\"pages\":1,"
             "\"processes\":[{\"process\":\"%s\",\"pid\":%u,\"service\":\"fleet\","
             "\"labels\":\"zone=a\",\"exe\":\"/usr/bin/fleet\",\"state\":\"live\",\"mode\":"
             "\"circular\",\"start_ns\":\"%llu\",\"ring_bytes\":16777216}]}",
             a->number + 1, id, a->number + 100, (unsigned long long)clock_realtime_ns());
    say(a, WIRE_REPORT, text);
}

static void say_target(struct agent *a)
{
    char text[1024], process[ID_TEXT_BYTES], capture[ID_TEXT_BYTES];
    id_text(process_of(a->number + 1).bytes, process);
    id_text(a->capture.bytes, capture);
    snprintf(
        text, sizeof text,
        "{\"agent\":\"%016x\",\"kind\":\"target\",\"capture\":\"%s\",\"process\":\"%s\","
        "\"state\":\"uploading\",\"partitions\":[{\"epoch\":1,\"first\":0,\"last\":0,"
        "\"events\":%llu,\"bytes\":%zu}],\"ledger\":{\"events\":%llu,\"lost\":{}},\"gaps\":[]}",
        a->number + 1, capture, process, (unsigned long long)a->events, a->partition.len,
        (unsigned long long)a->events);
    say(a, WIRE_REPORT, text);
}

static void say_beat(struct agent *a)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"agent\":\"%016x\",\"sent_ns\":\"%llu\",\"rules_generation\":0,"
             "\"processes_version\":1,\"spool\":{\"bytes\":0,\"partitions\":0},"
             "\"lost\":{\"spool_partitions\":0,\"spool_events\":0},\"cpu_ms\":1}",
             a->number + 1, (unsigned long long)clock_realtime_ns());
    uint64_t said_ns = a->said_ns; /* it repeats nothing */
    say(a, WIRE_HEARTBEAT, text);
    a->said_ns = said_ns;
}

static void upload(struct agent *a)
{
    struct partition_key key = key_of(a->number + 1, 1, 0);
    struct buf frame = {0};
    chunk_frame_make(&key, &a->capture, &a->partition, &frame);
    link_send(&fleet->links, &a->data, frame.data, frame.len);
    buf_fini(&frame);
    a->said_ns = clock_monotonic_ns();
}

/* ---- what it hears ---- */

static void on_data(void *owner, struct link *link, const uint8_t *message, size_t n)
{
    struct agent *a = owner;
    struct wire_frame frame;
    struct wire_ack ack;
    if (wire_frame_get(message, n, &frame) != SKEIN_OK || frame.type != WIRE_CHUNK_ACK ||
        wire_ack_get(frame.body, frame.body_bytes, &ack) != SKEIN_OK || a->state >= STORED)
        return;
    bench_must(ack.status != WIRE_REJECTED, "the collector rejects a partition");
    if (ack.status == WIRE_RETRY)
        return; /* said_ns repeats it */
    fleet->stored_bytes += a->partition.len;
    fleet->last_ack_ns = clock_monotonic_ns();
    link_close(&fleet->links, link);
    reached(a, STORED);
    say_target(a);
}

static void upload_begin(struct agent *a)
{
    link_open(&fleet->links, &a->data, fleet->collector.data_port, a, on_data);
    upload(a);
}

static void on_command(struct agent *a, const cJSON *json)
{
    char text[256];
    const cJSON *command = cJSON_GetObjectItemCaseSensitive(json, "command");
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "kind"));
    const char *capture = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "capture"));
    if (!cJSON_IsString(command) || kind == NULL)
        return;
    snprintf(text, sizeof text, "{\"agent\":\"%016x\",\"command\":\"%s\",\"status\":\"ok\"}",
             a->number + 1, command->valuestring);
    say(a, WIRE_COMMAND_ACK, text);
    if (strcmp(kind, "capture") != 0 || capture == NULL || a->state >= CAPTURING ||
        id_parse(capture, a->capture.bytes) != SKEIN_OK)
        return;
    reached(a, CAPTURING);
    const cJSON *after = cJSON_GetObjectItemCaseSensitive(json, "upload_after_ms");
    uint64_t after_ms = cJSON_IsNumber(after) ? (uint64_t)after->valuedouble : 0;
    a->upload_ns = clock_monotonic_ns() + after_ms * UINT64_C(1000000);
    if (after_ms == 0)
        upload_begin(a);
}

static void on_control(void *owner, struct link *link, const uint8_t *message, size_t n)
{
    struct agent *a = owner;
    struct wire_frame frame;
    (void)link;
    if (wire_frame_get(message, n, &frame) != SKEIN_OK)
        return;
    if (frame.type == WIRE_WELCOME && a->state < WELCOMED) {
        reached(a, WELCOMED);
        say_processes(a);
    } else if (frame.type == WIRE_REPORT_ACK) {
        if (a->state == WELCOMED)
            reached(a, LISTED);
        else if (a->state == STORED)
            reached(a, REPORTED);
    } else if (frame.type == WIRE_COMMAND) {
        cJSON *json = cJSON_ParseWithLength((const char *)frame.body, frame.body_bytes);
        on_command(a, json);
        cJSON_Delete(json);
    }
}

static void on_broken(struct link *link)
{
    struct agent *a = link->owner;
    if (link == &a->data && a->state != CAPTURING)
        return;
    link_open(&fleet->links, link,
              link == &a->data ? fleet->collector.data_port : fleet->collector.control_port, a,
              link == &a->data ? on_data : on_control);
    a->said_ns = 0; /* says it again */
}

/* Repeats what was not answered, and beats. */
static void agent_tick(struct agent *a, uint64_t now)
{
    if (a->state >= LISTED && now >= a->beat_ns) {
        a->beat_ns = now + FLEET_HEARTBEAT_MS * UINT64_C(1000000);
        say_beat(a);
    }
    if (a->state == CAPTURING && a->data.fd < 0) {
        if (now >= a->upload_ns)
            upload_begin(a);
        return;
    }
    if (now - a->said_ns < REPEAT_NS)
        return;
    if (a->state == CONNECTING)
        say_hello(a);
    else if (a->state == WELCOMED)
        say_processes(a);
    else if (a->state == CAPTURING)
        upload(a);
    else if (a->state == STORED)
        say_target(a);
}

/* Runs the fleet until all its agents have come to a state, or for a time (state CONNECTING). */
static void fleet_run(struct fleet *f, enum agent_state until, uint64_t deadline_ns)
{
    uint64_t next_tick = 0;
    while (until == CONNECTING || f->reached[until] < f->count) {
        uint64_t now = clock_monotonic_ns();
        if (now >= deadline_ns) {
            if (until == CONNECTING)
                return;
            fprintf(stderr, "bench_fleet: %u of %u agents came to state %d\n", f->reached[until],
                    f->count, (int)until);
            bench_fail("the fleet did not get there in time");
        }
        if (now >= next_tick) {
            for (uint32_t i = 0; i < f->count; i++)
                agent_tick(&f->agents[i], now);
            next_tick = now + UINT64_C(100000000);
        }
        links_poll(&f->links, 10, on_broken);
    }
}

/* ---- the phases ---- */

static uint64_t events_in(const struct buf *partition)
{
    struct partition_footer footer;
    size_t n;
    bench_must(partition_footer_get(partition->data, partition->len, &footer, &n) == SKEIN_OK,
               "reading a footer");
    uint64_t events = footer.events;
    partition_footer_free(&footer);
    return events;
}

static void fleet_make(struct fleet *f)
{
    uint64_t now = clock_realtime_ns();
    links_new(&f->links);
    f->agents = calloc(f->count, sizeof *f->agents);
    bench_must(f->agents != NULL, "memory");
    for (uint32_t i = 0; i < f->count; i++) {
        struct agent *a = &f->agents[i];
        struct partition_spec spec = {.key = key_of(i + 1, 1, 0),
                                      .from_ns = now - 1000000000u,
                                      .to_ns = now,
                                      .service = "fleet",
                                      .noise_bytes = PARTITION_NOISE};
        a->number = i;
        a->control.fd = a->data.fd = -1;
        a->beat_ns = 0;
        partition_make(&spec, &a->partition);
        a->events = events_in(&a->partition);
    }
}

static void fleet_free(struct fleet *f)
{
    for (uint32_t i = 0; i < f->count; i++) {
        link_close(&f->links, &f->agents[i].control);
        link_close(&f->links, &f->agents[i].data);
        buf_fini(&f->agents[i].partition);
    }
    free(f->agents);
    links_free(&f->links);
}

static void *post_capture(void *context)
{
    struct fleet *f = context;
    return collector_call(
        &f->collector, "POST", "/api/v1/captures",
        "{\"selector\":\"service=fleet\",\"pre_ms\":10000,\"deadline_ms\":100000}");
}

/* All must be complete: else the time would be that of something else. */
static void capture_check(const struct fleet *f, const cJSON *capture)
{
    char path[128];
    bool complete = false;
    const char *id = cJSON_GetStringValue(cJSON_GetObjectItem(capture, "capture"));
    bench_must(id != NULL, "the capture was refused");
    snprintf(path, sizeof path, "/api/v1/captures/%s", id);
    for (unsigned i = 0; i < 100 && !complete; i++) {
        cJSON *json = collector_call(&f->collector, "GET", path, NULL);
        const char *status = cJSON_GetStringValue(cJSON_GetObjectItem(json, "status"));
        complete = status != NULL && strcmp(status, "complete") == 0;
        cJSON_Delete(json);
        if (!complete)
            usleep(100000);
    }
    bench_must(complete, "the capture is not complete");
}

static void snapshot_measure(struct fleet *f, struct figures *out)
{
    pthread_t thread;
    void *capture;
    uint64_t begin = clock_monotonic_ns();
    bench_must(pthread_create(&thread, NULL, post_capture, f) == 0, "a thread");
    fleet_run(f, REPORTED, begin + FLEET_DEADLINE_NS);
    uint64_t took_ns = f->last_ack_ns - begin;
    pthread_join(thread, &capture);
    capture_check(f, capture);
    cJSON_Delete(capture);
    out->snapshot_s = (double)took_ns / 1e9;
    out->snapshot_mb_per_s = (double)f->stored_bytes * 1e3 / (double)took_ns;
}

static struct figures fleet_measure(uint32_t agents, unsigned idle_s)
{
    struct fleet f = {.count = agents};
    struct figures out = {.agents = agents};
    char name[32];
    fleet = &f;
    fleet_make(&f);
    snprintf(name, sizeof name, "fleet-%u", agents);
    collector_start(&f.collector, name);
    uint64_t before_kib = collector_status_kib(&f.collector, "VmRSS:");
    uint64_t begin = clock_monotonic_ns();
    for (uint32_t i = 0; i < agents; i++) {
        struct agent *a = &f.agents[i];
        link_open(&f.links, &a->control, f.collector.control_port, a, on_control);
        say_hello(a);
        if (i % 64 == 63)
            links_poll(&f.links, 0, on_broken);
    }
    fleet_run(&f, LISTED, begin + FLEET_DEADLINE_NS);
    out.storm_s = (double)(clock_monotonic_ns() - begin) / 1e9;
    out.agent_kib = (double)(collector_status_kib(&f.collector, "VmRSS:") - before_kib) / agents;
    /* Heartbeats spread over their period, as real agents' do. */
    for (uint32_t i = 0; i < agents; i++)
        f.agents[i].beat_ns =
            clock_monotonic_ns() + (uint64_t)i * FLEET_HEARTBEAT_MS * 1000000u / agents;
    uint64_t ticks = collector_cpu_ticks(&f.collector), idle_begin = clock_monotonic_ns();
    fleet_run(&f, CONNECTING, idle_begin + idle_s * UINT64_C(1000000000));
    out.idle_percent = 100.0 * (double)(collector_cpu_ticks(&f.collector) - ticks) /
                       (double)sysconf(_SC_CLK_TCK) /
                       ((double)(clock_monotonic_ns() - idle_begin) / 1e9);
    snapshot_measure(&f, &out);
    out.peak_mib = (double)collector_status_kib(&f.collector, "VmHWM:") / 1024;
    collector_stop(&f.collector);
    fleet_free(&f);
    return out;
}

/* ---- the report ---- */

static void fleet_print(const struct figures *g, bool json, bool first)
{
    if (json)
        printf("%s{\"name\":\"fleet_%u\",\"agents\":%u,\"storm_s\":%.2f,\"agent_kib\":%.1f,"
               "\"peak_mib\":%.0f,\"idle_cpu_percent\":%.1f,\"snapshot_s\":%.2f,"
               "\"snapshot_mb_per_s\":%.1f}\n",
               first ? "[" : ",", g->agents, g->agents, g->storm_s, g->agent_kib, g->peak_mib,
               g->idle_percent, g->snapshot_s, g->snapshot_mb_per_s);
    else
        printf("%6u agents: all back in %.2f s, %.1f KiB each, idle %.1f %% of a core; snapshot of "
               "64 KiB each durable in %.2f s (%.1f MB/s); collector's peak %.0f MiB\n",
               g->agents, g->storm_s, g->agent_kib, g->idle_percent, g->snapshot_s,
               g->snapshot_mb_per_s, g->peak_mib);
    fflush(stdout);
}

static void ingest_print(const struct ingest_figures *g, bool json, bool first)
{
    double slower = g->disk < g->nanomsg ? g->disk : g->nanomsg;
    if (json)
        printf("%s{\"name\":\"fleet_ingest_64KiB\",\"value\":%.1f,\"sealed\":%.1f,"
               "\"unit\":\"MB/s\",\"nanomsg\":%.1f,\"write_fdatasync\":%.1f,\"commits\":%llu,"
               "\"ratio\":%.3f,\"sealed_ratio\":%.3f}]\n",
               first ? "[" : ",", g->plain, g->sealed, g->nanomsg, g->disk,
               (unsigned long long)g->commits, g->plain / slower, g->sealed / slower);
    else
        printf(
            "durable ingest of 64 KiB partitions over %d connections: %.1f MB/s plain, %.1f MB/s "
            "sealed; nanomsg without storage %.1f, write+fdatasync with as many (%llu) syncs "
            "%.1f; ratio to the slower %.2f plain, %.2f sealed\n",
            INGEST_LINKS, g->plain, g->sealed, g->nanomsg, (unsigned long long)g->commits, g->disk,
            g->plain / slower, g->sealed / slower);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"agents", required_argument, NULL, 'a'},
                                            {"idle", required_argument, NULL, 'i'},
                                            {"partitions", required_argument, NULL, 'p'},
                                            {NULL, 0, NULL, 0}};
    uint32_t sizes[FLEETS_MAX] = {1000, 10000};
    size_t count = 0, given = 0, partitions = 4000;
    unsigned idle_s = 10;
    bool json = false, none = false;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        unsigned long n = optarg != NULL ? strtoul(optarg, NULL, 10) : 0;
        if (c == 'j')
            json = true;
        else if (c == 'i' && n > 0 && n <= 600)
            idle_s = (unsigned)n;
        else if (c == 'p' && n >= INGEST_LINKS && n <= 100000)
            partitions = n;
        else if (c == 'a' && optarg != NULL && strcmp(optarg, "0") == 0)
            none = true;
        else if (c == 'a' && n > 0 && n <= 15000 && given < FLEETS_MAX)
            sizes[given++] = (uint32_t)n;
        else
            bench_fail("usage: bench_fleet [--json] [--agents N]... (0 to 15000) [--idle SECONDS] "
                       "[--partitions N]");
    }
    count = none ? 0 : given > 0 ? given : 2;
    bench_must(http_client_init() == SKEIN_OK, "libcurl");
    for (size_t i = 0; i < count; i++) {
        struct figures g = fleet_measure(sizes[i], idle_s);
        fleet_print(&g, json, i == 0);
    }
    struct ingest_figures g = ingest_all(partitions, PARTITION_NOISE);
    ingest_print(&g, json, count == 0);
    return 0;
}
