/* SPDX-License-Identifier: Apache-2.0
 *
 * One selector of processes to watch (watch.select in the agent's config), as a text:
 *
 *   checkout exe=/opt/checkout/bin/serve? label=zone=a
 *   db       cgroup=/system.slice/postgresql@*.service port=5432
 *   api      exe=api go_pprof=127.0.0.1:6060
 *
 * The service's name, then conditions, of which at least one is exe, cgroup or port, and all must
 * hold. In the globs a `*` stands for any characters, a slash too. Pure but for its memory.
 */
#ifndef OUTSIDE_RULE_H
#define OUTSIDE_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "process.h"

#define OUTSIDE_RULES_MAX 256

struct outside_rule {
    char service[128], labels[512];
    char exe[256], cgroup[256]; /* globs; "": any. An exe without a slash is the program's name */
    uint16_t port;              /* on which it listens; 0: any */
    /* Where the program's Go runtime answers, on this host: HOST:PORT of net/http/pprof, and
     * HOST:PORT/PATH of a flight recorder that it serves. HOST is 127.N.N.N or [::1]. */
    struct process_go go;
};

/* An address of this host alone. */
struct outside_loopback {
    uint8_t family, address[16]; /* AF_INET: four bytes of it */
    uint16_t port;
};
/* Reads HOST:PORT at the text's begin; NULL, or what follows. */
const char *outside_loopback_read(const char *text, struct outside_loopback *out);

struct outside_rules {
    struct outside_rule *items;
    size_t count;
};

/* Reads one; *rule is set on SKEIN_OK alone, else a sentence is in error: SKEIN_INVALID. */
int outside_rule_parse(const char *text, struct outside_rule *rule, char *error,
                       size_t error_bytes);
/* Reads all. SKEIN_OK; SKEIN_INVALID with a sentence, SKEIN_NO_MEMORY: nothing is made. */
int outside_rules_parse(const struct config_strs *texts, struct outside_rules *rules, char *error,
                        size_t error_bytes);
void outside_rules_free(struct outside_rules *rules);

/* A process as rules see it. */
struct outside_view {
    const char *exe, *cgroup;
    const uint16_t *ports; /* on which it listens, of those that rules name */
    size_t port_count;
};
/* The first that matches, or NULL. */
const struct outside_rule *outside_rules_match(const struct outside_rules *rules,
                                               const struct outside_view *view);

/* Whether a selector can name a service so. */
bool outside_service_valid(const char *service);

#endif
