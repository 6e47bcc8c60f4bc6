/* SPDX-License-Identifier: Apache-2.0
 *
 * The collector's named things over HTTP. No state; one thread.
 */
#include "cli_resource.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "json.h"

#define FILE_MAX (UINT64_C(1) << 20) /* more than a collector takes */

const struct cli_option resource_options[] = {
    CLI_OUTPUT(struct resource_options), CLI_COLLECTOR(struct resource_options), CLI_OPTIONS_END};

int resource_each(const struct resource *r, struct cli_collector collector, bool json,
                  resource_fn *fn, const struct cli_call *call)
{
    struct api api;
    int status = api_init(&api, collector);
    if (status != CLI_OK)
        return status;
    for (int i = 0; i < call->count; i++) {
        int one = fn(&api, r, call->arguments[i], json);
        status = status == CLI_OK ? one : status;
    }
    return status;
}

int resource_run(const struct cli_call *call)
{
    const struct resource_action *action = call->command->context;
    const struct resource_options *o = call->options;
    return resource_each(action->resource, o->collector, o->json, action->fn, call);
}

/* ---- reading ---- */

int listing_show(const struct api *api, struct buf *path, const struct listing *listing)
{
    cJSON *items = NULL;
    bool more = false;
    int status = api_list(api, text_of(path), listing->limit, &items, &more);
    if (status == CLI_OK)
        status = table_print(items, listing->json, listing->columns, listing->empty);
    if (status == CLI_OK && more)
        say_warning("there are more; --limit 0 lists all");
    cJSON_Delete(items);
    buf_fini(path);
    return status;
}

int resource_list(const struct cli_call *call)
{
    const struct resource *r = call->command->context;
    const struct resource_options *o = call->options;
    struct api api;
    struct buf path = {0};
    int status = api_init(&api, o->collector);
    if (status != CLI_OK)
        return status;
    buf_printf(&path, "%s", r->folder);
    return listing_show(&api, &path, &(struct listing){r->columns, r->empty, 0, o->json});
}

static void path_put(struct buf *path, const struct resource *r, const char *name)
{
    buf_printf(path, "%s/", r->folder);
    api_segment(path, name);
}

int resource_get(const struct api *api, const struct resource *r, const char *name,
                 const char *rest, cJSON **answer)
{
    struct buf path = {0};
    path_put(&path, r, name);
    buf_printf(&path, "%s", rest);
    int status = api_call(api, "GET", text_of(&path), NULL, answer);
    buf_fini(&path);
    if (status == CLI_OK && !cJSON_IsObject(*answer)) {
        say_error("collector %s answers without a %s", api->collector, r->noun);
        cJSON_Delete(*answer);
        *answer = NULL;
        return CLI_FAILED;
    }
    return status;
}

int resource_matches(const struct api *api, const struct resource *r, const char *name, bool json)
{
    static const struct table_column columns[] = {
        {"SERVICE", "service", TABLE_TEXT}, {"HOST", "host", TABLE_TEXT},
        {"PID", "pid", TABLE_NUMBER},       {"STATUS", "status", TABLE_STATUS},
        {"PROCESS", "process", TABLE_ID},   {NULL, NULL, TABLE_TEXT}};
    cJSON *answer = NULL;
    int status = resource_get(api, r, name, "/matches", &answer);
    if (status == CLI_OK && json) {
        status = json_show(answer);
    } else if (status == CLI_OK) {
        const cJSON *items = json_at(answer, "items");
        uint64_t matches = json_u64_at(answer, "matches");
        status = table_print(items, false, columns, "nobody matches now");
        if (status == CLI_OK && (uint64_t)cJSON_GetArraySize(items) < matches)
            say_warning("these are the first of %" PRIu64, matches);
    }
    cJSON_Delete(answer);
    return status;
}

int resource_show(const cJSON *answer)
{
    cJSON *wished = cJSON_Duplicate(answer, true);
    cJSON_DeleteItemFromObjectCaseSensitive(wished, "state");
    int status = json_show(wished);
    cJSON_Delete(wished);
    printf("\n");
    return status;
}

/* ---- changing ---- */

int resource_said(const struct resource *r, const char *name, const char *result, bool json)
{
    if (!json) {
        printf("%s ", r->noun);
        safe_print(name);
        printf(" is %s\n", result);
        return out_close();
    }
    cJSON *said = cJSON_CreateObject();
    cJSON_AddStringToObject(said, r->noun, name);
    cJSON_AddStringToObject(said, "result", result);
    int status = json_show(said);
    cJSON_Delete(said);
    return status;
}

int resource_remove(const struct api *api, const struct resource *r, const char *name,
                    const char *result, bool json)
{
    struct buf path = {0};
    path_put(&path, r, name);
    int status = api_call(api, "DELETE", text_of(&path), NULL, NULL);
    buf_fini(&path);
    return status == CLI_OK ? resource_said(r, name, result, json) : status;
}

int resource_delete(const struct api *api, const struct resource *r, const char *name, bool json)
{
    return resource_remove(api, r, name, "deleted", json);
}

int resource_revoke(const struct api *api, const struct resource *r, const char *name, bool json)
{
    return resource_remove(api, r, name, "revoked", json);
}

int resource_create_secret(const struct resource *r, struct cli_collector collector, bool json,
                           cJSON *body, const struct cli_number *expires, const char *key)
{
    struct api api;
    cJSON *made = NULL;
    if (expires->given)
        json_add_time(body, "expires", clock_realtime_ns() + expires->value);
    int status = api_init(&api, collector);
    if (status == CLI_OK)
        status = api_call(&api, "POST", r->folder, body, &made);
    if (status == CLI_OK && json) {
        status = json_show(made);
    } else if (status == CLI_OK) {
        fprintf(stderr, "%s %s, shown this once:\n", r->noun, json_text_at(made, key));
        printf("%s\n", json_text_at(made, "secret"));
        status = out_close();
    }
    cJSON_Delete(body);
    cJSON_Delete(made);
    return status;
}

/* "-" is standard input. CLI_OK with the text in *text, or CLI_FAILED. */
static int file_read(const char *name, struct buf *text)
{
    int fd = strcmp(name, "-") == 0 ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0 && text->len <= FILE_MAX) {
        uint8_t *room = buf_reserve(text, 65536);
        n = room != NULL ? read(fd, room, 65536) : -1;
        text->len += n > 0 ? (size_t)n : 0;
    }
    if (n < 0)
        say_error("%s: %s", name, strerror(errno));
    else if (text->len > FILE_MAX)
        say_error("%s: larger than 1 MiB, which a collector does not take", name);
    if (fd > STDIN_FILENO)
        close(fd);
    return n < 0 || text->len > FILE_MAX ? CLI_FAILED : CLI_OK;
}

static int file_apply(const struct api *api, const struct resource *r, const char *file,
                      const cJSON *one, bool json)
{
    const char *name = json_text_at(one, "name");
    struct buf path = {0};
    if (!*name) {
        say_error("%s: name: is missing; it is the %s's name in the collector", file, r->noun);
        return CLI_FAILED;
    }
    path_put(&path, r, name);
    int status = api_call(api, "PUT", text_of(&path), one, NULL);
    buf_fini(&path);
    if (status == CLI_OK)
        return resource_said(r, name, "applied", json);
    say_error("%s: %s %s is not applied", file, r->noun, name);
    return status;
}

int resource_read(const char *file, cJSON **json)
{
    struct buf text = {0};
    char error[256];
    int status = file_read(file, &text);
    *json = NULL;
    if (status == CLI_OK) {
        *json = json_parse((const char *)text.data, text.len, error, sizeof error);
        if (*json == NULL) {
            say_error("%s: %s", file, error);
            status = CLI_FAILED;
        }
    }
    buf_fini(&text);
    return status;
}

int resource_apply(const struct api *api, const struct resource *r, const char *file, bool json)
{
    cJSON *all = NULL;
    int status = resource_read(file, &all);
    if (status != CLI_OK)
        return status;
    const cJSON *one = cJSON_IsArray(all) ? all->child : all;
    for (; one != NULL; one = one->next) {
        int applied = file_apply(api, r, file, one, json);
        status = status == CLI_OK ? applied : status;
    }
    cJSON_Delete(all);
    return status;
}
