/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the retention thread. About every second it runs a round: first what has expired, then each
 * service's quota, then that of the catalog, then that of all. Other threads enter through
 * retention_start, retention_stop and retention_is_met. Holds no lock while it deletes: the engine
 * looks again, so a pin that is set at that moment counts.
 *
 * Order: retention_turns.h says whose capture goes, and of that holder the oldest, then by id. Passed
 * over is a capture whose every byte is also in one that is pinned or runs: its deletion would free
 * nothing. A capture that shares its bytes only with others that may go is not: they are freed with the
 * last of them.
 */
#include "retention.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "capture_has.h"
#include "catalog.h"
#include "catalog_capture.h"
#include "catalog_loss.h"
#include "clock.h"
#include "clock_steps.h"
#include "index_usage.h"
#include "log.h"
#include "metrics.h"
#include "own_thread.h"
#include "retention_turns.h"

#define ROUND_NS     UINT64_C(1000000000)
#define PAUSE_FACTOR 20 /* what was in vain and took t is not repeated before 20 t */
#define PAGE         64
#define STRAY_STEPS  64                  /* for one quota in one round */
#define CATALOG_PART 8                   /* rows about captures may take 1/8 of max_bytes */
#define CATALOG_MIN  (UINT64_C(4) << 20) /* and always this much, which does not count */
#define TRIM_ROWS    64                  /* kept accounts that are dropped at a time */

struct retention {
    struct retention_settings settings;
    struct store *store;
    struct index *index;
    struct catalog *catalog;
    struct capture_engine *captures;
    struct audit *audit;

    /* The walk for partitions that no capture lists: where it goes on (ingest_delete_strays), what
     * it has found and how long it took so far, and when (monotonic) the next one may begin. */
    uint64_t stray_after, strays_found, strays_ns, strays_due_ns;

    struct own_thread thread;    /* its lock guards what follows */
    char words[RETENTION_WORDS]; /* why a quota is not met; "": all are */
};

struct candidate {
    struct capture_id id;
    uint64_t created_ns, finished_ns, expires_ns, bytes;
};
struct page {
    struct candidate items[PAGE];
    size_t count;
};

static int page_add(void *context, const struct catalog_capture *row)
{
    struct page *page = context;
    page->items[page->count++] =
        (struct candidate){row->id, row->created_ns, row->finished_ns, row->expires_ns, row->bytes};
    return page->count == PAGE;
}

/* ---- one deletion ---- */

static void retention_note(struct retention *r, const struct capture_id *id, const char *why,
                           const char *result)
{
    char text[ID_TEXT_BYTES];
    id_text(id->bytes, text);
    struct audit_entry entry = {.actor = "retention",
                                .action = "retention.delete",
                                .object = text,
                                .result = result,
                                .detail = why};
    audit_add(r->audit, &entry);
    log_info("retention", "deleted", "capture", text, "why", why, "result", result, NULL);
}

/* Deletes one capture. SKEIN_OK; SKEIN_REFUSED: it may not go, or is gone; else stop for now. */
static int retention_retire(struct retention *r, const struct capture_id *id, uint64_t due_ns,
                            const char *why)
{
    int status = capture_retire(r->captures, id, due_ns, why);
    if (status == SKEIN_REFUSED || status == SKEIN_NOT_FOUND)
        return SKEIN_REFUSED;
    if (status == SKEIN_OK) {
        retention_note(r, id, why, "ok");
        return SKEIN_OK;
    }
    metrics_add(retention_failed_total, 1);
    if (capture_look(r->captures, id, NULL) == SKEIN_NOT_FOUND)
        retention_note(r, id, why, "its partitions are not deleted yet, this is tried again");
    else
        log_warn("retention", "a capture cannot be deleted", "error", skein_status_text(status),
                 NULL);
    return status;
}

/* ---- time ---- */

static void retention_expire(struct retention *r)
{
    struct page page;
    do {
        const struct clock_view now = clock_setting_view();
        page.count = 0;
        if (catalog_expired(r->catalog, &now, page_add, &page) < 0) {
            log_warn("retention", "the catalog cannot be read: nothing expires now", NULL);
            return;
        }
        for (size_t i = 0; i < page.count && !own_thread_is_stopping(&r->thread); i++) {
            char why[160], ended[CLOCK_TEXT_BYTES];
            clock_text(page.items[i].finished_ns, ended);
            snprintf(why, sizeof why,
                     "ttl_ms: it ended at %s and was to be kept for %" PRIu64 " ms", ended,
                     (page.items[i].expires_ns - page.items[i].finished_ns) / 1000000u);
            int status = retention_retire(r, &page.items[i].id, now.now_ns, why);
            metrics_add(retention_expired_total, status == SKEIN_OK);
            if (status < 0 && status != SKEIN_REFUSED)
                return;
        }
    } while (page.count == PAGE && !own_thread_is_stopping(&r->thread));
}

/* ---- quotas ---- */

struct quota {
    const char *service; /* NULL: all */
    bool catalog;        /* only state.db */
    uint64_t max_bytes;
    uint64_t bytes;  /* what counts now */
    uint64_t target; /* captures go until it is no more than this */
};

static int service_add(void *context, const char *service, uint64_t bytes)
{
    struct quota *quota = context;
    if (strcmp(service, quota->service) != 0)
        return 0;
    quota->bytes = bytes;
    return 1;
}

/* 1: above the quota, captures must go; 0: not above; or a status. */
static int quota_measure(struct retention *r, struct quota *quota)
{
    uint64_t segments, disk, end_segment, end_offset, live, dead, rows;
    quota->bytes = 0;
    quota->target = quota->max_bytes;
    if (quota->service != NULL) {
        int64_t n = index_services(r->index, service_add, quota);
        return n < 0 ? (int)n : quota->bytes > quota->target;
    }
    int status = catalog_usage(r->catalog, &rows);
    metrics_set(catalog_bytes, rows);
    if (status < 0 || quota->max_bytes == 0)
        return status;
    quota->bytes = rows;
    if (quota->catalog)
        return rows > quota->target;
    rows = rows > CATALOG_MIN ? rows - CATALOG_MIN : 0;
    store_totals(r->store, &segments, &disk, &end_segment, &end_offset);
    if (disk + rows <= quota->max_bytes)
        return 0;
    status = index_usage(r->index, &live, &dead);
    quota->bytes = (disk > dead ? disk - dead : 0) + rows;
    quota->target -= quota->max_bytes / 8;
    return status < 0 ? status : quota->bytes > quota->target;
}

static void quota_why(const struct quota *quota, const struct turn *turn, uint64_t frees,
                      char why[RETENTION_WORDS])
{
    char whose[240];
    snprintf(whose, sizeof whose,
             "of %s, %.120s has most that is neither pinned nor running; this was the oldest",
             turn_of(turn),
             turn->name[0] != '\0' ? turn->name : "who began them before an upgrade");
    if (quota->service != NULL)
        snprintf(why, RETENTION_WORDS,
                 "retention.services: %.64s has %" PRIu64 " bytes and may have %" PRIu64
                 "; %s, and freed %" PRIu64 " bytes of it",
                 quota->service, quota->bytes, quota->max_bytes, whose, frees);
    else if (quota->catalog)
        snprintf(why, RETENTION_WORDS,
                 "retention.max_bytes: what is known of captures may take %" PRIu64
                 " bytes, an eighth of it, and took %" PRIu64 "; %s",
                 quota->max_bytes, quota->bytes, whose);
    else
        snprintf(why, RETENTION_WORDS,
                 "retention.max_bytes: segments may take %" PRIu64 " bytes, %" PRIu64
                 " were needed; %s, and freed %" PRIu64 " bytes",
                 quota->max_bytes, quota->bytes, whose, frees);
}

/* Deletes captures of a page as long as it is their holder's turn. 1: the quota is met; 0: the page
 * is at its end, or it is another one's turn; or a status. */
static int page_retire(struct retention *r, struct quota *quota, const struct page *page,
                       struct turns *turns, struct turn *turn)
{
    for (size_t i = 0;
         i < page->count && turns_next(turns) == turn && !own_thread_is_stopping(&r->thread); i++) {
        const struct candidate *item = &page->items[i];
        char why[RETENTION_WORDS];
        uint64_t now = 0, later = 1; /* for state.db: its rows are freed in any case */
        turn->after = (struct catalog_cursor){item->created_ns, item->id};
        int status = quota->catalog
                         ? SKEIN_OK
                         : capture_frees(r->captures, &item->id, quota->service, &now, &later);
        if (status < 0)
            return status;
        quota_why(quota, turn, now, why);
        status = later > 0 ? retention_retire(r, &item->id, 0, why) : SKEIN_REFUSED;
        if (status < 0 && status != SKEIN_REFUSED)
            return status;
        turn_deduct(turns, turn, item->bytes, status == SKEIN_OK);
        if (status == SKEIN_REFUSED)
            continue;
        metrics_add(retention_quota_total, 1);
        if (quota->catalog && catalog_trim_losses(r->catalog, TRIM_ROWS) < 0)
            return SKEIN_IO;
        status = quota_measure(r, quota);
        if (status <= 0)
            return status < 0 ? status : 1;
    }
    return 0;
}

/* Deletes captures in their turns until the quota is met: turns of who has some of the service, as
 * their targets are called; NULL: of all. SKEIN_OK; SKEIN_NOT_FOUND: nothing more may go; or a
 * status. */
static int turns_retire(struct retention *r, struct quota *quota, const char *service)
{
    struct turns turns = {.by_count = quota->catalog};
    const struct turn *last = NULL;
    int status = turns_take(&turns, r->catalog, service);
    while (status == SKEIN_OK && !own_thread_is_stopping(&r->thread)) {
        struct page page = {.count = 0};
        struct turn *turn = turns_next(&turns);
        if (turns.stale && (turn == NULL || turn != last || turn->over)) {
            status = turns_renew(&turns, r->catalog, service); /* nobody goes by what was */
            last = NULL;
            continue;
        }
        if (turn == NULL || turn->over) {
            status = turn == NULL ? SKEIN_NOT_FOUND : 1;
            break;
        }
        int64_t rows =
            catalog_oldest(r->catalog, turn->rank, turn->name, &turn->after, PAGE, page_add, &page);
        turn->over = rows == 0;
        last = turn;
        status = rows < 0 ? (int)rows : page_retire(r, quota, &page, &turns, turn);
    }
    turns_fini(&turns);
    return status == 1 ? SKEIN_OK : status;
}

/* A process may be called otherwise by now than its partitions say. */
static int captures_retire(struct retention *r, struct quota *quota)
{
    int status = turns_retire(r, quota, quota->service);
    return status == SKEIN_NOT_FOUND && quota->service != NULL ? turns_retire(r, quota, NULL)
                                                               : status;
}

static void strays_note(struct retention *r, uint64_t count, uint64_t bytes)
{
    char why[160];
    snprintf(why, sizeof why,
             "a quota is exceeded: %" PRIu64 " partitions that no capture has listed, %" PRIu64
             " bytes",
             count, bytes);
    struct audit_entry entry = {.actor = "retention",
                                .action = "retention.delete",
                                .object = "partitions",
                                .result = "ok",
                                .detail = why};
    audit_add(r->audit, &entry);
    log_info("retention", "deleted", "why", why, NULL);
}

/* A walk looks at every partition, on the thread that stores: after one that has found nothing, the
 * next one waits. */
static void strays_walked(struct retention *r, uint64_t count, uint64_t began_ns)
{
    uint64_t now_ns = clock_monotonic_ns();
    r->strays_found += count;
    r->strays_ns += now_ns - began_ns;
    if (r->stray_after != 0)
        return;
    if (r->strays_found == 0)
        r->strays_due_ns = now_ns + PAUSE_FACTOR * r->strays_ns;
    r->strays_found = r->strays_ns = 0;
}

/* Deletes partitions that no capture lists, the oldest first: they go before any capture. Returns
 * as quota_measure. */
static int strays_retire(struct retention *r, struct quota *quota)
{
    const uint64_t before_ns = clock_setting_before(r->settings.stray_ms * 1000000u);
    uint64_t count = 0, bytes = 0, began_ns = clock_monotonic_ns();
    int status = 1;
    if (began_ns < r->strays_due_ns)
        return status;
    for (int step = 0; status > 0 && step < STRAY_STEPS && !own_thread_is_stopping(&r->thread);
         step++) {
        int64_t n =
            r->settings.delete_strays(r->settings.context, &r->stray_after, before_ns, &bytes);
        count += n > 0 ? (uint64_t)n : 0;
        if (n != 0)
            status = n < 0 ? (int)n : quota_measure(r, quota);
        if (r->stray_after == 0)
            break;
    }
    strays_walked(r, count, began_ns);
    if (count > 0)
        strays_note(r, count, bytes);
    return status;
}

/* Drops the kept accounts of deleted captures, the oldest first. Returns as quota_measure. */
static int accounts_retire(struct retention *r, struct quota *quota)
{
    int status = 1;
    int64_t rows = 1;
    while (status > 0 && rows > 0 && !own_thread_is_stopping(&r->thread)) {
        rows = catalog_trim_losses(r->catalog, TRIM_ROWS);
        status = rows < 0 ? (int)rows : quota_measure(r, quota);
    }
    return status;
}

/* SKEIN_OK; SKEIN_NOT_FOUND: above the quota, but nothing more may be deleted; or a status. */
static int quota_enforce(struct retention *r, struct quota *quota)
{
    int status = quota_measure(r, quota);
    if (status > 0 && quota->catalog)
        status = accounts_retire(r, quota);
    else if (status > 0 && quota->service == NULL) /* a stray may be of any service */
        status = strays_retire(r, quota);
    return status > 0 ? captures_retire(r, quota) : status;
}

static void quota_explain(const struct quota *quota, int status, char words[RETENTION_WORDS])
{
    if (status == SKEIN_NOT_FOUND && quota->catalog)
        snprintf(
            words, RETENTION_WORDS,
            "retention.max_bytes: what is known of captures takes %" PRIu64 " bytes, and %" PRIu64
            ", an eighth of it, are allowed; what is left is pinned or running: unpin or delete some, or allow "
            "more",
            quota->bytes, quota->max_bytes);
    else if (status == SKEIN_NOT_FOUND)
        snprintf(words, RETENTION_WORDS,
                 "retention.%s%s%.64s: %" PRIu64 " bytes are needed and %" PRIu64
                 " allowed; what is left is pinned, running or shared with such captures: unpin or "
                 "delete some, or allow more",
                 quota->service != NULL ? "services" : "max_bytes",
                 quota->service != NULL ? "." : "", quota->service != NULL ? quota->service : "",
                 quota->bytes, quota->max_bytes);
    else
        snprintf(words, RETENTION_WORDS, "captures cannot be deleted: %s",
                 skein_status_text(status));
}

static uint64_t catalog_part(const struct retention *r)
{
    uint64_t part = r->settings.max_bytes / CATALOG_PART;
    return part > CATALOG_MIN || part == 0 ? part : CATALOG_MIN;
}

static void quotas_enforce(struct retention *r)
{
    const struct config_map *services = r->settings.services;
    char words[RETENTION_WORDS] = "";
    /* After the services: what is known of captures, then all together. */
    for (size_t i = 0; i <= services->count + 1 && !own_thread_is_stopping(&r->thread); i++) {
        struct quota quota = {.max_bytes = r->settings.max_bytes};
        if (i == services->count)
            quota = (struct quota){.catalog = true, .max_bytes = catalog_part(r)};
        if (i < services->count)
            quota = (struct quota){.service = services->items[i].name,
                                   .max_bytes = services->items[i].number};
        int status = quota_enforce(r, &quota);
        if (status < 0 && words[0] == '\0')
            quota_explain(&quota, status, words);
    }
    metrics_set(retention_over, words[0] != '\0');
    pthread_mutex_lock(&r->thread.lock);
    bool news = words[0] != '\0' && r->words[0] == '\0';
    memcpy(r->words, words, sizeof words);
    pthread_mutex_unlock(&r->thread.lock);
    if (news)
        log_warn("retention", "a quota is exceeded", "why", words, NULL);
}

/* ---- the thread ---- */

static void *thread_run(void *argument)
{
    struct retention *r = argument;
    uint64_t due_ns = clock_monotonic_ns(), quotas_ns = 0;
    while (own_thread_rest(&r->thread, due_ns)) {
        char words[RETENTION_WORDS];
        uint64_t begin_ns = clock_monotonic_ns();
        due_ns = begin_ns + ROUND_NS;
        retention_expire(r);
        /* Bytes that still wait to be deleted would count, and other captures would go for them. */
        if (begin_ns < quotas_ns || capture_is_purging(r->captures))
            continue;
        quotas_enforce(r);
        uint64_t end_ns = clock_monotonic_ns();
        quotas_ns = retention_is_met(r, words) ? 0 : end_ns + (end_ns - begin_ns) * PAUSE_FACTOR;
    }
    return NULL;
}

int retention_start(const struct retention_settings *settings, struct store *store,
                    struct index *index, struct catalog *catalog, struct capture_engine *captures,
                    struct audit *audit, struct retention **out)
{
    *out = NULL;
    struct retention *r = calloc(1, sizeof *r);
    if (r == NULL)
        return SKEIN_NO_MEMORY;
    r->settings = *settings;
    r->store = store;
    r->index = index;
    r->catalog = catalog;
    r->captures = captures;
    r->audit = audit;
    own_thread_init(&r->thread);
    *out = r;
    int status = own_thread_start(&r->thread, thread_run, r);
    if (status != SKEIN_OK)
        retention_stop(out);
    return status;
}

void retention_stop(struct retention **retention)
{
    struct retention *r = *retention;
    if (r == NULL)
        return;
    *retention = NULL;
    own_thread_end(&r->thread);
    free(r);
}

bool retention_is_met(struct retention *retention, char words[RETENTION_WORDS])
{
    pthread_mutex_lock(&retention->thread.lock);
    memcpy(words, retention->words, RETENTION_WORDS);
    pthread_mutex_unlock(&retention->thread.lock);
    return words[0] == '\0';
}
