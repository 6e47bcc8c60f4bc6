/* SPDX-License-Identifier: Apache-2.0
 *
 * skein rule: what makes the fleet take captures by itself. One thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli_api.h"
#include "cli_out.h"
#include "json.h"

#define RULE_FILE_MAX (UINT64_C(1) << 20)

struct options {
    const char *collector;
    bool json;
};

static const struct cli_option options[] = {CLI_OUTPUT(struct options),
                                            CLI_COLLECTOR(struct options), CLI_OPTIONS_END};

static void rule_path(struct buf *path, const char *name)
{
    buf_printf(path, "/rules/");
    api_segment(path, name);
}

/* ---- apply ---- */

/* "-" is standard input. CLI_OK with the text in *text, or CLI_FAILED. */
static int file_read(const char *name, struct buf *text)
{
    int fd = strcmp(name, "-") == 0 ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0 && text->len <= RULE_FILE_MAX) {
        uint8_t *room = buf_reserve(text, 65536);
        n = room ? read(fd, room, 65536) : -1;
        text->len += n > 0 ? (size_t)n : 0;
    }
    if (n < 0)
        say_error("%s: %s", name, strerror(errno));
    else if (text->len > RULE_FILE_MAX)
        say_error("%s: larger than 1 MiB, which no rule is", name);
    if (fd > STDIN_FILENO)
        close(fd);
    return n < 0 || text->len > RULE_FILE_MAX ? CLI_FAILED : CLI_OK;
}

static int apply_one(const struct api *api, const char *file, const cJSON *rule)
{
    const char *name = json_text_at(rule, "name");
    struct buf path = {0};
    cJSON *answer = NULL;
    if (!*name) {
        say_error("%s: name: is missing; it is the rule's name in the collector", file);
        return CLI_FAILED;
    }
    rule_path(&path, name);
    int status = api_call(api, "PUT", api_text(&path), rule, &answer);
    buf_fini(&path);
    cJSON_Delete(answer);
    if (status == CLI_OK)
        printf("rule %s is applied\n", name);
    else
        say_error("%s: rule %s is not applied", file, name);
    return status;
}

/* A file holds one rule, or an array of them. */
static int apply(const struct api *api, const char *file)
{
    struct buf text = {0};
    char error[256];
    int status = file_read(file, &text);
    cJSON *json = NULL;
    if (status == CLI_OK) {
        json = json_parse((const char *)text.data, text.len, error, sizeof(error));
        if (!json) {
            say_error("%s: %s", file, error);
            status = CLI_FAILED;
        }
    }
    if (cJSON_IsArray(json)) {
        const cJSON *rule;
        cJSON_ArrayForEach(rule, json)
        {
            if (apply_one(api, file, rule) != CLI_OK)
                status = CLI_FAILED;
        }
    } else if (json) {
        status = apply_one(api, file, json);
    }
    cJSON_Delete(json);
    buf_fini(&text);
    return status;
}

/* ---- ls, show, rm ---- */

static int list(const struct api *api, bool json)
{
    static const struct table_column columns[] = {{"NAME", "name", TABLE_TEXT},
                                                  {"ENABLED", "enabled", TABLE_TEXT},
                                                  {"SELECTOR", "selector", TABLE_TEXT},
                                                  {"AGENTS", "state.agents_current", TABLE_NUMBER},
                                                  {"OF", "state.agents", TABLE_NUMBER},
                                                  {"FIRED", "state.fired", TABLE_NUMBER},
                                                  {"SUPPRESSED", "state.suppressed", TABLE_NUMBER},
                                                  {"LAST FIRED", "state.last_fired", TABLE_TEXT},
                                                  {NULL, NULL, TABLE_TEXT}};
    cJSON *items = NULL;
    bool more;
    int status = api_list(api, "/rules", 0, &items, &more);
    if (status == CLI_OK)
        status = table_print(items, json, columns, "no rules; add one: skein rule apply FILE");
    cJSON_Delete(items);
    return status;
}

static int show_processes(const cJSON *rule)
{
    static const struct table_column columns[] = {{"HOST", "host", TABLE_TEXT},
                                                  {"PID", "pid", TABLE_NUMBER},
                                                  {"HEALTH", "health", TABLE_STATUS},
                                                  {"SINCE", "since", TABLE_TEXT},
                                                  {"CHECKS", "checks", TABLE_NUMBER},
                                                  {"FAILURES", "failures", TABLE_NUMBER},
                                                  {"FIRED", "fired", TABLE_NUMBER},
                                                  {"SUPPRESSED", "suppressed", TABLE_NUMBER},
                                                  {"LAST ERROR", "last_error", TABLE_TEXT},
                                                  {NULL, NULL, TABLE_TEXT}};
    const cJSON *processes = json_at(rule, "state.processes");
    if (!cJSON_IsArray(processes))
        return out_close();
    printf("\n");
    return table_print(processes, false, columns, "no process matches the rule");
}

static int show(const struct api *api, const char *name, bool json)
{
    struct buf path = {0};
    cJSON *rule = NULL;
    rule_path(&path, name);
    int status = api_call(api, "GET", api_text(&path), NULL, &rule);
    buf_fini(&path);
    if (status == CLI_OK && json) {
        status = json_show(rule);
    } else if (status == CLI_OK) {
        cJSON *wished = cJSON_Duplicate(rule, true);
        cJSON_DeleteItemFromObjectCaseSensitive(wished, "state");
        status = json_show(wished);
        cJSON_Delete(wished);
        if (status == CLI_OK)
            status = show_processes(rule);
    }
    cJSON_Delete(rule);
    return status;
}

static int drop(const struct api *api, const char *name)
{
    struct buf path = {0};
    rule_path(&path, name);
    int status = api_call(api, "DELETE", api_text(&path), NULL, NULL);
    buf_fini(&path);
    if (status == CLI_OK)
        printf("rule %s is removed\n", name);
    return status;
}

/* ---- the command ---- */

enum verb { VERB_APPLY, VERB_LS, VERB_SHOW, VERB_RM, VERB_COUNT };
static const char *const verbs[VERB_COUNT] = {"apply", "ls", "show", "rm"};

static int verb_find(const char *text)
{
    for (int v = 0; v < VERB_COUNT; v++)
        if (strcmp(verbs[v], text) == 0)
            return v;
    const char *near = cli_nearest(text, verbs, VERB_COUNT);
    say_error("rule: unknown action '%s'%s%s%s. See: skein rule --help", text,
              near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    return -1;
}

static int run(const void *values, int count, char **arguments)
{
    const struct options *o = values;
    struct api api;
    int verb = verb_find(arguments[0]);
    if (verb < 0)
        return CLI_USAGE;
    if ((verb == VERB_LS) != (count == 1)) {
        say_error("rule %s: %s", verbs[verb],
                  verb == VERB_LS      ? "takes no more arguments"
                  : verb == VERB_APPLY ? "which FILE?"
                                       : "which NAME?");
        return CLI_USAGE;
    }
    if (api_init(&api, o->collector) != CLI_OK)
        return CLI_FAILED;
    if (verb == VERB_LS)
        return list(&api, o->json);
    int status = CLI_OK;
    for (int i = 1; i < count; i++) {
        int one = verb == VERB_APPLY  ? apply(&api, arguments[i])
                  : verb == VERB_SHOW ? show(&api, arguments[i], o->json)
                                      : drop(&api, arguments[i]);
        status = one == CLI_OK ? status : one;
    }
    return status == CLI_OK ? out_close() : status;
}

const struct cli_command cmd_rule = {
    .name = "rule",
    .arguments = "apply FILE... | ls | show NAME... | rm NAME...",
    .summary = "Manage the rules that make the fleet capture by itself",
    .details = "  apply FILE   add or replace the rules in a JSON file (- is standard input)\n"
               "  ls           list rules and how often they fired\n"
               "  show NAME    a rule, and the health of each process that it watches\n"
               "  rm NAME      remove a rule\n",
    .examples = "  skein rule apply redis-ping.json\n"
                "  skein rule show redis-ping\n"
                "  skein rule ls -o json\n",
    .options = options,
    .options_bytes = sizeof(struct options),
    .min_arguments = 1,
    .max_arguments = CLI_ARGUMENTS_ANY,
    .run = run,
};
