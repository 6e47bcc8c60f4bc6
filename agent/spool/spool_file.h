/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of the spool: a head of 112 bytes, then a partition or the JSON of a report. Pure
 * functions over bytes; what is read back is not trusted. `check` is the checksum of all before it.
 *
 *    0      4    6      8         24        40      48         56       64        72
 *    +------+----+------+---------+---------+-------+----------+--------+---------+-------+
 *    | SKSP | v1 | kind | capture | process | epoch | sequence | events | from_ns | to_ns |
 *    +------+----+------+---------+---------+-------+----------+--------+---------+-------+
 *    80           88              96                 104   108     112
 *    +------------+---------------+------------------+-----+-------+
 *    | created_ns | payload bytes | payload checksum | uid | check |
 *    +------------+---------------+------------------+-----+-------+
 */
#ifndef SPOOL_FILE_H
#define SPOOL_FILE_H

#include <stdbool.h>

#include "buf.h"
#include "ids.h"

#define SPOOL_FILE_HEAD_BYTES 112
#define SPOOL_REPORT_MAX      (64u << 10) /* a report fits a control message */

enum spool_kind {
    SPOOL_PARTITION = 1,
    SPOOL_FIRED = 2,  /* report: a capture of the agent's own has begun */
    SPOOL_TARGET = 3, /* report: a target's final state */
    SPOOL_INTENT = 4, /* a target under way; never sent, tells a restart what was going on */
    SPOOL_FIRING = 5  /* becomes FIRED once a partition is there; never sent itself */
};
static inline bool spool_kind_fired(uint16_t kind)
{
    return kind == SPOOL_FIRED || kind == SPOOL_FIRING;
}

struct spool_head {
    uint16_t kind;
    uint32_t user; /* whose share of the spool it takes */
    struct capture_id capture;
    struct partition_key key; /* epoch and sequence: partitions only */
    uint64_t events, from_ns, to_ns;
    uint64_t created_ns; /* orders the queue across restarts */
    uint64_t payload_bytes, payload_checksum;
};

void spool_head_put(uint8_t out[SPOOL_FILE_HEAD_BYTES], const struct spool_head *head);

/* SKEIN_OK; SKEIN_TRUNCATED; SKEIN_VERSION; SKEIN_CORRUPT. *head is unchanged on failure. */
int spool_head_get(const uint8_t *bytes, size_t n, struct spool_head *head);

/* "p-<key>", "f-<capture>-<process>" or "t-<capture>-<process>": a TARGET replaces its INTENT, and
 * a FIRED its FIRING. */
#define SPOOL_NAME_BYTES 96
void spool_file_name(const struct spool_head *head, char out[SPOOL_NAME_BYTES]);

/* A whole report file: head and text that belong together. *text points into bytes. */
int spool_report_get(const uint8_t *bytes, size_t n, struct spool_head *head, const char **text);

#endif
