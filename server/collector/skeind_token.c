/* SPDX-License-Identifier: Apache-2.0
 *
 * `skeind token create|list|revoke`: works on tokens.db in the data folder, not over HTTP: who may
 * write there owns the collector. One thread.
 */
#include "skeind_token.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "collector.h"
#include "seal.h"
#include "skeind_admin.h"
#include "skeind_config.h"
#include "units.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct token_options {
    const char *config, *folder, *name, *scope, *selector, *expires;
};

static void help_print(void)
{
    printf("Usage: skeind token create --name NAME --scope viewer|operator|admin [OPTION]...\n"
           "       skeind token list|revoke [--name NAME] [OPTION]...\n"
           "Tokens of the HTTP API. create prints the token, once. A running collector sees every\n"
           "change at once. From the first token on, every request needs one.\n\n"
           "      --name NAME          whose it is\n"
           "      --scope SCOPE        viewer reads, operator captures too, admin does all\n"
           "      --selector SELECTOR  only processes that match\n"
           "      --expires TIME       2027-01-01T00:00:00Z, or from now: 90d, 12h\n"
           "  -c, --config FILE        the collector's settings, for data_dir\n"
           "      --data-dir FOLDER    its data folder instead\n"
           "  -h, --help               this text\n");
}

static int options_read(int argc, char **argv, struct token_options *o)
{
    static const struct option longs[] = {
        {"name", required_argument, NULL, 'n'},     {"scope", required_argument, NULL, 's'},
        {"selector", required_argument, NULL, 'l'}, {"expires", required_argument, NULL, 'e'},
        {"config", required_argument, NULL, 'c'},   {"data-dir", required_argument, NULL, 'd'},
        {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "c:h", longs, NULL)) != -1) {
        const char **to = option == 'n'   ? &o->name
                          : option == 's' ? &o->scope
                          : option == 'l' ? &o->selector
                          : option == 'e' ? &o->expires
                          : option == 'c' ? &o->config
                          : option == 'd' ? &o->folder
                                          : NULL;
        if (option == 'h') {
            help_print();
            return 1;
        }
        if (to == NULL) {
            fprintf(stderr, "Try 'skeind token --help'.\n");
            return EXIT_USAGE + 1;
        }
        *to = optarg;
    }
    return 0;
}

/* Absent: never. */
static bool expiry(const char *text, uint64_t now_ns, uint64_t *out)
{
    uint64_t ms;
    *out = 0;
    if (text == NULL || clock_parse(text, out) == SKEIN_OK)
        return true;
    if (unit_parse(text, UNIT_MS, &ms) != SKEIN_OK || ms > (INT64_MAX - now_ns) / 1000000u)
        return false;
    *out = now_ns + ms * 1000000u;
    return true;
}

static int token_create(struct tokens *tokens, const struct token_options *o)
{
    char text[TOKEN_TEXT_BYTES], error[256] = "";
    uint64_t now = clock_realtime_ns();
    struct token token = {.created_ns = now, .creator = "skeind"};
    if (o->name == NULL || o->scope == NULL || !scope_parse(o->scope, &token.scope)) {
        fprintf(stderr, "skeind: --name and --scope (viewer, operator or admin) are needed\n");
        return EXIT_USAGE;
    }
    if (!expiry(o->expires, now, &token.expires_ns)) {
        fprintf(stderr, "skeind: --expires: must be a time or a duration as 90d\n");
        return EXIT_USAGE;
    }
    const char *selector = o->selector != NULL ? o->selector : "";
    if (strlen(o->name) >= sizeof token.name || strlen(selector) >= sizeof token.selector) {
        fprintf(stderr, "skeind: --name or --selector is too long\n");
        return EXIT_USAGE;
    }
    snprintf(token.name, sizeof token.name, "%s", o->name);
    snprintf(token.selector, sizeof token.selector, "%s", selector);
    if (tokens_create(tokens, &token, now, text, error, sizeof error) != SKEIN_OK) {
        fprintf(stderr, "skeind: %s\n", error);
        return EXIT_FAILED;
    }
    printf("%s\n", text);
    seal_wipe(text, sizeof text);
    return 0;
}

static int token_print(void *context, const struct token *t)
{
    char created[CLOCK_TEXT_BYTES], expires[CLOCK_TEXT_BYTES] = "never";
    (void)context;
    clock_text(t->created_ns, created);
    if (t->expires_ns != 0)
        clock_text(t->expires_ns, expires);
    printf("%-24s %-8s created %s expires %s%s%s%s\n", t->name, scope_text(t->scope), created,
           expires, t->revoked_ns != 0 ? " revoked" : "",
           t->selector[0] != '\0' ? " selector " : "", t->selector);
    return 0;
}

static int token_run(struct tokens *tokens, const char *verb, const struct token_options *o)
{
    if (strcmp(verb, "create") == 0)
        return token_create(tokens, o);
    int64_t status = SKEIN_OK;
    if (strcmp(verb, "list") == 0) {
        status = tokens_list(tokens, token_print, NULL);
    } else if (o->name == NULL) {
        fprintf(stderr, "skeind: --name is needed\n");
        return EXIT_USAGE;
    } else {
        status = tokens_revoke(tokens, o->name, clock_realtime_ns());
    }
    if (status < 0)
        fprintf(stderr, "skeind: %s: %s\n", o->name != NULL ? o->name : "tokens",
                skein_status_text((int)status));
    return status < 0 ? EXIT_FAILED : 0;
}

int skeind_token(int argc, char **argv)
{
    struct token_options o = {.config = NULL};
    struct collector_config config = {0};
    struct tokens *tokens = NULL;
    char error[512] = "";
    int done = options_read(argc, argv, &o);
    if (done != 0)
        return done - 1;
    const char *verb = optind == argc - 1 ? argv[optind] : "";
    if (strcmp(verb, "create") != 0 && strcmp(verb, "list") != 0 && strcmp(verb, "revoke") != 0) {
        fprintf(stderr, "Try 'skeind token --help'.\n");
        return EXIT_USAGE;
    }
    const struct config_sources sources = {.file = o.config};
    int status = skeind_config_load(&sources, &config, error, sizeof error);
    const char *folder = o.folder != NULL ? o.folder : config.folder;
    if (status == SKEIN_OK)
        status = tokens_open(folder, &tokens, error, sizeof error);
    int result = EXIT_FAILED;
    if (status == SKEIN_OK)
        result = token_run(tokens, verb, &o);
    if (status == SKEIN_OK && result != EXIT_USAGE && strcmp(verb, "list") != 0)
        admin_note(&config, folder, strcmp(verb, "create") == 0 ? "token.create" : "token.revoke",
                   o.name, result == 0);
    else if (status != SKEIN_OK)
        fprintf(stderr, "skeind: %s\n", error[0] != '\0' ? error : skein_status_text(status));
    tokens_close(&tokens);
    config_free(collector_params, &config);
    return result;
}
