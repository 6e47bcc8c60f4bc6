/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_event_open; see perf_ring.h.
 */
#include "perf_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "perf_record.h"

static struct perf_event_attr perf_attr_make(unsigned hz)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_CPU_CLOCK,
                                   .sample_freq = hz,
                                   .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                                  PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                                                  PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
                                   .read_format = PERF_FORMAT_TOTAL_TIME_RUNNING,
                                   .clockid = CLOCK_MONOTONIC};
    attr.freq = 1;
    attr.exclude_idle = 1; /* so that the ring reaches back over an idle time */
    attr.exclude_hv = 1;
    attr.use_clockid = 1;
    attr.write_backward = 1;
    if (PERF_REGS > 0) {
        attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        attr.sample_regs_user = PERF_USER_REGS;
        attr.sample_stack_user = PERF_STACK_BYTES;
    }
    return attr;
}

/* A map that cannot be written makes the kernel overwrite what is oldest. */
static int perf_ring_map(struct perf_ring *ring, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (; bytes >= PERF_RING_BYTES_MIN; bytes /= 2) {
        void *map = mmap(NULL, page + bytes, PROT_READ, MAP_SHARED, ring->fd, 0);
        if (map != MAP_FAILED) {
            ring->map = map;
            ring->map_bytes = page + bytes;
            ring->bytes = bytes;
            return 0;
        }
        if (errno != EPERM && errno != ENOMEM) /* beyond perf_event_mlock_kb, or what is free */
            break;
    }
    return errno;
}

int perf_ring_open(unsigned cpu, unsigned hz, size_t bytes, struct perf_ring *out)
{
    struct perf_event_attr attr = perf_attr_make(hz);
    *out = (struct perf_ring){.fd = -1, .cpu = cpu};
    out->fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (out->fd < 0)
        return errno;
    int error = perf_ring_map(out, bytes);
    if (error != 0) {
        perf_ring_close(out);
        return error;
    }
    /* Samples before the map have gone nowhere. */
    out->opened_ns = clock_monotonic_ns();
    return 0;
}

void perf_ring_close(struct perf_ring *ring)
{
    if (ring->map != NULL)
        munmap(ring->map, ring->map_bytes);
    if (ring->fd >= 0)
        close(ring->fd);
    *ring = (struct perf_ring){.fd = -1, .cpu = ring->cpu};
}

bool perf_ring_ran(struct perf_ring *ring)
{
    uint64_t counts[2] = {0, 0}; /* the event's value, the time it was counted in */
    if (read(ring->fd, counts, sizeof counts) != (ssize_t)sizeof counts)
        return false;
    bool ran = counts[1] > ring->ran_ns;
    ring->ran_ns = counts[1];
    return ran;
}

struct perf_copy perf_copy_judge(uint64_t before, uint64_t after, size_t size)
{
    uint64_t written = UINT64_C(0) - before;
    uint64_t during = before - after;
    /* What is being written lies below the later head, one record of any size. */
    uint64_t unsafe = during > size - PERF_RECORD_BYTES_MAX ? size : during + PERF_RECORD_BYTES_MAX;
    uint64_t held = size - unsafe;
    if (written <= held)
        return (struct perf_copy){(size_t)written, false};
    return (struct perf_copy){(size_t)held, true};
}

void perf_ring_copy(const struct perf_ring *ring, uint8_t *into, struct perf_copy *out)
{
    const struct perf_event_mmap_page *page = ring->map;
    const uint8_t *data = (const uint8_t *)ring->map + (ring->map_bytes - ring->bytes);
    /* acquire: pairs with the kernel's barrier before it publishes a head; records are behind it */
    uint64_t before = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    size_t at = (size_t)(before & (ring->bytes - 1));
    memcpy(into, data + at, ring->bytes - at);
    memcpy(into + (ring->bytes - at), data, at);
#ifndef __SANITIZE_THREAD__ /* which knows no fences, and sees nothing of the kernel's writes */
    /* the copy is done before the later head is read */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
    uint64_t after = __atomic_load_n(&page->data_head, __ATOMIC_RELAXED);
    *out = perf_copy_judge(before, after, ring->bytes);
}
