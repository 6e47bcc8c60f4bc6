/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of a perf ring; see perf_record.h. Any thread.
 */
#include "perf_record.h"

#include <linux/perf_event.h>
#include <string.h>

/* A cursor in the machine's own byte order, which is the kernel's; struct cursor reads little
 * endian. Sticky: what is read after a failure is 0. */
struct perf_cursor {
    const uint8_t *at, *end;
    bool failed;
};

static const uint8_t *perf_bytes_take(struct perf_cursor *c, uint64_t n)
{
    if (c->failed || n > (uint64_t)(c->end - c->at)) {
        c->failed = true;
        return NULL;
    }
    const uint8_t *bytes = c->at;
    c->at += n;
    return bytes;
}

static uint64_t perf_u64_take(struct perf_cursor *c)
{
    uint64_t value = 0;
    const uint8_t *bytes = perf_bytes_take(c, sizeof value);
    if (bytes != NULL)
        memcpy(&value, bytes, sizeof value);
    return value;
}

/* Two halves of 8 bytes, in the order of memory. */
static void perf_pair_take(struct perf_cursor *c, uint32_t *first, uint32_t *second)
{
    uint32_t pair[2] = {0, 0};
    const uint8_t *bytes = perf_bytes_take(c, sizeof pair);
    if (bytes != NULL)
        memcpy(pair, bytes, sizeof pair);
    *first = pair[0];
    *second = pair[1];
}

/* Marks stand between the addresses of a chain: whose those behind it are. */
static void perf_chain_take(struct perf_cursor *c, struct perf_sample *sample)
{
    uint64_t count = perf_u64_take(c);
    struct perf_chain *chain = NULL; /* of nobody that we ask for */
    if (count > (uint64_t)(c->end - c->at) / sizeof count) {
        c->failed = true;
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t pc = perf_u64_take(c);
        if (pc >= (uint64_t)PERF_CONTEXT_MAX) {
            chain = pc == (uint64_t)PERF_CONTEXT_KERNEL ? &sample->kernel
                    : pc == (uint64_t)PERF_CONTEXT_USER ? &sample->user
                                                        : NULL;
        } else if (chain != NULL && chain->count < PERF_FRAMES_MAX) {
            chain->pcs[chain->count++] = pc;
        } else if (chain != NULL) {
            chain->cut = true;
        }
    }
}

static void perf_user_take(struct perf_cursor *c, struct perf_sample *sample)
{
    if (PERF_REGS == 0)
        return;
    uint64_t abi = perf_u64_take(c);
    if (abi != PERF_SAMPLE_REGS_ABI_NONE) {
        for (unsigned i = 0; i < PERF_REGS; i++)
            sample->regs[i] = perf_u64_take(c);
    }
    sample->has_regs = abi == PERF_SAMPLE_REGS_ABI_64;
    uint64_t room = perf_u64_take(c);
    if (room == 0)
        return;
    const uint8_t *stack = perf_bytes_take(c, room);
    uint64_t used = perf_u64_take(c);
    if (c->failed || used > room) {
        c->failed = true;
        return;
    }
    sample->stack = stack;
    sample->stack_bytes = (uint32_t)used;
}

/* A size of 32 bits, then so many bytes, so that all of it has a multiple of 8. */
static void perf_raw_take(struct perf_cursor *c, struct perf_sample *sample)
{
    uint32_t n = 0;
    const uint8_t *size = perf_bytes_take(c, sizeof n);
    if (size != NULL)
        memcpy(&n, size, sizeof n);
    sample->raw = perf_bytes_take(c, n);
    sample->raw_bytes = sample->raw != NULL ? n : 0;
}

static bool perf_sample_get(const uint8_t *record, const struct perf_event_header *header, bool raw,
                            struct perf_sample *sample)
{
    struct perf_cursor c = {record + sizeof *header, record + header->size, false};
    uint32_t reserved;
    sample->kernel.count = sample->user.count = 0;
    sample->kernel.cut = sample->user.cut = false;
    sample->has_regs = false;
    sample->stack = NULL;
    sample->stack_bytes = 0;
    sample->raw = NULL;
    sample->raw_bytes = 0;
    sample->in_kernel = (header->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
    sample->ip = perf_u64_take(&c);
    perf_pair_take(&c, &sample->pid, &sample->tid);
    sample->time_ns = perf_u64_take(&c);
    perf_pair_take(&c, &sample->cpu, &reserved);
    sample->period_ns = perf_u64_take(&c);
    perf_chain_take(&c, sample);
    if (raw)
        perf_raw_take(&c, sample);
    if (!raw || c.at < c.end)
        perf_user_take(&c, sample);
    return !c.failed;
}

/* {pid, tid, name to a multiple of 8, and at the end pid and tid, time, cpu}. */
static void perf_name_get(const uint8_t bytes[PERF_HEAD_BYTES], uint16_t misc,
                          struct perf_head *out)
{
    const size_t id = 24, time = 16; /* from the record's end */
    if (out->bytes < 16 + id || out->bytes - time > PERF_HEAD_BYTES - sizeof out->time_ns)
        return;
    out->kind = (misc & PERF_RECORD_MISC_COMM_EXEC) != 0 ? PERF_KIND_EXEC : PERF_KIND_THREAD;
    memcpy(&out->pid, bytes + sizeof(struct perf_event_header), sizeof out->pid);
    memcpy(&out->time_ns, bytes + out->bytes - time, sizeof out->time_ns);
}

bool perf_head_get(const uint8_t bytes[PERF_HEAD_BYTES], struct perf_head *out)
{
    struct perf_event_header header;
    memcpy(&header, bytes, sizeof header);
    *out = (struct perf_head){.kind = PERF_KIND_OTHER, .bytes = header.size};
    if (header.size < sizeof header || header.size % 8 != 0)
        return false;
    if (header.type == PERF_RECORD_FORK || header.type == PERF_RECORD_EXIT)
        out->kind = PERF_KIND_THREAD;
    else if (header.type == PERF_RECORD_COMM)
        perf_name_get(bytes, header.misc, out);
    if (header.type == PERF_RECORD_COMM || out->kind == PERF_KIND_THREAD)
        return true;
    size_t n = header.size < PERF_HEAD_BYTES ? header.size : PERF_HEAD_BYTES;
    struct perf_cursor c = {bytes + sizeof header, bytes + n, false};
    uint32_t other;
    (void)perf_u64_take(&c); /* ip; of LOST the event's number */
    if (header.type == PERF_RECORD_LOST) {
        out->lost = perf_u64_take(&c);
        out->kind = PERF_KIND_LOST;
        return true;
    }
    perf_pair_take(&c, &out->pid, &other);
    out->time_ns = perf_u64_take(&c);
    perf_pair_take(&c, &other, &other); /* cpu */
    out->period_ns = perf_u64_take(&c);
    if (header.type == PERF_RECORD_SAMPLE && !c.failed)
        out->kind = PERF_KIND_SAMPLE;
    return true;
}

static void records_walk(const uint8_t *bytes, size_t n, bool raw, perf_sample_fn *fn,
                         void *context, struct perf_walk *out)
{
    struct perf_event_header header;
    struct perf_sample sample;
    size_t at = 0;
    *out = (struct perf_walk){.samples = 0};
    while (n - at >= sizeof header) {
        memcpy(&header, bytes + at, sizeof header);
        if (header.size < sizeof header || header.size % 8 != 0 || header.size > n - at) {
            out->torn = true;
            break;
        }
        const uint8_t *record = bytes + at;
        at += header.size;
        if (header.type != PERF_RECORD_SAMPLE || !perf_sample_get(record, &header, raw, &sample)) {
            out->unread++;
        } else {
            out->samples++;
            if (!fn(context, &sample))
                break;
        }
    }
    out->bytes = at;
}

void perf_records_walk(const uint8_t *bytes, size_t n, perf_sample_fn *fn, void *context,
                       struct perf_walk *out)
{
    records_walk(bytes, n, false, fn, context, out);
}

void perf_raw_records_walk(const uint8_t *bytes, size_t n, perf_sample_fn *fn, void *context,
                           struct perf_walk *out)
{
    records_walk(bytes, n, true, fn, context, out);
}
