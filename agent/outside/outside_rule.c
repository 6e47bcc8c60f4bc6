/* SPDX-License-Identifier: Apache-2.0
 *
 * Selectors of processes to watch; see outside_rule.h.
 */
#include "outside_rule.h"

#include <arpa/inet.h>
#include <fnmatch.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "selector.h"
#include "skein/status.h"

#define SERVICE_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/-"
#define DELETED            " (deleted)" /* what the kernel adds to a path whose file is gone */

bool outside_service_valid(const char *service)
{
    size_t bytes = strlen(service);
    return bytes > 0 && bytes < sizeof((struct outside_rule *)0)->service &&
           service[strspn(service, SERVICE_CHARACTERS)] == '\0';
}

/* ---- parse ---- */

struct word {
    const char *text;
    size_t bytes;
};

static struct word word_next(const char **at)
{
    *at += strspn(*at, " \t");
    struct word word = {*at, strcspn(*at, " \t")};
    *at += word.bytes;
    return word;
}

static bool text_set(char *to, size_t bytes, const char *from, size_t n)
{
    if (n == 0 || n >= bytes)
        return false;
    memcpy(to, from, n);
    to[n] = '\0';
    return true;
}

static bool port_set(uint16_t *port, const char *from, size_t n)
{
    char text[6], *end;
    if (!text_set(text, sizeof text, from, n) || text[strspn(text, "0123456789")] != '\0')
        return false;
    unsigned long value = strtoul(text, &end, 10);
    *port = (uint16_t)value;
    return value > 0 && value <= UINT16_MAX;
}

static bool label_add(struct outside_rule *rule, const char *from, size_t n)
{
    size_t used = strlen(rule->labels);
    char *at = rule->labels + used;
    if (used > 0 && used + 1 < sizeof rule->labels)
        *at++ = ',';
    return text_set(at, sizeof rule->labels - (size_t)(at - rule->labels), from, n) &&
           labels_valid(rule->labels);
}

const char *outside_loopback_read(const char *text, struct outside_loopback *out)
{
    char host[INET6_ADDRSTRLEN];
    bool six = text[0] == '[';
    size_t n = six ? strcspn(text, "]") : strspn(text, "0123456789.");
    size_t from = six ? 1 : 0;
    const char *colon = text + n + (text[n] == ']' ? 1 : 0);
    memset(out, 0, sizeof *out);
    if (n < from || n - from >= sizeof host || *colon != ':')
        return NULL;
    memcpy(host, text + from, n - from);
    host[n - from] = '\0';
    out->family = six ? AF_INET6 : AF_INET;
    if (inet_pton(out->family, host, out->address) != 1)
        return NULL;
    bool loopback = six ? memcmp(out->address, &in6addr_loopback, sizeof out->address) == 0
                        : out->address[0] == 127;
    size_t digits = strspn(colon + 1, "0123456789");
    return loopback && port_set(&out->port, colon + 1, digits) ? colon + 1 + digits : NULL;
}

static bool pprof_set(struct process_go *go, const char *from, size_t n)
{
    struct outside_loopback at;
    const char *rest = go->pprof[0] == '\0' && text_set(go->pprof, sizeof go->pprof, from, n)
                           ? outside_loopback_read(go->pprof, &at)
                           : NULL;
    return rest != NULL && *rest == '\0';
}

static bool flight_set(struct process_go *go, const char *from, size_t n)
{
    struct outside_loopback at;
    const char *rest = go->flight[0] == '\0' && text_set(go->flight, sizeof go->flight, from, n)
                           ? outside_loopback_read(go->flight, &at)
                           : NULL;
    if (rest == NULL || *rest != '/')
        return false;
    for (; *rest > ' ' && *rest < 0x7f && *rest != '#'; rest++)
        continue;
    return *rest == '\0';
}

/* NULL, or what is wrong. */
static const char *condition_take(struct outside_rule *rule, const struct word *word)
{
    const char *equals = memchr(word->text, '=', word->bytes);
    size_t key = equals != NULL ? (size_t)(equals - word->text) : word->bytes;
    const char *value = word->text + key + 1;
    size_t n = equals != NULL ? word->bytes - key - 1 : 0;
    if (key == 3 && memcmp(word->text, "exe", key) == 0)
        return rule->exe[0] == '\0' && text_set(rule->exe, sizeof rule->exe, value, n)
                   ? NULL
                   : "exe: must be one path or glob of at most 255 bytes";
    if (key == 6 && memcmp(word->text, "cgroup", key) == 0)
        return rule->cgroup[0] == '\0' && text_set(rule->cgroup, sizeof rule->cgroup, value, n) &&
                       (rule->cgroup[0] == '/' || rule->cgroup[0] == '*')
                   ? NULL
                   : "cgroup: must be one path or glob of at most 255 bytes that begins with / or *";
    if (key == 4 && memcmp(word->text, "port", key) == 0)
        return rule->port == 0 && port_set(&rule->port, value, n)
                   ? NULL
                   : "port: must be one number from 1 to 65535";
    if (key == 5 && memcmp(word->text, "label", key) == 0)
        return label_add(rule, value, n) ? NULL : "label: must be KEY=VALUE, 511 bytes in all";
    if (key == 8 && memcmp(word->text, "go_pprof", key) == 0)
        return pprof_set(&rule->go, value, n)
                   ? NULL
                   : "go_pprof: must be HOST:PORT of this host: 127.0.0.1:6060 or [::1]:6060";
    if (key == 9 && memcmp(word->text, "go_flight", key) == 0)
        return flight_set(&rule->go, value, n)
                   ? NULL
                   : "go_flight: must be HOST:PORT/PATH of this host: 127.0.0.1:6060/debug/flight";
    return "knows exe=, cgroup=, port=, label=, go_pprof= and go_flight= alone";
}

int outside_rule_parse(const char *text, struct outside_rule *rule, char *error, size_t error_bytes)
{
    struct outside_rule out = {.port = 0};
    const char *at = text, *why = NULL;
    struct word word = word_next(&at);
    if (!text_set(out.service, sizeof out.service, word.text, word.bytes) ||
        !outside_service_valid(out.service))
        why = "must begin with the service's name, of letters, digits and . _ / -";
    for (word = word_next(&at); why == NULL && word.bytes > 0; word = word_next(&at))
        why = condition_take(&out, &word);
    if (why == NULL && out.exe[0] == '\0' && out.cgroup[0] == '\0' && out.port == 0)
        why = "needs one of exe=, cgroup= and port=";
    if (why != NULL) {
        snprintf(error, error_bytes, "\"%.100s\": %s", text, why);
        return SKEIN_INVALID;
    }
    *rule = out;
    return SKEIN_OK;
}

int outside_rules_parse(const struct config_strs *texts, struct outside_rules *rules, char *error,
                        size_t error_bytes)
{
    *rules = (struct outside_rules){0};
    if (texts->count > OUTSIDE_RULES_MAX) {
        snprintf(error, error_bytes, "must have at most %d selectors", OUTSIDE_RULES_MAX);
        return SKEIN_INVALID;
    }
    struct outside_rule *items = calloc(texts->count + 1, sizeof *items);
    if (items == NULL) {
        snprintf(error, error_bytes, "out of memory");
        return SKEIN_NO_MEMORY;
    }
    int status = SKEIN_OK;
    for (size_t i = 0; i < texts->count && status == SKEIN_OK; i++)
        status = outside_rule_parse(texts->items[i], &items[i], error, error_bytes);
    if (status != SKEIN_OK) {
        free(items);
        return status;
    }
    *rules = (struct outside_rules){items, texts->count};
    return SKEIN_OK;
}

void outside_rules_free(struct outside_rules *rules)
{
    free(rules->items);
    *rules = (struct outside_rules){0};
}

/* ---- match ---- */

static bool exe_matches(const char *glob, const char *exe)
{
    char path[4096];
    size_t bytes = strlen(exe), cut = sizeof DELETED - 1;
    if (bytes > cut && strcmp(exe + bytes - cut, DELETED) == 0)
        bytes -= cut;
    if (bytes == 0 || bytes >= sizeof path)
        return false;
    memcpy(path, exe, bytes);
    path[bytes] = '\0';
    const char *slash = strchr(glob, '/') == NULL ? strrchr(path, '/') : NULL;
    return fnmatch(glob, slash != NULL ? slash + 1 : path, 0) == 0;
}

static bool rule_matches(const struct outside_rule *rule, const struct outside_view *view)
{
    bool listens = rule->port == 0;
    for (size_t i = 0; i < view->port_count && !listens; i++)
        listens = view->ports[i] == rule->port;
    return listens && (rule->exe[0] == '\0' || exe_matches(rule->exe, view->exe)) &&
           (rule->cgroup[0] == '\0' ||
            (view->cgroup[0] != '\0' && fnmatch(rule->cgroup, view->cgroup, 0) == 0));
}

const struct outside_rule *outside_rules_match(const struct outside_rules *rules,
                                               const struct outside_view *view)
{
    for (size_t i = 0; i < rules->count; i++)
        if (rule_matches(&rules->items[i], view))
            return &rules->items[i];
    return NULL;
}
