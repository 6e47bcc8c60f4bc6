/* SPDX-License-Identifier: Apache-2.0
 *
 * The data model of a partition, as docs/format.md (rules F-n) writes it down: what the writer
 * takes, the reader gives, and the footer sums up. Declarations only.
 */
#ifndef PARTITION_H
#define PARTITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ids.h"
#include "skein/skein.h"

#define PARTITION_BYTES_MAX     (UINT64_C(64) << 20)
#define PARTITION_BLOCK_RAW_MAX (256u << 10)
#define PARTITION_NAME_MAX      1024                /* bytes of any name or string in a table */
#define PARTITION_EVIDENCE_FROM (UINT64_C(1) << 48) /* numbers of evidence, F-50 */
#define PARTITION_BULK_EVENT    "go.trace.part" /* of evidence: bytes of a file, no event to be seen */
#define PARTITION_FRAMES_MAX    1024            /* of a stack */
#define PARTITION_LINES_MAX     64 /* functions at one address: inlined, and the one around them */
#define PARTITION_BUILD_ID_MAX  32 /* bytes */

enum partition_clock { PARTITION_CLOCK_MONOTONIC = 1, PARTITION_CLOCK_TSC = 2 };

/* The same instant on four clocks. Ticks are what events carry; the others are nanoseconds. */
struct clock_snapshot {
    uint64_t ticks, monotonic_ns, boottime_ns, realtime_ns;
};

struct partition_info {
    struct partition_key key;
    uint64_t generation; /* host generation that the cut ended */
    uint32_t pid;
    uint64_t process_start_ns; /* realtime */
    uint8_t clock;             /* enum partition_clock */
    uint8_t shift;             /* tick = clock >> shift */
    uint8_t mode;              /* enum skein_mode of the ring */
    struct clock_snapshot begin,
        end; /* begin.ticks < end.ticks; event times are interpolated, also outside */
    int64_t clock_offset_ns; /* collector's realtime minus this host's, as estimated; 0 unknown */
    uint64_t window_from_ticks, window_to_ticks; /* what the cut set out to hold */
    const char *host, *service, *labels, *exe;   /* labels "k=v,…"; never NULL, may be "" */
    struct {
        int32_t signal, status;
        bool known;
    } death; /* of a process that has ended; zero otherwise */
    /* Not cut from the ring: made by the agent of what it saw itself (F-50). No ranges; nothing is
     * carried into it or out of it. */
    bool evidence;
};

struct partition_arg {
    uint8_t type; /* enum skein_type */
    const char *name, *unit;
};
/* A member of a type's `args`, where the type stands in a table. */
#define PARTITION_ARG(of_type, arg, of_unit)                                                       \
    {                                                                                              \
        .type = of_type, .name = arg, .unit = of_unit                                              \
    }

struct partition_event_type {
    const char *name, *text, *file;
    uint32_t line;
    uint8_t klass; /* enum skein_class */
    uint8_t group;
    uint8_t nargs;
    struct partition_arg args[SKEIN_ARGS_MAX];
};

/* A capture holds all event groups; who reads it may ask for some (bit n: group n; 0: all). Always
 * shown is what has no group: losses, which are of the whole process (type NULL), the end of an
 * unknown range, and groups from the future. */
static inline bool event_type_shown(const struct partition_event_type *type, uint64_t groups)
{
    return groups == 0 || type == NULL || type->group > 63 || (groups >> type->group & 1) != 0;
}

struct partition_thread {
    uint32_t tid;
    const char *name;
    uint64_t incarnation; /* tells threads apart that had the same tid */
};

/* An argument: numbers by type; STR as bytes that need no NUL. */
struct partition_value {
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
        struct {
            const char *text;
            uint32_t len;
            bool cut;
        } str;
        struct {
            uint64_t resource, number;
        } seq;
    };
};

static inline struct partition_value partition_text(const char *text)
{
    return (struct partition_value){.str = {.text = text, .len = (uint32_t)strlen(text)}};
}

/* Why records are missing. One row: name in JSON and docs. OVERWRITTEN: a circular ring had lost
 * them before the cut, inside the asked window; events is 0, because nobody knows how many records
 * those chunks held. */
#define PARTITION_LOSS_LIST(X)                                                                     \
    X(RING_FULL, 1, "ring_full")     /* no chunk free: being written, pinned, or oneshot full */   \
    X(OVERWRITTEN, 2, "overwritten") /* gone before the cut; events 0 */                           \
    X(CORRUPT, 3, "corrupt")         /* committed bytes that do not decode */                      \
    X(SIGNAL, 4, "signal")           /* a handler interrupted a handler inside the tracer */       \
    X(SIZE, 5, "size")               /* cut by the partition size limit */                         \
    X(NAME, 6, "name")               /* only a string or descriptor of the event is missing */
enum partition_loss_reason {
#define X(name, value, text) PARTITION_LOSS_##name = value,
    PARTITION_LOSS_LIST(X)
#undef X
};
const char *partition_loss_text(uint8_t reason); /* "unknown" for one from the future */

struct partition_loss {
    uint32_t thread; /* index, or UINT32_MAX: of the process */
    uint8_t reason;
    uint64_t events; /* 0: number unknown */
    uint64_t from_ticks, to_ticks;
};

/* An operation that was still running on a thread when the cut was made (skein_op_enter). */
struct partition_open {
    uint32_t thread, type;
    uint64_t since_ticks;
    int64_t detail;
};

/* ---- stacks ---- */

/* How the walk over a stack ended, in the low bits of `end`. One row: its name in JSON. */
#define PARTITION_STACK_END_LIST(X)                                                                \
    X(WHOLE, 0, "whole")    /* at the outermost frame */                                           \
    X(CUT, 1, "cut")        /* at the limit of frames: there are more */                           \
    X(BROKEN, 2, "broken")  /* it could not go on: what is outside of it is unknown */             \
    X(LISTED, 3, "whole")   /* as another tool listed it, with exact addresses: all of it */       \
    X(LISTED_CUT, 4, "cut") /* the same, and there are more */
enum partition_stack_end {
#define X(name, value, text) PARTITION_STACK_##name = value,
    PARTITION_STACK_END_LIST(X)
#undef X
};
#define PARTITION_STACK_EXACT 0x80                 /* flag of `end`: pcs[0] is no return address */
const char *partition_stack_end_text(uint8_t end); /* "unknown" for one from the future */

/* F-44: in a stack that was listed, a number whose top eleven bits are this stands for no address, where
 * the next five are 0; else these tell names of one address apart, which is below. */
#define PARTITION_LISTED_TAG   UINT64_C(0x566)
#define PARTITION_LISTED_SHIFT 53
#define PARTITION_LISTED_NAMES 48 /* where the five bits are, and how many bits an address has */
#define PARTITION_LISTED_NONE  (PARTITION_LISTED_TAG << PARTITION_LISTED_SHIFT)

/* Innermost first, as found: return addresses, pcs[0] perhaps excepted; of LISTED, exact ones. */
struct partition_stack {
    const uint64_t *pcs;
    uint32_t count;
    uint8_t end; /* enum partition_stack_end, perhaps with PARTITION_STACK_EXACT */
};

static inline bool partition_stack_is_listed(const struct partition_stack *stack)
{
    unsigned end = stack->end & ~(unsigned)PARTITION_STACK_EXACT;
    return end == PARTITION_STACK_LISTED || end == PARTITION_STACK_LISTED_CUT;
}

/* Where to look for frame i: a call lies in front of its return address. */
static inline uint64_t partition_stack_address(const struct partition_stack *stack, uint32_t i)
{
    bool exact =
        (i == 0 && (stack->end & PARTITION_STACK_EXACT) != 0) || partition_stack_is_listed(stack);
    return stack->pcs[i] - (exact ? 0 : 1);
}

/* An address of 48 bits, as processors have them: bit 47 stands in all above it, too. */
static inline uint64_t partition_listed_address(uint64_t number)
{
    const uint64_t sign = UINT64_C(1) << (PARTITION_LISTED_NAMES - 1);
    return ((number & (2 * sign - 1)) ^ sign) - sign;
}

/* Frame i's address as it was found. false: there is none. */
static inline bool partition_stack_found(const struct partition_stack *stack, uint32_t i,
                                         uint64_t *address)
{
    uint64_t number = *address = stack->pcs[i];
    if (!partition_stack_is_listed(stack) ||
        number >> PARTITION_LISTED_SHIFT != PARTITION_LISTED_TAG)
        return true;
    *address = partition_listed_address(number);
    return (number >> PARTITION_LISTED_NAMES & 31) != 0;
}

/* A file in the process's memory: start <= address < end. */
struct partition_mapping {
    uint64_t start, end, offset; /* offset: of `start` in the file */
    const char *path;            /* may be "" */
    uint8_t build_id[PARTITION_BUILD_ID_MAX];
    uint8_t build_id_bytes; /* 0: unknown */
};

/* A function at an address. Texts may be ""; line 0: unknown. */
struct partition_line {
    const char *function, *file;
    uint32_t line;
};

/* What lies at an address, as looked up: the innermost inlined function first, the one that holds
 * the code last. */
struct partition_symbol {
    uint64_t address;
    const struct partition_line *lines;
    uint32_t line_count;
};

/* ---- footer: what can be known without reading the partition ---- */

struct partition_block {
    uint64_t offset; /* from the partition's first byte */
    uint32_t stored_bytes, raw_bytes;
    uint32_t threads; /* batches in it */
    uint64_t events, from_ticks, to_ticks;
    uint32_t left_out; /* in a slice: how many blocks are missing in front of this one */
    /* F-42: begin to end of all that the block tells of; UINT64_MAX: open at the cut */
    uint64_t since_ticks, until_ticks;
};
struct partition_type_count {
    char *name;
    uint8_t klass;
    uint64_t events;
};
struct partition_footer {
    uint64_t partition_bytes; /* whole, magic to end of footer */
    struct partition_key key;
    uint64_t from_ns, to_ns; /* realtime of the first and last record, host clock */
    uint64_t window_from_ns, window_to_ns;
    uint64_t events, lost, threads, fixed_up; /* events: records, those of stacks included */
    uint32_t pid;
    char *host, *service, *labels, *exe;
    struct partition_block *blocks;
    size_t block_count;
    struct partition_type_count *types;
    size_t type_count;
    struct partition_loss *losses;
    size_t loss_count;
    uint64_t *trace_id_filter; /* Bloom filter of OpenTelemetry trace ids, or NULL */
    size_t trace_id_filter_words;
    /* F-38: some blocks of the partition were left out: how many behind the last one here, and the
     * records in all that are missing */
    bool slice;
    uint64_t left_out_behind, left_out_events;
    /* F-42: the writer noted how far each block reaches, and the ranges left open at the end (type
     * + 1; 0: unknown), outermost first for each thread */
    bool reaches;
    struct partition_open *open_ranges;
    size_t open_range_count;
    bool evidence; /* as in INFO */
};

/* Finds and decodes the footer at the end of `bytes` (at least the partition's tail; the whole
 * partition is fine too). SKEIN_OK; SKEIN_TRUNCATED (`*need` says how many tail bytes it takes);
 * SKEIN_CORRUPT; SKEIN_VERSION; SKEIN_NO_MEMORY. On failure *footer is zero. The caller frees with
 * partition_footer_free. */
int partition_footer_get(const uint8_t *bytes, size_t n, struct partition_footer *footer,
                         size_t *need);
void partition_footer_free(struct partition_footer *footer);

/* Of `events`, the records that are the stacks of others. */
uint64_t partition_footer_stacks(const struct partition_footer *footer);

/* Parses 32 hex digits (any case) into the 16 bytes of a trace id (F-35). */
bool trace_id_parse(const char *text, size_t n, uint8_t id[16]);
/* Whether the OpenTelemetry trace id may occur (false: it does not). */
bool partition_footer_has_trace_id(const struct partition_footer *footer, const uint8_t id[16]);

#endif
