/* SPDX-License-Identifier: Apache-2.0
 *
 * libskein: what a service links to be recorded. Include this, call skein_start() once, and mark
 * what matters:
 *
 *     struct skein_options options = {.size = sizeof options, .service = "checkout"};
 *     skein_start(&options);
 *     {
 *         SKEIN_REGION("query", (str, "sql", text), (u64, "rows", n));   // until the block ends
 *         SKEIN_INSTANT("cache_miss", (u64, "key", key));
 *     }
 *     SKEIN_COUNTER("queue_depth", depth);
 *     SKEIN_LOG(SKEIN_WARN, "retrying");
 *
 * Events go into a ring in shared memory that the host's skein-agent created; nothing else happens
 * until somebody asks for a snapshot. Without an agent every site costs one predictable branch.
 *
 * Arguments of an event are up to 6 parenthesised triples (type, "name", value), type one of
 *   u64 i64 f64 boolean ptr   numbers
 *   str                       const char *, copied, at most SKEIN_STR_MAX bytes, then cut
 *   sym                       struct skein_string *, interned: one copy a process, an id an event
 *   seq                       struct skein_sequence *, orders events on one resource (see below)
 * Names must be string literals. Every event macro may be used in a signal handler.
 */
#ifndef SKEIN_H
#define SKEIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is declared here is all that the library exports. */
#pragma GCC visibility push(default)

#define SKEIN_ARGS_MAX 6    /* arguments of an event */
#define SKEIN_STR_MAX  1024 /* bytes of a str argument; a longer one is cut and so marked */
#define SKEIN_NAME_MAX 127  /* bytes of a name: service, event, argument, thread */

/* Event groups: bits of the process's enable mask, switched by the agent. A file chooses the group
 * of its sites with `#define SKEIN_GROUP SKEIN_GROUP_NET` before including this header. */
enum skein_group {
    SKEIN_GROUP_APP = 0,
    SKEIN_GROUP_NET = 1,
    SKEIN_GROUP_IO = 2,
    SKEIN_GROUP_LOCK = 3,
    SKEIN_GROUP_THREAD = 4,
    SKEIN_GROUP_SLEEP = 5,
    SKEIN_GROUP_LOG = 6,
    SKEIN_GROUP_USER = 16 /* 16 to 63 are the service's own */
};
#ifndef SKEIN_GROUP
#define SKEIN_GROUP SKEIN_GROUP_APP
#endif

/* How the ring behaves when it is full: overwrite the oldest (circular), or stop (oneshot). */
enum skein_mode { SKEIN_MODE_ONESHOT = 1, SKEIN_MODE_CIRCULAR = 2, SKEIN_MODE_STREAMING = 3 };

enum skein_level { SKEIN_DEBUG = 0, SKEIN_INFO = 1, SKEIN_WARN = 2, SKEIN_ERROR = 3 };

/* What happened, in the words of the trace format (docs/format.md). */
enum skein_class {
    SKEIN_CLASS_INSTANT = 1,
    SKEIN_CLASS_RANGE_BEGIN = 2, /* closed by the thread's next unmatched end */
    /* a finished region in one record: written at its end with its duration */
    SKEIN_CLASS_SPAN = 3,
    SKEIN_CLASS_COUNTER = 4, /* argument 0 is the value */
    SKEIN_CLASS_LOG = 5,     /* argument 0 is the level (u64), argument 1 the text (str) */
    SKEIN_CLASS_STACK = 6    /* of the record before it on its thread; made by Skein alone */
};

enum skein_type {
    SKEIN_T_U64 = 1,
    SKEIN_T_I64 = 2,
    SKEIN_T_F64 = 3,
    SKEIN_T_BOOL = 4,
    SKEIN_T_PTR = 5,
    SKEIN_T_STR = 6, /* str and sym */
    SKEIN_T_SEQ = 7
};

/* ---- process ---- */

/* All-zero is the default; `size` is sizeof(struct skein_options). */
struct skein_options {
    size_t size;
    const char *service; /* default: $SKEIN_SERVICE, then the program's short name */
    const char *labels;  /* "zone=a,canary="; default: $SKEIN_LABELS. The agent writes what is no
                               * letter, no digit and none of . _ / - as '_' */
    const char *agent_socket; /* default: $SKEIN_SOCKET, then /run/skein/agent.sock */
    enum skein_mode mode;     /* default: what the agent's config says, normally circular */
    uint64_t ring_bytes;      /* wished ring size; the agent decides; default: the agent's */
};

/* Starts recording as soon as an agent can be reached, now or later. A guest looks after the
 * connection: a thread "skein" with a descriptor table of its own, no capability, all signals
 * blocked, which leaves while the program forks. A second call is a no-op.
 * Returns SKEIN_OK; SKEIN_INVALID (a name too long or a malformed label); SKEIN_NO_MEMORY;
 * SKEIN_AGAIN (the helper thread could not be started); SKEIN_REFUSED ($SKEIN_CHECK is set: an
 * agent's health check runs this program, which must not become a service that is checked). On
 * failure the process runs untraced.
 * Any thread; does not block; not signal-safe. */
int skein_start(const struct skein_options *options);

/* Ends recording: tells the agent that this is a normal end and sees the thread out. Threads
 * that still trace are harmless. Runs by itself at exit().
 * Any thread; may block for some milliseconds; not signal-safe. */
void skein_stop(void);

/* Whether a ring is attached now. Any thread; does not block; signal-safe. */
bool skein_attached(void);

/* Waits until a ring is attached. Returns SKEIN_OK or SKEIN_TIMEOUT. Meant for short-lived tools
 * and tests; a service need not call it. Any thread; blocks at most timeout_ms; not signal-safe. */
int skein_wait_attached(unsigned timeout_ms);

/* Asks the agent for a snapshot of this process ("what happened just before"), with a reason of at
 * most SKEIN_NAME_MAX bytes for the person who will read it; what is captured is the operator's
 * decision. Returns SKEIN_OK (asked), SKEIN_CLOSED (no agent, or one that is being connected to
 * just now), SKEIN_AGAIN (the agent is not keeping up); nothing was asked then. Any thread; waits
 * some 20 microseconds, 20 ms at most, for the thread that hands it over; signal-safe. */
int skein_snapshot(const char *reason);

/* The service's heartbeat: says that it is well, or not and why (at most SKEIN_NAME_MAX bytes;
 * NULL: no reason). A rule of the operator with the check "heartbeat" fails when the service says
 * that it is not well, or says nothing for the rule's silent_ms; without such a rule nothing
 * happens. Call it where the work is done, as often as you like: the same words are sent at most
 * every 50 ms, and a call in between costs a look at the clock. Returns SKEIN_OK (said),
 * SKEIN_CLOSED (no agent), SKEIN_AGAIN (the agent is not keeping up; nothing was said),
 * SKEIN_UNSUPPORTED (the agent is too old to listen). Any thread; does not block; signal-safe. */
int skein_health(bool ok, const char *why);

/* Names the calling thread in traces, at most 31 bytes; default: its kernel name.
 * Does not block; not signal-safe. */
void skein_thread_name(const char *name);

/* Says on which stack the calling thread runs, so that operations and regions that last carry its
 * call stack, where the agent asks for those (thresholds.stack_ns). Without it only the first thread's
 * do, and, of what the preload library records, those of all threads on their own stacks.
 *   skein_thread_stack(NULL, 0)    the thread's own, of which the C library is asked, once: call it
 *                                  first thing in each thread that your program makes
 *   skein_thread_stack(low, bytes) one that the program has made itself, a coroutine's or a fiber's:
 *                                  its lowest address, and its size without guard pages. It counts
 *                                  beside the thread's own, on which the thread may go on at any
 *                                  time, until another is declared: call it before each switch.
 * Bounds that are wrong cost stacks, and never harm: a walk keeps within them, and asks the kernel of
 * each page whether it can be read (rt_sigprocmask: who forbids himself that one by seccomp, declares
 * no bounds). A child of fork knows what its thread knew.
 * Returns SKEIN_OK; SKEIN_INVALID (no address, or one of the last; 8192 bytes or fewer: so many are
 * left to handlers); SKEIN_NO_MEMORY; SKEIN_UNSUPPORTED (the C library does not know, as of a thread
 * that was made without it). Some nanoseconds; the C library takes some microseconds.
 * Does not block. Signal-safe with bounds; not with NULL, where it may allocate. */
int skein_thread_stack(const void *low, size_t bytes);

/* A region that was opened; 0: it was not recorded. Closed by skein_scope_leave(). */
struct skein_scope {
    uint32_t depth; /* among the thread's open regions, from 1 */
};

/* ---- event sites (static storage; made by the macros below) ---- */

struct skein_arg_desc {
    uint8_t type; /* enum skein_type */
    const char *name;
    const char *unit; /* "" where there is none */
};

/* One event type, normally one place in the source. Zero `id` in static storage; the library
 * assigns it on first use. */
struct skein_site {
    uint64_t id; /* atomic; {string epoch:32, event id:32}; owned by the library */
    const char *name;
    const char *text; /* one sentence for a person, or "" */
    const char *file; /* where it is, or "" */
    uint32_t line;
    uint8_t klass; /* enum skein_class */
    uint8_t group; /* enum skein_group, 0 to 63 */
    uint8_t nargs;
    struct skein_arg_desc args[SKEIN_ARGS_MAX];
};

/* An interned string: `static struct skein_string s = SKEIN_STRING("GET /cart");` */
struct skein_string {
    uint64_t id; /* as in struct skein_site */
    const char *text;
};
#define SKEIN_STRING(literal)                                                                      \
    {                                                                                              \
        0, literal                                                                                 \
    }

/* Orders events on one resource (a lock, a queue entry, a connection) across threads even where
 * clocks disagree: advance it under the resource's own lock, with skein_sequence_next(), then emit
 * with (seq, "lock", &s). Readers never show sequence n+1 before n. */
struct skein_sequence {
    uint64_t resource; /* names the resource; unique in the process; its address will do */
    uint64_t number;
};
static inline void skein_sequence_next(struct skein_sequence *s)
{
    s->number++;
}

/* An argument's value, for skein_emit(). Which member counts is the site's arg_desc.type. */
union skein_value {
    uint64_t u64; /* also boolean, ptr */
    int64_t i64;
    double f64;
    const char *str; /* SKEIN_T_STR: copied */
    const struct skein_sequence *seq;
};

/* ---- the same without macros, for event types made at run time and for bindings ----
 * `site` must stay valid for the life of the process. Signal-safe; do not block. */

/* Emits one instant, counter or log event of `site` with `values[site->nargs]`. */
void skein_emit(struct skein_site *site, const union skein_value *values);

/* Opens and closes a region of the calling thread; the site's class must be
 * SKEIN_CLASS_RANGE_BEGIN. Ends match the innermost open begin. */
void skein_begin(struct skein_site *site, const union skein_value *values);
void skein_end(void);

/* A region as an object: open it, then close it with skein_scope_leave(&scope) on the same thread,
 * which also closes what a long jump left open inside. Signal-safe; does not block. */
struct skein_scope skein_region_open(struct skein_site *site, const union skein_value *values);

/* A region whose length matters only if it was long (JFR's threshold): enter() notes the start and
 * makes the operation visible as "in progress" to a snapshot, without writing a record; leave()
 * writes one SKEIN_CLASS_SPAN record if at least threshold_ns passed. `detail` (a file descriptor,
 * an address) is what a snapshot shows of an unfinished operation; it is also argument 0 of the
 * record, of type i64, followed by `values[1..nargs-1]`. Operations may nest; the outermost is the
 * one shown. The default threshold of a group is the process page's (agent config). */
struct skein_op {
    uint64_t start; /* ticks; 0: not recorded */
    struct skein_site *site;
    int64_t detail;
    bool outermost;
};
struct skein_op skein_op_enter(struct skein_site *site, int64_t detail);
void skein_op_leave(struct skein_op *op, uint64_t threshold_ns, const union skein_value *values);

/* A region that need not nest with others of its thread, nor end on the thread on which it began: a
 * coroutine's, a goroutine's, a request's. begin() notes the time; end() writes one record, of a
 * SKEIN_CLASS_SPAN site, on the calling thread, with `values[site->nargs]`. A snapshot does not show
 * it while it lasts. 0, which end() takes and ignores: it is not recorded. */
uint64_t skein_span_begin(const struct skein_site *site);
void skein_span_end(struct skein_site *site, uint64_t begin, const union skein_value *values);

/* The threshold that the agent has set for a group, or fallback_ns where it set none. */
uint64_t skein_threshold_ns(enum skein_group group, uint64_t fallback_ns);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#include "skein/skein_inline.h"
#endif
