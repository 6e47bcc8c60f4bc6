/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_event_open; see perf_ring.h.
 */
#include "perf_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "descriptor.h"
#include "perf_record.h"

static struct perf_event_attr attr_common(void)
{
    struct perf_event_attr attr = {.size = sizeof attr,
                                   .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                                  PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                                                  PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
                                   .read_format = PERF_FORMAT_TOTAL_TIME_RUNNING,
                                   .clockid = CLOCK_MONOTONIC};
    attr.exclude_hv = 1;
    attr.use_clockid = 1;
    attr.write_backward = 1;
    return attr;
}

static void attr_user(struct perf_event_attr *attr, uint32_t stack_bytes)
{
    if (PERF_REGS == 0)
        return;
    attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attr->sample_regs_user = PERF_USER_REGS;
    attr->sample_stack_user = stack_bytes;
}

static struct perf_event_attr attr_of_samples(unsigned hz)
{
    struct perf_event_attr attr = attr_common();
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_CPU_CLOCK;
    attr.sample_freq = hz;
    attr.freq = 1;
    attr.exclude_idle = 1;          /* so that the ring reaches back over an idle time */
    attr.comm = attr.comm_exec = 1; /* a process that has called exec is another program */
    attr.sample_id_all = 1;         /* when */
    attr_user(&attr, PERF_STACK_BYTES);
    return attr;
}

/* Nothing else is in such a ring: programs that begin are many, and would overwrite it. */
static struct perf_event_attr attr_of_watch(const struct perf_watch *watch)
{
    struct perf_event_attr attr = attr_common();
    attr.type = PERF_TYPE_TRACEPOINT;
    attr.config = watch->id;
    attr.sample_period = 1;
    attr.sample_type |= PERF_SAMPLE_RAW;
    attr.exclude_callchain_kernel = 1;
    attr.exclude_callchain_user = !watch->user;
    if (watch->user)
        attr_user(&attr, PERF_WATCH_STACK_BYTES);
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
    return errno == EPERM ? ENOBUFS : errno;
}

static int event_open(struct perf_event_attr *attr, unsigned cpu)
{
    return (int)syscall(SYS_perf_event_open, attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Takes what came of opening: 0, or an errno, after which nothing is left open. */
static int ring_opened(struct perf_ring *ring, int error)
{
    if (error != 0)
        perf_ring_close(ring);
    else
        ring->opened_ns = clock_monotonic_ns(); /* what was before the map has gone nowhere */
    return error;
}

int perf_ring_open(unsigned cpu, unsigned hz, size_t bytes, struct perf_ring *out)
{
    struct perf_event_attr attr = attr_of_samples(hz);
    *out = (struct perf_ring){.fd = event_open(&attr, cpu), .cpu = cpu, .hz = hz};
    return ring_opened(out, out->fd < 0 ? errno : perf_ring_map(out, bytes));
}

/* Its filter is set before it has a ring to write to. */
static int watch_open(unsigned cpu, const struct perf_watch *watch, int *fd)
{
    struct perf_event_attr attr = attr_of_watch(watch);
    *fd = event_open(&attr, cpu);
    if (*fd < 0)
        return errno;
    return watch->filter == NULL || ioctl(*fd, PERF_EVENT_IOC_SET_FILTER, watch->filter) == 0
               ? 0
               : errno;
}

int perf_ring_watch(unsigned cpu, const struct perf_watch *watches, size_t count, size_t bytes,
                    struct perf_ring *out)
{
    *out = (struct perf_ring){.fd = -1, .cpu = cpu};
    int error = watch_open(cpu, &watches[0], &out->fd);
    if (error == 0)
        error = perf_ring_map(out, bytes);
    for (size_t i = 1; i < count && error == 0; i++) {
        int *fd = &out->more[out->more_count++];
        error = watch_open(cpu, &watches[i], fd);
        if (error == 0 && ioctl(*fd, PERF_EVENT_IOC_SET_OUTPUT, out->fd) != 0)
            error = errno;
    }
    return ring_opened(out, error);
}

void perf_ring_close(struct perf_ring *ring)
{
    for (size_t i = 0; i < ring->more_count; i++)
        fd_close(&ring->more[i]);
    if (ring->map != NULL)
        munmap(ring->map, ring->map_bytes);
    fd_close(&ring->fd);
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

struct perf_hold perf_hold_judge(uint64_t before, uint64_t after, size_t ring_bytes)
{
    uint64_t written = UINT64_C(0) - before;
    uint64_t during = before - after;
    /* What is being written lies below the later head, one record of any size. */
    uint64_t unsafe =
        during > ring_bytes - PERF_RECORD_BYTES_MAX ? ring_bytes : during + PERF_RECORD_BYTES_MAX;
    uint64_t held = ring_bytes - unsafe;
    if (written <= held)
        return (struct perf_hold){(size_t)written, false};
    return (struct perf_hold){(size_t)held, true};
}

static const struct perf_event_mmap_page *ring_page(const struct perf_ring *ring)
{
    return ring->map;
}

void perf_reading_begin(const struct perf_ring *ring, struct perf_reading *out)
{
    /* acquire: pairs with the kernel's barrier before it publishes a head; records are behind it */
    uint64_t head = __atomic_load_n(&ring_page(ring)->data_head, __ATOMIC_ACQUIRE);
    *out = (struct perf_reading){ring, head, perf_hold_judge(head, head, ring->bytes)};
}

bool perf_reading_get(struct perf_reading *reading, size_t at, void *into, size_t n)
{
    const struct perf_ring *ring = reading->ring;
    const uint8_t *data = (const uint8_t *)ring->map + (ring->map_bytes - ring->bytes);
    if (at > reading->hold.bytes || n > reading->hold.bytes - at)
        return false;
    size_t from = (size_t)((reading->before + at) & (ring->bytes - 1));
    size_t first = n < ring->bytes - from ? n : ring->bytes - from;
    memcpy(into, data + from, first);
    memcpy((uint8_t *)into + first, data, n - first);
#ifndef __SANITIZE_THREAD__ /* which knows no fences, and sees nothing of the kernel's writes */
    /* the copy is done before the later head is read */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
    uint64_t after = __atomic_load_n(&ring_page(ring)->data_head, __ATOMIC_RELAXED);
    reading->hold = perf_hold_judge(reading->before, after, ring->bytes);
    return at <= reading->hold.bytes && n <= reading->hold.bytes - at;
}
