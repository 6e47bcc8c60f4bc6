/* SPDX-License-Identifier: Apache-2.0
 *
 * The bodies that the agent sends on control (docs/protocol.md), as JSON text. Pure functions: what
 * goes in comes from the callers, text comes out. Any thread.
 */
#ifndef AGENT_REPORT_H
#define AGENT_REPORT_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "buf.h"
#include "ids.h"
#include "loss.h"
#include "spool.h"
#include "uplink_clock.h"

enum trigger_type {
    TRIGGER_REQUEST,
    TRIGGER_HEALTH,
    TRIGGER_APPLICATION,
    TRIGGER_CRASH,
    TRIGGER_LATENCY,
    TRIGGER_LOG,
    TRIGGER_COUNTER,
    TRIGGER_CPU,
    TRIGGER_MEMORY,
    TRIGGER_PRESSURE,
    TRIGGER_POLICY,
    TRIGGER_TYPES /* how many there are */
};
const char *trigger_text(enum trigger_type type);
enum trigger_type trigger_parse(const char *text); /* TRIGGER_TYPES: none of them */

/* What is to be added to the report's times, which are on the agent's line, for the collector's
 * clock, and which setting of that (P-28). */
void report_add_clock(cJSON *object, const struct clock_map *map);

/* Adds "key": 16 hex digits of an agent id, or 32 of a process or capture. */
void report_add_agent(cJSON *object, uint64_t agent);
void report_add_id(cJSON *object, const char *key, const uint8_t bytes[16]);

/* Partitions of consecutive sequences, and what they hold together. */
struct report_range {
    uint64_t epoch, first, last, events, bytes;
};
struct report_gap {
    uint64_t from_ns, to_ns;
    const char *reason; /* static text */
};

/* What became of one process in a capture. Owned by whoever collects it; target_result_fini frees.
 */
struct target_result {
    struct capture_id capture;
    struct process_uid process;
    enum trigger_type trigger; /* told while "capturing", for a restart */
    const char *state;         /* "capturing", "uploading", "nothing", "failed" */
    char reason[256];          /* "" where there is none */
    uint64_t from_ns, to_ns;
    struct clock_map map;        /* of all its times to the collector's clock */
    struct report_range *ranges; /* by epoch and sequence, apart from each other */
    size_t range_count;
    uint64_t events, lost[LOSS_REASONS];
    struct report_gap *gaps;
    size_t gap_count;
    struct {
        int32_t signal, status;
        bool known;
    } death;
};
void target_result_fini(struct target_result *result);
/* Adds partitions that are not listed yet; neighbours become one range. SKEIN_OK, SKEIN_NO_MEMORY.
 */
int target_result_add_range(struct target_result *result, const struct report_range *range);
/* Takes a lost partition out, as report_target_drop does. SKEIN_OK, SKEIN_NO_MEMORY. */
int target_result_drop(struct target_result *result, const struct spool_head *lost,
                       const char *reason);
/* Beyond 256 gaps, those of one reason are merged into one that spans them. */
int target_result_add_gap(struct target_result *result, const struct report_gap *gap);

#define FIRED_WITH_MAX 512 /* a report fits a message */
struct fired_report {
    struct capture_id capture;
    const struct process
        *process; /* it may be gone before the collector hears of it: all is said */
    const struct process_uid *with; /* others that the firing captures; the first FIRED_WITH_MAX */
    size_t with_count;
    enum trigger_type trigger;
    const char *rule; /* or policy; NULL where none fired */
    uint64_t at_ns, pre_ms, post_ms;
    struct clock_map map;
    const char *reason;
};

/* Each appends JSON to `out`; failures are sticky there. */
void report_target(uint64_t agent, const struct target_result *result, struct buf *out);
void report_fired(uint64_t agent, const struct fired_report *fired, struct buf *out);

/* Adds what a journalled report of the target says: window, ranges, events, losses, gaps, trigger.
 * SKEIN_OK, SKEIN_CORRUPT (what was read until then is in), SKEIN_NO_MEMORY. */
int target_result_read(struct target_result *result, const char *report, size_t n);

/* spool_amend_fn: takes the lost partition out of the list, puts its events under "lost" and its
 * time under "gaps"; a target that has none left is failed. Where that splits a range, the rest of
 * its events and bytes is shared out by the number of partitions: only the sum is known. */
int report_target_drop(const char *report, size_t n, const struct spool_head *lost,
                       const char *reason, struct buf *out);

#endif
