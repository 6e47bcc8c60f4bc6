/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of ranges; see catalog_ranges.h. No state; any thread.
 *
 * Who has a partition is asked for each that is stored, by (process, epoch, first). Many short
 * ranges of a process that is captured all the time begin near it; long ones (streams) are few:
 *
 *   range begins at         looked at
 *   ..n-1,024               ranges_long: those of 1,025 partitions and more
 *     n-1,023..n-64         ranges_some: those of 65 and more
 *              n-63..n      all
 */
#include "catalog_ranges.h"

#include "catalog_int.h"

/* Epochs are only compared for equality, so their bits are kept (I). Sequences must sort. */
void catalog_put_ranges(struct catalog *c, const struct capture_id *capture,
                        const struct process_uid *process, const struct partition_range *ranges,
                        size_t count)
{
    catalog_write(c, "DELETE FROM ranges WHERE capture=? AND process=?",
                  DB(DB_ID(capture->bytes), DB_ID(process->bytes)));
    for (size_t i = 0; i < count; i++)
        catalog_write(c, "INSERT OR IGNORE INTO ranges VALUES(?,?,?,?,?)",
                      DB(DB_ID(capture->bytes), DB_ID(process->bytes),
                         DB_I64(I(ranges[i].key.epoch)), DB_I64(db_clamped(ranges[i].key.sequence)),
                         DB_I64(db_clamped(ranges[i].last))));
}

struct range_page {
    struct partition_range *ranges;
    size_t count, room;
};

static int range_take(void *context, struct db_row *row)
{
    struct range_page *page = context;
    struct partition_range *range = &page->ranges[page->count];
    *range = (struct partition_range){
        .key = {.epoch = (uint64_t)db_i64(row, 1), .sequence = (uint64_t)db_i64(row, 2)},
        .last = (uint64_t)db_i64(row, 3)};
    page->count += id_parse(db_text(row, 0), range->key.process.bytes) == SKEIN_OK;
    return page->count == page->room;
}

int64_t catalog_ranges(struct catalog *c, const struct capture_id *capture,
                       struct partition_range *after, struct partition_range *ranges, size_t room)
{
    struct range_page page = {ranges, 0, room};
    int64_t n = db_run(c->read,
                       "SELECT process, epoch, first, last FROM ranges WHERE capture=?"
                       " AND (process, epoch, first, last) > (?, ?, ?, ?)"
                       " ORDER BY process, epoch, first, last",
                       range_take, &page,
                       DB(DB_ID(capture->bytes), DB_ID(after->key.process.bytes),
                          DB_I64(I(after->key.epoch)), DB_I64(db_clamped(after->key.sequence)),
                          DB_I64(db_clamped(after->last))));
    if (page.count > 0)
        *after = ranges[page.count - 1];
    return n < 0 ? n : (int64_t)page.count;
}

struct owner_walk {
    catalog_owner_fn *fn;
    void *context;
};

static int owner_take(void *context, struct db_row *row)
{
    const struct owner_walk *walk = context;
    struct catalog_owner owner = {.first = (uint64_t)db_i64(row, 1),
                                  .last = (uint64_t)db_i64(row, 2),
                                  .kept = db_i64(row, 3) != 0};
    if (id_parse(db_text(row, 0), owner.capture.bytes) != SKEIN_OK)
        return 0;
    return walk->fn == NULL || walk->fn(walk->context, &owner) != 0;
}

const char catalog_owners_sql[] =
    "SELECT r.capture, r.first, r.last, c.status = 'running' OR EXISTS (SELECT 1"
    "  FROM captures p INDEXED BY captures_pinned WHERE p.id = c.id AND p.pin = 1) FROM"
    " (SELECT capture, first, last FROM ranges INDEXED BY ranges_by_partition"
    "  WHERE process = ?1 AND epoch = ?2 AND first > ?3 - 64 AND first <= ?4"
    "  AND last >= ?3 UNION ALL"
    "  SELECT capture, first, last FROM ranges INDEXED BY ranges_some"
    "  WHERE process = ?1 AND epoch = ?2 AND last - first >= 64"
    "  AND first > ?3 - 1024 AND first <= ?3 - 64 AND last >= ?3 UNION ALL"
    "  SELECT capture, first, last FROM ranges INDEXED BY ranges_long"
    "  WHERE process = ?1 AND epoch = ?2 AND last - first >= 1024"
    "  AND first <= ?3 - 1024 AND last >= ?3) r"
    " CROSS JOIN captures c ON c.id = r.capture";

int64_t catalog_owners(struct catalog *c, const struct partition_range *range, catalog_owner_fn *fn,
                       void *context)
{
    struct owner_walk walk = {fn, context};
    return db_run(c->read, catalog_owners_sql, owner_take, &walk,
                  DB(DB_ID(range->key.process.bytes), DB_I64(I(range->key.epoch)),
                     DB_I64(db_clamped(range->key.sequence)), DB_I64(db_clamped(range->last))));
}
