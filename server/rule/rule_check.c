/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks a rule as people send it (docs/api.md) and writes it in its full form. Pure; any thread;
 * hostile input expected.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "evidence_kinds.h"
#include "rule_check.h"
#include "rules.h"

#define NAME_MAX_BYTES   63
#define HEADERS_MAX      16
#define HEADER_NAME_MAX  64
#define HEADER_VALUE_MAX 1024
#define HOUR_MS          UINT64_C(3600000)

static const cJSON empty = {.type = cJSON_Object};

bool rule_name_valid(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || n > NAME_MAX_BYTES || strchr("._-", name[0]) != NULL)
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

uint64_t rule_copy_number(struct json_reader *r, const cJSON *from, const char *path,
                          const char *key, uint64_t otherwise, uint64_t min, uint64_t max,
                          cJSON *to)
{
    uint64_t number = json_u64(r, from, path, key, JSON_OPTIONAL, otherwise, min, max);
    json_add_u64(to, key, number);
    return number;
}

static void selector_check(struct json_reader *r, const char *path, const char *text)
{
    struct selector *selector = NULL;
    char error[160];
    if (r->error[0] != '\0')
        return;
    if (selector_new(text, &selector, error, sizeof error) != SKEIN_OK)
        json_fail(r, "", path, "%s", error);
    selector_free(&selector);
}

void rule_check_evidence(struct json_reader *r, const cJSON *from, const char *path, cJSON *to)
{
    static const char *const members[] = {"threads", "evidence", NULL};
    struct evidence_wish wish;
    evidence_wish_get(r, from, path, false, &wish);
    json_members_copy(to, from, members);
}

static void capture_check(struct json_reader *r, const cJSON *json, cJSON *rule)
{
    static const char *const known[] = {"pre_ms",      "post_ms", "include",  "same_host",
                                        "deadline_ms", "threads", "evidence", NULL};
    const cJSON *capture = json_object(r, json, "", "capture", JSON_OPTIONAL);
    capture = capture != NULL ? capture : &empty;
    json_known(r, capture, "capture", known);
    cJSON *to = cJSON_AddObjectToObject(rule, "capture");
    uint64_t pre_ms = rule_copy_number(r, capture, "capture", "pre_ms", 10000, 0, HOUR_MS, to);
    uint64_t post_ms = rule_copy_number(r, capture, "capture", "post_ms", 0, 0, HOUR_MS, to);
    const char *include = json_str(r, capture, "capture", "include", JSON_OPTIONAL, NULL, 1024);
    if (include != NULL) {
        selector_check(r, "capture.include", include);
        cJSON_AddStringToObject(to, "include", include);
    }
    cJSON_AddBoolToObject(to, "same_host", json_bool(r, capture, "capture", "same_host", false));
    rule_copy_number(r, capture, "capture", "deadline_ms", 30000, 100, 24 * HOUR_MS, to);
    rule_check_evidence(r, capture, "capture", to);
    if (pre_ms + post_ms == 0)
        json_fail(r, "capture", "pre_ms", "the window is empty; pre_ms or post_ms must be above 0");
}

void rule_check_retain(struct json_reader *r, const cJSON *json, cJSON *rule)
{
    static const char *const known[] = {"ttl_ms", "pin", NULL};
    const cJSON *retain = json_object(r, json, "", "retain", JSON_OPTIONAL);
    if (retain == NULL)
        return;
    json_known(r, retain, "retain", known);
    cJSON *to = cJSON_AddObjectToObject(rule, "retain");
    if (cJSON_GetObjectItemCaseSensitive(retain, "ttl_ms") != NULL)
        rule_copy_number(r, retain, "retain", "ttl_ms", 0, 1000, UINT64_C(3660) * 24 * HOUR_MS, to);
    cJSON_AddBoolToObject(to, "pin", json_bool(r, retain, "retain", "pin", false));
}

static void limits_check(struct json_reader *r, const cJSON *json, cJSON *rule)
{
    static const char *const known[] = {"cooldown_ms", "firings",           "window_ms",
                                        "max_targets", "captures_per_hour", "bytes_per_hour",
                                        NULL};
    const cJSON *limits = json_object(r, json, "", "limits", JSON_OPTIONAL);
    limits = limits != NULL ? limits : &empty;
    json_known(r, limits, "limits", known);
    bool firings = cJSON_GetObjectItemCaseSensitive(limits, "firings") != NULL;
    cJSON *to = cJSON_AddObjectToObject(rule, "limits");
    rule_copy_number(r, limits, "limits", "cooldown_ms", 60000, 0, 24 * HOUR_MS, to);
    if (firings) {
        rule_copy_number(r, limits, "limits", "firings", 1, 1, RULE_GRANTS_MAX, to);
        rule_copy_number(r, limits, "limits", "window_ms", HOUR_MS, 1, 24 * HOUR_MS, to);
    } else if (cJSON_GetObjectItemCaseSensitive(limits, "window_ms") != NULL) {
        json_fail(r, "limits", "window_ms", "means nothing without limits.firings");
    }
    if (cJSON_GetObjectItemCaseSensitive(limits, "max_targets") != NULL)
        rule_copy_number(r, limits, "limits", "max_targets", 1, 1, 1000000, to);
    if (cJSON_GetObjectItemCaseSensitive(limits, "captures_per_hour") != NULL)
        rule_copy_number(r, limits, "limits", "captures_per_hour", 1, 1, RULE_GRANTS_MAX, to);
    if (cJSON_GetObjectItemCaseSensitive(limits, "bytes_per_hour") != NULL)
        rule_copy_number(r, limits, "limits", "bytes_per_hour", 1, 1, UINT64_MAX, to);
}

/* Whether the URL is one that may be posted to: of http or https, printable, without a user. */
static bool is_receiver(const char *url)
{
    size_t scheme = strncmp(url, "http://", 7) == 0 ? 7 : strncmp(url, "https://", 8) == 0 ? 8 : 0;
    size_t host = strcspn(url + scheme, "/?#");
    for (const char *p = url; *p != '\0'; p++)
        if (*p <= ' ' || *p == 0x7f)
            return false;
    return scheme > 0 && host > 0 && memchr(url + scheme, '@', host) == NULL;
}

/* Names that frame the request, or that we set. */
static bool is_reserved_header(const char *name)
{
    static const char *const reserved[] = {"host",           "connection",        "content-type",
                                           "content-length", "transfer-encoding", "expect",
                                           "skein-notice"};
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if (strcasecmp(name, reserved[i]) == 0)
            return true;
    return false;
}

static void header_check(struct json_reader *r, const cJSON *header, cJSON *to)
{
    static const char path[] = "notify.webhook.headers";
    static const char token[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";
    size_t n = strlen(header->string);
    if (n == 0 || n > HEADER_NAME_MAX || strspn(header->string, token) != n ||
        cJSON_GetObjectItem(to, header->string) != NULL)
        json_fail(r, "", path, "must have names of HTTP headers as keys, each once");
    else if (is_reserved_header(header->string))
        json_fail(r, "", path, "must not set what the request itself needs");
    else if (!cJSON_IsString(header) || strlen(header->valuestring) > HEADER_VALUE_MAX ||
             header->valuestring[strcspn(header->valuestring, "\r\n")] != '\0')
        json_fail(r, "", path, "must have text of one line as values, at most 1024 bytes");
    else
        cJSON_AddStringToObject(to, header->string, header->valuestring);
}

static void notify_check(struct json_reader *r, const cJSON *json, cJSON *rule)
{
    static const char *const known[] = {"webhook", NULL}, *const webhook_known[] = {
                                                              "url", "headers", NULL};
    const cJSON *notify = json_object(r, json, "", "notify", JSON_OPTIONAL), *header;
    if (notify == NULL)
        return;
    json_known(r, notify, "notify", known);
    const cJSON *webhook = json_object(r, notify, "notify", "webhook", JSON_REQUIRED);
    if (webhook == NULL)
        return;
    json_known(r, webhook, "notify.webhook", webhook_known);
    cJSON *to = cJSON_AddObjectToObject(cJSON_AddObjectToObject(rule, "notify"), "webhook");
    const char *url = json_str(r, webhook, "notify.webhook", "url", JSON_REQUIRED, "", 1024);
    if (!is_receiver(url))
        json_fail(r, "notify.webhook", "url",
                  "must begin with http:// or https:// and name a host, without a user");
    cJSON_AddStringToObject(to, "url", url);
    const cJSON *headers = json_object(r, webhook, "notify.webhook", "headers", JSON_OPTIONAL);
    if (headers == NULL)
        return;
    if (cJSON_GetArraySize(headers) > HEADERS_MAX)
        json_fail(r, "notify.webhook", "headers", "must hold at most 16 headers");
    to = cJSON_AddObjectToObject(to, "headers");
    cJSON_ArrayForEach(header, headers)
        header_check(r, header, to);
}

void rule_check_head(struct json_reader *r, const char *name, const cJSON *json, cJSON *rule)
{
    if (!rule_name_valid(name))
        json_fail(r, "", "name",
                  "must be 1 to 63 of a-z 0-9 . _ - and begin with a letter or digit");
    const char *inside = json_str(r, json, "", "name", JSON_OPTIONAL, name, NAME_MAX_BYTES);
    if (strcmp(inside, name) != 0)
        json_fail(r, "", "name", "differs from the name in the path");
    cJSON_AddStringToObject(rule, "name", name);
    cJSON_AddStringToObject(rule, "description",
                            json_str(r, json, "", "description", JSON_OPTIONAL, "", 1024));
    const char *selector = json_str(r, json, "", "selector", JSON_REQUIRED, "", 1024);
    selector_check(r, "selector", selector);
    cJSON_AddStringToObject(rule, "selector", selector);
    cJSON_AddBoolToObject(rule, "enabled", json_bool(r, json, "", "enabled", true));
}

cJSON *rule_check(const char *name, const cJSON *json, char *error, size_t error_bytes)
{
    static const char *const known[] = {"name",   "description", "selector", "enabled",
                                        "when",   "capture",     "limits",   "retain",
                                        "notify", "state",       NULL};
    struct json_reader r = {{0}};
    cJSON *rule = cJSON_CreateObject();
    json_known(&r, json, "", known);
    rule_check_head(&r, name, json, rule);
    rule_check_when(&r, json, rule);
    capture_check(&r, json, rule);
    limits_check(&r, json, rule);
    rule_check_retain(&r, json, rule);
    notify_check(&r, json, rule);
    if (r.error[0] == '\0' && rule != NULL)
        return rule;
    snprintf(error, error_bytes, "%s", r.error[0] != '\0' ? r.error : "out of memory");
    cJSON_Delete(rule);
    return NULL;
}
