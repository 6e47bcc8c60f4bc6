/* SPDX-License-Identifier: Apache-2.0
 *
 * folder/analysis.db: what captures came to. All of it is derived: a file that is damaged is set
 * aside and begun anew, and captures that are still there are summed up again. One thread writes
 * (the worker's); any reads. For aggregate*.c and series*.c alone.
 *
 *   capture   a row for each that was looked at: what it looked like then, and what came of it
 *   answer    its report and its summary, packed
 *   row       the series: a row for each service and name in a bucket of time (series_row.h); of a
 *             capture of late with its id, so that it can be replaced; later merged, without
 *   total     the same since the beginning, never less than before: for counters
 *   note      counts that are told with the series
 */
#ifndef AGGREGATE_DB_H
#define AGGREGATE_DB_H

#include "aggregate.h"
#include "db.h"
#include "ids.h"
#include "series_row.h"

struct aggregate_db {
    struct db *write, *read;
    struct db *scan; /* for reads of the series, which take long: nobody else waits for them */
    const char *folder;
    bool broken;            /* it could not be made anew: tried again */
    uint64_t device, inode; /* of the file that is open */
};

/* Opens or makes it; sets a damaged one aside first. SKEIN_OK, SKEIN_IO, SKEIN_FULL, SKEIN_NO_MEMORY,
 * SKEIN_VERSION (a newer collector's), with words. */
int aggregate_db_open(const char *folder, struct aggregate_db *out, char *error,
                      size_t error_bytes);
void aggregate_db_close(struct aggregate_db *db);
/* If damage was met since it was opened, or somebody removed the file: a new, empty one takes its
 * place, while others use it; where somebody put another there, that one. True: there is a new one.
 * Between transactions of the thread that writes. */
bool aggregate_db_heal(struct aggregate_db *db);

/* ---- captures ---- */

#define AGGREGATE_ETAG_BYTES 24
enum series_state { SERIES_NONE, SERIES_OWN, SERIES_MERGED_IN }; /* of its rows */
struct aggregate_mark {
    struct capture_id id;
    uint64_t stamp;                  /* of its row in the catalog */
    char etag[AGGREGATE_ETAG_BYTES]; /* of its partitions */
    enum aggregate_state state;
    enum series_state series;
    uint32_t tries; /* PENDING: that failed */
    uint64_t done_ns;
    char reason[AGGREGATE_REASON_BYTES];
};
/* 1, 0 (there is none), or a status. db: of those above, read or write. */
int aggregate_mark_get(struct db *db, const struct capture_id *id, struct aggregate_mark *out);
int aggregate_mark_put(struct aggregate_db *db, const struct aggregate_mark *mark);
/* The marks behind *after by id, at most room, which moves along. Returns how many, or a status. */
int64_t aggregate_marks(struct aggregate_db *db, struct capture_id *after, struct capture_id *ids,
                        size_t room);
/* Its mark and its answers; rows of the series stay. */
int aggregate_forget(struct aggregate_db *db, const struct capture_id *id);

/* ---- answers ---- */

#define AGGREGATE_ANSWER_BYTES (UINT64_C(32) << 20) /* at most, unpacked */

int aggregate_answer_put(struct aggregate_db *db, const struct capture_id *id, int kind,
                         const struct buf *bytes);
/* Appends. SKEIN_OK, SKEIN_NOT_FOUND, SKEIN_CORRUPT, SKEIN_NO_MEMORY, or a status of db_run. */
int aggregate_answer_get(struct aggregate_db *db, const struct capture_id *id, int kind,
                         struct buf *out);
/* Deletes the answers of the oldest captures until those left have max_bytes at most. Returns of how
 * many captures, or a status. */
int64_t aggregate_answers_trim(struct aggregate_db *db, uint64_t max_bytes);

/* ---- the series ---- */

/* In the caller's transaction: takes the place of what the capture brought before. SKEIN_OK or a
 * status. */
int series_put(struct aggregate_db *db, const struct capture_id *id, struct series_set *set);
/* What may be merged, and what is too old or too much: in short transactions, until `stop`. SKEIN_OK,
 * SKEIN_CLOSED, or a status. */
struct series_bounds {
    uint64_t now_ns, keep_ms, max_rows;
    uint64_t late_ns; /* so long after it was summed up, a capture may be summed up again */
    bool (*stop)(void *context);
    void *context;
};
int series_fold(struct aggregate_db *db, const struct series_bounds *bounds);

/* In the caller's transaction: adds what `after` has more than `before`, both of one capture, to what
 * has come since the beginning. SKEIN_OK or a status. (series_total.c) */
int series_total_add(struct aggregate_db *db, const struct series_set *after,
                     const struct series_set *before);
/* Reads a row of `row` with the columns at, service, grp, name, bytes into the end of the set; merged
 * into the last one, where `join` and only the bucket differs. SKEIN_OK or a status. (series_put.c) */
int series_row_read(struct series_set *set, struct db_row *row, bool join);
int series_row_write(struct db *db, const struct series_row *row, uint32_t step_s,
                     const char *capture);

/* Counts that last: "rows_dropped", "late_captures". */
int aggregate_note_add(struct aggregate_db *db, const char *key, uint64_t n);
uint64_t aggregate_note(struct db *db, const char *key);

#endif
