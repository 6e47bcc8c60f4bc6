/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks a rule as people send it (docs/api.md) and writes it in its full form. Pure; any thread;
 * hostile input expected.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "rules.h"

#define NAME_MAX_BYTES 63
#define WORD_MAX_BYTES 4096
#define COMMAND_WORDS  64
#define HOUR_MS        UINT64_C(3600000)

bool rule_name_valid(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || n > NAME_MAX_BYTES || strchr("._-", name[0]) != NULL)
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

static void fail(struct json_reader *r, const char *path, const char *words)
{
    if (r->error[0] == '\0')
        snprintf(r->error, sizeof r->error, "%s: %s", path, words);
}

static void copy_text(struct json_reader *r, const cJSON *from, const char *path, const char *key,
                      bool required, cJSON *to)
{
    const char *text = json_str(r, from, path, key, required, NULL, WORD_MAX_BYTES);
    if (text != NULL)
        cJSON_AddStringToObject(to, key, text);
}

static void copy_number(struct json_reader *r, const cJSON *from, const char *path, const char *key,
                        uint64_t otherwise, uint64_t min, uint64_t max, cJSON *to)
{
    json_add_u64(to, key, json_u64(r, from, path, key, JSON_OPTIONAL, otherwise, min, max));
}

static void check_exec(struct json_reader *r, const cJSON *from, cJSON *to)
{
    static const char path[] = "when.health.exec";
    static const char *const known[] = {"command", "expect", NULL};
    json_known(r, from, path, known);
    const cJSON *command = json_array(r, from, path, "command", JSON_REQUIRED), *word;
    int words = cJSON_GetArraySize(command);
    if (command != NULL && (words < 1 || words > COMMAND_WORDS))
        fail(r, "when.health.exec.command", "must hold 1 to 64 words");
    cJSON *copy = cJSON_AddArrayToObject(to, "command");
    cJSON_ArrayForEach(word, command)
    {
        if (!cJSON_IsString(word) || strlen(word->valuestring) > WORD_MAX_BYTES)
            fail(r, "when.health.exec.command", "must hold text only, at most 4096 bytes a word");
        else
            cJSON_AddItemToArray(copy, cJSON_CreateString(word->valuestring));
    }
    word = cJSON_GetArrayItem(command, 0);
    if (word != NULL && cJSON_IsString(word) && word->valuestring[0] == '\0')
        fail(r, "when.health.exec.command", "must begin with the program's name");
    copy_text(r, from, path, "expect", JSON_OPTIONAL, to);
}

static void check_http(struct json_reader *r, const cJSON *from, cJSON *to)
{
    static const char path[] = "when.health.http";
    static const char *const known[] = {"url", "status", NULL};
    json_known(r, from, path, known);
    const char *url = json_str(r, from, path, "url", JSON_REQUIRED, "", WORD_MAX_BYTES);
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        fail(r, "when.health.http.url", "must begin with http:// or https://");
    cJSON_AddStringToObject(to, "url", url);
    copy_number(r, from, path, "status", 200, 100, 599, to);
}

static void check_tcp(struct json_reader *r, const cJSON *from, cJSON *to)
{
    static const char path[] = "when.health.tcp";
    static const char *const known[] = {"address", NULL};
    json_known(r, from, path, known);
    const char *address = json_str(r, from, path, "address", JSON_REQUIRED, "", 255);
    const char *colon = strrchr(address, ':');
    unsigned long port = colon != NULL ? strtoul(colon + 1, NULL, 10) : 0;
    bool digits = colon != NULL && strspn(colon + 1, "0123456789") == strlen(colon + 1);
    bool holder = colon != NULL && strchr(colon, '{') != NULL; /* "{pid}" is filled in later */
    if (colon == NULL || colon == address || (!holder && (!digits || port < 1 || port > 65535)))
        fail(r, "when.health.tcp.address", "must be HOST:PORT");
    cJSON_AddStringToObject(to, "address", address);
}

static void check_unix(struct json_reader *r, const cJSON *from, cJSON *to)
{
    static const char path[] = "when.health.unix";
    static const char *const known[] = {"path", NULL};
    json_known(r, from, path, known);
    const char *file = json_str(r, from, path, "path", JSON_REQUIRED, "", 107);
    if (file[0] != '/')
        fail(r, "when.health.unix.path", "must be an absolute path");
    cJSON_AddStringToObject(to, "path", file);
}

static void check_health(struct json_reader *r, const cJSON *from, cJSON *to)
{
    static const char path[] = "when.health";
    static const char *const known[] = {"every_ms", "timeout_ms", "failures", "exec",
                                        "http",     "tcp",        "unix",     NULL};
    static const struct {
        const char *name;
        void (*check)(struct json_reader *, const cJSON *, cJSON *);
    } kinds[] = {
        {"exec", check_exec}, {"http", check_http}, {"tcp", check_tcp}, {"unix", check_unix}};
    unsigned found = 0;
    json_known(r, from, path, known);
    copy_number(r, from, path, "every_ms", 1000, 100, 24 * HOUR_MS, to);
    copy_number(r, from, path, "timeout_ms", 500, 10, HOUR_MS, to);
    copy_number(r, from, path, "failures", 1, 1, 1000, to);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const cJSON *o = json_object(r, from, path, kinds[i].name, JSON_OPTIONAL);
        if (o == NULL)
            continue;
        found++;
        kinds[i].check(r, o, cJSON_AddObjectToObject(to, kinds[i].name));
    }
    if (found != 1)
        fail(r, path, "must hold exactly one of exec, http, tcp, unix");
}

static void check_when(struct json_reader *r, const cJSON *json, cJSON *rule)
{
    static const char *const known[] = {"health", NULL};
    const cJSON *when = json_object(r, json, "", "when", JSON_REQUIRED);
    if (when == NULL)
        return;
    json_known(r, when, "when", known);
    const cJSON *health = json_object(r, when, "when", "health", JSON_REQUIRED);
    cJSON *copy = cJSON_AddObjectToObject(rule, "when");
    if (health != NULL)
        check_health(r, health, cJSON_AddObjectToObject(copy, "health"));
}

static void check_rest(struct json_reader *r, const cJSON *json, cJSON *rule)
{
    static const char *const capture_keys[] = {"pre_ms", "post_ms", NULL};
    static const char *const limit_keys[] = {"cooldown_ms", NULL};
    static const cJSON empty = {.type = cJSON_Object};
    const cJSON *capture = json_object(r, json, "", "capture", JSON_OPTIONAL);
    const cJSON *limits = json_object(r, json, "", "limits", JSON_OPTIONAL);
    capture = capture != NULL ? capture : &empty;
    limits = limits != NULL ? limits : &empty;
    json_known(r, capture, "capture", capture_keys);
    json_known(r, limits, "limits", limit_keys);
    cJSON *to = cJSON_AddObjectToObject(rule, "capture");
    copy_number(r, capture, "capture", "pre_ms", 10000, 0, HOUR_MS, to);
    copy_number(r, capture, "capture", "post_ms", 0, 0, HOUR_MS, to);
    to = cJSON_AddObjectToObject(rule, "limits");
    copy_number(r, limits, "limits", "cooldown_ms", 60000, 0, 24 * HOUR_MS, to);
}

static void check_selector(struct json_reader *r, const char *text)
{
    struct selector *selector = NULL;
    char error[160];
    if (r->error[0] != '\0')
        return;
    if (selector_new(text, &selector, error, sizeof error) != SKEIN_OK)
        fail(r, "selector", error);
    selector_free(&selector);
}

cJSON *rule_check(const char *name, const cJSON *json, char *error, size_t error_bytes)
{
    static const char *const known[] = {"name",    "description", "selector", "enabled", "when",
                                        "capture", "limits",      "state",    NULL};
    struct json_reader r = {{0}};
    cJSON *rule = cJSON_CreateObject();
    if (!rule_name_valid(name))
        fail(&r, "name", "must be 1 to 63 of a-z 0-9 . _ - and begin with a letter or digit");
    json_known(&r, json, "", known);
    const char *inside = json_str(&r, json, "", "name", JSON_OPTIONAL, name, NAME_MAX_BYTES);
    if (strcmp(inside, name) != 0)
        fail(&r, "name", "differs from the name in the path");
    cJSON_AddStringToObject(rule, "name", name);
    cJSON_AddStringToObject(rule, "description",
                            json_str(&r, json, "", "description", JSON_OPTIONAL, "", 1024));
    const char *selector = json_str(&r, json, "", "selector", JSON_REQUIRED, "", 1024);
    check_selector(&r, selector);
    cJSON_AddStringToObject(rule, "selector", selector);
    cJSON_AddBoolToObject(rule, "enabled", json_bool(&r, json, "", "enabled", true));
    check_when(&r, json, rule);
    check_rest(&r, json, rule);
    if (r.error[0] == '\0' && rule != NULL)
        return rule;
    snprintf(error, error_bytes, "%s", r.error[0] != '\0' ? r.error : "out of memory");
    cJSON_Delete(rule);
    return NULL;
}
