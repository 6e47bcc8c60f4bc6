/* SPDX-License-Identifier: Apache-2.0
 *
 * The identities of Skein and their text forms (lower-case hex). Value types; no ownership.
 *
 *   agent     8 bytes, random, kept in the agent's state folder for the life of the host
 *   process   16 bytes: agent+boot hash (8), pid (4), start time in clock ticks (4)
 *   capture   16 bytes: milliseconds since 1970 (6), random (10); sorts by time
 *   partition process, epoch (how often the agent has started), sequence (from 0 in that epoch)
 */
#ifndef IDS_H
#define IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/status.h"

struct process_uid {
    uint8_t bytes[16];
};
struct capture_id {
    uint8_t bytes[16];
};
struct partition_key {
    struct process_uid process;
    uint64_t epoch, sequence;
};

#define ID_TEXT_BYTES            33 /* 32 hex digits and NUL */
#define AGENT_TEXT_BYTES         17 /* 16 */
#define PARTITION_KEY_TEXT_BYTES 80 /* "<32 hex>-<epoch>-<sequence>" and NUL */

struct process_uid process_uid_make(uint64_t agent, const char *boot_id, uint32_t pid,
                                    uint64_t start_clock_ticks);
struct capture_id capture_id_new(void); /* now; random from getrandom() */

void id_text(const uint8_t bytes[16], char out[ID_TEXT_BYTES]);
int id_parse(const char *text,
             uint8_t bytes[16]); /* SKEIN_OK or SKEIN_INVALID; exactly 32 hex digits */
void agent_text(uint64_t agent, char out[AGENT_TEXT_BYTES]);
int agent_parse(const char *text, uint64_t *agent); /* lower-case alone; else as id_parse */
void partition_key_text(const struct partition_key *key, char out[PARTITION_KEY_TEXT_BYTES]);
int partition_key_parse(const char *text, struct partition_key *key);

/* Partitions of consecutive sequences, from the key's to `last`, both included. */
struct partition_range {
    struct partition_key key;
    uint64_t last;
};
bool partition_key_equal(const struct partition_key *a, const struct partition_key *b);
bool process_uid_equal(const struct process_uid *a, const struct process_uid *b);
bool capture_id_equal(const struct capture_id *a, const struct capture_id *b);
bool capture_id_is_zero(const struct capture_id *id);

#endif
