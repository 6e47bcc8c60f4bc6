/* SPDX-License-Identifier: Apache-2.0
 *
 * What the index knows of processes: a series is what one process says of itself, and each of its
 * labels has a posting, so that a selector finds its processes before their partitions. Any thread;
 * within the caller's transaction. Rows that go take their series along by a trigger
 * (index_sqlite.c). Never decides whether a row matches: postings only narrow.
 */
#include <stdio.h>

#include "checksum.h"
#include "index_int.h"

#define LEAD_TERMS_MAX 8 /* terms looked at for the shortest posting */

/* ---- adding ---- */

int64_t index_series_of(const struct partition_row *row)
{
    const char *const texts[] = {row->host, row->service, row->labels, row->exe};
    uint64_t parts[7] = {row->pid};
    memcpy(parts + 1, row->record.key.process.bytes, sizeof row->record.key.process.bytes);
    for (size_t i = 0; i < 4; i++)
        parts[3 + i] = checksum64(texts[i], strlen(texts[i]));
    return (int64_t)(checksum64(parts, sizeof parts) >> 1);
}

static int posting_add(struct db *db, int64_t series, const char *name, size_t name_bytes,
                       const char *value, size_t value_bytes)
{
    if (value_bytes > INDEX_VALUE_MAX)
        value_bytes = INDEX_VALUE_MAX;
    int64_t n = db_run(db, "INSERT OR IGNORE INTO label VALUES(?1, ?2, ?3)", NULL, NULL, "bbi",
                       (const void *)name, name_bytes, (const void *)value, value_bytes, series);
    return n < 0 ? (int)n : SKEIN_OK;
}

/* What a selector can ask for; process_labels.c answers the same names. */
static int postings_add(struct db *db, const struct partition_row *row, int64_t series)
{
    char pid[16], process[ID_TEXT_BYTES];
    (void)snprintf(pid, sizeof pid, "%u", (unsigned)row->pid);
    id_text(row->record.key.process.bytes, process);
    const char *slash = strrchr(row->exe, '/');
    const char *const own[][2] = {{"service", row->service},
                                  {"host", row->host},
                                  {"exe", slash ? slash + 1 : row->exe},
                                  {"pid", pid},
                                  {"process", process}};
    int status = SKEIN_OK;
    for (size_t i = 0; status == SKEIN_OK && i < sizeof own / sizeof *own; i++)
        status =
            posting_add(db, series, own[i][0], strlen(own[i][0]), own[i][1], strlen(own[i][1]));
    const char *at = row->labels, *key, *value;
    size_t key_bytes, value_bytes;
    while (status == SKEIN_OK && labels_next(&at, &key, &key_bytes, &value, &value_bytes))
        status = posting_add(db, series, key, key_bytes, value, value_bytes);
    return status;
}

static int count_get(void *context, struct db_row *row)
{
    *(int64_t *)context = db_i64(row, 0);
    return 0;
}

int index_series_add(struct db *db, const struct partition_row *row, int64_t series)
{
    int64_t rows = 0, from = index_i64(row->from_ns), to = index_i64(row->to_ns);
    int64_t n = db_run(db,
                       "INSERT INTO series VALUES(?1, ?2, ?3, 1, ?4) ON CONFLICT(id) DO UPDATE SET"
                       " first = min(first, excluded.first), last = max(last, excluded.last),"
                       " rows = rows + 1, longest = max(longest, excluded.longest) RETURNING rows",
                       count_get, &rows, "iiii", series, from / INDEX_BUCKET_NS,
                       to / INDEX_BUCKET_NS, to - from);
    if (n < 0)
        return (int)n;
    return rows == 1 ? postings_add(db, row, series) : SKEIN_OK;
}

/* ---- finding ---- */

static int lead_get(void *context, struct db_row *row)
{
    struct series_lead *lead = context;
    lead->series = db_i64(row, 0);
    lead->first = db_i64(row, 1);
    lead->last = db_i64(row, 2);
    lead->rows = db_i64(row, 3);
    lead->longest_ns = db_i64(row, 4);
    return 0;
}

/* What the series with found->labels are that are alive in the window. */
static int labels_look_up(struct db *db, const struct partition_query *query,
                          struct series_lead *found)
{
    const struct series_label *l = found->labels;
    int64_t n = db_run(
        db,
        "SELECT count(*), min(first), max(last), sum(rows / (last - first + 1.0)), max(longest)"
        " FROM (SELECT s.* FROM label l CROSS JOIN series s ON s.id = l.series"
        " WHERE l.name = ?1 AND l.value = ?2 AND s.last >= ?5 AND s.first <= ?6" INDEX_SECOND_LABEL(
            "?3", "?4") " LIMIT ?7)",
        lead_get, found, "bbbbiii", (const void *)l[0].name, strlen(l[0].name),
        (const void *)l[0].value, strlen(l[0].value), (const void *)l[1].name,
        l[1].name ? strlen(l[1].name) : 0, (const void *)l[1].value,
        l[1].value ? strlen(l[1].value) : 0, index_i64(query->from_ns) / INDEX_BUCKET_NS,
        index_i64(query->to_ns) / INDEX_BUCKET_NS, (int64_t)INDEX_SERIES_MAX + 1);
    return n < 0 ? (int)n : SKEIN_OK;
}

/* Looks a label up and puts it among the best two. */
static int label_try(struct db *db, const struct partition_query *query, const char *name,
                     const char *value, struct series_lead *best, int64_t *second)
{
    struct series_lead found = {.labels = {{name, value}}};
    int status = labels_look_up(db, query, &found);
    if (status < 0)
        return status;
    if (best->labels[0].name == NULL || found.series < best->series) {
        found.labels[1] = best->labels[0];
        *second = best->series;
        memcpy(found.process, best->process, sizeof found.process);
        *best = found;
    } else if (best->labels[1].name == NULL || found.series < *second) {
        best->labels[1] = found.labels[0];
        *second = found.series;
    }
    return SKEIN_OK;
}

int index_series_lead(struct db *db, const struct partition_query *query, struct series_lead *lead)
{
    *lead = (struct series_lead){.series = 0};
    int status = SKEIN_OK;
    int64_t second = 0;
    if (query->process) {
        id_text(query->process->bytes, lead->process);
        status = label_try(db, query, "process", lead->process, lead, &second);
    }
    const char *key, *value;
    for (size_t i = 0; status == SKEIN_OK && query->selector && i < LEAD_TERMS_MAX &&
                       selector_equality(query->selector, i, &key, &value);
         i++)
        if (strlen(value) <= INDEX_VALUE_MAX)
            status = label_try(db, query, key, value, lead, &second);
    if (status == SKEIN_OK && lead->labels[1].name)
        status = labels_look_up(db, query, lead);
    return status;
}
