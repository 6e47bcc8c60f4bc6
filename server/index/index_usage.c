/* SPDX-License-Identifier: Apache-2.0
 *
 * What takes how much room, and what would be freed. Any thread. Sums of services and segments are
 * kept with the rows (index_sqlite.c), so that nothing here walks the partitions of more than one
 * capture. Never changes rows; the list of protected captures is the connection's own.
 */
#include "index_usage.h"
#include "index_int.h"

struct sums {
    int64_t live, dead;
};

static int sums_get(void *context, struct db_row *row)
{
    struct sums *sums = context;
    sums->live = db_i64(row, 0);
    sums->dead = db_i64(row, 1);
    return 1;
}

static uint64_t not_negative(int64_t v)
{
    return v > 0 ? (uint64_t)v : 0;
}

/* A deleted capture's tombstone is needed for good (S-10); a partition's only until its bytes are
 * gone, so it counts as dead. */
int index_usage(struct index *index, uint64_t *live_bytes, uint64_t *dead_bytes)
{
    struct sums sums = {0, 0};
    int64_t n = db_run(index->read,
                       "SELECT coalesce(sum(bytes), 0), coalesce(sum(written - bytes +"
                       " (records - live) * ?1), 0) - ?1 * (SELECT count(*) FROM deleted)"
                       " FROM segment",
                       sums_get, &sums, DB(DB_I64((int64_t)INDEX_RECORD_BYTES)));
    *live_bytes = not_negative(sums.live);
    *dead_bytes = not_negative(sums.dead);
    return n < 0 ? index_fail(index, n) : SKEIN_OK;
}

struct service_walk {
    index_service_fn *fn;
    void *context;
};

static int service_row(void *context, struct db_row *row)
{
    const struct service_walk *walk = context;
    return walk->fn(walk->context, db_text(row, 0), (uint64_t)db_i64(row, 1));
}

int64_t index_services(struct index *index, index_service_fn *fn, void *context)
{
    struct service_walk walk = {fn, context};
    int64_t n = db_run(index->read, "SELECT name, bytes FROM service ORDER BY name", service_row,
                       &walk, NULL);
    return n < 0 ? index_fail(index, n) : n;
}

static int protected_fill(struct db *db, const struct capture_id *captures, size_t count)
{
    int64_t n = db_run(db, "DELETE FROM protected", NULL, NULL, NULL);
    for (size_t i = 0; n >= 0 && i < count; i++)
        n = db_run(db, "INSERT OR IGNORE INTO protected VALUES(?1)", NULL, NULL,
                   DB(DB_BLOB(captures[i].bytes, sizeof captures[i].bytes)));
    return n < 0 ? (int)n : SKEIN_OK;
}

int index_protect(struct index *index, const struct capture_id *captures, size_t count)
{
    int status = db_exec(index->write, "PRAGMA temp_store = MEMORY; CREATE TEMP TABLE IF NOT EXISTS"
                                       " protected(capture BLOB PRIMARY KEY) WITHOUT ROWID;");
    if (status == SKEIN_OK)
        status = db_begin(index->write);
    if (status < 0)
        return index_fail(index, status);
    status = protected_fill(index->write, captures, count);
    int ended = db_end(index->write, status == SKEIN_OK);
    return index_fail(index, status < 0 ? status : ended);
}

int index_frees(struct index *index, const struct capture_id *capture, const char *service,
                uint64_t *now, uint64_t *later)
{
    struct sums sums = {0, 0};
    int64_t n = db_run(
        index->write,
        "SELECT coalesce(sum(CASE WHEN EXISTS (SELECT 1 FROM member o WHERE o.key = m.key"
        " AND o.capture <> ?1) THEN 0 ELSE p.bytes END), 0), coalesce(sum(p.bytes), 0)"
        " FROM member m CROSS JOIN partitions p INDEXED BY by_key ON p.key = m.key"
        " WHERE m.capture = ?1 AND (?2 IS NULL OR p.service = ?2) AND NOT EXISTS"
        " (SELECT 1 FROM member o CROSS JOIN protected x ON x.capture = o.capture"
        " WHERE o.key = m.key)",
        sums_get, &sums, DB(DB_BLOB(capture->bytes, sizeof capture->bytes), DB_TEXT(service)));
    *now = not_negative(sums.live);
    *later = not_negative(sums.dead);
    return n < 0 ? index_fail(index, n) : SKEIN_OK;
}

#define STRAYS_LOOKED_AT 4096 /* rows a call: commits wait for it */

struct strays {
    uint64_t before_ns, bytes;
    int64_t last, looked_at; /* the last row's id */
    struct partition_key *keys;
    size_t count, room;
    bool young;
};

static int stray_row(void *context, struct db_row *row)
{
    struct strays *s = context;
    size_t n;
    const void *key = db_blob(row, 1, &n);
    s->young = (uint64_t)db_i64(row, 3) >= s->before_ns;
    if (s->young)
        return 1;
    s->last = db_i64(row, 0);
    s->looked_at++;
    if (db_i64(row, 4) == 0 && n == INDEX_KEY_BYTES) {
        index_key_get(key, &s->keys[s->count++]);
        s->bytes += (uint64_t)db_i64(row, 2);
    }
    return s->count == s->room;
}

int64_t index_strays(struct index *index, uint64_t *after, uint64_t before_ns,
                     struct partition_key *keys, size_t room, uint64_t *bytes)
{
    struct strays s = {.before_ns = before_ns, .keys = keys, .room = room};
    int64_t n =
        db_run(index->write,
               "SELECT id, key, bytes, received_ns,"
               " EXISTS (SELECT 1 FROM member m WHERE m.key = p.key)"
               " FROM partitions p WHERE id > ?1 ORDER BY id LIMIT ?2",
               stray_row, &s, DB(DB_I64(index_i64(*after)), DB_I64((int64_t)STRAYS_LOOKED_AT)));
    if (n < 0)
        return index_fail(index, n);
    bool end = s.young || (s.count < room && s.looked_at < STRAYS_LOOKED_AT);
    *after = end ? 0 : (uint64_t)s.last;
    *bytes += s.bytes;
    return (int64_t)s.count;
}
