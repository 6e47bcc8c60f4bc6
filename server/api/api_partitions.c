/* SPDX-License-Identifier: Apache-2.0
 *
 * /partitions: rows of the index, bytes of the store, footers as JSON. No state; any thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_clock_errors.h"
#include "api_download.h"
#include "api_handlers.h"
#include "api_trace_id.h"
#include "capture_has.h"
#include "clock.h"
#include "idmap.h"
#include "json.h"
#include "partition.h"
#include "process_labels.h"
#include "trace_stream.h"

#define FOOTER_FIRST_BYTES (64u << 10)

static void no_partition(struct http_exchange *x)
{
    http_problem(x, 404, NULL, "no partition %.96s; GET /api/v1/partitions lists them",
                 http_part(x, 0));
}

/* ---- the listing ---- */

static cJSON *row_json(const struct partition_row *row)
{
    char key[PARTITION_KEY_TEXT_BYTES];
    cJSON *json = cJSON_CreateObject();
    partition_key_text(&row->record.key, key);
    cJSON_AddStringToObject(json, "partition", key);
    json_add_id(json, "process", row->record.key.process.bytes);
    json_add_u64(json, "epoch", row->record.key.epoch);
    json_add_u64(json, "sequence", row->record.key.sequence);
    if (!capture_id_is_zero(&row->record.capture))
        json_add_id(json, "capture", row->record.capture.bytes);
    json_add_agent(json, "agent", row->record.agent);
    cJSON_AddStringToObject(json, "host", row->host);
    cJSON_AddStringToObject(json, "service", row->service);
    cJSON_AddNumberToObject(json, "pid", row->pid);
    api_add_labels(json, "labels", row->labels);
    cJSON_AddStringToObject(json, "exe", row->exe);
    json_add_time(json, "from", row->from_ns);
    json_add_time(json, "to", row->to_ns);
    json_add_u64(json, "events", row->events);
    json_add_u64(json, "lost", row->lost);
    json_add_u64(json, "bytes", row->place.bytes);
    json_add_u64(json, "raw_bytes", row->raw_bytes);
    json_add_time(json, "received", row->record.received_ns);
    return json;
}

struct page {
    cJSON *items;
    size_t limit, count;
    bool more;
    char next[128];
    struct api_trace_id trace; /* what is asked for besides */
    struct idmap clock_errors; /* of the capture that is asked for */
    bool began;
    int status;
};

/* Whether the row is listed, as it may hold the trace that is asked for. */
static bool trace_look(struct page *page, const struct partition_row *row, cJSON **says)
{
    int answer = api_trace_id_look(&page->trace, row);
    if (answer < 0)
        page->status = answer;
    if (answer <= TRACE_ID_NONE)
        return false;
    *says = cJSON_CreateObject();
    cJSON_AddStringToObject(*says, "answer", answer == TRACE_ID_UNREAD ? "unread" : "perhaps");
    return true;
}

static int row_take(void *context, const struct partition_row *row)
{
    struct page *page = context;
    char key[PARTITION_KEY_TEXT_BYTES];
    cJSON *says = NULL;
    if (page->count == page->limit ||
        (page->trace.given && page->began && api_trace_id_is_over(&page->trace))) {
        page->more = true;
        return 1;
    }
    page->began = true;
    partition_key_text(&row->record.key, key);
    snprintf(page->next, sizeof page->next, "%" PRIu64 "-%s", row->to_ns, key);
    if (page->trace.given && !trace_look(page, row, &says))
        return page->status != SKEIN_OK;
    cJSON *json = row_json(row);
    api_clock_error_add(json, &page->clock_errors, &row->record.key.process);
    if (says != NULL)
        cJSON_AddItemToObject(json, "trace_id", says);
    cJSON_AddItemToArray(page->items, json);
    page->count++;
    return 0;
}

/* What a listing asks for. */
struct partitions_ask {
    struct api_services *api;
    struct partition_query query;
    struct page page;
    struct capture_id capture;
    struct process_uid process;
    struct selector *selector;
    bool has_capture;
};

static void partitions_ask_free(struct partitions_ask *ask)
{
    api_clock_errors_fini(&ask->page.clock_errors);
    selector_free(&ask->selector);
    free(ask);
}

static void partitions_answer(struct partitions_ask *ask, struct http_exchange *x)
{
    struct page *page = &ask->page;
    struct partition_ranges *ranges = NULL;
    int64_t rows = SKEIN_OK;
    page->items = cJSON_CreateArray();
    if (ask->has_capture)
        rows = capture_ranges(ask->api->captures, &ask->capture, 1, ask->query.process, &ranges);
    ask->query.ranges = ranges;
    if (rows == SKEIN_OK && ask->has_capture)
        rows = api_clock_errors(ask->api, &ask->capture, 1, &page->clock_errors);
    if (rows == SKEIN_OK)
        rows = index_query(ask->api->index, &ask->query, row_take, page);
    partition_ranges_unref(&ranges);
    if (rows == SKEIN_NOT_FOUND) /* the capture is not there, so it has nothing */
        rows = 0;
    if (rows >= 0 && page->status == SKEIN_OK) {
        api_trace_id_reply(x, page->items, page->more ? page->next : NULL, &page->trace);
        return;
    }
    cJSON_Delete(page->items);
    api_failed(x, rows < 0 ? (int)rows : page->status, "the partitions cannot be listed");
}

/* In its place among the exports: footers are read. */
static void partitions_aside(void *context, struct http_exchange *x)
{
    struct partitions_ask *ask = context;
    struct api_services *api = ask->api;
    api_trace_id_begin(&ask->page.trace, api);
    partitions_answer(ask, x);
    partitions_ask_free(ask);
    places_leave(api->exports, api_holder(x));
}

/* False: a 400 was given. */
static bool ask_take(struct partitions_ask *ask, struct http_exchange *x)
{
    struct partition_query *q = &ask->query;
    struct page *page = &ask->page;
    bool has_process;
    const char *rest = "";
    if (!api_limit(x, &page->limit) || !api_window(x, &q->from_ns, &q->to_ns) ||
        !api_query_id(x, "capture", ask->capture.bytes, &ask->has_capture) ||
        !api_query_id(x, "process", ask->process.bytes, &has_process) ||
        !api_trace_id_take(x, &page->trace) || !api_cursor(x, &q->after, &q->after_time, &rest))
        return false;
    if (q->after && partition_key_parse(rest, &q->after_key) != SKEIN_OK) {
        api_bad_cursor(x);
        return false;
    }
    if (!api_selector(x, &ask->selector, NULL))
        return false;
    q->process = has_process ? &ask->process : NULL;
    q->selector = ask->selector;
    q->limit = page->trace.given ? 0 : page->limit + 1;
    return true;
}

void api_partitions_list(void *context, struct http_exchange *x)
{
    struct partitions_ask *ask = calloc(1, sizeof *ask);
    if (ask == NULL)
        return;
    ask->api = context;
    bool taken = ask_take(ask, x);
    if (taken && ask->page.trace.given && api_read_aside(x, partitions_aside, ask))
        return;
    if (taken && !ask->page.trace.given)
        partitions_answer(ask, x);
    partitions_ask_free(ask);
}

int api_footer_read(struct api_services *api, const struct partition_row *row,
                    struct partition_footer *footer)
{
    struct store_place at = row->place, *place = &at;
    size_t need = place->bytes < FOOTER_FIRST_BYTES ? (size_t)place->bytes : FOOTER_FIRST_BYTES;
    for (;;) {
        size_t got = need;
        uint8_t *tail = malloc(got);
        if (tail == NULL)
            return SKEIN_NO_MEMORY;
        int status = index_read(api->index, &row->record.key, place, place->bytes - got, tail, got);
        if (status == SKEIN_OK)
            status = partition_footer_get(tail, got, footer, &need);
        free(tail);
        if (status != SKEIN_TRUNCATED)
            return status;
        if (need <= got || need > place->bytes)
            return SKEIN_CORRUPT;
    }
}

/* Whether the principal may see the partition of this footer. */
static bool sees_footer(const struct http_exchange *x, const struct partition_footer *f)
{
    struct process_labels labels = {f->service, f->host, f->exe,
                                    f->labels,  f->pid,  f->key.process.bytes};
    return process_labels_match(http_principal(x)->selector, &labels);
}

static bool sees_partition(struct api_services *api, const struct http_exchange *x,
                           const struct partition_key *key)
{
    struct partition_row row;
    struct partition_footer footer;
    if (http_principal(x)->selector == NULL)
        return true;
    if (index_find(api->index, key, &row) != 1 || api_footer_read(api, &row, &footer) != SKEIN_OK)
        return false;
    bool seen = sees_footer(x, &footer);
    partition_footer_free(&footer);
    return seen;
}

/* ---- bytes ---- */

void api_damaged(struct api_services *api, struct http_exchange *x, const struct partition_key *key,
                 const char *more)
{
    char text[PARTITION_KEY_TEXT_BYTES];
    struct partition_row row = {.place = {0}};
    partition_key_text(key, text);
    (void)index_find(api->index, key, &row);
    http_problem_of(x, PROBLEM_DAMAGED, NULL,
                    "partition %s is damaged on the collector's disk (segment %" PRIu64
                    " at byte %" PRIu64 ") and "
                    "is not served%s",
                    text, row.place.segment, row.place.offset, more);
}

/* place: the caller has one, which is left. */
static void partition_send(struct api_services *api, struct http_exchange *x, bool place)
{
    struct partition_key key;
    struct api_download download = {.type = "application/vnd.skein.trace", .place = place};
    int status = partition_key_parse(http_part(x, 0), &key);
    if (status == SKEIN_OK && !sees_partition(api, x, &key))
        status = SKEIN_NOT_FOUND;
    if (status == SKEIN_OK) {
        struct trace_stream_query query = {
            .partition = &key, .withhold = api_withhold(x), .damaged = &key};
        status = trace_stream_open(api->index, &query, &download.stream);
    }
    if (status == SKEIN_OK) {
        if (api_download_send(api, x, &download))
            api_audit(x, "partition.download", http_part(x, 0), "ok", NULL);
        return;
    }
    if (place)
        places_leave(api->exports, api_holder(x));
    if (status == SKEIN_NOT_FOUND || status == SKEIN_INVALID)
        no_partition(x);
    else if (status == SKEIN_CORRUPT)
        api_damaged(api, x, &key, "");
    else if (status == SKEIN_UNSUPPORTED)
        http_problem_of(x, PROBLEM_INTERNAL, NULL,
                        "what not everybody may know cannot be left out of it, so it is not given");
    else
        api_failed(x, status, "the partition cannot be read");
}

static void partition_aside(void *context, struct http_exchange *x)
{
    partition_send(context, x, true);
}

/* Evidence that is made anew is work: not on the threads that answer everybody. */
void api_partitions_get(void *context, struct http_exchange *x)
{
    const struct withhold withhold = api_withhold(x);
    if (withhold_any(&withhold))
        (void)api_read_aside(x, partition_aside, context);
    else
        partition_send(context, x, false);
}

/* ---- the footer ---- */

static void types_add(cJSON *json, const struct partition_footer *f)
{
    static const char *const classes[] = {"unknown", "instant", "range", "span",
                                          "counter", "log",     "stack"};
    cJSON *list = cJSON_AddArrayToObject(json, "types");
    for (size_t i = 0; i < f->type_count; i++) {
        cJSON *type = cJSON_CreateObject();
        uint8_t klass = f->types[i].klass;
        cJSON_AddStringToObject(type, "name", f->types[i].name);
        cJSON_AddStringToObject(type, "class",
                                classes[klass < sizeof classes / sizeof classes[0] ? klass : 0]);
        json_add_u64(type, "events", f->types[i].events);
        cJSON_AddItemToArray(list, type);
    }
}

static void blocks_add(cJSON *json, const struct partition_footer *f)
{
    cJSON *list = cJSON_AddArrayToObject(json, "blocks");
    for (size_t i = 0; i < f->block_count; i++) {
        const struct partition_block *b = &f->blocks[i];
        cJSON *block = cJSON_CreateObject();
        json_add_u64(block, "offset", b->offset);
        json_add_u64(block, "stored_bytes", b->stored_bytes);
        json_add_u64(block, "raw_bytes", b->raw_bytes);
        json_add_u64(block, "threads", b->threads);
        json_add_u64(block, "events", b->events);
        json_add_u64(block, "from_ticks", b->from_ticks);
        json_add_u64(block, "to_ticks", b->to_ticks);
        cJSON_AddItemToArray(list, block);
    }
    list = cJSON_AddArrayToObject(json, "losses");
    for (size_t i = 0; i < f->loss_count; i++) {
        const struct partition_loss *l = &f->losses[i];
        cJSON *loss = cJSON_CreateObject();
        if (l->thread != UINT32_MAX)
            cJSON_AddNumberToObject(loss, "thread", l->thread);
        cJSON_AddStringToObject(loss, "reason", partition_loss_text(l->reason));
        json_add_u64(loss, "events", l->events);
        json_add_u64(loss, "from_ticks", l->from_ticks);
        json_add_u64(loss, "to_ticks", l->to_ticks);
        cJSON_AddItemToArray(list, loss);
    }
}

/* Its times by the collector's clock. */
static cJSON *footer_json(const struct partition_footer *f, int64_t clock_offset_ns)
{
    char key[PARTITION_KEY_TEXT_BYTES];
    cJSON *json = cJSON_CreateObject();
    partition_key_text(&f->key, key);
    cJSON_AddStringToObject(json, "partition", key);
    json_add_id(json, "process", f->key.process.bytes);
    cJSON_AddStringToObject(json, "host", f->host);
    cJSON_AddStringToObject(json, "service", f->service);
    cJSON_AddNumberToObject(json, "pid", f->pid);
    api_add_labels(json, "labels", f->labels);
    cJSON_AddStringToObject(json, "exe", f->exe);
    json_add_time(json, "from", clock_shift_ns(f->from_ns, clock_offset_ns));
    json_add_time(json, "to", clock_shift_ns(f->to_ns, clock_offset_ns));
    cJSON *window = cJSON_AddObjectToObject(json, "window");
    json_add_time(window, "from", clock_shift_ns(f->window_from_ns, clock_offset_ns));
    json_add_time(window, "to", clock_shift_ns(f->window_to_ns, clock_offset_ns));
    json_add_u64(json, "bytes", f->partition_bytes);
    json_add_u64(json, "events", f->events);
    json_add_u64(json, "lost", f->lost);
    json_add_u64(json, "threads", f->threads);
    json_add_u64(json, "fixed_up", f->fixed_up);
    types_add(json, f);
    blocks_add(json, f);
    return json;
}

#define FOOTER_ROWS_SMALL 8192u /* of its lists, that are told on a thread of all */

static void footer_aside(void *context, struct http_exchange *x);

static void footer_reply(struct api_services *api, struct http_exchange *x, bool aside)
{
    struct partition_key key;
    struct partition_row row;
    struct partition_footer footer;
    if (partition_key_parse(http_part(x, 0), &key) != SKEIN_OK ||
        index_find(api->index, &key, &row) != 1) {
        no_partition(x);
        return;
    }
    int status = api_footer_read(api, &row, &footer);
    if (status != SKEIN_OK) {
        api_failed(x, status, "the footer cannot be read");
        return;
    }
    bool small = footer.type_count + footer.block_count + footer.loss_count <= FOOTER_ROWS_SMALL;
    if (!sees_footer(x, &footer))
        no_partition(x);
    else if (!small && !aside)
        (void)api_read_aside(x, footer_aside, api);
    else
        http_reply_json(x, 200, footer_json(&footer, row.clock_offset_ns));
    partition_footer_free(&footer);
}

static void footer_aside(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    footer_reply(api, x, true);
    places_leave(api->exports, api_holder(x));
}

void api_partitions_footer(void *context, struct http_exchange *x)
{
    footer_reply(context, x, false);
}
