/* SPDX-License-Identifier: Apache-2.0
 *
 * Captures from and to the catalog. Under the control lock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_control.h"
#include "capture_int.h"
#include "capture_ledger.h"
#include "capture_state.h"
#include "capture_target.h"
#include "catalog_capture.h"
#include "catalog_ranges.h"
#include "checksum.h"
#include "clock.h"
#include "json.h"
#include "log.h"
#include "metrics.h"

/* ---- from rows ---- */

struct load {
    struct capture_engine *e;
    struct capture *capture;
    bool unlisted; /* its row lacks the listing */
    int status;
};

static enum capture_status capture_status_parse(const char *text)
{
    for (int s = CAPTURE_RUNNING; s <= CAPTURE_STOPPED; s++)
        if (strcmp(capture_status_text((enum capture_status)s), text) == 0)
            return (enum capture_status)s;
    return CAPTURE_INCOMPLETE;
}

static enum capture_kind capture_kind_parse(const char *text)
{
    for (int k = 0; k < CAPTURE_KINDS; k++)
        if (strcmp(capture_kind_text((enum capture_kind)k), text) == 0)
            return (enum capture_kind)k;
    return CAPTURE_SNAPSHOT;
}

static enum target_status target_status_parse(const char *text)
{
    for (int s = 0; s < TARGET_STATUS_COUNT; s++)
        if (strcmp(target_status_text((enum target_status)s), text) == 0)
            return (enum target_status)s;
    return TARGET_FAILED;
}

/* Only the listing has it: an agent that has not answered yet is asked again. */
static struct evidence_wish wish_load(const char *listing)
{
    char error[64];
    struct evidence_wish wish = {0};
    cJSON *json =
        listing[0] != '\0' ? json_parse(listing, strlen(listing), error, sizeof error) : NULL;
    if (json != NULL)
        evidence_wish_told(&(struct json_reader){{0}}, json, "", false, &wish);
    cJSON_Delete(json);
    return wish;
}

/* Puts what was kept by a clock that may have been set since on the monotonic one. A deadline is no
 * later than it was when the capture began. One that seems to be over, or almost, need not be: what runs
 * has the time again that agents have for their answers. */
static void ended_place(const struct capture_engine *e, struct capture *c)
{
    uint64_t wall_ns = clock_realtime_ns(), now_ns = clock_monotonic_ns();
    uint64_t left_ns = c->deadline_ns > wall_ns ? c->deadline_ns - wall_ns : 0;
    uint64_t most_ns = c->deadline_ns > c->created_ns ? c->deadline_ns - c->created_ns : 0;
    if (c->status == CAPTURE_RUNNING && left_ns < e->settings.deadline_ms * 1000000u)
        left_ns = e->settings.deadline_ms * 1000000u;
    uint64_t ago_ns = wall_ns > c->finished_ns ? wall_ns - c->finished_ns : 0;
    c->due_ns = now_ns + (left_ns < most_ns ? left_ns : most_ns);
    c->over_ns = now_ns - ago_ns; /* wraps where that was before the boot: differences are right */
    if (c->status == CAPTURE_RUNNING)
        capture_set_due(c, c->due_ns);
}

static int row_load(void *context, const struct catalog_capture *row)
{
    struct load *load = context;
    control_assert_locked(load->e->control);
    struct capture *c = capture_new(load->e, &row->id);
    if (c == NULL) {
        load->status = SKEIN_NO_MEMORY;
        return 1;
    }
    c->incident = row->incident;
    c->created_ns = row->created_ns;
    c->at_ns = row->at_ns;
    c->pre_ms = row->pre_ms;
    c->post_ms = row->post_ms;
    c->deadline_ns = row->deadline_ns;
    c->finished_ns = row->finished_ns;
    c->stopped = row->stopped;
    c->own = row->own;
    c->ttl_ms = row->ttl_ms;
    c->expires_ns = row->expires_ns;
    c->min_targets = row->min_targets;
    c->max_targets = row->max_targets;
    c->stream_ms = row->stream_ms;
    c->known_from_ns = row->known_from_ns;
    c->groups = row->groups;
    c->pin = row->pin;
    c->rank = row->rank;
    snprintf(c->holder, sizeof c->holder, "%s", row->holder);
    c->kind = capture_kind_parse(row->kind);
    c->status = capture_status_parse(row->status);
    ended_place(load->e, c);
    if (c->status == CAPTURE_RUNNING)
        c->finished_ns = 0;
    else if (c->finished_ns == 0) /* this program never writes such a row */
        c->finished_ns = clock_realtime_ns();
    c->selector = strdup(row->selector);
    snprintf(c->trigger, sizeof c->trigger, "%s", row->trigger);
    snprintf(c->rule, sizeof c->rule, "%s", row->rule);
    snprintf(c->trigger_process, sizeof c->trigger_process, "%s", row->process);
    snprintf(c->reason, sizeof c->reason, "%s", row->reason);
    c->wish = wish_load(row->listing);
    load->capture = c;
    load->unlisted = row->listing[0] == '\0';
    return 0;
}

/* {"sent":ns,…}; what cannot be read is not shown. */
static void times_load(struct capture_target *t, const char *text)
{
    char error[64];
    struct json_reader r = {{0}};
    cJSON *times = text[0] != '\0' ? json_parse(text, strlen(text), error, sizeof error) : NULL;
    for (int s = 0; s < TARGET_STATUS_COUNT && times != NULL; s++)
        t->entered_ns[s] = json_u64(&r, times, "", target_status_text((enum target_status)s),
                                    JSON_OPTIONAL, 0, 0, INT64_MAX);
    cJSON_Delete(times);
}

/* The report stays text until all rows are read: to look into the index from within a row of the
 * catalog would lock two databases at once. */
static int target_load(void *context, const struct catalog_target *row)
{
    struct load *load = context;
    char error[256];
    control_assert_locked(load->e->control);
    struct capture_target *t = calloc(1, sizeof *t);
    if (t == NULL) {
        load->status = SKEIN_NO_MEMORY;
        return 1;
    }
    t->process = row->process;
    t->own = row->own;
    t->agent = row->agent;
    t->updated_ns = row->updated_ns;
    t->pid = row->pid;
    t->status = target_status_parse(row->status);
    if (capture_target_insert(load->capture, t) != SKEIN_OK) {
        free(t);
        load->status = SKEIN_NO_MEMORY;
        return 1;
    }
    snprintf(t->host, sizeof t->host, "%s", row->host);
    snprintf(t->service, sizeof t->service, "%s", row->service);
    snprintf(t->labels, sizeof t->labels, "%s", row->labels);
    snprintf(t->exe, sizeof t->exe, "%s", row->exe);
    snprintf(t->reason, sizeof t->reason, "%s", row->reason);
    times_load(t, row->times);
    if (row->report[0] != '\0')
        t->report = json_parse(row->report, strlen(row->report), error, sizeof error);
    return 0;
}

static void lost_load(void *context, const struct catalog_lost *lost)
{
    const struct load *load = context;
    control_assert_locked(load->e->control);
    struct capture_target *t = capture_target_find(load->capture, &lost->process);
    if (t != NULL)
        target_counted(t, lost);
}

/* Rows come from a file, and may be wrong: an ended capture has no target that is still open. */
static void loaded_mend(struct capture_engine *e, struct capture *c) CONTROL_LOCKED
{
    for (size_t i = 0; c->status != CAPTURE_RUNNING && i < c->target_count; i++) {
        struct capture_target *t = c->targets[i];
        if (target_is_final(t->status))
            continue;
        target_enter(c, t, TARGET_FAILED);
        snprintf(t->reason, sizeof t->reason, "the stored state contradicts itself");
        target_touch(e, c, t);
    }
}

/* Brings targets up to what the index knows: partitions may have been stored and acknowledged just
 * before the collector died. */
static void loaded_catch_up(struct capture_engine *e, struct capture *c) CONTROL_LOCKED
{
    loaded_mend(e, c);
    for (size_t i = 0; i < c->target_count; i++) {
        struct capture_target *t = c->targets[i];
        cJSON *report = t->report;
        t->report = NULL;
        int taken = report != NULL ? target_take_facts(e, c, t, report) : SKEIN_OK;
        t->list_save = SAVE_NOTHING; /* its ranges stand beside the report */
        if (taken != SKEIN_OK)
            log_warn("captures", "a stored report cannot be counted", "host", t->host, "error",
                     skein_status_text(taken), NULL);
        /* A complete target stays so, even if its partitions have been lost since. */
        if (taken == SKEIN_OK && target_is_stored(t->status) && t->stored_count < t->facts.listed) {
            log_warn("captures", "partitions of a complete target are gone", "host", t->host, NULL);
            target_enter(c, t, TARGET_EXPIRED);
            snprintf(t->reason, sizeof t->reason, "partitions that were stored are gone");
            target_touch(e, c, t);
        } else if (t->status == TARGET_UPLOADING && t->report == NULL) {
            target_enter(c, t, TARGET_FAILED);
            snprintf(t->reason, sizeof t->reason, "the stored report cannot be read");
        }
        target_weigh(c, t);
    }
    for (size_t i = 0; i < c->target_count; i++)
        target_check_stored(e, c, c->targets[i]);
    if (capture_take_sent(e, c) != SKEIN_OK)
        log_warn("captures", "what was sent for a capture and not listed is not known", NULL);
    capture_settle(e, c);
    capture_assert(c);
}

static int targets_load(struct capture_engine *e, struct capture *c, bool unlisted) CONTROL_LOCKED
{
    struct load load = {.e = e, .capture = c};
    int64_t rows = catalog_targets(e->catalog, &c->id, target_load, &load);
    if (rows > 0)
        rows = catalog_losses_of(e->catalog, &c->id, lost_load, &load);
    int status = rows < 0 ? (int)rows : load.status;
    if (status != SKEIN_OK) {
        capture_discard(e, c);
        return status;
    }
    c->behind = c->status == CAPTURE_RUNNING || unlisted;
    loaded_catch_up(e, c);
    return SKEIN_OK;
}

struct capture *capture_find(struct capture_engine *e, const struct capture_id *id)
{
    control_assert_locked(e->control);
    struct capture *c = idmap_get(&e->loaded, id->bytes);
    e->missing = SKEIN_NOT_FOUND;
    if (c != NULL || capture_is_going(e, id))
        return c; /* the rows of a refused one may be there still */
    struct load load = {.e = e};
    int64_t rows = catalog_capture(e->catalog, id, row_load, &load);
    int status = rows < 0 ? (int)rows : load.status;
    if (status == SKEIN_OK && load.capture != NULL)
        status = targets_load(e, load.capture, load.unlisted);
    else if (load.capture != NULL)
        capture_discard(e, load.capture);
    if (status != SKEIN_OK)
        e->missing = status;
    return status == SKEIN_OK ? load.capture : NULL;
}

int capture_missing(const struct capture_engine *e)
{
    control_assert_locked(e->control);
    return e->missing;
}

int capture_load_running(struct capture_engine *e)
{
    control_assert_locked(e->control);
    struct load load = {.e = e};
    struct catalog_capture_query running = {.status = "running", .to_ns = UINT64_MAX};
    int64_t rows = catalog_captures(e->catalog, &running, row_load, &load);
    if (rows < 0 || load.status != SKEIN_OK)
        return rows < 0 ? (int)rows : load.status;
    /* Loading targets takes captures out of the map where it fails: gather them first. */
    size_t at = 0, count = 0;
    struct capture **all = calloc(e->loaded.count + 1, sizeof(struct capture *));
    if (all == NULL)
        return SKEIN_NO_MEMORY;
    for (struct capture *c; (c = idmap_next(&e->loaded, &at)) != NULL;)
        all[count++] = c;
    int status = SKEIN_OK;
    for (size_t i = 0; i < count && status == SKEIN_OK; i++)
        status = targets_load(e, all[i], false);
    free(all);
    return status;
}

int capture_load_unlisted(struct capture_engine *e)
{
    control_assert_locked(e->control);
    struct capture_ids ids = {0};
    int64_t rows = catalog_unlisted(e->catalog, capture_ids_take, &ids);
    int status = rows < 0 ? (int)rows : ids.status;
    for (size_t i = 0; status == SKEIN_OK && i < ids.count; i++)
        (void)capture_find(e, &ids.items[i]);
    free(ids.items);
    return status;
}

/* ---- to rows ---- */

static void times_print(const struct capture_target *t, struct buf *out)
{
    cJSON *times = cJSON_CreateObject();
    for (int s = 0; s < TARGET_STATUS_COUNT; s++)
        if (t->entered_ns[s] != 0)
            json_add_u64(times, target_status_text((enum target_status)s), t->entered_ns[s]);
    json_print(times, out);
    cJSON_Delete(times);
    buf_put_u8(out, 0);
}

static uint64_t ledger_checksum(const struct capture *c, const struct catalog_account *account,
                                const struct ledger *ledger)
{
    const uint64_t who[] = {checksum64(c->id.bytes, sizeof c->id.bytes),
                            account->agent,
                            account->pid,
                            checksum64(account->host, strlen(account->host)),
                            checksum64(account->service, strlen(account->service)),
                            checksum64(account->labels, strlen(account->labels)),
                            checksum64(account->exe, strlen(account->exe)),
                            ledger->stored,
                            ledger->implausible,
                            ledger->open,
                            checksum64(ledger->events, sizeof ledger->events)};
    uint64_t sum = checksum64(who, sizeof who);
    for (size_t i = 0; i < ledger->gap_count; i++) {
        const struct loss_gap *gap = &ledger->gaps[i];
        const uint64_t more[] = {sum, gap->from_ns, gap->to_ns, gap->reason};
        sum = checksum64(more, sizeof more);
    }
    return sum;
}

/* Most changes of a target leave its ledger as it was. */
static void ledger_save(struct capture_engine *e, const struct capture *c, struct capture_target *t)
{
    struct ledger ledger = {.stored = 0};
    struct catalog_account account = {.process = t->process,
                                      .agent = t->agent,
                                      .pid = t->pid,
                                      .host = t->host,
                                      .service = t->service,
                                      .labels = t->labels,
                                      .exe = t->exe};
    target_count_losses(c, t, &ledger);
    catalog_refuse(e->catalog, ledger.status);
    t->rows_put = ledger_checksum(c, &account, &ledger);
    if (t->rows_put != t->rows_saved)
        catalog_put_ledger(e->catalog, &c->id, &account, &ledger);
    ledger_fini(&ledger);
}

/* What the capture has of the target's process, once for a report that lists something else. */
static void ranges_save(struct capture_engine *e, const struct capture *c,
                        const struct capture_target *t)
{
    struct partition_ranges ranges = {0};
    catalog_refuse(e->catalog, target_add_ranges(t, &ranges));
    partition_ranges_ready(&ranges);
    catalog_put_ranges(e->catalog, &c->id, &t->process, ranges.items, ranges.count);
    partition_ranges_fini(&ranges);
}

static void target_save(struct capture_engine *e, struct capture *c, struct capture_target *t)
{
    struct buf report = {0}, times = {0};
    metrics_add(capture_work_total, 1);
    if (t->report != NULL)
        json_print(t->report, &report);
    buf_put_u8(&report, 0);
    times_print(t, &times);
    struct catalog_target row = {.capture = c->id,
                                 .process = t->process,
                                 .own = t->own,
                                 .agent = t->agent,
                                 .updated_ns = t->updated_ns,
                                 .pid = t->pid,
                                 .host = t->host,
                                 .service = t->service,
                                 .labels = t->labels,
                                 .exe = t->exe,
                                 .status = target_status_text(t->status),
                                 .reason = t->reason,
                                 .report = (const char *)report.data,
                                 .times = (const char *)times.data};
    catalog_refuse(e->catalog, report.status);
    catalog_refuse(e->catalog, times.status);
    catalog_put_target(e->catalog, &row);
    ledger_save(e, c, t);
    if (saving_take(&t->list_save))
        ranges_save(e, c, t);
    buf_fini(&report);
    buf_fini(&times);
}

static void row_save(struct capture_engine *e, const struct capture *c)
{
    struct buf listing = {0};
    metrics_add(capture_work_total, c->target_count);
    cJSON *json = capture_json(c, NULL, false);
    json_print(json, &listing);
    cJSON_Delete(json);
    buf_put_u8(&listing, 0);
    struct catalog_capture row = {.id = c->id,
                                  .incident = c->incident,
                                  .created_ns = c->created_ns,
                                  .at_ns = c->at_ns,
                                  .pre_ms = c->pre_ms,
                                  .post_ms = c->post_ms,
                                  .deadline_ns = c->deadline_ns,
                                  .finished_ns = c->finished_ns,
                                  .stopped = c->stopped,
                                  .own = c->own,
                                  .status = capture_status_text(c->status),
                                  .kind = capture_kind_text(c->kind),
                                  .selector = c->selector != NULL ? c->selector : "",
                                  .trigger = c->trigger,
                                  .rule = c->rule,
                                  .process = c->trigger_process,
                                  .reason = c->reason,
                                  .listing = (const char *)listing.data,
                                  .ttl_ms = c->ttl_ms,
                                  .expires_ns = c->expires_ns,
                                  .min_targets = c->min_targets,
                                  .max_targets = c->max_targets,
                                  .stream_ms = c->stream_ms,
                                  .known_from_ns = c->known_from_ns,
                                  .groups = c->groups,
                                  .pin = c->pin,
                                  .rank = c->rank,
                                  .holder = c->holder,
                                  .bytes = capture_stored_bytes(c)};
    catalog_refuse(e->catalog, listing.status);
    catalog_put_capture(e->catalog, &row);
    buf_fini(&listing);
}

/* A change of one target must not cost a look at all of them, nor may the listing lack it for long:
 * the row is due when a good part of the targets has changed, or after LISTING_NS (capture_tick).
 * Up to 64 targets that is at once. A collector that dies before leaves the listing of a capture
 * that has ended without the last ones; those that run are listed anew at the start. */
static bool row_is_due(const struct capture *c)
{
    return c->row_save != SAVE_NOTHING || c->behind * 64 >= c->target_count;
}

static void loaded_capture_save(struct capture_engine *e, struct capture *c)
{
    if (row_is_due(c)) {
        c->row_save = SAVE_TAKEN;
        c->behind_taken = c->behind;
        row_save(e, c);
        if (c->once != NULL)
            catalog_put_once(e->catalog, c->once, c->once->at_ns - CAPTURE_ONCE_NS);
    }
    for (struct capture_target *t = c->dirty_targets; t != NULL; t = t->next_dirty) {
        (void)saving_take(&t->save);
        target_save(e, c, t);
    }
}

void capture_save(struct capture_engine *e)
{
    control_assert_locked(e->control);
    size_t at = 0;
    for (struct capture *c; (c = idmap_next(&e->loaded, &at)) != NULL;)
        if (saving_take(&c->save))
            loaded_capture_save(e, c);
    capture_save_damages(e);
    /* What is deleted goes last: a ledger that is kept of it is of now. */
    capture_save_deletions(e);
    capture_save_purges(e);
}

static void capture_save_end(struct capture *c, bool ok)
{
    if (ok && (c->row_save & SAVE_TAKEN) != 0) {
        c->behind -= c->behind_taken;
        c->listed_ns = clock_monotonic_ns();
    }
    saving_end(&c->row_save, ok);
    saving_end(&c->save, ok);
    for (struct capture_target **at = &c->dirty_targets, *t; (t = *at) != NULL;) {
        if (ok && (t->save & SAVE_TAKEN) != 0)
            t->rows_saved = t->rows_put;
        saving_end(&t->list_save, ok);
        saving_end(&t->save, ok);
        if (t->save == SAVE_NOTHING)
            *at = t->next_dirty;
        else
            at = &t->next_dirty;
    }
}

void capture_tell_touched(struct capture_engine *e, const struct capture_id *id)
{
    control_assert_locked(e->control);
    if (e->settings.touched != NULL)
        e->settings.touched(e->settings.context, id);
}

void capture_saved(struct capture_engine *e, bool ok)
{
    control_assert_locked(e->control);
    size_t at = 0;
    for (struct capture *c; (c = idmap_next(&e->loaded, &at)) != NULL;)
        if (c->save != SAVE_NOTHING) {
            capture_save_end(c, ok);
            if (ok && c->status != CAPTURE_RUNNING)
                capture_tell_touched(e, &c->id);
        }
    capture_saved_damages(e, ok);
    capture_saved_purges(e, ok);
    capture_saved_deletions(e, ok);
}
