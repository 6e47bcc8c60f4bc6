/* SPDX-License-Identifier: Apache-2.0
 *
 * What a stack costs: ns of a walk of 11 and of 36 frames once its rules are known, ns of a rule
 * that is read from the tables, ns of an operation with its stack beside one without, and of a region's end where no
 * stack is due; and libunwind's unw_backtrace() of the same frames, where it is installed. Runs
 * alternate, the median counts. Needs no agent. `--json` prints an array of results.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "emit_loop.h"
#include "fake_agent.h"
#include "skein/skein.h"
#include "skein_atomic.h"
#include "stack_rules.h"
#include "stack_walk.h"
#ifdef SKEIN_HAVE_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

#define WALKS      2000
#define RING_BYTES (UINT64_C(16) << 20)
#define FRAMES_MAX 128

struct figures {
    double walk, peer;
    uint32_t frames, peer_frames;
};

static volatile uint64_t sink;

static __attribute__((noinline)) double time_walks(uint32_t *count)
{
    struct stack_frames frames = {.count = 0};
    uint64_t began = emit_now_ns();
    for (unsigned i = 0; i < WALKS; i++)
        sink += stack_walk(__builtin_frame_address(0), &frames);
    double ns = (double)(emit_now_ns() - began) / WALKS;
    *count = frames.count;
    return ns;
}

static __attribute__((noinline)) double time_peer(uint32_t *count)
{
    int frames = 0;
    uint64_t began = emit_now_ns();
#ifdef SKEIN_HAVE_LIBUNWIND
    void *addresses[FRAMES_MAX];
    for (unsigned i = 0; i < WALKS; i++)
        frames = unw_backtrace(addresses, FRAMES_MAX);
#endif
    double ns = (double)(emit_now_ns() - began) / WALKS;
    *count = (uint32_t)frames;
    return ns;
}

static __attribute__((noinline)) void figures_take(struct figures *out)
{
    double walk[EMIT_ROUNDS], peer[EMIT_ROUNDS];
    for (int round = 0; round < EMIT_ROUNDS; round++) {
        walk[round] = time_walks(&out->frames);
        peer[round] = time_peer(&out->peer_frames);
    }
    out->walk = emit_median(walk, EMIT_ROUNDS);
    out->peer = emit_median(peer, EMIT_ROUNDS);
}

static __attribute__((noinline)) unsigned at_depth(unsigned depth, struct figures *out)
{
    volatile unsigned kept = depth;
    if (depth == 0)
        figures_take(out);
    else
        kept += at_depth(depth - 1, out);
    return kept;
}

/* Of functions all over the C library. */
static double time_rules(void)
{
    struct code_object object;
    uint64_t any = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort"), random = 1;
    struct code_mapping code;
    if (!code_object_find(any, &object) || !code_object_mapping(&object, any, &code))
        return 0;
    double ns[EMIT_ROUNDS];
    for (int round = 0; round < EMIT_ROUNDS; round++) {
        uint64_t began = emit_now_ns();
        for (unsigned i = 0; i < WALKS; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            sink +=
                stack_rule_read(&object, code.start + (random >> 33) % (code.end - code.start)).cfa;
        }
        ns[round] = (double)(emit_now_ns() - began) / WALKS;
    }
    return emit_median(ns, EMIT_ROUNDS);
}

static struct skein_site site =
    SKEIN_SITE(SKEIN_CLASS_SPAN, SKEIN_GROUP_APP, "operation", (i64, "fd", 0), (i64, "result", 0));

static double time_operations(void)
{
    const union skein_value values[2] = {{.i64 = 3}, {.i64 = 4}};
    uint64_t began = emit_now_ns();
    for (unsigned i = 0; i < WALKS; i++) {
        struct skein_op op = skein_op_enter(&site, 3);
        skein_op_leave(&op, 0, values);
    }
    return (double)(emit_now_ns() - began) / WALKS;
}

static double time_regions(void)
{
    uint64_t began = emit_now_ns();
    for (unsigned i = 0; i < WALKS; i++) {
        SKEIN_REGION("region");
    }
    return (double)(emit_now_ns() - began) / WALKS;
}

static double median_of(double (*time)(void), struct fake_agent *agent, struct fake_ring *ring,
                        uint64_t stack_ns)
{
    double ns[EMIT_ROUNDS];
    skein_store64(&ring->page->stack_ns, stack_ns);
    skein_generation_store(&agent->host->generation, agent->host->generation + 1);
    time();
    for (int round = 0; round < EMIT_ROUNDS; round++)
        ns[round] = time();
    return emit_median(ns, EMIT_ROUNDS);
}

int main(int argc, char **argv)
{
    static struct fake_agent agent;
    static struct fake_ring ring;
    const struct stack_settings settings = {.finder = _dl_find_object};
    bool json = argc == 2 && strcmp(argv[1], "--json") == 0;
    if (argc > 2 || (argc == 2 && !json)) {
        fprintf(stderr, "usage: %s [--json]\n", argv[0]);
        return 2;
    }
    stack_walk_prepare(&settings);
    fake_agent_init(&agent, 7);
    fake_agent_attach_self(&agent, &ring, SKEIN_MODE_CIRCULAR, RING_BYTES);
    struct figures shallow, deep;
    at_depth(6, &shallow);
    at_depth(31, &deep);
    double rule = time_rules();
    double bare = median_of(time_operations, &agent, &ring, 0);
    double with = median_of(time_operations, &agent, &ring, 1);
    double region = median_of(time_regions, &agent, &ring, 0);
    double due = median_of(time_regions, &agent, &ring, UINT64_C(1000000));
    const struct {
        const char *name;
        double value;
    } rows[] = {{"walk_shallow_ns", shallow.walk},
                {"walk_shallow_frames", shallow.frames},
                {"libunwind_shallow_ns", shallow.peer},
                {"libunwind_shallow_frames", shallow.peer_frames},
                {"walk_deep_ns", deep.walk},
                {"walk_deep_frames", deep.frames},
                {"libunwind_deep_ns", deep.peer},
                {"libunwind_deep_frames", deep.peer_frames},
                {"rule_from_tables_ns", rule},
                {"operation_ns", bare},
                {"operation_with_stack_ns", with},
                {"region_without_stacks_ns", region},
                {"region_with_none_due_ns", due}};
    const size_t count = sizeof rows / sizeof *rows;
    for (size_t i = 0; i < count; i++) {
        if (json)
            printf("%s{\"name\": \"%s\", \"value\": %.1f}%s\n", i == 0 ? "[" : " ", rows[i].name,
                   rows[i].value, i + 1 < count ? "," : "]");
        else
            printf("%-26s %10.1f\n", rows[i].name, rows[i].value);
    }
    return 0;
}
