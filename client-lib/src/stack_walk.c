/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks the calling thread's stack by the compiler's rules (stack_rules.h), and by frame pointers
 * where code has no rules or the processor is another than x86-64. Owns what is known of the main
 * thread's stack, of each thread's how large it is, and of its other one what the program declares. Any
 * thread, also in signal handlers.
 *
 *   low            sp                                        top
 *   |  (unused)    | frames of the tracer | frames ...       |
 *   +--------------+----------------------+------------------+
 *                  |<-------- what may be read ------------->|
 *
 * The C library puts a thread's descriptor, to which the thread pointer points, at the top of the
 * stack that it makes for it or was given: so top is the thread pointer, and what lies between sp
 * and it is mapped if sp is on this stack. The first thread's stack has the bytes of AT_RANDOM at
 * its top, which the kernel has put there; the kernel keeps all but that stack far away from it.
 * Rules or frame pointers that lead astray lead to other words of this stack, or to the walk's end.
 *
 * Of a stack that the program has declared nobody knows that all of it is mapped, nor that it still is
 * there. A walk of it asks the kernel of each page that it comes to, once.
 */
#include "stack_walk.h"

#include <sys/auxv.h>

#include "attach_client.h"
#include "placement.h"
#include "stack_rules.h"
#include "sys_raw.h"

#define UNIT       4096u /* of what is told of a thread's stack */
#define PAGE_BYTES 4096u /* at least, of what the kernel maps */
#define MAIN_BYTES                                                                                 \
    (UINT64_C(8) << 20) /* of the main thread's stack; 128 MiB are kept free for it */

#if defined(__x86_64__)
#define THREAD_BYTES 8192 /* of a stack are above the thread pointer at most */
#else
#define THREAD_BYTES 262144 /* the thread-local variables are above it, too */
#endif

static uint64_t main_top BESIDE_DATA;
static uint64_t own_from BESIDE_DATA, own_to BESIDE_DATA;
static __thread uint16_t told_units __attribute__((tls_model("initial-exec")));
static __thread uint64_t declared_low __attribute__((tls_model("initial-exec")));
static __thread uint64_t declared_top __attribute__((tls_model("initial-exec"))); /* 0: none */

void stack_walk_prepare(const struct stack_settings *settings)
{
    own_from = (uint64_t)(uintptr_t)settings->own_from;
    own_to = (uint64_t)(uintptr_t)settings->own_to;
    main_top = (uint64_t)getauxval(AT_RANDOM) & ~UINT64_C(7);
    code_object_prepare(settings->finder);
}

uint64_t stack_walk_usable(uint64_t stack_bytes, uint64_t guard_bytes)
{
    return stack_bytes > guard_bytes && stack_bytes - guard_bytes > THREAD_BYTES
               ? stack_bytes - guard_bytes - THREAD_BYTES
               : 0;
}

void stack_walk_tell(uint64_t bytes)
{
    told_units = (uint16_t)(bytes / UNIT < UINT16_MAX ? bytes / UNIT : UINT16_MAX);
}

static uint64_t thread_pointer(void)
{
    uint64_t pointer = 0;
#if defined(__x86_64__)
    __asm__("movq %%fs:0, %0" : "=r"(pointer));
#elif defined(__aarch64__)
    __asm__("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
    return pointer & ~UINT64_C(7);
}

/* Whether a walk may begin at `here` on a stack of so many bytes below `top`. */
static bool is_on(uint64_t here, uint64_t top, uint64_t bytes)
{
    return here < top && top - here < bytes && bytes - (top - here) > STACK_ROOM_BYTES;
}

/* What may be read from `here` on; false: `here` is not on the thread's own stack, or that is not
 * known. */
static bool own_top_find(uint64_t here, uint64_t *top)
{
    uint64_t bytes = MAIN_BYTES;
    *top = main_top;
    if (told_units) {
        bytes = (uint64_t)told_units * UNIT;
        *top = thread_pointer();
    }
    return is_on(here, *top, bytes);
}

bool stack_walk_knows(const void *frame)
{
    uint64_t top;
    return own_top_find((uint64_t)(uintptr_t)frame, &top);
}

void stack_walk_declare(uint64_t low, uint64_t top)
{
    declared_top = 0; /* a handler in between finds none */
    skein_signal_fence();
    declared_low = low;
    skein_signal_fence();
    declared_top = top & ~UINT64_C(7);
}

/* ---- frames ---- */

struct walk {
    uint64_t pc, sp, rbp, top;
    bool guessed;  /* a frame pointer was believed: what rules say from there on may not hold */
    bool declared; /* by the program: pages other than this one are yet to be asked for */
    uint64_t page;
    struct code_object object; /* of the frame before */
    struct stack_frames *out;
};

/* A word of the stack. Another thread may write beside it, but not to it. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static uint64_t
word_load(uint64_t address)
{
    return *(const volatile uint64_t *)(uintptr_t)address;
}

/* The kernel looks there for a set of signals before it finds that it is to do nothing with it. */
static bool page_is_readable(uint64_t page)
{
    return RAW4(SYS_rt_sigprocmask, -1, page, 0, sizeof(uint64_t)) == -EINVAL;
}

/* Of a declared stack; it was asked for just before, as often as not. */
static bool page_is_there(struct walk *w, uint64_t page)
{
    if (page != w->page && !page_is_readable(page))
        return false;
    w->page = page;
    return true;
}

static bool word_is_within(const struct walk *w, uint64_t address)
{
    return address != 0 && address % 8 == 0 && address >= w->sp && address < w->top &&
           w->top - address >= 8;
}

/* Whether a word at the address may be read. */
static bool word_is_ours(struct walk *w, uint64_t address)
{
    return word_is_within(w, address) &&
           (!w->declared || page_is_there(w, address & ~(uint64_t)(PAGE_BYTES - 1)));
}

/* What may be read from w->sp on. */
static bool top_find(struct walk *w)
{
    if (own_top_find(w->sp, &w->top))
        return true;
    const uint64_t top = declared_top, low = declared_low;
    if (!top || low >= top || !is_on(w->sp, top, top - low) || attach_client_is_barred())
        return false;
    w->top = top;
    w->declared = true;
    return true;
}

/* The address without its signature. */
static uint64_t code_address(uint64_t word)
{
#if defined(__aarch64__)
    register uint64_t link __asm__("x30") = word;
    __asm__("hint 7" : "+r"(link)); /* xpaclri */
    return link;
#else
    return word;
#endif
}

static bool is_own(uint64_t pc)
{
    return pc - own_from < own_to - own_from;
}

/* False: there is no room for it. */
static bool frame_add(struct stack_frames *out, uint64_t pc)
{
    if (out->count == 0 && is_own(pc))
        return true;
    if (out->count == STACK_FRAMES_MAX) {
        out->end = STACK_END_CUT;
        return false;
    }
    out->pcs[out->count++] = pc;
    return true;
}

/* By the frame pointer: the caller's lies there, and the return address above it. */
static bool step_by_pointer(struct walk *w)
{
    const uint64_t frame = w->rbp;
    if (!word_is_ours(w, frame) || !word_is_ours(w, frame + 8))
        return false;
    w->rbp = word_load(frame);
    w->pc = code_address(word_load(frame + 8));
    w->sp = frame + 16;
    return true;
}

#if defined(__x86_64__)

static struct stack_rule rule_here(struct walk *w)
{
    const uint64_t inside = w->pc - 1; /* of the call: what follows it may be another function */
    if (inside - w->object.start >= w->object.end - w->object.start &&
        !code_object_find(inside, &w->object)) {
        w->object = (struct code_object){0};
        return (struct stack_rule){.cfa = STACK_CFA_NONE};
    }
    return stack_rule_at(&w->object, inside);
}

static bool cfa_get(struct walk *w, const struct stack_rule *rule, uint64_t *cfa)
{
    uint64_t at = w->rbp + (uint64_t)(int64_t)rule->cfa_offset;
    if (rule->cfa == STACK_CFA_RSP) {
        *cfa = w->sp + (uint64_t)(int64_t)rule->cfa_offset;
    } else if (rule->cfa == STACK_CFA_RBP) {
        *cfa = at;
    } else {
        if (!word_is_ours(w, at))
            return false;
        *cfa = word_load(at);
    }
    return *cfa > w->sp && word_is_ours(w, *cfa - 8);
}

static bool rbp_get(struct walk *w, const struct stack_rule *rule, uint64_t cfa, uint64_t *rbp)
{
    const uint64_t base = rule->rbp == STACK_RBP_AT_CFA ? cfa : w->rbp;
    const uint64_t at = base + (uint64_t)(int64_t)rule->rbp_offset;
    *rbp = w->rbp;
    if (rule->rbp == STACK_RBP_SAME)
        return true;
    *rbp = 0;
    if (rule->rbp == STACK_RBP_GONE)
        return true;
    if (!word_is_ours(w, at))
        return false;
    *rbp = word_load(at);
    return true;
}

/* To the caller. False: the walk is over, and out->end says how. */
static bool step(struct walk *w)
{
    struct stack_rule rule = {.cfa = STACK_CFA_NONE};
    uint64_t cfa, rbp;
    w->out->end = STACK_END_BROKEN;
    if (!w->guessed)
        rule = rule_here(w);
    if (rule.cfa == STACK_CFA_NONE) {
        if (!w->guessed)
            w->out->sure = w->out->count;
        w->guessed = true;
        return step_by_pointer(w);
    }
    if (rule.cfa == STACK_CFA_OUTERMOST) {
        w->out->end = STACK_END_WHOLE;
        return false;
    }
    if (rule.cfa == STACK_CFA_STRANGE || !cfa_get(w, &rule, &cfa) || !rbp_get(w, &rule, cfa, &rbp))
        return false;
    w->pc = word_load(cfa - 8);
    w->rbp = rbp;
    w->sp = cfa;
    return true;
}

#else

/* The outermost frame has no caller's frame pointer. */
static bool step(struct walk *w)
{
    w->out->end = w->rbp ? STACK_END_BROKEN : STACK_END_WHOLE;
    return step_by_pointer(w);
}

#endif

bool stack_walk(const void *frame, struct stack_frames *out)
{
    struct walk w = {.sp = (uint64_t)(uintptr_t)frame, .out = out};
    out->count = out->sure = 0;
    out->end = STACK_END_BROKEN;
#if defined(__x86_64__) || defined(__aarch64__)
    w.rbp = w.sp;
    if (!top_find(&w) || !step_by_pointer(&w))
        return false;
    while (w.pc != 0 && frame_add(out, w.pc) && step(&w)) {
    }
    if (w.pc == 0)
        out->end = w.guessed ? STACK_END_BROKEN : STACK_END_WHOLE;
    if (!w.guessed)
        out->sure = out->count;
#endif
    return out->count > 0;
}
