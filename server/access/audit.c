/* SPDX-License-Identifier: Apache-2.0
 *
 * The audit log. Owns its database, the queue of entries not yet written, and the thread that
 * writes them; any thread adds and lists. Only that thread and audit_list wait for the disk.
 */
#include "audit.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "clock_steps.h"
#include "db.h"
#include "log.h"
#include "metrics.h"
#include "own_thread.h"

#define QUEUE_MAX      4096u /* entries that wait while the disk does not take them */
#define PRUNE_ROWS     256u  /* the bounds may be exceeded by so many rows */
#define PRUNE_NS       (UINT64_C(600) * 1000000000u)
#define RETRY_NS       (UINT64_C(1) * 1000000000u)
#define REFUSALS_BURST 60u
#define REFUSAL_NS     (UINT64_C(1) * 1000000000u)

/* The indexes serve the bounds; a listing walks back from the newest. */
static const char schema[] =
    "CREATE TABLE IF NOT EXISTS audit(id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " time_ns INTEGER NOT NULL, actor TEXT NOT NULL, address TEXT NOT NULL, request TEXT NOT NULL,"
    " action TEXT NOT NULL, object TEXT NOT NULL, result TEXT NOT NULL, detail TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS audit_time ON audit(time_ns);"
    "CREATE INDEX IF NOT EXISTS audit_action ON audit(action, id);";

struct pending {
    struct pending *next;
    uint64_t time_ns;
    char actor[96], address[64], request[96], action[48], object[AUDIT_OBJECT_BYTES], result[64],
        detail[AUDIT_DETAIL_BYTES];
};

struct audit {
    struct db *db;
    uint64_t keep_ns, max_rows;
    bool is_new;
    struct own_thread thread;                /* its lock guards what follows */
    struct pending *head, **tail;            /* not yet written, in order */
    uint64_t queued;                         /* how many wait or are being written */
    uint64_t added, done;                    /* ever queued; tried to write, among these */
    uint64_t lost;                           /* had no room since the last entry about that */
    uint64_t refusals, refused_ns, unlisted; /* the bound of refusals */
};

/* ---- add ---- */

static struct pending *pending_new(const struct audit_entry *e)
{
    struct pending *p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    p->time_ns = clock_realtime_ns();
    snprintf(p->actor, sizeof p->actor, "%s", e->actor != NULL ? e->actor : "");
    snprintf(p->address, sizeof p->address, "%s", e->address != NULL ? e->address : "");
    snprintf(p->request, sizeof p->request, "%s", e->request != NULL ? e->request : "");
    snprintf(p->action, sizeof p->action, "%s", e->action != NULL ? e->action : "");
    snprintf(p->object, sizeof p->object, "%s", e->object != NULL ? e->object : "");
    snprintf(p->result, sizeof p->result, "%s", e->result != NULL ? e->result : "");
    snprintf(p->detail, sizeof p->detail, "%s", e->detail != NULL ? e->detail : "");
    return p;
}

/* Locked. Owns p, which may be NULL, from here on. */
static void audit_enqueue(struct audit *a, struct pending *p)
{
    if (p == NULL || a->queued >= QUEUE_MAX) {
        free(p);
        a->lost++;
        metrics_add(audit_lost_total, 1);
        return;
    }
    *a->tail = p;
    a->tail = &p->next;
    a->queued++;
    a->added++;
    pthread_cond_broadcast(&a->thread.changed);
}

void audit_add(struct audit *a, const struct audit_entry *entry)
{
    if (a == NULL)
        return;
    struct pending *p = pending_new(entry);
    pthread_mutex_lock(&a->thread.lock);
    audit_enqueue(a, p);
    pthread_mutex_unlock(&a->thread.lock);
}

/* Locked. Whether one more refusal may be listed. */
static bool refusal_take(struct audit *a, uint64_t now)
{
    uint64_t back = (now - a->refused_ns) / REFUSAL_NS;
    a->refusals = back < a->refusals ? a->refusals - back : 0;
    a->refused_ns += back * REFUSAL_NS;
    if (a->refusals >= REFUSALS_BURST)
        return false;
    a->refusals++;
    return true;
}

void audit_add_refusal(struct audit *a, const struct audit_entry *entry)
{
    if (a == NULL)
        return;
    struct pending *p = NULL;
    pthread_mutex_lock(&a->thread.lock);
    if (!refusal_take(a, clock_monotonic_ns())) {
        a->unlisted++;
    } else {
        if ((p = pending_new(entry)) != NULL && a->unlisted > 0) {
            size_t n = strlen(p->detail);
            snprintf(p->detail + n, sizeof p->detail - n, "%s%" PRIu64 " before it are not listed",
                     n > 0 ? "; " : "", a->unlisted);
            a->unlisted = 0;
        }
        audit_enqueue(a, p);
    }
    pthread_mutex_unlock(&a->thread.lock);
}

/* ---- the writer's thread ---- */

static int audit_insert(struct audit *a, const struct pending *p)
{
    return db_write(a->db,
                    "INSERT INTO audit(time_ns, actor, address, request, action, object,"
                    " result, detail) VALUES(?,?,?,?,?,?,?,?)",
                    DB(DB_I64((int64_t)p->time_ns), DB_TEXT(p->actor), DB_TEXT(p->address),
                       DB_TEXT(p->request), DB_TEXT(p->action), DB_TEXT(p->object),
                       DB_TEXT(p->result), DB_TEXT(p->detail)));
}

/* In one transaction: all or none. */
static int bytes_write(struct audit *a, const struct pending *head, uint64_t lost)
{
    int status = db_begin(a->db);
    if (status != SKEIN_OK)
        return status;
    for (const struct pending *p = head; p != NULL && status == SKEIN_OK; p = p->next)
        status = audit_insert(a, p);
    if (lost > 0 && status == SKEIN_OK) {
        struct pending p = {.time_ns = clock_realtime_ns(), .action = "audit.lost"};
        snprintf(p.actor, sizeof p.actor, "skeind");
        snprintf(p.result, sizeof p.result, "lost");
        snprintf(p.detail, sizeof p.detail, "%" PRIu64 " entries could not be written", lost);
        status = audit_insert(a, &p);
    }
    return db_end(a->db, status);
}

/* Actions of people who can change nothing: each may fill a fifth of the rows. */
static const char *const frequent[] = {"auth.refused", "capture.download", "partition.download",
                                       "capture.query"};
#define FREQUENT_SHARE 5 /* one in so many of the rows */

static void audit_prune(struct audit *a)
{
    const uint64_t before_ns = clock_setting_before(a->keep_ns);
    int64_t rows = 0;
    if (a->keep_ns != 0 && before_ns > 0)
        rows = db_run(a->db, "DELETE FROM audit WHERE time_ns < ?", NULL, NULL,
                      DB(DB_I64((int64_t)before_ns)));
    for (size_t i = 0; i < sizeof frequent / sizeof *frequent && rows >= 0; i++)
        rows = db_run(a->db,
                      "DELETE FROM audit WHERE action=? AND id <= (SELECT id FROM audit"
                      " WHERE action=? ORDER BY id DESC LIMIT 1 OFFSET ?)",
                      NULL, NULL,
                      DB(DB_TEXT(frequent[i]), DB_TEXT(frequent[i]),
                         DB_I64((int64_t)(a->max_rows / FREQUENT_SHARE))));
    if (rows >= 0)
        rows = db_run(a->db,
                      "DELETE FROM audit WHERE id <= (SELECT id FROM audit ORDER BY id DESC"
                      " LIMIT 1 OFFSET ?)",
                      NULL, NULL, DB(DB_I64((int64_t)a->max_rows)));
    if (rows < 0)
        log_error("audit", "old entries cannot be removed", "error", skein_status_text((int)rows),
                  NULL);
}

static void list_free(struct pending *p)
{
    while (p != NULL) {
        struct pending *next = p->next;
        free(p);
        p = next;
    }
}

/* Waits longer than until the next entry: a full disk is not tried for each of them. */
static void wait_again(struct audit *a)
{
    uint64_t until = clock_monotonic_ns() + RETRY_NS;
    while (!own_thread_is_stopping(&a->thread) && own_thread_wait(&a->thread, until))
        continue;
}

/* Called locked; lets go of the lock while it writes. Whether all that was queued is written. */
static bool queue_write(struct audit *a)
{
    struct pending *head = a->head;
    uint64_t count = a->queued, upto = a->added, lost = a->lost;
    a->head = NULL;
    a->tail = &a->head;
    a->lost = 0;
    pthread_mutex_unlock(&a->thread.lock);
    int status = bytes_write(a, head, lost);
    if (status != SKEIN_OK) {
        metrics_add(audit_errors_total, 1);
        log_error("audit", "entries cannot be written; this is tried again", "error",
                  skein_status_text(status), NULL);
    } else {
        list_free(head);
    }
    pthread_mutex_lock(&a->thread.lock);
    a->done = upto;
    if (status == SKEIN_OK) {
        a->queued -= count;
    } else { /* back to the front */
        struct pending **last = &head;
        while (*last != NULL)
            last = &(*last)->next;
        *last = a->head;
        if (a->head == NULL)
            a->tail = last == &head ? &a->head : last;
        a->head = head;
        a->lost += lost;
    }
    pthread_cond_broadcast(&a->thread.changed);
    return status == SKEIN_OK;
}

static void *audit_run(void *context)
{
    struct audit *a = context;
    uint64_t written = 0, pruned_ns = clock_monotonic_ns();
    audit_prune(a); /* the settings may have changed */
    pthread_mutex_lock(&a->thread.lock);
    for (;;) {
        bool work = a->head != NULL || a->lost > 0;
        if (work) {
            uint64_t before = a->done;
            if (queue_write(a))
                written += a->done - before;
            else if (own_thread_is_stopping(&a->thread))
                break;
            else
                wait_again(a);
            continue;
        }
        if (own_thread_is_stopping(&a->thread))
            break;
        uint64_t now = clock_monotonic_ns();
        if (written >= PRUNE_ROWS || now - pruned_ns >= PRUNE_NS) {
            pthread_mutex_unlock(&a->thread.lock);
            audit_prune(a);
            pthread_mutex_lock(&a->thread.lock);
            written = 0;
            pruned_ns = now;
            continue;
        }
        (void)own_thread_wait(&a->thread, clock_monotonic_ns() + PRUNE_NS);
    }
    pthread_mutex_unlock(&a->thread.lock);
    return NULL;
}

/* ---- open and close ---- */

static int checked_open(struct audit *a, const char *folder, char *error, size_t error_bytes)
{
    int status = db_open_private(folder, "audit.db", &a->db, error, error_bytes);
    if (status == SKEIN_OK)
        status = db_tables_make(a->db, "audit.db", schema, &a->is_new, error, error_bytes);
    return status == SKEIN_OK ? db_check(a->db) : status;
}

/* A damaged file stays readable for experts, under another name; the collector goes on. */
static bool row_set_aside(const char *folder)
{
    char to[4096];
    if (!db_set_aside(folder, "audit.db", to, sizeof to))
        return false;
    log_error("audit", "audit.db is damaged: it is set aside, and a new one begun", "file", to,
              NULL);
    return true;
}

int audit_open(const struct audit_settings *settings, struct audit **out, char *error,
               size_t error_bytes)
{
    struct audit *a = calloc(1, sizeof *a);
    *out = a;
    if (a == NULL)
        return SKEIN_NO_MEMORY;
    a->keep_ns = settings->keep_ms * 1000000u;
    a->max_rows = settings->max_rows;
    a->tail = &a->head;
    a->refused_ns = clock_monotonic_ns();
    own_thread_init(&a->thread);
    int status = checked_open(a, settings->folder, error, error_bytes);
    if (status == SKEIN_CORRUPT && row_set_aside(settings->folder)) {
        db_close(&a->db);
        status = checked_open(a, settings->folder, error, error_bytes);
        a->is_new = false; /* not new: the damage has been told */
    }
    if (status == SKEIN_OK && (status = own_thread_start(&a->thread, audit_run, a)) != SKEIN_OK)
        snprintf(error, error_bytes, "no thread for the audit log");
    if (status != SKEIN_OK)
        audit_close(out);
    return status;
}

bool audit_is_new(const struct audit *a)
{
    return a->is_new;
}

void audit_close(struct audit **audit)
{
    struct audit *a = *audit;
    if (a == NULL)
        return;
    own_thread_end(&a->thread);
    list_free(a->head);
    db_close(&a->db);
    free(a);
    *audit = NULL;
}

/* ---- list ---- */

struct walk {
    audit_row_fn *fn;
    void *context;
};

static int row_take(void *context, struct db_row *row)
{
    struct walk *walk = context;
    struct audit_row out = {(uint64_t)db_i64(row, 0),
                            (uint64_t)db_i64(row, 1),
                            {db_text(row, 2), db_text(row, 3), db_text(row, 4), db_text(row, 5),
                             db_text(row, 6), db_text(row, 7), db_text(row, 8)}};
    return walk->fn(walk->context, &out);
}

/* "rule.*" as the range of its actions; any other as itself. */
#define ACTION_BYTES 64
static void action_range(const char *action, char from[ACTION_BYTES], char to[ACTION_BYTES + 1])
{
    size_t n = action != NULL ? strlen(action) : 0;
    bool all = n >= 2 && n < 60 && strcmp(action + n - 2, ".*") == 0;
    snprintf(from, ACTION_BYTES, "%.*s", (int)(all ? n - 1 : n), action != NULL ? action : "");
    snprintf(to, ACTION_BYTES + 1, "%s%s", from, all ? "\x7f" : "");
}

int64_t audit_list(struct audit *a, const struct audit_query *q, audit_row_fn *fn, void *context)
{
    struct walk walk = {fn, context};
    char from[ACTION_BYTES], to[ACTION_BYTES + 1];
    pthread_mutex_lock(&a->thread.lock);
    for (uint64_t upto = a->added; a->done < upto;)
        (void)own_thread_wait(&a->thread, UINT64_MAX);
    pthread_mutex_unlock(&a->thread.lock);
    action_range(q->action, from, to);
    return db_run(a->db,
                  "SELECT id, time_ns, actor, address, request, action, object, result, detail"
                  " FROM audit WHERE id < ? AND time_ns BETWEEN ? AND ?"
                  " AND (? IS NULL OR actor = ?) AND (? IS NULL OR action BETWEEN ? AND ?)"
                  " AND (? IS NULL OR object = ?) ORDER BY id DESC LIMIT ?",
                  row_take, &walk,
                  DB(DB_I64(db_clamped(q->before)), DB_I64(db_clamped(q->from_ns)),
                     DB_I64(db_clamped(q->to_ns)), DB_TEXT(q->actor), DB_TEXT(q->actor),
                     DB_TEXT(q->action), DB_TEXT(from), DB_TEXT(to), DB_TEXT(q->object),
                     DB_TEXT(q->object), DB_I64((int64_t)q->limit)));
}
