/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's bounded disk queue: partitions that the collector has not acknowledged, and the
 * journal of reports that must survive the agent (P-8, P-13). Owns its folder; one mutex. One
 * thread at a time puts (the agent's worker); any thread does the rest.
 *
 *   spool_put --> held --spool_release--> queued --spool_done(stored)--> gone
 *                                           |----spool_done(rejected)--> rejected/ (bounded)
 *                                           +----no room---------------> gone, counted, reported
 *
 * A partition is put *held*. It is uploaded once a report that lists it is journalled
 * (spool_release). A new partition that finds no room drops released ones, the oldest of the process
 * with most bytes of the user with most: so who fills the spool loses his own. Their report is
 * rewritten first, so that it says what is missing, and then the file goes. A held partition is
 * never dropped; if only such are left, the put is refused. A partition that is on its way gives up
 * its file and its room, but it is lost only if its upload ends otherwise than stored.
 *
 * Captures may share a partition. Then the first release counts, a loss rewrites the report of
 * each, and each report stays until the partition is gone. What is lost before a target's final
 * report is taken out of its intent, and noted for its next report.
 */
#ifndef SPOOL_H
#define SPOOL_H

#include "spool_file.h"

struct spool;

/* Rewrites a target report after one of its partitions was lost for `reason`: appends the new JSON
 * to `out`. SKEIN_OK or SKEIN_NO_MEMORY, SKEIN_CORRUPT. */
typedef int spool_amend_fn(const char *report, size_t n, const struct spool_head *lost,
                           const char *reason, struct buf *out);

struct spool_settings {
    const char *folder;
    uint64_t max_bytes;    /* of partitions, each rounded up to 4 KiB */
    uint32_t max_reports;  /* 0: 4096; beyond, one is dropped and counted */
    uint32_t max_rejected; /* 0: 16 files kept aside */
    spool_amend_fn *amend;
};

/* Opens the folder and recovers what an earlier run left. Files that are torn or not ours are
 * removed and counted. SKEIN_OK; else a sentence in error and *out is NULL. */
int spool_open(const struct spool_settings *settings, struct spool **out, char *error,
               size_t error_bytes);
void spool_close(struct spool **spool);

/* Stores a partition durably, held. The spool itself sets kind, created_ns, payload_bytes and
 * payload_checksum of the head. SKEIN_OK; SKEIN_FULL (no room can be made, or the disk is full);
 * SKEIN_EXISTS; SKEIN_TOO_LARGE; SKEIN_IO; SKEIN_NO_MEMORY. */
int spool_put(struct spool *spool, const struct spool_head *head, const uint8_t *bytes, size_t n);
void spool_release(struct spool *spool, const struct capture_id *capture,
                   const struct process_uid *process);

/* The capture shares these partitions with the one that each was cut for, as far as they are still
 * here: each may release them, and a loss is told to all. SKEIN_OK, also if none is here any more;
 * SKEIN_NO_MEMORY. */
int spool_share(struct spool *spool, const struct capture_id *capture,
                const struct process_uid *process, uint64_t epoch, uint64_t first, uint64_t last);
/* The capture lists no partition of the process any more whose epoch is from `first` to `last`, as
 * another cut takes their place: those that no other capture lists go, and are not lost. None of the
 * capture's is released yet. */
void spool_forget(struct spool *spool, const struct capture_id *capture,
                  const struct process_uid *process, uint64_t first, uint64_t last);
/* Whether the partition was lost, or forgotten, lately. */
bool spool_has_lost(struct spool *spool, const struct partition_key *key);

/* The oldest queued partition behind `after` (0: the oldest of all). `order` is what to pass next.
 * SKEIN_OK or SKEIN_NOT_FOUND. */
int spool_next(struct spool *spool, uint64_t after, uint64_t *order, struct spool_head *out);

/* Opens the payload's file; the caller closes *fd. The payload starts at SPOOL_FILE_HEAD_BYTES.
 * SKEIN_OK; SKEIN_NOT_FOUND (acknowledged or dropped meanwhile); SKEIN_IO. */
int spool_open_partition(struct spool *spool, const struct partition_key *key, int *fd);

enum spool_fate { SPOOL_STORED, SPOOL_REJECTED, SPOOL_UNREADABLE };
void spool_done(struct spool *spool, const struct partition_key *key, enum spool_fate fate);

/* Journals a report (any kind but PARTITION), replacing the one of the same name. Where there are
 * max_reports, the oldest of the user with most of them goes. SKEIN_OK, SKEIN_TOO_LARGE, SKEIN_FULL, SKEIN_IO, SKEIN_NO_MEMORY. */
int spool_report_put(struct spool *spool, uint16_t kind, uint32_t user,
                     const struct capture_id *capture, const struct process_uid *process,
                     const char *text, size_t n);

/* Takes the next partition that a target under way has lost after its release, so that its next
 * report leaves it out; its journalled intent does already. `reason` is static text. A final report
 * is amended by the losses that nobody took. SKEIN_OK, SKEIN_NOT_FOUND. */
int spool_loss_take(struct spool *spool, const struct capture_id *capture,
                    const struct process_uid *process, struct spool_head *head,
                    const char **reason);

struct spool_report {
    uint64_t revision; /* never used twice in a run; grows with every put and rewrite */
    uint16_t kind;
    uint32_t user;
    struct capture_id capture;
    struct process_uid process;
    char *text; /* NUL-terminated; the caller's to free */
    size_t len;
};

/* The first report with a revision above `after`, intents and firings included. SKEIN_OK,
 * SKEIN_NOT_FOUND, SKEIN_NO_MEMORY. */
int spool_report_next(struct spool *spool, uint64_t after, struct spool_report *out);

/* The collector has taken this revision. The report goes at once, but a target's final one goes
 * with its last partition (P-8). */
void spool_report_acked(struct spool *spool, uint64_t revision);

/* Forgets a report without an acknowledgement, such as an intent or a firing. */
void spool_report_drop(struct spool *spool, uint16_t kind, const struct capture_id *capture,
                       const struct process_uid *process);

/* Walks all partitions, held ones too, oldest first, with the lock held: `visit` must not call into
 * the spool. */
void spool_visit(struct spool *spool,
                 void (*visit)(void *context, const struct spool_head *head, int held),
                 void *context);

struct spool_counters {
    uint64_t bytes, partitions, reports;
    uint64_t lost_partitions, lost_events; /* dropped, rejected or unreadable; in this run */
    uint64_t lost_reports, rejected, torn;
};
void spool_count(struct spool *spool, struct spool_counters *out);

#endif
