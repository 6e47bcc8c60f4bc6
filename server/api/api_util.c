/* SPDX-License-Identifier: Apache-2.0
 *
 * What the handlers share: parameters, cursors, failures, pieces of JSON. No state; any thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "checksum.h"
#include "clock.h"
#include "digits.h"
#include "json.h"
#include "log.h"

#define HOUR_NS (UINT64_C(3600) * 1000000000)

static bool number_parse(const char *text, uint64_t max, uint64_t *out)
{
    return digits_take(&text, out) && *text == '\0' && *out <= max;
}

bool api_query_number(struct http_exchange *x, const char *name, size_t most, size_t *number)
{
    const char *text = http_query(x, name);
    uint64_t v;
    if (text == NULL)
        return true;
    if (!number_parse(text, most, &v) || v == 0) {
        http_problem(x, 400, name, "must be a whole number from 1 to %zu", most);
        return false;
    }
    *number = (size_t)v;
    return true;
}

bool api_limit(struct http_exchange *x, size_t *limit)
{
    *limit = API_LIMIT_DEFAULT;
    return api_query_number(x, "limit", API_LIMIT_MAX, limit);
}

bool api_query_time(struct http_exchange *x, const char *name, uint64_t otherwise, uint64_t *ns)
{
    const char *text = http_query(x, name);
    *ns = otherwise;
    if (text == NULL || number_parse(text, INT64_MAX, ns) || clock_parse(text, ns) == SKEIN_OK)
        return true;
    http_problem(x, 400, name, "must be a time as 2026-11-21T09:40:00Z, or nanoseconds since 1970");
    return false;
}

/* Both as asked; `to` is UINT64_MAX where it is not. */
static bool window_take(struct http_exchange *x, const char *from, const char *to,
                        uint64_t *from_ns, uint64_t *to_ns)
{
    if (!api_query_time(x, from, 0, from_ns) || !api_query_time(x, to, UINT64_MAX, to_ns))
        return false;
    if (*from_ns <= *to_ns)
        return true;
    http_problem(x, 400, to, "must not be before %s", from);
    return false;
}

bool api_window(struct http_exchange *x, uint64_t *from_ns, uint64_t *to_ns)
{
    return window_take(x, "from", "to", from_ns, to_ns);
}

bool api_times(struct http_exchange *x, const char *from, const char *to, uint64_t *from_ns,
               uint64_t *to_ns)
{
    if (!window_take(x, from, to, from_ns, to_ns))
        return false;
    if (http_query(x, to) == NULL)
        *to_ns = 0;
    else if (*to_ns == 0)
        *to_ns = 1; /* 1970 is a time, too */
    return true;
}

int api_confine(const struct http_exchange *x, const char *text, struct selector **selector,
                char out[API_SELECTOR_BYTES], char *error, size_t error_bytes)
{
    char alone[160] = "";
    const char *own = http_principal(x)->selector_text;
    *selector = NULL;
    out[0] = '\0';
    if (text == NULL && own[0] == '\0')
        return SKEIN_OK;
    if (text != NULL && strlen(text) > API_SELECTOR_BYTES - PRINCIPAL_SELECTOR_BYTES - 2) {
        snprintf(error, error_bytes, "selector: is too long");
        return SKEIN_INVALID;
    }
    /* Checked alone first: what is no selector must not become one by what is appended. */
    if (text != NULL && selector_new(text, selector, error, error_bytes) != SKEIN_OK)
        return SKEIN_INVALID;
    selector_free(selector);
    size_t blank = text != NULL ? strspn(text, " ") : 0;
    bool any = text != NULL && text[blank] != '\0';
    snprintf(out, API_SELECTOR_BYTES, "%s%s%s", any ? text : "", any && own[0] != '\0' ? "," : "",
             own);
    if (selector_new(out, selector, alone, sizeof alone) == SKEIN_OK)
        return SKEIN_OK;
    snprintf(error, error_bytes, "selector: with what the token is confined to: %s", alone);
    return SKEIN_INVALID;
}

bool api_selector(struct http_exchange *x, struct selector **selector, char out[API_SELECTOR_BYTES])
{
    char error[256] = "", both[API_SELECTOR_BYTES];
    int status = api_confine(x, http_query(x, "selector"), selector, out != NULL ? out : both,
                             error, sizeof error);
    if (status != SKEIN_OK)
        http_problem(x, 400, "selector", "%s", error);
    return status == SKEIN_OK;
}

bool api_once(struct http_exchange *x, const cJSON *body, const char *what,
              struct capture_once *once)
{
    const char *key = http_header(x, "Idempotency-Key");
    if (key == NULL)
        return true;
    size_t n = strlen(key);
    bool valid = n > 0 && n <= 128;
    for (size_t i = 0; i < n && valid; i++)
        valid = key[i] > ' ' && key[i] < 0x7f;
    if (!valid) {
        http_problem(x, 400, "Idempotency-Key", "must be 1 to 128 visible ASCII characters");
        return false;
    }
    struct buf text = {0};
    json_print(body, &text);
    buf_put(&text, what, strlen(what));
    *once = (struct capture_once){http_principal(x)->name, key, checksum64(text.data, text.len)};
    bool printed = text.status == SKEIN_OK;
    buf_fini(&text);
    if (!printed)
        api_failed(x, SKEIN_NO_MEMORY, "the request cannot be remembered and was not begun");
    return printed;
}

bool api_once_refused(struct http_exchange *x, int status)
{
    if (status == SKEIN_EXISTS)
        http_problem_of(x, PROBLEM_KEY_REUSED, "Idempotency-Key",
                        "Idempotency-Key: it came with another request within the last 24 hours");
    else if (status == SKEIN_CLOSED)
        http_problem_of(
            x, PROBLEM_KEY_ENDED, "Idempotency-Key",
            "Idempotency-Key: the capture that it began has been deleted; use a new key");
    return status == SKEIN_EXISTS || status == SKEIN_CLOSED;
}

bool api_body_time(struct json_reader *r, const cJSON *body, const char *key, uint64_t *ns)
{
    const char *text = json_str(r, body, "", key, JSON_OPTIONAL, NULL, 64);
    if (text == NULL || r->error[0] != '\0')
        return false;
    if (clock_parse(text, ns) != SKEIN_OK)
        json_fail(r, "", key, "must be a time as 2026-11-21T09:40:00Z");
    return r->error[0] == '\0';
}

bool api_body_moment(struct json_reader *r, const cJSON *body, const char *key, uint64_t *ns)
{
    if (!api_body_time(r, body, key, ns))
        return false;
    if (*ns == 0)
        json_fail(r, "", key, "must be a time as 2026-11-21T09:40:00Z");
    else if (*ns > clock_realtime_ns() + HOUR_NS)
        json_fail(r, "", key, "must not be more than an hour ahead");
    return r->error[0] == '\0';
}

bool api_query_id(struct http_exchange *x, const char *name, uint8_t id[16], bool *given)
{
    const char *text = http_query(x, name);
    *given = text != NULL;
    if (text == NULL || id_parse(text, id) == SKEIN_OK)
        return true;
    http_problem(x, 400, name, "must be 32 hex digits");
    return false;
}

void api_bad_cursor(struct http_exchange *x)
{
    http_problem(x, 400, "cursor", "is none that this collector has given; begin without a cursor");
}

bool api_cursor_parse(const char *text, uint64_t *number, const char **rest)
{
    if (!digits_take(&text, number) || *number > INT64_MAX || *text != '-')
        return false;
    *rest = text + 1;
    return true;
}

bool api_cursor(struct http_exchange *x, bool *given, uint64_t *number, const char **rest)
{
    const char *text = http_query(x, "cursor");
    *given = text != NULL;
    if (text == NULL || api_cursor_parse(text, number, rest))
        return true;
    api_bad_cursor(x);
    return false;
}

bool api_path_id(struct http_exchange *x, const char *what, uint8_t id[16])
{
    if (id_parse(http_part(x, 0), id) == SKEIN_OK)
        return true;
    http_problem(x, 404, NULL, "no %s %.64s: its id has 32 hex digits", what, http_part(x, 0));
    return false;
}

void api_reply_items(struct http_exchange *x, cJSON *items, const char *next_cursor)
{
    cJSON *json = cJSON_CreateObject();
    if (json == NULL) {
        cJSON_Delete(items);
        return;
    }
    cJSON_AddItemToObject(json, "items", items);
    if (next_cursor != NULL)
        cJSON_AddStringToObject(json, "next_cursor", next_cursor);
    http_reply_json(x, 200, json);
}

void api_invalid(struct http_exchange *x, const char *error)
{
    char field[128];
    const char *colon = strstr(error, ": ");
    size_t n = colon != NULL ? (size_t)(colon - error) : 0;
    if (n == 0 || n >= sizeof field) {
        http_problem(x, 422, NULL, "%s", error);
        return;
    }
    memcpy(field, error, n);
    field[n] = '\0';
    http_problem(x, 422, field, "%s", error);
}

void api_failed(struct http_exchange *x, int status, const char *what)
{
    log_error("http", what, "error", skein_status_text(status), NULL);
    http_problem(x, status == SKEIN_CORRUPT ? 500 : 503, NULL, "%s: %s", what,
                 skein_status_text(status));
}

void api_add_labels(cJSON *to, const char *key, const char *labels)
{
    cJSON *object = cJSON_AddObjectToObject(to, key);
    char name[CONTROL_LABELS_MAX + 1];
    while (object != NULL && *labels != '\0') {
        size_t n = strcspn(labels, ",");
        const char *equals = memchr(labels, '=', n);
        if (equals != NULL && n < sizeof name) {
            memcpy(name, labels, n);
            name[n] = '\0';
            name[equals - labels] = '\0';
            cJSON_DeleteItemFromObjectCaseSensitive(object, name);
            cJSON_AddStringToObject(object, name, name + (equals - labels) + 1);
        }
        labels += n;
        labels += *labels == ',';
    }
}

bool api_page_begin(struct http_exchange *x, struct api_page *page)
{
    memset(page, 0, sizeof *page);
    page->after = http_query(x, "cursor");
    if (!api_limit(x, &page->limit))
        return false;
    page->items = cJSON_CreateArray();
    return true;
}

bool api_page_wants(struct api_page *page, const char *key)
{
    if (page->after != NULL && strcmp(key, page->after) <= 0)
        return false;
    page->more = page->count == page->limit;
    if (page->more)
        return false;
    (void)snprintf(page->last, sizeof page->last, "%s", key);
    page->count++;
    return true;
}

void api_page_reply(struct http_exchange *x, struct api_page *page, int64_t status,
                    const char *words)
{
    if (status < 0) {
        cJSON_Delete(page->items);
        api_failed(x, (int)status, words);
        return;
    }
    api_reply_items(x, page->items, page->more ? page->last : NULL);
}
