/* SPDX-License-Identifier: Apache-2.0
 *
 * See skeind_admin.h. Owns the texts of these commands; enroll.c does the work.
 */
#include "skeind_admin.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit.h"
#include "clock.h"
#include "config_place.h"
#include "enroll.h"
#include "units.h"

enum { FAILED = 1, USAGE = 2 };

bool admin_is_command(int argc, char **argv)
{
    return argc > 1 && (strcmp(argv[1], "keygen") == 0 || strcmp(argv[1], "join-token") == 0 ||
                        strcmp(argv[1], "agent") == 0);
}

void admin_print_help(void)
{
    printf(
        "Usage: skeind keygen [--rotate | --retire] [--config FILE]\n"
        "       skeind join-token create [--expires 1h] [--uses 1] [--config FILE]\n"
        "       skeind join-token list | revoke ID\n"
        "       skeind agent list | revoke AGENT | forget AGENT\n"
        "Who may talk to this collector sealed. All take effect at once, whether skeind runs or not.\n\n"
        "  keygen              make the collector's key pair and print the public key, which agents\n"
        "                      pin as collector.public_key; a key that is there is printed again\n"
        "      --rotate        a new key; the one before is taken too, and agents learn the new one\n"
        "      --retire        take the key before no longer\n"
        "  join-token create   print a token that lets new agents in: agents' join_token_file\n"
        "      --expires TIME  how long it is good (30m, 1h, 7d; default 1h)\n"
        "      --uses N        for how many agents (default 1)\n"
        "  agent revoke AGENT  end its session and refuse it from now on\n"
        "  agent forget AGENT  let it join anew with a token and another key\n\n"
        "Example:\n"
        "  skeind keygen; skeind join-token create --expires 1h --uses 10 > token\n");
}

bool admin_parse(int argc, char **argv, struct admin *a)
{
    static const struct option longs[] = {{"config", required_argument, NULL, 'c'},
                                          {"rotate", no_argument, NULL, 'r'},
                                          {"retire", no_argument, NULL, 't'},
                                          {"expires", required_argument, NULL, 'e'},
                                          {"uses", required_argument, NULL, 'u'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int option;
    *a = (struct admin){.config = NULL};
    while ((option = getopt_long(argc, argv, "c:h", longs, NULL)) != -1) {
        switch (option) {
        case 'c':
            a->config = optarg;
            break;
        case 'r':
            a->rotate = true;
            break;
        case 't':
            a->retire = true;
            break;
        case 'e':
            a->expires = optarg;
            break;
        case 'u':
            a->uses = optarg;
            break;
        case 'h':
            a->help = true;
            break;
        default:
            return false;
        }
    }
    int words = argc - optind;
    for (int i = 0; i < words && i < 3; i++)
        a->words[i] = argv[optind + i];
    if (words <= 3)
        return true;
    fprintf(stderr, "skeind: unexpected argument: %s\n", argv[optind + 3]);
    return false;
}

void admin_note(const struct collector_config *config, const char *folder, const char *action,
                const char *object, bool ok)
{
    char error[512] = "", actor[32];
    struct audit_settings settings = {folder, config->audit_keep_ms, config->audit_max_rows};
    struct audit *audit;
    if (audit_open(&settings, &audit, error, sizeof error) != SKEIN_OK) {
        fprintf(stderr, "skeind: the audit log cannot be written: %s\n", error);
        return;
    }
    snprintf(actor, sizeof actor, "uid:%u", (unsigned)geteuid());
    struct audit_entry entry = {.actor = actor,
                                .action = action,
                                .object = object,
                                .result = ok ? "ok" : "failed",
                                .detail = "skeind"};
    audit_add(audit, &entry);
    audit_close(&audit);
}

static int admin_say(const char *what, int status, const char *error)
{
    if (status == SKEIN_OK)
        return 0;
    fprintf(stderr, "skeind: %s: %s\n", what, error[0] != '\0' ? error : skein_status_text(status));
    return FAILED;
}

static int usage(void)
{
    fprintf(stderr, "Try 'skeind keygen --help'.\n");
    return USAGE;
}

static int keygen_run(const struct admin *a, const struct collector_config *config)
{
    const char *folder = config->folder;
    char error[512] = "", text[SEAL_TEXT_BYTES];
    struct seal_pair keys[ENROLL_KEYS];
    struct enroll *e;
    if ((a->rotate && a->retire) || a->words[1] != NULL)
        return usage();
    int status = enroll_change_keys(folder,
                                    a->rotate   ? ENROLL_ROTATE
                                    : a->retire ? ENROLL_RETIRE
                                                : ENROLL_MAKE,
                                    error, sizeof error);
    if (status == SKEIN_EXISTS && !a->rotate && !a->retire)
        status = SKEIN_OK; /* printed again */
    else
        admin_note(config, folder,
                   a->rotate   ? "key.rotate"
                   : a->retire ? "key.retire"
                               : "key.make",
                   "collector", status == SKEIN_OK);
    if (status == SKEIN_OK)
        status = enroll_open(folder, &e, error, sizeof error);
    if (status != SKEIN_OK)
        return admin_say("keygen", status, error);
    size_t count = enroll_keys(e, keys);
    if (count > 0) {
        seal_key_text(keys[0].open.bytes, text);
        printf("%s\n", text);
    }
    seal_wipe(keys, sizeof keys);
    enroll_close(&e);
    return count > 0 ? 0 : FAILED;
}

/* ---- join-token ---- */

static int token_print(void *context, const struct enroll_token *token)
{
    char expires[CLOCK_TEXT_BYTES];
    (void)context;
    clock_text(token->expires_ns, expires);
    printf("%s  %-7s  expires %s  uses left %" PRIu64 "\n", token->id, token->state, expires,
           token->uses_left);
    return 0;
}

static int token_create(const struct admin *a, const struct collector_config *config,
                        struct enroll *e)
{
    char text[ENROLL_TOKEN_BYTES], id[ENROLL_ID_BYTES] = "", *end = NULL;
    uint64_t ms = 0, uses = 1, now = clock_realtime_ns();
    if (unit_parse(a->expires != NULL ? a->expires : "1h", UNIT_MS, &ms) != SKEIN_OK || ms == 0 ||
        ms > ENROLL_TOKEN_NS_MAX / 1000000) {
        fprintf(stderr, "skeind: --expires: must be a time of at most 366 days, like 30m or 1h\n");
        return USAGE;
    }
    if (a->uses != NULL)
        uses = strtoull(a->uses, &end, 10);
    if ((end != NULL && *end != '\0') || uses == 0 || uses > ENROLL_USES_MAX) {
        fprintf(stderr, "skeind: --uses: must be a number from 1 to 1000000\n");
        return USAGE;
    }
    int status = enroll_token_create(e, now, now + ms * 1000000, uses, id, text);
    admin_note(config, config->folder, "join_token.create", id, status == SKEIN_OK);
    if (status == SKEIN_OK)
        printf("%s\n", text);
    return admin_say("join-token", status, "");
}

static int token_run(const struct admin *a, const struct collector_config *config, struct enroll *e)
{
    const char *verb = a->words[1] != NULL ? a->words[1] : "", *id = a->words[2];
    if (strcmp(verb, "create") == 0 && id == NULL)
        return token_create(a, config, e);
    if (strcmp(verb, "list") == 0 && id == NULL) {
        int64_t n = enroll_tokens(e, clock_realtime_ns(), token_print, NULL);
        return admin_say("join-token", n < 0 ? (int)n : SKEIN_OK, "");
    }
    if (strcmp(verb, "revoke") != 0 || id == NULL)
        return usage();
    int status = enroll_token_revoke(e, id);
    admin_note(config, config->folder, "join_token.delete", id, status == SKEIN_OK);
    return admin_say(id, status, "");
}

/* ---- agent ---- */

static int agent_print(void *context, const struct enroll_agent *agent)
{
    char enrolled[CLOCK_TEXT_BYTES], revoked[CLOCK_TEXT_BYTES], key[SEAL_TEXT_BYTES];
    (void)context;
    clock_text(agent->enrolled_ns, enrolled);
    clock_text(agent->revoked_ns, revoked);
    seal_key_text(agent->key.bytes, key);
    printf("%016" PRIx64 "  %s  enrolled %s%s%s\n", agent->agent, key, enrolled,
           agent->revoked_ns != 0 ? "  revoked " : "", agent->revoked_ns != 0 ? revoked : "");
    return 0;
}

static int admin_agent_run(const struct admin *a, const struct collector_config *config,
                           struct enroll *e)
{
    const char *verb = a->words[1] != NULL ? a->words[1] : "", *id = a->words[2];
    if (strcmp(verb, "list") == 0 && id == NULL) {
        int64_t n = enroll_agents(e, agent_print, NULL);
        return admin_say("agent", n < 0 ? (int)n : SKEIN_OK, "");
    }
    bool revoke = strcmp(verb, "revoke") == 0;
    if (id == NULL || (!revoke && strcmp(verb, "forget") != 0))
        return usage();
    if (strlen(id) != 16 || strspn(id, "0123456789abcdef") != 16) {
        fprintf(stderr, "skeind: an agent's id is 16 hex digits\n");
        return USAGE;
    }
    uint64_t agent = strtoull(id, NULL, 16);
    int status = revoke ? enroll_revoke(e, agent, clock_realtime_ns()) : enroll_forget(e, agent);
    admin_note(config, config->folder, revoke ? "agent.revoke" : "agent.forget", id,
               status == SKEIN_OK);
    return admin_say(id, status, "");
}

int admin_run(const struct admin *a, const struct collector_config *config)
{
    char error[512] = "";
    const char *folder = config->folder;
    struct enroll *e;
    if (folder_make(folder, 0750) != 0) {
        fprintf(stderr, "skeind: data_dir %s: %s\n", folder, strerror(errno));
        return FAILED;
    }
    if (strcmp(a->words[0], "keygen") == 0)
        return keygen_run(a, config);
    int status = enroll_open(folder, &e, error, sizeof error);
    if (status != SKEIN_OK)
        return admin_say(a->words[0], status, error);
    int result =
        strcmp(a->words[0], "agent") == 0 ? admin_agent_run(a, config, e) : token_run(a, config, e);
    enroll_close(&e);
    return result;
}
