/* SPDX-License-Identifier: Apache-2.0
 *
 * POST and PATCH of captures: requests checked and handed to the engine. No state; any thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "api_handlers.h"
#include "json.h"

#define HOUR_MS   UINT64_C(3600000)
#define TTL_MAX   (UINT64_C(10) * 366 * 24 * HOUR_MS)
#define STREAM_MS 1000 /* how often a stream is cut and uploaded */

/* ---- POST ---- */

static void absolute_window(struct json_reader *r, uint64_t from_ns, uint64_t to_ns,
                            struct capture_request *q)
{
    if (from_ns >= to_ns)
        json_fail(r, "", "from", "must lie before `to`");
    else if (to_ns - from_ns > 24 * HOUR_MS * 1000000u)
        json_fail(r, "", "from", "must not lie more than a day before `to`");
    q->at_ns = to_ns;
    q->pre_ms = (to_ns - from_ns + 999999u) / 1000000u; /* rounded up, so that nothing is missing */
    q->post_ms = 0;
}

static void snapshot_check(struct json_reader *r, const cJSON *body, struct capture_request *q)
{
    uint64_t from_ns, to_ns;
    bool from = api_body_moment(r, body, "from", &from_ns);
    bool to = api_body_moment(r, body, "to", &to_ns);
    api_body_moment(r, body, "at", &q->at_ns);
    q->pre_ms = json_u64(r, body, "", "pre_ms", JSON_OPTIONAL, 10000, 0, 24 * HOUR_MS);
    q->post_ms = json_u64(r, body, "", "post_ms", JSON_OPTIONAL, 0, 0, HOUR_MS);
    if (r->error[0] != '\0')
        return;
    bool relative = cJSON_HasObjectItem(body, "at") || cJSON_HasObjectItem(body, "pre_ms") ||
                    cJSON_HasObjectItem(body, "post_ms");
    if (from != to)
        json_fail(r, "", from ? "to" : "from", "is missing beside `%s`", from ? "from" : "to");
    else if (from && relative)
        json_fail(r, "", "from",
                  "a window is either `from` and `to`, or `at`, `pre_ms` and `post_ms`");
    else if (from)
        absolute_window(r, from_ns, to_ns, q);
    else if (q->pre_ms + q->post_ms == 0)
        json_fail(r, "", "pre_ms", "the window is empty; pre_ms or post_ms must be above 0");
}

/* Members that say how long a capture is belong to one kind each. */
static void members_check(struct json_reader *r, const cJSON *body, const char *kind)
{
    static const struct {
        const char *member, *kind;
    } windows[] = {{"at", "snapshot"},   {"pre_ms", "snapshot"}, {"post_ms", "snapshot"},
                   {"from", "snapshot"}, {"to", "snapshot"},     {"for_ms", "record"},
                   {"max_ms", "stream"}};
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++)
        if (cJSON_HasObjectItem(body, windows[i].member) && strcmp(windows[i].kind, kind) != 0)
            json_fail(r, "", windows[i].member, "is of kind %s alone", windows[i].kind);
}

static void kind_check(struct json_reader *r, const cJSON *body, struct capture_request *q)
{
    const char *kind = json_str(r, body, "", "kind", JSON_OPTIONAL, "snapshot", 16);
    if (r->error[0] != '\0')
        return;
    if (strcmp(kind, "snapshot") == 0) {
        snapshot_check(r, body, q);
    } else if (strcmp(kind, "record") == 0) {
        q->kind = CAPTURE_RECORD;
        q->post_ms = json_u64(r, body, "", "for_ms", JSON_REQUIRED, 0, 1, HOUR_MS);
    } else if (strcmp(kind, "stream") == 0) {
        q->kind = CAPTURE_STREAM;
        q->stream_ms = STREAM_MS;
        q->post_ms = json_u64(r, body, "", "max_ms", JSON_OPTIONAL, HOUR_MS, 1, 24 * HOUR_MS);
    } else {
        json_fail(r, "", "kind", "must be snapshot, record or stream");
        return;
    }
    members_check(r, body, kind);
}

static void request_check(struct json_reader *r, const cJSON *body, struct capture_request *q)
{
    static const char *const known[] = {
        "selector", "kind",   "at",     "pre_ms",      "post_ms",     "from",
        "to",       "for_ms", "max_ms", "deadline_ms", "min_targets", "max_targets",
        "reason",   "ttl_ms", "pin",    "threads",     "evidence",    NULL};
    json_known(r, body, "", known);
    q->selector_text = json_str(r, body, "", "selector", JSON_REQUIRED, "", 1024);
    q->reason = json_str(r, body, "", "reason", JSON_OPTIONAL, "", CONTROL_WORDS_MAX);
    q->deadline_ms = json_u64(r, body, "", "deadline_ms", JSON_OPTIONAL, 30000, 100, 24 * HOUR_MS);
    q->min_targets = json_u64(r, body, "", "min_targets", JSON_OPTIONAL, 1, 1, 1000000);
    q->max_targets = json_u64(r, body, "", "max_targets", JSON_OPTIONAL, 0, 1, 1000000);
    q->ttl_ms = json_u64(r, body, "", "ttl_ms", JSON_OPTIONAL, 0, 1000, TTL_MAX);
    q->pin = json_bool(r, body, "", "pin", false);
    evidence_wish_get(r, body, "", false, &q->wish);
    kind_check(r, body, q);
    if (q->max_targets > 0 && q->max_targets < q->min_targets)
        json_fail(r, "", "max_targets", "must not be below min_targets");
}

static void too_few(struct http_exchange *x, const struct capture_request *q)
{
    if (*q->matched == 0)
        http_problem_of(
            x, PROBLEM_NO_MATCH, "selector",
            "selector: no live process matches \"%s\"; GET /api/v1/processes lists them",
            q->selector_text);
    else
        http_problem_of(x, PROBLEM_NO_MATCH, "min_targets",
                        "min_targets: %" PRIu64 " processes match \"%s\", and %" PRIu64
                        " are asked for",
                        *q->matched, q->selector_text, q->min_targets);
}

static void capture_request_run(struct api_services *api, struct http_exchange *x,
                                struct capture_request *q)
{
    struct capture_id id;
    cJSON *json;
    char text[ID_TEXT_BYTES], location[96];
    uint64_t matched = 0;
    q->matched = &matched;
    int status = capture_create(api->captures, q, &id, &json);
    if (status == SKEIN_OK) {
        api_audit_id(x, "capture.create", id.bytes, status, q->selector_text);
        id_text(id.bytes, text);
        snprintf(location, sizeof location, "/api/v1/captures/%s", text);
        http_add_header(x, "Location", location);
        api_add_url(api, json);
        http_reply_json(x, 202, json);
    } else if (status == SKEIN_NOT_FOUND) {
        too_few(x, q);
    } else if (status == SKEIN_FULL) {
        http_problem(x, 507, NULL,
                     "the collector's disk is nearly full and the capture was not begun; delete "
                     "captures, or make room (GET /api/v1/storage says how much is free)");
    } else if (status == SKEIN_REFUSED) {
        api_no_pin(x);
    } else if (q->once == NULL || !api_once_refused(x, status)) {
        api_failed(x, status, "the capture could not be saved and was not begun");
    }
    q->matched = NULL;
}

void api_captures_post(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    struct json_reader r = {{0}};
    struct capture_request q = {.within = http_principal(x)->selector,
                                .asker = http_principal(x)->name};
    struct capture_once once = {0};
    struct selector *selector = NULL;
    char error[256], both[API_SELECTOR_BYTES];
    cJSON *body = http_body_json(x);
    if (body == NULL)
        return;
    request_check(&r, body, &q);
    if (r.error[0] == '\0' &&
        api_confine(x, q.selector_text, &selector, both, error, sizeof error) != SKEIN_OK)
        snprintf(r.error, sizeof r.error, "%s", error); /* it names the selector */
    q.selector = selector;
    q.selector_text = both;
    if (r.error[0] != '\0')
        api_invalid(x, r.error);
    else if (api_once(x, body, "", &once)) {
        q.once = once.key != NULL ? &once : NULL;
        capture_request_run(api, x, &q);
    }
    selector_free(&selector);
    cJSON_Delete(body);
}

/* ---- PATCH ---- */

struct patch {
    struct capture_change change; /* its text is the body's */
    uint64_t ttl_ms;
    bool pin;
};

/* False: an answer was given. */
static bool patch_read(struct http_exchange *x, const cJSON *body, struct patch *p)
{
    static const char *const known[] = {"ttl_ms", "pin", "reason", NULL};
    struct json_reader r = {{0}};
    json_known(&r, body, "", known);
    bool forever = cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(body, "ttl_ms"));
    p->ttl_ms = forever ? 0 : json_u64(&r, body, "", "ttl_ms", JSON_OPTIONAL, 0, 1000, TTL_MAX);
    p->pin = json_bool(&r, body, "", "pin", false);
    p->change.reason = json_str(&r, body, "", "reason", JSON_OPTIONAL, NULL, CONTROL_WORDS_MAX);
    p->change.ttl_ms = cJSON_HasObjectItem(body, "ttl_ms") ? &p->ttl_ms : NULL;
    p->change.pin = cJSON_HasObjectItem(body, "pin") ? &p->pin : NULL;
    if (r.error[0] != '\0')
        api_invalid(x, r.error);
    return r.error[0] == '\0';
}

static void patch_reply(const struct api_services *api, struct http_exchange *x, bool incident,
                        cJSON *json)
{
    cJSON *capture;
    if (!incident) {
        api_add_url(api, json);
        http_reply_json(x, 200, json);
        return;
    }
    cJSON_ArrayForEach(capture, json)
        api_add_url(api, capture);
    api_reply_items(x, json, NULL);
}

void api_captures_patch(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    struct patch p;
    struct capture_id id;
    struct capture_ids ids = {0};
    bool incident;
    cJSON *json;
    if (!api_captures_id(x, &id, &incident))
        return;
    cJSON *body = http_body_json(x);
    if (body == NULL)
        return;
    if (patch_read(x, body, &p)) {
        int status = capture_change(api->captures, &id, incident, http_principal(x)->selector,
                                    &p.change, &ids, &json);
        api_audit_captures(x, "capture.update", &id, incident, &ids, status, p.change.reason);
        if (status == SKEIN_OK)
            patch_reply(api, x, incident, json);
        else
            api_no_change(x, status, "the change could not be saved");
    }
    free(ids.items);
    cJSON_Delete(body);
}
