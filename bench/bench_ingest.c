/* SPDX-License-Identifier: Apache-2.0
 *
 * Durable ingest: partitions sent over loopback to a collector in this process until each is
 * acknowledged, in MB/s; and as the floor, in the same run and on the same disk, plain write and
 * fdatasync of the same bytes with as many syncs as the collector made. One thread sends.
 *
 *   bench_ingest [--json]     in $TMPDIR, else /tmp
 *
 * ratio is ours to the floor (1: storing costs nothing over the disk itself).
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_host.h"
#include "clock.h"
#include "ingest.h"
#include "metrics.h"
#include "partition_make.h"

#define WINDOW_CHUNKS 8 /* P-11 */
#define PATH_BYTES    320

struct workload {
    const char *name;
    size_t noise_bytes, count;
};
static const struct workload workloads[] = {
    {"ingest_16KiB", 16 << 10, 2000},
    {"ingest_256KiB", 256 << 10, 400},
    {"ingest_4MiB", 4 << 20, 32},
};

struct result {
    double value, floor;
    uint64_t commits;
};

static double mb_per_s(uint64_t bytes, uint64_t ns)
{
    return ns ? (double)bytes * 1000.0 / (double)ns : 0;
}

static double ingest_measure(struct transport *t, const struct buf *partitions, size_t count,
                             uint64_t epoch)
{
    struct capture_id capture = capture_of(1);
    uint64_t begin = clock_monotonic_ns(), total = 0;
    size_t sent = 0, done = 0, in_flight = 0;
    while (done < count) {
        while (sent < count &&
               (in_flight == 0 || in_flight + chunk_count(partitions[sent].len) <= WINDOW_CHUNKS)) {
            struct partition_key key = key_of(1, epoch, sent);
            partition_send(t, &key, &capture, &partitions[sent]);
            in_flight += chunk_count(partitions[sent].len);
            total += partitions[sent++].len;
        }
        struct wire_ack ack;
        bench_must(ack_receive(t, 30000, &ack, NULL), "waiting for an acknowledgement");
        bench_must(ack.status == WIRE_STORED && ack.key.sequence < count, "storing");
        in_flight -= chunk_count(partitions[ack.key.sequence].len);
        done++;
    }
    return mb_per_s(total, clock_monotonic_ns() - begin);
}

static double floor_measure(const struct buf *partitions, size_t count, uint64_t commits)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/floor", bench_folder());
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bench_must(fd >= 0, "opening the floor's file");
    uint64_t begin = clock_monotonic_ns(), total = 0;
    size_t group = count / (commits ? commits : 1);
    for (size_t i = 0; i < count; i++) {
        bench_must(write(fd, partitions[i].data, partitions[i].len) == (ssize_t)partitions[i].len,
                   "write");
        total += partitions[i].len;
        if ((i + 1) % (group ? group : 1) == 0 || i + 1 == count)
            bench_must(fdatasync(fd) == 0, "fdatasync");
    }
    double figure = mb_per_s(total, clock_monotonic_ns() - begin);
    close(fd);
    unlink(path);
    return figure;
}

static struct result workload_run(struct transport *t, const struct workload *w, uint64_t epoch)
{
    struct buf *partitions = calloc(w->count, sizeof *partitions);
    bench_must(partitions != NULL, "memory");
    for (size_t i = 0; i < w->count; i++) {
        struct partition_key key = key_of(1, epoch, i);
        partition_of(&key, w->noise_bytes, &partitions[i]);
    }
    struct result r;
    uint64_t before = __atomic_load_n(&metrics.store_commits_total, __ATOMIC_RELAXED);
    r.value = ingest_measure(t, partitions, w->count, epoch);
    r.commits = __atomic_load_n(&metrics.store_commits_total, __ATOMIC_RELAXED) - before;
    r.floor = floor_measure(partitions, w->count, r.commits);
    for (size_t i = 0; i < w->count; i++)
        buf_fini(&partitions[i]);
    free(partitions);
    return r;
}

static void results_print(const struct result *results, bool json)
{
    const size_t count = sizeof workloads / sizeof *workloads;
    for (size_t i = 0; i < count; i++) {
        const struct result *r = &results[i];
        if (json)
            printf(
                "%s{\"name\":\"%s\",\"value\":%.1f,\"unit\":\"MB/s\",\"floor\":%.1f,\"ratio\":%.3f,"
                "\"commits\":%llu}%s\n",
                i ? " " : "[", workloads[i].name, r->value, r->floor,
                r->floor > 0 ? r->value / r->floor : 0, (unsigned long long)r->commits,
                i + 1 < count ? "," : "]");
        else
            printf(
                "%-14s %8.1f MB/s durable; write+fdatasync alone %8.1f MB/s; ratio %.2f (%llu commits)\n",
                workloads[i].name, r->value, r->floor, r->floor > 0 ? r->value / r->floor : 0,
                (unsigned long long)r->commits);
    }
}

int main(int argc, char **argv)
{
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    char error[256] = "", address[64];
    struct store *store;
    struct index *index;
    struct ingest *ingest = NULL;
    struct transport *t;
    struct store_settings store_settings = {.folder = bench_folder()};
    bench_must(store_open(&store_settings, &store, error, sizeof error) == SKEIN_OK,
               "opening the store");
    bench_must(index_open(bench_folder(), store, &index, error, sizeof error) == SKEIN_OK,
               "opening the index");
    (void)snprintf(address, sizeof address, "tcp://127.0.0.1:%u", (unsigned)bench_free_port());
    struct ingest_settings settings = {address, 256 << 20, 1, NULL, 50, 0};
    (void)ingest_start(&settings, store, index, NULL, &ingest, error, sizeof error);
    bench_must(ingest != NULL, "listening");
    bench_must(transport_dial(address, WIRE_CONTROL_MAX, &t) == SKEIN_OK, "dialling");
    struct result results[sizeof workloads / sizeof *workloads];
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++)
        results[i] = workload_run(t, &workloads[i], i + 1);
    transport_free(&t);
    ingest_stop(&ingest);
    index_close(&index);
    store_close(&store);
    results_print(results, json);
    return 0;
}
