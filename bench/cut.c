/* SPDX-License-Identifier: Apache-2.0
 *
 * What the agent pays: cutting a full 16 MiB ring into a partition, beside a plain copy of the same
 * bytes; and a new ring's memory, touched ahead by the agent or by its writer as it goes.
 *
 *   bench_cut [--json]
 *
 * One process is service and agent at once; the ring is filled by the real library.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach.h"
#include "bench_host.h"
#include "clock.h"
#include "cutter.h"
#include "ring_memory.h"
#include "skein/skein.h"

#define RING_BYTES (UINT64_C(16) << 20)
#define ROUNDS     9

static double ms_since(uint64_t begin_ns)
{
    return (double)(clock_monotonic_ns() - begin_ns) / 1e6;
}

/* ---- an agent for this process ---- */

static struct process *service;
static struct host_page_owner *host;

static void attached(void *context, struct process *p)
{
    (void)context;
    __atomic_store_n(&service, process_ref(p), __ATOMIC_RELEASE);
}

static void *loop_main(void *context)
{
    loop_run(context);
    return NULL;
}

static void service_start(void)
{
    char error[256], path[320];
    struct loop *loop = NULL;
    struct attach *attach = NULL;
    pthread_t thread;
    snprintf(path, sizeof(path), "%s/agent.sock", bench_folder());
    const struct attach_settings settings = {.socket_path = path,
                                             .ring_bytes = RING_BYTES,
                                             .ring_bytes_max = RING_BYTES,
                                             .total_ring_bytes_max = 4 * RING_BYTES,
                                             .mode = SKEIN_MODE_CIRCULAR,
                                             .enabled_groups = UINT64_MAX,
                                             .max_processes = 4};
    const struct attach_hooks hooks = {.attached = attached};
    bench_must(host_page_new(1, &host) == SKEIN_OK && loop_new(&loop) == SKEIN_OK &&
                   attach_new(loop, host, &settings, &hooks, &attach, error, sizeof(error)) ==
                       SKEIN_OK &&
                   pthread_create(&thread, NULL, loop_main, loop) == 0,
               "agent");
    const struct skein_options options = {
        .size = sizeof(options), .service = "bench", .agent_socket = path};
    bench_must(skein_start(&options) == SKEIN_OK && skein_wait_attached(10000) == SKEIN_OK,
               "attach");
    while (__atomic_load_n(&service, __ATOMIC_ACQUIRE) == NULL)
        sched_yield();
    unlink(path);
}

/* The mixed workload: regions with an argument, instants, now and then a text. */
static void ring_fill(void)
{
    for (uint64_t i = 0; i < 1700000; i++) {
        SKEIN_REGION("request", (u64, "id", i & 0x3fff));
        SKEIN_INSTANT("step", (u64, "n", i & 127));
        if (i % 64 == 0)
            SKEIN_INSTANT("note", (str, "text", "cache miss"));
    }
}

/* ---- figures ---- */

struct figure {
    const char *name, *unit;
    double value, floor;
};

static void figure_print(const struct figure *figure, bool json, bool first)
{
    if (json)
        printf("%s{\"name\":\"%s\",\"value\":%.4g,\"unit\":\"%s\",\"floor\":%.4g,\"ratio\":%.3g}",
               first ? "[" : ",", figure->name, figure->value, figure->unit, figure->floor,
               figure->value / figure->floor);
    else
        printf("%-28s %10.3f %s   floor %8.3f   ratio %.2f\n", figure->name, figure->value,
               figure->unit, figure->floor, figure->value / figure->floor);
}

static struct figure cut_measure(uint64_t *events, size_t *bytes)
{
    double ours[ROUNDS], floor[ROUNDS];
    uint8_t *copy = malloc(RING_BYTES);
    bench_must(copy != NULL, "memory");
    for (int i = 0; i < ROUNDS; i++) {
        ring_fill();
        struct cut_result result;
        const struct cut_request request = {.process = service, .to_ns = UINT64_MAX / 2};
        uint64_t begin = clock_monotonic_ns();
        bench_must(partition_cut(host, &request, &result) == SKEIN_OK, "cut");
        ours[i] = ms_since(begin);
        *events = result.events;
        *bytes = result.bytes.len;
        cut_result_fini(&result);
        begin = clock_monotonic_ns();
        memcpy(copy, service->ring, RING_BYTES);
        __asm__ volatile("" ::"r"(copy) : "memory");
        floor[i] = ms_since(begin);
    }
    free(copy);
    return (struct figure){"cut_16MiB", "ms", bench_median(ours, ROUNDS),
                           bench_median(floor, ROUNDS)};
}

/* Touches every page of a new ring: all at once by the kernel, or one fault after the other. */
static double touch_measure(bool ahead)
{
    struct ring_geometry geometry;
    const struct ring_identity identity = {.service = "bench"};
    int fd = -1;
    uint8_t *ring = NULL;
    bench_must(ring_geometry_init(&geometry, SKEIN_MODE_CIRCULAR, RING_BYTES) == SKEIN_OK &&
                   ring_memory_new(&geometry, &identity, &fd, &ring) == SKEIN_OK,
               "ring");
    uint64_t begin = clock_monotonic_ns();
    if (ahead)
        bench_must(madvise(ring, RING_BYTES, MADV_POPULATE_WRITE) == 0, "populate");
    else
        for (uint64_t at = 0; at < RING_BYTES; at += 4096)
            *(volatile uint8_t *)(ring + at) = 1;
    double ms = ms_since(begin);
    munmap(ring, RING_BYTES);
    close(fd);
    return ms;
}

int main(int argc, char **argv)
{
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    uint64_t events = 0;
    size_t bytes = 0;
    service_start();
    struct figure cut = cut_measure(&events, &bytes);
    figure_print(&cut, json, true);
    double by_writer[ROUNDS], ahead[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        by_writer[i] = touch_measure(false);
        ahead[i] = touch_measure(true);
    }
    struct figure touch = {"ring_touch_16MiB", "ms", bench_median(by_writer, ROUNDS),
                           bench_median(ahead, ROUNDS)};
    figure_print(&touch, json, false);
    if (json)
        printf("]\n");
    else
        printf("%llu events in the ring, %.1f ns each; partition of %zu bytes\n",
               (unsigned long long)events, cut.value * 1e6 / (double)events, bytes);
    return 0;
}
