/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of one process on their way into partitions: they are noted as they come, in the order of
 * their times, and written by thread when there are enough of them. What belongs to the process's own
 * threads goes into a cut; what others say of these (states, samples) into evidence beside it, whose
 * spans may lie across each other (docs/format.md F-50).
 *
 *   types, threads, texts, stacks ─▶ records ─▶ flush: [cut n] [evidence 2^48 + n] ─▶ import_to.put
 *
 * Types, stacks, names of addresses and the key last as long as the import; threads, texts and records
 * until the flush. Errors are sticky and come out of import_out_flush and _finish. One owner.
 */
#ifndef IMPORT_OUT_H
#define IMPORT_OUT_H

#include "import.h"
#include "partition.h"

#define IMPORT_RECORDS_MAX 400000u /* of a partition: some 10 MiB */
#define IMPORT_THREADS_MAX 100000u /* of a partition */
#define IMPORT_TYPES_MAX   8192u /* of an import; types are the file's names, and F-4 has a limit */
#define IMPORT_NAMES_MAX   1000000u /* of addresses */
#define IMPORT_KEPT_MAX    4000000u
#define IMPORT_KEPT_BYTES  ((size_t)24 << 20) /* a partition may need all of them, and has 64 MiB */
#define IMPORT_STACKS_MAX  200000u
#define IMPORT_TIME_MAX    (UINT64_MAX / 4) /* no clock ever ran so long */
#define IMPORT_TIME_BEYOND                                                                         \
    (IMPORT_TIME_MAX + 1) /* any time above: who takes it counts it (clamped) */

struct import_out;

/* A time lies where none can be held: before 1970, or behind IMPORT_TIME_MAX. Counts it, with a sentence. */
void import_clamped(struct import_told *told);

/* A sentence for who reads the report, if it is the first. */
void import_why(struct import_told *told, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* `number` tells processes of an import apart, all 64 bits of it, and `seed` (import_seed) the import from
 * others. */
struct import_process {
    uint64_t seed, number;
    uint32_t pid;
    const char *host, *service; /* copied */
    int64_t ahead_ns;           /* what the time of day is ahead of the file's clock */
};

int import_out_new(const struct import_to *to, const struct import_process *process,
                   struct import_told *told, struct import_out **out);
void import_out_free(struct import_out **out);

/* From now on the time of day is so far ahead; for records that are not flushed, too. */
void import_out_ahead(struct import_out *out, int64_t ahead_ns);

/* A number for `type`, equal ones giving the same; SKEIN_NONE: there are IMPORT_TYPES_MAX already, or
 * no memory (which is sticky). Evidence: no class 2. */
uint32_t import_type(struct import_out *out, const struct partition_event_type *type,
                     bool evidence);

/* A number until the next flush; the same tid and incarnation have the same. A name is taken that is
 * believed, or where there is none yet. */
uint32_t import_thread(struct import_out *out, uint32_t tid, uint64_t incarnation, const char *name,
                       bool believed);

/* An argument's value that is a text: its number until the next flush. */
uint64_t import_text(struct import_out *out, const char *text, size_t n);

/* A text that lasts as long as the import: its number; 0: "", also a new one where IMPORT_KEPT_MAX, or so
 * many bytes, are kept: that is told. */
uint32_t import_keep(struct import_out *out, const char *text);
const char *import_kept(const struct import_out *out, uint32_t kept);

/* A stack, innermost first, of exact addresses (F-44, as another tool lists them): its number, from 1, as long as the import lasts. 0:
 * none, also a new one where IMPORT_STACKS_MAX are there: told->left_out counts these. */
uint32_t import_stack(struct import_out *out, const uint64_t *pcs, uint32_t count, bool cut);

/* Names an address by `count` lines, those that are inlined in front; the first name is believed. Beyond
 * IMPORT_NAMES_MAX: nothing. */
void import_name(struct import_out *out, uint64_t pc, const struct partition_line *lines,
                 uint32_t count);

/* A record at time_ns; a span's end, dur_ns before which it began. Times of a thread never go back, and none
 * is before the end of what was flushed: an earlier one is raised, counted, and marked (F-29). As many
 * values as the type has arguments: numbers, bits of f64, or of import_text. */
void import_event(struct import_out *out, uint32_t type, uint32_t thread, uint64_t time_ns,
                  uint64_t dur_ns, const uint64_t *values, uint32_t stack);

/* A span of a cut that had not ended when the file did; `detail` is shown as its first argument. */
void import_open(struct import_out *out, uint32_t type, uint32_t thread, uint64_t since_ns,
                 int64_t detail);

/* Records are missing, of the process. 0: nobody knows how many. */
void import_loss(struct import_out *out, uint8_t reason, uint64_t records, uint64_t from_ns,
                 uint64_t to_ns);

/* Whether there are enough records for a partition. */
bool import_out_full(const struct import_out *out);

/* Writes what is there, if anything is. SKEIN_OK, or the first failure. */
int import_out_flush(struct import_out *out);

#endif
