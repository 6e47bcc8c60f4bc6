/* SPDX-License-Identifier: Apache-2.0
 *
 * The hot path behind skein.h's macros; not for reading. Owns nothing: it writes the calling
 * thread's lane and the chunk that the lane holds. Entered by every traced thread and by signal
 * handlers; never locks, allocates, calls the system, or uses an atomic read-modify-write. What
 * does not fit here goes to the slow half in src/writer_slow.c by one predictable branch.
 */
#ifndef SKEIN_INLINE_H
#define SKEIN_INLINE_H

#include <string.h>

#include "skein/skein_atomic.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define SKEIN_LIKELY(x)   __builtin_expect(!!(x), 1)
#define SKEIN_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SKEIN_ALWAYS      static inline __attribute__((always_inline, unused))

#ifdef SKEIN_TEST_POINTS
void skein_test_point(const char *name);
#define SKEIN_TEST_POINT(name) skein_test_point(name)
#else
#define SKEIN_TEST_POINT(name) ((void)0)
#endif

/* The agent's two pages, mapped side by side and read-only: one pointer reaches both, and because
 * old views stay mapped, an equal pointer means the same agent run. */
#define SKEIN_VIEW_HOST_OFFSET 65536 /* a multiple of every page size */
struct skein_view {
    uint64_t process_magic;
    uint32_t process_version, privacy;
    uint64_t enabled;
    uint64_t threshold_ns[64];
    uint64_t privacy_key[2];
    uint64_t stack_ns;
    uint64_t backed_chunks, backed_table;
    uint8_t gap[SKEIN_VIEW_HOST_OFFSET - 24 - 69 * 8];
    uint64_t host_magic;
    uint32_t host_version, clock, shift, host_reserved;
    uint64_t ticks_per_s;
    uint64_t generation;
};
#define SKEIN_CLOCK_TSC 2 /* RING_CLOCK_TSC */

/* A gate is one word that says what may be written: a view's address + 1 (open), 1 (closed: the
 * slow half decides), or, in a lane, the even address of a stack frame (a record is being written
 * there). One comparison of the lane's gate with the control page's proves that the lane is idle,
 * ready, and of this process and this agent run. */
#define SKEIN_GATE_CLOSED 1

/* Lives in a page that fork wipes, so that a child starts untraced. Before there is a ring, in a
 * place of its own. */
struct skein_control {
    uint64_t gate; /* 0: off */
    void *session; /* the ring, for the slow half */
};
extern struct skein_control *skein_control_page;

/* A range that is open now, for the next chunk's start: copies, no pointer into the program. */
struct skein_open_range {
    uint64_t id; /* {string epoch:32, event id:32}; 0: unknown */
    uint64_t start;
};
#define SKEIN_OPEN_MAX 64 /* deeper ranges are recorded, but not repeated at a chunk's start */

/* Where a thread writes: a lane for ordinary code, one for handlers that interrupt the tracer. */
struct skein_lane {
    uint64_t gate;
    const struct skein_view *view; /* of the gate when it is open */
    uint64_t generation;
    uint64_t string_epoch; /* << 32, to be compared with a site's id */
    uint8_t *write;        /* next payload byte; the chunk's committed prefix ends here */
    uint8_t *soft_limit;   /* below it, SKEIN_MARGIN bytes are free */
    uint8_t *limit;
    uint64_t last; /* ticks of the record before */
    uint64_t *committed;
    uint64_t commit_base; /* + write = the value of committed */
    struct skein_open_range *open;
    uint32_t depth;
    struct thread_cold *cold;
    uint64_t stack_ticks; /* what lasts as long carries a stack */
};
extern __thread struct skein_lane skein_lane_tls __attribute__((tls_model("initial-exec")));

struct skein_record {
    struct skein_lane *lane;
    uint8_t *p;  /* NULL, from the slow half: the record is lost and counted */
    uint64_t id; /* without its epoch; 0: self-described */
    uint64_t now;
    uint64_t gate; /* of the lane once the record is closed */
};

/* One captured argument: a number's bits, a resource and its number, a text and its length, or an
 * interned string and SKEIN_FIELD_SYM. */
struct skein_field {
    uint64_t a, b;
};
#define SKEIN_FIELD_SYM_MARK UINT64_MAX

#define SKEIN_MARGIN      160 /* a record of numbers alone needs less */
#define SKEIN_RECORD_NEED 16  /* type and delta */
#define SKEIN_NUMBER_NEED 10  /* LEB128 of 64 bits; also 8 bytes of a double */
#define SKEIN_SYM_NEED    140 /* an id, or in its place at most SKEIN_NAME_MAX bytes */
#define SKEIN_STR_CUT     (2 * SKEIN_STR_MAX)
#define SKEIN_ID_END      1 /* RING_RECORD_END */

uint64_t skein_ticks_slow(const struct skein_view *view);
struct skein_scope skein_slow_emit(struct skein_site *site, const struct skein_field *fields);
void skein_slow_end(uint32_t depth);
uint8_t *skein_slow_stack(struct skein_lane *lane, uint8_t *p);
uint8_t *skein_put_leb_long(uint8_t *p, uint64_t value);
uint8_t *skein_put_sym_slow(const struct skein_lane *lane, uint8_t *p, struct skein_string *string);

SKEIN_ALWAYS uint64_t skein_ticks_tsc(const struct skein_view *view)
{
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc() >> (view->shift & 63);
#else
    return skein_ticks_slow(view);
#endif
}

/* The address in an open gate. The compiler is not told that it equals another's: the lane's own
 * copy is at hand earlier. */
SKEIN_ALWAYS const struct skein_view *skein_gate_view(uint64_t gate)
{
    __asm__("" : "+r"(gate));
    return (const struct skein_view *)(uintptr_t)(gate - 1);
}

/* What a site found out before it captures its arguments. */
struct skein_entry {
    bool open; /* the lane's gate equals the control page's */
    uint64_t gate;
    const struct skein_view *view; /* NULL: off */
};

SKEIN_ALWAYS struct skein_entry skein_enter(void)
{
    struct skein_entry entry;
    uint64_t control = skein_gate_load(&skein_control_load(&skein_control_page)->gate);
    entry.gate = skein_lane_tls.gate;
    if (SKEIN_LIKELY(entry.gate == control)) {
        entry.open = true;
        entry.view = skein_lane_tls.view;
    } else {
        entry.open = false;
        entry.view = control ? skein_gate_view(control) : NULL;
    }
    return entry;
}

/* Whether events of `group` are wanted. */
SKEIN_ALWAYS bool skein_wanted(struct skein_entry entry, unsigned group)
{
    if (!entry.open && !entry.view)
        return false;
    return skein_load64(&entry.view->enabled) >> (group & 63) & 1;
}

/* One byte and two bytes inline, because nearly all values are that short. */
SKEIN_ALWAYS uint8_t *skein_put_leb(uint8_t *p, uint64_t value)
{
    if (SKEIN_LIKELY(value < 0x80)) {
        *p = (uint8_t)value;
        return p + 1;
    }
    if (SKEIN_LIKELY(value < 0x4000)) {
        p[0] = (uint8_t)(value | 0x80);
        p[1] = (uint8_t)(value >> 7);
        return p + 2;
    }
    return skein_put_leb_long(p, value);
}

/* Takes the lane if a record of `need` bytes can be written here and now, and writes type and
 * delta; the caller puts the payload and closes. False: nothing was done, and the slow half must do
 * it all. Everything that a handler could change is looked at after the gate is taken; the lane's
 * fields are plain, because only this thread and its handlers touch them. */
SKEIN_ALWAYS bool skein_record_open(struct skein_record *record, struct skein_entry entry,
                                    struct skein_site *site, size_t need)
{
    struct skein_lane *lane = &skein_lane_tls;
    if (SKEIN_UNLIKELY(!entry.open))
        return false;
    lane->gate = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    skein_signal_fence();
    /* An id of the lane's own epoch has nothing but the id left after the exclusive or. */
    uint64_t type = site ? skein_site_load(&site->id) ^ lane->string_epoch : SKEIN_ID_END;
    uint8_t *p = lane->write;
    bool room = __builtin_constant_p(need) && need <= SKEIN_MARGIN
                    ? p < lane->soft_limit
                    : need <= (size_t)(lane->limit - p);
    if (SKEIN_UNLIKELY(!room) || SKEIN_UNLIKELY(type > UINT32_MAX) ||
        SKEIN_UNLIKELY(lane->generation != skein_generation_load(&entry.view->generation))) {
        lane->gate = entry.gate;
        return false;
    }
    uint64_t now = skein_ticks_tsc(entry.view);
    uint64_t delta = now - lane->last;
    if (SKEIN_LIKELY((type | delta) < 0x80)) {
        p[0] = (uint8_t)type;
        p[1] = (uint8_t)delta;
        p += 2;
    } else {
        if (SKEIN_UNLIKELY((int64_t)delta < 0)) { /* another core's counter may lag */
            now -= delta;
            delta = 0;
        }
        p = skein_put_leb(skein_put_leb(p, type), delta);
    }
    record->lane = lane;
    record->id = type;
    record->now = now;
    record->p = p;
    record->gate = entry.gate;
    return true;
}

/* The record becomes visible with the one release store. `write` moves first: a handler that jumps
 * away between the two leaves a whole record to the next commit, never an overwritten one. */
SKEIN_ALWAYS void skein_record_close(const struct skein_record *record)
{
    struct skein_lane *lane = record->lane;
    lane->last = record->now;
    lane->write = record->p;
    skein_commit_store(lane->committed, lane->commit_base + (uint64_t)(uintptr_t)record->p);
    SKEIN_TEST_POINT("record_committed");
    skein_signal_fence();
    lane->gate = record->gate;
}

SKEIN_ALWAYS struct skein_scope skein_record_close_begin(const struct skein_record *record)
{
    struct skein_lane *lane = record->lane;
    uint32_t depth = lane->depth;
    if (SKEIN_LIKELY(depth < SKEIN_OPEN_MAX)) {
        lane->open[depth].id = record->id ? record->id | lane->string_epoch : 0;
        lane->open[depth].start = record->now;
    }
    lane->depth = depth + 1;
    skein_record_close(record);
    struct skein_scope scope = {depth + 1};
    return scope;
}

/* Closes the region at `depth` and whatever a long jump left open inside it. */
SKEIN_ALWAYS void skein_scope_leave(const struct skein_scope *scope)
{
    uint32_t depth = scope->depth;
    if (SKEIN_LIKELY(depth == 0))
        return;
    struct skein_entry entry = skein_enter();
    struct skein_record record;
    if (SKEIN_LIKELY(skein_lane_tls.depth == depth &&
                     skein_record_open(&record, entry, NULL, SKEIN_RECORD_NEED))) {
        const struct skein_open_range *range = &record.lane->open[(depth - 1) % SKEIN_OPEN_MAX];
        if (SKEIN_UNLIKELY(record.now - range->start >= record.lane->stack_ticks))
            record.p = skein_slow_stack(record.lane, record.p);
        record.lane->depth = depth - 1;
        skein_record_close(&record);
        return;
    }
    skein_slow_end(depth);
}

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#include "skein/skein_args.h"
#include "skein/skein_macros.h"
#endif
