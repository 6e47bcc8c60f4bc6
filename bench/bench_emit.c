/* SPDX-License-Identifier: Apache-2.0
 *
 * What an event costs: ns for one with two arguments beside the bare clock read, for 1 and 2
 * threads; ns of a site whose group is off; bytes of an event in the ring on a mixed workload; and
 * LTTng-UST's event where it is installed. Runs alternate with their floor, the median counts.
 * Needs no agent: host page, process page and ring are its own. `--json` prints an array of
 * results.
 */
#include "emit_loop.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "fake_agent.h"
#include "skein/skein.h"
#include "skein_atomic.h"

#define THREADS_MAX 2
#define RING_BYTES  (UINT64_C(16) << 20)
#define OFF_GROUP   SKEIN_GROUP_USER

struct figures {
    double event_ns, clock_ns, off_ns;
};

struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    struct figures figures;
};

static volatile uint64_t sink;

/* The arguments' values, as a service has them at hand: two bytes and one in the ring. */
struct values {
    uint64_t key, size;
};
static volatile struct values values = {300, 17}; /* unknown to the compiler */

static __attribute__((noinline)) double time_events(void)
{
    uint64_t key = values.key, size = values.size, began = emit_now_ns();
    for (uint64_t i = 0; i < EMIT_LOOP; i++)
        SKEIN_INSTANT("two", (u64, "key", key), (u64, "size", size));
    return (double)(emit_now_ns() - began) / EMIT_LOOP;
}

static __attribute__((noinline)) double time_clock(void)
{
    const struct skein_view *view = skein_gate_view(skein_control_page->gate);
    uint64_t sum = 0, began = emit_now_ns();
    for (uint64_t i = 0; i < EMIT_LOOP; i++)
        sum += skein_ticks_tsc(view);
    double ns = (double)(emit_now_ns() - began) / EMIT_LOOP;
    sink = sum;
    return ns;
}

#undef SKEIN_GROUP
#define SKEIN_GROUP OFF_GROUP
static __attribute__((noinline)) double time_off(void)
{
    uint64_t key = values.key, size = values.size, began = emit_now_ns();
    for (uint64_t i = 0; i < EMIT_LOOP; i++)
        SKEIN_INSTANT("off", (u64, "key", key), (u64, "size", size));
    return (double)(emit_now_ns() - began) / EMIT_LOOP;
}
#undef SKEIN_GROUP
#define SKEIN_GROUP SKEIN_GROUP_APP

static void *work(void *context)
{
    struct worker *worker = context;
    double event[EMIT_ROUNDS], clock[EMIT_ROUNDS], off[EMIT_ROUNDS];
    time_events(); /* the thread's first chunk and the site's id */
    for (int round = 0; round < EMIT_ROUNDS; round++) {
        pthread_barrier_wait(worker->start);
        clock[round] = time_clock();
        event[round] = time_events();
        off[round] = time_off();
    }
    worker->figures.event_ns = emit_median(event, EMIT_ROUNDS);
    worker->figures.clock_ns = emit_median(clock, EMIT_ROUNDS);
    worker->figures.off_ns = emit_median(off, EMIT_ROUNDS);
    return NULL;
}

static int measure(unsigned threads, struct figures *out)
{
    struct worker workers[THREADS_MAX];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, threads);
    memset(out, 0, sizeof *out);
    for (unsigned i = 0; i < threads; i++) {
        workers[i].start = &start;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i])) {
            fprintf(stderr, "emit: no thread to be had\n");
            return -1;
        }
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        out->event_ns += workers[i].figures.event_ns / threads;
        out->clock_ns += workers[i].figures.clock_ns / threads;
        out->off_ns += workers[i].figures.off_ns / threads;
    }
    pthread_barrier_destroy(&start);
    return 0;
}

/* ---- bytes of an event ---- */

static void spin(unsigned turns)
{
    for (unsigned i = 0; i < turns; i++)
        sink += i;
}

/* A service's request: a region around a lock, a query with its rows, a miss now and then, a queue
 * depth. Returns how many events (begins, ends, instants, counters) it wrote. */
static uint64_t request(uint64_t n, uint32_t *random)
{
    uint64_t events = 7;
    *random = *random * 1664525u + 1013904223u;
    uint32_t r = *random >> 8;
    SKEIN_REGION("request", (u64, "connection", n & 255));
    spin(r & 1023);
    {
        SKEIN_REGION("lock");
        spin(r >> 10 & 255);
    }
    SKEIN_INSTANT("query", (u64, "rows", r & 127), (u64, "key", r & 0xffff));
    if ((r & 15) == 0) {
        SKEIN_INSTANT("miss", (u64, "key", r));
        events++;
    }
    spin(r & 2047);
    SKEIN_COUNTER("depth", (int64_t)(r & 31));
    SKEIN_INSTANT("reply", (u64, "bytes", r & 0xfff), (boolean, "cached", r & 1));
    return events;
}

static uint64_t committed_bytes(const struct fake_ring *ring)
{
    const struct ring_geometry *g = &ring->geometry;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < ring_small_count(g) + ring_big_count(g); i++) {
        uint64_t offset = i < ring_small_count(g) ? ring_small_offset(g, i)
                                                  : ring_big_offset(g, i - ring_small_count(g));
        const struct ring_chunk *chunk =
            (const struct ring_chunk *)(const void *)(ring->ring + offset);
        uint32_t used = (uint32_t)skein_commit_load(&chunk->committed);
        if (skein_chunk_load(&chunk->state) & RING_CHUNK_STATE_MASK)
            bytes += RING_CHUNK_HEADER_BYTES + used;
    }
    return bytes;
}

/* Chunk headers count, and so do the tables' entries of the workload's event types. */
static double measure_bytes(struct fake_agent *agent)
{
    static struct fake_ring ring;
    uint64_t events = 0;
    uint32_t random = 1;
    fake_agent_attach_self(agent, &ring, SKEIN_MODE_ONESHOT, RING_BYTES);
    for (uint64_t n = 0; n < 100000; n++)
        events += request(n, &random);
    const struct ring_header *header = (const struct ring_header *)(const void *)ring.ring;
    return (double)(committed_bytes(&ring) + header->durable_data_end) / (double)events;
}

/* ---- output ---- */

struct results {
    struct figures of[THREADS_MAX];
    double bytes, peer_ns[THREADS_MAX];
    const char *no_peer; /* why there is none, or NULL */
};

static void print_text(const struct results *r)
{
    for (unsigned t = 0; t < THREADS_MAX; t++) {
        const struct figures *f = &r->of[t];
        printf("%u thread%s: event with two arguments %6.2f ns, clock read alone %6.2f ns, "
               "ratio %.2f (goal 1.25)\n",
               t + 1, t ? "s" : " ", f->event_ns, f->clock_ns, f->event_ns / f->clock_ns);
        printf("           a site that is off %6.2f ns (goal 2)\n", f->off_ns);
        if (r->no_peer)
            printf("           LTTng-UST %s\n", r->no_peer);
        else
            printf("           LTTng-UST's event in snapshot mode %6.2f ns, ours is %.2f of it\n",
                   r->peer_ns[t], f->event_ns / r->peer_ns[t]);
    }
    printf("bytes of an event in the ring, mixed workload: %.2f (goal 5)\n", r->bytes);
}

static void print_json(const struct results *r)
{
    printf("[\n");
    for (unsigned t = 0; t < THREADS_MAX; t++) {
        const struct figures *f = &r->of[t];
        printf("  {\"name\":\"event_two_args_%u_threads\",\"value\":%.3f,\"unit\":\"ns\","
               "\"floor\":\"clock read alone\",\"floor_value\":%.3f,\"ratio\":%.3f},\n",
               t + 1, f->event_ns, f->clock_ns, f->event_ns / f->clock_ns);
        printf("  {\"name\":\"disabled_site_%u_threads\",\"value\":%.3f,\"unit\":\"ns\","
               "\"floor\":\"goal\",\"floor_value\":2.0,\"ratio\":%.3f},\n",
               t + 1, f->off_ns, f->off_ns / 2.0);
        if (r->no_peer)
            printf("  {\"name\":\"event_two_args_%u_threads_beside_lttng_ust\",\"value\":%.3f,"
                   "\"unit\":\"ns\",\"peer\":\"LTTng-UST: %s\",\"peer_value\":null,"
                   "\"ratio\":null},\n",
                   t + 1, f->event_ns, r->no_peer);
        else
            printf("  {\"name\":\"event_two_args_%u_threads_beside_lttng_ust\",\"value\":%.3f,"
                   "\"unit\":\"ns\",\"peer\":\"LTTng-UST in snapshot mode\",\"peer_value\":%.3f,"
                   "\"ratio\":%.3f},\n",
                   t + 1, f->event_ns, r->peer_ns[t], f->event_ns / r->peer_ns[t]);
    }
    printf("  {\"name\":\"bytes_per_event_mixed\",\"value\":%.3f,\"unit\":\"bytes\","
           "\"floor\":\"goal\",\"floor_value\":5.0,\"ratio\":%.3f}\n]\n",
           r->bytes, r->bytes / 5.0);
}

int main(int argc, char **argv)
{
    static struct fake_agent agent;
    static struct fake_ring ring;
    struct results results = {.no_peer = NULL};
    bool json = argc == 2 && strcmp(argv[1], "--json") == 0;
    if (argc > 2 || (argc == 2 && !json)) {
        fprintf(stderr, "usage: %s [--json]\n", argv[0]);
        return 2;
    }
    fake_agent_init(&agent, 7);
    fake_agent_attach_self(&agent, &ring, SKEIN_MODE_CIRCULAR, RING_BYTES);
    skein_store64(&ring.page->enabled, ~(UINT64_C(1) << OFF_GROUP));
    const struct ring_header *header = (const struct ring_header *)(const void *)ring.ring;
    while (header->wrapped_count == 0) /* a flight recorder's ring has been round already */
        time_events();
    for (unsigned t = 0; t < THREADS_MAX; t++)
        if (measure(t + 1, &results.of[t]))
            return 1;
    results.bytes = measure_bytes(&agent);
    if (emit_peer_measure(results.peer_ns, &results.no_peer) == 0)
        results.no_peer = NULL;
    if (json)
        print_json(&results);
    else
        print_text(&results);
    return 0;
}
