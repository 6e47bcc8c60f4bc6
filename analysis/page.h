/* SPDX-License-Identifier: Apache-2.0
 *
 * What a trace says, as one HTML page for people: what it is, findings, a picture of its window,
 * latencies, flame graphs, tables. The page is whole in itself: it opens without network, asks for
 * nothing, obeys a content security policy that allows its own style and script alone, and says
 * everything without the script. It has at most PAGE_BYTES_MAX bytes; what has no room is counted where
 * it would stand.
 *
 * Every text is hostile: markup is escaped, what is no UTF-8, controls, and characters that turn or
 * hide what stands beside them are shown by their numbers, and long texts are cut, which shows. The
 * page is well-formed XML as well as HTML.
 *
 * Pure: takes plain arrays and lanes, gives bytes. No I/O, no threads, no clock.
 */
#ifndef PAGE_H
#define PAGE_H

#include "buf.h"
#include "lanes.h"
#include "task_path.h"

#define PAGE_BYTES_MAX 1000000u

enum page_severity { PAGE_NOTE = 1, PAGE_WARNING, PAGE_PROBLEM };

/* Arrays may be empty; texts are never NULL, but where it is said, and "" where there is none. */

struct page_fact {
    const char *name, *value;
};

struct page_finding { /* the most important first */
    enum page_severity severity;
    const char *sentence;
    const char *const *evidence; /* lines that stand under it */
    size_t evidence_count;
    uint64_t from_ns, to_ns; /* UTC; 0, 0: of no time */
};

struct page_bucket { /* of a histogram: lengths from from_ns up to to_ns; in order */
    uint64_t from_ns, to_ns, count;
};

struct page_region {                    /* the slowest first */
    const char *name, *service, *place; /* place: "shop.c:38" */
    bool wait;                          /* for something, and no work */
    bool idle;                          /* mostly: for whatever comes, or for its turn */
    uint64_t count, total_ns, self_ns;  /* self_ns UINT64_MAX: not known */
    uint64_t p50_ns, p99_ns, max_ns;
    const struct page_bucket *buckets; /* bucket_count 0: it has no histogram */
    size_t bucket_count;
};

struct page_thread { /* the most affected first: they are drawn in this order */
    const char *name, *service, *host;
    uint32_t pid, tid;
    uint32_t process;        /* number in the lanes */
    const uint32_t *numbers; /* of its lanes: its own and those of what evidence tells of it */
    size_t number_count;
    const char *why; /* it stands here: "inside of sleep for 2.0 s" */
    uint64_t regions, busy_ns, longest_ns;
    const char *longest; /* name of its longest */
    bool scheduled;      /* the next three are known */
    uint64_t run_ns, runnable_ns, blocked_ns;
};

struct page {
    const char *title;   /* "shop-ready fired on web-1" */
    const char *verdict; /* whether all is there; a sentence */
    bool incomplete;     /* the verdict is no good one */
    const struct page_fact *facts;
    size_t fact_count;
    const struct page_finding *findings;
    size_t finding_count;
    const char *const *missing; /* sentences: gaps, losses, what was cut before */
    size_t missing_count;
    const struct page_region *regions;
    size_t region_count;
    uint64_t regions_left_out; /* that the caller has cut already */
    const struct page_thread *threads;
    size_t thread_count;
    uint64_t threads_left_out;
    const struct task_list *tasks; /* the slowest, with their paths; NULL: not known */

    const struct lanes *lanes; /* settled; NULL: no picture */
    uint64_t from_ns, to_ns;   /* their window, UTC */
    uint64_t at_ns;            /* the moment of the trigger; 0: none. Times count from it */
    const char *at;            /* what happened then: "/readyz did not answer within 500 ms" */
    /* Names of event types and reasons of losses in the lanes; never NULL. */
    const char *(*type_name)(const void *context, uint32_t type);
    const char *(*loss_name)(const void *context, uint32_t type);
    /* Of what a counter counts, "bytes"; NULL: nobody knows. */
    const char *(*type_unit)(const void *context, uint32_t type);
    const void *context;

    /* Lines "outermost;...;innermost N" (stack_profile_folded); NULL, 0: there are none. */
    const char *cpu, *waits;
    size_t cpu_bytes, waits_bytes;
    uint64_t cpu_ns_each; /* that a sample stands for; 0: not known. Waits are in microseconds */
};

/* Appends the page. SKEIN_OK; SKEIN_NO_MEMORY: what has been appended is no page. */
int page_put(const struct page *page, struct buf *out);

#endif
