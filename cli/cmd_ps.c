/* SPDX-License-Identifier: Apache-2.0
 *
 * skein ps: the processes that the collector knows. One thread.
 */
#include <string.h>

#include "cli_resource.h"
#include "cmd.h"

struct options {
    struct cli_collector collector;
    const char *selector;
    bool json, all;
};

static const struct cli_option options[] = {
    CLI_SELECTOR(struct options),
    CLI_OPTION(CLI_FLAG, 'a', "all", NULL, struct options, all, "those that are gone, too"),
    CLI_OUTPUT(struct options), CLI_COLLECTOR(struct options), CLI_OPTIONS_END};

static const struct table_column columns[] = {
    {"SERVICE", "service", TABLE_TEXT},
    {"HOST", "host", TABLE_TEXT},
    {"PID", "pid", TABLE_NUMBER},
    {"TITLE", "title", TABLE_TEXT},
    {"STATUS", "status not_recorded", TABLE_STATUS},
    {"REACHES", "reach_ms", TABLE_MS},
    {"A SECOND", "bytes_per_s", TABLE_BYTES | TABLE_SPARE},
    {"LOST", "events_lost", TABLE_NUMBER},
    {"UPDATED", "age_ms", TABLE_AGO},
    {"PROCESS", "process", TABLE_ID},
    {"LABELS", "labels", TABLE_LABELS | TABLE_SPARE},
    {"EXE", "exe", TABLE_TEXT | TABLE_SPARE},
    {"MODE", "mode", TABLE_TEXT | TABLE_SPARE},
    {"RING", "ring_bytes", TABLE_BYTES | TABLE_SPARE},
    {"USED", "used_bytes", TABLE_BYTES | TABLE_SPARE},
    {"MEMORY", "ring_memory_bytes", TABLE_BYTES | TABLE_SPARE},
    {"WRAPPED", "wrapped", TABLE_NUMBER | TABLE_SPARE},
    {NULL, NULL, TABLE_TEXT}};

/* Says once of each host what its captures lack, and why. */
static void refused_say(const cJSON *items, const char *path, const char *what)
{
    const cJSON *item, *before;
    cJSON_ArrayForEach(item, items) {
        const char *why = json_text_at(item, path), *host = json_text_at(item, "host");
        if (why[0] == '\0')
            continue;
        cJSON_ArrayForEach(before, items) {
            if (before == item || (strcmp(json_text_at(before, "host"), host) == 0 &&
                                   json_text_at(before, path)[0] != '\0'))
                break;
        }
        if (before == item)
            say_warning("%s: captures have no %s: %s", host, what, why);
    }
}

static bool ring_is_alike(const cJSON *a, const cJSON *b)
{
    return strcmp(json_text_at(a, "ring_why"), json_text_at(b, "ring_why")) == 0 &&
           strcmp(json_text_at(a, "service"), json_text_at(b, "service")) == 0 &&
           strcmp(json_text_at(a, "host"), json_text_at(b, "host")) == 0;
}

/* Says once of each service and host which rings are not as was wished, and why. */
static void rings_say(const cJSON *items)
{
    const cJSON *item, *other;
    cJSON_ArrayForEach(item, items) {
        const char *why = json_text_at(item, "ring_why");
        size_t count = 0;
        if (why[0] == '\0')
            continue;
        cJSON_ArrayForEach(other, items) {
            if (other == item || ring_is_alike(other, item))
                break;
        }
        if (other != item)
            continue; /* said */
        for (; other != NULL; other = other->next)
            count += ring_is_alike(other, item);
        say_warning("%s on %s: %zu ring%s: %s", json_text_at(item, "service"),
                    json_text_at(item, "host"), count, count == 1 ? "" : "s", why);
    }
}

/* Says of whom not all is recorded, and what is. */
static void kinds_say(const cJSON *items)
{
    const cJSON *item;
    size_t watched = 0, go = 0;
    cJSON_ArrayForEach(item, items) {
        bool is_watched = strcmp(json_text_at(item, "not_recorded"), "watched") == 0;
        watched += is_watched;
        go += !is_watched && strcmp(json_text_at(item, "labels.runtime"), "go") == 0;
    }
    if (watched > 0)
        say_warning(
            "watched: %zu without a ring: what they do is not recorded; captures have their "
            "thread dumps, CPU samples, scheduling, vitals and files",
            watched);
    if (go > 0)
        say_warning("runtime=go: of what %zu Go program%s only the C side is recorded", go,
                    go == 1 ? " does" : "s do");
}

static int ps_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct api api;
    struct buf path = {0};
    int status = api_init(&api, o->collector);
    if (status != CLI_OK)
        return status;
    buf_printf(&path, "/processes");
    api_query(&path, "selector", o->selector);
    api_query(&path, "gone", o->all ? NULL : "false");
    api_query(&path, "fresh", "true");
    cJSON *items = NULL;
    bool more = false;
    status = api_list(&api, text_of(&path), 0, &items, &more);
    if (status == CLI_OK)
        status = table_print(items, o->json, columns,
                             o->selector != NULL
                                 ? "no process matches"
                                 : "no process is traced; start one: skein run -- PROGRAM");
    if (status == CLI_OK && !o->json) {
        kinds_say(items);
        rings_say(items);
        refused_say(items, "samples_refused", "CPU samples");
        refused_say(items, "refused.sched", "scheduling");
        refused_say(items, "refused.threads", "stacks in dumps");
    }
    cJSON_Delete(items);
    buf_fini(&path);
    return status;
}

const struct cli_command cmd_ps = {
    .name = "ps",
    .summary = "List the processes that are traced",
    .details =
        "Agents are asked for their lists. UPDATED says how old the figures of a line are: they are\n"
        "older than a second where an agent did not answer within one. STATUS also says why one is\n"
        "not recorded; 'watched' is a process without a ring, of which captures have what can be seen\n"
        "from outside (skein watch-process). A host whose agent may not take samples, scheduling or\n"
        "stacks is named behind the list, with what would allow it; so are rings that are smaller\n"
        "than wished, or get no more memory, with the reason.\n",
    .examples = "  skein ps\n"
                "  skein ps -l 'service=redis,zone in (a,b)'\n"
                "  skein ps -o json | jq -r '.[].process'\n",
    CLI_RUN(options, struct options, ps_run),
};
