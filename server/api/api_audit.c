/* SPDX-License-Identifier: Apache-2.0
 *
 * GET /audit, and what handlers tell the audit log. No state; any thread.
 */
#include <inttypes.h>
#include <stdio.h>

#include "api.h"
#include "api_handlers.h"
#include "json.h"

void api_audit(struct http_exchange *x, const char *action, const char *object, const char *result,
               const char *detail)
{
    struct api_services *api = http_context(x);
    struct audit_entry entry = {http_principal(x)->name,
                                http_address(x),
                                http_request_id(x),
                                action,
                                object,
                                result,
                                detail};
    audit_add(api->audit, &entry);
}

void api_audit_id(struct http_exchange *x, const char *action, const uint8_t id[16], int status,
                  const char *detail)
{
    char text[ID_TEXT_BYTES];
    id_text(id, text);
    api_audit(x, action, text, api_result(status), detail);
}

const char *api_result(int status)
{
    return status == SKEIN_OK ? "ok" : skein_status_text(status);
}

struct audit_page {
    cJSON *items;
    size_t limit, count;
    uint64_t next;
    bool more;
};

static void text_add(cJSON *json, const char *key, const char *text)
{
    if (text[0] != '\0')
        cJSON_AddStringToObject(json, key, text);
}

static int entry_take(void *context, const struct audit_row *row)
{
    struct audit_page *page = context;
    const struct audit_entry *e = &row->entry;
    if (page->count == page->limit) {
        page->more = true;
        return 1;
    }
    cJSON *json = cJSON_CreateObject();
    json_add_u64(json, "id", row->id);
    json_add_time(json, "time", row->time_ns);
    cJSON_AddStringToObject(json, "actor", e->actor);
    text_add(json, "address", e->address);
    text_add(json, "request", e->request);
    cJSON_AddStringToObject(json, "action", e->action);
    cJSON_AddStringToObject(json, "object", e->object);
    cJSON_AddStringToObject(json, "result", e->result);
    text_add(json, "detail", e->detail);
    cJSON_AddItemToArray(page->items, json);
    page->next = row->id;
    page->count++;
    return 0;
}

void api_audit_list(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    struct audit_page page = {.count = 0};
    struct audit_query q = {.actor = http_query(x, "actor"),
                            .action = http_query(x, "action"),
                            .object = http_query(x, "object")};
    const char *rest;
    char next[32];
    bool given;
    if (!api_limit(x, &page.limit) || !api_window(x, &q.from_ns, &q.to_ns) ||
        !api_cursor(x, &given, &q.before, &rest))
        return;
    if (!given)
        q.before = UINT64_MAX;
    q.limit = page.limit + 1;
    page.items = cJSON_CreateArray();
    int64_t rows = audit_list(api->audit, &q, entry_take, &page);
    if (rows < 0) {
        cJSON_Delete(page.items);
        api_failed(x, (int)rows, "the audit log cannot be read");
        return;
    }
    snprintf(next, sizeof next, "%" PRIu64 "-a", page.next);
    api_reply_items(x, page.items, page.more ? next : NULL);
}
