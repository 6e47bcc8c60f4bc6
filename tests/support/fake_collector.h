/* SPDX-License-Identifier: Apache-2.0
 *
 * A collector for tests of agents, over the real transport: one thread that answers as
 * docs/protocol.md says, and misbehaves on demand. What it stored survives its own death
 * (fake_collector_die, fake_collector_live). Any thread may call.
 */
#ifndef FAKE_COLLECTOR_H
#define FAKE_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ids.h"

struct fake_collector;

struct fake_counters {
    uint64_t hellos, heartbeats, command_acks, commands_failed;
    uint64_t reports; /* all that arrived, repeats too */
    uint64_t chunks, stored, stored_again, checksum_failures;
};

/* Listens on two free ports. heartbeat_ms is what WELCOME says. */
struct fake_collector *fake_collector_new(uint64_t heartbeat_ms);
void fake_collector_free(struct fake_collector **fake);
const char *fake_control_address(const struct fake_collector *fake);
const char *fake_data_address(const struct fake_collector *fake);

/* Closes both ports; opens them again. */
void fake_collector_die(struct fake_collector *fake);
void fake_collector_live(struct fake_collector *fake);

/* ---- behaviour ---- */
void fake_hold_acks(struct fake_collector *fake,
                    bool hold); /* partitions are taken, not answered; later they are */
void fake_mute(struct fake_collector *fake, bool mute);          /* control: hears, says nothing */
void fake_drop_reports(struct fake_collector *fake, unsigned n); /* the next n are not answered */
void fake_refuse_reports(struct fake_collector *fake, bool refuse);
void fake_ask_hello(struct fake_collector *fake); /* with the next heartbeat's answer */
void fake_answer_partitions(struct fake_collector *fake, uint8_t status, uint32_t have,
                            unsigned n); /* the next n */
void fake_clock_offset(struct fake_collector *fake, int64_t offset_ns);

/* Sends bytes of any kind to the agent that spoke last on control; false when none did. */
bool fake_send_raw(struct fake_collector *fake, const void *bytes, size_t n);
/* Sends a COMMAND with this JSON; the frame id, or 0. */
uint64_t fake_command(struct fake_collector *fake, const char *json);

/* ---- what came ---- */
void fake_count(struct fake_collector *fake, struct fake_counters *out);
/* The newest report whose text holds all of the words (NULL-terminated): a copy, or NULL. */
char *fake_report(struct fake_collector *fake, const char *const words[]);
/* Waits until one is there; fails the test at the deadline. */
char *fake_wait_report(struct fake_collector *fake, const char *const words[]);
bool fake_has_partition(struct fake_collector *fake, const struct partition_key *key);
/* Waits until at least n partitions are stored. */
void fake_wait_stored(struct fake_collector *fake, uint64_t n);
/* Waits until the counter (an offset in struct fake_counters) is at least n. */
void fake_wait_count(struct fake_collector *fake, size_t counter_offset, uint64_t n);
#define FAKE_WAIT(fake, counter, n)                                                                \
    fake_wait_count(fake, offsetof(struct fake_counters, counter), n)

/* Bytes of the nth stored partition, of the test's until the collector is freed; NULL beyond. */
const uint8_t *fake_partition(struct fake_collector *fake, size_t n, size_t *bytes,
                              struct partition_key *key);

#endif
