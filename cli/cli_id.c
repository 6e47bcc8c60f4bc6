/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns what the beginning of an id means: the one thing whose id begins so. One thread.
 */
#include "cli_id.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli_out.h"

#define ID_DIGITS    32
#define AGENT_DIGITS 16

/* What has ids: how it is called, and where the collector lists it. */
struct kind {
    const char *noun, *folder, *list;
    size_t digits;
    bool by_cursor; /* listed in the order of ids, from behind a cursor that is one */
};

bool id_begins(const char *text, size_t digits)
{
    size_t n = strlen(text);
    return n >= CLI_ID_DIGITS && n <= digits && text[strspn(text, "0123456789abcdefABCDEF")] == 0;
}

static int id_say_none(const struct kind *kind, const char *text)
{
    say_error("'%s' is no %s id: %zu hex digits or the first few, at least %d; `%s` lists them",
              text, kind->noun, kind->digits, CLI_ID_DIGITS, kind->list);
    return CLI_USAGE;
}

int id_find_in(const cJSON *items, const char *key, const char *noun, const char *text,
               char out[CLI_ID_BYTES])
{
    const cJSON *item;
    size_t found = 0;
    struct buf several = {0};
    cJSON_ArrayForEach(item, items) {
        const char *id = json_text_at(item, key);
        if (strncasecmp(id, text, strlen(text)) != 0)
            continue;
        if (found > 0 && strcmp(id, out) == 0)
            continue; /* the same one again */
        shown_put_between(&several, found > 0 ? ", " : "", id, "");
        if (found++ == 0)
            snprintf(out, CLI_ID_BYTES, "%s", id);
    }
    if (found == 0)
        say_error("no %s has an id that begins with %s", noun, text);
    else if (found > 1)
        say_error("several %s ids begin with %s: %s; type more digits", noun, text,
                  text_of(&several));
    buf_fini(&several);
    return found == 1 ? CLI_OK : found == 0 ? CLI_FAILED : CLI_USAGE;
}

/* The id right before the first that begins so; none is before 000…0. */
static bool cursor_before(const char *text, size_t digits, char out[CLI_ID_BYTES])
{
    memset(out, '0', digits);
    out[digits] = 0;
    memcpy(out, text, strlen(text));
    size_t at = digits;
    while (at > 0 && out[at - 1] == '0')
        out[--at] = 'f';
    if (at == 0)
        return false;
    out[at - 1] = out[at - 1] == 'a' ? '9' : (char)(out[at - 1] - 1);
    return true;
}

static int id_find(const struct api *api, const struct kind *kind, const char *text,
                   char out[CLI_ID_BYTES])
{
    char low[CLI_ID_BYTES], cursor[CLI_ID_BYTES];
    struct buf path = {0};
    cJSON *page = NULL;
    if (!id_begins(text, kind->digits))
        return id_say_none(kind, text);
    for (size_t i = 0; i <= strlen(text); i++)
        low[i] = (char)tolower((unsigned char)text[i]);
    snprintf(out, CLI_ID_BYTES, "%s", low);
    if (strlen(low) == kind->digits)
        return CLI_OK;
    buf_printf(&path, "%s", kind->folder);
    if (!kind->by_cursor)
        api_query(&path, "id", low);
    else if (cursor_before(low, kind->digits, cursor))
        api_query(&path, "cursor", cursor);
    api_query(&path, "limit", "3");
    int status = api_call(api, "GET", text_of(&path), NULL, &page);
    buf_fini(&path);
    if (status == CLI_OK)
        status = id_find_in(json_at(page, "items"), kind->noun, kind->noun, low, out);
    cJSON_Delete(page);
    return status;
}

int capture_id_find(const struct api *api, const char *text, char out[CLI_ID_BYTES])
{
    static const struct kind captures = {"capture", "/captures", "skein captures", ID_DIGITS,
                                         false};
    return id_find(api, &captures, text, out);
}

int incident_id_find(const struct api *api, const char *text, char out[CLI_ID_BYTES])
{
    struct buf path = {0};
    cJSON *page = NULL;
    int status = capture_id_find(api, text, out);
    if (status != CLI_OK)
        return status;
    buf_printf(&path, "/captures");
    api_query(&path, "id", out);
    status = api_call(api, "GET", text_of(&path), NULL, &page);
    buf_fini(&path);
    const cJSON *items = json_at(page, "items");
    const char *incident = items != NULL ? json_text_at(items->child, "incident") : "";
    if (status == CLI_OK && strlen(incident) == ID_DIGITS)
        snprintf(out, CLI_ID_BYTES, "%s", incident);
    cJSON_Delete(page);
    return status;
}

int agent_id_find(const struct api *api, const char *text, char out[CLI_ID_BYTES])
{
    static const struct kind agents = {"agent", "/agents", "skein agents", AGENT_DIGITS, true};
    return id_find(api, &agents, text, out);
}
