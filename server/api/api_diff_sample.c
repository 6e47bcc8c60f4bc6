/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds a healthy sample of a service among what policies took: config-free, by the captures' rows and
 * the rules' history. No state; any thread; takes the control lock to ask whose service a process is.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_diff_int.h"
#include "array.h"
#include "catalog_capture.h"
#include "catalog_rules.h"
#include "process_labels.h"

#define SCAN_PAGE   200
#define SCAN_MAX    10000 /* captures that are looked at */
#define SAMPLES_MAX 50    /* of the service; the newest */
#define AROUND_NS   (UINT64_C(60) * 1000000000u)

struct window_row {
    struct capture_id id;
    uint64_t created_ns, from_ns, to_ns;
    bool sample;
};

struct firing {
    struct process_uid process;
    struct capture_id capture;
    uint64_t at_ns;
};

struct search {
    struct diff_request *r;
    const char *service;
    uint64_t before_ns;
    struct window_row rows[SCAN_PAGE];
    size_t row_count;
    struct firing *firings;
    size_t firing_count, firing_cap;
    bool firings_known, no_memory;
    unsigned looked_at, samples, unhealthy;
};

/* ---- samples ---- */

static int row_take(void *context, const struct catalog_capture *row)
{
    struct search *s = context;
    uint64_t pre_ns = row->pre_ms * 1000000u;
    s->rows[s->row_count++] = (struct window_row){
        .id = row->id,
        .created_ns = row->created_ns,
        .from_ns = pre_ns < row->at_ns ? row->at_ns - pre_ns : 0,
        .to_ns = row->at_ns + row->post_ms * 1000000u,
        .sample = strcmp(row->kind, "sample") == 0 && strcmp(row->status, "running") != 0,
    };
    return s->row_count == SCAN_PAGE;
}

struct targets {
    const char *service;
    const struct selector *within;
    struct buf *ids;
    size_t count;
};

/* Those of the service that have something. */
static int target_take(void *context, const struct catalog_target *t)
{
    struct targets *targets = context;
    struct process_labels labels = {t->service, t->host, t->exe,
                                    t->labels,  t->pid,  t->process.bytes};
    if (strcmp(t->service, targets->service) == 0 && strcmp(t->status, "complete") == 0 &&
        process_labels_match(targets->within, &labels))
        diff_ids_put(targets->ids, &targets->count, t->process.bytes);
    return 0;
}

/* ---- firings ---- */

static int firing_take(void *context, const struct catalog_history *row)
{
    struct search *s = context;
    s->no_memory = !array_grow(s->firings, s->firing_count + 1, &s->firing_cap);
    if (!s->no_memory)
        s->firings[s->firing_count++] = (struct firing){row->process, row->capture, row->at_ns};
    return s->no_memory;
}

/* The history keeps at most 100,000 rows. */
static int firings_load(struct search *s)
{
    static const char *const whats[] = {"fired", "joined", "suppressed"};
    for (size_t i = 0; i < sizeof whats / sizeof whats[0] && !s->firings_known; i++) {
        int64_t rows = catalog_history_since(s->r->api->catalog, whats[i], 0, firing_take, s);
        if (rows < 0 || s->no_memory)
            return rows < 0 ? (int)rows : SKEIN_NO_MEMORY;
    }
    s->firings_known = true;
    return SKEIN_OK;
}

struct match {
    const char *service;
    const struct process_uid *process; /* NULL: any */
    bool met, found;
};

static int target_match(void *context, const struct catalog_target *t)
{
    struct match *match = context;
    if (match->process != NULL && !process_uid_equal(match->process, &t->process))
        return 0;
    match->met = true;
    match->found |= strcmp(t->service, match->service) == 0;
    return 0;
}

/* Whether it was for a process of the service: by the fleet, else by its capture. Where neither knows,
 * it is taken as one. */
static bool firing_is_of(struct search *s, const struct firing *firing)
{
    struct api_services *api = s->r->api;
    const uint8_t zero[sizeof firing->process.bytes / 2] = {0};
    bool nobody = memcmp(firing->process.bytes, zero, sizeof zero) == 0;
    struct match match = {s->service, nobody ? NULL : &firing->process, false, false};
    control_lock(api->control);
    const struct fleet_process *process =
        nobody ? NULL : fleet_process_find(api->fleet, &firing->process);
    match.met = process != NULL;
    match.found = process != NULL && strcmp(process->service, s->service) == 0;
    control_unlock(api->control);
    if (!match.met && !capture_id_is_zero(&firing->capture))
        (void)catalog_targets(api->catalog, &firing->capture, target_match, &match);
    return match.found || !match.met;
}

static int is_healthy(struct search *s, const struct window_row *row, bool *healthy)
{
    uint64_t from_ns = row->from_ns > AROUND_NS ? row->from_ns - AROUND_NS : 0;
    int status = firings_load(s);
    *healthy = true;
    for (size_t i = 0; i < s->firing_count && *healthy && status == SKEIN_OK; i++) {
        const struct firing *firing = &s->firings[i];
        if (firing->at_ns >= from_ns && firing->at_ns <= row->to_ns + AROUND_NS)
            *healthy = !firing_is_of(s, firing);
    }
    return status;
}

/* ---- the search ---- */

/* 1: it is the one; 0; or a status. */
static int row_try(struct search *s, const struct window_row *row, struct buf *ids)
{
    struct targets targets = {s->service, http_principal(s->r->x)->selector, ids, 0};
    bool healthy;
    if (!row->sample || row->to_ns > s->before_ns)
        return 0;
    buf_clear(ids);
    int64_t rows = catalog_targets(s->r->api->catalog, &row->id, target_take, &targets);
    if (rows < 0 || targets.count == 0)
        return rows < 0 ? (int)rows : 0;
    s->samples++;
    int status = is_healthy(s, row, &healthy);
    s->unhealthy += status == SKEIN_OK && !healthy;
    return status == SKEIN_OK ? healthy : status;
}

static void why_put(const struct search *s, char why[DIFF_WHY_BYTES])
{
    if (s->samples == 0)
        snprintf(why, DIFF_WHY_BYTES,
                 "no policy's sample of %.64s is older than an hour (of the last %u captures)",
                 s->service, s->looked_at);
    else
        snprintf(why, DIFF_WHY_BYTES,
                 "in all of the last %u samples of %.64s, or within a minute of them, a rule fired "
                 "for it",
                 s->unhealthy, s->service);
}

static int search_run(struct search *s, struct capture_id *sample, struct buf *ids)
{
    struct catalog_capture_query query = {.to_ns = s->before_ns, .limit = SCAN_PAGE};
    while (s->looked_at < SCAN_MAX && s->samples < SAMPLES_MAX) {
        s->row_count = 0;
        int64_t rows = catalog_captures(s->r->api->catalog, &query, row_take, s);
        if (rows < 0)
            return (int)rows;
        for (size_t i = 0; i < s->row_count && s->samples < SAMPLES_MAX; i++) {
            int found = row_try(s, &s->rows[i], ids);
            s->looked_at++;
            *sample = s->rows[i].id;
            if (found != 0)
                return found > 0 ? SKEIN_OK : found;
        }
        if (s->row_count < SCAN_PAGE)
            break;
        query.before = true;
        query.before_created_ns = s->rows[s->row_count - 1].created_ns;
        query.before_id = s->rows[s->row_count - 1].id;
    }
    return SKEIN_NOT_FOUND;
}

int diff_sample_find(struct diff_request *r, const char *service, uint64_t before_ns,
                     struct capture_id *sample, struct buf *ids, char why[DIFF_WHY_BYTES])
{
    struct search *s = calloc(1, sizeof *s);
    if (s == NULL)
        return SKEIN_NO_MEMORY;
    s->r = r;
    s->service = service;
    s->before_ns = before_ns;
    int status = search_run(s, sample, ids);
    if (status == SKEIN_OK)
        status = ids->status;
    if (status == SKEIN_NOT_FOUND)
        why_put(s, why);
    free(s->firings);
    free(s);
    return status;
}
