/* SPDX-License-Identifier: Apache-2.0
 *
 * What the index knows of processes. A series is what one process says of itself. Each label of a
 * series has a posting in each bucket where the series has rows. So a selector finds its processes
 * before their partitions, and only those with rows in its window. Any thread; within the caller's
 * transaction. When rows are deleted, triggers delete their series (index_sqlite.c). Never decides
 * whether a row matches: postings only narrow.
 */
#include <stdio.h>

#include "checksum.h"
#include "index_int.h"

/* The postings of a label in a bucket are counted up to here: two such labels narrow nothing. */
#define POSTINGS_MAX 4096
/* Finding a series costs as much as looking at about this many rows by time. */
#define ROWS_A_SERIES 4
/* The low bits of a series' number come from the process, the bits above from the service. */
#define PROCESS_BITS 38

/* ---- adding ---- */

int64_t index_series_of(const struct partition_row *row)
{
    const char *const texts[] = {row->host, row->service, row->labels, row->exe};
    uint64_t parts[7] = {row->pid};
    memcpy(parts + 1, row->record.key.process.bytes, sizeof row->record.key.process.bytes);
    for (size_t i = 0; i < 4; i++)
        parts[3 + i] = checksum64(texts[i], strlen(texts[i]));
    uint64_t process = checksum64(parts, sizeof parts) & ((UINT64_C(1) << PROCESS_BITS) - 1);
    return (int64_t)(parts[4] >> (PROCESS_BITS + 1) << PROCESS_BITS | process);
}

/* A series in a bucket: the key of its postings. */
struct place {
    int64_t bucket, series;
};

static int posting_add(struct db *db, const struct place *place, const char *name,
                       size_t name_bytes, const char *value, size_t value_bytes)
{
    if (value_bytes > INDEX_VALUE_MAX)
        value_bytes = INDEX_VALUE_MAX;
    return db_write(db, "INSERT OR IGNORE INTO label VALUES(?1, ?2, ?3, ?4)",
                    DB(DB_I64(place->bucket), DB_BLOB(name, name_bytes),
                       DB_BLOB(value, value_bytes), DB_I64(place->series)));
}

/* Adds a posting for each label that a selector can ask for; process_labels.c has the same
 * names. */
static int postings_add(struct db *db, const struct partition_row *row, const struct place *place)
{
    char pid[16], process[ID_TEXT_BYTES];
    (void)snprintf(pid, sizeof pid, "%u", (unsigned)row->pid);
    id_text(row->record.key.process.bytes, process);
    const char *slash = strrchr(row->exe, '/');
    const char *const own[][2] = {{"service", row->service},
                                  {"host", row->host},
                                  {"exe", slash != NULL ? slash + 1 : row->exe},
                                  {"pid", pid},
                                  {"process", process}};
    int status = SKEIN_OK;
    for (size_t i = 0; status == SKEIN_OK && i < sizeof own / sizeof *own; i++)
        status = posting_add(db, place, own[i][0], strlen(own[i][0]), own[i][1], strlen(own[i][1]));
    const char *at = row->labels, *key, *value;
    size_t key_bytes, value_bytes;
    while (status == SKEIN_OK && labels_next(&at, &key, &key_bytes, &value, &value_bytes))
        status = posting_add(db, place, key, key_bytes, value, value_bytes);
    return status;
}

static int series_count_get(void *context, struct db_row *row)
{
    *(int64_t *)context = db_i64(row, 0);
    return 0;
}

static int bucket_add(struct db *db, int64_t bucket, int64_t longest)
{
    return db_write(db,
                    "INSERT INTO bucket VALUES(?1, ?2) ON CONFLICT(number) DO UPDATE"
                    " SET longest = excluded.longest WHERE longest < excluded.longest",
                    DB(DB_I64(bucket), DB_I64(longest)));
}

int index_series_add(struct db *db, const struct partition_row *row, int64_t series)
{
    int64_t rows = 0, from = index_i64(row->from_ns), to = index_i64(row->to_ns);
    int64_t longest = to - from < INDEX_LONG_NS ? to - from : INDEX_LONG_NS;
    struct place place = {to / INDEX_BUCKET_NS, series};
    int64_t n = db_run(db,
                       "INSERT INTO series VALUES(?1, ?2, 1, ?3) ON CONFLICT(bucket, id) DO UPDATE"
                       " SET rows = rows + 1, longest = max(longest, excluded.longest)"
                       " RETURNING rows",
                       series_count_get, &rows,
                       DB(DB_I64(place.bucket), DB_I64(place.series), DB_I64(longest)));
    int status = n < 0 ? (int)n : bucket_add(db, place.bucket, longest);
    return status < 0 || rows > 1 ? status : postings_add(db, row, &place);
}

/* ---- finding ---- */

void index_series_terms(const struct partition_query *query, struct series_terms *terms)
{
    const struct partition_ranges *ranges = query->ranges;
    const struct process_uid *process = query->process;
    terms->count = 0;
    if (process == NULL && ranges != NULL &&
        ranges->count > 0 && /* sorted: all are of one process */
        process_uid_equal(&ranges->items[0].key.process,
                          &ranges->items[ranges->count - 1].key.process))
        process = &ranges->items[0].key.process;
    if (process != NULL) {
        id_text(process->bytes, terms->process);
        terms->terms[terms->count++] = (struct series_term){"process", terms->process};
    }
    struct series_term term;
    for (size_t i = 0; query->selector != NULL && terms->count < INDEX_TERMS_MAX &&
                       selector_equality(query->selector, i, &term.name, &term.value);
         i++)
        if (strlen(term.value) <= INDEX_VALUE_MAX)
            terms->terms[terms->count++] = term;
}

/* Sets the lead's low and high: between them ends what overlaps, if no row is longer than
 * `longest`. */
static void lead_bound(struct series_lead *lead, int64_t low, int64_t to, int64_t longest)
{
    int64_t begin = lead->bucket * INDEX_BUCKET_NS, last = index_sum(to, longest);
    int64_t end = index_sum(begin, INDEX_BUCKET_NS - 1);
    lead->low = low > begin ? low : begin;
    lead->high = end < last ? end : last;
}

/* How many series have the term in a bucket, up to a limit, or a status. */
static int64_t postings_count(struct db *db, int64_t bucket, const struct series_term *term,
                              int64_t limit)
{
    int64_t count = 0;
    int64_t n = db_run(db,
                       "SELECT count(*) FROM (SELECT 1 FROM label WHERE bucket = ?1 AND name = ?2"
                       " AND value = ?3 LIMIT ?4)",
                       series_count_get, &count,
                       DB(DB_I64(bucket), DB_BLOB(term->name, strlen(term->name)),
                          DB_BLOB(term->value, strlen(term->value)), DB_I64(limit)));
    return n < 0 ? n : count;
}

/* Puts the two rarest terms of the bucket into the lead, and the rarest first in `terms`. Returns
 * how many series have that one; 0: the bucket lacks a term; or a status. */
static int64_t terms_choose(struct db *db, struct series_terms *terms, struct series_lead *lead)
{
    int64_t counts[2] = {INT64_MAX, INT64_MAX};
    size_t rarest = 0;
    for (size_t i = 0; i < terms->count; i++) {
        int64_t limit = counts[0] <= POSTINGS_MAX ? counts[0] : POSTINGS_MAX + 1;
        int64_t n = postings_count(db, lead->bucket, &terms->terms[i], limit);
        if (n <= 0)
            return n;
        if (n < counts[0]) {
            rarest = i;
            counts[1] = counts[0];
            counts[0] = n;
            lead->terms[1] = lead->terms[0];
            lead->terms[0] = terms->terms[i];
        } else if (n < counts[1]) {
            counts[1] = n;
            lead->terms[1] = terms->terms[i];
        }
    }
    terms->terms[rarest] = terms->terms[0];
    terms->terms[0] = lead->terms[0];
    return counts[0];
}

/* How many rows end between the lead's low and high, up to a limit; or a status. */
static int64_t rows_count(struct db *db, const struct series_lead *lead, int64_t limit)
{
    int64_t count = 0;
    int64_t n =
        db_run(db,
               "SELECT count(*) FROM (SELECT 1 FROM partitions INDEXED BY by_time"
               " WHERE to_ns >= ?1 AND to_ns <= ?2 LIMIT ?3)",
               series_count_get, &count, DB(DB_I64(lead->low), DB_I64(lead->high), DB_I64(limit)));
    return n < 0 ? n : count;
}

struct sums {
    int64_t series, rows, longest;
};

static int sums_get(void *context, struct db_row *row)
{
    *(struct sums *)context = (struct sums){db_i64(row, 0), db_i64(row, 1), db_i64(row, 2)};
    return 1;
}

/* Sums over the series that have the lead's terms. SKEIN_OK or a status. */
static int sums_look_up(struct db *db, const struct series_lead *lead, struct sums *sums)
{
    const struct series_term *t = lead->terms;
    int64_t n = db_run(
        db,
        "SELECT count(*), sum(rows), max(longest) FROM (SELECT s.rows, s.longest FROM label l"
        " CROSS JOIN series s ON s.bucket = l.bucket AND s.id = l.series"
        " WHERE l.bucket = ?1 AND l.name = ?2 AND l.value = ?3" INDEX_SECOND_LABEL(
            "?4", "?5") " LIMIT ?6)",
        sums_get, sums,
        DB(DB_I64(lead->bucket), DB_BLOB(t[0].name, strlen(t[0].name)),
           DB_BLOB(t[0].value, strlen(t[0].value)),
           DB_BLOB(t[1].name, t[1].name != NULL ? strlen(t[1].name) : 0),
           DB_BLOB(t[1].value, t[1].name != NULL ? strlen(t[1].value) : 0),
           DB_I64((int64_t)INDEX_SERIES_MAX + 1)));
    return n < 0 ? (int)n : SKEIN_OK;
}

/* Decides whether to look at the lead's bucket, and how. 1, 0 or a status. */
static int lead_choose(struct db *db, struct series_terms *terms, int64_t low, int64_t to,
                       struct series_lead *lead)
{
    int64_t series = terms_choose(db, terms, lead);
    if (series <= 0)
        return (int)series;
    int64_t rows = rows_count(db, lead, series * ROWS_A_SERIES + 1);
    bool few = series <= (lead->terms[1].name != NULL ? POSTINGS_MAX : INDEX_SERIES_MAX);
    if (rows <= series * ROWS_A_SERIES || !few)
        return rows < 0 ? (int)rows : rows > 0;
    struct sums sums = {0};
    int status = sums_look_up(db, lead, &sums);
    if (status < 0 || sums.series > INDEX_SERIES_MAX)
        return status < 0 ? status : 1;
    lead->narrow = true;
    lead->series = sums.series;
    lead->rows = sums.rows;
    lead_bound(lead, low, to, sums.longest);
    return sums.series > 0 && lead->low <= lead->high;
}

static int bucket_get(void *context, struct db_row *row)
{
    int64_t *bucket = context;
    bucket[0] = db_i64(row, 0);
    bucket[1] = db_i64(row, 1);
    return 1;
}

int index_series_next(struct db *db, struct series_terms *terms, int64_t low, int64_t to,
                      struct series_lead *lead)
{
    const int64_t last = index_sum(to, INDEX_LONG_NS) / INDEX_BUCKET_NS;
    int64_t bucket[2]; /* number, longest */
    int found = 0;
    for (int64_t from = low / INDEX_BUCKET_NS; found == 0; from = bucket[0] + 1) {
        int64_t n = db_run(db,
                           "SELECT number, longest FROM bucket WHERE number >= ?1 AND number <= ?2"
                           " ORDER BY number LIMIT 1",
                           bucket_get, bucket, DB(DB_I64(from), DB_I64(last)));
        if (n <= 0)
            return (int)n;
        *lead = (struct series_lead){.bucket = bucket[0]};
        lead_bound(lead, low, to, bucket[1]);
        if (lead->low <= lead->high)
            found = terms->count == 0 ? 1 : lead_choose(db, terms, low, to, lead);
    }
    return found;
}
